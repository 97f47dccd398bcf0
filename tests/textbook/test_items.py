"""The items of the lecture notes, each with a command that is run; the page docs/lecture-notes.md lists them.

``TREEWISE_UPDATE=1 pytest tests/textbook/test_items.py`` writes the page anew.
"""

import itertools
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import treewise as tw
from tests.support.handmade_trees import OFFICIALS

ITEMS = Path(__file__).with_name("items.txt")
DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "lecture-notes.md"
PREFACE = """\
# The lecture notes, item by item

Every sentence, formula, example, figure and exercise of five lecture notes on decision trees, with the command that
does it. The tests run each of the {n} commands, compare its output with the column "gives", and write this page:
{works} work{rest}. Each heading leads to the section of the [lesson](tutorial.md) with the same words.

Python commands assume `import treewise as tw`, `math` and `itertools`. `OFFICIALS` is the officials' tree as
[section 5](lessons/cs221-section-5.md#creating-a-decision-tree) types it in; `points(table)` returns the
features and the target of a table for `KNeighborsClassifier` of scikit-learn.
"""


@dataclass(frozen=True)
class Item:
    """One line of items.txt, with the note, the lesson and its section."""

    note: str
    lesson: str
    section: str
    number: int
    text: str
    command: str
    expected: str
    verdict: str = "works"

    @property
    def id(self):
        return f"{self.lesson}-{self.number:02}"


def read_items():
    """Return the items in the order of the file."""
    note = lesson = section = ""
    items = []
    for line in ITEMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            note, lesson = line[3:].split(" | ")
        elif line.startswith("-- "):
            section = line[3:]
        elif line.strip() and not line.startswith("#"):
            number, *fields = (part.strip().replace("\\|", "|") for part in re.split(r"(?<!\\) \| ", line))
            items.append(Item(note, lesson, section, int(number), *fields))
    return items


def features_and_target(table):
    """Return the features and the target of a built-in table, as scikit-learn takes them."""
    frame = tw.read(table).to_polars()
    return frame[:, :-1].to_numpy(), frame[:, -1].to_list()


@pytest.fixture(scope="module")
def names():
    """Return the names that a command may use."""
    from sklearn.neighbors import KNeighborsClassifier

    officials = tw.parse(OFFICIALS, data="admissions")
    tools = {"math": math, "itertools": itertools, "KNeighborsClassifier": KNeighborsClassifier}
    return {"tw": tw, **tools, "OFFICIALS": officials, "points": features_and_target}


@pytest.mark.parametrize("item", [pytest.param(item, id=item.id) for item in read_items()])
def test_the_command_of_an_item_does_what_the_note_says(run, names, item):
    if not item.command.startswith("treewise "):
        assert item.expected in str(eval(item.command, names))
        return
    printed = ""
    for command in item.command.split(" && "):
        result = run(command.removeprefix("treewise "))
        assert result.code == 0, result.err
        printed += result.out
    assert item.expected in printed


def test_items_are_numbered_and_say_why_one_is_not_whole():
    items = read_items()
    for _, some in itertools.groupby(items, key=lambda item: item.lesson):
        assert [n for n, item in enumerate(some, 1) if item.number != n] == []
    for item in items:
        assert item.expected, item.id
        assert item.verdict == "works" or re.fullmatch(r"(partly|no): .+", item.verdict), item.id


def anchor(heading):
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("lesson", sorted({item.lesson for item in read_items()}))
def test_every_section_of_items_is_a_section_of_the_lesson(lesson):
    text = (DOCS / "lessons" / f"{lesson}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.M)
    sections = list(dict.fromkeys(item.section for item in read_items() if item.lesson == lesson))
    assert sections == [heading for heading in headings if heading in sections]


def page():
    """Return the page: a table of items for each section of each note."""
    items = read_items()
    works = sum(item.verdict == "works" for item in items)
    rest = "" if works == len(items) else f", {len(items) - works} in part or not yet"
    lines = [PREFACE.format(n=len(items), works=works, rest=rest).rstrip("\n")]
    previous = None
    for item in items:
        if previous is None or item.note != previous.note:
            lines += ["", f"## {item.note}"]
        if previous is None or (item.note, item.section) != (previous.note, previous.section):
            lines += ["", f"### [{item.section}](lessons/{item.lesson}.md#{anchor(item.section)})", ""]
            lines += ["| | item | command | gives | verdict |", "|--:|---|---|---|---|"]
        command, expected = (code_cell(text) for text in (item.command, item.expected))
        lines.append(f"| {item.number} | {item.text} | {command} | {expected} | {item.verdict} |")
        previous = item
    return "\n".join(lines) + "\n"


def code_cell(text):
    """Return code for a cell of a table."""
    return f"`{text.replace('|', chr(92) + '|')}`"


def test_the_page_lists_these_items():
    if os.environ.get("TREEWISE_UPDATE"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
