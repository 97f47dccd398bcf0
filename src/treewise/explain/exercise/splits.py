"""Exercise topic "split": the gain of every candidate at a node, the best split, and at the last level the tree.

Level 1 leaves the results blank (impurity of the node, gains, the choice), level 2 also the class counts of every
branch, level 3 everything: the impurity of every branch, what is left after the split, and the finished tree. A further
node is described by its rows, since its conditions would give the answer to the first one away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treewise._lib.text import plural, safe
from treewise.data.table import Table
from treewise.errors import ParameterError
from treewise.explain.exercise.builder import (
    COUNTS,
    EVERYTHING,
    Quantity,
    SheetOptions,
    choice,
    count,
    impurity,
    label_text,
    number,
    row_numbers,
)
from treewise.explain.exercise.following import tree_after_choices
from treewise.explain.exercise.formula import Formula
from treewise.explain.exercise.sheet import Cell, Grid, Part
from treewise.explain.exercise.trees import tree_blank
from treewise.explain.trace.nodes import CandidateTrace, NodeTrace
from treewise.explain.trace.trace import Trace
from treewise.tree.splits import Multiway
from treewise.tree.tree import Tree

CRITERIA = ("entropy", "gini", "error")
TITLE = "Which split is best?"
_MAX_CANDIDATES = 12  # at a node, all of them are listed; of more, the best of each column
_WORDS = {"entropy": "entropy", "gini": "Gini index", "error": "error rate"}


def split_parts(
    tree: Tree, table: Table, trace: Trace, options: SheetOptions, grow_options: Mapping[str, Any]
) -> list[Part]:
    """Return one part per node, and the tree at the last level."""
    criterion = trace.training_set.criterion.name
    if criterion not in CRITERIA:
        raise ParameterError(
            f"an exercise with splits works out {', '.join(CRITERIA)}.", parameter="criterion", value=criterion
        )
    nodes = [n for n in trace.exercise_nodes if tree.split_at(n) is not None] or list(trace.exercise_nodes[:1])
    if options.nodes > len(nodes):
        raise ParameterError(
            f"the tree has {plural(len(nodes), 'node')} with a split to work out.",
            parameter="nodes",
            value=options.nodes,
        )
    parts = [_intro(trace[nodes[0]], criterion, options)]
    for node in nodes[: options.nodes]:
        parts.append(_node_part(trace[node], tree.rows(table, node).tolist(), criterion, options))
    if options.level < EVERYTHING:
        return parts
    choices = {
        node: (f"{node}.best", [(candidate_name(test), test) for test in _listed(trace[node])])
        for node in nodes[: options.nodes]
    }
    formula = tree_after_choices(tree, table, choices, grow_options)
    typed = tree_blank("tree", "the finished tree", tree, table, formula)
    if typed is not None:
        sentence = (
            "Write down the tree that results if every node is split by its best candidate until no node is impure:"
            " a condition per line, the lines below a node indented, and -> with the class at a leaf. Of equally good"
            " splits take the first one listed."
        )
        parts.append(Part("The tree", (sentence,), grid=Grid(("",), ((typed,),))))
    return parts


def _intro(node: NodeTrace, criterion: str, options: SheetOptions) -> Part:
    letter, classes = node.number_format.letter, [label_text(c) for c in node.counts]
    unit = f" in {options.unit}" if criterion == "entropy" else ""
    if options.per == "total":
        gain = f"Gain = m·{letter}(node) − Σ m_b·{letter}(branch b)"
    else:
        gain = f"Gain = {letter}(node) − {letter}(Y|Z), {letter}(Y|Z) = Σ m_b/m·{letter}(branch b)"
    formulas = {
        "entropy": f"{letter} = −Σ p·{node.number_format.log} p",
        "gini": f"{letter} = 1 − Σ p²",
        "error": f"{letter} = 1 − max p",
    }
    sentences = (
        f"{letter} is the {_WORDS[criterion]}{unit} of the class shares p (classes {', '.join(classes)}):"
        f" {formulas[criterion]}.",
        f"The information gain of a split: {gain}, with m rows at the node and m_b in branch b.",
    )
    return Part("Question", sentences)


def _node_part(node: NodeTrace, rows: Sequence[int], criterion: str, options: SheetOptions) -> Part:
    """Return the question about one node: its impurity, the grid of candidates, the choice."""
    letter, at, level = node.number_format.letter, f"at node {node.id}", options.level
    is_total, m = options.per == "total", node.number_format.whole.weight
    unit = options.unit if criterion == "entropy" else ""
    near = options.tolerance * (m if is_total else 1)
    columns = [label_text(c) for c in node.counts]
    counts = [
        count(level >= COUNTS, f"{node.id}.n{i}", f"number of {c} {at}", n)
        for i, (c, n) in enumerate(zip(columns, node.counts.values(), strict=True))
    ]
    symbol = f"{m:g}·{letter}(node)" if is_total else f"{letter}(node)"
    of_node: Formula = impurity(criterion, options.unit, [c.ref for c in counts])
    if is_total:
        of_node = ("*", m, of_node)
    before = number(True, f"{node.id}.before", f"{symbol} {at}", node.impurity, of_node, near, unit)
    after_heading = f"Σ m_b·{letter}" if is_total else f"{letter}(Y|Z)"
    headings = ["rows", *columns]
    headings += [letter, after_heading] if level == EVERYTHING else []
    blank_cells: list[Cell] = [""] * (2 if level == EVERYTHING else 0)
    lines: list[tuple[Cell, ...]] = [("all", *(c.cell for c in counts), *blank_cells, "")]
    gains: list[tuple[str, Formula]] = []
    tests = _listed(node)
    for i, test in enumerate(tests):
        grid, gain = _candidate_lines(node, test, i, before, near, criterion, options)
        lines += grid
        gains.append((candidate_name(test), gain.ref))
    value = [test.gain for test in tests]
    right = [name for (name, _), gain in zip(gains, value, strict=True) if gain >= max(value) - 1e-9]
    best = choice(
        f"{node.id}.best", f"best split {at}", right, [name for name, _ in gains], ("largest", *gains), near=1e-9
    )
    first: tuple[Cell, ...] = (symbol, *[""] * (len(headings) - 1), before.cell)
    last: tuple[Cell, ...] = ("best split", *[""] * (len(headings) - 1), best)
    where = f"Node 0: all {m:g} rows" if node.id == 0 else f"Node {node.id}: rows {row_numbers(rows)}"
    sentences = []
    if len(tests) < node.tried:
        sentences.append("Of each column only the threshold with the largest gain is listed.")
    return Part(where, tuple(sentences), grid=Grid((*headings, "result"), (lines[0], first, *lines[1:], last)))


def _listed(node: NodeTrace) -> list[CandidateTrace]:
    """Return all candidates of a node with few of them, else the best of each column."""
    if node.tried <= _MAX_CANDIDATES:
        return [test for column in node.columns.values() for test in column.tests]
    return [column.best for column in node.columns.values() if column.best is not None]


def candidate_name(test: CandidateTrace) -> str:
    """Name a candidate in a list to choose from: a column with a branch per level by its name."""
    split = test.candidate.split
    return safe(split.column) if isinstance(split, Multiway) else test.label


def _candidate_lines(
    node: NodeTrace,
    test: CandidateTrace,
    test_index: int,
    before: Quantity,
    near: float,
    criterion: str,
    options: SheetOptions,
) -> tuple[list[tuple[Cell, ...]], Quantity]:
    """Return the lines of one candidate, a branch each, and its gain."""
    name, at, level = candidate_name(test), f"at node {node.id}", options.level
    letter, m, is_total = node.number_format.letter, node.number_format.whole.weight, options.per == "total"
    unit = options.unit if criterion == "entropy" else ""
    classes = [label_text(c) for c in node.counts]
    lines: list[list[Cell]] = []
    terms: list[Formula] = []
    for b, branch in enumerate(test.parts):
        if not branch.rows:
            continue
        condition, id = test.candidate.split.condition(b, test.encoding), f"{node.id}.{test_index}.{b}"
        counts = [
            count(level >= COUNTS, f"{id}.{i}", f"number of {c} where {condition} {at}", n)
            for i, (c, n) in enumerate(zip(classes, branch.counts, strict=True))
        ]
        refs = [c.ref for c in counts]
        formula, prompt = impurity(criterion, options.unit, refs), f"{letter} where {condition} {at}"
        h = number(level == EVERYTHING, f"{id}.h", prompt, branch.impurity, formula, options.tolerance, unit)
        rows: Formula = ("+", *refs) if level >= COUNTS else branch.weight
        terms.append(("*", rows, h.ref) if is_total else ("*", ("/", rows, m), h.ref))
        lines.append([condition, *(c.cell for c in counts), *([h.cell, ""] if level == EVERYTHING else []), ""])
    id = f"{node.id}.{test_index}"
    prompt = f"impurity after splitting on {name} {at}"
    after = number(level == EVERYTHING, f"{id}.after", prompt, test.impurity_after, ("+", *terms), near, unit)
    formula = ("-", before.ref, after.ref)
    gain = number(True, f"{id}.gain", f"gain of {name} {at}", test.gain, formula, near, unit)
    last: list[Cell] = [f"Gain({name})", *[""] * len(classes)]
    lines.append([*last, *(["", after.cell] if level == EVERYTHING else []), gain.cell])
    return [tuple(line) for line in lines], gain
