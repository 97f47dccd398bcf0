"""The items of the lecture notes, each with a command that is run; the page docs/lecture-notes.md lists them.

``TREEWISE_UPDATE=1 pytest tests/textbook/test_items.py`` writes the page anew.
"""

import os
from pathlib import Path

import pytest

import treewise as tw

ITEMS = Path(__file__).with_name("items.txt")
PAGE = Path(__file__).parents[2] / "docs" / "lecture-notes.md"


def read_items():
    """Return (note, item, command, expected) of every line."""
    note, items = "", []
    for line in ITEMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            note = line[3:]
        elif line.strip() and not line.startswith("#"):
            item, command, expected = (part.strip() for part in line.split(" | "))
            items.append((note, item, command, expected))
    return items


@pytest.mark.parametrize(("note", "item", "command", "expected"), read_items())
def test_the_command_of_an_item_does_what_the_note_says(run, note, item, command, expected):
    if command.startswith("treewise "):
        answer = run(command.removeprefix("treewise "))
        assert answer.code == 0, answer.err
        assert expected in answer.out
    else:
        assert expected in str(eval(command, {"tw": tw}))


def page():
    """Return the page: a table of items for each note."""
    items = read_items()
    lines = [
        "# The lecture notes, item by item",
        "",
        "What five lecture notes on decision trees say, define, draw and ask, with the command that does it. The tests",
        f"run each of the {len(items)} commands and write this page. Python commands assume `import treewise as tw`.",
    ]
    previous = None
    for note, item, command, expected in items:
        if note != previous:
            lines += ["", f"## {note}", "", "| item | command | gives | verdict |", "|---|---|---|---|"]
            previous = note
        code = command.replace("|", "\\|")
        lines.append(f"| {item} | `{code}` | {expected.replace('|', chr(92) + '|')} | works |")
    return "\n".join(lines) + "\n"


def test_the_page_lists_these_items():
    if os.environ.get("TREEWISE_UPDATE"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
