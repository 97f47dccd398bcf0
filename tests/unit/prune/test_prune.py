"""Pruning: lecture-note examples, options, decisions and errors."""

import numpy as np
import pytest

import treewise as tw
from tests.support.errors import assert_refused
from treewise.formats.model_file.model_file import dumps, loads


@pytest.fixture(scope="module")
def full():
    return tw.grow("outlier")


@pytest.fixture(scope="module")
def penguins():
    return tw.grow("penguins")


# -- the notes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["bottom-up", "top-down"])
def test_the_outlier_of_the_notes(full, order):
    """ID3 notes: the full tree isolates the lone dot, the validation table contradicts it, pruning removes it."""
    assert full.evaluate("outlier").errors == 0
    pruned = full.prune("reduced_error", validation="outlier_validation", order=order)
    assert (full.evaluate("outlier_validation").errors, pruned.evaluate("outlier_validation").errors) == (2, 0)
    assert pruned.evaluate("outlier").errors == 1
    assert pruned.n_leaves == 2
    assert pruned.predict({"x1": 7, "x2": 3}) == "star"
    step = pruned.history[-1]
    assert step["validation"] == {"table": "outlier_validation", "before": 2.0, "after": 0.0}
    assert step["rows"] == 10
    assert "T 2 of 10 wrong (20.0 %) · T' 0 of 10 wrong (0.0 %)" in str(step)


def test_a_subtree_without_validation_rows_is_cut(full):
    left = {"x1": [1, 2], "x2": [1, 1], "y": ["dot", "dot"]}
    pruned = full.prune("reduced_error", validation=left)
    assert any("no validation rows" in d["why"] and d["cut"] for d in pruned.history[-1]["decisions"])
    assert pruned.n_leaves == 2


def test_a_threshold_of_the_chapter(penguins):
    """Chapter 8: a parent nearly as accurate as its children takes their place; where a child stays, it stays."""
    pruned = penguins.prune("gain", threshold=0.3)
    decisions = {d["node"]: d for d in pruned.history[-1]["decisions"]}
    assert decisions[4]["cut"]
    assert decisions[4]["before"] == pytest.approx(1 / 11)
    assert not decisions[8]["cut"]
    assert decisions[2]["why"] == "a child stays"


# -- one tree, many ways ----------------------------------------------------------------------------------------------


def test_leaves_say_by_what_they_were_pruned(penguins):
    pruned = penguins.prune("mdl")
    assert {leaf.stop for leaf in pruned if leaf.is_leaf} == {"pure", "pruned(mdl)"}
    assert pruned.summary().stops == {"pure": 1, "pruned(mdl)": 4}
    assert "1 pure · 4 pruned(mdl)" in str(pruned.summary())
    assert [step["did"] for step in pruned.prune(at=[1]).history] == ["grow", "prune", "prune"]
    assert pruned.prune(at=[1])[1].stop == "by_hand"


def test_the_decisions_are_saved_with_the_tree(penguins):
    pruned = penguins.prune("pessimistic")
    parsed = loads(dumps(pruned, complete=True))
    assert str(parsed.history[-1]) == str(pruned.history[-1])
    without_tests = str(loads(dumps(pruned)).history[-1])
    assert str(tw.parse(pruned.export("text")).history[-1]) == without_tests
    assert "cut" in without_tests
    head, *_ = str(pruned.history[-1]).splitlines()
    assert head == 'prune("pessimistic", confidence=0.25): 13 → 9 leaves'


def test_of_many_decisions_those_at_large_nodes_are_kept():
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=6000), "y": rng.integers(0, 2, 6000)}
    step = tw.grow(data, "y").prune("collapse").history[-1]
    assert step["looked_at"] > len(step["decisions"]) == 1000
    assert "more decisions" in str(step)


def test_costs_count_where_errors_do():
    data = {"x": [1, 1, 1, 1, 2, 2, 2, 2], "y": ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]}
    tree = tw.grow(data, "y", cost={"bad": {"good": 5}})
    assert (
        tree.prune("cost_complexity", ccp_alpha=0.0, risk="error").n_leaves == 1
    )  # both sides say bad: nothing is gained
    plain = tw.grow(data, "y")
    assert plain.prune("cost_complexity", ccp_alpha=0.0, risk="error").n_leaves == 2
    seen = plain.prune("reduced_error", validation=data).history[-1]["validation"]
    paid = tree.prune("reduced_error", validation=data).history[-1]["validation"]
    assert (seen["before"], paid["before"]) == (2.0, 4.0)


def test_weights_count_as_in_growth():
    data = {"x": [1, 2, 3, 4], "y": ["a", "b", "a", "b"], "w": [1, 1, 5, 1]}
    tree = tw.grow(data, "y", sample_weight="w")
    step = tree.prune("reduced_error", validation={**data, "y": ["a", "b", "b", "b"]}).history[-1]
    assert step["validation"]["before"] == 5.0
    step = tree.prune("reduced_error", validation={"x": [3.0], "y": ["b"]}, sample_weight=[2.0]).history[-1]
    assert step["validation"]["before"] == 2.0


