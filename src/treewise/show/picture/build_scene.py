"""The scene of a tree: a heading, boxes, edges between them, and conditions on the edges.

    select_nodes ──▶ NodeBoxes ──▶ PictureLayout ──▶ build_scene ──▶ VectorScene ──▶ render

An edge is as wide as the share of rows that take it; its condition is a label just before the box it leads to, in a
dashed frame where missing values take that branch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from treewise._lib.text import format_rounded, plural, safe
from treewise.formats.text_format.notation import write_label
from treewise.show.node_stats import NodeSamples, describe_training_error, has_training_rows
from treewise.show.picture.histograms import NodeHistograms
from treewise.show.picture.layout import BoxSize, PictureLayout
from treewise.show.picture.node_boxes import (
    DEFAULT_CONTENT,
    SMALL,
    SWATCH_SIZE,
    BoxContent,
    NodeBox,
    NodeBoxes,
    typeset,
)
from treewise.show.picture.node_selection import SelectedNode, SelectionLimits, describe_omissions, select_nodes
from treewise.show.picture.scene import (
    BACKGROUND,
    EDGE,
    FRAME,
    MUTED_TEXT,
    OTHER_CLASSES,
    TEXT,
    BoxShape,
    EdgeShape,
    Fill,
    LineShape,
    Part,
    Shape,
    ShapeGroup,
    TextShape,
    VectorScene,
    class_fill,
    clip_to_width,
    fill_box,
    text_width,
    value_fill,
)
from treewise.show.picture.tikz import TikzNode
from treewise.tree.tree import Tree

_MARGIN = 14.0  # around everything
_LABEL_HEIGHT, _MAX_LABEL_WIDTH, _MAX_LABEL_LETTERS = 17.0, 230.0, 30
_MAX_EDGE_WIDTH, _MIN_EDGE_WIDTH, _EDGE_WIDTH_WITHOUT_ROWS = 28.0, 1.5, 3.0
_EDGE_START_SHARE = 0.8  # of a box's side, where edges begin
_HIGHLIGHT_WIDTH = 2.5

_TITLE_SIZE, _LINE_HEIGHT = 16.0, 17.0
_MIN_HEADING_WIDTH, _MAX_HEADING_WIDTH = 340.0, 900.0
_MAX_LEGEND_CLASSES, _MAX_LEGEND_CLASS_WIDTH, _SCALE_STEPS = 26, 150.0, 8


@dataclass(frozen=True)
class PictureStyle:
    """How a picture is drawn: direction, highlighted path, rows for histograms, and what stands above the tree."""

    direction: str = "down"
    highlighted: tuple[int, ...] = ()
    samples: NodeSamples | None = None
    has_title: bool = True
    has_legend: bool = True
    content: BoxContent = DEFAULT_CONTENT


def make_builder(tree: Tree, limits: SelectionLimits, style: PictureStyle) -> SceneBuilder:
    """Return the builder of the scene of a tree, with the nodes selected."""
    return SceneBuilder(tree, limits, style, select_nodes(tree, limits, style.highlighted))


def build_scene(tree: Tree, limits: SelectionLimits, style: PictureStyle) -> VectorScene:
    """Return the scene of a tree."""
    return make_builder(tree, limits, style).build()


@dataclass(frozen=True)
class SceneBuilder:
    """Makes the boxes and conditions of a tree, and of them a scene or the nodes of a forest in LaTeX."""

    tree: Tree
    limits: SelectionLimits
    style: PictureStyle
    selected: list[SelectedNode]

    @cached_property
    def node_boxes(self) -> NodeBoxes:
        """The builder of the boxes."""
        samples, content = self.style.samples, self.style.content
        histograms = None if samples is None or content.row_names is not None else NodeHistograms(samples)
        return NodeBoxes(self.tree, histograms, content, samples)

    @cached_property
    def boxes(self) -> list[NodeBox]:
        """The boxes of the selected nodes."""
        return [self.node_boxes.box(selected) for selected in self.selected]

    @cached_property
    def labels(self) -> list[str]:
        """The condition before each box, without the column, which is in the box above; empty at the top."""
        conditions: dict[int, dict[int, str]] = {}
        labels = []
        for selected in self.selected:
            if selected.parent < 0 or selected.branches:
                labels.append("")
                continue
            parent = self.selected[selected.parent].node
            if parent not in conditions:
                branches = self.node_boxes.conditions.without_column(parent, _MAX_LABEL_LETTERS)
                if self.node_boxes.asks(parent):
                    ends = [" or missing" if text.endswith(" or missing") else "" for text in branches]
                    branches = [f"{answer}{end}" for answer, end in zip("YN", ends, strict=True)]
                conditions[parent] = dict(zip(self.tree.children(parent), branches, strict=True))
            condition = typeset(conditions[parent][selected.node])
            labels.append(clip_to_width(condition, _MAX_LABEL_WIDTH, SMALL))
        return labels

    @cached_property
    def layout(self) -> PictureLayout:
        """The positions of boxes and conditions."""
        sizes = [(text_width(label, SMALL) + 12, _LABEL_HEIGHT) if label else (0.0, 0.0) for label in self.labels]
        boxes = [
            BoxSize(selected.parent, box.width, box.height, *size)
            for selected, box, size in zip(self.selected, self.boxes, sizes, strict=True)
        ]
        return PictureLayout(boxes, self.style.direction)

    def build(self) -> VectorScene:
        """Put the heading above the tree, the narrower of the two centred."""
        width, height = self.layout.size
        heading = self._heading(width)
        left, top = _MARGIN + max(0.0, heading.width - width) / 2, _MARGIN + heading.height
        page = BoxShape(0, 0, math.ceil(max(width, heading.width) + 2 * _MARGIN), math.ceil(top + height + _MARGIN))
        edges = [edge for box in range(1, len(self.boxes)) for edge in self._edges(box, left, top)]
        groups = [self._group(box, left, top) for box in range(len(self.boxes))]
        parts: list[Part] = [page, *heading.shapes, *sorted(edges, key=lambda edge: edge.colour == TEXT), *groups]
        return VectorScene(page.width, page.height, repr(self.tree).strip("<>"), tuple(parts))

    def tikz_nodes(self) -> list[TikzNode]:
        """Return the nodes as the LaTeX package forest draws them: without charts."""
        columns, arrays = self.tree.columns, self.tree.arrays
        return [
            TikzNode(
                parent=selected.parent,
                column="" if selected.branches or box.swatch or box.is_folded else columns[arrays.column[box.node]],
                heading=box.heading,
                facts=box.facts,
                condition=label,
                fill=box.swatch.pale if box.swatch else "",
                outline=box.swatch.colour if box.swatch else "",
                is_dashed=box.is_folded,
            )
            for selected, box, label in zip(self.selected, self.boxes, self.labels, strict=True)
        ]

    def _is_highlighted(self, box: int) -> bool:
        return self.selected[box].node in self.style.highlighted and not self.selected[box].branches

    def _group(self, box: int, left: float, top: float) -> ShapeGroup:
        """Return a box and the label before it."""
        node_box, label, is_highlighted = self.boxes[box], self.labels[box], self._is_highlighted(box)
        x, y = self.layout.corner(box)
        shapes: list[Shape] = self.node_boxes.paint(node_box, left + x, top + y, is_highlighted)
        if label:
            width = self.layout.boxes[box].label_width
            x, y = self.layout.label_corner(box)
            outline = TEXT if is_highlighted else FRAME
            takes_missing = label == "missing" or label.endswith("or missing")
            frame = BoxShape(
                left + x, top + y, width, _LABEL_HEIGHT, BACKGROUND, outline, radius=8.0, dashed=takes_missing
            )
            text = TextShape(left + x + width / 2, top + y + 12.5, label, SMALL, False, TEXT, "middle")
            shapes = [frame, text, *shapes]
        name = f"{'more of node' if self.selected[box].branches else 'node'} {node_box.node}"
        return ShapeGroup(node_box.tooltip, tuple(shapes), name)

    def _edges(self, box: int, left: float, top: float) -> list[EdgeShape]:
        """Return the edge that leads to a box, and the line on it that shows a highlighted path."""
        shifted = [(left + x, top + y) for x, y in self.layout.edge(box, self._edge_offsets[box])]
        points = (shifted[0], shifted[1], shifted[2], shifted[3], shifted[4], shifted[5])
        is_empty = self.node_boxes.has_rows and not self._shares[box]
        edges = [EdgeShape(points, FRAME if is_empty else EDGE, self._edge_widths[box], dashed=is_empty)]
        if self._is_highlighted(box):
            edges.append(EdgeShape(points, TEXT, _HIGHLIGHT_WIDTH))
        return edges

    @cached_property
    def _shares(self) -> list[float]:
        """The share of the picture's rows in each box, by weight; a box for further branches has the remainder."""
        weight = self.tree.arrays.weight
        total = float(weight[self.limits.top]) or 1.0
        shares = [float(weight[selected.node]) / total for selected in self.selected]
        for i, selected in enumerate(self.selected):
            if selected.branches:
                siblings = [j for j, other in enumerate(self.selected) if other.parent == selected.parent and j != i]
                shares[i] = max(0.0, shares[i] - sum(shares[j] for j in siblings))
        return shares

    @cached_property
    def _edge_widths(self) -> list[float]:
        if not self.node_boxes.has_rows:
            return [_EDGE_WIDTH_WITHOUT_ROWS] * len(self.boxes)
        return [max(_MIN_EDGE_WIDTH, _MAX_EDGE_WIDTH * share) for share in self._shares]

    @cached_property
    def _edge_offsets(self) -> list[float]:
        """Where each edge begins relative to the middle of its parent: side by side, in order, within the box."""
        total = [0.0] * len(self.boxes)
        starts = []
        for selected, width in zip(self.selected, self._edge_widths, strict=True):
            starts.append(total[selected.parent] + width / 2)
            if selected.parent >= 0:
                total[selected.parent] += width
        sides = [box.width if self.style.direction == "down" else box.height for box in self.boxes]
        scales = [min(1.0, _EDGE_START_SHARE * side / (width or 1.0)) for side, width in zip(sides, total, strict=True)]
        return [
            (start - total[selected.parent] / 2) * scales[selected.parent]
            for start, selected in zip(starts, self.selected, strict=True)
        ]

    # -- heading ------------------------------------------------------------------------------------------------

    def _heading(self, width: float) -> _Heading:
        """Return what the picture shows: target, size, error, legend and notes."""
        tree, histograms = self.tree, self.node_boxes.histograms
        is_regression = tree.task == "regression"
        heading = _Heading(_MARGIN, _MARGIN, min(max(width, _MIN_HEADING_WIDTH), _MAX_HEADING_WIDTH))
        if self.style.has_title:
            title = clip_to_width(safe(tree.target.name), heading.max_width, _TITLE_SIZE, bold=True)
            heading.add_text(title, _TITLE_SIZE, bold=True, colour=TEXT)
            rows = [plural(int(tree.arrays.rows[0]), "row")] if has_training_rows(tree) else []
            size = [plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}"]
            heading.add_text(" · ".join([*rows, *size, *describe_training_error(tree)]))
        if not self.style.has_legend:
            pass
        elif not is_regression:
            heading.add_legend(class_legend(tree))
        elif has_training_rows(tree) or histograms is not None:
            low, high = self.node_boxes.value_range
            heading.add_scale(format_rounded(low), format_rounded(high))
        if histograms is not None:
            content = "target values" if is_regression else "the column of the split, by class"
            heading.add_text(f"histograms: {content}; mark: the {'mean' if is_regression else 'split'}")
        elif is_regression and has_training_rows(tree) and self.style.has_legend:
            heading.add_text("bars: mean ± standard deviation")
        if self._is_highlighted(0):
            heading.add_line_key("the path of the row")
        top = self.limits.top
        if top:
            heading.add_text(f"from node {top} down: {self.node_boxes.conditions.condition(top)}")
        if omissions := describe_omissions(tree, self.limits, self.selected):
            heading.add_text(omissions)
        heading.height += 10 if heading.shapes else 0
        return heading


