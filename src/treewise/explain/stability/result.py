"""The result of ``tw.stability``: per node and overall, as data, as a paragraph and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_share, format_spread, plural, safe
from treewise.errors import join_few
from treewise.explain.trace.nodes import describe_first_branch
from treewise.train.criteria import get_criterion
from treewise.tree.splits import threshold_text
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_STABLE, _LIKELY = 0.9, 0.5  # shares of the resamples from which a split is called so
_NEAR_TIE = 0.05  # a margin up to this share of the score is mentioned
_MIN_ALTERNATIVE = 0.05  # an alternative column is mentioned from this share of the resamples
_MAX_LISTED = 6  # nodes


@dataclass(frozen=True)
class NodeStability:
    """One split of the tree: the margin to the runner-up, and how often it reappears in resamples."""

    node: int
    column: str
    split: str  # described by its first branch
    rows: int
    score: float  # what splits compete by: the gain per row of the node, or what else the criterion compares
    runner_up: str | None  # the column with the best other split
    runner_up_score: float | None
    margin: float | None  # by how much the runner-up scores less, as a share of the score: 0 is a tie
    same_position: float  # share of the resamples with the same column at the same position
    same_rows: float  # share with the same column on about the same rows, anywhere in the tree
    used: float  # mean share of the node's rows whose path uses the column at all
    overlap: float | None  # if it reappears on about the same rows: mean Jaccard index
    alternative: str | None  # the other column that most often splits about the same rows
    alternative_share: float  # in what share of the resamples
    threshold_low: float | int | None = None  # if it reappears on about the same rows: the first quartile …
    threshold_median: float | int | None = None
    threshold_high: float | int | None = None  # … and the third
    threshold_range: str = ""  # the two as text
    same_split: float | None = None  # if it reappears: share that partitions the values present in the same way


@dataclass(frozen=True)
class PredictionAgreement:
    """How far the predictions of the resampled trees agree with those of the tree."""

    all_rows: float  # share of equal classes over all resamples; for numbers the root mean square difference
    out_of_bag: float | None  # the same on rows that were not drawn; None if all were
    stable_rows: float | None = None  # classes: share of rows on which at least 95 % of the resamples agree
    sd: float | None = None  # numbers: standard deviation of the tree's own predictions


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Displayable):
    """The stability of a tree: print it, read ``nodes`` and ``agreement``, or use ``.to_frame()``."""

    tree: Tree
    table: str
    n: int
    resamples: int
    nodes: tuple[NodeStability, ...]  # the inner nodes, in order
    agreement: PredictionAgreement
    leaves: Ints  # of the tree of each resample
    depths: Ints
    root_columns: Mapping[str | None, int]  # in how many resamples each column is at the root; None: no split
    row_agreement: Floats  # for each row with weight: share of resamples that agree; for numbers the RMS difference

    def of_tree(self, tree: Tree) -> Stability:
        """The same in the words of a tree with the same splits: its display names, and its rounded thresholds."""
        a = tree.arrays
        if not (np.array_equal(a.column, self.tree.arrays.column) and np.array_equal(a.ends, self.tree.arrays.ends)):
            return self
        name = dict(zip(self.tree.columns, tree.columns, strict=True))
        name_of = dict[str | None, str | None](name) | {None: None}
        nodes = []
        for node in self.nodes:
            encoding, split = tree.encoding_of(name[node.column]), tree.split_at(node.node)
            assert split is not None
            quartiles = (node.threshold_low, node.threshold_high)
            ends = [threshold_text(cut, encoding)[-1] for cut in quartiles if cut is not None]
            named = replace(
                node,
                column=name[node.column],
                split=describe_first_branch(split, encoding, int(a.missing_rows[node.node])),
                runner_up=name_of[node.runner_up],
                alternative=name_of[node.alternative],
                threshold_range=" to ".join(dict.fromkeys(ends)),
            )
            nodes.append(named)
        roots = {name_of[column]: times for column, times in self.root_columns.items()}
        return replace(self, tree=tree, nodes=tuple(nodes), root_columns=roots)

    @property
    def displayed(self) -> Stability:
        """The statistics with the display names and units of the tree."""
        words = self.tree.displayed
        return self if words is self.tree else self.of_tree(words)

    @property
    def paragraph(self) -> str:
        """A summary in sentences."""
        parts = [self._root_text(), *self._further_splits(), *self._near_ties(), self._agreement_text()]
        return " ".join([*parts, self._size_text()])

    def _root_text(self) -> str:
        if not self.nodes:
            split = sum(k for column, k in self.root_columns.items() if column is not None)
            return f"The tree has no split; the resampled trees have one in {_times(split, self.resamples)}."
        root = self.nodes[0]
        times = self.root_columns.get(root.column, 0)
        alternatives = [
            f"{'no split' if column is None else safe(column)} in {k:,}"
            for column, k in self.root_columns.items()
            if column != root.column
        ]
        share = times / self.resamples
        verdict = "stable" if share >= _STABLE else "likely, not certain" if share > _LIKELY else "uncertain"
        root_text = f"{safe(root.column)} is at the root in {_times(times, self.resamples)}"
        line = f"The root split is {verdict}: {root_text}"
        if share > _LIKELY and self._sets_differ(root):
            again = f"the same split in {100 * (root.same_split or 0.0):.0f} % of them"
            line = f"The root split is uncertain, though its column is {verdict}: {root_text}, {again}"
        line += f" ({join_few(alternatives, limit=3)})" if alternatives else ""
        if " to " in root.threshold_range:
            line += f"; the middle half of its thresholds ranges from {root.threshold_range}"
        return f"{line}."

    def _sets_differ(self, node: NodeStability) -> bool:
        """Tell whether a split on categories seldom comes back; near thresholds are alike, other sets are not."""
        split = self.tree.split_at(node.node)
        if split is None or split.kind not in ("subset", "one_value") or node.same_split is None:
            return False
        return node.same_split < _LIKELY

    def _reappears(self, node: NodeStability) -> float:
        """Return the share of the resamples in which a split comes back: column, rows, and the set of levels."""
        return node.same_rows * (node.same_split or 0.0) if self._sets_differ(node) else node.same_rows

    def _further_splits(self) -> list[str]:
        """Describe which of the splits below the root reappear, and from where on the tree is one of many."""
        below = self.nodes[1:]
        if not below:
            return []
        share = {n.node: self._reappears(n) for n in below}
        rare = [n for n in below if share[n.node] < _LIKELY]
        if len(below) == 1:
            times = _times(round(share[below[0].node] * self.resamples), self.resamples)
            text = f"The other split (node {below[0].node}) reappears on about the same rows in {times}."
        else:
            groups = [
                (f"at least {100 * _STABLE:g} %", [n for n in below if share[n.node] >= _STABLE]),
                ("at least half", [n for n in below if _LIKELY <= share[n.node] < _STABLE]),
                ("fewer than half", rare),
            ]
            parts = [f"{len(some):,} in {frequency} ({_list_nodes(some)})" for frequency, some in groups if some]
            text = f"Of the {len(below):,} splits below it, these reappear in the resamples: {', '.join(parts)}."
        return [text, *self._rare_splits(rare)]

    def _rare_splits(self, rare: Sequence[NodeStability]) -> list[str]:
        """Describe from where on the tree is one of many, and where only the order of the splits is uncertain."""
        other_sets = [n for n in rare if n.same_rows >= _LIKELY]  # the column comes back, with other levels
        elsewhere = [n for n in rare if n.same_rows < _LIKELY and n.used >= _STABLE]
        uncertain = [n for n in rare if n.same_rows < _LIKELY and n.used < _STABLE]
        lines = []
        if uncertain:
            ends = self.tree.arrays.ends
            tops: list[NodeStability] = []  # those that lie below none of the others
            for node in uncertain:
                if not tops or node.node >= ends[tops[-1].node]:
                    tops.append(node)
            lines.append(
                f"From {_list_nodes(tops)} down, this tree is one of many that fit about equally well:"
                " do not interpret the splits there."
            )
        if other_sets:
            verb = "comes" if len(other_sets) == 1 else "come"
            lines.append(
                f"{_list_nodes(other_sets).capitalize()} {verb} back with the same column but other levels:"
                " do not interpret which levels go where."
            )
        if elsewhere:
            columns = "column of" if len(elsewhere) == 1 else "columns of"
            verb = "is" if len(elsewhere) == 1 else "are"
            lines.append(f"The {columns} {_list_nodes(elsewhere)} {verb} still used, earlier or later on the path.")
        return lines

    def _near_ties(self) -> list[str]:
        close = [n for n in self.nodes if n.margin is not None and n.margin <= _NEAR_TIE]
        ties = [f"at node {n.node}, {safe(n.runner_up)} {_margin_text(n)} {safe(n.column)}" for n in close]
        return [f"Near ties: {join_few(ties, limit=3)}."] if ties else []

    def _agreement_text(self) -> str:
        a = self.agreement
        if self.tree.task == "regression":
            out_of_bag = "" if a.out_of_bag is None else f" ({format_spread(a.out_of_bag)} on out-of-bag rows)"
            return (
                "The predictions of the resampled trees differ from this tree's by a root mean square of"
                f" {format_spread(a.all_rows)}{out_of_bag}; its own have a standard deviation of"
                f" {format_spread(a.sd or 0.0)}."
            )
        out_of_bag = "" if a.out_of_bag is None else f" ({format_share(a.out_of_bag)} % of the out-of-bag rows)"
        return (
            f"The resampled trees agree with this one on {format_share(a.all_rows)} % of the rows{out_of_bag}; nearly"
            f" all of them agree on {format_share(a.stable_rows or 0.0)} % of the rows."
        )

    def _size_text(self) -> str:
        low, high, leaves = int(self.leaves.min()), int(self.leaves.max()), self.tree.n_leaves
        if low == high == leaves:
            return f"All have {plural(leaves, 'leaf', 'leaves')}."
        extent = f"{low:,} to {high:,} leaves" if low < high else plural(low, "leaf", "leaves")
        return f"They have {extent}; this tree has {leaves:,}."

    def result_table(self) -> ResultTable:
        """Return all statistics of every split."""
        rows = [[getattr(node, column.name) for column in _DATA_COLUMNS] for node in self.nodes]
        return ResultTable(self._title(), _DATA_COLUMNS, rows, row_name="split")

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the tables for readers: how often splits reappear (below the paragraph), and the runners-up."""
        matches = [(n.node, n.split, n.rows, n.same_position, n.same_rows, n.used, _variation(n)) for n in self.nodes]
        below = (_LEGEND,) if self.nodes else ()
        first = ResultTable(
            self._title(), _MATCH_COLUMNS, matches, above=(self.paragraph,), below=below, row_name="split"
        )
        if not self.nodes:
            return (first,)
        margins = [(n.node, n.column, n.score, n.runner_up, n.runner_up_score, n.margin) for n in self.nodes]
        criterion = get_criterion(self.tree.criterion)
        unit = f" ({criterion.unit})" if criterion.unit else ""
        score = f"gain per row of the node{unit}" if criterion.rule == "gain" else criterion.score_name
        return first, ResultTable(
            f"Best split on another column, by {score}", _MARGIN_COLUMNS, margins, row_name="split"
        )

    def _title(self) -> str:
        leaves, resamples = plural(self.tree.n_leaves, "leaf", "leaves"), plural(self.resamples, "bootstrap resample")
        rows = f"{plural(self.n, 'row')} of {safe(self.table)}"
        return f"Stability of the tree for {safe(self.tree.target.name)}: {leaves}, {rows}, {resamples}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "table": self.table,
            "target": self.tree.target.name,
            "rows": self.n,
            "resamples": self.resamples,
            "paragraph": self.paragraph,
            "agreement": asdict(self.agreement),
            "leaves": {"tree": self.tree.n_leaves, "resamples": self.leaves.tolist()},
            "depth": {"tree": self.tree.depth, "resamples": self.depths.tolist()},
            "root_columns": [{"column": column, "resamples": times} for column, times in self.root_columns.items()],
            "nodes": self.result_table().records(),
        }


