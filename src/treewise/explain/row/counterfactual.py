"""The nearest change of a row that would alter the decision (a counterfactual), over all ends of the tree.

Stands on ``regions``: an end of the tree allows some values of each column on its way; a row comes there by changing
the columns whose values are not allowed. Of all ends with another answer the nearest is the one that

    1  changes the fewest columns,
    2  then costs least: a number that moves just past its cut costs |Δ| / IQR of its column, and a category that
       changes, or a missing or never-seen value that becomes a known one, costs 1,
    3  then has more training rows; then comes first.

Columns the caller declares ``fixed`` stay as they are. Nothing changes into a missing or never-seen value, and a column
that was not given must become known. The IQR is that of the training rows (``train/quartiles.py``); where it is 0 or not
known, the range of the column's cuts in the tree, and where that is 0 too, 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from treewise._lib.text import safe
from treewise.data.encoding import UNSEEN, Encoding
from treewise.errors import Param, ParameterError, did_you_mean, listing, shown
from treewise.explain.row.path import NEVER_SEEN, AskedCell
from treewise.explain.row.tree_context import TreeContext
from treewise.tree.arrays import LEAF, Label
from treewise.tree.regions.region import Condition, Interval, as_cell, say, say_limits
from treewise.tree.tree import Tree

MOST_DECIMALS = 15
DIGITS = Context(prec=60)  # enough for as many decimals of any number below 10^15
IQR, CUTS, ONE = (
    "its interquartile range",
    "the range of its cuts",
    "its own unit",
)  # what a number's move is measured by

Wanted = Callable[[Any], bool]  # of a class number, or a value


@dataclass(frozen=True)
class CellChange:
    """One column's change: to what, under which condition, and how far that is."""

    column: str
    to: float | int | str | bool  # a natural value that will do, as one would type it
    text: str  # in words
    condition: str  # all that will do: "age <= 31.5"
    distance: float  # math.inf where an infinite number must become a finite one
    measure: str = ""  # of a number: IQR, CUTS or ONE
    limits: str = ""  # the condition without the column's name, where that reads well


@dataclass(frozen=True)
class Counterfactual:
    """What would have to be otherwise, and what the tree would say then.

    >>> import treewise as tw
    >>> change = tw.grow("penguins", max_leaf_nodes=4).explain({"flipper_length_mm": 190, "bill_length_mm": 40}).change
    >>> change.prediction, [(move.column, move.to, move.condition) for move in change.moves]
    ('Chinstrap', [('bill_length_mm', 43.4, 'bill_length_mm > 43.35')])
    """

    moves: tuple[CellChange, ...]
    node: int  # where the row would end
    speaker: int  # the node that would answer for it
    prediction: Label

    @property
    def distance(self) -> float:
        """How far it is: the sum over the columns."""
        return total(move.distance for move in self.moves)


def total(distances: Iterable[float]) -> float:
    """Add distances up; math.inf where that is more than a number can be.

    >>> total([0.5, 1.0]), total([1e308, 1e308])
    (1.5, inf)
    """
    try:
        return math.fsum(distances)
    except OverflowError:
        return math.inf


def nearest_counterfactual(
    survey: TreeContext, cells: Mapping[str, AskedCell], wanted: Wanted, fixed: Collection[str] = ()
) -> Counterfactual | None:
    """Return the nearest change that makes the tree answer as wanted; None if there is none.

    ``cells`` are those that are given; a way that asks for another column needs to know it, which counts as a change.
    """
    tree, answers, rows = survey.tree, survey.answers, survey.rows
    rulers = {column: CellDistance.of(tree, column, cells.get(tree.columns[column])) for column in survey.asked}
    best: tuple[tuple[int, int, float, int], int, dict[int, Condition]] | None = None
    for end, conditions in survey.ends():
        if not wanted(answers[end]):
            continue
        costs = costs_of(conditions, rulers, fixed, math.inf if best is None else best[0][0])
        if costs is None:
            continue
        finite = [cost for cost in costs.values() if cost < math.inf]
        key = (len(costs), len(costs) - len(finite), total(finite), -rows[end])
        if best is None or key < best[0]:
            best = key, end, {column: conditions[column] for column in costs}
    if best is None:
        return None
    _, end, changed = best
    moves = tuple(rulers[column].move(condition) for column, condition in changed.items())
    said = answers[end] if tree.task == "regression" else tree.classes[answers[end]]
    return Counterfactual(moves, end, survey.speakers[end], said)


