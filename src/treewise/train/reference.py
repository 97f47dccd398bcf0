"""Every candidate of a node, scored, in readable Python: the specification of the learner.

Stands between the prepared table (``training_set``) and everything that shows or checks a decision. The core finds the
same winner faster; this file *is* what it must find, and a test holds them equal. The names are chapter 8's:

    leaf_condition          is the node a leaf before we even look?          (algorithm 8.1, LeafCondition)
    find_best_prediction    the majority class, the mean, the median         (FindBestPrediction)
    find_best_split         the candidate that competes best                 (algorithm 8.2, FindBestSplit)

The split kinds list ways of putting a column's values into branches (``train/candidates.py``); missing rows are tried in every
branch of each; the ``Judge`` of the node scores the outcome. Candidates come in the order in which ties are decided:
column, kind, position, placement of the missing rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add

import numpy as np

from treewise._lib import rng as chance
from treewise.train.candidates import (
    KIND_RANK,
    PARTITIONERS,
    Partition,
    Rows,
    bucketise,
    group_of,
    one_at_random,
    presence,
)
from treewise.train.criteria import Group, Measure, log2_fixed, medians, nlogn
from treewise.train.settings import as_written
from treewise.train.training_set import TrainingSet
from treewise.tree.splits import Split

RATIO_BITS, RATIO_SLACK = 60, 1 << 15


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible split of a node: the test, what each branch would hold, and what it gains."""

    make: Callable[..., Split]
    missing: int  # the branch missing values take
    branches: tuple[Group, ...]
    missing_rows: int
    key: tuple[int, int, int, int]  # column, kind, position, placement of missing rows: decides ties
    gain: int  # decrease of total impurity, in the measure's units; 0 where rounding alone may have made it
    merit: int  # what it competes by
    slack: int  # by how much rounding may have moved the merit
    eligible: bool  # whether every branch with rows meets the limits

    @property
    def split(self) -> Split:
        """The test; made when asked for, since of many candidates few are looked at."""
        return self.make(missing=self.missing)

    @property
    def filled(self) -> list[Group]:
        """The branches that hold rows."""
        return [g for g in self.branches if g.rows]


@dataclass(frozen=True, eq=False)
class NodeScorer:
    """Scores the splits of one node: it knows the node's statistics, its measure, and what branches must meet."""

    training_set: TrainingSet
    node: Group
    measure: Measure

    @classmethod
    def of(cls, training_set: TrainingSet, rows: Rows) -> NodeScorer:
        """Return the judge of the node with these rows."""
        node = group_of(training_set, rows)
        return cls(training_set, node, training_set.criterion.at(node))

    @cached_property
    def before(self) -> int:
        """The node's own total impurity."""
        return self.measure.total(self.node)

    def fits(self, group: Group) -> bool:
        """Tell whether a group is large enough to be a leaf."""
        return group.rows >= self.training_set.least_leaf_rows and group.weight >= self.training_set.least_leaf_weight

    def sets_apart(self, gone: Group) -> bool:
        """Tell whether missing rows get a branch of their own: where that was asked for, and they may be a leaf."""
        wanted = self.training_set.settings.missing == "branch" and gone.rows > 0
        return wanted and self.measure.valid(gone) and self.fits(gone)

    def score(
        self,
        make: Callable[..., Split],
        missing: int,
        branches: tuple[Group, ...],
        missing_rows: int,
        key: tuple[int, int, int, int],
    ) -> Candidate | None:
        """Score the split that ``make(missing=…)`` makes; None when it sends all rows one way."""
        measure = self.measure
        filled = [g for g in branches if g.rows]
        if len(filled) < 2 or not all(map(measure.valid, filled)):
            return None
        computed = self.before - sum(map(measure.total, filled))
        slack = measure.slack(len(filled))
        gain = computed if abs(computed) > slack else 0
        merit, slack = self.merit(computed, slack, filled)
        eligible = all(map(self.fits, filled))
        return Candidate(make, missing, branches, missing_rows, key, gain, merit, slack, eligible)

    def merit(self, gain: int, slack: int, branches: Sequence[Group]) -> tuple[int, int]:
        """Return what a split of this gain competes by (the criterion's rule), and by how much that may be off."""
        rule = self.training_set.criterion.rule
        if rule == "ratio":
            return ratio(gain, self.node, branches), ratio(slack, self.node, branches) + RATIO_SLACK
        if rule == "gain" and self.training_set.by_branches:
            further = len(branches) - 1
            return gain // further, slack // further + (slack > 0)
        return gain, slack


# -- candidates -------------------------------------------------------------------------------------------------------


def candidates(judge: NodeScorer, rows: Rows, column: int, key: int | None = None) -> Iterator[Candidate]:
    """List every candidate of one column at a node, in the order in which ties are decided.

    With the node's ``key``: one of each kind, drawn at random.
    """
    scene = bucketise(judge.training_set, column, rows)
    if not scene.buckets:
        return
    kinds = judge.training_set.splits[column]
    gone = scene.missing
    own = judge.sets_apart(gone)
    for kind in kinds:
        for parting in PARTITIONERS[kind](scene) if key is None else one_at_random(scene, kind, key):
            for placement, (branch, branches) in enumerate(place_missing(parting, gone, own)):
                named = (column, KIND_RANK[kind], parting.position, placement)
                made = judge.score(parting.make, branch, branches, gone.rows, named)
                if made:
                    yield made
    if gone.rows:
        present = reduce(add, (b.group for b in scene.buckets))
        split = presence(scene, kinds[0])
        sides = (present, gone) if split.missing == 1 else (gone, present)
        named = (column, KIND_RANK["presence"], 0, 0)
        made = judge.score(partial(replace, split), split.missing, sides, gone.rows, named)
        if made:
            yield made


