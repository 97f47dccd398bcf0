"""List a tree as rules: one per leaf, with one condition per column, coverage and probability.

Uses ``tree/regions``. The rules of a tree are exhaustive and disjoint: every row satisfies exactly one. A row with
a level that has no branch stops at an inner node; such rows have rules as well. Statistics are read from the tree's
arrays at once; the region of a rule is computed on access, so that only the rules that are read cost anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import check_count_or_share
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, format_share, format_spread, plural, safe
from treewise.errors import ParameterError, did_you_mean, join_few
from treewise.predict.confidence_intervals import (
    TRAINING_RANGE_NOTE,
    check_confidence,
    interval_name,
    wilson_intervals,
)
from treewise.predict.leaf_probabilities import LeafProbabilities, label_probabilities
from treewise.predict.predict import answering_nodes, node_intervals, refuses_missing
from treewise.show.node_stats import has_training_rows
from treewise.show.text_tree.text_tree import missing_value_notes
from treewise.tree.arrays import LEAF, Label
from treewise.tree.display import class_of_label
from treewise.tree.regions.condition import is_free
from treewise.tree.regions.region import Interval, Region, RegionTraversal, describe_condition
from treewise.tree.regions.traverse import ReachableLevels
from treewise.tree.splits import STAY
from treewise.tree.tree import Tree

__all__ = ["Rule", "Rules", "rules"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

AND = " AND "

_SORTS = {"classification": ("support", "probability", "lift", "node"), "regression": ("support", "value", "node")}
_ORDER_TEXT = {
    "support": "most rows first",
    "probability": "most probable first",
    "lift": "largest lift first",
    "value": "largest value first",
    "node": "in tree order",
}


def rules(
    tree: Tree, sort: str = "support", cls: Any = None, min_support: float = 0, confidence: float = 0.95
) -> Rules:
    """Return the rules of a tree (``Tree.rules``)."""
    check_confidence(confidence)
    if min_support != 0 or isinstance(min_support, bool):
        check_count_or_share("min_support", min_support, minimum=0)
    if sort not in _SORTS[tree.task]:
        known = ", ".join(f'"{name}"' for name in _SORTS[tree.task])
        near = did_you_mean(sort, _SORTS[tree.task])
        raise ParameterError(f"must be one of {known} for {tree.task}.", parameter="sort", value=sort, hint=near)
    label = None if cls is None else tree.classes[class_index(tree, cls)]
    nodes, unreachable = _terminal_nodes(tree)
    stats = Rules(tree, tuple(nodes), sort, label, confidence)._statistics
    min_rows = min_support * int(tree.arrays.rows[0]) if isinstance(min_support, float) else min_support
    indices = [i for i in range(len(nodes)) if stats.rows[i] >= min_rows]
    order = sorted(indices, key=lambda i: (not stats.is_leaf[i], *stats.sort_key(sort, i), nodes[i]))
    excluded = len(nodes) - len(indices), sum(stats.rows) - sum(stats.rows[i] for i in indices)
    return Rules(tree, tuple(nodes[i] for i in order), sort, label, confidence, excluded, unreachable)


class ConditionStatement:
    """Base class of rules and subgroups: a region, and its description, one condition per column."""

    region: Region
    conditions: tuple[str, ...]

    @property
    def text(self) -> str:
        """All conditions: ``x3 is true AND x5 <= 3.2``."""
        return AND.join(self.conditions) or "all rows"

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a row (a dict of cells; None is missing) satisfies the conditions."""
        return self.region.contains(row)


