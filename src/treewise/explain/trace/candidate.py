"""One candidate of a column: the test in words, what each branch holds, its gain and how that is computed.

A view of a ``Candidate`` of ``train/reference.py``; the columns of the trace (``nodes.py``) consist of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.explain.trace.arithmetic import BranchTerm, Formula, NumberFormat
from treewise.train.candidates import Rows
from treewise.train.criteria import RATIO_BITS
from treewise.train.reference import Candidate
from treewise.tree.splits import Multiway, Presence, Split, Threshold, quote


@dataclass(frozen=True, eq=False)
class CandidateTrace:
    """One candidate: the test in words, what each branch holds, what it gains and how that is computed."""

    lens: NumberFormat
    candidate: Candidate
    encoding: Encoding
    by_branch: tuple[Rows, ...] = ()  # the rows of each branch, where the tree itself has sent them

    @cached_property
    def words(self) -> str:
        """The test as the tree says it: ``x1 <= 0.5``; where rows are missing, ``x1 > 0.5 or missing``."""
        return _test_text(self.candidate.split, self.encoding, self.candidate.missing_rows)

    @cached_property
    def label(self) -> str:
        """The test as lists say it, always by its first branch: ``x1 <= 0.5 (missing with >)``."""
        return first_branch_text(self.candidate.split, self.encoding, self.candidate.missing_rows)

    @property
    def branches(self) -> tuple[tuple[float, ...], ...]:
        """The class counts of each branch (weights, if rows have any); for regression weight and mean."""
        return tuple(b.counts or (b.weight, b.value or 0.0) for b in self.parts)

    @cached_property
    def parts(self) -> tuple[BranchTerm, ...]:
        """Each branch with its rows, weight, counts or mean, and impurity."""
        groups = self.candidate.branches
        if self.lens.training_set.target.task == "classification":
            return tuple(self.lens.branch(g, self.lens.rows) for g in groups)
        return tuple(self.lens.branch(g, self.lens.rows[self.taken == i]) for i, g in enumerate(groups))

    @property
    def taken(self) -> encode.Array:
        """The branch each row of the node takes."""
        if self.by_branch:
            numbers = [np.full(len(rows), i) for i, rows in enumerate(self.by_branch)]
            return np.concatenate(numbers)[np.argsort(np.concatenate(self.by_branch))]
        values = self.lens.training_set.columns[self.candidate.order.column][self.lens.rows]
        return branches_of_values(self.candidate.split, self.encoding, values)

    @property
    def gain(self) -> float:
        """The decrease of impurity."""
        return self.lens.gain(self.candidate.gain)

    @property
    def score(self) -> float:
        """What candidates of a column compete by: the gain (for ``any`` per further branch), or its ratio."""
        return shown_score(self.lens, self.candidate.score, not self.lens.training_set.criterion.by_gain)

    @property
    def eligible(self) -> bool:
        """Whether every branch meets the limits on leaves."""
        return self.candidate.eligible

    @cached_property
    def parsed(self) -> Formula:
        """The formula in its parts."""
        rule = self.lens.training_set.criterion.rule
        shared = len(self.candidate.filled) - 1 if rule == "gain" and self.lens.training_set.by_branches else 1
        return self.lens.formula(self.parts, ratio=rule == "ratio", shared_by=shared)

    @property
    def formula(self) -> str:
        """The gain as a formula: ``12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]``."""
        return self.parsed.text

    @property
    def arithmetic(self) -> str:
        """The formula with its numbers put in."""
        return self.parsed.arithmetic


def _test_text(split: Split, encoding: Encoding, missing_rows: int) -> str:
    """Say a test as the tree does; where rows are missing, by the branch they take if that has words of its own.

    >>> _test_text(Threshold("age", 71.5, missing=1), Encoding("age", "number"), 3)
    'age > 71.5 or missing'
    >>> _test_text(Multiway("GPA", ("3.5", "3.7")), Encoding("GPA", "nominal", ("3.5", "3.7")), 0)
    'GPA = 3.5 | 3.7'
    """
    if missing_rows and split.missing == 1 and not isinstance(split, Multiway | Presence):
        other = split.condition(1, encoding)
        if not other.endswith(" otherwise"):
            return f"{other} or missing"
    return first_branch_text(split, encoding, missing_rows)


def first_branch_text(split: Split, encoding: Encoding, missing_rows: int) -> str:
    """Say a test by its first branch, and in brackets where missing rows go if not there.

    >>> first_branch_text(Threshold("age", 71.5, missing=1), Encoding("age", "number"), 3)
    'age <= 71.5 (missing with >)'
    >>> first_branch_text(Threshold("age", 71.5, missing=0), Encoding("age", "number"), 3)
    'age <= 71.5 or missing'
    """
    name = safe(split.column)
    if isinstance(split, Presence):
        return f"{name} missing"
    if isinstance(split, Multiway):
        sides = [*map(quote, split.levels), *(["the others"] if split.other else [])]
        levels = [*sides[: len(split.levels)], *(["other"] if split.other else [])]
        said = f"{name} {'is' if encoding.kind == 'boolean' else '='} {' | '.join(levels)}"
    else:
        said = split.condition(0, encoding)
        sides = ["", ">" if " <= " in said else "the others"]
    if not missing_rows:
        return said
    if split.missing >= len(sides):
        return f"{said} (missing apart)"
    return f"{said} (missing with {sides[split.missing]})" if sides[split.missing] else f"{said} or missing"


def same_partition(a: CandidateTrace, b: CandidateTrace) -> bool:
    """Tell whether two tests of a column part the rows alike, as do all thresholds between two neighbours."""
    one, other = a.candidate, b.candidate
    if one.order.column != other.order.column or one.gain != other.gain:
        return False
    return np.array_equal(number_by_first_row(a.taken), number_by_first_row(b.taken))


def number_by_first_row(taken: encode.Array) -> encode.Array:
    """Number branches by the first row that takes each, so that equal partings get equal numbers.

    >>> number_by_first_row(np.array([2, 0, 2])).tolist(), number_by_first_row(np.array([1, 7, 1])).tolist()
    ([0, 1, 0], [0, 1, 0])
    """
    _, first, place = np.unique(taken, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]


def branches_of_values(split: Split, encoding: Encoding, values: encode.Array) -> encode.Array:
    """Return the branch each encoded value takes."""
    if isinstance(split, Presence):
        taken = np.full(len(values), 1 - split.missing)
    elif isinstance(split, Threshold):
        taken = (values > np.array([split.cut])).astype(np.int64)  # an array: float32 is compared as double
    else:
        by_level = [split.branch(level, encoding) for level in encoding.levels]
        taken = np.array([-1 if b is None else b for b in [*by_level, -1]], np.int64)[values]
    taken[encode.is_missing(encoding, values)] = split.missing
    return taken


def shown_score(lens: NumberFormat, score: int, is_ratio: bool) -> float:
    """Convert the score of a candidate into the number that is shown: a ratio, or a gain in the reader's unit."""
    return float(score) * 2.0**-RATIO_BITS if is_ratio else lens.gain(score)
