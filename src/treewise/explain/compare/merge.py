"""Parts of the space put together: neighbours that differ in one column become one, until none are left.

Stands beside ``walk.py``, whose places are as many as the pairs of ends that disagree; a reader wants few.
"""

from __future__ import annotations

from collections.abc import Iterable

from treewise.explain.compare.space import State
from treewise.explain.compare.walk import SpaceCell


def merged(found: Iterable[SpaceCell]) -> list[SpaceCell]:
    """Merge places with the same answers that are alike in all columns but one.

    >>> n, p = (0, 1), frozenset
    >>> cells = [(p({0}), (0, 2, False)), (p({0}), (3, 4, True)), (p({1}), (0, 4, True))]
    >>> merged([SpaceCell(states, n) for states in cells])
    [SpaceCell(states=(frozenset({0, 1}), (0, 4, True)), answers=(0, 1))]
    """
    places = list(found)
    columns, quiet = len(places[0].states) if places else 0, 0
    column = 0
    while quiet < columns:
        fewer = merged_along(places, column)
        quiet = quiet + 1 if len(fewer) == len(places) else 0
        places, column = fewer, (column + 1) % columns
    return places


def merged_along(places: list[SpaceCell], column: int) -> list[SpaceCell]:
    """Merge along one column."""
    groups: dict[object, list[SpaceCell]] = {}
    for place in places:
        others = (*place.states[:column], None, *place.states[column + 1 :])
        groups.setdefault((others, place.answers), []).append(place)
    result = []
    for same in groups.values():
        for state in united([place.states[column] for place in same]):
            states = same[0].states
            result.append(SpaceCell((*states[:column], state, *states[column + 1 :]), same[0].answers))
    return result


def united(states: list[State]) -> list[State]:
    """Return the union of disjoint states of one column as few states.

    >>> united([(3, 4, False), (0, 2, False), (1, 0, True), (6, 6, False)])
    [(0, 4, True), (6, 6, False)]
    """
    if len(states) == 1:
        return states
    levels = [s for s in states if isinstance(s, frozenset)]
    if levels:
        return [frozenset().union(*levels)]
    runs: list[list[int]] = []
    ranges = [s for s in states if isinstance(s, tuple)]
    for first, last, _ in sorted(s for s in ranges if s[0] <= s[1]):
        if runs and first == runs[-1][1] + 1:
            runs[-1][1] = last
        else:
            runs.append([first, last])
    missing = any(s[2] for s in ranges)
    # Where there are several runs, what is missing goes with the first: the union is the same.
    return [(r[0], r[1], missing and i == 0) for i, r in enumerate(runs)] or [(1, 0, missing)]
