"""Many trees in a few lines: what they predict, how large they are, what they ask most, how they were made.

Stands among the outlets, beside ``summary.py``, which says a single tree. ``ensemble.summary()`` and ``print`` give it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable, Style
from treewise._lib.text import format_rounded, format_share, plural, safe
from treewise.ensemble import Ensemble, OutOfBag
from treewise.evaluate.importances import importances
from treewise.show.summary import target_in_words
from treewise.tree.history import in_words

MOST_COLUMNS = 5  # that are named


@dataclass(frozen=True)
class MinMedianMax:
    """The least, the middle and the largest of some whole numbers.

    >>> print(MinMedianMax.of([3, 9, 4]), MinMedianMax.of([5, 5]))
    3 to 9, median 4 5
    """

    least: int
    median: float
    most: int

    @classmethod
    def of(cls, values: npt.ArrayLike) -> MinMedianMax:
        """Find them."""
        numbers = np.asarray(values)
        return cls(int(numbers.min()), float(np.median(numbers)), int(numbers.max()))

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.least:,}"
        return f"{self.least:,} to {self.most:,}, median {self.median:,g}"


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleSummary(Displayable):
    """What an ensemble is. ``print`` it, ask for a field, or take ``to_dict()``."""

    ensemble: Ensemble

    @property
    def leaves(self) -> MinMedianMax:
        """How many leaves the trees have."""
        return MinMedianMax.of(np.diff(self.ensemble.members.leaf_start))

    @property
    def depth(self) -> MinMedianMax:
        """How deep the trees are."""
        return MinMedianMax.of(self.ensemble.members.depths)

    @property
    def columns(self) -> dict[str, float]:
        """The importance of each column that is asked about, the largest first (``ensemble.importances()``)."""
        return {each.column: each.importance for each in importances(self.ensemble).columns if each.importance > 0}

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines, each with its heading."""
        made = self.ensemble
        largest = [f"{safe(name)} {format_share(share)} %" for name, share in self.columns.items()]
        more = [f"{plural(len(largest) - MOST_COLUMNS, 'more column')}"] if len(largest) > MOST_COLUMNS else []
        found = [
            ("trees", f"{made.method} of {plural(len(made), 'tree')} · {target_in_words(made.target)}"),
            ("size", f"leaves {self.leaves} · depth {self.depth}"),
            ("asks", " · ".join([*largest[:MOST_COLUMNS], *more]) or "no column: it always predicts the same"),
            ("made", " → ".join(map(in_words, made.history)) or "of given trees"),
        ]
        return found if made.oob is None else [*found[:2], ("unseen", unseen_in_words(made.oob, made.task)), *found[2:]]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        made = self.ensemble
        return {
            "method": made.method,
            "trees": len(made),
            "task": made.task,
            "target": made.target.name,
            "classes": list(made.classes),
            "positive": made.target.positive,
            "leaves": vars(self.leaves),
            "depth": vars(self.depth),
            "oob": None if made.oob is None else {name: known(value) for name, value in vars(made.oob).items()},
            "importances": self.columns,
            "history": [dict(step) for step in made.history],
        }

    def result_table(self) -> ResultTable:
        """Return the lines as a table."""
        return ResultTable(
            "", (ColumnSpec("about", title=""), ColumnSpec("said", title="")), self.lines(), max_rows=None
        )

    def to_text(self, width: int | None = None, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return the lines, however long."""
        return "\n".join(f"{emphasis(f'{head:<7}')} {said}" for head, said in self.lines())


def unseen_in_words(oob: OutOfBag, task: str) -> str:
    """Say how good the answers are on rows that a tree has not seen."""
    where = f"on {oob.rows:,} of {plural(oob.of, 'row')}, each by the trees that have not seen it (out of bag)"
    if np.isnan(oob.score):
        return f"nothing is known {where}"
    if task == "classification":
        return f"error {format_share(1 - oob.score)} % {where}"
    return f"R² {format_rounded(oob.score)} {where}"


def known(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if np.isfinite(value) else None