_DATA_COLUMNS = (
    ColumnSpec("node", "count"),
    ColumnSpec("column"),
    ColumnSpec("split"),
    ColumnSpec("rows", "count"),
    ColumnSpec("score", "number"),
    ColumnSpec("runner_up"),
    ColumnSpec("runner_up_score", "number"),
    ColumnSpec("margin", "share"),
    ColumnSpec("same_position", "share"),
    ColumnSpec("same_rows", "share"),
    ColumnSpec("used", "share"),
    ColumnSpec("overlap", "share"),
    ColumnSpec("alternative"),
    ColumnSpec("alternative_share", "share"),
    ColumnSpec("threshold_low", "number"),
    ColumnSpec("threshold_median", "number"),
    ColumnSpec("threshold_high", "number"),
    ColumnSpec("same_split", "share"),
)
_MATCH_COLUMNS = (
    ColumnSpec("node", "count"),
    ColumnSpec("split"),
    ColumnSpec("rows", "count"),
    ColumnSpec("same_position", "share", title="position %"),
    ColumnSpec("same_rows", "share", title="same rows %"),
    ColumnSpec("used", "share", title="used %"),
    ColumnSpec("in the resamples"),
)
_MARGIN_COLUMNS = (
    ColumnSpec("node", "count"),
    ColumnSpec("column"),
    ColumnSpec("score", "number"),
    ColumnSpec("runner_up", title="runner-up"),
    ColumnSpec("runner_up_score", "number", title="its score"),
    ColumnSpec("margin", "share", title="margin %"),
)
_LEGEND = (
    "position: % of the resamples with the same column at the same position. same rows: % with the same column on at"
    " least half the same rows, anywhere in the tree; for these, threshold is the interquartile range, and a same split"
    " partitions the values present in the same way. used: % of the node's rows whose path uses the column at all."
)


