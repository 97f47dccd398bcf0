"""Every candidate of a node, scored, in readable Python: the specification of the learner.

Stands between the prepared table (``problem``) and everything that shows or checks a decision. The core finds the
same winner faster; this file *is* what it must find, and a test holds them equal. The names are chapter 8's:

    leaf_condition          is the node a leaf before we even look?          (algorithm 8.1, LeafCondition)
    find_best_prediction    the majority class, the mean, the median         (FindBestPrediction)
    find_best_split         the candidate that competes best                 (algorithm 8.2, FindBestSplit)

A node's rows are first put into *buckets*: one for each value of the column present, with its statistics (``Group``),
and one for the missing rows. A split kind is then a way of putting buckets into branches: a threshold cuts the sorted
buckets in two, a multiway test gives each its own branch, and so on; missing rows are tried in every branch. Candidates
come in the order in which ties are decided: column, kind, position, placement of the missing rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import encode
from treewise.criteria import Group, Measure, log2_fixed, medians, nlogn
from treewise.encode import Encoding
from treewise.problem import Problem
from treewise.settings import as_written
from treewise.split import (
    INT64_MAX,
    Multiway,
    OneValue,
    Ordinal,
    Split,
    Subset,
    Threshold,
    midpoint,
    midpoint_int,
)

Rows = npt.NDArray[np.int64]
EXHAUSTIVE = 10  # up to so many categories present, all subsets are tried when there are more than two classes
RATIO_BITS, RATIO_SLACK = 60, 1 << 15

# The place of a kind in the order of ties; a test of presence comes last in its column.
PLACE = {"threshold": 1, "ordinal": 2, "one_value": 3, "subset": 4, "multiway": 5, "presence": 6}


@dataclass(frozen=True)
class Candidate:
    """One possible split of a node: the test, what each branch would hold, and what it gains."""

    split: Split
    branches: tuple[Group, ...]
    missing_rows: int
    key: tuple[int, int, int, int]  # column, kind, position, placement of missing rows: decides ties
    gain: int  # decrease of total impurity, in the measure's units; 0 where rounding alone may have made it
    merit: int  # what it competes by
    slack: int  # by how much rounding may have moved the merit
    eligible: bool  # whether every branch with rows meets the limits

    @property
    def filled(self) -> list[Group]:
        """The branches that hold rows."""
        return [g for g in self.branches if g.rows]


@dataclass(frozen=True)
class Bucket:
    """The rows of a node that share one value of a column."""

    value: Any  # float, int, or category code
    group: Group


@dataclass(frozen=True, eq=False)
class Scene:
    """One column at one node: all a split kind needs to list its candidates."""

    problem: Problem
    column: int
    buckets: Sequence[Bucket]
    missing: Group

    @property
    def encoding(self) -> Encoding:
        """What the column is."""
        return self.problem.encodings[self.column]

    def level(self, bucket: Bucket) -> str:
        """Return the level a bucket of a categorical column holds."""
        return self.encoding.levels[int(bucket.value)]


@dataclass(frozen=True)
class Parting:
    """Buckets put into branches: the branches' groups, the split without its missing side, and where missing may go."""

    position: int
    branches: tuple[Group, ...]
    make: Callable[..., Split]  # the split, once it is told where missing values go
    placements: tuple[int, ...]  # branches in which missing rows are tried, in order


# -- the statistics of rows -------------------------------------------------------------------------------------------


def group_of(problem: Problem, rows: Rows) -> Group:
    """Add up the statistics of some rows."""
    if problem.target.task == "classification":
        counts = class_weights(problem, rows, np.zeros(len(rows), np.int64), 1)[0]
        return Group(len(rows), sum(counts), tuple(counts))
    weights = problem.weight[rows].tolist()
    ys = problem.y[rows].tolist()
    pairs = tuple(zip(ys, weights, strict=True)) if problem.criterion.name == "absolute_error" else ()
    total = sum(y * w for y, w in zip(ys, weights, strict=True))
    return Group(len(rows), sum(weights), (), total, min(ys, default=0), max(ys, default=0), pairs)


