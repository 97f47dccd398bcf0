"""The error of an ensemble after one tree, two trees, …: how many trees it takes.

Stands on ``panel.py``. Trees are asked in order and what they say is added up, so that every stage costs one tree. Of
boosting the bound that the training error cannot exceed stands beside it, where that is the error shown: on the very
table the trees were grown on, with all rows weighing the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, format_share, plural, safe
from treewise.ensemble import Ensemble
from treewise.ensemble.rounds import UNBOUNDED, at_most, has_weights
from treewise.errors import ParameterError
from treewise.evaluate.evaluate import PredictionComparison, compare_rows, root_mean_square, seen_before
from treewise.explain.ensemble.member_predictions import MemberPredictions, Progress, true_answers
from treewise.train.loss_stats import size_of_numbers

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

MOST_STAGES, LAST_STAGES = 30, 5  # that are printed, and how many of these are the last ones


@dataclass(frozen=True)
class Stage:
    """How the first so many trees do together: the share of wrong rows, of numbers the RMSE."""

    trees: int
    training: float  # on the table that was given
    test: float | None  # on the other one
    bound: float | None  # of boosting, on the table of growth: the training error is at most this


@dataclass(frozen=True, eq=False, repr=False)
class Stages(Displayable, Sequence[Stage]):
    """The error after each tree. ``print`` it, index it (``stages[0]`` is one tree), ``.draw()`` it."""

    table: str  # the name of the table, and how many rows it has …
    rows: int
    test: str | None  # … and of the other one
    test_rows: int
    target: str
    method: str
    measure: str  # "error" or "rmse"
    stages: tuple[Stage, ...]
    oob: float | None = None  # the error estimated on rows that trees have not seen, of all trees
    oob_r2: float | None = None  # of numbers: how much of their spread is explained on such rows
    seen: bool = False  # whether the table looks like the one the trees were grown on …
    test_seen: bool = False  # … and whether the other one does

    def __len__(self) -> int:
        return len(self.stages)

    @overload
    def __getitem__(self, place: int) -> Stage: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Stage, ...]: ...
    def __getitem__(self, place: int | slice) -> Stage | tuple[Stage, ...]:
        return self.stages[place]

    @property
    def best(self) -> Stage:
        """The stage of least error, on the test table where there is one; of equals the fewest trees."""
        return min(self.stages, key=lambda stage: stage.training if stage.test is None else stage.test)

    def draw(self, ax: Axes | None = None, path: str | PathLike[str] | None = None) -> Axes:
        """Draw the errors over the number of trees, on ``ax`` or a figure of its own; ``path`` saves it too."""
        from treewise.show.plots.curves import draw_stages

        return draw_stages(self, ax, path)

    def result_table(self) -> ResultTable:
        """Return every stage."""
        percent = self.measure == "error"
        unit = "error %" if percent else "RMSE"
        written: dict[str, Any] = {"kind": "share", "formatter": format_share} if percent else {"kind": "number"}
        tested: Any = None if self.test is not None else "data"
        bounded: Any = None if self.stages[0].bound is not None else "data"
        headings = (
            ColumnSpec("trees", "count"),
            ColumnSpec("training", title=unit, **written),
            ColumnSpec("test", title=f"test {unit}", only=tested, **written),
            ColumnSpec("bound", title="at most %", only=bounded, kind="share", formatter=at_most),
        )
        rows = [(s.trees, s.training, s.test, s.bound) for s in self.stages]
        title = f"{safe(self.target)}: the error after each of {plural(len(self), 'tree')}, on {self.said_rows}"
        return ResultTable(
            title,
            headings,
            rows,
            below=tuple(self._notes()),
            row_name="stage",
            max_rows=MOST_STAGES,
            last_rows=LAST_STAGES,
        )

    @property
    def said_rows(self) -> str:
        """Which rows the errors are of."""
        first = f"{safe(self.table)} ({plural(self.rows, 'row')})"
        return first if self.test is None else f"{first}; test: {safe(self.test)} ({plural(self.test_rows, 'row')})"

    def said(self, error: float) -> str:
        """Write an error."""
        return f"{format_share(error)} %" if self.measure == "error" else format_rounded(error)

    @property
    def said_oob(self) -> str:
        """Write how all trees do on rows they have not seen; nothing where that is not known."""
        parts = [self.said(self.oob)] if self.oob is not None else []
        parts += [f"R² {format_rounded(self.oob_r2)}"] if self.oob_r2 is not None else []
        return ", ".join(parts)

    def _notes(self) -> Iterator[str]:
        best = self.best
        on, error = ("", best.training) if best.test is None else (" on the test rows", best.test)
        yield f"Least{on} after {plural(best.trees, 'tree')}: {self.said(error)}."
        if any(stage.bound is not None and stage.bound >= 1 for stage in self.stages):
            yield UNBOUNDED
        if self.said_oob:
            yield f"Out of bag, all trees: {self.said_oob}."
        for name, seen in ((self.table, self.seen), (self.test, self.test_seen)):
            if seen:
                yield f"{safe(name)} looks like the table the trees were grown on: expect more errors on new rows."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        head = {"table": self.table, "rows": self.rows, "test": self.test, "test_rows": self.test_rows}
        head |= {"seen": self.seen, "test_seen": self.test_seen, "target": self.target, "method": self.method}
        unseen = {"out_of_bag": self.oob, "out_of_bag_r2": self.oob_r2}
        return {**head, "measure": self.measure, **unseen, "stages": self.result_table().records()}


def stages(
    ensemble: Ensemble,
    data: Any,
    target: Any = None,
    test: Any = None,
    sample_weight: Any = None,
    progress: Progress | None = None,
) -> Stages:
    """Return the error after each tree on a table whose answers are known, and on another (``Ensemble.stages``)."""
    parts = 1 if test is None else 2
    told = [None if progress is None else part_of(progress, i, parts) for i in range(parts)]
    here = compare_rows(ensemble, data, target, sample_weight=sample_weight)
    errors = errors_on(ensemble, here, told[0])
    others = None if test is None else compare_rows(ensemble, test, target)
    tested = None if others is None else errors_on(ensemble, others, told[-1])
    seen, test_seen = (each is not None and seen_before(each) for each in (here, others))
    own = seen and sample_weight is None and not has_weights(ensemble)
    bounds = bounds_of(ensemble) if own else [None] * len(ensemble)
    found = tuple(
        Stage(t + 1, errors[t], None if tested is None else tested[t], bounds[t]) for t in range(len(ensemble))
    )
    measure = "rmse" if ensemble.task == "regression" else "error"
    name, many = (None, 0) if others is None else (others.table.name, len(others.table))
    about = (here.table.name, len(here.table), name, many, ensemble.target.name, ensemble.method, measure)
    return Stages(*about, found, oob_error(ensemble, here if own else None), oob_r2(ensemble), seen, test_seen)


def part_of(progress: Progress, place: int, parts: int) -> Progress:
    """Return what tells the share of one part of the work as one of all."""
    return lambda share: progress((place + share) / parts)


def bounds_of(ensemble: Ensemble) -> list[float | None]:
    """Return boosting's bound on the training error after each tree; None where there is none.

    It bounds the mistakes as the first round weighs them, on the rows of growth: it says nothing of other tables, nor
    of the plain share of wrong rows where the rows weighed differently.
    """
    none: list[float | None] = [None] * len(ensemble)
    if ensemble.method != "adaboost":
        return none
    try:
        return [each.bound for each in ensemble.rounds]
    except ParameterError:
        return none


def oob_error(ensemble: Ensemble, own: PredictionComparison[Ensemble] | None) -> float | None:
    """Return the error estimated while growing; None where no row was judged.

    Of numbers only R² is kept. Where all rows of growth were judged, and these are they (``own``), each weighing the
    same, it tells the RMSE.
    """
    oob = ensemble.oob
    if oob is None or math.isnan(oob.score):
        return None
    if ensemble.task == "classification":
        return 1.0 - oob.score
    if own is None or oob.rows < oob.of:
        return None
    truth = true_answers(ensemble, own)
    unit = size_of_numbers(truth)  # the sum of huge numbers has no value
    return math.sqrt(1.0 - oob.score) * unit * root_mean_square(truth / unit - (truth / unit).mean(), None)


def oob_r2(ensemble: Ensemble) -> float | None:
    """Return R² as it was estimated while growing, of trees that predict numbers; None where it was not."""
    oob = ensemble.oob
    return None if oob is None or ensemble.task != "regression" or math.isnan(oob.score) else oob.score


def errors_on(ensemble: Ensemble, here: PredictionComparison[Ensemble], progress: Progress | None) -> list[float]:
    """Return the error on the rows of a table after each tree."""
    truth, weight, panel = true_answers(ensemble, here), here.weight, MemberPredictions(ensemble, here.encoded)
    numbers, predictor = ensemble.task == "regression", ensemble.predictor
    total = np.zeros((len(panel), len(ensemble.classes) or 1))
    errors = []
    for many, said in enumerate(panel.each(progress=progress), start=1):
        total += said
        if numbers:
            errors.append(root_mean_square(total[:, 0] / many * predictor.unit - truth, weight))
        else:
            errors.append(float(np.average(predictor.best(total, many) != truth, weights=weight)))
    return errors