@dataclass(frozen=True, repr=False)
class Rule(ConditionStatement):
    """One rule: the conditions on a row, and the prediction. Statistics are None if there were no training rows.

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
    conditions: tuple[str, ...]  # one per column, in the order of the splits; empty for all rows
    prediction: Label | None
    rows: int
    share: float  # of all rows
    probability: float | None  # of the predicted class, or of ``cls``
    lift: float | None  # the probability divided by that of the root
    low: float | None  # the interval, or training range, of the probability or the mean
    high: float | None
    sd: float | None  # standard deviation (regression)
    is_leaf: bool  # False for rows that stop at an inner node, which has no branch for their level
    cls: Label | None = None  # the class of the probability

    def __str__(self) -> str:
        prediction = _prediction_text(self.prediction)
        rows = plural(self.rows, "row")
        if self.probability is None:
            support = "" if not self.rows else f" ({rows}, sd {format_spread(self.sd or 0.0)})"
        else:
            label = "" if self.cls == self.prediction else f"{safe(self.cls)} "
            support = f" ({label}{format_share(self.probability)} % of {rows})"
        return f"if {self.text} then {safe(self.target)} = {prediction}{support}"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False, repr=False)
class Rules(Displayable, Sequence[Rule]):
    """The sorted rules of a tree: print them, index them, or convert them to a dataframe (``to_frame``)."""

    tree: Tree
    nodes: tuple[int, ...]  # at which rows stop, in the order of the rules
    sort: str
    cls: Label | None = None
    confidence: float = 0.95
    excluded: tuple[int, int] = (0, 0)  # rules below the minimum support: how many, and their rows
    unreachable: int = 0

    def __len__(self) -> int:
        return len(self.nodes)

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> Rules: ...
    def __getitem__(self, index: int | slice) -> Rule | Rules:
        if isinstance(index, slice):
            return replace(self, nodes=self.nodes[index])
        return self._make_rules(range(len(self))[index : index + 1 or None])[0]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._make_rules(range(len(self))))

    @property
    def displayed(self) -> Rules:
        """The rules in the words of the tree's display."""
        display = self.tree.display
        if display is None:
            return self
        return replace(self, tree=self.tree.displayed, cls=None if self.cls is None else display.label(self.cls))

    def covering(self, row: Mapping[str, Any]) -> Rule:
        """Return the one rule that a row satisfies."""
        node = int(self.tree.apply(row))
        if node not in self.nodes:
            raise ParameterError(f"the row stops at node {node}, whose rule is not among these {len(self):,}.")
        return self[self.nodes.index(node)]

    def _make_rules(self, indices: range) -> list[Rule]:
        """Make some of the rules in one traversal of the tree."""
        stats, nodes = self._statistics, [self.nodes[i] for i in indices]
        regions = _regions_at(self.tree, set(nodes))
        target, had_missing = self.tree.target.name, columns_with_missing(self.tree)
        return [
            Rule(
                target=target,
                node=node,
                region=regions[node],
                conditions=describe_conditions(regions[node], had_missing, or_unseen=not stats.is_leaf[i]),
                cls=stats.prediction[i] if self.cls is None else self.cls,
                **stats.at(i),
            )
            for i, node in zip(indices, nodes, strict=True)
        ]

    @cached_property
    def _statistics(self) -> _RuleStatistics:
        return _read_statistics(self.tree, np.array(self.nodes, np.int64), self.cls, self.confidence)

    def result_table(self) -> ResultTable:
        """Return the table of all rules."""
        title = f"{plural(len(self), 'rule')} for {safe(self.tree.target.name)}, {_ORDER_TEXT[self.sort]}"
        return ResultTable(title, self._columns(), _RuleLines(self), below=tuple(self._notes()), row_name="rule")

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the table for readers: rules for unseen levels are only counted."""
        stats = self._statistics
        printed = [i for i in range(len(self)) if stats.is_leaf[i] or stats.rows[i]]
        n_unseen = len(self) - len(printed)
        if not n_unseen:
            return (self.result_table(),)
        table = replace(self, nodes=tuple(self.nodes[i] for i in printed)).result_table()
        note = f"{plural(n_unseen, 'more rule')} for unseen levels, which stop at an inner node (leaf = false)"
        return (replace(table, below=(note, *table.below)),)

    def _columns(self) -> tuple[ColumnSpec, ...]:
        has_rows, is_regression = has_training_rows(self.tree), self.tree.task == "regression"
        only: Any = None if has_rows else "data"
        interval = ColumnSpec(
            "interval",
            title=self.interval_name,
            formatter=format_interval if is_regression else format_share_interval,
            only="text",
        )
        probability = "prob %" if self.cls is None else f"{safe(self.cls)} %"
        return (
            ColumnSpec("node", "count", formatter=str),
            ColumnSpec("prediction", "label", "predicts"),
            *([] if is_regression else [ColumnSpec("probability", "share", probability, only=only)]),
            ColumnSpec("low", "number", only="data"),
            ColumnSpec("high", "number", only="data"),
            *([interval] if has_rows else []),
            ColumnSpec("sd", "number", formatter=format_spread, only=only)
            if is_regression
            else ColumnSpec("lift", "number", formatter="{:.2f}".format, only=only),
            ColumnSpec("rows", "count", only=only),
            ColumnSpec("share", "share", "% of rows", only=only),
            ColumnSpec("leaf", "flag", only="data"),
            ColumnSpec("rule", break_at=AND),
        )

    @property
    def interval_name(self) -> str:
        """The kind of interval from ``low`` to ``high``: ``"95 % interval"`` or ``"training range"``."""
        return interval_name(self.tree.fit_info.has_independent_rows, self.confidence)

    def _notes(self) -> Iterator[str]:
        tree, (n_rules, n_rows) = self.tree, self.excluded
        if n_rules:
            rules = plural(n_rules, "rule below the minimum support is", "rules below the minimum support are")
            yield f"{rules} left out ({plural(n_rows, 'row')} in total)"
        if self.unreachable:
            yield f"{plural(self.unreachable, 'unreachable leaf is', 'unreachable leaves are')} left out"
        if not has_training_rows(tree):
            yield from missing_value_notes(tree)
            return
        method = "Student" if tree.task == "regression" else "Wilson"
        rows = int(tree.arrays.rows[0])
        if tree.fit_info.has_independent_rows:
            yield f"Statistics of {plural(rows, 'row')} that did not choose the splits, {method} intervals."
        else:
            yield f"Statistics of the {plural(rows, 'training row')} ({method}). {TRAINING_RANGE_NOTE}"
        used = np.unique(tree.arrays.column[tree.arrays.kind != LEAF])
        if not all(np.array(columns_with_missing(tree))[used]) and not refuses_missing(tree):
            yield 'Missing values follow the larger branch unless a rule says "or missing".'

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        head = {"target": self.tree.target.name, "task": self.tree.task, "sort": self.sort}
        more = {"class": self.cls, "confidence": self.confidence, "interval": self.interval_name}
        return {**head, **more, "left_out": list(self.excluded), "rules": self.result_table().records()}


class _RuleLines(Sequence[Sequence[Any]]):
    """The lines of the table, each made on access."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.has_rows = rules, has_training_rows(rules.tree)
        self.is_regression = rules.tree.task == "regression"

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, index: Any) -> Any:
        return list(map(self._line, self.rules[index])) if isinstance(index, slice) else self._line(self.rules[index])

    def __iter__(self) -> Iterator[Sequence[Any]]:
        return map(self._line, self.rules)

    def _line(self, rule: Rule) -> list[Any]:
        interval = [None if rule.low is None else (rule.low, rule.high)] if self.has_rows else []
        probability = [] if self.is_regression else [rule.probability]
        last = rule.sd if self.is_regression else rule.lift
        statistics = [*probability, rule.low, rule.high, *interval, last, rule.rows, rule.share]
        return [rule.node, rule.prediction, *statistics, rule.is_leaf, rule.text]


