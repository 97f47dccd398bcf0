"""The data of the page as plain values: arrays and conditions of the tree, and statistics of its nodes on two tables.

The script of the page draws and predicts from these alone (``assets/model.js``). Nothing is computed twice: conditions
are those of the text tree, merged conditions those of ``tree/regions``, candidates those of the trace.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_exact, format_p_value, format_rounded, plural, safe
from treewise.data.encoding import UNSEEN, Encoding, encode_column, is_missing
from treewise.data.table import Table
from treewise.explain.row_explanation.counterfactual import distance_unit
from treewise.explain.rules import columns_with_missing, conditions_by_column
from treewise.explain.trace import ColumnTrace, Trace
from treewise.predict.leaf_probabilities import nodes_with_counts
from treewise.predict.predict import encode_columns, find_leaves
from treewise.show.palette import CLASS_COLOURS
from treewise.show.report.plots import unit_text
from treewise.show.text_tree.conditions import ConditionText
from treewise.tree.arrays import KIND_NUMBERS, LEAF, STOPS
from treewise.tree.regions.region import regions
from treewise.tree.tree import Tree

REASONS = {
    "no_rows": "no row reaches it",
    "pure": "all its rows have the same label",
    "sufficient_accuracy": "it is accurate enough",
    "max_depth": "it is at the maximum depth",
    "min_samples_split": "it has too few rows to be split",
    "no_candidate": "no split separates its rows",
    "min_samples_leaf": "every split would leave too few rows in a branch",
    "min_impurity_decrease": "no split gains enough",
    "max_leaf_nodes": "the tree has the maximum number of leaves",
    "by_hand": "it was written by hand",
    "imported": "it was imported as a leaf",
    "not_significant": "no column is significantly related to the target",
    "constraints": "the constraints forbid every split",
    "not_yet": "it has not been split yet",
    **{
        stop: f"the splits below it were pruned ({stop[7:-1].replace('_', ' ')})"
        for stop in STOPS
        if stop.startswith("pruned(")
    },
}
MIN_ROWS_PER_LEVEL = 10  # a page without rows names no level of fewer rows
_MAX_RULE_LETTERS = 1_000_000  # of merged conditions in the file
_MAX_BRANCH_WIDTH = 30  # letters of a label in the picture
_MAX_LISTED_LEVELS = 12  # of a merged condition


def tree_facts(tree: Tree, test: Tree | None, training: Table | None = None) -> dict[str, Any]:
    """Return the tree for the page; ``test`` is the same tree refitted on the test table.

    The ``training`` table gives the range of each column, rounded outwards so that it reveals no cell of a row.
    """
    a, cost = tree.arrays, tree.cost
    used = set(a.column.tolist())
    facts: dict[str, Any] = {
        "task": tree.task,
        "target": safe(tree.target.name),
        "classes": [safe(label) for label in tree.classes],
        "positive": 1 if len(tree.classes) == 2 else None,
        "colours": list(CLASS_COLOURS),
        "columns": [_column_facts(tree, i, i in used, training) for i in range(len(tree.encodings))],
        "nodes": _node_facts(tree),
        "rules": _merged_conditions(tree),
        "reasons": {name: reason for name, reason in REASONS.items() if name in set(_stop_reasons(tree))},
        "stays_at_root": tree.empty_branch == "root",
        "cost": None if cost is None else cost.matrix.tolist(),
        "test": None if test is None else _statistics(test),
    }
    if tree.task == "regression":
        known = a.value[(a.kind == LEAF) & ~np.isnan(a.value)]
        facts["range"] = [float(known.min()), float(known.max())] if len(known) else [0.0, 0.0]
    return facts


def _column_facts(tree: Tree, column: int, is_used: bool, training: Table | None) -> dict[str, Any]:
    """Return how to read a value of a column, and its training range; levels only if the tree uses them."""
    encoding = tree.encodings[column]
    facts: dict[str, Any] = {"name": safe(encoding.name), "kind": encoding.kind}
    if is_used and not encoding.is_categorical:
        facts["scale"] = distance_unit(tree, column)[0]
    if is_used and training is not None and encoding.name in training.columns:
        values = encode_column(encoding, training[encoding.name], training.name)
        missing = is_missing(encoding, values)
        facts["never_missing"] = not bool(missing.any())
        facts["range"] = None if encoding.is_categorical else _training_range(encoding, values[~missing])
    if encoding.is_categorical and is_used:
        facts["levels"] = [safe(level) for level in encoding.levels]
    return {**facts, "unit": encoding.unit} if encoding.unit else facts


def _training_range(encoding: Encoding, values: npt.NDArray[Any]) -> dict[str, Any] | None:
    """Return the range of the values of a column: its ends, as the page compares them, and as text."""
    if not len(values):
        return None
    low, high = values.min().item(), values.max().item()
    if encoding.kind == "datetime":
        text = " to ".join(encoding.format(end) for end in (low, high))
        return {"low": str(low), "high": str(high), "text": text}
    low, high = (_round_outwards(float(end), is_up) for end, is_up in ((low, False), (high, True)))
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    return {"low": low, "high": high, "text": f"{format_rounded(low)} to {format_rounded(high)}{unit_text(encoding)}"}


def _round_outwards(value: float, is_up: bool) -> float:
    """Round to three significant digits, up or down.

    >>> _round_outwards(250898.09, True), _round_outwards(11.58, False), _round_outwards(-0.01234, False)
    (251000.0, 11.5, -0.0124)
    """
    if not value or not np.isfinite(value):
        return value
    decimals = 2 - math.floor(math.log10(abs(value)))
    step = 10.0**-decimals if decimals < 300 else 0.0
    if not step or not np.isfinite(step):
        return value
    return round((math.ceil if is_up else math.floor)(round(value / step, 6)) * step, decimals)


def _stop_reasons(tree: Tree) -> list[str]:
    return [STOPS[stop] for stop in tree.arrays.stop.tolist()]


def _node_facts(tree: Tree) -> dict[str, Any]:
    """Return the arrays of the nodes, and the condition that leads to each, with and without the name of the column."""
    a, text = tree.arrays, ConditionText(tree)
    conditions, branch_texts = ["all rows"] * len(tree), [""] * len(tree)
    for node in np.flatnonzero(a.kind != LEAF).tolist():
        for child, condition in zip(tree.children(node), text.branches(node), strict=True):
            conditions[child] = condition
        for child, branch in zip(tree.children(node), text.without_column(node, _MAX_BRANCH_WIDTH), strict=True):
            branch_texts[child] = f"≤{branch[2:]}" if branch.startswith("<=") else branch
    starts = a.code_start.tolist()
    codes = a.codes.tolist()
    return {
        "parent": a.parent.tolist(),
        "kind": a.kind.tolist(),
        "column": a.column.tolist(),
        "cut": list(_thresholds(tree)),
        "codes": [codes[starts[i] : starts[i + 1]] for i in range(len(tree))],
        "missing": a.missing.tolist(),
        "other": a.other.tolist(),
        "stop": _stop_reasons(tree),
        "condition": conditions,
        "branch_text": branch_texts,
        "label": a.label.tolist() if tree.task == "classification" else [],
        "answering": nodes_with_counts(tree).tolist(),
        "weight": a.weight.tolist(),
        **_statistics(tree),
    }


def _thresholds(tree: Tree) -> Iterator[float | str | None]:
    """Yield the threshold of each node; as text where a JavaScript number could not hold it."""
    a = tree.arrays  # as stored: a presence test of a number is a threshold above every value
    for node in range(len(tree)):
        if a.kind[node] != KIND_NUMBERS["threshold"]:
            yield None
        elif tree.encodings[a.column[node]].kind == "number":
            yield _json_number(float(a.cut[node]))
        else:
            yield str(int(a.cut_int[node]))


def _statistics(tree: Tree) -> dict[str, Any]:
    """Return the statistics of each node on one table."""
    a = tree.arrays
    facts: dict[str, Any] = {"rows": a.rows.tolist()}
    if tree.task == "regression":
        facts["value"] = [_finite(value) for value in a.value.tolist()]
        facts["spread"] = [_finite(value) for value in a.spread.tolist()]
        return facts
    starts, classes, weights = a.count_start.tolist(), a.count_class.tolist(), a.count_weight.tolist()
    facts["counts"] = [
        [item for i in range(starts[node], starts[node + 1]) for item in (classes[i], _shorten_count(weights[i]))]
        for node in range(len(tree))
    ]
    return facts


def _shorten_count(weight: float) -> float | int:
    return int(weight) if weight == int(weight) else weight


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _merged_conditions(tree: Tree) -> dict[int, list[tuple[int, str]]]:
    """Return the merged conditions of each node, each with its column, up to a total length.

    The page joins the path of the other nodes.
    """
    by_node, letters_left, with_missing = {}, _MAX_RULE_LETTERS, columns_with_missing(tree)
    for node, region in regions(tree):
        conditions = conditions_by_column(region, with_missing, or_unseen=False)
        by_node[node] = [(column, _shorten_set(text)) for column, text in conditions.items()]
        letters_left -= sum(len(text) for _, text in by_node[node])
        if letters_left < 0:
            break
    return by_node


def _shorten_set(condition: str) -> str:
    """Omit the end of a set of many levels.

    >>> _shorten_set("id in {" + ", ".join(map(str, range(40))) + "} or missing")
    'id in {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 28 more} or missing'
    """
    match = re.search(r"\{(.*)\}", condition)
    levels = match[1].split(", ") if match else []
    if match is None or len(levels) <= _MAX_LISTED_LEVELS + 4:
        return condition
    listing = f"{{{', '.join(levels[:_MAX_LISTED_LEVELS])}, … {len(levels) - _MAX_LISTED_LEVELS} more}}"
    return condition[: match.start()] + listing + condition[match.end() :]


# -- candidates of each node -----------------------------------------------------------------------------------


def computations(trace: Trace, tree: Tree, with_rows: bool) -> dict[int, dict[str, Any]]:
    """Return the best split of every column at each inner node, the best first, with a summary.

    In a file without rows, levels of columns that the tree does not use are counted, not named.
    """
    by_node = {}
    used = {tree.columns[i] for i in np.unique(tree.arrays.column).tolist() if i >= 0}
    for node in np.flatnonzero(tree.arrays.kind != LEAF).tolist():
        at = trace[node]
        columns = sorted(at.columns.values(), key=lambda c: (c.best is None, -(c.score or 0.0), -c.gain))
        best = [c for c in columns if c.best is not None]
        chosen = at.split.column if at.split is not None else None
        lines = [
            {
                "split": c.words if with_rows or c.name in used else _split_without_levels(c),
                "gain": format_rounded(c.gain),
                "won": c.name == chosen,
            }
            for c in best[:12]
        ]
        tried = f"{plural(at.tried, 'candidate')} in {plural(len(at.columns), 'column')}"
        summary = f"{tried}; impurity {format_rounded(at.impurity)}."
        if at.runner_up is not None and at.margin is not None:
            margin = f"Margin over {safe(at.runner_up)}: {format_rounded(at.margin)}."
            summary += " The first two are tied." if at.tie else f" {margin}"
        if at.p_value is not None:
            summary += f" Smallest adjusted p-value of a column: {format_p_value(at.p_value)}."
        by_node[node] = {"summary": summary, "candidates": lines}
    return by_node


def _split_without_levels(column: ColumnTrace) -> str:
    """Describe the best split of a column without naming any of its levels."""
    assert column.best is not None
    levels = column.best.candidate.split.named
    if not levels:
        return column.words
    return f"{safe(column.name)}: {len(levels):,} of {plural(len(column.encoding.levels), 'level')}"


# -- rows, on request ------------------------------------------------------------------------------------


def row_facts(tree: Tree, table: Table, chosen: npt.NDArray[np.int64], sampled: bool) -> dict[str, Any]:
    """Return some rows of a table: their cells as text, and encoded for prediction."""
    part = table.take(chosen)
    arrays = encode_columns(tree, part)
    names = [name for name in (*tree.columns, tree.target.name) if name in table.columns]
    frame = part.to_polars()
    return {
        "columns": [safe(name) for name in names],
        "number": (chosen + 1).tolist(),
        "node": find_leaves(tree, arrays, len(part)).tolist(),
        "texts": [_dictionary_encode([_format_cell(cell) for cell in frame[name].to_list()]) for name in names],
        "cells": {
            i: _dictionary_encode(_encoded_cells(encoding, values))
            for i, (encoding, values) in enumerate(zip(tree.encodings, arrays, strict=True))
            if values is not None
        },
        "sampled": sampled,
    }


def _encoded_cells(encoding: Encoding, values: npt.NDArray[Any]) -> list[Any]:
    """Return encoded cells: a code, a number, or an integer as text; None for missing, -2 for an unseen level.

    >>> _encoded_cells(Encoding("n", "integer"), np.array([2**60, -(2**63)]))
    ['1152921504606846976', None]
    """
    missing = is_missing(encoding, values).tolist()
    if encoding.is_categorical:
        return [
            None if empty else (int(code) if code >= 0 else UNSEEN) for code, empty in zip(values, missing, strict=True)
        ]
    if encoding.kind != "number":
        return [None if empty else str(value) for value, empty in zip(values.tolist(), missing, strict=True)]
    return [None if empty else _json_number(float(value)) for value, empty in zip(values, missing, strict=True)]


def _json_number(value: float) -> float | str:
    """Return a number that JSON can hold; infinities are text."""
    return value if np.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def _dictionary_encode(cells: list[Any]) -> dict[str, Any]:
    """Return the distinct cells of a column, and the index of each row's cell among them.

    >>> _dictionary_encode(["Rome", None, "Rome"])
    {'values': ['Rome', None], 'indices': [0, 1, 0]}
    """
    index = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    return {"values": list(index), "indices": [index[cell] for cell in cells]}


def _format_cell(cell: object) -> str | None:
    """Format a cell so that it can be typed in again; None where it is missing.

    >>> _format_cell(True), _format_cell(4325.0), _format_cell(float("nan")), _format_cell("a\\nb") == "a\\\\nb"
    ('true', '4325', None, True)
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return None if np.isnan(cell) else format_exact(cell)
    return None if cell is None else safe(cell)


def sample_rows(n: int, size: int) -> npt.NDArray[np.int64]:
    """Return a deterministic sample of n rows, evenly spread over the table.

    >>> sample_rows(10, 4).tolist()
    [0, 2, 5, 7]
    """
    size = min(n, size)
    return (np.arange(size) * (n / max(1, size))).astype(np.int64)
