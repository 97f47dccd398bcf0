"""The traced values: a node, its columns and their candidates, as views of a ``NodeSearch`` (``train/reference.py``).

    NodeTrace ──["GPA"]──▶ ColumnTrace ──.tests──▶ CandidateTrace

``trace.py`` makes them; the writers (``text.py``, ``documents.py``, ``render.py``) print them. Formulas and counts are
computed on demand: a column may have thousands of candidates, and most readers want only the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

import numpy as np

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.errors import ColumnError, did_you_mean, join_few
from treewise.explain.trace.arithmetic import BranchTerm, Formula, NumberFormat
from treewise.train.candidates import KIND_RANK, Rows
from treewise.train.constraints import UNCONSTRAINED, NodeConstraints
from treewise.train.criteria import RATIO_BITS
from treewise.train.independence import ColumnTest
from treewise.train.optimal.lookahead import LookAheadGain
from treewise.train.price import FREE_BITS
from treewise.train.reference import Candidate, NodeSearch
from treewise.tree.arrays import Label
from treewise.tree.splits import Multiway, Presence, Split, Threshold, quote

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise._lib.image_style import ImageOptions


@dataclass(frozen=True)
class TraceView:
    """The unit and the selection that the reader requested."""

    unit: str = "bits"
    per: str = "row"
    column: str | None = None  # show only this column, with all its candidates
    top: int | None = None  # show only this many columns, the best ones
    terms: bool = False  # write out every impurity term by term
    row_names: tuple[str, ...] | None = None  # names of the rows of the table, to be listed at each node


@dataclass(frozen=True, eq=False)
class NodeInTree:
    """The position of a node in its tree; the default is a root without a tree."""

    id: int = 0
    words: str = "all rows"
    in_tree: bool = False
    split: Split | None = None
    stop: str = ""
    used: frozenset[str] = frozenset()  # columns tested by its ancestors
    parts: tuple[Rows, ...] = ()  # the rows of each branch of its split, and last those that take no branch
    missing_rows: int = 0  # rows without a value of the split's column
    constraints: NodeConstraints = UNCONSTRAINED
    look_ahead: LookAheadGain | None = None  # where the tree looked ahead, and splits otherwise than greedily


@dataclass(frozen=True, eq=False)
class CandidateTrace:
    """One candidate: the test as text, the contents of each branch, its gain and the formula of that."""

    number_format: NumberFormat
    candidate: Candidate
    encoding: Encoding
    by_branch: tuple[Rows, ...] = ()  # the rows of each branch, for the split of the tree itself

    @cached_property
    def words(self) -> str:
        """The test as a tree prints it: ``x1 <= 0.5``; with missing rows ``x1 > 0.5 or missing``."""
        return _test_text(self.candidate.split, self.encoding, self.candidate.missing_rows)

    @cached_property
    def label(self) -> str:
        """The test as lists print it, always by its first branch: ``x1 <= 0.5 (missing with >)``."""
        return describe_first_branch(self.candidate.split, self.encoding, self.candidate.missing_rows)

    @property
    def branches(self) -> tuple[tuple[float, ...], ...]:
        """The class counts of each branch (weights, if rows have any); for regression weight and mean."""
        return tuple(b.counts or (b.weight, b.value or 0.0) for b in self.parts)

    @cached_property
    def parts(self) -> tuple[BranchTerm, ...]:
        """Each branch with its rows, weight, counts or mean, and impurity."""
        groups = self.candidate.branches
        if self.number_format.training_set.target.task == "classification":
            return tuple(self.number_format.branch(g, self.number_format.rows) for g in groups)
        return tuple(
            self.number_format.branch(g, self.number_format.rows[self.taken == i]) for i, g in enumerate(groups)
        )

    @property
    def taken(self) -> encode.Array:
        """The branch each row of the node takes."""
        if self.by_branch:
            numbers = [np.full(len(rows), i) for i, rows in enumerate(self.by_branch)]
            return np.concatenate(numbers)[np.argsort(np.concatenate(self.by_branch))]
        values = self.number_format.training_set.columns[self.candidate.order.column][self.number_format.rows]
        return assign_branches(self.candidate.split, self.encoding, values)

    @property
    def gain(self) -> float:
        """The decrease of impurity."""
        return self.number_format.gain(self.candidate.total_gain)

    @property
    def impurity_after(self) -> float:
        """The impurity that is left after the split, H(Y|Z): the impurity before it minus the gain."""
        return self.number_format.before - self.gain

    @property
    def score(self) -> float:
        """The number to compare candidates by: the gain less its price (``any``: per further branch), or the ratio."""
        return display_score(
            self.number_format, self.candidate.score, not self.number_format.training_set.criterion.by_gain
        )

    @property
    def price_bits(self) -> int:
        """Its price in bits under ``selection="priced"``: the code length of naming it."""
        return self.candidate.naming_bits

    @property
    def cost(self) -> float:
        """The cost of the first test of its column on the path (``feature_costs``), in the unit of the gain."""
        return self.number_format.gain(self.candidate.feature_cost)

    @property
    def gain_bits(self) -> float | None:
        """The gain in bits of likelihood, which the price is subtracted from; None for a test without a price."""
        return self.number_format.prices.bits_gained(self.candidate.total_gain) if self.candidate.naming_bits else None

    @property
    def price_text(self) -> str:
        """The gain and the price as text; "" for a test without a price."""
        if self.gain_bits is None:
            return ""
        what = "the set" if self.candidate.split.kind == "subset" else "its branches"
        named = f"{self.price_bits:,} bits to name {what} ({self.price_bits + FREE_BITS:,} − {FREE_BITS} free)"
        return f"gain {self.gain_bits:,.1f} bits − {named}"

    @property
    def eligible(self) -> bool:
        """Whether every branch meets the limits on leaves, and no constraint forbids the test."""
        return self.candidate.eligible

    @property
    def forbidden(self) -> str:
        """The constraint that forbids the test, as text; "" if none does."""
        return self.candidate.forbidden

    @cached_property
    def parsed(self) -> Formula:
        """The formula in its parts."""
        rule = self.number_format.training_set.criterion.rule
        divisor = (
            len(self.candidate.filled) - 1
            if rule == "gain" and self.number_format.training_set.divides_gain_by_branches
            else 1
        )
        price = self.number_format.price(self.candidate)
        return self.number_format.formula(self.parts, price, ratio=rule == "ratio", divide_by=divisor)

    @property
    def formula(self) -> str:
        """The gain as a formula: ``12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]``."""
        return self.parsed.text

    @property
    def arithmetic(self) -> str:
        """The formula with its values substituted."""
        return self.parsed.arithmetic


@dataclass(frozen=True, eq=False)
class ColumnTrace:
    """One column at one node: all its candidates, the best of them, or the reason why there is none."""

    name: str
    encoding: Encoding
    number_format: NumberFormat
    tests: tuple[CandidateTrace, ...]
    best: CandidateTrace | None
    score: float | None  # the score that columns are compared by; None if it has no finalist
    note: str = ""
    cuts: int = 0  # C4.5: the number of thresholds tried
    independence: ColumnTest | None = None  # selection="test": the test of the column

    @property
    def gain(self) -> float:
        """The gain of the best test; 0 if there is none."""
        return self.best.gain if self.best else 0.0

    @property
    def impurity_after(self) -> float:
        """The impurity that is left after the best test, H(Y|Z); that of the node if there is none."""
        return self.number_format.before - self.gain

    @property
    def net(self) -> float:
        """The gain minus C4.5's penalty for the number of thresholds tried."""
        return self.gain - (self.number_format.threshold_penalty(self.cuts)[1] if self.cuts > 1 else 0.0)

    @property
    def words(self) -> str:
        """The best test as text."""
        return self.best.words if self.best else ""

    @property
    def branches(self) -> tuple[tuple[float, ...], ...]:
        """The branches of the best test; a single one with all rows if there is none."""
        whole = self.number_format.whole
        return self.best.branches if self.best else (whole.counts or (whole.weight, whole.value or 0.0),)

    @property
    def tried(self) -> int:
        """The number of distinct tests, not counting placements of missing rows."""
        tests = {t.candidate.order[1:3] for t in self.tests}
        return len({test for test in tests if test[0] != KIND_RANK["presence"]}) or len(tests)

    @cached_property
    def parsed(self) -> Formula:
        """The formula in its parts."""
        if self.best is None:
            return self.number_format.formula((self.number_format.whole,))
        if self.number_format.training_set.criterion.rule != "c45":
            return self.best.parsed
        penalty = self.number_format.threshold_penalty(self.cuts) if self.cuts > 1 else None
        return self.number_format.formula(self.best.parts, penalty, ratio=True)

    @property
    def formula(self) -> str:
        """The formula of the column's score."""
        return self.parsed.text

    @property
    def arithmetic(self) -> str:
        """The formula with its values substituted."""
        return self.parsed.arithmetic


