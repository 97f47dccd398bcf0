"""Conditions of branches as text that ``treewise.parse`` reads back.

The wording is that of ``tree/splits.py``. Where a name or a level could be misread (it holds an arrow, a quote, a line
break …) it is quoted: the split is worded with placeholders for such names, which are then replaced by quoted ones.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from treewise._lib.text import clip, display_width, format_count
from treewise.data.encoding import Encoding
from treewise.formats.text_format.notation import write_level, write_name, write_ordered_level
from treewise.show.node_stats import has_training_rows, is_weighted
from treewise.tree.splits import Ordinal, Split, Subset
from treewise.tree.tree import Tree

_MAX_WIDTH = 72  # of a condition in a bounded view
_MIN_NAME_WIDTH, _MIN_LEVEL_WIDTH = 8, 5  # kept however narrow the page


class ConditionText:
    """Formats the conditions of one tree; names and levels of columns are cached."""

    def __init__(
        self, tree: Tree, ascii: bool = False, max_set_width: int | None = None, is_read_back: bool = True
    ) -> None:
        self.tree, self.ascii, self.max_set_width = tree, ascii, max_set_width
        self.is_read_back = is_read_back  # then ordered levels that look like numbers are quoted
        self._has_rows, self._is_weighted = has_training_rows(tree), is_weighted(tree)
        self._columns: dict[tuple[int, bool], _ColumnWriter] = {}

    def condition(self, node: int) -> str:
        """Return the condition on the branch that leads to a node."""
        parent = int(self.tree.arrays.parent[node])
        return "all rows" if parent < 0 else self.branches(parent)[self.tree.children(parent).index(node)]

    def branches(self, node: int) -> list[str]:
        """Return the conditions on all branches of an inner node, in order."""
        conditions = self._conditions(node, self.max_set_width)
        if self.max_set_width is None:
            return conditions
        return [self._clip_name(node, condition, _MAX_WIDTH) for condition in conditions]

    def without_column(self, node: int, max_width: int) -> list[str]:
        """Return the conditions on a node's branches without the name of the column, sets shortened if possible."""
        name = self._column_name(node)
        conditions = self._conditions(node, display_width(name) + 1 + max_width)
        return [condition.removeprefix(name).lstrip() for condition in conditions]

    def within(self, node: int, max_width: int, clip_names: bool) -> str:
        """Return the condition that leads to a node, shortened to a width by naming fewer levels.

        With ``clip_names`` also by clipping the last remaining level and the name of the column.
        """
        parent = int(self.tree.arrays.parent[node])
        conditions = self._conditions(parent, max_width, _MIN_LEVEL_WIDTH if clip_names else None)
        condition = conditions[self.tree.children(parent).index(node)]
        return self._clip_name(parent, condition, max_width) if clip_names else condition

    @property
    def ellipsis(self) -> str:
        """The mark where something was left out."""
        return "..." if self.ascii else "…"

    def _column_name(self, node: int) -> str:
        return write_name(self.tree.encodings[self.tree.arrays.column[node]].name, self.ascii)

    def _conditions(self, node: int, max_width: int | None, min_level_width: int | None = None) -> list[str]:
        """Word the branches of a node; a set is shortened to ``max_width`` as far as that is possible.

        The one level that remains in a set may be clipped to ``min_level_width``.
        """
        tree, a = self.tree, self.tree.arrays
        split = tree.split_at(node)
        assert split is not None
        column = int(a.column[node])
        conditions = self._column_writer(column, self.is_read_back and isinstance(split, Ordinal)).conditions(split)
        joins_branch = not split.separates_missing
        says_missing = joins_branch and (a.missing_rows[node] > 0 or self._is_surprising(node, split.missing))
        if isinstance(split, Subset) and len(split.levels) > 1 and max_width is not None:
            set_width = max_width - len(" or missing") * (says_missing and split.missing == 0)
            conditions[0] = self._shorten_set(conditions[0], split, set_width, min_level_width)
        if says_missing:
            conditions[split.missing] += " or missing"
        return conditions

    def _clip_name(self, node: int, condition: str, max_width: int) -> str:
        """Clip the name of the column rather than any part of the test."""
        name = self._column_name(node)
        excess = display_width(condition) - max_width
        if excess <= 0 or not condition.startswith(name):
            return condition
        width = max(_MIN_NAME_WIDTH, display_width(name) - excess)
        return _clip_middle(name, width, self.ellipsis) + condition[len(name) :]

    def _is_surprising(self, node: int, missing: int) -> bool:
        """Return whether missing values take another branch than the heavier one, by weight or by weight as printed."""
        weights: list[float] = self.tree.arrays.weight[list(self.tree.children(node))].tolist()
        if missing != weights.index(max(weights)):
            return True
        if not self._has_rows:
            return missing != 0
        if self._is_weighted:
            weights = [float(format_count(weight).replace(",", "")) for weight in weights]
        return missing != weights.index(max(weights))

    def _column_writer(self, column: int, ordered: bool) -> _ColumnWriter:
        if (column, ordered) not in self._columns:
            self._columns[column, ordered] = _ColumnWriter(self.tree.encodings[column], ordered, self.ascii)
        return self._columns[column, ordered]

    def _shorten_set(self, condition: str, split: Subset, max_width: int, min_level_width: int | None) -> str:
        """Write ``{Bachelors, Doctorate, Masters, +1}`` where the whole set would be too long."""
        if display_width(condition) <= max_width:
            return condition
        head, levels = f"{write_name(split.column, self.ascii)} in {{", split.levels
        texts = [write_level(level, self.ascii) for level in levels[: max(2, max_width)]]
        widths = [display_width(level) + 2 for level in texts]
        n_named, width_left = 1, max_width - display_width(head) - widths[0] - len(f"+{len(levels)}}}")
        while n_named < len(texts) - 1 and width_left >= widths[n_named]:
            width_left -= widths[n_named]
            n_named += 1
        if min_level_width is not None and width_left < 0:
            texts[0] = clip(texts[0], max(min_level_width, widths[0] - 2 + width_left), self.ellipsis)
        return f"{head}{', '.join(texts[:n_named])}, +{len(levels) - n_named}}}"


