"""Chapter 8's BuildTree (algorithm 8.1) in plain Python on top of ``treewise.train.reference``.

``grow_reference`` returns the nodes in pre-order; ``reference_facts`` and ``tree_facts`` describe its nodes and those
of a grown ``Tree`` as comparable tuples.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from treewise._lib.rng import mix64
from treewise.train.candidates import compute_stats
from treewise.train.constraints import UNCONSTRAINED, NodeConstraints, predicted_value
from treewise.train.reference import Candidate, find_best_prediction, find_best_split, leaf_condition
from treewise.tree.splits import Ordinal, Threshold
from treewise.tree.tree import Tree


@dataclass(eq=False)
class ReferenceNode:
    path: tuple  # branch numbers from the root
    rows: np.ndarray
    key: int
    stop: str = ""
    best: Candidate | None = None
    priority: tuple = (0, 0, 0.0)
    prediction: object = None
    p_value: float | None = None
    constraints: NodeConstraints = UNCONSTRAINED
    children: list = field(default_factory=list)


def predict(training_set, node):
    """Set what a node predicts; return its value, which monotone constraints compare."""
    training_set = training_set.at(node.rows)
    stats = compute_stats(training_set, node.rows)
    if not stats.rows:
        return math.nan
    node.prediction = find_best_prediction(training_set, node.rows, stats)
    return predicted_value(training_set, stats) if len(stats.counts) == 2 else float(node.prediction)


def constrain(training_set, node):
    """Give the children of a node their constraints, and clip what they predict."""
    encodings, split = training_set.encodings, node.best.split
    column = next(i for i, e in enumerate(encodings) if e.name == split.column)
    is_ordered = isinstance(split, Threshold | Ordinal)
    values = [predict(training_set, child) for child in node.children]
    below = node.constraints.of_branches(training_set.constraints[column], is_ordered, values)
    for child, constraints in zip(node.children, below, strict=True):
        child.constraints = constraints
        if training_set.target.task == "regression" and child.prediction is not None:
            child.prediction = constraints.clip(child.prediction)


def look_at(training_set, node):
    training_set = training_set.at(node.rows)
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
    if node.best.gain:  # in 40 bits and an exponent of its own: squares of 1e200 compare as well as any
        mantissa, exponent = math.frexp(float(node.best.gain) * measure.unit_value)
        rounded, carried = math.frexp(float(np.rint(math.ldexp(mantissa, 40))))
        node.priority = (1, exponent + carried - training_set.criterion.degree * training_set.target_scale, rounded)


def split(training_set, node):
    encoding = next(e for e in training_set.encodings if e.name == node.best.split.column)
    column = training_set.columns[training_set.encodings.index(encoding)]
    from treewise.data.encoding import decode

    values = decode(encoding, column[node.rows])
    branch = np.array([node.best.split.branch(v, encoding) for v in values], np.int64)
    for b in range(node.best.split.n_branches):
        node.children.append(ReferenceNode((*node.path, b), node.rows[branch == b], mix64(node.key, b)))
    constrain(training_set, node)
    for child in node.children:
        if not len(child.rows):
            child.stop = "no_rows"
        else:
            look_at(training_set, child)


def grow_reference(training_set):
    root = ReferenceNode((), np.arange(len(training_set)), mix64(0, training_set.settings.random_state))
    predict(training_set, root)
    look_at(training_set, root)
    most = training_set.settings.max_leaf_nodes
    waiting, leaves = [root] if root.best else [], 1
    while waiting:
        if most is None:
            node = waiting.pop()
        else:
            node = min(waiting, key=lambda n: ([-part for part in n.priority], n.path))
            if leaves + node.best.split.n_branches - 1 > most:
                for left in waiting:
                    left.stop, left.best = "max_leaf_nodes", None
                break
            waiting.remove(node)
        split(training_set, node)
        leaves += len(node.children) - 1
        waiting += [c for c in node.children if c.best]
    out, stack = [], [root]
    while stack:
        node = stack.pop()
        out.append(node)
        stack += reversed(node.children)
    return out


def reference_facts(training_set, built):
    """What must agree: split, rows, stop reason, prediction, counts, p-value to the last bit."""
    scale = 2.0**-training_set.weight_scale
    return [
        (
            node.best.split if node.children else None,
            len(node.rows),
            node.stop if not node.children else "",
            None if node.stop == "no_rows" else node.prediction,
            tuple(c * scale for c in compute_stats(training_set, node.rows).counts),
            node.best.missing_rows if node.children else 0,
            node.p_value,
        )
        for node in built
    ]


def tree_facts(tree: Tree):
    classification = tree.task == "classification"
    out = []
    for node in tree:
        message = node.prediction
        if classification and message is not None:
            message = tree.classes.index(message)
        counts = tuple(node.counts.get(c, 0.0) for c in tree.classes)
        out.append(
            (
                node.split,
                node.rows,
                node.stop,
                None if node.stop == "no_rows" else message,
                counts,
                node.missing_rows,
                node.p_value,
            )
        )
    return out
