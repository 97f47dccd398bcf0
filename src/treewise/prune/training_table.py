"""The table a tree was grown on, given again: prepared as then, and refused where it cannot be the same.

Stands below the methods that need the rows themselves (folds, raising), above ``growth.problem_like``.
"""

from __future__ import annotations

import math
from typing import Any

from treewise._lib.text import format_exact, plural, safe
from treewise.errors import Call, DataError, Param
from treewise.train.grow import prepare_like
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

SAME = 1e-9  # weights that are nearer than this, relatively, are equal


def own_problem(tree: Tree, data: Any, sample_weight: Any = None) -> TrainingSet:
    """Prepare the rows a tree was grown on; other numbers of rows, or another weight, are refused."""
    training_set = prepare_like(tree, data, sample_weight)
    rows, weight = int(tree.arrays.rows[0]), float(tree.arrays.weight[0])
    name = safe(training_set.table_name)
    if len(training_set) != rows:
        raise DataError(
            Param("data")
            + f": {name} has {plural(len(training_set), 'row')} that count, and the tree was grown on {rows:,}.",
            hint="Give the table it was grown on, or " + Call("tree.refit(data)") + " first.",
        )
    here = math.ldexp(int(training_set.weight.sum()), -training_set.weight_scale)
    if not math.isclose(here, weight, rel_tol=SAME):
        raise DataError(
            f"{name}: its rows weigh {format_exact(float(f'{here:.6g}'))} together, and where the tree was"
            f" grown {format_exact(float(f'{weight:.6g}'))}.",
            hint="Give the same " + Param("sample_weight", ...) + " again.",
        )
    return training_set
