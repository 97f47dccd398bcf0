"""Shapley values by brute force over all subsets of columns, with random trees and rows to test them on."""

import math
from itertools import combinations

import numpy as np

import treewise as tw
from treewise.data import encoding as encode
from treewise.data.table import read
from treewise.predict.predict import encode_columns

N_ROWS = 60


def mixed_table(seed, n=N_ROWS, gaps=True):
    """Return a table of numbers, categories and booleans with missing cells, and targets that depend on them."""
    rng = np.random.default_rng(seed)
    x, z = rng.integers(0, 9, n).astype(float), rng.normal(size=n).round(1)
    c, b = rng.choice(list("pqrs"), n), rng.random(n) < 0.5
    score = x + 3 * (c == "q") - 2 * b + z + rng.normal(size=n)
    if gaps:
        x[rng.random(n) < 0.15] = np.nan
    levels = [None if gaps and rng.random() < 0.1 else str(level) for level in c]
    return {"x": x, "z": z, "c": levels, "b": b.tolist(), "score": score, "y": np.digitize(score, [2, 5]).astype(str)}


def varied_trees(seed):
    """Yield trees with every kind of split, for both tasks, each with its table."""
    table = mixed_table(seed)
    options = [
        {"categorical": "multiway", "missing": "branch"},
        {"categorical": "subset", "criterion": "gini", "max_depth": 4},
        {"categorical": "one_value", "max_leaf_nodes": 9},
        {"categorical": "any", "min_samples_leaf": 3},
        {"categorical": "multiway", "kinds": {"c": {"p", "q", "r", "s", "absent"}}, "empty_branch": "root"},
    ]
    for more in options:
        yield tw.grow(table, "y", ignore=["score"], **more), table
    yield tw.grow(table, "score", ignore=["y"], max_depth=5), table
    weight = np.random.default_rng(seed).random(N_ROWS) * 3
    yield tw.grow(table, "score", ignore=["y"], sample_weight=weight, max_leaf_nodes=12), table


def unusual_rows(table, seed):
    """Return rows of the table, some with missing cells and one with an unseen category."""
    rng = np.random.default_rng(seed)
    rows = {name: list(cells)[:12] for name, cells in table.items() if name not in ("score", "y")}
    for cells in rows.values():
        cells[int(rng.integers(12))] = None
    rows["c"][int(rng.integers(12))] = "never"
    return rows


def decoded_rows(tree, data):
    """Return the decoded cells of a table, row by row."""
    table = read(data)
    arrays = encode_columns(tree, table)
    columns = [
        [None] * len(table) if values is None else encode.decode(encoding, values)
        for encoding, values in zip(tree.encodings, arrays, strict=True)
    ]
    return list(zip(*columns, strict=True))


def conditional_expectation(tree, table, row, known):
    """Return the expected prediction when only some columns are known, by definition."""
    total, waiting = np.zeros(table.outputs.shape[1]), [(0, 1.0)]
    while waiting:
        node, weight = waiting.pop()
        split = tree.split_at(node)
        if split is None:
            total += weight * table.outputs[node]
            continue
        column = int(tree.arrays.column[node])
        if column in known:
            branch = split.branch(row[column], tree.encodings[column])
            if branch is None:
                total += weight * table.outputs[table.answering[node]]
            else:
                waiting.append((tree.children(node)[branch], weight))
            continue
        if table.stay[node] > 0:
            total += weight * table.stay[node] * table.outputs[table.answering[node]]
        waiting += [(child, weight * table.share[child]) for child in tree.children(node)]
    return total


def shapley_by_enumeration(tree, table, row):
    """Return Shapley values by definition: the mean over all orders in which columns become known."""
    n = len(tree.columns)
    actual = np.zeros((n, table.outputs.shape[1]))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            chance = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for known in combinations(others, size):
                actual[i] += chance * (
                    conditional_expectation(tree, table, row, {*known, i})
                    - conditional_expectation(tree, table, row, set(known))
                )
    return actual
