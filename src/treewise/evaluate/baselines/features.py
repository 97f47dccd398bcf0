"""A table as numbers only, for models that know nothing else: indicators of categories (CS221 notes 6), scaled numbers.

Used by ``models.py``. "A feature vector which has a {0, 1} entry for each possible value of each feature": so are
categories written here, an entry for each level that the training rows have. Numbers are shifted and scaled to mean 0
and deviation 1 by the training rows; a missing one becomes the mean, and an entry of its own says that it was missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.train.training_set import TrainingSet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Writer = Callable[[npt.NDArray[Any]], Floats]

LARGEST_DENSE = 50_000_000  # numbers; a larger table is kept sparse


class FeatureMatrix:
    """Writes rows as numbers, in the way that some training rows suggest."""

    def __init__(self, training: TrainingSet) -> None:
        self.writers: list[Writer] = []
        self.numbers = self.indicators = 0
        for encoding, values in zip(training.encodings, training.columns, strict=True):
            (self._add_levels if encoding.is_categorical else self._add_number)(encoding, values)

    def _add_number(self, encoding: Encoding, values: npt.NDArray[Any]) -> None:
        gone = encode.is_missing(encoding, values)
        known = np.clip(values[~gone].astype(np.float64), -1e150, 1e150)
        mean = float(known.mean()) if len(known) else 0.0
        scale = (float(known.std()) if len(known) else 0.0) or 1.0
        any_gone = bool(gone.any())
        self.numbers += 1
        self.indicators += any_gone

        def write(values: npt.NDArray[Any]) -> Floats:
            gone = encode.is_missing(encoding, values)
            scaled = (np.clip(np.where(gone, mean, values.astype(np.float64)), -1e150, 1e150) - mean) / scale
            return np.column_stack([scaled, gone]) if any_gone else scaled[:, None]

        self.writers.append(write)

    def _add_levels(self, encoding: Encoding, values: npt.NDArray[Any]) -> None:
        present = np.unique(values)  # missing is a level here
        self.indicators += len(present)
        self.writers.append(lambda values: (values[:, None] == present).astype(np.float64))

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return self.numbers + self.indicators

    def write(self, rows: TrainingSet) -> Any:
        """Return rows as a matrix of numbers, sparse where it is large."""
        parts = (write(values) for write, values in zip(self.writers, rows.columns, strict=True))
        if not self.writers:
            return np.zeros((len(rows), 1))
        if len(rows) * self.width <= LARGEST_DENSE:
            return np.hstack(list(parts))
        from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]

        return hstack([csr_matrix(part) for part in parts], format="csr")
