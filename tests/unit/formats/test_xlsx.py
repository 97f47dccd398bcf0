"""Workbooks: the calculator in LibreOffice, the nested IF, the rules, and what a workbook cannot hold."""

import io
import os
import shutil

import numpy as np
import pytest

import treewise as tw
from tests.support.exports import _found, check
from tests.support.handmade_trees import chain
from tests.support.hostile_names import BATCHES, table
from treewise.formats.export.program import compile_model
from treewise.formats.export.rule_table import rules_of
from treewise.formats.verify.fuzz import EngineLimits, encode_cells, fuzz_rows, next_step

openpyxl = pytest.importorskip("openpyxl")
MODELS = {
    "numbers and levels": lambda: tw.grow("penguins", max_leaf_nodes=9),
    "multiway": lambda: tw.grow("admissions", preset="id3"),
    "values": lambda: tw.grow("penguins", target="body_mass_g", max_leaf_nodes=12, drop_missing_target=True),
    "truth values": lambda: tw.grow(
        {"x": [True, False, None, True] * 3, "y": [1, 2, 3, 1] * 3}, "y", task="classification"
    ),
}


def sheets(tree):
    return openpyxl.load_workbook(io.BytesIO(tree.export("xlsx")))


@pytest.mark.skipif(shutil.which("soffice") is None, reason="apt install libreoffice-calc")
@pytest.mark.parametrize("name", MODELS)
def test_the_calculator_decides_as_the_tree(name):
    check(MODELS[name](), _found("libreoffice"), 150)


@pytest.mark.skipif(not os.environ.get("TREEWISE_LONG"), reason="TREEWISE_LONG=1 starts LibreOffice for every name")
@pytest.mark.parametrize("names", BATCHES, ids=lambda names: ascii(names[0])[:8])
def test_hostile_names_and_labels_mean_the_same(names):
    usable = ["".join(ch if ch.isprintable() else "_" for ch in name) for name in names]
    cells, target = table(usable)
    check(tw.grow(cells, target, max_depth=3, categorical="multiway"), _found("libreoffice"), 30)
    if usable != names:
        cells, target = table(names)
        try:
            tw.grow(cells, target, max_depth=3, categorical="multiway").export("xlsx")
        except tw.ParameterError as error:
            assert "that no workbook can hold" in str(error)


@pytest.mark.parametrize("name", MODELS)
def test_every_row_satisfies_exactly_one_rule_the_one_of_its_leaf(name):
    program = compile_model(MODELS[name]())
    routine, rules = program.routines[0], rules_of(program.routines[0])
    rows = fuzz_rows(program, 300, 0, EngineLimits())
    for cells in zip(*rows.cells, strict=True):
        keys = [
            None if cell is None or cell != cell else encode_cells(encoding, [cell])[0].item()
            for encoding, cell in zip(program.inputs, cells, strict=True)
        ]
        at = 0
        while hasattr(routine.steps[at], "missing"):
            at = next_step(routine.steps[at], keys[routine.steps[at].column])
        satisfied = [
            number for admitted, number in rules if all(admits(values, keys[i]) for i, values in admitted.items())
        ]
        assert satisfied == [routine.steps[at].number]


def admits(values, key):
    if key is None:
        return values.missing
    if not values.has_present:
        return False
    return (
        (values.low == -np.inf or values.low < key) and key <= values.high and (key in values.levels) != values.negated
    )


def test_the_sheets_for_readers():
    tree = tw.parse("x <= 3\n  c = Rome -> a\n  c otherwise -> b\nx > 3 or missing -> a")
    book = sheets(tree)
    lines = [[cell.value for cell in row] for row in book["Rules"].iter_rows()]
    assert lines[0][:3] == ["x", "c", "prediction"]
    assert [line[:3] for line in lines[1:]] == [
        ["<= 3", "in {Rome} or missing", "a"],
        ["<= 3", "not in {Rome}", "b"],
        ["> 3 or missing", None, "a"],
    ]
    formula = book["Formula"]["A2"].value
    assert formula == '=IF(A2="","a",IF(A2<=3.0,IF(B2="","a",IF(OR(EXACT(B2&"","Rome")),"a","b")),"a"))'
    assert book["Formula"]["A2"].data_type == "s"


def test_text_that_looks_like_a_formula_is_text_and_the_file_is_the_same_each_time():
    tree = tw.grow({"=1+1": ["=A1", "+x", "=A1", "+x"] * 3, "y": ["=2", "-3", "=2", "-3"] * 3}, "y")
    assert tree.export("xlsx") == tree.export("xlsx")
    cells = [cell for sheet in sheets(tree) for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells if cell.value in ("=1+1", "=A1", "=2")} == {"s"}


def test_numbers_are_written_to_the_last_digit():
    tree = tw.grow("penguins", max_leaf_nodes=3)
    written = {cell.value for row in sheets(tree)["Answers"].iter_rows(2) for cell in row}
    assert set(tree.probabilities(2).tolist()) <= written


def test_what_a_workbook_cannot_hold_is_refused_in_words():
    dates = {"day": ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"], "y": [0, 0, 1, 1]}
    with pytest.raises(tw.ParameterError, match='column "day" holds dates'):
        tw.grow(dates, "y", task="classification").export("xlsx")
    wide = {"id": [2**60 + i for i in range(8)], "y": [0, 1] * 4}
    with pytest.raises(tw.ParameterError, match='column "id" holds integers beyond'):
        tw.grow(wide, "y").export("xlsx")
    with pytest.raises(tw.ParameterError, match="control character"):
        tw.grow({"c": ["a\x07", "b"] * 4, "y": [0, 1] * 4}, "y").export("xlsx")
    with pytest.raises(tw.ParameterError, match="3,000 tests deep"):
        chain(3000).export("xlsx")
    with pytest.raises(tw.ParameterError, match="single tree"):
        tw.forest("penguins", n_estimators=2).export("xlsx")
    book = sheets(chain(200))
    assert "too large for one formula" in book["Formula"]["A1"].value
