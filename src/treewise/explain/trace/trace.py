"""Trace a tree on a table node by node, or the root before there is a tree.

The entry point of the trace. A ``Trace`` holds the tree, the table and the rows of each node; a node is searched on
demand (``trace_node``, with ``train/reference.py``) and printed by ``render.py``.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.text import format_count, format_p_value, format_rounded, plural, safe
from treewise.data import encoding as encode
from treewise.data.column import Column, truncate
from treewise.data.encoding import Encoding
from treewise.data.table import read
from treewise.errors import ColumnError, Param, ParameterError, brief, did_you_mean, join_few
from treewise.explain.trace.arithmetic import NumberFormat
from treewise.explain.trace.documents import notebook_formats
from treewise.explain.trace.nodes import (
    CandidateTrace,
    ColumnTrace,
    NodeInTree,
    NodeTrace,
    TraceView,
    display_score,
    same_partition,
)
from treewise.explain.trace.render import TraceFormat, render_trace
from treewise.predict.predict import find_leaves, subtree_sizes
from treewise.train.candidates import Rows, compute_stats
from treewise.train.constraints import constraints_at
from treewise.train.criteria import RowStats, logarithm
from treewise.train.grow import prepare, prepare_like
from treewise.train.independence import ColumnTest, NodeTests
from treewise.train.optimal.lookahead import measure_gain
from treewise.train.price import FEW_LEVELS
from treewise.train.reference import (
    Candidate,
    NodeSearch,
    are_tied,
    choose_again,
    find_best_split,
    leaf_condition,
    pick,
)
from treewise.train.target import adopt_levels, adopt_target
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import STOPS
from treewise.tree.splits import quote
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.ensemble.model import Ensemble

_MAX_CACHED_NODES = 32  # computed nodes kept in memory
_MAX_CONDITIONS = 5  # conditions of a path that are printed; a node may be 100,000 deep
_MAX_NOTEBOOK_NODES = 12  # nodes in a notebook


def trace(
    tree: Tree,
    data: Any,
    *,
    node: int | None = None,
    unit: str = "bits",
    per: str = "row",
    column: str | None = None,
    top: int | None = None,
    sample_weight: Any = None,
    terms: bool = False,
    rows: bool | str | Sequence[str] = False,
) -> Trace:
    """Return every computation of every node (or of one ``node``) of a tree on a table.

    The table need not be the one the tree was grown on: the trace is about the rows of this one.
    ``unit`` is bits or nats, ``per`` row or total (the notes' m·H). Every candidate is computed. If a
    node has few, all are printed; otherwise each column's best test and how many were tried. ``column`` prints one
    column with all its candidates, ``top`` the best few columns; ``render("csv")`` lists everything.
    ``sample_weight`` is the name of a column or an array: needed if the tree was grown with weights in an array.
    ``terms`` writes out every impurity term by term, ``rows`` lists the rows of each node: by their numbers (True), by
    the values of a column, or by names given for all rows.

    >>> import treewise as tw
    >>> t = trace(tw.grow("admissions", preset="id3"), "admissions", per="total")
    >>> t[2].words, t[2].winner, round(t[2].impurity, 3)
    ('GPA = 3.7', 'Published', 4.855)
    >>> t[2]["Recommendation"].gain, t[2]["Recommendation"].note
    (0.0, 'all 5 rows are good: no split')
    """
    if node is not None:
        try:
            node = tree.check_node(node)
        except (IndexError, TypeError) as error:
            raise ParameterError(f"{error}.") from None
    if rows is not False:
        data = read(data, na_values=tree.na_values)
    names = name_rows(data, rows)
    view = check_view(TraceView(unit, per, column, top, bool(terms), names), tree.columns)
    if tree.fit_info.is_handwritten:
        data = read(data)
        tree = adopt_levels(adopt_target(tree, data), data)
    return Trace(tree, prepare_like(tree, data, sample_weight), view, None if node is None else [node])


def candidates(
    data: Any,
    target: Any = None,
    *,
    unit: str = "bits",
    per: str = "row",
    column: str | None = None,
    top: int | None = None,
    terms: bool = False,
    rows: bool | str | Sequence[str] = False,
    **grow_options: Any,
) -> NodeTrace:
    """Return every candidate for a first split, before there is a tree; the options are those of ``grow``.

    >>> import treewise as tw
    >>> root = candidates(tw.datasets.four_points(), "y")  # ID3 notes: "We have 3 candidate decision rules"
    >>> [test.words for column in root.columns.values() for test in column.tests]
    ['x1 <= 0.5', 'x1 <= 1.5', 'x2 <= 0.5']
    """
    if rows is not False:
        data = read(data, na_values=grow_options.get("na_values", ()))
    training_set = prepare(data, target, **grow_options)
    names = name_rows(data, rows)
    view = check_view(TraceView(unit, per, column, top, bool(terms), names), [e.name for e in training_set.encodings])
    return trace_node(training_set, np.arange(len(training_set)), view)


def name_rows(table: Any, rows: bool | str | Sequence[str]) -> tuple[str, ...] | None:
    """Return the names by which rows are listed: numbers from 1, the values of a column, or names given for all."""
    if rows is False:
        return None
    if rows is True:
        return tuple(str(i + 1) for i in range(len(table)))
    if isinstance(rows, str) and (rows in table.columns or len(rows) != len(table)):
        return tuple(_cell_texts(table[rows]))
    names = tuple(map(str, rows))
    if len(names) != len(table):
        raise ParameterError(
            f"names {plural(len(names), 'row')}, and {table.name} has {len(table):,}.",
            parameter="rows",
            hint="Give one name for each, the name of a column, or True.",
        )
    return names


def _cell_texts(column: Column) -> list[str]:
    """Return the cells of a column as text."""
    encoded = encode.fit_encoding(column)
    values = encode.decode(encoded.encoding, encoded.values)
    return ["missing" if value is None else encoded.encoding.format(value) for value in values]


def trace_round(
    ensemble: Ensemble, data: Any, number: int, target: Any = None, sample_weight: Any = None, **view: Any
) -> Trace:
    """Return the trace of the learner of a round of AdaBoost, on the rows weighted as in that round.

    See ``Ensemble.trace_round``.
    """
    worked = ensemble.worked_round(data, number, target=target, sample_weight=sample_weight)
    table = read(data, na_values=ensemble.na_values)
    weight = np.zeros(len(table))
    weight[worked.rows - 1] = worked.unit_weights
    result = trace(ensemble[worked.number - 1], table, sample_weight=weight, **view)
    options = ensemble.fit_info.ensemble.options if ensemble.fit_info.ensemble else {}
    b, total = worked.number, format_count(float(weight.sum()))
    if not options.get("resample"):  # a learner of a sample of rows need not be the best on all of them
        result.notes = (f"weighted by D_{b}, the weights of round {b} of AdaBoost, here with a sum of {total}",)
    return result


class Trace:
    """The computations of a tree, node by node, in pre-order. ``trace[3]`` is node 3.

    Iteration skips nodes with nothing to compute (pure, or without rows); ``trace[1]`` returns those too.

    >>> import treewise as tw
    >>> t = tw.grow("admissions", preset="id3").trace("admissions", per="total")
    >>> [(node.id, node.winner) for node in t]
    [(0, 'GPA'), (2, 'Published'), (3, 'University')]
    >>> t[1].settled
    'pure'
    """

    def __init__(
        self, tree: Tree, training_set: TrainingSet, view: TraceView, nodes: Iterable[int] | None = None
    ) -> None:
        self.tree, self.view, self._given = tree, view, training_set
        self.training_set, self.notes = _unseen_as_missing(training_set)
        self.notes += _note_on_growth(tree, training_set) or _note_on_weights(tree, training_set)
        self._whole = nodes is None
        self._selected = range(len(tree)) if nodes is None else tuple(nodes)
        self._computed: dict[int, NodeTrace] = {}
        # In pre-order a subtree is a range of nodes, so its rows are a range of the rows sorted by leaf.
        leaves = find_leaves(tree, training_set.columns, len(training_set))
        self._order = np.argsort(leaves, kind="stable")
        self._start = np.searchsorted(leaves[self._order], np.arange(len(tree) + 1))
        self._size = subtree_sizes(tree)
        is_impure = _has_impure_rows(tree, training_set, leaves)
        self._impure = [i for i in self._selected if is_impure[i]]

    def rows(self, node: int) -> Rows:
        """Return the rows of the table that pass through a node."""
        return np.sort(self._order[self._start[node] : self._start[node + self._size[node]]])

    def __getitem__(self, node: int) -> NodeTrace:
        node = self.tree.check_node(node)
        if node not in self._computed:
            while len(self._computed) >= _MAX_CACHED_NODES:
                del self._computed[next(iter(self._computed))]
            traced = trace_node(self.training_set, self.rows(node), self.view, self._context(node))
            self._computed[node] = self._look_ahead(node, traced)
        return self._computed[node]

    def _look_ahead(self, node: int, traced: NodeTrace) -> NodeTrace:
        """Add what looking ahead gained, at a node that is not split greedily."""
        if not self.tree.fit_info.has_looked_ahead or traced.winner is None or traced.chosen is None:
            return traced
        best = traced[traced.winner].best
        if traced.agrees or best is None or are_tied(traced.chosen.candidate, best.candidate):
            return traced
        gain = measure_gain(self.tree, node, self.training_set, self.rows(node))
        return replace(traced, context=replace(traced.context, look_ahead=gain))

    def _context(self, node: int) -> NodeInTree:
        tree = self.tree
        split = tree.split_at(node)
        path = list(tree.path(node))
        used = frozenset(tree.columns[c] for c in set(tree.arrays.column[path[:-1]].tolist()))
        conditions = [tree.condition(n) for n in path[1:][-_MAX_CONDITIONS:]] or ["all rows"]
        words = " and ".join(["…"] * (len(path) - 1 > _MAX_CONDITIONS) + conditions)
        stop = STOPS[tree.arrays.stop[node]]
        context = NodeInTree(node, words, True, split, stop, used, constraints=constraints_at(tree, node))
        if split is None:
            return context
        stay = self._order[self._start[node] : self._start[node + 1]]
        parts = (*(self.rows(child) for child in tree.children(node)), *([stay] if len(stay) else []))
        column = int(tree.arrays.column[node])
        is_missing = encode.is_missing(tree.encodings[column], self._given.columns[column][self.rows(node)])
        return replace(context, parts=parts, missing_rows=int(is_missing.sum()))

    def every(self) -> Iterator[NodeTrace]:
        """Yield all selected nodes, including those at which nothing is computed."""
        return (self[i] for i in self._selected)

    def exercise(self) -> Trace:
        """Return the trace for an exercise sheet: one node, since the paths of others would give its answer away."""
        if not self._whole or len(self.tree) == 1:
            return self
        sheet = copy(self)
        sheet._selected, sheet._impure, sheet._whole = (0,), self._impure[:1], False
        return sheet

    @property
    def exercise_nodes(self) -> tuple[int, ...]:
        """The nodes that make an exercise: those with something to compute.

        >>> import treewise as tw
        >>> tw.grow("admissions", preset="id3").trace("admissions").exercise_nodes
        (0, 2, 3)
        """
        return tuple(self._impure)

    def __iter__(self) -> Iterator[NodeTrace]:
        return (self[i] for i in self._impure)

    def __len__(self) -> int:
        """Return the number of nodes at which something is computed."""
        return len(self._impure)

    def render(
        self,
        format: str = "text",
        width: int = 80,
        blanks: bool = False,
        ascii: bool = False,
        with_tree: bool = False,
        *,
        document: bool = True,
    ) -> str:
        """Return the trace as text, Markdown, LaTeX, CSV or JSON.

        CSV and JSON list every candidate; the others, for nodes with many, the best of each column.
        ``blanks`` leaves the results blank, for an exercise sheet of one node: node 0 unless another is traced.
        ``ascii`` is for terminals without Unicode. LaTeX is a whole document, or with ``document=False`` a fragment
        for your own. ``with_tree`` writes the tree after the computations, in text, Markdown and LaTeX (there with
        the package forest).

        >>> import treewise as tw
        >>> t = tw.grow("admissions", preset="id3").trace("admissions", node=3, per="total")
        >>> print(t.render("csv").splitlines()[1])
        3,GPA = 3.7 and Published = no,3,GPA,,,,,2.7548875021634687,0.0,0,0.0,,used above (all rows 3.7)
        """
        shown = self.exercise() if blanks else self
        tree = self.tree if with_tree else None
        trace_format = TraceFormat(format, width, blanks, ascii, document=document, tree=tree)
        return render_trace(shown.every(), trace_format, shown.notes)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        rows, nodes = plural(len(self.training_set), "row"), plural(len(self), "node")
        return f"<Trace of {safe(self.tree.target.name)} · {rows} · {nodes}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        shown = [self[i] for i in self._selected[:_MAX_NOTEBOOK_NODES]]
        more = len(self._selected) - len(shown)
        rest = (f"… {plural(more, 'more node')}: print(trace), or trace[node]",) if more > 0 else ()
        return {"text/plain": repr(self), **notebook_formats(shown, (*rest, *self.notes))}


def check_view(view: TraceView, columns: Sequence[str]) -> TraceView:
    """Raise for a view that cannot be shown."""
    logarithm(view.unit)
    if not isinstance(view.per, str) or view.per not in ("row", "total"):
        raise ParameterError('must be "row" or "total".', parameter="per", value=view.per)
    if view.top is not None and (isinstance(view.top, bool) or not isinstance(view.top, int) or view.top < 1):
        raise ParameterError("must be a whole number of columns, 1 or more.", parameter="top", value=view.top)
    if view.column is not None and (not isinstance(view.column, str) or view.column not in columns):
        name = brief(view.column) if not isinstance(view.column, str) else f'"{truncate(view.column)}"'
        hint = did_you_mean(view.column, columns)
        raise ColumnError(f"no column {name}.{hint} Columns: {join_few([safe(c) for c in columns])}.")
    return view


def _has_impure_rows(tree: Tree, training_set: TrainingSet, leaves: Rows) -> list[bool]:
    """Tell for each node whether its rows differ in their target."""
    y = training_set.raw if training_set.target.task == "regression" else training_set.y.astype(np.float64)
    low, high = np.full(len(tree), np.inf), np.full(len(tree), -np.inf)
    np.minimum.at(low, leaves, y)
    np.maximum.at(high, leaves, y)
    parent, lowest, highest = tree.arrays.parent.tolist(), low.tolist(), high.tolist()
    for n in range(len(tree) - 1, 0, -1):
        lowest[parent[n]] = min(lowest[parent[n]], lowest[n])
        highest[parent[n]] = max(highest[parent[n]], highest[n])
    return [a < b for a, b in zip(lowest, highest, strict=True)]


def _note_on_growth(tree: Tree, training_set: TrainingSet) -> tuple[str, ...]:
    """Note that the tree was grown on other rows or columns than the trace shows: at random, or in an ensemble."""
    ensemble = tree.fit_info.ensemble
    options, settings = {} if ensemble is None else ensemble.options, training_set.settings
    n_columns = len(training_set.columns)
    if ensemble is None:
        differences = []
    elif options.get("method") == "adaboost":
        differences = ["on rows sampled in its round" if options.get("resample") else "on the weights of its round"]
    else:
        share = options.get("max_samples")
        uses_all_rows = share is None or (isinstance(share, float) and share == 1)
        differences = ["on a sample of the rows"] if options.get("bootstrap", True) or not uses_all_rows else []
    if settings.features_of(n_columns) < n_columns:
        differences.append("with columns sampled at each node")
    elif options.get("max_features", n_columns) != n_columns or options.get("bootstrap_features"):
        differences.append("on sampled columns")
    if settings.splitter == "random":
        differences.append("with random splits")
    if not differences:
        return ()
    scope = "every test is listed" if ensemble is None else f"counted on all rows of {safe(training_set.table_name)}"
    return (f"{scope}; this tree was grown {', '.join(differences)}, so another test may be best here",)


def _note_on_weights(tree: Tree, training_set: TrainingSet) -> tuple[str, ...]:
    """Note that the tree was grown with other weights: the number of rows is the same, their total weight is not."""
    grown, traced = float(tree.arrays.weight[0]), math.ldexp(int(training_set.weight.sum()), -training_set.weight_scale)
    if int(tree.arrays.rows[0]) != len(training_set) or math.isclose(grown, traced, rel_tol=1e-9):
        return ()
    if traced == len(training_set):
        return ("the tree was grown with weights; give " + Param("sample_weight", ...) + " to trace them",)
    return (f"the tree was grown with other weights: a total of {format_count(grown)}, here {format_count(traced)}",)


def _unseen_as_missing(training_set: TrainingSet) -> tuple[TrainingSet, tuple[str, ...]]:
    """Treat levels the tree has never seen as missing, with a note: no candidate can name them."""
    columns, notes = list(training_set.columns), []
    for i, (encoding, values) in enumerate(zip(training_set.encodings, training_set.columns, strict=True)):
        if encoding.is_categorical and (unseen := values == encode.UNSEEN).any():
            columns[i] = np.where(unseen, -1, values).astype(values.dtype)
            n_rows = plural(int(unseen.sum()), "row")
            notes.append(
                f"{safe(encoding.name)}: {n_rows} with a level the tree has never seen, counted as missing here"
            )
    return (replace(training_set, columns=tuple(columns)), tuple(notes)) if notes else (training_set, ())


# -- one node ----------------------------------------------------------------------------------------------------------


def trace_node(training_set: TrainingSet, rows: Rows, view: TraceView, context: NodeInTree | None = None) -> NodeTrace:
    """Compute everything about one node."""
    context, training_set = context or NodeInTree(), training_set.with_node_scale(rows)
    node = compute_stats(training_set, rows)
    measure = training_set.criterion.impurity_at(
        node if node.rows else RowStats(1, 1)
    )  # no rows: there is nothing to measure
    number_format = NumberFormat(training_set, rows, node, measure, view.unit, view.per)
    stop = leaf_condition(training_set, rows, node, depth=0)
    if stop in ("no_rows", "pure"):
        return NodeTrace(number_format, context, view, {}, settled=stop)
    with _without_garbage_collector():
        search, chosen = _search(number_format, context)
        columns = {
            encoding.name: _trace_column(number_format, context, i, search)
            for i, encoding in enumerate(training_set.encodings)
        }
    return NodeTrace(number_format, context, view, columns, search, chosen)


@contextmanager
def _without_garbage_collector() -> Iterator[None]:
    """Suspend the cycle collector, which would take a third of the time: candidates form no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _search(number_format: NumberFormat, context: NodeInTree) -> tuple[NodeSearch, CandidateTrace | None]:
    """Search a node, with the split of the tree as one more candidate if the learner does not list it.

    If ties are random and the split of the tree is among the best, it is the one that was drawn.
    """
    search = find_best_split(number_format.training_set, number_format.rows, constraints=context.constraints)
    tree_split = (
        None if context.split is None else search.scorer.score_split(context.split, context.parts, context.missing_rows)
    )
    if tree_split is None:  # a leaf, or a split that sends all rows to one branch
        return search, None
    column = tree_split.order.column
    chosen = CandidateTrace(number_format, tree_split, number_format.training_set.encodings[column], context.parts)

    def is_chosen(candidate: Candidate) -> bool:
        return same_partition(chosen, CandidateTrace(number_format, candidate, chosen.encoding))

    listed: Mapping[int, Sequence[Candidate]] = search.candidates
    if not any(map(is_chosen, listed[column])):
        listed = {**listed, column: [*listed[column], tree_split]}  # made by hand, or on another table
    was_drawn = number_format.training_set.settings.ties == "random"
    return choose_again(search, listed, (lambda other: other != column) if was_drawn else None), chosen


def _trace_column(number_format: NumberFormat, context: NodeInTree, column: int, search: NodeSearch) -> ColumnTrace:
    encoding = number_format.training_set.encodings[column]
    tests = tuple(CandidateTrace(number_format, c, encoding) for c in search.candidates[column])
    best = search.best_of_column.get(column)
    note = ""
    if not tests:
        note = _why_no_candidates(number_format, context, column)
    elif forbidden := _best_forbidden(tests, best):
        best = best or forbidden.candidate
        gain = number_format.format(forbidden.gain)
        note = f"{forbidden.label}: gain {gain}, forbidden: {forbidden.forbidden}"
    elif best is None:
        best = pick(search.candidates[column])
        note = f"every test leaves a branch too small ({_leaf_limits(number_format.training_set)})"
    elif column not in search.finalists and search.tests is None:
        note = "gain below average"
    independence = next((test for test in search.tests.tests if test.column == column), None) if search.tests else None
    if independence is not None and search.tests is not None and tests:
        note = "; ".join(part for part in (describe_test(independence, search.tests), note) if part)
    score = None
    if column in search.finalists:
        is_ratio = number_format.training_set.criterion.rule != "gain"
        score = display_score(number_format, search.finalists[column].score, is_ratio)
    best_test = next((test for test in tests if test.candidate is best), None)
    return ColumnTrace(
        encoding.name,
        encoding,
        number_format,
        tests,
        best_test,
        score,
        note,
        search.thresholds_tried(column),
        independence,
    )


def _best_forbidden(tests: Sequence[CandidateTrace], best: Candidate | None) -> CandidateTrace | None:
    """Return the best of the tests that a constraint forbids, if it would beat the best of the others."""
    forbidden = [test for test in tests if test.forbidden]
    if not forbidden:
        return None
    winner = pick([*(test.candidate for test in forbidden), *([] if best is None else [best])])
    return next((test for test in forbidden if test.candidate is winner), None)


def describe_test(test: ColumnTest, tests: NodeTests) -> str:
    """Describe a test of independence: its statistic, degrees of freedom and p-values."""
    if not test.df:
        return "not tested: the values that are present, or their targets, do not vary"
    p_value, adjusted = format_p_value(test.p_value), format_p_value(tests.adjusted(test))
    return f"χ² {format_rounded(test.statistic)}, df {test.df:,}, p {p_value}, adjusted {adjusted}"


def _leaf_limits(training_set: TrainingSet) -> str:
    given = training_set.settings.non_default_values()
    return ", ".join(f"{name}={value}" for name, value in given.items() if name.endswith("_leaf"))


def _why_no_candidates(number_format: NumberFormat, context: NodeInTree, column: int) -> str:
    encoding = number_format.training_set.encodings[column]
    values = number_format.training_set.columns[column][number_format.rows]
    present = [v for v in encode.decode(encoding, np.unique(values)) if v is not None]
    training_set = number_format.training_set
    min_rows = training_set.limits["min_level_rows"]
    if len(present) > 1 and training_set.criterion.name != "poisson" and len(encoding.levels) > FEW_LEVELS:
        return f"every level has fewer than {plural(int(min_rows), 'row')} (min_level_rows)"
    if len(present) > 1:
        return "every test leaves a branch whose target is all 0"
    if encode.is_missing(encoding, values).all():
        return "all rows missing"
    value = _format_value(present[0], encoding)
    if encoding.name in context.used:
        return f"used above (all rows {value})"
    return f"all {plural(number_format.node.rows, 'row')} are {value}: no split"


def _format_value(value: float | int | str, encoding: Encoding) -> str:
    return quote(value) if isinstance(value, str) else encoding.format(value)
