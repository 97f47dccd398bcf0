"""Cutting and joining trees: the structure of an edit. Statistics are estimated afterwards (``edit/state.py``).

Works on the flat arrays of trees with the same columns (``tree/arrays.py``); in pre-order a subtree is a run of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from treewise.tree.arrays import BY_HAND, DTYPES, Arrays, split_entries
from treewise.tree.splits import Split
from treewise.tree.tree import Tree

_LISTS = {"codes": "code_start", "count_class": "count_start", "count_weight": "count_start"}


def subtree(tree: Tree, node: int) -> Tree:
    """Return a node and everything below it as a tree.

    >>> import treewise as tw
    >>> subtree(tw.grow("admissions", preset="id3"), 2).n_leaves
    4
    """
    a, run = tree.arrays, slice(node, int(tree.arrays.ends[node]))
    arrays = {}
    for name in DTYPES:
        values = getattr(a, name)
        if name in ("code_start", "count_start"):
            arrays[name] = values[run.start : run.stop + 1] - values[run.start]
        elif name in _LISTS:
            start = getattr(a, _LISTS[name])
            arrays[name] = values[start[run.start] : start[run.stop]]
        else:
            arrays[name] = values[run] if len(values) else values
    arrays["parent"] = np.where(np.arange(run.stop - run.start) == 0, -1, arrays["parent"] - node)
    return replace(tree, arrays=_arrays(arrays))


def leaf(tree: Tree) -> Tree:
    """Return a single leaf without statistics, for the columns of a tree."""
    blank = {"parent": -1, "column": -1, "missing": -1, "other": -1, "stop": BY_HAND, "label": -1, "value": np.nan}
    arrays = {name: np.array([blank.get(name, 0)], dtype) for name, dtype in DTYPES.items()}
    for name in ("codes", "count_class", "count_weight", "p_value", "label", "value", "spread"):
        if name not in ("label", "value", "spread") or not len(getattr(tree.arrays, name)):
            arrays[name] = np.empty(0, DTYPES[name])
    arrays["code_start"] = arrays["count_start"] = np.zeros(2, np.int64)
    return replace(tree, arrays=_arrays(arrays))


def join(tree: Tree, split: Split, branches: Sequence[Tree]) -> Tree:
    """Return a tree of one split with these trees as its branches.

    >>> import treewise as tw
    >>> from treewise.tree.splits import Threshold
    >>> tree = tw.grow("four_points", "y", max_depth=0)
    >>> join(tree, Threshold("x1", 0.5), [leaf(tree), leaf(tree)]).n_leaves
    2
    """
    root = leaf(tree)
    column = tree.columns.index(split.column)
    levels = {level: code for code, level in enumerate(tree.encodings[column].levels)}
    entries = {"stop": 0, **split_entries(split, column, tree.encodings[column], levels)}
    codes = np.array(entries.pop("codes", ()), np.int32)
    arrays = {f.name: getattr(root.arrays, f.name) for f in fields(Arrays)}
    arrays |= {name: np.array([value], DTYPES[name]) for name, value in entries.items()}
    arrays |= {"codes": codes, "code_start": np.array([0, len(codes)], np.int64)}
    return _concatenate(tree, [_arrays(arrays), *(branch.arrays for branch in branches)], [-1] + [0] * len(branches))


def tree_of_splits(tree: Tree, splits: Sequence[Split | None]) -> Tree:
    """Return a tree without statistics, for the columns of a tree, of splits in pre-order; None is a leaf.

    >>> import treewise as tw
    >>> tree = tw.grow("admissions", preset="id3")
    >>> tree_of_splits(tree, [node.split for node in tree]).condition(8) == tree.condition(8)
    True
    """
    done: list[Tree] = []  # subtrees, the first on top
    for split in reversed(splits):
        branches = [] if split is None else [done.pop() for _ in range(split.n_branches)]
        done.append(leaf(tree) if split is None else join(tree, split, branches))
    return done.pop()


def graft(tree: Tree, node: int, part: Tree) -> Tree:
    """Return a tree with the subtree at a node replaced by another tree.

    >>> import treewise as tw
    >>> tree = tw.grow("admissions", preset="id3")
    >>> graft(tree, 2, subtree(tree, 2)) == tree, graft(tree, 2, leaf(tree)).n_leaves
    (True, 3)
    """
    if node == 0:
        return replace(tree, arrays=part.arrays)
    before, after = _run(tree, 0, node), _run(tree, int(tree.arrays.ends[node]), len(tree))
    grown = len(part) - (int(tree.arrays.ends[node]) - node)
    shifted = np.where(after.parent > node, after.parent + grown, after.parent)
    whole = _concatenate(tree, [before, part.arrays, after], [None, int(tree.arrays.parent[node]), None])
    parent = whole.arrays.parent.copy()
    parent[node + len(part) :] = shifted
    parent.flags.writeable = False
    return replace(whole, arrays=replace(whole.arrays, parent=parent))


def _run(tree: Tree, first: int, after: int) -> Arrays:
    """Return the arrays of a run of nodes, with the numbers of their parents as they are."""
    a = tree.arrays
    arrays = {}
    for name in DTYPES:
        values = getattr(a, name)
        if name in ("code_start", "count_start"):
            arrays[name] = values[first : after + 1] - values[first]
        elif name in _LISTS:
            start = getattr(a, _LISTS[name])
            arrays[name] = values[start[first] : start[after]]
        else:
            arrays[name] = values[first:after] if len(values) else values
    return _arrays(arrays)


def _concatenate(tree: Tree, pieces: Sequence[Arrays], parents: Sequence[int | None]) -> Tree:
    """Join runs of nodes; the root of each gets this parent, None: parents are numbers of the whole tree already."""
    arrays = {}
    for name in DTYPES:
        parts = [getattr(piece, name) for piece in pieces]
        if name in ("code_start", "count_start"):
            ends = np.cumsum([0, *(int(part[-1]) for part in parts)])
            parts = [part[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
            arrays[name] = np.append(np.concatenate(parts), ends[-1])
        elif name == "p_value":
            arrays[name] = np.empty(0)
        elif name == "parent":
            first, placed = 0, []
            for part, parent in zip(parts, parents, strict=True):
                placed.append(part if parent is None else np.where(part < 0, parent, part + first))
                first += len(part)
            arrays[name] = np.concatenate(placed)
        else:
            arrays[name] = np.concatenate(parts)
    return replace(tree, arrays=_arrays(arrays))


def _arrays(arrays: dict[str, np.ndarray]) -> Arrays:
    typed = {name: np.ascontiguousarray(values, DTYPES[name]) for name, values in arrays.items()}
    for values in typed.values():
        values.flags.writeable = False
    return Arrays(**typed)
