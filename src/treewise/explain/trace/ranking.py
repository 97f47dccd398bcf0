"""The trace of one node: the search of ``train/reference.py`` on its rows, with the tree's own split among the candidates.

Nothing is decided here: ``find_best_split`` and ``choose`` compare, the values of ``nodes.py`` are views of the outcome.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from treewise._lib.text import plural
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.explain.trace.candidate import CandidateTrace, same_parts, shown_score
from treewise.explain.trace.nodes import ColumnTrace, NodeTrace, TracePlace, TraceView
from treewise.explain.trace.number_format import NumberFormat
from treewise.train.candidates import Rows, group_of
from treewise.train.criteria import Group
from treewise.train.reference import Candidate, NodeSearch, choose, find_best_split, leaf_condition, pick
from treewise.train.training_set import TrainingSet
from treewise.tree.splits import quote


def trace_node(training_set: TrainingSet, rows: Rows, view: TraceView, place: TracePlace | None = None) -> NodeTrace:
    """Compute everything about one node."""
    place, training_set = place or TracePlace(), training_set.at(rows)
    node = group_of(training_set, rows)
    measure = training_set.criterion.at(node if node.rows else Group(1, 1))  # no rows: there is nothing to measure
    lens = NumberFormat(training_set, rows, node, measure, view.unit, view.per)
    stop = leaf_condition(training_set, rows, node, depth=0)
    if stop in ("no_rows", "pure"):
        return NodeTrace(lens, place, view, {}, settled=stop)
    with _without_garbage_collector():
        search, chosen = _search(lens, place)
        columns = {
            encoding.name: _trace_column(lens, place, i, search) for i, encoding in enumerate(training_set.encodings)
        }
    return NodeTrace(lens, place, view, columns, search, chosen)


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


def _search(lens: NumberFormat, place: TracePlace) -> tuple[NodeSearch, CandidateTrace | None]:
    """Search a node, with the tree's own split as one more candidate if the learner does not list it.

    If ties are random and the tree's own split is among the best, it is the one that was drawn.
    """
    search = find_best_split(lens.training_set, lens.rows)
    own = None if place.split is None else search.scorer.score_split(place.split, place.parts, place.missing_rows)
    if own is None:  # a leaf, or a split that sends all rows to one branch
        return search, None
    column = own.order.column
    chosen = CandidateTrace(lens, own, lens.training_set.encodings[column], place.parts)

    def is_chosen(candidate: Candidate) -> bool:
        return same_parts(chosen, CandidateTrace(lens, candidate, chosen.encoding))

    listed: Mapping[int, Sequence[Candidate]] = search.candidates
    if not any(map(is_chosen, listed[column])):
        listed = {**listed, column: [*listed[column], own]}  # made by hand, or on another table
    was_drawn = lens.training_set.settings.ties == "random"
    return choose(search.scorer, listed, (lambda c: not is_chosen(c)) if was_drawn else None), chosen


def _trace_column(lens: NumberFormat, place: TracePlace, column: int, search: NodeSearch) -> ColumnTrace:
    encoding = lens.training_set.encodings[column]
    tests = tuple(CandidateTrace(lens, c, encoding) for c in search.candidates[column])
    best = search.best_of_column.get(column)
    note = ""
    if not tests:
        note = _why_no_candidates(lens, place, column)
    elif best is None:
        best = pick(search.candidates[column])
        note = f"every test leaves a branch too small ({_leaf_limits(lens.training_set)})"
    elif column not in search.finalists:
        note = "gain below average"
    score = None
    if column in search.finalists:
        is_ratio = lens.training_set.criterion.rule != "gain"
        score = shown_score(lens, search.finalists[column].score, is_ratio)
    best_test = next((test for test in tests if test.candidate is best), None)
    return ColumnTrace(encoding.name, encoding, lens, tests, best_test, score, note, search.thresholds_tried(column))


def _leaf_limits(training_set: TrainingSet) -> str:
    given = training_set.settings.given()
    return ", ".join(f"{name}={value}" for name, value in given.items() if name.endswith("_leaf"))


def _why_no_candidates(lens: NumberFormat, place: TracePlace, column: int) -> str:
    encoding = lens.training_set.encodings[column]
    values = lens.training_set.columns[column][lens.rows]
    present = [v for v in encode.decode(encoding, np.unique(values)) if v is not None]
    if len(present) > 1:
        return "every test leaves a branch whose target is all 0"
    if encode.is_missing(encoding, values).all():
        return "all rows missing"
    value = _format_value(present[0], encoding)
    if encoding.name in place.used:
        return f"used above (all rows {value})"
    return f"all {plural(lens.node.rows, 'row')} are {value}: no split"


def _format_value(value: float | int | str, encoding: Encoding) -> str:
    return quote(value) if isinstance(value, str) else encoding.format(value)
