"""The result of ``treewise.curve``: one point per value, the best one, the smallest within one standard error; a chart.

Holds no tree and no rows. ``show/plots/curves.py`` draws it with matplotlib.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import WIDTH, ColumnSpec, Displayable, ResultTable, Style, align_columns
from treewise._lib.text import format_exact, format_rounded, plural, safe
from treewise.prune.choice_bootstrap import choose_size
from treewise.prune.choice_error import FoldLosses
from treewise.prune.losses import LOSSES, Loss
from treewise.train.resampling import LossStats
from treewise.train.training_set import TrainingSet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise._lib.image_style import ImageOptions
    from treewise.show.plots.chart import ChartPicture

Floats = npt.NDArray[np.float64]
_CHART_WIDTH, _CHART_HEIGHT = 64, 13
_MAX_LINES = 12  # of the table below the chart
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


@dataclass(frozen=True, eq=False)
class SizesOnCurve:
    """Losses along a parameter, from the smallest tree to the largest."""

    over: str
    values: tuple[float, ...]
    leaves: Floats
    training: LossStats
    validated: FoldLosses | None  # None where only the true error is known
    true: LossStats


@dataclass(frozen=True, eq=False, repr=False)
class ValidationCurve(Displayable):
    """A validation curve, from the smallest tree to the largest: ``print`` it, or read its ``points``."""

    table: str
    target: str
    over: str
    measure: str  # "error", "cost", "log_loss", "brier", "1 - auc", "rmse", "absolute_error" or "poisson_deviance"
    n: int
    evaluated_on: str
    points: tuple[CurvePoint, ...]
    best: CurvePoint  # minimum validation error (true error if only that is known), the smallest tree on ties
    one_se: CurvePoint  # the smallest tree within one standard error of the best

    loss: str = "error"
    pruning: Mapping[str, Any] | None = None  # over="pruning": the options with which pruning="cv" chooses the same
    random_state: int = 0

    @classmethod
    def of(
        cls,
        training_set: TrainingSet,
        sizes: SizesOnCurve,
        loss: Loss,
        evaluated_on: str,
        pruning: Mapping[str, Any] | None,
        random_state: int,
    ) -> ValidationCurve:
        """Build the curve from the sums of losses."""
        validated, n = sizes.validated, len(sizes.values)
        training = _in_unit(sizes.training.mean, loss)
        true = _in_unit(sizes.true.mean, loss) if sizes.true.weight else [None] * n
        validation = [None] * n if validated is None else _in_unit(validated.mean, loss)
        spread = [None] * n if validated is None else _standard_errors(validated, loss)
        points = tuple(map(CurvePoint, sizes.values, sizes.leaves.tolist(), training, validation, spread, true))
        best, simplest = choose_best(validated, sizes.true)
        name, target = training_set.table_name, training_set.target.name
        measure = {"squared_error": "rmse", "auc": "1 - auc"}.get(loss.name, loss.name)
        head = (name, target, sizes.over, measure, len(training_set), evaluated_on)
        return cls(*head, points, points[best], points[simplest], loss.name, pruning, random_state)

    def __len__(self) -> int:
        return len(self.points)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        head = {name: getattr(self, name) for name in ("table", "target", "over", "measure", "n", "evaluated_on")}
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
            ColumnSpec(self.axis, "number", formatter=_format_value),
            ColumnSpec("leaves", "number", formatter=format_rounded),
        ]
        for name in ("training", "validation", "standard_error", "true"):
            unknown = all(getattr(point, name) is None for point in self.points)
            title = name.replace("_", " ") + unit
            headings.append(ColumnSpec(name, "number", title, self.number, only="data" if unknown else None))
        rows = [tuple(asdict(point).values()) for point in self.points]
        return ResultTable(self.title, tuple(headings), rows, below=tuple(_choice_lines(self)), row_name="point")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        svg, table = self.draw().svg, self.to_html()
        html = f"<div>{svg}<details><summary>as a table</summary>{table}</details></div>"
        return {**super()._repr_mimebundle_(include, exclude), "image/svg+xml": svg, "text/html": html}

    def draw(self, ax: Axes | None = None, **image: Unpack[ImageOptions]) -> ChartPicture:
        """Draw training and validation error, with the best value and the smallest tree within one standard error.

        Returns a picture that a notebook shows: ``.save("curve.svg")`` writes it (``.png`` and ``.pdf`` need
        matplotlib), and ``.axes`` are matplotlib's axes. With ``ax``, draws on these.

        >>> import treewise as tw
        >>> tw.curve("penguins", over="max_leaf_nodes", folds=5).draw().chart.x.label
        'leaves'
        """
        from treewise.show.plots.curves import draw_curve

        return draw_curve(self, ax, **image)

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return a chart, some of the points, and the choice."""
        return self.page(lambda options: f"grow(…, {_call(options)})")

    def page(self, write_call: Callable[[dict[str, Any]], str]) -> str:
        """Return the text, with the calls that grow the chosen trees as ``write_call`` writes them."""
        take = [write_call(self.grow_options(point)) for point in dict.fromkeys((self.one_se, self.best))]
        lines = [self.title, "", *_chart_lines(self), "", *_table_lines(self), "", *_choice_lines(self)]
        if self.over != "rows" and self.best.standard_error is not None:
            lines.append(f"take it   {take[0]}" + "".join(f"; the best: {call}" for call in take[1:]))
        return "\n".join(lines)

    def describe_point(self, point: CurvePoint) -> str:
        """Format a point: its value, leaves and error."""
        value = f"{self.over} = {_format_value(point.value)}"
        value += "" if self.over == "max_leaf_nodes" else f" ({_format_leaves(point.leaves)})"
        value = _format_leaves(point.leaves) if self.over == "pruning" else value
        error = point.true if point.validation is None else point.validation
        assert error is not None
        about = "" if point.standard_error is None else f" ± {self.number(point.standard_error)}"
        return f"{value}: {self.measure} {self.number(error)}{about}{' %' if self.measure == 'error' else ''}"

    def grow_options(self, point: CurvePoint) -> dict[str, Any]:
        """Return the parameters of ``treewise.grow`` that give the tree of a point.

        >>> import treewise as tw
        >>> result = tw.curve("penguins", loss="log_loss")
        >>> result.grow_options(result.best)
        {'pruning': {'method': 'cv', 'loss': 'log_loss', 'rule': 'best'}}
        """
        if self.over != "pruning":
            return {self.over: point.value}
        if self.pruning is None:  # other rows, or other values, than those of pruning="cv" have chosen
            risk = LOSSES[self.loss].risk
            return {"pruning": {"method": "cost_complexity", "ccp_alpha": point.value, "risk": risk}}
        options = {"method": "cv", **self.pruning, **({} if point == self.one_se else {"rule": "best"})}
        seed = {"random_state": self.random_state} if self.random_state else {}
        return {"pruning": "cv" if len(options) == 1 else options, **seed}

    def number(self, error: float) -> str:
        """Format an error: in percent, or a cost or RMSE with the digits that its standard error allows."""
        return f"{100 * error:.1f}" if self.measure == "error" else f"{error:,.{self.decimals}f}"

    @cached_property
    def decimals(self) -> int:
        """Decimals of a cost or RMSE: two significant digits of its standard error, or four of its own."""
        largest = max(point.training for point in self.points) or 1.0
        return max(0, 1 - _exponent(self.best.standard_error) if self.best.standard_error else 3 - _exponent(largest))

    @property
    def axis(self) -> str:
        """The name of the values: the parameter, or for pruning the penalty per leaf."""
        return "penalty" if self.over == "pruning" else self.over

    @property
    def title(self) -> str:
        """The heading."""
        subject = f"{safe(self.table)}, column {safe(self.target)}, {plural(self.n, 'row')}"
        return f"{subject}: {self.measure} along {self.over}, evaluated on {safe(self.evaluated_on)}"