def _times(times: int, count: int) -> str:
    """Return in how many resamples.

    >>> _times(100, 100), _times(7, 100), _times(0, 100)
    ('all 100 resamples', '7 of 100 resamples', 'none of 100 resamples')
    """
    if times == count:
        return f"all {count:,} resamples" if count > 1 else "the one resample"
    return f"{times:,} of {plural(count, 'resample')}" if times else f"none of {plural(count, 'resample')}"


def _list_nodes(nodes: Sequence[NodeStability]) -> str:
    numbers = [n.node for n in nodes]
    if len(numbers) == 1:
        return f"node {numbers[0]}"
    if len(numbers) > _MAX_LISTED:
        return f"nodes {join_few(numbers, limit=_MAX_LISTED)}"
    return f"nodes {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _margin_text(node: NodeStability) -> str:
    assert node.margin is not None
    if node.margin <= 0:
        return "is as good as" if node.margin == 0 else "is better than"  # better only where a subtree was raised
    return f"scores {format_share(node.margin)} % less than"


def _variation(node: NodeStability) -> str:
    """Describe how a split varies over the resamples, and the alternative to it."""
    parts = []
    if node.threshold_range:
        parts.append(f"threshold {node.threshold_range}")
    elif node.same_split is not None:
        parts.append(f"same split in {100 * node.same_split:.0f} %")
    if node.alternative is not None and node.alternative_share >= _MIN_ALTERNATIVE:
        parts.append(f"{safe(node.alternative)} instead in {100 * node.alternative_share:.0f} %")
    return "; ".join(parts)
