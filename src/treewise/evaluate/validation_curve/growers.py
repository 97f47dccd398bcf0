"""The trees for all values of a parameter: one tree cut at different places where that is the same, else one each.

Below ``curves``. "The same" is meant literally: ``tests/unit/evaluate/test_curve.py`` grows for each value and compares.
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
from treewise.data import encoding as encode
from treewise.datasets.sampler import Sampler
from treewise.errors import Param, ParameterError, shown
from treewise.predict.costs import cost_matrix_of, losses
from treewise.predict.predict import answering_nodes, find_leaves, predict_at_nodes
from treewise.prune.nested_trees import find_nested_trees
from treewise.prune.validation_counts import class_errors, count_validation_rows
from treewise.train.edit import best_first
from treewise.train.grow import grow_training_set
from treewise.train.loss_stats import LossStats
from treewise.train.resampling import part
from treewise.train.settings import Settings
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NESTED = ("max_leaf_nodes", "max_depth", "min_samples_split", "ccp_alpha")
OVER = (*NESTED, "min_samples_leaf", "rows")
LARGER_IS_MORE = ("max_leaf_nodes", "max_depth", "rows")  # a larger value is a larger tree
MOST_VALUES = 1000  # of a nested sequence, unless they are given
FEWEST_ROWS = 10  # the shortest beginning of the table that over="rows" looks at
STEPS = 15  # values where each is grown for itself


class LeafSequence:
    """The inner nodes of a tree in the order in which a parameter, made looser and looser, lets them be split."""

    def __init__(self, tree: Tree, over: str) -> None:
        self.tree, self.over = tree, over
        self.nested = find_nested_trees(tree) if over == "ccp_alpha" else None
        inner = np.flatnonzero(tree.arrays.kind != LEAF)
        keys = self._keys()[inner]
        order = np.argsort(keys, kind="stable")
        self.nodes, self.keys = inner[order], keys[order]

    def _keys(self) -> Floats:
        a = self.tree.arrays
        if self.over == "max_depth":
            return np.asarray(a.depths + 1, np.float64)
        if self.over == "min_samples_split":
            return -a.rows.astype(np.float64)
        if self.nested is not None:
            return -least_above(a.parent, self.nested.leaf_alpha)
        found = np.zeros(len(self.tree))
        order = best_first(self.tree)
        found[order] = 1 + np.cumsum(self._more_leaves()[order])
        return found

    def _more_leaves(self) -> Ints:
        """How many leaves a split of each node adds."""
        start, _ = self.tree.arrays.child_lists
        return np.diff(start) - 1

    def splits_at(self, value: float) -> int:
        """Return how many nodes are split under a value of the parameter."""
        if self.nested is not None:
            entry = self.nested.find(value)
            if entry == 0:
                return len(self.keys)
            return int(np.searchsorted(self.keys, -self.nested.alpha[entry], side="left"))
        limit = -value if self.over == "min_samples_split" else value
        return int(np.searchsorted(self.keys, limit, side="right"))

    @property
    def leaves(self) -> Ints:
        """The number of leaves after each number of splits, from none to all."""
        return np.append(1, 1 + np.cumsum(self._more_leaves()[self.nodes]))

    def middle(self, alpha: float) -> float:
        """Return the alpha in the middle of those that give the same tree as this one: what rpart asks of its folds."""
        assert self.nested is not None
        entry = self.nested.find(alpha)
        if entry == len(self.nested) - 1:
            return inf
        return sqrt(float(self.nested.alpha[entry]) * float(self.nested.alpha[entry + 1]))

    def along(self, as_leaf: Floats, staying: Floats) -> Floats:
        """Return a sum over the leaves after each number of splits, from none to all.

        ``as_leaf`` is what each node contributes as a leaf, ``staying`` what rows contribute that stay at it, split as
        it is, because it has no branch for their level.
        """
        # From the whole tree back to the root, the small sums first: an error of 0 is then 0, not nearly so.
        leaves = self.tree.arrays.kind == LEAF
        below = np.bincount(self.tree.arrays.parent[1:], as_leaf[1:], len(as_leaf))
        saved = (as_leaf - below - staying)[self.nodes]
        whole = float(as_leaf[leaves].sum() + staying[~leaves].sum())
        return np.asarray(whole + np.append(np.cumsum(saved[::-1])[::-1], 0.0), np.float64)

    def values(self) -> list[float]:
        """Return the values at which this tree changes, from the root alone to the whole of it."""
        if self.nested is not None:
            alphas = [*np.unique(self.nested.alpha).tolist(), inf]
            return [short_between(low, high) for low, high in pairwise(alphas)][::-1]
        steps = np.unique(self.keys)
        if self.over == "min_samples_split":
            return [float(self.tree.arrays.rows[0]) + 1, *(-steps).tolist()]
        return [0.0 if self.over == "max_depth" else 1.0, *steps.tolist()]


def short_between(low: float, high: float) -> float:
    """Return a number from low on and below high that is short to write, and low itself if there is no shorter one.

    >>> short_between(0.022203, 0.030235), short_between(4163000123.0, inf), short_between(0.0, 1.0)
    (0.0223, 4170000000.0, 0.0)
    """
    for digits in range(1, 17):
        step = Decimal(1).scaleb(Decimal(low).adjusted() - digits) if low > 0 else Decimal(1)
        short = float((Decimal(low) / step).to_integral_value(ROUND_CEILING) * step)
        if low <= short < high and (digits > 1 or short == low):
            return short
    return low


def least_above(parent: Ints, values: Floats) -> Floats:
    """Return the least value on the way from the root to each node, looking twice as far up in each round."""
    least, up = values.copy(), parent.clip(0)
    while up.any():
        least = np.minimum(least, least[up])
        up = up[up]
    return np.asarray(np.minimum(least, values[0]), np.float64)


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
        loss = ladder.along(seen.leaf_error, seen.stay_error)[at]
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


class TreesAlongCurve(Protocol):
    """The trees of some rows, for all values."""

    leaves: Floats

    def judged_by(self, judges: Scorers) -> LossStats:
        """Return what each loses on some rows."""
        ...

    def judged_by_own(self) -> LossStats:
        """Return what each loses on the rows it was grown on."""
        ...


class NestedTreesGrower:
    """Trees of a ladder."""

    def __init__(self, ladder: LeafSequence, values: Sequence[float], training_set: TrainingSet) -> None:
        self.ladder, self.values, self.training_set = ladder, values, training_set
        self.leaves = ladder.leaves[[ladder.splits_at(value) for value in values]].astype(np.float64)

    def judged_by(self, judges: Scorers) -> LossStats:
        """Return what each loses on some rows."""
        return judges.judge_all(self.ladder, self.values)

    def judged_by_own(self) -> LossStats:
        """Return what each loses on the rows it was grown on."""
        return self.judged_by(Scorers.of(self.training_set)).per_row()


class RefitGrower:
    """A tree for each value, with the rows it was grown on."""

    def __init__(self, made: Sequence[tuple[TrainingSet, Tree]]) -> None:
        self.made = made
        self.leaves = np.array([tree.n_leaves for _, tree in made], np.float64)

    def judged_by(self, judges: Scorers) -> LossStats:
        """Return what each loses on some rows."""
        return together([judges.judge(tree) for _, tree in self.made])

    def judged_by_own(self) -> LossStats:
        """Return what each loses on the rows it was grown on."""
        return together([Scorers.of(rows).judge(tree).per_row() for rows, tree in self.made])


class CurveGrower:
    """Knows the values of a parameter, and grows the trees for them."""

    def __init__(self, over: str, whole: TrainingSet, fewest: int, seed: int, n_jobs: int | None) -> None:
        if over in NESTED and over in whole.settings.given():
            raise ParameterError(
                Param(over) + " is what the curve goes over.",
                hint="Leave it out; " + Param("values") + " say how far to go.",
            )
        self.over, self.whole, self.fewest, self.seed, self.n_jobs = over, whole, fewest, seed, n_jobs
        best_first = whole.settings.max_leaf_nodes is not None  # then another limit changes which nodes come first
        self.nests = over in ("max_leaf_nodes", "ccp_alpha") or (over in NESTED and not best_first)
        self.ladder = self._ladder(whole) if self.nests else None
        self.given = False

    def _ladder(self, training_set: TrainingSet) -> LeafSequence:
        return LeafSequence(grow_training_set(training_set, n_jobs=self.n_jobs, keep_quartiles=False), self.over)

    def values(self, given: Sequence[float] | None) -> list[float]:
        """Return the values to look at, from the simplest tree to the largest."""
        self.given = given is not None
        if given is None:
            return self._usual_values()
        listed = list(given)
        if not listed:
            raise ParameterError(Param("values") + " is empty.", hint="Give some, or leave it out.")
        for value in listed:
            self._check(value)
        return sorted(set(listed), reverse=self.over not in LARGER_IS_MORE)

    def _check(self, value: Any) -> None:
        """Say what is wrong with a value."""
        if self.over == "ccp_alpha":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
                raise ParameterError(
                    Param("values") + f" holds {shown(value)}: " + Param("ccp_alpha") + " is a number, 0 or more."
                )
            return
        if as_integer(value) is None:
            raise ParameterError(Param("values") + f" holds {shown(value)}: {self.over} is looked at in whole numbers.")
        if self.over == "rows" and not 1 <= value <= self.fewest:
            raise ParameterError(Param("values") + f" holds {value}: there are 1 to {self.fewest:,} rows to grow on.")
        if self.over != "rows":
            Settings.of(None, **{self.over: value})

    def _usual_values(self) -> list[float]:
        if self.ladder is not None:
            found = self.ladder.values()
            if len(found) > MOST_VALUES:
                found = [found[i - 1] for i in spread(1, len(found), MOST_VALUES)]
            return found if self.over == "ccp_alpha" else [int(value) for value in found]
        if self.over == "max_depth":
            return [*range(grow_training_set(self.whole, n_jobs=self.n_jobs, keep_quartiles=False).depth + 1)]
        if self.over == "rows":
            return [*spread(min(FEWEST_ROWS, 1 + self.fewest // 4), self.fewest, STEPS)]
        least = 2 if self.over == "min_samples_split" else 1
        return [*reversed(spread(least, max(least, self.fewest // 2), STEPS))]

    def trees(
        self, training_set: TrainingSet, values: Sequence[float], told: Callable[[float], None]
    ) -> TreesAlongCurve:
        """Grow on some rows, for all values; ``told`` is given the shares that are done."""
        if self.ladder is not None:
            same = training_set is self.whole
            ladder = self.ladder if same else self._ladder(training_set)
            told(1.0)
            ask = same or self.given or self.over != "ccp_alpha"
            return NestedTreesGrower(
                ladder, values if ask else [self.ladder.middle(value) for value in values], training_set
            )
        made = []
        for value in values:
            rows = self._under(training_set, value)
            made.append((rows, grow_training_set(rows, n_jobs=self.n_jobs, keep_quartiles=False)))
            told(1 / len(values))
        return RefitGrower(made)

    def _under(self, training_set: TrainingSet, value: float) -> TrainingSet:
        """Return the training set under one value of the parameter."""
        if self.over == "rows":
            order = np.random.default_rng(self.seed).permutation(len(training_set))
            return part(training_set, np.sort(order[: int(value)]))
        changed: dict[str, Any] = {self.over: value}
        return replace(training_set, settings=replace(training_set.settings, **changed))


def spread(low: int, high: int, most: int) -> list[int]:
    """Return whole numbers from one to another in about equal ratios.

    >>> spread(1, 100, 5), spread(3, 3, 5)
    ([1, 3, 10, 32, 100], [3])
    """
    return sorted({round(float(number)) for number in np.geomspace(low, high, most)})
