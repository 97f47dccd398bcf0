"""Many trees asked for predictions: rows that are typed, answers as columns and in words, what was never seen.

Beneath the verbs predict and explain; ``of_one.py`` is the same for a single tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treewise._lib.text import format_percent, plural, safe
from treewise.errors import ColumnError, did_you_mean, listing

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.ensemble import Ensemble


@dataclass(frozen=True)
class EnsemblePredictor:
    """Trees that answer together."""

    trees: Ensemble
    proba: bool = False

    def typed(self, rows: Sequence[dict[str, Any]]) -> Table:
        """Read rows that are typed in; of a column that some tree asks about, something must be said."""
        from treewise.data.table import read
        from treewise.predict.predict import also_missing

        needed = asked_columns(self.trees)
        for row in rows:
            gone = [name for name in needed if name not in row]
            if gone:
                raise ColumnError(
                    f'the row has no column "{safe(gone[0])}", which some of the trees ask for.'
                    f"{did_you_mean(gone[0], row)}{also_missing(gone[1:])}"
                    " A value that is not known can be left open: COLUMN="
                )
        cells = [{**dict.fromkeys(self.trees.columns), **row} for row in rows]
        return read(cells, name="the row" if len(rows) == 1 else "the rows", na_values=self.trees.na_values)

    def columns(self, table: Table) -> dict[str, Any]:
        """Return the predictions as columns: prediction, probabilities."""
        made: dict[str, Any] = {"prediction": self.trees.predict(table)}
        if self.proba and self.trees.classes:
            shares = self.trees.predict_proba(table)
            made |= {f"p_{label}": shares[:, i] for i, label in enumerate(self.trees.classes)}
        return made

    def sentences(self, table: Table) -> list[str]:
        """Say what is predicted for each row, and how far the trees agree."""
        from treewise.explain.ensemble.explanation import answers_in_words

        said = []
        shares = self.trees.predict_proba(table) if self.proba and self.trees.classes else None
        for i, sentence in enumerate(answers_in_words(self.trees, table)):
            said.append(sentence)
            if shares is not None:
                each = zip(self.trees.classes, shares[i].tolist(), strict=True)
                said.append("  ".join(f"{safe(label)} {format_percent(share)} %" for label, share in each))
        return said

    def notes(self, table: Table) -> list[str]:
        """Note categories that no tree has ever seen, in columns that some tree asks about."""
        import numpy as np

        from treewise.data import encoding as encode

        notes = []
        for encoding in self.trees.encodings:
            if not encoding.is_categorical or encoding.name not in asked_columns(self.trees):
                continue
            column = table[encoding.name]
            rows = np.flatnonzero(encode.encode_column(encoding, column, table.name) == encode.UNSEEN)
            if len(rows):
                labels = sorted({column.format_cell(row) for row in rows[:1000].tolist()})
                said = f"never-seen {listing(labels, most=3)} in {plural(len(rows), 'row')}"
                notes.append(f"{safe(encoding.name)}: {said}")
        return notes


def asked_columns(trees: Ensemble) -> list[str]:
    """Return the columns that some tree asks about."""
    import numpy as np

    return [trees.columns[i] for i in np.unique(trees.members.column).tolist()]
