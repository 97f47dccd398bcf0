"""What a trace says of one node: every column, every candidate of it, and who wins.

Stands between ``contest.py``, which makes these values from what ``train/reference.py`` lists and compares, and the
printers.

    NodeTrace ──["GPA"]──▶ ColumnTrace ──.tests──▶ CandidateTrace

Formulas and counts are made when asked for: a column may have thousands of candidates, and most readers want
the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from treewise._lib.text import plural, safe
from treewise.data.encoding import Encoding
from treewise.errors import ColumnError, did_you_mean, listing
from treewise.explain.trace.arithmetic import Formula, NumberFormat
from treewise.explain.trace.candidate import CandidateTrace, same_partition
from treewise.train.candidates import KIND_RANK, Rows
from treewise.train.reference import Candidate, NodeSearch
from treewise.tree.arrays import Label
from treewise.tree.splits import Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes

import gc
from collections.abc import Sequence
from contextlib import contextmanager

import numpy as np

from treewise.data import encoding as encode
from treewise.explain.trace.candidate import shown_score
from treewise.train.candidates import group_of
from treewise.train.criteria import Group
from treewise.train.reference import choose, find_best_split, leaf_condition, pick
from treewise.train.training_set import TrainingSet
from treewise.tree.splits import quote


@dataclass(frozen=True)
class TraceView:
    """What the reader asked to see."""

    unit: str = "bits"
    per: str = "row"
    column: str | None = None  # only this column, but all its candidates
    top: int | None = None  # only so many columns, the best


@dataclass(frozen=True, eq=False)
class TracePlace:
    """Where a node stands in its tree; the default is a root without a tree."""

    id: int = 0
    words: str = "all rows"
    in_tree: bool = False
    split: Split | None = None
    stop: str = ""
    used: frozenset[str] = frozenset()  # columns asked above
    parts: tuple[Rows, ...] = ()  # the rows of each branch of its split, and last those that stay
    missing_rows: int = 0  # rows without a value of the split's column


@dataclass(frozen=True, eq=False)
class ColumnTrace:
    """One column at one node: all its candidates, the best of them, or the reason why there is none."""

    name: str
    encoding: Encoding
    lens: NumberFormat
    tests: tuple[CandidateTrace, ...]
    best: CandidateTrace | None
    score: float | None  # what the column competes by; None when it does not take part
    note: str = ""
    cuts: int = 0  # C4.5: how many thresholds its gain is to pay for

    @property
    def gain(self) -> float:
        """The gain of the best test; 0 when there is none."""
        return self.best.gain if self.best else 0.0

    @property
    def net(self) -> float:
        """The gain less what C4.5 takes off a threshold for having tried so many."""
        return self.gain - (self.lens.price(self.cuts)[1] if self.cuts > 1 else 0.0)

    @property
    def words(self) -> str:
        """The best test in words."""
        return self.best.words if self.best else ""

    @property
    def branches(self) -> tuple[tuple[float, ...], ...]:
        """The branches of the best test; all rows in one when there is none."""
        whole = self.lens.whole
        return self.best.branches if self.best else (whole.counts or (whole.weight, whole.value or 0.0),)

    @property
    def tried(self) -> int:
        """How many different tests there are; the ways of placing missing rows do not count."""
        tests = {t.candidate.order[1:3] for t in self.tests}
        return len({test for test in tests if test[0] != KIND_RANK["presence"]}) or len(tests)

    @cached_property
    def parsed(self) -> Formula:
        """The formula in its parts."""
        if self.best is None:
            return self.lens.formula((self.lens.whole,))
        if self.lens.training_set.criterion.rule != "c45":
            return self.best.parsed
        price = self.lens.price(self.cuts) if self.cuts > 1 else None
        return self.lens.formula(self.best.parts, price, ratio=True)

    @property
    def formula(self) -> str:
        """How the column's score is computed."""
        return self.parsed.text

    @property
    def arithmetic(self) -> str:
        """The formula with its numbers put in."""
        return self.parsed.arithmetic


