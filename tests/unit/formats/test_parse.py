"""Parsing hand-written trees and printed trees."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.support.handmade_trees import N_P, OFFICIALS, build_tree, leaf, node, trees
from treewise.data.encoding import Encoding
from treewise.errors import ParameterError, ParseError
from treewise.formats.export.export import export
from treewise.formats.text_format.conditions import ANY_OTHER, parse_split
from treewise.formats.text_format.parse import parse
from treewise.show.text_tree.text_tree import header, render_tree
from treewise.train.grow import grow
from treewise.tree.arrays import Target
from treewise.tree.splits import Multiway, OneValue, Ordinal, Presence, Split, Subset, Threshold
from treewise.tree.tree import Tree


def first_split(text: str, **more: Any) -> Split:
    split = parse(text, **more).split_at(0)
    assert split is not None
    return split


def two(first: str, second: str) -> str:
    return f"{first} -> N\n{second} -> P"


# -- as people write them ----------------------------------------------------------------------------------


def test_the_officials_tree_of_st_nordaf() -> None:
    tree = parse(OFFICIALS, target="Class")
    assert tree.target == Target("Class", "classification", ("N", "P"))
    assert tree.encodings == (
        Encoding("GPA", "nominal", ("3.5", "3.7", "4.0")),
        Encoding("Recommendation", "nominal", ("good", "normal")),
        Encoding("University", "nominal", ("top10", "top20", "top30")),
        Encoding("Published", "nominal", ("no", "yes")),
    )
    assert tree.split_at(0) == Multiway("GPA", ("4.0", "3.7", "3.5"))
    assert [tree.condition(i) for i in tree.path(4)] == [
        "all rows",
        "GPA = 4.0",
        "Recommendation = normal",
        "University = top10",
    ]
    assert [tree.prediction(i) for i in (2, 4, 5, 6, 8, 10, 11, 12, 13)] == list("PNPNPNPNN")
    assert {tree[i].stop for i in range(len(tree)) if not tree.children(i)} == {"by_hand"}
    assert tree.arrays.rows.sum() == 0
    assert parse(export(tree)) == tree


@pytest.mark.parametrize(
    "variant",
    [
        OFFICIALS.replace("->", "→"),
        OFFICIALS.replace("    ", "\t"),
        OFFICIALS.replace("    ", "|   "),
        OFFICIALS.replace("    ", " "),
        OFFICIALS.replace("        University", "             University"),
        OFFICIALS.replace(" -> ", ": "),
        OFFICIALS.replace(" ->", ": ->"),
        OFFICIALS.replace("\n    ", ":\n    ").replace("N:", "N").replace("P:", "P"),
        OFFICIALS.replace(" = ", "="),
        "# the officials' tree\n\n" + OFFICIALS.replace("\n", "   # a remark\n\n"),
        "\n".join("      " + line for line in OFFICIALS.split("\n")),
        OFFICIALS.replace("\n", "\r\n"),
        "all rows\n" + OFFICIALS,
        OFFICIALS.replace("top10", '"top10"').replace("GPA", '"GPA"').replace("-> P", '-> "P"'),
    ],
)
def test_the_same_tree_in_other_spellings(variant: str) -> None:
    assert parse(variant, target="Class") == parse(OFFICIALS, target="Class")


def test_what_weka_prints() -> None:
    tree = parse(
        """\
