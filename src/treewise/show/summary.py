"""Summaries of a tree and of an ensemble in a few lines: target, size, columns and history.

``tree.summary()``, ``ensemble.summary()`` and ``treewise show --summary`` print them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable, Style
from treewise._lib.text import format_rounded, format_share, plural, safe
from treewise.data.encoding import Encoding
from treewise.errors import join_few
from treewise.prune.losses import describe_cross_validation
from treewise.show.node_stats import describe_training_error
from treewise.tree.arrays import LEAF, STOPS
from treewise.tree.history import describe_step
from treewise.tree.model import Model
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.ensemble import Ensemble

_MAX_LISTED_LEVELS = 6
_MAX_LISTED_COLUMNS = 5


class _Summary(Displayable):
    @abstractmethod
    def lines(self) -> list[tuple[str, str]]:
        """Return the lines, each with its heading."""

    def result_table(self) -> ResultTable:
        """Return the lines as a table."""
        columns = (ColumnSpec("about", title=""), ColumnSpec("text", title=""))
        return ResultTable("", columns, self.lines(), max_rows=None)

    def to_text(self, width: int | None = None, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return the lines, however long."""
        return "\n".join(f"{emphasis(f'{heading:<7}')} {text}" for heading, text in self.lines())


@dataclass(frozen=True, eq=False, repr=False)
class TreeSummary(_Summary):
    """The summary of a tree. ``print`` it, read a field, or take ``to_dict()``."""

    tree: Tree

    @property
    def stops(self) -> dict[str, int]:
        """The number of leaves by stopping reason, in the order in which reasons are checked."""
        a = self.tree.arrays
        counts = np.bincount(a.stop[a.kind == LEAF], minlength=len(STOPS)).tolist()
        return {name: count for name, count in zip(STOPS, counts, strict=True) if count}

    @property
    def needs(self) -> list[Encoding]:
        """The columns used in splits, in the order of the tree's columns."""
        used = set(self.tree.arrays.column.tolist())
        return [encoding for i, encoding in enumerate(self.tree.encodings) if i in used]

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines, each with its heading."""
        tree = self.tree.displayed
        size = [plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}", *describe_training_error(tree)]
        loss_text, needs = describe_cross_validation(tree), TreeSummary(tree).needs
        return [
            ("tree", " · ".join([_describe_target(tree), *size])),
            *([("unseen", loss_text)] if loss_text else []),
            ("leaves", " · ".join(f"{count:,} {name}" for name, count in self.stops.items())),
            (
                "needs",
                " · ".join(map(_describe_column, needs)) or "no column: it always predicts the same",
            ),
            ("made", " → ".join(map(describe_step, tree.history)) or "written by hand"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        tree, cross_validated = self.tree, self.tree.fit_info.cross_validated
        return {
            "task": tree.task,
            "target": tree.target.name,
            "classes": list(tree.classes),
            "positive": tree.target.positive,
            "leaves": tree.n_leaves,
            "depth": tree.depth,
            "rows": int(tree.arrays.rows[0]),
            "stops": self.stops,
            "needs": [{"column": e.name, "kind": e.kind, "levels": list(e.levels)} for e in self.needs],
            "cross_validated": None if cross_validated is None else cross_validated.to_dict(),
            "history": [dict(step) for step in tree.history],
        }


@dataclass(frozen=True)
class _MinMedianMax:
    """The minimum, median and maximum of some integers.

    >>> print(_MinMedianMax.of([3, 9, 4]), _MinMedianMax.of([5, 5]))
    3 to 9, median 4 5
    """

    least: int
    median: float
    most: int

    @classmethod
    def of(cls, values: npt.ArrayLike) -> _MinMedianMax:
        """Compute them."""
        numbers = np.asarray(values)
        return cls(int(numbers.min()), float(np.median(numbers)), int(numbers.max()))

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.least:,}"
        return f"{self.least:,} to {self.most:,}, median {self.median:,g}"


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleSummary(_Summary):
    """The summary of an ensemble. ``print`` it, read a field, or take ``to_dict()``."""

    ensemble: Ensemble

    @property
    def leaves(self) -> _MinMedianMax:
        """The number of leaves of the trees."""
        return _MinMedianMax.of(np.diff(self.ensemble.members.leaf_start))

    @property
    def depth(self) -> _MinMedianMax:
        """The depth of the trees."""
        return _MinMedianMax.of(self.ensemble.members.depths)

    @property
    def columns(self) -> dict[str, float]:
        """The importance of each column used in a split, the largest first (``ensemble.importances()``)."""
        from treewise.evaluate.importances import importances

        return {
            column.column: column.importance for column in importances(self.ensemble).columns if column.importance > 0
        }

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines, each with its heading."""
        ensemble = self.ensemble
        columns = [f"{safe(name)} {format_share(share)} %" for name, share in self.columns.items()]
        if len(columns) > _MAX_LISTED_COLUMNS:
            columns[_MAX_LISTED_COLUMNS:] = [plural(len(columns) - _MAX_LISTED_COLUMNS, "more column")]
        target = _describe_target(ensemble)
        oob = [] if ensemble.oob is None else [("unseen", _describe_oob(ensemble))]
        return [
            ("trees", f"{ensemble.method} of {plural(len(ensemble), 'tree')} · {target}"),
            ("size", f"leaves {self.leaves} · depth {self.depth}"),
            *oob,
            ("asks", " · ".join(columns) or "no column: it always predicts the same"),
            ("made", " → ".join(map(describe_step, ensemble.history)) or "of given trees"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        ensemble, oob = self.ensemble, self.ensemble.oob
        finite_oob = None if oob is None else {k: v if np.isfinite(v) else None for k, v in vars(oob).items()}
        return {
            "method": ensemble.method,
            "trees": len(ensemble),
            "task": ensemble.task,
            "target": ensemble.target.name,
            "classes": list(ensemble.classes),
            "positive": ensemble.target.positive,
            "leaves": vars(self.leaves),
            "depth": vars(self.depth),
            "oob": finite_oob,
            "importances": self.columns,
            "history": [dict(step) for step in ensemble.history],
        }


def _describe_target(model: Model) -> str:
    target, options = model.target, model.fit_info.fit_options
    name = safe(target.name)
    if options.predicts_rates:
        return f"target {name}: a rate per unit of {safe(options.exposure or 'exposure')}"
    if target.task == "regression":
        return f"target {name}: a number"
    positive = f" (positive: {safe(target.positive)})" if target.positive is not None else ""
    return f"target {name}: {join_few([safe(label) for label in target.classes])}{positive}"


def _describe_column(encoding: Encoding) -> str:
    """Describe a column: ``age number``, ``ward category, 11 levels``."""
    name = safe(encoding.name)
    if encoding.kind in ("nominal", "ordered"):
        levels = [safe(level) for level in encoding.levels]
        kind = "ordered category" if encoding.kind == "ordered" else "category"
        if len(levels) > _MAX_LISTED_LEVELS:
            return f"{name} {kind}, {len(levels)} levels"
        return f"{name} {kind} ({(' < ' if encoding.kind == 'ordered' else ', ').join(levels)})"
    return f"{name} { {'integer': 'number', 'datetime': 'date'}.get(encoding.kind, encoding.kind) }"


def _describe_oob(ensemble: Ensemble) -> str:
    """Describe the out-of-bag score."""
    oob = ensemble.oob
    assert oob is not None
    unseen = "it" if ensemble.fit_info.fit_options.groups is None else "its group"
    rows_text = (
        f"on {oob.rows:,} of {plural(oob.of, 'row')}, each by the trees that have not seen {unseen} (out of bag)"
    )
    if np.isnan(oob.score):
        return f"nothing is known {rows_text}"
    if ensemble.task == "classification":
        return f"error {format_share(1 - oob.score)} % {rows_text}"
    return f"R² {format_rounded(oob.score)} {rows_text}"