@dataclass(frozen=True, eq=False)
class NodeTrace:
    """Every computation at one node. ``node["GPA"]`` is a column's part of it; ``print(node)`` shows all.

    >>> import treewise as tw
    >>> root = tw.candidates("admissions", preset="id3", per="total")
    >>> root.winner, root.runner_up, round(root.margin, 3), root.tried
    ('GPA', 'University', 6.0, 4)
    >>> root["University"].formula
    '12 − [5·H(3/5) + 3·H(2/3) + 4·H(1/4)]'
    """

    lens: NumberFormat
    place: TracePlace
    view: TraceView
    columns: Mapping[str, ColumnTrace]
    search: NodeSearch | None = None  # None where there is nothing to search
    chosen: CandidateTrace | None = None  # the tree's own split, scored on these rows
    settled: str = ""  # why nothing is computed: "pure", "no_rows", or ""

    @property
    def winner(self) -> str | None:
        """The column of the best candidate; None if no column has an eligible one."""
        return self._name_of(self.search.winner if self.search else None)

    @property
    def runner_up(self) -> str | None:
        """The column of the best candidate among the other columns."""
        return self._name_of(self.search.runner_up if self.search else None)

    @property
    def tie(self) -> bool:
        """Whether winner and runner-up are equally good."""
        return self.search is not None and self.search.is_tie

    @property
    def margin(self) -> float | None:
        """By how much the winner's score exceeds the runner-up's, in the unit of the trace."""
        if self.winner is None or self.runner_up is None:
            return None
        return 0.0 if self.tie else (self[self.winner].score or 0.0) - (self[self.runner_up].score or 0.0)

    @cached_property
    def agrees(self) -> bool:
        """Whether the tree's own split is the winner."""
        best = self[self.winner].best if self.winner is not None else None
        return best is not None and self.chosen is not None and same_partition(self.chosen, best)

    def _name_of(self, candidate: Candidate | None) -> str | None:
        return None if candidate is None else self.lens.training_set.encodings[candidate.order.column].name

    @property
    def id(self) -> int:
        """The node's number in its tree."""
        return self.place.id

    @property
    def words(self) -> str:
        """The conditions that lead here: the last few, where there are many."""
        return self.place.words

    @property
    def split(self) -> Split | None:
        """The split the tree has here; None at a leaf, and before there is a tree."""
        return self.place.split

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.lens.node.rows

    @property
    def counts(self) -> dict[Label, float]:
        """The weight of each class."""
        return dict(zip(self.lens.training_set.target.classes, self.lens.whole.counts, strict=True))

    @property
    def impurity(self) -> float:
        """The impurity before any split, in the unit, per row or in total."""
        return self.lens.before

    @property
    def tried(self) -> int:
        """How many different tests there are in all columns."""
        return sum(c.tried for c in self.columns.values())

    @property
    def average(self) -> float | None:
        """C4.5: the average net gain of the columns that can split; those below it do not compete."""
        if self.lens.training_set.criterion.rule != "c45":
            return None
        nets = [c.net for c in self.columns.values() if c.best and c.best.eligible]
        return sum(nets) / len(nets) if nets else None

    @property
    def candidates(self) -> Mapping[str, ColumnTrace]:
        """The columns in the table's order."""
        return self.columns

    def __getitem__(self, column: str) -> ColumnTrace:
        if column not in self.columns:
            known = list(self.columns)
            hint = did_you_mean(column, known)
            raise ColumnError(f'no column "{column}" at node {self.id}.{hint} Columns: {listing(known)}.')
        return self.columns[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def has_chosen(self, test: CandidateTrace) -> bool:
        """Tell whether a candidate is the tree's own split."""
        return self.chosen is not None and same_partition(self.chosen, test)

    def render(self, format: str = "text", width: int = 80, blanks: bool = False, ascii: bool = False) -> str:
        """Return the node as text, Markdown, LaTeX (to put into a document), CSV or JSON.

        ``blanks`` leaves the results open, for an exercise sheet; ``ascii`` is for terminals without more.

        >>> import treewise as tw
        >>> print(tw.candidates("xor", unit="nats").render(ascii=True))
        node 0 ; all rows ; 4 rows, y 0: 2, 1: 2                    H(2/4) = 0.6931 nats
          x1 <= 0.5  0.6931 - [2/4*H(1/2) + 2/4*H(1/2)]
                   = 0.6931 - [2/4(0.69315) + 2/4(0.69315)]  = 0.0000  <- best
          x2 <= 0.5  0.6931 - [2/4*H(1/2) + 2/4*H(1/2)]
                   = 0.6931 - [2/4(0.69315) + 2/4(0.69315)]  = 0.0000
          -> split on x1 <= 0.5; x2 <= 0.5 is as good: the earlier column is taken
        <BLANKLINE>
        H(p) in nats, p the share of 1.
        Rounded for display; differences are taken before rounding.
        """
        from treewise.explain.trace.render import TraceFormat, render

        return render([self], TraceFormat(format, width, blanks, ascii, document=False))

    def draw(self, column: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw what every test of a column gains here, over its thresholds; by default of the column that wins.

        Needs matplotlib (``pip install "treewise[plot]"``). Draws on ``ax``, or on a figure of its own, and returns the
        axes: ``.figure.savefig("gain.png")``.

        >>> import treewise as tw
        >>> tw.candidates("penguins").draw("bill_length_mm").get_ylabel()
        'gain, bits per row'
        """
        from treewise.show.plots.splits import draw_gains

        return draw_gains(self, column, ax)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        best = f" · best {safe(self.winner)}" if self.winner else ""
        tried = plural(self.tried, "candidate")
        return f"<node {self.id} · {self.words} · {plural(self.rows, 'row')} · {tried}{best}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from treewise.explain.trace.documents import notebook_formats

        return {"text/plain": repr(self), **notebook_formats([self])}


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
        return same_partition(chosen, CandidateTrace(lens, candidate, chosen.encoding))

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
