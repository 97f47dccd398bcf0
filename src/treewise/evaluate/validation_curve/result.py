"""The curve that was found: one point a value, the best of them, and the simplest within one standard error.

Below ``curves``; it holds no tree and no rows. ``chart.py`` draws it.
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
from treewise.train.loss_stats import LossStats
from treewise.train.training_set import TrainingSet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
EQUAL = 1e-12  # losses nearer than this are equal
_CHART_WIDTH, _CHART_HEIGHT = 64, 13
MOST_LINES = 12  # of the table below the chart
SERIES = (("training", "."), ("true", "+"), ("validation", "o"))  # the later one wins where two meet


@dataclass(frozen=True)
class CurvePoint:
    """One value of the parameter. Errors are shares of wrong rows, costs a row, or root mean squared errors."""

    value: float
    leaves: float
    training: float
    validation: float | None
    standard_error: float | None  # of the validation error
    true: float | None


@dataclass(frozen=True, eq=False, repr=False)
class ValidationCurve(Displayable):
    """What ``treewise.curve`` found, from the simplest tree to the largest. ``print`` it, or take its ``points``."""

    table: str
    target: str
    over: str
    measure: str  # "error", "cost" or "rmse"
    n: int
    judged_by: str
    points: tuple[CurvePoint, ...]
    best: CurvePoint  # least validation error (true error where only that is known), of equals the simplest
    one_se: CurvePoint  # the simplest whose error is within one standard error of the best

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
        """Put the sums of losses together."""
        measure = "error" if training_set.asked.get("cost") is None else "cost"
        measure = "rmse" if training_set.target.task == "regression" else measure
        training, judged, true = (figures(some, measure) if some.weight else [None] * len(values) for some in sums)
        spread = errors_of(sums[1], measure) if sums[1].weight else [None] * len(values)
        points = tuple(map(CurvePoint, values, leaves.tolist(), training, judged, spread, true))
        judges = sums[1] if sums[1].weight else sums[2]
        best, simplest = chosen(judges, allowance=bool(sums[1].weight))
        name, target = training_set.table_name, training_set.target.name
        return cls(name, target, over, measure, len(training_set), by, points, points[best], points[simplest])

    def __len__(self) -> int:
        return len(self.points)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        head = {name: getattr(self, name) for name in ("table", "target", "over", "measure", "n", "judged_by")}
        return {
            **head,
            "best": asdict(self.best),
            "one_se": asdict(self.one_se),
            "points": [asdict(point) for point in self.points],
        }

    def result_table(self) -> ResultTable:
        """Return the points, from the simplest tree to the largest."""
        unit = " %" if self.measure == "error" else ""
        headings = [
            ColumnSpec(self.over, "number", formatter=said),
            ColumnSpec("leaves", "number", formatter=format_rounded),
        ]
        for name in ("training", "validation", "standard_error", "true"):
            unknown = all(getattr(point, name) is None for point in self.points)
            shown = name.replace("_", " ") + unit
            headings.append(ColumnSpec(name, "number", shown, self.number, only="data" if unknown else None))
        rows = [tuple(asdict(point).values()) for point in self.points]
        return ResultTable(self.title, tuple(headings), rows, below=tuple(chosen_lines(self)), row_name="point")

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw training against validation error, with the best value and the simplest within a standard error.

        Needs matplotlib (``pip install "treewise[plot]"``). Draws on ``ax``, or on a figure of its own, and returns the
        axes: ``.figure.savefig("curve.png")``.

        >>> import treewise as tw
        >>> tw.curve("penguins", over="max_leaf_nodes", folds=5).draw().get_xlabel()
        'leaves'
        """
        from treewise.show.plots.curves import draw_curve

        return draw_curve(self, ax)

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return a chart, some of the points, and what they say."""
        return drawn(self)

    def in_words(self, point: CurvePoint) -> str:
        """Say a point: its value, how many leaves, and its error."""
        value = f"{self.over} = {said(point.value)}"
        value += "" if self.over == "max_leaf_nodes" else f" ({leaves_in_words(point.leaves)})"
        error = point.true if point.validation is None else point.validation
        assert error is not None
        about = "" if point.standard_error is None else f" ± {self.number(point.standard_error)}"
        return f"{value}: {self.measure} {self.number(error)}{about}{' %' if self.measure == 'error' else ''}"

    def number(self, error: float) -> str:
        """Write an error: a share in percent, a cost or a deviation with the digits that its standard error allows."""
        return f"{100 * error:.1f}" if self.measure == "error" else f"{error:,.{self.decimals}f}"

    @cached_property
    def decimals(self) -> int:
        """How many decimals a cost or a deviation has: two digits of its standard error, or four of itself."""
        largest = max(point.training for point in self.points) or 1.0
        return max(0, 1 - exponent(self.best.standard_error) if self.best.standard_error else 3 - exponent(largest))

    @property
    def title(self) -> str:
        """What was done, in a line."""
        what = f"{safe(self.table)}, column {safe(self.target)}, {plural(self.n, 'row')}"
        return f"{what}: {self.measure} along {self.over}, judged by {safe(self.judged_by)}"


def figures(sums: LossStats, measure: str) -> list[float]:
    """Return mean losses as they are shown."""
    return [math.sqrt(loss) if measure == "rmse" else float(loss) for loss in sums.mean]


def errors_of(sums: LossStats, measure: str) -> list[float]:
    """Return the standard errors of what is shown; that of a root by its slope."""
    pairs = zip(sums.standard_error.tolist(), sums.mean.tolist(), strict=True)
    if measure == "rmse":
        return [error / (2 * math.sqrt(mean)) if mean > 0 else 0.0 for error, mean in pairs]
    return [error for error, _ in pairs]


def chosen(judges: LossStats, allowance: bool) -> tuple[int, int]:
    """Return the place of the least loss, and that of the first within one standard error of it."""
    mean = judges.mean
    least = float(mean.min())
    best = int(np.argmax(mean <= least + EQUAL * max(1.0, least)))
    limit = mean[best] + (judges.standard_error[best] if allowance else 0.0)
    return best, int(np.argmax(mean <= limit + EQUAL * max(1.0, least)))


def exponent(number: float) -> int:
    """Return the place of a number's first digit.

    >>> exponent(0.033), exponent(1092.2)
    (-2, 3)
    """
    return math.floor(math.log10(number))


def said(value: float) -> str:
    """Write a value of a parameter: whole numbers whole, alphas in short."""
    return f"{int(value):,}" if isinstance(value, int) else format_exact(value)


def leaves_in_words(leaves: float) -> str:
    """Say how many leaves; an average over folds has a decimal."""
    return plural(int(leaves), "leaf", "leaves") if float(leaves).is_integer() else f"{leaves:.1f} leaves"


def drawn(curve: ValidationCurve) -> str:
    """Return the whole page: title, chart, points, choice."""
    return "\n".join([curve.title, "", *chart(curve), "", *table(curve), "", *chosen_lines(curve)])


def chosen_lines(curve: ValidationCurve) -> list[str]:
    """Say which value is best, and which is the simplest about as good; along rows, whether more data help."""
    if curve.over == "rows":
        return [more_data(curve)]
    lines = [f"best      {curve.in_words(curve.best)}"]
    if curve.best.standard_error is not None:
        simplest = "the best is the simplest within one standard error"
        lines.append(f"one SE    {curve.in_words(curve.one_se) if curve.one_se != curve.best else simplest}")
    return lines


def chart(curve: ValidationCurve) -> list[str]:
    """Draw the series over the size of the trees."""
    size = [point.value if curve.over == "rows" else point.leaves for point in curve.points]
    shown = [(mark, [getattr(point, name) for point in curve.points]) for name, mark in SERIES]
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
    lines = [f"{curve.measure}{unit}   {legend(curve)}"]
    lines += [f"{label:>{margin}} |{''.join(row).rstrip()}" for label, row in zip(labels, page, strict=True)]
    what = "rows" if curve.over == "rows" else "leaves"
    return [*lines, f"{'':>{margin}} +{'-' * _CHART_WIDTH}", f"{'':>{margin}}  {axis(size, across)} {what}"]


def legend(curve: ValidationCurve) -> str:
    """Say which letter is what."""
    point = curve.points[0]
    return "   ".join(f"{mark} {name}" for name, mark in SERIES if getattr(point, name) is not None)


def axis(size: Sequence[float], across: Sequence[int]) -> str:
    """Write sizes below the axis, as many as there is room for; the last one always."""
    last = f"{max(size):,.0f}"
    line = ""
    for x, s in sorted(zip(across, size, strict=True)):
        text = f"{s:,.0f}"
        if x >= len(line) + 4 * bool(line) and x + len(text) + 2 <= _CHART_WIDTH - len(last):
            line = line.ljust(x) + text
    return (
        line.ljust(_CHART_WIDTH - len(last)) + last if max(size) != min(size) or not line else line.ljust(_CHART_WIDTH)
    )


def table(curve: ValidationCurve) -> list[str]:
    """List a few points, in equal steps of the chart, with the best and the simplest among them."""
    names = [name for name in ("training", "validation", "true") if getattr(curve.points[0], name) is not None]
    heads = [curve.over, *(["leaves"] if curve.over != "max_leaf_nodes" else []), *names]
    rows = [[*heads, ""]]
    listed = some_points(curve)
    for point in listed:
        rows.append([*cells(curve, point, names), marks(curve, point)])
    lines = align_columns(rows, right=range(len(heads))).splitlines()
    left = len(curve) - len(listed)
    return [*lines, *([f"… {left:,} more: to_csv(), or -o curve.csv, writes all"] if left else [])]


def cells(curve: ValidationCurve, point: CurvePoint, names: Sequence[str]) -> list[str]:
    """Write a point as a row of the table."""
    row = [said(point.value)]
    if curve.over != "max_leaf_nodes":
        row.append(f"{point.leaves:,.0f}" if float(point.leaves).is_integer() else f"{point.leaves:,.1f}")
    for name in names:
        about = f" ± {curve.number(point.standard_error)}" if name == "validation" and point.standard_error else ""
        row.append(curve.number(getattr(point, name)) + about)
    return row


def marks(curve: ValidationCurve, point: CurvePoint) -> str:
    """Mark the best point and the simplest within one standard error."""
    if curve.over == "rows":
        return ""
    judged = curve.best.standard_error is not None
    both = ["best"] * (point == curve.best) + ["one SE"] * (point == curve.one_se and judged)
    return f"◄ {', '.join(both)}" if both else ""


def some_points(curve: ValidationCurve) -> list[CurvePoint]:
    """Choose the points to list."""
    n = len(curve)
    wanted = {curve.points.index(curve.best), curve.points.index(curve.one_se)} if curve.over != "rows" else set()
    if n <= MOST_LINES:
        return list(curve.points)
    sizes = [math.log(point.value if curve.over == "rows" else point.leaves) for point in curve.points]
    for step in range(MOST_LINES):
        at = min(sizes) + (max(sizes) - min(sizes)) * step / (MOST_LINES - 1)
        wanted.add(min(range(n), key=lambda i: abs(sizes[i] - at)))
    return [curve.points[i] for i in sorted(wanted)]


def more_data(curve: ValidationCurve) -> str:
    """Say whether the error was still falling when the rows ran out."""
    last, middle = curve.points[-1], curve.points[max(0, len(curve) - 4)]
    errors = [point.true if point.validation is None else point.validation for point in (middle, last)]
    assert errors[0] is not None
    assert errors[1] is not None
    fell = errors[0] - errors[1]
    much = last.standard_error or 0.0
    what = f"from {middle.value:,.0f} to {last.value:,.0f} rows the {curve.measure} went"
    went = f"{what} from {curve.number(errors[0])} to {curve.number(errors[1])}"
    helps = "more data may help further" if fell > much else "within its standard error; more data may not help much"
    return f"{went}: {helps}"
