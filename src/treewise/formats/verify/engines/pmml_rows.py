"""Shared by the PMML engines: rows by name, and the outputs of a model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treewise.formats.verify.engines.registry import Export, Outputs
from treewise.formats.verify.fuzz import EngineLimits, Rows

LIMITS = EngineLimits(nul=False, controls=False)


def rows_by_name(export: Export, rows: Rows) -> Iterator[dict[str, Any]]:
    """Yield the rows; missing values are None."""
    names = [encoding.name for encoding in export.program.inputs]
    for cells in zip(*rows.cells, strict=True) if rows.cells else [()]:
        yield {name: None if cell is None or cell != cell else cell for name, cell in zip(names, cells, strict=True)}


def read_outputs(export: Export, records: Sequence[Mapping[str, Any]]) -> Outputs:
    """Return the outputs of a model by name; inner nodes and absent scores are not answers."""
    program = export.program
    prediction, *probabilities, leaf = export.stamp["outputs"]
    labels = {str(label): label for label in program.classes}
    leaves = [_number(row.get(leaf)) for row in records]
    if program.is_regression:
        values = [row.get(prediction) for row in records]
        return Outputs([None if v is None or math.isnan(v) else v for v in values], None, leaves)
    classes = [labels.get(str(row.get(prediction))) for row in records]
    shares = [[row.get(name) for name in probabilities] for row in records]
    return Outputs(
        classes, [None if label is None else row for label, row in zip(classes, shares, strict=True)], leaves
    )


def _number(node: Any) -> int | None:
    return int(node) if node is not None and str(node).lstrip("-").isdecimal() and int(node) >= 0 else None
