"""A gain as a sum in its parts, so that text, Markdown and LaTeX each write it in their own way.

The bottom of the trace. It is the sum of CS221 section 5, m·H(p) less what the branches keep of it:

    12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]        the formula
    12 − [4(0) + 5(0.97095) + 3(0)]              the arithmetic: the same with the numbers put in

The numbers come written; ``number_format.py`` decides their digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from treewise.train.candidates import Rows
from treewise.train.criteria import Group, Measure, entropy, logarithm, medians
from treewise.train.reference import impurity_decrease
from treewise.train.training_set import TrainingSet

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
BLANK = "_____"  # where an exercise sheet leaves a number open


@dataclass(frozen=True)
class Term:
    """One summand: so much weight, times the impurity of a group of rows."""

    weight: str  # "4", "4/12" per row, "" for once
    letter: str
    shares: tuple[str, ...]  # "3/5", of the positive class or of every class; empty for numbers
    place: int  # which branch, from 1, for Var₁; 0 for the node itself
    value: str

    @property
    def text(self) -> str:
        """Write ``5·H(3/5)``, or ``5·Var₂``; of the node itself ``Var(node)``."""
        of = self.name if self.place and not self.shares else f"{self.letter}({', '.join(self.shares) or 'node'})"
        return f"{self.weight}{'·' if self.weight else ''}{of}"

    @property
    def name(self) -> str:
        """Name the impurity of a branch: ``Var₂``."""
        return self.letter + str(self.place).translate(_SUBSCRIPTS)

    def numbers(self, blanks: bool = False) -> str:
        """Write ``5(0.97095)``."""
        value = BLANK if blanks else self.value
        return f"{self.weight}({value})" if self.weight else value


@dataclass(frozen=True)
class Formula:
    """What a candidate is judged by: before − [its branches], for some criteria less something or divided."""

    before: Term  # the node itself
    terms: tuple[Term, ...]
    less: tuple[str, str] | None = None  # C4.5: the price of choosing among many thresholds, as formula and number
    divisor: Term | str | None = None  # the split information, or the number of branches less one

    def pieces(self, numbers: bool = False, blanks: bool = False) -> list[str]:
        """Return the formula in pieces between which a line may be broken."""
        said = [term.numbers(blanks) if numbers else term.text for term in self.terms]
        before = self.start(numbers, blanks)
        pieces = [f"{'(' if self.divisor else ''}{before} − [{said[0]}", *(f" + {s}" for s in said[1:])]
        pieces[-1] += "]"
        if self.less:
            pieces.append(f" − {(BLANK if blanks else self.less[1]) if numbers else self.less[0]}")
        if self.divisor:
            pieces[-1] += ")"
            pieces.append(f" / {self._under(numbers, blanks)}")
        return pieces

    def start(self, numbers: bool, blanks: bool) -> str:
        """Write the impurity before: its number, or where that is to be found, how it is computed."""
        if blanks:
            return BLANK if numbers else self.before.text
        return self.before.value

    def _under(self, numbers: bool, blanks: bool) -> str:
        if not isinstance(self.divisor, Term):
            return self.divisor or ""
        said = self.divisor.numbers(blanks) if numbers else self.divisor.text
        return f"[{said}]" if self.divisor.weight else said

    @property
    def text(self) -> str:
        """The formula on one line."""
        return "".join(self.pieces())

    @property
    def arithmetic(self) -> str:
        """The formula on one line, its numbers put in."""
        return "".join(self.pieces(numbers=True))


@dataclass(frozen=True)
class BranchTerm:
    """The rows of one branch, in the user's numbers."""

    rows: int
    weight: float
    counts: tuple[float, ...]  # of each class; empty for regression
    value: float | None  # regression: the mean, or the median for absolute error
    impurity: float  # per row, in the number_format's unit


