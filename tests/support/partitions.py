"""An engine that calls functions here, with copies of their arguments and results: as a cluster does."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from dataclasses import fields
from itertools import pairwise

import numpy as np

import treewise as tw
from treewise.ensemble.params import BaggingParams
from treewise.sources.fit import fit_source
from treewise.sources.partitions import Capacity, summarise_partitions


def copied(value):
    return pickle.loads(pickle.dumps(value))


class LocalEngine:
    """``task_bytes``: what a subtree that is grown at once may need."""

    def __init__(self, task_bytes=0, tasks=2):
        self.task_bytes, self.tasks = task_bytes, tasks

    def capacity(self):
        return Capacity(self.tasks, self.task_bytes, 1)

    def keep(self, function, calls):
        return [copied(function(*copied(call))) for call in calls]

    def ask(self, function, calls):
        return [copied(function(*call)) for call in calls]


def cut(frame, cuts):
    """Cut a dataframe into partitions at these rows."""
    ends = [0, *sorted(cuts), len(frame)]
    return [frame.iloc[first:after] for first, after in pairwise(ends)]


def random_cuts(rng, n):
    """Up to six partitions, some of them empty or of one row."""
    cuts = [int(rng.integers(0, n + 1)) for _ in range(rng.integers(0, 5))]
    return [*cuts, cuts[0], min(n, cuts[0] + 1)] if cuts else []


def grow_partitions(partitions, target, *, task_bytes=0, **options):
    """Grow a tree on dataframes, or paths of files, as partitions of one table."""

    @contextmanager
    def open_source(roles, settings):
        yield summarise_partitions(LocalEngine(task_bytes), partitions, roles, settings, "the table")

    return fit_source(open_source, target, options)


def mixed_table(seed, n=400):
    """A table with dates, categories, missing values, weights, and levels that first appear in the last rows."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    late = np.arange(n) > n - 8
    town = np.array(["Rome", "Bari", "Pisa", "Oslo"])[np.where(late, 3, rng.integers(0, 3, n))]
    table = pd.DataFrame(
        {
            "early": np.where(np.arange(n) < n // 3, np.nan, rng.normal(size=n).round(2)),  # missing at first
            "count": rng.integers(0, 9, n),
            "town": town,
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
            "day": pd.Series(pd.date_range("2020-01-01", periods=n)).where(pd.Series(rng.random(n) > 0.1)),
            "flag": rng.random(n) > 0.5,
            "w": rng.integers(0, 3, n).astype(float),
        }
    )
    table["y"] = (table["early"].fillna(0) + table["count"] * (town == "Bari") + rng.normal(size=n)).round(2)
    if seed % 2:
        table["y"] = np.where(table["y"] > 1.5, "yes", "no")
    return table


def grow_ensemble_on_partitions(partitions, target, method, *, task_bytes=1 << 40, n_estimators=4, **options):
    """Grow an ensemble on dataframes as partitions of one table."""
    from treewise.ensemble.forest import draw_splits
    from treewise.ensemble.grow_partitions import grow_on_source

    @contextmanager
    def open_source(roles, settings):
        yield summarise_partitions(LocalEngine(task_bytes), partitions, roles, settings, "the table")

    own = {f.name for f in fields(BaggingParams)} - ({"max_features"} if method != "bagging" else set())
    default = {"bootstrap": False} if method == "extra_trees" else {}
    given = default | {name: options.pop(name) for name in own & options.keys()}
    params = BaggingParams(method, n_estimators, **given)
    options = {"ties": "random", "random_state": 0} | options
    options = draw_splits(options) if method == "extra_trees" else options
    return grow_on_source(open_source, target, options, params, getattr(tw, method))