def test_raising_replaces_a_node_by_its_largest_branch():
    """Chapter 4 of C4.5: the rows of the other branch are sent down the one that is raised, and counted there."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        data = {f"x{i}": rng.integers(0, 4, 60).astype(float) for i in range(3)}
        data["y"] = (data["x0"] + data["x1"] + rng.integers(0, 3, 60) > 4).astype(int)
        tree = tw.grow(data, "y")
        raised = tree.prune("pessimistic", raising=True, data=data)
        assert raised.refit(data) == raised
        assert raised.arrays.rows[0] == 60
        why = [d["why"] for d in raised.history[-1]["decisions"] if "largest branch" in d["why"]]
        if why and raised.history[-1]["facts"] != ["0 subtrees raised"]:
            return
    pytest.fail("nothing was raised")


# -- tables that do not fit -------------------------------------------------------------------------------------------


def test_validation_tables_that_do_not_fit():
    data = {"x": [1.0, 2.0, 3.0, 4.0], "town": ["Bari", "Rome", "Bari", "Oslo"], "y": ["a", "b", "a", "b"]}
    tree = tw.grow(data, "y", categorical="multiway", columns=["town"])

    def prune(table):
        return tree.prune("reduced_error", validation=table)

    assert_refused(lambda: prune({"town": [], "y": []}), "no rows")
    assert_refused(lambda: prune({"x": [1.0], "y": ["a"]}), 'has no column "town"', "node 0 tests")
    assert_refused(lambda: prune({"town": ["Bari"], "y": ["z"]}), "no label of column", "(z)", "(a, b)")
    assert_refused(lambda: prune({"town": ["Bari"], "y": [None]}), "missing in 1 row")
    assert_refused(lambda: prune({"town": ["Bari"]}), 'no column "y"')
    # Never-seen categories stay at the node that asks, which answers itself; labels it does not know are errors.
    step = prune({"town": ["Paris", "Rome", "Bari"], "y": ["a", "z", "a"]}).history[-1]
    assert step["validation"]["before"] == 1.0


def test_a_tree_that_has_seen_no_rows_is_reported():
    tree = tw.parse("a <= 1\n    b <= 1 -> x\n    b > 1 -> y\na > 1 -> y", target="t")
    for method in ("gain", "mdl", "pessimistic"):
        assert_refused(lambda method=method: tree.prune(method), "refit(data)", error=tw.ParameterError)
    assert_refused(lambda: tree.prune(at=[0]), "node 0", "refit(data)", error=tw.ParameterError)
    assert_refused(lambda: tree.prune("cost_complexity", ccp_alpha=0.1), "refit(data)", error=tw.ParameterError)
    table = {"a": [1.0], "b": [1.0], "t": ["x"]}
    assert_refused(lambda: tree.prune("reduced_error", validation=table), "refit(data)", error=tw.ParameterError)
    assert_refused(lambda: tree.prune("cv", data=table), "written by hand", error=tw.ParameterError)


def test_invalid_requests(penguins):
    def wrong(*parts, method=None, **options):
        assert_refused(lambda: penguins.prune(method, **options), *parts, error=tw.ParameterError)

    wrong("prune needs a method (cv, reduced_error", "max_leaf_nodes=8")
    wrong('method="reduced"', 'Did you mean "reduced_error"', method="reduced")
    wrong("Prune twice", method="mdl", max_depth=3)
    wrong("has no option tresh", 'Did you mean "threshold"', method="gain", tresh=1)
    wrong("needs rows not used for training", method="reduced_error")
    wrong("needs rows not used for training", "is held out when growing", method="reduced_error", validation=0.3)
    wrong('order="up"', method="reduced_error", validation="penguins", order="up")
    wrong("threshold=-1", method="gain", threshold=-1)
    wrong('measure="x"', method="gain", measure="x")
    wrong("ccp_alpha", 'method="cv", data=', method="cost_complexity")
    wrong('method="cv" needs data=', method="cv")
    wrong("ccp_alpha=-0.1", method="cost_complexity", ccp_alpha=-0.1)
    wrong("does not use the training table", method="cost_complexity", ccp_alpha=0.1, data="penguins")
    wrong("does not use a validation table", max_depth=2, validation="penguins")
    wrong('rule="2se"', method="cv", data="penguins", rule="2se")
    wrong("folds=1", method="cv", data="penguins", folds=1)
    wrong("344 rows", method="cv", data="penguins", folds=[1, 2])
    wrong("confidence=0", method="pessimistic", confidence=0)
    wrong("confidence=0.7", method="pessimistic", confidence=0.7)
    wrong("data=", method="pessimistic", raising=True)
    wrong("raising=True", method="pessimistic", data="penguins")
    wrong("no node 99", at=[99])
    wrong("at=3.5", at=3.5)
    wrong("max_depth=-1", max_depth=-1)
    wrong("max_leaf_nodes=0", max_leaf_nodes=0)


def test_numbers_have_no_classes_to_count():
    tree = tw.grow({"x": [1, 2, 3, 4], "y": [1.5, 2.5, 3.5, 9.5]}, "y")
    for method in ("mdl", "pessimistic"):
        assert_refused(lambda method=method: tree.prune(method), "is a regression tree", error=tw.ParameterError)
    assert_refused(
        lambda: tree.prune("gain"), "threshold is required for regression", "squared_error", error=tw.ParameterError
    )
    assert_refused(lambda: tree.prune("gain", measure="accuracy"), "is a regression tree", error=tw.ParameterError)
    assert tree.prune("gain", threshold=1.0).n_leaves < 4


def test_collapse_minds_who_answers_for_levels_never_seen():
    """With empty_branch="root" a row that stays at a node is answered by the root, which may say something else."""
    data = {"a": [1, 1, 1, 1, 2, 2, 2], "b": list("xyxyxyx"), "y": ["p", "p", "p", "p", "q", "q", "p"]}
    trees = [tw.grow(data, "y", categorical="multiway", empty_branch=who) for who in ("parent", "root")]
    for tree in trees:
        pruned = tree.prune("collapse")
        for row in ({"a": a, "b": b} for a in (1, 2) for b in ("x", "y", "never")):
            assert pruned.predict(row) == tree.predict(row)
