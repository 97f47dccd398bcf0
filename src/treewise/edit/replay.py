"""Making the edits of a log again, on another table; edits that do not fit it are reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treewise._lib.text import safe
from treewise.edit.editor import Editor
from treewise.edit.log import Replay, ReplayConflict, split_from_dict
from treewise.edit.state import node_at_path, words_of_node
from treewise.errors import TreewiseError, join_few
from treewise.tree.tree import Tree


def replay(start: Tree, steps: Sequence[Any], data: Any, validation: Any = None, sample_weight: Any = None) -> Replay:
    """Make edits again, on a tree counted on another table; report those that do not fit."""
    editor = Editor(start, data, validation=validation, sample_weight=sample_weight)
    conflicts = []
    for number, step in enumerate(steps, 1):
        why = _replay_step(editor, step)
        if why:
            conflicts.append(ReplayConflict(number, str(step["edit"]), str(step["node"]), *why))
    return Replay(editor, len(steps), tuple(conflicts))


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
