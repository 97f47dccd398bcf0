"""The trees of a program as attributes of ONNX's ``TreeEnsemble``.

The operator has binary nodes: a comparison with a number, or membership in a set; NaN goes to the true branch where
``nodes_missing_value_tracks_true`` says so. A test with a branch of its own for missing values is preceded by
``x <= inf``, which holds for every number and not for NaN. A switch with several cases is halved by membership.

Engines differ in how they read sets: onnxruntime in the order of nodes, the evaluator of the onnx package in the order
in which it walks, true branch first, and there a member 0 ends a set. So nodes are in pre-order with the true branch
first, and codes begin with 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from treewise.errors import ParameterError
from treewise.formats.export.program import Answer, BranchCondition, Program, Routine, Step, Test, conditions

LEQ, MEMBER = 0, 6
# onnxruntime builds trees by recursion: 10,000 levels fit a stack of 8 MB and 12,000 do not, so 1 MB, the default on
# Windows, fits about 1,300. The evaluator of the onnx package ends at Python's limit of 1,000 calls.
MAX_DEPTH = 900
_SUM, _NO_TRANSFORM = 1, 0

INTEGERS = ("integer", "datetime")  # kinds of columns whose ranks are compared

Way = tuple[BranchCondition, int]  # a condition and the step after it
_Branch = int | Test | tuple[Way, ...]  # a step, a comparison of present values, or ways among which tests choose


class _OnnxSplit(NamedTuple):
    """A binary node before it is numbered."""

    column: int
    mode: int
    cut: float
    members: tuple[int, ...]
    missing_is_true: bool
    true: _Branch
    false: _Branch


class _Nodes:
    """The attributes, filled in pre-order."""

    def __init__(self) -> None:
        self.feature: list[int] = []
        self.mode: list[int] = []
        self.cut: list[float] = []
        self.missing: list[int] = []
        self.child: dict[bool, list[int]] = {True: [], False: []}
        self.is_leaf: dict[bool, list[int]] = {True: [], False: []}
        self.members: list[float] = []
        self.leaf_target: list[int] = []
        self.leaf_weight: list[float] = []
        self.roots: list[int] = []

    def add(self, split: _OnnxSplit) -> int:
        """Add a node, whose branches are set later."""
        self.feature.append(split.column)
        self.mode.append(split.mode)
        self.cut.append(split.cut)
        self.missing.append(int(split.missing_is_true))
        for side in (True, False):
            self.child[side].append(0)
            self.is_leaf[side].append(0)
        if split.mode == MEMBER:
            self.members += [*map(float, split.members), math.nan]
        return len(self.feature) - 1

    def add_leaf(self, node: int, side: bool, target: int, weight: int) -> None:
        """Add a leaf below a node."""
        self.child[side][node], self.is_leaf[side][node] = len(self.leaf_weight), 1
        self.leaf_target.append(target)
        self.leaf_weight.append(float(weight))


def tree_attributes(program: Program) -> dict[str, Any]:
    """Return the attributes of the operator; tensors as arrays."""
    nodes = _Nodes()
    ranks = _ranks_of_cuts(program)
    for t, routine in enumerate(program.routines):
        _add_tree(nodes, t, routine, ranks)
    members = {"membership_values": np.array(nodes.members)} if nodes.members else {}
    return {
        "aggregate_function": _SUM,
        "leaf_targetids": nodes.leaf_target,
        "leaf_weights": np.array(nodes.leaf_weight),
        **members,
        "n_targets": len(program.routines),
        "nodes_falseleafs": nodes.is_leaf[False],
        "nodes_falsenodeids": nodes.child[False],
        "nodes_featureids": nodes.feature,
        "nodes_missing_value_tracks_true": nodes.missing,
        "nodes_modes": np.array(nodes.mode, np.uint8),
        "nodes_splits": np.array(nodes.cut),
        "nodes_trueleafs": nodes.is_leaf[True],
        "nodes_truenodeids": nodes.child[True],
        "post_transform": _NO_TRANSFORM,
        "tree_roots": nodes.roots,
    }


def _add_tree(nodes: _Nodes, t: int, routine: Routine, ranks: Sequence[dict[int, float]]) -> None:
    """Add the nodes of one tree; a tree of one leaf is a node with this leaf on both sides."""
    start = _resolve(0, routine.steps, ranks)
    nodes.roots.append(len(nodes.feature))
    if isinstance(start, Answer):
        root = nodes.add(_OnnxSplit(0, LEQ, 0.0, (), False, 0, 0))
        for side in (True, False):
            nodes.add_leaf(root, side, t, start.number)
        return
    stack: list[tuple[_OnnxSplit | Answer, int, bool, int]] = [(start, -1, True, 1)]
    while stack:
        item, parent, side, depth = stack.pop()
        if isinstance(item, Answer):
            nodes.add_leaf(parent, side, t, item.number)
            continue
        if depth > MAX_DEPTH:
            raise ParameterError(
                f"the model is more than {MAX_DEPTH:,} tests deep as an ONNX graph; onnxruntime reads trees by"
                " recursion and may crash on deeper ones.",
                hint="Export it as SQL, Python or C, or prune it.",
            )
        at = nodes.add(item)
        if parent >= 0:
            nodes.child[side][parent] = at
        stack.append((_resolve(item.false, routine.steps, ranks), at, False, depth + 1))
        stack.append((_resolve(item.true, routine.steps, ranks), at, True, depth + 1))


def integer_cuts(program: Program, column: int) -> list[int]:
    """Return the cuts of an integer or datetime column in all trees, in order, each once."""
    tests = (step for routine in program.routines for step in routine.steps if isinstance(step, Test))
    return sorted({int(test.cut) for test in tests if test.column == column and test.op != "present"})


def _ranks_of_cuts(program: Program) -> list[dict[int, float]]:
    """Return for each integer column the rank of its cuts: halfway between the ranks of the values beside them."""
    return [
        {cut: rank + 0.5 for rank, cut in enumerate(integer_cuts(program, i))} if e.kind in INTEGERS else {}
        for i, e in enumerate(program.inputs)
    ]


def _resolve(target: _Branch, steps: Sequence[Step], ranks: Sequence[dict[int, float]]) -> _OnnxSplit | Answer:
    """Return the answer or the node that a branch leads to; where only one way is left, go on."""
    while True:
        if isinstance(target, int):
            step = steps[target]
            if isinstance(step, Answer):
                return step
            target = step if isinstance(step, Test) else tuple(conditions(step))
        if isinstance(target, Test):
            if not target.below == target.above == target.missing:
                return _compare(target, ranks[target.column])
            target = target.below
        elif len(target) > 1:
            return _halve(target)
        else:
            target = target[0][1]


def _compare(test: Test, rank: dict[int, float]) -> _OnnxSplit:
    """Return the node of a threshold, or the presence test before it."""
    if test.below == test.above:
        return _OnnxSplit(test.column, LEQ, math.inf, (), False, test.below, test.missing)
    if test.missing not in (test.below, test.above):
        among_present = test._replace(missing=test.above)
        return _OnnxSplit(test.column, LEQ, math.inf, (), False, among_present, test.missing)
    cut = rank[int(test.cut)] if rank else float(test.cut)
    if test.op == "<":
        cut = math.nextafter(cut, -math.inf)
    return _OnnxSplit(test.column, LEQ, cut, (), test.missing == test.below, test.below, test.above)


def _halve(ways: tuple[Way, ...]) -> _OnnxSplit:
    """Return the node that tells the first half of the ways from the others; missing values alone come first."""
    column = ways[0][0].column
    for condition, child in ways:
        if condition.missing and not condition.levels and not condition.negated:
            others = tuple(way for way in ways if way[0] is not condition)
            return _OnnxSplit(column, LEQ, math.inf, (), False, others, child)
    ordered = sorted(ways, key=lambda way: way[0].negated)
    half, rest = tuple(ordered[: len(ordered) // 2]), tuple(ordered[len(ordered) // 2 :])
    members = tuple(sorted(code + 1 for condition, _ in half for code in condition.levels))
    is_missing = any(condition.missing for condition, _ in half)
    return _OnnxSplit(column, MEMBER, 0.0, members, is_missing, half, rest)
