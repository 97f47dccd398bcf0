"""Where rows end, and what is known of them there: what rules are made of.

Below ``rules``; on ``regions`` for where, and on the tree's arrays for how many and how sure.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.errors import ParameterError, did_you_mean, listing
from treewise.predict.confidence_intervals import wilson_intervals
from treewise.predict.leaf_probabilities import LeafProbabilities, label_probabilities
from treewise.predict.predict import answering_nodes, node_intervals
from treewise.show.node_stats import has_training_rows
from treewise.tree.arrays import LEAF, Label
from treewise.tree.regions.condition import is_free
from treewise.tree.regions.region import Interval, Region, RegionTraversal, say
from treewise.tree.regions.traverse import STAY, ReachableLevels
from treewise.tree.tree import Tree

AND = " AND "

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def class_place(tree: Tree, cls: Any) -> int:
    """Find a class by its label, or by how that is written."""
    if tree.task == "regression":
        raise ParameterError(
            "the tree predicts numbers, which have no classes.", parameter="cls", value=cls, hint="Leave it out."
        )
    words = [str(label) for label in tree.classes]
    if str(cls) in words:
        return words.index(str(cls))
    folded = [word.casefold() for word in words]
    if folded.count(str(cls).casefold()) == 1:  # "true" in one file, True in another
        return folded.index(str(cls).casefold())
    words = list(map(safe, words))
    near = did_you_mean(str(cls), words)
    raise ParameterError(
        f'"{safe(tree.target.name)}" has no such class.',
        parameter="cls",
        value=cls,
        hint=f"{near} Its classes: {listing(words)}.",
    )


# -- where rows end -------------------------------------------------------------------------------------------


def ends_of(tree: Tree) -> tuple[list[int], int]:
    """Return the nodes at which rows may end, and how many leaves no row can reach."""
    descent, ends, empty = RegionTraversal(tree), [], 0
    gone = [False] * len(tree)
    for node in descent.walk():
        parent = descent.parent[node]
        if parent >= 0:
            gone[node] = gone[parent] or nothing_left(descent.now[descent.column[parent]])
        if descent.kind[node] == LEAF:
            empty += gone[node]
            ends += [node] * (not gone[node])
        elif descent.stays(node) and not gone[node]:
            back = descent.take(node, STAY)
            ends += [node] * (not nothing_left(descent.now[descent.column[node]]))
            back()
    return ends, empty


def nothing_left(now: Interval | ReachableLevels) -> bool:
    """Tell whether nothing is possible of a column any more."""
    if isinstance(now, Interval):
        return now.empty
    if now.missing or now.unseen or (now.listed is None and now.last - now.first >= len(now.without)):
        return False
    return not any(map(now.holds, range(now.first, now.last + 1) if now.listed is None else now.listed))


def regions_at(tree: Tree, ends: Container[int]) -> dict[int, Region]:
    """Return the regions of some ends, by one way through the tree."""
    descent = RegionTraversal(tree)
    na_values = tree.na_values
    return {
        node: Region(tree.encodings, descent.conditions(), na_values) for node in descent.ends_here() if node in ends
    }


def gaps_of(tree: Tree) -> list[bool]:
    """Tell of each column whether it had missing values at a test, so that a rule says where they went."""
    a = tree.arrays
    gaps = np.zeros(len(tree.encodings), bool)
    gaps[a.column[(a.kind != LEAF) & (a.missing_rows > 0)]] = True
    found: list[bool] = gaps.tolist()
    return found


def unsaid(tree: Tree) -> bool:
    """Tell whether some column of a test had no missing values, so that rules do not say where these would go."""
    a = tree.arrays
    used = np.unique(a.column[a.kind != LEAF])
    return bool(len(used)) and not all(np.array(gaps_of(tree))[used])


def conditions(region: Region, gaps: Sequence[bool], unseen: bool) -> tuple[str, ...]:
    """Say a region, one condition a column; where missing values went only of columns that had some."""
    pairs = ((i, region.encodings[i], condition) for i, condition in region.conditions.items())
    return tuple(say(c, e, or_missing=gaps[i], or_unseen=unseen) for i, e, c in pairs if not is_free(c, e))


class ConditionStatement:
    """What rules and groups share: a region, and the conditions that say it, one a column."""

    region: Region
    conditions: tuple[str, ...]

    @property
    def words(self) -> str:
        """The conditions as one sentence: ``x3 is true AND x5 <= 3.2``."""
        return AND.join(self.conditions) or "all rows"

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a row (a dict of cells; None is missing) satisfies them."""
        return self.region.contains(row)


# -- figures --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RuleStatistics:
    """What is known of some ends, one entry each."""

    leaf: list[bool]
    prediction: list[Label | None]
    rows: list[int]
    share: list[float]
    probability: list[float | None]
    lift: list[float | None]
    low: list[float | None]
    high: list[float | None]
    spread: list[float | None]

    def key(self, sort: str, i: int) -> tuple[float, ...]:
        """Return what the rules are sorted by; of equals the one with more rows comes first."""
        if sort == "node":
            return ()
        if sort == "support":
            return (-self.rows[i],)
        value = {"probability": self.probability[i], "lift": self.lift[i], "value": self.prediction[i]}[sort]
        return (-float(value) if isinstance(value, (int, float)) else np.inf, -self.rows[i])

    def at(self, i: int) -> dict[str, Any]:
        """Return all of one end."""
        return {each.name: getattr(self, each.name)[i] for each in fields(self)}


def figures(tree: Tree, ends: Ints, cls: Label | None, confidence: float) -> RuleStatistics:
    """Read the figures of some ends off the arrays; None where an end had no rows, or a tree knows none."""
    a, speakers = tree.arrays, answering_nodes(tree, ends)
    leaf = a.kind[ends] == LEAF
    start, child = a.child_lists
    below = np.add.reduceat(np.append(a.rows[child], 0), start[:-1]) * (np.diff(start) > 0)
    rows = np.where(leaf, a.rows[ends], a.rows[ends] - below[ends])
    share = rows / max(1, int(a.rows[0]))
    some = rows > 0
    nothing: list[float | None] = [None] * len(ends)

    def said(values: Floats) -> list[float | None]:
        return [v if k else None for v, k in zip(values.tolist(), some.tolist(), strict=True)]

    predictions = [tree.prediction(node) for node in speakers.tolist()]
    common = (leaf.tolist(), predictions, rows.tolist(), share.tolist())
    if tree.task == "regression":
        low, high = nothing, nothing
        if tree.criterion != "absolute_error" and has_training_rows(tree):
            ends_of_mean = node_intervals(tree, speakers, confidence)
            low, high = said(ends_of_mean[:, 0]), said(ends_of_mean[:, 1])
        return RuleStatistics(*common, nothing, nothing, low, high, said(a.spread[speakers]))
    if not has_training_rows(tree):
        return RuleStatistics(*common, nothing, nothing, nothing, nothing, nothing)
    classes = a.label[speakers] if cls is None else np.full(len(ends), class_place(tree, cls))
    probability = label_probabilities(tree, speakers, classes.astype(np.int64), LeafProbabilities())
    of_all = tree.probabilities(0)[classes]
    lift = np.divide(probability, of_all, out=np.full(len(ends), np.nan), where=of_all > 0)
    lows, highs = wilson_intervals(probability, a.rows[speakers].astype(float), confidence)
    return RuleStatistics(*common, said(probability), said(lift), said(lows), said(highs), nothing)
