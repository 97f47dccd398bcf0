"""Canonical rows: an order of the rows that depends on their content, not on their order in the table.

Used wherever rows are drawn at random: a sample must not depend on the order of the table, nor on whether a row occurs
twice or once with weight 2, which everywhere in treewise are the same table. Rows are sorted by a hash of their content
(equal rows are interchangeable), and a row that stands for several equal ones is repeated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treewise.train.fixed_point import scale_weights
from treewise.train.training_set import TrainingSet

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio, the increment of splitmix64
_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class CanonicalRows(NamedTuple):
    """Rows in canonical order, each repeated as often as it counts."""

    row: npt.NDArray[np.uint32]  # row of each canonical row
    weight: Ints  # weight of one repetition of each row, in units of 2^-scale
    scale: int


def canonical_rows(training_set: TrainingSet) -> CanonicalRows:
    """Return the canonical rows of a training set.

    >>> from treewise.train.grow import prepare
    >>> repeated = prepare({"x": [5.0, 7.0, 7.0], "y": ["a", "b", "b"]}, "y")
    >>> weighted = prepare({"x": [7.0, 5.0], "y": ["b", "a"]}, "y", sample_weight=[2, 1])
    >>> [table.columns[0][canonical_rows(table).row].tolist() for table in (repeated, weighted)]
    [[7.0, 7.0, 5.0], [7.0, 7.0, 5.0]]
    """
    repeats = training_set.repeats
    if repeats is None:
        order = canonical_order(training_set, np.asarray(training_set.weight))
        return CanonicalRows(order, training_set.weight, training_set.weight_scale)
    repeated, scale = scale_weights(np.repeat(repeats.factor, repeats.times))
    weight = repeated[np.cumsum(repeats.times) - 1]  # all repetitions of a row have the same weight
    order = canonical_order(training_set, weight, repeats.times)
    return CanonicalRows(np.repeat(order, repeats.times[order]), weight, scale)


def canonical_order(training_set: TrainingSet, weight: Ints, times: Ints | None = None) -> npt.NDArray[np.uint32]:
    """Return the rows sorted by the hash of their content, and equal rows by their number of repetitions."""
    hashes = hash_rows(training_set, weight)
    order = np.argsort(hashes, kind="stable") if times is None else np.lexsort((times, hashes))
    return order.astype(np.uint32)


def hash_rows(training_set: TrainingSet, weight: Ints) -> Hashes:
    """Return a hash of the content of each row, of which ``weight`` is a part.

    >>> from treewise.train.grow import prepare
    >>> one, two = prepare({"x": [1.0, 2.0], "y": [0, 1]}, "y"), prepare({"x": [2.0, 1.0], "y": [1, 0]}, "y")
    >>> hash_rows(one, one.weight).tolist() == hash_rows(two, two.weight).tolist()[::-1]
    True
    """
    hashes = np.zeros(len(training_set), np.uint64)
    for values in (*training_set.columns, _target_values(training_set), weight):
        hashes = mix64_array(hashes ^ cell_bits(values))
    return hashes


def _target_values(training_set: TrainingSet) -> npt.NDArray[np.generic]:
    """Return the targets; classes as their rank by name, so that the choice of the positive class has no effect."""
    if training_set.target.task == "regression":
        return training_set.raw
    ranks = np.argsort(np.argsort([str(label) for label in training_set.target.classes]))
    return ranks[training_set.y]


def cell_bits(values: npt.NDArray[np.generic]) -> Hashes:
    """Return the bits of values so that equal values have equal bits: 0.0 and -0.0, and all missing values."""
    if values.dtype.kind != "f":
        return values.astype(np.int64).view(np.uint64)
    normalised = values.astype(np.float64) + 0.0
    normalised[np.isnan(normalised)] = np.nan
    return normalised.view(np.uint64)


def mix64_array(states: Hashes) -> Hashes:
    """Apply the mixing step of splitmix64 to each element."""
    with np.errstate(over="ignore"):
        mixed = states + GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MULTIPLIERS[0]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MULTIPLIERS[1]
        return mixed ^ (mixed >> np.uint64(31))
