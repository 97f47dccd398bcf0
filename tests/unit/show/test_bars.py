"""Bars of the text tree: lengths, with and without colour."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support import handmade_trees as handmade
from tests.support.random_tables import limit_examples
from treewise._lib.text import display_width
from treewise.cli.render import COLOURS, STYLES, coloured
from treewise.show.node_stats import NodeSamples
from treewise.show.palette import CLASS_COLOURS
from treewise.show.text_tree.columns import BAR_WIDTH, DistributionBars, apportion
from treewise.show.text_tree.text_tree import render_tree


@limit_examples()
@given(st.lists(st.floats(0, 1000), min_size=1, max_size=9).filter(any), st.integers(1, 40))
def test_cells_are_divided_by_share(weights, cells):
    shares = np.array(weights) / sum(weights)
    actual = apportion(shares, cells)
    assert sum(actual) == cells
    assert all(abs(many - share * cells) < 1 for many, share in zip(actual, shares.tolist(), strict=True))


@limit_examples()
@given(handmade.trees(), st.booleans())
def test_bars_stand_after_what_is_printed_without_them(tree, ascii):
    plain = render_tree(tree, ascii=ascii).split("\n")
    barred = render_tree(tree, ascii=ascii, bars=True).split("\n")
    assert len(barred) == len(plain)
    assert all(line.startswith(before) or "below" in before for line, before in zip(barred, plain, strict=True))
    assert all(display_width(DistributionBars(tree, ascii).bar(i)) in (0, BAR_WIDTH) for i in range(len(tree)))
    if ascii:
        assert "\n".join(barred).isascii()


@limit_examples()
@given(handmade.trees())
def test_colour_only_doubles_what_is_written(tree):
    painted = render_tree(tree, ascii=False, bars=True, paint=coloured)
    assert STYLES.sub("", painted) == render_tree(tree, ascii=False, bars=True)


@limit_examples(0.5)
@given(handmade.trees(), st.integers(40, 160))
def test_bars_keep_to_a_width_and_take_nothing_away_unasked(tree, width):
    without = render_tree(tree, ascii=False, width=width)
    fitting = render_tree(tree, ascii=False, width=width, bars=None)
    if fitting != without and "{" not in without:  # only long sets may give way
        both = zip(fitting.split("\n"), without.split("\n"), strict=False)
        assert all(line.startswith(before) for line, before in both)
    lines = [line for line in fitting.split("\n") if not line.startswith(("bars:", "classes:", "order "))]
    assert fitting == without or max(map(display_width, lines)) <= width


def test_a_number_is_shown_on_the_scale_of_the_tree():
    tree = tw.grow({"x": [1, 2, 3, 4], "y": [0.0, 0.0, 12.0, 12.0]}, "y", task="regression")
    bars = DistributionBars(tree)
    assert [bars.bar(i) for i in range(3)] == ["▒▒▒▒▒▒█▒▒▒▒▒", "█···········", "···········█"]
    assert bars.heading == "0 ▒█▒ 12"


def test_where_the_rows_are_at_hand_their_numbers_are_a_histogram(capsys):
    table = {"x": [1] * 6 + [2] * 6, "y": [0.0, 0.0, 0.0, 0.0, 6.0, 6.0] + [11.9] * 5 + [12.0]}
    tree = tw.grow(table, "y", task="regression", max_depth=1)
    bars = DistributionBars(tree, samples=NodeSamples.from_table(tree, tw.read(table)))
    assert [bars.bar(i) for i in range(3)] == ["▆·····▃····█", "█·····▄·····", "···········█"]
    assert bars.heading == "0 ▂▇▂ 12"
    assert DistributionBars(tree, ascii=True, samples=bars.samples).bar(1) == "#-----+-----"
    tree.show(data=table)
    assert "█·····▄·····" in capsys.readouterr().out
    few = NodeSamples.from_table(tree, tw.read({"x": [1], "y": [3.0]}))
    assert [DistributionBars(tree, samples=few).bar(i) for i in range(3)] == ["······█·····", "······█·····", ""]


def test_many_classes_share_the_last_mark():
    tree = tw.grow({"x": list(range(12)), "y": list("abcdef" * 2)}, "y", max_depth=0)
    assert DistributionBars(tree).bar(0) == "██▓▓▒▒░░····"
    assert DistributionBars(tree).heading.endswith("░ d  · others")


def test_a_tree_without_rows_has_no_bars():
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b")
    assert render_tree(tree, bars=True) == render_tree(tree)


def test_a_terminal_shows_the_colours_of_pictures():
    levels = (0, 95, 135, 175, 215, 255)
    for code, hue in zip(COLOURS, CLASS_COLOURS[: len(COLOURS)], strict=True):
        if code < 232:
            there = [levels[(code - 16) // 36], levels[(code - 16) // 6 % 6], levels[(code - 16) % 6]]
        else:
            there = [8 + 10 * (code - 232)] * 3
        here = [int(hue[i : i + 2], 16) for i in (1, 3, 5)]
        assert max(abs(a - b) for a, b in zip(there, here, strict=True)) <= 40, (code, hue)
