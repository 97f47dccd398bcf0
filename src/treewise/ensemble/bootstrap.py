"""Bootstrap samples: the rows and columns that each tree of an ensemble is grown on.

Uses ``train/training_set.py``; used by everything that grows ensembles. A sample depends only on the seed and on the
number of the tree:

    tree t                 has the seed s = mix64(random_state, t), for its sample and all random choices of its growth
    with replacement       draw i is the number mix64(mix64(s, 1), i), scaled down to 0 … n-1
    without replacement    canonical row i has the key mix64(mix64(s, 1), i); those with the smallest keys are drawn
    groups                 the same with groups, in the order of their values: all rows of a drawn group are drawn
    columns                the same with mix64(s, 2)

so trees can be grown in any order, and k trees are the first k of k + 1. ``mix64`` is the finaliser of splitmix64
(Steele, Lea and Flood 2014; ``_lib/rng.py``): counter-based random numbers without state. The core draws the same
samples (``core/forest/bootstrap.cpp``); the last three functions of this file are their specification, used by tests.

Rows are drawn by their position in a canonical order (``train/canonical_rows.py``): a sample does not depend on the
order of the table, nor on whether a row occurs twice or once with weight 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.checks import as_integer, decimal_fraction
from treewise._lib.rng import mix64, uniform_below
from treewise._lib.text import plural
from treewise.errors import DataError, ParameterError
from treewise.train.canonical_rows import CanonicalRows, canonical_rows
from treewise.train.resampling import bound_weights, take_rows
from treewise.train.training_set import TrainingSet

Ints = npt.NDArray[np.int64]

ROW_STREAM, _COLUMN_STREAM = 1, 2
_NO_ROWS = np.empty(0, np.uint32)


@dataclass(frozen=True, eq=False)
class BootstrapSamples:
    """How rows and columns are drawn for each tree.

    >>> from treewise.train.grow import prepare
    >>> samples = BootstrapSamples(prepare("xor"), n_drawn=4)
    >>> samples.counts(0).tolist(), samples.counts(1).tolist()
    ([1, 1, 1, 1], [0, 2, 2, 0])
    """

    training_set: TrainingSet
    n_drawn: int = 0  # rows, or whole groups, drawn for each tree; 0: no sampling, every row once
    replace: bool = True  # with replacement
    n_columns_drawn: int = 0  # columns drawn for each tree; 0: all
    replace_columns: bool = False  # with replacement; a column drawn twice is used once

    @cached_property
    def rows(self) -> CanonicalRows:
        """The canonical rows that are sampled."""
        return canonical_rows(self.training_set)

    @cached_property
    def units(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """The rows of the sampling units, and the end of each group in them; no ends if rows are drawn one by one."""
        rows = self.rows.row
        if self.training_set.groups is None:
            return rows, _NO_ROWS
        groups = self.training_set.groups[rows]
        sizes = np.unique(groups, return_counts=True)[1]
        return rows[np.argsort(groups, kind="stable")], np.cumsum(sizes).astype(np.uint32)

    @cached_property
    def plan(self) -> _core.SamplingPlan:
        """The same for the core; fractional limits are relative to the rows or weight of each sample."""
        training_set, settings = self.training_set, self.training_set.settings
        units, ends = self.units if self.n_drawn else (_NO_ROWS, _NO_ROWS)
        weight, scale = self.rows[1:] if self.n_drawn else (training_set.weight, training_set.weight_scale)
        draws = (self.n_drawn, self.replace, units, ends, weight, scale, self.n_columns_drawn, self.replace_columns)
        plan = _core.SamplingPlan(settings.random_state, *draws)
        limits = (settings.min_samples_split, settings.min_samples_leaf, settings.min_weight_fraction_leaf)
        plan.set_limit_fractions(*map(_as_ratio, limits))
        return plan

    def counts(self, tree: int) -> npt.NDArray[np.uint32]:
        """Return how often each row is drawn for a tree."""
        return _core.draw_sample(self.plan, tree, len(self.training_set.columns))[0]

    def columns(self, tree: int) -> Ints:
        """Return the positions of the columns that are drawn for a tree."""
        return _core.draw_sample(self.plan, tree, len(self.training_set.columns))[1].astype(np.int64)

    def oob_mask(self, n_trees: int) -> npt.NDArray[np.uint8]:
        """Return which rows are out of bag for each tree: trees × rows, packed into bits, lowest bit first."""
        mask = np.empty((n_trees, (len(self.training_set) + 7) // 8), np.uint8)
        for tree in range(n_trees):
            mask[tree] = np.packbits(self.counts(tree) == 0, bitorder="little")
        return mask


def _as_ratio(limit: int | float) -> tuple[int, int]:
    """Return a fractional limit as numerator and denominator; an absolute number of rows as 0.

    >>> _as_ratio(0.25), _as_ratio(5)
    ((1, 4), (0, 1))
    """
    ratio = decimal_fraction(limit) if isinstance(limit, float) else Fraction(0)
    return ratio.numerator, ratio.denominator


# -- parameters -------------------------------------------------------------------------------------------------------


def resolve_max_samples(max_samples: Any, training_set: TrainingSet) -> int:
    """Return the number of rows to draw for ``max_samples``: a number of rows, or a fraction of them.

    A row whose weight is a count stands for that many rows. With ``groups`` the number is one of groups.

    >>> from treewise.train.grow import prepare
    >>> resolve_max_samples(0.5, prepare("penguins")), resolve_max_samples(100, prepare("penguins"))
    (172, 100)
    """
    count = as_integer(max_samples)
    n = len(training_set) if training_set.repeats is None else int(training_set.repeats.times.sum())
    unit = "row" if training_set.groups is None else "group"
    if training_set.groups is not None:
        n = len(np.unique(training_set.groups))
    if max_samples is None:
        return n
    if count is not None and count > n:
        raise DataError(
            f"{training_set.table_name} has {plural(n, unit)} that count. Give at most {n:,}, or a fraction.",
            parameter="max_samples",
            value=max_samples,
        )
    if count is not None and count >= 1:
        return count
    if isinstance(max_samples, float) and 0.0 < max_samples <= 1.0:
        return max(1, round(decimal_fraction(max_samples) * n))
    raise ParameterError(
        f"must be a whole number of {unit}s, 1 or more, or a fraction above 0 and up to 1.0.",
        parameter="max_samples",
        value=max_samples,
    )


def resolve_max_features(max_features: Any, training_set: TrainingSet) -> int:
    """Return the number of columns to draw for a whole tree: a number of columns, or a fraction of them."""
    n, count = len(training_set.encodings), as_integer(max_features)
    if count is not None and 1 <= count <= max(1, n):
        return count
    if count is not None and count > n:
        raise DataError(
            f"{training_set.table_name} has {plural(n, 'feature column')}. Give at most {n:,}, or a fraction.",
            parameter="max_features",
            value=max_features,
        )
    if isinstance(max_features, float) and 0.0 < max_features <= 1.0:
        return max(1, int(decimal_fraction(max_features) * n))
    raise ParameterError(
        "must be a whole number of columns, 1 or more, or a fraction above 0 and up to 1.0.",
        parameter="max_features",
        value=max_features,
    )


# -- specification of the core's samples ------------------------------------------------------------------------------


def draw_counts(key: int, n: int, n_drawn: int, replace: bool) -> Ints:
    """Return how often each of n items is drawn.

    >>> draw_counts(mix64(0, 0), 5, 5, replace=True).tolist(), draw_counts(mix64(0, 0), 5, 3, replace=False).tolist()
    ([0, 1, 0, 4, 0], [1, 0, 1, 1, 0])
    """
    if replace:
        indices = [uniform_below(mix64(key, i), n) for i in range(n_drawn)]
    else:
        indices = sorted(range(n), key=lambda i: mix64(key, i))[:n_drawn]
    return np.bincount(indices, minlength=n)


def draw_sample(samples: BootstrapSamples, tree: int) -> tuple[Ints, Ints]:
    """Return how often each row is drawn for a tree, and the positions of its columns."""
    seed = mix64(samples.training_set.settings.random_state, tree)
    counts = np.ones(len(samples.training_set), np.int64)
    if samples.n_drawn:
        row, group_ends = samples.units
        n_units = len(group_ends) or len(row)
        repeats = draw_counts(mix64(seed, ROW_STREAM), n_units, samples.n_drawn, samples.replace)
        if len(group_ends):
            repeats = np.repeat(repeats, np.diff(group_ends, prepend=0))
        counts = np.bincount(np.repeat(row, repeats), minlength=len(counts))
    n = len(samples.training_set.columns)
    columns = np.ones(n, np.int64)
    if samples.n_columns_drawn:
        columns = draw_counts(mix64(seed, _COLUMN_STREAM), n, samples.n_columns_drawn, samples.replace_columns)
    return counts, np.flatnonzero(columns)


def sample_training_set(samples: BootstrapSamples, tree: int) -> TrainingSet:
    """Return the training set of a tree: the rows and columns of its sample, and its own seed."""
    counts, columns = draw_sample(samples, tree)
    rows = np.flatnonzero(counts)
    training_set = samples.training_set
    if samples.n_drawn:
        training_set = replace(training_set, weight=samples.rows.weight, weight_scale=samples.rows.scale)
    subset = take_rows(training_set, rows)
    return bound_weights(
        replace(
            subset,
            weight=subset.weight * counts[rows],
            encodings=tuple(training_set.encodings[c] for c in columns),
            columns=tuple(subset.columns[c] for c in columns),
            split_kinds=tuple(training_set.split_kinds[c] for c in columns),
            settings=replace(training_set.settings, random_state=mix64(training_set.settings.random_state, tree)),
        )
    )
