"""Shrink a table and settings that show a fault to the smallest case that still does, ready to paste into a report.

    python fuzz/reduce.py table.csv --target y --set criterion=gini --set max_depth=3

The fault is an exception: without ``--raises`` whatever ``tw.grow`` raises under ``TREEWISE_VERIFY=1`` (which
compares the core with another engine and with the reference) that is not about the input. ``shrink`` takes any
predicate. Rows are left out by delta debugging (halves, quarters, …: Zeller and Hildebrandt, 2002), then columns and
settings one by one, then cells become simpler.
"""

from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Case:
    """A table as columns of cells, the target, and the parameters of ``tw.grow``."""

    columns: dict[str, list[Any]]
    target: str
    settings: dict[str, Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[self.target])

    def without_rows(self, first: int, end: int) -> Case:
        """Leave out rows."""
        columns = {name: [*cells[:first], *cells[end:]] for name, cells in self.columns.items()}
        return replace(self, columns=columns)

    def __str__(self) -> str:
        """Return the case as code."""
        settings = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        cells = "\n".join(f"    {name!r}: {values!r}," for name, values in self.columns.items())
        return f"import treewise as tw\n\ndata = {{\n{cells}\n}}\ntw.grow(data, target={self.target!r}{settings})"


def shrink(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return the smallest case found that still fails.

    >>> table = {"x": list(range(40)), "z": ["a"] * 40, "y": [0, 1] * 20}
    >>> case = Case(table, "y", {"max_depth": 3, "criterion": "gini"})
    >>> print(shrink(case, lambda small: 17 in small.columns.get("x", []) and "max_depth" in small.settings))
    import treewise as tw
    <BLANKLINE>
    data = {
        'x': [17],
        'y': [0],
    }
    tw.grow(data, target='y', max_depth=3)
    """
    if not fails(case):
        raise ValueError("the case does not fail")
    while True:
        smaller = _fewer_rows(case, fails)
        for step in (_fewer_columns, _fewer_settings, _simpler_cells):
            smaller = _first_that_fails(smaller, step, fails)
        if smaller == case:
            return case
        case = smaller


def _fewer_rows(case: Case, fails: Callable[[Case], bool]) -> Case:
    size = max(1, case.n_rows // 2)
    while True:
        first = 0
        while first < case.n_rows and case.n_rows > 1:
            candidate = case.without_rows(first, first + size)
            if candidate.n_rows and fails(candidate):
                case = candidate
            else:
                first += size
        if size == 1:
            return case
        size //= 2


def _first_that_fails(case: Case, candidates: Callable[[Case], Iterator[Case]], fails: Callable[[Case], bool]) -> Case:
    """Take a step as long as one of its candidates fails."""
    while True:
        actual = next((candidate for candidate in candidates(case) if fails(candidate)), None)
        if actual is None:
            return case
        case = actual


def _fewer_columns(case: Case) -> Iterator[Case]:
    for name in case.columns:
        if name != case.target and len(case.columns) > 2:
            yield replace(case, columns={n: cells for n, cells in case.columns.items() if n != name})


def _fewer_settings(case: Case) -> Iterator[Case]:
    for name in case.settings:
        yield replace(case, settings={n: value for n, value in case.settings.items() if n != name})


def _simpler_cells(case: Case) -> Iterator[Case]:
    """Replace the values of a column by the numbers 0, 1, 2, … in the same order, or a cell by 0."""
    for name, cells in case.columns.items():
        distinct = sorted({c for c in cells if isinstance(c, int | float) and c == c})
        ranks = {value: rank for rank, value in enumerate(distinct)}
        ranked = [ranks.get(c, c) if isinstance(c, int | float) else c for c in cells]
        if repr(ranked) != repr(cells) and len(repr(ranked)) <= len(repr(cells)):
            yield replace(case, columns={**case.columns, name: ranked})


def grow_fails(case: Case, kind: str | None = None) -> bool:
    """Tell whether growing raises an exception: of this kind, or one that is a bug."""
    import treewise as tw

    os.environ["TREEWISE_VERIFY"] = "1"
    try:
        tw.grow(case.columns, target=case.target, **case.settings)
    except Exception as error:
        if kind is not None:
            return type(error).__name__ == kind
        return not isinstance(error, tw.TreewiseError) or "TREEWISE_VERIFY" in str(error)
    return False


def main() -> None:
    """Read a table, shrink it, and print the case."""
    import treewise as tw

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--target", required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of tw.grow")
    parser.add_argument("--raises", metavar="CLASS", help="the exception to keep, such as DataError")
    arguments = parser.parse_args()
    settings = {}
    for pair in arguments.set:
        name, _, text = pair.partition("=")
        try:
            settings[name] = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            settings[name] = text
    columns = tw.read(arguments.table).to_polars().to_dict(as_series=False)
    print(shrink(Case(columns, arguments.target, settings), lambda case: grow_fails(case, arguments.raises)))


if __name__ == "__main__":
    main()
