"""Random small problems of optimal trees, and their solution by the specification."""

from functools import cache

import numpy as np

from treewise import _core
from treewise.train.criteria import FRACTION_BITS, log2_fixed
from treewise.train.optimal.specification import find_best_tree

OBJECTIVES = ("linear", "linear", "linear", "squared_error", "gini", "entropy")
SHORTCUTS = ("lipschitz", "similarity", "cache", "scan", "merge_rows")
IMPURITY_BITS = 40


def random_problem(rng):
    """The arguments of the core: few rows, many ties, weights, costs, penalties."""
    n, q = int(rng.choice([1, 2, 4, 6, 8, 9, 10, 11])), int(rng.integers(1, 5))
    ranks = [np.unique(rng.integers(0, rng.choice([2, 2, 3, 4, 6, 12]), n), return_inverse=True)[1] for _ in range(q)]
    objective = str(rng.choice(OBJECTIVES))
    n_classes = int(rng.choice([2, 2, 2, 3, 4]))
    cost = 1 - np.eye(n_classes, dtype=int)
    if rng.random() < 0.3:
        cost = rng.integers(0, 5, (n_classes, n_classes)) * cost
    weight = np.ones(n, int) if rng.random() < 0.5 else rng.integers(1, 1 + int(rng.choice([3, 70_000])), n)
    scale = int(rng.choice([1, 1, 7]))
    is_squared = objective == "squared_error"
    return {
        "ranks": np.array(ranks, np.int32),
        "target": rng.integers(0, 9 if is_squared else n_classes, n),
        "weight": weight.astype(np.int64),
        "objective": objective,
        "n_classes": 0 if is_squared else n_classes,
        "cost": cost.ravel().tolist(),
        "shift": int(rng.integers(0, 3)) if is_squared else int(rng.integers(0, 30)),
        "scale": scale,
        "penalty": int(rng.choice([0, 0, 0, 0, 1, 3])),
        "max_depth": int(rng.choice([0, 1, 2, 2, 3, 3, 4])),
        "max_leaves": int(rng.choice([1, 2, 3, 4, 5, 6, 8, 16])),
    }


def leaf_cost(problem, rows):
    """What a leaf with these rows costs, without the penalty."""
    members = [r for r in range(len(problem["target"])) if rows >> r & 1]
    pairs = [(int(problem["weight"][r]), int(problem["target"][r])) for r in members]
    total = sum(w for w, _ in pairs)
    k = problem["n_classes"]
    if not total:
        return 0
    if problem["objective"] == "squared_error":
        first, second = sum(w * y for w, y in pairs), sum(w * y * y for w, y in pairs)
        return ((second * total - first * first) // total >> problem["shift"]) * problem["scale"]
    counts = [sum(w for w, y in pairs if y == c) for c in range(k)]
    if problem["objective"] == "linear":
        return problem["scale"] * min(
            sum(n * problem["cost"][y * k + p] for y, n in enumerate(counts)) for p in range(k)
        )
    if problem["objective"] == "gini":
        exact = ((total * total - sum(n * n for n in counts)) << IMPURITY_BITS) // total
        return (exact >> problem["shift"]) * problem["scale"]
    bits = total * log2_fixed(total) - sum(n * log2_fixed(n) for n in counts if n)
    return (bits >> FRACTION_BITS - IMPURITY_BITS + problem["shift"]) * problem["scale"]


def tests_of(problem):
    """The tests as (feature, rank), and as the rows that they send left."""
    named, masks = [], []
    for feature, ranks in enumerate(problem["ranks"].tolist()):
        for rank in range(max(ranks)):
            named.append((feature, rank))
            masks.append(sum(1 << row for row, own in enumerate(ranks) if own <= rank))
    return named, masks


def specified(problem):
    """The objective of the best tree and its nodes in pre-order, by the specification."""
    named, masks = tests_of(problem)
    cost = cache(lambda rows: leaf_cost(problem, rows))
    n = len(problem["target"])
    best = find_best_tree(masks, cost, n, problem["max_depth"], problem["max_leaves"], problem["penalty"])
    nodes, stack = [], [best]
    while stack:
        tree = stack.pop()
        nodes.append(named[tree.test] if tree.test >= 0 else (-1, -1))
        stack += [tree.right, tree.left] if tree.test >= 0 else []
    return best.cost, nodes


def compare(rng):
    """Solve a random problem in both ways; None if they agree, else what does not."""
    problem = random_problem(rng)
    without = [name for name in SHORTCUTS if rng.random() < 0.25]
    threads = int(rng.choice([1, 1, 1, 2, 3]))
    cost, nodes = specified(problem)
    known = None if rng.random() < 0.7 else cost + int(rng.choice([0, 0, 1, 5]))
    solved = _core.solve_optimal(**problem, n_threads=threads, incumbent=known, without=without)
    agrees = solved["proven"] and solved["objective"] == solved["lower_bound"] == cost and solved["nodes"] == nodes
    return None if agrees else (problem, without, threads, known, cost, nodes, solved)
