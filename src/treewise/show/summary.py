"""A tree in a few lines: how large it is, why its leaves stopped, what it needs, how it was made.

Stands among the outlets. ``tree.summary()`` and ``treewise show --summary`` print it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable, Style
from treewise._lib.text import plural, safe
from treewise.data.encoding import Encoding
from treewise.errors import listing
from treewise.show.node_stats import describe_training_error
from treewise.tree.arrays import LEAF, STOPS, Target
from treewise.tree.history import in_words
from treewise.tree.tree import Tree

MANY_LEVELS = 6


@dataclass(frozen=True, eq=False, repr=False)
class TreeSummary(Displayable):
    """What a tree is. ``print`` it, ask for a field, or take ``to_dict()``."""

    tree: Tree

    @property
    def stops(self) -> dict[str, int]:
        """How many leaves there are of each reason to stop, in the order in which reasons are looked at."""
        a = self.tree.arrays
        counts = np.bincount(a.stop[a.kind == LEAF], minlength=len(STOPS)).tolist()
        return {name: many for name, many in zip(STOPS, counts, strict=True) if many}

    @property
    def needs(self) -> list[Encoding]:
        """The columns the tree asks about, in its order."""
        asked = set(self.tree.arrays.column.tolist())
        return [encoding for i, encoding in enumerate(self.tree.encodings) if i in asked]

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines, each with its heading."""
        tree = self.tree
        size = [plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}", *describe_training_error(tree)]
        stops = " · ".join(f"{many:,} {name}" for name, many in self.stops.items())
        needed = " · ".join(map(encoding_in_words, self.needs))
        return [
            ("tree", " · ".join([target_in_words(tree.target), *size])),
            ("leaves", stops),
            ("needs", needed or "no column: it always predicts the same"),
            ("made", " → ".join(map(in_words, tree.history)) or "written by hand"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        tree = self.tree
        return {
            "task": tree.task,
            "target": tree.target.name,
            "classes": list(tree.classes),
            "positive": tree.target.positive,
            "leaves": tree.n_leaves,
            "depth": tree.depth,
            "rows": int(tree.arrays.rows[0]),
            "stops": self.stops,
            "needs": [{"column": e.name, "kind": e.kind, "levels": list(e.levels)} for e in self.needs],
            "history": [dict(step) for step in tree.history],
        }

    def result_table(self) -> ResultTable:
        """Return the lines as a table."""
        return ResultTable(
            "", (ColumnSpec("about", title=""), ColumnSpec("said", title="")), self.lines(), max_rows=None
        )

    def to_text(self, width: int | None = None, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return the lines, however long."""
        return "\n".join(f"{emphasis(f'{head:<7}')} {said}" for head, said in self.lines())


def target_in_words(target: Target) -> str:
    """Say what is predicted."""
    name = safe(target.name)
    if target.task == "regression":
        return f"target {name}: a number"
    positive = f" (positive: {safe(target.positive)})" if target.positive is not None else ""
    return f"target {name}: {listing([safe(label) for label in target.classes])}{positive}"


def encoding_in_words(encoding: Encoding) -> str:
    """Say what a column must be: ``age number``, ``ward category, 11 levels``."""
    name = safe(encoding.name)
    if encoding.kind in ("nominal", "ordered"):
        levels = [safe(level) for level in encoding.levels]
        listed = f"({(' < ' if encoding.kind == 'ordered' else ', ').join(levels)})"
        what = "ordered category" if encoding.kind == "ordered" else "category"
        many = len(levels) > MANY_LEVELS
        return f"{name} {what}, {len(levels)} levels" if many else f"{name} {what} {listed}"
    plain_words = {"integer": "number", "datetime": "date"}
    return f"{name} {plain_words.get(encoding.kind, encoding.kind)}"