def _in_unit(means: Floats, loss: Loss) -> list[float]:
    """Return mean losses in the unit of the measure: squared errors as their root."""
    return [math.sqrt(mean) if loss.name == "squared_error" else float(mean) for mean in means]


def _standard_errors(validated: FoldLosses, loss: Loss) -> list[float]:
    """Return the standard errors in the unit of the measure; for RMSE by the delta method."""
    pairs = zip(validated.standard_error.tolist(), validated.mean.tolist(), strict=True)
    if loss.name == "squared_error":
        return [error / (2 * math.sqrt(mean)) if mean > 0 else 0.0 for error, mean in pairs]
    return [error for error, _ in pairs]


def choose_best(validated: FoldLosses | None, true: LossStats) -> tuple[int, int]:
    """Return the indices of the least loss and of the smallest tree within one standard error (0 for the truth)."""
    mean = true.mean if validated is None else validated.mean
    spread = np.zeros(len(mean)) if validated is None else validated.standard_error
    last = len(mean) - 1  # the rule counts from the largest tree
    best, one_se = (last - int(choose_size(mean[::-1], spread[::-1], rule)) for rule in ("best", "1se"))
    return best, one_se


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


def _choice_lines(curve: ValidationCurve) -> list[str]:
    """Return the best value and the one-SE value; for over="rows", whether more data helps."""
    if curve.over == "rows":
        return [_more_data_line(curve)]
    lines = [f"best      {curve.describe_point(curve.best)}"]
    if curve.best.standard_error is not None:
        simplest = "the best is the simplest within one standard error"
        lines.append(f"one SE    {curve.describe_point(curve.one_se) if curve.one_se != curve.best else simplest}")
        lines.append("new rows  expect somewhat worse: these are the least of many figures, and too low")
    return [*lines, *_overfitting_line(curve)]


