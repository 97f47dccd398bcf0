"""Every pruning of a small tree, enumerated: the reference for the pruning methods."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import treewise as tw
from treewise.tree.arrays import LEAF

MOST_LEAVES = 12


def prunings(tree: tw.Tree, node: int = 0) -> list[frozenset[int]]:
    """Return every way to prune the subtree of a node, as the set of nodes that become leaves."""
    assert tree.n_leaves <= MOST_LEAVES
    if tree.arrays.kind[node] == LEAF:
        return [frozenset()]
    below = [prunings(tree, child) for child in tree.children(node)]
    return [frozenset([node]), *(frozenset().union(*each) for each in product(*below))]


def leaves_of(tree: tw.Tree, cut: frozenset[int]) -> list[int]:
    """Return the leaves of the tree after pruning at these nodes."""
    found, todo = [], [0]
    while todo:
        node = todo.pop()
        if node in cut or tree.arrays.kind[node] == LEAF:
            found.append(node)
        else:
            todo.extend(tree.children(node))
    return found


def small_tables(seeds: range, regression: bool = False, rows: int = 40) -> Iterator[tuple[tw.Tree, dict[str, Any]]]:
    """Yield random trees of at most 12 leaves, binary and multiway, each with a validation table."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        train, valid = ({**columns(rng, rows)} for _ in range(2))
        for table in (train, valid):
            noise = rng.integers(0, 4, rows) == 0
            y = (table["a"] + (table["b"] == "x") > 3) ^ noise
            table["y"] = y * 3.0 + rng.integers(0, 3, rows) if regression else np.array(["n", "p", "q"])[y + 0]
            if not regression and seed % 3 == 0:
                table["y"] = np.where(table["c"] == 4, "q", table["y"])
        options = {"task": "regression"} if regression else {"criterion": ["entropy", "gini", "error"][seed % 3]}
        tree = tw.grow(train, "y", categorical=["subset", "multiway"][seed % 2], max_leaf_nodes=MOST_LEAVES, **options)
        yield tree, valid


def columns(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    return {
        "a": rng.integers(0, 5, rows).astype(float),
        "b": np.array(["x", "y", "z"])[rng.integers(0, 3, rows)],
        "c": rng.integers(0, 6, rows).astype(float),
    }
