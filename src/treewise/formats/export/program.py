"""The program under every executable export: tests, switches and answers, made from a tree or from an ensemble's trees.

    Tree, Ensemble ──compile_model──▶ Program ──▶ SQL, Python, C, JavaScript, JSON, …

A ``Program`` lists the columns it reads and has one ``Routine`` per tree: flat steps, each with a larger number than
the steps that lead to it.

    Test     a number, wide integer or datetime compared with a cut: at most it, above it, missing
    Switch   the level of a category or boolean: cases, any other level (never seen ones included), missing
    Answer   the end: a row of the routine's answers (node number, class, probabilities, value)

Everything that ``predict`` decides is in there, so that a printer decides nothing: where missing values and never-seen
levels go, rows that stop at an inner node, models that refuse missing values (``NO_ANSWER``), and the probabilities of
an ``estimate``. Printers of nested code take ``code_lines``, which needs no recursion and nests only log2(steps) deep.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from treewise.data.encoding import INT64_MAX, Encoding
from treewise.ensemble.model import Ensemble
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities
from treewise.predict.predict import answering_nodes, predict_at_nodes, refuses_missing
from treewise.tree.arrays import LEAF, MULTIWAY, ORDINAL, THRESHOLD, Label, Target
from treewise.tree.model import Model
from treewise.tree.tree import Tree

NO_ANSWER = -1  # instead of a node number or class: the model refuses the row, or the node predicts nothing


class Test(NamedTuple):
    """Compare a number: ``op`` is ``<=``, ``<`` (only with the smallest double) or ``present``, which has no cut."""

    column: int  # position among the program's inputs
    op: Literal["<=", "<", "present"]
    cut: float | int
    below: int  # the next step if the comparison holds, or the value is present
    above: int
    missing: int


class Switch(NamedTuple):
    """Choose by level; the levels of the cases are codes into the input's ``levels``."""

    column: int
    cases: tuple[tuple[tuple[int, ...], int], ...]  # (codes, next step)
    default: int  # the next step of every other level, never-seen ones included
    missing: int


class Answer(NamedTuple):
    """The end of a walk."""

    number: int  # row of the routine's answers


Step = Test | Switch | Answer


class BranchCondition(NamedTuple):
    """The values of a column that lead from a step to one of its children: what a printer writes as a condition.

    For a ``Test``, ``below``, ``above`` and ``missing`` say which outcomes are meant. For a ``Switch``, the values are
    the ``levels``, or the present values that are none of them (``negated``); with ``missing`` the missing ones too.
    """

    column: int
    missing: bool
    op: Literal["<=", "<", "present"] | None = None  # None for levels
    cut: float | int = 0
    below: bool = False
    above: bool = False
    levels: tuple[int, ...] = ()
    negated: bool = False

    def compare(self, x: str, cut: str, negation: str = "!({})") -> str:
        """Write a ``Test`` outcome where missing is NaN, with which every comparison is false.

        >>> BranchCondition(0, True, "<=", 1.5, below=True).compare("x", "1.5")
        '!(x > 1.5)'
        """
        if self.below and self.above:
            return f"{x} == {x}"
        if not (self.below or self.above):
            return f"{x} != {x}"
        below, above = ("<=", ">") if self.op == "<=" else ("<", ">=")
        if self.missing:
            return negation.format(f"{x} {above if self.below else below} {cut}")
        return f"{x} {below if self.below else above} {cut}"


class Line(NamedTuple):
    """A line of nested code: the beginning of a block under a condition, its end, or the answer that ends a block."""

    depth: int
    kind: Literal["if", "end", "answer"]
    condition: BranchCondition | None = None
    answer: Any = None


