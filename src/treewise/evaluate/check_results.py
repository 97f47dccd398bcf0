"""What holding a tree against a table found: leaf by leaf, with the contradictions, and how it is shown.

Stands before ``check.py``, which fills these values; they hold no tree and no rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_count, format_percent, plural, safe
from treewise.errors import listing
from treewise.tree.arrays import Label

ALL_SHOWN = 40  # leaves that are listed in the order of the tree; of more, those with a finding come first
MOST_ROWS = 6  # row numbers that are listed
RANKS = {"disagrees": 0, "no answer": 1, "empty": 2, "": 3}


@dataclass(frozen=True)
class LeafCheck:
    """A leaf, or an inner node where rows find no branch, and what the table's rows there say."""

    node: int
    rule: str  # the way there in words
    says: Label | None  # what the tree says there; None where nothing is written
    rows: int
    weight: float  # of these rows; their number where rows weigh 1
    majority: Label | None  # what the table says there: the class of most weight (or least cost), or the mean
    agreeing: float | None  # the weight of the rows that are what the tree says; None for numbers
    finding: str  # "disagrees", "empty", "no answer", or ""


@dataclass(frozen=True)
class Contradiction:
    """Rows that are alike in every column the tree may ask, and of different classes."""

    rows: tuple[int, ...]  # from 1
    cells: dict[str, str]  # what they share, in words
    counts: dict[Label, float]  # the weight of each class among them
    node: int  # where they all end


