"""Other trees that are nearly as good: the drawer of the workbench, from which one may be adopted.

The best tree of the size of the current one, and the next best that do without a column of each before
(``train/optimal``), on the training rows of the editor. The search is exact, so it is for tables that are small enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewise._lib.text import safe
from treewise.edit.graft import tree_of_splits
from treewise.edit.state import EditLosses, EditState
from treewise.errors import ParameterError
from treewise.train.optimal.alternatives import columns_of
from treewise.train.optimal.optimal import choose_objective, solve
from treewise.train.optimal.problem import OptimalProblem

if TYPE_CHECKING:
    from treewise.edit.editor import Editor
    from treewise.tree.tree import Tree

MOST_CELLS = 50_000  # rows × columns of a table that is small enough
_LEAVES, _DEPTHS = (2, 8), (2, 3)  # the sizes that are searched


@dataclass(frozen=True, eq=False)
class Alternative:
    """A tree that may be adopted, with its statistics on the tables of the editor."""

    tree: Tree
    validation_tree: Tree | None
    losses: EditLosses
    columns: tuple[str, ...]  # it asks, the root's first
    is_proven: bool  # no tree of its size without the columns that it avoids is better
    differs: float  # the share of the training rows for which the current tree predicts something else


def find_alternatives(editor: Editor, k: int, time_limit: float) -> list[Alternative]:
    """Search for the best trees of about the size of the current one; ``time_limit`` in seconds for each."""
    tree, training_set = editor.tree, editor.tables.training.training_set
    excluded = set(editor.forbidden) | set(editor.locked_columns)
    columns = [i for i, name in enumerate(tree.columns) if name not in excluded]
    if len(training_set) * len(columns) > MOST_CELLS:
        raise ParameterError(
            f"{len(training_set):,} rows and {len(columns):,} columns are too many to search for the best trees.",
            hint=f"Tables of up to {MOST_CELLS:,} cells are searched.",
        )
    searchable, objective = choose_objective(training_set, None)
    leaves, depth = (max(low, min(size, high)) for size, (low, high) in zip(
        (tree.n_leaves, tree.depth), (_LEAVES, _DEPTHS), strict=True
    ))  # fmt: skip
    problem = OptimalProblem.of(searchable, objective, depth, leaves, 0.0, columns)
    results = solve(problem, time_limit=time_limit).alternatives(k).results
    current = _predictions(editor, tree)
    return [_describe(editor, result.tree, result.is_proven, current) for result in results]


def _describe(editor: Editor, other: Tree, is_proven: bool, current: np.ndarray) -> Alternative:
    tables, state = editor.tables, editor._state
    structure = tree_of_splits(editor.tree, [node.split for node in other])
    blank = EditState(state.tree, None, np.arange(len(structure)))
    estimated = tables.estimate(structure, blank)
    tree = estimated.tree
    differs = float(np.mean(_predictions(editor, tree) != current))
    losses = tables.losses(tree)
    return Alternative(tree, estimated.held_out, losses, tuple(columns_of(tree)), is_proven, differs)


def _predictions(editor: Editor, tree: Tree) -> np.ndarray:
    ends = editor.tables.training.ends(tree)
    predictions: np.ndarray = (tree.arrays.label if tree.task == "classification" else tree.arrays.value)[ends]
    return predictions


def words_of_tree(tree: Tree) -> str:
    """Return what the log calls an adopted tree.

    >>> import treewise as tw
    >>> words_of_tree(tw.grow("penguins", max_depth=1)), words_of_tree(tw.grow("penguins", max_depth=0))
    ('a tree of flipper_length_mm', 'a single leaf')
    """
    names = [safe(name) for name in columns_of(tree)]
    return f"a tree of {', '.join(names[:5])}{' …' if len(names) > 5 else ''}" if names else "a single leaf"
