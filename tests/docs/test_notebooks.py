"""The lessons as notebooks: every cell is run, in order, as Jupyter would."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def make():
    """Return the script that writes the notebooks, as a module."""
    spec = importlib.util.spec_from_file_location("make_notebooks", DOCS / "make_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NOTEBOOKS = make().notebooks()


def run_cell(source, names):
    """Run a cell: a line with ! in the shell, whose output is returned, other lines as Python."""
    if not source.startswith("!"):
        exec(compile(source, "cell", "exec"), names)
        return ""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(source[1:], shell=True, check=False, stdout=subprocess.PIPE, text=True, env=env).stdout


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_cell_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook, names = json.loads(NOTEBOOKS[name]), {}
    page = (DOCS / "lessons" / name).with_suffix(".md").read_text(encoding="utf-8")
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 10
    for cell in cells:
        for line in run_cell(cell["source"], names).splitlines():
            assert line.rstrip() in page


def test_answers_are_folded_and_links_lead_somewhere():
    for name, text in NOTEBOOKS.items():
        notebook = json.loads(text)
        assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
        page = (DOCS / "lessons" / name).with_suffix(".md").read_text(encoding="utf-8")
        prose = "\n".join(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown")
        assert "details>" not in prose
        for target in re.findall(r"\]\((\.\./[\w/.-]+)", prose):
            assert (DOCS / "lessons" / target).exists(), target
        assert prose.count("(answer below, folded)") == page.count("<details>")
        for target in re.findall(r"\]\(([\w-]+\.ipynb)", prose):
            assert target in NOTEBOOKS
        folded = [cell for cell in notebook["cells"] if cell["metadata"]]
        assert bool(folded) == ("<details>" in page)


def test_the_script_writes_files(tmp_path, capsys):
    make().main([str(tmp_path / "made")])
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == sorted(NOTEBOOKS)
    assert "id3-notes.ipynb" in capsys.readouterr().out