@dataclass(frozen=True, eq=False, repr=False)
class Check(Displayable):
    """A tree against a table. ``print`` it; ``empty``, ``disagreeing`` and ``contradictions`` are the findings."""

    table: str
    target: str
    task: str
    n: int
    weight: float  # of all rows; their number where rows weigh 1
    columns: tuple[str, ...]  # those the tree may ask that the table has
    leaves: tuple[LeafCheck, ...]
    unanswered: tuple[int, ...]  # rows (from 1) that find no branch
    contradictions: tuple[Contradiction, ...] = ()  # none of a tree that predicts numbers
    errors: float | None = None  # the weight of rows that are not what the tree says; None for numbers
    errors_refitted: float | None = None  # the same after ``refit``: every leaf says what most of its rows are
    least_errors: float | None = None  # what any tree over these columns must get wrong

    @property
    def empty(self) -> tuple[LeafCheck, ...]:
        """The leaves that no row reaches."""
        return tuple(leaf for leaf in self.leaves if leaf.finding == "empty")

    @property
    def disagreeing(self) -> tuple[LeafCheck, ...]:
        """The leaves that say another class than most of their rows, or a number outside the interval of their mean."""
        return tuple(leaf for leaf in self.leaves if leaf.finding == "disagrees")

    @property
    def sound(self) -> bool:
        """Whether nothing speaks against the tree: no leaf disagrees, and every row has its leaf."""
        return not self.disagreeing and not self.unanswered

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        figures = ("errors", "errors_refitted", "least_errors")
        return {
            "table": self.table,
            "target": self.target,
            "n": self.n,
            "columns": list(self.columns),
            **{name: getattr(self, name) for name in figures},
            "unanswered": list(self.unanswered),
            "leaves": self.result_table().records(),
            "contradictions": [
                {
                    "rows": list(c.rows),
                    "cells": c.cells,
                    "counts": {str(k): v for k, v in c.counts.items()},
                    "node": c.node,
                }
                for c in self.contradictions
            ],
        }

    # -- in words ---------------------------------------------------------------------------------------------------

    def result_table(self) -> ResultTable:
        """Return the leaves."""
        leaves = self.leaves
        if len(leaves) > ALL_SHOWN:
            leaves = tuple(sorted(leaves, key=lambda leaf: RANKS[leaf.finding]))
        rows = [
            (e.node, e.rule, e.says, e.rows, e.weight, e.majority, e.agreeing, (e.agreeing, e.weight), e.finding)
            for e in leaves
        ]
        weighted = self.weight != self.n
        classes = self.task == "classification"
        headings = (
            ColumnSpec("node", "count", formatter=str),
            ColumnSpec("rule", title="leaf", break_at=" and "),
            ColumnSpec("says", "label", title="says"),
            ColumnSpec("rows", "count"),
            ColumnSpec("weight", "count", only=None if weighted else "data"),
            ColumnSpec("majority", "label", title="rows say" if classes else "mean of its rows"),
            ColumnSpec("agreeing", "count", only="data"),
            ColumnSpec("share", "share", title="% right", formatter=share_said, only="text" if classes else "data"),
            ColumnSpec("finding", title=""),
        )
        kept = [i for i, heading in enumerate(headings) if classes or heading.name not in ("share", "agreeing")]
        return ResultTable(
            f"Checked against {self.table}, column {self.target}: {plural(self.n, 'row')}",
            tuple(headings[i] for i in kept),
            [tuple(row[i] for i in kept) for row in rows],
            below=self.verdicts,
            row_name="leaf",
            max_rows=max(ALL_SHOWN, len(self.disagreeing)),
        )

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the leaves, and below them the contradictions where there are some."""
        if not self.contradictions:
            return (self.result_table(),)
        headings = (ColumnSpec("rows"), ColumnSpec("cells", title="alike in"), ColumnSpec("counts", title="but"))
        rows = [
            (
                listing([f"{row:,}" for row in c.rows], most=MOST_ROWS),
                ", ".join(f"{name} {cell}" for name, cell in c.cells.items()),
                counts_in_words(c.counts),
            )
            for c in self.contradictions
        ]
        return (
            self.result_table(),
            ResultTable("Contradictions", headings, rows, row_name="contradiction", max_rows=20),
        )

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Say what was found, a sentence each."""
        return (*self._unanswered(), *self._disagreeing(), *self._empty(), *self._contradicted())

    def _unanswered(self) -> list[str]:
        if not self.unanswered:
            return []
        rows = listing([f"{row:,}" for row in self.unanswered], most=MOST_ROWS)
        many = len(self.unanswered) > 1
        return [f"{'Rows' if many else 'Row'} {rows} {'find' if many else 'finds'} no branch: write one, or otherwise."]

    def _disagreeing(self) -> list[str]:
        found, classes = self.disagreeing, self.task == "classification"
        others = "most of its rows" if classes else "the mean of its rows allows (95 %, Student)"
        if not found:
            return [f"No leaf says other than {others}."]
        many = "A leaf says" if len(found) == 1 else f"{len(found):,} leaves say"
        said = f"{many} other than {others if len(found) == 1 else others.replace('its', 'their')} ({nodes_of(found)})."
        if self.errors is None or self.errors_refitted is None:
            return [f"{said} refit puts the means there."]
        wrong = (
            f"{format_count(self.errors)} → {format_count(self.errors_refitted)} of {format_count(self.weight)} wrong"
        )
        return [f"{said} refit mends it: {wrong}."]

    def _empty(self) -> list[str]:
        if not self.empty:
            return ["Every leaf has rows."]
        of_all = f"{len(self.empty):,} of {plural(len(self.leaves), 'leaf', 'leaves')}"
        right = "it is right" if len(self.empty) == 1 else "they are right"
        return [f"No row reaches {of_all} ({nodes_of(self.empty)}): the table cannot tell whether {right}."]

    def _contradicted(self) -> list[str]:
        if self.task != "classification" or not self.columns:
            return []
        alike = f"alike in {listing([safe(name) for name in self.columns], most=8)}"
        if not self.contradictions:
            return [f"No contradictions: no rows are {alike} and of different classes."]
        assert self.least_errors is not None
        least = f"{format_count(self.least_errors)} of {format_count(self.weight)}"
        groups = plural(len(self.contradictions), "contradiction")
        return [
            f"{groups}: rows {alike}, of different classes. Any tree over these columns gets at least {least} wrong."
        ]


def nodes_of(leaves: tuple[LeafCheck, ...]) -> str:
    """List the numbers of some leaves."""
    numbers = listing([str(leaf.node) for leaf in leaves], most=MOST_ROWS)
    return f"node {numbers}" if len(leaves) == 1 else f"nodes {numbers}"


def counts_in_words(counts: dict[Label, float]) -> str:
    """Write how many there are of each class; the label first where it is a number itself.

    >>> counts_in_words({"N": 2.0, "P": 3.0}), counts_in_words({0: 1.0, 1: 7.0})
    ('2 N, 3 P', '0: 1, 1: 7')
    """
    worded = all(isinstance(label, str) for label in counts)
    form = "{1} {0}" if worded else "{0}: {1}"
    return ", ".join(form.format(label, format_count(weight)) for label, weight in counts.items())


def share_said(pair: tuple[float | None, float]) -> str:
    """Write which share of a leaf's rows is what the tree says."""
    right, weight = pair
    return format_percent(right / weight) if right is not None and weight > 0 else "–"
