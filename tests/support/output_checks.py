"""Checks that a text is valid in its format, whatever names it contains: one function per format.

text       no control or format characters except line breaks
html       balanced tags from a short list, inline styles only
markdown   every table line has as many cells as the first; parsed, there are tables, paragraphs, headings and lists,
           but no HTML, links, images, emphasis or code
csv        every line has the same number of cells
json       strict JSON
latex      balanced groups and environments
"""

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser

from markdown_it import MarkdownIt

TAGS = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre"}
ATTRIBUTES = {"style", "open"}
PICTURE_TAGS = {"svg", "title", "g", "rect", "text", "path"}  # of an SVG inside the fragment
PICTURE_ATTRIBUTES = {
    *("xmlns", "width", "height", "viewbox", "role", "font-family", "x", "y", "rx", "fill", "stroke", "stroke-width"),
    *("d", "stroke-dasharray", "stroke-opacity", "font-size", "font-weight", "text-anchor", "data-part"),
    "fill-opacity",
}
CELL = re.compile(r"(?<!\\)\|")


def check_text(text):
    for line in text.split("\n"):
        odd = [ch for ch in line if unicodedata.category(ch)[0] == "C" or unicodedata.category(ch) in ("Zl", "Zp")]
        assert not odd, (odd, line)


class FragmentChecker(HTMLParser):
    """Checks an HTML fragment for balanced tags and allowed attributes; ``text`` collects its text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        drawn = tag == "svg" or "svg" in self.open
        assert tag in (PICTURE_TAGS if drawn else TAGS), tag
        assert {name for name, _ in attrs} <= (PICTURE_ATTRIBUTES if drawn else ATTRIBUTES), attrs
        assert not [value for name, value in attrs if name == "style" and re.search(r"url|expression|[<>&]", value)]
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def unexpected(self, *_):
        raise AssertionError("a comment or a declaration")

    handle_comment = handle_decl = handle_pi = unknown_decl = unexpected


def check_html(text):
    check_text(text)
    reader = FragmentChecker()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return "".join(reader.text)


MARKDOWN = {
    *("inline", "text", "hardbreak", "softbreak", "paragraph", "heading", "strong", "bullet_list", "list_item"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


def parse_markdown(text):
    """Return the tokens of a Markdown text in GitHub's dialect, as a list."""
    waiting, tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text), []
    while waiting:
        tokens.append(waiting.pop(0))
        waiting = [*(tokens[-1].children or []), *waiting]
    return tokens


def check_markdown(text):
    check_text(text)
    kinds = {re.sub("_(open|close)$", "", token.type) for token in parse_markdown(text)}
    assert kinds <= MARKDOWN, kinds - MARKDOWN
    assert not re.search(r"(?<!\\)<[A-Za-z/!?]", text)
    table = []
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            table.append(len(CELL.findall(line)))
        elif table:
            assert len(table) >= 2, text
            assert len(set(table)) == 1, text
            table = []


def check_csv(text):
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len({len(row) for row in rows}) == 1
    return rows


def check_json(text):
    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def check_latex(text):
    check_text(text)
    plain = re.sub(r"\\[\\{}$%#&_]", "", text)
    plain = re.sub(r"%[^\n]*", "", plain)
    depth = 0
    for ch in plain:
        depth += (ch == "{") - (ch == "}")
        assert depth >= 0
    assert depth == 0
    assert plain.count("$") % 2 == 0
    assert re.findall(r"\\begin{(.*?)}", text) == re.findall(r"\\end{(.*?)}", text) or text.count(
        "\\begin{"
    ) == text.count("\\end{")


CHECKS = {
    "text": check_text,
    "html": check_html,
    "markdown": check_markdown,
    "csv": check_csv,
    "json": check_json,
    "latex": check_latex,
}
