"""Tests of independence (``train/independence.py``): the statistics by hand and by scipy, and what must not matter."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import treewise as tw
from tests.support.engines import NO_SUBTREES, differing_arrays, grow_arrays
from treewise.errors import ModelFormatError, ParameterError
from treewise.formats.model_file.model_file import dumps, loads
from treewise.train.chi_square import log_tail
from treewise.train.grow import prepare
from treewise.train.independence import ColumnTest, NodeTests, compute_test
from treewise.train.reference import find_best_split


def compute_tests(data, target="y", **options):
    training_set = prepare(data, target, **options)
    rows = np.arange(len(training_set))
    return {e.name: compute_test(training_set, i, rows) for i, e in enumerate(training_set.encodings)}


def table(seed=0, n=120, regression=False, **columns):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n) if regression else rng.choice(["a", "b", "c"], n)
    return {
        "x": rng.normal(size=n).tolist(),
        "c": rng.choice(list("klmn"), n).tolist(),
        "b": rng.choice([True, False], n).tolist(),
        **columns,
        "y": y.tolist(),
    }


# -- the tail of χ² ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [1, 2, 3, 7, 49, 998, 30_000])
def test_the_tail_is_that_of_scipy(df):
    for quantile in (0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-12):
        statistic = float(stats.chi2.ppf(quantile, df))
        assert log_tail(statistic, df) == pytest.approx(float(stats.chi2.logsf(statistic, df)), rel=1e-9, abs=1e-12)


def test_the_tail_beyond_the_range_of_a_double():
    # ln P(χ²₂ >= x) is exactly -x/2; P(χ²₄ >= x) = e^(-x/2)·(1 + x/2)
    assert log_tail(1e7, 2) == pytest.approx(-5e6, rel=1e-12)
    assert log_tail(1e7, 4) == pytest.approx(-5e6 + math.log1p(5e6), rel=1e-12)
    assert log_tail(0.0, 5) == log_tail(math.nan, 5) == 0.0


def test_the_tail_falls_as_the_statistic_grows():
    for df in (1, 2, 10, 333):
        tails = [log_tail(df * x / 64, df) for x in range(1, 512)]
        assert tails == sorted(tails, reverse=True)


# -- the statistics ---------------------------------------------------------------------------------------------------


def test_classes():
    data = table()
    actual = compute_tests(data)
    n, labels = len(data["y"]), np.array(data["y"])
    for name in ("c", "b"):
        counts = np.array(
            [
                [sum(v == a and y == b for v, y in zip(data[name], labels, strict=True)) for b in "abc"]
                for a in sorted(set(data[name]))
            ]
        )
        pearson = stats.chi2_contingency(counts, correction=False)
        assert actual[name].statistic == pytest.approx(pearson.statistic * (n - 1) / n)
        assert actual[name].df == pearson.dof
    x = np.array(data["x"])
    between = sum(np.sum(labels == k) * (x[labels == k].mean() - x.mean()) ** 2 for k in "abc")
    assert actual["x"].statistic == pytest.approx((n - 1) * between / np.sum((x - x.mean()) ** 2))
    assert actual["x"].df == 2


def test_numbers():
    data = table(regression=True)
    found, x, y = compute_tests(data), np.array(data["x"]), np.array(data["y"])
    n = len(y)
    assert found["x"].statistic == pytest.approx((n - 1) * np.corrcoef(x, y)[0, 1] ** 2)
    assert found["x"].df == 1
    levels = np.array(data["c"])
    between = sum(np.sum(levels == k) * (y[levels == k].mean() - y.mean()) ** 2 for k in "klmn")
    assert found["c"].statistic == pytest.approx((n - 1) * between / np.sum((y - y.mean()) ** 2))
    assert found["c"].df == 3
    assert found["c"].p_value == pytest.approx(float(stats.chi2.sf(found["c"].statistic, 3)))


def test_the_moments_are_those_of_all_permutations():
    """Strasser & Weber: over all permutations, the quadratic form has exactly its degrees of freedom as mean."""
    from itertools import permutations

    x, y = [0.0, 1.0, 2.5, 7.0, 7.5], ["a", "a", "b", "b", "c"]
    for values in (x, list("pqpqr")):
        every = [compute_tests({"x": values, "y": list(order)})["x"] for order in set(permutations(y))]
        assert np.mean([t.statistic for t in every]) == pytest.approx(every[0].df)


def test_ordered_levels_are_tested_by_their_positions():
    data = table(seed=3)
    positions = {**data, "c": ["klmn".index(level) for level in data["c"]]}
    ordered = compute_tests(data, kinds={"c": list("klmn")})["c"]
    assert ordered == compute_tests(positions)["c"]
    assert (ordered.df, compute_tests(data)["c"].df) == (2, 6)


# -- what does not matter ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regression", [False, True])
def test_the_order_of_the_rows_changes_no_bit(regression):
    data = table(seed=5, regression=regression)
    order = np.random.default_rng(1).permutation(len(data["y"]))
    shuffled = {name: [values[i] for i in order] for name, values in data.items()}
    assert compute_tests(shuffled) == compute_tests(data)


@pytest.mark.parametrize("regression", [False, True])
def test_a_weight_is_a_repeated_row(regression):
    data = table(seed=6, n=40, regression=regression)
    weight = np.random.default_rng(2).integers(1, 4, 40)
    repeated = {name: np.repeat(np.array(values, object), weight).tolist() for name, values in data.items()}
    assert compute_tests(data, sample_weight=weight) == compute_tests(repeated)


def test_only_the_proportions_of_fractional_weights_matter():
    data = table(seed=7, n=60)
    weight = np.random.default_rng(3).random(60) + 0.25
    one, other = compute_tests(data, sample_weight=weight), compute_tests(data, sample_weight=weight * 1e-6)
    for name, test in one.items():
        assert test.statistic == pytest.approx(other[name].statistic, rel=1e-6)
    equal = compute_tests(data, sample_weight=np.full(60, 0.3))
    for name, test in compute_tests(data).items():
        assert test.statistic == pytest.approx(equal[name].statistic, rel=1e-6)


@pytest.mark.parametrize("regression", [False, True])
def test_shifted_and_scaled_numbers_are_the_same_column(regression):
    data = table(seed=8, regression=regression)
    x = np.array(data["x"])
    expected = compute_tests(data)["x"].statistic
    for other in (-x, 1e300 * x, 1e-305 * x + 1e-300, x / 7 + 1000):
        actual = compute_tests({"x": other.tolist(), "y": data["y"]})["x"]
        assert actual.statistic == pytest.approx(expected, rel=1e-9)


def test_missing_and_infinite_values_do_not_take_part():
    data = table(seed=9)
    holes = [None if i % 5 == 0 else v for i, v in enumerate(data["x"])]
    infinite = [math.inf if i % 5 == 0 else v for i, v in enumerate(data["x"])]
    kept = {name: [v for i, v in enumerate(values) if i % 5] for name, values in data.items()}
    expected = compute_tests(kept)["x"]
    assert compute_tests({**data, "x": holes})["x"] == expected
    assert compute_tests({**data, "x": infinite})["x"] == expected
    level_holes = [None if i % 5 == 0 else v for i, v in enumerate(data["c"])]
    assert compute_tests({**data, "c": level_holes})["c"] == compute_tests(kept)["c"]


@pytest.mark.parametrize(
    "column", [[1.0] * 6, [1.0, None, None, None, None, None], ["a"] * 6, [2.0, 3.0, None, None, None, None]]
)
def test_what_does_not_vary_is_not_tested(column):
    test = compute_tests({"x": column, "z": list(range(6)), "y": ["p", "p", "q", "q", "p", "q"]})["x"]
    assert (test.statistic, test.df, test.p_value) == (0.0, 0, 1.0)


# -- the choice -------------------------------------------------------------------------------------------------------


def test_equal_columns_tie_and_the_first_wins():
    data = table(seed=10)
    double = {"z": (-np.array(data["x"]) * 3).tolist(), **data}
    training_set = prepare(double, "y", selection="test", alpha=1.0)
    tests = NodeTests([compute_test(training_set, i, np.arange(len(training_set))) for i in (1, 0)])
    assert [t.column for t in tests.by_p_value()] == [0, 1]
    assert [t.column for t in tests.by_p_value(rank=lambda column: -column)] == [1, 0]


def test_p_values_below_the_smallest_double_are_ordered():
    tests = NodeTests([ColumnTest(0, 2e3, 1, log_tail(2e3, 1)), ColumnTest(1, 3e3, 1, log_tail(3e3, 1))])
    assert [t.p_value for t in tests.tests] == [0.0, 0.0]
    assert [t.column for t in tests.by_p_value()] == [1, 0]


def test_the_adjustment_keeps_small_p_values():
    tests = NodeTests([ColumnTest(i, 1.0, 1) for i in range(5)])
    assert tests.adjusted(ColumnTest(0, 0.0, 1, math.log(1e-200))) == pytest.approx(5e-200)
    assert tests.adjusted(ColumnTest(0, 0.0, 1, math.log(0.3))) == pytest.approx(1 - 0.7**5)


def test_a_column_without_an_eligible_test_passes_to_the_next():
    """The strongest column has a level of four rows; min_samples_leaf forbids that branch, so the next one is taken."""
    y = ["p"] * 100 + ["q"] * 100
    levels = ["few" if i % 50 == 0 else label for i, label in enumerate(y)]
    numbers = [float(i % 150) for i in range(200)]
    options = {"selection": "test", "categorical": "multiway"}
    for smallest, winner, reason in ((4, "levels", ""), (5, "numbers", ""), (101, None, "min_samples_leaf")):
        data = {"numbers": numbers, "levels": levels, "y": y}
        training_set = prepare(data, "y", **options, min_samples_leaf=smallest)
        search = find_best_split(training_set, np.arange(200))
        assert [t.column for t in search.tests.by_p_value()] == [1, 0]
        assert (search.winner and search.winner.split.column, search.reason) == (winner, reason)
        tree = tw.grow(data, "y", **options, min_samples_leaf=smallest, max_depth=1)
        assert (tree[0].split and tree[0].split.column, tree[0].stop) == (winner, reason)


def test_noise_is_a_leaf_and_gives_the_reason():
    tree = tw.grow(table(seed=11, n=60), "y", selection="test")
    assert tree.n_leaves == 1
    assert tree[0].stop == "not_significant"
    assert 0.05 < tree[0].p_value <= 1.0


def test_alpha_1_splits_until_nothing_varies():
    tree = tw.grow(table(seed=11, n=60), "y", selection="test", alpha=1)
    assert {node.stop for node in tree if node.is_leaf} <= {"pure", "no_candidate"}
    assert tree.n_leaves > 10


def test_alpha_needs_tests():
    with pytest.raises(ParameterError, match=r'alpha=0\.05.*selection="test"'):
        tw.grow("penguins", alpha=0.05)
    with pytest.raises(ParameterError, match="alpha"):
        tw.grow("penguins", selection="test", alpha=1.5)


def test_boosting_cannot_be_by_tests():
    with pytest.raises(ParameterError, match="boosting"):
        tw.adaboost("penguins", selection="test")


def test_a_tree_without_tests_has_no_p_values():
    tree = tw.grow("penguins")
    assert len(tree.arrays.p_value) == 0
    assert tree[0].p_value is None


# -- the core ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regression", [False, True])
def test_engines_threads_and_the_order_of_the_rows_change_no_bit(regression):
    rng = np.random.default_rng(12)
    n = 6000
    data = table(seed=12, n=n, regression=regression, z=rng.integers(0, 40, n).tolist())
    signal = np.array(data["x"]) + 0.1 * np.array(data["z"])
    noisy = signal + rng.normal(size=n)
    data["y"] = noisy.tolist() if regression else np.where(noisy > 2, "a", np.where(noisy > 0, "b", "c")).tolist()
    data["x"][::7] = [None] * len(data["x"][::7])
    options = {"selection": "test", "max_features": None}
    expected = grow_arrays(prepare(data, "y", **options), exact_only=True)
    assert np.sum(~np.isnan(expected["p_value"])) > 20
    for n_jobs, tuning in ((1, {}), (3, {}), (2, {"subtree_rows": 64, "subtree_cells": 0}), (1, NO_SUBTREES)):
        assert differing_arrays(grow_arrays(prepare(data, "y", **options), n_jobs, **tuning), expected) == []
    order = rng.permutation(n)
    shuffled = {name: [values[i] for i in order] for name, values in data.items()}
    assert differing_arrays(grow_arrays(prepare(shuffled, "y", **options)), expected) == []


def test_a_category_of_very_many_levels():
    """Its table of levels and classes is sorted instead of counted."""
    n = 3000
    rng = np.random.default_rng(13)
    data = {"id": [f"k{v}" for v in rng.integers(0, 2500, n)], "y": rng.choice(list("abcdefgh"), n).tolist()}
    tree = tw.grow(data, "y", selection="test")
    expected = compute_tests(data)["id"]
    assert expected.df > 10_000
    assert tree[0].p_value == expected.p_value


def test_forests_sample_columns_and_test_them():
    data = table(seed=14, n=200)
    data["y"] = ["p" if x > 0 else "q" for x in data["x"]]
    forest = tw.forest(data, "y", selection="test", n_estimators=20, random_state=1)
    assert 0 < np.mean([tree.n_leaves == 1 for tree in forest]) < 1  # those that sampled only noise
    assert "x" in {tree[0].split.column for tree in forest if tree[0].split}


# -- what is kept -----------------------------------------------------------------------------------------------------


def grow_by_tests():
    return tw.grow("penguins", selection="test", max_depth=3)


def test_p_values_are_saved_printed_and_exported():
    tree = grow_by_tests()
    parsed = loads(dumps(tree))
    assert parsed == tree
    assert parsed[0].p_value == tree[0].p_value > 0
    assert "p-value" in str(tree).splitlines()[0]
    assert tw.parse(str(tree)).n_leaves == tree.n_leaves
    complete = tw.parse(tree.export("text"))
    assert [node.p_value for node in complete] == [node.p_value for node in tree]


def test_a_pruned_tree_keeps_them_and_a_refitted_one_does_not():
    tree = grow_by_tests()
    pruned = tree.prune(at=[1])
    assert pruned[1].p_value == tree[1].p_value
    assert tree.refit("penguins")[0].p_value is None


def test_a_file_with_an_impossible_p_value_is_refused():
    text = dumps(grow_by_tests())
    assert '"format": 4' in text
    body, _, _ = text.partition('"sha256"')
    start = body.index('"p_value": [') + len('"p_value": [')
    broken = body[:start] + "1.5" + body[body.index(",", start) :]
    from treewise.formats.model_file.json_lines import append_checksum

    with pytest.raises(ModelFormatError, match="p-value is between 0 and 1"):
        loads(append_checksum(broken.rstrip("\n").split("\n")))


def test_the_trace_gives_the_reason():
    tree = tw.grow("penguins", selection="test", min_samples_leaf=7)
    trace = tree.trace("penguins")
    node = next(node for node in tree if node.stop == "not_significant")
    assert "above alpha = 0.05" in str(trace[node.id])
    assert trace[node.id].p_value == node.p_value
    assert "df 4, p 2e-63, adjusted 1e-62" in str(trace[0])
    assert '"df": 4' in trace[0].render("json")


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "csv", "json"])
def test_the_trace_lists_every_test_in_every_format(format):
    text = grow_by_tests().trace("penguins").render(format)
    assert text.count("df 2, p ") + text.count('"df": 2') >= 5


def test_the_command_line_and_the_report_show_them(run, tmp_path):
    result = run("show penguins --target species --selection test --max-depth 1 --format json")
    assert json.loads(result.out)["nodes"][0]["p_value"] == tw.grow("penguins", selection="test")[0].p_value
    refused = run("grow penguins --alpha 0.1")
    assert "Leave it out, or add --selection test." in refused.err
    grow_by_tests().report(tmp_path / "report.html", "penguins")
    assert "Smallest adjusted p-value of a column: 1e-62." in (tmp_path / "report.html").read_text(encoding="utf-8")