def _overfitting_line(curve: ValidationCurve) -> list[str]:
    """Return the size past which trees overfit, if the largest one errs clearly more than the best, on other rows."""
    best, last = curve.best, curve.points[-1]
    name = "true" if best.validation is None else "validation"
    errors: tuple[float, float] = (getattr(best, name), getattr(last, name))
    if errors[1] <= errors[0] + (best.standard_error or 0.0) or last.training >= best.training:
        return []
    unit = " %" if curve.measure == "error" else ""
    pairs = (("training", best.training, last.training), (name, *errors))
    changes = (f"{series} {curve.number(first)} → {curve.number(final)}{unit}" for series, first, final in pairs)
    return [f"overfits  past {_format_leaves(best.leaves)}: {', '.join(changes)}"]


def _call(options: dict[str, Any]) -> str:
    """Return parameters as Python writes them."""
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in options.items())


def _chart_lines(curve: ValidationCurve) -> list[str]:
    """Draw the series over the size of the trees (logarithmic), in ASCII."""
    size = [point.value if curve.over == "rows" else point.leaves for point in curve.points]
    series = [(mark, [getattr(point, name) for point in curve.points]) for name, mark in _SERIES]
    series = [(mark, errors) for mark, errors in series if errors[0] is not None]
    top = max(max(errors) for _, errors in series)
    low, high = math.log(min(size)), math.log(max(size))
    across = [round((_CHART_WIDTH - 1) * (math.log(s) - low) / (high - low)) if high > low else 0 for s in size]
    page = [[" "] * _CHART_WIDTH for _ in range(_CHART_HEIGHT)]
    for mark, errors in series:
        for x, error in zip(across, errors, strict=True):
            page[round((_CHART_HEIGHT - 1) * (1 - error / top)) if top > 0 else _CHART_HEIGHT - 1][x] = mark
    ticks = {0: top, (_CHART_HEIGHT - 1) // 2: top / 2, _CHART_HEIGHT - 1: 0.0}
    labels = [curve.number(ticks[row]) if row in ticks else "" for row in range(_CHART_HEIGHT)]
    unit = " %" if curve.measure == "error" else ""
    margin = max(map(len, labels))
    lines = [f"{curve.measure}{unit}   {_legend(curve)}"]
    lines += [f"{label:>{margin}} |{''.join(row).rstrip()}" for label, row in zip(labels, page, strict=True)]
    x_label = "rows" if curve.over == "rows" else "leaves"
    return [*lines, f"{'':>{margin}} +{'-' * _CHART_WIDTH}", f"{'':>{margin}}  {_axis_line(size, across)} {x_label}"]


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
    heads = [curve.axis, *(["leaves"] if curve.over != "max_leaf_nodes" else []), *names]
    if curve.best.standard_error is not None:
        heads = [f"{name} ± SE" if name == "validation" else name for name in heads]
    rows = [[*heads, ""]]
    points = _select_points(curve)
    for point in points:
        rows.append([*_point_cells(curve, point, names), _point_marks(curve, point)])
    lines = align_columns(rows, right=range(len(heads))).splitlines()
    left = len(curve) - len(points)
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
    has_validation = curve.best.standard_error is not None
    both = ["best"] * (point == curve.best) + ["one SE"] * (point == curve.one_se and has_validation)
    return f"◄ {', '.join(both)}" if both else ""


def _select_points(curve: ValidationCurve) -> list[CurvePoint]:
    """Return the points to list."""
    n = len(curve)
    selected = {curve.points.index(curve.best), curve.points.index(curve.one_se)} if curve.over != "rows" else set()
    if n <= _MAX_LINES:
        return list(curve.points)
    sizes = [math.log(point.value if curve.over == "rows" else point.leaves) for point in curve.points]
    for step in range(_MAX_LINES):
        at = min(sizes) + (max(sizes) - min(sizes)) * step / (_MAX_LINES - 1)
        selected.add(min(range(n), key=lambda i: abs(sizes[i] - at)))
    return [curve.points[i] for i in sorted(selected)]


def _more_data_line(curve: ValidationCurve) -> str:
    """Return whether the error was still falling at the largest training size."""
    last, earlier = curve.points[-1], curve.points[max(0, len(curve) - 4)]
    errors = [point.true if point.validation is None else point.validation for point in (earlier, last)]
    assert errors[0] is not None
    assert errors[1] is not None
    fell = errors[0] - errors[1]
    much = last.standard_error or 0.0
    change_text = f"from {earlier.value:,.0f} to {last.value:,.0f} rows the {curve.measure} went"
    went = f"{change_text} from {curve.number(errors[0])} to {curve.number(errors[1])}"
    helps = "more data may help further" if fell > much else "within its standard error; more data may not help much"
    return f"{went}: {helps}"
