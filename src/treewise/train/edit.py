"""Edit a tree: split a leaf, collapse nodes, refit on a table, replay the growth step by step.

Built on ``train/grow.py`` and ``predict``. Trees are immutable: each function returns a new tree, numbered in
pre-order, with a step added to its history.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.text import plural
from treewise.data import encoding as encode
from treewise.data.table import read
from treewise.errors import Param, ParameterError, ParseError
from treewise.predict.costs import cost_matrix_of, with_cost_labels
from treewise.predict.predict import find_leaves
from treewise.train.constraints import note_broken_order
from treewise.train.grow import core_columns, core_settings, core_target, prepare_like
from treewise.train.target import adopt_target
from treewise.train.training_set import Quartiles, TrainingSet, compute_quartiles
from treewise.tree.arrays import BY_HAND, LEAF, NO_ROWS, NOT_YET, Arrays, split_entries
from treewise.tree.history import HistoryStep
from treewise.tree.splits import Multiway, Split
from treewise.tree.tree import Tree


def refit(tree: Tree, data: Any, sample_weight: Any = None) -> Tree:
    """Re-estimate every node's statistics on a table; the splits stay.

    A handwritten tree finds its target column as ``evaluate`` does, and adopts the classes of that column.
    """
    if tree.fit_info.is_handwritten:
        data = read(data)
        tree = adopt_target(tree, data)
    refitted = estimate(tree, _prepare_again(tree, data, sample_weight), {"did": "refit"})
    return _mark_same_rows(tree, refitted)


def _mark_same_rows(before: Tree, after: Tree) -> Tree:
    """Record in the history that a refit was on rows that chose the splits: those that the tree was grown on."""
    a, b, info = before.arrays, after.arrays, before.fit_info
    if info.has_independent_rows:
        is_same = info.honest is not None and info.honest.is_whole_table(np.where(b.kind == LEAF, b.rows, 0))
    else:
        names = ("rows", "weight", "value", "spread", "count_class", "count_weight")
        is_same = all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True) for name in names)
    if not is_same:
        return after
    *steps, last = after.history
    return replace(after, history=(*steps, HistoryStep({**last, "same_rows": True})))


def _prepare_again(tree: Tree, data: Any, sample_weight: Any) -> TrainingSet:
    """Prepare a table like the training table; add a note if that had weights in an array and this has none."""
    training_set = prepare_like(tree, data, sample_weight)
    if sample_weight is not None or not tree.fit_info.has_weight_array:
        return training_set
    note = "the tree was grown with weights given as an array; every row has weight 1 here; give " + Param(
        "sample_weight", ...
    )
    return replace(training_set, notes=(*training_set.notes, note))


def estimate(tree: Tree, training_set: TrainingSet, step: dict[str, Any], quartiles: Quartiles | None = None) -> Tree:
    """Compute the statistics of every node on a prepared table, in the core; ``quartiles`` if they are known."""
    a = tree.arrays
    computed = _core.refit(
        tree.arrays.for_core,
        a.parent,
        core_columns(training_set),
        core_target(training_set),
        core_settings(training_set),
    )
    structure_names = ("parent", "kind", "column", "cut", "cut_int", "missing", "other", "code_start", "codes")
    name = "label" if tree.task == "classification" else "value"
    has_prediction = a.label >= 0 if name == "label" else ~np.isnan(a.value)
    empty = (a.kind == LEAF) & (computed["rows"] == 0)
    # a handwritten prediction stays if no row contradicts it
    is_handwritten = empty & (a.stop == BY_HAND) & has_prediction
    computed[name] = np.where(is_handwritten, getattr(a, name), computed[name])
    stop = a.stop.copy()
    stop[empty & ~is_handwritten] = NO_ROWS
    stop[(stop == NO_ROWS) & (computed["rows"] > 0)] = BY_HAND
    arrays = {**computed, **{kept_name: getattr(a, kept_name) for kept_name in structure_names}, "stop": stop}
    history = (*tree.history, HistoryStep({**step, "rows": len(training_set)}))
    fitted = replace(
        tree,
        arrays=_read_only(arrays),
        history=history,
        notes=training_set.notes,
        quartiles=compute_quartiles(training_set) if quartiles is None else quartiles,
    )
    fitted = _follow_heavier_branch(tree, fitted if cost_matrix_of(tree) is None else with_cost_labels(fitted))
    return replace(fitted, notes=(*fitted.notes, *note_broken_order(fitted)))


def _follow_heavier_branch(before: Tree, after: Tree) -> Tree:
    """Send missing values to the branch that is now heavier, at nodes where they followed the heavier branch before."""
    missing = after.arrays.missing.copy()
    unlearned = (after.arrays.kind != LEAF) & (before.arrays.missing_rows == 0) & (after.arrays.missing_rows == 0)
    for node in np.flatnonzero(unlearned).tolist():
        if missing[node] == before.heavier(node):
            missing[node] = after.heavier(node)
    missing.flags.writeable = False
    return replace(after, arrays=replace(after.arrays, missing=missing))


def split_leaf(tree: Tree, node: int, condition: str, data: Any, sample_weight: Any = None) -> Tree:
    """Split a leaf by a condition given as text, and refit the tree on a table."""
    try:
        node = tree.check_node(node)
    except (IndexError, TypeError) as error:
        raise ParameterError(f"{error}.") from None
    if not isinstance(condition, str):
        raise ParameterError('must be a condition such as "x1 <= 0.5".', parameter="condition", value=condition)
    if tree.arrays.kind[node] != LEAF:
        raise ParameterError(
            f"node {node} is split already ({tree.condition(tree.children(node)[0])}).", hint="Name a leaf."
        )
    training_set = _prepare_again(tree, data, sample_weight)
    tree = tree.with_(encodings=training_set.encodings)  # a column without a split may have been stored without levels
    split, places_missing = _parse_condition(tree, condition)
    if not places_missing:
        split = _learn_missing(tree, node, split, training_set)
    grown = _add_split(tree, node, split)
    fitted = estimate(grown, training_set, {"did": "split", "node": node, "condition": condition})
    if fitted.arrays.missing[node] == split.missing:
        return fitted
    missing = fitted.arrays.missing.copy()
    missing[node] = split.missing  # refitting sends them to the heavier branch
    missing.flags.writeable = False
    return replace(fitted, arrays=replace(fitted.arrays, missing=missing))


def replace_split(tree: Tree, node: int, condition: str) -> Tree:
    """Replace the test of an inner node; the subtrees and all predictions stay, counts are dropped."""
    try:
        node = tree.check_node(node)
    except (IndexError, TypeError) as error:
        raise ParameterError(f"{error}.") from None
    children = tree.children(node)
    if not children:
        raise ParameterError(f"node {node} is a leaf, which has no test to replace.", hint="Name an inner node.")
    edited = _add_column(tree, condition)
    split, _ = _parse_condition(edited, condition)
    if split.n_branches != len(children):
        raise ParameterError(
            f"makes {plural(split.n_branches, 'branch', 'branches')}, and node {node} has"
            f" {plural(len(children), 'child', 'children')}, which stay.",
            parameter="condition",
            value=condition,
        )
    node_arrays = {name: list(getattr(tree.arrays, name)) for name in _per_node_arrays(tree)}
    codes, counts = _split_lists(tree)
    _set_split(edited, node, split, node_arrays, codes)
    step = {"did": "with_split", "node": node, "condition": condition}
    if tree.arrays.rows[0] == 0:  # written by hand: there is nothing to drop
        return _join_lists(edited, node_arrays, codes, counts)
    unknown = {"rows": 0, "weight": 0.0, "missing_rows": 0, "impurity": np.nan, "gain": np.nan, "spread": np.nan}
    node_arrays |= {name: [value] * len(tree) for name, value in unknown.items() if name in node_arrays}
    node_arrays["stop"] = [BY_HAND if kind == LEAF else 0 for kind in node_arrays["kind"]]
    node_arrays.pop("p_value", None)
    edited = _join_lists(edited, node_arrays, codes, [counts[0][:0]] * len(tree))
    note = "the test of a node was replaced, and counts were dropped; tree.refit(data) counts again"
    return replace(edited, history=(*tree.history, HistoryStep(step)), notes=(*tree.notes, note), quartiles={})


def _add_column(tree: Tree, condition: str) -> Tree:
    """Add the column of a condition if the tree has none of that name, with the kind that the condition implies."""
    from treewise.formats.text_format.conditions import infer_encodings, parse_condition, resolve_siblings

    if not isinstance(condition, str):
        raise ParameterError('must be a condition such as "x1 <= 0.5".', parameter="condition", value=condition)
    if condition.strip() in tree.columns:  # a branch for each level
        return tree
    try:
        siblings = resolve_siblings([parse_condition(condition.strip()), parse_condition("else")])
        if siblings[0].column in tree.columns:
            return tree
        encodings = infer_encodings([siblings], {}, {})
    except ParseError as error:
        raise ParameterError(str(error).removeprefix("line 1: ")) from None
    return replace(tree, encodings=(*tree.encodings, *encodings))


def _set_split(
    tree: Tree, node: int, split: Split, node_arrays: dict[str, list[Any]], codes: list[npt.NDArray[Any]]
) -> None:
    """Write a split into the arrays of a node, given in pieces."""
    column = tree.columns.index(split.column)
    codes_of_levels = {level: i for i, level in enumerate(tree.encodings[column].levels)}
    blank = {"stop": 0, "cut": 0.0, "cut_int": 0, "other": -1}
    entries = blank | split_entries(split, column, tree.encodings[column], codes_of_levels)
    codes[node] = np.array(entries.pop("codes", ()), np.int32)
    for name, value in entries.items():
        node_arrays[name][node] = value


def _learn_missing(tree: Tree, node: int, split: Split, training_set: TrainingSet) -> Split:
    """Send missing values to the branch where they gain most; to the heavier branch if the node has none."""
    from treewise.train.candidates import KIND_RANK, ValuePartition, compute_stats
    from treewise.train.reference import NodeScorer, TieOrder, choose, place_missing

    rows = np.flatnonzero(find_leaves(tree, training_set.columns, len(training_set)) == node)
    if not len(rows):
        return split
    children = find_leaves(_add_split(tree, node, split), training_set.columns, len(training_set))[rows]
    training_set, column = training_set.with_node_scale(rows), tree.columns.index(split.column)
    is_missing = encode.is_missing(tree.encodings[column], training_set.columns[column][rows])
    branches = range(split.own_branches)
    branch_stats = tuple(compute_stats(training_set, rows[(children == node + 1 + b) & ~is_missing]) for b in branches)
    missing, scorer = compute_stats(training_set, rows[is_missing]), NodeScorer.of(training_set, rows)
    named = branches[: len(split.levels)] if isinstance(split, Multiway) else branches
    partition = ValuePartition(0, branch_stats, partial(replace, split), tuple(named))
    placed = enumerate(place_missing(partition, missing, scorer.separates_missing(missing)))
    scored = [
        scorer.score(
            partition.make_split,
            branch,
            branches_with_missing,
            missing.rows,
            TieOrder(column, KIND_RANK[split.kind], 0, placement),
        )
        for placement, (branch, branches_with_missing) in placed
    ]
    # The user requested the split, so the limits on leaves do not apply.
    candidates = [replace(candidate, eligible=True) for candidate in scored if candidate is not None]
    winner = choose(scorer, {column: candidates}).winner
    if winner is not None:
        return winner.split
    weights = [stats.weight for stats in branch_stats]  # all rows go to one branch: nothing to learn from
    return replace(split, missing=weights.index(max(weights)))


def _parse_condition(tree: Tree, condition: str) -> tuple[Split, bool]:
    """Parse ``x1 <= 0.5`` into a split of the tree's columns; also return whether it places the missing values."""
    from treewise.formats.text_format.conditions import parse_split

    try:
        return parse_split(condition, tree.encodings)
    except ParseError as error:
        raise ParameterError(str(error).removeprefix("line 1: ")) from None


