"""Grow the trees of a validation curve, and sum their losses.

Growing with ``max_leaf_nodes``, ``max_depth`` or ``min_samples_split`` never looks ahead, and the sequence of cost
complexity is nested, so the trees for all values of the parameter are prunings of one tree, which is grown once
(``NestedTreeSequence``). Other parameters need one tree per value. ``tests/unit/evaluate/test_curve.py`` compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from itertools import pairwise
from math import inf, sqrt
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import as_integer
from treewise._lib.text import plural
from treewise.data import encoding as encode
from treewise.datasets.sampler import Sampler
from treewise.errors import DataError, Param, ParameterError, brief
from treewise.predict.costs import cost_matrix_of
from treewise.predict.leaf_probabilities import class_probabilities, default_smoothing
from treewise.predict.predict import answering_nodes, find_leaves
from treewise.prune.losses import Loss, RowLosses, area_above_roc, default_loss, find_loss
from treewise.prune.nested_trees import find_nested_trees
from treewise.prune.validation_counts import class_errors, count_validation_rows
from treewise.train.edit import best_first_order
from treewise.train.grow import grow_training_set
from treewise.train.resampling import LossStats, take_rows
from treewise.train.settings import Settings
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_BY_ALPHA = ("pruning", "ccp_alpha")  # the nested sequences of cost complexity: by the risk of the loss, by impurity
_NESTED = (*_BY_ALPHA, "max_leaf_nodes", "max_depth", "min_samples_split")
OVER = (*_NESTED, "min_samples_leaf", "rows")
_LARGER_IS_MORE = ("max_leaf_nodes", "max_depth", "rows")  # larger values give larger trees
_MAX_VALUES = 1000  # default limit for a nested sequence
_FEWEST_ROWS = 10  # smallest training size for over="rows"
_STEPS = 15  # default number of values if each needs a tree


class NestedTreeSequence:
    """All sizes of one tree: its internal nodes in the order in which relaxing a parameter splits them.

    Each internal node has a split value: the value of the parameter from which it is split, never below that of its
    parent. In the order of these values every split adds leaves and changes errors by fixed amounts, so all sizes
    follow from running sums.
    """

    def __init__(self, tree: Tree, over: str, risk: str = "impurity") -> None:
        self.tree, self.over = tree, over
        self.nested = find_nested_trees(tree, risk) if over in _BY_ALPHA else None
        internal = np.flatnonzero(tree.arrays.kind != LEAF)
        split_values = self._split_values()[internal]
        order = np.argsort(split_values, kind="stable")
        self.nodes, self.split_values = internal[order], split_values[order]

    def _split_values(self) -> Floats:
        a = self.tree.arrays
        if self.over == "max_depth":
            return np.asarray(a.depths + 1, np.float64)
        if self.over == "min_samples_split":
            return -a.rows.astype(np.float64)
        if self.nested is not None:
            return -_minimum_on_path(a.parent, self.nested.leaf_alpha)
        split_values = np.zeros(len(self.tree))
        order = best_first_order(self.tree)
        split_values[order] = 1 + np.cumsum(self._more_leaves()[order])
        return split_values

    def _more_leaves(self) -> Ints:
        """Return the number of leaves that splitting each node adds."""
        start, _ = self.tree.arrays.child_lists
        return np.diff(start) - 1

    def splits_at(self, value: float) -> int:
        """Return the number of split nodes at a value of the parameter."""
        if self.nested is not None:
            entry = self.nested.find(value)
            if entry == 0:
                return len(self.split_values)
            return int(np.searchsorted(self.split_values, -self.nested.alpha[entry], side="left"))
        limit = -value if self.over == "min_samples_split" else value
        return int(np.searchsorted(self.split_values, limit, side="right"))

    @property
    def leaves(self) -> Ints:
        """The number of leaves after 0, 1, … splits."""
        return np.append(1, 1 + np.cumsum(self._more_leaves()[self.nodes]))

    def geometric_midpoint(self, alpha: float) -> float:
        """Return the geometric mean of the alphas that give the same tree as this one, as rpart does for its folds."""
        assert self.nested is not None
        entry = self.nested.find(alpha)
        if entry == len(self.nested) - 1:
            return inf
        return sqrt(float(self.nested.alpha[entry]) * float(self.nested.alpha[entry + 1]))

    def sum_along(self, leaf_values: Floats, stay_values: Floats) -> Floats:
        """Return a sum over the leaves after 0, 1, … splits.

        ``leaf_values`` is the contribution of each node as a leaf, ``stay_values`` that of rows that stop at it when it
        is split, because their level has no branch.
        """
        # Summed from the full tree back to the root, small sums first, so that an error of 0 is exactly 0.
        leaves = self.tree.arrays.kind == LEAF
        below = np.bincount(self.tree.arrays.parent[1:], leaf_values[1:], len(leaf_values))
        saved = (leaf_values - below - stay_values)[self.nodes]
        full = float(leaf_values[leaves].sum() + stay_values[~leaves].sum())
        return np.asarray(full + np.append(np.cumsum(saved[::-1])[::-1], 0.0), np.float64)

    def values(self) -> list[float]:
        """Return the values at which the tree changes, from the root to the full tree."""
        if self.nested is not None:
            alphas = [*np.unique(self.nested.alpha).tolist(), inf]
            return [_short_between(low, high) for low, high in pairwise(alphas)][::-1]
        steps = np.unique(self.split_values)
        if self.over == "min_samples_split":
            return [float(self.tree.arrays.rows[0]) + 1, *(-steps).tolist()]
        return [0.0 if self.over == "max_depth" else 1.0, *steps.tolist()]


def _short_between(low: float, high: float) -> float:
    """Return a number in [low, high) with few digits; low itself if there is no shorter one.

    >>> _short_between(0.022203, 0.030235), _short_between(4163000123.0, inf), _short_between(0.0, 1.0)
    (0.0223, 4170000000.0, 0.0)
    """
    for digits in range(1, 17):
        step = Decimal(1).scaleb(Decimal(low).adjusted() - digits) if low > 0 else Decimal(1)
        short = float((Decimal(low) / step).to_integral_value(ROUND_CEILING) * step)
        if low <= short < high and (digits > 1 or short == low):
            return short
    return low


def _minimum_on_path(parent: Ints, values: Floats) -> Floats:
    """Return the minimum on the path from the root to each node, by pointer doubling."""
    minimum, up = values.copy(), parent.clip(0)
    while up.any():
        minimum = np.minimum(minimum, minimum[up])
        up = up[up]
    return np.asarray(np.minimum(minimum, values[0]), np.float64)


@dataclass(frozen=True, eq=False)
class ScoringRows:
    """Encoded rows with true labels, on which trees are scored."""

    columns: Sequence[npt.NDArray[Any]]
    truth: npt.NDArray[Any]  # class codes, or values
    weight: Floats
    name: str

    @classmethod
    def of(cls, training_set: TrainingSet) -> ScoringRows:
        """Take the rows of a training set."""
        truth = training_set.raw if training_set.target.task == "regression" else np.asarray(training_set.y, np.int64)
        weight = np.ldexp(np.asarray(training_set.weight, np.float64), -training_set.weight_scale)
        return cls(training_set.columns, truth, weight, training_set.table_name)

    @classmethod
    def of_sampler(cls, sampler: Sampler, training_set: TrainingSet) -> ScoringRows:
        """Take every cell of a distribution once per class, weighted by its probability."""
        cells = sampler.cells()
        columns = []
        for encoding in training_set.encodings:
            if encoding.name not in cells.columns:
                raise ParameterError(f'truth knows no column "{encoding.name}": it is not where these rows come from.')
            columns.append(np.tile(encode.encode_column(encoding, cells[encoding.name], cells.name), 2))
        class_index = {str(label): i for i, label in enumerate(training_set.target.classes)}
        unknown = len(class_index)
        truth = np.repeat([class_index.get("0", unknown), class_index.get("1", unknown)], len(cells))
        rate = sampler.rate.ravel()
        return cls(columns, truth, np.append(1 - rate, rate) / len(cells), "the truth")

    def score(self, tree: Tree, loss: Loss) -> LossStats:
        """Return the losses of one tree."""
        leaves = find_leaves(tree, self.columns, len(self.truth))
        if loss.of_rows is None:
            sequence = NestedTreeSequence(tree, "max_depth")
            return self._areas(sequence, leaves, np.array([len(sequence.nodes)]))
        rows = np.arange(len(leaves))
        row_losses = self._row_losses(tree, loss)(rows, answering_nodes(tree, leaves))
        total = np.array([float(self.weight @ row_losses)])
        return self._sums(total, np.array([float(self.weight @ row_losses**2)]))

    def score_all(self, sequence: NestedTreeSequence, values: Sequence[float], loss: Loss) -> LossStats:
        """Return the losses of the trees of a sequence, one per value of its parameter."""
        tree = sequence.tree
        leaves = find_leaves(tree, self.columns, len(self.truth))
        at = np.array([sequence.splits_at(value) for value in values], np.int64)
        if loss.of_rows is None:
            return self._areas(sequence, leaves, at)
        if loss.name == default_loss(tree.task, None, cost_matrix_of(tree) is not None):
            return self._score_by_counts(sequence, leaves, at)
        sums = _node_sums(tree, leaves, self._row_losses(tree, loss), self.weight)
        return self._sums(sequence.sum_along(*sums[:2])[at], sequence.sum_along(*sums[2:])[at])

    def _row_losses(self, tree: Tree, loss: Loss) -> RowLosses:
        cost = cost_matrix_of(tree)
        assert loss.of_rows is not None
        return loss.of_rows(tree, self.truth, None if cost is None else cost.matrix)

    def _areas(self, sequence: NestedTreeSequence, leaves: Ints, at: Ints) -> LossStats:
        """Return 1 − AUC after some numbers of splits."""
        tree = sequence.tree
        is_positive = self.truth == len(tree.classes) - 1
        reached, inverse = np.unique(leaves, return_inverse=True)
        positive_weight = np.bincount(inverse, self.weight * is_positive, len(reached))
        negative_weight = np.bincount(inverse, self.weight * ~is_positive, len(reached))
        score = class_probabilities(tree, np.arange(len(tree)), default_smoothing(tree))[:, -1]
        splits_from = np.full(len(tree), len(tree))  # the number of splits from which a node is split
        splits_from[sequence.nodes] = np.arange(1, len(sequence.nodes) + 1)
        areas = np.empty(len(at))
        for i, splits in enumerate(at.tolist()):
            nodes = reached.copy()  # climb to the first node whose parent is split
            while (climbs := (nodes > 0) & (splits_from[tree.arrays.parent[nodes]] > splits)).any():
                nodes[climbs] = tree.arrays.parent[nodes[climbs]]
            areas[i] = area_above_roc(score[answering_nodes(tree, nodes)], positive_weight, negative_weight)
        if np.isnan(areas).any():
            raise DataError(
                f"{plural(len(leaves), 'row')} of one class only have no AUC.",
                hint="Give fewer " + Param("folds") + ", or " + Param("loss", "log_loss") + ".",
            )
        weight = float(self.weight.sum())
        return self._sums(areas * weight, areas**2 * weight)

    def _score_by_counts(self, sequence: NestedTreeSequence, leaves: Ints, at: Ints) -> LossStats:
        """Return errors, costs or squared errors from sums over the nodes, whatever the depth of the tree."""
        tree = sequence.tree
        counts = count_validation_rows(tree, leaves, self.truth, self.weight, self.name)
        loss = sequence.sum_along(counts.leaf_error, counts.stay_error)[at]
        cost = cost_matrix_of(tree)
        if tree.task == "regression":
            square = sequence.sum_along(*_fourth_power_errors(tree, leaves, self.truth, self.weight))[at]
        elif cost is None:
            square = loss
        else:
            prices = np.vstack([cost.matrix**2, np.ones(len(tree.classes))])
            truth = np.minimum(self.truth, len(tree.classes))
            square = sequence.sum_along(*class_errors(tree, leaves, truth, self.weight, prices)[1:])[at]
        return self._sums(loss, square)

    def _sums(self, loss: Floats, square: Floats) -> LossStats:
        return LossStats(loss, square, float(self.weight.sum()), float((self.weight**2).sum()))


def _node_sums(
    tree: Tree, leaves: Ints, row_losses: RowLosses, weight: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Sum losses at every node as a leaf and over rows that stop at it, then their squares; n × depth."""
    sums = [np.zeros(len(tree)) for _ in range(4)]

    def add(first: int, rows: Ints, nodes: Ints, answering: Ints) -> None:
        losses = row_losses(rows, answering)
        sums[first] += np.bincount(nodes, losses * weight[rows], len(tree))
        sums[first + 2] += np.bincount(nodes, losses**2 * weight[rows], len(tree))

    stopped = np.flatnonzero(tree.arrays.kind[leaves] != LEAF)
    add(1, stopped, leaves[stopped], answering_nodes(tree, leaves[stopped]))
    rows, nodes = np.arange(len(leaves)), leaves
    while len(rows):
        add(0, rows, nodes, nodes)
        nodes = tree.arrays.parent[nodes]
        rows, nodes = rows[nodes >= 0], nodes[nodes >= 0]
    return sums[0], sums[1], sums[2], sums[3]


