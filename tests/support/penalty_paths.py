"""Trees with nested sequences, and their losses by climbing from each leaf."""

import numpy as np

from treewise.predict.predict import find_leaves
from treewise.train.grow import grow_training_set, prepare


def grow_two(seed, regression, rows=40):
    """Return a training set, the tree of all its rows, and one of half of them."""
    rng = np.random.default_rng(seed)
    data = {"x": rng.normal(size=rows), "z": rng.integers(0, 4, rows), "c": rng.choice(list("uvw"), rows)}
    y = rng.normal(size=rows) + data["z"] if regression else rng.choice(["a", "b", "c"], rows)
    half = {name: values[: rows // 2] for name, values in {**data, "y": y}.items()}
    if not regression:
        half["y"] = np.array([*half["y"][:-3], "a", "b", "c"])  # the same classes
    training_set, part = prepare({**data, "y": y}, "y"), prepare(half, "y")
    return training_set, grow_training_set(training_set), grow_training_set(part)


def losses_one_by_one(tree, nested, training_set, penalties, of_rows):
    """Return the loss of every row at every penalty, by climbing from its leaf to the topmost node that is a leaf."""
    ends = find_leaves(tree, training_set.columns, len(training_set))
    actual = []
    for penalty in penalties:
        nodes = []
        for end in ends.tolist():
            path = [end]
            while path[-1] > 0:
                path.append(int(tree.arrays.parent[path[-1]]))
            is_leaf = [nested.leaf_alpha[node] - nested.tie <= penalty for node in path]
            nodes.append(path[max(np.flatnonzero(is_leaf), default=0)])
        actual.append(of_rows(np.arange(len(ends)), np.array(nodes)))
    return np.array(actual)
