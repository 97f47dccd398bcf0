"""Rows and answers in files of numbers and texts, for engines that run in a process of their own: R and Java.

    column i     numbers: doubles; everything else: the length of each text in bytes (-1: missing), then the texts
    answers      doubles: class numbers or values, then probabilities row by row, then leaves; NaN for no answer
    classes      texts, as above

All numbers are big-endian. Datetimes are microseconds since 1970, or nanoseconds if the column has them; booleans the
texts "true" and "false".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treewise.data.encoding import Encoding
from treewise.formats.export.program import Program
from treewise.formats.verify.engines.registry import Outputs
from treewise.formats.verify.fuzz import Cell, Rows


def write_rows(folder: Path, inputs: Sequence[Encoding], rows: Rows) -> None:
    """Write a file for each column, and one with the names of the columns."""
    (folder / "names").write_bytes(_texts([encoding.name for encoding in inputs]))
    for i, (encoding, cells) in enumerate(zip(inputs, rows.cells, strict=True)):
        if encoding.kind == "number":
            content = np.array([math.nan if cell is None else cell for cell in cells], ">f8").tobytes()
        else:
            content = _texts([_text(encoding, cell) for cell in cells])
        (folder / f"column{i}").write_bytes(content)


def _text(encoding: Encoding, cell: Cell) -> str | None:
    if cell is None:
        return None
    if encoding.kind == "datetime":
        return str(int(cell) // (1 if encoding.unit == "ns" else 1000))
    return str(cell).lower() if encoding.kind == "boolean" else str(cell)


def _texts(texts: Sequence[str | None]) -> bytes:
    coded = [None if text is None else text.encode() for text in texts]
    lengths = np.array([-1 if each is None else len(each) for each in coded], ">i4")
    return lengths.tobytes() + b"".join(each or b"" for each in coded)


def read_outputs(folder: Path, program: Program, n: int) -> Outputs:
    """Read the answers of n rows."""
    k, trees = len(program.classes), len(program.routines)
    numbers = np.fromfile(folder / "answers", ">f8")
    first, shares, nodes = np.split(numbers, [n, n + n * k])
    leaves = [
        None if row[0] != row[0] else list(map(int, row)) if program.combine != "tree" else int(row[0])
        for row in nodes.reshape(n, trees).tolist()
    ]
    if program.is_regression:
        return Outputs([None if v != v else v for v in first.tolist()], None, leaves)
    labels = _labels((folder / "classes").read_bytes(), program)
    prediction = [None if c != c else labels[int(c)] for c in first.tolist()]
    rows = shares.reshape(n, k).tolist()
    probabilities = [None if any(map(math.isnan, row)) else row for row in rows]
    return Outputs(prediction, probabilities, leaves)


def _labels(content: bytes, program: Program) -> list[Any]:
    """Return the classes as the export spells them, if they are texts."""
    k = len(program.classes)
    kinds = {type(label) for label in program.classes}
    if kinds != {str}:
        return [str(label) for label in program.classes] if len(kinds) > 1 else list(program.classes)
    ends = (4 * k + np.cumsum(np.frombuffer(content[: 4 * k], ">i4"))).tolist()
    return [content[a:b].decode() for a, b in zip([4 * k, *ends[:-1]], ends, strict=True)]
