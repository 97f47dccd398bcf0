"""Which columns matter: what the splits of each gain in a tree, and what its tree loses when a column is shuffled.

Two answers to two questions; ``Importances.method`` says which one it is, and so does everything printed.

    impurity decrease   how much of the impurity of the training rows the splits on a column take away. From the tree
                        alone. It favours columns with many different values, which offer more places to cut, and a
                        column that fits noise looks useful, since nothing is tried on other rows.
    permutation         how much worse the tree does on a table when the values of a column are dealt out to its rows
                        at random (Breiman 2001). On rows the tree has not seen, that is what it owes to the column;
                        columns that say the same stand in for each other in growth, so it is about this tree.

Stands on ``sheet``, which shows what was found; ``permutation.py`` beside it does the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_exact, format_percent, format_rounded, plural, safe
from treewise.errors import Call, DataError, ParameterError, join_few
from treewise.train.criteria import get_criterion
from treewise.train.resampling import power_of_two_scale
from treewise.tree.model import Model
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

_SAID = {"error": "error", "cost": "cost a row", "log_loss": "log loss (nats)", "rmse": "RMSE", "mae": "MAE"}


@dataclass(frozen=True)
class ColumnImportance:
    """What one column is worth to a tree; ``None`` where the other of the two methods would say it."""

    column: str
    splits: int  # how many nodes ask about it
    importance: float  # its share of all decrease; or how much the measure rises when it is shuffled
    decrease: float | None = None  # of impurity, per row of the table, in the criterion's unit
    low: float | None = None  # of the rise: the interval for other rows like these
    high: float | None = None
    repeats: tuple[float, ...] = ()  # the rise of every shuffle; or of an ensemble the share in each tree

    @property
    def spread(self) -> float | None:
        """The standard deviation from one shuffle (or tree) to the next; None for a single one."""
        if len(self.repeats) < 2:
            return None
        unit = power_of_two_scale(rises := np.array(self.repeats))
        return float(np.std(rises / unit, ddof=1)) * unit


@dataclass(frozen=True, eq=False, repr=False)
class Importances(Displayable):
    """The columns of a tree, the most important first. ``print`` it, go through ``columns``, or ``.to_frame()``.

    >>> import treewise as tw
    >>> found = tw.grow("penguins", max_leaf_nodes=4).importances()
    >>> found.method, found["flipper_length_mm"].splits, found["sex"].importance
    ('impurity decrease', 1, 0.0)
    """

    method: str  # "impurity decrease" or "permutation"
    target: str
    columns: tuple[ColumnImportance, ...]
    unit: str = ""  # impurity: of the decrease
    table: str = ""  # permutation: the rows it was measured on …
    n: int = 0
    measure: str = ""  # … by which measure …
    baseline: float = math.nan  # … which is this when nothing is shuffled
    repeats: int = 0
    confidence: float = 0.95
    seen: bool = False  # whether these look like the rows the tree was grown on
    trees: int = 0  # of an ensemble; 0 for a tree

    def __getitem__(self, column: str) -> ColumnImportance:
        """Return one column's."""
        for each in self.columns:
            if each.column == column:
                return each
        raise KeyError(column)

    def draw(self, most: int = 20, ax: Axes | None = None) -> Axes:
        """Draw the columns that are asked about as bars, at most so many, with the intervals where there are some.

        Needs matplotlib (``pip install "treewise[plot]"``). Draws on ``ax``, or on a figure of its own, and returns the
        axes: ``.figure.savefig("importances.png")``.

        >>> import treewise as tw
        >>> len(tw.grow("penguins", max_leaf_nodes=4).importances().draw().patches)
        3
        """
        from treewise.show.plots.evaluation import draw_importances

        return draw_importances(self, most, ax)

    def result_table(self) -> ResultTable:
        """Return every column, as data."""
        return _impurity_sheet(self) if self.method == "impurity decrease" else _permutation_sheet(self)

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return what readers are shown: the columns that are asked about, and the names of the others."""
        whole = self.result_table()
        asked = [row for row, column in zip(whole.rows, self.columns, strict=True) if column.splits]
        others = [safe(column.column) for column in self.columns if not column.splits]
        silent = (f"Never asked about, so exactly 0: {join_few(others, most=12)}.",) if others else ()
        return (replace(whole, rows=asked, below=(*silent, *whole.below)),)

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
    """Return how much each column matters; without data from the model alone (``Model.importances``)."""
    given = {name: value for name, value in options.items() if value is not None}
    if data is not None:
        from treewise.evaluate.permutation import permutation_importances

        return permutation_importances(model, data, **given)
    for name in given:
        raise ParameterError(f"{name} is for importances on data: give a table too, or leave it out.")
    return _impurity_importances(model)


# -- impurity decrease ------------------------------------------------------------------------------------------------


def _impurity_importances(model: Model) -> Importances:
    """Return the impurity decrease of every column: its share in each tree, averaged by vote weight.

    A tree without splits has no shares and does not count.
    """
    single = isinstance(model, Tree)
    if isinstance(model, Tree) and not model.arrays.rows[0] > 0:
        raise DataError(
            "the tree was written by hand and knows no rows: " + Call("tree.refit(data)") + " first, or give data."
        )
    shares, mean = importance_shares(model)
    splits, decreases = model.split_counts.tolist(), model.impurity_decreases
    found = [
        ColumnImportance(name, splits[i], float(mean[i]), float(decreases[0, i]))
        if single
        else ColumnImportance(name, splits[i], float(mean[i]), repeats=tuple(shares[:, i].tolist()))
        for i, name in enumerate(model.columns)
    ]
    unit, trees = get_criterion(model.criterion).unit, 0 if single else len(decreases)
    return Importances("impurity decrease", model.target.name, rank_columns(found), unit=unit, trees=trees)


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


def rank_columns(found: Sequence[ColumnImportance]) -> tuple[ColumnImportance, ...]:
    """Put the most important column first; of equals those that are asked about, then in the order of the table."""
    return tuple(sorted(found, key=lambda each: (-each.importance, each.splits == 0)))


# -- shown ------------------------------------------------------------------------------------------------------------


def _impurity_sheet(found: Importances) -> ResultTable:
    """Lay out the impurity decrease, with its bias named."""
    unit = f" ({found.unit} a row)" if found.unit else " a row"
    last = ColumnSpec("decrease", "number", title=f"impurity taken away{unit}")
    if found.trees:
        last = ColumnSpec("spread", "share", title="± over trees")
    headings = (
        ColumnSpec("column"),
        ColumnSpec("splits", "count"),
        ColumnSpec("importance", "share", title="share %"),
        last,
    )
    rows = [(c.column, c.splits, c.importance, c.spread if found.trees else c.decrease) for c in found.columns]
    mean = f", the mean of {plural(found.trees, 'tree')}" if found.trees else ""
    owes = (
        "these trees owe to a column on rows they have" if found.trees else "the tree owes to a column on rows it has"
    )
    give = "them" if found.trees else "it"
    return ResultTable(
        f"Impurity decrease by column, for {safe(found.target)}{mean}",
        headings,
        rows,
        below=(
            "How much of the training rows' impurity the splits on each column take away. It favours columns with many"
            f" different values, and counts fitting noise as use: to see what {owes}"
            f" not seen, give {give} such rows (importances(data), treewise importance MODEL DATA).",
        ),
        row_name="column",
    )


def _permutation_sheet(found: Importances) -> ResultTable:
    """Lay out the permutation importance, and say what it is measured on."""
    said = _SAID[found.measure]
    in_percent = found.measure == "error"

    def write(value: float) -> str:
        return (
            f"{100 * value + 0.0:.2f}".replace("-0.00", "0.00") if in_percent else format_exact(float(f"{value:.4g}"))
        )

    between = f"{100 * found.confidence:g} % interval"
    headings = (
        ColumnSpec("column"),
        ColumnSpec("splits", "count"),
        ColumnSpec("importance", "number", title=f"rise of {said}{' (points)' if in_percent else ''}", formatter=write),
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
        for c in found.columns
    ]
    start = f"{format_percent(found.baseline)} %" if in_percent else format_rounded(found.baseline)
    times = "once" if found.repeats == 1 else f"{found.repeats:,} times"
    they = ("the trees were", "they fit", "they have") if found.trees else ("the tree was", "it fits", "it has")
    warning = (
        f"These look like the rows {they[0]} grown on: {they[1]} them too well, so columns that fit noise look useful"
        f" here. Give rows {they[2]} not seen.",
    )
    who, about = ("these trees", "them") if found.trees else ("this tree", "this tree")
    return ResultTable(
        f"Permutation importance for {safe(found.target)} on {safe(found.table)}: {plural(found.n, 'row')},"
        f" {said} {start}",
        headings,
        rows,
        above=warning * found.seen,
        below=(
            f"How much the {said} of {who} rises when a column's values are dealt out to the rows at random,"
            f" {times}. The interval is for other rows like these. It is about {about}: a column that says the same"
            " as another may not be needed here, and still tell much.",
        ),
        row_name="column",
    )
