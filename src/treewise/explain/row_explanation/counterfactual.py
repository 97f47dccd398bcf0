"""The nearest counterfactual of a row: the smallest change of its values that changes the prediction.

Uses ``tree/regions``: each stopping region of the tree allows some values of each column; a row gets there by
changing the columns whose values are not allowed. Of all regions with a desired prediction the nearest is the one that

    1  changes the fewest columns,
    2  then has the least distance: a number that moves just past its threshold counts |Δ| / IQR of its column; a
       category that changes, or a missing or unseen value that becomes a known one, counts 1,
    3  then has more training rows; then comes first.

Columns declared ``fixed`` keep their values. Nothing changes into a missing or unseen value, and a column that was not
given must become known. The IQR is that of the training rows (``training_set.py``); if it is 0 or unknown, the range
of the column's thresholds in the tree is used, and if that is 0 too, 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Literal, NamedTuple

from treewise._lib.text import safe
from treewise.data.encoding import UNSEEN, Encoding
from treewise.errors import ParameterError, brief, did_you_mean, join_few
from treewise.explain.row_explanation.path import NEVER_SEEN, CellValue, TreeContext
from treewise.tree.arrays import LEAF, Label
from treewise.tree.display import class_of_label
from treewise.tree.regions.region import Condition, Interval, as_cell, describe_bounds, describe_condition
from treewise.tree.tree import Tree

_MAX_DECIMALS = 15
_CONTEXT = Context(prec=60)  # enough for that many decimals of any number below 10^15

Scale = Literal["iqr", "thresholds", "none", ""]  # what the distance of a number is divided by; "" for categories
IsDesired = Callable[[Any], bool]  # of a class index, or a value


@dataclass(frozen=True)
class CellChange:
    """The change of one column: its new value, the condition it satisfies, and the distance."""

    column: str
    value: float | int | str | bool  # a natural value that satisfies the condition, as one would type it
    text: str
    condition: str  # all values that would do: "age <= 31.5"
    distance: float  # math.inf if an infinite number must become a finite one
    scale: Scale = ""
    limits: str = ""  # the condition without the column's name, where that reads well


@dataclass(frozen=True)
class Counterfactual:
    """The changes of a row, and the prediction after them.

    >>> import treewise as tw
    >>> tree = tw.grow("penguins", max_leaf_nodes=4)
    >>> counterfactual = tree.explain({"flipper_length_mm": 190, "bill_length_mm": 40}).counterfactual
    >>> counterfactual.prediction, [(c.column, c.value, c.condition) for c in counterfactual.changes]
    ('Chinstrap', [('bill_length_mm', 43.4, 'bill_length_mm > 43.35')])
    """

    changes: tuple[CellChange, ...]
    node: int  # at which the row would stop
    answering: int  # the node that would provide its prediction
    prediction: Label

    @property
    def distance(self) -> float:
        """The sum of the distances of the columns."""
        return _total(change.distance for change in self.changes)


def _total(distances: Iterable[float]) -> float:
    """Add distances up; math.inf on overflow.

    >>> _total([0.5, 1.0]), _total([1e308, 1e308])
    (1.5, inf)
    """
    try:
        return math.fsum(distances)
    except OverflowError:
        return math.inf


def nearest_counterfactual(
    context: TreeContext, cells: Mapping[str, CellValue], is_desired: IsDesired, fixed: Collection[str] = ()
) -> Counterfactual | None:
    """Return the nearest counterfactual with a desired prediction; None if there is none.

    ``cells`` are the values given; a path that needs another column counts it as a change.
    """
    tree, predictions, rows = context.tree, context.predictions, context.rows
    measures = {i: _ColumnDistance.of(tree, i, cells.get(tree.columns[i])) for i in context.used_columns}
    best: tuple[tuple[int, int, float, int], int, dict[int, Condition]] | None = None
    for node, conditions in context.stopping_regions():
        if not is_desired(predictions[node]):
            continue
        distances = _distances(conditions, measures, fixed, math.inf if best is None else best[0][0])
        if distances is None:
            continue
        finite = [distance for distance in distances.values() if distance < math.inf]
        key = (len(distances), len(distances) - len(finite), _total(finite), -rows[node])
        if best is None or key < best[0]:
            best = key, node, {column: conditions[column] for column in distances}
    if best is None:
        return None
    _, node, changed = best
    changes = tuple(measures[column].change(condition) for column, condition in changed.items())
    prediction = predictions[node] if tree.task == "regression" else tree.classes[predictions[node]]
    return Counterfactual(changes, node, context.answering[node], prediction)


def _distances(
    conditions: Mapping[int, Condition],
    measures: Mapping[int, _ColumnDistance],
    fixed: Collection[str],
    max_changes: float,
) -> dict[int, float] | None:
    """Return the distance of each column that must change; None if one cannot, or more than ``max_changes`` must."""
    distances: dict[int, float] = {}
    for column, condition in conditions.items():
        measure = measures[column]
        if measure.is_given and condition.holds(measure.current):
            continue
        distance = None if measure.encoding.name in fixed else measure.distance(condition)
        if distance is None or len(distances) + 1 > max_changes:
            return None
        distances[column] = distance
    return distances


def distance_unit(tree: Tree, column: int) -> tuple[float, Scale]:
    """Return the difference of two numbers of a column that counts as distance 1, and its name."""
    encoding = tree.encodings[column]
    quartiles = tree.quartiles.get(encoding.name)
    iqr = 0 if quartiles is None else quartiles[1] - quartiles[0]
    if 0 < iqr < math.inf:
        return float(iqr), "iqr"
    a = tree.arrays
    nodes = (a.kind != LEAF) & (a.column == column)
    cuts = (a.cut if encoding.kind == "number" else a.cut_int)[nodes].tolist()
    extent = max(cuts) - min(cuts)
    return (float(extent), "thresholds") if 0 < extent < math.inf else (1.0, "none")


@dataclass(frozen=True)
class _ColumnDistance:
    """Measures how far a row's value in one column is from the values a condition allows."""

    encoding: Encoding
    is_given: bool
    current: Any  # the row's value as regions take it: a number, a code, None if missing
    unit: float  # the distance of a number that counts as 1
    scale: Scale
    quartiles: tuple[float, float] | None

    @classmethod
    def of(cls, tree: Tree, column: int, cell: CellValue | None) -> _ColumnDistance:
        encoding, is_given = tree.encodings[column], cell is not None
        current: Any = None if cell is None else cell.value
        if encoding.is_categorical:
            current = None if current is None else encoding.levels.index(current)
            current = UNSEEN if cell is not None and cell.status == NEVER_SEEN else current
            return cls(encoding, is_given, current, 1.0, "", None)
        return cls(encoding, is_given, current, *distance_unit(tree, column), tree.quartiles.get(encoding.name))

    def distance(self, condition: Condition) -> float | None:
        """Return the distance to the nearest allowed value; None if no known value is allowed."""
        if not isinstance(condition, Interval):
            return 1.0 if condition.n else None
        if not condition.present:
            return None
        if self.current is None:
            return 1.0
        return float(abs(self._nearest_allowed(condition, self.current) - self.current) / self.unit)

    def _nearest_allowed(self, condition: Interval, value: Any) -> Any:
        if condition.high is not None and value > condition.high:
            return condition.high
        assert condition.low is not None
        return math.nextafter(condition.low, math.inf) if self.encoding.kind == "number" else condition.low + 1

    def change(self, condition: Condition) -> CellChange:
        """Return the change to an allowed value, preferably one with few digits."""
        allowed: Any = self._natural_value(condition)
        distance, value = self.distance(condition), as_cell(allowed, self.encoding)
        assert condition.holds(allowed)
        assert distance is not None
        assert value is not None
        text = self.encoding.levels[allowed] if self.encoding.is_categorical else self.encoding.format(allowed)
        condition_text = describe_condition(condition, self.encoding, or_missing=False, or_unseen=False)
        scale: Scale = self.scale if self.current is not None else ""
        limits = describe_bounds(condition, self.encoding)
        return CellChange(self.encoding.name, value, text, condition_text, distance, scale, limits)

    def _natural_value(self, condition: Condition) -> float | int:
        """Return an allowed value as one would write it: the nearest or first level, a number with few decimals."""
        if not isinstance(condition, Interval):
            is_ordered = self.encoding.kind == "ordered" and self.current is not None and self.current >= 0
            return min(condition.codes(), key=(lambda code: abs(code - self.current)) if is_ordered else None)
        start = self._typical_value(condition) if self.current is None else self.current
        is_inside = condition.holds(start)
        value = start if is_inside else self._nearest_allowed(condition, start)
        if self.encoding.kind != "number":
            return int(value)
        if math.isfinite(value) and abs(value) < 1e15:
            rounding = ROUND_HALF_EVEN if is_inside else ROUND_FLOOR if start > value else ROUND_CEILING
            for decimals in range(self._decimals(), _MAX_DECIMALS + 1):
                rounded = float(Decimal(value).quantize(Decimal(1).scaleb(-decimals), rounding, _CONTEXT))
                if condition.holds(rounded):
                    return rounded + 0.0
        return float(value)

    def _typical_value(self, condition: Interval) -> Any:
        """Return a starting point for an unknown value: between the quartiles, or between the allowed limits."""
        low, high = (condition.low, condition.high) if self.quartiles is None else self.quartiles
        if low is None or high is None:
            return low if low is not None else high
        if self.encoding.kind != "number":  # integers stay exact
            return int(low) + (int(high) - int(low) + 1) // 2
        return low if self.quartiles is not None and self.scale != "iqr" else low + (high - low) / 2

    def _decimals(self) -> int:
        """Return how many decimals the column seems to have: those of the row's value and of the quartiles."""
        values = [float(v) for v in (self.current, *(self.quartiles or ())) if v is not None and math.isfinite(v)]
        return max((min(_count_decimals(v), _MAX_DECIMALS) for v in values), default=0)