def costs_of(
    conditions: Mapping[int, Condition], rulers: Mapping[int, CellDistance], fixed: Collection[str], most: float
) -> dict[int, float] | None:
    """Return what each column's change costs, of those that must change; None if it cannot be, or they are too many."""
    costs: dict[int, float] = {}
    for column, condition in conditions.items():
        ruler = rulers[column]
        if ruler.given and condition.holds(ruler.own):
            continue
        cost = None if ruler.encoding.name in fixed else ruler.distance(condition)
        if cost is None or len(costs) + 1 > most:
            return None
        costs[column] = cost
    return costs


@dataclass(frozen=True)
class CellDistance:
    """Measures how far a row's value in one column is from what a condition allows."""

    encoding: Encoding
    given: bool  # whether the row says anything of the column
    own: Any  # the row's value as regions take it: a number, a code, None if it is missing
    size: float  # of a number: what counts 1
    measure: str
    ends: tuple[float, float] | None  # the quartiles, where they are known

    @classmethod
    def of(cls, tree: Tree, column: int, cell: AskedCell | None) -> CellDistance:
        """Make the ruler of one column of a tree, for what a row holds there; None where it says nothing of it."""
        encoding, given = tree.encodings[column], cell is not None
        own: Any = None if cell is None else cell.value
        if encoding.is_categorical:
            own = None if own is None else encoding.levels.index(own)
            own = UNSEEN if cell is not None and cell.odd == NEVER_SEEN else own
            return cls(encoding, given, own, 1.0, "", None)
        ends = tree.quartiles.get(encoding.name)
        size = 0 if ends is None else ends[1] - ends[0]
        if 0 < size < math.inf:
            return cls(encoding, given, own, float(size), IQR, ends)
        a = tree.arrays
        here = (a.kind != LEAF) & (a.column == column)
        cuts = (a.cut if encoding.kind == "number" else a.cut_int)[here].tolist()
        wide = max(cuts) - min(cuts)
        size, measure = (wide, CUTS) if 0 < wide < math.inf else (1, ONE)
        return cls(encoding, given, own, float(size), measure, ends)

    def distance(self, condition: Condition) -> float | None:
        """Return what it costs to come to an allowed value; None where no known value is allowed."""
        if not isinstance(condition, Interval):
            return 1.0 if condition.n else None
        if not condition.present:
            return None
        return 1.0 if self.own is None else float(abs(self.just_past(condition, self.own) - self.own) / self.size)

    def just_past(self, condition: Interval, own: Any) -> Any:
        """Return the allowed number next to another one."""
        if condition.high is not None and own > condition.high:
            return condition.high
        assert condition.low is not None
        return math.nextafter(condition.low, math.inf) if self.encoding.kind == "number" else condition.low + 1

    def move(self, condition: Condition) -> CellChange:
        """Return the change to an allowed value, a natural one, and how far it is."""
        value: Any = self.natural(condition)
        far, to = self.distance(condition), as_cell(value, self.encoding)
        assert condition.holds(value)
        assert far is not None
        assert to is not None
        text = self.encoding.levels[value] if self.encoding.is_categorical else self.encoding.format(value)
        said = say(condition, self.encoding, or_missing=False, or_unseen=False)
        measure = self.measure if self.own is not None else ""
        return CellChange(self.encoding.name, to, text, said, far, measure, say_limits(condition, self.encoding))

    def natural(self, condition: Condition) -> float | int:
        """Return an allowed value as one would write it: the nearest or first level, a number with few decimals."""
        if not isinstance(condition, Interval):
            ordered = self.encoding.kind == "ordered" and self.own is not None and self.own >= 0
            near = (lambda code: abs(code - self.own)) if ordered else None
            return min(condition.codes(), key=near)
        own = self.middle(condition) if self.own is None else self.own
        inside = condition.holds(own)
        to = own if inside else self.just_past(condition, own)
        if self.encoding.kind != "number":
            return int(to)
        if math.isfinite(to) and abs(to) < 1e15:
            towards = ROUND_HALF_EVEN if inside else ROUND_FLOOR if own > to else ROUND_CEILING
            for decimals in range(self.decimals(), MOST_DECIMALS + 1):
                short = float(Decimal(to).quantize(Decimal(1).scaleb(-decimals), towards, DIGITS))
                if condition.holds(short):
                    return short + 0.0
        return float(to)

    def middle(self, condition: Interval) -> Any:
        """Return where a value that is not known might lie: between the quartiles, or between the ends allowed."""
        low, high = (condition.low, condition.high) if self.ends is None else self.ends
        if low is None or high is None:
            return low if low is not None else high
        if self.encoding.kind != "number":  # whole numbers stay whole, and exact
            return int(low) + (int(high) - int(low) + 1) // 2
        return low if self.ends is not None and self.measure != IQR else low + (high - low) / 2

    def decimals(self) -> int:
        """Return how many decimals the column's numbers seem to have: those of the row's value and the quartiles."""
        some = [float(v) for v in (self.own, *(self.ends or ())) if v is not None and math.isfinite(v)]
        return max((min(places(v), MOST_DECIMALS) for v in some), default=0)


