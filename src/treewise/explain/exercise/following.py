"""The tree that follows from a student's choices: a wrong split at a node carried forward to the nodes below it.

The result is a formula (``formula.py``): at a node with a choice one case per option, elsewhere the node itself. Below
an option that the tree did not take, a tree is grown on the rows of each branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treewise.data.table import Table
from treewise.errors import TreewiseError
from treewise.explain.exercise.builder import cell_texts
from treewise.explain.exercise.formula import Formula
from treewise.explain.exercise.trees import tree_node, tree_nodes
from treewise.explain.trace.nodes import CandidateTrace
from treewise.train.grow import grow
from treewise.tree.tree import Tree

Choices = Mapping[int, tuple[str, Sequence[tuple[str, CandidateTrace]]]]  # node → its blank and the options of that
# With other options, a tree on the rows of a branch may differ from what would be grown below that branch.
_LOCAL_OPTIONS = {"preset", "criterion", "categorical", "kinds", "na_values", "min_samples_split", "min_samples_leaf"}


def tree_after_choices(tree: Tree, table: Table, choices: Choices, grow_options: Mapping[str, Any]) -> Formula | None:
    """Return the nodes of the tree after the student's choices; None where it cannot be grown branch by branch."""
    if not set(grow_options) <= _LOCAL_OPTIONS:
        return None
    kinds = {e.name: list(e.levels) if e.kind == "ordered" else e.kind for e in tree.encodings}
    options = {"preset": "id3", **grow_options, "kinds": kinds, "columns": list(kinds)}
    labels = cell_texts(table, tree.target.name)

    def regrown(rows: list[int]) -> Formula:
        if len(of_branch := {labels[row - 1] for row in rows}) == 1:
            return ("nodes", [[rows, *of_branch]])
        part = table.take(np.array(rows) - 1)
        nodes = tree_nodes(grow(part, tree.target.name, **options), part)
        return ("nodes", [_with_rows(node, rows) for node in nodes])

    def below(node: int) -> Formula:
        own = tree_node(tree, table, node)
        children = [child for child in tree.children(node) if len(tree.rows(table, child))]
        subtree: Formula = ("nodes", [own], *map(below, children))
        if node not in choices:
            return subtree
        blank, tests = choices[node]
        cases = []
        for name, test in tests:
            content = [own[0], [test.candidate.split.column, parts := _parts(test)]]
            cases.append((name, subtree if content == own else ("nodes", [content], *map(regrown, parts))))
        return ("case", blank, *cases)

    try:
        return below(0)
    except TreewiseError:
        return None


def _parts(test: CandidateTrace) -> list[list[int]]:
    """Return the rows of each branch that has some, numbered from 1."""
    rows, branches = test.number_format.rows + 1, test.taken
    return sorted(rows[branches == branch].tolist() for branch in np.unique(branches))


def _with_rows(node: list[Any], rows: Sequence[int]) -> list[Any]:
    """Number the rows of a node as those of the whole table."""
    own, content = node
    if not isinstance(content, str):
        column, parts = content
        content = [column, [[rows[row - 1] for row in part] for part in parts]]
    return [[rows[row - 1] for row in own], content]
