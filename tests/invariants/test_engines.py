"""Every engine and shortcut of the core grows the same tree, with any number of threads.

The plain engine scores every candidate exactly (``tests/oracles`` compares it with ``train/reference.py``); all others
must produce the same arrays bit for bit. Size thresholds are set low, so that small tables pass through every engine.
"""

import os

import numpy as np
import pandas as pd
import pytest

import treewise as tw
from tests.support.criteria import WITH_ENGINES
from tests.support.engines import WAYS, differing_arrays, grow_arrays
from tests.support.random_problems import random_options, random_table
from treewise.errors import ParameterError
from treewise.train import grow as growth

TABLES = int(os.environ.get("TREEWISE_ORACLE_TABLES", "120"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
def test_every_engine_grows_the_plain_tree(way, regression):
    for seed in range(TABLES):
        rng = np.random.default_rng([seed, 11, regression])
        data, n = random_table(rng, regression)
        options = random_options(rng, data, n, regression)
        training_set = growth.prepare(data, "y", **options)
        differing = differing_arrays(grow_arrays(training_set, exact_only=True), grow_arrays(training_set, **WAYS[way]))
        assert not differing, f"seed {seed}: {differing} differ; {data} {options}"


def wide_table(rng, n):
    """Numbers with many, few and one value, integers, missing cells and categories of few and many levels."""
    x = rng.normal(size=n)
    return {
        "x": x.tolist(),
        "x again": x.tolist(),  # ties with its twin everywhere
        "few": rng.integers(0, 9, n).astype(float).tolist(),
        "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(2)).tolist(),
        "whole": (rng.integers(0, 400, n) + 2**60).tolist(),
        "constant": [1.0] * n,
        "letter": rng.choice(list("abcdefgh"), n).tolist(),
        "place": [f"p{v}" for v in rng.integers(0, 600, n)],
    }


@pytest.mark.parametrize("criterion", WITH_ENGINES)
@pytest.mark.parametrize("weighted", [False, True], ids=["unit", "weighted"])
def test_thousands_of_rows_by_counts_and_clusters(criterion, weighted):
    rng = np.random.default_rng([len(criterion), weighted])
    n = 2500
    data = wide_table(rng, n)
    signal = np.nan_to_num(np.array(data["gaps"])) + np.sin(3 * np.array(data["x"])) + rng.normal(size=n)
    regression = criterion in ("squared_error", "poisson")
    n_classes = 2 if criterion in ("gini", "c45") else 5
    data["y"] = np.exp(signal).tolist() if regression else [f"c{int(v)}" for v in np.clip(signal + 2, 0, n_classes - 1)]
    options = {"criterion": criterion, "min_samples_leaf": 5, "task": "regression" if regression else None}
    if weighted:
        options["sample_weight"] = rng.integers(1, 5, n) / 2
    training_set = growth.prepare(data, "y", **options)
    plain = grow_arrays(training_set, exact_only=True)
    assert len(plain["parent"]) > 100
    for tuning in ({}, {"subtree_cells": 2**12, "subtree_rows": 0, "histogram_rows": 512, "n_jobs": 2}):
        assert not differing_arrays(plain, grow_arrays(training_set, **tuning)), tuning


@pytest.mark.parametrize("criterion", ["entropy", "gini", "error"])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 7, "min_weight_fraction_leaf": 0.01}, {"ties": "random"}])
def test_drawn_columns_of_two_classes_are_counted_without_losing_the_best(criterion, limits):
    for seed, n in enumerate((300, 1500, 6000)):
        rng = np.random.default_rng([seed, len(criterion)])
        data = wide_table(rng, n)
        signal = np.nan_to_num(np.array(data["gaps"])) + np.sin(3 * np.array(data["x"])) + rng.normal(size=n)
        data["y"] = (signal > 0.3).tolist()
        for weight in (None, 1 + rng.poisson(1.0, n), rng.integers(1, 2000, n), rng.random(n)):
            options = {"criterion": criterion, "max_features": 3, "random_state": seed, "sample_weight": weight}
            training_set = growth.prepare(data, "y", **options, **limits)
            plain = grow_arrays(training_set, exact_only=True)
            for tuning in ({}, {"bitset_rows": 5}, {"bitset_rows": 2**40}):
                assert not differing_arrays(plain, grow_arrays(training_set, **tuning)), (seed, tuning)


