"""Class probabilities and values of nodes from their counts.

Used by ``predict/predict.py``. A tree keeps counts, so the probability estimate is chosen at prediction. With n rows at
a leaf, c of them of a class, k classes, and p the share of the class in the whole table:

    maximum_likelihood   c/n                  CS221 notes 6; a class that was not there is impossible
    laplace              (c + 1)/(n + k)      one more row of each class
    m_estimate           (c + m·p)/(n + m)    m more rows like the whole table; m is 2 by default
    shrinkage            hierarchical, over the path: s(root) + Σ (s(node) − s(parent)) / (1 + λ/n(parent)),
                         where s is the node's own share (or mean, of a regression) and λ is 10 by default
                         (hierarchical shrinkage: Agarwal, Tan, Ronen, Singh and Yu 2022)

Their intervals are in ``predict/confidence_intervals.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from treewise.errors import Call, DataError, ParameterError, did_you_mean
from treewise.train.constraints import enforce_order, is_monotone
from treewise.tree.arrays import NO_ROWS
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ESTIMATES = ("maximum_likelihood", "laplace", "m_estimate", "shrinkage")
_DEFAULT_STRENGTH = {"m_estimate": 2.0, "shrinkage": 10.0}
_BLOCK = 1 << 22  # numbers in memory at once, where there are many classes


@dataclass(frozen=True)
class LeafProbabilities:
    """How counts become probabilities; ``strength`` is the m of an m-estimate, the λ of shrinkage.

    For Laplace, strength is the weight of one row; 0 stands for 1.

    >>> LeafProbabilities.of("laplace"), LeafProbabilities.of("shrinkage=25")
    (LeafProbabilities(name='laplace', strength=0.0), LeafProbabilities(name='shrinkage', strength=25.0))
    """

    name: str = "maximum_likelihood"
    strength: float = 0.0

    @classmethod
    def of(cls, estimate: object) -> LeafProbabilities:
        """Read an estimate from text: its name, and its strength after an equals sign."""
        if isinstance(estimate, LeafProbabilities):
            return estimate
        if estimate is None:
            return cls()
        name, equals, number = estimate.partition("=") if isinstance(estimate, str) else ("", "", "")
        name = name.strip().replace("-", "_")
        if name not in _ESTIMATES:
            known_names = ", ".join(
                str(cls(estimate_name, _DEFAULT_STRENGTH.get(estimate_name, 0.0))) for estimate_name in _ESTIMATES
            )
            raise ParameterError(
                f"must be one of {known_names}.",
                parameter="estimate",
                value=estimate,
                hint=did_you_mean(name or None, _ESTIMATES),
            )
        if not equals:
            return cls(name, _DEFAULT_STRENGTH.get(name, 0.0))
        try:
            strength = float(number)
        except ValueError:
            strength = math.nan
        if name not in _DEFAULT_STRENGTH or not 0 <= strength < math.inf:
            problem = (
                f"{name} takes no number"
                if name not in _DEFAULT_STRENGTH
                else "the number must be 0 or more and finite"
            )
            raise ParameterError(f"{problem}.", parameter="estimate", value=estimate)
        return cls(name, strength)

    def check(self, tree: Tree) -> None:
        """Refuse an estimate for classes where the tree predicts numbers."""
        if tree.task == "regression" and self.name not in ("maximum_likelihood", "shrinkage"):
            raise ParameterError(
                "this estimate is for classes; a tree that predicts numbers takes shrinkage.",
                parameter="estimate",
                value=self.name,
            )

    def __str__(self) -> str:
        return f"{self.name}={self.strength:g}" if self.name in _DEFAULT_STRENGTH else self.name


def default_smoothing(tree: Tree) -> LeafProbabilities:
    """Return the estimate by which probabilities are evaluated unless another is given: Laplace's, which is never 0.

    It adds one row of each class, of the mean weight in the table, so that only proportions of weights matter. Chosen
    by ``python -m benchmarks.calibration``: of the estimates that change no predicted class it has the least log loss.
    """
    rows, weight = int(tree.arrays.rows[0]), float(tree.arrays.weight[0])
    if not rows and len(tree.arrays.count_class):  # probabilities that somebody wrote are not counts
        return LeafProbabilities("maximum_likelihood", 0.0)
    return LeafProbabilities("laplace", weight / rows if rows and weight > 0 else 1.0)


def class_probabilities(
    tree: Tree, nodes: Ints, estimate: LeafProbabilities, first: int = 0, last: int | None = None
) -> Floats:
    """Return the probabilities that some nodes give to the classes from ``first`` up to ``last``, one row per node.

    A node without rows answers with its nearest ancestor that has some, or the root (``empty_branch``); a leaf written
    by hand has probability 1 for its class; a node without a prediction has zeros. Smoothed
    probabilities keep monotone constraints as the others do.
    """
    last = len(tree.classes) if last is None else last
    if estimate.name == "maximum_likelihood" or not is_monotone(tree):
        return _class_probabilities(tree, nodes, estimate, first, last)
    shares = _class_probabilities(tree, np.arange(len(tree)), estimate, 0, 2)
    second = enforce_order(tree, shares[:, 1])[nodes]
    return np.stack([1 - second, second], axis=1)[:, first:last]


def _class_probabilities(tree: Tree, nodes: Ints, estimate: LeafProbabilities, first: int, last: int) -> Floats:
    k = len(tree.classes)
    counted_at = nodes_with_counts(tree)[nodes]
    if estimate.name == "shrinkage":
        weight = _counted_weights(tree)
        shares = _shrunk(
            tree, counted_at, lambda some: _class_shares(tree, some, first, last), weight, estimate.strength
        )
        shares = np.clip(shares, 0.0, 1.0)  # differences added up may miss by the last bit
    else:
        counts, total = class_counts(tree, counted_at, first, last), _counted_weights(tree)[counted_at, None]
        if estimate.name == "laplace":
            strength = estimate.strength or 1.0
            counts, total = counts + strength, total + strength * k
        elif estimate.name == "m_estimate":
            prior = _class_shares(tree, np.zeros(1, np.int64), first, last)
            counts, total = counts + estimate.strength * prior, total + estimate.strength
        shares = counts / np.where(total > 0, total, 1.0)
    uncounted = np.diff(tree.arrays.count_start)[counted_at] == 0
    shares[uncounted] = tree.arrays.label[nodes][uncounted, None] == np.arange(first, last)
    return shares


def node_values(tree: Tree, nodes: Ints, estimate: LeafProbabilities) -> Floats:
    """Return the numbers that some nodes of a regression tree predict."""
    if estimate.name != "shrinkage":
        return tree.arrays.value[nodes]
    if is_monotone(tree):
        return enforce_order(tree, _shrunk_values(tree, np.arange(len(tree)), estimate.strength))[nodes]
    return _shrunk_values(tree, nodes, estimate.strength)


def _shrunk_values(tree: Tree, nodes: Ints, strength: float) -> Floats:
    node_means, weight = tree.arrays.value, tree.arrays.weight
    counted_at = nodes_with_counts(tree)[nodes]
    counted = weight[counted_at] > 0
    values = node_means[counted_at].copy()
    values[counted] = _shrunk(tree, counted_at[counted], lambda some: node_means[some, None], weight, strength)[:, 0]
    if np.isnan(values[counted]).any():
        raise DataError(
            "shrinkage needs the mean of every node, and this tree, read from a printed text, knows those of"
            " its leaves only. " + Call("tree.refit(data)") + " finds them."
        )
    return values


def _shrunk(tree: Tree, nodes: Ints, at_node: Callable[[Ints], Floats], weights: Floats, strength: float) -> Floats:
    """Shrink the shares or means of nodes towards those of their ancestors.

    With g(t) = 1/(1 + λ/n(t)) the sum of the formula above, s(root) + Σ (s(t) − s(parent)) · g(parent), is taken from
    the root down, all nodes of a depth at once.
    """
    a, depths = tree.arrays, tree.depths
    needed = _with_ancestors(a.parent, nodes)
    needed = needed[np.argsort(depths[needed], kind="stable")]
    index_of = np.empty(len(tree), np.int64)
    index_of[needed] = np.arange(len(needed))
    unshrunk = at_node(needed)
    weight = weights[needed]
    trust = weight / np.where(weight + strength > 0, weight + strength, 1.0)
    parent_index = index_of[a.parent[needed]]  # the entry of the root is not used
    borders = [*np.flatnonzero(np.diff(depths[needed])) + 1, len(needed)]
    result = unshrunk.copy()
    for begin, end in pairwise(borders):
        above = parent_index[begin:end]
        result[begin:end] = result[above] + (unshrunk[begin:end] - unshrunk[above]) * trust[above, None]
    return result[index_of[nodes]]


def _with_ancestors(parent: Ints, nodes: Ints) -> Ints:
    """Return the nodes and all nodes above them, each once, in order of number."""
    included = np.zeros(len(parent), bool)
    while len(nodes):
        included[nodes] = True
        nodes = np.unique(parent[nodes])
        nodes = nodes[(nodes >= 0) & ~included[nodes]]
    return np.flatnonzero(included)


def label_probabilities(tree: Tree, nodes: Ints, classes: Ints, estimate: LeafProbabilities) -> Floats:
    """Return the probability that each row's node gives to its class; a class number past the tree's has none.

    A block of classes at a time, without a table of rows × classes: there may be 10,000 of each.
    """
    reached, inverse = np.unique(nodes, return_inverse=True)
    probabilities = np.zeros(len(nodes))
    width = max(1, _BLOCK // max(1, len(reached)))
    for first in range(0, len(tree.classes), width):
        last = min(first + width, len(tree.classes))
        in_block = np.flatnonzero((classes >= first) & (classes < last))
        if len(in_block):
            block = class_probabilities(tree, reached, estimate, first, last)
            probabilities[in_block] = block[inverse[in_block], classes[in_block] - first]
    return probabilities


# -- counts -----------------------------------------------------------------------------------------------------------


def nodes_with_counts(tree: Tree) -> Ints:
    """Return for each node the one whose counts it answers with: itself, or when it had no rows an ancestor."""
    a, nearest = tree.arrays, np.arange(len(tree))
    uncounted = a.rows == 0 if tree.task == "regression" else np.diff(a.count_start) == 0
    without_rows = uncounted & (a.stop == NO_ROWS)
    if tree.empty_branch == "root":
        return np.where(without_rows, 0, nearest)
    for node in np.flatnonzero(uncounted[1:]) + 1 if without_rows.any() else ():
        nearest[node] = nearest[a.parent[node]]
    return np.where(without_rows, nearest, np.arange(len(tree)))


def class_counts(tree: Tree, nodes: Ints, first: int, last: int) -> Floats:
    """Return the weight of the classes from ``first`` up to ``last`` at some nodes, one row per node."""
    a = tree.arrays
    lengths = a.count_start[nodes + 1] - a.count_start[nodes]
    row = np.repeat(np.arange(len(nodes)), lengths)
    within = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    item = a.count_start[nodes][row] + within
    in_range = (a.count_class[item] >= first) & (a.count_class[item] < last)
    counts = np.zeros((len(nodes), last - first))
    counts[row[in_range], a.count_class[item[in_range]] - first] = a.count_weight[item[in_range]]
    return counts


def _counted_weights(tree: Tree) -> Floats:
    """Return the weight of all classes together at each node."""
    a = tree.arrays
    owner = np.repeat(np.arange(len(tree)), np.diff(a.count_start))
    return np.bincount(owner, weights=a.count_weight, minlength=len(tree)).astype(np.float64)


def _class_shares(tree: Tree, nodes: Ints, first: int, last: int) -> Floats:
    """Return the shares of classes at some nodes, as counted there; zeros where nothing was."""
    total = _counted_weights(tree)[nodes, None]
    return class_counts(tree, nodes, first, last) / np.where(total > 0, total, 1.0)
