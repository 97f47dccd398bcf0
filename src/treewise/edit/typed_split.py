"""The test that a person describes, as a split: a typed threshold, levels, a condition, or the best one there is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.edit.candidates import why_settled
from treewise.edit.node_search import sum_rows
from treewise.errors import ParameterError, ParseError, did_you_mean, join_few
from treewise.explain.trace.nodes import assign_branches
from treewise.formats.text_format.conditions import parse_split
from treewise.formats.text_format.notation import write_name
from treewise.train.candidates import KIND_RANK, ValuePartition
from treewise.train.constraints import constraints_at
from treewise.train.reference import NodeScorer, TieOrder, choose, place_missing
from treewise.tree.splits import Multiway, OneValue, Ordinal, Split, Subset, Threshold
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.edit.editor import Editor

_MISSING = {"yes": 0, "no": 1}


def make_split(editor: Editor, node: int, column: str | None, at: Any, values: Any, missing: str | None) -> Split:
    """Return the test that a person describes."""
    if missing is not None and missing not in ("yes", "no", "own"):
        raise ParameterError('must be "yes", "no" or "own".', parameter="missing", value=missing)
    if column is not None and not isinstance(column, str):
        raise ParameterError("must be the name of a column, or a condition.", parameter="column", value=column)
    if at is not None and values is not None:
        raise ParameterError("give either a threshold or levels.", parameter="values", value=values)
    placed = False
    if column is None or (at is None and values is None and column in editor.tree.columns):
        split = _best_split(editor, node, column)
        placed = missing is None
    elif column not in editor.tree.columns and at is None and values is None:
        split, placed = _parse(editor, column)
    else:
        encoding = editor._column(column)
        split = _threshold(editor, encoding, at) if at is not None else _level_split(encoding, values)
    check_allowed(editor, split.column)
    if missing is not None:
        if missing != "own" and isinstance(split, Multiway):
            raise ParameterError("goes with two branches.", parameter="missing", value=missing)
        return replace(split, missing=split.own_branches if missing == "own" else _MISSING[missing])
    return split if placed else learn_missing(editor, node, split)


def check_allowed(editor: Editor, column: str) -> None:
    """Raise if a column may not be used for new splits."""
    if column in editor._state.forbidden | editor._state.locked_columns:
        state, name = "forbidden" if column in editor._state.forbidden else "locked", safe(column)
        raise ParameterError(f'column "{name}" is {state}. Allow it first: unlock("{name}").')


def _best_split(editor: Editor, node: int, column: str | None) -> Split:
    """Return the best test of a node, or of one column there."""
    if column is not None:
        check_allowed(editor, column)
    why = why_settled(editor.tree, node)
    if why:
        raise ParameterError(f"node {node}: {why}, so there is no best test.", hint="Give a test: at= or values=.")
    search = editor._search(node).search
    candidate = search.winner if column is None else search.best_of_column.get(editor.tree.columns.index(column))
    if candidate is None:
        what = "no column" if column is None else f'no test of "{safe(column)}"'
        raise ParameterError(
            f"node {node}: {what} separates its rows within the limits.", hint="Give a test: at= or values=."
        )
    return candidate.split


def _parse(editor: Editor, condition: str) -> tuple[Split, bool]:
    try:
        return parse_split(condition, editor.tree.encodings)
    except ParseError as error:
        if not any(sign in condition for sign in "<>= "):
            editor._column(condition)  # the name of a column, with a typing error
        raise ParameterError(str(error).removeprefix("line 1: "), parameter="column", value=condition) from None


def _threshold(editor: Editor, encoding: Encoding, at: Any) -> Split:
    """Return the threshold that was typed."""
    if encoding.kind == "number":
        number = at.item() if hasattr(at, "item") else at
        if isinstance(number, str):
            try:
                number = float(number.replace(",", "."))
            except ValueError:
                number = None
        if isinstance(number, bool) or not isinstance(number, int | float) or not np.isfinite(number):
            raise ParameterError(f"must be a number, as {safe(encoding.name)} is.", parameter="at", value=at)
        return Threshold(encoding.name, float(number) + 0.0)
    if encoding.is_categorical and encoding.kind != "ordered":
        raise ParameterError(
            f'"{safe(encoding.name)}" has no order.', parameter="at", value=at, hint="Give levels: values=[…]."
        )
    if encoding.kind == "ordered":
        level = str(at)
        if level not in encoding.levels[:-1]:
            known = join_few([safe(x) for x in encoding.levels[:-1]])
            raise ParameterError(f"must be a level below the last: {known}.", parameter="at", value=at)
        return Ordinal(encoding.name, level)
    return _parse(editor, f"{write_name(encoding.name)} <= {at}")[0]


def learn_missing(editor: Editor, node: int, split: Split) -> Split:
    """Send missing values to the branch where they gain most; to the heavier branch if the node has none."""
    training_set, tree = editor.tables.training.training_set, editor.tree
    rows = editor.tables.training.rows_at(tree, node)
    if not len(rows):
        return split
    column = tree.columns.index(split.column)
    encoding, values = training_set.encodings[column], training_set.columns[column][rows]
    is_missing, branch_of_row = encode.is_missing(encoding, values), assign_branches(split, encoding, values)
    training_set = training_set.with_node_scale(rows.astype(np.int64))
    branches = range(split.own_branches)
    parts = tuple(sum_rows(training_set, rows[(branch_of_row == b) & ~is_missing]) for b in branches)
    missing, node_stats = sum_rows(training_set, rows[is_missing]), sum_rows(training_set, rows)
    weights = [stats.weight for stats in parts]
    heavier = replace(split, missing=weights.index(max(weights)))
    if not missing.rows:
        return heavier
    measure = training_set.criterion.impurity_at(node_stats)
    scorer = NodeScorer(training_set, rows.astype(np.int64), node_stats, measure, constraints_at(tree, node))
    named = branches[: len(split.levels)] if isinstance(split, Multiway) else branches
    partition = ValuePartition(0, parts, partial(replace, split), tuple(named))
    placed = place_missing(partition, missing, scorer.separates_missing(missing))
    scored = [
        scorer.score(partition.make_split, branch, stats, missing.rows, TieOrder(column, KIND_RANK[split.kind], 0, i))
        for i, (branch, stats) in enumerate(placed)
    ]
    candidates = [replace(candidate, eligible=True) for candidate in scored if candidate is not None]
    winner = choose(scorer, {column: candidates}).winner
    return heavier if winner is None else winner.split


def _level_split(encoding: Encoding, values: Any) -> Split:
    """Return the test of the levels that were given."""
    if not encoding.is_categorical:
        hint = "Give a threshold: at=."
        raise ParameterError(f'"{safe(encoding.name)}" has numbers.', parameter="values", value=values, hint=hint)
    given = [values] if isinstance(values, str) or not isinstance(values, Collection) else list(values)
    texts = [str(v).lower() if isinstance(v, bool | np.bool_) else str(v) for v in given]
    unknown = [text for text in texts if text not in encoding.levels]
    if unknown:
        near = did_you_mean(unknown[0], encoding.levels)
        known = join_few([safe(level) for level in encoding.levels])
        raise ParameterError(
            f'"{safe(unknown[0])}" is no level.{near} Levels: {known}.', parameter="values", value=values
        )
    chosen = tuple(level for level in encoding.levels if level in set(texts))
    if not chosen or len(chosen) == len(encoding.levels):
        raise ParameterError("must be some of the levels, not none and not all.", parameter="values", value=values)
    return OneValue(encoding.name, chosen[0]) if len(chosen) == 1 else Subset(encoding.name, chosen)


def read_answer(tree: Tree, label: Any) -> Any:
    """Return the label of a leaf as the arrays hold it."""
    if tree.task == "classification":
        names = [str(c) for c in tree.classes]
        if str(label) not in names:
            near = did_you_mean(str(label), names)
            raise ParameterError(
                f"is no class.{near} Classes: {join_few(list(map(safe, names)))}.", parameter="label", value=label
            )
        return names.index(str(label))
    if isinstance(label, bool) or not isinstance(label, int | float | np.number) or not np.isfinite(label):
        raise ParameterError("must be a number.", parameter="label", value=label)
    return float(label)
