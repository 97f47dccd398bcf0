"""Down two trees at once: every part of the space in which they answer differently, and no other.

Stands on ``routes.py``. The first tree is walked to where its answer is settled; from there the second one is walked
within what is still possible, and left where it answers the same. Branches nothing can take are never entered, so the
work is that of the pairs of ends that meet. One state a column, changed on the way down and put back on the way up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import NamedTuple

from treewise.explain.compare.routes import MIXED, STAY, BranchTable
from treewise.explain.compare.space import InputSpace, State

Differ = Callable[[int, int], bool]


class SpaceCell(NamedTuple):
    """Where two trees differ: what is possible of each column, and what each tree answers there."""

    states: tuple[State, ...]
    answers: tuple[int, int]


def places(
    space: InputSpace, a: BranchTable, b: BranchTable, differ: Differ, unseen: bool, missing: bool
) -> Iterator[SpaceCell]:
    """Go through the parts of the space in which two trees differ; they are disjoint, and all there are."""
    alike = b.alike(unseen)
    for here, one in settled(a, a.alike(unseen), space.everything(unseen, missing)):
        for states, two in settled(b, alike, here):
            if differ(one, two):
                yield SpaceCell(tuple(states), (one, two))


def settled(tree: BranchTable, alike: list[int], begin: list[State]) -> Iterator[tuple[list[State], int]]:
    """Go through the parts of a part of the space in which a tree has one answer, with that answer.

    The states are changed as the walk goes on: whoever keeps them copies them.
    """
    now = list(begin)
    # A step is: set a column's state and go to a node (~node: stay there); without a node, put the state back.
    steps: list[tuple[int | None, int, State | None]] = [(0, -1, None)]
    while steps:
        node, column, state = steps.pop()
        if state is not None:
            now[column] = state
        if node is None:
            continue
        answer = alike[node] if node >= 0 else tree.answers[~node]
        if answer != MIXED:
            yield now, answer
            continue
        column = tree.axis[node]
        steps.append((None, column, now[column]))
        for branch, some in reversed(tree.parts(node, now[column])):
            steps.append((~node if branch == STAY else tree.children[node][branch], column, some))


def count_cases(space: InputSpace, a: BranchTable, b: BranchTable, differ: Differ) -> int:
    """Count the combinations of known levels on which two trees differ.

    Parts of the first tree that leave the same of the columns the second one asks about are taken together, so that
    trees over different columns are not walked pair by pair.
    """
    asked = sorted({axis for axis in b.axis if axis >= 0})
    others = [i for i in range(len(space.axes)) if i not in asked]
    whole = space.everything(unseen=False, missing=False)
    groups: dict[tuple[State, ...], dict[int, int]] = {}
    for now, answer in settled(a, a.alike(unseen=False), whole):
        sizes = groups.setdefault(tuple(now[i] for i in asked), {})
        sizes[answer] = sizes.get(answer, 0) + prod(space.axes[i].count(now[i]) for i in others)
    total, alike = 0, b.alike(unseen=False)
    for states, sizes in groups.items():
        begin = list(whole)
        for i, state in zip(asked, states, strict=True):
            begin[i] = state
        for now, said in settled(b, alike, begin):
            wrong = sum(size for answer, size in sizes.items() if differ(answer, said))
            total += wrong * prod(space.axes[i].count(now[i]) for i in asked)
    return total
