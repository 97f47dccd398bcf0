"""The bag of each tree: which rows it is grown on, how often each counts, and which columns it may ask about.

Stands on ``units.py``, which lists what is drawn from (as a rule each row once, in an order that does not depend on the
table's), below everything that grows many trees. What is drawn depends on the seed and the number of the tree alone:

    tree t             has the seed s = stir(random_state, t), for its bag and for every draw inside growth
    with replacement   draw i is the number stir(stir(s, 1), i), scaled down to 0 … units-1
    without            unit i has the number stir(stir(s, 1), i); those with the smallest are drawn
    columns            the same with stir(s, 2)

so trees can be grown in any order, and k trees are the first k of k + 1. ``stir`` is the finaliser of splitmix64
(Steele, Lea and Flood 2014; ``_lib/rng.py``): a number for each number, without a state to be carried along. The core
draws the same bags (``core/forest/bootstrap.cpp``); the functions at the end of this file are there to be read, and
to test it.
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
from treewise.ensemble.canonical_rows import CanonicalRows, units_of
from treewise.errors import DataError, ParameterError, brief
from treewise.train.resampling import bound_weights, take_rows
from treewise.train.training_set import TrainingSet

Ints = npt.NDArray[np.int64]

ROW_DRAWS, COLUMN_DRAWS = 1, 2
_NOTHING = np.empty(0, np.uint32)


@dataclass(frozen=True, eq=False)
class BootstrapSamples:
    """How rows and columns are drawn for each tree.

    >>> from treewise.train.grow import prepare
    >>> bags = BootstrapSamples(prepare("xor"), drawn=4)
    >>> bags.times(0).tolist(), bags.times(1).tolist()
    ([1, 1, 1, 1], [0, 2, 2, 0])
    """

    training_set: TrainingSet
    drawn: int = 0  # units drawn for a tree; 0: none are, every row is there once
    replace: bool = True  # with replacement
    columns_drawn: int = 0  # columns drawn for a tree; 0: all
    replace_columns: bool = False  # a column that is drawn twice is there once

    @cached_property
    def units(self) -> CanonicalRows:
        """What is drawn from."""
        return units_of(self.training_set)

    @cached_property
    def plan(self) -> _core.SamplingPlan:
        """The same for the core; limits that are shares of rows or weight are of each tree's own."""
        training_set, asked = self.training_set, self.training_set.settings
        rows, weight, scale = self.units if self.drawn else (_NOTHING, training_set.weight, training_set.weight_scale)
        draws = (self.drawn, self.replace, rows, weight, scale, self.columns_drawn, self.replace_columns)
        plan = _core.SamplingPlan(asked.random_state, *draws)
        limits = (asked.min_samples_split, asked.min_samples_leaf, asked.min_weight_fraction_leaf)
        plan.set_limit_fractions(*map(_over_under, limits))
        return plan

    def times(self, tree: int) -> npt.NDArray[np.uint32]:
        """Return how often each row was drawn for a tree."""
        return _core.draw_sample(self.plan, tree, len(self.training_set.columns))[0]

    def columns_of(self, tree: int) -> Ints:
        """Return the columns that a tree may ask about, by their numbers."""
        return _core.draw_sample(self.plan, tree, len(self.training_set.columns))[1].astype(np.int64)

    def unseen(self, trees: int) -> npt.NDArray[np.uint8]:
        """Tell which rows each tree has not seen: trees × rows, a bit each, the lowest of a byte first."""
        found = np.empty((trees, (len(self.training_set) + 7) // 8), np.uint8)
        for tree in range(trees):
            found[tree] = np.packbits(self.times(tree) == 0, bitorder="little")
        return found


def _over_under(limit: int | float) -> tuple[int, int]:
    """Return a share as the core takes it; a number of rows is none.

    >>> _over_under(0.25), _over_under(5)
    ((1, 4), (0, 1))
    """
    share = decimal_fraction(limit) if isinstance(limit, float) else Fraction(0)
    return share.numerator, share.denominator


# -- what was asked for -----------------------------------------------------------------------------------------------


def rows_to_draw(max_samples: Any, training_set: TrainingSet) -> int:
    """Read ``max_samples``: a number of rows, or a share of those that count (1.0: as many as there are).

    Rows whose weight is a count are as many as it says.

    >>> from treewise.train.grow import prepare
    >>> rows_to_draw(0.5, prepare("penguins")), rows_to_draw(100, prepare("penguins"))
    (172, 100)
    """
    count = as_integer(max_samples)
    n = len(training_set) if training_set.repeats is None else int(training_set.repeats.times.sum())
    if max_samples is None:
        return n
    if count is not None and count > n:
        raise DataError(
            f"max_samples={brief(max_samples)}: {training_set.table_name} has {plural(n, 'row')} that count. Give at"
            " most so many, or a share."
        )
    if count is not None and count >= 1:
        return count
    if isinstance(max_samples, float) and 0.0 < max_samples <= 1.0:
        return max(1, round(decimal_fraction(max_samples) * n))
    raise ParameterError(
        "must be a whole number of rows, 1 or more, or a share above 0 and up to 1.0.",
        parameter="max_samples",
        value=max_samples,
    )


def columns_to_draw(max_features: Any, training_set: TrainingSet) -> int:
    """Read ``max_features`` of a whole tree: a number of columns, or a share of them (1.0: all)."""
    n, count = len(training_set.columns), as_integer(max_features)
    if count is not None and 1 <= count <= max(1, n):
        return count
    if count is not None and count > n:
        raise DataError(
            f"max_features={brief(max_features)}: {training_set.table_name} has {plural(n, 'column')} to ask about."
            " Give at most so many, or a share."
        )
    if isinstance(max_features, float) and 0.0 < max_features <= 1.0:
        return max(1, int(decimal_fraction(max_features) * n))
    raise ParameterError(
        "must be a whole number of columns, 1 or more, or a share above 0 and up to 1.0.",
        parameter="max_features",
        value=max_features,
    )


# -- to be read -------------------------------------------------------------------------------------------------------


def draw(key: int, n: int, drawn: int, replace: bool) -> Ints:
    """Return how often each of n things is drawn.

    >>> draw(mix64(0, 0), 5, 5, replace=True).tolist(), draw(mix64(0, 0), 5, 3, replace=False).tolist()
    ([0, 1, 0, 4, 0], [1, 0, 1, 1, 0])
    """
    if replace:
        chosen = [uniform_below(mix64(key, i), n) for i in range(drawn)]
    else:
        chosen = sorted(range(n), key=lambda i: mix64(key, i))[:drawn]
    return np.bincount(chosen, minlength=n)


def bag(bags: BootstrapSamples, tree: int) -> tuple[Ints, Ints]:
    """Return how often each row is drawn for a tree, and the columns it may ask about."""
    seed = mix64(bags.training_set.settings.random_state, tree)
    times = np.ones(len(bags.training_set), np.int64)
    if bags.drawn:
        units = draw(mix64(seed, ROW_DRAWS), len(bags.units.row), bags.drawn, bags.replace)
        times = np.bincount(np.repeat(bags.units.row, units), minlength=len(times))
    n = len(bags.training_set.columns)
    columns = np.ones(n, np.int64)
    if bags.columns_drawn:
        columns = draw(mix64(seed, COLUMN_DRAWS), n, bags.columns_drawn, bags.replace_columns)
    return times, np.flatnonzero(columns)


def problem_of(bags: BootstrapSamples, tree: int) -> TrainingSet:
    """Return the training set that a tree solves: the rows and columns of its bag, and its own seed."""
    times, columns = bag(bags, tree)
    rows = np.flatnonzero(times)
    whole = bags.training_set
    if bags.drawn:
        whole = replace(whole, weight=bags.units.weight, weight_scale=bags.units.scale)
    some = take_rows(whole, rows)
    return bound_weights(
        replace(
            some,
            weight=some.weight * times[rows],
            encodings=tuple(whole.encodings[c] for c in columns),
            columns=tuple(some.columns[c] for c in columns),
            splits=tuple(whole.splits[c] for c in columns),
            settings=replace(whole.settings, random_state=mix64(whole.settings.random_state, tree)),
        )
    )
