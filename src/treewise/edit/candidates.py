"""The candidates of a node for a person: the best test of every column, ranked, and what it costs to prefer another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ldexp
from typing import TYPE_CHECKING

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_count, format_rounded, plural, safe
from treewise.edit.node_search import GainPoint, NodeCandidates, Rows
from treewise.edit.state import RowsOfTree, words_of_node
from treewise.explain.trace.nodes import assign_branches, describe_first_branch
from treewise.train.criteria import RowStats
from treewise.train.reference import Candidate, NodeSearch
from treewise.tree.splits import Split
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.edit.editor import Editor

_MOST_CELLS = 4_000_000  # validation rows × columns for which every column's test is tried on the validation rows
_FEW_TESTS = 5  # otherwise the first few


@dataclass(frozen=True)
class CandidateTest:
    """The best test of a column at a node, and what it does as the last split of its branch."""

    rank: int
    column: str
    test: str
    split: Split
    gain: float  # decrease of impurity per row of the node
    behind: float  # how much less than the best gain
    wrong: float  # classification: the weight of the training rows it gets wrong; for numbers the impurity that is left
    costs: float  # how much more than with the best test
    validation_wrong: float | None  # the same on the validation rows; None where it was not computed
    branches: tuple[RowStats, ...]
    points: tuple[GainPoint, ...] = ()  # the gain along the column


@dataclass(frozen=True, repr=False)
class Candidates(Displayable, Sequence[CandidateTest]):
    """The best test of every column at a node, the best first."""

    node: int
    words: str
    rows: int
    wrong: float  # as a leaf, on the training rows …
    validation_wrong: float | None  # … and on the validation rows
    tests: tuple[CandidateTest, ...]
    is_classification: bool
    n_columns: int
    note: str = ""

    def __len__(self) -> int:
        return len(self.tests)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self.tests[index]

    def __iter__(self) -> Iterator[CandidateTest]:
        return iter(self.tests)

    def of(self, column: str) -> CandidateTest | None:
        """Return the test of a column; None if it has none."""
        return next((test for test in self.tests if test.column == column), None)

    def result_table(self) -> ResultTable:
        """Return one row per column."""
        has_validation = self.validation_wrong is not None
        wrong = "wrong" if self.is_classification else "impurity"
        number = format_count if self.is_classification else format_rounded
        columns = [
            ColumnSpec("rank", "count", title=""),
            ColumnSpec("column"),
            ColumnSpec("test"),
            ColumnSpec("gain", "number"),
            ColumnSpec("wrong", "number", title=wrong, formatter=number),
            ColumnSpec("costs", "number", formatter=lambda v: number(v) if v else ""),
        ]
        if has_validation:
            columns.append(ColumnSpec("validation_wrong", "number", title="validation", formatter=number))
        rows = [
            [t.rank, t.column, t.test, t.gain, t.wrong, t.costs, *([t.validation_wrong] if has_validation else [])]
            for t in self.tests
        ]
        as_leaf = f"{number(self.wrong)} {wrong} as a leaf"
        if has_validation:
            as_leaf += f", {number(self.validation_wrong or 0.0)} on validation rows"
        title = f"node {self.node} · {self.words} · {plural(self.rows, 'row')}, {as_leaf}"
        lacking = self.n_columns - len(self.tests)
        below = [self.note] if self.note else []
        if lacking and self.tests:
            below.append(f"{plural(lacking, 'column has', 'columns have')} no test here")
        return ResultTable(title, tuple(columns), rows, below=tuple(below), row_name="column")


def list_tests(editor: Editor, node: int, outcome: NodeCandidates | None, why: str) -> Candidates:
    """Rank the candidates of a node."""
    tree, tables = editor.tree, editor.tables
    held_out = None if tables.validation is None else tables.validation.rows_at(tree, node)
    as_leaf = None if tables.validation is None else _lost_as_leaf(tree, node, tables.validation)
    tests: list[CandidateTest] = []
    if outcome is not None:
        ranked = rank_candidates(outcome.search)
        best_gain = max((outcome.search.scorer.gain_value(c) for c in ranked), default=0.0)
        n_tried = len(ranked) if held_out is None or len(held_out) * len(ranked) <= _MOST_CELLS else _FEW_TESTS
        for rank, candidate in enumerate(ranked, 1):
            test = _describe(tree, node, outcome, candidate)
            if held_out is not None and tables.validation is not None and rank <= n_tried:
                lost = _lost_after(tree, outcome.search, candidate, tables.validation, held_out)
                test = replace(test, validation_wrong=lost)
            first = tests[0].wrong if tests else test.wrong
            tests.append(replace(test, rank=rank, behind=best_gain - test.gain, costs=test.wrong - first))
    excluded = set(editor.forbidden) | set(editor.locked_columns)
    nothing = "" if tests else "no test separates the rows within the limits"
    return Candidates(
        node,
        words_of_node(tree, node),
        int(tree.arrays.rows[node]),
        _wrong_as_leaf(tree, node),
        as_leaf,
        tuple(tests),
        tree.task == "classification",
        len(tree.columns) - len(excluded),
        f"nothing to split: {why}" if why else nothing,
    )


def why_settled(tree: Tree, node: int) -> str:
    """Return why nothing can be split at a node; "" if something may."""
    if tree.arrays.rows[node] == 0:
        return "no row reaches it"
    if tree.task == "classification" and len(tree.counts(node)) == 1:
        return f"all its rows are {safe(next(iter(tree.counts(node))))}"
    if tree.task == "regression" and tree.arrays.impurity[node] == 0:
        return "all its rows have the same target"
    return ""


def rank_candidates(search: NodeSearch) -> list[Candidate]:
    """Return the best candidate of each column, the best first."""
    finalists = sorted(
        search.finalists.values(), key=lambda c: (c is not search.winner, -search.score_value(c), c.order)
    )
    others = [c for column, c in search.best_of_column.items() if column not in search.finalists]
    return finalists + sorted(others, key=lambda c: -search.scorer.gain_value(c))


def _describe(tree: Tree, node: int, outcome: NodeCandidates, candidate: Candidate) -> CandidateTest:
    """Describe a candidate; its rank, and what it costs, follow from the others."""
    column, split, scorer = candidate.order.column, candidate.split, outcome.search.scorer
    gain = scorer.gain_value(candidate)
    if tree.task == "classification":
        wrong = ldexp(float(sum(b.weight - max(b.counts) for b in candidate.filled)), -scorer.training_set.weight_scale)
    else:
        wrong = _wrong_as_leaf(tree, node) - gain * float(tree.arrays.weight[node])
    words = describe_first_branch(split, tree.encodings[column], candidate.missing_rows)
    points = tuple(outcome.points.get(column, ()))
    return CandidateTest(0, tree.columns[column], words, split, gain, 0.0, wrong, 0.0, None, candidate.branches, points)


def _wrong_as_leaf(tree: Tree, node: int) -> float:
    """Return the weight of the training rows of a node outside its largest class; for numbers, the total impurity."""
    weight = float(tree.arrays.weight[node])
    if tree.task == "classification":
        return weight - max(tree.counts(node).values(), default=0.0)
    return float(tree.arrays.impurity[node]) * weight


def _lost_as_leaf(tree: Tree, node: int, table: RowsOfTree) -> float:
    """Return what a node loses on the rows of a table if it is a leaf."""
    rows, training_set = table.rows_at(tree, node), table.training_set
    weight = training_set.evaluation_weight[rows]
    if tree.task == "classification":
        return float(weight[training_set.y[rows] != tree.arrays.label[node]].sum())
    return float((weight * (training_set.raw[rows] - tree.arrays.value[node]) ** 2).sum())


def _lost_after(tree: Tree, search: NodeSearch, candidate: Candidate, table: RowsOfTree, rows: Rows) -> float:
    """Return what the branches of a candidate lose on some rows of a table, predicting what training rows say."""
    column, training_set, scorer = candidate.order.column, table.training_set, search.scorer
    branch_of_row = assign_branches(candidate.split, tree.encodings[column], training_set.columns[column][rows])
    weight = training_set.evaluation_weight[rows]
    groups = [branch if branch.rows else scorer.node for branch in (*candidate.branches, scorer.node)]  # last: stays
    if tree.task == "classification":
        answers = np.array([g.counts.index(max(g.counts)) for g in groups])
        return float(weight[answers[branch_of_row] != training_set.y[rows]].sum())
    scale = scorer.training_set.target_scale
    means = np.array([ldexp(float(g.target_sum) / g.weight, -scale) for g in groups])
    return float((weight * (training_set.raw[rows] - means[branch_of_row]) ** 2).sum())
