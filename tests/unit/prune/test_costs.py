"""Pruning with costs, against all prunings of small trees."""

import numpy as np
import pytest

from tests.support.brute_force_pruning import prunings, small_tables

PRICES = {"n": {"p": 5}, "p": {"n": 0.5}}


def with_prices(tree):
    return tree.with_cost({true: row for true, row in PRICES.items() if {true, *row} <= set(tree.classes)})


def test_reduced_error_is_the_smallest_of_least_cost():
    other_choice = 0
    for plain, valid in small_tables(range(12)):
        tree = with_prices(plain)
        pruned = tree.prune("reduced_error", validation=valid)
        trees = [tree.prune(at=sorted(cut)) for cut in prunings(tree)]
        costs = [t.evaluate(valid).cost for t in trees]
        assert pruned.evaluate(valid).cost == pytest.approx(min(costs))
        assert pruned.n_leaves == min(t.n_leaves for t, c in zip(trees, costs, strict=True) if c <= min(costs) + 1e-9)
        other_choice += pruned.n_leaves != plain.prune("reduced_error", validation=valid).n_leaves
    assert other_choice > 0


def test_cost_complexity_by_errors_is_by_costs():
    for plain, _ in small_tables(range(8)):
        tree = with_prices(plain)
        trees = [tree.prune(at=sorted(cut)) for cut in prunings(tree)]
        prices = [training_cost(t) for t in trees]
        for alpha in (0.0, 0.01, 0.05, 0.2):
            pruned = tree.prune("cost_complexity", ccp_alpha=alpha, risk="error")
            paid = [p + alpha * t.n_leaves for p, t in zip(prices, trees, strict=True)]
            assert training_cost(pruned) + alpha * pruned.n_leaves == pytest.approx(min(paid))


def training_cost(tree):
    """What the leaves cost on the rows the tree was grown on, per row."""
    total = 0.0
    for node in tree:
        if node.is_leaf:
            counts = np.array([node.counts.get(label, 0.0) for label in tree.classes])
            total += float(counts @ tree.cost.matrix[:, tree.classes.index(node.prediction)])
    return total / tree.arrays.weight[0]
