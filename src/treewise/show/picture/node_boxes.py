"""The boxes of a picture before they have a position: their text, size and chart.

    flipper_length_mm?      2      the column of the split, and the number of the node
    ▇▇▇▇▇▇▇▇▇▇▒▒▒▒░░░░░░░░░        the classes, by weight; for regression mean and spread on the scale of the tree
    344 rows · Adelie 44.2 %       row count, and the prediction of the node

A leaf begins with its prediction, a folded node with the number of leaves below it, in a dashed frame. A node that a
step of growth has not split yet is neither: it is impure, in a dashed frame and without a colour. ``BoxContent`` asks
for further lines: counts, impurity, gain, rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treewise._lib.text import format_count, format_rounded, format_share, format_spread, plural, safe
from treewise.formats.text_format.notation import UNKNOWN, write_label
from treewise.show.node_stats import NodeSamples, class_weights, has_training_rows, is_weighted, value_range
from treewise.show.picture.histograms import HISTOGRAM_HEIGHT, NodeHistograms
from treewise.show.picture.node_selection import SelectedNode
from treewise.show.picture.scene import (
    BACKGROUND,
    FRAME,
    MUTED_TEXT,
    OTHER_CLASSES,
    TEXT,
    BoxShape,
    Fill,
    LineShape,
    Shape,
    TextShape,
    class_fill,
    clip_to_width,
    fill_box,
    text_width,
    value_fill,
)
from treewise.show.text_tree.columns import relative_position
from treewise.show.text_tree.conditions import ConditionText
from treewise.train.criteria import CRITERIA
from treewise.tree.arrays import LEAF, MULTIWAY, NOT_YET
from treewise.tree.tree import Tree

SMALL, SWATCH_SIZE = 11.0, 10.0
_LARGE, _TINY = 13.0, 9.0  # font sizes
_PADDING, _BAR_HEIGHT = 9.0, 9.0
_MIN_WIDTH, _MAX_WIDTH, _MAX_CLASS_WIDTH = 92.0, 230.0, 96.0  # of a box; of a class in its last line
BOX_LINES = ("counts", "impurity", "gain")
_MAX_ROW_NAMES = 12
_LONG_NUMBER = re.compile(r"^(.*[≤>] -?(?:0\.0{0,8}[1-9]\d{4}|[1-9]\d{0,2}\.\d{3}|[1-9]\d{3,}\.\d))\d{3,}(?![\de])")
_MIN_SEGMENT = 0.75  # pixels of a class in a bar; smaller ones are drawn together


@dataclass(frozen=True)
class BoxContent:
    """Optional contents of boxes."""

    show: tuple[str, ...] = ()  # of BOX_LINES
    unit: str = "bits"  # of impurity and gain, where the criterion is an entropy
    questions: bool = False  # "Is x1 ≤ 0.5?" with Y and N, rather than the name of the column
    row_names: tuple[str, ...] | None = None  # of the rows of the samples, which are listed


@dataclass(frozen=True)
class NodeBox:
    """The content of a box, line by line."""

    node: int
    heading: str
    facts: tuple[str, ...]
    is_folded: bool
    swatch: Fill | None
    number: str
    chart: str  # "", "bar", "range" or "histogram"
    tooltip: str

    @property
    def width(self) -> float:
        """The width of the longest line with padding, or the minimum."""
        heading = text_width(self.heading, _LARGE, bold=True) + self._beside_heading
        widest = max([heading, *(text_width(line, SMALL) for line in self.facts)])
        return math.ceil(max(_MIN_WIDTH, widest + 2 * _PADDING))

    @property
    def height(self) -> float:
        """The height of all lines and the chart."""
        chart = {"": 0.0, "histogram": HISTOGRAM_HEIGHT + 7}.get(self.chart, _BAR_HEIGHT + 7)
        return 28 + chart + 16 * len(self.facts)

    @property
    def _beside_heading(self) -> float:
        number = text_width(self.number, _TINY) + 8 if self.number else 0.0
        return number + (SWATCH_SIZE + 5 if self.swatch else 0.0)


DEFAULT_CONTENT = BoxContent()


class NodeBoxes:
    """Makes and paints the boxes of one tree."""

    def __init__(
        self,
        tree: Tree,
        histograms: NodeHistograms | None = None,
        content: BoxContent = DEFAULT_CONTENT,
        samples: NodeSamples | None = None,
    ) -> None:
        self.tree, self.histograms, self.content, self.samples = tree, histograms, content, samples
        self.conditions = ConditionText(tree, is_read_back=False)
        self.has_rows, self.is_weighted = has_training_rows(tree), is_weighted(tree)

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """The lowest and the highest number that is drawn."""
        if self.histograms is not None:
            return self.histograms.samples.value_range
        return value_range(self.tree)

    def box(self, selected: SelectedNode) -> NodeBox:
        """Make one box."""
        if selected.branches:
            more = f"+ {plural(selected.branches, 'more branch', 'more branches')}"
            leaves = plural(selected.leaves, "leaf", "leaves")
            return NodeBox(selected.node, more, (leaves,), True, None, "", "", f"{more}, {leaves}")
        node, is_leaf = selected.node, bool(self.tree.arrays.kind[selected.node] == LEAF)
        is_open = is_leaf and self.tree.arrays.stop[node] == NOT_YET
        swatch = self._fill(node) if is_leaf and not is_open else None
        if is_open:
            heading = "impure" if self.tree.task == "classification" else "not split yet"
        elif is_leaf:
            heading = self._prediction(node)
        elif selected.is_folded:
            heading = f"+ {plural(selected.leaves, 'more leaf', 'more leaves')}"
        else:
            heading = self._question(node)
        number = str(node)
        heading_width = _MAX_WIDTH - 2 * _PADDING - text_width(number, _TINY) - 8 - (SWATCH_SIZE + 5 if swatch else 0)
        return NodeBox(
            node=node,
            heading=clip_to_width(heading, heading_width, _LARGE, bold=True),
            facts=tuple(
                clip_to_width(line, _MAX_WIDTH - 2 * _PADDING, SMALL)
                for line in (self._facts(node, is_leaf and not is_open), *self._further_lines(node))
                if line
            ),
            is_folded=selected.is_folded or is_open,
            swatch=swatch,
            number=number,
            chart=self._chart_kind(node, is_leaf),
            tooltip=self._tooltip(selected),
        )

    def _chart_kind(self, node: int, is_leaf: bool) -> str:
        if self.histograms is not None and self.histograms.has(node, is_leaf):
            return "histogram"
        if not self.has_rows or not self.tree.arrays.rows[node]:
            return ""
        if self.tree.task == "classification" and not class_weights(self.tree, node).any():
            return ""
        return "range" if self.tree.task == "regression" else "bar"

    # -- text ------------------------------------------------------------------------------------------------------

    def _prediction(self, node: int) -> str:
        prediction = self.tree.prediction(node)
        if prediction is None:
            return UNKNOWN
        return format_rounded(float(prediction)) if self.tree.task == "regression" else write_label(prediction)

    def _question(self, node: int) -> str:
        """Return the heading of a split: its column, or on request a question with the answers Y and N."""
        if self.asks(node):
            condition = self.conditions.branches(node)[0].removesuffix(" or missing")
            return f"Is {typeset(condition)}?"
        return f"{safe(self.tree.columns[self.tree.arrays.column[node]])}?"

    def asks(self, node: int) -> bool:
        """Return whether a node asks a question that is answered by Y or N."""
        is_binary = self.tree.arrays.kind[node] not in (LEAF, MULTIWAY) and len(self.tree.children(node)) == 2
        return self.content.questions and is_binary

    def _further_lines(self, node: int) -> list[str]:
        """Return the lines that were asked for: counts, impurity, gain, and the rows by their names."""
        tree, show, lines = self.tree, self.content.show, []
        if "counts" in show and self.has_rows and tree.task == "classification":
            counts = [f"{write_label(label)} {format_count(weight)}" for label, weight in tree.counts(node).items()]
            lines.append(" · ".join(counts))
        if tree.criterion in CRITERIA and self.has_rows and tree.arrays.rows[node]:
            criterion = CRITERIA[tree.criterion]
            is_entropy = criterion.unit == "bits"
            factor = math.log(2) if is_entropy and self.content.unit == "nats" else 1.0
            unit = f" {self.content.unit}" if is_entropy else ""
            if "impurity" in show:
                lines.append(
                    f"{criterion.letter} = {_format_measure(factor * float(tree.arrays.impurity[node]))}{unit}"
                )
            if "gain" in show and tree.arrays.kind[node] != LEAF:
                lines.append(f"gain = {_format_measure(factor * float(tree.arrays.gain[node]))}{unit}")
        if self.content.row_names is not None and self.samples is not None:
            names = [self.content.row_names[row] for row in sorted(self.samples.rows(node).tolist())]
            kind = ["rows" if len(names) > 1 else "row"] if names and all(map(str.isdigit, names)) else []
            listed = [*kind, *map(safe, names[:_MAX_ROW_NAMES]), *["…"] * (len(names) > _MAX_ROW_NAMES)]
            lines.append(" ".join(listed))
        return lines

    def _facts(self, node: int, is_leaf: bool) -> str:
        """Return the last line: row count and class share, or spread; inner nodes also name the class."""
        a = self.tree.arrays
        if not self.has_rows:
            return self._written_share(node) if is_leaf else ""
        rows = plural(int(a.rows[node]), "row")
        if not a.rows[node]:
            return rows
        if self.is_weighted:
            weight = f"weight {format_count(float(a.weight[node]))}"
            rows = f"{rows}, {weight}" if is_leaf else weight  # no room for both beside a class
        if self.tree.task == "regression":
            return f"{rows} · " + (f"sd {format_spread(float(a.spread[node]))}" if is_leaf else self._prediction(node))
        class_index = 1 if len(self.tree.classes) == 2 and not is_leaf else int(a.label[node])
        weights = class_weights(self.tree, node)
        if class_index < 0 or not weights.any():
            return rows
        share = f"{format_share(float(weights[class_index] / weights.sum()))} %"
        label = clip_to_width(write_label(self.tree.classes[class_index]), _MAX_CLASS_WIDTH, SMALL)
        label += "" if isinstance(self.tree.classes[class_index], str) else ":"  # a numeric class is not a count
        return f"{share} of {rows}" if is_leaf else f"{rows} · {label} {share}"

    def _written_share(self, node: int) -> str:
        """Return the probability of a leaf that was typed with one."""
        if self.tree.task == "regression":
            return ""
        share = float(self.tree.probabilities(node).max(initial=0.0))
        return f"{format_share(share)} %" if 0 < share < 1 and self.tree.arrays.label[node] >= 0 else ""

    def _tooltip(self, selected: SelectedNode) -> str:
        """Describe a node in full."""
        tree, node = self.tree, selected.node
        a = tree.arrays
        lines = [f"node {node}: {self.conditions.condition(node)}"]
        if tree.prediction(node) is not None:
            lines.append(f"predicts {self._prediction(node)}")
        if self.has_rows:
            lines.append(plural(int(a.rows[node]), "row"))
        if self.is_weighted:
            lines.append(f"weight {format_count(float(a.weight[node]))}")
        if tree.task == "regression":
            if a.rows[node]:
                mean, spread = format_rounded(float(a.value[node])), format_spread(float(a.spread[node]))
                lines.append(f"mean {mean}, standard deviation {spread}")
        else:
            lines += [f"{write_label(label)}: {format_count(weight)}" for label, weight in tree.counts(node).items()]
        if selected.is_folded:
            lines.append(f"{plural(selected.leaves, 'leaf', 'leaves')} below are not drawn")
        return "\n".join(lines)

    def _fill(self, node: int) -> Fill:
        if self.tree.task == "regression":
            return value_fill(relative_position(float(self.tree.arrays.value[node]), *self.value_range))
        return class_fill(int(self.tree.arrays.label[node]))

    # -- shapes ---------------------------------------------------------------------------------------------------

    def paint(self, box: NodeBox, x: float, y: float, is_highlighted: bool) -> list[Shape]:
        """Return the shapes of a box with its upper left corner at a point."""
        is_leaf = box.swatch is not None
        fill = box.swatch.pale if box.swatch else BACKGROUND
        outline = box.swatch.colour if box.swatch and self.tree.task == "classification" else FRAME
        stroke, stroke_width = (TEXT, 2.5) if is_highlighted else (outline, 1.2)
        shapes: list[Shape] = [
            BoxShape(x, y, box.width, box.height, fill, stroke, stroke_width, radius=5.0, dashed=box.is_folded)
        ]
        left = x + _PADDING
        if box.swatch is not None:
            shapes += fill_box(left, y + 9, SWATCH_SIZE, SWATCH_SIZE, box.swatch)
            left += SWATCH_SIZE + 5
        shapes.append(TextShape(left, y + 19, box.heading, _LARGE, True, MUTED_TEXT if box.is_folded else TEXT))
        if box.number:
            shapes.append(TextShape(x + box.width - 6, y + 11, box.number, _TINY, False, MUTED_TEXT, "end"))
        below = y + 28
        if box.chart:
            height = HISTOGRAM_HEIGHT if box.chart == "histogram" else _BAR_HEIGHT
            shapes += self._chart(box, x + _PADDING, below, box.width - 2 * _PADDING, height)
            below += height + 7
        for line in box.facts:
            shapes.append(TextShape(x + _PADDING, below + 8, line, SMALL, False, TEXT if is_leaf else MUTED_TEXT))
            below += 16
        return shapes

    def _chart(self, box: NodeBox, x: float, y: float, width: float, height: float) -> Sequence[Shape]:
        if box.chart == "bar":
            return self._bar(box.node, x, y, width, height)
        if box.chart == "histogram":
            assert self.histograms is not None
            return self.histograms.paint(box.node, (x, y, width, height))
        return self._range(box.node, x, y, width, height)

    def _bar(self, node: int, x: float, y: float, width: float, height: float) -> list[BoxShape | LineShape]:
        """Paint the class weights as segments, those too small to be seen together at the end."""
        weights = class_weights(self.tree, node)
        shares = (weights / weights.sum() * width).tolist()
        parts: list[BoxShape | LineShape] = []
        left = x
        for class_index, share in enumerate(shares):
            if share >= _MIN_SEGMENT:
                parts += fill_box(left, y, share, height, class_fill(class_index))
                left += share
        if x + width - left >= _MIN_SEGMENT:
            parts += fill_box(left, y, x + width - left, height, OTHER_CLASSES)
        return parts

    def _range(self, node: int, x: float, y: float, width: float, height: float) -> list[BoxShape | LineShape]:
        """Paint mean and spread of a node on the scale of the whole tree."""
        value, spread = float(self.tree.arrays.value[node]), float(self.tree.arrays.spread[node])
        positions = [relative_position(v, *self.value_range) for v in (value - spread, value, value + spread)]
        if not np.isfinite(positions).all():
            return []
        left, middle, right = (x + width * position for position in positions)
        return [
            LineShape(((x, y + height / 2, x + width, y + height / 2),), FRAME, 1.0),
            BoxShape(left, y + 1.5, max(right - left, 1.0), height - 3, self._fill(node).colour),
            BoxShape(middle - 1.5, y - 1, 3, height + 2, TEXT, BACKGROUND, 0.8),
        ]


def typeset(condition: str) -> str:
    """Write ≤ for <=, and shorten a long number to its first digits (the tooltip has all).

    >>> typeset("<= 206.5"), typeset("> 0.537971036064431 or missing"), typeset("= <= x"), typeset("x1 <= 0.5")
    ('≤ 206.5', '> 0.53797… or missing', '= <= x', 'x1 ≤ 0.5')
    >>> typeset("<= medium")
    '≤ medium'
    """
    for typed, sign in (("<=", "≤"), (">=", "≥")):  # at the beginning, or after a name and before a number
        condition = re.sub(rf"^([^\s=<>]+ (?={typed} [-\d]))?{typed} ", rf"\g<1>{sign} ", condition)
    return _LONG_NUMBER.sub(r"\1…", condition)


def _format_measure(value: float) -> str:
    """Format an impurity or a gain with four decimals, as the trace does; large ones with five digits."""
    return "0" if not value else f"{value:.4f}" if abs(value) < 100 else f"{value:,.5g}"
