"""The result of ``treewise.curve``: one point per value, the best one, the smallest within one standard error; a chart.

Holds no tree and no rows. ``show/plots/curves.py`` draws it with matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import WIDTH, ColumnSpec, Displayable, ResultTable, Style, align_columns
from treewise._lib.text import format_exact, format_rounded, plural, safe
from treewise.train.resampling import LossStats
from treewise.train.training_set import TrainingSet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
_EQUAL = 1e-12  # losses nearer than this are equal
_CHART_WIDTH, _CHART_HEIGHT = 64, 13
_MOST_LINES = 12  # of the table below the chart
_SERIES = (("training", "."), ("true", "+"), ("validation", "o"))  # the later one wins where two meet


@dataclass(frozen=True)
class CurvePoint:
    """One value of the parameter. Errors are error rates, mean costs, or root mean squared errors."""

    value: float
    leaves: float
    training: float
    validation: float | None
    standard_error: float | None  # of the validation error
    true: float | None


@dataclass(frozen=True, eq=False, repr=False)
class ValidationCurve(Displayable):
    """A validation curve, from the smallest tree to the largest: ``print`` it, or read its ``points``."""

    table: str
    target: str
    over: str
    measure: str  # "error", "cost" or "rmse"
    n: int
    judged_by: str
    points: tuple[CurvePoint, ...]
    best: CurvePoint  # minimum validation error (true error if only that is known), the smallest tree on ties
    one_se: CurvePoint  # the smallest tree within one standard error of the best

    @classmethod
    def of(
        cls,
        training_set: TrainingSet,
        over: str,
        values: Sequence[float],
        leaves: Floats,
        sums: tuple[LossStats, LossStats, LossStats],
        by: str,
    ) -> ValidationCurve:
        """Build the curve from the sums of losses."""
        measure = "error" if training_set.fit_options.cost is None else "cost"
        measure = "rmse" if training_set.target.task == "regression" else measure
        training, judged, true = (_mean_losses(some, measure) if some.weight else [None] * len(values) for some in sums)
        spread = _standard_errors(sums[1], measure) if sums[1].weight else [None] * len(values)
        points = tuple(map(CurvePoint, values, leaves.tolist(), training, judged, spread, true))
        validation = sums[1] if sums[1].weight else sums[2]
        best, simplest = choose_best(validation, one_se=bool(sums[1].weight))
        name, target = training_set.table_name, training_set.target.name
        return cls(name, target, over, measure, len(training_set), by, points, points[best], points[simplest])

    def __len__(self) -> int:
        return len(self.points)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        head = {name: getattr(self, name) for name in ("table", "target", "over", "measure", "n", "judged_by")}
        return {
            **head,
            "best": asdict(self.best),
            "one_se": asdict(self.one_se),
            "points": [asdict(point) for point in self.points],
        }

    def result_table(self) -> ResultTable:
        """Return the points as a result table, from the smallest tree to the largest."""
        unit = " %" if self.measure == "error" else ""
        headings = [
            ColumnSpec(self.over, "number", formatter=_format_value),
            ColumnSpec("leaves", "number", formatter=format_rounded),
        ]
        for name in ("training", "validation", "standard_error", "true"):
            unknown = all(getattr(point, name) is None for point in self.points)
            shown = name.replace("_", " ") + unit
            headings.append(ColumnSpec(name, "number", shown, self.number, only="data" if unknown else None))
        rows = [tuple(asdict(point).values()) for point in self.points]
        return ResultTable(self.title, tuple(headings), rows, below=tuple(_choice_lines(self)), row_name="point")

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw training and validation error, with the best value and the smallest tree within one standard error.

        Needs matplotlib (``pip install "treewise[plot]"``). Draws on ``ax``, or on a figure of its own, and returns the
        axes: ``.figure.savefig("curve.png")``.

        >>> import treewise as tw
        >>> tw.curve("penguins", over="max_leaf_nodes", folds=5).draw().get_xlabel()
        'leaves'
        """
        from treewise.show.plots.curves import draw_curve

        return draw_curve(self, ax)

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return a chart, some of the points, and the choice."""
        return _render_page(self)

    def in_words(self, point: CurvePoint) -> str:
        """Format a point: its value, leaves and error."""
        value = f"{self.over} = {_format_value(point.value)}"
        value += "" if self.over == "max_leaf_nodes" else f" ({_format_leaves(point.leaves)})"
        error = point.true if point.validation is None else point.validation
        assert error is not None
        about = "" if point.standard_error is None else f" ± {self.number(point.standard_error)}"
        return f"{value}: {self.measure} {self.number(error)}{about}{' %' if self.measure == 'error' else ''}"

    def number(self, error: float) -> str:
        """Format an error: in percent, or a cost or RMSE with the digits that its standard error allows."""
        return f"{100 * error:.1f}" if self.measure == "error" else f"{error:,.{self.decimals}f}"

    @cached_property
    def decimals(self) -> int:
        """Decimals of a cost or RMSE: two significant digits of its standard error, or four of its own."""
        largest = max(point.training for point in self.points) or 1.0
        return max(0, 1 - _exponent(self.best.standard_error) if self.best.standard_error else 3 - _exponent(largest))

    @property
    def title(self) -> str:
        """The heading."""
        what = f"{safe(self.table)}, column {safe(self.target)}, {plural(self.n, 'row')}"
        return f"{what}: {self.measure} along {self.over}, judged by {safe(self.judged_by)}"


def _mean_losses(sums: LossStats, measure: str) -> list[float]:
    """Return the mean losses in the unit of the measure."""
    return [math.sqrt(loss) if measure == "rmse" else float(loss) for loss in sums.mean]


def _standard_errors(sums: LossStats, measure: str) -> list[float]:
    """Return the standard errors in the unit of the measure; for RMSE by the delta method."""
    pairs = zip(sums.standard_error.tolist(), sums.mean.tolist(), strict=True)
    if measure == "rmse":
        return [error / (2 * math.sqrt(mean)) if mean > 0 else 0.0 for error, mean in pairs]
    return [error for error, _ in pairs]


def choose_best(validation: LossStats, one_se: bool) -> tuple[int, int]:
    """Return the indices of the minimum loss and of the first loss within one standard error (or 0) of it."""
    mean = validation.mean
    least = float(mean.min())
    best = int(np.argmax(mean <= least + _EQUAL * max(1.0, least)))
    limit = mean[best] + (validation.standard_error[best] if one_se else 0.0)
    return best, int(np.argmax(mean <= limit + _EQUAL * max(1.0, least)))


def _exponent(number: float) -> int:
    """Return the decimal exponent of a number.

    >>> _exponent(0.033), _exponent(1092.2)
    (-2, 3)
    """
    return math.floor(math.log10(number))


def _format_value(value: float) -> str:
    """Format a value of the parameter."""
    return f"{int(value):,}" if isinstance(value, int) else format_exact(value)


def _format_leaves(leaves: float) -> str:
    """Format a number of leaves, which may be an average over folds."""
    return plural(int(leaves), "leaf", "leaves") if float(leaves).is_integer() else f"{leaves:.1f} leaves"


def _render_page(curve: ValidationCurve) -> str:
    """Return title, chart, points and choice."""
    return "\n".join([curve.title, "", *_chart_lines(curve), "", *_table_lines(curve), "", *_choice_lines(curve)])


def _choice_lines(curve: ValidationCurve) -> list[str]:
    """Return the best value and the one-SE value; for over="rows", whether more data helps."""
    if curve.over == "rows":
        return [_more_data_line(curve)]
    lines = [f"best      {curve.in_words(curve.best)}"]
    if curve.best.standard_error is not None:
        simplest = "the best is the simplest within one standard error"
        lines.append(f"one SE    {curve.in_words(curve.one_se) if curve.one_se != curve.best else simplest}")
    return lines


def _chart_lines(curve: ValidationCurve) -> list[str]:
    """Draw the series over the size of the trees (logarithmic), in ASCII."""
    size = [point.value if curve.over == "rows" else point.leaves for point in curve.points]
    shown = [(mark, [getattr(point, name) for point in curve.points]) for name, mark in _SERIES]
    shown = [(mark, errors) for mark, errors in shown if errors[0] is not None]
    top = max(max(errors) for _, errors in shown)
    low, high = math.log(min(size)), math.log(max(size))
    across = [round((_CHART_WIDTH - 1) * (math.log(s) - low) / (high - low)) if high > low else 0 for s in size]
    page = [[" "] * _CHART_WIDTH for _ in range(_CHART_HEIGHT)]
    for mark, errors in shown:
        for x, error in zip(across, errors, strict=True):
            page[round((_CHART_HEIGHT - 1) * (1 - error / top)) if top > 0 else _CHART_HEIGHT - 1][x] = mark
    ticks = {0: top, (_CHART_HEIGHT - 1) // 2: top / 2, _CHART_HEIGHT - 1: 0.0}
    labels = [curve.number(ticks[row]) if row in ticks else "" for row in range(_CHART_HEIGHT)]
    unit = " %" if curve.measure == "error" else ""
    margin = max(map(len, labels))
    lines = [f"{curve.measure}{unit}   {_legend(curve)}"]
    lines += [f"{label:>{margin}} |{''.join(row).rstrip()}" for label, row in zip(labels, page, strict=True)]
    what = "rows" if curve.over == "rows" else "leaves"
    return [*lines, f"{'':>{margin}} +{'-' * _CHART_WIDTH}", f"{'':>{margin}}  {_axis_line(size, across)} {what}"]


def _legend(curve: ValidationCurve) -> str:
    """Return the legend of the symbols."""
    point = curve.points[0]
    return "   ".join(f"{mark} {name}" for name, mark in _SERIES if getattr(point, name) is not None)


def _axis_line(size: Sequence[float], across: Sequence[int]) -> str:
    """Return the axis labels, as many as fit; always the last one."""
    last = f"{max(size):,.0f}"
    line = ""
    for x, s in sorted(zip(across, size, strict=True)):
        text = f"{s:,.0f}"
        if x >= len(line) + 4 * bool(line) and x + len(text) + 2 <= _CHART_WIDTH - len(last):
            line = line.ljust(x) + text
    return (
        line.ljust(_CHART_WIDTH - len(last)) + last if max(size) != min(size) or not line else line.ljust(_CHART_WIDTH)
    )


def _table_lines(curve: ValidationCurve) -> list[str]:
    """Return a table of a few points at equal steps of the chart, including the best and the one-SE point."""
    names = [name for name in ("training", "validation", "true") if getattr(curve.points[0], name) is not None]
    heads = [curve.over, *(["leaves"] if curve.over != "max_leaf_nodes" else []), *names]
    rows = [[*heads, ""]]
    listed = _select_points(curve)
    for point in listed:
        rows.append([*_point_cells(curve, point, names), _point_marks(curve, point)])
    lines = align_columns(rows, right=range(len(heads))).splitlines()
    left = len(curve) - len(listed)
    return [*lines, *([f"… {left:,} more: to_csv(), or -o curve.csv, writes all"] if left else [])]


def _point_cells(curve: ValidationCurve, point: CurvePoint, names: Sequence[str]) -> list[str]:
    """Return a point as a row of the table."""
    row = [_format_value(point.value)]
    if curve.over != "max_leaf_nodes":
        row.append(f"{point.leaves:,.0f}" if float(point.leaves).is_integer() else f"{point.leaves:,.1f}")
    for name in names:
        about = f" ± {curve.number(point.standard_error)}" if name == "validation" and point.standard_error else ""
        row.append(curve.number(getattr(point, name)) + about)
    return row


def _point_marks(curve: ValidationCurve, point: CurvePoint) -> str:
    """Return the marks of the best and the one-SE point."""
    if curve.over == "rows":
        return ""
    judged = curve.best.standard_error is not None
    both = ["best"] * (point == curve.best) + ["one SE"] * (point == curve.one_se and judged)
    return f"◄ {', '.join(both)}" if both else ""


def _select_points(curve: ValidationCurve) -> list[CurvePoint]:
    """Return the points to list."""
    n = len(curve)
    wanted = {curve.points.index(curve.best), curve.points.index(curve.one_se)} if curve.over != "rows" else set()
    if n <= _MOST_LINES:
        return list(curve.points)
    sizes = [math.log(point.value if curve.over == "rows" else point.leaves) for point in curve.points]
    for step in range(_MOST_LINES):
        at = min(sizes) + (max(sizes) - min(sizes)) * step / (_MOST_LINES - 1)
        wanted.add(min(range(n), key=lambda i: abs(sizes[i] - at)))
    return [curve.points[i] for i in sorted(wanted)]


def _more_data_line(curve: ValidationCurve) -> str:
    """Return whether the error was still falling at the largest training size."""
    last, earlier = curve.points[-1], curve.points[max(0, len(curve) - 4)]
    errors = [point.true if point.validation is None else point.validation for point in (earlier, last)]
    assert errors[0] is not None
    assert errors[1] is not None
    fell = errors[0] - errors[1]
    much = last.standard_error or 0.0
    what = f"from {earlier.value:,.0f} to {last.value:,.0f} rows the {curve.measure} went"
    went = f"{what} from {curve.number(errors[0])} to {curve.number(errors[1])}"
    helps = "more data may help further" if fell > much else "within its standard error; more data may not help much"
    return f"{went}: {helps}"