def _prediction_text(prediction: Label | None) -> str:
    if prediction is None:
        return "unknown"
    return format_rounded(prediction) if isinstance(prediction, float) else safe(prediction)


def format_share_interval(interval: tuple[float, float]) -> str:
    """Return an interval of a share in percent: ``92.4 to 98.6``."""
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


def format_interval(interval: tuple[float, float]) -> str:
    """Return an interval of a mean."""
    low, high = interval
    return f"{format_rounded(low)} to {format_rounded(high)}" if np.isfinite(low) else "unknown (one row)"


def class_index(tree: Tree, cls: Any) -> int:
    """Return the index of a class, given its label or its text."""
    if tree.task == "regression":
        raise ParameterError(
            "the tree predicts numbers, which have no classes.", parameter="cls", value=cls, hint="Leave it out."
        )
    labels, cls = [str(label) for label in tree.classes], class_of_label(tree, cls)
    if str(cls) in labels:
        return labels.index(str(cls))
    folded = [label.casefold() for label in labels]
    if folded.count(str(cls).casefold()) == 1:  # "true" in one file, True in another
        return folded.index(str(cls).casefold())
    labels = list(map(safe, labels))
    raise ParameterError(
        f'"{safe(tree.target.name)}" has no such class.',
        parameter="cls",
        value=cls,
        hint=f"{did_you_mean(str(cls), labels)} Its classes: {join_few(labels)}.",
    )


# -- regions --------------------------------------------------------------------------------------------------


def _terminal_nodes(tree: Tree) -> tuple[list[int], int]:
    """Return the nodes at which rows can stop, and the number of unreachable leaves."""
    traversal, nodes, unreachable = RegionTraversal(tree), [], 0
    is_empty = [False] * len(tree)
    for node in traversal.walk():
        parent = traversal.parent[node]
        if parent >= 0:
            is_empty[node] = is_empty[parent] or _allows_nothing(traversal.now[traversal.column[parent]])
        if traversal.kind[node] == LEAF:
            unreachable += is_empty[node]
            nodes += [node] * (not is_empty[node])
        elif traversal.may_stay(node) and not is_empty[node]:
            back = traversal.take(node, STAY)
            nodes += [node] * (not _allows_nothing(traversal.now[traversal.column[node]]))
            back()
    return nodes, unreachable


