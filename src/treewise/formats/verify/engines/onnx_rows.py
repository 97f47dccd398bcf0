"""Shared by the ONNX engines: rows as tensors, and the outputs of a graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import INT64_MIN, Encoding
from treewise.formats.verify.engines.registry import Export, Outputs
from treewise.formats.verify.fuzz import NS_PER_DAY, Cell, EngineLimits, Rows

LIMITS = EngineLimits(nul=False, empty=False)


def feeds(export: Export, rows: Rows) -> dict[str, Any]:
    """Return the inputs of the graph by name: arrays of one column."""
    return {
        name: _column(encoding, cells, export.stamp["missing"])[:, None]
        for name, encoding, cells in zip(export.stamp["inputs"], export.program.inputs, rows.cells, strict=True)
    }


def _column(encoding: Encoding, cells: list[Cell], missing: str) -> Any:
    if encoding.kind in ("number", "boolean"):
        return np.array([math.nan if cell is None else cell for cell in cells], np.float64)
    if encoding.kind in ("nominal", "ordered"):
        return np.array([missing if cell is None else cell for cell in cells], object)
    step = NS_PER_DAY // TICKS_PER_DAY[encoding.unit] if encoding.kind == "datetime" else 1
    return np.array([INT64_MIN if cell is None else int(cell) // step for cell in cells], np.int64)


def outputs(export: Export, arrays: list[Any]) -> Outputs:
    """Return the arrays of a graph as outputs; NaN stands for no answer."""
    program = export.program
    if program.is_regression:
        prediction, leaf = (np.asarray(array).tolist() for array in arrays)
        return Outputs([None if math.isnan(value) else value for value in prediction], None, _leaves(leaf))
    labels, shares, leaf = (np.asarray(array).tolist() for array in arrays)
    answered = [not math.isnan(row[0]) for row in shares]
    return Outputs(
        [label if ok else None for label, ok in zip(labels, answered, strict=True)],
        [row if ok else None for row, ok in zip(shares, answered, strict=True)],
        _leaves(leaf),
    )


def _leaves(leaf: list[Any]) -> list[Any]:
    return [None if np.min(numbers) < 0 else numbers for numbers in leaf]