@dataclass
class _Heading:
    """Lines above a picture, added from a corner down, wrapped to a width."""

    x: float
    y: float
    max_width: float
    shapes: list[Shape] = field(default_factory=list)
    width: float = 0.0  # of the widest line
    height: float = 0.0

    def add_text(self, text: str, size: float = SMALL, bold: bool = False, colour: str = MUTED_TEXT) -> None:
        for line in wrap_to_width(text, self.max_width, size, bold):
            self.height += _LINE_HEIGHT if size < _TITLE_SIZE else 20
            self.shapes.append(TextShape(self.x, self.y + self.height - 4, line, size, bold, colour))
            self.width = max(self.width, text_width(line, size, bold))

    def add_legend(self, entries: Sequence[tuple[Fill, str]]) -> None:
        left = 0.0
        self.height += _LINE_HEIGHT
        for fill, text in entries:
            width = SWATCH_SIZE + 5 + text_width(text, SMALL)
            if left and left + width > self.max_width:
                left, self.height = 0.0, self.height + _LINE_HEIGHT
            base = self.y + self.height - 4
            self.shapes += fill_box(self.x + left, base - SWATCH_SIZE + 1, SWATCH_SIZE, SWATCH_SIZE, fill)
            self.shapes.append(TextShape(self.x + left + SWATCH_SIZE + 5, base, text, SMALL))
            self.width = max(self.width, left + width)
            left += width + 16

    def add_scale(self, low: str, high: str) -> None:
        """Add the colour scale of numbers."""
        self.height += _LINE_HEIGHT
        base, left = self.y + self.height - 4, self.x + text_width(low, SMALL) + 5
        self.shapes.append(TextShape(self.x, base, low, SMALL))
        for step in range(_SCALE_STEPS + 1):
            x, fill = left + step * SWATCH_SIZE, value_fill(step / _SCALE_STEPS)
            self.shapes += fill_box(x, base - SWATCH_SIZE + 1, SWATCH_SIZE, SWATCH_SIZE, fill)
        left += (_SCALE_STEPS + 1) * SWATCH_SIZE + 5
        self.shapes.append(TextShape(left, base, high, SMALL))
        self.width = max(self.width, left + text_width(high, SMALL) - self.x)

    def add_line_key(self, text: str) -> None:
        self.height += _LINE_HEIGHT
        base = self.y + self.height - 4
        self.shapes.append(LineShape(((self.x, base - 4, self.x + 22, base - 4),), TEXT, 2.5))
        self.shapes.append(TextShape(self.x + 28, base, text, SMALL))
        self.width = max(self.width, 28 + text_width(text, SMALL))


