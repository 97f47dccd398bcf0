"""A tree grown from statistics alone is the tree of the core, byte for byte: random tables with random options."""

import numpy as np
import pytest

from tests.support.numpy_source import NumpySource
from tests.support.random_problems import random_table
from tests.support.source_problems import TABLES, countable_options
from treewise.errors import DataError, ParameterError
from treewise.formats.model_file.model_file import dumps
from treewise.sources.memory import MemorySource
from treewise.train import bin_search
from treewise.train.grow import grow_training_set, prepare
from treewise.train.grow_source import grow_on

GROUP_FIELDS = ("rows", "weight", "counts", "target_sum", "deviations", "squares")


class ComparedSource(MemorySource):
    """Answers as the core counts, which must be what NumPy counts."""

    def count(self, tree, requests):
        counted, expected = super().count(tree, requests), NumpySource.count(self.twin, tree, requests)
        for request, ours, theirs in zip(requests, counted, expected, strict=True):
            for name in ("grid", "bin", "low", "high"):
                assert np.array_equal(getattr(ours, name), getattr(theirs, name)), (request, name)
            for group in ("stats", "missing_stats"):
                for name in GROUP_FIELDS:
                    pair = (getattr(getattr(bins, group), name) for bins in (ours, theirs))
                    assert np.array_equal(*pair), (request, group, name)
        return counted

    def target_ranges(self, tree, nodes):
        actual = super().target_ranges(tree, nodes)
        assert actual == self.twin.target_ranges(tree, nodes)
        return actual

    def moments(self, tree, about):
        actual = super().moments(tree, about)
        assert actual == self.twin.moments(tree, about)
        return actual

    @classmethod
    def of(cls, training_set):
        source = super().of(training_set)
        source.twin = NumpySource.of(training_set)
        return source


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("few", [1, 4], ids=["values", "bins"])
def test_statistics_give_the_tree_of_the_rows(regression, few, monkeypatch):
    """The core counts what NumPy counts. With bins of several values, the right ones must be asked for again."""
    if few > 1:
        for name, value in (("FIRST_BINS", few), ("_FINER_BINS", 2), ("_FEW_ROWS", 3), ("_FEW_INTEGERS", 2)):
            monkeypatch.setattr(bin_search, name, value)
    for table in range(TABLES):
        rng = np.random.default_rng([table, regression])
        data, n = random_table(rng, regression)
        options = countable_options(rng, data, n, regression)
        training_set = prepare(data, "y", **options)
        expected = grow_training_set(training_set)
        try:
            actual = grow_on(ComparedSource.of(training_set))
        except DataError as error:
            assert regression, error
            assert "a million times smaller" in str(error)
            continue
        assert dumps(actual) == dumps(expected), f"table {table}: {data} {options}"


@pytest.mark.parametrize(
    "options",
    [
        {"criterion": "entropy", "max_depth": 5},
        {"criterion": "gini", "min_samples_leaf": 80},
        {"criterion": "gain_ratio", "max_depth": 4},
        {"criterion": "error", "max_leaf_nodes": 9},
        {"criterion": "c45", "max_depth": 3, "missing": "branch"},
        {"task": "regression", "max_leaf_nodes": 20},
        {"task": "regression", "missing": "branch", "max_depth": 4, "monotone": {"x0": 1}},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
@pytest.mark.parametrize("few", [1, 8], ids=["default", "bins"])
def test_larger_tables(options, few, monkeypatch):
    """Columns of thousands of values, heavy tails and infinities among them, are counted in bins, and refined."""
    if few > 1:
        for name, value in (("FIRST_BINS", few), ("_FINER_BINS", 5), ("_FEW_ROWS", 10), ("_FEW_INTEGERS", 7)):
            monkeypatch.setattr(bin_search, name, value)
    rng = np.random.default_rng(7)
    n = 3000
    x = rng.normal(size=(n, 4)) * [1, 1e-3, 1, 1e6]
    x[:, 2] = np.exp(5 * x[:, 2])
    x[rng.random(n) < 0.05, 0] = np.nan
    x[rng.random(n) < 0.01, 2] = np.inf
    levels = np.array([f"l{i}" for i in range(30)])
    data = {f"x{i}": x[:, i] for i in range(4)} | {"c": levels[rng.integers(0, 30, n)], "i": rng.integers(0, 5000, n)}
    score = np.nan_to_num(x[:, 0]) + (x[:, 2] > 3) + 0.3 * (data["c"] < "l2") + rng.normal(size=n)
    if options.get("task") == "regression":
        data["y"] = score.round(3)
    else:
        data["y"] = np.array(["a", "b", "c"])[np.digitize(score, [0.2, 1.3])]
    training_set = prepare(data, "y", **options)
    assert dumps(grow_on(ComparedSource.of(training_set))) == dumps(grow_training_set(training_set))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"criterion": "absolute_error", "task": "regression"}, "criterion"),
        ({"selection": "test"}, "selection"),
        ({"splitter": "random"}, "splitter"),
        ({"max_features": 1}, "max_features"),
    ],
)
def test_what_needs_rows_is_refused(options, named):
    data = {"a": [1.0, 2.0, 3.0, 4.0], "b": [2.0, 1.0, 2.0, 1.0], "y": [0, 1, 0, 1]}
    with pytest.raises(ParameterError) as error:
        grow_on(MemorySource.of(prepare(data, "y", **options)))
    assert error.value.parameter == named
