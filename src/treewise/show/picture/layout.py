"""Positions of the boxes, labels and edges of a picture.

``PictureLayout`` places levels along one axis and the boxes of a level across it; which axis points down and which to
the right is decided last. ``centres`` places the boxes of a level: a tidy tree drawing in linear time for any number of
children, which guarantees that

    no two boxes of a level overlap, and there is a gap between them
    children keep their order, and a parent is centred over its first and last child
    a mirrored tree is drawn mirrored

Each subtree is pushed as far left as the contour of those before it allows; then the same is done from the right. Both
drawings satisfy the guarantees, which are linear, so their mean does too; and in the mean a small subtree between two
large ones is centred instead of leaning on one. Contours are threaded through the boxes themselves (a box stores the
next one down its side), so that joining two takes as many steps as the flatter one has levels, and all joins together
no more than there are boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from treewise.show.picture.scene import Point

_STEM = 6.0  # between a label and its box
_GAPS = {"down": (14.0, 34.0), "right": (10.0, 44.0)}  # between boxes of a level, between levels


@dataclass(frozen=True)
class BoxSize:
    """The sizes of a box and of the label before it (the condition); the first box has none."""

    parent: int  # index of the box above; -1 at the top
    width: float
    height: float
    label_width: float = 0.0
    label_height: float = 0.0


@dataclass(frozen=True)
class PictureLayout:
    """The positions of all boxes, from (0, 0) to (width, height)."""

    boxes: Sequence[BoxSize]
    direction: str

    def corner(self, box: int) -> Point:
        """Return the upper left corner of a box."""
        item, along = self.boxes[box], self._starts[self.levels[box]]
        if self.direction == "down":
            return self._across[box] - item.width / 2, along
        return along, self._across[box] - item.height / 2

    def label_corner(self, box: int) -> Point:
        """Return the upper left corner of the label before a box."""
        item, (x, y) = self.boxes[box], self.corner(box)
        if self.direction == "down":
            return self._across[box] - item.label_width / 2, y - _STEM - item.label_height
        return x - _STEM - item.label_width, self._across[box] - item.label_height / 2

    def edge(self, box: int, offset: float) -> tuple[Point, Point, Point, Point, Point, Point]:
        """Return the edge from the parent to a box, beginning at an offset from the middle of the parent.

        It bends only between the levels, so that it crosses no box and no label.
        """
        parent = self.boxes[box].parent
        start, end = self._across[parent] + offset, self._across[box]
        parent_end = self._starts[self.levels[parent]] + self._length(parent)
        bend_start = self._starts[self.levels[parent]] + self._lengths[self.levels[parent]]
        box_start = self._starts[self.levels[box]]
        bend_end = box_start - self._labels[self.levels[box]] - _STEM
        middle = (bend_start + bend_end) / 2
        return (
            self._point(start, parent_end),
            self._point(start, bend_start),
            self._point(start, middle),
            self._point(end, middle),
            self._point(end, bend_end),
            self._point(end, box_start),
        )

    def _point(self, across: float, along: float) -> Point:
        return (across, along) if self.direction == "down" else (along, across)

    @property
    def size(self) -> Point:
        """The width and the height of the layout."""
        across = max(middle + self._breadth(box) / 2 for box, middle in enumerate(self._across))
        along = self._starts[-1] + self._lengths[-1]
        return self._point(across, along)

    @cached_property
    def levels(self) -> list[int]:
        """The level of each box, from 0 at the top."""
        levels: list[int] = []
        for item in self.boxes:
            levels.append(0 if item.parent < 0 else levels[item.parent] + 1)
        return levels

    # -- along the axis on which the tree grows ---------------------------------------------------------------------

    def _length(self, box: int) -> float:
        return self.boxes[box].height if self.direction == "down" else self.boxes[box].width

    @cached_property
    def _lengths(self) -> list[float]:
        """The longest box of each level."""
        longest = [0.0] * (max(self.levels) + 1)
        for box, level in enumerate(self.levels):
            longest[level] = max(longest[level], self._length(box))
        return longest

    @cached_property
    def _labels(self) -> list[float]:
        """The longest label of each level."""
        longest = [0.0] * (max(self.levels) + 1)
        for item, level in zip(self.boxes, self.levels, strict=True):
            longest[level] = max(longest[level], item.label_height if self.direction == "down" else item.label_width)
        return longest

    @cached_property
    def _starts(self) -> list[float]:
        """Where the boxes of each level begin."""
        starts, gap = [0.0], _GAPS[self.direction][1]
        for level in range(1, len(self._lengths)):
            starts.append(starts[-1] + self._lengths[level - 1] + gap + self._labels[level] + _STEM)
        return starts

    # -- across it --------------------------------------------------------------------------------------------------

    def _breadth(self, box: int) -> float:
        item = self.boxes[box]
        if self.direction == "down":
            return max(item.width, item.label_width)
        return max(item.height, item.label_height)

    @cached_property
    def _across(self) -> list[float]:
        """The middle of each box."""
        below: list[list[int]] = [[] for _ in self.boxes]
        for box, item in enumerate(self.boxes):
            if item.parent >= 0:
                below[item.parent].append(box)
        breadths = [self._breadth(box) for box in range(len(self.boxes))]
        middles = centres(below, breadths, _GAPS[self.direction][0])
        first = min(middle - breadth / 2 for middle, breadth in zip(middles, breadths, strict=True))
        return [middle - first for middle in middles]


# -- tidy tree drawing --------------------------------------------------------------------------------------

_END = -1  # below the last level


def centres(children: Sequence[Sequence[int]], widths: Sequence[float], gap: float) -> list[float]:
    """Return the centre of each box, the root's at 0; boxes are numbered so that children follow their parent.

    >>> centres([[1, 2], [], []], [10, 10, 10], 2)
    [0.0, -6.0, 6.0]
    """
    mirrored = [list(reversed(below)) for below in children]
    from_left = _LeftPacking(children, widths, gap).centres()
    from_right = _LeftPacking(mirrored, widths, gap).centres()
    return [(left - right) / 2 for left, right in zip(from_left, from_right, strict=True)]


@dataclass
class _Contour:
    """One side of the contours: the next box down this side of each subtree, and its horizontal shift."""

    next: list[int]
    shift: list[float]

    def step(self, box: int, at: float) -> tuple[int, float]:
        """Return the next box down and its centre."""
        return self.next[box], at + self.shift[box]

    def link(self, box: int, successor: int, shift: float) -> None:
        """Continue the contour from a box to another."""
        self.next[box], self.shift[box] = successor, shift


@dataclass
class _LeftPacking:
    """A drawing with every subtree as far left as possible."""

    children: Sequence[Sequence[int]]
    widths: Sequence[float]
    gap: float
    left: _Contour = field(init=False)
    right: _Contour = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.children)
        self.left, self.right = _Contour([_END] * n, [0.0] * n), _Contour([_END] * n, [0.0] * n)

    def centres(self) -> list[float]:
        """Return the centre of each box; the root's is at 0."""
        offset = [0.0] * len(self.children)  # of each box from its parent
        for box in range(len(self.children) - 1, -1, -1):  # children first
            below = self.children[box]
            if not below:
                continue
            xs = [0.0]
            for i in range(1, len(below)):
                xs.append(self._join(below[0], below[i - 1], xs[-1], below[i]))
            middle = (xs[0] + xs[-1]) / 2
            for child, x in zip(below, xs, strict=True):
                offset[child] = x - middle
            self.left.link(box, below[0], xs[0] - middle)
            self.right.link(box, below[-1], xs[-1] - middle)
        for box, below in enumerate(self.children):  # parents first
            for child in below:
                offset[child] += offset[box]
        return offset

    def _join(self, first: int, last: int, last_at: float, new: int) -> float:
        """Place a subtree to the right of those from ``first`` (at 0) to ``last``; return the centre of its root.

        Four pointers descend together: both sides of the placed subtrees, and both sides of the new one.
        """
        placed_left, placed_right, new_left, new_right = (first, 0.0), (last, last_at), (new, 0.0), (new, 0.0)
        x = float("-inf")
        while True:
            distance = (self.widths[placed_right[0]] + self.widths[new_left[0]]) / 2 + self.gap
            x = max(x, placed_right[1] + distance - new_left[1])
            deeper, new_deeper = self.right.step(*placed_right), self.left.step(*new_left)
            if deeper[0] == _END or new_deeper[0] == _END:
                break
            placed_right, new_left = deeper, new_deeper
            placed_left, new_right = self.left.step(*placed_left), self.right.step(*new_right)
        if deeper[0] != _END:  # below the new subtree, the right contour is that of the placed ones
            self.right.link(new_right[0], deeper[0], deeper[1] - (new_right[1] + x))
        elif new_deeper[0] != _END:
            self.left.link(placed_left[0], new_deeper[0], new_deeper[1] + x - placed_left[1])
        return x
