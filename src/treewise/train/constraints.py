"""Constraints on a tree: which splits the user's knowledge forbids.

**Monotone columns.** ``monotone={"age": +1}`` requires that the prediction (the probability of the positive class, the
mean, the median) does not fall as age grows, all other columns being equal; ``-1`` that it does not rise. Two rules
ensure it:

1. *Order.* A test of age is forbidden if the branch of the smaller values predicts more than the other.
2. *Bounds.* The middle between the two predictions bounds everything below them: no node on the side of the smaller
   values may predict more, none on the other side less. A split on any column is forbidden if one of its branches
   would pass a bound.

Two rows that differ in age alone part at a test of age, if at all, and the bounds then keep them in order. Predictions
are compared as the numbers that the nodes report, so that the order holds to the last bit.

Missing values belong to the branch they join; a branch of their own, and a test that separates them from all others,
are bound by rule 2 alone. So the order holds among the rows whose age is known.

**Interactions.** ``interactions=[["age", "dose"], ["income"]]`` lists groups of columns that may be tested on one path
from the root to a leaf: a column may be tested at a node if some group contains it and all columns tested above. The
columns that no group names form one more group.

**Costs.** ``feature_costs={"MRI": 500}`` says what it costs to measure a column. The first test of a column on
a path competes by its gain less cost·``cost_scale`` per row; later tests are free, since the value is then known (the
lazy penalty of cost-efficient gradient boosting: Peter, Diego, Hamprecht and Nadler 2017). A test that gains less than
its cost is forbidden.

Used by ``train/reference.py``; the core does the same in ``src/core/search/constraints.hpp``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_rounded, safe
from treewise.data.encoding import Encoding
from treewise.errors import ColumnError, Param, ParameterError, did_you_mean, join_few
from treewise.train.criteria import RowStats, medians
from treewise.train.settings import Settings
from treewise.tree.arrays import LEAF, Target
from treewise.tree.splits import Presence
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.train.training_set import TrainingSet

_ALL_GROUPS = 2**64 - 1  # a bit for each group


@dataclass(frozen=True)
class ColumnConstraints:
    """The constraints on one column."""

    name: str
    monotone: int = 0  # +1: predictions may not fall as it grows; -1: not rise; 0: no constraint
    interaction_groups: int = _ALL_GROUPS  # the groups that contain it, as a bit mask
    feature_cost: float = 0.0  # of its first test on a path, as impurity per unit of weight
    feature_cost_bit: int = 0  # its bit among the columns that cost something


def column_constraints(settings: Mapping[str, Any], names: Sequence[str]) -> tuple[ColumnConstraints, ...]:
    """Return the constraints on some columns, from the settings by name.

    >>> column_constraints({"monotone": {"b": 1}, "interactions": [["a", "b"], ["b"]]}, ["a", "b", "c"])[1:]
    (ColumnConstraints(name='b', monotone=1, interaction_groups=3, feature_cost=0.0, feature_cost_bit=0),
     ColumnConstraints(name='c', monotone=0, interaction_groups=4, feature_cost=0.0, feature_cost_bit=0))
    """
    signs, groups = settings.get("monotone") or {}, settings.get("interactions")
    masks = dict.fromkeys(names, _ALL_GROUPS)
    if groups is not None:
        masks = {name: sum(1 << i for i, group in enumerate(groups) if name in group) for name in names}
        masks = {name: mask or 1 << len(groups) for name, mask in masks.items()}
    scale = settings.get("cost_scale", 1.0)
    costs = {name: cost * scale for name, cost in (settings.get("feature_costs") or {}).items() if cost * scale > 0}
    bits = {name: 1 << i for i, name in enumerate(costs)}
    return tuple(
        ColumnConstraints(name, signs.get(name, 0), masks[name], costs.get(name, 0.0), bits.get(name, 0))
        for name in names
    )


@dataclass(frozen=True)
class NodeConstraints:
    """The constraints of one node: the range that it and all nodes below it may predict, and the columns they may test.

    >>> NodeConstraints(high=0.35).clip(0.4)
    0.35
    """

    low: float = -math.inf
    high: float = math.inf
    interaction_groups: int = _ALL_GROUPS  # the groups that contain all columns tested above
    acquired: int = 0  # columns tested above that have a feature cost, as a bit mask
    low_from: str = ""  # the monotone column whose split set the bound
    high_from: str = ""
    tested: tuple[str, ...] = ()  # the columns above, if there are groups

    def clip(self, value: float) -> float:
        """Return the value, or the bound that it passes."""
        return self.low if value < self.low else self.high if value > self.high else value

    def allows(self, column: ColumnConstraints) -> bool:
        """Tell whether a column may be tested."""
        return self.interaction_groups & column.interaction_groups != 0

    def feature_cost(self, column: ColumnConstraints) -> float:
        """Return what a test of a column costs: nothing if it was tested above."""
        return 0.0 if self.acquired & column.feature_cost_bit else column.feature_cost

    def of_branches(
        self, column: ColumnConstraints, is_ordered: bool, values: Sequence[float]
    ) -> list[NodeConstraints]:
        """Return the constraints of the branches of a split, given what they predict.

        ``is_ordered``: the first two branches are the smaller and the larger values of the column. A branch without
        rows predicts nothing (NaN) and sets no bound.

        >>> age = ColumnConstraints("age", monotone=+1)
        >>> [(c.low, c.high) for c in NodeConstraints().of_branches(age, True, [0.25, 0.5])]
        [(-inf, 0.375), (0.375, inf)]
        """
        child = replace(self, acquired=self.acquired | column.feature_cost_bit)
        if column.interaction_groups != _ALL_GROUPS:
            tested = (*self.tested, *([column.name] if column.name not in self.tested else []))
            child = replace(
                child, interaction_groups=self.interaction_groups & column.interaction_groups, tested=tested
            )
        constraints = [child] * len(values)
        if column.monotone and is_ordered and not math.isnan(values[0] + values[1]):
            middle = self.clip(values[0]) / 2 + self.clip(values[1]) / 2
            lower, upper = (0, 1) if column.monotone > 0 else (1, 0)
            constraints[lower] = replace(child, high=middle, high_from=column.name)
            constraints[upper] = replace(child, low=middle, low_from=column.name)
        return constraints


UNCONSTRAINED = NodeConstraints()


def why_forbidden(
    training_set: TrainingSet, constraints: NodeConstraints, column: int, is_ordered: bool, branches: Sequence[RowStats]
) -> str:
    """Return which constraint forbids a split, as text; "" if none does. Branches without rows predict nothing.

    ``is_ordered``: the first two branches are the smaller and the larger values of the column.
    """
    column_constraints, target = training_set.constraints[column], training_set.target
    if not constraints.allows(column_constraints):
        tested = join_few([safe(name) for name in constraints.tested])
        return f"{safe(column_constraints.name)} may not be tested below {tested}"
    if not any(each.monotone for each in training_set.constraints):
        return ""
    values = [predicted_value(training_set, stats) if stats.rows else None for stats in branches]
    below, above, sign = values[0], values[1], column_constraints.monotone if is_ordered else 0
    if sign < 0:
        below, above = above, below
    if sign and below is not None and above is not None and below > above:
        return f"{_prediction(target)} would {'fall' if sign > 0 else 'rise'} with {safe(column_constraints.name)}"
    numbers = [value for value in values if value is not None]
    if min(numbers) < constraints.low:
        return _out_of_bounds(target, "below", constraints.low, constraints.low_from)
    if max(numbers) > constraints.high:
        return _out_of_bounds(target, "above", constraints.high, constraints.high_from)
    return ""


def predicted_value(training_set: TrainingSet, stats: RowStats) -> float:
    """Return what a node of these rows predicts: the share of the positive class, the mean or the median."""
    if stats.counts:
        return stats.counts[1] / stats.weight
    if training_set.criterion.centre == "median":
        low, high = medians(stats)
        return math.ldexp(float(low) / 2 + float(high) / 2, -training_set.target_scale)
    return math.ldexp(float(stats.target_sum) / float(stats.weight), -training_set.target_scale)


def constraints_at(tree: Tree, node: int) -> NodeConstraints:
    """Return what holds at a node of a tree, by the splits above it and what their branches predict."""
    constraints, settings = UNCONSTRAINED, tree.fit_info.settings
    if not any(settings.get(name) for name in ("monotone", "interactions", "feature_costs")):
        return constraints
    columns = column_constraints(settings, tree.columns)
    for parent, child in pairwise(tree.path(node)):
        children = tree.children(parent)
        column, is_ordered = columns[tree.arrays.column[parent]], not isinstance(tree.split_at(parent), Presence)
        values = [_node_value(tree, each) for each in children] if column.monotone else [0.0] * len(children)
        constraints = constraints.of_branches(column, is_ordered, values)[children.index(child)]
    return constraints


def is_monotone(tree: Tree) -> bool:
    """Tell whether a tree was grown under monotone constraints."""
    return bool(tree.fit_info.settings.get("monotone"))


def enforce_order(tree: Tree, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a value for each node that keeps the monotone constraints of the tree, given one that may not.

    From the root down, every value is clipped to the bounds of its node, and two branches in the wrong order both take
    their mean. What a tree was grown with is in order; smoothed probabilities (``estimate="laplace"``) need not be.
    """
    ordered = values.tolist()
    columns = column_constraints({"monotone": tree.fit_info.settings["monotone"]}, tree.columns)
    constraints = [UNCONSTRAINED] * len(tree)
    for node in np.flatnonzero(tree.arrays.kind != LEAF).tolist():
        children, column = tree.children(node), columns[tree.arrays.column[node]]
        is_ordered = not isinstance(tree.split_at(node), Presence)
        below = constraints[node].of_branches(column, is_ordered, [ordered[child] for child in children])
        for child, bounds in zip(children, below, strict=True):
            constraints[child], ordered[child] = bounds, bounds.clip(ordered[child])
    return np.array(ordered, np.float64)


