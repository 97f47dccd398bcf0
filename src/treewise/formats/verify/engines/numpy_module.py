"""Engine "numpy": runs a NumPy module in this process, on whole columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewise.data.column import NAT
from treewise.data.encoding import Encoding
from treewise.formats.verify.engines.registry import Export, Outputs
from treewise.formats.verify.fuzz import Cell, EngineLimits, Rows

LIMITS = EngineLimits(surrogates=True)


def find() -> str:
    """Return the version of NumPy."""
    return f"NumPy {np.__version__}"


def run(export: Export, rows: Rows) -> Outputs:
    """Execute the module and call its functions."""
    module: dict[str, Any] = {}
    exec(compile(export.text, "<export>", "exec"), module)
    program = export.program
    columns = {e.name: _column(e, cells) for e, cells in zip(program.inputs, rows.cells, strict=True)}
    nodes = module["apply"](columns).tolist()
    many = program.combine != "tree"
    leaves = [None if (node[0] if many else node) < 0 else node for node in nodes]
    if program.is_regression:
        return Outputs(module["predict"](columns).tolist(), None, leaves)
    shares = module["predict_proba"](columns).tolist()
    probabilities = [None if row[0] != row[0] else row for row in shares]
    return Outputs(module["predict"](columns).tolist(), probabilities, leaves)


def _column(encoding: Encoding, cells: list[Cell]) -> Any:
    if encoding.kind == "number":
        return np.array([np.nan if cell is None else cell for cell in cells])
    if encoding.kind == "datetime":
        unit, nanoseconds = ("ns", 1) if encoding.unit == "ns" else ("us", 1000)
        ticks = [NAT if cell is None else int(cell) // nanoseconds for cell in cells]
        return np.array(ticks, np.int64).view(f"datetime64[{unit}]")
    column = np.empty(len(cells), object)
    column[:] = cells
    return column
