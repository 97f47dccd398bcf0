"""The result of comparing two trees: ``TreeComparison``, as data, as text and as tables.

Nothing is computed here; ``compare.py`` fills it in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.result_table import to_plain as as_json
from treewise._lib.text import format_rounded, format_share, plural
from treewise.explain.compare.input_space import CellSet
from treewise.explain.compare.structure_diff import StructureChange
from treewise.tree.regions.region import Cell, Region

_MAX_REGIONS = 10  # shown to readers
_MAX_CHANGES = 20
_MORE = "This list is incomplete: the trees differ in too many regions."
_MORE_WITH_ROWS = "Only regions that contain rows of the table are listed; the trees differ in many more."


@dataclass(frozen=True)
class TreeError:
    """The error of a tree on the table: the share of wrong rows, or the root mean squared error."""

    measure: str
    value: float
    wrong: int | None
    rows: int


@dataclass(frozen=True)
class Distance:
    """The distance of the predictions over the rows of a table: of numbers, or of the most different probability."""

    mean: float
    largest: float


@dataclass(frozen=True)
class ComparedTree:
    """One of the two trees: its size, its error, and its prediction for the witness."""

    name: str
    leaves: int
    depth: int
    node: int | None  # at which the witness stops
    prediction: Any
    text: str  # the prediction as text
    error: TreeError | None


@dataclass(frozen=True, eq=False)
class DifferingRegion:
    """A region in which the trees differ, and the prediction of either tree there."""

    region: Region
    text: str  # a description of the region
    predictions: tuple[Any, Any]
    prediction_texts: tuple[str, str]
    cases: int | None  # combinations of known levels; None if a column is numeric
    rows: int | None  # of the table
    cells: tuple[CellSet, ...] = field(repr=False, default=())

    def rank(self) -> tuple[int, int, int]:
        """Return a sort key: regions of most rows, then of most cases, come first."""
        return -(self.rows or 0), -(self.cases or 0), len(self.region.conditions)


@dataclass(frozen=True, eq=False, repr=False)
class TreeComparison(Displayable):
    """The result of ``treewise.compare``.

    ``equivalent`` is the verdict; ``witness`` a row on which the trees differ (None if there is none), ``sides`` the
    predictions for it. ``differ_on`` of ``cases`` counts combinations of levels, if all columns used are categorical.

    >>> import treewise as tw
    >>> one, two = (tw.grow("penguins", max_leaf_nodes=n) for n in (3, 4))
    >>> comparison = tw.compare(one, two, "penguins")
    >>> comparison.equivalent, comparison.rows_differ, round(comparison.share_of_rows, 3), comparison.smaller
    (False, 8, 0.023, 'first')
    """

    equivalent: bool
    equivalent_on_complete_rows: bool
    complete: bool
    sides: tuple[ComparedTree, ComparedTree]
    witness: dict[str, Cell] | None
    witness_row: int | None
    witness_needs: tuple[str, ...]
    witness_text: str
    cases: int | None
    differ_on: int | None
    table: str | None
    rows: int | None
    rows_differ: int | None
    rows_incomplete: int | None  # of these, rows outside ``where`` because a value is missing or unseen
    distance: Distance | None
    where: tuple[DifferingRegion, ...]
    where_is_all: bool
    changes: tuple[StructureChange, ...]

    @property
    def share_of_rows(self) -> float | None:
        """The share of the table's rows on which the trees differ."""
        return None if not self.rows or self.rows_differ is None else self.rows_differ / self.rows

    @property
    def smaller(self) -> str | None:
        """The name of the tree with fewer leaves; None if both have the same number."""
        first, second = self.sides
        if first.leaves == second.leaves:
            return None
        return first.name if first.leaves < second.leaves else second.name

    @property
    def verdict(self) -> str:
        """The verdict in a few words."""
        if self.equivalent:
            return "equivalent" + (" on rows without missing or unseen values" if self.complete else "")
        if self.equivalent_on_complete_rows:
            return "not equivalent, but they differ only on rows with missing or unseen values"
        return "not equivalent"

    def summary(self) -> tuple[str, ...]:
        """Return the lines above the table of differences."""
        lines = []
        counts = []
        if self.equivalent and not self.complete:
            lines.append("same prediction for every possible row, including missing and unseen values")
        if not self.equivalent and self.cases is not None and self.differ_on is not None:
            counts.append(f"on {self.differ_on:,} of the {plural(self.cases, 'possible case')}")
        if self.rows is not None and self.rows_differ is not None:
            share = f" ({format_share(self.rows_differ / self.rows)} %)" if self.rows_differ else ""
            counts.append(f"on {self.rows_differ:,} of the {plural(self.rows, 'row')}{share} of {self.table}")
        if counts:
            lines.append(f"differ {', '.join(counts)}")
        if self.distance is not None and self.distance.largest > 0:
            mean, largest = format_rounded(self.distance.mean), format_rounded(self.distance.largest)
            lines.append(f"mean difference over all rows of the table {mean}, largest {largest}")
        if self.witness is not None:
            predictions = "; ".join(f"{side.name} → {side.text} (node {side.node})" for side in self.sides)
            row = f" (row {self.witness_row:,} of {self.table})" if self.witness_row is not None else ""
            lines += [f"witness: {self.witness_text}{row}", f"         {predictions}"]
        return (*lines, self._size_text())

    def _size_text(self) -> str:
        sizes = ", ".join(f"{s.name} {plural(s.leaves, 'leaf', 'leaves')}, depth {s.depth}" for s in self.sides)
        first, second = (side.error for side in self.sides)
        text = f"size: {sizes}"
        if first is not None and second is not None:
            text += f"; {_error_text(first, second)}"
        same_error = self.equivalent or (first is not None and second is not None and first.value == second.value)
        if same_error and self.smaller:
            text += f": {self.smaller} is simpler at equal error"
        return text

    def result_table(self) -> ResultTable:
        """Return the table of regions in which the trees differ, below the verdict."""
        first, second = (side.name for side in self.sides)
        counts = [name for name in ("cases", "rows") if getattr(self, name) is not None]
        headings = (
            ColumnSpec("where"),
            ColumnSpec("first", title=first),
            ColumnSpec("second", title=second),
            *(ColumnSpec(name, "count") for name in counts),
        )
        lines = [[w.text, *w.prediction_texts, *(getattr(w, name) for name in counts)] for w in self.where]
        all_hold_rows = self.rows is not None and all(w.rows for w in self.where)
        below = [] if self.where_is_all else [_MORE_WITH_ROWS if all_hold_rows else _MORE]
        if self.rows_incomplete:
            more = plural(self.rows_incomplete, "more row differs", "more rows differ")
            below.append(f"{more} because of a missing or unseen value; the regions above cover complete rows only.")
        return ResultTable(
            self.verdict, headings, lines, self.summary(), tuple(below), row_name="region", max_rows=_MAX_REGIONS
        )

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the table of regions and the table of structural changes."""
        first, second = (side.name for side in self.sides)
        if not self.changes:
            if self.equivalent:
                return (self.result_table(),)
            note = "Both trees have the same splits; missing or unseen values take other branches, or leaves differ."
            return self.result_table(), ResultTable("", (), (), above=(note,))
        nodes = (ColumnSpec("first_node", title=f"{first} node"), ColumnSpec("second_node", title=f"{second} node"))
        headings = (ColumnSpec("where"), ColumnSpec("change"), *nodes)
        lines = [[c.where, c.text, *("" if n is None else str(n) for n in c.nodes)] for c in self.changes]
        title = f"From {first} to {second}: {plural(len(lines), 'change')}"
        return self.result_table(), ResultTable(title, headings, lines, row_name="change", max_rows=_MAX_CHANGES)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "equivalent": self.equivalent,
            "equivalent_on_complete_rows": self.equivalent_on_complete_rows,
            "complete_rows_only": self.complete,
            "witness": as_json(self.witness),
            "witness_row": self.witness_row,
            "witness_needs": list(self.witness_needs),
            "cases": self.cases,
            "differ_on": self.differ_on,
            "rows": self.rows,
            "rows_differ": self.rows_differ,
            "share_of_rows": self.share_of_rows,
            "mean_distance": None if self.distance is None else self.distance.mean,
            "largest_distance": None if self.distance is None else self.distance.largest,
            "trees": [
                {
                    "name": s.name,
                    "leaves": s.leaves,
                    "depth": s.depth,
                    "node": s.node,
                    "prediction": as_json(s.prediction),
                    "error": None if s.error is None else {s.error.measure: s.error.value},
                }
                for s in self.sides
            ],
            "smaller": self.smaller,
            "where": [
                {"where": w.text, "predictions": as_json(list(w.predictions)), "cases": w.cases, "rows": w.rows}
                for w in self.where
            ],
            "where_is_all": self.where_is_all,
            "changes": [
                {"change": c.kind, "where": c.where, "nodes": list(c.nodes), "text": c.text} for c in self.changes
            ],
        }


def _error_text(first: TreeError, second: TreeError) -> str:
    if first.wrong is None or second.wrong is None:
        return f"RMSE {format_rounded(first.value)} vs {format_rounded(second.value)}"
    wrong = f"both {first.wrong:,}" if first.wrong == second.wrong else f"{first.wrong:,} vs {second.wrong:,}"
    return f"{wrong} of {plural(first.rows, 'row')} wrong"
