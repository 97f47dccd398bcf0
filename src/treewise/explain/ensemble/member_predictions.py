"""The trees of an ensemble as a panel: asked one after another about the rows of a table.

Beneath the other files of this folder, on ``ensemble/predict.py``, which walks rows down all trees. Columns are encoded
once for all trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise.data import encoding as encode
from treewise.data.table import Table
from treewise.ensemble import Ensemble
from treewise.evaluate.evaluate import ComparedRows, refuse_infinite
from treewise.predict.predict import read_rows, series_as_dict, to_core_columns
from treewise.train.true_labels import class_places

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class MemberPredictions:
    """An ensemble and the rows it is asked about."""

    ensemble: Ensemble
    table: Table
    single: bool  # whether it is one row, which was not in a table
    columns: list[npt.NDArray[Any] | None]  # encoded; None for those that no tree asks about

    @classmethod
    def of(cls, ensemble: Ensemble, data: Any) -> MemberPredictions:
        """Read the rows."""
        table, single = read_rows(ensemble, series_as_dict(ensemble, data))
        return cls.on(ensemble, table, single)

    @classmethod
    def on(cls, ensemble: Ensemble, table: Table, single: bool = False) -> MemberPredictions:
        """Take a table that was read already."""
        return cls(ensemble, table, single, ensemble.voting.encoded(table))

    def __len__(self) -> int:
        return len(self.table)

    def each(self, said: _core.Said | None = None, progress: Progress | None = None) -> Iterator[Floats]:
        """Go through what each tree adds to the answers, rows × classes, or × 1 for numbers.

        That is shares of classes, or its vote for a class, or a value in the unit of ``ensemble.voting``; ``said`` asks
        for another of these.
        """
        voting, trees = self.ensemble.voting, len(self.ensemble)
        columns = to_core_columns(self.ensemble.encodings, self.columns)
        for t in range(trees):
            adds = np.zeros((len(self), voting.width))
            voting.voter.add(columns, len(self), said or voting.said, t, t + 1, adds)
            yield adds
            if progress is not None:
                progress((t + 1) / trees)


def true_answers(ensemble: Ensemble, here: ComparedRows) -> npt.NDArray[Any]:
    """Return the true answers as trees say theirs: class numbers, those they do not know last; or values."""
    if ensemble.task == "classification":
        return class_places(ensemble, here.column)[0]
    truth = encode.encode_numbers(here.column)
    refuse_infinite(truth, here)
    return truth
