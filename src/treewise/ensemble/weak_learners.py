"""The learners of boosting: a tree for each round's weights, and what it says of every row of the table.

Stands below ``boosting.py``. All three ways give ordinary trees: on rows weighed by the round's weights, which for
stumps is done on columns that the core sorted once (``src/core/forest/``: the same trees, many times as fast), or on
rows drawn by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.checks import decimal_fraction
from treewise._lib.rng import mix64
from treewise.ensemble.adaboost_update import BITS, Classes, Distribution
from treewise.ensemble.canonical_rows import ODD, stirred, units_of
from treewise.ensemble.model import Ensemble
from treewise.train.grow import _out_of_memory, core_columns, core_settings, core_target, grow_training_set
from treewise.train.resampling import take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF, Arrays

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Learner = Callable[[Distribution, int, int], tuple[Arrays, Classes]]  # weights, round, draw → tree, classes of all rows

_UNUSED = np.uint64(11)  # of 64 random bits


def learner(training_set: TrainingSet, resample: bool, n_jobs: int) -> Learner:
    """Return what grows the trees of a training set."""
    if resample:
        return _by_drawing(training_set, n_jobs)
    columns, target, settings = core_columns(training_set), core_target(training_set), core_settings(training_set)
    settings.n_jobs = n_jobs
    if not _core.StumpGrower.supports(columns, target, settings):
        return _by_weighing(training_set, n_jobs)
    try:
        stumps = _core.StumpGrower(columns, target, settings)
    except MemoryError:
        raise _out_of_memory(training_set) from None
    share = decimal_fraction(training_set.settings.min_weight_fraction_leaf)

    def grow(weights: Distribution, number: int, _: int) -> tuple[Arrays, Classes]:
        least = math.ceil(share * weights.total)
        grown, said = stumps.grow(weights.units, BITS, least, _seed_of(training_set, number))
        return Arrays(**grown), said

    return grow


def _by_weighing(training_set: TrainingSet, n_jobs: int) -> Learner:
    """Grow trees on all rows, each weighing what the round says."""
    columns = core_columns(training_set)

    def grow(weights: Distribution, number: int, _: int) -> tuple[Arrays, Classes]:
        weighed = replace(_of_round(training_set, number), weight=weights.units, weight_scale=BITS)
        tree = grow_training_set(weighed, None, n_jobs, keep_quartiles=False).arrays
        return tree, answers(tree, training_set, columns)

    return grow


def _by_drawing(training_set: TrainingSet, n_jobs: int) -> Learner:
    """Grow trees on rows drawn by the round's weights, with replacement: one drawn twice weighs twice."""
    columns, units = core_columns(training_set), units_of(training_set).row

    def grow(weights: Distribution, number: int, attempt: int) -> tuple[Arrays, Classes]:
        key = mix64(_seed_of(training_set, number), attempt)
        times = _drawn(weights, units, key)
        rows = np.flatnonzero(times)
        sample = replace(take_rows(_of_round(training_set, number), rows), weight=times[rows], weight_scale=0)
        tree = grow_training_set(sample, None, n_jobs, keep_quartiles=False).arrays
        return tree, answers(tree, training_set, columns)

    return grow


def _drawn(weights: Distribution, units: npt.NDArray[np.uint32], key: int) -> Ints:
    """Return how often each row is drawn: as many draws as units, which say in which order the weights are laid out.

    A draw is a point on the line of all weight; the row whose weight covers it is drawn.

    >>> weights = Distribution.of(np.array([1, 1, 6]))
    >>> _drawn(weights, np.arange(3, dtype=np.uint32), key=0).tolist()
    [1, 0, 2]
    """
    order = units[np.append(True, units[1:] != units[:-1])]  # of repeated rows one
    with np.errstate(over="ignore"):  # all is meant modulo 2^64
        shares = stirred(np.arange(len(units), dtype=np.uint64) * ODD + np.uint64(key)) >> _UNUSED
    points = np.minimum(shares * 2.0**-53 * weights.total, weights.total - 1).astype(np.int64)
    places = np.searchsorted(np.cumsum(weights.units[order]), points, side="right")
    return np.bincount(order[places], minlength=len(weights.units))


def _seed_of(training_set: TrainingSet, number: int) -> int:
    """Return the seed of a round: of its draws, and of random ties."""
    return mix64(training_set.settings.random_state, number)


def _of_round(training_set: TrainingSet, number: int) -> TrainingSet:
    """Return the training set with the seed of a round."""
    return replace(training_set, settings=replace(training_set.settings, random_state=_seed_of(training_set, number)))


# -- what trees say and take away ---------------------------------------------------------------------------------


def answers(tree: Arrays, training_set: TrainingSet, columns: list[_core.Column]) -> Classes:
    """Return the class that a tree gives each row of a training set."""
    found = tree.label[_core.find_leaves(tree.for_core, columns, len(training_set))]
    return found.astype(np.uint8) if len(training_set.target.classes) <= 256 else found


def said_by(ensemble: Ensemble, training_set: TrainingSet) -> Iterator[Classes]:
    """Yield what each tree of an ensemble says of the rows."""
    columns = core_columns(training_set)
    for t in range(len(ensemble)):
        yield answers(ensemble.members.open(t, ensemble.criterion, ensemble.empty_branch), training_set, columns)


def decreases(tree: Arrays, n_columns: int) -> Floats:
    """Return how much impurity the splits on each column take away, per unit of the root's weight."""
    inner = np.flatnonzero(tree.kind != LEAF)
    gone = tree.gain[inner] * (tree.weight[inner] / tree.weight[0])
    return np.bincount(tree.column[inner], gone, n_columns).astype(np.float64)