@pytest.mark.parametrize("criterion", WITH_ENGINES)
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 7, "min_weight_fraction_leaf": 0.01}, {"ties": "random"}])
def test_random_cuts_are_passed_over_without_losing_the_best(criterion, limits):
    """Numbers with and without gaps, whole numbers and categories; all columns, or three a node."""
    regression = criterion in ("squared_error", "poisson")
    for seed, n_classes in enumerate((2, 5)):
        rng = np.random.default_rng([seed, len(criterion)])
        n = 900
        data = wide_table(rng, n)
        signal = np.nan_to_num(np.array(data["gaps"])) + np.sin(3 * np.array(data["x"])) + rng.normal(size=n)
        classes = [f"c{int(v)}" for v in np.clip(signal + 1, 0, n_classes - 1)]
        data["y"] = np.exp(signal).tolist() if regression else classes
        for weight in (None, rng.integers(1, 5, n) / 2):
            options = {"criterion": criterion, "splitter": "random", "random_state": seed, "sample_weight": weight}
            options["task"] = "regression" if regression else None
            for max_features in (None, 3):
                training_set = growth.prepare(data, "y", max_features=max_features, **options, **limits)
                plain = grow_arrays(training_set, exact_only=True)
                assert len(plain["parent"]) > 50
                for tuning in ({}, {"subtree_cells": 2**12}, {"use_bounds": False}):
                    assert not differing_arrays(plain, grow_arrays(training_set, **tuning)), (
                        seed,
                        max_features,
                        tuning,
                    )


@pytest.mark.parametrize("n", [127, 128, 129, 32_767, 32_768, 32_769])
def test_ranks_of_any_size_are_read_as_they_were_written(n):
    """A rank has one byte, two or three by the number of rows; the largest stand beside missing ones.

    Rows are padded to a line of the cache, or lines, or a part of one: so there are 15, 20, 63 and 121 columns.
    """
    for width in (2, 15, 20, 21, 22, 63, 64, 121) if n < 1000 else (2, 5, 21):
        rng = np.random.default_rng([n, width])
        data = {f"x{i}": rng.permutation(n).astype(float) for i in range(width - 1)}
        data["gaps"] = np.where(np.arange(n) % 5 == 0, np.nan, data["x0"])
        data["y"] = (data["x0"] > n - 4) | (data["x0"] < 3) | (rng.random(n) < 0.02)
        training_set = growth.prepare(data, "y", max_features=1, max_depth=4, criterion="gini", random_state=width)
        plain = grow_arrays(training_set, exact_only=True)
        assert len(plain["parent"]) > 2
        assert not differing_arrays(plain, grow_arrays(training_set, n_jobs=3)), width


@pytest.mark.parametrize("n", [127, 128, 129, 32_767, 32_768, 32_769])
def test_the_largest_rank_is_the_largest(n):
    x = np.arange(n, dtype=float)
    training_set = growth.prepare({"a": x, "b": x, "y": x == n - 1}, "y", max_features=1)
    grown = grow_arrays(training_set)
    assert not differing_arrays(grow_arrays(training_set, exact_only=True), grown)
    assert grown["cut"][0] == n - 1.5


@pytest.mark.parametrize("n_levels", [128, 129, 40_000])
def test_ranks_have_room_for_more_levels_than_rows(n_levels):
    rng = np.random.default_rng(n_levels)
    codes = np.append(rng.integers(0, n_levels, 98), [n_levels - 1, -1])
    town = pd.Categorical.from_codes(codes, [f"town {i}" for i in range(n_levels)])
    data = pd.DataFrame({"town": town, "x": rng.normal(size=100), "y": codes % 3 == 0})
    training_set = growth.prepare(data, "y", max_features=1, random_state=3)
    assert not differing_arrays(grow_arrays(training_set, exact_only=True), grow_arrays(training_set))


