"""The criteria, which measure how good a split is.

Used by ``train/reference.py`` to score candidates; the core (``src/core/criteria``) computes the same integers. The
first half of this file is the public functions ``entropy``, ``gini``, ``information_gain`` … in floats, as the notes
define them. The second half is what the learner decides by.

**Why integers.** Sums of doubles depend on their order, and two splits that are equally good on paper differ in their
last digits: the winner would depend on the order of the rows, the threads and the compiler. Therefore class weights and
targets are integers (``train/fixed_point.py``), and so is a branch's *total impurity* (m·H, CS221 notes 6), in units of
2^-61:

    entropy         m·log2 m − Σ c·log2 c
    gini            m − Σ c² / m
    error           m − max c
    squared error   − S² / m        about the node's mean; Σ y² is the same for all splits of a node and left out
    poisson         − S·log2(S / m)
    absolute error  Σ |y − median|

Integer sums are the same in any order. Logarithms and quotients are rounded, with a known, tiny error bound
(``NodeImpurity.tolerance``); gains that are closer than that are a tie, and ties are decided by the documented order,
never by rounding.

A criterion is a function that returns the total impurity of some rows, and an entry in ``CRITERIA``. One that compares
the branches with each other instead (the gain ratio) is a function in ``RULES``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from operator import add
from typing import Any, Literal, NamedTuple

from treewise.errors import ParameterError, brief, did_you_mean

Unit = Literal["bits", "nats"]
Per = Literal["row", "total"]

# -- public functions, in floats ----------------------------------------------------------------------------------


def _shares(counts: Sequence[float]) -> list[float]:
    """Convert counts or probabilities into probabilities; refuse anything else."""
    try:
        values = [float(c) for c in counts]
    except (TypeError, ValueError, OverflowError):
        values = []
    if not values or any(not math.isfinite(v) or v < 0 for v in values) or sum(values) <= 0:
        raise ParameterError(f"{brief(counts)}: counts or probabilities must be 0 or more, finite, and not all 0.")
    total = math.fsum(values)
    return [v / total for v in values]


def _number_table(name: str, rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """Convert rows of counts, all of one length, into floats."""
    try:
        table = [[float(cell) for cell in row] for row in rows]
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("must be rows of numbers, such as [[3, 0], [1, 2]].", parameter=name, value=rows) from None
    if len({len(row) for row in table}) != 1:
        raise ParameterError("every row must have the same number of cells.", parameter=name, value=rows)
    return table


def entropy(counts: Sequence[float], unit: Unit = "bits") -> float:
    """Return the entropy H = −Σ p·log p of counts or probabilities (chapter 8, "Score functions").

    >>> entropy([3, 2])
    0.9709505944546686
    >>> round(entropy([0.5, 0.5], unit="nats"), 2)            # ID3 notes: log 2
    0.69
    >>> entropy([7, 0])                                       # 0·log 0 = 0
    0.0
    """
    log = logarithm(unit)
    return math.fsum(-p * log(p) for p in _shares(counts) if p > 0) + 0.0


def gini(counts: Sequence[float]) -> float:
    """Return the Gini index 1 − Σ p² of counts or probabilities (chapter 8, "Gini index").

    >>> round(gini([4, 3]), 3)
    0.49
    """
    return 1.0 - math.fsum(p * p for p in _shares(counts))


def error(counts: Sequence[float]) -> float:
    """Return the share of rows that are not of the largest class.

    >>> error([6, 2])
    0.25
    """
    return 1.0 - max(_shares(counts))


def conditional_entropy(
    joint: Sequence[Sequence[float]], given: Literal["rows", "columns"] = "rows", unit: Unit = "bits"
) -> float:
    """Return H(X|Z) = Σ P(Z=z)·H(X|Z=z) of a joint table; ``given`` says whether Z runs over rows or columns.

    >>> round(conditional_entropy([[1/3, 1/3], [1/3, 0]], given="columns", unit="nats"), 3)     # ID3 notes: 2/3 log 2
    0.462
    """
    groups = _groups_given(joint, given)
    weights = _shares([math.fsum(group) for group in groups])
    return math.fsum(w * entropy(group, unit) for w, group in zip(weights, groups, strict=True) if w > 0)


def _groups_given(joint: Sequence[Sequence[float]], given: str) -> list[list[float]]:
    """Return a joint table as one list of numbers for each value of the known variable."""
    if not isinstance(given, str) or given not in ("rows", "columns"):
        raise ParameterError(
            'must be "rows" or "columns", whichever holds the known variable.', parameter="given", value=given
        )
    table = _number_table("joint", joint)
    return table if given == "rows" else [list(column) for column in zip(*table, strict=True)]


def information_gain(
    parent: Sequence[Any],
    branches: Sequence[Sequence[float]] | None = None,
    per: Per = "row",
    unit: Unit = "bits",
    criterion: Literal["entropy", "gini", "error"] = "entropy",
    given: Literal["rows", "columns"] = "rows",
) -> float:
    """Return the decrease of impurity by a split: H(parent) − Σ m_i/m·H(branch i), times m for ``per="total"``.

    Instead of parent and branches a joint table may be given, as for ``conditional_entropy``: then it is
    H(X) − H(X|Z), and ``given`` says whether Z runs over its rows or its columns.

    >>> round(information_gain([6, 6], [[3, 0], [3, 2], [0, 4]], per="total"), 3)     # CS221 section 5, GPA
    7.145
    >>> round(information_gain([3, 4], [[2, 1], [1, 3]], criterion="gini"), 3)        # chapter 8, example 8-3
    0.085
    >>> joint = [[1/3, 1/3], [1/3, 0]]                                                # ID3 notes: X down, Z across
    >>> round(information_gain(joint, given="columns", unit="nats"), 3)
    0.174
    """
    if branches is None:
        if len(parent) == 0 or not all(hasattr(row, "__len__") for row in parent):
            raise ParameterError(
                "is needed in addition to the counts of the parent.",
                parameter="branches",
                hint="Or give a joint table alone, such as [[3, 0], [1, 2]].",
            )
        branches = _groups_given(parent, given)
        parent = [math.fsum(column) for column in zip(*branches, strict=True)]
    if not isinstance(per, str) or per not in ("row", "total"):
        raise ParameterError('must be "row" or "total".', parameter="per", value=per)
    _shares(parent)  # raises for anything but counts
    branches = _number_table("branches", branches)
    sums = [math.fsum(column) for column in zip(*branches, strict=True)]
    if len(sums) != len(parent) or any(not math.isclose(s, p, abs_tol=1e-9) for s, p in zip(sums, parent, strict=True)):
        raise ParameterError(
            f"branches add up to {sums}, but parent is {list(parent)}.", hint="Each row goes to one branch."
        )
    kinds: dict[str, Callable[[Sequence[float]], float]] = {
        "entropy": lambda counts: entropy(counts, unit),
        "gini": gini,
        "error": error,
    }
    if not isinstance(criterion, str) or criterion not in kinds:
        raise ParameterError(
            f"must be one of {', '.join(kinds)}.",
            parameter="criterion",
            value=criterion,
            hint=did_you_mean(criterion, kinds),
        )
    impurity = kinds[criterion]
    total = math.fsum(parent)
    after = math.fsum(math.fsum(b) * impurity(b) for b in branches if math.fsum(b) > 0)
    gain = max(0.0, total * impurity(parent) - after)
    return gain if per == "total" else gain / total


def logarithm(unit: str) -> Callable[[float], float]:
    """Return the logarithm of a unit.

    >>> logarithm("bits")(8.0)
    3.0
    """
    if not isinstance(unit, str) or unit not in ("bits", "nats"):
        raise ParameterError('must be "bits" or "nats".', parameter="unit", value=unit)
    return math.log2 if unit == "bits" else math.log


# -- the learner, in integers ------------------------------------------------------------------------------------------

FRACTION_BITS = 61  # bits after the point
_TWO = 1 << 64  # in the 63 bits that a logarithm is taken by


@lru_cache(maxsize=1 << 20)
def log2_fixed(n: int) -> int:
    """Return log2(n) in units of 2^-61, rounded down, by the same integer steps as the core.

    Normalise n to x in [1, 2) with 63 bits; squaring x doubles its logarithm, and whether x² reaches 2 is the next bit.

    >>> log2_fixed(8) == 3 << FRACTION_BITS, round(log2_fixed(10) / 2**FRACTION_BITS, 12)
    (True, 3.321928094887)
    """
    exponent = n.bit_length() - 1
    x = (n << (63 - exponent)) if exponent <= 63 else (n >> (exponent - 63))
    result = exponent
    for _ in range(FRACTION_BITS):
        x = (x * x) >> 63
        if x < _TWO:
            result += result
        else:
            result += result + 1
            x >>= 1
    return result


@lru_cache(maxsize=1 << 20)
def nlogn(n: int) -> int:
    """Return n·log2(n) in units of 2^-61, with 0·log 0 = 0.

    >>> nlogn(0), nlogn(4) == 8 << FRACTION_BITS
    (0, True)
    """
    return n * log2_fixed(n) if n > 0 else 0


class RowStats(NamedTuple):
    """The statistics of some rows: all that a criterion may depend on. Groups can be added.

    >>> RowStats(rows=2, weight=2, counts=(1, 1)) + RowStats(rows=3, weight=3, counts=(3, 0))
    RowStats(rows=5, weight=5, counts=(4, 1), target_sum=0, low=0, high=0, targets=())
    """

    rows: int = 0
    weight: int = 0
    counts: tuple[int, ...] = ()  # classification: weight of each class
    target_sum: int = 0  # regression: Σ w·y
    low: int = 0  # regression: smallest and largest y
    high: int = 0
    targets: tuple[tuple[int, int], ...] = ()  # absolute error: (y, w) of each row

    def __add__(self, other: RowStats) -> RowStats:  # type: ignore[override]
        if not self.rows or not other.rows:
            return self if self.rows else other
        return RowStats(
            self.rows + other.rows,
            self.weight + other.weight,
            tuple(map(add, self.counts, other.counts)),
            self.target_sum + other.target_sum,
            min(self.low, other.low),
            max(self.high, other.high),
            self.targets + other.targets,
        )


@dataclass(frozen=True)
class NodeImpurity:
    """A criterion prepared for one node: measures its branches in integers."""

    total_impurity: Callable[[RowStats], int]  # total impurity, up to a constant of the node
    unit_value: float  # what one unit is in total impurity of the user's numbers
    rounding: int = 0  # bound on the error of a gain, in units …
    per_branch: int = 0  # … plus this for each branch
    valid: Callable[[RowStats], bool] = field(default=lambda _: True)  # whether rows may be a branch at all
    shift: int = 0  # regression: bits cut off a sum of targets …
    fraction_bits: int = 0  # … and fractional bits that the square of one has

    def tolerance(self, branches: int) -> int:
        """Return the error bound of the gain of a split into this many branches."""
        return self.rounding + self.per_branch * branches


Likelihood = Literal["classes", "normal", "laplace", "poisson"]


@dataclass(frozen=True)
class Criterion:
    """A criterion: its task, its measure, and how its computations are shown."""

    name: str
    task: Literal["classification", "regression"]
    unit: str  # "bits" can also be shown as nats
    impurity_at: Callable[[RowStats], NodeImpurity]  # the measure of a node
    letter: str  # the symbol of the impurity in formulas …
    legend: str  # … and its meaning; {unit} is replaced by the unit of the trace
    legend_of_two: str = ""  # the same for two classes, p being the share of the second
    rule: str = "gain"  # how candidates are scored: one of RULES
    degree: int = 0  # how total impurity grows when targets are scaled: 2 for squares
    centre: Literal["mean", "median"] = "mean"  # the prediction of a regression node
    likelihood: Likelihood = "classes"  # how gains are converted to bits (train/price.py)
    impurity: str = ""  # the criterion whose impurity this is, if not its own: the core knows it by that name

    @property
    def by_gain(self) -> bool:
        """Whether the candidates of a column are compared by gain; C4.5 uses the ratio between columns only."""
        return self.rule in ("gain", "c45")

    @property
    def score_name(self) -> str:
        """The score as a phrase: the gain, the gain ratio …"""
        return RULES[self.rule].name or self.rule

    @property
    def score_heading(self) -> str:
        """The heading of a column of scores."""
        return RULES[self.rule].heading or self.score_name


# -- impurities -------------------------------------------------------------------------------------------------------


def _exact(
    total_impurity: Callable[[RowStats], int], unit_value: float = 2.0**-FRACTION_BITS
) -> Callable[[RowStats], NodeImpurity]:
    """Return the measure of an impurity that is computed without rounding: the same for every node."""
    measure = NodeImpurity(total_impurity, unit_value)
    return lambda _: measure


def _entropy_at(node: RowStats) -> NodeImpurity:
    """Error bound: less than two units per logarithm, times its count; the counts of all terms sum to at most 4·m."""
    return NodeImpurity(_entropy_total, unit_value=2.0**-FRACTION_BITS, rounding=8 * node.weight)


def _entropy_total(stats: RowStats) -> int:
    """m·H = m·log m − Σ c·log c."""
    return nlogn(stats.weight) - sum(map(nlogn, stats.counts))


def _gini_at(node: RowStats) -> NodeImpurity:
    """Exact except for one quotient per branch and one for the node."""
    del node
    return NodeImpurity(_gini_total, unit_value=2.0**-FRACTION_BITS, rounding=1, per_branch=1)


def _gini_total(stats: RowStats) -> int:
    """m·(1 − Σ p²) = m − Σ c²/m."""
    squares = sum(c * c for c in stats.counts)
    return (stats.weight << FRACTION_BITS) - (squares << FRACTION_BITS) // stats.weight


def _error_total(stats: RowStats) -> int:
    """m − max c."""
    return (stats.weight - max(stats.counts)) << FRACTION_BITS


def _squared_error_at(node: RowStats) -> NodeImpurity:
    """Σ (y − mean)² of a branch is Σ y² − S²/m, and Σ y² is the same for all splits of a node: compare −S²/m.

    S is taken about the node's mean. 126 bits hold its square and a fraction, so targets of few digits are measured
    exactly except for one quotient per branch. An S of more than 62 bits is truncated at the node's scale, so a node
    with small differences far from zero is measured as precisely as any other.
    """
    mean = node.target_sum // node.weight
    spread = node.high - node.low + 1
    bits = (node.weight * spread).bit_length()
    shift = max(0, bits - 62)
    fraction_bits = min(FRACTION_BITS, 126 - 2 * (bits - shift))

    def total_impurity(stats: RowStats) -> int:
        centred = (stats.target_sum - stats.weight * mean) >> shift
        return -((centred * centred << fraction_bits) // stats.weight)

    error = 1 + (2 * ((spread >> shift) + 1) << fraction_bits if shift else 0)  # a quotient, and a truncated S
    unit_value = math.ldexp(1.0, 2 * shift - fraction_bits)
    return NodeImpurity(
        total_impurity, unit_value, rounding=error, per_branch=error, shift=shift, fraction_bits=fraction_bits
    )


def _poisson_at(node: RowStats) -> NodeImpurity:
    """Half the deviance of a branch is Σ y·log y − S·log(S/m); the first sum is the same for all splits."""
    shift = max(0, node.target_sum.bit_length() - 56)

    def total_impurity(stats: RowStats) -> int:
        s = stats.target_sum >> shift
        return s * log2_fixed(stats.weight) - nlogn(s)

    unit_value = math.log(2) * math.ldexp(1.0, shift - FRACTION_BITS)
    truncation = 64 << FRACTION_BITS if shift else 0  # error bound of a truncated S, in a branch and in the node
    rounding = 8 * (node.target_sum >> shift) + truncation
    return NodeImpurity(
        total_impurity, unit_value, rounding, per_branch=truncation, valid=lambda g: g.target_sum > 0, shift=shift
    )


def medians(stats: RowStats) -> tuple[int, int]:
    """Return the lower and the upper median of the weighted targets; equal unless the weight splits evenly.

    >>> medians(RowStats(rows=2, weight=2, targets=((1, 1), (5, 1))))
    (1, 5)
    """
    ordered = sorted(stats.targets)
    cumulative = list(accumulate(w for _, w in ordered))
    lower = next(y for (y, _), r in zip(ordered, cumulative, strict=True) if 2 * r >= stats.weight)
    upper = next(y for (y, _), r in zip(ordered, cumulative, strict=True) if 2 * r > stats.weight)
    return lower, upper


def _absolute_error_total(stats: RowStats) -> int:
    """Σ w·|y − median|."""
    middle = medians(stats)[0]
    return sum(w * abs(y - middle) for y, w in stats.targets)


# -- rules: how a gain becomes the score that candidates are compared by ----------------------------------------------

RATIO_BITS, RATIO_TOLERANCE = 60, 1 << 15  # gain ratios are integers in units of 2^-60

Score = tuple[int, int]  # and its tolerance


@dataclass(frozen=True)
class ScoreRule:
    """How the score of a candidate follows from its gain and tolerance, the node and the branches that hold rows."""

    legend: str  # appended to the criterion's own
    score: Callable[[int, int, RowStats, Sequence[RowStats]], Score]
    name: str = ""  # what the score is called in sentences, by default as in RULES …
    heading: str = ""  # … and above a column of scores, by default the same


def _score_by_gain(gain: int, tolerance: int, node: RowStats, branches: Sequence[RowStats]) -> Score:
    del node, branches
    return gain, tolerance


def _score_by_ratio(gain: int, tolerance: int, node: RowStats, branches: Sequence[RowStats]) -> Score:
    return gain_ratio(gain, node, branches), gain_ratio(tolerance, node, branches) + RATIO_TOLERANCE


def gain_ratio(gain: int, node: RowStats, branches: Sequence[RowStats]) -> int:
    """Return the gain divided by the entropy of the branch sizes (Quinlan 1993, section 2.2), in units of 2^-60."""
    split_information = nlogn(node.weight) - sum(nlogn(g.weight) for g in branches)
    return int(math.ldexp(float(gain) / float(split_information), RATIO_BITS))


_RATIO_LEGEND = "divided by H of the branch sizes: the gain ratio"
RULES = {
    "gain": ScoreRule("", _score_by_gain),
    "ratio": ScoreRule(_RATIO_LEGEND, _score_by_ratio, "gain ratio", "ratio"),
    "c45": ScoreRule(
        _RATIO_LEGEND, _score_by_gain, "gain ratio", "ratio"
    ),  # within a column; columns by their ratio (reference.py)
}


# -- the registry -----------------------------------------------------------------------------------------------------

_ENTROPY = Criterion(
    "entropy", "classification", "bits", _entropy_at, "H", "H in {unit}, of the class shares", "H(p) in {unit}"
)
CRITERIA: dict[str, Criterion] = {
    c.name: c
    for c in (
        _ENTROPY,
        Criterion(
            "gini",
            "classification",
            "",
            _gini_at,
            letter="G",
            legend="G = 1 − Σ p², over the class shares p",
            legend_of_two="G(p) = 1 − p² − (1 − p)²",
        ),
        Criterion(
            "error",
            "classification",
            "",
            _exact(_error_total),
            letter="E",
            legend="E = 1 − max p, over the class shares p",
            legend_of_two="E(p) = min(p, 1 − p)",
        ),
        replace(_ENTROPY, name="gain_ratio", rule="ratio", impurity="entropy"),
        replace(_ENTROPY, name="c45", rule="c45", impurity="entropy"),
        Criterion(
            "squared_error",
            "regression",
            "",
            _squared_error_at,
            letter="Var",
            legend="Var: variance about the mean; a branch is [rows mean]",
            degree=2,
            likelihood="normal",
        ),
        Criterion(
            "absolute_error",
            "regression",
            "",
            _exact(_absolute_error_total, unit_value=1.0),
            letter="Dev",
            legend="Dev: mean distance from the median; a branch is [rows median]",
            degree=1,
            centre="median",
            likelihood="laplace",
        ),
        Criterion(
            "poisson",
            "regression",
            "nats",
            _poisson_at,
            letter="Dev",
            legend="Dev: half the mean Poisson deviance, in nats; a branch is [rows mean]",
            degree=1,
            likelihood="poisson",
        ),
    )
}


def list_criteria(task: str) -> str:
    """Return the criteria of a task as a phrase.

    >>> list_criteria("regression")
    'squared_error, absolute_error or poisson'
    """
    *names, last = [c.name for c in CRITERIA.values() if c.task == task]
    return f"{', '.join(names)} or {last}"


# Names of other libraries and books for the same criterion.
_SYNONYMS = {
    "log_loss": "entropy",
    "information_gain": "entropy",
    "misclassification": "error",
    "gini_index": "gini",
    "mse": "squared_error",
    "friedman_mse": "squared_error",  # n_l·n_r/(n_l + n_r)·(difference of means)²: the decrease of the sum of squares
    "mae": "absolute_error",
}
_SIMILAR = {"accuracy": "error", "classification_accuracy": "error", "infogain": "information_gain", "variance": "mse"}


def get_criterion(name: str) -> Criterion:
    """Return a criterion by its name or a synonym; the error for an unknown name lists them all.

    >>> get_criterion("log_loss").name                        # scikit-learn's second name of entropy
    'entropy'
    """
    if isinstance(name, str):
        name = _SYNONYMS.get(name, name)
    if not isinstance(name, str) or name not in CRITERIA:
        raise ParameterError(
            f"must be one of {', '.join(CRITERIA)}.",
            parameter="criterion",
            value=name,
            hint=did_you_mean(_SIMILAR.get(name, name) if isinstance(name, str) else name, (*CRITERIA, *_SYNONYMS)),
        )
    return CRITERIA[name]