def place_missing(parting: Partition, gone: Group, own: bool) -> Iterator[tuple[int, tuple[Group, ...]]]:
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


def ratio(gain: int, node: Group, branches: Sequence[Group]) -> int:
    """Gain divided by the entropy of the branch sizes (Quinlan 1993, section 2.2), in units of 2^-60."""
    information = nlogn(node.weight) - sum(nlogn(g.weight) for g in branches)
    return int(math.ldexp(float(gain) / float(information), RATIO_BITS))


# -- chapter 8's three questions --------------------------------------------------------------------------------------


def leaf_condition(training_set: TrainingSet, rows: Rows, node: Group, depth: int) -> str:
    """Say why a node is a leaf before any split is looked at; "" when it is not (algorithm 8.1)."""
    limits = training_set.settings
    if node.rows == 0:
        return "no_rows"
    if training_set.target.task == "classification":
        if max(node.counts) == node.weight:
            return "pure"
        enough = as_written(limits.sufficient_accuracy) * node.weight
        if limits.sufficient_accuracy < 1 and max(node.counts) >= enough:
            return "sufficient_accuracy"
    elif np.all(training_set.raw[rows] == training_set.raw[rows[0]]):
        return "pure"
    if limits.max_depth is not None and depth >= limits.max_depth:
        return "max_depth"
    if node.rows < limits.least_rows(limits.min_samples_split, len(training_set)):
        return "min_samples_split"
    return ""


def find_best_prediction(training_set: TrainingSet, rows: Rows, node: Group) -> int | float:
    """Return the majority class (the first of equals), the mean, or for absolute error the median (algorithm 8.1).

    ``training_set`` is the one the node sees (``TrainingSet.at``), of which ``node`` is the group.
    """
    if training_set.target.task == "classification":
        return node.counts.index(max(node.counts))
    if np.all(training_set.raw[rows] == training_set.raw[rows[0]]):
        return float(training_set.raw[rows[0]])
    if training_set.criterion.centre == "median":
        low, high = medians(node)
        return math.ldexp(float(low) / 2 + float(high) / 2, -training_set.target_scale)
    return math.ldexp(float(node.total) / float(node.weight), -training_set.target_scale)


def find_best_split(training_set: TrainingSet, rows: Rows, key: int = 0) -> Candidate | str:
    """Return the winning candidate of a node, or the reason why there is none (algorithm 8.2).

    Larger merit wins; of equals (nearer than rounding may have moved them) the first, or with random ties the one that
    draws the smallest number. C4.5 lets each column send its best test first. Where a node looks at ``max_features``
    columns only, they are drawn in turn, until there are enough and one of them can be used. ``key``: the node's, from
    which all that is random is drawn (``_lib/rng.py``).
    """
    training_set = training_set.at(rows)
    settings = training_set.settings
    draw = (lambda c: chance.tie_key(key, c.key)) if settings.ties == "random" else None
    judge = NodeScorer.of(training_set, rows)
    node, measure = judge.node, judge.measure
    seen = False
    competing: list[Candidate] = []
    best_of_column: list[tuple[Candidate, int]] = []
    n_columns = len(training_set.columns)
    enough = settings.features_of(n_columns)
    in_turn = chance.shuffled_columns(key, n_columns) if enough < n_columns else range(n_columns)
    for looked_at, column in enumerate(in_turn):
        if looked_at >= enough and competing:
            break
        listed = list(candidates(judge, rows, column, key if settings.splitter == "random" else None))
        seen = seen or bool(listed)
        fitting = [c for c in listed if c.eligible]
        competing += fitting
        if fitting:
            cuts = len({c.key[2] for c in listed if c.key[1] == KIND_RANK["threshold"]})
            best_of_column.append((pick(fitting, draw), cuts))
    if not competing:
        return "min_samples_leaf" if seen else "no_candidate"
    if training_set.criterion.rule == "c45":
        competing = c45_second_step(node, best_of_column)
    best = pick(competing, draw)
    least = training_set.settings.min_impurity_decrease * (1 - 2.0**-40)  # a decrease met to twelve digits is met
    at_most = best.gain + measure.slack(len(best.filled)) if best.gain else 0
    if decrease(training_set, measure, at_most, int(training_set.weight.sum())) < least:
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


def c45_second_step(node: Group, bests: Sequence[tuple[Candidate, int]]) -> list[Candidate]:
    """C4.5's second step: of the columns with at least average gain, compare the gain ratio.

    A threshold's gain is first lessened by log2(cuts tried)/n, what it takes to say which cut was chosen (Quinlan
    1996, "Improved use of continuous attributes"). n is the number of rows: in total impurity that is log2(cuts tried)
    times the mean weight of a row, so weights all multiplied by the same number change nothing.
    """
    lessened = []
    for best, cuts in bests:
        price = log2_fixed(cuts) * node.weight // node.rows if best.key[1] == KIND_RANK["threshold"] else 0
        lessened.append(replace(best, merit=best.merit - price))
    average = sum(c.merit // len(lessened) for c in lessened)
    enough = [c for c in lessened if c.merit + 2 * c.slack + len(lessened) >= average]
    return [
        replace(c, merit=ratio(c.merit, node, c.filled), slack=ratio(c.slack, node, c.filled) + RATIO_SLACK)
        for c in enough
    ]


def decrease(training_set: TrainingSet, measure: Measure, gain: int, weight: int) -> float:
    """Turn an integer gain into a decrease of impurity per unit of weight, in the user's numbers."""
    try:
        return math.ldexp(
            float(gain) * measure.worth / weight, -training_set.criterion.degree * training_set.target_scale
        )
    except OverflowError:  # squares of targets past 1e154: larger than any double, as the core says too
        return math.inf
