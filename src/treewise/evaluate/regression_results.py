"""Results of ``evaluate`` for numbers: RMSE, MAE and R² with their intervals, and how they are printed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from treewise._lib.result_table import WIDTH, ColumnSpec, ResultTable, Style
from treewise._lib.text import format_count, format_rounded
from treewise.evaluate.metrics import Interval, Metric
from treewise.evaluate.residuals import Residuals
from treewise.evaluate.results import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise._lib.image_style import ImageOptions
    from treewise.show.plots.chart import ChartPicture


@dataclass(frozen=True, eq=False, repr=False)
class RegressionEvaluation(Evaluation):
    """Evaluation of a regression model."""

    rmse: float  # root of the mean squared error
    mae: float  # mean absolute error
    r2: float | None  # share of this table's variance that is explained; None when its targets are all equal
    root: float | None  # what the root predicts; None where the tree has seen no rows
    baseline_rmse: float | None  # of always predicting that
    baseline_mae: float | None
    residuals: Residuals
    rmse_interval: Interval | None = None  # 95 %
    mae_interval: Interval | None = None
    r2_interval: Interval | None = None
    weight: float | None = None  # of all rows, where they have weights
    estimate: str = "maximum_likelihood"  # or by which shrinkage the values were made of the nodes' means
    deviance: Metric | None = None  # mean Poisson deviance, of models grown by criterion="poisson"
    baseline_deviance: float | None = None

    def draw(self, what: str = "predicted", ax: Axes | None = None, **image: Unpack[ImageOptions]) -> ChartPicture:
        """Draw the true values against the predicted ones, or the ``"residuals"``.

        Returns a picture that a notebook shows: ``.save("residuals.svg")`` writes it (``.png`` and ``.pdf`` need
        matplotlib). With ``ax``, draws on these matplotlib axes.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", target="body_mass_g", max_leaf_nodes=6, drop_missing_target=True)
        >>> tree.evaluate("penguins", drop_missing_target=True).draw()
        <Chart penguins, column body_mass_g, 342 rows>
        """
        from treewise.show.plots.evaluation import draw_regression_evaluation

        return draw_regression_evaluation(self, what, ax, **image)

    @property
    def scores(self) -> dict[str, float | None]:
        """The metrics by name."""
        scores = {name: getattr(self, name) for name in ("rmse", "mae", "r2", "baseline_rmse", "baseline_mae")}
        if self.deviance is not None:
            scores |= {"poisson_deviance": self.deviance.value, "baseline_poisson_deviance": self.baseline_deviance}
        return scores

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        weight = {} if self.weight is None else {"weight": self.weight}
        named = [("rmse", self.rmse_interval), ("mae", self.mae_interval), ("r2", self.r2_interval)]
        named += [] if self.deviance is None else [("poisson_deviance", self.deviance.interval)]
        intervals = {f"{name}_interval": bounds and list(bounds) for name, bounds in named}
        return {
            **super().to_dict(),
            **intervals,
            "interval": self.interval_name,
            "root": self.root,
            "estimate": self.estimate,
            **weight,
        }

    def _errors_to_compare(self) -> tuple[float | None, float | None]:
        """Return the root mean squared error and that of the baseline; the deviances, if there are any."""
        if self.deviance is not None:
            return self.deviance.value, self.baseline_deviance
        return self.rmse, self.baseline_rmse

    def _baseline_text(self) -> str:
        return format_rounded(self.root) if self.root is not None else ""

    def result_table(self) -> ResultTable:
        """Return the metrics with those of the baseline."""
        return _regression_table(self)

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return the metrics, one per line."""
        lines = [self._figure("rmse", self.rmse, self.rmse_interval), self._figure("mae", self.mae, self.mae_interval)]
        baselines = [self.baseline_rmse, self.baseline_mae]
        if self.deviance is not None and self.deviance.value is not None:
            lines.insert(0, self._figure("poisson deviance", self.deviance.value, self.deviance.interval))
            baselines.insert(0, self.baseline_deviance)
        if self.root is not None:
            known = [(i, baseline) for i, baseline in enumerate(baselines) if baseline is not None]
            for i, baseline in known:
                lines[i] += f"   against {format_rounded(baseline)}"
            lines[0] += f" for always {format_rounded(self.root)}, as the root predicts" if known else ""
        if self.r2 is None:
            lines.append("r2    not defined: all targets are equal")
        else:
            lines.append(f"{self._figure('r2', self.r2, self.r2_interval)}   share of this table's variance explained")
        rows = f"rows  {self.n:,}" + ("" if self.weight is None else f"   weight {format_count(self.weight)}")
        rows += "" if self.estimate == "maximum_likelihood" else f"   predicted by {self.estimate}"
        return "\n".join([rows, *lines, *(f"note  {note}" for note in self.notes)])

    def metric_cells(self) -> list[list[str]]:
        """Return the metrics as text, under headings, beside those of the baseline."""
        rows = [["", "value", self.interval_name, "baseline"]]
        for title, value, ends, baseline in (
            ("RMSE", self.rmse, self.rmse_interval, self.baseline_rmse),
            ("MAE", self.mae, self.mae_interval, self.baseline_mae),
            ("R²", self.r2, self.r2_interval, None if self.root is None else 0.0),
        ):
            shown = "–" if value is None else f"{value:.4f}" if title == "R²" else format_rounded(value)
            bounds = "" if ends is None or not ends[0] < ends[1] else _format_ends(*ends)
            rows.append([title, shown, bounds, "" if baseline is None else format_rounded(baseline)])
        return rows

    def _figure(self, name: str, value: float, interval: Interval | None) -> str:
        """Format a metric with its interval."""
        text = f"{value:.4f}" if name == "r2" else format_rounded(value)
        bounds = ""
        if interval is not None and interval[0] < interval[1]:
            bounds = f"   {self.interval_name} {_format_ends(*interval)}"
        return f"{name:<4}  {text}{bounds}"


def _format_ends(low: float, high: float) -> str:
    """Format an interval with as many digits as its width needs.

    >>> _format_ends(2.3071, 2.5543), _format_ends(0.91234, 0.93121), _format_ends(10234.5, 12034.1)
    ('2.31 to 2.55', '0.912 to 0.931', '10,200 to 12,000')
    """
    if not 0 < high - low < math.inf:
        return f"{format_rounded(low)} to {format_rounded(high)}"
    decimals = 1 - math.floor(math.log10(high - low))
    low, high = (round(end, decimals) for end in (low, high))
    return f"{low:,.{max(decimals, 0)}f} to {high:,.{max(decimals, 0)}f}"


def _regression_table(evaluation: RegressionEvaluation) -> ResultTable:
    headings = (ColumnSpec("figure"), ColumnSpec("value", "number"), ColumnSpec("baseline", "number"))
    deviance = evaluation.deviance
    rows = [
        *([] if deviance is None else [("poisson_deviance", deviance.value, evaluation.baseline_deviance)]),
        ("rmse", evaluation.rmse, evaluation.baseline_rmse),
        ("mae", evaluation.mae, evaluation.baseline_mae),
        ("r2", evaluation.r2, None if evaluation.root is None else 0.0),
    ]
    always = (
        ()
        if evaluation.root is None
        else (f"baseline: always {format_rounded(evaluation.root)}, as the root predicts",)
    )
    return ResultTable(f"{evaluation.title}: {evaluation.n:,} rows", headings, rows, below=(*always, *evaluation.notes))
