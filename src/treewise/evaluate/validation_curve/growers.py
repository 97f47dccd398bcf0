"""The trees for all values of a parameter: one tree cut at different places where that is the same, else one each.

Below ``curves``. "The same" is meant literally: ``tests/unit/evaluate/test_curve.py`` grows for each value and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from treewise.errors import Param, ParameterError, shown
from treewise.evaluate.validation_curve.scorers import Scorers, together
from treewise.evaluate.validation_curve.tree_sequence import NESTED, LeafSequence
from treewise.train.grow import grow_training_set
from treewise.train.loss_stats import LossStats
from treewise.train.resampling import part
from treewise.train.settings import Settings, index
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]

OVER = (*NESTED, "min_samples_leaf", "rows")
LARGER_IS_MORE = ("max_leaf_nodes", "max_depth", "rows")  # a larger value is a larger tree
MOST_VALUES = 1000  # of a nested sequence, unless they are given
FEWEST_ROWS = 10  # the shortest beginning of the table that over="rows" looks at
STEPS = 15  # values where each is grown for itself


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
        if index(value) is None:
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