def _allows_nothing(reachable: Interval | ReachableLevels) -> bool:
    if isinstance(reachable, Interval):
        return reachable.empty
    levels, first, last = reachable.listed, reachable.first, reachable.last
    if reachable.missing or reachable.unseen or (levels is None and last - first >= len(reachable.without)):
        return False
    return not any(map(reachable.holds, range(first, last + 1) if levels is None else levels))


def _regions_at(tree: Tree, nodes: Container[int]) -> dict[int, Region]:
    """Return the regions of some terminal nodes, in one traversal of the tree."""
    traversal, na_values = RegionTraversal(tree), tree.na_values
    return {
        node: Region(tree.encodings, traversal.conditions(), na_values)
        for node in traversal.terminal_nodes()
        if node in nodes
    }


def columns_with_missing(tree: Tree) -> list[bool]:
    """Tell for each column whether a split on it met missing values, so that its conditions mention them."""
    a = tree.arrays
    had_missing = np.zeros(len(tree.encodings), bool)
    had_missing[a.column[(a.kind != LEAF) & (a.missing_rows > 0)]] = True
    result: list[bool] = had_missing.tolist()
    return result


def describe_conditions(region: Region, had_missing: Sequence[bool], or_unseen: bool) -> tuple[str, ...]:
    """Describe a region, one condition per column; missing values only for columns that had some."""
    return tuple(conditions_by_column(region, had_missing, or_unseen).values())


def conditions_by_column(region: Region, had_missing: Sequence[bool], or_unseen: bool) -> dict[int, str]:
    """Return the conditions of a region by the index of their column."""
    pairs = ((i, region.encodings[i], condition) for i, condition in region.conditions.items())
    return {
        i: describe_condition(c, e, or_missing=had_missing[i], or_unseen=or_unseen)
        for i, e, c in pairs
        if not is_free(c, e)
    }


# -- statistics -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RuleStatistics:
    """The statistics of some terminal nodes, one entry each."""

    is_leaf: list[bool]
    prediction: list[Label | None]
    rows: list[int]
    share: list[float]
    probability: list[float | None]
    lift: list[float | None]
    low: list[float | None]
    high: list[float | None]
    sd: list[float | None]

    def sort_key(self, sort: str, i: int) -> tuple[float, ...]:
        """Return the sort key of a node; of equals the one with more rows comes first."""
        if sort == "node":
            return ()
        if sort == "support":
            return (-self.rows[i],)
        value = {"probability": self.probability[i], "lift": self.lift[i], "value": self.prediction[i]}[sort]
        return (-float(value) if isinstance(value, (int, float)) else np.inf, -self.rows[i])

    def at(self, i: int) -> dict[str, Any]:
        """Return the statistics of one node."""
        return {field.name: getattr(self, field.name)[i] for field in fields(self)}


def _read_statistics(tree: Tree, nodes: Ints, cls: Label | None, confidence: float) -> _RuleStatistics:
    """Read statistics from the arrays; None where a node had no rows, or the tree has no statistics."""
    a, answering = tree.arrays, answering_nodes(tree, nodes)
    is_leaf = a.kind[nodes] == LEAF
    start, child = a.child_lists
    below = np.add.reduceat(np.append(a.rows[child], 0), start[:-1]) * (np.diff(start) > 0)
    rows = np.where(is_leaf, a.rows[nodes], a.rows[nodes] - below[nodes])
    share = rows / max(1, int(a.rows[0]))
    absent: list[float | None] = [None] * len(nodes)

    def where_rows(values: Floats) -> list[float | None]:
        return [value if n else None for value, n in zip(values.tolist(), rows.tolist(), strict=True)]

    predictions = [tree.prediction(node) for node in answering.tolist()]
    common = (is_leaf.tolist(), predictions, rows.tolist(), share.tolist())
    if tree.task == "regression":
        low, high = absent, absent
        if tree.criterion != "absolute_error" and has_training_rows(tree):
            intervals = node_intervals(tree, answering, confidence)
            low, high = where_rows(intervals[:, 0]), where_rows(intervals[:, 1])
        return _RuleStatistics(*common, absent, absent, low, high, where_rows(a.spread[answering]))
    if not has_training_rows(tree):
        return _RuleStatistics(*common, absent, absent, absent, absent, absent)
    classes = a.label[answering] if cls is None else np.full(len(nodes), class_index(tree, cls))
    probability = label_probabilities(tree, answering, classes.astype(np.int64), LeafProbabilities())
    overall = tree.probabilities(0)[classes]
    lift = np.divide(probability, overall, out=np.full(len(nodes), np.nan), where=overall > 0)
    lows, highs = wilson_intervals(probability, a.rows[answering].astype(float), confidence)
    return _RuleStatistics(
        *common, where_rows(probability), where_rows(lift), where_rows(lows), where_rows(highs), absent
    )
