"""``Comparison``: what was found out about two trees, as data and as words.

The top of ``compare``: nothing is decided here, only said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.result_table import to_plain as as_json
from treewise._lib.text import format_rounded, format_share, plural
from treewise.explain.compare.difference import StructureChange
from treewise.explain.compare.space import State
from treewise.tree.regions.region import Cell, Region

MOST_WHERE = 10  # parts that readers are shown
MOST_CHANGES = 20
MORE = "These are some of them: the trees differ in more places than are put together."
MORE_WITH_ROWS = "These are the places that hold rows of the table; the trees differ in many more."


@dataclass(frozen=True)
class TreeError:
    """How wrong a tree is on the table: the share of wrong rows, or the root of the mean squared error."""

    measure: str
    value: float
    wrong: int | None
    rows: int


def say_errors(one: TreeError, two: TreeError) -> str:
    """Say two errors beside each other."""
    if one.wrong is None or two.wrong is None:
        return f"RMSE {format_rounded(one.value)} against {format_rounded(two.value)}"
    many = f"both {one.wrong:,}" if one.wrong == two.wrong else f"{one.wrong:,} against {two.wrong:,}"
    return f"{many} of {plural(one.rows, 'row')} wrong"


@dataclass(frozen=True)
class Distance:
    """How far two answers lie apart on the rows of a table: numbers, or the probability that differs most."""

    mean: float
    largest: float


@dataclass(frozen=True)
class ComparedTree:
    """One of the two trees: its size, and what it says of the witness."""

    name: str
    leaves: int
    depth: int
    node: int | None  # where the witness stops
    answer: Any
    said: str
    error: TreeError | None


@dataclass(frozen=True, eq=False)
class DifferingRegion:
    """A part of the space in which the trees differ, and what each answers there."""

    region: Region
    words: str  # the region in words
    answers: tuple[Any, Any]
    said: tuple[str, str]
    cases: int | None  # combinations of known levels, where there are but levels
    rows: int | None  # of the table
    states: tuple[State, ...] = field(repr=False, default=())

    def order(self) -> tuple[int, int, int]:
        """Return what puts the parts of most rows, or cases, first."""
        return -(self.rows or 0), -(self.cases or 0), len(self.region.conditions)


@dataclass(frozen=True, eq=False, repr=False)
class TreeComparison(Displayable):
    """What ``treewise.compare`` found out about two trees.

    ``equivalent`` is the answer; ``witness`` a row on which they differ (None if there is none), ``sides`` what either
    says of it. ``differ_on`` of ``cases`` counts combinations of levels, where all columns asked about are categories.

    >>> import treewise as tw
    >>> one, two = (tw.grow("penguins", max_leaf_nodes=n) for n in (3, 4))
    >>> found = tw.compare(one, two, "penguins")
    >>> found.equivalent, found.rows_differ, round(found.share_of_rows, 3), found.smaller
    (False, 8, 0.023, 'first')
    """

    equivalent: bool
    equivalent_on_complete_rows: bool
    complete: bool
    sides: tuple[ComparedTree, ComparedTree]
    witness: dict[str, Cell] | None
    witness_row: int | None
    witness_needs: tuple[str, ...]
    witness_words: str
    cases: int | None
    differ_on: int | None
    table: str | None
    rows: int | None
    rows_differ: int | None
    rows_odd: int | None  # of these, rows outside ``where``, for a value is missing or never seen
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
        """The name of the tree with fewer leaves; None if both have as many."""
        one, two = self.sides
        if one.leaves == two.leaves:
            return None
        return one.name if one.leaves < two.leaves else two.name

    # -- words ------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """The answer in a few words."""
        if self.equivalent:
            return "equivalent" + (" on rows without missing and never-seen values" if self.complete else "")
        if self.equivalent_on_complete_rows:
            return "not equivalent: they differ, but only where a value is missing or never seen"
        return "not equivalent"

    def summary(self) -> tuple[str, ...]:
        """Return the words above the table of differences."""
        lines = []
        counted = []
        if self.equivalent and not self.complete:
            lines.append("every row is answered alike, also where a value is missing or a level was never seen")
        if not self.equivalent and self.cases is not None and self.differ_on is not None:
            counted.append(f"on {self.differ_on:,} of the {plural(self.cases, 'possible case')}")
        if self.rows is not None and self.rows_differ is not None:
            share = f" ({format_share(self.rows_differ / self.rows)} %)" if self.rows_differ else ""
            counted.append(f"on {self.rows_differ:,} of the {plural(self.rows, 'row')}{share} of {self.table}")
        if counted:
            lines.append(f"differ {', '.join(counted)}")
        if self.distance is not None and self.distance.largest > 0:
            far = format_rounded(self.distance.mean), format_rounded(self.distance.largest)
            lines.append(f"over all rows of the table the answers lie {far[0]} apart on average, {far[1]} at most")
        if self.witness is not None:
            lines += self._say_witness()
        return (*lines, self._say_sizes())

    def _say_witness(self) -> list[str]:
        said = "; ".join(f"{side.name} → {side.said} (node {side.node})" for side in self.sides)
        row = f" (row {self.witness_row:,} of {self.table})" if self.witness_row is not None else ""
        return [f"witness: {self.witness_words}{row}", f"         {said}"]

    def _say_sizes(self) -> str:
        sizes = ", ".join(f"{s.name} {plural(s.leaves, 'leaf', 'leaves')} of depth {s.depth}" for s in self.sides)
        one, two = (side.error for side in self.sides)
        said = f"size: {sizes}"
        if one is not None and two is not None:
            said += f"; {say_errors(one, two)}"
        equal = self.equivalent or (one is not None and two is not None and one.value == two.value)
        if equal and self.smaller:
            said += f": {self.smaller} is the simpler one at equal error"
        return said

    # -- forms ------------------------------------------------------------------------------------------------

    def result_table(self) -> ResultTable:
        """Return the parts on which the trees differ, below the answer."""
        one, two = (side.name for side in self.sides)
        headings = (
            ColumnSpec("where"),
            ColumnSpec("first", title=one),
            ColumnSpec("second", title=two),
            *([ColumnSpec("cases", "count")] if self.cases is not None else []),
            *([ColumnSpec("rows", "count")] if self.rows is not None else []),
        )
        rows = [
            [
                w.words,
                *w.said,
                *([w.cases] if self.cases is not None else []),
                *([w.rows] if self.rows is not None else []),
            ]
            for w in self.where
        ]
        held = self.rows is not None and all(w.rows for w in self.where)
        below = [] if self.where_is_all else [MORE_WITH_ROWS if held else MORE]
        if self.rows_odd:
            many = plural(self.rows_odd, "more row differs", "more rows differ")
            below.append(
                f"{many} where a value is missing or never seen; the places above are of rows without such values."
            )
        return ResultTable(
            self.verdict, headings, rows, self.summary(), tuple(below), row_name="place", max_rows=MOST_WHERE
        )

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the answer, and what changed in how the trees are built."""
        one, two = (side.name for side in self.sides)
        if not self.changes:
            if self.equivalent:
                return (self.result_table(),)
            said = "Both ask the same tests; they differ in where missing or never-seen values go, or in what is said."
            return self.result_table(), ResultTable("", (), (), above=(said,))
        nodes = (ColumnSpec("first_node", title=f"{one} node"), ColumnSpec("second_node", title=f"{two} node"))
        headings = (ColumnSpec("where"), ColumnSpec("change"), *nodes)
        rows = [[c.where, c.words, *("" if n is None else str(n) for n in c.nodes)] for c in self.changes]
        title = f"From {one} to {two}: {plural(len(rows), 'change')}"
        return self.result_table(), ResultTable(title, headings, rows, row_name="change", max_rows=MOST_CHANGES)

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
                    "answer": as_json(s.answer),
                    "error": None if s.error is None else {s.error.measure: s.error.value},
                }
                for s in self.sides
            ],
            "smaller": self.smaller,
            "where": [
                {"where": w.words, "answers": as_json(list(w.answers)), "cases": w.cases, "rows": w.rows}
                for w in self.where
            ],
            "where_is_all": self.where_is_all,
            "changes": [
                {"change": c.kind, "where": c.where, "nodes": list(c.nodes), "words": c.words} for c in self.changes
            ],
        }
