"""The region of a node as a value: what is possible of each column in the rows that reach it.

Stands just above the tree and needs no rows: rules, comparisons and counterfactuals are read off it.

    condition.py   what is possible of one column: an interval of numbers, a set of levels; missing or not
    saying.py      … in words, merged: ``3.2 < age <= 7 or missing``
    member.py      … a cell that fits, as natural as can be
    descent.py     down the tree, one change of state a test, taken back on the way up

A row stops at exactly one *end*: a leaf, or an inner node that has no branch for the row's level. ``ends`` goes through
them with their regions, which are disjoint and leave nothing out; an end no row can reach has an ``empty`` one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.data.table import read
from treewise.errors import ColumnError, did_you_mean
from treewise.tree.regions.condition import Condition, Interval, Levels, anything, both, interval, is_free
from treewise.tree.regions.describe import say, say_limits
from treewise.tree.regions.example_value import Cell, as_cell, some_cell, some_value, unknown_level
from treewise.tree.regions.traverse import RegionTraversal
from treewise.tree.structure import TreeStructure

__all__ = [
    "Cell",
    "Condition",
    "Interval",
    "Levels",
    "Region",
    "RegionTraversal",
    "anything",
    "as_cell",
    "cell_value",
    "ends",
    "interval",
    "region_of",
    "regions",
    "say",
    "say_limits",
    "some_cell",
    "some_value",
    "unknown_level",
]  # fmt: skip


@dataclass(frozen=True)
class Region:
    """What is possible of each column; columns without a condition are free.

    >>> import treewise as tw
    >>> tree = tw.grow("admissions", preset="id3")
    >>> region = region_of(tree, 5)
    >>> print(region)
    (GPA = 3.7 or missing) and (Published = no or missing) and University = top20
    >>> region.describe(or_missing=False)
    ('GPA = 3.7', 'Published = no', 'University = top20')
    >>> region.member()
    {'GPA': '3.7', 'Published': 'no', 'University': 'top20'}
    >>> region.contains(region.member()), region.empty, (region & region_of(tree, 6)).empty
    (True, False, True)
    >>> region["University"].missing, region["Recommendation"].n
    (False, 2)
    """

    encodings: tuple[Encoding, ...]
    conditions: Mapping[int, Condition]  # by the column's number, in the order in which they were asked about
    na_values: tuple[str, ...] = ()  # texts that mean "missing" to the tree

    def __getitem__(self, column: str) -> Condition:
        """Return what is possible of a column, by its name."""
        names = [e.name for e in self.encodings]
        if column not in names:
            raise ColumnError(f'the region has no column "{safe(column)}".{did_you_mean(column, names)}')
        number = names.index(column)
        return self.conditions.get(number) or anything(self.encodings[number])

    @property
    def empty(self) -> bool:
        """Whether no row can be in it."""
        return any(condition.empty for condition in self.conditions.values())

    def __and__(self, other: Region) -> Region:
        """Return the region in both; both are of the same columns."""
        merged = dict(self.conditions)
        for column, condition in other.conditions.items():
            mine = merged.get(column)
            merged[column] = condition if mine is None else both(mine, condition, self.encodings[column])
        return Region(self.encodings, merged, self.na_values)

    def contains(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a row of cells, read as the tree reads them, is in it; it needs the columns with a condition."""
        for number, condition in self.conditions.items():
            encoding = self.encodings[number]
            if encoding.name not in row:
                hint = did_you_mean(encoding.name, map(str, row))
                raise ColumnError(f'the row has no column "{safe(encoding.name)}".{hint} (None says it is missing.)')
            if not condition.holds(cell_value(encoding, row[encoding.name], self.na_values)):
                return False
        return True

    def member(self) -> dict[str, Cell]:
        """Return a row that is in it, of natural values: the columns with a condition; {} if there is none.

        Missing cells are None, and stand only where nothing else is possible; so do never-seen levels.
        """
        if self.empty:
            return {}
        return {
            self.encodings[i].name: some_cell(c, self.encodings[i], self.na_values) for i, c in self.conditions.items()
        }

    def describe(self, or_missing: bool = True, or_unseen: bool = True) -> tuple[str, ...]:
        """Say the region, one condition a column; columns that turn out free are left out.

        ``or_missing`` and ``or_unseen`` say where missing values and never-seen levels may be beside others; where
        nothing else is possible they are always said.
        """
        columns = ((self.encodings[i], c) for i, c in self.conditions.items())
        return tuple(say(c, e, or_missing, or_unseen) for e, c in columns if not is_free(c, e))

    def __str__(self) -> str:
        said, bare = self.describe(), self.describe(or_missing=False, or_unseen=False)
        if len(said) == 1:
            return said[0]
        return " and ".join(a if a == b else f"({a})" for a, b in zip(said, bare, strict=True)) or "all rows"


def regions(tree: TreeStructure, nodes: Collection[int] | None = None) -> Iterator[tuple[int, Region]]:
    """Go through the nodes of a tree, or some of them, with the region of each: of the rows that pass or stop there.

    >>> import treewise as tw
    >>> [str(region) for _, region in regions(tw.grow("outlier", max_leaf_nodes=3))][:2]
    ['all rows', 'x1 <= 4']
    """
    wanted = None if nodes is None else set(nodes)
    descent = RegionTraversal(tree)
    for node in descent.walk():
        if wanted is None or node in wanted:
            yield node, Region(tree.encodings, descent.conditions(), tree.na_values)


def ends(tree: TreeStructure) -> Iterator[tuple[int, Region]]:
    """Go through the ends of a tree, with the region of the rows that stop at each: exactly one holds any row.

    >>> import treewise as tw
    >>> for node, region in ends(tw.grow("food", preset="id3", columns=["Hunger"])):
    ...     print(node, region)
    1 Hunger = full
    2 Hunger = hungry or missing
    3 Hunger = starving
    4 Hunger = can-eat or never seen
    """
    descent = RegionTraversal(tree)
    for node in descent.ends_here():
        yield node, Region(tree.encodings, descent.conditions(), tree.na_values)


def region_of(tree: TreeStructure, node: int) -> Region:
    """Return the region of the rows that reach one node."""
    return Region(tree.encodings, RegionTraversal(tree).conditions_at(tree.path(node)), tree.na_values)


def cell_value(encoding: Encoding, cell: Any, na_values: tuple[str, ...] = ()) -> Any:
    """Return a cell as the column's own number: a value, or a level's code (-2: never seen); None if it is missing.

    >>> cell_value(Encoding("town", "nominal", ("Bari", "Rome")), "Rome"), cell_value(Encoding("x", "number"), "1.5")
    (1, 1.5)
    """
    column = read([{encoding.name: cell}], na_values=na_values, name="the row")[encoding.name]
    values = encode.encode_column(encoding, column, "the row")
    value: Any = values.tolist()[0]
    return None if encode.is_missing(encoding, values)[0] else value