def legend_heading(tree: Tree, top: float) -> tuple[list[Shape], tuple[float, float]]:
    """Return the legend that several trees share, and its size."""
    heading = _Heading(_MARGIN, top, _MAX_HEADING_WIDTH)
    if tree.task == "classification":
        heading.add_legend(class_legend(tree))
    return heading.shapes, (heading.width + 2 * _MARGIN, top + heading.height + 6)


def class_legend(tree: Tree) -> list[tuple[Fill, str]]:
    """Return the fill and the name of each class; of many, the first few."""
    entries = [
        (class_fill(i), clip_to_width(write_label(label), _MAX_LEGEND_CLASS_WIDTH, SMALL))
        for i, label in enumerate(tree.classes)
    ]
    if len(entries) <= _MAX_LEGEND_CLASSES:
        return entries
    n_more = len(entries) - _MAX_LEGEND_CLASSES
    return [*entries[:_MAX_LEGEND_CLASSES], (OTHER_CLASSES, f"… {n_more:,} more classes")]


def wrap_to_width(text: str, max_width: float, size: float, bold: bool = False) -> list[str]:
    """Wrap a text at spaces; a word that is too long is clipped in its middle.

    >>> wrap_to_width("344 rows · 4 leaves", 80, 11)
    ['344 rows · 4', 'leaves']
    """
    lines: list[str] = []
    for part in text.split(" "):
        if lines and text_width(f"{lines[-1]} {part}", size, bold) <= max_width:
            lines[-1] += f" {part}"
        else:
            lines.append(clip_to_width(part, max_width, size, bold))
    return lines
