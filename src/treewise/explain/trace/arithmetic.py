"""The formula of a gain in its parts, which text, Markdown and LaTeX write each in their notation.

The lowest module of the trace. The formula is that of CS221 section 5, m·H(p) minus the impurity of the branches:

    12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]        the formula
    12 − [4(0) + 5(0.97095) + 3(0)]              the arithmetic: the same with the values substituted

``NumberFormat`` converts the integers of the search into the reader's unit and chooses the number of digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from treewise._lib.latex import BLANK
from treewise.train.candidates import Rows
from treewise.train.criteria import NodeImpurity, RowStats, entropy, logarithm, medians
from treewise.train.price import NodePrice
from treewise.train.reference import Candidate, impurity_decrease
from treewise.train.training_set import TrainingSet

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class Term:
    """One summand: a weight times the impurity of some rows."""

    weight: str  # "4", "4/12" per row, "" for 1
    letter: str
    shares: tuple[str, ...]  # "3/5", of the positive class or of every class; empty for numbers
    branch_number: int  # the number of the branch, from 1, for Var₁; 0 for the node itself
    value: str

    @property
    def text(self) -> str:
        """``5·H(3/5)`` or ``5·Var₂``; for the node itself ``Var(node)``."""
        impurity = (
            self.name
            if self.branch_number and not self.shares
            else f"{self.letter}({', '.join(self.shares) or 'node'})"
        )
        return f"{self.weight}{'·' if self.weight else ''}{impurity}"

    @property
    def name(self) -> str:
        """The impurity of a branch: ``Var₂``."""
        return self.letter + str(self.branch_number).translate(_SUBSCRIPTS)

    def numbers(self, blanks: bool = False) -> str:
        """Return the term with its value: ``5(0.97095)``."""
        value = BLANK if blanks else self.value
        return f"{self.weight}({value})" if self.weight else value


@dataclass(frozen=True)
class Formula:
    """How a score is computed: before − [branches], minus a penalty or divided for some criteria."""

    before: Term  # the node itself
    terms: tuple[Term, ...]
    penalty: tuple[str, str] | None = None  # for choosing among many tests, as formula and number
    divisor: Term | str | None = None  # the split information, or the number of branches − 1
    after: str = ""  # the value of the bracket: the impurity after the split, H(Y|Z)

    def pieces(self, numbers: bool = False, blanks: bool = False) -> list[str]:
        """Return the formula in pieces between which a line may be broken."""
        terms = [term.numbers(blanks) if numbers else term.text for term in self.terms]
        before = self._format_before(numbers, blanks)
        pieces = [f"{'(' if self.divisor else ''}{before} − [{terms[0]}", *(f" + {term}" for term in terms[1:])]
        pieces[-1] += "]"
        if self.penalty:
            pieces.append(f" − {(BLANK if blanks else self.penalty[1]) if numbers else self.penalty[0]}")
        if self.divisor:
            pieces[-1] += ")"
            pieces.append(f" / {self._format_divisor(numbers, blanks)}")
        return pieces

    def difference(self, blanks: bool = False) -> str:
        """Return the formula with the value of its bracket: ``0.5983 − 0.4807``."""
        before, after = (BLANK, BLANK) if blanks else (self.before.value, self.after)
        text = f"{before} − {after}"
        if self.penalty:
            text += f" − {BLANK if blanks else self.penalty[1]}"
        return f"({text}) / {self._format_divisor(True, blanks)}" if self.divisor else text

    def _format_before(self, numbers: bool, blanks: bool) -> str:
        if blanks:
            return BLANK if numbers else self.before.text
        return self.before.value

    def _format_divisor(self, numbers: bool, blanks: bool) -> str:
        if not isinstance(self.divisor, Term):
            return self.divisor or ""
        text = self.divisor.numbers(blanks) if numbers else self.divisor.text
        return f"[{text}]" if self.divisor.weight else text

    @property
    def text(self) -> str:
        """The formula on one line."""
        return "".join(self.pieces())

    @property
    def arithmetic(self) -> str:
        """The formula on one line, with its values substituted."""
        return "".join(self.pieces(numbers=True))


@dataclass(frozen=True)
class BranchTerm:
    """The rows of one branch, in the user's numbers."""

    rows: int
    weight: float
    counts: tuple[float, ...]  # of each class; empty for regression
    value: float | None  # regression: the mean, or the median for absolute error
    impurity: float  # per row, in the unit of the trace


