"""Engine "python": runs a Python module in this process."""

from __future__ import annotations

import datetime as dt
import platform
from typing import Any

from treewise.data.encoding import Encoding
from treewise.formats.verify.engines.registry import Export, Outputs
from treewise.formats.verify.fuzz import Cell, EngineLimits, Rows

LIMITS = EngineLimits(surrogates=True)
EPOCH = dt.datetime(1970, 1, 1)


def find() -> str:
    """Return the version of the interpreter."""
    return f"Python {platform.python_version()}"


def run(export: Export, rows: Rows) -> Outputs:
    """Execute the module and call its functions row by row."""
    module: dict[str, Any] = {}
    exec(compile(export.text, "<export>", "exec"), module)
    inputs = export.program.inputs
    names = [encoding.name for encoding in inputs]
    columns = [[to_python(cell, e) for cell in column] for e, column in zip(inputs, rows.cells, strict=True)]
    dicts = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)] if columns else [{}]
    probabilities = None
    if not export.program.is_regression:
        shares = [module["predict_proba"](row) for row in dicts]
        probabilities = [None if each is None else list(each.values()) for each in shares]
    return Outputs([module["predict"](row) for row in dicts], probabilities, [module["apply"](row) for row in dicts])


def to_python(cell: Cell, encoding: Encoding) -> Any:
    """Return a cell as Python users have it: a datetime, except in nanoseconds, which it cannot hold."""
    if encoding.kind != "datetime" or cell is None:
        return cell
    assert not isinstance(cell, str)
    return int(cell) if encoding.unit == "ns" else EPOCH + dt.timedelta(microseconds=int(cell) // 1000)
