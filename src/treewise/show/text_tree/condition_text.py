"""The condition on every branch, written so that it can be read back.

Stands between ``tree/splits.py``, where a split says its branches in words, and the text outlets that print them.
The words are the split's own. Only where a name or a level could be misread (it holds an arrow, a quote, a
line break …) it is put in quotes, by letting the split speak with stand-ins in place of the odd names and
putting the quoted ones in afterwards.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from treewise._lib.text import clip, display_width, format_count
from treewise.data.encoding import Encoding
from treewise.formats.text_format.notation import write_level, write_name, write_ordered_level
from treewise.tree.splits import Ordinal, Split, Subset
from treewise.tree.tree import Tree

MOST = 72  # columns of a condition in a bounded view, whatever it says
LEAST_NAME, LEAST_LEVEL = 8, 5  # letters that stay however narrow the page


def counted(tree: Tree) -> bool:
    """Tell whether the tree knows training rows; one written by hand does not."""
    return bool(tree.arrays.rows[0] > 0)


def weighted(tree: Tree) -> bool:
    """Tell whether rows had weights other than 1."""
    return counted(tree) and not np.array_equal(tree.arrays.weight, tree.arrays.rows)


class ConditionText:
    """Says the conditions of one tree; what it learns about a column is kept for the next node."""

    def __init__(self, tree: Tree, ascii: bool = False, longest: int | None = None) -> None:
        self.tree, self.ascii, self.longest = tree, ascii, longest
        self.counted = counted(tree)
        self.weighted = weighted(tree)
        self._written: dict[tuple[int, bool], _Written] = {}

    def branches(self, node: int) -> list[str]:
        """Return the conditions on an inner node's branches, in order; as ``Tree.words``, but all at once."""
        said = self._said(node, self.longest)
        return [self._with_short_name(node, words, MOST) for words in said] if self.longest else said

    def answers(self, node: int, longest: int) -> list[str]:
        """Return the conditions on a node's branches without the column's name, for whoever has written that above.

        A set is shortened to so many columns, as far as that is possible.
        """
        name = write_name(self.tree.encodings[self.tree.arrays.column[node]].name, self.ascii)
        said = self._said(node, display_width(name) + 1 + longest)
        return [words.removeprefix(name).lstrip() for words in said]

    def within(self, node: int, most: int, names: bool) -> str:
        """Say the condition on the branch to a node in so many columns, if a set of fewer levels is enough for that.

        With ``names`` also by leaving out letters, of the one level that a set names and of the column's name.
        """
        up = int(self.tree.arrays.parent[node])
        said = self._said(up, most, LEAST_LEVEL if names else None)[self.tree.children(up).index(node)]
        return self._with_short_name(up, said, most) if names else said

    def _said(self, node: int, longest: int | None, least: int | None = None) -> list[str]:
        """Return the conditions on a node's branches, a set within ``longest`` columns as far as that is possible.

        The one level that a set names at least may be cut to ``least`` letters.
        """
        tree, a = self.tree, self.tree.arrays
        split = tree.split_at(node)
        assert split is not None
        column = int(a.column[node])
        said = self._write(column, isinstance(split, Ordinal)).words(split)
        own = split.missing < split.own_branches and not split.asks_presence(tree.encodings[column])
        aside = own and (a.missing_rows[node] > 0 or self._surprising(node, split.missing))
        if isinstance(split, Subset) and len(split.levels) > 1 and longest is not None:
            room = longest - len(" or missing") * (aside and split.missing == 0)
            said[0] = self._shorten(said[0], split, room, least)
        if aside:
            said[split.missing] += " or missing"
        return said

    def _with_short_name(self, node: int, said: str, most: int) -> str:
        """Leave out letters of the column's name rather than any of the test."""
        name = write_name(self.tree.encodings[self.tree.arrays.column[node]].name, self.ascii)
        over = display_width(said) - most
        if over <= 0 or not said.startswith(name):
            return said
        return clip_inside(name, max(LEAST_NAME, display_width(name) - over), self.dots) + said[len(name) :]

    @property
    def dots(self) -> str:
        """The mark where something was left out."""
        return "..." if self.ascii else "…"

    def condition(self, node: int) -> str:
        """Return the condition on the branch that leads to one node."""
        up = int(self.tree.arrays.parent[node])
        return "all rows" if up < 0 else self.branches(up)[self.tree.children(up).index(node)]

    def _surprising(self, node: int, missing: int) -> bool:
        """Tell whether missing values take another branch than the heavier, by weight or as weights print."""
        weights: list[float] = self.tree.arrays.weight[list(self.tree.children(node))].tolist()
        if missing != weights.index(max(weights)):
            return True
        if not self.counted:
            return missing != 0
        if self.weighted:
            weights = [float(format_count(w).replace(",", "")) for w in weights]
        return missing != weights.index(max(weights))

    def _write(self, column: int, ordered: bool) -> _Written:
        if (column, ordered) not in self._written:
            self._written[column, ordered] = _Written(self.tree.encodings[column], ordered, self.ascii)
        return self._written[column, ordered]

    def _shorten(self, said: str, split: Subset, longest: int, least: int | None) -> str:
        """Say ``{Bachelors, Doctorate, Masters, +1}`` where the whole set would be too long."""
        if display_width(said) <= longest:
            return said
        head, levels = f"{write_name(split.column, self.ascii)} in {{", split.levels
        written = [write_level(level, self.ascii) for level in levels[: max(2, longest)]]
        wide = [display_width(level) + 2 for level in written]
        shown, room = 1, longest - display_width(head) - wide[0] - len(f"+{len(levels)}}}")
        while shown < len(written) - 1 and room >= wide[shown]:
            room -= wide[shown]
            shown += 1
        if least is not None and room < 0:
            written[0] = clip(written[0], max(least, wide[0] - 2 + room), self.dots)
        return f"{head}{', '.join(written[:shown])}, +{len(levels) - shown}}}"


