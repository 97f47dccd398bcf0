"""Small random tables for exercises: eight rows, half of them positive, and entropies of few different shares.

The same seed gives the same table everywhere. Tables are drawn until one is friendly: every impure branch has at most
four rows, so that shares are halves, thirds and quarters, no two rows contradict each other, and at every node of the
tree one split is clearly the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from treewise._lib.rng import mix64, uniform_below
from treewise.data.table import Table, read
from treewise.train.criteria import entropy

_T = TypeVar("_T")
_ROWS, _LARGEST_IMPURE = 8, 4
_CLEAR = 0.05  # bits by which the best split of a node is better than the next
_SIZES: dict[int, list[tuple[int, ...]]] = {2: [(4, 4)], 3: [(2, 2, 4), (3, 3, 2), (4, 2, 2), (2, 3, 3)]}
_THEMES: tuple[tuple[str, tuple[str, str], dict[str, tuple[str, ...]]], ...] = (
    (
        "Picnic",
        ("no", "yes"),
        {"Sky": ("clear", "cloudy", "rain"), "Wind": ("calm", "strong"), "Day": ("work", "free")},
    ),
    ("Repaid", ("no", "yes"), {"Income": ("low", "middle", "high"), "Home": ("rents", "owns"), "Job": ("new", "old")}),
    ("Edible", ("no", "yes"), {"Cap": ("flat", "bell", "cone"), "Smell": ("none", "sharp"), "Ring": ("none", "one")}),
    ("Late", ("no", "yes"), {"Line": ("A", "B", "C"), "Hour": ("peak", "quiet"), "Snow": ("no", "yes")}),
)


class _Draws:
    """A stream of random choices that depends on the seed alone."""

    def __init__(self, seed: int) -> None:
        self.state = mix64(0, seed)

    def below(self, n: int) -> int:
        self.state = mix64(self.state, n)
        return uniform_below(self.state, n)

    def one_of(self, items: Sequence[_T]) -> _T:
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[_T]) -> list[_T]:
        shuffled = list(items)
        for i in range(len(shuffled) - 1, 0, -1):
            j = self.below(i + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
        return shuffled


def random_tables(seed: int) -> Iterator[tuple[Table, Table]]:
    """Yield friendly tables, each with a second one of the same columns: its rows are drawn freely.

    >>> table, other = next(random_tables(7))
    >>> table.columns.keys() == other.columns.keys(), len(table), table.target
    (True, 8, 'Late')
    """
    draws = _Draws(seed)
    for _ in count():
        target, classes, columns = draws.one_of(_THEMES)
        cells = {name: _column(draws, levels) for name, levels in columns.items()}
        cells[target] = draws.shuffled([classes[0]] * (_ROWS // 2) + [classes[1]] * (_ROWS // 2))
        rows = [dict(zip(cells, values, strict=True)) for values in zip(*cells.values(), strict=True)]
        if not _is_friendly(rows, list(columns), target):
            continue
        other = {name: [draws.one_of(levels) for _ in range(_ROWS)] for name, levels in columns.items()}
        other[target] = [draws.one_of(classes) for _ in range(_ROWS)]
        yield tuple(_table(each, target, seed, n) for n, each in enumerate((cells, other)))  # type: ignore[misc]


def _column(draws: _Draws, levels: Sequence[str]) -> list[str]:
    """Draw a column in which every level occurs."""
    sizes = draws.one_of(_SIZES[len(levels)])
    return draws.shuffled([level for level, size in zip(levels, sizes, strict=True) for _ in range(size)])


def _table(cells: dict[str, list[str]], target: str, seed: int, number: int) -> Table:
    name = f"seed {seed}" if number == 0 else f"validation rows of seed {seed}"
    return replace(read(cells), name=name, target=target, title="")


def _is_friendly(rows: list[dict[str, Any]], columns: list[str], target: str) -> bool:
    """Tell whether the tree of these rows is easily worked out by hand, and takes more than one split."""
    nodes, n_splits = [(rows, columns)], 0
    while nodes:
        node_rows, unused = nodes.pop()
        if len({row[target] for row in node_rows}) == 1:
            continue
        splits = {name: _branches(node_rows, name) for name in unused if len({row[name] for row in node_rows}) > 1}
        gains = sorted((_remaining(branches, target), name) for name, branches in splits.items())
        impure = [b for branches in splits.values() for b in branches if len({row[target] for row in b}) > 1]
        if not gains or max(map(len, impure), default=0) > _LARGEST_IMPURE:
            return False
        if len(gains) > 1 and gains[1][0] - gains[0][0] < _CLEAR * len(node_rows):
            return False
        best = gains[0][1]
        nodes += [(branch, [name for name in unused if name != best]) for branch in splits[best]]
        n_splits += 1
    return n_splits > 1


def _branches(rows: list[dict[str, Any]], column: str) -> list[list[dict[str, Any]]]:
    return [[row for row in rows if row[column] == level] for level in dict.fromkeys(row[column] for row in rows)]


def _remaining(branches: list[list[dict[str, Any]]], target: str) -> float:
    """Return what is left after a split, in bits in total."""
    total = 0.0
    for branch in branches:
        labels = [row[target] for row in branch]
        total += len(branch) * entropy([labels.count(label) for label in set(labels)])
    return total
