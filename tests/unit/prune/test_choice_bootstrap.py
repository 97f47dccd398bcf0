"""The bootstrap of the choice of a size: block sums against pruned trees, samples against a loop over them."""

import numpy as np
import pytest

import treewise as tw
from tests.support.penalty_paths import grow_two, losses_one_by_one
from treewise.predict.predict import find_leaves
from treewise.prune.choice_bootstrap import BlockLosses, choose_size
from treewise.prune.losses import LOSSES
from treewise.prune.nested_trees import find_nested_trees
from treewise.prune.penalty_path import PenaltyPath
from treewise.train.folds import Fold, Folds, make_folds
from treewise.train.grow import prepare


@pytest.mark.parametrize("loss", ["error", "squared_error"])
@pytest.mark.parametrize("seed", range(3))
def test_block_sums_are_those_of_pruned_trees(loss, seed):
    loss, rng = LOSSES[loss], np.random.default_rng(seed)
    training_set, _, tree = grow_two(seed, loss.task == "regression")
    n = len(training_set)
    truth = training_set.raw if loss.task == "regression" else training_set.y.astype(np.int64)
    of_rows, weight = loss.of_rows(tree, truth, None), rng.integers(1, 4, n).astype(float)
    nested = find_nested_trees(tree, "error")
    penalties = np.append((nested.alpha[1:] + nested.alpha[:-1]) / 2, np.inf)
    slow = losses_one_by_one(tree, nested, training_set, penalties, of_rows)
    groups = rng.integers(0, 7, n)
    folds = Folds((Fold(np.arange(n), np.arange(n)),), 1, "groups")
    blocks = BlockLosses.of(folds, groups, n, len(penalties), seed=0)
    ends = find_leaves(tree, training_set.columns, n)
    blocks.add(PenaltyPath(tree, nested, ends, penalties, of_rows), np.arange(n), weight, len(penalties))
    for group in range(7):
        rows = groups == group
        np.testing.assert_allclose(blocks.weight[group], weight[rows].sum())
        np.testing.assert_allclose(blocks.loss[group], slow[:, rows] @ weight[rows], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", ["best", "1se"])
def test_every_sample_chooses_by_its_rows_and_is_judged_by_the_others(rule):
    rng = np.random.default_rng(1)
    loss, weight = rng.random((12, 5)) * 3, rng.integers(1, 4, 12).astype(float)
    actual = BlockLosses(np.arange(12), np.arange(5), loss, weight).sample_losses(rule)
    times = np.random.default_rng(0).multinomial(12, np.full(12, 1 / 12), 1000)
    times = times[(times == 0).any(axis=1)]
    assert len(actual) == len(times) > 990
    for value, drawn in zip(actual[:50], times[:50], strict=True):
        total = drawn @ weight
        mean = drawn @ loss / total
        spread = np.sqrt((drawn[:, None] * (loss - mean * weight[:, None]) ** 2).sum(axis=0)) / total
        outside = drawn == 0
        expected = loss[outside, int(choose_size(mean, spread, rule))].sum() / weight[outside].sum()
        assert value == pytest.approx(expected)


def test_large_tables_are_sampled_in_blocks_of_equal_size():
    training_set = prepare({"x": np.arange(1000.0), "y": np.arange(1000.0)}, "y")
    blocks = BlockLosses.of(make_folds(training_set), None, 1000, 5000, seed=3)
    assert set(np.bincount(blocks.block)) == {5}
    assert len(blocks.sizes) <= 100
    assert blocks.sizes[0] == 0
    assert blocks.sizes[-1] == 4999


def test_a_choice_among_many_sizes_is_less_certain():
    """On noise, a table with more sizes to choose from has a wider interval than its rows alone would give."""
    rng = np.random.default_rng(0)
    data = {f"x{i}": rng.normal(size=300) for i in range(8)} | {"y": rng.normal(size=300)}
    actual = tw.grow(data, "y", pruning={"method": "cv", "rule": "best"}).fit_info.cross_validated
    usual = 1.96 * np.std((data["y"] - np.mean(data["y"])) ** 2) / np.sqrt(300)
    assert actual.high - actual.low > 2 * usual
