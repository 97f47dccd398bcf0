"""Making the edits of a log again, on another table; edits that do not fit it are reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from treewise._lib.text import safe
from treewise.data.column import LazyColumns, missing_column
from treewise.data.table import Table, read_for_model
from treewise.edit.editor import Editor
from treewise.edit.log import Replay, ReplayConflict, split_from_dict
from treewise.edit.state import node_at_path, words_of_node
from treewise.errors import TreewiseError, join_few
from treewise.tree.tree import Tree


def replay(start: Tree, steps: Sequence[Any], data: Any, validation: Any = None, sample_weight: Any = None) -> Replay:
    """Make edits again, on a tree counted on another table; report those that do not fit.

    A column that the first tree does not test may be missing: edits that need it are conflicts.
    """
    table, lacking = _with_all_columns(start, data)
    if validation is not None and not isinstance(validation, float):
        validation, _ = _with_all_columns(start, validation)
    editor = Editor(start, table, validation=validation, sample_weight=sample_weight)
    conflicts = []
    for number, step in enumerate(steps, 1):
        needed = _columns_of(step) & lacking
        why = (_no_column(needed), False) if needed else _replay_step(editor, step)
        if why:
            conflicts.append(ReplayConflict(number, str(step["edit"]), str(step["node"]), *why))
    return Replay(editor, len(steps), tuple(conflicts))


def _columns_of(step: Mapping[str, Any]) -> set[str]:
    """Return the columns that an edit needs."""
    call = step["call"]
    if step["edit"] == "first":
        return {call["column"]}
    return {split["column"] for split in (call.get("split"), *call.get("splits", ())) if split is not None}


def _no_column(names: set[str]) -> str:
    return f"the table has no column {join_few([safe(name) for name in sorted(names)])}"


def _with_all_columns(tree: Tree, data: Any) -> tuple[Table, set[str]]:
    """Return a table in which columns that are missing, and that the tree does not test, have missing values only."""
    table = read_for_model(data, tree.na_values)
    tested = {node.split.column for node in tree if node.split is not None}
    lacking = {name for name in tree.columns if name not in table.columns and name not in tested}
    if not lacking:
        return table, lacking
    columns = {name: partial(table.columns.__getitem__, name) for name in table.columns}
    added = {name: missing_column(name, len(table)) for name in tree.columns if name in lacking}
    return replace(table, columns=LazyColumns({**columns, **added}, len(table))), lacking


def _replay_step(editor: Editor, step: Mapping[str, Any]) -> tuple[str, bool] | None:
    """Make one edit again; return what does not fit, and whether it was made all the same."""
    tree, call, reason = editor.tree, step["call"], step["reason"]
    node = node_at_path(tree, step["path"])
    if node is None or words_of_node(tree, node) != step["node"]:
        where = "there is no such node" if node is None else f"the node there is now {words_of_node(tree, node)}"
        return where, False
    try:
        match step["edit"]:
            case "split":
                split = split_from_dict(call["split"])
                encoding = editor._column(split.column)
                lacking = [level for level in split.named if level not in encoding.levels]
                if lacking:
                    return f"{safe(split.column)} has no level {join_few([safe(level) for level in lacking])}", False
                node = editor._editable(node)
                tree = editor._apply_split(node, split, reason)
                empty = [tree.condition(c) for c in tree.children(node) if tree.arrays.rows[c] == 0]
                if empty and editor.tree.arrays.rows[node]:
                    return f"no row meets {join_few(empty)}", True
            case "regrow":
                editor.regrow(node, reason=reason, **call["limits"])
            case "adopt":
                editor._adopt([None if split is None else split_from_dict(split) for split in call["splits"]], reason)
            case "prune":
                editor.prune(node, reason=reason)
            case "merge":
                editor.merge([tree.children(node)[b] for b in call["branches"]], reason=reason)
            case "relabel":
                editor.relabel(node, call["label"], reason=reason)
            case "lock" | "unlock" as verb:
                getattr(editor, verb)(call.get("column", node), reason=reason)
            case "forbid" | "first" as verb:
                getattr(editor, verb)(call["column"], reason=reason)
    except (TreewiseError, IndexError) as error:
        return str(error), False
    return None
