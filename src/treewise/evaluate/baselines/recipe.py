"""How a tree was made, as something that can be done again on other rows: grown, and pruned where that needs no table.

Used by ``treewise evaluate --against``, which grows the tree of every fold as the one it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from treewise.prune.grow_and_prune import CV_OPTIONS, PruningPlan, prune_grown
from treewise.prune.prune import prune
from treewise.train.grow import grow_training_set
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

Grow = Callable[[TrainingSet], Tree]
Change = Callable[[Tree, TrainingSet], Tree]


def grow_like(tree: Tree, n_jobs: int | None = None) -> tuple[Grow, list[str]]:
    """Return what grows a tree like this one on some rows, and the steps of its history that cannot be repeated.

    >>> import treewise as tw
    >>> from treewise.train.grow import prepare
    >>> grow, left_out = grow_like(tw.grow("penguins", max_depth=4, pruning="pessimistic"))
    >>> grow(prepare("penguins", max_depth=4)) == tw.grow("penguins", max_depth=4, pruning="pessimistic"), left_out
    (True, [])
    """
    changes, left_out = [], []
    for step in tree.history:
        if step.get("did") in ("grow", "with_cost"):  # the settings and the costs come with the training set
            continue
        change = again(step, n_jobs)
        if change is None:
            left_out.append(str(step.get("method") or step.get("did")))
        else:
            changes.append(change)

    def grow(rows: TrainingSet) -> Tree:
        made = grow_training_set(rows, n_jobs=n_jobs)
        for change in changes:
            made = change(made, rows)
        return made

    return grow, left_out


def again(step: Mapping[str, Any], n_jobs: int | None) -> Change | None:
    """Return a step as something to do with another tree; None where it was about this tree or a table."""
    method, options = step.get("method"), dict(step.get("options", {}))
    if step.get("did") != "prune" or method == "reduced_error" or "at" in options or "raising" in options:
        return None
    if "folds" in options:
        by_folds = {name: options[name] for name in CV_OPTIONS if name in options}
        return lambda tree, rows: prune_grown(tree, rows, PruningPlan("cv", by_folds), n_jobs=n_jobs)
    return lambda tree, _: prune(tree, method, **options)
