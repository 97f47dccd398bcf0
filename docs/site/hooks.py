"""Pages that the site makes from other sources, and links that differ between a checkout and the site.

- Python reference: a page for each row of the table of public names in ``stability.md``; docstrings by mkdocstrings
- command-line reference: the help of every verb
- gallery: the pictures of ``pictures.md`` and ``report.md``, each with a link to the section that makes it
- changelog, architecture, …: the files at the top of the repository
- ``llms.txt`` and ``llms-full.txt``: the site as text, for language models
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from markdown.extensions.toc import slugify
from mkdocs.structure.files import File, Files

import treewise
from treewise.cli.app import VERBS, app

ROOT = Path(__file__).parents[2]
TOP_FILES = ("CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^()\s]+)\)")
_written: dict[str, str] = {}  # pages of the site, as Markdown


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are no files in docs/."""
    pages = {name.lower(): ROOT.joinpath(name).read_text(encoding="utf-8") for name in TOP_FILES}
    pages |= {"command-line.md": command_line(), "gallery.md": gallery()} | api_pages()
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_config(config: Any) -> Any:
    """List the pages of the Python reference in the navigation."""
    names = [Path(path).stem for path in api_pages()]
    for tab in config.nav:
        if "Reference" in tab:
            entries = tab["Reference"]
            at = next(i for i, entry in enumerate(entries) if entry.get("Python") == "api/")
            entries[at] = {"Python": ["api/index.md", *(f"api/{name}.md" for name in names if name != "index")]}
    os.environ["NO_COLOR"] = "1"
    return config


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Turn links to files of the repository into links to pages, or into plain text."""
    source = page.file.src_uri
    folder = "" if source in {name.lower() for name in TOP_FILES} else f"docs/{posixpath.dirname(source)}"

    def replace(match: re.Match[str]) -> str:
        text, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        full = posixpath.normpath(posixpath.join(folder, path))
        if full.startswith("docs/") and files.get_file_from_path(full.removeprefix("docs/")):
            page_path = full.removeprefix("docs/")
        elif full in TOP_FILES:
            page_path = full.lower()
        else:
            return text if source in files.src_uris and not ROOT.joinpath("docs", full).exists() else match[0]
        relative = posixpath.relpath(page_path, posixpath.dirname(source) or ".")
        return f"[{text}]({relative}{'#' + anchor if anchor else ''})"

    markdown = _LINK.sub(replace, markdown).replace("```python\n>>>", "```pycon\n>>>")
    _written[source] = markdown
    return markdown


def on_post_build(config: Any) -> None:
    """Write the site as text."""
    site = Path(config.site_dir)
    listed = [f"# treewise\n\n> {config.site_description}: a Python library with a C++ core.\n"]
    for tab in config.nav:
        for title, pages in tab.items():
            listed.append(f"\n## {title}\n")
            for path in _paths(pages):
                heading = re.search(r"^# (.+)$", _written[path], re.M)
                listed.append(f"- [{heading[1] if heading else path}]({path.removesuffix('.md')}/)")
    site.joinpath("llms.txt").write_text("\n".join(listed) + "\n", encoding="utf-8")
    site.joinpath("llms-full.txt").write_text("\n\n".join(_written.values()), encoding="utf-8")


def _paths(entry: Any) -> list[str]:
    """Return the pages of a part of the navigation."""
    if isinstance(entry, str):
        return [entry]
    return [path for each in (entry.values() if isinstance(entry, dict) else entry) for path in _paths(each)]


def gallery() -> str:
    """Return a page with all pictures."""
    cards = []
    for source in ("pictures.md", "report.md"):
        text = ROOT.joinpath("docs", source).read_text(encoding="utf-8")
        for section in re.split(r"^(?=##+ )", text, flags=re.M):
            title = re.match(r"#+ (.+)", section)
            heading = title[1].strip() if title else "Pictures"
            anchor = slugify(heading, "-")
            for caption, path in re.findall(r"^!\[(.*?)\]\((img/.*?)\)", section, re.M):
                cards.append(f"-   [![{caption}]({path})]({source}#{anchor})\n\n    {caption}\n")
    return (
        '# Gallery\n\nEach picture leads to the command that draws it.\n\n<div class="grid cards" markdown>\n\n'
        + "\n".join(cards)
        + "\n</div>\n"
    )


# -- references -------------------------------------------------------------------------------------------------


def public_names() -> dict[str, list[str]]:
    """Return the public names by topic: the table of stability.md."""
    page = ROOT.joinpath("docs", "stability.md").read_text(encoding="utf-8")
    table = page.partition("<!-- public names -->")[2].partition("<!-- end -->")[0]
    rows = re.findall(r"^\| (\S.*?) \| (.*?) \|$", table, re.M)
    return {topic: re.findall(r"`(\w+)`", names) for topic, names in rows}


def api_pages() -> dict[str, str]:
    """Return the pages of the Python reference."""
    topics = public_names()
    index = ["# Python reference\n", "Everything below is imported from `treewise`.\n", "| | |", "|---|---|"]
    pages = {}
    for topic, names in topics.items():
        slug = topic.replace(" ", "-")
        links = ", ".join(f"[`{name}`]({slug}.md#{_path_of(name)})" for name in names)
        index.append(f"| [{topic}]({slug}.md) | {links} |")
        blocks = [f"::: {_path_of(name)}\n    options:\n      heading: tw.{name}\n" for name in names]
        pages[f"api/{slug}.md"] = f"# {topic.capitalize()}\n\n" + "\n".join(blocks)
    return {"api/index.md": "\n".join(index) + "\n"} | pages


def _path_of(name: str) -> str:
    """Return where a public name is defined, since `treewise` imports names on first use."""
    value = getattr(treewise, name)
    if type(value).__name__ == "module":
        return str(value.__name__)
    return f"{value.__module__}.{name}"


def command_line() -> str:
    """Return the command-line reference: the help of every verb."""
    os.environ["COLUMNS"] = "100"
    runner = CliRunner()

    def help_of(*words: str) -> str:
        result = runner.invoke(app, [*words, "--help"], prog_name="treewise")
        assert result.exit_code == 0, words
        return f"```text\n{result.output.rstrip()}\n```\n"

    parts = ["# Command line\n", "`treewise help VERB` prints these pages.\n", help_of()]
    for verb, purpose in VERBS.items():
        parts.append(f"## {verb}\n\n{purpose}\n\n{help_of(verb)}")
    return "\n".join(parts)
