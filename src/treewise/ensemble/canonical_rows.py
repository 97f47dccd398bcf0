"""What bags are drawn from: the rows in an order of their own, each as often as it counts.

Stands on ``training_set``, below the drawing of bags. A draw is a number, and which row it means must not depend on the
order in which rows happen to stand, nor on whether two equal rows are written out or one has weight 2: as everywhere
in treewise, these are the same table. So rows are put in the order of a number made of what stands in them (equal rows
are one as good as the other), and a row that stands for several equal ones is there several times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treewise.train.fixed_point import scale_weights
from treewise.train.training_set import TrainingSet

Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint64]

ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads neighbours over all numbers
_STIR = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class CanonicalRows(NamedTuple):
    """One entry a unit: its row. One a row: what one of its units weighs, in units of 2^-scale."""

    row: npt.NDArray[np.uint32]
    weight: Ints
    scale: int


def units_of(training_set: TrainingSet) -> CanonicalRows:
    """Return what a table's bags are drawn from.

    >>> from treewise.train.grow import prepare
    >>> once = prepare({"x": [5.0, 7.0, 7.0], "y": ["a", "b", "b"]}, "y")
    >>> weighed = prepare({"x": [7.0, 5.0], "y": ["b", "a"]}, "y", sample_weight=[2, 1])
    >>> [once.columns[0][units_of(once).row].tolist(), weighed.columns[0][units_of(weighed).row].tolist()]
    [[7.0, 7.0, 5.0], [7.0, 7.0, 5.0]]
    """
    repeats = training_set.repeats
    if repeats is None:
        return CanonicalRows(
            order_of(training_set, np.asarray(training_set.weight)), training_set.weight, training_set.weight_scale
        )
    written_out, scale = scale_weights(np.repeat(repeats.factor, repeats.times))
    weight = written_out[np.cumsum(repeats.times) - 1]  # of equal rows all weigh the same
    order = order_of(training_set, weight, repeats.times)
    return CanonicalRows(np.repeat(order, repeats.times[order]), weight, scale)


def order_of(training_set: TrainingSet, weight: Ints, times: Ints | None = None) -> npt.NDArray[np.uint32]:
    """Return the rows in the order of the marks of what stands in them; equal rows in that of how often they are there.

    That of rows equal in both does not matter.
    """
    mark = np.zeros(len(training_set), np.uint64)
    for values in (*training_set.columns, _by_name(training_set), weight):
        mark = stirred(mark ^ bits(values))
    order = np.argsort(mark, kind="stable") if times is None else np.lexsort((times, mark))
    return order.astype(np.uint32)


def _by_name(training_set: TrainingSet) -> npt.NDArray[np.generic]:
    """Return the targets; of classes their places in the order of their names, whichever the positive one is."""
    if training_set.target.task == "regression":
        return training_set.raw
    places = np.argsort(np.argsort([str(label) for label in training_set.target.classes]))
    return places[training_set.y]


def bits(values: npt.NDArray[np.generic]) -> Marks:
    """Return cells as whole numbers, equal where the cells are: 0.0 is -0.0, and one missing value is any other."""
    if values.dtype.kind != "f":
        return values.astype(np.int64).view(np.uint64)
    plain = values.astype(np.float64) + 0.0
    plain[np.isnan(plain)] = np.nan
    return plain.view(np.uint64)


def stirred(marks: Marks) -> Marks:
    """Return numbers from which those given can be told, but not guessed: the mixing step of splitmix64."""
    with np.errstate(over="ignore"):
        mixed = marks + ODD
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _STIR[0]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _STIR[1]
        return mixed ^ (mixed >> np.uint64(31))
