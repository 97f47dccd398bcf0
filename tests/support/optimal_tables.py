"""Random small tables for optimal trees, and the least objective by the specification."""

import numpy as np

from treewise.train.optimal.specification import find_best_tree, list_tests


def random_table(rng):
    """A table of numbers, categories of both kinds and missing cells, with a target of classes or numbers."""
    n = int(rng.integers(4, 10))

    def with_missing(cells):
        return [None if rng.random() < 0.2 else cell for cell in cells]

    table = {
        "x": with_missing(rng.integers(0, 6, n).astype(float).tolist()),
        "city": with_missing([str(c) for c in rng.choice(["Bari", "Rome", "Turin", "Pisa"], n)]),
        "size": with_missing([str(c) for c in rng.choice(["small", "medium", "large"], n)]),
        "w": rng.integers(1, 5, n).tolist(),
    }
    is_regression = rng.random() < 0.3
    table["y"] = (
        rng.integers(0, 9, n).tolist()
        if is_regression
        else ["a", "b", "c", *rng.choice(["a", "b", "c"], n - 3).tolist()]
    )
    return table, "regression" if is_regression else "classification"


def random_options(rng, task):
    options = {
        "kinds": {"size": ["small", "medium", "large"]},
        "categorical": str(rng.choice(["subset", "one_value"])),
        "ignore": ["w"],
        "task": task,
    }
    if rng.random() < 0.5:
        options["sample_weight"] = "w"
    if task == "classification" and rng.random() < 0.3:
        options["cost"] = {"a": {"b": 3}, "c": {"a": 0.5}}
    return options


def specified(training_set, problem):
    """The least objective by the specification, on tests listed from the columns themselves."""
    tests = []
    for values, kinds in zip(training_set.columns, training_set.split_kinds, strict=True):
        missing = np.isnan(values) if values.dtype.kind == "f" else values < 0
        cells = [None if m else v for v, m in zip(values.tolist(), missing.tolist(), strict=True)]
        tests += list_tests(cells, kinds[0])
    n = len(training_set)

    def cost(rows):
        return problem.leaf_cost(np.flatnonzero([rows >> row & 1 for row in range(n)]))

    return find_best_tree(tests, cost, n, problem.max_depth, problem.max_leaf_nodes, problem.penalty).cost
