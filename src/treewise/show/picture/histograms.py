"""Small histograms of a table inside the boxes of a picture: what the rows that reach a node look like.

Stands beside ``cards.py``, which asks for them when ``draw`` was given data (``show/samples.py``). Of a number that is
predicted: its values, with what the node predicts. Of classes: the column that the node asks about, each bar made of
the classes, with the threshold; for categories a bar a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_rounded
from treewise.data import encoding as encode
from treewise.formats.text_format.notation import write_level
from treewise.show.picture.fills import FACTS, FRAME, PAPER, WORDS, Fill, of_class, of_value
from treewise.show.picture.scene import BoxShape, LineShape, Shape, TextShape, filled
from treewise.show.picture.text_metrics import clip_to
from treewise.show.samples import NodeSamples, bins_of
from treewise.show.text_tree.number_columns import share_between
from treewise.tree.arrays import LEAF, THRESHOLD
from treewise.tree.tree import Tree

TALL, GROUND, TINY = 44.0, 10.0, 8.0  # heights: of a histogram with what is written below it, of that, of its letters
BINS = 18
MOST_LEVELS = 12  # of a category; the commonest
Floats = npt.NDArray[np.float64]
Place = tuple[float, float, float, float]  # left, top, width, height


@dataclass(frozen=True, eq=False)
class NodeHistograms:
    """Draws the charts of a table's rows."""

    samples: NodeSamples

    @property
    def tree(self) -> Tree:
        """The tree whose nodes are drawn."""
        return self.samples.tree

    def has(self, node: int, leaf: bool) -> bool:
        """Tell whether there is something to draw in a node's box."""
        if self.tree.task == "regression":
            return len(self.samples.rows(node)) > 0
        return not leaf and self.tree.arrays.kind[node] != LEAF and len(self.samples.rows(node)) > 0

    def histogram(self, node: int, place: Place) -> list[Shape]:
        """Draw the small chart of a node, with what is at its ends or below its bars."""
        x, y, width, height = place
        above = (x, y, width, height - GROUND)
        if self.tree.task == "regression":
            return self._of_values(node, above)
        column = self.samples.columns[self.tree.arrays.column[node]]
        assert column is not None
        if self.tree.arrays.kind[node] == THRESHOLD:
            return self._of_numbers(node, column, above)
        return self._of_levels(node, column, above)

    def _of_values(self, node: int, place: Place) -> list[Shape]:
        """Draw the values to be predicted, with what the node predicts."""
        low, high = self.samples.scale
        many = self.samples.values(node, BINS).astype(float)
        at = share_between(float(self.tree.arrays.value[node]), low, high)
        return [
            *_stacks(many[:, None], [of_value(at)], place),
            *_mark(at, place),
            *_below([format_rounded(low), format_rounded(high)], place),
        ]

    def _of_numbers(self, node: int, column: npt.NDArray[Any], place: Place) -> list[Shape]:
        """Draw the column that is asked about, by class, with the threshold."""
        rows, encoding = self.samples.rows(node), self.tree.encodings[self.tree.arrays.column[node]]
        rows = rows[~encode.is_missing(encoding, column[rows])]
        cut = self.tree.arrays.cut[node] if encoding.kind == "number" else self.tree.arrays.cut_int[node]
        values = np.append(column[rows], cut)
        finite = values[np.isfinite(values)]
        ends = [encoding.format(finite.min().item()), encoding.format(finite.max().item())] if len(finite) else []
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        if not low < high:
            low, high = low - 0.5, high + 0.5
        bars = _stacks(self._by_class(rows, bins_of(values[:-1], low, high, BINS), BINS), self._inks, place)
        return [*bars, *_mark(share_between(float(cut), low, high), place), *_below(ends, place)]

    def _of_levels(self, node: int, column: npt.NDArray[Any], place: Place) -> list[Shape]:
        """Draw the levels that are asked about, by class; the commonest, in their order, and what is missing."""
        encoding, rows = self.tree.encodings[self.tree.arrays.column[node]], self.samples.rows(node)
        asked = column[rows]
        asked = np.where(encode.is_missing(encoding, asked), len(encoding.levels), asked)
        rows, asked = rows[asked >= 0], asked[asked >= 0]  # but not what the tree has never seen
        levels, codes = np.unique(asked, return_inverse=True)
        table = self._by_class(rows, codes, len(levels))
        kept = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[:MOST_LEVELS])
        names = [*map(write_level, encoding.levels), "missing"]
        said = [names[level] for level in levels[kept].tolist()]
        return [*_stacks(table[kept], self._inks, place), *_below(said, place, each=True)]

    def _by_class(self, rows: npt.NDArray[np.int64], bins: npt.NDArray[Any], many: int) -> Floats:
        """Count the rows of each class in each bin."""
        table = np.zeros((many, len(self.tree.classes) + 1))  # the last: labels that the tree does not know
        np.add.at(table, (bins, np.minimum(self.samples.truth[rows], len(self.tree.classes))), 1.0)
        return table

    @cached_property
    def _inks(self) -> list[Fill]:
        return [*(of_class(i) for i in range(len(self.tree.classes))), of_class(-1)]


def _stacks(table: Floats, inks: list[Fill], place: Place) -> list[Shape]:
    """Draw a bar for each row of a table, made of its columns, from the ground up."""
    x, y, width, height = place
    highest, step = float(table.sum(axis=1).max()) if table.size else 0.0, width / max(len(table), 1)
    parts: list[Shape] = [LineShape(((x, y + height, x + width, y + height),), FRAME, 1.0)]
    for i, counts in enumerate(table.tolist() if highest else ()):
        top = y + height
        for ink, many in zip(inks, counts, strict=True):
            tall = many / highest * height
            if tall >= 0.3:
                top -= tall
                parts += filled(x + i * step + 0.4, top, max(step - 0.8, 0.6), tall, ink)
    return parts


def _mark(share: float, place: Place) -> list[Shape]:
    """Draw a mark at this share of the width, from top to ground."""
    x, y, width, height = place
    if not 0 <= share <= 1:
        return []
    return [BoxShape(x + share * width - 1.2, y - 2, 2.4, height + 5, WORDS, PAPER, 0.8)]


def _below(texts: Sequence[str], place: Place, each: bool = False) -> list[Shape]:
    """Write below the ground: the names of the bars, each below its own, or what is at the two ends."""
    x, y, width, height = place
    step, base = width / max(len(texts), 1), y + height + GROUND - 1.5
    if each:
        named = [(x + (i + 0.5) * step, clip_to(text, step - 2, TINY)) for i, text in enumerate(texts)]
        return [
            TextShape(at, base, text, TINY, False, FACTS, "middle")
            for at, text in named
            if len(text) > 2 or text in texts
        ]
    sides = ((x, "start"), (x + width, "end"))
    return [
        TextShape(at, base, clip_to(text, width / 2 - 4, TINY), TINY, False, FACTS, side)
        for (at, side), text in zip(sides, texts, strict=False)
    ]
