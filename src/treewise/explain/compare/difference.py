"""What changed from one tree to another, as a reader would say it: a threshold moved, a subtree appeared or vanished.

Stands beside ``walk.py``, which says where two trees answer differently; here it is how they are built. Both are walked
from their roots together: equal subtrees are passed over, tests on the same column are compared branch by branch, and
where the columns differ the subtree is looked for elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from treewise._lib.text import format_rounded, plural, safe
from treewise.tree.arrays import LEAF
from treewise.tree.regions.region import Region, RegionTraversal
from treewise.tree.splits import Multiway, Ordinal, Split, Threshold
from treewise.tree.tree import Tree

Kind = Literal[
    "prediction",
    "threshold",
    "levels",
    "kind",
    "appeared",
    "vanished",
    "replaced",
    "turned",
    "inserted",
    "removed",
    "moved",
]

MOST_CONDITIONS = 6  # of the words that say where a change is


@dataclass(frozen=True)
class StructureChange:
    """One change: its kind, where it is, the nodes of the first and the second tree, and what it is in words."""

    kind: Kind
    where: str
    nodes: tuple[int | None, int | None]
    words: str


class SubtreeShape:
    """A tree's subtrees by number: two have the same one if they ask the same and answer the same."""

    def __init__(self, tree: Tree, numbers: dict[Any, int]) -> None:
        self.tree, self.descent = tree, RegionTraversal(tree)
        self.inner: list[bool] = (tree.arrays.kind != LEAF).tolist()
        self.leaves: list[int] = [0 if inner else 1 for inner in self.inner]
        self.form: list[int] = [0] * len(tree)
        self.places: dict[int, list[int]] = {}
        parent = tree.arrays.parent.tolist()
        below: list[list[int]] = [[] for _ in range(len(tree))]
        for node in range(len(tree) - 1, -1, -1):
            children = below[node][::-1]
            self.form[node] = numbers.setdefault(self._key(node, children), len(numbers))
            self.places.setdefault(self.form[node], []).append(node)
            if parent[node] >= 0:
                below[parent[node]].append(self.form[node])
                self.leaves[parent[node]] += self.leaves[node]

    def _key(self, node: int, children: list[int]) -> Any:
        split = self.tree.split_at(node)
        if split is None:
            return self.tree.prediction(node)
        if isinstance(split, Multiway):
            beside = tuple(children[len(split.levels) :])
            return split.column, split.kind, frozenset(zip(split.levels, children, strict=False)), beside, split.other
        if isinstance(split, Threshold):
            return split.column, split.kind, split.cut, *children
        kind = "ordinal" if isinstance(split, Ordinal) else "subset"  # one value is a set of one
        return split.column, kind, frozenset(split.named), *children

    def asks(self, node: int) -> Any:
        """Return the test of a node, comparable with those of another tree; None at a leaf."""
        split = self.tree.split_at(node)
        return None if split is None else self._key(node, [0] * len(self.tree.children(node)))

    def asks_next(self, node: int, test: Any) -> bool:
        """Tell whether a child of a node asks some test."""
        return any(self.asks(child) == test for child in self.tree.children(node))

    def within(self, form: int, node: int) -> int | None:
        """Return where a subtree of this form stands at or below a node."""
        end = int(self.tree.arrays.ends[node])
        return next((n for n in self.places.get(form, ()) if node <= n < end), None)

    def where(self, node: int) -> str:
        """Say which rows reach a node."""
        region = Region(self.tree.encodings, self.descent.conditions_at(self.tree.path(node)))
        words = region.words(or_missing=False, or_unseen=False)
        if len(words) > MOST_CONDITIONS:
            words = ("…", *words[-MOST_CONDITIONS:])
        return " and ".join(words) or "all rows"

    def test(self, node: int) -> str:
        """Say a test by its first branch."""
        split = self.tree.split_at(node)
        assert split is not None
        if isinstance(split, Multiway):
            return f"{safe(split.column)} = …"
        return split.words(0, self.tree.encoding_of(split.column))

    def said(self, node: int) -> str:
        """Say what a leaf predicts."""
        label = self.tree.prediction(node)
        return (
            "nothing"
            if label is None
            else format_rounded(float(label))
            if self.tree.task == "regression"
            else safe(label)
        )

    def size(self, node: int) -> str:
        """Say how large a subtree is."""
        return plural(self.leaves[node], "leaf", "leaves")


def changes(a: Tree, b: Tree) -> Iterator[StructureChange]:
    """Go through what changed from one tree to the other, from the roots down."""
    numbers: dict[Any, int] = {}
    one, two = SubtreeShape(a, numbers), SubtreeShape(b, numbers)
    pairs = [(0, 0)]
    while pairs:
        x, y = pairs.pop()
        if one.form[x] == two.form[y]:
            continue
        if one.inner[x] and two.inner[y]:
            change, below = compare_tests(one, two, x, y)
            if change is not None:
                yield change
            pairs.extend(reversed(below))
        else:
            yield compare_ends(one, two, x, y)