@dataclass(frozen=True, eq=False)
class NumberFormat:
    """Converts the integers of one node into numbers in the reader's unit, per row or in total, and formats them."""

    training_set: TrainingSet
    rows: Rows
    node: RowStats
    measure: NodeImpurity
    unit: str = "bits"
    per: str = "row"

    # -- numbers --------------------------------------------------------------------------------------------

    @property
    def letter(self) -> str:
        """The symbol of the criterion's impurity in formulas."""
        return self.training_set.criterion.letter

    @property
    def shown_unit(self) -> str:
        """The unit to print after a number; "" if the criterion has none."""
        return self.unit if self.training_set.criterion.unit == "bits" else self.training_set.criterion.unit

    @property
    def log(self) -> str:
        """The logarithm of the unit in formulas."""
        return "ln" if self.unit == "nats" else "log₂"

    @cached_property
    def _factor(self) -> float:
        """One bit in the unit."""
        return logarithm(self.unit)(2.0) if self.training_set.criterion.unit == "bits" else 1.0

    @cached_property
    def whole(self) -> BranchTerm:
        """The node itself."""
        return self.branch(self.node, self.rows)

    @property
    def before(self) -> float:
        """The impurity of the node, per row or in total."""
        return self.scale(self.whole.impurity)

    def scale(self, per_row: float) -> float:
        """Convert a number per row into one per row or in total."""
        return per_row * self.whole.weight if self.per == "total" else per_row

    def gain(self, gain: int) -> float:
        """Convert an integer gain; a gain within the measure's tolerance of 0 is 0."""
        if abs(gain) <= self.measure.tolerance(len(self.rows)):
            return 0.0
        return self.scale(impurity_decrease(self.training_set, self.measure, gain, self.node.weight) * self._factor)

    @cached_property
    def prices(self) -> NodePrice:
        """Converts bits to gains at the node."""
        return NodePrice.of(self.training_set, self.rows, self.node, self.measure)

    def price(self, candidate: Candidate) -> tuple[str, float] | None:
        """Return what a candidate pays to compete, as formula and number; None if nothing."""
        if candidate.feature_cost:
            cost, other = self.gain(candidate.feature_cost), self.price(replace(candidate, feature_cost=0))
            return ("cost", cost) if other is None else (f"{other[0]} − cost", other[1] + cost)
        if not candidate.naming_bits:
            return None
        net = self.prices.subtract(candidate.total_gain, 0, candidate.naming_bits)[0]
        value, bits = self.gain(candidate.total_gain) - self.gain(net), f"{candidate.naming_bits:,}"
        if self.training_set.criterion.name != "entropy":
            return f"price({bits} bits)", value
        text = bits if self.unit == "bits" else f"{bits}·ln(2)"
        whole = self.whole
        if self.per == "row":
            return f"{text}/{whole.rows}", value
        return (text if whole.weight == whole.rows else f"{text}·{_plain(whole.weight)}/{whole.rows}"), value

    def weight(self, weight: int) -> float:
        """Return a weight in the user's numbers, as an int if it is whole."""
        value = math.ldexp(weight, -self.training_set.weight_scale)
        return int(value) if value == int(value) else value

    def branch(self, stats: RowStats, rows: Rows) -> BranchTerm:
        """Describe the rows of a branch (or of the node)."""
        counts = tuple(self.weight(c) for c in stats.counts)
        return BranchTerm(
            stats.rows, self.weight(stats.weight), counts, self._centre(stats), self._impurity(stats, rows)
        )

    def _centre(self, stats: RowStats) -> float | None:
        if self.training_set.target.task == "classification" or not stats.rows:
            return None
        scale = -self.training_set.target_scale
        if self.training_set.criterion.centre == "median":
            low, high = medians(stats)
            return math.ldexp(float(low) / 2 + float(high) / 2, scale)
        return math.ldexp(float(stats.target_sum) / float(stats.weight), scale)

    def _impurity(self, stats: RowStats, rows: Rows) -> float:
        """Return the impurity per row of a set of rows.

        The integers of squared error and Poisson omit a constant of the node (``train/criteria.py``), so these are
        computed from the targets.
        """
        if not stats.rows:
            return 0.0
        name = self.training_set.criterion.name
        if name == "squared_error":
            return _variance(self.training_set.raw[rows], self.training_set.weight[rows])
        if name == "poisson":
            return _half_deviance(self.training_set.raw[rows], self.training_set.weight[rows])
        total = self.measure.total_impurity(stats)
        return impurity_decrease(self.training_set, self.measure, total, stats.weight) * self._factor

    # -- digits ---------------------------------------------------------------------------------------------

    @cached_property
    def decimals(self) -> int:
        """The number of decimals of a gain: as in the notes 3 in total and 4 per row, or five significant digits."""
        before = abs(self.before)
        if self.training_set.target.task == "classification" and (before == 0 or before >= 0.01):
            return 3 if self.per == "total" else 4
        return min(15, max(0, 4 - math.floor(math.log10(before)))) if 0 < before < math.inf else 4

    def format(self, value: float) -> str:
        """Format a gain or an impurity."""
        if not 1e-12 < abs(value) < 1e15 and value != 0:
            return f"{value:.5g}"
        text = f"{value:,.{self.decimals}f}"
        return text[1:] if text.startswith("-") and not text.strip("-0.,") else text

    def format_inside(self, value: float, decimals: int) -> str:
        """Format a number inside a formula: 0 and whole entropies without decimals, as in the notes."""
        is_whole = abs(value) < 1e15 and value == int(value)
        if is_whole and (value == 0 or self.training_set.target.classes):
            return f"{int(value):,}"
        return f"{value:,.{decimals}f}" if 1e-12 < abs(value) < 1e15 else f"{value:.5g}"

    # -- formulas -------------------------------------------------------------------------------------------

    def formula(
        self,
        branches: tuple[BranchTerm, ...],
        penalty: tuple[str, float] | None = None,
        ratio: bool = False,
        divide_by: int = 1,
    ) -> Formula:
        """Return the formula of a split's gain, divided by its split information or by the number of branches − 1."""
        terms = tuple(self.term(b, branch_number) for branch_number, b in enumerate(branches, start=1) if b.rows)
        divisor: Term | str | None = self.split_information(branches) if ratio else None
        if divide_by > 1:
            divisor = str(divide_by)
        formatted = (penalty[0], self.format(penalty[1])) if penalty else None
        whole = replace(self.whole_term(), value=self.format_inside(self.before, self.decimals))
        after = self.scale(sum(b.weight * b.impurity for b in branches if b.rows) / self.whole.weight)
        return Formula(whole, terms, formatted, divisor, self.format_inside(after, self.decimals))

    def term(self, branch: BranchTerm, branch_number: int) -> Term:
        """Return the term of a branch."""
        decimals = max(5, self.decimals + 1) if branch.counts else self.decimals + (self.per == "total")
        return Term(
            self._share(branch.weight),
            self.letter,
            self.shares(branch),
            branch_number,
            self.format_inside(branch.impurity, decimals),
        )

    def whole_term(self) -> Term:
        """Return the term of the node itself, ``12·H(6/12)``."""
        weight = _plain(self.whole.weight) if self.per == "total" else ""
        shares = self.shares(self.whole) if len(self.training_set.target.classes) == 2 else ()
        return Term(weight, self.letter, shares, 0, self.format(self.before))

    def split_information(self, branches: tuple[BranchTerm, ...]) -> Term:
        """Return the entropy of the branch sizes, the divisor of the gain ratio (Quinlan 1993, 2.2)."""
        sizes = [b.weight for b in branches if b.rows]
        value = entropy(sizes, "nats" if self.unit == "nats" else "bits")
        weight = _plain(self.whole.weight) if self.per == "total" else ""
        total = _plain(self.whole.weight)
        return Term(weight, "H", tuple(f"{_plain(s)}/{total}" for s in sizes), 0, self.format_inside(value, 5))

    def shares(self, branch: BranchTerm) -> tuple[str, ...]:
        """Return the class shares: of the positive class, or of all classes present at the node."""
        if not branch.counts:
            return ()
        if len(branch.counts) == 2:
            return (f"{_plain(branch.counts[1])}/{_plain(branch.weight)}",)
        present = [c for c, in_node in zip(branch.counts, self.whole.counts, strict=True) if in_node]
        return tuple(f"{_plain(c)}/{_plain(branch.weight)}" for c in present)

    def _share(self, weight: float) -> str:
        return _plain(weight) if self.per == "total" else f"{_plain(weight)}/{_plain(self.whole.weight)}"

    def threshold_penalty(self, cuts: int) -> tuple[str, float]:
        """Return what C4.5 subtracts from a threshold's gain, log2(thresholds tried)/n, as formula and number."""
        value, rows, weight = logarithm(self.unit)(cuts), self.whole.rows, self.whole.weight
        if self.per == "row":
            return f"{self.log}({cuts})/{rows}", value / rows
        times = "" if weight == rows else f"·{_plain(weight)}/{rows}"
        return f"{self.log}({cuts}){times}", value * weight / rows


def _plain(weight: float) -> str:
    """Format a count inside a formula: without thousands separators, fractional weights to four digits.

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
    >>> _half_deviance(np.array([4.9, 4.9, 4.9]), np.array([4, 1, 1]))  # without the rounding of logarithms
    0.0
    """
    w = weight / weight.sum()
    mean = float(np.sum(w * y))
    if mean <= 0 or np.all(y == y[0]):
        return 0.0
    positive = y > 0
    return float(np.sum(w[positive] * y[positive] * (np.log(y[positive]) - math.log(mean))))
