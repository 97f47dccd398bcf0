"""Every engine grows the same tree on tables of hundreds of rows, with more distinct values than bins.

``invariants/test_engines.py`` uses tiny tables of every kind and a few of thousands of rows. Here tables are just large
enough that numeric columns have more values than bins (255), that a presorted list spans several blocks (64 rows) and
that categories have all frequencies, and there are many of them. They catch the engine mutants (``tests/mutants``).
"""

import os

import numpy as np
import pytest

from tests.support.criteria import WITH_ENGINES
from tests.support.engines import NO_SUBTREES, differing_arrays, grow_arrays
from tests.support.random_problems import random_options
from treewise.train import grow as growth

TABLES = max(10, int(os.environ.get("TREEWISE_ORACLE_TABLES", "120")) // 4)
WAYS = {
    "subtrees": {},
    "counts": {**NO_SUBTREES, "histogram_rows": 2},
    "counts, then clusters": {"subtree_cells": 0, "subtree_rows": 100, "histogram_rows": 50, "n_jobs": 2},
    "sorted": {**NO_SUBTREES, "histogram_rows": 2**40},
}


def middling_table(rng, n):
    """Numbers with as many values as rows, fewer, and gaps; categories of few and many levels, some rare."""
    x = rng.normal(size=n)
    data = {
        "x": x.tolist(),
        "twin": (x if rng.random() < 0.3 else np.exp(x + rng.normal(size=n) / 9)).tolist(),
        "gaps": np.where(rng.random(n) < 0.15, np.nan, x + rng.normal(size=n)).tolist(),
        "half": np.where(x <= 0.25, "lo", "hi").tolist(),  # ties with a threshold, but is summed in another order
        "few": rng.integers(0, 9, n).astype(float).tolist(),
        "close": np.where(rng.random(n) < 0.05, 1e300, 1 + rng.integers(0, 900, n) * 2.0**-50).tolist(),
        "whole": (rng.integers(0, 700, n) + 2**60).tolist(),
        "letter": np.where(
            rng.random(n) < 0.1, None, rng.choice([*"abcdefghijkl"], n, p=np.arange(1, 13) / 78)
        ).tolist(),
        "place": [None if v > 280 else f"p{v}" for v in rng.integers(0, 300, n)],
    }
    kept = rng.permutation(list(data))[: int(rng.integers(2, 5))]
    step = np.where(x <= 0.25, 0, rng.choice([0, 0, 4]))
    signal = np.nan_to_num(np.array(data["gaps"])) + np.sin(4 * x) + step
    return {name: data[name] for name in data if name in kept}, signal


def drawn(criterion, seed):
    rng = np.random.default_rng([seed, WITH_ENGINES.index(criterion), 31])
    n = int(rng.choice([300, 500, 1000]))
    data, signal = middling_table(rng, n)
    regression = criterion in ("squared_error", "poisson")
    noisy = signal + rng.normal(size=n) * rng.choice([0.1, 1.0, 5.0])
    if regression:
        y = np.exp(noisy) * rng.choice([0, 1], n, p=[0.2, 0.8]) if criterion == "poisson" else noisy
        data["y"] = (y.round(1) if rng.random() < 0.3 else y * rng.choice([1.0, 1e9, 2.0**-40])).tolist()
    else:
        n_classes = int(rng.choice([2, 2, 3, 6]))
        data["y"] = [f"c{int(v)}" for v in np.clip(noisy + n_classes / 2, 0, n_classes - 1)]
    options = {**random_options(rng, data, n, regression), "criterion": criterion}
    if criterion in ("gain_ratio", "c45"):
        by_gain = ("selection", "alpha", "feature_costs")  # for criteria that are compared by gain alone
        options = {k: v for k, v in options.items() if k not in by_gain}
    if rng.random() < 0.5:  # limits that matter to hundreds of rows
        options["min_samples_leaf"] = int(rng.integers(2, 40))
    options.pop("sample_weight", None)
    if rng.random() < 0.5:
        most = rng.choice([4, 1000, 10**9])
        options["sample_weight"] = rng.integers(1, most, n)
    return growth.prepare(data, "y", **options), f"{criterion}, seed {seed}: {options}"


@pytest.mark.parametrize("criterion", WITH_ENGINES)
def test_hundreds_of_rows_grow_the_plain_tree(criterion):
    for seed in range(TABLES):
        training_set, message = drawn(criterion, seed)
        plain = grow_arrays(training_set, exact_only=True)
        for way, tuning in WAYS.items():
            assert not differing_arrays(plain, grow_arrays(training_set, **tuning)), f"{way}: {message}"


def test_missing_rows_that_would_predict_0_get_no_branch_of_their_own():
    for seed in range(6):
        rng = np.random.default_rng([seed, 32])
        gaps = np.where(rng.random(300) < 0.3, np.nan, rng.normal(size=300))
        x = np.where(np.isnan(gaps), 0, gaps) + rng.normal(size=300)
        y = np.where(np.isnan(gaps), 0, np.exp(x))
        data = {"gaps": gaps.tolist(), "x": x.tolist(), "y": y.tolist()}
        training_set = growth.prepare(data, "y", criterion="poisson", task="regression", missing="branch", max_depth=4)
        plain = grow_arrays(training_set, exact_only=True)
        for way, tuning in WAYS.items():
            assert not differing_arrays(plain, grow_arrays(training_set, **tuning)), f"{way}, seed {seed}"


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
def test_counted_cuts_of_two_classes_grow_the_plain_tree(criterion):
    """Light cuts are scored in batches: those of histograms, and of ranks where nodes sample columns."""
    for seed in range(TABLES):
        rng = np.random.default_rng([seed, WITH_ENGINES.index(criterion), 33])
        n = int(rng.choice([300, 500]))
        data, signal = middling_table(rng, n)
        data["y"] = np.where(signal + rng.normal(size=n) * rng.choice([0.1, 1.0, 5.0]) > 0, "yes", "no").tolist()
        options = {"criterion": criterion, "missing": str(rng.choice(["learn", "branch"])), "random_state": seed}
        options["min_samples_leaf"] = int(rng.choice([1, 1, 3, 30]))
        if rng.random() < 0.6:  # nodes below the root are light enough
            options["sample_weight"] = rng.integers(1, 4, n)
        for max_features in (None, 1):
            training_set = growth.prepare(data, "y", **options, max_features=max_features)
            plain = grow_arrays(training_set, exact_only=True)
            for way, tuning in WAYS.items():
                assert not differing_arrays(plain, grow_arrays(training_set, **tuning)), f"{way}, {seed}: {options}"


def test_sweeps_of_absolute_error_grow_the_plain_tree():
    for seed in range(TABLES):
        rng = np.random.default_rng([seed, 37])
        n = int(rng.choice([120, 300]))
        data, signal = middling_table(rng, n)
        y = signal + rng.normal(size=n) * rng.choice([0.1, 1.0, 5.0])
        data["y"] = (y.round() if rng.random() < 0.3 else y * rng.choice([1.0, 1e9, 2.0**-40])).tolist()
        if seed % 5 == 0 and "x" in data:  # every second cut ties for the best
            data["y"] = (np.argsort(np.argsort(data["x"])) % 2).tolist()
        options = {**random_options(rng, data, n, True), "criterion": "absolute_error"}
        numbers = [c for c in data if c in ("x", "twin", "few", "close")]
        if numbers and seed % 2 and numbers[0] not in options.get("kinds", {}):
            options["monotone"] = {numbers[0]: 1}
            options.pop("empty_branch", None)
        options.pop("sample_weight", None)
        if rng.random() < 0.5:
            options["sample_weight"] = rng.integers(1, rng.choice([4, 60, 10**6]), n)
        training_set = growth.prepare(data, "y", **options)
        plain = grow_arrays(training_set, exact_only=True)
        assert not differing_arrays(plain, grow_arrays(training_set)), f"seed {seed}: {options}"