def class_weights(problem: Problem, rows: Rows, place: Rows, places: int) -> list[list[int]]:
    """Add up the weight of each class in each place: exact, for all weights together stay below 2^53."""
    classes = len(problem.target.classes)
    cell = place * classes + problem.y[rows]
    summed = np.bincount(cell, weights=problem.weight[rows], minlength=places * classes)
    table: list[list[int]] = summed.astype(np.int64).reshape(places, classes).tolist()
    return table


def look(problem: Problem, column: int, rows: Rows) -> Scene:
    """Put a node's rows into the buckets of one column, in order of value, the missing ones apart."""
    values = problem.columns[column][rows]
    gone = encode.is_missing(problem.encodings[column], values)
    present, rows_present = values[~gone], rows[~gone]
    distinct, place = np.unique(present, return_inverse=True)
    sizes = np.bincount(place, minlength=len(distinct))
    if problem.target.task == "classification":
        counted = class_weights(problem, rows_present, place, len(distinct))
        groups = [Group(n, sum(c), tuple(c)) for n, c in zip(sizes.tolist(), counted, strict=True)]
    else:
        by_value = np.split(rows_present[np.argsort(place, kind="stable")], np.cumsum(sizes)[:-1])
        groups = [group_of(problem, r) for r in by_value[: len(distinct)]]
    buckets = [Bucket(v, g) for v, g in zip(distinct.tolist(), groups, strict=True)]
    return Scene(problem, column, buckets, group_of(problem, rows[gone]))


# -- one way of listing candidates per split kind ---------------------------------------------------------------------


def two_sides(groups: Sequence[Group]) -> Iterator[tuple[int, Group, Group]]:
    """Cut a row of groups in two at every place: (how many are left, their sum, the sum of the rest).

    a | b c d      a b | c d      a b c | d
    """
    left = list(accumulate(groups, add))
    right = list(accumulate(reversed(groups), add))[::-1]
    return ((i, left[i - 1], right[i]) for i in range(1, len(groups)))


def thresholds(scene: Scene) -> Iterator[Parting]:
    """``x <= t`` between neighbouring values, t their midpoint (ID3 notes; algorithm 8.2)."""
    between: Callable[[Any, Any], float] = midpoint if scene.encoding.kind == "number" else midpoint_int
    for i, low, high in two_sides([b.group for b in scene.buckets]):
        cut = between(scene.buckets[i - 1].value, scene.buckets[i].value)
        yield Parting(i - 1, (low, high), partial(Threshold, scene.encoding.name, cut), placements=(0, 1))


def ordinals(scene: Scene) -> Iterator[Parting]:
    """``x <= level`` in the order of the levels (chapter 8, figure 8.2 c)."""
    for i, low, high in two_sides([b.group for b in scene.buckets]):
        level = scene.level(scene.buckets[i - 1])
        yield Parting(i - 1, (low, high), partial(Ordinal, scene.encoding.name, level), placements=(0, 1))


def one_values(scene: Scene) -> Iterator[Parting]:
    """``x = level`` against all others (figure 8.2 b)."""
    if len(scene.buckets) < 2:
        return
    for i, bucket in enumerate(scene.buckets):
        others = [b.group for b in scene.buckets if b is not bucket]
        make = partial(OneValue, scene.encoding.name, scene.level(bucket))
        yield Parting(i, (bucket.group, reduce(add, others)), make, placements=(0, 1))


def subsets(scene: Scene) -> Iterator[Parting]:
    """``x in {…}`` against all others (figure 8.2 d).

    For two classes and for numbers the best subset is a prefix of the levels ordered by rate or mean (Breiman et al.
    1984, theorem 4.5), so only prefixes are listed. For more classes all subsets of up to 10 levels are, and beyond
    that the prefixes of the order by each class's rate: a heuristic.
    """
    buckets = scene.buckets
    classes = len(scene.problem.target.classes)
    if classes > 2 and len(buckets) <= EXHAUSTIVE:
        for mask in range(1, 1 << max(0, len(buckets) - 1)):
            # Bit j of the mask sends bucket j + 1 to the other side; the first bucket stays.
            moved = [i > 0 and bool(mask >> (i - 1) & 1) for i in range(len(buckets))]
            near = [b for b, m in zip(buckets, moved, strict=True) if not m]
            far = [b for b, m in zip(buckets, moved, strict=True) if m]
            yield subset(scene, mask, near, far)
        return
    for place, key in subset_orders(scene):
        ordered = sorted(buckets, key=key)  # stable: equal rates stay in the order of the levels
        for i in range(1, len(ordered)):
            yield subset(scene, place * len(buckets) + i, ordered[:i], ordered[i:])


