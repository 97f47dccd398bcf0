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
from treewise.ensemble import Ensemble
from treewise.evaluate.evaluate import ComparedRows, refuse_infinite
from treewise.predict.predict import EncodedRows, to_core_columns
from treewise.train.true_labels import class_places

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class MemberPredictions:
    """An ensemble and the rows it is asked about."""

    ensemble: Ensemble
    rows: EncodedRows

    @classmethod
    def of(cls, ensemble: Ensemble, data: Any) -> MemberPredictions:
        """Read and encode the rows."""
        return cls(ensemble, ensemble.encode(data))

    def __len__(self) -> int:
        return len(self.rows)

    def each(self, said: _core.Output | None = None, progress: Progress | None = None) -> Iterator[Floats]:
        """Go through what each tree adds to the answers, rows × classes, or × 1 for numbers.

        That is shares of classes, or its vote for a class, or a value in the unit of ``ensemble.predictor``; ``said`` asks
        for another of these.
        """
        predictor, trees = self.ensemble.predictor, len(self.ensemble)
        columns = to_core_columns(self.ensemble.encodings, self.rows.columns)
        for t in range(trees):
            adds = np.zeros((len(self), predictor.width))
            predictor.voter.add(columns, len(self), said or predictor.said, t, t + 1, adds)
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
