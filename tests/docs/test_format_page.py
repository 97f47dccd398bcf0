"""docs/format.md matches the code: fields, arrays, kinds, units, number types and limits."""

import json
import re
from pathlib import Path

import pytest

import treewise as tw
from treewise.ensemble import packed_trees as many
from treewise.ensemble.packed_trees import ARRAY_NAMES
from treewise.formats.model_file.header import KINDS, MAX_CHARACTERS, UNITS, write_column, write_target
from treewise.formats.model_file.json_lines import MAX_NESTING
from treewise.formats.model_file.model_file import (
    DTYPES,
    ENSEMBLE_FORMAT,
    LIST_STARTS,
    METHODS,
    ONLY_IN,
    P_VALUE_FORMAT,
    TREE_FORMAT,
    dumps,
    stored_arrays,
)
from treewise.formats.model_file.packing import FLOAT_TYPES, INTEGER_TYPES
from treewise.tree.arrays import KIND_NUMBERS

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")


def table(heading):
    """Return the first column of the table that begins with this heading, and the rest of its lines."""
    lines = PAGE.partition(f"| {heading} |")[2].splitlines()[2:]
    rows = [line for line in lines[: lines.index("")] if line.startswith("| `")]
    return {re.match(r"\| `(\w+)` \|", row)[1]: row for row in rows}


def words(pattern):
    """Return the words in backquotes in a passage."""
    return re.findall(r"`(\w+)`", re.search(pattern, PAGE, re.DOTALL)[0])


@pytest.mark.parametrize(
    "tree",
    [tw.grow("xor"), tw.grow("penguins", target="body_mass_g", drop_missing_target=True)],
    ids=["classes", "numbers"],
)
def test_the_fields_are_those_of_a_file(tree):
    model = json.loads(dumps(tree))
    assert list(table("field")) == list(model)
    assert table("field")["format"].startswith(
        f"| `format` | {TREE_FORMAT}; {ENSEMBLE_FORMAT} for ensembles, {P_VALUE_FORMAT} for trees with p-values."
    )
    for name in write_target(tree.target):
        assert f"`{name}`" in table("field")["target"]
    for encoding in tree.encodings:
        for name in write_column(encoding):
            assert f"`{name}`" in table("field")["columns"]


def test_the_arrays_are_those_of_a_file():
    stored = {*stored_arrays("classification", P_VALUE_FORMAT), *stored_arrays("regression", P_VALUE_FORMAT)}
    assert set(DTYPES) == stored
    assert {*table("array")} == stored - set(LIST_STARTS)
    assert {*table("list")} == set(LIST_STARTS)
    for task in ("classification", "regression"):
        message = {name for name, row in table("array").items() if row.startswith(f"| `{name}` | {task}:")}
        assert message == {name for name, only in ONLY_IN.items() if only == task} - set(LIST_STARTS)


def test_kinds_units_types_and_limits_are_those_of_the_code():
    assert set(words(r"The kinds of columns:.*?\(levels\)")) >= {*KINDS, *UNITS}
    assert words(r"little-endian.*?whichever") == [
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        *FLOAT_TYPES,
    ]
    assert set(words(r"little-endian.*?whichever")) == {*INTEGER_TYPES, *FLOAT_TYPES}
    message = dict(re.findall(r"(\d) ([a-z ]+?)[,|]", table("array")["kind"].replace(" |", "|")))
    assert message == {"0": "leaf", **{str(number): name.replace("_", " ") for name, number in KIND_NUMBERS.items()}}
    assert f"of {MAX_CHARACTERS:,} letters at most" in PAGE
    assert f"nested {MAX_NESTING} deep at most" in PAGE


def test_the_arrays_of_many_trees_are_those_of_a_file():
    message = re.findall(
        r"^\| ((?:`\w+` ?)+)\| ([a-z ]+) \|", PAGE.partition("| entry | one for each |")[2], re.MULTILINE
    )
    each = {name: of for names, of in message for name in re.findall(r"`(\w+)`", names)}
    written = {*ARRAY_NAMES, "size", "votes", "decreases"} - set(many.LIST_LENGTHS)
    assert set(each) == written
    assert {name for name, of in each.items() if of == "inner node"} == set(many.INNER_ARRAYS)
    assert {name for name, of in each.items() if of == "leaf"} == {*many.LEAF_ARRAYS, "value", "spread"}
    assert all(f"`{method}`" in PAGE for method in METHODS)
