"""Growing a node of an existing tree: its rows, the limits that are left, and what the splits above it demand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from treewise import _core
from treewise._lib.text import safe
from treewise.edit.state import RowsOfTree
from treewise.errors import ParameterError, did_you_mean, join_few
from treewise.train.constraints import constraints_at
from treewise.train.grow import core_columns, core_settings, core_target, resolve_n_jobs
from treewise.train.resampling import take_rows
from treewise.train.settings import SETTINGS, Settings
from treewise.tree.arrays import LEAF, Arrays
from treewise.tree.tree import Tree


def grow_node(
    table: RowsOfTree, tree: Tree, node: int, limits: dict[str, Any], excluded: frozenset[str] = frozenset()
) -> Tree:
    """Grow a node of a tree on its rows by the settings of the tree, with other limits, without some columns.

    Returns the subtree, with the columns of the tree.
    """
    whole = table.training_set
    known = {name for name, setting in SETTINGS.items() if setting.group == "limits"}
    for name in limits:
        if name not in known:
            near = did_you_mean(name, known)
            raise ParameterError(f"no limit {safe(name)}.{near} Limits: {join_few(sorted(known), 20)}.")
    rows = table.rows_at(tree, node).astype(np.int64)
    if not len(rows):
        raise ParameterError(f"node {node}: no row reaches it, so nothing can be grown.")
    settings = replace(whole.settings, **_limits_below(tree, node, whole.settings, limits))
    part = whole if node == 0 else take_rows(whole, rows)
    part = replace(
        part,
        settings=settings,
        columns=tuple(
            _constant(values, len(part)) if encoding.name in excluded else values
            for encoding, values in zip(part.encodings, part.columns, strict=True)
        ),
    )
    limits_of_whole = dict(replace(whole, settings=settings).limits)
    scale = float(whole.weight.sum()) / max(1.0, float(part.weight.sum()))
    limits_of_whole["min_impurity_decrease"] *= scale  # per unit of all weight, which the core takes to be the part's
    part.__dict__["limits"] = limits_of_whole
    part.__dict__["observation_weight"] = whole.observation_weight
    core, constraints = core_settings(part), constraints_at(tree, node)
    core.n_jobs = resolve_n_jobs(None)
    core.root_low, core.root_high = constraints.low, constraints.high
    core.root_groups, core.root_acquired = constraints.interaction_groups, constraints.acquired
    grown = _core.grow(core_columns(part), core_target(part), core, None)
    grown.pop("quartiles", None)
    for array in grown.values():
        array.flags.writeable = False
    return replace(tree, arrays=Arrays(**grown))


def _constant(values: Any, n: int) -> Any:
    """Return a column that separates nothing, in the place of one that is not offered."""
    return np.broadcast_to(np.zeros(1, values.dtype), n)


def _limits_below(tree: Tree, node: int, settings: Settings, limits: dict[str, Any]) -> dict[str, Any]:
    """Return the limits of a subtree: those given, else what those of the whole tree leave."""
    left: dict[str, Any] = {}
    if settings.max_depth is not None:
        left["max_depth"] = max(0, settings.max_depth - int(tree.depths[node]))
    if settings.max_leaf_nodes is not None:
        inside = int((tree.arrays.kind[node : int(tree.arrays.ends[node])] == LEAF).sum())
        left["max_leaf_nodes"] = max(1, settings.max_leaf_nodes - (tree.n_leaves - inside))
    checked = Settings.from_values({"criterion": settings.criterion, **limits})
    return left | {name: getattr(checked, name) for name in limits}
