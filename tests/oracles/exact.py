"""A textbook tree learner in exact rational arithmetic, independent of treewise.

It is the oracle of ``test_against_exact.py``: given the same table, both must grow the same tree. So it
shares no code with the package and takes no short cut: at each node it lists every candidate test in a fixed
order, hands the rows to the branches, scores the branches from their rows, and keeps the first of the best.

    Problem (columns, y, weights) + Settings  ──grow──▶  [Node, Node, …] in pre-order

Nothing is decided by floating point. The impurity of a node is taken in total (weight times impurity): the
gain of a test is total(node) − Σ total(branch). With n the weight of the rows, c of each class, S = Σ w·y:

    gini           n − Σ c²/n                        a Fraction
    error          n − max c                         a Fraction
    squared_error  Σ w·y² − S²/n                     a Fraction
    absolute_error Σ w·|y − median|                  a Fraction
    entropy        n·log n − Σ c·log c               the logarithm of a Fraction
    poisson        Σ w·y·log y − S·log(S/n)          the same
    gain_ratio     entropy gain / split information  a quotient of logarithms: decimals of 60 digits

**Entropy without logarithms.** With integer weights, n·log n − Σ c·log c = log(n^n / Π c^c), so a gain is

    log [ (n^n / Π c^c)  /  Π over branches of (n_b^n_b / Π c_b^c_b) ]

and as the logarithm increases, gains compare as the fractions inside do: whole numbers, no rounding. Between
two tests of one node even the first factor cancels: the better one has the larger Π c_b^c_b / Π n_b^n_b.
Gains divided by whole numbers compare too: log(p)/i > log(q)/j exactly when p^j > q^i.
Poisson's gain Σ S_b·log(S_b/n_b) − S·log(S/n) is the logarithm of Π (S_b/n_b)^S_b / (S/n)^S; where y are not
whole numbers they are multiplied by their common denominator first, and the gain divided by it again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from tests.oracles.exact_numbers import DIGITS, TIE, Approximate, Log, ln, midpoint

Rows = list[int]

KIND_ORDER = ("threshold", "ordinal", "one_value", "subset", "multiway")


# -- what is given -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column: numbers (``levels`` is None), or categories with their declared levels in order."""

    name: str
    values: Sequence[Any]  # None is missing
    levels: tuple[str, ...] | None = None
    kinds: tuple[str, ...] = ("threshold",)  # the kinds of split allowed on it
    wide: bool = False  # integers past 2^53, compared and cut as integers


@dataclass(frozen=True)
class Settings:
    """What may be chosen; names and defaults are those of ``treewise.grow`` with a preset."""

    criterion: str = "entropy"
    missing: str = "learn"
    empty_branch: str = "parent"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    max_leaf_nodes: int | None = None
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    sufficient_accuracy: float = 1.0
    selection: str = "gain"
    min_level_rows: int = 1
    per_branch: bool = False  # "any": candidates compete by gain / (non-empty branches − 1)


