"""Render a trace in the requested format.

Text is written by ``text.py``, Markdown and LaTeX by ``documents.py``, CSV and JSON here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from treewise._lib.result_table import write_csv
from treewise.errors import Param, ParameterError, did_you_mean
from treewise.explain.trace import documents, text
from treewise.explain.trace.arithmetic import BranchTerm
from treewise.explain.trace.nodes import CandidateTrace, ColumnTrace, NodeTrace
from treewise.explain.trace.words import shown_columns, worked_terms
from treewise.show.text_tree.text_tree import render_tree
from treewise.tree.tree import Tree

TRACE_FORMATS = ("text", "markdown", "latex", "csv", "json")
_MIN_WIDTH = 40


@dataclass(frozen=True)
class TraceFormat:
    """The format of a trace and its options."""

    format: str = "text"
    width: int = 80  # of a line of text
    blanks: bool = False  # leave the results blank, for an exercise sheet
    ascii: bool = False  # text for terminals without Unicode
    write: Callable[[str], str] = str  # renders messages for Python or the command line
    document: bool = True  # LaTeX and JSON: a whole document, or a fragment with one node
    tree: Tree | None = None  # written after the computations

    def __post_init__(self) -> None:
        if self.format not in TRACE_FORMATS:
            hint = did_you_mean(str(self.format), TRACE_FORMATS)
            raise ParameterError(
                f"must be one of {', '.join(TRACE_FORMATS)}.", parameter="format", value=self.format, hint=hint
            )
        if self.width < _MIN_WIDTH:
            raise ParameterError(f"must be {_MIN_WIDTH} columns or more.", parameter="width", value=self.width)
        if self.blanks and self.format in ("csv", "json"):
            raise ParameterError(
                Param("format", self.format) + " has no blanks; an exercise sheet is text, markdown or latex.",
                parameter="blanks",
            )
        if self.tree is not None and (self.blanks or self.format in ("csv", "json")):
            what = "an exercise sheet would give its answer away" if self.blanks else f"{self.format} lists candidates"
            raise ParameterError(f"the tree is written after text, markdown and latex; {what}.", parameter="with_tree")


def render_trace(nodes: Iterable[NodeTrace], trace_format: TraceFormat, notes: Sequence[str] = ()) -> str:
    """Return nodes in the requested format, followed by notes on the table, and by the tree if it is asked for."""
    if trace_format.format == "csv":
        return _candidates_csv(nodes)
    if trace_format.format == "json":
        return _json_text(nodes, single=not trace_format.document)
    if trace_format.format == "markdown":
        drawn = "" if trace_format.tree is None else render_tree(trace_format.tree, ascii=False)
        return documents.markdown(nodes, trace_format.blanks, notes) + documents.markdown_tree(drawn)
    if trace_format.format == "latex":
        drawn = "" if trace_format.tree is None else trace_format.tree.draw().tikz
        return documents.latex(nodes, trace_format.blanks, notes, trace_format.document, drawn)
    return "\n".join(render_blocks(nodes, trace_format, notes))


def render_blocks(nodes: Iterable[NodeTrace], trace_format: TraceFormat, notes: Sequence[str] = ()) -> Iterator[str]:
    """Yield the text node by node, so that the first can be read while the next is computed; last the tree."""
    for piece in text.write_blocks(nodes, trace_format.width, trace_format.blanks, notes, trace_format.write):
        yield text.to_ascii(piece) if trace_format.ascii else piece
    if trace_format.tree is not None:
        yield "\nThe tree\n" + render_tree(trace_format.tree, width=trace_format.width, ascii=trace_format.ascii)


_HEADINGS = (
    "node",
    "path",
    "rows",
    "column",
    "test",
    "kind",
    "branches",
    "eligible",
    "impurity_after",
    "gain",
    "price_bits",
    "score",
    "place",
    "note",
)


def _candidates_csv(nodes: Iterable[NodeTrace]) -> str:
    """Return one line per candidate, and one for each column without candidates.

    ``branches`` holds the counts of the branches (for regression their weight and mean), separated by ``|``;
    ``place`` says ``best`` for the node's winner and ``best of column`` for that of any other column.
    """
    lines = (
        map(str, _csv_line(node, column, test))
        for node in nodes
        for column in ([] if node.settled else shown_columns(node))
        for test in column.tests or (None,)
    )
    return write_csv([_HEADINGS, *map(list, lines)])


def _csv_line(node: NodeTrace, column: ColumnTrace, test: CandidateTrace | None) -> list[Any]:
    where = [node.id, node.words, node.rows, column.name]
    if test is None:
        return [*where, "", "", "", "", node.impurity, 0.0, 0, 0.0, "", column.note]
    branches = " | ".join(" ".join(map(str, b)) for b in test.branches)
    role = ("best" if column.name == node.winner else "best of column") if test is column.best else ""
    score = column.score if test is column.best and column.score is not None else test.score
    kind = test.candidate.split.kind
    eligible = "yes" if test.eligible else "no"
    what = [test.words, kind, branches, eligible, test.impurity_after, test.gain, test.price_bits, score]
    note = f"forbidden: {test.forbidden}" if test.forbidden else column.note if role else ""
    return [*where, *what, role, note]


def _json_text(nodes: Iterable[NodeTrace], single: bool = False) -> str:
    listed = [_node_data(node) for node in nodes]
    return json.dumps(listed[0] if single else listed, ensure_ascii=False, indent=1)


def _node_data(node: NodeTrace) -> dict[str, Any]:
    number_format = node.number_format
    data: dict[str, Any] = {
        "node": node.id,
        "path": node.words,
        "rows": node.rows,
        "weight": number_format.whole.weight,
        "criterion": number_format.training_set.criterion.name,
        "unit": number_format.shown_unit,
        "per": number_format.per,
        "impurity": node.impurity,
    }
    if number_format.training_set.target.classes:
        data["classes"] = list(number_format.training_set.target.classes)
        data["counts"] = list(number_format.whole.counts)
    else:
        data["value"] = number_format.whole.value
    if node.view.row_names is not None:
        data["row_names"] = list(node.row_names)
    if node.settled:
        return {**data, "settled": node.settled}
    if worked := worked_terms(node):
        data["terms"] = {symbol: {"text": each.text, "terms": each.terms} for symbol, each in worked.items()}
    return {
        **data,
        "winner": node.winner,
        "runner_up": node.runner_up,
        "margin": node.margin,
        "tie": node.tie,
        "tried": node.tried,
        **({} if node.p_value is None else {"p_value": node.p_value}),
        "in_tree": node.chosen.words if node.chosen else None,
        **({} if node.context.look_ahead is None else {"look_ahead": node.context.look_ahead._asdict()}),
        "columns": [_column_data(column) for column in shown_columns(node)],
    }


def _column_data(column: ColumnTrace) -> dict[str, Any]:
    data: dict[str, Any] = {
        "column": column.name,
        "impurity_after": column.impurity_after,
        "gain": column.gain,
        "score": column.score,
        "tried": column.tried,
        "note": column.note,
        "formula": column.formula,
    }
    if (test := column.independence) is not None:
        data |= {"statistic": test.statistic, "df": test.df, "p_value": test.p_value}
    if column.best is not None:
        data |= {"arithmetic": column.arithmetic, "test": column.words, **_price_data(column.best)}
    return {**data, "tests": list(map(_candidate_data, column.tests))}


def _candidate_data(test: CandidateTrace) -> dict[str, Any]:
    return {
        "test": test.words,
        "kind": test.candidate.split.kind,
        "impurity_after": test.impurity_after,
        "gain": test.gain,
        "score": test.score,
        **_price_data(test),
        "eligible": test.eligible,
        **({"forbidden": test.forbidden} if test.forbidden else {}),
        "branches": list(branch_data(test.parts)),
    }


def _price_data(test: CandidateTrace) -> dict[str, Any]:
    cost = {"cost": test.cost} if test.candidate.feature_cost else {}
    return cost | ({"gain_bits": test.gain_bits, "price_bits": test.price_bits} if test.price_bits else {})


def branch_data(branches: Iterable[BranchTerm]) -> Iterator[dict[str, Any]]:
    """Yield the contents of each branch as plain values."""
    for b in branches:
        contents = {"counts": list(b.counts)} if b.value is None else {"value": b.value}
        yield {"rows": b.rows, "weight": b.weight, **contents, "impurity": b.impurity}
