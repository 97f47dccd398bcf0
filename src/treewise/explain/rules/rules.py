"""A tree as rules: one a leaf, with what is asked of each column in one condition, and how sure it is.

Stands among the outlets, on ``regions``, which says where a row ends as a value. The rules of a tree leave nothing out
and never overlap: every row satisfies exactly one. A row whose level a test has no branch for stays at an inner node;
such rows have rules as well. Figures come off the tree's arrays at once; a region is worked out when its rule is looked
at, so that a tree of 100,000 leaves costs what is read of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, format_share, plural, safe
from treewise.errors import ParameterError, did_you_mean
from treewise.explain.rules.terminal_nodes import (
    AND,
    ConditionStatement,
    RuleStatistics,
    class_place,
    conditions,
    ends_of,
    figures,
    gaps_of,
    regions_at,
    unsaid,
)
from treewise.predict.confidence_intervals import check_confidence
from treewise.predict.predict import refuses_missing
from treewise.show.node_stats import has_training_rows
from treewise.show.text_tree.text_tree import missing_value_notes
from treewise.train.settings import count_or_share
from treewise.tree.arrays import Label
from treewise.tree.regions.region import Region
from treewise.tree.tree import Tree

__all__ = ["Rule", "Rules", "rules"]

SORTS = {"classification": ("support", "probability", "lift", "node"), "regression": ("support", "value", "node")}
FIRST = {
    "support": "most rows first",
    "probability": "most probable first",
    "lift": "largest lift first",
    "value": "largest value first",
    "node": "in the order of the tree",
}


@dataclass(frozen=True, repr=False)
class Rule(ConditionStatement):
    """One rule: what is asked of a row, and what then is predicted. Figures are None where there were no rows.

    >>> import treewise as tw
    >>> rule = tw.grow("penguins", max_leaf_nodes=4).rules()[0]
    >>> rule
    if flipper_length_mm <= 206.5 AND bill_length_mm <= 43.35 then species = Adelie (96.7 % of 150 rows)
    >>> rule.covers({"flipper_length_mm": 181, "bill_length_mm": 39.1}), rule.node, round(rule.lift, 2)
    (True, 2, 2.19)
    """

    target: str
    node: int
    region: Region
    conditions: tuple[str, ...]  # one a column, in the order in which the tree asks; none for all rows
    prediction: Label | None
    rows: int
    share: float  # of all rows
    probability: float | None  # of the class predicted, or of the class asked for
    lift: float | None  # that, divided by the root's
    low: float | None  # the interval of the probability, or of the mean
    high: float | None
    spread: float | None  # standard deviation, of numbers
    leaf: bool  # else it is of rows that stay at an inner node, which has no branch for their level
    cls: Label | None = None  # the class the probability is of

    def __str__(self) -> str:
        said = answer(self.prediction)
        rows = plural(self.rows, "row")
        if self.probability is None:
            about = "" if not self.rows else f" ({rows}, sd {format_rounded(self.spread or 0.0)})"
        else:
            of = f"{format_share(self.probability)} % "
            about = f" ({of}of {rows})" if self.cls == self.prediction else f" ({safe(self.cls)} {of}of {rows})"
        return f"if {self.words} then {safe(self.target)} = {said}{about}"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False, repr=False)
class Rules(Displayable, Sequence[Rule]):
    """The rules of a tree, sorted. ``print`` them, take one by its place, or all as a dataframe (``to_frame``)."""

    tree: Tree
    nodes: tuple[int, ...]  # the ends, in the order asked for
    sort: str
    cls: Label | None = None
    confidence: float = 0.95
    few: tuple[int, int] = (0, 0)  # left out for having few rows: so many rules, of so many rows
    unreachable: int = 0

    def __len__(self) -> int:
        return len(self.nodes)

    @overload
    def __getitem__(self, place: int) -> Rule: ...
    @overload
    def __getitem__(self, place: slice) -> Rules: ...
    def __getitem__(self, place: int | slice) -> Rule | Rules:
        if isinstance(place, slice):
            return replace(self, nodes=self.nodes[place])
        return self._made(range(len(self))[place : place + 1 or None])[0]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._made(range(len(self))))

    def of(self, row: Mapping[str, Any]) -> Rule:
        """Return the one rule that a row satisfies."""
        node = int(self.tree.apply(row))
        if node not in self.nodes:
            raise ParameterError(f"the row ends at node {node}, whose rule is not among these {len(self):,}.")
        return self[self.nodes.index(node)]

    def _made(self, places: range) -> list[Rule]:
        """Make some of the rules: one way through the tree, in which only their regions are put down."""
        f, nodes = self._figures, [self.nodes[i] for i in places]
        found = regions_at(self.tree, set(nodes))
        target, gaps = self.tree.target.name, gaps_of(self.tree)
        return [
            Rule(
                target=target,
                node=node,
                region=found[node],
                conditions=conditions(found[node], gaps, not f.leaf[i]),
                cls=f.prediction[i] if self.cls is None else self.cls,
                **f.at(i),
            )
            for i, node in zip(places, nodes, strict=True)
        ]

    @cached_property
    def _figures(self) -> RuleStatistics:
        return figures(self.tree, np.array(self.nodes, np.int64), self.cls, self.confidence)

    def result_table(self) -> ResultTable:
        """Return the table with every rule."""
        return ResultTable(
            self._title(), self._headings(), _RuleLines(self), below=tuple(self._notes()), row_name="rule"
        )

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return what readers are shown: not the rules of levels never seen in training, which a line tells of."""
        f = self._figures
        seen = [i for i in range(len(self)) if f.leaf[i] or f.rows[i]]
        unseen = len(self) - len(seen)
        if not unseen:
            return (self.result_table(),)
        shown = replace(self, nodes=tuple(self.nodes[i] for i in seen)).result_table()
        odd = f"{plural(unseen, 'more rule')} for levels never seen, which stay at a node: it answers (leaf = false)"
        return (replace(shown, below=(odd, *shown.below)),)

    def _headings(self) -> tuple[ColumnSpec, ...]:
        known, numbers = has_training_rows(self.tree), self.tree.task == "regression"
        only: Any = None if known else "data"
        within = f"{100 * self.confidence:g} % interval"
        rate = "prob %" if self.cls is None else f"{safe(self.cls)} %"
        sure = (
            *([] if numbers else [ColumnSpec("probability", "share", rate, only=only)]),
            ColumnSpec("low", "number", only="data"),
            ColumnSpec("high", "number", only="data"),
            *(
                [ColumnSpec("interval", title=within, formatter=number_ends if numbers else share_ends, only="text")]
                * known
            ),
            ColumnSpec("sd", "number", only=only)
            if numbers
            else ColumnSpec("lift", "number", formatter=two_places, only=only),
        )
        return (
            ColumnSpec("node", "count", formatter=str),
            ColumnSpec("prediction", "label", "predicts"),
            *sure,
            ColumnSpec("rows", "count", only=only),
            ColumnSpec("share", "share", "% of rows", only=only),
            ColumnSpec("leaf", "flag", only="data"),
            ColumnSpec("rule", break_at=AND),
        )

    def _title(self) -> str:
        return f"{plural(len(self), 'rule')} for {safe(self.tree.target.name)}, {FIRST[self.sort]}"

    def _notes(self) -> Iterator[str]:
        """Say what the table does not."""
        tree = self.tree
        if self.few[0]:
            yield f"{plural(self.few[0], 'more rule')} with few rows, {plural(self.few[1], 'row')} in all"
        if self.unreachable:
            yield f"{plural(self.unreachable, 'leaf', 'leaves')} that no row can reach, left out"
        if has_training_rows(tree):
            how = "Student's" if tree.task == "regression" else "Wilson's"
            yield (
                f"Figures are of the {plural(int(tree.arrays.rows[0]), 'row')} the tree knows, intervals are {how};"
                " expect less extreme ones on new rows."
            )
        else:
            yield from missing_value_notes(tree)
        if has_training_rows(tree) and unsaid(tree) and not refuses_missing(tree):
            yield 'A missing value goes with the larger branch, unless a rule says "or missing".'

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        head = {"target": self.tree.target.name, "task": self.tree.task, "sort": self.sort}
        more = {"class": self.cls, "confidence": self.confidence, "left_out": list(self.few)}
        return {**head, **more, "rules": self.result_table().records()}


