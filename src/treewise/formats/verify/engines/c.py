"""Engine "c": compiles the header with the system's C compiler and calls it through a shared library."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import INT64_MIN, Encoding
from treewise.errors import DataError
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import NS_PER_DAY, Cell, EngineLimits, Rows

LIMITS = EngineLimits(nul=False)
_FLAGS = (
    "-std=c99",
    "-O1",
    "-shared",
    "-fPIC",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-function",
    "-ffp-contract=off",
)


def find() -> str:
    """Return the version of the compiler."""
    return subprocess.run([_compiler(), "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]


def _compiler() -> str:
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise NotInstalled("no C compiler: install gcc or clang")
    return compiler


def run(export: Export, rows: Rows) -> Outputs:
    """Compile the header with a loop over rows, and call that loop."""
    program, n = export.program, len(rows)
    many, regression = program.combine != "tree", program.is_regression
    width, trees = max(1, len(program.classes)), len(program.routines)
    with tempfile.TemporaryDirectory() as folder:
        library = compile_header(export, Path(folder))
        columns = [_column(e, cells) for e, cells in zip(program.inputs, rows.cells, strict=True)]
        pointers = (ctypes.c_void_p * max(1, len(columns)))(*(_address(column) for column in columns))
        predicted = np.empty(n, np.float64 if regression else np.int32)
        shares, nodes = np.empty((n, width)), np.empty((n, trees), np.int32)
        library.run_rows(
            ctypes.c_int64(n), pointers, *(ctypes.c_void_p(a.ctypes.data) for a in (predicted, shares, nodes))
        )
    leaves: list[Any] = [None if row[0] < 0 else row if many else row[0] for row in nodes.tolist()]
    if regression:
        return Outputs(predicted.tolist(), None, leaves)
    labels = [None if c < 0 else program.classes[c] for c in predicted.tolist()]
    probabilities = [None if c < 0 else row for c, row in zip(predicted.tolist(), shares.tolist(), strict=True)]
    return Outputs(labels, probabilities, leaves)


def compile_header(export: Export, folder: Path) -> Any:
    """Return the header as a loaded library with a function ``run_rows``."""
    (folder / "model.h").write_text(export.text, encoding="utf-8")
    (folder / "rows.c").write_text("\n".join(_loop(export)), encoding="utf-8")
    target = folder / "rows.so"
    command = [_compiler(), *_FLAGS, "-o", str(target), str(folder / "rows.c")]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise DataError(f"the export does not compile: {completed.stderr.strip()[:2000]}")
    return ctypes.CDLL(str(target))


def _loop(export: Export) -> Iterator[str]:
    """Yield a C file with one function over all rows; the columns are arrays, in the order of the struct's fields."""
    program, name = export.program, export.stamp["name"]
    types = {"number": "double", "integer": "int64_t", "datetime": "int64_t", "boolean": "int8_t"}
    yield '#include "model.h"'
    yield "void run_rows(int64_t n, void **columns, void *predicted, double *shares, int32_t *nodes) {"
    yield f"    for (int64_t i = 0; i < n; ++i) {{\n        const {name}_row row = {{"
    for i, encoding in enumerate(program.inputs):
        yield f"            ((const {types.get(encoding.kind, 'char *')} *)columns[{i}])[i],"
    yield "        0};" if not program.inputs else "        };"
    k, trees = max(1, len(program.classes)), len(program.routines)
    yield "        (void)columns; (void)shares;"
    if program.is_regression:
        yield f"        ((double *)predicted)[i] = {name}_predict(&row);"
    else:
        yield f"        ((int32_t *)predicted)[i] = {name}_predict(&row);"
        yield f"        if ({name}_predict_proba(&row, shares + i * {k}) != ((int32_t *)predicted)[i])"
        yield "            ((int32_t *)predicted)[i] = -2;"
    many = program.combine != "tree"
    yield f"        {name}_apply(&row, nodes + i * {trees});" if many else f"        nodes[i] = {name}_apply(&row);"
    yield "    }\n}\n"


def _column(encoding: Encoding, cells: list[Cell]) -> Any:
    if encoding.kind == "number":
        return np.array([np.nan if cell is None else cell for cell in cells], np.float64)
    if encoding.kind == "boolean":
        return np.array([-1 if cell is None else cell for cell in cells], np.int8)
    if not encoding.is_categorical:
        step = NS_PER_DAY // TICKS_PER_DAY[encoding.unit] if encoding.kind == "datetime" else 1
        return np.array([INT64_MIN if cell is None else int(cell) // step for cell in cells], np.int64)
    return (ctypes.c_char_p * len(cells))(*(None if cell is None else str(cell).encode() for cell in cells))


def _address(column: Any) -> int:
    return int(column.ctypes.data) if isinstance(column, np.ndarray) else ctypes.addressof(column)
