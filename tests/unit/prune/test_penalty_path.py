"""Losses along a nested sequence: every step against trees pruned one by one."""

import numpy as np
import pytest

from tests.support.penalty_paths import grow_two, losses_one_by_one
from treewise.predict.predict import find_leaves
from treewise.prune.losses import LOSSES
from treewise.prune.nested_trees import find_nested_trees
from treewise.prune.penalty_path import PenaltyPath, sum_losses


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