def _count_decimals(value: float) -> int:
    """Return how many decimals the shortest form of a number has.

    >>> _count_decimals(3.0), _count_decimals(42.35), _count_decimals(1e-7)
    (0, 2, 7)
    """
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


# -- the desired prediction -----------------------------------------------------------------------------------


class CounterfactualRequest(NamedTuple):
    """The desired prediction of a counterfactual (None: any other class), and the columns that must not change."""

    desired: Any = None
    fixed: tuple[str, ...] = ()


def check_request(tree: Tree, desired: Any, fixed: Any) -> CounterfactualRequest:
    """Check a desired prediction and fixed columns."""
    if desired is not None:
        parse_desired(tree, desired, tree.classes[0] if tree.classes else 0.0)
    names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for name in names:
        if name not in tree.columns:
            known = join_few([safe(column) for column in tree.columns])
            raise ParameterError(
                f"no column {brief(name)} in the tree.",
                parameter="fixed",
                hint=f"{did_you_mean(name, tree.columns)} Columns: {known}.",
            )
    return CounterfactualRequest(desired, names)


def parse_desired(tree: Tree, desired: Any, prediction: Label) -> IsDesired | None:
    """Parse the desired prediction: a class (default: any other than ``prediction``), or for numbers ``"> 30"``.

    None if there is nothing to look for: a tree that predicts numbers, and no desired bound.
    """
    if tree.task == "regression":
        return None if desired is None else _parse_bound(desired)
    if desired is None:
        current = tree.classes.index(prediction)
        return lambda label: label >= 0 and label != current
    labels, desired = {str(label): i for i, label in enumerate(tree.classes)}, class_of_label(tree, desired)
    if str(desired) not in labels:
        known = join_few([safe(label) for label in tree.classes])
        near = did_you_mean(str(desired), labels)
        raise ParameterError("no such class.", parameter="desired", value=desired, hint=f"{near} Classes: {known}.")
    return lambda label: label == labels[str(desired)]


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda value, bound: value <= bound,
    ">=": lambda value, bound: value >= bound,
    "<": lambda value, bound: value < bound,
    ">": lambda value, bound: value > bound,
}


def _parse_bound(desired: Any) -> IsDesired:
    text = desired.strip() if isinstance(desired, str) else ""
    operator = next((operator for operator in _COMPARISONS if text.startswith(operator)), None)
    try:
        bound = float(text[len(operator or "") :])
    except ValueError:
        bound = math.nan
    if operator is None or math.isnan(bound):
        raise ParameterError(
            'the tree predicts numbers; give a bound such as "> 30" or "<= 12.5".', parameter="desired", value=desired
        )
    return lambda value: _COMPARISONS[operator](value, bound)