outlook = sunny
|   humidity <= 75: yes (2.0)
|   humidity > 75: no (3.0/1.0)
outlook = overcast: yes (4.0)
outlook = rainy
|   windy is true: no (2.0)
|   windy is false: yes (3.0)
"""
    )
    assert tree.split_at(1) == Threshold("humidity", 75.0, missing=1)  # the branch with more rows
    assert tree.encoding_of("windy") == Encoding("windy", "boolean", ("false", "true"))
    assert [tree.prediction(i) for i in (2, 3, 4, 6, 7)] == ["yes", "no", "yes", "no", "yes"]


def test_indentation_need_not_be_even() -> None:
    uneven = "a <= 1\n  b <= 1 -> x\n  b > 1\n         c = u -> x\n       c = v -> y\na > 1 -> y"
    even = "a <= 1\n    b <= 1 -> x\n    b > 1\n        c = u -> x\n        c = v -> y\na > 1 -> y"
    assert parse(uneven) == parse(even)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        (two("x <= 3.2", "x > 3.2"), Threshold("x", 3.2)),
        (two("x > 3.2", "x <= 3.2"), Threshold("x", 3.2)),
        (two("x < 3", "x >= 3"), Threshold("x", math.nextafter(3.0, -math.inf))),
        (two("x ≤ -1e-3", "x otherwise"), Threshold("x", -0.001)),
        (two("x <= -0.0", "x > 0"), Threshold("x", 0.0)),
        (two("x <= inf", "x > inf"), Threshold("x", math.inf)),
        (two("x > 1 or missing", "x <= 1"), Threshold("x", 1.0, missing=1)),
        (two("x <= 1", "x > 1") + "\nx missing -> N", Threshold("x", 1.0, missing=2)),
        (two("x <= 9007199254740993", "x > 9007199254740993"), Threshold("x", 9007199254740993)),
        (two("x < 9007199254740993", "x >= 9007199254740993"), Threshold("x", 9007199254740992)),
        (two("day <= 1970-01-03", "day > 1970-01-03"), Threshold("day", 2)),
        (two("at < 1970-01-01 00:01:00.5", "at >= 1970-01-01 00:01:00.5"), Threshold("at", 60_499)),
        (two("x = a", "x = b"), Multiway("x", ("a", "b"))),
        (two("x = b", "x = a") + "\nx otherwise -> P", Multiway("x", ("b", "a"), other=True)),
        (two("x = a", "x missing"), Multiway("x", ("a",), missing=1)),
        (two("x = a", "x otherwise or missing"), OneValue("x", "a", missing=1)),
        (two("x otherwise", "x = a"), OneValue("x", "a")),
        (two("x in {a, b}", "x otherwise"), Subset("x", ("a", "b"))),
        (two("x in {a, b}", "x = c"), Subset("x", ("a", "b"))),
        (two("x otherwise", "x in {a, b}"), Subset("x", ("a", "b"))),
        (two("x != a", "x = a"), OneValue("x", "a")),
        (two("x = a", "x ≠ a or missing"), OneValue("x", "a", missing=1)),
        (two('"x" <> a', "else"), OneValue("x", "a")),
        (two("x = a", "x != a") + "\nx missing -> P", OneValue("x", "a", missing=2)),
        (two("x not in {a, b}", "x in {b, a}"), Subset("x", ("b", "a"))),
        (two("x not  in {a, b}", "x otherwise"), Subset("x", ("a", "b"))),
        (two("x is not true", "x is true"), OneValue("x", "true")),
        (two("x <= 1", "else"), Threshold("x", 1.0)),
        (two("x = a", "x = b") + "\nElse or missing -> P", Multiway("x", ("a", "b"), other=True, missing=2)),
        (two('"" <= 1', "else"), Threshold("", 1.0)),
        (two("x is true", "x is false"), Multiway("x", ("true", "false"))),
        (two("x present", "x missing"), Presence("x", missing=1)),
        (two("x missing", "x present"), Presence("x", missing=0)),
        (two("bill length (mm) <= 3", "bill length (mm) > 3"), Threshold("bill length (mm)", 3.0)),
        (two('"a <= b" = "c, d"', '"a <= b" otherwise'), OneValue("a <= b", "c, d")),
        (two("path = C:\\new", "path otherwise"), OneValue("path", "C:\\new")),
        (two(r'path = "C:\\new\n"', "path otherwise"), OneValue("path", "C:\\new\n")),
        (two("time = 10:30", "time otherwise"), OneValue("time", "10:30")),
        (two("is it = yes", "is it = no"), Multiway("is it", ("yes", "no"))),
        (
            two("sort = x # y", "sort = C#").replace("x # y ->", '"x # y" ->'),
            Multiway("sort", ("x # y", "C#")),
        ),
    ],
)
def test_each_condition_stands_for_its_split(text: str, split: Split) -> None:
    assert first_split(text) == split


def test_branches_are_put_in_their_order() -> None:
    tree = parse("x > 1 -> big\nx <= 1\n  c otherwise -> other\n  c = a -> a")
    assert [tree.condition(i) for i in range(5)] == ["all rows", "x <= 1", "c = a", "c otherwise", "x > 1"]
    assert [tree.prediction(i) for i in (2, 3, 4)] == ["a", "other", "big"]


def test_otherwise_stays_open_when_one_other_level_is_named_elsewhere() -> None:
    tree = parse("city = Rome -> a\ncity otherwise\n  city = Bari -> b\n  city otherwise -> c")
    assert [tree.condition(i) for i in range(1, 5)] == [
        "city = Rome",
        "city otherwise",
        "city = Bari",
        "city otherwise",
    ]
    assert tree.encodings[0].levels == ("Bari", "Rome", "(any other)")


def test_an_ordered_column_is_declared() -> None:
    order = "order size: small < medium < large\n"
    ordered = Encoding("size", "ordered", ("small", "medium", "large"))
    assert parse(order + two("size <= medium", "size = large")).encodings == (ordered,)
    assert first_split(order + two("size <= medium", "size = large")) == Ordinal("size", "medium")
    assert first_split(order + two("size > small", "size = small")) == Ordinal("size", "small")
    assert first_split(order + two("size < large", "size >= large")) == Ordinal("size", "medium")
    assert first_split(order + two("size present", "size missing")) == Presence("size", missing=1)
    with pytest.raises(ParseError, match=r"line 1: .* compares levels, but their order is not known. Declare it"):
        parse(two("size <= medium", "size > medium"))


def test_a_table_reports_what_the_columns_are() -> None:
    data = {"GPA": ["3.5", "3.7", "4.0"], "age": [1.5, 2.5, 3.5], "y": ["N", "P", "P"]}
    tree = parse(two("age missing", "age present"), data=data)
    assert tree.encodings == (Encoding("age", "number"),)
    assert tree.split_at(0) == Presence("age", missing=1)
    with pytest.raises(ParseError, match=r"line 1: .*names a level, but this is a column of numbers"):
        parse(two("age = young", "age otherwise"), data=data)
    ordered = {"size": ["S", "L"]}
    assert parse(two("size = XL", "size otherwise"), data=ordered).encodings[0].levels == ("L", "S", "XL")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("1", "0"), (0, 1)),
        (("2", "10"), (2, 10)),
        (("yes", "1"), ("1", "yes")),
        (("true", "false"), (False, True)),
        (('"1"', '"0"'), ("0", "1")),
        (("a b", "→"), None),
    ],
)
def test_classes_are_numbers_or_truth_values_where_all_are(labels: tuple[str, str], classes: Any) -> None:
    text = f"x <= 1 -> {labels[0]}\nx > 1 -> {labels[1]}"
    if classes is None:
        classes = tuple(sorted(labels))
    tree = parse(text)
    assert tree.task == "classification"
    assert tree.classes == classes
    assert [type(label) for label in tree.classes] == [type(label) for label in classes]


def test_what_grow_would_not_take_for_classes_are_values() -> None:
    assert parse("x <= 1 -> 2.5\nx > 1 -> 10", target="y").target == Target("y", "regression")
    many = "\n".join(f"x = {i} -> {i}" for i in range(21))
    assert parse(many).task == "regression"
    classes = parse("classes: 2.5, 10\nx <= 1 -> 2.5\nx > 1 -> 10")
    assert classes.classes == (2.5, 10)
    assert classes == parse("x <= 1 -> 2.5\nx > 1 -> 10", task="classification")
    assert classes == parse(render_tree(classes, ascii=False))


def test_the_positive_class_is_declared_last() -> None:
    assert parse("classes: yes, no, maybe\n" + "x <= 1 -> no\nx > 1 -> yes").classes == ("yes", "no", "maybe")


def test_a_single_leaf() -> None:
    for text in ("-> P", "all rows -> P", "0  all rows  → P"):
        tree = parse(text)
        assert len(tree) == 1
        assert tree.prediction(0) == "P"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        ("# nothing", "the text is empty"),
        ("x = a -> P", r'line 1: "x = a" has no sibling. A node needs two or more branches'),
        (
            "x = a -> P\nx = b",
            r'line 2: "x = b" has neither a prediction nor lines below it. Write "-> class"',
        ),
        ("x = a -> P\nx = b ->", r'line 2: "x = b ->" has no prediction'),
        ("x = a -> P\nx = a -> N", r'line 2: "x = a" names "a", as does line 1'),
        ("x in {a, b} -> P\nx in {b, c} -> N", r'line 2: .* names "b", as does line 1'),
        ("x <= 1 -> P\nx > 2 -> N", r'line 2: "x > 2" does not fit "x <= 1" \(line 1\). .* the same threshold'),
        ("x <= 1 -> P\nx >= 1 -> N", "line 2: .* does not fit"),
        ("x <= 1 -> P\nx <= 1 -> N", "line 2: .* does not fit"),
        ("x <= 1 -> P\nx > 1 -> N\nx > 2 -> N", "line 3: .* a comparison has two sides"),
        ("x <= 1 -> P\nx = 2 -> N", r'line 2: "x = 2" names a level, but "x <= 1" \(line 1\) compares'),
        ("x <= 1 -> P\nx > 2020-01-01 -> N", "line 1: .* compares with a number, but line 2 compares with a date"),
        (
            "x <= 1 or missing -> P\nx > 1 or missing -> N",
            "line 2: .* takes missing values, and so does line 1",
        ),
        (
            "x = a or missing -> P\nx = b -> N\nx missing -> N",
            "line 1: .* takes missing values, and so does line 3",
        ),
        ("x missing -> P\nx missing -> N", "line 2: .* repeats line 1"),
        ("x = a -> P\nx otherwise -> N\nx otherwise -> N", "line 3: .* repeats line 2"),
        ("x otherwise -> P\nx missing -> N", "line 1: .* needs a sibling with a condition"),
        ("x present -> P\nx otherwise -> N", 'line 1: .* needs "x missing" as its only sibling'),
        ("x missing or missing -> P\nx present -> N", "line 1: .* already tests for missing values"),
        ("x in {a, b} -> P\nx in {c, d} -> N\nx otherwise -> N", "line 1: .* A set takes exactly one sibling"),
        ("x is what it is -> P\n? -> N", 'line 2: cannot read "\\?". A condition looks like'),
        ("x = -> P\nx = b -> N", 'line 1: "x =" ends without a value'),
        ("x != a -> P\nx = b -> N", 'line 1: "x != a" is a negation: it needs exactly one sibling, "x = a" or "else"'),
        ("x != a -> P\nx = a -> N\nx = b -> P", "line 1: .* it needs exactly one sibling"),
        ("x not in {a, b} -> P\nx = a -> N", 'line 1: .* it needs exactly one sibling, "x in {…}" or "else"'),
        ("x != a -> P\nx missing -> N", "line 1: .* it needs exactly one sibling"),
        ("else -> P\nelse -> N", 'line 1: "else" needs a sibling with a condition'),
        ("x <= 1 -> P\nelse -> N\nelse -> N", "line 3: .* repeats line 2"),
        ("x in {a, b -> P\nx otherwise -> N", "line 1: .* does not close it"),
        ("x in {a,, b} -> P\nx otherwise -> N", "line 1: .* an empty item"),
        ('x = "a" b -> P\nx otherwise -> N', "line 1: .* an unclosed quote"),
        ("x = a -> P\n  y = b -> N\nx = b -> N", 'line 2: "y = b" is below line 1, which already predicts'),
        ("x = a\n\ty = b -> N\n    y = c -> P\nx = b -> N", "line 3: mixed tabs and spaces"),
        ("x = a -> P\n-> N", 'line 2: "-> N" has no condition'),
        ("all rows", 'line 1: "all rows" has neither a prediction nor lines below it'),
        ("classes: a, b\nx = a -> a\nx = b -> c", "line 3: c is not one of the declared classes: a, b"),
        ("order x: a < b\nx <= a -> P\nx = c -> N", 'line 3: "x = c" names "c". The levels are a, b'),
        ("0  all rows\n1  ├─ x = a  → P\n   │     … 7 leaves, all P", "line 3: this is an abbreviated view"),
        ("0  all rows\n1  ├─ x in {a, +3}  → P\n2  └─ x otherwise  → N", "line 2: .* is abbreviated"),
        (
            "0  all rows\n1  ├─ x = a  → P\n2  x = b  → P",
            "line 3: node 2 is at the margin, but no line continues there",
        ),
        ("0  all rows\n1  ├─ x = a  → P\nand so on", 'line 3: "and so on" has no node number'),
        (
            "predicts  rows\n0  all rows  12\n1  ├─ x=a  → P  many\n2  └─ x=b  → P  3",
            'line 3: expected a number instead of "many"',
        ),
        ("predicts  rows  P  %\n0  all rows  12", "line 2: .* should end with 3 numbers"),
    ],
)
def test_errors_name_the_line_and_what_to_do(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text)


def test_siblings_must_ask_about_one_column(tmp_path: Path) -> None:
    file = tmp_path / "stnordaf.txt"
    file.write_text(OFFICIALS.replace("        University", "    University", 3))
    with pytest.raises(ParseError) as caught:
        parse(file)
    assert str(caught.value) == (
        'stnordaf.txt line 4: "University = top10" is at the same depth as "Recommendation = normal" '
        "but tests another column. Siblings must test the same column."
    )


def test_files_are_read_and_missing_ones_named(tmp_path: Path) -> None:
    file = tmp_path / "tree.txt"
    file.write_text(OFFICIALS, encoding="utf-8-sig")
    assert parse(file) == parse(str(file)) == parse(OFFICIALS)
    with pytest.raises(ParseError, match=r"cannot read .*other.txt: No such file"):
        parse(str(tmp_path / "other.txt"))
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParseError, match="not a text file in UTF-8"):
        parse(file)


# -- as print(tree) prints them ----------------------------------------------------------------------------


def assert_same_splits_and_classes(back: Tree, tree: Tree) -> None:
    """The same tests lead to the same leaves: every level, and missing, takes the same branch everywhere."""
    assert back.arrays.parent.tolist() == tree.arrays.parent.tolist()
    assert back.target == tree.target
    assert [type(label) for label in back.classes] == [type(label) for label in tree.classes]
    for i in range(len(tree)):
        mine, theirs = back.split_at(i), tree.split_at(i)
        if theirs is None or mine is None:
            assert theirs is mine
            assert tree.task == "regression" or back.prediction(i) == tree.prediction(i)
            continue
        assert (mine.column, mine.n_branches, mine.missing) == (
            theirs.column,
            theirs.n_branches,
            theirs.missing,
        )
        if isinstance(theirs, Threshold):
            assert mine == theirs
        was, now = tree.encoding_of(theirs.column), back.encoding_of(mine.column)
        for level in was.levels:
            # A column that is only asked for presence has no levels in the text: any present value will do.
            assert mine.branch(level if now.is_categorical else 0.0, now) == theirs.branch(level, was)


@settings(max_examples=150, deadline=None)
@given(trees(), st.booleans())
def test_what_is_printed_reads_back(tree: Tree, ascii: bool) -> None:
    text = render_tree(tree, ascii=ascii)
    note(text)
    assert not ascii or text.isascii()
    assert_same_splits_and_classes(parse(text, target=tree.target.name), tree)
    assert_same_splits_and_classes(parse(f"{header(tree, ascii=ascii)}\n{text}"), tree)


@settings(max_examples=100, deadline=None)
@given(trees())
def test_printing_what_was_read_prints_the_same(tree: Tree) -> None:
    text = render_tree(tree, ascii=False)
    # Not in the text: counts beyond six classes, all digits of weights, whether two levels were compared
    # (``= small``, ``= large``) or told apart, and levels never named.
    back = parse(text)
    output = not any(words in text for words in ("\norder ", "  weight"))
    if output and len(tree.classes) <= 6 and not any(ANY_OTHER in e.levels for e in back.encodings):
        assert render_tree(back, ascii=False) == text


def test_the_numbers_are_kept_as_printed() -> None:
    root = node(Threshold("x", 0.5), leaf("N", {"N": 1500, "P": 2}), leaf("P", {"P": 7}))
    back = parse(render_tree(build_tree([Encoding("x", "number")], N_P, root), ascii=False))
    assert back[0].counts == {"N": 1500.0, "P": 9.0}
    assert back[1].rows == 1502
    assert back[0].prediction == "N"
    assert math.isnan(back[0].gain)
    price = Target("price", "regression")
    root = node(Threshold("x", 0.5), leaf(1234.5, rows=3, spread=2.25), leaf(-0.5, rows=1500, spread=0.0))
    back = parse(render_tree(build_tree([Encoding("x", "number")], price, root), ascii=False), target="price")
    assert back.target == price
    assert (back[1].prediction, back[1].spread, back[2].prediction, back[2].rows) == (
        1234.5,
        2.25,
        -0.5,
        1500,
    )


def test_a_subtree_that_was_printed_alone_reads_back() -> None:
    tree = parse(OFFICIALS)
    back = parse(render_tree(tree, node=7, ascii=False))
    assert back.split_at(0) == tree.split_at(7)
    assert len(back) == 6


def test_a_tree_of_numbers_may_be_written_by_hand() -> None:
    tree = parse("x <= 1 -> 1.5\nx > 1 -> -2", target="y", task="regression")
    assert tree.target == Target("y", "regression")
    assert tree.predict({"x": [0, 2]}).tolist() == [1.5, -2.0]
    assert parse(export(tree), task="regression") == tree
    assert parse("predicts numbers\nx <= 1 -> 1.5\nx > 1 -> -2", target="y") == tree
    assert "sd" not in render_tree(tree, ascii=False)
    assert parse(render_tree(tree, ascii=False), target="y") == tree
    with pytest.raises(ParseError, match='expected a number instead of "many"'):
        parse("x <= 1 -> 1.5\nx > 1 -> many", task="regression")
    with pytest.raises(ParseError, match='task="classification" does not fit'):
        parse(export(tree), task="classification")
    with pytest.raises(ParseError, match='task="classification" does not fit'):
        parse(render_tree(tree, ascii=False), task="classification")
    with pytest.raises(ParameterError, match='task="numbers": must be'):
        parse("x <= 1 -> 1.5\nx > 1 -> 2", task="numbers")  # type: ignore[arg-type]


def test_what_only_looks_foreign_is_read() -> None:
    assert first_split(two("wow! = a", "wow! otherwise")) == OneValue("wow!", "a")
    assert first_split(two("x = a != b", "x otherwise")) == OneValue("x", "a != b")
    assert first_split(two('"or not" in {a, b}', '"or not" otherwise')) == Subset("or not", ("a", "b"))


# -- one condition -----------------------------------------------------------------------------------------

COLUMNS = (
    Encoding("age", "number"),
    Encoding("city", "nominal", ("Bari", "Rome", "Turin")),
    Encoding("size", "ordered", ("S", "M", "L")),
    Encoding("sick", "boolean", ("false", "true")),
)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("age <= 71.5", Threshold("age", 71.5)),
        ("age > 71.5 or missing", Threshold("age", 71.5, missing=1)),
        ("city = Rome", OneValue("city", "Rome")),
        ("city in {Bari, Rome}", Subset("city", ("Bari", "Rome"))),
        ("city", Multiway("city", ("Bari", "Rome", "Turin"))),
        ("size <= M", Ordinal("size", "M")),
        ("sick is true", OneValue("sick", "true")),
        ("age missing", Presence("age", missing=1)),
        ("city missing", Presence("city", missing=0)),
    ],
)
def test_one_condition_stands_for_a_split(text: str, split: Split) -> None:
    assert parse_split(text, COLUMNS) == (split, "missing" in text or "present" in text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agee <= 3", 'no column "agee". Did you mean "age"\\? Columns: age, city'),
        ("city = Paris", 'names "Paris". The levels are Bari, Rome, Turin'),
        ("age = 3", "this is a column of numbers: compare it with <= or >"),
        ("age <= old", "does not fit a column of numbers"),
        ("age", 'cannot read "age"'),
        ("city otherwise", "is not a condition by itself"),
    ],
)
def test_one_condition_that_does_not_fit_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_split(text, COLUMNS)


def test_missing_values_that_went_with_the_heavier_branch_are_still_said_after_reading() -> None:
    data = {"x": [1.0, 2.0, None, 8.0, 9.0, 9.5, None], "y": ["N", "N", "P", "P", "P", "P", "P"]}
    tree = grow(data, "y")
    assert "x > 5 or missing" in str(tree)
    back = parse(str(tree), target="y")
    assert str(back) == str(tree)
    assert str(parse(str(back), target="y")) == str(tree)