def clip_inside(name: str, width: int, dots: str) -> str:
    """Cut letters out of the middle: names that begin alike often end differently.

    >>> clip_inside("pickup_borough", 9, "…"), clip_inside("pickup_zone", 9, "…")
    ('pick…ough', 'pick…zone')
    """
    if display_width(name) <= width:
        return name
    end = clip(name[::-1], (width - len(dots)) // 2, "")[::-1]
    return clip(name, width - display_width(end), dots) + end


class _Written:
    """A column's name and levels as they are written, with stand-ins for those that need quotes."""

    def __init__(self, encoding: Encoding, ordered: bool, ascii: bool) -> None:
        write = write_ordered_level if ordered else write_level
        texts = [encoding.name, *([] if encoding.kind == "boolean" else encoding.levels)]
        self.written = [write_name(encoding.name, ascii), *(write(level, ascii) for level in texts[1:])]
        self.plain = texts == self.written
        self.encoding = encoding
        if not self.plain:
            self.stand_in = {text: f"⟦{i}⟧" for i, text in enumerate(texts[1:], start=1)}
            levels = tuple(self.stand_in.get(level, level) for level in encoding.levels)
            self.encoding = replace(encoding, name="⟦0⟧", levels=levels)

    def words(self, split: Split) -> list[str]:
        """Let the split say all its branches."""
        branches = range(split.n_branches)
        if self.plain:
            return [split.condition(branch, self.encoding) for branch in branches]
        disguised = self._disguise(split)
        said = (disguised.condition(branch, self.encoding) for branch in branches)
        return [re.sub(r"⟦(\d+)⟧", lambda m: self.written[int(m[1])], words) for words in said]

    def _disguise(self, split: Split) -> Split:
        changes: dict[str, Any] = {"column": "⟦0⟧"}
        if hasattr(split, "level"):
            changes["level"] = self.stand_in.get(split.level, split.level)
        if hasattr(split, "levels"):
            changes["levels"] = tuple(self.stand_in.get(level, level) for level in split.levels)
        return replace(split, **changes)