def _add_split(tree: Tree, node: int, split: Split) -> Tree:
    """Turn a leaf into a split with empty leaves as its branches."""
    k = split.n_branches
    node_arrays = {name: list(getattr(tree.arrays, name)) for name in _per_node_arrays(tree)}
    codes, counts = _split_lists(tree)
    _set_split(tree, node, split, node_arrays, codes)
    after = node + 1
    blanks = {
        "column": -1,
        "missing": -1,
        "other": -1,
        "stop": BY_HAND,
        "parent": node,
        "label": -1,
        "value": np.nan,
        "p_value": np.nan,
    }
    for name, entries in node_arrays.items():
        entries[after:after] = [blanks.get(name, 0)] * k
    node_arrays["parent"] = [p + k if p > node and i >= after + k else p for i, p in enumerate(node_arrays["parent"])]
    codes[after:after] = [codes[0][:0]] * k
    counts[after:after] = [counts[0][:0]] * k
    return _join_lists(tree, node_arrays, codes, counts)


def collapse_nodes(tree: Tree, at: Collection[int], stop: int = BY_HAND) -> Tree:
    """Turn nodes into leaves, removing everything below them.

    >>> import treewise as tw
    >>> collapse_nodes(tw.grow("admissions", preset="id3"), [2]).n_leaves
    3
    """
    a, n = tree.arrays, len(tree)
    collapsed = np.zeros(n, bool)
    collapsed[np.fromiter(at, np.int64)] = True
    collapsed &= a.kind != LEAF
    visible = ~a.below(collapsed)
    kept_nodes, number = np.flatnonzero(visible), np.cumsum(visible) - 1
    parents = np.where(a.parent[kept_nodes] >= 0, number[a.parent[kept_nodes]], -1)
    empty = (a.rows[collapsed & visible] == 0) & (a.rows[0] > 0)  # as growth marks a branch without rows
    stops = stop if stop == NOT_YET else np.where(empty, NO_ROWS, stop)
    return rearrange(tree, kept_nodes, parents, collapsed[kept_nodes], stops)