@dataclass(frozen=True, eq=False)
class NumberFormat:
    """How the numbers of one node are seen: its measure, the unit, per row or in total."""

    training_set: TrainingSet
    rows: Rows
    node: Group
    measure: Measure
    unit: str = "bits"
    per: str = "row"

    # -- numbers --------------------------------------------------------------------------------------------

    @property
    def letter(self) -> str:
        """What the criterion's impurity is called in formulas."""
        return self.training_set.criterion.letter

    @property
    def shown_unit(self) -> str:
        """The unit to print behind a number; "" when the criterion has none."""
        return self.unit if self.training_set.criterion.unit == "bits" else self.training_set.criterion.unit

    @property
    def log(self) -> str:
        """The unit's logarithm, as formulas write it."""
        return "ln" if self.unit == "nats" else "log₂"

    @cached_property
    def _factor(self) -> float:
        """What a bit is in the unit."""
        return logarithm(self.unit)(2.0) if self.training_set.criterion.unit == "bits" else 1.0

    @cached_property
    def whole(self) -> BranchTerm:
        """The node itself."""
        return self.branch(self.node, self.rows)

    @property
    def before(self) -> float:
        """The node's impurity, as it is shown."""
        return self.shown(self.whole.impurity)

    def shown(self, per_row: float) -> float:
        """Turn a number per row into the one asked for."""
        return per_row * self.whole.weight if self.per == "total" else per_row

    def gain(self, gain: int) -> float:
        """Turn an integer gain into the one shown; what is within the measure's tolerance of 0 is 0."""
        if abs(gain) <= self.measure.tolerance(len(self.rows)):
            return 0.0
        return self.shown(impurity_decrease(self.training_set, self.measure, gain, self.node.weight) * self._factor)

    def weight(self, weight: int) -> float:
        """Return a weight in the user's numbers, as an int when it is whole."""
        value = math.ldexp(weight, -self.training_set.weight_scale)
        return int(value) if value == int(value) else value

    def branch(self, group: Group, rows: Rows) -> BranchTerm:
        """Describe the rows of a branch (or of the node)."""
        counts = tuple(self.weight(c) for c in group.counts)
        return BranchTerm(
            group.rows, self.weight(group.weight), counts, self._centre(group), self._impurity(group, rows)
        )

    def _centre(self, group: Group) -> float | None:
        if self.training_set.target.task == "classification" or not group.rows:
            return None
        scale = -self.training_set.target_scale
        if self.training_set.criterion.centre == "median":
            low, high = medians(group)
            return math.ldexp(float(low) / 2 + float(high) / 2, scale)
        return math.ldexp(float(group.total) / float(group.weight), scale)

    def _impurity(self, group: Group, rows: Rows) -> float:
        """Return a group's impurity per row.

        The integers of squared error and Poisson leave out what all splits of a node share (``train/criteria.py``),
        so there it is computed from the targets themselves.
        """
        if not group.rows:
            return 0.0
        name = self.training_set.criterion.name
        if name == "squared_error":
            return _variance(self.training_set.raw[rows], self.training_set.weight[rows])
        if name == "poisson":
            return _half_deviance(self.training_set.raw[rows], self.training_set.weight[rows])
        total = self.measure.total(group)
        return impurity_decrease(self.training_set, self.measure, total, group.weight) * self._factor

    # -- digits ---------------------------------------------------------------------------------------------

    @cached_property
    def decimals(self) -> int:
        """How many decimals a gain has: as in the notes 3 in total and 4 per row, or five digits in all."""
        before = abs(self.before)
        if self.training_set.target.task == "classification" and (before == 0 or before >= 0.01):
            return 3 if self.per == "total" else 4
        return min(15, max(0, 4 - math.floor(math.log10(before)))) if 0 < before < math.inf else 4

    def format(self, value: float) -> str:
        """Write a gain or an impurity."""
        if not 1e-12 < abs(value) < 1e15 and value != 0:
            return f"{value:.5g}"
        said = f"{value:,.{self.decimals}f}"
        return said[1:] if said.startswith("-") and not said.strip("-0.,") else said

    def format_inside(self, value: float, decimals: int) -> str:
        """Write a number inside a formula: 0 as it is, and entropies that are whole, as in the notes."""
        whole = abs(value) < 1e15 and value == int(value)
        if whole and (value == 0 or self.training_set.target.classes):
            return f"{int(value):,}"
        return f"{value:,.{decimals}f}" if 1e-12 < abs(value) < 1e15 else f"{value:.5g}"

    # -- formulas -------------------------------------------------------------------------------------------

    def formula(
        self,
        branches: tuple[BranchTerm, ...],
        less: tuple[str, float] | None = None,
        ratio: bool = False,
        shared_by: int = 1,
    ) -> Formula:
        """Write the gain of a split; divided by its split information, or shared by its further branches."""
        terms = tuple(self.term(b, place) for place, b in enumerate(branches, start=1) if b.rows)
        divisor: Term | str | None = self.split_information(branches) if ratio else None
        if shared_by > 1:
            divisor = str(shared_by)
        price = (less[0], self.format(less[1])) if less else None
        whole = replace(self.whole_term(), value=self.format_inside(self.before, self.decimals))
        return Formula(whole, terms, price, divisor)

    def term(self, branch: BranchTerm, place: int) -> Term:
        """Write one branch's part of the sum."""
        decimals = max(5, self.decimals + 1) if branch.counts else self.decimals + (self.per == "total")
        return Term(
            self._share(branch.weight),
            self.letter,
            self.shares(branch),
            place,
            self.format_inside(branch.impurity, decimals),
        )

    def whole_term(self) -> Term:
        """Write the node's own impurity, ``12·H(6/12)``."""
        weight = _plain(self.whole.weight) if self.per == "total" else ""
        shares = self.shares(self.whole) if len(self.training_set.target.classes) == 2 else ()
        return Term(weight, self.letter, shares, 0, self.format(self.before))

    def split_information(self, branches: tuple[BranchTerm, ...]) -> Term:
        """Write the entropy of the branch sizes, which the gain ratio divides by (Quinlan 1993, 2.2)."""
        sizes = [b.weight for b in branches if b.rows]
        value = entropy(sizes, "nats" if self.unit == "nats" else "bits")
        weight = _plain(self.whole.weight) if self.per == "total" else ""
        of = _plain(self.whole.weight)
        return Term(weight, "H", tuple(f"{_plain(s)}/{of}" for s in sizes), 0, self.format_inside(value, 5))

    def shares(self, branch: BranchTerm) -> tuple[str, ...]:
        """Write the class shares: that of the positive class, or those of all classes present at the node."""
        if not branch.counts:
            return ()
        if len(branch.counts) == 2:
            return (f"{_plain(branch.counts[1])}/{_plain(branch.weight)}",)
        present = [c for c, here in zip(branch.counts, self.whole.counts, strict=True) if here]
        return tuple(f"{_plain(c)}/{_plain(branch.weight)}" for c in present)

    def _share(self, weight: float) -> str:
        return _plain(weight) if self.per == "total" else f"{_plain(weight)}/{_plain(self.whole.weight)}"

    def price(self, cuts: int) -> tuple[str, float]:
        """Return what C4.5 takes off a threshold's gain for having tried so many: log2(cuts) bits a row of n."""
        value, rows, weight = logarithm(self.unit)(cuts), self.whole.rows, self.whole.weight
        if self.per == "row":
            return f"{self.log}({cuts})/{rows}", value / rows
        times = "" if weight == rows else f"·{_plain(weight)}/{rows}"
        return f"{self.log}({cuts}){times}", value * weight / rows