class _RuleLines(Sequence[Sequence[Any]]):
    """The rows of the table, each made when it is looked at."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.known = rules, has_training_rows(rules.tree)
        self.numbers = rules.tree.task == "regression"

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, place: Any) -> Any:
        return list(map(self.line, self.rules[place])) if isinstance(place, slice) else self.line(self.rules[place])

    def __iter__(self) -> Iterator[Sequence[Any]]:
        return map(self.line, self.rules)

    def line(self, rule: Rule) -> list[Any]:
        """Return the cells of one rule."""
        ends = None if rule.low is None else (rule.low, rule.high)
        sure = [rule.low, rule.high, *([ends] if self.known else []), rule.spread if self.numbers else rule.lift]
        rate = [] if self.numbers else [rule.probability]
        return [rule.node, rule.prediction, *rate, *sure, rule.rows, rule.share, rule.leaf, rule.words]


# -- making them ----------------------------------------------------------------------------------------------


def rules(
    tree: Tree,
    sort: str = "support",
    cls: Any = None,
    min_support: float = 0,
    confidence: float = 0.95,
) -> Rules:
    """Return the rules of a tree."""
    check_confidence(confidence)
    if min_support != 0 or isinstance(min_support, bool):
        count_or_share("min_support", min_support, least=0)
    if sort not in SORTS[tree.task]:
        known = ", ".join(f'"{name}"' for name in SORTS[tree.task])
        near = did_you_mean(sort, SORTS[tree.task])
        raise ParameterError(f"for {tree.task} must be one of {known}.", parameter="sort", value=sort, hint=near)
    place = None if cls is None else class_place(tree, cls)
    label = None if place is None else tree.classes[place]
    ends, empty = ends_of(tree)
    every = Rules(tree, tuple(ends), sort, label, confidence)._figures
    least = min_support * int(tree.arrays.rows[0]) if isinstance(min_support, float) else min_support
    kept = [i for i in range(len(ends)) if every.rows[i] >= least]
    order = sorted(kept, key=lambda i: (not every.leaf[i], *every.key(sort, i), ends[i]))
    few = len(ends) - len(kept), sum(every.rows) - sum(every.rows[i] for i in kept)
    return Rules(tree, tuple(ends[i] for i in order), sort, label, confidence, few, empty)


# -- words ----------------------------------------------------------------------------------------------------


def answer(prediction: Label | None) -> str:
    """Write what is predicted."""
    if prediction is None:
        return "unknown"
    return format_rounded(prediction) if isinstance(prediction, float) else safe(prediction)


def two_places(value: float) -> str:
    """Write a lift."""
    return f"{value:.2f}"


def share_ends(ends: tuple[float, float]) -> str:
    """Write an interval of a share, in percent."""
    return f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"


def number_ends(ends: tuple[float, float]) -> str:
    """Write an interval of a mean."""
    return f"{format_rounded(ends[0])} to {format_rounded(ends[1])}" if np.isfinite(ends[0]) else "unknown: one row"