def subset(scene: Scene, position: int, near: Sequence[Bucket], far: Sequence[Bucket]) -> Parting:
    """Make the subset test of two sides; the lighter side is listed and is branch 0."""
    sides = [(reduce(add, (b.group for b in side)), side) for side in (near, far)]
    swap = sides[1][0].weight < sides[0][0].weight
    (first, listed), (second, _) = reversed(sides) if swap else sides
    levels = tuple(scene.encoding.levels[code] for code in sorted(b.value for b in listed))
    return Parting(
        position,
        (first, second),
        partial(Subset, scene.encoding.name, levels),
        placements=(1, 0) if swap else (0, 1),
    )


def subset_orders(scene: Scene) -> list[tuple[int, Callable[[Bucket], Any]]]:
    """Return the orders whose prefixes are tried, each with its place: exact fractions, no division rounded."""
    counts = reduce(add, (b.group for b in scene.buckets), scene.missing).counts
    if len(counts) == 2:
        return [(0, partial(rate, cls=1))]
    if counts:
        return [(cls, partial(rate, cls=cls)) for cls, count in enumerate(counts) if count]
    return [(0, middle if scene.problem.criterion.name == "absolute_error" else mean)]


def rate(bucket: Bucket, cls: int) -> Fraction:
    """Return the share of a class."""
    return Fraction(bucket.group.counts[cls], bucket.group.weight)


def mean(bucket: Bucket) -> Fraction:
    """Return the mean target."""
    return Fraction(bucket.group.total, bucket.group.weight)


def middle(bucket: Bucket) -> int:
    """Return twice the median target."""
    return sum(medians(bucket.group))


def multiways(scene: Scene) -> Iterator[Parting]:
    """One branch a level present, and one for the declared levels that are not (CS221 notes 6; figure 8.2 a)."""
    levels = tuple(scene.level(b) for b in scene.buckets)
    other = len(levels) < len(scene.encoding.levels)
    branches = (*(b.group for b in scene.buckets), *([Group()] if other else []))
    yield Parting(
        0,
        branches,
        partial(Multiway, scene.encoding.name, levels, other),
        placements=tuple(range(len(levels))),
    )


PARTINGS: dict[str, Callable[[Scene], Iterator[Parting]]] = {
    "threshold": thresholds,
    "ordinal": ordinals,
    "one_value": one_values,
    "subset": subsets,
    "multiway": multiways,
}


def presence(scene: Scene, kind: str) -> Split:
    """Return the test that only separates missing from present, in the form of the column's first kind."""
    name, encoding = scene.encoding.name, scene.encoding
    if kind == "threshold":
        return Threshold(name, math.inf if encoding.kind == "number" else INT64_MAX, missing=1)
    if kind == "ordinal":
        return Ordinal(name, encoding.levels[-1], missing=1)
    return Subset(name, (), missing=0)


# -- candidates -------------------------------------------------------------------------------------------------------


def candidates(problem: Problem, rows: Rows, column: int, node: Group, measure: Measure) -> Iterator[Candidate]:
    """List every candidate of one column at a node, in the order in which ties are decided."""
    scene = look(problem, column, rows)
    if not scene.buckets:
        return
    kinds = problem.splits[column]
    gone = scene.missing
    own = problem.settings.missing == "branch" and gone.rows > 0 and measure.valid(gone) and fits(problem, gone)
    for kind in kinds:
        for parting in PARTINGS[kind](scene):
            for placement, (branch, branches) in enumerate(place_missing(parting, gone, own)):
                key = (column, PLACE[kind], parting.position, placement)
                made = judge(problem, node, measure, parting.make(missing=branch), branches, gone.rows, key)
                if made:
                    yield made
    if gone.rows:
        present = reduce(add, (b.group for b in scene.buckets))
        split = presence(scene, kinds[0])
        sides = (present, gone) if split.missing == 1 else (gone, present)
        made = judge(problem, node, measure, split, sides, gone.rows, (column, PLACE["presence"], 0, 0))
        if made:
            yield made