@dataclass(frozen=True, eq=False)
class LeafOutputs:
    """The outputs of a routine, one entry each."""

    node: list[int]  # the node's number, as ``apply`` returns it
    label: list[int]  # class number, NO_ANSWER where nothing is predicted; empty for regression
    value: list[float]  # regression; NaN where nothing is predicted
    probabilities: npt.NDArray[np.float64]  # answers × classes

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False)
class Routine:
    """One tree as steps; the first is the start."""

    steps: list[Step]
    answers: LeafOutputs

    @cached_property
    def sizes(self) -> list[int]:
        """The number of steps at and below each step."""
        sizes = [1] * len(self.steps)
        for i in range(len(self.steps) - 1, -1, -1):
            sizes[i] += sum(sizes[child] for child in set(_next_steps(self.steps[i])))
        return sizes

    @cached_property
    def depth(self) -> int:
        """The largest number of tests on a way to an answer."""
        depths = [0] * len(self.steps)
        for i in range(len(self.steps) - 1, -1, -1):
            depths[i] = max((depths[child] + 1 for child in _next_steps(self.steps[i])), default=0)
        return depths[0]

    def code_lines(self, answers: Sequence[Hashable]) -> Iterator[Line]:
        """Yield the routine as nested code: a block is a sequence of conditional blocks, and ends with an answer.

        ``answers[i]`` stands for answer i; where all ways from a step lead to equal answers, the tests between are left
        out. At each step the child with the most steps continues the block and the others open blocks of their own, so
        blocks nest at most log2(steps) deep, however deep the tree.
        """
        known = self._known_answers(answers)
        stack: list[Line | tuple[int, int]] = [(0, 0)]
        while stack:
            item = stack.pop()
            if isinstance(item, Line):
                yield item
                continue
            at, depth = item
            if known[at] is not _SEVERAL:
                yield Line(depth, "answer", answer=known[at])
                continue
            ways = conditions(self.steps[at])
            # Of equals the child that takes missing values, so that no condition has to name them.
            last = max(range(len(ways)), key=lambda k: (self.sizes[ways[k][1]], ways[k][0].missing))
            stack.append((ways[last][1], depth))
            for k in range(len(ways) - 1, -1, -1):
                if k != last:
                    condition, child = ways[k]
                    stack += [Line(depth, "end"), (child, depth + 1), Line(depth, "if", condition)]

    def _known_answers(self, answers: Sequence[Hashable]) -> list[Any]:
        """Return the one answer that each step leads to, ``_SEVERAL`` where there are more."""
        known: list[Any] = [None] * len(self.steps)
        for i in range(len(self.steps) - 1, -1, -1):
            step = self.steps[i]
            if isinstance(step, Answer):
                known[i] = answers[step.number]
                continue
            first, *others = (known[child] for child in _next_steps(step))
            same = first is not _SEVERAL and all(other is not _SEVERAL and other == first for other in others)
            known[i] = first if same else _SEVERAL
        return known


_SEVERAL = object()