def places(value: float) -> int:
    """Return how many decimals a number has, written as short as it can be.

    >>> places(3.0), places(42.35), places(1e-7)
    (0, 2, 7)
    """
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


# -- what is wanted ---------------------------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda value, bound: value <= bound,
    ">=": lambda value, bound: value >= bound,
    "<": lambda value, bound: value < bound,
    ">": lambda value, bound: value > bound,
}


def read_wish(tree: Tree, to: Any, prediction: Label) -> Wanted | None:
    """Read what the answer should be: a class, or for numbers ``"> 30"``; by default any other class.

    None: nothing is wished for, which a tree that predicts numbers takes for granted.
    """
    if tree.task == "regression":
        return None if to is None else read_bound(to)
    if to is None:
        own = tree.classes.index(prediction)
        return lambda label: label >= 0 and label != own
    named = {str(label): i for i, label in enumerate(tree.classes)}
    if str(to) not in named:
        known = listing([safe(label) for label in tree.classes])
        raise ParameterError(
            "no such class.", parameter="to", value=to, hint=f"{did_you_mean(str(to), named)} Classes: {known}."
        )
    return lambda label: label == named[str(to)]


def check_wish(tree: Tree, to: Any) -> None:
    """Refuse a wish that no answer could fulfil, before any row is looked at."""
    if to is not None:
        read_wish(tree, to, tree.classes[0] if tree.classes else 0.0)


def read_bound(to: Any) -> Wanted:
    """Read what a number should be: above or below which."""
    text = to.strip() if isinstance(to, str) else ""
    sign = next((sign for sign in COMPARISONS if text.startswith(sign)), None)
    try:
        bound = float(text[len(sign or "") :])
    except ValueError:
        bound = math.nan
    if sign is None or math.isnan(bound):
        raise ParameterError(
            "the tree predicts numbers, so say above or below which: "
            + Param("to", "> 30")
            + " or "
            + Param("to", "<= 12.5")
            + ".",
            parameter="to",
            value=to,
        )
    return lambda value: COMPARISONS[sign](value, bound)


def check_fixed(tree: Tree, fixed: Any) -> tuple[str, ...]:
    """Read the columns that are to stay as they are."""
    names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for name in names:
        if name not in tree.columns:
            known = listing([safe(column) for column in tree.columns])
            raise ParameterError(
                f"no column {shown(name)} in the tree.",
                parameter="fixed",
                hint=f"{did_you_mean(name, tree.columns)} Columns: {known}.",
            )
    return names
