"""Validation curves: training and validation error over one parameter (ID3 notes), ``treewise.curve``.

Where the trees for all values are prunings of one tree, each fold is grown once and its sizes are read off; otherwise
one tree is grown per value (``growers.py``). ``result.py`` holds the curve and prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from treewise._lib.checks import check_choice
from treewise.datasets import TRUTHS
from treewise.datasets.sampler import Sampler
from treewise.errors import Param, ParameterError, PythonOnly
from treewise.evaluate.validation_curve.growers import OVER, CurveGrower, ScoringRows
from treewise.evaluate.validation_curve.result import CurvePoint, SizesOnCurve, ValidationCurve
from treewise.prune.choice_error import FoldLosses
from treewise.train.folds import Folds, make_folds
from treewise.train.grow import prepare
from treewise.train.resampling import LossStats, hold_out, take_rows
from treewise.train.training_set import TrainingSet, build_like

__all__ = ["OVER", "CurvePoint", "ValidationCurve", "curve", "curve_from_training_set"]

Progress = Callable[[float], None]


def curve(
    data: Any,
    target: Any = None,
    over: str = "pruning",
    *,
    values: Sequence[float] | None = None,
    loss: str | None = None,
    validation: Any = None,
    folds: Any = None,
    repeats: int = 1,
    truth: Sampler | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ValidationCurve:
    """Compute training and validation error over one parameter, and choose its value.

    >>> import treewise as tw
    >>> result = tw.curve("penguins")
    >>> result.one_se.leaves, tw.grow("penguins", pruning="cv").n_leaves
    (8.0, 8)
    >>> result = tw.curve("penguins", over="max_leaf_nodes", folds=5)
    >>> result.best.value, result.one_se.value
    (8, 7)
    >>> tree = tw.grow("penguins", max_leaf_nodes=result.one_se.value)

    Parameters
    ----------
    data, target, options : as for ``treewise.grow``, which grows every tree.
    over : ``"pruning"``, the nested trees that ``pruning="cv"`` chooses from, with the same choice;
        ``"max_leaf_nodes"`` (in the order of best-first growth), ``"max_depth"``, ``"min_samples_split"``,
        ``"ccp_alpha"`` (cost complexity by impurity, as in scikit-learn), ``"min_samples_leaf"``, or ``"rows"``: does
        more data help?
    loss : ``"error"``, ``"cost"``, ``"log_loss"``, ``"brier"``, ``"auc"``; ``"squared_error"``, ``"absolute_error"``,
        ``"poisson_deviance"``; by default what the tree predicts by, as in ``pruning="cv"``.
    values : of that parameter; by default all at which the tree changes (at most 1,000), or some in equal ratios.
    validation : other rows to evaluate on: a table, or the share of the rows to keep for that, such as 0.3.
    folds : number of cross-validation folds, by default 10, or one fold number per row; 0 uses only ``truth``.
        ``groups=`` and ``time=`` of ``treewise.grow`` make folds of whole groups, or forward in time.
    repeats : how often to cross-validate, each time with other folds.
    truth : the ``Sampler`` that the rows were drawn from: then the true error is known too. The built-in table
        ``"noisy"`` knows its own.
    random_state : the seed of folds and shares, and of random ties.
    n_jobs, progress : threads; a function that receives the share that is done.
    """
    for name in ("pruning", "ccp_alpha"):
        if name in options:
            raise ParameterError("a curve is computed from unpruned trees.", parameter=name, hint="Leave it out.")
    training_set = prepare(data, target, random_state=random_state, **options)
    truth = known_truth(data) if truth is None else truth
    validation_plan = Validation(validation, folds, truth, random_state, repeats, loss)
    return curve_from_training_set(training_set, over, validation_plan, values, n_jobs, progress)


@dataclass(frozen=True)
class Validation:
    """How the trees of a curve are validated: on other rows, on folds or on the known distribution."""

    validation: Any = None
    folds: Any = None
    truth: Sampler | None = None
    seed: int = 0
    repeats: int = 1
    loss: str | None = None


def curve_from_training_set(
    training_set: TrainingSet,
    over: str,
    validation_plan: Validation,
    values: Sequence[float] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ValidationCurve:
    """Compute a curve on a prepared training set, with its settings."""
    check_choice("over", over, OVER)
    plan = _CurvePlan(training_set, validation_plan)
    grower = CurveGrower(over, plan.whole, plan.fewest, validation_plan.seed, n_jobs, validation_plan.loss)
    curve_values = grower.values(values)
    truth_rows = None if validation_plan.truth is None else ScoringRows.of_sampler(validation_plan.truth, training_set)
    of_folds = over == "rows"  # otherwise the trees of all rows are reported, and those of the folds only validated
    runs, done = plan.count(of_folds), 0.0

    def report(share: float) -> None:
        nonlocal done
        done += share / runs
        if progress is not None:
            progress(min(1.0, done))

    training, true = LossStats.nothing(len(curve_values)), LossStats.nothing(len(curve_values))
    validated: list[LossStats] = []
    points = []
    for rows, validation_rows in plan.runs(of_folds):
        trees = grower.trees(rows, curve_values, report)
        if validation_rows is not None:
            validated.append(trees.losses_on(validation_rows))
        if rows is plan.whole or of_folds:
            points.append(trees.leaves)
            training.add(trees.training_losses())
            if truth_rows is not None:
                true.add(trees.losses_on(truth_rows))
    losses = FoldLosses.of(validated, plan.folds, grower.loss.of_rows is not None) if validated else None
    sizes = SizesOnCurve(over, tuple(curve_values), np.mean(points, axis=0), training, losses, true)
    pruning = _cv_options(validation_plan, plan.folds) if over == "pruning" and values is None else None
    return ValidationCurve.of(training_set, sizes, grower.loss, plan.description, pruning, validation_plan.seed)


def _cv_options(plan: Validation, folds: Folds) -> dict[str, Any] | None:
    """Return the options with which ``pruning="cv"`` makes the same choice; None if it cannot."""
    if not folds.folds or folds.kind == "given":
        return None
    options = {"loss": plan.loss, "folds": plan.folds, "repeats": plan.repeats if plan.repeats > 1 else None}
    return {name: value for name, value in options.items() if value is not None}


def known_truth(data: Any) -> Sampler | None:
    """Return the distribution of a built-in table, if it is known."""
    is_built_in = isinstance(data, str) and data in TRUTHS and not Path(data).exists()
    return TRUTHS[data]() if is_built_in else None


class _CurvePlan:
    """Which rows are used for training and which for validation."""

    def __init__(self, training_set: TrainingSet, validation_plan: Validation) -> None:
        validation, folds, seed = validation_plan.validation, validation_plan.folds, validation_plan.seed
        self.training_set = self.whole = training_set
        self.scoring_rows: ScoringRows | None = None  # of the whole, where it is not folds that judge
        self.folds = Folds((), 1, "given")  # one table judges
        if validation is not None and folds is not None:
            raise ParameterError(
                Param("validation") + " and " + Param("folds") + " cannot be combined.", hint="Give one of them."
            )
        if isinstance(validation, float):
            train, test = hold_out(training_set, validation, seed)
            self.whole, self.scoring_rows = (
                take_rows(training_set, train),
                ScoringRows.of(take_rows(training_set, test)),
            )
            self.description = f"{len(test):,} rows held out"
        elif validation is not None:
            other = build_like(
                validation, training_set.encodings, training_set.target, training_set.settings, training_set.fit_options
            )
            self.scoring_rows, self.description = ScoringRows.of(other), f"{len(other):,} rows of {other.table_name}"
        elif folds == 0:
            if validation_plan.truth is None:
                raise ParameterError(
                    "no validation is left.",
                    parameter="folds",
                    value=0,
                    hint="Give " + Param("validation") + " or 2 folds or more" + PythonOnly(", or truth") + ".",
                )
            self.description = "the truth"
        else:
            self.folds = make_folds(training_set, folds, validation_plan.repeats, seed)
            self.description = str(self.folds)

    @property
    def fewest(self) -> int:
        """The number of rows of the smallest training subset."""
        return min([len(self.whole), *(len(fold.training) for fold in self.folds.folds)])

    def count(self, of_folds: bool) -> int:
        """Return the number of training parts."""
        return len(self.folds.folds) + (not of_folds or not self.folds.folds)

    def runs(self, of_folds: bool) -> Iterator[tuple[TrainingSet, ScoringRows | None]]:
        """Yield training sets with their validation rows; the full one comes last, unless only folds are used."""
        for fold in self.folds.folds:
            held_out = ScoringRows.of(take_rows(self.training_set, fold.held_out))
            yield take_rows(self.training_set, fold.training), held_out
        if not of_folds or not self.folds.folds:
            yield self.whole, self.scoring_rows
