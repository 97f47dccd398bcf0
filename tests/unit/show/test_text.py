"""The text tree: output, folding, and linear running time."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.handmade_trees import N_P, build_tree, chain, leaf, node, trees
from treewise._lib.text import display_width
from treewise.data.encoding import Encoding
from treewise.errors import ParameterError
from treewise.formats.text_format.parse import parse
from treewise.show.node_stats import is_weighted
from treewise.show.text_tree.columns import common_decimals, format_column
from treewise.show.text_tree.conditions import ConditionText
from treewise.show.text_tree.lines import MAX_BLOCK_DEPTH
from treewise.show.text_tree.text_tree import header, render_tree, training_error
from treewise.tree.arrays import Target
from treewise.tree.splits import Multiway, OneValue, Ordinal, Subset, Threshold
from treewise.tree.tree import Tree

CITY = Encoding("city", "nominal", ("Bari", "Rome", "Turin"))
X = Encoding("x", "number")


def admissions() -> Tree:
    """The tree of CS221 section 5."""
    gpa = Encoding("GPA", "nominal", ("3.5", "3.7", "4.0"))
    university = Encoding("University", "nominal", ("top10", "top20", "top30"))
    published = Encoding("Published", "nominal", ("no", "yes"))
    by_university = node(
        Multiway("University", university.levels),
        leaf("N", {"N": 1}),
        leaf("P", {"P": 1}),
        leaf("N", {"N": 1}),
    )
    by_published = node(Multiway("Published", ("no", "yes")), by_university, leaf("P", {"P": 2}))
    root = node(Multiway("GPA", gpa.levels, missing=1), leaf("N", {"N": 4}), by_published, leaf("P", {"P": 3}))
    return build_tree([gpa, university, published], N_P, root)


def penguins() -> Tree:
    species = Target("species", "classification", ("Adelie", "Chinstrap", "Gentoo"))
    columns = [
        Encoding("island", "nominal", ("Biscoe", "Dream", "Torgersen")),
        Encoding("bill_length_mm", "number"),
        Encoding("flipper_length_mm", "number"),
    ]
    small = node(
        Threshold("bill_length_mm", 43.35),
        leaf("Adelie", {"Adelie": 145, "Chinstrap": 5}),
        leaf("Chinstrap", {"Adelie": 4, "Chinstrap": 58, "Gentoo": 1}),
    )
    large = node(
        Subset("island", ("Dream", "Torgersen"), missing=1),
        leaf("Chinstrap", {"Adelie": 3, "Chinstrap": 5}),
        leaf("Gentoo", {"Gentoo": 123}),
    )
    return build_tree(
        columns, species, node(Threshold("flipper_length_mm", 206.5, missing=1), small, large, missing_rows=2)
    )


def alternating(levels: int) -> Tree:
    """A full binary tree on one column whose leaves say N, P, N, P …, one row each."""
    row = [leaf("NP"[i % 2], {"NP"[i % 2]: 1}) for i in range(2**levels)]
    step = 1
    while len(row) > 1:
        row = [node(Threshold("x", step * (2 * i + 1) - 0.5), row[2 * i], row[2 * i + 1]) for i in range(len(row) // 2)]
        step *= 2
    return build_tree([X], N_P, row[0])


def lines(text: str) -> list[str]:
    return text.split("\n")


# -- what is printed ---------------------------------------------------------------------------------------


def test_two_classes_show_the_positive_one_and_its_share() -> None:
    assert render_tree(admissions(), ascii=False) == (
        """\
                                predicts   rows      P    % P
0  all rows                                  12      6   50.0
1  ├─ GPA = 3.5                 → N           4      0    0.0
2  ├─ GPA = 3.7                               5      3   60.0
3  │  ├─ Published = no                       3      1   33.3
4  │  │  ├─ University = top10  → N           1      0    0.0
5  │  │  ├─ University = top20  → P           1      1  100.0
6  │  │  └─ University = top30  → N           1      0    0.0
7  │  └─ Published = yes        → P           2      2  100.0
8  └─ GPA = 4.0                 → P           3      3  100.0"""
    )


def test_three_classes_have_a_column_each_and_missing_values_are_reported_once() -> None:
    assert render_tree(penguins(), ascii=False) == (
        """\
                                            predicts      rows  Adelie  Chinstrap  Gentoo
