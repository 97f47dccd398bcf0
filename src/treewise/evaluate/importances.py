"""Column importances: by impurity decrease, or by permutation.

Two measures with different meanings; ``Importances.method`` and everything printed name the one used.

    impurity decrease   the decrease of the training rows' impurity by the splits on a column. Computed from the tree
                        alone. Biased towards columns with many distinct values, which offer more thresholds, and
                        columns that fit noise look useful, since no other rows are involved.
    permutation         how much worse the tree predicts when the values of a column are shuffled (Breiman 2001). On
                        rows the tree has not seen, this is the column's contribution to this tree; correlated columns
                        can replace each other in growth.

This module holds the results and the first measure; ``permutation.py`` computes the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_exact, format_percent, format_rounded, plural, safe
from treewise.errors import Call, DataError, ParameterError, join_few
from treewise.train.criteria import get_criterion
from treewise.train.resampling import power_of_two_scale
from treewise.tree.display import Display
from treewise.tree.model import Model
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise._lib.image_style import ImageOptions
    from treewise.show.plots.chart import ChartPicture

Floats = npt.NDArray[np.float64]

_MEASURE_NAMES = {"error": "error", "cost": "cost per row", "log_loss": "log loss (nats)", "rmse": "RMSE", "mae": "MAE"}


@dataclass(frozen=True)
class ColumnImportance:
    """The importance of one column; ``None`` for what only the other method computes."""

    column: str
    splits: int  # the number of nodes that test it
    importance: float  # its share of the total decrease; or the rise of the measure when it is shuffled
    decrease: float | None = None  # of impurity, per row of the table, in the criterion's unit
    low: float | None = None  # the confidence interval of the rise
    high: float | None = None
    repeats: tuple[float, ...] = ()  # the rise of each shuffle; for an ensemble the share in each tree

    @property
    def spread(self) -> float | None:
        """The standard deviation over shuffles (or trees); None for a single one."""
        if len(self.repeats) < 2:
            return None
        unit = power_of_two_scale(rises := np.array(self.repeats))
        return float(np.std(rises / unit, ddof=1)) * unit


@dataclass(frozen=True, eq=False, repr=False)
class Importances(Displayable):
    """The columns of a model, most important first. Print it, iterate over ``columns``, or use ``.to_frame()``.

    >>> import treewise as tw
    >>> result = tw.grow("penguins", max_leaf_nodes=4).importances()
    >>> result.method, result["flipper_length_mm"].splits, result["sex"].importance
    ('impurity decrease', 1, 0.0)
    """

    method: str  # "impurity decrease" or "permutation"
    target: str
    columns: tuple[ColumnImportance, ...]
    unit: str = ""  # impurity: of the decrease
    table: str = ""  # permutation: the table …
    n: int = 0  # … its number of rows …
    measure: str = ""  # … the measure …
    baseline: float = math.nan  # … and its value without shuffling
    repeats: int = 0
    confidence: float = 0.95
    seen: bool = False  # whether the rows look like the training rows
    trees: int = 0  # the number of trees of an ensemble; 0 for a single tree
    display: Display | None = None  # the words of the model

    @property
    def displayed(self) -> Importances:
        """The importances with the display names of the columns."""
        if self.display is None:
            return self
        columns = tuple(replace(importance, column=self.display.name(importance.column)) for importance in self.columns)
        return replace(self, columns=columns, target=self.display.target_name(self.target), display=None)

    def __getitem__(self, column: str) -> ColumnImportance:
        """Return the importance of one column."""
        for importance in self.columns:
            if importance.column == column:
                return importance
        raise KeyError(column)

    def draw(self, max_columns: int = 20, ax: Axes | None = None, **image: Unpack[ImageOptions]) -> ChartPicture:
        """Draw the columns that are tested as bars, at most ``max_columns``, with their intervals if there are any.

        Returns a picture that a notebook shows: ``.save("importances.svg")`` writes it (``.png`` and ``.pdf`` need
        matplotlib), and ``.axes`` are matplotlib's axes. With ``ax``, draws on these. ``path``, ``size``, ``font_size``
        and ``dpi`` are those of all pictures (docs/pictures.md).

        >>> import treewise as tw
        >>> tw.grow("penguins", max_leaf_nodes=4).importances().draw()
        <Chart importance of columns for species: impurity decrease>
        """
        from treewise.show.plots.importances import draw_importances

        return draw_importances(self, max_columns, ax, **image)

    def result_table(self) -> ResultTable:
        """Return every column, as data."""
        return _impurity_table(self) if self.method == "impurity decrease" else _permutation_table(self)

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the printed table: the columns that are tested, and the names of the others."""
        table = self.result_table()
        tested = [row for row, column in zip(table.rows, self.columns, strict=True) if column.splits]
        unused = [safe(column.column) for column in self.columns if not column.splits]
        untested = (f"Not tested by any split, so exactly 0: {join_few(unused, limit=12)}.",) if unused else ()
        return (replace(table, rows=tested, below=(*untested, *table.below)),)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, every column included."""
        about: dict[str, Any] = {"method": self.method, "target": self.target}
        if self.method == "impurity decrease":
            about |= {"unit": self.unit}
        else:
            about |= {"table": self.table, "rows": self.n, "measure": self.measure, "baseline": self.baseline}
            about |= {"repeats": self.repeats, "confidence": self.confidence, "training_rows": self.seen}
        return {**about, "columns": self.result_table().records()}


def importances(model: Model, data: Any = None, **options: Any) -> Importances:
    """Return the importance of each column; without data by impurity decrease (``Model.importances``)."""
    options_given = {name: value for name, value in options.items() if value is not None}
    if data is not None:
        from treewise.evaluate.permutation import permutation_importances

        return replace(permutation_importances(model, data, **options_given), display=model.display)
    for name in options_given:
        raise ParameterError(f"{name} is for importances on data: give a table too, or leave it out.")
    return replace(_impurity_importances(model), display=model.display)


# -- impurity decrease ------------------------------------------------------------------------------------------------


def _impurity_importances(model: Model) -> Importances:
    """Return the impurity decrease of every column: its share in each tree, averaged by vote weight.

    A tree without splits has no shares and does not count.
    """
    single = isinstance(model, Tree)
    if isinstance(model, Tree) and not model.arrays.rows[0] > 0:
        raise DataError("a handwritten tree has no statistics: " + Call("tree.refit(data)") + " first, or give data.")
    shares, mean = importance_shares(model)
    splits, decreases = model.split_counts.tolist(), model.impurity_decreases
    columns = [
        ColumnImportance(name, splits[i], float(mean[i]), float(decreases[0, i]))
        if single
        else ColumnImportance(name, splits[i], float(mean[i]), repeats=tuple(shares[:, i].tolist()))
        for i, name in enumerate(model.columns)
    ]
    unit, trees = get_criterion(model.criterion).unit, 0 if single else len(decreases)
    return Importances("impurity decrease", model.target.name, rank_columns(columns), unit=unit, trees=trees)


def importance_shares(model: Model) -> tuple[Floats, Floats]:
    """Return the share of each column in the impurity decrease of each tree, and the mean by vote weight.

    >>> import treewise as tw
    >>> importance_shares(tw.grow("four_points", "y"))[1].round(3).tolist()
    [0.384, 0.616]
    """
    total = model.impurity_decreases.sum(axis=1)
    has_splits = total > 0
    shares = model.impurity_decreases[has_splits] / total[has_splits, None]
    weight = model.votes[has_splits]
    return shares, (weight[:, None] * shares).sum(axis=0) / (weight.sum() or 1.0)


def rank_columns(columns: Sequence[ColumnImportance]) -> tuple[ColumnImportance, ...]:
    """Sort by importance, largest first; in a tie tested columns first, then in the order of the table."""
    return tuple(sorted(columns, key=lambda column: (-column.importance, column.splits == 0)))


# -- shown ------------------------------------------------------------------------------------------------------------


def _impurity_table(importances: Importances) -> ResultTable:
    unit = f" ({importances.unit} per row)" if importances.unit else " per row"
    last = ColumnSpec("decrease", "number", title=f"impurity decrease{unit}")
    if importances.trees:
        last = ColumnSpec("spread", "share", title="± over trees")
    headings = (
        ColumnSpec("column"),
        ColumnSpec("splits", "count"),
        ColumnSpec("importance", "share", title="share %"),
        last,
    )
    rows = [
        (c.column, c.splits, c.importance, c.spread if importances.trees else c.decrease) for c in importances.columns
    ]
    mean = f", the mean of {plural(importances.trees, 'tree')}" if importances.trees else ""
    unseen = "rows that these trees have not seen" if importances.trees else "rows that the tree has not seen"
    return ResultTable(
        f"Impurity decrease by column, for {safe(importances.target)}{mean}",
        headings,
        rows,
        below=(
            "The decrease of the training rows' impurity by the splits on each column. It is biased towards columns"
            f" with many distinct values, and columns that fit noise look useful: for the importance on {unseen},"
            " give such rows (importances(data), treewise importance MODEL DATA).",
        ),
        row_name="column",
    )


def _permutation_table(importances: Importances) -> ResultTable:
    measure = _MEASURE_NAMES[importances.measure]
    in_percent = importances.measure == "error"

    def write(value: float) -> str:
        return (
            f"{100 * value + 0.0:.2f}".replace("-0.00", "0.00") if in_percent else format_exact(float(f"{value:.4g}"))
        )

    between = f"{100 * importances.confidence:g} % interval"
    headings = (
        ColumnSpec("column"),
        ColumnSpec("splits", "count"),
        ColumnSpec(
            "importance", "number", title=f"rise of {measure}{' (points)' if in_percent else ''}", formatter=write
        ),
        ColumnSpec("interval", "number", title=between, formatter=str, only="text"),
        ColumnSpec("low", "number", only="data"),
        ColumnSpec("high", "number", only="data"),
        ColumnSpec("spread", "number", only="data"),
        ColumnSpec("repeats", only="data"),
    )
    rows = [
        (
            c.column,
            c.splits,
            c.importance,
            f"{write(c.low)} to {write(c.high)}" if c.low is not None and c.high is not None and c.splits else None,
            c.low,
            c.high,
            c.spread,
            c.repeats,
        )
        for c in importances.columns
    ]
    start = f"{format_percent(importances.baseline)} %" if in_percent else format_rounded(importances.baseline)
    times = "once" if importances.repeats == 1 else f"{importances.repeats:,} times"
    warning = (
        "These look like the training rows, which a model fits too well, so columns that fit noise look useful here."
        " Give rows that it has not seen.",
    )
    model = "these trees" if importances.trees else "this tree"
    return ResultTable(
        f"Permutation importance for {safe(importances.target)} on {safe(importances.table)}:"
        f" {plural(importances.n, 'row')}, {measure} {start}",
        headings,
        rows,
        above=warning * importances.seen,
        below=(
            f"How much the {measure} of {model} rises when the values of a column are shuffled, {times}. The interval"
            f" is for other rows like these. The importance is that for {model}: a column that is correlated with"
            " another may have none here and still be informative.",
        ),
        row_name="column",
    )