@dataclass(frozen=True, eq=False)
class Program:
    """A model as inputs, routines, and the way their answers are combined.

    >>> import treewise as tw
    >>> program = compile_model(tw.parse("x <= 1 -> a\\nx > 1\\n  z = u -> a\\n  z otherwise -> b"))
    >>> [encoding.name for encoding in program.inputs], program.routines[0].answers.label
    (['x', 'z'], [0, 0, 1])
    >>> for step in program.routines[0].steps: print(step)
    Test(column=0, op='<=', cut=1.0, below=1, above=2, missing=1)
    Answer(number=0)
    Switch(column=1, cases=(((0,), 3),), default=4, missing=3)
    Answer(number=1)
    Answer(number=2)
    """

    inputs: tuple[Encoding, ...]
    target: Target
    routines: tuple[Routine, ...]
    combine: Literal["tree", "mean", "vote"]  # one tree; a sum over ``divisor``; the class with the largest vote weight
    votes: tuple[float, ...] = (1.0,)
    divisor: int = 1  # the number of trees for a mean, 1 for a sum
    unit: float = 1.0  # values are divided by it before they are added up, so that sums do not overflow

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes in order; none for regression."""
        return self.target.classes

    @property
    def is_regression(self) -> bool:
        """Whether numbers are predicted."""
        return self.target.task == "regression"

    def contributions(self, t: int) -> npt.NDArray[np.float64]:
        """Return what each answer of a tree adds to the sums: answers × classes, or × 1 for values; NaN: no answer.

        For a single tree these are the probabilities, or the values.
        """
        answers = self.routines[t].answers
        if self.is_regression:
            return np.array(answers.value)[:, None] / self.unit
        labels, table = np.array(answers.label), answers.probabilities.copy()
        if self.combine == "vote":
            table = np.where(labels[:, None] == np.arange(len(self.classes)), self.votes[t], 0.0)
        table[labels == NO_ANSWER] = math.nan
        return table


def conditions(step: Step) -> list[tuple[BranchCondition, int]]:
    """Return the children of a test or switch, each once, with the condition under which it is next.

    >>> [condition.levels for condition, _ in conditions(Switch(0, (((1,), 5), ((2,), 6)), 6, 6))]
    [(1,), (1,)]
    """
    if isinstance(step, Test):
        ways = {}
        for child in dict.fromkeys((step.below, step.above, step.missing)):
            outcomes = step.missing == child, step.op, step.cut, step.below == child, step.above == child
            ways[child] = BranchCondition(step.column, *outcomes)
        return [(condition, child) for child, condition in ways.items()]
    if isinstance(step, Answer):
        return []
    named: dict[int, tuple[int, ...]] = {}
    for codes, child in step.cases:
        if child != step.default:
            named[child] = named.get(child, ()) + codes
    ways = {child: BranchCondition(step.column, step.missing == child, levels=codes) for child, codes in named.items()}
    others = tuple(code for codes in named.values() for code in codes)
    default = BranchCondition(step.column, step.missing == step.default, levels=others, negated=True)
    ways[step.default] = default
    if step.missing not in ways:
        ways[step.missing] = BranchCondition(step.column, True)
    return [(condition, child) for child, condition in ways.items()]


def _next_steps(step: Step) -> tuple[int, ...]:
    if isinstance(step, Test):
        return step.below, step.above, step.missing
    if isinstance(step, Switch):
        return *(child for _, child in step.cases), step.default, step.missing
    return ()


# -- from models ------------------------------------------------------------------------------------------------------


def compile_model(model: Model, estimate: Any = None) -> Program:
    """Return the program of a tree or an ensemble; ``estimate`` as in ``predict_proba``, for a single tree."""
    used = model.used_columns
    inputs = tuple(model.encodings[i] for i in used)
    input_index = {column: i for i, column in enumerate(used)}
    # A model grown with missing="error" refuses a row with any tested cell missing, also off the row's path.
    refused = range(len(inputs)) if refuses_missing(model) else range(0)
    if isinstance(model, Ensemble):
        routines = tuple(
            _compile_tree(tree, input_index, refused if t == 0 else range(0), LeafProbabilities())
            for t, tree in enumerate(model)
        )
        combine: Literal["mean", "vote"] = "vote" if model.method == "adaboost" else "mean"
        votes, divisor = tuple(model.votes.tolist()), model.divisor(len(model))
        return Program(inputs, model.target, routines, combine, votes, divisor, model.predictor.unit)
    assert isinstance(model, Tree)
    estimator = LeafProbabilities.of(estimate)
    estimator.check(model)
    return Program(inputs, model.target, (_compile_tree(model, input_index, refused, estimator),), "tree")


def _compile_tree(
    tree: Tree, input_index: dict[int, int], refused: Sequence[int], estimator: LeafProbabilities
) -> Routine:
    """Return the steps of a tree: presence tests of the refused columns, the nodes in their order, rows that stop."""
    a, first, n = tree.arrays, len(refused), len(tree)
    start, child = a.child_lists
    children = [(first + child[s:e]).tolist() for s, e in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)]
    ends = np.flatnonzero(a.kind == LEAF).tolist()  # nodes at which a row may end
    extra: list[int] = []  # inner nodes among them, whose answers follow all nodes

    def stay(node: int) -> int:
        extra.append(node)
        return first + n + len(extra) - 1

    steps: list[Step] = []
    encodings = {i: tree.encodings[column] for column, i in input_index.items()}
    for i, column in enumerate(refused):  # where missing values go is set below
        is_present = Switch(column, (), i + 1, -1)
        steps.append(is_present if encodings[column].is_categorical else Test(column, "present", 0, i + 1, i + 1, -1))
    answer_of = {node: number for number, node in enumerate(ends)}
    for node in range(n):
        kind = int(a.kind[node])
        if kind == LEAF:
            steps.append(Answer(answer_of[node]))
            continue
        encoding = tree.encodings[int(a.column[node])]
        branches, branch = children[node], int(a.missing[node])
        missing = branches[branch] if branch >= 0 else stay(node)
        at = input_index[int(a.column[node])]
        if kind == THRESHOLD:
            cut = float(a.cut[node]) if encoding.kind == "number" else int(a.cut_int[node])
            steps.append(_threshold(at, cut, branches, missing))
        else:
            codes = a.codes[a.code_start[node] : a.code_start[node + 1]].tolist()
            other = int(a.other[node])
            rest = (lambda node=node: stay(node)) if other < 0 else (lambda child=branches[other]: child)
            steps.append(_switch(at, kind, codes, encoding, branches, missing, rest))
    steps += [Answer(len(ends) + k) for k in range(len(extra))]
    answers = _answers_of(tree, [*ends, *extra], estimator)
    if first:
        steps = [s._replace(missing=len(steps)) if i < first else s for i, s in enumerate(steps)]  # type: ignore[call-arg]
        steps.append(Answer(len(answers)))
        answers = _with_no_answer(answers)
    return Routine(steps, answers)


def _threshold(column: int, cut: float | int, branches: list[int], missing: int) -> Test:
    """Return a threshold test, in a form that needs no infinite number and no smallest integer."""
    below, above = branches[:2]
    if cut in (math.inf, INT64_MAX):  # every value that is present
        return Test(column, "present", 0, below, below, missing)
    if cut == -math.inf:
        return Test(column, "<", -sys.float_info.max, below, above, missing)
    return Test(column, "<=", cut, below, above, missing)


def _switch(
    column: int, kind: int, codes: list[int], encoding: Encoding, branches: list[int], missing: int,
    rest: Callable[[], int],
) -> Switch:  # fmt: skip
    """Return a test of levels as a switch."""
    n_levels = len(encoding.levels)
    if kind == ORDINAL:  # a never-seen level has no place in the order and goes with the missing values
        low, high = tuple(range(codes[0] + 1)), tuple(range(codes[0] + 1, n_levels))
        cases = [case for case in ((low, branches[0]), (high, branches[1])) if case[0] and case[1] != missing]
        return _simplified(Switch(column, tuple(cases), missing, missing), encoding)
    if kind != MULTIWAY:
        cases = [(tuple(codes), branches[0])] if codes else []
        return _simplified(Switch(column, tuple(cases), branches[1], missing), encoding)
    cases = [((code,), branch) for code, branch in zip(codes, branches, strict=False)]
    if encoding.kind == "boolean" and len(codes) == n_levels:
        return Switch(column, tuple(cases[:-1]), cases[-1][1], missing)
    return Switch(column, tuple(cases), rest(), missing)


def _simplified(switch: Switch, encoding: Encoding) -> Switch:
    """Drop the last case of a boolean column that names both levels: it has no others."""
    if encoding.kind != "boolean" or sum(len(codes) for codes, _ in switch.cases) < len(encoding.levels):
        return switch
    return switch._replace(cases=switch.cases[:-1], default=switch.cases[-1][1])


def _answers_of(tree: Tree, nodes: list[int], estimator: LeafProbabilities) -> LeafOutputs:
    answering = answering_nodes(tree, np.array(nodes, np.int64))
    predicted = predict_at_nodes(tree, answering, estimator)
    if tree.task == "regression":
        return LeafOutputs(nodes, [], predicted.tolist(), np.empty((len(nodes), 0)))
    return LeafOutputs(nodes, predicted.tolist(), [], class_probabilities(tree, answering, estimator))


def _with_no_answer(answers: LeafOutputs) -> LeafOutputs:
    """Append the answer to a row that the model refuses."""
    no_shares = np.zeros((1, answers.probabilities.shape[1]))
    return LeafOutputs(
        [*answers.node, NO_ANSWER],
        [*answers.label, NO_ANSWER] if answers.label else [],
        [*answers.value, math.nan] if answers.value else [],
        np.concatenate([answers.probabilities, no_shares]),
    )
