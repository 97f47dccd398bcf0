"""Histograms inside the boxes of a picture: the rows of a table that reach a node.

For regression: the target values, with a mark at the prediction. For classification: the column of the split, bars
stacked by class, with a mark at the threshold. Few whole numbers have one bar each, and so have categories, those of
the first branch first; marks separate the branches. Values far outside are in the first or the last bin, whose label
says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_rounded
from treewise.data import encoding as encode
from treewise.data.diagnostics import is_whole
from treewise.data.encoding import Encoding
from treewise.formats.text_format.notation import write_level
from treewise.show.node_stats import NodeSamples, bin_indices
from treewise.show.picture.scene import (
    BACKGROUND,
    FRAME,
    MUTED_TEXT,
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
from treewise.tree.arrays import LEAF, THRESHOLD
from treewise.tree.splits import threshold_text
from treewise.tree.tree import Tree

HISTOGRAM_HEIGHT = 44.0  # with the labels below it
_LABEL_HEIGHT, _FONT_SIZE = 10.0, 8.0
_N_BINS = 18
_MAX_LEVELS = 12  # of a category; the commonest are shown
_FAR = 2.0  # times the distance of the quantiles of 1 and 99 %: values farther outside do not stretch the axis
Floats = npt.NDArray[np.float64]
Area = tuple[float, float, float, float]  # left, top, width, height


@dataclass(frozen=True, eq=False)
class NodeHistograms:
    """Paints histograms of the rows of a table."""

    samples: NodeSamples

    @property
    def tree(self) -> Tree:
        """The tree of the nodes."""
        return self.samples.tree

    def has(self, node: int, is_leaf: bool) -> bool:
        """Return whether a node has a histogram."""
        if self.tree.task == "regression":
            return len(self.samples.rows(node)) > 0
        return not is_leaf and self.tree.arrays.kind[node] != LEAF and len(self.samples.rows(node)) > 0

    def paint(self, node: int, area: Area) -> list[Shape]:
        """Return the shapes of a node's histogram, with labels below it."""
        x, y, width, height = area
        bars = (x, y, width, height - _LABEL_HEIGHT)
        if self.tree.task == "regression":
            return self._paint_targets(node, bars)
        column = self.samples.columns[self.tree.arrays.column[node]]
        assert column is not None
        if self.tree.arrays.kind[node] == THRESHOLD:
            return self._paint_numbers(node, column, bars)
        return self._paint_levels(node, column, bars)

    def _paint_targets(self, node: int, area: Area) -> list[Shape]:
        """Paint the target values, with a mark at the prediction."""
        low, high = self.samples.value_range
        counts = self.samples.histogram(node, _N_BINS).astype(float)
        position = relative_position(float(self.tree.arrays.value[node]), low, high)
        return [
            *_paint_stacks(counts[:, None], [value_fill(position)], area),
            *_paint_mark(position, area),
            *_label_ends([format_rounded(low), format_rounded(high)], area),
        ]

    def _paint_numbers(self, node: int, column: npt.NDArray[Any], area: Area) -> list[Shape]:
        """Paint a numeric column by class, with a mark at the threshold."""
        rows, encoding = self.samples.rows(node), self.tree.encodings[self.tree.arrays.column[node]]
        rows = rows[~encode.is_missing(encoding, column[rows])]
        cut = self.tree.arrays.cut[node] if encoding.kind == "number" else self.tree.arrays.cut_int[node]
        axis = _NumberAxis.of(column[rows], cut.item(), encoding)
        table = self._count_by_class(rows, bin_indices(column[rows], axis.low, axis.high, axis.n_bins), axis.n_bins)
        return [*_paint_stacks(table, self._fills, area), *_paint_mark(axis.mark, area), *axis.label(area)]

    def _paint_levels(self, node: int, column: npt.NDArray[Any], area: Area) -> list[Shape]:
        """Paint the commonest levels of a column by class, in their order, and missing values."""
        encoding, rows = self.tree.encodings[self.tree.arrays.column[node]], self.samples.rows(node)
        codes = column[rows]
        codes = np.where(encode.is_missing(encoding, codes), len(encoding.levels), codes)
        rows, codes = rows[codes >= 0], codes[codes >= 0]  # without levels that the tree has never seen
        levels, bars = np.unique(codes, return_inverse=True)
        table = self._count_by_class(rows, bars, len(levels))
        shown = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[:_MAX_LEVELS])
        split, cells = self.tree.split_at(node), [*encoding.levels, None]
        assert split is not None
        level_branches = [split.branch(cells[level], encoding) for level in levels[shown].tolist()]
        branches = np.array([split.n_branches if branch is None else branch for branch in level_branches], np.int64)
        order = np.argsort(branches, kind="stable")
        names = [*map(write_level, encoding.levels), "missing"]
        labels = [names[level] for level in levels[shown[order]].tolist()]
        shapes = [*_paint_stacks(table[shown[order]], self._fills, area), *_label_bars(labels, area)]
        for i, (before, after) in enumerate(pairwise(branches[order].tolist()), start=1):
            shapes += _paint_mark(i / len(order), area) if before != after else []
        return shapes

    def _count_by_class(self, rows: npt.NDArray[np.int64], bins: npt.NDArray[Any], n_bins: int) -> Floats:
        table = np.zeros((n_bins, len(self.tree.classes) + 1))  # the last: labels that the tree does not know
        np.add.at(table, (bins, np.minimum(self.samples.truth[rows], len(self.tree.classes))), 1.0)
        return table

    @cached_property
    def _fills(self) -> list[Fill]:
        return [*(class_fill(i) for i in range(len(self.tree.classes))), class_fill(-1)]


