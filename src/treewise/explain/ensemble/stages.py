"""The error of an ensemble after one tree, two trees, …: how many trees are needed.

Trees are evaluated in order and their outputs added up, so that every stage costs one tree. For boosting, the bound on
the training error is shown beside it, if that is the error shown: on the training table, with equal row weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, format_share, plural, safe
from treewise.ensemble import Ensemble
from treewise.ensemble.rounds import NO_BOUND_LEGEND, format_bound
from treewise.errors import ParameterError
from treewise.evaluate.evaluate import EvaluationData, looks_like_training_data, prepare_evaluation, root_mean_square
from treewise.explain.ensemble.agreement import MemberPredictions, Progress, true_labels
from treewise.train.resampling import power_of_two_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise._lib.image_style import ImageOptions

_MAX_STAGES, _LAST_STAGES = 30, 5  # that are printed, and how many of these are the last ones


def stages(
    ensemble: Ensemble,
    data: Any,
    target: Any = None,
    test: Any = None,
    sample_weight: Any = None,
    progress: Progress | None = None,
) -> Stages:
    """Return the error after each tree on a labelled table, and on a test table (``Ensemble.stages``)."""
    n_parts = 1 if test is None else 2
    reports = [None if progress is None else _part_of(progress, i, n_parts) for i in range(n_parts)]
    rows = prepare_evaluation(ensemble, data, target, sample_weight=sample_weight)
    errors = _errors_by_tree(ensemble, rows, reports[0])
    test_rows = None if test is None else prepare_evaluation(ensemble, test, target)
    test_errors = None if test_rows is None else _errors_by_tree(ensemble, test_rows, reports[-1])
    is_training, test_is_training = (
        rows_ is not None and looks_like_training_data(rows_) for rows_ in (rows, test_rows)
    )
    is_unweighted = is_training and sample_weight is None and not ensemble.fit_info.has_weights
    bounds = _boosting_bounds(ensemble) if is_unweighted else [None] * len(ensemble)
    return Stages(
        table=rows.table.name,
        rows=len(rows.table),
        test=None if test_rows is None else test_rows.table.name,
        test_rows=0 if test_rows is None else len(test_rows.table),
        target=ensemble.target.name,
        method=ensemble.method,
        measure="rmse" if ensemble.task == "regression" else "error",
        stages=tuple(
            Stage(t + 1, error, None if test_errors is None else test_errors[t], bounds[t])
            for t, error in enumerate(errors)
        ),
        oob=_oob_error(ensemble, rows if is_unweighted else None),
        oob_r2=_oob_r2(ensemble),
        is_training_data=is_training,
        test_is_training_data=test_is_training,
    )


@dataclass(frozen=True)
class Stage:
    """The error of the first ``trees`` trees: the share of wrong rows, or the RMSE."""

    trees: int
    error: float
    test_error: float | None
    bound: float | None  # boosting, on the training table: an upper bound on the error


@dataclass(frozen=True, eq=False, repr=False)
class Stages(Displayable, Sequence[Stage]):
    """The error after each tree: print it, index it (``stages[0]`` is one tree), ``.draw()`` it."""

    table: str  # the name of the table, and its number of rows …
    rows: int
    test: str | None  # … and those of the test table
    test_rows: int
    target: str
    method: str
    measure: str  # "error" or "rmse"
    stages: tuple[Stage, ...]
    oob: float | None = None  # the out-of-bag error of all trees
    oob_r2: float | None = None  # regression: the out-of-bag R²
    is_training_data: bool = False  # whether the table looks like the one the trees were grown on …
    test_is_training_data: bool = False  # … and whether the test table does

    def __len__(self) -> int:
        return len(self.stages)

    @overload
    def __getitem__(self, index: int) -> Stage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Stage, ...]: ...
    def __getitem__(self, index: int | slice) -> Stage | tuple[Stage, ...]:
        return self.stages[index]

    @property
    def best(self) -> Stage:
        """The stage of lowest error, on the test table if there is one; of equals the fewest trees."""
        return min(self.stages, key=lambda stage: stage.error if stage.test_error is None else stage.test_error)

    def draw(self, ax: Axes | None = None, **image: Unpack[ImageOptions]) -> Axes:
        """Draw the errors over the number of trees, on ``ax`` or a figure of its own, which ``path`` saves."""
        from treewise.show.plots.curves import draw_stages

        return draw_stages(self, ax, **image)

    def result_table(self) -> ResultTable:
        """Return every stage."""
        is_share = self.measure == "error"
        unit = "error %" if is_share else "RMSE"
        kind: dict[str, Any] = {"kind": "share", "formatter": format_share} if is_share else {"kind": "number"}
        columns = (
            ColumnSpec("trees", "count"),
            ColumnSpec("error", title=unit, **kind),
            ColumnSpec("test_error", title=f"test {unit}", only=None if self.test is not None else "data", **kind),
            ColumnSpec(
                "bound",
                title="bound %",
                only=None if self.stages[0].bound is not None else "data",
                kind="share",
                formatter=format_bound,
            ),
        )
        lines = [(stage.trees, stage.error, stage.test_error, stage.bound) for stage in self.stages]
        tables = f"{safe(self.table)} ({plural(self.rows, 'row')})"
        if self.test is not None:
            tables += f"; test: {safe(self.test)} ({plural(self.test_rows, 'row')})"
        return ResultTable(
            f"{safe(self.target)}: error after each of {plural(len(self), 'tree')}, on {tables}",
            columns,
            lines,
            below=tuple(self._notes()),
            row_name="stage",
            max_rows=_MAX_STAGES,
            last_rows=_LAST_STAGES,
        )

    def format_error(self, error: float) -> str:
        """Return an error as text."""
        return f"{format_share(error)} %" if self.measure == "error" else format_rounded(error)

    @property
    def oob_text(self) -> str:
        """The out-of-bag error and R² as text; "" if unknown."""
        parts = [self.format_error(self.oob)] if self.oob is not None else []
        parts += [f"R² {format_rounded(self.oob_r2)}"] if self.oob_r2 is not None else []
        return ", ".join(parts)

    def _notes(self) -> Iterator[str]:
        best = self.best
        on_rows, error = ("", best.error) if best.test_error is None else (" on the test rows", best.test_error)
        yield f"Lowest{on_rows} after {plural(best.trees, 'tree')}: {self.format_error(error)}."
        if any(stage.bound is not None and stage.bound >= 1 for stage in self.stages):
            yield NO_BOUND_LEGEND
        if self.oob_text:
            yield f"Out of bag, all trees: {self.oob_text}."
        for name, is_training in ((self.table, self.is_training_data), (self.test, self.test_is_training_data)):
            if is_training:
                yield f"{safe(name)} looks like the training table: expect larger errors on new rows."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "table": self.table,
            "rows": self.rows,
            "test": self.test,
            "test_rows": self.test_rows,
            "is_training_data": self.is_training_data,
            "test_is_training_data": self.test_is_training_data,
            "target": self.target,
            "method": self.method,
            "measure": self.measure,
            "out_of_bag": self.oob,
            "out_of_bag_r2": self.oob_r2,
            "stages": self.result_table().records(),
        }


def _part_of(progress: Progress, i: int, n_parts: int) -> Progress:
    return lambda share: progress((i + share) / n_parts)


def _boosting_bounds(ensemble: Ensemble) -> list[float | None]:
    """Return the bound on the training error after each round of boosting; None where there is none.

    It bounds the error weighted as in the first round, on the training rows: it does not apply to other tables, nor to
    the unweighted error if rows had different weights.
    """
    none: list[float | None] = [None] * len(ensemble)
    if ensemble.method != "adaboost":
        return none
    try:
        return [round_.bound for round_ in ensemble.rounds]
    except ParameterError:
        return none


def _oob_error(ensemble: Ensemble, training_rows: EvaluationData[Ensemble] | None) -> float | None:
    """Return the out-of-bag error; None if no row was out of bag.

    For regression only R² is stored. Given the unweighted training rows, all of which were out of bag, it gives the
    RMSE.
    """
    oob = ensemble.oob
    if oob is None or math.isnan(oob.score):
        return None
    if ensemble.task == "classification":
        return 1.0 - oob.score
    if training_rows is None or oob.rows < oob.of:
        return None
    labels = true_labels(ensemble, training_rows)
    unit = power_of_two_scale(labels)  # the sum of huge numbers overflows
    return math.sqrt(1.0 - oob.score) * unit * root_mean_square(labels / unit - (labels / unit).mean(), None)


def _oob_r2(ensemble: Ensemble) -> float | None:
    oob = ensemble.oob
    return None if oob is None or ensemble.task != "regression" or math.isnan(oob.score) else oob.score


def _errors_by_tree(ensemble: Ensemble, rows: EvaluationData[Ensemble], progress: Progress | None) -> list[float]:
    """Return the error on the rows of a table after each tree."""
    labels, weight, members = true_labels(ensemble, rows), rows.weight, MemberPredictions(ensemble, rows.encoded)
    predictor = ensemble.predictor
    total = np.zeros((len(members), len(ensemble.classes) or 1))
    errors = []
    for n, output in enumerate(members.each(progress=progress), start=1):
        total += output
        if ensemble.task == "regression":
            errors.append(root_mean_square(total[:, 0] / n * predictor.unit - labels, weight))
        else:
            errors.append(float(np.average(predictor.best(total, n) != labels, weights=weight)))
    return errors
