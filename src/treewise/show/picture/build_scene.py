"""A tree made into a scene: boxes where the plan puts them, bands between them, conditions on the bands.

Stands in the middle of the flow of a picture:

    choice ──▶ cards ──▶ plan (tidy says who stands beside whom) ──▶ compose ──▶ scene ──▶ svg · press

A band is as wide as the share of rows that take it; its condition stands just before the box it leads to, in a dashed
frame where missing values go that way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from treewise.show.node_stats import NodeSamples
from treewise.show.picture.fills import BAND, FRAME, PAPER, WORDS
from treewise.show.picture.geometry import PictureGeometry, PlacedBox
from treewise.show.picture.heading import heading
from treewise.show.picture.histograms import NodeHistograms
from treewise.show.picture.node_boxes import SMALL, NodeBox, NodeBoxes
from treewise.show.picture.node_selection import SelectedNodes, SelectionLimits, choose, notice
from treewise.show.picture.scene import BandShape, BoxShape, Part, Shape, ShapeGroup, TextShape, VectorScene
from treewise.show.picture.text_metrics import clip_to, text_width
from treewise.tree.tree import Tree

EDGE = 14.0  # white around everything
LABEL, LABEL_ROOM, LABEL_COLUMNS = 17.0, 230.0, 30  # of a condition: its height, its most width, the same in letters
TRUNK, THINNEST, BY_HAND = 28.0, 1.5, 3.0  # widths of bands: of all rows, of next to none, of a tree without rows
MOST_OF_A_BOX = 0.8  # of its side, where bands begin
LIT = 2.5
LONG_NUMBER = re.compile(r"^([≤>] -?(?:0\.0{0,8}[1-9]\d{4}|[1-9]\d{0,2}\.\d{3}|[1-9]\d{3,}\.\d))\d{3,}(?![\de])")


@dataclass(frozen=True)
class HighlightedPath:
    """How a picture is drawn: in which direction, which nodes are lit, with which table, and under a title or not."""

    direction: str = "down"
    path: tuple[int, ...] = ()
    samples: NodeSamples | None = None
    titled: bool = True


def build_scene(tree: Tree, bounds: SelectionLimits, way: HighlightedPath) -> VectorScene:
    """Make a picture of a tree."""
    picture = _SceneBuilder(tree, bounds, way, choose(tree, bounds, way.path))
    return picture.scene()


@dataclass(frozen=True)
class _SceneBuilder:
    """The boxes of a picture with what they say."""

    tree: Tree
    bounds: SelectionLimits
    way: HighlightedPath
    boxes: list[SelectedNodes]

    @cached_property
    def maker(self) -> NodeBoxes:
        return NodeBoxes(self.tree, None if self.way.samples is None else NodeHistograms(self.way.samples))

    @cached_property
    def cards(self) -> list[NodeBox]:
        return [self.maker.card(box) for box in self.boxes]

    @cached_property
    def conditions(self) -> list[str]:
        """The condition before each box, without the column, which stands in the box above; none at the top."""
        said: dict[int, dict[int, str]] = {}
        conditions = []
        for box in self.boxes:
            if box.up < 0 or box.branches:
                conditions.append("")
                continue
            above = self.boxes[box.up].node
            if above not in said:
                answers = self.maker.speaker.without_column(above, LABEL_COLUMNS)
                said[above] = dict(zip(self.tree.children(above), answers, strict=True))
            conditions.append(clip_to(_in_print(said[above][box.node]), LABEL_ROOM, SMALL))
        return conditions

    @cached_property
    def plan(self) -> PictureGeometry:
        sizes = [(text_width(words, SMALL) + 12, LABEL) if words else (0.0, 0.0) for words in self.conditions]
        items = [
            PlacedBox(box.up, card.width, card.height, *size)
            for box, card, size in zip(self.boxes, self.cards, sizes, strict=True)
        ]
        return PictureGeometry(items, self.way.direction)

    def scene(self) -> VectorScene:
        """Put the heading above the tree, the smaller of the two in the middle."""
        width, height = self.plan.size
        head = heading(self.maker, (EDGE, EDGE), width, self._remarks(), self._is_lit(0), self.way.titled)
        left, top = EDGE + max(0.0, head.width - width) / 2, EDGE + head.height
        paper = BoxShape(0, 0, math.ceil(max(width, head.width) + 2 * EDGE), math.ceil(top + height + EDGE))
        bands = [band for box in range(1, len(self.boxes)) for band in self._bands(box, left, top)]
        groups = [self._group(box, left, top) for box in range(len(self.boxes))]
        parts: list[Part] = [paper, *head.shapes, *sorted(bands, key=lambda band: band.colour == WORDS), *groups]
        return VectorScene(paper.width, paper.height, self._title(), tuple(parts))

    def _title(self) -> str:
        return repr(self.tree).strip("<>")

    def _remarks(self) -> Sequence[str]:
        top = self.bounds.top
        part = [f"from node {top} down: {self.maker.speaker.condition(top)}"] if top else []
        hidden = notice(self.tree, self.bounds, self.boxes)
        return [*part, hidden] if hidden else part

    def _is_lit(self, box: int) -> bool:
        return self.boxes[box].node in self.way.path and not self.boxes[box].branches

    def _group(self, box: int, left: float, top: float) -> ShapeGroup:
        """Paint a box and the condition before it."""
        card, words, lit = self.cards[box], self.conditions[box], self._is_lit(box)
        x, y = self.plan.corner(box)
        shapes: list[Shape] = self.maker.painted(card, left + x, top + y, lit)
        if words:
            item = self.plan.items[box]
            x, y = self.plan.label_corner(box)
            frame = BoxShape(left + x, top + y, item.label_width, LABEL, PAPER, WORDS if lit else FRAME, 1.0, 8.0,
                        words == "missing" or words.endswith("or missing"))  # fmt: skip
            middle = left + x + item.label_width / 2
            shapes = [frame, TextShape(middle, top + y + 12.5, words, SMALL, False, WORDS, "middle"), *shapes]
        name = f"{'more of node' if self.boxes[box].branches else 'node'} {card.node}"
        return ShapeGroup(card.title, tuple(shapes), name)

    def _bands(self, box: int, left: float, top: float) -> list[BandShape]:
        """Paint the band that leads to a box, and the line on it that shows the path of a row."""
        ways = [(left + x, top + y) for x, y in self.plan.way(box, self._aside[box])]
        points = (ways[0], ways[1], ways[2], ways[3], ways[4], ways[5])
        empty = self.maker.counted and not self._shares[box]
        bands = [BandShape(points, FRAME if empty else BAND, self._widths[box], dashed=empty)]
        if self._is_lit(box):
            bands.append(BandShape(points, WORDS, LIT))
        return bands

    @cached_property
    def _shares(self) -> list[float]:
        """The share of the picture's rows that each box has, by weight; what is not shown has the rest."""
        weight = self.tree.arrays.weight
        whole = float(weight[self.bounds.top]) or 1.0
        shares = [float(weight[box.node]) / whole for box in self.boxes]
        for i, box in enumerate(self.boxes):
            if box.branches:
                shown = sum(shares[j] for j, other in enumerate(self.boxes) if other.up == box.up and j != i)
                shares[i] = max(0.0, shares[i] - shown)
        return shares

    @cached_property
    def _widths(self) -> list[float]:
        if not self.maker.counted:
            return [BY_HAND] * len(self.boxes)
        return [max(THINNEST, TRUNK * share) for share in self._shares]

    @cached_property
    def _aside(self) -> list[float]:
        """Where each band begins beside the middle of the box above: side by side, in their order, within the box."""
        total = [0.0] * len(self.boxes)
        begins = []
        for box, wide in zip(self.boxes, self._widths, strict=True):
            begins.append(total[box.up] + wide / 2)
            if box.up >= 0:
                total[box.up] += wide
        rooms = [card.width if self.way.direction == "down" else card.height for card in self.cards]
        squeezed = [min(1.0, MOST_OF_A_BOX * room / (wide or 1.0)) for room, wide in zip(rooms, total, strict=True)]
        return [(begin - total[box.up] / 2) * squeezed[box.up] for begin, box in zip(begins, self.boxes, strict=True)]


def _in_print(answer: str) -> str:
    """Write a condition as print does: ≤ for <=, and of a long number the first digits (the tooltip has them all).

    >>> _in_print("<= 206.5"), _in_print("> 0.537971036064431 or missing"), _in_print("= <= x")
    ('≤ 206.5', '> 0.53797… or missing', '= <= x')
    """
    answer = f"≤{answer[2:]}" if answer.startswith("<= ") else answer
    return LONG_NUMBER.sub(r"\1…", answer)
