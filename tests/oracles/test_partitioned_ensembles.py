"""Forests, extra-trees and bagging on partitions are those of memory, byte for byte, out-of-bag errors included."""

import re

import numpy as np
import pandas as pd
import pytest

import treewise as tw
from tests.support.partitions import cut, grow_ensemble_on_partitions, mixed_table, random_cuts
from tests.support.random_problems import random_table
from tests.support.source_problems import TABLES, countable_options
from treewise._lib.rng import mix64
from treewise.ensemble import grow_partitions, partition_samples
from treewise.ensemble.bootstrap import ROW_STREAM, draw_counts
from treewise.errors import DataError, ParameterError, TreewiseError
from treewise.formats.model_file.model_file import dumps
from treewise.sources import partitions

REFUSED = ("has room for", "a million times smaller")  # samples without room; the stump of a note
METHODS = ("forest", "bagging", "extra_trees")


def room_for(rows, table):
    """Return the memory of a task that grows trees on so many rows."""
    return rows * partitions._CELL_BYTES * (len(table.columns) + 1)


def outcome(grow, *args, **options):
    """Return an ensemble as text, without the notes on values that need all rows, or the error."""
    try:
        return dumps(grow(*args, **options).with_(notes=()))
    except TreewiseError as error:
        return str(error)


def random_draws(rng, method):
    options = {"bootstrap": bool(rng.random() < 0.6), "oob_score": bool(rng.random() < 0.7)}
    options["max_samples"] = [0.3, 0.8, 1.0, 5][rng.integers(4)]
    if method == "bagging":
        options |= {"max_features": [0.5, 1.0][rng.integers(2)], "bootstrap_features": bool(rng.random() < 0.3)}
    else:
        options["max_features"] = [None, 1, 0.5][rng.integers(3)]
    return options


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
def test_random_tables(regression, method, monkeypatch):
    """Each task grows trees on all rows, or on the rows that a tree has drawn; hashes are ranked in several ranges."""
    by_sample = 0
    for seed in range(TABLES):
        rng = np.random.default_rng([seed, regression, METHODS.index(method)])
        data, n = random_table(rng, regression)
        options = countable_options(rng, data, n, regression)
        options.pop("random_state", None)
        if "sample_weight" in options:
            data["w"], options["sample_weight"] = options["sample_weight"], "w"
        if not regression and rng.random() < 0.3:
            options["class_weight"] = {sorted(data["y"])[0]: 0.4 if rng.random() < 0.5 else 2.5}
        options |= random_draws(rng, method) | {"n_estimators": 3, "random_state": int(rng.integers(1 << 40))}
        frame = pd.DataFrame(data)
        expected = outcome(getattr(tw, method), frame, "y", **options)
        parts = cut(frame, random_cuts(rng, n))
        monkeypatch.setattr(grow_partitions, "_RANGE_BYTES", [1, 1000, 10_000][seed % 3])
        for task_bytes in (1 << 40, room_for(n - 1, frame)):
            found = outcome(grow_ensemble_on_partitions, parts, "y", method, task_bytes=task_bytes, **options)
            refused = any(reason in found for reason in REFUSED) and task_bytes < 1 << 40
            assert found == expected or refused, (seed, task_bytes, options)
            by_sample += task_bytes < 1 << 40 and found == expected
    assert by_sample


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_mixed_table(seed, method):
    """Counts as weights, levels in the last rows only, a column without values in the first partition."""
    table = mixed_table(seed)
    options = {"oob_score": True, "bootstrap": seed != 1, "max_samples": 0.4, "n_estimators": 5}
    options |= {"sample_weight": "w"} if seed > 1 else {}
    expected = dumps(getattr(tw, method)(table, "y", **options))
    for cuts in ([], [5, 5, 6, 200]):
        for task_bytes in (1 << 40, room_for(350, table)):
            grown = grow_ensemble_on_partitions(cut(table, cuts), "y", method, task_bytes=task_bytes, **options)
            assert dumps(grown) == expected


def test_equal_rows_in_several_partitions_are_drawn_together():
    """Many equal rows: what is drawn is their number, wherever they are."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.integers(0, 3, 300), "z": rng.integers(0, 2, 300), "y": rng.integers(0, 2, 300)})
    expected = dumps(tw.forest(table, "y", 8, max_samples=100, oob_score=True))
    for order in (np.arange(300), rng.permutation(300)):
        parts = cut(table.iloc[order], [40, 100, 101, 290])
        found = grow_ensemble_on_partitions(
            parts, "y", "forest", n_estimators=8, max_samples=100, oob_score=True, task_bytes=room_for(200, table)
        )
        assert dumps(found) == expected


@pytest.mark.parametrize(("n", "n_drawn"), [(1, 1), (7, 3), (1000, 1000), (5000, 4), (3000, 2999)])
@pytest.mark.parametrize("replace", [True, False])
def test_positions_are_drawn_as_specified(n, n_drawn, replace, monkeypatch):
    for chunk in (64, 1 << 20):
        monkeypatch.setattr(partition_samples, "_CHUNK", chunk)
        for seed in range(3):
            drawn = partition_samples.draw_positions(n, n_drawn, replace, seed)
            counts = draw_counts(mix64(seed, ROW_STREAM), n, n_drawn, replace)
            assert np.bincount(drawn, minlength=n).tolist() == counts.tolist()


@pytest.mark.parametrize("task_bytes", [1 << 40, None], ids=["rows", "samples"])
def test_a_perfect_column_is_noted(task_bytes):
    table = mixed_table(1).assign(leak=lambda t: (t["y"] == "yes") * 5)
    expected = tw.forest(table, "y", 3, max_samples=0.5)
    grown = grow_ensemble_on_partitions(
        cut(table, [100]), "y", "forest", n_estimators=3, max_samples=0.5, task_bytes=task_bytes or room_for(300, table)
    )
    assert "leak: it alone predicts" in "".join(grown.notes)
    assert dumps(grown) == dumps(expected)


def test_samples_that_no_task_has_room_for_are_refused():
    table = mixed_table(0)
    with pytest.raises(
        DataError, match="each tree draws 400 rows, and one task of the cluster has room for 250"
    ) as error:
        grow_ensemble_on_partitions(cut(table, [100]), "y", "forest", task_bytes=room_for(250, table))
    assert "max_samples=0.62" in str(error.value)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pruning": "cv"}, ParameterError, "not pruned"),
        ({"cost": {"yes": {"no": 2}}}, ParameterError, "do not support costs"),
        ({"groups": "town"}, ParameterError, "not available where the rows are elsewhere"),
        ({"selection": "test"}, ParameterError, "not available where the rows are elsewhere"),
        ({"criterion": "absolute_error"}, TreewiseError, "criterion"),
        ({"max_samples": 1000}, DataError, "400 rows"),
        ({"colums": ["count"]}, ParameterError, "columns"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_done_is_refused(options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        grow_ensemble_on_partitions(cut(mixed_table(1), [100]), "y", "forest", **options)
