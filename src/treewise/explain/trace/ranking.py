"""Who wins at a node: the candidates of every column, compared as the learner compares them.

Stands between ``train/reference.py`` and the values the printers read (``tree/arrays.py``). Nothing is scored here:
candidates are listed by ``search.candidates``, scored by ``search.Judge``, compared by ``search.pick`` and
``search.quinlan``. What ``search.find_best_split`` throws away on its way to the winner is kept: that is the
trace.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from treewise._lib.text import plural
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.explain.trace.candidate import CandidateTrace, same_parts, say_merit
from treewise.explain.trace.nodes import ColumnTrace, NodeTrace, TracePlace, TraceView
from treewise.explain.trace.number_format import NumberFormat
from treewise.train.candidates import KIND_RANK, Rows, group_of
from treewise.train.criteria import Group
from treewise.train.reference import NodeScorer, c45_second_step, candidates, leaf_condition, pick, tied
from treewise.train.training_set import TrainingSet
from treewise.tree.splits import quote

OWN = sys.maxsize  # the position of the tree's own split, when it is none of the learner's: last among equals
CUT = KIND_RANK["threshold"]


def trace_node(training_set: TrainingSet, rows: Rows, view: TraceView, place: TracePlace | None = None) -> NodeTrace:
    """Compute everything about one node."""
    place, training_set = place or TracePlace(), training_set.at(rows)
    node = group_of(training_set, rows)
    measure = training_set.criterion.at(node if node.rows else Group(1, 1))  # no rows: there is nothing to measure
    lens = NumberFormat(training_set, rows, node, measure, view.unit, view.per)
    stop = leaf_condition(training_set, rows, node, depth=0)
    if stop in ("no_rows", "pure"):
        return NodeTrace(lens, place, view, {}, settled=stop)
    judge = NodeScorer(training_set, node, measure)
    with without_collector():
        tests = [
            [CandidateTrace(lens, c, encoding) for c in candidates(judge, rows, i)]
            for i, encoding in enumerate(training_set.encodings)
        ]
    chosen = own_split(lens, place)
    if chosen and not any(same_parts(chosen, t) for t in tests[chosen.candidate.key[0]]):
        tests[chosen.candidate.key[0]].append(chosen)  # made by hand, or on another table
    contest = compete(lens, tests, chosen)
    names = [e.name for e in training_set.encodings]
    winner, second = contest.winner, contest.runner_up
    return NodeTrace(
        lens,
        place,
        view,
        {name: trace_column(lens, place, i, tests[i], contest) for i, name in enumerate(names)},
        winner=None if winner is None else names[winner],
        runner_up=None if second is None else names[second],
        margin=contest.margin,
        tie=contest.tie,
        chosen=chosen,
        agrees=bool(winner is not None and chosen and same_parts(chosen, contest.bests[winner])),
    )


@contextmanager
def without_collector() -> Iterator[None]:
    """Hold back Python's search for cycles, of which candidates make none: it would take a third of the time.

    Whoever has switched it off finds it so afterwards.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def own_split(lens: NumberFormat, place: TracePlace) -> CandidateTrace | None:
    """Measure the tree's own split on these rows; None at a leaf, and where it sends all rows one way."""
    split, training_set = place.split, lens.training_set
    if split is None:
        return None
    column = next(i for i, e in enumerate(training_set.encodings) if e.name == split.column)
    groups = tuple(group_of(training_set, part) for part in place.parts)
    key = (column, KIND_RANK[split.kind], OWN, 0)
    judge = NodeScorer(training_set, lens.node, lens.measure)
    made = judge.score(partial(replace, split), split.missing, groups, place.missing_rows, key)
    return CandidateTrace(lens, made, training_set.encodings[column], place.parts) if made else None


@dataclass(frozen=True)
class ColumnRanking:
    """Who competes at a node and how it ends, by column number."""

    bests: Mapping[int, CandidateTrace]  # the best eligible test of each column that has one
    scores: Mapping[int, float]  # what the columns compete by; C4.5 leaves some out
    cuts: Mapping[int, int]  # how many thresholds a column tried, where its best test is one
    winner: int | None = None
    runner_up: int | None = None
    margin: float | None = None
    tie: bool = False


