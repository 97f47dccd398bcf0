"""The chart of importances: a bar for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewise._lib.checks import check_integer
from treewise._lib.text import plural
from treewise.errors import DataError
from treewise.show import palette
from treewise.show.mpl_helpers import takes_image_options
from treewise.show.plots.chart import Bar, Chart, ChartAxis, ChartPicture, Curve, Mark, show_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise.evaluate.importances import Importances


@takes_image_options
def draw_importances(importances: Importances, max_columns: int = 20, ax: Axes | None = None) -> ChartPicture:
    """Draw a bar for each column that is used in a split, the most important first."""
    check_integer("max_columns", max_columns, 1)
    used = [column for column in importances.columns if column.splits]
    if not used:
        subject = "the trees use" if importances.trees else "the tree uses"
        raise DataError(f"{subject} no column, so there are no importances to draw.")
    drawn = used[:max_columns]
    is_permutation = importances.method == "permutation"
    percent = 100 if not is_permutation or importances.measure == "error" else 1
    colour = palette.tint(palette.class_colour(0), 0.75)
    bars: list[Mark] = [
        Bar(0.0, i - 0.34, percent * column.importance, i + 0.34, colour) for i, column in enumerate(drawn)
    ]
    intervals: list[Mark] = [
        Curve((percent * column.low, percent * column.high), (float(i), float(i)), palette.INK, 1.5)
        for i, column in enumerate(drawn)
        if column.low is not None and column.high is not None
    ]
    ends = [percent * end for c in drawn for end in (c.importance, c.low, c.high) if end is not None]
    subject = f"importance of columns for {importances.target}: {importances.method}"
    label, lines = _describe(importances)
    if len(used) > len(drawn):
        lines.append(f"the first {len(drawn)} of {len(used)} columns used in splits")
    return show_chart(
        Chart(
            (subject, *lines),
            ChartAxis.linear(label, min(0.0, *ends), max(0.0, *ends) * 1.03),
            ChartAxis("", len(drawn) - 0.4, -0.6, tuple((float(i), c.column) for i, c in enumerate(drawn))),
            (*bars, *intervals),
            (),
            380.0,
            26.0 * len(drawn) + 6,
            "x",
        ),
        ax,
    )


def _describe(importances: Importances) -> tuple[str, list[str]]:
    """Return the label of the axis, and what the bars are."""
    if importances.method != "permutation":
        return "share of the impurity decrease, %", [
            "from the training rows alone; favours columns with many distinct values"
        ]
    unit = ", percentage points" if importances.measure == "error" else ""
    label = f"increase of the {importances.measure.replace('_', ' ')} when permuted{unit}"
    repeats = f"{plural(importances.repeats, 'permutation')}, {100 * importances.confidence:g} % intervals"
    lines = [f"{importances.table}, {plural(importances.n, 'row')}; {repeats}"]
    if importances.seen:
        grown = "trees were grown" if importances.trees else "tree was grown"
        lines.append(f"the rows the {grown} on: columns that fit noise look useful")
    return label, lines