def note_broken_order(tree: Tree) -> list[str]:
    """Note a tree whose numbers were estimated anew and no longer keep its monotone constraints."""
    if not is_monotone(tree):
        return []
    values = np.array([_node_value(tree, node) for node in range(len(tree))])
    broken = np.flatnonzero((enforce_order(tree, values) != values) & ~np.isnan(values))
    if not len(broken):
        return []
    columns = join_few([safe(name) for name in tree.fit_info.settings["monotone"]])
    nodes = f"{'node' if len(broken) == 1 else 'nodes'} {join_few(broken.tolist(), limit=5)}"
    return [f"{columns}: on these rows the tree is not monotone ({nodes})"]


def _node_value(tree: Tree, node: int) -> float:
    if tree.task == "regression":
        return float(tree.arrays.value[node])
    counts = tree[node].counts
    weight = sum(counts.values())
    return counts.get(tree.classes[1], 0.0) / weight if weight else math.nan


def check_constraints(settings: Settings, features: Sequence[Encoding], target: Target) -> None:
    """Raise for a constraint that cannot be kept: on an unknown or unordered column, or with more than two classes."""
    encoding_by_name = {encoding.name: encoding for encoding in features}
    monotone = settings.monotone or {}
    named: dict[str, Iterable[str]] = {
        "monotone": monotone,
        "interactions": chain.from_iterable(settings.interactions or ()),
        "feature_costs": settings.feature_costs or {},
    }
    for parameter, names in named.items():
        for name in names:
            if name not in encoding_by_name:
                raise ColumnError(
                    f'no column "{safe(name)}" among the features.{did_you_mean(name, encoding_by_name)}'
                    f" Columns: {join_few([safe(column) for column in encoding_by_name])}.",
                    parameter=parameter,
                )
    if monotone and len(target.classes) > 2:
        raise ParameterError(
            f'the target "{safe(target.name)}" has {len(target.classes):,} classes, and only the probability of one'
            " of two can rise or fall.",
            parameter="monotone",
            hint="Leave it out, or join the classes into two.",
        )
    for name in monotone:
        if encoding_by_name[name].is_categorical and encoding_by_name[name].kind != "ordered":
            raise ParameterError(
                f'column "{safe(name)}" has no order, so nothing can rise or fall with it.',
                parameter="monotone",
                hint="Leave it out, or give the order of its levels: "
                + Param("kinds", {name: list(encoding_by_name[name].levels[:3])})
                + ".",
            )


def _prediction(target: Target) -> str:
    return f"the share of {safe(target.positive)}" if target.classes else safe(target.name)


def _out_of_bounds(target: Target, side: str, bound: float, column: str) -> str:
    return f"{_prediction(target)} would be {side} {format_rounded(bound)}, the bound set by {safe(column)} above"