def compare_ends(one: SubtreeShape, two: SubtreeShape, x: int, y: int) -> StructureChange:
    """Say what happened where at least one of the trees has a leaf."""
    where = one.where(x)
    if one.inner[x]:
        words = f"the test {one.test(x)} ({one.size(x)} below) is gone: a leaf predicts {two.said(y)}"
        return StructureChange("vanished", where, (x, y), words)
    if two.inner[y]:
        words = f"the leaf that predicted {one.said(x)} is split by {two.test(y)} ({two.size(y)} below)"
        return StructureChange("appeared", where, (x, y), words)
    return StructureChange("prediction", where, (x, y), f"predicts {two.said(y)}, not {one.said(x)}")


def compare_tests(
    one: SubtreeShape, two: SubtreeShape, x: int, y: int
) -> tuple[StructureChange | None, list[tuple[int, int]]]:
    """Say what happened to a test, and which children are to be compared next."""
    old, new = one.tree.split_at(x), two.tree.split_at(y)
    assert old is not None
    assert new is not None
    if old.column != new.column:
        return replaced(one, two, x, y), []
    pairs, alike = matched(old, new)
    if pairs is None:
        words = f"{one.test(x)} ({one.size(x)}) became {two.test(y)} ({two.size(y)})"
        return StructureChange("kind", one.where(x), (x, y), words), []
    below = [(one.tree.children(x)[i], two.tree.children(y)[j]) for i, j in pairs]
    if alike:
        return None, below
    if isinstance(old, Multiway):
        return StructureChange("levels", one.where(x), (x, y), say_branches(old, new)), below
    kind: Kind = "threshold" if isinstance(old, Threshold) else "levels"
    return StructureChange(kind, one.where(x), (x, y), f"{one.test(x)} became {two.test(y)}"), below


def matched(old: Split, new: Split) -> tuple[list[tuple[int, int]] | None, bool]:
    """Return which branches belong together (None: none do), and whether the two tests are the same.

    >>> matched(Multiway("c", ("a", "b")), Multiway("c", ("b", "a")))
    ([(0, 1), (1, 0)], True)
    """
    if isinstance(old, Multiway) and isinstance(new, Multiway):
        pairs = [(i, new.levels.index(level)) for i, level in enumerate(old.levels) if level in new.levels]
        if old.other and new.other:
            pairs.append((len(old.levels), len(new.levels)))
        same = set(old.levels) == set(new.levels) and old.other == new.other
        return pairs, same
    if isinstance(old, Threshold) and isinstance(new, Threshold):
        return [(0, 0), (1, 1)], old.cut == new.cut
    if isinstance(old, Multiway) or isinstance(new, Multiway) or old.kind == "threshold" or new.kind == "threshold":
        return None, False
    ordered = isinstance(old, Ordinal), isinstance(new, Ordinal)
    if ordered[0] != ordered[1]:
        return None, False
    return [(0, 0), (1, 1)], set(old.named) == set(new.named)


def say_branches(old: Split, new: Split) -> str:
    """Say which branches of a test of many came and went."""
    gone = [safe(level) for level in old.named if level not in new.named]
    come = [safe(level) for level in new.named if level not in old.named]
    parts = [f"no branch {', '.join(gone)} any more"] * bool(gone) + [f"a new branch {', '.join(come)}"] * bool(come)
    return f"{safe(old.column)}: {'; '.join(parts) or 'the branch for all other levels came or went'}"


def replaced(one: SubtreeShape, two: SubtreeShape, x: int, y: int) -> StructureChange:
    """Say what happened where the trees ask about different columns."""
    where = one.where(x)
    if (stands := two.within(one.form[x], y)) is not None:
        words = f"a new test {two.test(y)} above {one.test(x)}, which is now node {stands}"
        return StructureChange("inserted", where, (x, y), words)
    if (stood := one.within(two.form[y], x)) is not None:
        words = f"the test {one.test(x)} is gone; {two.test(y)}, which was node {stood}, took its place"
        return StructureChange("removed", where, (x, y), words)
    if one.asks_next(x, two.asks(y)) and two.asks_next(y, one.asks(x)):
        return StructureChange("turned", where, (x, y), f"asks {two.test(y)} before {one.test(x)}, not after it")
    moved = two.places.get(one.form[x])
    if moved:
        words = f"asks {two.test(y)} ({two.size(y)}); {one.test(x)} ({one.size(x)}) moved to node {moved[-1]}"
        return StructureChange("moved", where, (x, y), words)
    words = f"asks {two.test(y)} ({two.size(y)}), not {one.test(x)} ({one.size(x)})"
    return StructureChange("replaced", where, (x, y), words)