def compete(
    lens: NumberFormat, tests: Sequence[Sequence[CandidateTrace]], chosen: CandidateTrace | None
) -> ColumnRanking:
    """Let the columns compete as ``search.find_best_split`` does, and keep what it throws away.

    Where ties are drawn at random and the tree's own split is as good as any, it is the one that was drawn.
    """
    training_set, rule = lens.training_set, lens.training_set.criterion.rule
    drawn = chosen if training_set.settings.ties == "random" else None
    bests: dict[int, CandidateTrace] = {}
    cuts: dict[int, int] = {}
    for column, listed in enumerate(tests):
        fitting = [t for t in listed if t.eligible]
        if fitting:
            bests[column] = best_of(fitting, drawn)
            keys = [t.candidate.key for t in listed]
            cuts[column] = len({k[2] for k in keys if k[1] == CUT and k[2] != OWN})
    compared = [t.candidate for t in bests.values()]
    if rule == "c45" and compared:
        compared = c45_second_step(lens.node, [(t.candidate, cuts[i]) for i, t in bests.items()])
        winner = pick(compared, None)
        equals = [c for c in compared if tied(c, winner)] if drawn else []
        winner = next((c for c in equals if drawn and same_parts(bests[c.key[0]], drawn)), winner)
    elif compared:  # all candidates of the node compete at once
        best = best_of([t for listed in tests for t in listed if t.eligible], drawn)
        winner = best.candidate
        bests[winner.key[0]] = best
        compared = [t.candidate for t in bests.values()]
    scores = {c.key[0]: say_merit(lens, c.merit, rule != "gain") for c in compared}
    cuts = {i: n for i, n in cuts.items() if bests[i].candidate.key[1] == CUT}
    if not compared:
        return ColumnRanking(bests, scores, cuts)
    others = [c for c in compared if c is not winner]
    if not others:
        return ColumnRanking(bests, scores, cuts, winner.key[0])
    second = pick(others, None)
    tie = tied(winner, second)
    margin = 0.0 if tie else scores[winner.key[0]] - scores[second.key[0]]
    return ColumnRanking(bests, scores, cuts, winner.key[0], second.key[0], margin, tie)


def best_of(tests: Sequence[CandidateTrace], drawn: CandidateTrace | None = None) -> CandidateTrace:
    """Return the best test of a column; among equals the one that was drawn, if one was."""
    best = pick([t.candidate for t in tests], None)
    equals = [t for t in tests if tied(t.candidate, best)] if drawn else []
    by_lot = next((t for t in equals if drawn and same_parts(t, drawn)), None)
    return by_lot or next(t for t in tests if t.candidate is best)


def trace_column(
    lens: NumberFormat, place: TracePlace, column: int, tests: Sequence[CandidateTrace], contest: ColumnRanking
) -> ColumnTrace:
    """Put together what is known of one column."""
    encoding = lens.training_set.encodings[column]
    best = contest.bests.get(column)
    note = ""
    if not tests:
        note = why_none(lens, place, column)
    elif best is None:
        best = best_of(tests)
        note = f"every test leaves a branch too small ({limits(lens.training_set)})"
    elif column not in contest.scores:
        note = "gain below average"
    score, cuts = contest.scores.get(column), contest.cuts.get(column, 0)
    return ColumnTrace(encoding.name, encoding, lens, tuple(tests), best, score, note, cuts)


def limits(training_set: TrainingSet) -> str:
    """Name the limits on leaves that are set."""
    given = training_set.settings.given()
    return ", ".join(f"{name}={value}" for name, value in given.items() if name.endswith("_leaf"))


def why_none(lens: NumberFormat, place: TracePlace, column: int) -> str:
    """Say why a column has no candidates."""
    encoding = lens.training_set.encodings[column]
    values = lens.training_set.columns[column][lens.rows]
    present = [v for v in encode.decode(encoding, np.unique(values)) if v is not None]
    if len(present) > 1:
        return "every test leaves a branch whose target is all 0"
    gone = encode.is_missing(encoding, values)
    if gone.all():
        return "all rows missing"
    value = say_value(present[0], encoding)
    if encoding.name in place.used:
        return f"used above (all rows {value})"
    return f"all {plural(lens.node.rows, 'row')} are {value}: no split"


def say_value(value: float | int | str, encoding: Encoding) -> str:
    """Write one value of a column."""
    return quote(value) if isinstance(value, str) else encoding.format(value)
