"""Chapter 8's BuildTree (algorithm 8.1) in plain Python, on top of ``train/reference.py``: the core's slow twin.

``grow_reference`` returns the nodes in pre-order. ``reference_facts`` and ``tree_facts`` describe them, and those of a
grown ``Tree``, as comparable tuples. The tests compare both on random tables, and ``TREEWISE_VERIFY=1`` on the user's
(``train/self_check.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.rng import mix64
from treewise.data.encoding import decode
from treewise.train.candidates import compute_stats
from treewise.train.constraints import UNCONSTRAINED, NodeConstraints, predicted_value
from treewise.train.reference import Candidate, find_best_prediction, find_best_split, leaf_condition
from treewise.train.training_set import TrainingSet
from treewise.tree.splits import Ordinal, Threshold
from treewise.tree.tree import Tree

Facts = tuple[Any, ...]


@dataclass(eq=False)
class ReferenceNode:
    """A node while it grows."""

    path: tuple[int, ...]  # branch numbers from the root
    rows: npt.NDArray[np.int64]
    key: int
    stop: str = ""
    best: Candidate | None = None
    priority: tuple[int, int, float] = (0, 0, 0.0)
    prediction: int | float | None = None
    p_value: float | None = None
    constraints: NodeConstraints = UNCONSTRAINED
    children: list[ReferenceNode] = field(default_factory=list)


def grow_reference(training_set: TrainingSet) -> list[ReferenceNode]:
    """Grow a tree; return its nodes in pre-order."""
    root = ReferenceNode((), np.arange(len(training_set)), mix64(0, training_set.settings.random_state))
    _predict(training_set, root)
    _decide(training_set, root)
    max_leaves = training_set.settings.max_leaf_nodes
    waiting, leaves = [root] if root.best else [], 1
    while waiting:
        if max_leaves is None:
            node = waiting.pop()
        else:  # the best split first
            node = min(waiting, key=lambda n: ([-part for part in n.priority], n.path))
            assert node.best is not None
            if leaves + node.best.split.n_branches - 1 > max_leaves:
                for left in waiting:
                    left.stop, left.best = "max_leaf_nodes", None
                break
            waiting.remove(node)
        _split(training_set, node)
        leaves += len(node.children) - 1
        waiting += [c for c in node.children if c.best]
    nodes, stack = [], [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        stack += reversed(node.children)
    return nodes


def _predict(training_set: TrainingSet, node: ReferenceNode) -> float:
    """Set what a node predicts; return its value, which monotone constraints compare."""
    training_set = training_set.with_node_scale(node.rows)
    stats = compute_stats(training_set, node.rows)
    if not stats.rows:
        return math.nan
    node.prediction = find_best_prediction(training_set, node.rows, stats)
    return predicted_value(training_set, stats) if len(stats.counts) == 2 else float(node.prediction)


def _constrain(training_set: TrainingSet, node: ReferenceNode) -> None:
    """Give the children of a node their constraints, and clip what they predict."""
    assert node.best is not None
    encodings, split = training_set.encodings, node.best.split
    column = next(i for i, e in enumerate(encodings) if e.name == split.column)
    is_ordered = isinstance(split, Threshold | Ordinal)
    values = [_predict(training_set, child) for child in node.children]
    below = node.constraints.of_branches(training_set.constraints[column], is_ordered, values)
    for child, constraints in zip(node.children, below, strict=True):
        child.constraints = constraints
        if training_set.target.task == "regression" and child.prediction is not None:
            child.prediction = constraints.clip(child.prediction)


def _decide(training_set: TrainingSet, node: ReferenceNode) -> None:
    """Find the split of a node, or the reason why it is a leaf."""
    training_set = training_set.with_node_scale(node.rows)
    stats = compute_stats(training_set, node.rows)
    node.stop = leaf_condition(training_set, node.rows, stats, len(node.path))
    if node.stop:
        return
    search = find_best_split(training_set, node.rows, node.key, node.constraints)
    node.stop, node.best = search.reason, search.best
    if search.tests is not None and search.tests.tested:
        node.p_value = search.tests.p_value
    if node.best is None:
        return
    measure = training_set.criterion.impurity_at(stats)
    if node.best.total_gain:  # in 40 bits and an exponent of its own: squares of 1e200 compare as well as any
        mantissa, exponent = math.frexp(float(node.best.total_gain) * measure.unit_value)
        rounded, carried = math.frexp(float(np.rint(math.ldexp(mantissa, 40))))
        node.priority = (1, exponent + carried - training_set.criterion.degree * training_set.target_scale, rounded)


def _split(training_set: TrainingSet, node: ReferenceNode) -> None:
    """Send the rows of a node to its branches, and decide what becomes of each."""
    assert node.best is not None
    split = node.best.split
    encoding = next(e for e in training_set.encodings if e.name == split.column)
    column = training_set.columns[training_set.encodings.index(encoding)]
    branch = np.array([split.branch(v, encoding) for v in decode(encoding, column[node.rows])], np.int64)
    for b in range(split.n_branches):
        node.children.append(ReferenceNode((*node.path, b), node.rows[branch == b], mix64(node.key, b)))
    _constrain(training_set, node)
    for child in node.children:
        if not len(child.rows):
            child.stop = "no_rows"
        else:
            _decide(training_set, child)


# -- facts that must agree ------------------------------------------------------------------------------------


def reference_facts(training_set: TrainingSet, nodes: list[ReferenceNode]) -> list[Facts]:
    """Return split, rows, stop reason, prediction, counts, and p-value to the last bit, of each node."""
    scale = 2.0**-training_set.weight_scale
    return [
        (
            node.best.split if node.best is not None and node.children else None,
            len(node.rows),
            node.stop if not node.children else "",
            None if node.stop == "no_rows" else node.prediction,
            tuple(c * scale for c in compute_stats(training_set, node.rows).counts),
            node.best.missing_rows if node.best is not None and node.children else 0,
            node.p_value,
        )
        for node in nodes
    ]


def tree_facts(tree: Tree) -> list[Facts]:
    """Return the same facts of a grown tree."""
    facts: list[Facts] = []
    for node in tree:
        prediction: Any = node.prediction
        if tree.task == "classification" and prediction is not None:
            prediction = tree.classes.index(prediction)
        facts.append(
            (
                node.split,
                node.rows,
                node.stop,
                None if node.stop == "no_rows" else prediction,
                tuple(node.counts.get(c, 0.0) for c in tree.classes),
                node.missing_rows,
                node.p_value,
            )
        )
    return facts
