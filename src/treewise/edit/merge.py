"""Joining branches of a split: what the edit ``merge`` does to the structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from treewise.edit.graft import join, leaf, subtree
from treewise.errors import ParameterError
from treewise.tree.splits import Multiway, OneValue, Subset
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.edit.editor import Editor

Ints = npt.NDArray[np.int64]


def merge_branches(editor: Editor, parent: int, branches: Sequence[int]) -> tuple[Tree, Ints]:
    """Return the subtree of a split of several levels with some of its branches joined, and its identities."""
    tree, ids = editor.tree, editor._state.ids
    split = tree.split_at(parent)
    assert split is not None
    children = tree.children(parent)
    if split.separates_missing and split.missing in branches and len(branches) == 2:
        other = next(b for b in branches if b != split.missing)
        own = [b for b in range(len(children)) if b != split.missing]
        part = join(tree, replace(split, missing=other), [subtree(tree, children[b]) for b in own])
        kept = [ids[children[b] : int(tree.arrays.ends[children[b]])] for b in own]
        return part, np.concatenate([ids[parent : parent + 1], *kept])
    if not isinstance(split, Multiway) or split.separates_missing:
        raise ParameterError(f"node {parent} has no branches to join but all of them.", hint="Join all of its leaves.")
    return _merge_levels(editor, parent, split, children, branches)


def _merge_levels(
    editor: Editor, parent: int, split: Multiway, children: Sequence[int], branches: Sequence[int]
) -> tuple[Tree, Ints]:
    """Return a split of several levels with some branches joined: the set against the rest, and the rest below it."""
    tree, ids = editor.tree, editor._state.ids
    rest = [b for b in range(len(children)) if b not in branches]
    pieces = [subtree(tree, children[b]) for b in rest]
    kept = [ids[children[b] : int(tree.arrays.ends[children[b]])] for b in rest]
    own = ids[parent : parent + 1]
    merged = editor.tables.new_ids(1)
    has_other = split.other and len(split.levels) in branches
    other_stays = split.other and not has_other
    rest_levels = tuple(split.levels[b] for b in rest if b < len(split.levels))
    if len(rest) == 1:
        below, below_ids = pieces[0], kept[0]
    else:
        missing = rest.index(split.missing) if split.missing in rest else 0
        below = join(tree, Multiway(split.column, rest_levels, other_stays, missing=missing), pieces)
        below_ids = np.concatenate([editor.tables.new_ids(1), *kept])
    if has_other:  # levels that are not named join the others: the set is what stays apart
        levels, order = rest_levels, [below, leaf(tree)]
        part_ids = np.concatenate([own, below_ids, merged])
    else:
        levels, order = tuple(split.levels[b] for b in branches), [leaf(tree), below]
        part_ids = np.concatenate([own, merged, below_ids])
    joined = order.index(below) if split.missing in rest else 1 - order.index(below)
    test = OneValue(split.column, levels[0]) if len(levels) == 1 else Subset(split.column, levels)
    return join(tree, replace(test, missing=joined), order), part_ids
