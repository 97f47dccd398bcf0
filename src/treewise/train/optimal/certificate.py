"""Write what proves a result of ``optimal``: ``check_certificate.py`` checks it without the core.

The search keeps no record. Given its bound, this file lists the cuts above depth two that have to be evaluated, asks
the core what their sides cost, and claims no more than the bound needs: the fewer and the lower the claims, the sooner
they are checked. So writing takes longer than searching, and checking longer than writing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.atomic_write import write_whole
from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.column import Column
from treewise.data.table import read
from treewise.errors import DataError
from treewise.predict.predict import find_leaves
from treewise.train.optimal.check_certificate import CertificateError, Checker, Rows, cell_text, check, leaf_shares
from treewise.train.optimal.problem import OptimalProblem
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.train.optimal.optimal import OptimalResult

_RECENT = 128  # goals that a new one is compared with
_SLACK_SHARE = 4  # a side that costs more than needed closes more cuts nearby: a part of their reach
_TESTS = {"threshold": "cuts", "ordinal": "cuts"}  # else the split kind
NUMBER_MARKERS = ("?", "NA", "N/A", "NaN", "null", ".", "-")


def save_certificate(result: OptimalResult, path: str | os.PathLike[str]) -> None:
    """Write the certificate of a result to a file: JSON, a line for each fact."""
    facts = certificate_of(result)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(fact)}" for name, fact in facts.items())
    write_whole(path, f"{{\n{lines}\n}}\n".encode())


def certificate_of(result: OptimalResult) -> dict[str, Any]:
    """Return the certificate of a result: its problem, its tree, and the proof of its bound."""
    problem = result.problem
    training_set = problem.training_set
    facts = _state(problem) | {
        "tree": list(_nodes_of(problem, result.tree)),
        "cost_of_tree": result.cost,
        "bound": result.bound,
    }
    cells = {encoding.name: _cells(training_set, i) for i, encoding in enumerate(training_set.encodings)}
    cells[training_set.target.name] = _targets(training_set)
    try:
        checker = Checker(facts | {"used": None}, cells)
    except CertificateError as refusal:
        raise DataError(f"No certificate can be written: {safe(str(refusal))}.") from None
    if checker.orders and not np.array_equal(np.array(checker.orders)[:, checker.group_of], problem.ranks):
        raise AssertionError("the checker reads the columns otherwise")
    rows, limits = list(range(len(checker.vectors))), (problem.max_depth, problem.max_leaf_nodes)
    return facts | {"proof": _Prover(problem, checker).prove(rows, *limits, result.bound - checker.constant)}


def check_certificate(path: str | os.PathLike[str], data: Any, **reading: Any) -> CertificateCheck:
    """Check a certificate against a table, by plain Python in which the search takes no part.

    ``reading`` are options of ``treewise.read``.

    >>> import os, tempfile
    >>> import treewise as tw
    >>> path = os.path.join(tempfile.mkdtemp(), "proof.json")
    >>> tw.optimal("distractor", max_depth=1).certificate(path)
    >>> found = tw.check_certificate(path, "distractor")
    >>> found.ok, found.is_proven, found.lower_bound, tw.check_certificate(path, "or").ok
    (True, True, 0.25, False)
    """
    try:
        with open(path, encoding="utf-8") as file:
            facts = json.load(file)
    except OSError as error:
        raise DataError(f"{safe(str(path))} cannot be read: {error.strerror}. Check the path.") from None
    except (ValueError, RecursionError):
        raise DataError(f"{safe(str(path))} is no certificate: it is not JSON.") from None
    table = read(data, **reading)
    try:
        return CertificateCheck(True, **check(facts, {name: _read_cells(table[name]) for name in table.columns}))
    except CertificateError as refusal:
        conclusion = f"This file proves nothing about {table.name}: {safe(str(refusal))}."
        return CertificateCheck(False, conclusion)


@dataclass(frozen=True)
class CertificateCheck:
    """What a certificate proves about a table."""

    ok: bool  # whether it proves what it states
    conclusion: str
    is_proven: bool = False  # whether it proves that no tree is better; else it proves a bound
    objective: float | None = None  # of the tree in the file
    lower_bound: float | None = None  # of every tree within the limits
    goals: int = 0  # statements that were proven
    stumps: int = 0  # trees of depth one that were compared with all others

    def in_words(self) -> str:
        """Say in a sentence what is proven, and in the lines below it about what: rows, costs, tests, tree."""
        return self.conclusion


# -- the problem -------------------------------------------------------------------------------------------------------


def _state(problem: OptimalProblem) -> dict[str, Any]:
    """Return the problem as the checker reads it."""
    training_set = problem.training_set
    target, weight, raw = training_set.target, problem.weight.tolist(), training_set.raw
    markers, columns = list(training_set.fit_options.na_values), []
    for i in sorted({order.column for order in problem.orders}):
        encoding = training_set.encodings[i]
        columns.append(
            {
                "name": encoding.name,
                "tests": _TESTS.get(training_set.split_kinds[i][0], training_set.split_kinds[i][0]),
                "levels": list(encoding.levels) if encoding.is_categorical else None,
                "missing": markers if encoding.is_categorical else [*markers, *NUMBER_MARKERS],
            }
        )
    is_regression = target.task == "regression"
    return {
        "certificate": "treewise 1",
        "rows": len(training_set),
        "used": None if isinstance(training_set.rows, range) else training_set.rows.tolist(),
        "weights": None if set(weight) == {1} else weight,
        "target": target.name,
        "classes": None if is_regression else [cell_text(name) for name in target.classes],
        "range": [float(raw.min()), float(np.ptp(raw)), int(problem.target.max())] if is_regression else None,
        "objective": problem.objective,
        "cost": list(problem.cost) or None,
        "cost_unit": str(problem.cost_unit),
        "shift": problem.shift,
        "scale": problem.scale,
        "penalty": problem.penalty,
        "max_depth": problem.max_depth,
        "max_leaf_nodes": problem.max_leaf_nodes,
        "columns": columns,
    }


def _cells(training_set: TrainingSet, column: int) -> list[Any]:
    """Return the cells of a column of the training rows, as the checker reads them."""
    encoding, values = training_set.encodings[column], training_set.columns[column]
    missing = encode.is_missing(encoding, values).tolist()
    cells = [None if lacks else cell for cell, lacks in zip(values.tolist(), missing, strict=True)]
    return [None if c is None else encoding.levels[c] for c in cells] if encoding.is_categorical else cells


def _targets(training_set: TrainingSet) -> list[Any]:
    target = training_set.target
    return training_set.raw.tolist() if target.task == "regression" else [target.classes[y] for y in training_set.y]


def _read_cells(column: Column) -> list[Any]:
    """Return the cells of a column of a table, as the checker reads them: None where missing."""
    missing = column.is_missing().tolist()
    if column.form == "datetime":
        return [None if lacks else column.format_cell(row) for row, lacks in enumerate(missing)]
    values = column.values.tolist()
    if column.is_coded:
        values = [column.labels[value] for value in values]
    if column.form == "bool":
        values = [bool(value) for value in values]
    return [None if lacks else value for value, lacks in zip(values, missing, strict=True)]


def _nodes_of(problem: OptimalProblem, tree: Tree) -> Iterator[list[int]]:
    """Yield the nodes of a tree in pre-order as (order, cut), -1 at leaves; branches may be swapped."""
    training_set = problem.training_set
    names = [encoding.name for encoding in training_set.encodings]
    columns = tuple(training_set.columns[names.index(encoding.name)] for encoding in tree.encodings)
    leaves = find_leaves(tree, columns, len(training_set))
    stack = [(0, len(tree), np.arange(len(training_set)))]
    while stack:
        node, end, rows = stack.pop()
        children = tree.children(node)
        if not children:
            yield [-1, -1]
            continue
        first, second = children
        is_first = leaves[rows] < second
        sides = [(first, second, rows[is_first]), (second, end, rows[~is_first])]
        name = tree.encodings[tree.arrays.column[node]].name
        for number, order in enumerate(problem.orders):
            if training_set.encodings[order.column].name != name:
                continue
            ranks = [problem.ranks[number][side] for _, _, side in sides]
            is_swapped = int(ranks[0].min()) > int(ranks[1].min())
            left, right = reversed(ranks) if is_swapped else ranks
            if left.max() < right.min():
                yield [number, int(left.max())]
                stack += sides if is_swapped else reversed(sides)
                break


# -- the proof ---------------------------------------------------------------------------------------------------------


class _Goal(NamedTuple):
    """No tree of the size costs less than a value on these rows."""

    bits: npt.NDArray[np.bool_]
    depth: int
    leaves: int
    value: int


class _Prover:
    """Proves goals with the core's help, in the order in which the checker will check them."""

    def __init__(self, problem: OptimalProblem, checker: Checker) -> None:
        self.problem, self.checker = problem, checker
        self.group_of = np.array(checker.group_of)
        self.reach = np.array(checker.reach, np.int64 if checker.has_reach else object)
        self.arguments = problem.arguments()
        self.goals: list[_Goal] = []

    def least(self, rows: Rows, depth: int, leaves: int, bound: int) -> int:
        """Return the least cost of a tree, or ``bound`` if that is less."""
        members = np.flatnonzero(self._bits(rows)[self.group_of])
        base: int = sum(self.checker.base[row] for row in rows)
        arguments = self.arguments | {
            "ranks": np.ascontiguousarray(self.problem.ranks[:, members]),
            "target": self.problem.target[members],
            "weight": self.problem.weight[members],
            "max_depth": depth,
            "max_leaves": min(leaves, 1 << depth),
        }
        solved = _core.solve_optimal(**arguments, n_threads=1, incumbent=base + bound)
        return min(int(solved["objective"]) - base, bound)

    def prove(self, rows: Rows, depth: int, leaves: int, value: int) -> Any:
        """Return a proof that no tree costs less than ``value``, which must be true."""
        leaves = min(leaves, 1 << min(depth, 60))
        is_easy = leaves <= 2 or value <= 2 * self.checker.penalty
        proof: Any = 0
        if not is_easy:
            earlier = self._find_like(rows, depth, leaves, value)
            if earlier is not None:
                proof = ["like", earlier]
            elif depth > 2:
                proof = self._list_cuts(rows, depth, leaves, value)
        self.goals.append(_Goal(self._bits(rows), depth, leaves, value))
        return proof

    def _find_like(self, rows: Rows, depth: int, leaves: int, value: int) -> int | None:
        """Return an earlier goal that implies this one."""
        current = self._bits(rows)
        for number in range(len(self.goals) - 1, max(-1, len(self.goals) - 1 - _RECENT), -1):
            goal = self.goals[number]
            if goal.value < value or goal.depth < depth or goal.leaves < leaves:
                continue
            lost = goal.bits & ~current
            if self.checker.has_reach:
                if goal.value - int(self.reach[lost].sum()) >= value:
                    return number
            elif not lost.any():
                return number
        return None

    def _bits(self, rows: Rows) -> npt.NDArray[np.bool_]:
        bits = np.zeros(len(self.reach), bool)
        bits[rows] = True
        return bits

    def _list_cuts(self, rows: Rows, depth: int, leaves: int, value: int) -> Any:
        """Evaluate cuts by bisection until the rules close all others."""
        checker, listed = self.checker, []
        shallow = self.least(rows, depth - 1, leaves, value)
        whole = [shallow, self.prove(rows, depth - 1, leaves, shallow)]
        for order, rank in enumerate(checker.orders):
            cuts, reaches, start, end = checker.cuts_of(rows, order, shallow)
            for share in leaf_shares(depth, leaves, len(rows)):
                spans, entries = [(0, len(cuts), start, end)], []
                while spans:
                    low, high, before, after = spans.pop()
                    low, high = checker.open_cuts(reaches, low, high, before, after, value)
                    if low >= high:
                        continue
                    at = (low + high) // 2
                    slack = max(reaches[at] - reaches[low], reaches[high - 1] - reaches[at]) if checker.has_reach else 0
                    sides = [r for r in rows if rank[r] <= cuts[at]], [r for r in rows if rank[r] > cuts[at]]
                    costs = self._evaluate(sides, depth - 1, share, value, slack // _SLACK_SHARE)
                    proofs = [
                        self.prove(side, depth - 1, n, cost) for side, n, cost in zip(sides, share, costs, strict=True)
                    ]
                    entries.append([cuts[at], costs[0], proofs[0], costs[1], proofs[1]])
                    probe = (reaches[at], *costs)
                    spans += [(low, at, before, probe), (at + 1, high, probe, after)]
                if entries:
                    listed.append([order, share[0], entries])
        return ["cuts", whole, listed]

    def _evaluate(
        self, sides: Sequence[Rows], depth: int, share: tuple[int, int], value: int, slack: int
    ) -> tuple[int, int]:
        """Return costs of both sides that no tree is below, whose sum reaches ``value`` by up to ``slack``."""
        costs, larger = [self.checker.penalty] * 2, int(len(sides[1]) > len(sides[0]))
        for side in (larger, 1 - larger):
            bound = max(value - costs[1 - side] + slack, costs[side])
            costs[side] = self.least(sides[side], depth, share[side], bound)
        return costs[0], costs[1]
