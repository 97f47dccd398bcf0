"""Where everything of a picture stands: boxes, conditions and the ways between them, as numbers only.

Stands between ``cards.py``, which knows how large boxes are, and ``compose.py``, which paints. Here a picture grows
along one axis, level by level, and spreads along the other, where ``tidy.py`` says who stands beside whom; which of the
two is down and which is right is decided last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from treewise.show.picture.scene import Point
from treewise.show.picture.tree_layout import centres

STEM = 6.0  # between a condition and its box
GAPS = {"down": (14.0, 34.0), "right": (10.0, 44.0)}  # between boxes of a level, between levels


@dataclass(frozen=True)
class PlacedBox:
    """A box and the condition before it, by their sizes; the condition of the first box is empty."""

    up: int  # which box it hangs from; -1 at the top
    width: float
    height: float
    label_width: float = 0.0
    label_height: float = 0.0


@dataclass(frozen=True)
class PictureGeometry:
    """The places of all boxes, from (0, 0) to (width, height)."""

    items: Sequence[PlacedBox]
    direction: str

    def corner(self, box: int) -> Point:
        """Return the upper left corner of a box."""
        item, along = self.items[box], self._starts[self.levels[box]]
        if self.direction == "down":
            return self._across[box] - item.width / 2, along
        return along, self._across[box] - item.height / 2

    def label_corner(self, box: int) -> Point:
        """Return the upper left corner of the condition before a box."""
        item, (x, y) = self.items[box], self.corner(box)
        if self.direction == "down":
            return self._across[box] - item.label_width / 2, y - STEM - item.label_height
        return x - STEM - item.label_width, self._across[box] - item.label_height / 2

    def way(self, box: int, aside: float) -> tuple[Point, Point, Point, Point, Point, Point]:
        """Return the way from the box above to a box, beginning so far beside the middle of the former.

        It bends only between the levels, so that it crosses no box and no condition.
        """
        up = self.items[box].up
        start, end = self._across[up] + aside, self._across[box]
        leaves = self._starts[self.levels[up]] + self._length(up)
        begins = self._starts[self.levels[up]] + self._lengths[self.levels[up]]
        arrives = self._starts[self.levels[box]]
        stops = arrives - self._labels[self.levels[box]] - STEM
        middle = (begins + stops) / 2
        return (
            self._point(start, leaves),
            self._point(start, begins),
            self._point(start, middle),
            self._point(end, middle),
            self._point(end, stops),
            self._point(end, arrives),
        )

    def _point(self, across: float, along: float) -> Point:
        return (across, along) if self.direction == "down" else (along, across)

    @property
    def size(self) -> Point:
        """How wide and how tall the plan is."""
        across = max(middle + self._breadth(box) / 2 for box, middle in enumerate(self._across))
        along = self._starts[-1] + self._lengths[-1]
        return self._point(across, along)

    @cached_property
    def levels(self) -> list[int]:
        """How many boxes are above each."""
        levels: list[int] = []
        for item in self.items:
            levels.append(0 if item.up < 0 else levels[item.up] + 1)
        return levels

    # -- along the axis on which the tree grows ---------------------------------------------------------------------

    def _length(self, box: int) -> float:
        return self.items[box].height if self.direction == "down" else self.items[box].width

    @cached_property
    def _lengths(self) -> list[float]:
        """The longest box of each level."""
        longest = [0.0] * (max(self.levels) + 1)
        for box, level in enumerate(self.levels):
            longest[level] = max(longest[level], self._length(box))
        return longest

    @cached_property
    def _labels(self) -> list[float]:
        """The longest condition of each level."""
        longest = [0.0] * (max(self.levels) + 1)
        for item, level in zip(self.items, self.levels, strict=True):
            longest[level] = max(longest[level], item.label_height if self.direction == "down" else item.label_width)
        return longest

    @cached_property
    def _starts(self) -> list[float]:
        """Where the boxes of each level begin."""
        starts, gap = [0.0], GAPS[self.direction][1]
        for level in range(1, len(self._lengths)):
            starts.append(starts[-1] + self._lengths[level - 1] + gap + self._labels[level] + STEM)
        return starts

    # -- across it --------------------------------------------------------------------------------------------------

    def _breadth(self, box: int) -> float:
        item = self.items[box]
        if self.direction == "down":
            return max(item.width, item.label_width)
        return max(item.height, item.label_height)

    @cached_property
    def _across(self) -> list[float]:
        """The middle of each box."""
        below: list[list[int]] = [[] for _ in self.items]
        for box, item in enumerate(self.items):
            if item.up >= 0:
                below[item.up].append(box)
        breadths = [self._breadth(box) for box in range(len(self.items))]
        middles = centres(below, breadths, GAPS[self.direction][0])
        first = min(middle - breadth / 2 for middle, breadth in zip(middles, breadths, strict=True))
        return [middle - first for middle in middles]
