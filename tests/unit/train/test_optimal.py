"""Optimal trees as a user meets them: results, limits, stopping, alternatives, the smallest tree, estimators, verb."""

import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import treewise as tw
from tests.support.noisy_table import noisy_table
from treewise.train.grow import prepare
from treewise.train.optimal.alternatives import columns_of
from treewise.train.optimal.optimal import solve
from treewise.train.optimal.problem import OptimalProblem, with_searchable_splits
from treewise.train.optimal.specification import find_best_tree


def test_a_result_is_an_ordinary_tree_with_a_record():
    result = tw.optimal("distractor", max_depth=2, penalty=0.01)
    assert result.objective == pytest.approx(0.04)
    assert result.gap == 0
    assert result.tree.evaluate("distractor").error == 0
    assert str(result.tree.history[0]).startswith("optimal(")
    assert tw.Tree is type(result.tree)
    assert "proven" in str(result)


def test_a_penalty_takes_leaves_away():
    leaves = [tw.optimal(noisy_table(), "y", max_depth=2, penalty=p).tree.n_leaves for p in (0, 0.02, 1)]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[-1] == 1


def test_the_conclusion_names_the_penalty():
    words = tw.optimal("penguins", "species", max_depth=2, penalty=0.3).in_words()
    assert words == (
        "This tree of 2 leaves misclassifies 72 of 344 rows (20.9 %), and no tree of depth 2 has a lower sum of error"
        " and penalty (0.3 per leaf), here 0.8093: proven. The greedy tree within these limits misclassifies 13 (3.8 %)"
        " with 4 leaves, a sum of 1.2378."
    )
    stopped = tw.optimal(noisy_table(3000, 12), "y", max_depth=4, penalty=0.001, time_limit=0.2)
    assert "has a sum of error and penalty (0.001 per leaf) below " in stopped.in_words()
    table = noisy_table()
    costly = tw.optimal(table, "y", max_depth=2, penalty=0.01, cost={"yes": {"no": 20}})
    assert "has a lower sum of mean cost and penalty (0.01 per leaf)" in costly.in_words()


def test_costs_and_weights_change_the_tree():
    table = noisy_table()
    plain = tw.optimal(table, "y", max_depth=1)
    costly = tw.optimal(table, "y", max_depth=1, cost={"yes": {"no": 20}})
    assert costly.problem.objective == "cost"
    assert (costly.tree.predict(table) == "yes").sum() > (plain.tree.predict(table) == "yes").sum()
    weighted = tw.optimal(table | {"w": [1, 3] * 200}, "y", max_depth=2, sample_weight="w", ignore=["w"])
    rows = [row for row in range(400) for _ in range(1 + 2 * (row % 2))]
    doubled = {name: [cells[row] for row in rows] for name, cells in table.items()}
    assert weighted.objective == pytest.approx(tw.optimal(doubled, "y", max_depth=2).objective)


SIX_ROWS = {"x": [1, 2, 3, 4, 5, 6], "z": [0, 1, 0, 1, 1, 0], "y": list("ababab")}
FRACTIONS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.7]


@pytest.mark.parametrize(
    ("high", "low", "weights"),
    [(1e18, 0.7, None), (1e9, 1e-9, None), (1e8, 0.3, FRACTIONS), (1e100, 3.0, None), (2.0, 1e-20, None)],
)
def test_costs_that_cannot_be_added_up_exactly_are_refused(high, low, weights):
    cost = {"a": {"b": high}, "b": {"a": low}}
    with pytest.raises(tw.ParameterError, match=r"cost: values from .* to .* cannot be added up .*sample_weight"):
        tw.optimal(SIX_ROWS, "y", max_depth=1, cost=cost, sample_weight=weights)


@pytest.mark.parametrize("unit", [1e-20, 1 / 3, 1.0, 5e5, 1e18, 1e90])
@pytest.mark.parametrize("weights", [FRACTIONS, None])
def test_costs_count_by_their_ratios(unit, weights):
    plain, scaled = (
        tw.optimal(SIX_ROWS, "y", max_depth=1, cost={"a": {"b": 2 * u}, "b": {"a": u}}, sample_weight=weights)
        for u in (1.0, unit)
    )
    assert scaled.objective == pytest.approx(unit * plain.objective)
    assert str(scaled.tree) == str(plain.tree)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", [FRACTIONS, [2**50] * 6, None])
def test_targets_of_any_size_add_up_without_overflow(weights):
    for unit in (5e-324, 1.0, 1e15):  # the first is the smallest number above 0
        table = SIX_ROWS | {"y": [0.0, 0.0, 0.0, unit, unit, unit]}
        result = tw.optimal(table, "y", max_depth=1, task="regression", sample_weight=weights)
        assert result.objective == 0
        assert result.tree.split_at(0).cut == 3.5, unit
        whole = tw.optimal(table, "y", max_depth=0, task="regression", sample_weight=weights)
        share = sum(weights[3:]) / sum(weights) if weights else 0.5
        assert whole.objective == pytest.approx(share * (1 - share) * unit**2)


