"""A tree grown on partitions is the tree of the whole table, byte for byte, however the table is cut."""

import math
import re

import numpy as np
import pandas as pd
import pytest

import treewise as tw
from tests.support.partitions import cut, grow_partitions, mixed_table, random_cuts
from tests.support.random_problems import random_table
from tests.support.source_problems import TABLES, countable_options
from treewise.errors import DataError, ParameterError, TreewiseError
from treewise.formats.model_file.model_file import dumps
from treewise.sources import partitions
from treewise.train import bin_search

UNEQUAL_TARGETS = "a million times smaller"


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
def test_random_tables(regression, monkeypatch):
    """With few values per bin, several rounds of finer bins are merged, too."""
    for seed in range(TABLES):
        few = seed % 2
        monkeypatch.setattr(bin_search, "FIRST_BINS", 4 if few else 256)
        monkeypatch.setattr(bin_search, "_FEW_ROWS", 3 if few else 1 << 14)
        monkeypatch.setattr(bin_search, "_FINER_BINS", 2 if few else 256)
        rng = np.random.default_rng([seed, regression])
        data, n = random_table(rng, regression)
        options = countable_options(rng, data, n, regression)
        if "sample_weight" in options:
            data["w"], options["sample_weight"] = options["sample_weight"], "w"
        if not regression and rng.random() < 0.3:
            options["class_weight"] = {sorted(data["y"])[0]: 0 if rng.random() < 0.5 else 2.5}
        frame = pd.DataFrame(data)
        expected = _outcome(tw.grow, frame, "y", options)
        at_once = {} if seed % 3 else {"task_bytes": int(rng.integers(0, 40 * n * len(data)))}  # of some nodes, or all
        actual = _outcome(grow_partitions, cut(frame, random_cuts(rng, n)), "y", options | at_once)
        assert actual == expected or UNEQUAL_TARGETS in str(actual), (seed, options)


def _outcome(grow, data, target, options):
    """Return a tree as text, without the notes on values that need all rows, or the error."""
    try:
        return dumps(grow(data, target, **options).with_(notes=()))
    except TreewiseError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(4))
def test_mixed_table(seed):
    table = mixed_table(seed)
    options = {"max_depth": 5, "sample_weight": "w"} if seed > 1 else {"max_leaf_nodes": 9}
    expected = dumps(tw.grow(table, "y", **options))
    n = len(table)
    for cuts in ([], [n // 3], [5, 5, 6, 200], range(40, n, 40)):
        assert dumps(grow_partitions(cut(table, cuts), "y", **options)) == expected


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("empty_branch", ["parent", "root"])
def test_subtrees_that_one_process_grows(seed, empty_branch):
    """Nodes of up to so many rows are brought together; the rest of the tree knows nothing of it."""
    table = mixed_table(seed)
    options = {"sample_weight": "w", "categorical": "multiway", "ties": "random", "empty_branch": empty_branch}
    options |= {"min_impurity_decrease": 0.002, "min_samples_leaf": 0.01, "feature_costs": {"town": 0.01}}
    options |= {"max_depth": 9} | ({"monotone": {"count": 1}} if empty_branch == "parent" else {})
    expected = dumps(tw.grow(table, "y", **options))
    for rows in (1, 20, 150, 10_000):
        task_bytes = rows * partitions._CELL_BYTES * 8
        assert dumps(grow_partitions(cut(table, [90, 91]), "y", **options, task_bytes=task_bytes)) == expected


def test_pruning_and_words():
    table = mixed_table(1)
    options = {"pruning": {"method": "gain", "threshold": 0.02}, "labels": {"yes": "stays"}, "max_depth": 6}
    assert dumps(grow_partitions(cut(table, [100, 300]), "y", **options)) == dumps(tw.grow(table, "y", **options))


def test_files(tmp_path):
    table = mixed_table(3).drop(columns="size")
    paths = [str(tmp_path / f"part{i}.parquet") for i in range(3)]
    for part, path in zip(cut(table, [100, 101]), paths, strict=True):
        part.to_parquet(path)
    assert dumps(grow_partitions(paths, "y", max_depth=4)) == dumps(tw.grow(table, "y", max_depth=4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part.drop(columns="town"), 'partition 2 of the table has no column "town", which partition 1'),
        (lambda part: part.assign(more=1), 'partition 1 of the table has no column "more", which partition 2'),
        (lambda part: part.assign(count="many"), 'column "count" is number in partition 1 of the table, and text in '),
        (lambda part: part.assign(y=1), 'column "y" is text in partition 1 of the table, and number in partition 2'),
        (lambda part: part.assign(y=None), 'target "y" is missing in 128 rows'),
        (lambda part: part.assign(w=-1.0), "negative in row 1"),
    ],
    ids=["column", "more", "text", "target", "missing", "weight"],
)
def test_schemas_that_differ_are_refused(change, message):
    first, second = cut(mixed_table(1), [200])
    with pytest.raises(DataError, match=re.escape(message)):
        grow_partitions([first, change(second)], "y", sample_weight="w")


def test_files_are_named_in_errors(tmp_path):
    table = mixed_table(1)[["count", "town", "y"]]
    paths = [str(tmp_path / name) for name in ("good.csv", "bad.csv")]
    table.to_csv(paths[0], index=False)
    table.drop(columns="town").to_csv(paths[1], index=False)
    with pytest.raises(DataError, match=re.escape('bad.csv has no column "town", which good.csv has')):
        grow_partitions(paths, "y")


def test_no_rows():
    with pytest.raises(DataError, match="no rows"):
        grow_partitions([mixed_table(1).iloc[:0]], "y")


@pytest.mark.parametrize(
    "options",
    [{"pruning": "cv"}, {"honest": 0.5}, {"round_thresholds": True}, {"pruning": "reduced_error", "validation": 0.3},
     {"groups": "town"}, {"criterion": "absolute_error"}, {"search": "lookahead"}],
    ids=str,
)  # fmt: skip
def test_what_needs_rows_is_refused(options):
    with pytest.raises(ParameterError, match="elsewhere"):
        grow_partitions([mixed_table(0)], "y", **options)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"target": None}, "no target is given"),
        ({}, {"round_thresholds": 0.0}, "round_thresholds=0.0: needs the rows in memory"),
        ({"y": [-1.5, 2.5] * 200}, {"criterion": "poisson"}, "needs the targets of all rows together"),
        ({"y": [math.inf, *range(399)]}, {}, 'target "y" is inf in some row'),
        ({"y": ["b", "a"] * 200}, {"task": "regression"}, '"a" in some row'),
        ({"y": ["b", "a"] * 200, "w": 1e300}, {"class_weight": {"b": 1e300}}, "overflows in some row"),
    ],
    ids=["target", "rounding", "poisson", "infinite", "text", "overflow"],
)
def test_errors_are_those_of_memory_without_numbers_of_rows(change, options, message):
    table = mixed_table(0).assign(**change)
    with pytest.raises(TreewiseError, match=re.escape(message)):
        grow_partitions(cut(table, [100]), **{"target": "y", "sample_weight": "w", **options})