@dataclass(frozen=True)
class Problem:
    """A training table; y are class numbers, or any numbers when there are no ``classes``."""

    columns: tuple[Column, ...]
    y: Sequence[int | float]
    weights: Sequence[int]  # whole numbers
    classes: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> Rows:
        """The rows that count: weight 0 is as good as absent."""
        return [row for row, weight in enumerate(self.weights) if weight > 0]

    def with_node_scale(self, rows: Rows) -> Problem:
        """Return the problem with y as a node of these rows takes them: as they are where all fit in 61 bits.

        Where they do not, they are rounded to a unit 61 bits below the table's largest |y|; a node whose own are
        smaller by 20 bits, or 40, or 60 …, takes a unit smaller by as much. None but 0 becomes 0.
        """
        top = magnitude(self.y[row] for row in self.rows)
        if self.classes or not rows or all(is_multiple(self.y[row], top - 61) for row in self.rows):
            return self
        own = magnitude(self.y[row] for row in rows)
        unit = Fraction(2) ** (top - 61 - (top - own) // 20 * 20)
        taken = [Fraction(y) for y in self.y]
        for row in rows:
            sign = (taken[row] > 0) - (taken[row] < 0)
            taken[row] = (round(taken[row] / unit) or sign) * unit
        return replace(self, y=taken)

    @cached_property
    def denominator(self) -> int:
        """The common denominator of y."""
        return math.lcm(*(Fraction(y).denominator for y in self.y))

    def weight(self, rows: Rows) -> int:
        """Sum the weights of some rows."""
        return sum(self.weights[row] for row in rows)

    def counts(self, rows: Rows) -> list[int]:
        """Sum the weights of some rows by class."""
        totals = [0] * len(self.classes)
        for row in rows:
            totals[int(self.y[row])] += self.weights[row]
        return totals

    def sum(self, rows: Rows, power: int = 1) -> Fraction:
        """Sum w·y, or w·y², over some rows."""
        return sum((self.weights[row] * Fraction(self.y[row]) ** power for row in rows), Fraction(0))

    def median(self, rows: Rows) -> Fraction:
        """Return the mean of the two middle values, each row standing there as often as its weight says."""
        last_place = 0
        places = []  # of each value, the last place it takes in the line of all, counted from 1
        for row in sorted(rows, key=lambda row: self.y[row]):
            last_place += self.weights[row]
            places.append((last_place, Fraction(self.y[row])))
        middle = ((last_place + 1) // 2, last_place // 2 + 1)
        return sum(next(y for last, y in places if last >= place) for place in middle) / Fraction(2)


def magnitude(numbers: Iterable[float]) -> int:
    """Return the smallest e such that no number reaches 2^e."""
    return math.frexp(max(abs(number) for number in numbers))[1]


def is_multiple(number: float, exponent: int) -> bool:
    """Tell whether a number is a whole multiple of 2^exponent."""
    return (Fraction(number) / Fraction(2) ** exponent).denominator == 1


# -- what comes out ------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """A split in plain words: its kind, the column, what it names, where missing values go."""

    kind: str
    column: str
    cut: float | None = None  # of a threshold
    levels: tuple[str, ...] = ()  # ordinal, one_value: one; subset: the listed; multiway: one a branch
    other: bool = False  # multiway: one more branch, for levels that are declared but absent
    missing: int = 0


@dataclass
class Node:
    """A node as it is grown: where it is, its rows, and either its question or why it has none."""

    path: tuple[int, ...]  # branch numbers from the root
    rows: Rows
    question: Question | None = None
    stop: str = ""
    missing_rows: int = 0
    gain: Fraction | Log = Fraction(0)  # of the question, in total
    branches: list[Rows] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


class Candidate(NamedTuple):
    """A question with the rows it sends to each branch."""

    question: Question
    branches: list[Rows]
    bits: int = 0  # its price

    @property
    def filled(self) -> list[Rows]:
        """The branches that have rows."""
        return [rows for rows in self.branches if rows]


# -- the criteria --------------------------------------------------------------------------------------------


def total_impurity(problem: Problem, rows: Rows, criterion: str) -> Any:
    """Return weight times impurity, a Fraction or Log; Poisson's without Σ w·y·log y: no test changes it."""
    n = problem.weight(rows)
    if criterion in ("entropy", "gain_ratio"):
        return Log(n**n, math.prod(c**c for c in problem.counts(rows)))
    if criterion == "gini":
        return n - Fraction(sum(c * c for c in problem.counts(rows)), n)
    if criterion == "error":
        return Fraction(n - max(problem.counts(rows)))
    if criterion == "squared_error":
        return problem.sum(rows, power=2) - problem.sum(rows) ** 2 / n
    if criterion == "absolute_error":
        middle = problem.median(rows)
        return sum((problem.weights[row] * abs(Fraction(problem.y[row]) - middle) for row in rows), Fraction(0))
    assert criterion == "poisson"
    total = int(problem.sum(rows) * problem.denominator)
    return Log(n**total, total**total, per=problem.denominator)


def impurity(problem: Problem, rows: Rows, criterion: str) -> float:
    """Return the impurity per unit of weight, in the criterion's unit."""
    total = in_units(total_impurity(problem, rows, criterion), criterion)
    if criterion == "poisson":
        scale = problem.denominator  # total_impurity takes y as multiples of 1/scale
        constant = sum(problem.weights[row] * y * math.log(y * scale) for row in rows if (y := problem.y[row]))
        return (float(total) + constant) / problem.weight(rows)
    return float(DIGITS.divide(total, Decimal(problem.weight(rows))))


def deviation(problem: Problem, rows: Rows) -> float:
    """Return the standard deviation about the mean."""
    total = in_units(total_impurity(problem, rows, "squared_error"), "squared_error")
    return float(DIGITS.sqrt(DIGITS.divide(total, Decimal(problem.weight(rows)))))


def total_gain(problem: Problem, rows: Rows, branches: list[Rows], criterion: str) -> Any:
    """Return how much of the node's total impurity a question takes away."""
    gain = total_impurity(problem, rows, criterion)
    for branch in branches:
        gain = gain - total_impurity(problem, branch, criterion)
    return gain


def score(problem: Problem, rows: Rows, branches: list[Rows], settings: Settings) -> Any:
    """Return what the candidates of one node are ranked by.

    Where kinds of split compete, the gain is taken per branch beyond the first, else the test with the most
    branches would always win; a gain ratio has been divided by its branches' information already.
    """
    gain = total_gain(problem, rows, branches, settings.criterion)
    if settings.criterion == "gain_ratio":
        n = problem.weight(rows)
        parts = [problem.weight(branch) for branch in branches]
        split_information = Log(n**n, math.prod(part**part for part in parts))
        return Approximate(DIGITS.divide(gain.nats(), split_information.nats()))
    return gain / (len(branches) - 1) if settings.per_branch else gain


def price_in_bits(problem: Problem, rows: Rows, kind: str, groups: int) -> int:
    """Return the bits that a test telling so many groups of levels apart pays: four are free."""
    predictions = max(1, sum(count > 0 for count in problem.counts(rows)) - 1) if problem.classes else 1
    bits = {"subset": groups - 1, "multiway": (groups - 2) * predictions}.get(kind, 0)
    return max(0, bits - 4)


def score_less_price(problem: Problem, rows: Rows, candidate: Candidate, settings: Settings) -> Approximate:
    """Return the gain less its price, as a share of the node's impurity.

    Classes: the node's impurity is worth its entropy in bits. Numbers: what is left is multiplied by two to the price
    per row, or twice that for squares.
    """
    whole = in_units(total_impurity(problem, rows, settings.criterion), settings.criterion)
    share = DIGITS.divide(
        in_units(total_gain(problem, rows, candidate.filled, settings.criterion), settings.criterion), whole
    )
    bits_per_row = DIGITS.divide(Decimal(candidate.bits), Decimal(len(rows)))
    if problem.classes:
        entropy = total_bits(problem, rows)
        weight = Decimal(problem.weight(rows))
        net = DIGITS.subtract(share, DIGITS.divide(DIGITS.multiply(bits_per_row, weight), entropy))
    else:
        exponent = bits_per_row * 2 if settings.criterion == "squared_error" else bits_per_row
        factor = DIGITS.exp(DIGITS.multiply(exponent, ln(2)))
        net = DIGITS.subtract(1, DIGITS.multiply(factor, DIGITS.subtract(1, share)))
    return Approximate(DIGITS.divide(net, Decimal(len(candidate.filled) - 1)) if settings.per_branch else net)


def total_bits(problem: Problem, rows: Rows) -> Decimal:
    """Return n·log2 n − Σ c·log2 c to some fifty digits: boosted weights are too large for the powers of ``Log``."""
    nats = Decimal(0)
    for factor, number in [(1, problem.weight(rows)), *((-1, count) for count in problem.counts(rows) if count)]:
        nats = DIGITS.add(nats, DIGITS.multiply(Decimal(factor * number), ln(number)))
    return DIGITS.divide(nats, ln(2))


def prediction(problem: Problem, rows: Rows, criterion: str) -> Any:
    """Return what a node says: its heaviest class (the first of equals), its mean, or its median."""
    if problem.classes:
        counts = problem.counts(rows)
        return problem.classes[counts.index(max(counts))]
    return problem.median(rows) if criterion == "absolute_error" else problem.sum(rows) / problem.weight(rows)


# -- every candidate, in order -------------------------------------------------------------------------------


def candidates(problem: Problem, rows: Rows, column: Column, settings: Settings) -> Iterator[Candidate]:
    """List a column's tests at a node: kind by kind, missing rows in each place, "missing | present" last."""
    present = [row for row in rows if column.values[row] is not None]
    absent = [row for row in rows if column.values[row] is None]
    own_branch = bool(absent) and settings.missing == "branch" and may_be_leaf(problem, absent, settings)
    for kind in sorted(column.kinds, key=KIND_ORDER.index):
        groups = group_by_value(present, column, kind, settings)
        priced = settings.selection == "priced"
        bits = price_in_bits(problem, rows, kind, len(groups)) if priced else 0
        for question, branches, first in questions(problem, groups, column, kind, settings.criterion):
            if own_branch:
                yield Candidate(question._replace(missing=len(branches)), [*branches, absent], bits)
            elif absent:
                for placed in each_place(question, branches, absent, first):
                    yield placed._replace(bits=bits)
            else:
                weights = [problem.weight(branch) for branch in branches]
                yield Candidate(question._replace(missing=weights.index(max(weights))), branches, bits)
    if present and absent:
        yield presence(column, present, absent)


def each_place(question: Question, branches: list[Rows], absent: Rows, first: int) -> Iterator[Candidate]:
    """Send the missing rows to each branch that has rows of its own, branch ``first`` before the others."""
    places = [place for place, rows in enumerate(branches) if rows or place < len(branches) - question.other]
    for place in sorted(places, key=lambda place: (place != first, place)):
        joined = [rows + absent if i == place else rows for i, rows in enumerate(branches)]
        yield Candidate(question._replace(missing=place), joined)


def presence(column: Column, present: Rows, absent: Rows) -> Candidate:
    """Return the test "missing or present"; the missing values come last where the column is cut in its order."""
    if column.levels is None or "ordinal" in column.kinds:
        return Candidate(Question("presence", column.name, missing=1), [present, absent])
    return Candidate(Question("presence", column.name, missing=0), [absent, present])


def divides(problem: Problem, candidate: Candidate, settings: Settings) -> bool:
    """Tell whether a test is one: two branches or more, none empty but ``other``, Poisson's sums > 0."""
    if len(candidate.filled) < max(2, len(candidate.branches) - candidate.question.other):
        return False
    return settings.criterion != "poisson" or all(problem.sum(branch) > 0 for branch in candidate.filled)


def within_limits(problem: Problem, candidate: Candidate, settings: Settings) -> bool:
    """Tell whether every branch that has rows has enough of them."""
    return all(is_large_enough(problem, rows, settings) for rows in candidate.filled)


def is_large_enough(problem: Problem, rows: Rows, settings: Settings) -> bool:
    """Tell whether some rows are enough for a leaf."""
    least = Fraction(repr(settings.min_weight_fraction_leaf)) * problem.weight(problem.rows)
    return len(rows) >= settings.min_samples_leaf and problem.weight(rows) >= least


def may_be_leaf(problem: Problem, rows: Rows, settings: Settings) -> bool:
    """Tell whether some rows may be a branch of their own: enough of them, and for Poisson a mean above 0."""
    return is_large_enough(problem, rows, settings) and (settings.criterion != "poisson" or problem.sum(rows) > 0)


# -- the questions of each kind ------------------------------------------------------------------------------

Bare = tuple[Question, list[Rows], int]  # a question, the rows present in each branch, where missing goes first


POOL = ("rare levels",)  # in the place of a level: those of too few rows to be named


def group_by_value(present: Rows, column: Column, kind: str, settings: Settings) -> dict[Any, Rows]:
    """Return the rows of each value; levels of few rows together, in columns of more than ten and out of order."""
    by_value: dict[Any, Rows] = {}
    for row in present:
        by_value.setdefault(column.values[row], []).append(row)
    if kind not in ("one_value", "subset", "multiway") or len(column.levels or ()) <= 10:
        return by_value
    rare = {value for value, rows in by_value.items() if len(rows) < settings.min_level_rows}
    named = {value: rows for value, rows in by_value.items() if value not in rare}
    return {**named, POOL: [row for value in rare for row in by_value[value]]} if rare else named


def questions(problem: Problem, by_value: dict[Any, Rows], column: Column, kind: str, criterion: str) -> Iterator[Bare]:
    """List the questions of one kind about a column, as if nothing were missing."""
    if kind == "threshold":
        for a, b in pairwise(sorted(by_value)):
            cut = (a + b) // 2 if column.wide else midpoint(float(a), float(b))
            yield Question(kind, column.name, cut=cut), halves(by_value, {v for v in by_value if v <= a}), 0
        return
    assert column.levels is not None
    levels = tuple(level for level in column.levels if level in by_value)
    if kind == "ordinal":
        for i, level in enumerate(levels[:-1]):
            yield Question(kind, column.name, levels=(level,)), halves(by_value, set(levels[: i + 1])), 0
    elif kind == "one_value":
        for level in levels if len(by_value) > 1 else ():  # one level against none is the test of presence
            yield Question(kind, column.name, levels=(level,)), halves(by_value, {level}), 0
    elif kind == "subset":
        for side in sides(problem, by_value, (*levels, POOL) if POOL in by_value else levels, criterion):
            yield listing_the_lighter(problem, column, by_value, side)
    elif levels:
        other = len(levels) < len(column.levels)
        branches = [by_value[level] for level in levels] + [by_value.get(POOL, [])] * other
        yield Question(kind, column.name, levels=levels, other=other), branches, 0


def halves(by_value: dict[Any, Rows], left: set[Any]) -> list[Rows]:
    """Return the rows whose value is in a set, and the others."""
    inside = [row for value, rows in by_value.items() if value in left for row in rows]
    outside = [row for value, rows in by_value.items() if value not in left for row in rows]
    return [inside, outside]


def sides(problem: Problem, by_value: dict[Any, Rows], levels: tuple[str, ...], criterion: str) -> Iterator[set[str]]:
    """List the sets of levels to be tried as one side of a subset test.

    Two classes and regression: the beginnings of the levels' order by rate of the second class, by mean, or
    for absolute error by median. More classes: up to ten levels every way of putting levels with or against
    the first; beyond, the beginnings of the orders by each class's rate, for the 64 heaviest classes (no
    table here has as many).
    """
    many_classes = len(problem.classes) > 2
    if many_classes and len(levels) <= 10:
        for number in range(1, 2 ** max(0, len(levels) - 1)):
            yield {level for j, level in enumerate(levels) if j == 0 or not number >> (j - 1) & 1}
        return
    for wanted in range(len(problem.classes)) if many_classes else (1,):
        rates = {level: rate(problem, by_value[level], wanted, criterion) for level in levels}
        order = sorted(levels, key=rates.__getitem__)
        for length in range(1, len(order)):
            yield set(order[:length])


def rate(problem: Problem, rows: Rows, wanted: int, criterion: str) -> Fraction:
    """Return the number by which a subset search puts levels in order."""
    if problem.classes:
        return Fraction(problem.counts(rows)[wanted], problem.weight(rows))
    return Fraction(prediction(problem, rows, criterion))


def listing_the_lighter(problem: Problem, column: Column, by_value: dict[Any, Rows], side: set[str]) -> Bare:
    """Write a division of the present levels as a question whose branch 0 lists the lighter side.

    The pool of rare levels is never listed, nor are those on its side.
    """
    assert column.levels is not None
    inside, outside = halves(by_value, side)
    if POOL not in side if POOL in by_value else problem.weight(inside) <= problem.weight(outside):
        listed = tuple(level for level in column.levels if level in side)
        return Question("subset", column.name, levels=listed), [inside, outside], 0
    listed = tuple(level for level in column.levels if level in by_value and level not in side)
    return Question("subset", column.name, levels=listed), [outside, inside], 1


# -- growth --------------------------------------------------------------------------------------------------


def grow(problem: Problem, settings: Settings) -> list[Node]:
    """Grow the tree and return its nodes in pre-order.

    >>> columns = (Column("x1", [0, 0, 1, 1]), Column("x2", [0, 1, 0, 1]))
    >>> xor = Problem(columns, y=[0, 1, 1, 0], weights=[1] * 4, classes=("-", "+"))
    >>> [node.question.column if node.question else node.stop for node in grow(xor, Settings())]
    ['x1', 'x2', 'pure', 'pure', 'x2', 'pure', 'pure']
    """
    root = Node((), problem.rows)
    consider(root, problem, settings)
    waiting = [] if root.stop else [root]  # nodes whose best question is known but not yet asked
    leaves = 1
    while waiting:
        waiting.sort(key=lambda node: node.path)
        node: Node = max(waiting, key=lambda node: node.gain)  # the first of equals
        leaves += len(node.branches) - 1
        if settings.max_leaf_nodes is not None and leaves > settings.max_leaf_nodes:
            break
        waiting.remove(node)
        node.children = [Node((*node.path, i), rows) for i, rows in enumerate(node.branches)]
        for child in node.children:
            consider(child, problem, settings)
        waiting += [child for child in node.children if not child.stop]
    for node in waiting:
        node.question, node.missing_rows, node.stop = None, 0, "max_leaf_nodes"
    return sorted(descendants(root), key=lambda node: node.path)


def consider(node: Node, problem: Problem, settings: Settings) -> None:
    """Find a node's best question, or the first reason why it has to be a leaf."""
    node.stop = reason_to_stop(node, problem, settings)
    if node.stop:
        return
    problem = problem.with_node_scale(node.rows)
    tests = [
        candidate
        for column in problem.columns
        for candidate in candidates(problem, node.rows, column, settings)
        if divides(problem, candidate, settings)
    ]
    allowed = [candidate for candidate in tests if within_limits(problem, candidate, settings)]
    if not allowed:
        node.stop = "min_samples_leaf" if tests else "no_candidate"
        return
    # the first of equals, as max takes it
    if any(candidate.bits for candidate in tests):
        best = max(allowed, key=lambda candidate: score_less_price(problem, node.rows, candidate, settings))
    else:
        best = max(allowed, key=lambda candidate: score(problem, node.rows, candidate.filled, settings))
    node.gain = total_gain(problem, node.rows, best.filled, settings.criterion)
    if not is_enough(node.gain, problem, settings):
        node.stop = "min_impurity_decrease"
        return
    node.question, node.branches = best.question, best.branches
    values = next(column.values for column in problem.columns if column.name == best.question.column)
    node.missing_rows = sum(values[row] is None for row in node.rows)


def reason_to_stop(node: Node, problem: Problem, settings: Settings) -> str:
    """Return why a node is a leaf whatever could be asked, "" if there is no such reason."""
    if not node.rows:
        return "no_rows"
    if len({problem.y[row] for row in node.rows}) == 1:
        return "pure"
    if problem.classes and settings.sufficient_accuracy < 1:
        share = Fraction(max(problem.counts(node.rows)), problem.weight(node.rows))
        if share >= Fraction(repr(settings.sufficient_accuracy)):
            return "sufficient_accuracy"
    if settings.max_depth is not None and len(node.path) >= settings.max_depth:
        return "max_depth"
    return "min_samples_split" if len(node.rows) < settings.min_samples_split else ""


def is_enough(gain: Fraction | Log, problem: Problem, settings: Settings) -> bool:
    """Tell whether a gain reaches ``min_impurity_decrease`` per unit of the whole table's weight."""
    expected = Fraction(repr(settings.min_impurity_decrease)) * problem.weight(problem.rows)
    if expected <= 0:
        return True
    return DIGITS.subtract(in_units(gain, settings.criterion), in_units(expected, settings.criterion)) >= -TIE


def in_units(gain: Fraction | Log, criterion: str) -> Decimal:
    """Return a gain as a number of 60 digits in its criterion's unit: bits for entropy, nats for Poisson."""
    if isinstance(gain, Fraction):
        return DIGITS.divide(Decimal(gain.numerator), Decimal(gain.denominator))
    return gain.nats() if criterion == "poisson" else DIGITS.divide(gain.nats(), ln(2))


def branch_of(question: Question, value: Any, column: Column) -> int | None:
    """Return the branch a value takes; None where a level that has no branch stays at the node."""
    if value is None:
        return question.missing
    if question.kind == "presence":  # an unknown level has no place in an order: it goes with the missing values
        unknown = column.levels is not None and value not in column.levels
        return 1 if question.missing == 1 and unknown else 1 - question.missing
    if question.kind == "threshold":
        return 0 if value <= question.cut else 1
    if question.kind == "ordinal":
        levels = column.levels or ()
        if value not in levels:
            return question.missing
        return 0 if levels.index(value) <= levels.index(question.levels[0]) else 1
    if question.kind == "multiway":
        if value in question.levels:
            return question.levels.index(value)
        return len(question.levels) if question.other else None
    return 0 if value in question.levels else 1


def reach(nodes: list[Node], columns: Sequence[Column], cells: dict[str, Any]) -> int:
    """Return the number, in pre-order, of the node at which a row ends."""
    node = nodes[0]
    while node.question is not None:
        column = next(column for column in columns if column.name == node.question.column)
        branch = branch_of(node.question, cells[column.name], column)
        if branch is None:
            break
        node = node.children[branch]
    return nodes.index(node)


def descendants(root: Node) -> list[Node]:
    """Return a node and all below it."""
    actual = [root]
    for node in actual:
        actual += node.children
    return actual