def test_targets_too_far_apart_are_an_error():
    table = SIX_ROWS | {"y": [-1e200, 1e200, 0.0, 1.0, 2.0, 3.0]}
    with pytest.raises(tw.ParameterError, match=r"target.*-1e\+200.*Divide"):
        tw.optimal(table, "y", max_depth=1, task="regression")


def test_the_result_does_not_depend_on_threads_or_the_order_of_rows():
    table = noisy_table()
    results = [tw.optimal(table, "y", max_depth=3, n_jobs=jobs) for jobs in (1, 2, 3)]
    backwards = tw.optimal({name: cells[::-1] for name, cells in table.items()}, "y", max_depth=3)
    assert len({str(result.tree) for result in [*results, backwards]}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "max_depth"),
        ({"max_depth": 2, "penalty": -1}, "penalty"),
        ({"max_depth": 2, "objective": "accuracy"}, "objective"),
        ({"max_depth": 2, "objective": "squared_error"}, "is for numbers"),
        ({"max_depth": 2, "objective": "cost"}, "needs the costs"),
        ({"max_depth": 2, "criterion": "gini"}, "criterion"),
        ({"max_depth": 2, "categorical": "multiway"}, "two branches"),
        ({"max_depth": 2, "missing": "branch"}, "two branches"),
        ({"max_leaf_nodes": 0}, "max_leaf_nodes"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(tw.ParameterError, match=message):
        tw.optimal("penguins", "species", **options)


def test_the_time_limit_returns_the_best_tree_with_a_true_bound():
    table = noisy_table(3000, 12)
    began, seen = time.monotonic(), []
    result = tw.optimal(table, "y", max_depth=4, time_limit=0.5, progress=seen.append)
    assert time.monotonic() - began < 5
    assert result.status == "stopped"
    assert 0 <= result.lower_bound <= result.objective <= result.greedy_objective
    assert "a gap of" in result.in_words()
    objectives = [now.objective for now in seen]
    assert objectives == sorted(objectives, reverse=True)  # more time never gives a worse tree
    assert result.tree.evaluate(table).error == pytest.approx(result.objective)


def test_ctrl_c_returns_the_best_tree():
    table = noisy_table(3000, 12)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    result = tw.optimal(table, "y", max_depth=4, time_limit=60)
    assert result.status == "stopped"
    assert result.seconds < 10


def least_costs(problem, names):
    """The least objective for each set of columns, by the specification."""
    n = len(problem.target)

    def cost(rows):
        return problem.leaf_cost(np.flatnonzero([rows >> row & 1 for row in range(n)]))

    costs = {}
    for size in range(len(names) + 1):
        for chosen in itertools.combinations(range(len(names)), size):
            orders = [i for i, order in enumerate(problem.orders) if order.column in chosen]
            tests = [problem.mask_of(i, rank) for i in orders for rank in range(problem.ranks[i].max())]
            best = find_best_tree(tests, cost, n, problem.max_depth, problem.max_leaf_nodes, problem.penalty)
            costs[frozenset(names[i] for i in chosen)] = best.cost
    return costs


def test_alternatives_are_complete_and_in_order():
    """Against all sets of columns: each tree is the best that avoids every earlier set of columns."""
    rng, names = np.random.default_rng(5), ["a", "b", "c", "d"]
    for _ in range(6):
        table = {name: rng.integers(0, 3, 12).tolist() for name in names}
        table["y"] = ["n", "y", *rng.choice(["n", "y"], 10).tolist()]
        training_set = with_searchable_splits(prepare(table, "y"))
        problem = OptimalProblem.of(training_set, "error", 2, None, 0.01)
        costs, earlier = least_costs(problem, names), []
        listed = solve(problem, n_jobs=1).alternatives(8)
        for one in listed.results:
            least = min(cost for columns, cost in costs.items() if not any(used <= columns for used in earlier))
            assert one.is_proven
            assert one.objective == problem.value(least)
            earlier.append(set(columns_of(one.tree)))
        remaining = [columns for columns in costs if not any(used <= columns for used in earlier)]
        assert len(listed) == 8 or not remaining


def test_alternatives_within_and_without():
    result = tw.optimal("penguins", "species", max_depth=2)
    assert len(result.alternatives(10, within=0.012)) == 2
    assert all("island" not in columns_of(tree) for tree in result.alternatives(3, without=["island"]).trees)
    with pytest.raises(tw.ParameterError, match="no column is called"):
        result.alternatives(without=["islands"])


def test_the_smallest_tree_with_few_errors():
    result = tw.smallest("penguins", "species", error=0.02)
    assert (result.tree.n_leaves, result.is_proven) == (4, True)
    assert result.tree.evaluate("penguins").error <= 0.02
    assert tw.optimal("penguins", "species", max_leaf_nodes=3).objective > 0.02
    with pytest.raises(tw.ParameterError, match="no tree errs less"):
        tw.smallest({"x": [1, 1, 2], "y": ["a", "b", "a"]}, "y")


@pytest.mark.parametrize("model", [tw.OptimalTreeClassifier(), tw.OptimalTreeRegressor()], ids=repr)
def test_the_estimators_pass_every_check(model):
    results = check_estimator(model, on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}


def test_the_trace_says_what_looking_ahead_gained():
    tree = tw.grow("distractor", max_depth=2, search="lookahead")
    trace = tree.trace("distractor")
    gain = trace[0].context.look_ahead
    assert (gain.objective, gain.in_tree, gain.greedily) == ("error", 0.0, 0.25)
    assert all(trace[node].context.look_ahead is None for node in (1, 4))  # greedy, too
    assert tw.grow("distractor", max_depth=2).trace("distractor")[0].context.look_ahead is None
    assert "which leads to a training error of 0.25 below; here 0" in " ".join(str(trace).split())
    table = noisy_table(300, 4)
    grown = tw.grow(table, "y", max_depth=3, search="lookahead")
    root = grown.trace(table)[0].context.look_ahead
    assert root.in_tree == pytest.approx(grown.evaluate(table).error)
    assert root.greedily == pytest.approx(tw.grow(table, "y", max_depth=3).evaluate(table).error)


def test_the_verb(run, tmp_path):
    done = run(f"optimal penguins --target species --max-depth 2 --alternatives 2 -o {tmp_path / 'best.json'}")
    assert "misclassifies 6 of 344 rows" in done.out
    assert "The best trees, each without a column" in done.out
    assert tw.load(tmp_path / "best.json").n_leaves == 4
    assert "max_depth" in run("optimal penguins --target species").err.replace("--max-depth", "max_depth")


def test_a_greedy_tree_that_is_as_good_and_smaller_is_kept():
    """Its root separates the classes, and a note says that the column may leak them."""
    rows = range(40)
    table = {"x": [i % 4 for i in rows], "z": [i % 7 for i in rows], "y": ["yes" if i % 4 > 1 else "no" for i in rows]}
    result = tw.optimal(table, "y", max_depth=3)
    assert (result.tree.n_leaves, result.objective, result.is_proven) == (2, 0.0, True)
    assert any("x: it alone predicts y perfectly" in note for note in result.tree.notes)


def many_levels():
    """Return a table whose target is a set of the ten levels of a column."""
    rng = np.random.default_rng(1)
    level = rng.choice(list("abcdefghij"), 120)
    is_even = np.isin(level, list("acegi")) ^ (rng.random(120) < 0.05)
    return {"c": level.tolist(), "z": rng.random(120).round(3).tolist(), "y": np.where(is_even, "n", "p").tolist()}


@pytest.mark.parametrize("options", [{}, {"categorical": "any"}, {"penalty": 0.01}])
def test_the_conclusion_names_the_tests_that_are_searched_where_greedy_growth_asks_more(options):
    table = many_levels()
    result = tw.optimal(table, "y", max_depth=1, **options)
    grown = tw.grow(table, "y", max_depth=1)
    assert [node.split for node in result.greedy] == [node.split for node in grown]
    assert result.greedy_objective < result.objective
    tests = "cuts c in order" if "categorical" in options else "compares one level of c with the others"
    assert f"no tree of depth 1 that {tests} " in result.in_words()
    assert "The greedy tree of that size, which also divides by other tests, is better" in result.in_words()


def test_the_conclusion_names_no_tests_where_all_are_searched():
    table = many_levels()
    assert "that compares" not in tw.optimal(table, "y", max_depth=1, categorical="one_value").in_words()
    assert "that compares" not in tw.optimal(table, "y", max_depth=1, ignore=["c"]).in_words()
    assert "that compares" not in tw.optimal(table, "y", max_depth=1).alternatives(2).results[1].in_words()


def test_the_smallest_tree_names_the_tests_that_are_searched():
    words = tw.smallest(many_levels(), "y", error=0.2).in_words()
    assert words.startswith("No tree that compares one level of c with the others, with a training error of at most")


def test_of_equally_good_trees_of_a_size_the_first_counts():
    """Greedy growth by entropy takes z; x, first of the columns, misclassifies as few rows."""
    table = {"x": [0, 0, 1, 1, 1, 1, 1, 1, 1, 1], "z": [0, 0, 0, 0, 1, 1, 1, 1, 1, 1], "y": list("aaabbbbbbb")}
    result = tw.optimal(table, "y", max_depth=1)
    assert result.greedy[0].split.column == "z"
    assert result.tree[0].split.column == "x"
    assert result.objective == result.greedy_objective