def _paint_stacks(table: Floats, fills: list[Fill], area: Area) -> list[Shape]:
    """Paint one stacked bar for each row of a table."""
    x, y, width, height = area
    highest, step = float(table.sum(axis=1).max()) if table.size else 0.0, width / max(len(table), 1)
    shapes: list[Shape] = [LineShape(((x, y + height, x + width, y + height),), FRAME, 1.0)]
    for i, counts in enumerate(table.tolist() if highest else ()):
        top = y + height
        for fill, count in zip(fills, counts, strict=True):
            segment = count / highest * height
            if segment >= 0.3:
                top -= segment
                shapes += fill_box(x + i * step + 0.4, top, max(step - 0.8, 0.6), segment, fill)
    return shapes


def _paint_mark(position: float, area: Area) -> list[Shape]:
    x, y, width, height = area
    if not 0 <= position <= 1:
        return []
    return [BoxShape(x + position * width - 1.2, y - 2, 2.4, height + 3, TEXT, BACKGROUND, 0.8)]


def _label_bars(labels: Sequence[str], area: Area) -> list[Shape]:
    """Label each bar below it, unless clipping would leave too little of the label."""
    x, y, width, height = area
    step, base = width / max(len(labels), 1), y + height + _LABEL_HEIGHT - 1.5
    clipped = [clip_to_width(label, step - 2, _FONT_SIZE) for label in labels]
    return [
        TextShape(x + (i + 0.5) * step, base, text, _FONT_SIZE, False, MUTED_TEXT, "middle")
        for i, text in enumerate(clipped)
        if len(text) > 2 or text in labels
    ]