@dataclass(frozen=True, eq=False)
class NodeTrace:
    """Every computation at one node. ``node["GPA"]`` is one column; ``print(node)`` shows all.

    >>> import treewise as tw
    >>> root = tw.candidates("admissions", preset="id3", per="total")
    >>> root.winner, root.runner_up, round(root.margin, 3), root.tried
    ('GPA', 'University', 6.0, 4)
    >>> root["University"].formula
    '12 − [5·H(3/5) + 3·H(2/3) + 4·H(1/4)]'
    """

    number_format: NumberFormat
    context: NodeInTree
    view: TraceView
    columns: Mapping[str, ColumnTrace]
    search: NodeSearch | None = None  # None where there is nothing to search
    chosen: CandidateTrace | None = None  # the split of the tree, scored on these rows
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
    def p_value(self) -> float | None:
        """The smallest adjusted p-value of a column, with ``selection="test"``; None if no column was tested."""
        tests = self.search.tests if self.search else None
        return tests.p_value if tests is not None and tests.tested else None

    @property
    def tie(self) -> bool:
        """Whether winner and runner-up are equally good."""
        return self.search is not None and self.search.is_tie

    @property
    def margin(self) -> float | None:
        """The winner's score minus the runner-up's, in the unit of the trace."""
        if self.winner is None or self.runner_up is None:
            return None
        return 0.0 if self.tie else (self[self.winner].score or 0.0) - (self[self.runner_up].score or 0.0)

    @cached_property
    def agrees(self) -> bool:
        """Whether the split of the tree is the winner."""
        best = self[self.winner].best if self.winner is not None else None
        return best is not None and self.chosen is not None and same_partition(self.chosen, best)

    def _name_of(self, candidate: Candidate | None) -> str | None:
        return None if candidate is None else self.number_format.training_set.encodings[candidate.order.column].name

    @property
    def id(self) -> int:
        """The node's number in its tree."""
        return self.context.id

    @property
    def words(self) -> str:
        """The conditions on the path to the node; only the last few of a long path."""
        return self.context.words

    @property
    def split(self) -> Split | None:
        """The split of the tree at this node; None at a leaf, and before there is a tree."""
        return self.context.split

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.number_format.node.rows

    @property
    def row_names(self) -> tuple[str, ...]:
        """The rows of the table that reach the node: their numbers from 1, or the names that the reader gave."""
        at = np.asarray(self.number_format.training_set.rows)[self.number_format.rows].tolist()
        names = self.view.row_names
        return tuple(str(i + 1) if names is None else names[i] for i in at)

    @property
    def counts(self) -> dict[Label, float]:
        """The weight of each class."""
        return dict(zip(self.number_format.training_set.target.classes, self.number_format.whole.counts, strict=True))

    @property
    def impurity(self) -> float:
        """The impurity before any split, in the unit, per row or in total."""
        return self.number_format.before

    @property
    def tried(self) -> int:
        """The number of distinct tests in all columns."""
        return sum(c.tried for c in self.columns.values())

    @property
    def average(self) -> float | None:
        """C4.5: the average net gain of the columns that can split; those below it do not compete."""
        if self.number_format.training_set.criterion.rule != "c45":
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
            raise ColumnError(f'no column "{column}" at node {self.id}.{hint} Columns: {join_few(known)}.')
        return self.columns[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def has_chosen(self, test: CandidateTrace) -> bool:
        """Tell whether a candidate is the split of the tree."""
        return self.chosen is not None and same_partition(self.chosen, test)

    def render(self, format: str = "text", width: int = 80, blanks: bool = False, ascii: bool = False) -> str:
        """Return the node as text, Markdown, LaTeX (a fragment of a document), CSV or JSON.

        ``blanks`` leaves the results blank, for an exercise sheet; ``ascii`` is for terminals without Unicode.

        >>> import treewise as tw
        >>> print(tw.candidates("xor", unit="nats").render(ascii=True))
        node 0 ; all rows ; 4 rows, y 0: 2, 1: 2                    H(2/4) = 0.6931 nats
          x1 <= 0.5  0.6931 - [2/4*H(1/2) + 2/4*H(1/2)]
                   = 0.6931 - [2/4(0.69315) + 2/4(0.69315)]
                   = 0.6931 - 0.6931  = 0.0000  <- best
          x2 <= 0.5  0.6931 - [2/4*H(1/2) + 2/4*H(1/2)]
                   = 0.6931 - [2/4(0.69315) + 2/4(0.69315)]
                   = 0.6931 - 0.6931  = 0.0000
          -> split on x1 <= 0.5; x2 <= 0.5 is as good: the earlier column is taken
        <BLANKLINE>
        H(p) in nats, p the share of 1; information gain is H(Y) - H(Y|Z).
        Rounded for display; differences are taken before rounding.
        """
        from treewise.explain.trace.render import TraceFormat, render_trace

        return render_trace([self], TraceFormat(format, width, blanks, ascii, document=False))

    def draw(self, column: str | None = None, ax: Axes | None = None, **image: Unpack[ImageOptions]) -> Axes:
        """Plot the gain of every test of a column against its threshold; by default of the winning column.

        Needs matplotlib (``pip install "treewise[plot]"``). Draws on ``ax``, or on a new figure, and returns the axes:
        ``path``, ``size``, ``font_size`` and ``dpi`` write a file.

        >>> import treewise as tw
        >>> tw.candidates("penguins").draw("bill_length_mm").get_ylabel()
        'gain, bits per row'
        """
        from treewise.show.plots.splits import draw_gains

        return draw_gains(self, column, ax, **image)

    def draw_boundaries(
        self, x: str | None = None, y: str | None = None, ax: Axes | None = None, **image: Unpack[ImageOptions]
    ) -> Axes:
        """Draw every candidate threshold of two columns as a line between the rows of the node, with its gain.

        ID3 notes: "It might help to plot the boundaries of these decision rules". The best one is bold; ``x`` and ``y``
        are the first two numeric columns by default. Rows have names if the trace was made with ``rows=``. Needs
        matplotlib; ``path``, ``size``, ``font_size`` and ``dpi`` write a file.

        >>> import treewise as tw
        >>> ax = tw.candidates("seven_points", unit="nats").draw_boundaries()
        >>> sorted(text.get_text() for text in ax.texts)
        ['0.1175', '0.2022', '0.2121', '0.3255']
        """
        from treewise.show.plots.boundaries import draw_boundaries

        return draw_boundaries(self, x, y, ax, **image)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        best = f" · best {safe(self.winner)}" if self.winner else ""
        tried = plural(self.tried, "candidate")
        return f"<node {self.id} · {self.words} · {plural(self.rows, 'row')} · {tried}{best}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from treewise.explain.trace.documents import notebook_formats

        return {"text/plain": repr(self), **notebook_formats([self])}


# -- tests as text, and their partitions -------------------------------------------------------------------------------


def _test_text(split: Split, encoding: Encoding, missing_rows: int) -> str:
    """Describe a test as a tree prints it; by the branch of the missing rows if that can be expressed.

    >>> _test_text(Threshold("age", 71.5, missing=1), Encoding("age", "number"), 3)
    'age > 71.5 or missing'
    >>> _test_text(Multiway("GPA", ("3.5", "3.7")), Encoding("GPA", "nominal", ("3.5", "3.7")), 0)
    'GPA = 3.5 | 3.7'
    """
    if missing_rows and split.missing == 1 and not isinstance(split, Multiway | Presence):
        other = split.condition(1, encoding)
        if not other.endswith(" otherwise"):
            return f"{other} or missing"
    return describe_first_branch(split, encoding, missing_rows)


def describe_first_branch(split: Split, encoding: Encoding, missing_rows: int) -> str:
    """Describe a test by its first branch, with the branch of the missing rows in brackets if it is another.

    >>> describe_first_branch(Threshold("age", 71.5, missing=1), Encoding("age", "number"), 3)
    'age <= 71.5 (missing with >)'
    >>> describe_first_branch(Threshold("age", 71.5, missing=0), Encoding("age", "number"), 3)
    'age <= 71.5 or missing'
    >>> describe_first_branch(Presence("age", missing=1), Encoding("age", "number"), 3)
    'age present'
    """
    if isinstance(split, Presence):
        return split.condition(0, encoding)
    name = safe(split.column)
    if isinstance(split, Multiway):
        sides = [*map(quote, split.levels), *(["the others"] if split.other else [])]
        levels = [*sides[: len(split.levels)], *(["other"] if split.other else [])]
        text = f"{name} {'is' if encoding.kind == 'boolean' else '='} {' | '.join(levels)}"
    else:
        text = split.condition(0, encoding)
        sides = ["", ">" if " <= " in text else ">=" if isinstance(split, Threshold) else "the others"]
    if not missing_rows:
        return text
    if split.missing >= len(sides):
        return f"{text} (missing apart)"
    return f"{text} (missing with {sides[split.missing]})" if sides[split.missing] else f"{text} or missing"


def same_partition(a: CandidateTrace, b: CandidateTrace) -> bool:
    """Tell whether two tests partition the rows alike, as do all thresholds between two neighbouring values."""
    if a.candidate.order.column != b.candidate.order.column or a.candidate.total_gain != b.candidate.total_gain:
        return False
    return np.array_equal(number_by_first_row(a.taken), number_by_first_row(b.taken))


def number_by_first_row(branches: encode.Array) -> encode.Array:
    """Number branches by the first row that takes each, so that equal partitions get equal numbers.

    >>> number_by_first_row(np.array([2, 0, 2])).tolist(), number_by_first_row(np.array([1, 7, 1])).tolist()
    ([0, 1, 0], [0, 1, 0])
    """
    _, first_row, branch = np.unique(branches, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first_row))[branch]


def assign_branches(split: Split, encoding: Encoding, values: encode.Array) -> encode.Array:
    """Return the branch each encoded value takes."""
    if isinstance(split, Presence):
        branches = np.full(len(values), 1 - split.missing)
    elif isinstance(split, Threshold):
        branches = (values > np.array([split.cut])).astype(np.int64)  # an array: float32 is compared as double
    else:
        by_level = [split.branch(level, encoding) for level in encoding.levels]
        branches = np.array([-1 if b is None else b for b in [*by_level, -1]], np.int64)[values]
    branches[encode.is_missing(encoding, values)] = split.missing
    return branches


def display_score(number_format: NumberFormat, score: int, is_ratio: bool) -> float:
    """Convert the score of a candidate into the number that is shown: a ratio, or a gain in the reader's unit."""
    return float(score) * 2.0**-RATIO_BITS if is_ratio else number_format.gain(score)
