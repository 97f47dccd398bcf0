"""The trace as data: CSV, one line a candidate, and JSON, one object a node; nothing is rounded.

Stands at the end of the trace, after ``tree/arrays.py``. Names are written as they are in the table: both formats
have their own ways of quoting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from treewise._lib.result_table import write_csv
from treewise.explain.trace.candidate import CandidateTrace
from treewise.explain.trace.nodes import ColumnTrace, NodeTrace
from treewise.explain.trace.number_format import BranchTerm
from treewise.explain.trace.words import shown_columns

HEADINGS = (
    "node",
    "path",
    "rows",
    "column",
    "test",
    "kind",
    "branches",
    "eligible",
    "gain",
    "score",
    "place",
    "note",
)


def candidates_csv(nodes: Iterable[NodeTrace]) -> str:
    """Return one line a candidate, and one for each column that has none.

    ``branches`` holds the counts of the branches (for regression their weight and mean), separated by ``|``;
    ``place`` says ``best`` for the node's winner and ``best of column`` for that of any other column.
    """
    lines = (
        map(str, line(node, column, test))
        for node in nodes
        for column in ([] if node.settled else shown_columns(node))
        for test in column.tests or (None,)
    )
    return write_csv([HEADINGS, *map(list, lines)])


def line(node: NodeTrace, column: ColumnTrace, test: CandidateTrace | None) -> list[Any]:
    """Return the cells of one candidate."""
    where = [node.id, node.words, node.rows, column.name]
    if test is None:
        return [*where, "", "", "", "", 0.0, 0.0, "", column.note]
    branches = " | ".join(" ".join(map(str, b)) for b in test.branches)
    place = ("best" if column.name == node.winner else "best of column") if test is column.best else ""
    score = column.score if test is column.best and column.score is not None else test.score
    kind = test.candidate.split.kind
    fits = "yes" if test.eligible else "no"
    return [*where, test.words, kind, branches, fits, test.gain, score, place, column.note if place else ""]


def json_text(nodes: Iterable[NodeTrace], single: bool = False) -> str:
    """Return a list of nodes, or a ``single`` one by itself."""
    listed = [node_data(node) for node in nodes]
    return json.dumps(listed[0] if single else listed, ensure_ascii=False, indent=1)


def node_data(node: NodeTrace) -> dict[str, Any]:
    """Return everything known of a node as plain values."""
    lens = node.lens
    data: dict[str, Any] = {
        "node": node.id,
        "path": node.words,
        "rows": node.rows,
        "weight": lens.whole.weight,
        "criterion": lens.training_set.criterion.name,
        "unit": lens.shown_unit,
        "per": lens.per,
        "impurity": node.impurity,
    }
    if lens.training_set.target.classes:
        data["classes"] = list(lens.training_set.target.classes)
        data["counts"] = list(lens.whole.counts)
    else:
        data["value"] = lens.whole.value
    if node.settled:
        return {**data, "settled": node.settled}
    return {
        **data,
        "winner": node.winner,
        "runner_up": node.runner_up,
        "margin": node.margin,
        "tie": node.tie,
        "tried": node.tried,
        "in_tree": node.chosen.words if node.chosen else None,
        "columns": [column_data(column) for column in shown_columns(node)],
    }


def column_data(column: ColumnTrace) -> dict[str, Any]:
    """Return a column with all its candidates."""
    data: dict[str, Any] = {
        "column": column.name,
        "gain": column.gain,
        "score": column.score,
        "tried": column.tried,
        "note": column.note,
        "formula": column.formula,
    }
    if column.best is not None:
        data |= {"arithmetic": column.arithmetic, "test": column.words}
    return {**data, "tests": list(map(candidate_data, column.tests))}


def candidate_data(test: CandidateTrace) -> dict[str, Any]:
    """Return one candidate."""
    return {
        "test": test.words,
        "kind": test.candidate.split.kind,
        "gain": test.gain,
        "score": test.score,
        "eligible": test.eligible,
        "branches": list(branch_data(test.parts)),
    }


def branch_data(branches: Iterable[BranchTerm]) -> Iterator[dict[str, Any]]:
    """Yield each branch with what it holds."""
    for b in branches:
        holds = {"counts": list(b.counts)} if b.value is None else {"value": b.value}
        yield {"rows": b.rows, "weight": b.weight, **holds, "impurity": b.impurity}
