"""How many trees there are, and the smallest one that fits: why trees are grown greedily.

"In principle we could evaluate all tree structures … the number of trees is exponential" (CS221 notes 6); "finding the
smallest decision tree that fits a training dataset is computationally difficult" (ID3 notes). For a table of a few rows
both can be done: ``count_trees`` counts, ``smallest_tree`` searches.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from treewise._lib.checks import check_integer
from treewise._lib.text import plural
from treewise.data.table import read
from treewise.errors import ParameterError
from treewise.explain.trace.trace import candidates
from treewise.formats.text_format.notation import write_label
from treewise.formats.text_format.parse import parse
from treewise.tree.tree import Tree

_MAX_ROWS = 24


def count_trees(features: int, classes: int = 2) -> int:
    """Return the number of trees over some binary features, each asked at most once on a path.

    A tree is a leaf with one of the classes, or one of the features with a tree of the others on either side.

    >>> [count_trees(n) for n in range(5)]
    [2, 6, 74, 16430, 1079779602]
    >>> len(str(count_trees(10)))                                      # digits
    627
    """
    check_integer("features", features, least=0)
    check_integer("classes", classes, least=1)
    trees = classes
    for n in range(1, features + 1):
        trees = classes + n * trees * trees
    return trees


def smallest_tree(data: Any, target: Any = None, **grow_options: Any) -> Tree:
    """Return a tree of fewest leaves that fits a small table as well as any, by trying all of them.

    The tests are those that ``grow`` would consider, with the same options. For at most 24 rows: the time grows
    exponentially.

    >>> import treewise as tw
    >>> tw.grow("distractor").n_leaves, smallest_tree("distractor").n_leaves
    (6, 4)
    """
    table = read(data, na_values=grow_options.get("na_values", ()))
    if len(table) > _MAX_ROWS:
        raise ParameterError(
            f"{table.name} has {plural(len(table), 'row')}; all trees can be tried for at most {_MAX_ROWS}.",
            hint="Use grow.",
        )
    root = candidates(table, target, **grow_options)
    training_set = root.number_format.training_set
    if training_set.target.task != "classification":
        raise ParameterError("smallest_tree is for classes, and this target is a number.")
    y = training_set.y.tolist()
    tests = [(test, _masks(test.taken)) for column in root.columns.values() for test in column.tests]
    everything = (1 << len(y)) - 1

    @cache
    def search(rows: int) -> tuple[int, int, int]:
        """Return errors, leaves and the best test (−1: a leaf) for a set of rows, given as bits."""
        labels = [y[i] for i in range(len(y)) if rows >> i & 1]
        best = (len(labels) - max(map(labels.count, set(labels))), 1, -1)
        if best[0] == 0:
            return best
        for index, (_, masks) in enumerate(tests):
            parts = [rows & mask for mask in masks]
            if all(parts):
                subtrees = [search(part) for part in parts]
                best = min(best, (sum(f[0] for f in subtrees), sum(f[1] for f in subtrees), index), key=lambda b: b[:2])
        return best

    lines: list[str] = []
    stack = [(everything, 0, "")]
    while stack:
        rows, depth, condition = stack.pop()
        _, _, index = search(rows)
        margin = "    " * (depth - 1)
        if index < 0:
            labels = [y[i] for i in range(len(y)) if rows >> i & 1]
            label = write_label(training_set.target.classes[max(sorted(set(labels)), key=labels.count)])
            lines.append(f"{margin}{condition or 'all rows'} -> {label}")
            continue
        if condition:
            lines.append(f"{margin}{condition}")
        test, masks = tests[index]
        conditions = [test.candidate.split.condition(b, test.encoding) for b in range(len(masks))]
        stack += [(rows & mask, depth + 1, text) for mask, text in reversed(list(zip(masks, conditions, strict=True)))]
    tree = parse("\n".join(lines) + "\n", target=training_set.target.name, data=table)
    return tree.refit(table)


def _masks(branches: Any) -> list[int]:
    """Return the rows of each branch as bits."""
    return [sum(1 << i for i in np.flatnonzero(branches == branch).tolist()) for branch in np.unique(branches).tolist()]