def place_missing(parting: Parting, gone: Group, own: bool) -> Iterator[tuple[int, tuple[Group, ...]]]:
    """Say where missing rows go, in every way to be tried: (branch number, branches with them in it)."""
    branches = parting.branches
    if not gone.rows:
        weights = [g.weight for g in branches]
        yield weights.index(max(weights)), branches  # nothing is known: with the heavier branch
    elif own:
        yield len(branches), (*branches, gone)
    else:
        for b in parting.placements:
            yield b, tuple(g + gone if i == b else g for i, g in enumerate(branches))


def judge(
    problem: Problem,
    node: Group,
    measure: Measure,
    split: Split,
    branches: tuple[Group, ...],
    missing_rows: int,
    key: tuple[int, int, int, int],
) -> Candidate | None:
    """Score one way of splitting; None when it sends all rows one way."""
    filled = [g for g in branches if g.rows]
    if len(filled) < 2 or not all(measure.valid(g) for g in filled):
        return None
    computed = measure.total(node) - sum(measure.total(g) for g in filled)
    slack = measure.slack(len(filled))
    gain = computed if abs(computed) > slack else 0
    if problem.criterion.rule == "ratio":
        merit, slack = ratio(computed, node, filled), ratio(slack, node, filled) + RATIO_SLACK
    elif problem.by_branches and problem.criterion.rule == "gain":
        merit, slack = computed // (len(filled) - 1), slack // (len(filled) - 1) + (slack > 0)
    else:
        merit = computed
    eligible = all(fits(problem, g) for g in filled)
    return Candidate(split, branches, missing_rows, key, gain, merit, slack, eligible)


def fits(problem: Problem, group: Group) -> bool:
    """Tell whether a group is large enough to be a leaf."""
    least = problem.settings.least_rows(problem.settings.min_samples_leaf, len(problem))
    return group.rows >= least and group.weight >= problem.least_leaf_weight


def ratio(gain: int, node: Group, branches: Sequence[Group]) -> int:
    """Gain divided by the entropy of the branch sizes (Quinlan 1993, section 2.2), in units of 2^-60."""
    information = nlogn(node.weight) - sum(nlogn(g.weight) for g in branches)
    return int(math.ldexp(float(gain) / float(information), RATIO_BITS))


# -- chapter 8's three questions --------------------------------------------------------------------------------------


def leaf_condition(problem: Problem, rows: Rows, node: Group, depth: int) -> str:
    """Say why a node is a leaf before any split is looked at; "" when it is not (algorithm 8.1)."""
    limits = problem.settings
    if node.rows == 0:
        return "no_rows"
    if problem.target.task == "classification":
        if max(node.counts) == node.weight:
            return "pure"
        enough = as_written(limits.sufficient_accuracy) * node.weight
        if limits.sufficient_accuracy < 1 and max(node.counts) >= enough:
            return "sufficient_accuracy"
    elif np.all(problem.raw[rows] == problem.raw[rows[0]]):
        return "pure"
    if limits.max_depth is not None and depth >= limits.max_depth:
        return "max_depth"
    if node.rows < limits.least_rows(limits.min_samples_split, len(problem)):
        return "min_samples_split"
    return ""


