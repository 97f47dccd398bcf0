"""Notes on values in new rows that the training rows did not have: categories, missing values, fractions.

Beneath the verbs predict, draw and explain. Counts of batches are added up: notes about a file do not
depend on how it was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from treewise._lib.text import plural, safe
from treewise.errors import join_few

if TYPE_CHECKING:
    import numpy.typing as npt

    from treewise.predict.predict import EncodedRows
    from treewise.tree.model import Model
    from treewise.tree.tree import Tree

_MAX_LOOKED_AT = 1000  # rows whose never-seen categories are named


@dataclass
class _Unseen:
    """Never-seen categories of a column: in how many rows, which ones, and at which nodes these rows ended."""

    rows: int = 0
    labels: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)


@dataclass
class NewValues:
    """Counts by column, on the paths of rows where the leaves are known."""

    unseen: dict[int, _Unseen] = field(default_factory=dict)
    missing: dict[int, int] = field(default_factory=dict)
    fractions: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model, rows: EncodedRows, leaves: npt.NDArray[Any] | None = None) -> NewValues:
        """Count what is new in some rows; ``leaves`` are the nodes at which they end in a tree."""
        from treewise.tree.tree import Tree

        if leaves is None and isinstance(model, Tree) and _has_unseen(model, rows):
            leaves = model.leaves(rows)
        counts = cls()
        counts._count_unseen(model, rows, leaves)
        counts._count_missing(model, rows, leaves)
        counts._count_fractions(model, rows)
        return counts

    def add(self, other: NewValues) -> None:
        """Add the counts of further rows."""
        for i, unseen in other.unseen.items():
            known = self.unseen.setdefault(i, _Unseen())
            known.rows += unseen.rows
            known.nodes |= unseen.nodes
            if len(known.labels) < _MAX_LOOKED_AT:
                known.labels |= unseen.labels
        for known_counts, more in ((self.missing, other.missing), (self.fractions, other.fractions)):
            for i, n in more.items():
                known_counts[i] = known_counts.get(i, 0) + n

    def notes(self, model: Model) -> list[str]:
        """Say what is new, for readers.

        A value that is missing on a path, and never was in training, follows the larger branch, which no training row
        has confirmed. ``x <= 2``, as the threshold 2.5 of a column of whole numbers is displayed, is not the test of
        2.3.
        """
        notes = []
        for i, n in sorted(self.missing.items()):
            name = safe(model.encodings[i].name)
            notes.append(f"{name}: missing in {plural(n, 'row')}, never in training; they follow the larger branch")
        for i, n in sorted(self.fractions.items()):
            encoding = model.encodings[i]
            fact = "neither 0 nor 1" if encoding.numbers == "binary" else "not a whole number"
            notes.append(
                f"{safe(encoding.name)}: {fact} in {plural(n, 'row')}, unlike in training; exact thresholds apply"
            )
        return [*notes, *self.unseen_notes(model)]

    def unseen_notes(self, model: Model) -> list[str]:
        """Say which categories were never seen, and where their rows ended."""
        notes = []
        for i, unseen in sorted(self.unseen.items()):
            ends = [str(node) for node in sorted(unseen.nodes)]
            destination = f" → node{'s' if len(ends) > 1 else ''} {join_few(ends, limit=5)}" if ends else ""
            labels = join_few(sorted(unseen.labels), limit=3)
            notes.append(
                f"{safe(model.encodings[i].name)}: never-seen {labels} in {plural(unseen.rows, 'row')}{destination}"
            )
        return notes

    def _count_unseen(self, model: Model, rows: EncodedRows, leaves: npt.NDArray[Any] | None) -> None:
        """With the leaves of a tree, only rows whose path tests the column count."""
        import numpy as np

        from treewise.data.encoding import UNSEEN
        from treewise.tree.tree import Tree

        for i, (encoding, values) in enumerate(zip(model.encodings, rows.columns, strict=True)):
            if not encoding.is_categorical or values is None or not (unseen := values == UNSEEN).any():
                continue
            nodes: set[int] = set()
            if isinstance(model, Tree) and leaves is not None:
                unseen &= np.array(_tests_above(model, i))[leaves]
                nodes = set(np.unique(leaves[unseen]).tolist())
            at = np.flatnonzero(unseen)
            if len(at):
                column = rows.table[encoding.name]
                labels = {column.format_cell(row) for row in at[:_MAX_LOOKED_AT].tolist()}
                self.unseen[i] = _Unseen(len(at), labels, nodes)

    def _count_missing(self, model: Model, rows: EncodedRows, leaves: npt.NDArray[Any] | None) -> None:
        import numpy as np

        from treewise.data import encoding as encode
        from treewise.tree.tree import Tree

        if not isinstance(model, Tree) or leaves is None or not model.arrays.rows[0] > 0:
            return
        a = model.arrays
        for i, (encoding, values) in enumerate(zip(model.encodings, rows.columns, strict=True)):
            if values is None or np.any(a.missing_rows[a.column == i] > 0):
                continue
            missing = encode.is_missing(encoding, values)
            if missing.any() and (n := int(np.count_nonzero(missing & np.array(_tests_above(model, i))[leaves]))):
                self.missing[i] = n

    def _count_fractions(self, model: Model, rows: EncodedRows) -> None:
        import numpy as np

        for i, (encoding, values) in enumerate(zip(model.encodings, rows.columns, strict=True)):
            if values is None or not encoding.numbers:
                continue
            is_binary = encoding.numbers == "binary"
            is_learned = (values == 0) | (values == 1) if is_binary else np.floor(values) == values
            if not is_learned.all() and (n := int(np.count_nonzero(~is_learned & ~np.isnan(values)))):
                self.fractions[i] = n


def _has_unseen(model: Model, rows: EncodedRows) -> bool:
    from treewise.data.encoding import UNSEEN

    pairs = zip(model.encodings, rows.columns, strict=True)
    return any(e.is_categorical and values is not None and bool((values == UNSEEN).any()) for e, values in pairs)


def _tests_above(tree: Tree, column: int) -> Sequence[bool]:
    """Whether the path to each node tests a column."""
    parent, tests = tree.arrays.parent.tolist(), (tree.arrays.column == column).tolist()
    above = [bool(tests[0])]
    for node in range(1, len(parent)):
        above.append(tests[node] or above[parent[node]])
    return above