0  all rows                                                344     152         68     124
1  ├─ flipper_length_mm <= 206.5                           213     149         63       1
2  │  ├─ bill_length_mm <= 43.35            → Adelie       150     145          5       0
3  │  └─ bill_length_mm > 43.35             → Chinstrap     63       4         58       1
4  └─ flipper_length_mm > 206.5 or missing                 131       3          5     123
5     ├─ island in {Dream, Torgersen}       → Chinstrap      8       3          5       0
6     └─ island = Biscoe                    → Gentoo       123       0          0     123"""
    )


def test_ascii_needs_no_other_letter() -> None:
    text = render_tree(penguins(), ascii=True)
    assert text.isascii()
    assert "2  |  |- bill_length_mm <= 43.35" in text
    assert "3  |  `- bill_length_mm > 43.35             -> Chinstrap" in text


def test_ascii_quotes_what_is_not_ascii() -> None:
    tree = build_tree([Encoding("größe", "number")], N_P, node(Threshold("größe", 1.5), leaf("N"), leaf("P")))
    assert lines(render_tree(tree, ascii=True))[1] == '1  |- "gr\\xf6\\xdfe" <= 1.5  -> N'


def test_the_encoding_of_standard_output_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, glyph in (("latin-1", "|- "), ("utf-8", "├─ ")):
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        assert glyph in render_tree(admissions())


def test_many_classes_show_the_share_of_the_predicted_one() -> None:
    digit = Target("digit", "classification", tuple(range(10)))
    root = node(Threshold("x", 4.5), leaf(3, {3: 30, 4: 10}), leaf(7, {7: 1200, 8: 0.0, 9: 300}), missing_rows=0)
    text = render_tree(build_tree([X], digit, root), ascii=False)
    assert lines(text)[0].split() == ["predicts", "rows", "%", "predicted"]
    assert lines(text)[2].split()[-3:] == ["3", "40", "75.0"]
    assert lines(text)[3].split()[-3:] == ["7", "1,500", "80.0"]
    assert lines(text)[-1] == "classes: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"


def test_regression_shows_values_rows_and_spread() -> None:
    price = Target("price", "regression")
    root = node(
        Threshold("x", 0.5),
        leaf(1058.46, rows=24951, spread=524.3712),
        leaf(13533.4, rows=1437, spread=2324.6),
    )
    assert lines(render_tree(build_tree([X], price, root), ascii=False))[1:] == [
        "0  all rows               26,388      0",
        "1  ├─ x <= 0.5  →  1,058  24,951    524",
        "2  └─ x > 0.5   → 13,533   1,437  2,325",
    ]


@given(st.lists(st.floats(-1e20, 1e20) | st.just(math.nan), min_size=1, max_size=6))
def test_numbers_of_a_column_have_as_many_decimals_and_stay_near(values: list[float]) -> None:
    texts = [text for text, value in zip(format_column(values), values, strict=True) if value == value]
    for text, value in zip(texts, (v for v in values if v == v), strict=True):
        assert float(text.replace(",", "")) == pytest.approx(value, rel=0.006, abs=1e-300)
    if common_decimals(values) is not None:
        assert len({len(text.partition(".")[2]) for text in texts}) <= 1


def test_weights_are_shown_where_they_differ_from_rows() -> None:
    root = node(Threshold("x", 0.5), leaf("N", {"N": 2.5, "P": 0.25}, rows=4), leaf("P", {"P": 1234.5}, rows=2))
    text = lines(render_tree(build_tree([X], N_P, root), ascii=False))
    assert text[0].split() == ["predicts", "rows", "weight", "P", "%", "P"]
    assert text[2].split()[-4:] == ["4", "2.75", "0.25", "9.1"]
    assert text[3].split()[-4:] == ["2", "1,234.50", "1,234.50", "100.0"]


def test_a_branch_without_rows_has_no_share() -> None:
    root = node(Multiway("city", ("Rome",), other=True), leaf("N", {"N": 3}), leaf("P", stop="no_rows"))
    assert lines(render_tree(build_tree([CITY], N_P, root), ascii=False))[-1].split()[-3:] == ["0", "0", "–"]


def test_a_tree_written_by_hand_has_no_columns() -> None:
    tree = parse("city = Rome -> P\ncity otherwise -> N")
    assert lines(render_tree(tree, ascii=False)) == [
        "0  all rows",
        "1  ├─ city = Rome     → P",
        "2  └─ city otherwise  → N",
    ]


def test_no_name_can_break_a_line_or_reach_the_terminal() -> None:
    nasty = Encoding("a\nb", "nominal", ("\x1b[31mred", "->"))
    target = Target("y", "classification", ("N\x07", "# P"))
    root = node(OneValue("a\nb", "->"), leaf("# P", {"# P": 1}), leaf("N\x07", {"N\x07": 1}))
    text = render_tree(build_tree([nasty], target, root), ascii=False)
    assert len(lines(text)) == 4
    assert text.replace("\n", "").isprintable()
    assert '"a\\nb" = "->"' in text
    assert '"a\\nb" = "\\x1b[31mred"' in text
    assert '→ "N\\x07"' in text


def test_wide_letters_keep_the_columns_aligned() -> None:
    city = Encoding("都市", "nominal", ("東京", "Rome", "大阪"))
    root = node(Multiway("都市", city.levels), *(leaf("P", {"P": 1}) for _ in range(3)))
    text = lines(render_tree(build_tree([city], N_P, root), ascii=False))
    assert {display_width(line) for line in text[1:5]} == {display_width(text[0])}
    arrows = {display_width(line[: line.index("→")]) for line in text[2:5]}
    assert len(arrows) == 1


def test_the_order_of_compared_levels_is_reported() -> None:
    size = Encoding("size", "ordered", ("small", "medium", "large", "huge"))
    tree = build_tree([size], N_P, node(Ordinal("size", "medium"), leaf("N"), leaf("P")))
    assert lines(render_tree(tree, ascii=False))[-1] == "order size: small < medium < large < huge"


def test_levels_that_look_like_numbers_are_quoted_where_they_are_compared() -> None:
    gpa = Encoding("GPA", "nominal", ("3.5", "3.7", "4.0"))
    tree = build_tree([gpa], N_P, node(Ordinal("GPA", "3.5"), leaf("N"), leaf("P")))
    assert '└─ GPA > "3.5"' in render_tree(tree, ascii=False)


def test_a_subtree_can_be_shown_alone() -> None:
    text = lines(render_tree(admissions(), node=3, ascii=False))
    assert text[1].startswith("3  Published = no")
    assert [line.split()[0] for line in text[1:]] == ["3", "4", "5", "6"]


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        ({"max_lines": 0}, "max_lines=0: must be 1 or more"),
        ({"max_depth": -1}, "max_depth=-1: must be 0 or more"),
        ({"node": 9}, "node=9: the tree has nodes 0 to 8"),
        ({"width": 3}, "width=3: must be 20 or more"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(bound: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        render_tree(admissions(), **bound)


@settings(max_examples=100, deadline=None)
@given(trees())
def test_every_node_has_its_line_with_the_words_of_its_split(tree: Tree) -> None:
    body = [line for line in lines(render_tree(tree, ascii=False)) if re.match(r" *\d+  ", line)]
    assert [int(line.split()[0]) for line in body] == list(range(len(tree)))
    plain = ConditionText(tree)
    for i in range(1, len(tree)):
        words = tree.condition(i)
        # Names that could be misread are quoted here and not there; all others are alike.
        if '"' not in plain.condition(i) and not is_weighted(tree):
            assert plain.condition(i) == words


# -- bounded views -----------------------------------------------------------------------------------------


def test_what_fits_is_shown_whole() -> None:
    assert render_tree(admissions(), max_lines=9, ascii=False) == render_tree(admissions(), ascii=False)


def test_subtrees_whose_leaves_agree_are_folded_first() -> None:
    agreeing = node(
        Threshold("x", 1.5),
        leaf("N", {"N": 5}),
        node(Threshold("x", 2.5), leaf("N", {"N": 2, "P": 1}), leaf("N", {"N": 1})),
    )
    root = node(OneValue("city", "Rome", missing=1), leaf("P", {"P": 3}), agreeing)
    text = lines(render_tree(build_tree([X, CITY], N_P, root), max_lines=6, ascii=False))
    assert text[1:] == [
        "0  all rows                              12      4   33.3",
        "1  ├─ city = Rome           → P           3      3  100.0",
        "2  └─ city otherwise                      9      1   11.1",
        "         … 3 leaves, all N  → N",
        "… 4 lines shown of 7; every line: print(tree); from node 2 down: node=2",
    ]


def test_classes_that_are_numbers_are_told_from_numbers_of_leaves() -> None:
    target = Target("y", "classification", (0, 1))
    tree = build_tree([X], target, node(Threshold("x", 1.5), leaf(0, {0: 3}), leaf(1, {1: 2})))
    assert "… 2 leaves: 1 × 0, 1 × 1" in render_tree(tree, max_depth=0, ascii=False)
    assert "... 2 leaves: 1 x 0, 1 x 1" in render_tree(tree, max_depth=0, ascii=True)


def test_deep_levels_are_folded_until_it_fits() -> None:
    tree = alternating(6)
    for limit in range(2, 127):
        text = lines(render_tree(tree, max_lines=limit, ascii=False))
        body = text[1:-1]
        assert len(body) <= limit
        if limit >= 5:
            assert len(body) > limit / 2
        assert f"… {len(body)} lines shown of 127" in text[-1]
        folded = [int(m[1]) for line in body if (m := re.search(r"… (\d+) leaves", line))]
        assert sum(folded) + sum("→" in line for line in body) == 64


def test_the_depth_can_be_bounded() -> None:
    text = lines(render_tree(alternating(5), max_depth=2, ascii=False))
    assert [line.split()[0] for line in text[1:-1] if line[:2].strip()] == [
        "0",
        "1",
        "2",
        "17",
        "32",
        "33",
        "48",
    ]
    assert sum("… 8 leaves: 4 N, 4 P" in line for line in text) == 4


def test_a_node_with_too_many_branches_is_opened_in_part() -> None:
    street = Encoding("street", "nominal", tuple(f"s{i:03}" for i in range(500)))
    root = node(Multiway("street", street.levels), *(leaf("NP"[i % 2], {"NP"[i % 2]: 1}) for i in range(500)))
    text = lines(render_tree(build_tree([street], N_P, root), max_lines=10, ascii=False))
    assert len(text) == 12
    assert "street = s007" in text[-3]
    assert "└─ … 492 more branches, 492 leaves" in text[-2]


def test_long_sets_are_shortened_in_a_bounded_view_only() -> None:
    levels = ("Bachelors", "Doctorate", "Masters", "Prof-school", "HS-grad", "11th")
    education = Encoding("education", "nominal", levels)
    below = node(Threshold("x", 1.5), leaf("N", {"N": 9}), leaf("P", {"P": 2}))
    root = node(Subset("education", levels[:4], missing=1), leaf("P", {"P": 1}), below)
    tree = build_tree([X, education], N_P, root)
    assert "education in {Bachelors, Doctorate, Masters, +1}  " in render_tree(tree, max_lines=4, ascii=False)
    assert "education in {Bachelors, Doctorate, Masters, Prof-school}" in render_tree(tree, ascii=False)


def nursery() -> Tree:
    """Five classes of long names, below each other: more than a page is wide."""
    classes = ("not_recom", "priority", "recommend", "spec_prior", "very_recom")
    columns = [
        Encoding("health", "nominal", ("not_recom", "priority", "recommended")),
        Encoding("has_nurs", "nominal", ("critical", "improper", "less_proper", "proper", "very_crit")),
    ]
    below = node(
        Subset("has_nurs", ("critical", "improper", "very_crit")),
        leaf("spec_prior", {"spec_prior": 1614, "priority": 114}),
        leaf("priority", {"priority": 60, "recommend": 2, "very_recom": 328}),
    )
    root = node(OneValue("health", "not_recom"), leaf("not_recom", {"not_recom": 4320}), below)
    return build_tree(columns, Target("class", "classification", classes), root)


def test_a_long_set_goes_on_below_when_the_whole_tree_is_printed() -> None:
    towns = [f"town_{i:02}, east" if i == 3 else f"town_{i:02}" for i in range(24)]
    split = Subset("place of birth", tuple(towns[:20]), missing=0)
    root = node(split, node(Threshold("x", 1.5), leaf("P", {"P": 3}), leaf("N", {"N": 2})), leaf("N", {"N": 4}))
    tree = build_tree([Encoding("place of birth", "nominal", tuple(towns)), X], N_P, root)
    text = render_tree(tree, ascii=False)
    assert lines(text) == [
        "                                                       predicts   rows      P    % P",
        "0  all rows                                                          9      3   33.3",
        "1  ├─ place of birth in {town_00, town_01, town_02,",
        '   │     "town_03, east", town_04, town_05, town_06,',
        "   │     town_07, town_08, town_09, town_10, town_11,",
        "   │     town_12, town_13, town_14, town_15, town_16,",
        "   │     town_17, town_18, town_19}                                  5      3   60.0",
        "2  │  ├─ x <= 1.5                                      → P           3      3  100.0",
        "3  │  └─ x > 1.5                                       → N           2      0    0.0",
        "4  └─ place of birth otherwise                         → N           4      0    0.0",
    ]
    for ascii in (False, True):
        assert parse(render_tree(tree, ascii=ascii)).split_at(0) == split
    shown = render_tree(tree, max_lines=60, ascii=False)
    assert "place of birth in {town_00, town_01, +18}" in shown
    assert lines(shown)[-1] == "… long sets are shortened; in full: print(tree)"


def test_on_a_narrow_page_the_counts_give_way_first_and_no_test_is_cut() -> None:
    assert lines(render_tree(nursery(), width=140, ascii=False))[0].split() == ["predicts", "rows", *nursery().classes]
    assert lines(render_tree(nursery(), width=80, ascii=False)) == [
        "                                               predicts       rows  % predicted",
        "0  all rows                                                  6,438          5.1",
        "1  ├─ health = not_recom                       → not_recom   4,320        100.0",
        "2  └─ health otherwise                                       2,118         15.5",
        "3     ├─ has_nurs in {critical, improper, +1}  → spec_prior  1,728         93.4",
        "4     └─ has_nurs otherwise                    → priority      390         15.4",
        "classes: not_recom, priority, recommend, spec_prior, very_recom",
        "… long sets are shortened; in full: print(tree)",
    ]
    assert "has_nurs in {critical, +2}" in render_tree(nursery(), width=70, ascii=False)
    for width in range(66, 140):
        text = render_tree(nursery(), width=width, ascii=False)
        assert max(map(display_width, lines(text))) <= width
        assert "has_nurs otherwise" in text
    narrow = render_tree(nursery(), width=60, ascii=False)
    assert "has_nurs in {critical, +2}" in narrow
    assert "has_nurs otherwise" in narrow


def test_two_classes_keep_their_share_on_a_narrow_page_and_only_rows_on_a_very_narrow_one() -> None:
    text = lines(render_tree(admissions(), width=54, ascii=False))
    assert text[0].split() == ["predicts", "rows", "%", "P"]
    assert text[2].split()[-3:] == ["N", "4", "0.0"]
    assert parse("\n".join(text)).classes == ("N", "P")
    text = lines(render_tree(admissions(), width=50, ascii=False))
    assert text[0].split() == ["predicts", "rows"]
    assert text[5].split()[-6:] == ["University", "=", "top10", "→", "N", "1"]
    assert parse("\n".join(text)).classes == ("N", "P")


def test_levels_are_folded_before_names_are_cut() -> None:
    root = leaf("P", {"P": 1})
    for i in range(8):
        root = node(Threshold("length_of_the_bill", float(i), missing=1), leaf("N", {"N": 1}), root)
    tree = build_tree([Encoding("length_of_the_bill", "number")], N_P, root)
    text = render_tree(tree, width=62, ascii=False)
    assert max(map(display_width, lines(text)[:-1])) <= 62
    assert "length_of_the_bill > 5" in text
    assert "leaves: " in text
    assert "lines shown of 17" in text
    assert render_tree(tree, width=120, ascii=False) == render_tree(tree, ascii=False)


def test_names_are_cut_in_their_middle_and_tests_stay() -> None:
    columns = [Encoding(f"{name}_of_the_yellow_taxi_zone", "number") for name in ("pickup", "dropoff")]
    root = node(
        Threshold("pickup_of_the_yellow_taxi_zone", 1234.5, missing=1),
        leaf("N", {"N": 9}),
        leaf("P", {"P": 1}),
        missing_rows=1,
    )
    text = render_tree(build_tree(columns, N_P, root), width=60, ascii=False)
    assert max(map(display_width, lines(text))) <= 60
    assert re.search(r"pic\S*…\S*ne <= 1234\.5 ", text)
    assert re.search(r"pic\S*…\S*ne > 1234\.5 or missing ", text)


def test_a_width_cuts_long_conditions() -> None:
    tree = build_tree([Encoding("x" * 200, "number")], N_P, node(Threshold("x" * 200, 0.5), leaf("N"), leaf("P")))
    assert max(map(display_width, lines(render_tree(tree, width=60, ascii=False)))) <= 60
    assert render_tree(tree, width=60, ascii=True).isascii()


# -- depth -------------------------------------------------------------------------------------------------


def test_a_deep_subtree_continues_at_the_margin() -> None:
    text = lines(render_tree(chain(50), ascii=False))
    assert text[41].startswith(" 40    ")
    assert text[41].endswith("… continues at 40 below")
    assert text[42].startswith(" 40  x > 19.5 ")
    assert max(map(len, text)) < 3 * MAX_BLOCK_DEPTH + 100
    assert sum("continues" in line for line in text) == 50 // MAX_BLOCK_DEPTH


def test_the_text_of_a_chain_is_linear_in_its_nodes_and_reads_back() -> None:
    tree = chain(20_000)
    text = render_tree(tree, ascii=False)
    assert len(text) < 200 * len(tree)
    back = parse(text, target="Class")
    assert back.depth == 20_000
    assert np.array_equal(back.arrays.parent, tree.arrays.parent)
    assert np.array_equal(back.arrays.cut, tree.arrays.cut)
    assert np.array_equal(back.arrays.label[1::2], tree.arrays.label[1::2])
    assert len(lines(render_tree(tree, max_lines=60, ascii=False))) <= 62


def test_one_long_name_does_not_widen_every_line() -> None:
    levels = tuple(f"level {i}" for i in range(3000))
    wide = Encoding("wide", "nominal", levels)
    root = leaf("N", {"N": 1})
    for i in range(300):
        root = node(Threshold("x", float(i)), root, leaf("P", {"P": 1}))
    root = node(Subset("wide", levels[:2900], missing=1), leaf("N", {"N": 1}), root)
    assert len(render_tree(build_tree([wide, X], N_P, root), ascii=False)) < 2900 * 14 + 200 * 700


# -- the header --------------------------------------------------------------------------------------------


def test_the_header_says_it_all_in_one_line() -> None:
    message = "species: Adelie, Chinstrap, Gentoo · 344 rows · 4 leaves · depth 2 · training error 3.8 %"
    assert header(penguins(), ascii=False) == message
    assert header(penguins(), ascii=True) == message.replace("·", ";")


def test_the_header_of_a_tree_written_by_hand_counts_no_rows() -> None:
    assert header(parse("x <= 1 -> a\nx > 1 -> b", target="y"), ascii=False) == "y: a, b · 2 leaves · depth 1"


def test_training_error_is_computed_from_the_leaves() -> None:
    assert training_error(penguins()) == pytest.approx(13 / 344)
    assert training_error(admissions()) == 0
    assert training_error(parse("x <= 1 -> a\nx > 1 -> b")) is None


def test_training_error_of_regression_is_the_root_mean_square_or_the_mean_absolute() -> None:
    root = node(Threshold("x", 0.5), leaf(1.0, rows=3, spread=2.0), leaf(5.0, rows=1, spread=6.0))
    tree = build_tree([X], Target("y", "regression"), root, criterion="squared_error")
    assert training_error(tree) == pytest.approx(np.sqrt((3 * 4 + 36) / 4))
    assert "training RMSE 3.4641" in header(tree)
    assert training_error(replace(tree, criterion="absolute_error")) == 0.25
    assert "training MAE 0.25" in header(replace(tree, criterion="absolute_error"))


def test_a_few_errors_are_not_none() -> None:
    root = node(Threshold("x", 0.5), leaf("N", {"N": 5000, "P": 3}), leaf("P", {"P": 3120, "N": 1}))
    assert header(build_tree([X], N_P, root), ascii=False).endswith("training error <0.1 % (4 of 8,124 rows)")


def test_with_weights_the_header_is_reported() -> None:
    root = node(Threshold("x", 0.5), leaf("N", {"N": 2.5, "P": 0.5}, rows=4), leaf("P", {"P": 7}, rows=2))
    message = "Class: N, P · 6 rows · weight 10 · 2 leaves · depth 1 · weighted training error 5.0 %"
    assert header(build_tree([X], N_P, root), ascii=False) == message


def test_a_tree_that_has_memorised_its_table_is_reported() -> None:
    memorised = header(alternating(6), ascii=False)
    assert "64 leaves for 64 rows: the tree has memorised its table" in memorised
    assert 'pruning="cv" chooses its size' in memorised
    assert "memorised" not in header(alternating(4), ascii=False)
    assert "memorised" not in header(penguins(), ascii=False)