def find_best_prediction(problem: Problem, rows: Rows, node: Group) -> int | float:
    """Return the majority class (the first of equals), the mean, or for absolute error the median (algorithm 8.1).

    ``problem`` is the one the node sees (``Problem.at``), of which ``node`` is the group.
    """
    if problem.target.task == "classification":
        return node.counts.index(max(node.counts))
    if np.all(problem.raw[rows] == problem.raw[rows[0]]):
        return float(problem.raw[rows[0]])
    if problem.criterion.name == "absolute_error":
        low, high = medians(node)
        return math.ldexp(float(low) / 2 + float(high) / 2, -problem.target_scale)
    return math.ldexp(float(node.total) / float(node.weight), -problem.target_scale)


def find_best_split(problem: Problem, rows: Rows, draw: Callable[[Candidate], int] | None = None) -> Candidate | str:
    """Return the winning candidate of a node, or the reason why there is none (algorithm 8.2).

    Larger merit wins; of equals (nearer than rounding may have moved them) the first, or with ``draw`` the one that
    draws the smallest number. C4.5 lets each column send its best test first.
    """
    problem = problem.at(rows)
    node = group_of(problem, rows)
    measure = problem.criterion.at(node)
    seen, competing, best_of_column = False, [], []
    for column in range(len(problem.columns)):
        listed = list(candidates(problem, rows, column, node, measure))
        seen = seen or bool(listed)
        fitting = [c for c in listed if c.eligible]
        competing += fitting
        if fitting:
            cuts = len({c.key[2] for c in listed if c.key[1] == PLACE["threshold"]})
            best_of_column.append((pick(fitting, draw), cuts))
    if not competing:
        return "min_samples_leaf" if seen else "no_candidate"
    if problem.criterion.rule == "c45":
        competing = quinlan(node, best_of_column)
    best = pick(competing, draw)
    least = problem.settings.min_impurity_decrease * (1 - 2.0**-40)  # a decrease met to twelve digits is met
    at_most = best.gain + measure.slack(len(best.filled)) if best.gain else 0
    if decrease(problem, measure, at_most, int(problem.weight.sum())) < least:
        return "min_impurity_decrease"
    return best


def pick(listed: Sequence[Candidate], draw: Callable[[Candidate], int] | None) -> Candidate:
    """Return the candidate of largest merit; ties go to the smallest key, or to the smallest draw.

    A true merit lies in merit ± slack. The best is sure to reach the largest lower end of all; whoever may reach that
    is tied. So the outcome does not depend on the order of the list, and a candidate truly as good as the best is
    always among the tied ones.
    """
    bar = max(c.merit - c.slack for c in listed)
    equals = [c for c in listed if c.merit + c.slack >= bar]
    return min(equals, key=lambda c: (draw(c) if draw else 0, c.key))


def tied(a: Candidate, b: Candidate) -> bool:
    """Tell whether two merits are equal but for rounding."""
    return abs(a.merit - b.merit) <= a.slack + b.slack


def quinlan(node: Group, bests: Sequence[tuple[Candidate, int]]) -> list[Candidate]:
    """C4.5's second step: of the columns with at least average gain, compare the gain ratio.

    A threshold's gain is first lessened by log2(cuts tried)/n, what it takes to say which cut was chosen (Quinlan
    1996, "Improved use of continuous attributes"). n is the number of rows: in total impurity that is log2(cuts tried)
    times the mean weight of a row, so weights all multiplied by the same number change nothing.
    """
    lessened = []
    for best, cuts in bests:
        price = log2_fixed(cuts) * node.weight // node.rows if best.key[1] == PLACE["threshold"] else 0
        lessened.append(replace(best, merit=best.merit - price))
    average = sum(c.merit // len(lessened) for c in lessened)
    enough = [c for c in lessened if c.merit + 2 * c.slack + len(lessened) >= average]
    return [
        replace(c, merit=ratio(c.merit, node, c.filled), slack=ratio(c.slack, node, c.filled) + RATIO_SLACK)
        for c in enough
    ]


def decrease(problem: Problem, measure: Measure, gain: int, weight: int) -> float:
    """Turn an integer gain into a decrease of impurity per unit of weight, in the user's numbers."""
    try:
        return math.ldexp(float(gain) * measure.worth / weight, -problem.criterion.degree * problem.target_scale)
    except OverflowError:  # squares of targets past 1e154: larger than any double, as the core says too
        return math.inf
