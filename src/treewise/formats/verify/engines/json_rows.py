"""Engine "json": walks the steps of a JSON export as its documented schema says, in plain Python."""

from __future__ import annotations

import json
from typing import Any

from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import Encoding
from treewise.formats.verify.engines.registry import Export, Outputs
from treewise.formats.verify.fuzz import NS_PER_DAY, Cell, EngineLimits, Rows

LIMITS = EngineLimits(surrogates=True)


def find() -> str:
    """Return the name: there is nothing to install."""
    return "JSON schema walker"


def run(export: Export, rows: Rows) -> Outputs:
    """Walk every row through every tree."""
    model = json.loads(export.text)
    trees: dict[int, list[dict[str, Any]]] = {}
    for step in model["steps"]:
        trees.setdefault(step["tree"], []).append(step)
    inputs = export.program.inputs
    cells = {e.name: [_convert(cell, e) for cell in column] for e, column in zip(inputs, rows.cells, strict=True)}
    tree_answers = [[_walk(steps, cells, i) for steps in trees.values()] for i in range(len(rows))]
    if model["combine"]["how"] == "tree":
        answers = [row[0] for row in tree_answers]
        probabilities = None if export.program.is_regression else [answer["probabilities"] for answer in answers]
        return Outputs([a["prediction"] for a in answers], probabilities, [a["node"] for a in answers])
    leaves = [None if row[0]["node"] is None else [answer["node"] for answer in row] for row in tree_answers]
    sums = [None if any(a["prediction"] is None for a in row) else _combine(model, row) for row in tree_answers]
    if export.program.is_regression:
        return Outputs(sums, None, leaves)
    classes = model["target"]["classes"]
    predictions = [None if each is None else classes[each[0].index(max(each[0]))] for each in sums]
    return Outputs(predictions, [None if each is None else each[1] for each in sums], leaves)


def _walk(steps: list[dict[str, Any]], cells: dict[str, list[Any]], i: int) -> dict[str, Any]:
    step = steps[0]
    while step["test"] != "answer":
        cell = cells[step["column"]][i]
        if cell is None:
            step = steps[step["missing"]]
        elif step["test"] == "level":
            step = steps[next((to for levels, to in step["cases"] if cell in levels), step["default"])]
        else:
            holds = step["test"] == "present" or (cell <= step["cut"] if step["test"] == "<=" else cell < step["cut"])
            step = steps[step["below"] if holds else step["above"]]
    return step


def _combine(model: dict[str, Any], row: list[dict[str, Any]]) -> Any:
    """Return the value, or the scores and the probabilities of the classes."""
    combine = model["combine"]
    if model["target"]["task"] == "regression":
        total = 0.0
        for answer in row:
            total += answer["prediction"] / combine["unit"]
        return total / combine["divisor"] * combine["unit"]
    classes = model["target"]["classes"]
    sums = [0.0] * len(classes)
    for t, answer in enumerate(row):
        if combine["how"] == "vote":
            sums[classes.index(answer["prediction"])] += combine["votes"][t]
            continue
        for k, share in enumerate(answer["probabilities"]):
            sums[k] += share
    if combine["how"] == "mean":
        means = [each / combine["divisor"] for each in sums]
        return means, means
    total = 0.0
    for vote in sums:
        total += vote
    return sums, [vote / (total if total > 0 else 1.0) for vote in sums]


def _convert(cell: Cell, encoding: Encoding) -> Any:
    """Return a cell as the schema has it: datetimes in ticks, booleans as "true" and "false", None for missing."""
    if cell is None or cell != cell:
        return None
    if encoding.kind == "datetime":
        return int(cell) // (NS_PER_DAY // TICKS_PER_DAY[encoding.unit])
    return encoding.levels[int(cell)] if encoding.kind == "boolean" else cell
