"""Where the boxes of a tree stand beside each other: a tidy drawing, in linear time, for any number of children.

Stands at the bottom of ``draw/picture``: a pure function of the shape and of how wide each box is. It promises:

    no two boxes of a level overlap, and there is a gap between them
    children keep their order, and a parent stands over the middle of its first and last child
    a mirrored tree is drawn mirrored

Each subtree is pushed as far left as the contour of those before it allows; then everything is done once more from the
right. Both drawings keep the promises, which are linear, so the mean of the two does; and in the mean a small subtree
between two large ones stands in the middle instead of leaning on one. Contours are threaded through the boxes
themselves (a box knows the next one down its side), so that joining two costs as many steps as the flatter one has
levels, and all joins together no more than there are boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

END = -1  # below the last level


def centres(children: Sequence[Sequence[int]], widths: Sequence[float], gap: float) -> list[float]:
    """Return the middle of each box, the root's at 0; boxes are numbered so that children follow their parent.

    >>> centres([[1, 2], [], []], [10, 10, 10], 2)
    [0.0, -6.0, 6.0]
    """
    mirrored = [list(reversed(below)) for below in children]
    from_left, from_right = _Fit(children, widths, gap).centres(), _Fit(mirrored, widths, gap).centres()
    return [(left - right) / 2 for left, right in zip(from_left, from_right, strict=True)]


@dataclass
class _Contour:
    """One side of the contours: the box that is next down this side of each subtree, and how far aside it stands."""

    next: list[int]
    shift: list[float]

    def step(self, box: int, at: float) -> tuple[int, float]:
        """Go one level down from a box whose middle is at a place."""
        return self.next[box], at + self.shift[box]

    def lead(self, box: int, to: int, shift: float) -> None:
        """Let the contour go on from a box to another."""
        self.next[box], self.shift[box] = to, shift


@dataclass
class _Fit:
    """A drawing with every subtree as far left as it can be."""

    children: Sequence[Sequence[int]]
    widths: Sequence[float]
    gap: float
    left: _Contour = field(init=False)
    right: _Contour = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.children)
        self.left, self.right = _Contour([END] * n, [0.0] * n), _Contour([END] * n, [0.0] * n)

    def centres(self) -> list[float]:
        """Return the middle of each box; the root's is at 0."""
        beside = [0.0] * len(self.children)  # each box from its parent
        for box in range(len(self.children) - 1, -1, -1):  # children first
            below = self.children[box]
            if not below:
                continue
            places = [0.0]
            for i in range(1, len(below)):
                places.append(self._join(below[0], below[i - 1], places[-1], below[i]))
            middle = (places[0] + places[-1]) / 2
            for child, place in zip(below, places, strict=True):
                beside[child] = place - middle
            self.left.lead(box, below[0], places[0] - middle)
            self.right.lead(box, below[-1], places[-1] - middle)
        for box, below in enumerate(self.children):  # parents first
            for child in below:
                beside[child] += beside[box]
        return beside

    def _join(self, first: int, last: int, last_at: float, new: int) -> float:
        """Put a subtree to the right of those from ``first`` (at 0) to ``last``; return where its root stands.

        Four walkers go down together: both sides of what stands there, and both sides of what is new.
        """
        outer, inner, near, far = (first, 0.0), (last, last_at), (new, 0.0), (new, 0.0)
        place = float("-inf")
        while True:
            apart = (self.widths[inner[0]] + self.widths[near[0]]) / 2 + self.gap
            place = max(place, inner[1] + apart - near[1])
            deeper, new_deeper = self.right.step(*inner), self.left.step(*near)
            if deeper[0] == END or new_deeper[0] == END:
                break
            inner, near = deeper, new_deeper
            outer, far = self.left.step(*outer), self.right.step(*far)
        if deeper[0] != END:  # below the new subtree, the right side is that of the old ones
            self.right.lead(far[0], deeper[0], deeper[1] - (far[1] + place))
        elif new_deeper[0] != END:
            self.left.lead(outer[0], new_deeper[0], new_deeper[1] + place - outer[1])
        return place
