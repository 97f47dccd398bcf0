"""Describe how the structure of two trees differs: thresholds that moved, subtrees that appeared or vanished.

``joint_traversal.py`` finds where two trees predict differently; this module compares how they are built.
Both are traversed from their roots together: equal subtrees are skipped, splits on the same column are compared branch
by branch, and where the columns differ the subtree is looked for elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from treewise._lib.text import format_rounded, plural, safe
from treewise.tree.arrays import LEAF
from treewise.tree.regions.region import Region, RegionTraversal
from treewise.tree.splits import Multiway, Ordinal, Presence, Split, Threshold
from treewise.tree.tree import Tree

Kind = Literal[
    "prediction",
    "threshold",
    "levels",
    "kind",
    "appeared",
    "vanished",
    "replaced",
    "swapped",
    "inserted",
    "removed",
    "moved",
]

_MAX_CONDITIONS = 6  # in the description of where a change is


@dataclass(frozen=True)
class StructureChange:
    """One change: its kind, where it is, the nodes of the first and the second tree, and a description."""

    kind: Kind
    where: str
    nodes: tuple[int | None, int | None]
    text: str


class _SubtreeIndex:
    """The subtrees of a tree, numbered: equal numbers mean the same splits and the same predictions."""

    def __init__(self, tree: Tree, numbers: dict[Any, int]) -> None:
        self.tree, self.traversal = tree, RegionTraversal(tree)
        self.is_inner: list[bool] = (tree.arrays.kind != LEAF).tolist()
        self.leaves: list[int] = [0 if inner else 1 for inner in self.is_inner]
        self.shape: list[int] = [0] * len(tree)
        self.nodes_by_shape: dict[int, list[int]] = {}
        parent = tree.arrays.parent.tolist()
        below: list[list[int]] = [[] for _ in range(len(tree))]
        for node in range(len(tree) - 1, -1, -1):
            children = below[node][::-1]
            self.shape[node] = numbers.setdefault(self._key(node, children), len(numbers))
            self.nodes_by_shape.setdefault(self.shape[node], []).append(node)
            if parent[node] >= 0:
                below[parent[node]].append(self.shape[node])
                self.leaves[parent[node]] += self.leaves[node]

    def _key(self, node: int, children: list[int]) -> Any:
        split = self.tree.split_at(node)
        if split is None:
            return self.tree.prediction(node)
        if isinstance(split, Multiway):
            extra = tuple(children[len(split.levels) :])
            return split.column, split.kind, frozenset(zip(split.levels, children, strict=False)), extra, split.other
        if isinstance(split, Threshold):
            return split.column, split.kind, split.cut, *children
        if isinstance(split, Presence):
            return split.column, split.kind, *(reversed(children) if split.missing == 0 else children)
        kind = "ordinal" if isinstance(split, Ordinal) else "subset"  # one value is a set of one
        return split.column, kind, frozenset(split.named), *children

    def split_signature(self, node: int) -> Any:
        """Return the split of a node, comparable with those of another tree; None at a leaf."""
        split = self.tree.split_at(node)
        return None if split is None else self._key(node, [0] * len(self.tree.children(node)))

    def has_child_with_split(self, node: int, signature: Any) -> bool:
        return any(self.split_signature(child) == signature for child in self.tree.children(node))

    def find_within(self, shape: int, node: int) -> int | None:
        """Return the root of a subtree of this shape at or below a node."""
        end = int(self.tree.arrays.ends[node])
        return next((n for n in self.nodes_by_shape.get(shape, ()) if node <= n < end), None)

    def where(self, node: int) -> str:
        """Describe the rows that reach a node."""
        self.traversal.move_to(node)
        region = Region(self.tree.encodings, self.traversal.conditions())
        conditions = region.describe(or_missing=False, or_unseen=False)
        if len(conditions) > _MAX_CONDITIONS:
            conditions = ("…", *conditions[-_MAX_CONDITIONS:])
        return " and ".join(conditions) or "all rows"

    def split_text(self, node: int) -> str:
        """Describe a split by its first branch."""
        split = self.tree.split_at(node)
        assert split is not None
        if isinstance(split, Multiway):
            return f"{safe(split.column)} = …"
        return split.condition(0, self.tree.encoding_of(split.column))

    def prediction_text(self, node: int) -> str:
        label = self.tree.prediction(node)
        return (
            "nothing"
            if label is None
            else format_rounded(float(label))
            if self.tree.task == "regression"
            else safe(label)
        )

    def size_text(self, node: int) -> str:
        return plural(self.leaves[node], "leaf", "leaves")

    def sized_split(self, node: int) -> str:
        return f"{self.split_text(node)} ({self.size_text(node)})"


def structure_changes(a: Tree, b: Tree) -> Iterator[StructureChange]:
    """Iterate over the changes from one tree to the other, from the roots down."""
    numbers: dict[Any, int] = {}
    first, second = _SubtreeIndex(a, numbers), _SubtreeIndex(b, numbers)
    pairs = [(0, 0)]
    while pairs:
        x, y = pairs.pop()
        if first.shape[x] == second.shape[y]:
            continue
        if first.is_inner[x] and second.is_inner[y]:
            change, below = _compare_splits(first, second, x, y)
            if change is not None:
                yield change
            pairs.extend(reversed(below))
        else:
            yield _compare_with_leaf(first, second, x, y)


def _compare_with_leaf(first: _SubtreeIndex, second: _SubtreeIndex, x: int, y: int) -> StructureChange:
    """Describe a change where at least one of the trees has a leaf."""
    where = first.where(x)
    if first.is_inner[x]:
        text = (
            f"the split {first.split_text(x)} ({first.size_text(x)} below) became a leaf: {second.prediction_text(y)}"
        )
        return StructureChange("vanished", where, (x, y), text)
    if second.is_inner[y]:
        text = f"the leaf {first.prediction_text(x)} was split by {second.split_text(y)} ({second.size_text(y)} below)"
        return StructureChange("appeared", where, (x, y), text)
    text = f"predicts {second.prediction_text(y)} instead of {first.prediction_text(x)}"
    return StructureChange("prediction", where, (x, y), text)


def _compare_splits(
    first: _SubtreeIndex, second: _SubtreeIndex, x: int, y: int
) -> tuple[StructureChange | None, list[tuple[int, int]]]:
    """Describe the change of a split (None if it did not change), and return the children to compare next."""
    old, new = first.tree.split_at(x), second.tree.split_at(y)
    assert old is not None
    assert new is not None
    if old.column != new.column:
        return _compare_columns(first, second, x, y), []
    pairs, same = _match_branches(old, new)
    if pairs is None:
        text = f"{first.sized_split(x)} became {second.sized_split(y)}"
        return StructureChange("kind", first.where(x), (x, y), text), []
    below = [(first.tree.children(x)[i], second.tree.children(y)[j]) for i, j in pairs]
    if same:
        return None, below
    if isinstance(old, Multiway):
        return StructureChange("levels", first.where(x), (x, y), _branch_changes(old, new)), below
    kind: Kind = "threshold" if isinstance(old, Threshold) else "levels"
    return StructureChange(kind, first.where(x), (x, y), f"{first.split_text(x)} became {second.split_text(y)}"), below


def _match_branches(old: Split, new: Split) -> tuple[list[tuple[int, int]] | None, bool]:
    """Return the pairs of corresponding branches (None if there are none), and whether the two splits are the same.

    >>> _match_branches(Multiway("c", ("a", "b")), Multiway("c", ("b", "a")))
    ([(0, 1), (1, 0)], True)
    """
    if isinstance(old, Multiway) and isinstance(new, Multiway):
        pairs = [(i, new.levels.index(level)) for i, level in enumerate(old.levels) if level in new.levels]
        if old.other and new.other:
            pairs.append((len(old.levels), len(new.levels)))
        return pairs, set(old.levels) == set(new.levels) and old.other == new.other
    if isinstance(old, Threshold) and isinstance(new, Threshold):
        return [(0, 0), (1, 1)], old.cut == new.cut
    if isinstance(old, Presence) and isinstance(new, Presence):
        return [(branch, branch if old.missing == new.missing else 1 - branch) for branch in (0, 1)], True
    if isinstance(old, Presence) or isinstance(new, Presence):
        return None, False
    if isinstance(old, Multiway) or isinstance(new, Multiway) or old.kind == "threshold" or new.kind == "threshold":
        return None, False
    if isinstance(old, Ordinal) != isinstance(new, Ordinal):
        return None, False
    return [(0, 0), (1, 1)], set(old.named) == set(new.named)


def _branch_changes(old: Split, new: Split) -> str:
    removed = [safe(level) for level in old.named if level not in new.named]
    added = [safe(level) for level in new.named if level not in old.named]
    parts = [f"{verb} {', '.join(levels)}" for verb, levels in (("without", removed), ("added", added)) if levels]
    return f"branches of {safe(old.column)}: {'; '.join(parts) or 'the one for all other levels was added or removed'}"


def _compare_columns(first: _SubtreeIndex, second: _SubtreeIndex, x: int, y: int) -> StructureChange:
    """Describe a change where the trees split on different columns."""
    kind: Kind = "replaced"
    if (node := second.find_within(first.shape[x], y)) is not None:
        kind = "inserted"
        text = f"a new split {second.split_text(y)} above {first.split_text(x)}, which is now node {node}"
    elif (node := first.find_within(second.shape[y], x)) is not None:
        kind = "removed"
        text = (
            f"the split {first.split_text(x)} was removed; {second.split_text(y)}, formerly node {node}, took its place"
        )
    elif first.has_child_with_split(x, second.split_signature(y)) and second.has_child_with_split(
        y, first.split_signature(x)
    ):
        kind = "swapped"
        text = f"{second.split_text(y)} now comes before {first.split_text(x)}, not after it"
    elif nodes := second.nodes_by_shape.get(first.shape[x]):
        kind = "moved"
        text = f"{first.sized_split(x)} moved to node {nodes[-1]}; {second.sized_split(y)} took its place"
    else:
        text = f"{second.sized_split(y)} replaced {first.sized_split(x)}"
    return StructureChange(kind, first.where(x), (x, y), text)
