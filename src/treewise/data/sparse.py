"""Read sparse matrices of SciPy, column by column.

The core compares values in arrays, so a column that is used becomes dense; a prediction reads only the columns that the
model tests. Entries that are not stored are zeros, as in SciPy; missing values are stored NaNs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewise._lib.available_memory import available_memory
from treewise._lib.text import plural
from treewise.data.column import Array
from treewise.errors import DataError


def is_sparse(data: Any) -> bool:
    """Tell whether this is a sparse matrix or array of SciPy, without importing it."""
    return type(data).__module__.startswith("scipy.sparse") and hasattr(data, "tocsc")


class SparseColumns:
    """The columns of a sparse matrix as dense arrays, up to half of the memory that is free.

    >>> from scipy.sparse import csr_array
    >>> columns = SparseColumns(csr_array([[0.0, 1.5], [2.0, 0.0]]), "the table")
    >>> columns.n_rows, columns.n_columns, columns.read(1).tolist()
    (2, 2, [1.5, 0.0])
    """

    def __init__(self, matrix: Any, table: str) -> None:
        if matrix.ndim != 2:
            raise DataError(f"{table} is a sparse array with {plural(matrix.ndim, 'dimension')}; a table has two.")
        self.matrix = matrix.tocsc()
        if not self.matrix.has_canonical_format:
            self.matrix = self.matrix.copy()
            self.matrix.sum_duplicates()
        self.table = table
        self.n_rows, self.n_columns = self.matrix.shape
        self.limit = available_memory() // 2
        self.n_dense = 0

    def read(self, column: int) -> Array:
        """Return a column as a dense array."""
        self.n_dense += 1
        if self.n_dense * self.n_rows * self.matrix.dtype.itemsize > self.limit:
            total = self.n_rows * self.n_columns * self.matrix.dtype.itemsize
            raise DataError(
                f"{self.table} is sparse, and the columns that are used become dense: all {self.n_columns:,} take"
                f" {total / 1e9:,.1f} GB, of which {self.limit / 1e9:,.1f} GB (half of what is free) may be taken.",
                hint="Select columns, or give float32.",
            )
        values = np.zeros(self.n_rows, self.matrix.dtype)
        stored = slice(*self.matrix.indptr[column : column + 2])
        values[self.matrix.indices[stored]] = self.matrix.data[stored]
        return values
