"""Stumps: the tree equals that of ``grow``, and candidates are in the order of the search."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given

import treewise as tw
from tests.support.displayables import renderings
from tests.support.output_checks import CHECKS
from tests.support.random_tables import limit_examples, random_tables
from treewise.explain.stump import group_ties
from treewise.train.grow import prepare
from treewise.train.reference import NodeScorer, are_tied, find_best_split, list_candidates, pick


def listed(training_set):
    """Every candidate of the first node, by the search alone."""
    rows = np.arange(len(training_set))
    scorer = NodeScorer.of(training_set.with_node_scale(rows), rows)
    return [c for column in range(len(training_set.columns)) for c in list_candidates(scorer, rows, column)]


def one_test(table):
    return {**table.options, "max_depth": 1}


@given(random_tables())
@limit_examples()
def test_candidates_stand_in_the_order_of_the_search(table):
    options = one_test(table)
    stumps = tw.stump(table.data, "y", **options)
    assert stumps.tree == table.grow(max_depth=1)
    training_set = prepare(table.data, "y", **options)
    if stumps.node.settled:
        assert len(stumps) == 0
        return
    every = listed(training_set)
    assert sorted(test.traced.candidate.order for test in stumps) == sorted(c.order for c in every)
    ranked = [test for test in stumps if test.rank is not None]
    assert [test.traced.eligible for test in stumps] == [True] * len(ranked) + [False] * (len(stumps) - len(ranked))
    search = find_best_split(training_set, np.arange(len(training_set)))
    if search.best is None:
        assert not ranked or search.reason == "min_impurity_decrease"
        return
    if options.get("ties") != "random":
        assert stumps[0].traced.candidate.order == search.best.order
    if options["criterion"] == "c45":
        return
    left = [test.traced.candidate for test in ranked]
    while left:  # whoever comes next is one the search would pick of those that are left, but for the order of equals
        assert are_tied(left[0], pick(left))
        del left[0]


@given(random_tables())
@limit_examples()
def test_equals_share_a_rank_and_ranks_count_candidates(table):
    actual = [test for test in tw.stump(table.data, "y", **one_test(table)) if test.rank is not None]
    ranks = [test.rank for test in actual]
    for place, rank in enumerate(ranks):
        assert rank == (place + 1 if place == 0 or ranks[place - 1] != rank else ranks[place - 1])
    same = {}
    for test in actual:
        exact = (test.traced.candidate.score, test.traced.candidate.tolerance)
        if table.options["criterion"] != "c45":
            assert same.setdefault(exact, test.rank) == test.rank


def test_who_may_reach_the_best_of_the_rest_is_its_equal():
    """Score ± tolerance: 10±0, 9±3 (may be 10), 7±0 (is below all that 10±0 can be), 5±1, 4±0 (may be 5±1's least)."""

    def made(score, tolerance):
        return SimpleNamespace(candidate=SimpleNamespace(score=score, tolerance=tolerance)), score

    given = [made(4, 0), made(10, 0), made(7, 0), made(9, 3), made(5, 1)]
    assert [[score for _, score in group] for group in group_ties(given)] == [[9, 10], [7], [5, 4]]


def test_the_notes_tables():
    section5 = tw.stump("admissions", preset="id3", per="total")
    assert [(t.rank, t.test, round(t.gain, 3)) for t in section5] == [
        (1, "GPA", 7.145),
        (2, "University", 1.145),
        (3, "Recommendation", 1.119),
        (4, "Published", 0.249),
    ]
    id3_notes = tw.stump("seven_points", unit="nats")
    assert [(t.test, round(t.gain, 4)) for t in id3_notes] == [
        ("x2 <= 0.5", 0.3255),
        ("x1 <= 0.5", 0.2121),
        ("x1 <= 1.5", 0.2022),
        ("x2 <= 1.5", 0.1175),
    ]


@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_value", "ordinal", "any"])
def test_every_kind_of_split(categorical):
    stumps = tw.stump("food", categorical=categorical)
    kinds = {test.kind for test in stumps}
    if categorical == "any":
        assert kinds == {"subset", "multiway", "one_value", "ordinal"}
        assert "  kind " in str(stumps)
    else:
        assert categorical in kinds
    assert stumps.tree.depth == 1
    assert stumps.best.column == stumps.tree[0].split.column


def test_ties_are_reported():
    stumps = tw.stump("xor")
    assert [(test.rank, test.chosen) for test in stumps] == [(1, True), (1, False)]
    drawn_at_random = [tw.stump("xor", ties="random", random_state=seed) for seed in range(12)]
    assert {stump.best.test for stump in drawn_at_random} == {"x1 <= 0.5", "x2 <= 0.5"}
    for stump in drawn_at_random:
        assert stump[0].column == stump.tree[0].split.column


def test_c45_ranks_columns_by_their_ratio_and_the_rest_by_gain():
    stumps = tw.stump("penguins", preset="c45")
    scored = [test for test in stumps if test.score is not None]
    assert list(stumps[: len(scored)]) == scored
    assert [t.score for t in scored] == sorted((t.score for t in scored), reverse=True)
    assert len({t.column for t in scored}) == len(scored)
    assert stumps.best.column == stumps.tree[0].split.column


def test_branches_of_numbers_and_weights():
    table = {"x": [1, 2, 3, 4], "y": [1.5, 1.5, 7.0, 9.0], "w": [1, 1, 2, 1]}
    stumps = tw.stump(table, "y", sample_weight="w")
    assert stumps.best.test == "x <= 2.5"
    assert [(b.rows, b.weight, b.value) for b in stumps.best.branches] == [(2, 2, 1.5), (2, 3, 23 / 3)]
    assert "[2 1.5] [3 7.6667]" in str(stumps)


def test_a_stump_without_splits():
    pure = tw.stump({"x": [1, 2], "y": ["a", "a"]}, "y")
    assert (len(pure), pure.best, pure.tree.n_leaves) == (0, None, 1)
    assert str(pure).endswith("Nothing to split: pure.")
    small = tw.stump("penguins", min_impurity_decrease=2)
    assert small.best is None
    assert small[0].rank == 1
    assert "The tree has no split: no split reaches min_impurity_decrease." in str(small)
    leaf = tw.stump("four_points", "y", min_samples_leaf=2)
    assert [(test.test, test.rank) for test in leaf] == [("x1 <= 0.5", 1), ("x1 <= 1.5", None), ("x2 <= 0.5", None)]
    assert "Without a rank: a test that leaves a branch too small to be a leaf." in str(leaf)
    constant = tw.stump({"c": [3, 3, 3], "x": [1, 2, 3], "y": ["a", "b", "b"]}, "y")
    assert "c: all 3 rows are 3: no split." in str(constant)


def test_forms():
    stumps = tw.stump("penguins", "body_mass_g", drop_missing_target=True)
    for form, text in renderings(stumps):
        CHECKS[form](text)
    frame = stumps.to_frame()
    assert frame.columns == [
        "rank",
        "column",
        "test",
        "kind",
        "gain",
        "price_bits",
        "cost",
        "score",
        "branches",
        "chosen",
        "forbidden",
    ]
    assert len(frame) == len(stumps)
    assert stumps.to_dict()["candidates"][0]["test"] == stumps.best.test
    assert repr(stumps[0]) == f"<1. {stumps.best.test} · gain {stumps.best.gain:.4g}>"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": 2}, "max_depth=2: a stump has one test. Leave it out, or grow a tree."),
        ({"pruning": "cv"}, "pruning: a stump is one test, and there is nothing to prune. Leave it out."),
        ({"max_features": 2}, "max_features: a stump is the best of all tests, and none is drawn. Leave it out."),
        ({"splitter": "random"}, "splitter: a stump is the best of all tests, and none is drawn. Leave it out."),
        ({"ccp_alpha": 0.1}, "ccp_alpha: a stump is one test, and there is nothing to prune. Leave it out."),
        ({"unit": "bit"}, 'unit="bit": must be'),
        ({"criterium": "gini"}, 'no option criterium. Did you mean "criterion"?'),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(tw.ParameterError) as error:
        tw.stump("penguins", **options)
    assert str(error.value).startswith(message)


def test_the_same_for_any_number_of_threads():
    assert tw.stump("penguins", n_jobs=1).tree == tw.stump("penguins", n_jobs=2).tree == tw.stump("penguins").tree
    assert tw.stump("penguins", max_depth=1).tree == tw.stump("penguins").tree


def test_a_column_that_gives_the_target_away_is_noted():
    data = {"leak": ["yes", "no"] * 20, "x": list(range(40)), "y": [1, 0] * 20}
    assert "leak: it alone predicts y perfectly." in " ".join(str(tw.stump(data, "y")).split())
    assert "alone" not in str(tw.stump(data, "y", ignore=["leak"]))


def test_a_long_test_is_short_for_readers_and_whole_as_data():
    names = [f"n{i:02}" for i in range(40)]
    stumps = tw.stump(
        {"name": names * 2, "y": ["abc"[i % 3] for i in range(40)] * 2}, "y", categorical="subset", min_level_rows=1
    )
    text = stumps.to_text(200, max_rows=2)
    assert "name in {n00, n03, n06, n09, n12, +9}" in text
    assert "n15" not in text
    assert stumps[0].test.startswith("name in {n00, n03, n06, n09, n12, n15, ")
    assert stumps.to_dict()["candidates"][0]["test"] == stumps[0].test