def _plain(weight: float) -> str:
    """Write a count inside a formula: without thousands separators, weights to four digits.

    >>> _plain(4812), _plain(0.25), _plain(1 / 3)
    ('4812', '0.25', '0.3333')
    """
    return str(weight) if isinstance(weight, int) else f"{weight:.4g}"


def _variance(y: npt.NDArray[np.float64], weight: npt.NDArray[np.int64]) -> float:
    """Return the weighted variance about the mean.

    >>> _variance(np.array([1.0, 3.0]), np.array([1, 1]))
    1.0
    """
    scale = float(np.max(np.abs(y), initial=0.0)) or 1.0  # squares of huge targets must not overflow
    z, w = y / scale, weight / weight.sum()
    return float(np.sum(w * (z - np.sum(w * z)) ** 2)) * scale * scale


def _half_deviance(y: npt.NDArray[np.float64], weight: npt.NDArray[np.int64]) -> float:
    """Return half the mean Poisson deviance about the mean: Σ y·ln(y/mean) / n.

    >>> round(_half_deviance(np.array([1.0, 3.0]), np.array([1, 1])), 4)
    0.2616
    """
    w = weight / weight.sum()
    mean = float(np.sum(w * y))
    if mean <= 0:
        return 0.0
    some = y > 0
    return float(np.sum(w[some] * y[some] * (np.log(y[some]) - math.log(mean))))
