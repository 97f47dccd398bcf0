"""How large should the tree be? Training error against the error on other rows, along one parameter (ID3 notes).

Above growth and pruning. Where the trees for all values of the parameter are one tree cut at different places, each
fold is grown once and all sizes are read off it; else one is grown for each value.

ladder.py    one tree as all its sizes
growing.py   the values of a parameter, and the trees for them
judging.py   rows that judge trees: sums of losses
result.py    the curve, its best value and the simplest one within a standard error
chart.py     the curve on a terminal
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import check_choice
from treewise.datasets import TRUTHS
from treewise.datasets.sampler import Sampler
from treewise.errors import Param, ParameterError, PythonOnly
from treewise.evaluate.validation_curve.growers import OVER, CurveGrower, Scorers
from treewise.evaluate.validation_curve.result import CurvePoint, ValidationCurve
from treewise.train.grow import prepare
from treewise.train.loss_stats import LossStats
from treewise.train.resampling import USUAL_FOLDS, fold_numbers, held_out, part
from treewise.train.training_set import TrainingSet, build_like

__all__ = ["OVER", "CurvePoint", "ValidationCurve", "curve", "curve_from_training_set"]

Ints = npt.NDArray[np.int64]
Progress = Callable[[float], None]


def curve(
    data: Any,
    target: Any = None,
    over: str = "max_leaf_nodes",
    *,
    values: Sequence[float] | None = None,
    validation: Any = None,
    folds: int | None = None,
    truth: Sampler | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ValidationCurve:
    """Follow training and validation error along one parameter, and choose its value.

    >>> import treewise as tw
    >>> found = tw.curve("penguins", over="max_leaf_nodes", folds=5)
    >>> found.best.value, found.one_se.value
    (8, 7)
    >>> tree = tw.grow("penguins", max_leaf_nodes=found.one_se.value)

    Parameters
    ----------
    data, target, options : as for ``treewise.grow``, which grows every tree.
    over : ``"max_leaf_nodes"`` (in the order of best-first growth), ``"max_depth"``, ``"min_samples_split"``,
        ``"ccp_alpha"`` (the sequence of cost complexity), ``"min_samples_leaf"``, or ``"rows"``: does more data help?
    values : of that parameter; by default all at which the tree changes (at most 1,000), or some in equal ratios.
    validation : other rows to judge by: a table, or the share of the rows to keep for that, such as 0.3.
    folds : else every row is held out in one of so many folds, 10 unless said; 0 where only ``truth`` is to judge.
    truth : the ``Sampler`` that the rows were drawn from: then the true error is known too. The built-in table
        ``"noisy"`` knows its own.
    random_state : the seed of folds and shares, and of random ties.
    n_jobs, progress : threads; a function that is told the share that is done.
    """
    for name in ("pruning", "ccp_alpha"):
        if name in options:
            raise ParameterError(
                "a curve chooses the size itself, from unpruned trees.", parameter=name, hint="Leave it out."
            )
    training_set = prepare(data, target, random_state=random_state, **options)
    truth = known_truth(data) if truth is None else truth
    judging = Validation(validation, folds, truth, random_state)
    return curve_from_training_set(training_set, over, judging, values, n_jobs, progress)


@dataclass(frozen=True)
class Validation:
    """Who judges the trees of a curve: other rows, folds or the truth (``curve``)."""

    validation: Any = None
    folds: int | None = None
    truth: Sampler | None = None
    seed: int = 0


def curve_from_training_set(
    training_set: TrainingSet,
    over: str,
    judging: Validation,
    values: Sequence[float] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ValidationCurve:
    """Follow the errors on a prepared training set: its settings grow every tree."""
    check_choice("over", over, OVER)
    plan = CurvePlan(training_set, judging)
    grower = CurveGrower(over, plan.whole, plan.fewest, judging.seed, n_jobs)
    listed = grower.values(values)
    world = None if judging.truth is None else Scorers.everything(judging.truth, training_set)
    of_folds = over == "rows"  # else the trees of all rows are shown, and those of the folds only judged
    runs, done = plan.count(of_folds), 0.0

    def told(share: float) -> None:
        nonlocal done
        done += share / runs
        if progress is not None:
            progress(min(1.0, done))

    training, judged, true = (LossStats.nothing(len(listed)) for _ in range(3))
    shown = []
    for rows, judge in plan.runs(of_folds):
        trees = grower.trees(rows, listed, told)
        if judge is not None:
            judged.add(trees.judged_by(judge))
        if rows is plan.whole or of_folds:
            shown.append(trees.leaves)
            training.add(trees.judged_by_own())
            if world is not None:
                true.add(trees.judged_by(world))
    return ValidationCurve.of(training_set, over, listed, np.mean(shown, axis=0), (training, judged, true), plan.words)


def known_truth(data: Any) -> Sampler | None:
    """Return what the rows of a built-in table were drawn from, where that is known."""
    known = isinstance(data, str) and data in TRUTHS and not Path(data).exists()
    return TRUTHS[data]() if known else None


class CurvePlan:
    """Which rows grow and which judge."""

    def __init__(self, training_set: TrainingSet, judging: Validation) -> None:
        validation, folds, seed = judging.validation, judging.folds, judging.seed
        self.training_set = self.whole = training_set
        self.judges: Scorers | None = None  # of the whole, where it is not folds that judge
        self.parts: list[tuple[Ints, Ints]] = []  # rows that grow, rows that judge
        if validation is not None and folds is not None:
            raise ParameterError(
                Param("validation") + " and " + Param("folds") + " are two ways to judge.", hint="Give one of them."
            )
        if isinstance(validation, float):
            train, test = held_out(training_set, validation, seed)
            self.whole, self.judges = part(training_set, train), Scorers.of(part(training_set, test))
            self.words = f"{len(test):,} rows held out"
        elif validation is not None:
            other = build_like(
                validation, training_set.encodings, training_set.target, training_set.settings, training_set.asked
            )
            self.judges, self.words = Scorers.of(other), f"{len(other):,} rows of {other.table_name}"
        elif folds == 0:
            if judging.truth is None:
                raise ParameterError(
                    "nothing is left to judge by.",
                    parameter="folds",
                    value=0,
                    hint="Give " + Param("validation") + ", 2 folds or more, or " + PythonOnly("truth") + ".",
                )
            self.words = "the truth"
        else:
            number = fold_numbers(training_set, USUAL_FOLDS if folds is None else folds, seed)
            every = range(int(number.max()) + 1)
            self.parts = [(np.flatnonzero(number != fold), np.flatnonzero(number == fold)) for fold in every]
            self.words = f"{len(self.parts)} folds"

    @property
    def fewest(self) -> int:
        """How many rows the smallest part has to grow on."""
        return min([len(self.whole), *(len(grow) for grow, _ in self.parts)])

    def count(self, of_folds: bool) -> int:
        """How many times trees are grown."""
        return len(self.parts) + (not of_folds or not self.parts)

    def runs(self, of_folds: bool) -> Iterator[tuple[TrainingSet, Scorers | None]]:
        """Yield what to grow on and what judges it; the whole comes last, unless the folds speak for it."""
        for grow, judge in self.parts:
            yield part(self.training_set, grow), Scorers.of(part(self.training_set, judge))
        if not of_folds or not self.parts:
            yield self.whole, self.judges