def _clip_middle(name: str, width: int, ellipsis: str) -> str:
    """Clip the middle of a name: names that begin alike often end differently.

    >>> _clip_middle("pickup_borough", 9, "…"), _clip_middle("pickup_zone", 9, "…")
    ('pick…ough', 'pick…zone')
    """
    if display_width(name) <= width:
        return name
    end = clip(name[::-1], (width - len(ellipsis)) // 2, "")[::-1]
    return clip(name, width - display_width(end), ellipsis) + end


class _ColumnWriter:
    """The name and the levels of a column as they are written, with placeholders for those that need quotes."""

    def __init__(self, encoding: Encoding, ordered: bool, ascii: bool) -> None:
        write = write_ordered_level if ordered else write_level
        texts = [encoding.name, *([] if encoding.kind == "boolean" else encoding.levels)]
        self.written = [write_name(encoding.name, ascii), *(write(level, ascii) for level in texts[1:])]
        self.is_plain = texts == self.written
        self.encoding = encoding
        if not self.is_plain:
            self.placeholders = {text: f"⟦{i}⟧" for i, text in enumerate(texts[1:], start=1)}
            levels = tuple(self.placeholders.get(level, level) for level in encoding.levels)
            self.encoding = replace(encoding, name="⟦0⟧", levels=levels)

    def conditions(self, split: Split) -> list[str]:
        """Word all branches of a split."""
        if not self.is_plain:
            split = self._with_placeholders(split)
        conditions = [split.condition(branch, self.encoding) for branch in range(split.n_branches)]
        if self.is_plain:
            return conditions
        return [re.sub(r"⟦(\d+)⟧", lambda m: self.written[int(m[1])], condition) for condition in conditions]

    def _with_placeholders(self, split: Split) -> Split:
        changes: dict[str, Any] = {"column": "⟦0⟧"}
        if hasattr(split, "level"):
            changes["level"] = self.placeholders.get(split.level, split.level)
        if hasattr(split, "levels"):
            changes["levels"] = tuple(self.placeholders.get(level, level) for level in split.levels)
        return replace(split, **changes)
