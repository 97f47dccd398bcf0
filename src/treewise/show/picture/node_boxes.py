"""The boxes of a picture before they have a place: what each says, how large it is, and its small chart.

Stands between ``choice.py``, which says what is shown, and ``compose.py``, which puts the boxes where they belong.

    flipper_length_mm?      2      the question, and the node's number
    ▇▇▇▇▇▇▇▇▇▇▒▒▒▒░░░░░░░░░        the classes, by weight; a number as mean and spread on the scale of the tree
    344 rows · Adelie 44.2 %       how many, and what the node would say

A leaf begins with what it predicts, a folded node with how many leaves are below it, in a dashed frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treewise._lib.text import format_count, format_rounded, format_share, plural, safe
from treewise.formats.text_format.notation import UNKNOWN, write_label
from treewise.show.node_stats import class_weights, has_training_rows, is_weighted, value_range
from treewise.show.picture.fills import FACTS, FRAME, PAPER, REST, WORDS, Fill, of_class, of_value
from treewise.show.picture.histograms import TALL, NodeHistograms
from treewise.show.picture.node_selection import SelectedNodes
from treewise.show.picture.scene import BoxShape, LineShape, Shape, TextShape, filled
from treewise.show.picture.text_metrics import clip_to, text_width
from treewise.show.text_tree.columns import relative_position
from treewise.show.text_tree.conditions import ConditionText
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

LARGE, SMALL, TINY = 13.0, 11.0, 9.0  # sizes of letters
INSET, CHART, SWATCH = 9.0, 9.0, 10.0
NARROWEST, WIDEST, LABEL_ROOM = 92.0, 230.0, 96.0  # of a box; of a class among its facts
LEAST_SEGMENT = 0.75  # pixels of a class in a bar; what is smaller is drawn together


@dataclass(frozen=True)
class NodeBox:
    """What a box says, line by line, and how it looks."""

    node: int
    head: str
    facts: str
    folded: bool
    swatch: Fill | None
    number: str
    chart: str  # "", "bar", "range" or "histogram"
    title: str

    @property
    def width(self) -> float:
        """How wide the box is: as wide as its longest line, within limits."""
        wide = max(text_width(self.head, LARGE, bold=True) + self._beside_head, text_width(self.facts, SMALL))
        return math.ceil(max(NARROWEST, wide + 2 * INSET))

    @property
    def height(self) -> float:
        """How tall the box is."""
        chart = {"": 0.0, "histogram": TALL + 7}.get(self.chart, CHART + 7)
        return 28 + chart + (16 if self.facts else 0)

    @property
    def _beside_head(self) -> float:
        number = text_width(self.number, TINY) + 8 if self.number else 0.0
        return number + (SWATCH + 5 if self.swatch else 0.0)


class NodeBoxes:
    """Makes the cards of one tree."""

    def __init__(self, tree: Tree, histograms: NodeHistograms | None = None) -> None:
        self.tree, self.histograms = tree, histograms
        self.speaker = ConditionText(tree)
        self.counted, self.weighted = has_training_rows(tree), is_weighted(tree)

    @cached_property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest number that is drawn: values of nodes, and a spread to either side."""
        if self.histograms is not None:
            return self.histograms.samples.value_range
        return value_range(self.tree)

    def card(self, shown: SelectedNodes) -> NodeBox:
        """Make the card of one box."""
        if shown.branches:
            more = f"+ {plural(shown.branches, 'more branch', 'more branches')}"
            leaves = plural(shown.leaves, "leaf", "leaves")
            return NodeBox(shown.node, more, leaves, True, None, "", "", f"{more}, {leaves}")
        node, leaf = shown.node, self.tree.arrays.kind[shown.node] == LEAF
        swatch = self.ink(node) if leaf else None
        if leaf:
            head = self.prediction(node)
        elif shown.folded:
            head = f"+ {plural(shown.leaves, 'more leaf', 'more leaves')}"
        else:
            head = f"{safe(self.tree.columns[self.tree.arrays.column[node]])}?"
        number = str(node)
        room = WIDEST - 2 * INSET - text_width(number, TINY) - 8 - (SWATCH + 5 if swatch else 0)
        facts = clip_to(self.facts(node, leaf), WIDEST - 2 * INSET, SMALL)
        chart = self._chart_of(node, leaf)
        return NodeBox(node, clip_to(head, room, LARGE, bold=True), facts, shown.folded, swatch, number, chart,
                    self.title(shown))  # fmt: skip

    def _chart_of(self, node: int, leaf: bool) -> str:
        if self.histograms is not None and self.histograms.has(node, leaf):
            return "histogram"
        if not self.counted or not self.tree.arrays.rows[node]:
            return ""
        if self.tree.task == "classification" and not class_weights(self.tree, node).any():
            return ""
        return "range" if self.tree.task == "regression" else "bar"

    # -- words ------------------------------------------------------------------------------------------------------

    def prediction(self, node: int) -> str:
        """Write what a node predicts."""
        prediction = self.tree.prediction(node)
        if prediction is None:
            return UNKNOWN
        return format_rounded(float(prediction)) if self.tree.task == "regression" else write_label(prediction)

    def facts(self, node: int, leaf: bool) -> str:
        """Say how many rows there are, and how sure the node is: at a leaf of its class, elsewhere of which class."""
        a = self.tree.arrays
        if not self.counted:
            return ""
        rows = plural(int(a.rows[node]), "row")
        if not a.rows[node]:
            return rows
        if self.weighted:
            weight = f"weight {format_count(float(a.weight[node]))}"
            rows = f"{rows}, {weight}" if leaf else weight  # beside a class there is no room for both
        if self.tree.task == "regression":
            return (
                f"{rows} · sd {format_rounded(float(a.spread[node]))}" if leaf else f"{rows} · {self.prediction(node)}"
            )
        place = 1 if len(self.tree.classes) == 2 and not leaf else int(a.label[node])
        weights = class_weights(self.tree, node)
        if place < 0 or not weights.any():
            return rows
        share = f"{format_share(float(weights[place] / weights.sum()))} %"
        label = clip_to(write_label(self.tree.classes[place]), LABEL_ROOM, SMALL)
        label += "" if isinstance(self.tree.classes[place], str) else ":"  # a class that is a number is no count
        return f"{share} of {rows}" if leaf else f"{rows} · {label} {share}"

    def title(self, shown: SelectedNodes) -> str:
        """Say everything about a node, in full, for whoever points at it."""
        tree, node = self.tree, shown.node
        a = tree.arrays
        lines = [f"node {node}: {self.speaker.condition(node)}"]
        if tree.prediction(node) is not None:
            lines.append(f"predicts {self.prediction(node)}")
        if self.counted:
            lines.append(plural(int(a.rows[node]), "row"))
        if self.weighted:
            lines.append(f"weight {format_count(float(a.weight[node]))}")
        if tree.task == "regression":
            if a.rows[node]:
                lines.append(
                    f"mean {format_rounded(float(a.value[node]))}, standard deviation {format_rounded(float(a.spread[node]))}"
                )
        else:
            lines += [f"{write_label(label)}: {format_count(weight)}" for label, weight in tree.counts(node).items()]
        if shown.folded:
            lines.append(f"{plural(shown.leaves, 'leaf', 'leaves')} below are not drawn")
        return "\n".join(lines)

    def ink(self, node: int) -> Fill:
        """Return the ink of what a node predicts."""
        if self.tree.task == "regression":
            return of_value(relative_position(float(self.tree.arrays.value[node]), *self.scale))
        return of_class(int(self.tree.arrays.label[node]))

    # -- shapes ---------------------------------------------------------------------------------------------------

    def painted(self, card: NodeBox, x: float, y: float, lit: bool) -> list[Shape]:
        """Paint a card with its upper left corner at a place."""
        leaf = card.swatch is not None
        fill = card.swatch.pale if card.swatch else PAPER
        edge = card.swatch.colour if card.swatch and self.tree.task == "classification" else FRAME
        shapes: list[Shape] = [
            BoxShape(x, y, card.width, card.height, fill, WORDS if lit else edge, 2.5 if lit else 1.2, 5.0, card.folded)
        ]
        at = x + INSET
        if card.swatch is not None:
            shapes += filled(at, y + 9, SWATCH, SWATCH, card.swatch)
            at += SWATCH + 5
        shapes.append(TextShape(at, y + 19, card.head, LARGE, True, FACTS if card.folded else WORDS))
        if card.number:
            shapes.append(TextShape(x + card.width - 6, y + 11, card.number, TINY, False, FACTS, "end"))
        below = y + 28
        if card.chart:
            tall = TALL if card.chart == "histogram" else CHART
            shapes += self._chart(card, x + INSET, below, card.width - 2 * INSET, tall, leaf)
            below += tall + 7
        if card.facts:
            shapes.append(TextShape(x + INSET, below + 8, card.facts, SMALL, False, WORDS if leaf else FACTS))
        return shapes

    def _chart(self, card: NodeBox, x: float, y: float, width: float, height: float, leaf: bool) -> Sequence[Shape]:
        if card.chart == "bar":
            return self._bar(card.node, x, y, width, height)
        if card.chart == "histogram":
            assert self.histograms is not None
            return self.histograms.histogram(card.node, (x, y, width, height))
        return self._range(card.node, x, y, width, height)

    def _bar(self, node: int, x: float, y: float, width: float, height: float) -> list[BoxShape | LineShape]:
        """Paint the weights of the classes beside each other, those too small to be seen together at the end."""
        weights = class_weights(self.tree, node)
        shares = (weights / weights.sum() * width).tolist()
        parts: list[BoxShape | LineShape] = []
        at = x
        for place, share in enumerate(shares):
            if share >= LEAST_SEGMENT:
                parts += filled(at, y, share, height, of_class(place))
                at += share
        if x + width - at >= LEAST_SEGMENT:
            parts += filled(at, y, x + width - at, height, REST)
        return parts

    def _range(self, node: int, x: float, y: float, width: float, height: float) -> list[BoxShape | LineShape]:
        """Paint the mean of a node and its spread, on the scale of the whole tree."""
        value, spread = float(self.tree.arrays.value[node]), float(self.tree.arrays.spread[node])
        shares = [relative_position(v, *self.scale) for v in (value - spread, value, value + spread)]
        if not np.isfinite(shares).all():
            return []
        left, middle, right = (x + width * share for share in shares)
        ink = self.ink(node)
        return [
            LineShape(((x, y + height / 2, x + width, y + height / 2),), FRAME, 1.0),
            BoxShape(left, y + 1.5, max(right - left, 1.0), height - 3, ink.colour),
            BoxShape(middle - 1.5, y - 1, 3, height + 2, WORDS, PAPER, 0.8),
        ]