def _concatenate_stats(sums: Sequence[LossStats]) -> LossStats:
    """Concatenate the sums of several trees on the same rows."""
    loss, square = np.concatenate([s.loss for s in sums]), np.concatenate([s.square for s in sums])
    return LossStats(loss, square, sums[0].weight, sums[0].weight_square)


def _fourth_power_errors(tree: Tree, leaves: Ints, truth: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return Σ weight·(truth − value)⁴ of every node as a leaf, and of the rows that stop at internal nodes.

    Computed from moments about the root's value, which lose some digits; used only for standard errors.
    """
    a = tree.arrays
    centre = float(a.value[0])
    scale = float(np.max(np.abs(truth - centre), initial=0.0)) or 1.0
    deviation, predicted = (truth - centre) / scale, (a.value - centre) / scale
    moments = [np.asarray(np.bincount(leaves, weight * deviation**power, len(tree)), np.float64) for power in range(5)]
    runs = [np.append(0.0, np.cumsum(m)) for m in moments]
    under = [run[a.ends] - run[:-1] for run in runs]
    answering = np.zeros(len(tree), np.int64) if tree.empty_branch == "root" else np.arange(len(tree))
    stay_values = np.where(a.kind != LEAF, _fourth_moment_about(moments, predicted[answering]), 0.0)
    return _fourth_moment_about(under, predicted) * scale**4, stay_values * scale**4


def _fourth_moment_about(m: Sequence[Floats], v: Floats) -> Floats:
    """Return the fourth moment about v from the moments about 0."""
    return np.maximum(m[4] - 4 * v * m[3] + 6 * v**2 * m[2] - 4 * v**3 * m[1] + v**4 * m[0], 0.0)


class _TreesAlongCurve(Protocol):
    """The trees grown on some rows, one per value."""

    leaves: Floats

    def losses_on(self, scoring_rows: ScoringRows) -> LossStats:
        """Return the losses of each tree on some rows."""
        ...

    def training_losses(self) -> LossStats:
        """Return the losses of each tree on its training rows."""
        ...


class _NestedTreesGrower:
    """Trees of a ``NestedTreeSequence``."""

    def __init__(
        self, sequence: NestedTreeSequence, values: Sequence[float], training_set: TrainingSet, loss: Loss
    ) -> None:
        self.sequence, self.values, self.training_set, self.loss = sequence, values, training_set, loss
        self.leaves = sequence.leaves[[sequence.splits_at(value) for value in values]].astype(np.float64)

    def losses_on(self, scoring_rows: ScoringRows) -> LossStats:
        """Return the losses of each tree on some rows."""
        return scoring_rows.score_all(self.sequence, self.values, self.loss)

    def training_losses(self) -> LossStats:
        """Return the losses of each tree on its training rows."""
        return self.losses_on(ScoringRows.of(self.training_set)).per_row()


class _RefitGrower:
    """One tree per value, with the rows it was grown on."""

    def __init__(self, trees_with_rows: Sequence[tuple[TrainingSet, Tree]], loss: Loss) -> None:
        self.grown, self.loss = trees_with_rows, loss
        self.leaves = np.array([tree.n_leaves for _, tree in trees_with_rows], np.float64)

    def losses_on(self, scoring_rows: ScoringRows) -> LossStats:
        """Return the losses of each tree on some rows."""
        return _concatenate_stats([scoring_rows.score(tree, self.loss) for _, tree in self.grown])

    def training_losses(self) -> LossStats:
        """Return the losses of each tree on its training rows."""
        return _concatenate_stats([ScoringRows.of(rows).score(tree, self.loss).per_row() for rows, tree in self.grown])


class CurveGrower:
    """Chooses the values of a parameter, and grows the trees for them."""

    def __init__(
        self, over: str, full: TrainingSet, fewest: int, seed: int, n_jobs: int | None, loss_name: str | None
    ) -> None:
        if over in _NESTED and over in full.settings.non_default_values():
            raise ParameterError(
                Param(over) + " is the parameter of the curve.",
                hint="Leave it out; " + Param("values") + " sets its values.",
            )
        self.over, self.full, self.fewest, self.seed, self.n_jobs = over, full, fewest, seed, n_jobs
        best_first = full.settings.max_leaf_nodes is not None  # then another limit changes the order of nodes
        self.nests = over in ("max_leaf_nodes", *_BY_ALPHA) or (over in _NESTED and not best_first)
        full_tree = grow_training_set(full, n_jobs=n_jobs, keep_quartiles=False)
        self.loss = find_loss(full_tree, loss_name)
        self.sequence = self._sequence_of(full_tree) if self.nests else None
        self.is_given = False

    def _grow_sequence(self, training_set: TrainingSet) -> NestedTreeSequence:
        return self._sequence_of(grow_training_set(training_set, n_jobs=self.n_jobs, keep_quartiles=False))

    def _sequence_of(self, tree: Tree) -> NestedTreeSequence:
        return NestedTreeSequence(tree, self.over, self.loss.risk if self.over == "pruning" else "impurity")

    def values(self, values: Sequence[float] | None) -> list[float]:
        """Return the values of the curve, from the smallest tree to the largest."""
        self.is_given = values is not None
        if values is None:
            return self._default_values()
        grid = list(values)
        if not grid:
            raise ParameterError(Param("values") + " is empty.", hint="Give some, or leave it out.")
        for value in grid:
            self._check(value)
        return sorted(set(grid), reverse=self.over not in _LARGER_IS_MORE)

    def _check(self, value: Any) -> None:
        """Raise for an invalid value."""
        if self.over in _BY_ALPHA:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
                raise ParameterError(
                    Param("values") + f" holds {brief(value)}: " + Param("ccp_alpha") + " is a number, 0 or more."
                )
            return
        if as_integer(value) is None:
            raise ParameterError(Param("values") + f" holds {brief(value)}: {self.over} takes whole numbers.")
        if self.over == "rows" and not 1 <= value <= self.fewest:
            raise ParameterError(Param("values") + f" holds {value}: must be from 1 to {self.fewest:,} rows.")
        if self.over != "rows":
            Settings.of(None, **{self.over: value})

    def _default_values(self) -> list[float]:
        if self.sequence is not None:
            values = self.sequence.values()
            if len(values) > _MAX_VALUES:
                values = [values[i - 1] for i in geometric_range(1, len(values), _MAX_VALUES)]
            return values if self.over in _BY_ALPHA else [int(value) for value in values]
        if self.over == "max_depth":
            return [*range(grow_training_set(self.full, n_jobs=self.n_jobs, keep_quartiles=False).depth + 1)]
        if self.over == "rows":
            return [*geometric_range(min(_FEWEST_ROWS, 1 + self.fewest // 4), self.fewest, _STEPS)]
        smallest = 2 if self.over == "min_samples_split" else 1
        return [*reversed(geometric_range(smallest, max(smallest, self.fewest // 2), _STEPS))]

    def trees(
        self, training_set: TrainingSet, values: Sequence[float], report: Callable[[float], None]
    ) -> _TreesAlongCurve:
        """Grow the trees for all values; ``report`` is called with the shares done."""
        if self.sequence is not None:
            is_full = training_set is self.full
            sequence = self.sequence if is_full else self._grow_sequence(training_set)
            report(1.0)
            use_given_values = is_full or self.is_given or self.over not in _BY_ALPHA
            return _NestedTreesGrower(
                sequence,
                values if use_given_values else [self.sequence.geometric_midpoint(value) for value in values],
                training_set,
                self.loss,
            )
        trees_with_rows = []
        for value in values:
            rows = self._under(training_set, value)
            trees_with_rows.append((rows, grow_training_set(rows, n_jobs=self.n_jobs, keep_quartiles=False)))
            report(1 / len(values))
        return _RefitGrower(trees_with_rows, self.loss)

    def _under(self, training_set: TrainingSet, value: float) -> TrainingSet:
        """Return the training set with one value of the parameter."""
        if self.over == "rows":
            order = np.random.default_rng(self.seed).permutation(len(training_set))
            return take_rows(training_set, np.sort(order[: int(value)]))
        changed: dict[str, Any] = {self.over: value}
        return replace(training_set, settings=replace(training_set.settings, **changed))


def geometric_range(low: int, high: int, length: int) -> list[int]:
    """Return integers from one number to another in about equal ratios.

    >>> geometric_range(1, 100, 5), geometric_range(3, 3, 5)
    ([1, 3, 10, 32, 100], [3])
    """
    return sorted({round(float(number)) for number in np.geomspace(low, high, length)})