@pytest.mark.parametrize("criterion", ["entropy", "gini", "error"])
@pytest.mark.parametrize("missing", ["learn", "branch"])
def test_branches_without_rows_disturb_nobody(criterion, missing):
    """A multiway test sends levels its node does not have to a branch of no rows, beside small nodes that wait."""
    for seed in range(8):
        rng = np.random.default_rng([seed, 5])
        n = 300
        gaps = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
        data = {"c": rng.choice(list("abcdefgh"), n), "d": rng.choice(list("abcdefgh"), n), "x": gaps}
        data["y"] = (np.nan_to_num(gaps) + (data["c"] < "d") + rng.normal(size=n) > 0.5).tolist()
        options = {"categorical": "multiway", "max_features": 2, "criterion": criterion, "missing": missing}
        training_set = growth.prepare(data, "y", random_state=seed, **options)
        assert not differing_arrays(grow_arrays(training_set, exact_only=True), grow_arrays(training_set)), seed


def test_weights_of_many_sizes_lose_nobody():
    """What is left when heavy rows have gone is small beside what they took along: sums must not feel it."""
    for seed in range(60):
        rng = np.random.default_rng([seed, 21])
        data = {f"x{i}": rng.normal(size=60).round(1).tolist() for i in range(3)}
        data["y"] = [f"c{v}" for v in rng.integers(0, 3, 60)]
        weight = np.where(rng.random(60) < 0.5, 1, 10**9)
        for criterion in ("gini", "entropy", "error"):
            training_set = growth.prepare(data, "y", criterion=criterion, sample_weight=weight)
            for way in ("subtrees", "histograms to the end"):
                assert not differing_arrays(
                    grow_arrays(training_set, exact_only=True), grow_arrays(training_set, **WAYS[way])
                ), (
                    seed,
                    criterion,
                    way,
                )


@pytest.mark.skipif("TREEWISE_LONG" not in os.environ, reason="a gigabyte; TREEWISE_LONG=1 runs it")
def test_sums_of_many_rows_stay_exact():
    """A sum is kept in limbs, which must not overflow: ten million targets of 41 bits."""
    n = 10_000_000
    y = np.where(np.arange(n) % 2, 2.0**41 - 1, 2.0**40 - 1)
    tree = tw.grow({"x": np.arange(n) % 2 * 1.0, "y": y}, "y", task="regression", max_depth=1)
    assert tree.arrays.value.tolist() == [(2.0**41 + 2.0**40 - 2) / 2, 2.0**40 - 1, 2.0**41 - 1]


def test_any_number_of_threads_writes_the_same_file(tmp_path):
    rng = np.random.default_rng(5)
    data = wide_table(rng, 40_000)
    data["y"] = (np.nan_to_num(np.array(data["gaps"])) + rng.normal(size=40_000) > 0).tolist()
    files = set()
    for n_jobs in (1, 2, 4, 64):
        tw.grow(data, "y", min_samples_leaf=50, n_jobs=n_jobs).save(tmp_path / "tree.json")
        files.add((tmp_path / "tree.json").read_bytes())
    assert len(files) == 1


def test_best_first_growth_takes_the_same_nodes():
    rng = np.random.default_rng(6)
    data = wide_table(rng, 6000)
    data["y"] = (np.nan_to_num(np.array(data["gaps"])) + rng.normal(size=6000) > 0).tolist()
    training_set = growth.prepare(data, "y", max_leaf_nodes=40)
    for tuning in ({}, {"histogram_rows": 64}, {"histogram_rows": 2**40}):
        assert not differing_arrays(grow_arrays(training_set, exact_only=True), grow_arrays(training_set, **tuning))


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", 2**20])
def test_a_number_of_threads_that_cannot_be_is_refused_by_name(n_jobs):
    with pytest.raises(ParameterError, match=r"n_jobs=.* or -1 for all processors, -2 for all but one\."):
        tw.grow(tw.datasets.admissions(), "Class", n_jobs=n_jobs)
