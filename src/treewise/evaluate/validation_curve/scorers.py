"""Rows that judge trees: what a tree, or every tree of a ladder, loses on them.

Below ``curves``. A loss is 1 for a wrong class, what it costs where costs are given, or a squared error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data import encoding as encode
from treewise.datasets.sampler import Sampler
from treewise.errors import ParameterError
from treewise.evaluate.validation_curve.tree_sequence import LeafSequence
from treewise.predict.costs import cost_matrix_of, losses
from treewise.predict.predict import answering_nodes, find_leaves, predict_at_nodes
from treewise.prune.validation_counts import class_errors, count_validation_rows
from treewise.train.loss_stats import LossStats
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scorers:
    """Rows with known answers, as a training set's own encodings read them."""

    columns: Sequence[npt.NDArray[Any]]
    truth: npt.NDArray[Any]  # class numbers, or values
    weight: Floats
    name: str

    @classmethod
    def of(cls, training_set: TrainingSet) -> Scorers:
        """Take the rows of a training set."""
        truth = training_set.raw if training_set.target.task == "regression" else np.asarray(training_set.y, np.int64)
        weight = np.ldexp(np.asarray(training_set.weight, np.float64), -training_set.weight_scale)
        return cls(training_set.columns, truth, weight, training_set.table_name)

    @classmethod
    def everything(cls, world: Sampler, training_set: TrainingSet) -> Scorers:
        """Take every cell of a distribution twice, as each of its two classes, weighed by how likely that is."""
        cells = world.cells()
        columns = []
        for encoding in training_set.encodings:
            if encoding.name not in cells.columns:
                raise ParameterError(f'truth knows no column "{encoding.name}": it is not where these rows come from.')
            columns.append(np.tile(encode.encode_column(encoding, cells[encoding.name], cells.name), 2))
        places = {str(label): i for i, label in enumerate(training_set.target.classes)}
        strange = len(places)
        truth = np.repeat([places.get("0", strange), places.get("1", strange)], len(cells))
        rate = world.rate.ravel()
        return cls(columns, truth, np.append(1 - rate, rate) / len(cells), "the truth")

    def judge(self, tree: Tree) -> LossStats:
        """Return what one tree loses on the rows."""
        ends = find_leaves(tree, self.columns, len(self.truth))
        said = predict_at_nodes(tree, answering_nodes(tree, ends))
        loss = losses(self.truth, said, tree.task, cost_matrix_of(tree))
        total = np.array([float(self.weight @ loss)])
        return self._sums(total, np.array([float(self.weight @ loss**2)]))

    def judge_all(self, ladder: LeafSequence, values: Sequence[float]) -> LossStats:
        """Return what the trees of a ladder lose on the rows, at each value of its parameter."""
        tree = ladder.tree
        ends = find_leaves(tree, self.columns, len(self.truth))
        seen = count_validation_rows(tree, ends, self.truth, self.weight, self.name)
        at = np.array([ladder.splits_at(value) for value in values], np.int64)
        loss = ladder.along(seen.as_leaf, seen.staying)[at]
        cost = cost_matrix_of(tree)
        if tree.task == "regression":
            square = ladder.along(*fourth_powers(tree, ends, self.truth, self.weight))[at]
        elif cost is None:
            square = loss
        else:
            prices = np.vstack([cost.matrix**2, np.ones(len(tree.classes))])
            known = np.minimum(self.truth, len(tree.classes))
            square = ladder.along(*class_errors(tree, ends, known, self.weight, prices)[1:])[at]
        return self._sums(loss, square)

    def _sums(self, loss: Floats, square: Floats) -> LossStats:
        return LossStats(loss, square, float(self.weight.sum()), float((self.weight**2).sum()))


def together(sums: Sequence[LossStats]) -> LossStats:
    """Put the sums of single trees side by side: all of as many rows."""
    loss, square = np.concatenate([s.loss for s in sums]), np.concatenate([s.square for s in sums])
    return LossStats(loss, square, sums[0].weight, sums[0].weight_square)


def fourth_powers(tree: Tree, ends: Ints, truth: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return Σ weight·(truth − value)⁴ of every node as a leaf, and of the rows that stay at inner nodes.

    By moments about the root's value, which lose some digits; they are only used for standard errors.
    """
    a = tree.arrays
    centre = float(a.value[0])
    scale = float(np.max(np.abs(truth - centre), initial=0.0)) or 1.0
    off, said = (truth - centre) / scale, (a.value - centre) / scale
    moments = [np.asarray(np.bincount(ends, weight * off**power, len(tree)), np.float64) for power in range(5)]
    runs = [np.append(0.0, np.cumsum(m)) for m in moments]
    under = [run[a.ends] - run[:-1] for run in runs]
    speaker = np.zeros(len(tree), np.int64) if tree.empty_branch == "root" else np.arange(len(tree))
    staying = np.where(a.kind != LEAF, about(moments, said[speaker]), 0.0)
    return about(under, said) * scale**4, staying * scale**4


def about(m: Sequence[Floats], v: Floats) -> Floats:
    """Return the fourth moment about v from the moments about 0."""
    return np.maximum(m[4] - 4 * v * m[3] + 6 * v**2 * m[2] - 4 * v**3 * m[1] + v**4 * m[0], 0.0)
