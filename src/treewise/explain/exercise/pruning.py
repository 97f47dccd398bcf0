"""Exercise topic "pruning": reduced-error pruning from the leaves upwards on a validation table (ID3 notes).

Level 1 leaves the results blank (what is cut, and the errors before and after), level 2 also the errors of every node
as a leaf and of its subtree, level 3 everything: the validation rows at every node, and the pruned tree.
"""

from __future__ import annotations

import numpy as np

from treewise._lib.text import safe
from treewise.data.table import Table
from treewise.errors import ParameterError
from treewise.explain.exercise.builder import (
    COUNTS,
    EVERYTHING,
    SheetOptions,
    choice,
    count,
    label_text,
)
from treewise.explain.exercise.formula import Formula
from treewise.explain.exercise.sheet import Cell, Grid, Part
from treewise.explain.exercise.trees import tree_blank, tree_lines, tree_node
from treewise.prune.decision import is_internal
from treewise.prune.reduced_error import decide_from_counts
from treewise.prune.validation_counts import ValidationCounts, count_validation_table
from treewise.tree.tree import Tree

TITLE = "Prune the tree with a validation set"
_CUT, _KEEP = "prune", "keep"


def pruning_parts(tree: Tree, table: Table, validation: Table, options: SheetOptions) -> list[Part]:
    """Return the tree, the grid of its nodes, and at the last level the pruned tree."""
    if tree.n_leaves < 2:
        raise ParameterError("the tree is a single leaf, so there is nothing to prune.", hint="Take another table.")
    question = (
        "From the leaves upwards, compare each node as a leaf (it predicts the class listed) with its subtree, as"
        " pruned so far: prune if the leaf makes no more errors on the validation rows. Where no validation row"
        " arrives, it makes no more either.",
    )
    counts = count_validation_table(tree, validation)
    parts = [Part("The tree", question, code=tree_lines(tree)), _nodes_part(tree, validation, counts, options)]
    pruned = tree.prune("reduced_error", validation=validation)
    formula = _pruned_by_choices(tree, table, 0)
    typed = tree_blank("tree", "the pruned tree", pruned, table, formula) if options.level == EVERYTHING else None
    if typed is not None:
        sentence = (
            "Write down the pruned tree: a condition per line, the lines below a node indented, -> and the class."
        )
        parts.append(Part("The pruned tree", (sentence,), grid=Grid(("",), ((typed,),))))
    return parts


def _pruned_by_choices(tree: Tree, table: Table, node: int) -> Formula:
    """Return the nodes that the student's own decisions leave."""
    leaf: Formula = ("nodes", [tree_node(tree, table, node, as_leaf=True)])
    if tree.split_at(node) is None:
        return leaf
    below = [_pruned_by_choices(tree, table, child) for child in tree.children(node) if len(tree.rows(table, child))]
    return ("case", f"{node}.cut", (_CUT, leaf), (_KEEP, ("nodes", [tree_node(tree, table, node)], *below)))


def _nodes_part(tree: Tree, validation: Table, counts: ValidationCounts, options: SheetOptions) -> Part:
    """Return the errors of every node, built upwards so that each can refer to its children."""
    level, decision = options.level, decide_from_counts(tree, counts, "bottom-up")
    if (counts.stay_error > 0).any():
        raise ParameterError("some validation rows take no branch of the tree.", hint="Take another validation table.")
    assert decision.before is not None
    before, internal = decision.before, is_internal(tree)
    best: dict[int, Formula] = {}  # the errors of each subtree after pruning
    lines: dict[int, tuple[Cell, ...]] = {}
    for node in range(len(tree) - 1, -1, -1):
        name = f"node {node}"
        rows = count(level == EVERYTHING, f"{node}.n", f"validation rows at {name}", counts.weight[node])
        leaf = count(level >= COUNTS, f"{node}.leaf", f"errors of {name} as a leaf", counts.leaf_error[node])
        line: list[Cell] = [str(node), label_text(tree.prediction(node)), rows.cell, leaf.cell]
        best[node] = leaf.ref
        if not internal[node]:
            lines[node] = (*line, "", "")
            continue
        below: Formula = ("+", *(best[child] for child in tree.children(node)))
        subtree = count(level >= COUNTS, f"{node}.sub", f"errors of the subtree at {name}", before[node], below)
        best[node] = ("min", leaf.ref, subtree.ref)
        right = _CUT if counts.leaf_error[node] <= before[node] else _KEEP
        formula: Formula = ("choose", leaf.ref, subtree.ref, _CUT, _KEEP)
        cut = choice(f"{node}.cut", f"prune at {name} or keep it", [right], [_CUT, _KEEP], formula)
        lines[node] = (*line, subtree.cell if level >= COUNTS else "", cut)
    ends = [node for node in range(len(tree)) if not internal[node]]
    whole: Formula = ("+", *(_leaf_ref(lines[node][3], counts.leaf_error[node]) for node in ends))
    unpruned = count(True, "before", "validation errors of the whole tree", counts.leaf_error[ends].sum(), whole)
    final = count(True, "after", "validation errors of the pruned tree", min(before[0], counts.leaf_error[0]), best[0])
    headings: tuple[str, ...] = ("node", "predicts", "rows", "errors as a leaf", "errors of its subtree", "decision")
    rows_of_grid: list[tuple[Cell, ...]] = [lines[node] for node in range(len(tree))]
    rows_of_grid += [("whole tree", "", "", "", "", unpruned.cell), ("pruned tree", "", "", "", "", final.cell)]
    if level < COUNTS:  # the errors of subtrees follow from those of their leaves
        headings = (*headings[:4], headings[5])
        rows_of_grid = [(*line[:4], line[5]) for line in rows_of_grid]
    sentence = f"Rows and errors are those of {safe(validation.name)}."
    return Part("Errors on the validation rows", (sentence,), grid=Grid(headings, tuple(rows_of_grid)))


def _leaf_ref(cell: Cell, value: np.float64) -> Formula:
    return float(value) if isinstance(cell, str) else cell.id
