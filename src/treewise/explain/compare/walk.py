"""Down two trees at once: every part of the space in which they answer differently, and no other.

Stands on ``routes.py``. The first tree is walked to where its answer is settled; from there the second one is walked
within what is still possible, and left where it answers the same. Branches nothing can take are never entered, so the
work is that of the pairs of ends that meet. One state a column, changed on the way down and put back on the way up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from treewise.explain.compare.routes import MIXED, STAY, Routes
from treewise.explain.compare.space import Space, State

Differ = Callable[[int, int], bool]


class Place(NamedTuple):
    """Where two trees differ: what is possible of each column, and what each tree answers there."""

    states: tuple[State, ...]
    answers: tuple[int, int]


def places(space: Space, a: Routes, b: Routes, differ: Differ, unseen: bool, missing: bool) -> Iterator[Place]:
    """Go through the parts of the space in which two trees differ; they are disjoint, and all there are."""
    now = space.everything(unseen, missing)
    trees, alike = (a, b), (a.alike(unseen), b.alike(unseen))
    settled = MIXED  # the first tree's answer, while the second one is walked
    # A step is: go to a node of a tree (0 or 1) after setting a column's state; or, if the tree is -1, put one back.
    steps: list[tuple[int, int, int, State | None]] = [(0, 0, -1, None)]
    while steps:
        which, node, column, state = steps.pop()
        if state is not None:
            now[column] = state
        if which < 0:
            continue
        answer = alike[which][node] if node >= 0 else trees[which].answers[~node]
        if answer != MIXED:
            if which == 0:
                settled = answer
                steps.append((1, 0, -1, None))
            elif differ(settled, answer):
                yield Place(tuple(now), (settled, answer))
            continue
        tree = trees[which]
        column = tree.axis[node]
        steps.append((-1, 0, column, now[column]))
        for branch, some in reversed(tree.parts(node, now[column])):
            steps.append((which, ~node if branch == STAY else tree.children[node][branch], column, some))