def rearrange(
    tree: Tree,
    nodes: npt.NDArray[np.int64],
    parents: npt.NDArray[np.int64],
    leaves: npt.NDArray[np.bool_],
    stop: int | npt.NDArray[np.int64] = BY_HAND,
) -> Tree:
    """Build a tree of some nodes in pre-order, with new parents (by new numbers); some of them become leaves.

    ``stop`` is the reason of these leaves: one for all, or one for each.
    """
    a = tree.arrays
    blanks = {"kind": LEAF, "column": -1, "cut": 0.0, "cut_int": 0, "missing": -1, "other": -1, "stop": stop}
    arrays = {}
    for name in _per_node_arrays(tree):
        values = getattr(a, name)[nodes]
        if name in blanks or name in ("missing_rows", "gain"):
            values[leaves] = blanks.get(name, 0)
        arrays[name] = values
    arrays["parent"] = parents
    arrays["code_start"], codes = _take_lists(a.code_start, nodes, empty=leaves)
    arrays["count_start"], counts = _take_lists(a.count_start, nodes)
    arrays |= {"codes": a.codes[codes], "count_class": a.count_class[counts], "count_weight": a.count_weight[counts]}
    unused = {f.name: getattr(a, f.name) for f in fields(Arrays) if f.name not in arrays}
    return replace(tree, arrays=_read_only({**unused, **arrays}))


