"""Write the lessons as Jupyter notebooks: ``python docs/make_notebooks.py`` puts them beside the pages.

The pages of docs/lessons are the source; a notebook is never edited. Examples become code cells, ``$`` commands cells
of the shell, and printed output is left out, because running the notebook prints it. Answers that a page folds away are
cells whose source is folded. ``tests/docs/test_notebooks.py`` runs every cell.
"""

from __future__ import annotations

import doctest
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LESSONS = Path(__file__).parent / "lessons"
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n", re.M | re.S)
_FOLD = re.compile(r"^<details><summary>(.*?)</summary>\n(.*?)^</details>\n", re.M | re.S)


def cells(page: str) -> Iterator[dict[str, Any]]:
    """Yield the cells of a page: its text, its examples, and its folded answers."""
    at = 0
    for fold in _FOLD.finditer(page):
        yield from _open_cells(page[at : fold.start()], folded=False)
        yield _text_cell(f"**{fold[1]}** (answer below, folded)")
        yield from _open_cells(fold[2], folded=True)
        at = fold.end()
    yield from _open_cells(page[at:], folded=False)


def _open_cells(text: str, folded: bool) -> Iterator[dict[str, Any]]:
    at = 0
    for block in _BLOCK.finditer(text):
        yield from _text_cells(text[at : block.start()], folded)
        sources = _python_sources(block[2]) if block[1] == "python" else _shell_sources(block[2])
        for source in sources:
            yield _code_cell(source, folded)
        at = block.end()
    yield from _text_cells(text[at:], folded)


def _python_sources(block: str) -> Iterator[str]:
    """Yield the examples of a block; those that print nothing join the next one, as a notebook shows one result."""
    waiting = ""
    for example in doctest.DocTestParser().get_examples(block):
        waiting += example.source
        if example.want:
            yield waiting.rstrip("\n")
            waiting = ""
    if waiting:
        yield waiting.rstrip("\n")


def _shell_sources(block: str) -> Iterator[str]:
    """Yield the commands of a block, each as a line of IPython."""
    for command in re.findall(r"^\$ (.*)$", block, re.M):
        yield f"!{command}"


def _text_cells(text: str, folded: bool) -> Iterator[dict[str, Any]]:
    if text.strip():
        yield _text_cell(text.strip(), folded)


def _text_cell(text: str, folded: bool = False) -> dict[str, Any]:
    linked = re.sub(r"\]\(([\w-]+)\.md", r"](\1.ipynb", text)  # from one lesson to another
    return {"cell_type": "markdown", "metadata": _folded(folded), "source": linked}


def _code_cell(source: str, folded: bool) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": _folded(folded),
        "outputs": [],
        "source": re.sub(r"\s*# doctest:.*$", "", source, flags=re.M),
    }


def _folded(folded: bool) -> dict[str, Any]:
    """Return the metadata that hides the source of a cell until the reader opens it."""
    return {"jupyter": {"source_hidden": True}, "tags": ["answer"]} if folded else {}


def notebook(page: str) -> dict[str, Any]:
    """Return a page of docs/lessons as a notebook."""
    listed = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells(page), 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": listed, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def notebooks() -> dict[str, str]:
    """Return the notebook of each lesson, as text, by its file name."""
    pages = sorted(LESSONS.glob("*.md"))
    made = {page.stem: notebook(page.read_text(encoding="utf-8")) for page in pages}
    return {f"{name}.ipynb": json.dumps(made, ensure_ascii=False, indent=1) + "\n" for name, made in made.items()}


def main(words: list[str]) -> None:
    """Write the notebooks beside the pages, or into another folder."""
    folder = Path(words[0]) if words else LESSONS
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in notebooks().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main(sys.argv[1:])
