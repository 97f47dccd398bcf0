"""A curve on a terminal: a chart of letters, a few of its points, and what to choose.

The last step of ``curves``. From left to right trees grow; equal distances are equal ratios of leaves (or of rows). The
letters are ASCII, so that any terminal shows them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from treewise._lib.result_table import align_columns

if TYPE_CHECKING:
    from treewise.evaluate.validation_curve.result import CurvePoint, ValidationCurve

WIDTH, HEIGHT = 64, 13
MOST_LINES = 12  # of the table below the chart
SERIES = (("training", "."), ("true", "+"), ("validation", "o"))  # the later one wins where two meet


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
    across = [round((WIDTH - 1) * (math.log(s) - low) / (high - low)) if high > low else 0 for s in size]
    page = [[" "] * WIDTH for _ in range(HEIGHT)]
    for mark, errors in shown:
        for x, error in zip(across, errors, strict=True):
            page[round((HEIGHT - 1) * (1 - error / top)) if top > 0 else HEIGHT - 1][x] = mark
    ticks = {0: top, (HEIGHT - 1) // 2: top / 2, HEIGHT - 1: 0.0}
    labels = [curve.number(ticks[row]) if row in ticks else "" for row in range(HEIGHT)]
    unit = " %" if curve.measure == "error" else ""
    margin = max(map(len, labels))
    lines = [f"{curve.measure}{unit}   {legend(curve)}"]
    lines += [f"{label:>{margin}} |{''.join(row).rstrip()}" for label, row in zip(labels, page, strict=True)]
    what = "rows" if curve.over == "rows" else "leaves"
    return [*lines, f"{'':>{margin}} +{'-' * WIDTH}", f"{'':>{margin}}  {axis(size, across)} {what}"]


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
        if x >= len(line) + 4 * bool(line) and x + len(text) + 2 <= WIDTH - len(last):
            line = line.ljust(x) + text
    return line.ljust(WIDTH - len(last)) + last if max(size) != min(size) or not line else line.ljust(WIDTH)


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
    from treewise.evaluate.validation_curve.result import said

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
