"""A small bar beside each line of a text tree: how its rows are mixed, in block characters.

Stands beside ``counts.py``; ``layout.py`` puts the bars after the numbers when they are asked for.

    ██████████▓▓    the classes, as many cells as their share; each has a shade of its own, and on a terminal a colour
    ··▒▒▒█▒▒▒···    a number: where the mean lies on the scale of the tree, with a standard deviation to either side
    ··▁▂▅█▇▃▁···    where the rows are at hand: a histogram of their numbers
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from treewise._lib.text import clip, display_width, format_rounded
from treewise.formats.text_format.notation import write_label
from treewise.show.text_tree.condition_text import counted
from treewise.show.text_tree.number_columns import class_weights, share_between, value_range
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.show.samples import NodeSamples

CELLS = 12  # of a bar
LONGEST_CLASS = 24
TWO, SHADES = "░█", "█▓▒░"  # with two classes the second, whose share is told, is the dark one
ASCII_TWO, ASCII_SHADES = ".#", "#+=-"
HEIGHTS, ASCII_HEIGHTS = "·▁▂▃▄▅▆▇█", "-.:=+*%#"  # of a histogram, from no row up
Paint = Callable[[str, int], str]  # gives a text the colour of the class at a place


def unpainted(text: str, _: int) -> str:
    """Leave a text as it is: in a pipe, in a file, with NO_COLOR."""
    return text


class DistributionBars:
    """The bars of one tree."""

    def __init__(
        self, tree: Tree, ascii: bool = False, paint: Paint = unpainted, samples: NodeSamples | None = None
    ) -> None:
        self.tree, self.ascii, self.paint = tree, ascii, paint
        self.shown = counted(tree)
        self.regression = tree.task == "regression"
        two = len(tree.classes) == 2
        self.shades = (ASCII_TWO if two else ASCII_SHADES) if ascii else (TWO if two else SHADES)
        self.outside, self.inside, self.at = "-=#" if ascii else "·▒█"
        self.scale = value_range(tree) if self.regression else (0.0, 1.0)
        self.samples = samples if self.regression else None
        if self.samples is not None:
            self.scale = self.samples.scale
        self.heights = ASCII_HEIGHTS if ascii else HEIGHTS

    @property
    def heading(self) -> str:
        """What the shades mean."""
        return self._named(self.paint)

    @property
    def heading_width(self) -> int:
        """How many columns the heading takes."""
        return display_width(self._named(unpainted))

    def _named(self, paint: Paint) -> str:
        if self.regression:
            low, high = map(format_rounded, self.scale)
            sign = self.inside + self.at + self.inside
            if self.samples is not None:
                sign = self.heights[2] + self.heights[-2] + self.heights[2]
            return f"{low} {sign} {high}"
        dots, classes = "..." if self.ascii else "…", self.tree.classes[: self._many]
        labels = [clip(write_label(label, self.ascii), LONGEST_CLASS, dots) for label in classes]
        named = [f"{paint(self.shades[i], i)} {label}" for i, label in enumerate(labels)]
        if len(self.tree.classes) > self._many:
            named.append(f"{self.outside} others")
        return "  ".join(named)

    @property
    def _many(self) -> int:
        return min(len(self.shades), len(self.tree.classes))

    def of(self, node: int | None) -> str:
        """Return the bar of a node, nothing for a line without one or a node without rows.

        >>> import treewise as tw
        >>> bars = DistributionBars(tw.grow("penguins", max_leaf_nodes=4))
        >>> bars.of(0), bars.of(2), bars.heading
        ('█████▓▓▓▒▒▒▒', '████████████', '█ Adelie  ▓ Chinstrap  ▒ Gentoo')
        """
        if node is None or not self.shown:
            return ""
        if self.samples is not None:
            return self._of_rows(node, self.samples)
        return self._of_number(node) if self.regression else self._of_classes(node)

    def _of_rows(self, node: int, samples: NodeSamples) -> str:
        many = samples.values(node, CELLS)
        if not many.any():
            return ""
        tallest = len(self.heights) - 1
        return "".join(self.heights[math.ceil(tallest * n / int(many.max()))] for n in many.tolist())

    def _of_classes(self, node: int) -> str:
        weights = class_weights(self.tree, node)
        if not weights.any():
            return ""
        cells = in_cells(weights / weights.sum(), CELLS)
        named = "".join(self.paint(self.shades[i] * cells[i], i) for i in range(self._many) if cells[i])
        return named + self.outside * sum(cells[self._many :])

    def _of_number(self, node: int) -> str:
        a, (low, high) = self.tree.arrays, self.scale
        value, spread = float(a.value[node]), float(a.spread[node])
        places = [share_between(v, low, high) * CELLS for v in (value - spread, value, value + spread)]
        if not a.rows[node] or any(map(math.isnan, places)):
            return ""
        first, at, last = (min(int(place), CELLS - 1) for place in places)
        cells = [self.inside if first <= i <= last else self.outside for i in range(CELLS)]
        cells[at] = self.at
        return "".join(cells)


def in_cells(shares: npt.NDArray[np.float64], cells: int) -> list[int]:
    """Divide cells by shares: the whole ones first, the others to the largest remainders.

    >>> in_cells(np.array([0.5, 0.3, 0.2]), 4), in_cells(np.array([1.0, 0.0]), 4)
    ([2, 1, 1], [4, 0])
    """
    exact = shares * cells
    whole = np.floor(exact).astype(int)
    left = cells - int(whole.sum())
    for place in np.argsort(-(exact - whole), kind="stable")[:left]:
        whole[place] += 1
    return [int(many) for many in whole]
