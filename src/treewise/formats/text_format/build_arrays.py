"""Nodes described one by one → the flat arrays of a tree.

Stands on ``tree/arrays.py``; for trees that are read from text rather than grown (``parse.py``, ``formats/export/text.py``).
A node is a mapping from the names of ``Arrays`` to its entries; what is left out has the value of ``UNSAID``.
``codes`` and ``counts`` (pairs of class and weight) are lists of any length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, get_args, get_type_hints

import numpy as np

from treewise.tree.arrays import LEAF, MULTIWAY, ONE_VALUE, ORDINAL, THRESHOLD, Arrays, Task

NodeFacts = Mapping[str, Any]

UNSAID: dict[str, Any] = {
    "parent": -1, "kind": 0, "column": -1, "cut": 0.0, "cut_int": 0, "missing": -1, "other": -1, "stop": 0,
    "rows": 0, "missing_rows": 0, "weight": 0.0, "impurity": math.nan, "gain": math.nan,
    "label": -1, "value": math.nan, "spread": math.nan,
}  # fmt: skip
ONLY_IN = {"label": "classification", "value": "regression", "spread": "regression"}


def pack(nodes: Sequence[NodeFacts], task: Task) -> Arrays:
    """Put the nodes of a tree, in pre-order, into arrays.

    >>> pack([{"label": 1, "rows": 3, "counts": [(1, 3.0)]}], "classification").count_weight
    array([3.])
    """
    types = {name: get_args(get_args(hint)[1])[0] for name, hint in get_type_hints(Arrays).items()}
    codes = [node.get("codes", ()) for node in nodes]
    counts = [node.get("counts", ()) for node in nodes]
    filled: dict[str, list[Any]] = {
        "code_start": _starts(codes),
        "codes": [code for some in codes for code in some],
        "count_start": _starts(counts),
        "count_class": [where for some in counts for where, _ in some],
        "count_weight": [weight for some in counts for _, weight in some],
    }
    for name, unsaid in UNSAID.items():
        present = ONLY_IN.get(name, task) == task
        filled[name] = [node.get(name, unsaid) for node in nodes] if present else []
    return Arrays(**{name: np.array(filled[name], dtype) for name, dtype in types.items()})


def _starts(lists: Sequence[Sequence[Any]]) -> list[int]:
    return [0, *accumulate(len(some) for some in lists)]


def check_split(node: NodeFacts, categorical: bool) -> None:
    """Refuse entries that do not make a split; the caller says where they stand."""
    kind, levels = node["kind"], len(node.get("codes", ()))
    if categorical == (kind == THRESHOLD):
        raise ValueError("this test does not go with this kind of column")
    if (kind == THRESHOLD and levels) or (kind in (ORDINAL, ONE_VALUE) and levels != 1):
        raise ValueError(f"{levels} levels are named")
    if not 0 <= node["missing"] <= own_branches(node):
        raise ValueError(f"missing values cannot take branch {node['missing']}")


def own_branches(node: NodeFacts) -> int:
    """Return how many branches a node has for present values."""
    if node["kind"] != MULTIWAY:
        return 2
    return len(node.get("codes", ())) + int(node.get("other", -1) >= 0)


def with_parents(nodes: Sequence[NodeFacts]) -> list[dict[str, Any]]:
    """Give every node its parent, which in pre-order follows from how many branches the nodes before it have.

    >>> inner = {"kind": THRESHOLD, "column": 0, "missing": 0}
    >>> [node["parent"] for node in with_parents([inner, inner, {}, {}, {}])]
    [-1, 0, 1, 1, 0]
    """
    placed: list[dict[str, Any]] = []
    waiting: list[list[int]] = []  # nodes that still miss children, innermost last, and how many each misses
    for i, node in enumerate(nodes):
        if i and not waiting:
            raise ValueError(f"node {i} comes after the last leaf")
        placed.append({**node, "parent": waiting[-1][0] if waiting else -1})
        if waiting:
            waiting[-1][1] -= 1
        if node.get("kind", LEAF) != LEAF:
            waiting.append([i, max(own_branches(node), node["missing"] + 1)])
        while waiting and not waiting[-1][1]:
            waiting.pop()
    if waiting or not nodes:
        raise ValueError("some nodes are lost")
    return placed
