"""Losses along a nested sequence: every step against trees pruned one by one."""

import numpy as np
import pytest

from treewise.predict.predict import find_leaves
from treewise.prune.losses import LOSSES
from treewise.prune.nested_trees import find_nested_trees
from treewise.prune.penalty_path import PenaltyPath, sum_losses
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


@pytest.mark.parametrize("loss", ["error", "log_loss", "brier", "squared_error", "absolute_error"])
@pytest.mark.parametrize("seed", range(3))
def test_sums_are_those_of_pruned_trees(loss, seed):
    loss, rng = LOSSES[loss], np.random.default_rng(seed)
    training_set, *trees = grow_two(seed, loss.task == "regression")
    truth = training_set.raw if loss.task == "regression" else training_set.y.astype(np.int64)
    weight = rng.integers(1, 4, len(training_set)).astype(float)
    sequences = [find_nested_trees(tree, "error") for tree in trees]
    alphas = np.unique(np.concatenate([nested.alpha for nested in sequences]))
    penalties = np.append((alphas[1:] + alphas[:-1]) / 2, np.inf)
    for tree, nested in zip(trees, sequences, strict=True):
        of_rows = loss.of_rows(tree, truth, None)
        slow = losses_one_by_one(tree, nested, training_set, penalties, of_rows)
        path = PenaltyPath(tree, nested, find_leaves(tree, training_set.columns, len(slow[0])), penalties, of_rows)
        sums, squares = sum_losses(path, weight, len(penalties))
        np.testing.assert_allclose(sums, slow @ weight, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(squares, slow**2 @ weight, rtol=1e-9, atol=1e-9)