def replay_growth(tree: Tree) -> Iterator[Tree]:
    """Yield the tree after each split of its growth (CS221 notes 6: "pick a leaf and split it").

    In the order of growth: largest total gain first with max_leaf_nodes, otherwise in pre-order.
    """
    inner = np.flatnonzero(tree.arrays.kind != LEAF)
    split = np.zeros(len(tree), bool)
    for node in (best_first_order(tree) if tree.fit_info.is_best_first else inner).tolist():
        waiting = inner[~split[inner] & ((inner == 0) | split[tree.arrays.parent[inner]])]
        yield collapse_nodes(tree, waiting.tolist(), NOT_YET)
        split[node] = True
    yield tree


def best_first_order(tree: Tree, max_splits: int | None = None) -> npt.NDArray[np.int64]:
    """Return the inner nodes in the order of best-first growth: always the largest total gain next.

    ``max_splits`` limits their number.

    >>> import treewise as tw
    >>> tree = tw.grow("penguins", max_leaf_nodes=4)
    >>> best_first_order(tree).tolist(), (tree.arrays.gain * tree.arrays.weight).round(1)[[0, 1, 4]].tolist()
    ([0, 1, 4], [274.3, 134.8, 43.4])
    """
    is_inner = (tree.arrays.kind != LEAF).tolist()
    order: list[int] = []
    start, child = (part.tolist() for part in tree.arrays.child_lists)
    total = (tree.arrays.gain * tree.arrays.weight).tolist()
    waiting = [(_best_first_key(total[0]), 0)] if is_inner[0] else []
    while waiting and (max_splits is None or len(order) < max_splits):
        _, node = heapq.heappop(waiting)
        order.append(node)
        for below in child[start[node] : start[node + 1]]:
            if is_inner[below]:
                heapq.heappush(waiting, (_best_first_key(total[below]), below))
    return np.array(order, np.int64)