@dataclass(frozen=True)
class _NumberAxis:
    """The axis of a histogram of numbers: its range and bins, the place of the threshold, and what to write below."""

    low: float
    high: float
    n_bins: int
    mark: float  # from 0 to 1
    bars: tuple[str, ...] = ()  # a label for each bar, or
    ends: tuple[str, str] = ("", "")
    threshold: str = ""

    @classmethod
    def of(cls, values: npt.NDArray[Any], cut: float, encoding: Encoding) -> _NumberAxis:
        """Choose the axis for some values and a threshold: one bar for each of few whole numbers, else equal bins."""
        finite = values[np.isfinite(values)]
        if not len(finite):
            return cls(0.0, 1.0, _N_BINS, -1.0)
        whole = encoding.kind != "datetime" and is_whole(finite) and np.isfinite(cut)
        border = np.floor(cut) + 0.5 if whole else float(cut)  # x <= 2 and x <= 2.5 both part 2 from 3
        low, high = (float(end) for end in (finite.min(), finite.max()))
        if whole and max(high, np.ceil(cut)) - min(low, np.floor(cut)) < _N_BINS:
            low, high = min(low, np.floor(cut)), max(high, np.ceil(cut))
            bars = tuple(encoding.format(number) for number in np.arange(low, high + 1).tolist())
            ends = low - 0.5, high + 0.5
            return cls(*ends, len(bars), relative_position(border, *ends), bars)
        near = _ends_without_outliers(finite, low, high)
        known = [*near, *([border] if np.isfinite(border) else [])]
        texts = [encoding.format(end.item()) for end in (finite.min(), finite.max())]
        if min(known) > low:
            texts[0] = f"≤ {encoding.format(finite[finite <= min(known)].max().item())}"
        if max(known) < high:
            texts[1] = f"≥ {encoding.format(finite[finite >= max(known)].min().item())}"
        low, high = (min(known), max(known)) if min(known) < max(known) else (low - 0.5, high + 0.5)
        threshold = threshold_text(cut, encoding)[2] if np.isfinite(cut) else ""
        return cls(low, high, _N_BINS, relative_position(border, low, high), (), (texts[0], texts[1]), threshold)

    def label(self, area: Area) -> list[Shape]:
        """Label the bars, or the ends and the threshold; an end makes room for the threshold."""
        x, y, width, height = area
        if self.bars:
            widest = max(text_width(text, _FONT_SIZE) for text in self.bars)
            every = max(1, math.ceil((widest + 3) * len(self.bars) / width))
            return [
                TextShape(
                    x + (i + 0.5) * width / len(self.bars),
                    y + height + _LABEL_HEIGHT - 1.5,
                    text,
                    _FONT_SIZE,
                    False,
                    MUTED_TEXT,
                    "middle",
                )
                for i, text in enumerate(self.bars)
                if i % every == 0
            ]
        half = text_width(self.threshold, _FONT_SIZE) / 2
        centre = min(max(x + self.mark * width, x + half), x + width - half)
        if not self.threshold or not 0 <= self.mark <= 1 or 2 * half > width:
            return _label_ends(self.ends, area)
        widths = centre - half - x - 4, x + width - centre - half - 4  # left and right of it
        ends = [
            text if text_width(text, _FONT_SIZE) <= limit else "" for text, limit in zip(self.ends, widths, strict=True)
        ]
        at = TextShape(centre, y + height + _LABEL_HEIGHT - 1.5, self.threshold, _FONT_SIZE, False, TEXT, "middle")
        return [*_label_ends(ends, area), at]


def _ends_without_outliers(values: npt.NDArray[Any], low: float, high: float) -> tuple[float, float]:
    """Return the range of the values, without what is far outside of the quantiles of 1 and 99 %.

    >>> _ends_without_outliers(np.array([*range(100), 100_000.0]), 0.0, 100_000.0)
    (0.0, 99.0)
    """
    first, last = (float(end) for end in np.quantile(values, (0.01, 0.99), method="nearest"))
    reach = _FAR * (last - first)
    if not 0 < reach < np.inf:
        return low, high
    return (first if first - low > reach else low), (last if high - last > reach else high)


def _label_ends(labels: Sequence[str], area: Area) -> list[Shape]:
    """Label the two ends of the axis."""
    x, y, width, height = area
    base = y + height + _LABEL_HEIGHT - 1.5
    return [
        TextShape(left, base, clip_to_width(text, width / 2 - 4, _FONT_SIZE), _FONT_SIZE, False, MUTED_TEXT, anchor)
        for (left, anchor), text in zip(((x, "start"), (x + width, "end")), labels, strict=False)
        if text
    ]
