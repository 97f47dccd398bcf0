"""Out of bag: how good an ensemble is on its own rows, each answered for by the trees that have not seen it.

Stands on ``bags.py``, which knows who has seen what, and on ``voting.py``, which asks some trees about each row. Where
as many rows are drawn as there are, about 37 % of the trees have not seen a row (Breiman 1996, "Out-of-bag
estimation").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.ensemble import predict as voting
from treewise.ensemble.bootstrap import BootstrapSamples
from treewise.ensemble.model import Ensemble, OutOfBag
from treewise.train.fixed_point import scale_weights
from treewise.train.resampling import power_of_two_scale
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import Target

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _OobPredictions:
    """What the trees that have not seen a row say of it, for every row that counts, in the table's order."""

    target: Target
    said: Floats  # rows × classes: mean shares; or one value a row. NaN where every tree has seen the row
    trees: Ints  # how many trees answer for each row
    score: float  # share of right answers, by the weights of rows alone; of numbers R²

    @property
    def summary(self) -> OutOfBag:
        """The score, and how many rows it stands on."""
        return OutOfBag(self.score, int(np.count_nonzero(self.trees)), len(self.trees))

    @property
    def predictions(self) -> npt.NDArray[Any]:
        """The class of each row, or its value; None or NaN where every tree has seen the row."""
        if self.target.task == "regression":
            return self.said
        labels = np.array([*self.target.classes, None], object)
        return labels[np.where(self.trees > 0, _best_class(self.said), len(labels) - 1)]


def out_of_bag(ensemble: Ensemble, training_set: TrainingSet, bags: BootstrapSamples) -> _OobPredictions:
    """Ask of each row the trees that have not seen it."""
    said, trees = voting.out_of_bag(ensemble, list(training_set.columns), len(training_set), bags.unseen(len(ensemble)))
    if training_set.target.task == "regression":
        said = said[:, 0]
    return _OobPredictions(training_set.target, said, trees, score(training_set, said, trees > 0))


def score(training_set: TrainingSet, said: Floats, covered: npt.NDArray[np.bool_], turn: Ints | None = None) -> float:
    """Return the share of right answers, or R², of rows as often as they count; NaN where none is to be judged.

    Class weights and priors say what to grow for, not how many rows there are: they have no part in it. ``turn`` is
    the order of the classes in which the first of equals is taken, if not their own.
    """
    weight = np.asarray(scale_weights(training_set.row_weight)[0], np.float64)[covered]  # the same in any order of rows
    if not len(weight):
        return np.nan
    if training_set.target.task == "classification":
        return float(np.average(_best_class(said[covered], turn) == training_set.y[covered], weights=weight))
    unit = power_of_two_scale(
        training_set.raw[covered]
    )  # R² has no unit, but squares of huge or tiny numbers have no value
    truth, found = training_set.raw[covered] / unit, said[covered] / unit
    spread = np.average((truth - np.average(truth, weights=weight)) ** 2, weights=weight)
    missed = np.average((truth - found) ** 2, weights=weight)
    return float(1 - missed / spread) if spread > 0 else np.nan


def _best_class(said: Floats, turn: Ints | None = None) -> Ints:
    """Return the class with the largest share, of equals the first; where nothing is said, the first of all."""
    known = np.where(np.isnan(said), -1.0, said)
    found: Ints = np.argmax(known, axis=1) if turn is None else turn[np.argmax(known[:, turn], axis=1)]
    return found