def _best_first_key(total: float) -> tuple[float, float]:
    """Order gains as best-first growth does: largest first, pre-order if equal to twelve digits (grow/grower.hpp)."""
    if not total > 0:
        return (math.inf, 0.0)
    mantissa, exponent = math.frexp(total)
    rounded, carried = math.frexp(round(math.ldexp(mantissa, 40)))
    return (-(exponent + carried), -rounded)


# -- arrays in pieces -------------------------------------------------------------------------------------------------


def _per_node_arrays(tree: Tree) -> list[str]:
    """Return the names of the arrays with one entry per node."""
    lists = {"code_start", "codes", "count_start", "count_class", "count_weight"}
    return [f.name for f in fields(Arrays) if f.name not in lists and len(getattr(tree.arrays, f.name))]


def _take_lists(
    start: npt.NDArray[np.int64], nodes: npt.NDArray[np.int64], empty: npt.NDArray[np.bool_] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Take the lists of some nodes, emptying some: return the new starts, and the indices of the items kept."""
    first, size = start[nodes], start[nodes + 1] - start[nodes]
    if empty is not None:
        size = np.where(empty, 0, size)
    starts = np.append(0, np.cumsum(size))
    items = np.arange(starts[-1]) + np.repeat(first - starts[:-1], size)
    return starts, items


def _split_lists(tree: Tree) -> tuple[list[npt.NDArray[Any]], list[npt.NDArray[Any]]]:
    """Return the category codes and the (class, weight) pairs of each node."""
    a = tree.arrays
    pairs = np.empty(len(a.count_class), [("class", np.int32), ("weight", np.float64)])
    pairs["class"], pairs["weight"] = a.count_class, a.count_weight
    return np.split(a.codes, a.code_start[1:-1]), np.split(pairs, a.count_start[1:-1])


def _join_lists(
    tree: Tree, node_arrays: dict[str, list[Any]], codes: list[npt.NDArray[Any]], counts: list[npt.NDArray[Any]]
) -> Tree:
    dtypes = {f.name: getattr(tree.arrays, f.name).dtype for f in fields(Arrays)}
    arrays = {name: np.array(node_arrays.get(name, ()), dtype) for name, dtype in dtypes.items()}
    pairs = np.concatenate(counts)
    arrays["codes"] = np.concatenate(codes).astype(np.int32)
    arrays["code_start"] = np.cumsum([0, *map(len, codes)], dtype=np.int64)
    arrays["count_class"], arrays["count_weight"] = pairs["class"].copy(), pairs["weight"].copy()
    arrays["count_start"] = np.cumsum([0, *map(len, counts)], dtype=np.int64)
    return replace(tree, arrays=_read_only(arrays))


def _read_only(arrays: dict[str, npt.NDArray[Any]]) -> Arrays:
    for array in arrays.values():
        array.flags.writeable = False
    return Arrays(**arrays)
