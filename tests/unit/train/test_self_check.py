"""TREEWISE_VERIFY compares every tree with another engine and with the reference, and says where they differ."""

import numpy as np
import pytest

import treewise as tw
from tests.support.random_problems import random_options, random_table
from treewise import _core
from treewise.train import self_check
from treewise.train.reference_grower import grow_reference


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
def test_trees_pass(regression, monkeypatch):
    monkeypatch.setenv("TREEWISE_VERIFY", "1")
    compared = []

    def grow_and_count(training_set):
        compared.append(len(training_set))
        return grow_reference(training_set)

    monkeypatch.setattr(self_check, "grow_reference", grow_and_count)
    for seed in range(8):
        rng = np.random.default_rng([seed, 3, regression])
        data, n = random_table(rng, regression)
        tw.grow(data, "y", **random_options(rng, data, n, regression))
    assert len(compared) >= 8


def test_costs_and_weights_pass(monkeypatch):
    monkeypatch.setenv("TREEWISE_VERIFY", "1")
    cost = {"Adelie": {"Gentoo": 5.0}, "Gentoo": {"Adelie": 1.0}}
    tree = tw.grow("penguins", target="species", max_depth=2, cost=cost, class_weight="balanced")
    assert len(tree) > 1


def test_another_tree_is_an_error_that_says_where(monkeypatch):
    monkeypatch.setenv("TREEWISE_VERIFY", "1")
    grow = _core.grow

    def grow_wrongly(columns, target, settings, progress):
        """An engine that misplaces a threshold."""
        tree = grow(columns, target, settings, progress)
        if not settings.tuning.exact_only:
            tree["cut"] = tree["cut"] + (tree["column"] == 0)
        return tree

    monkeypatch.setattr(_core, "grow", grow_wrongly)
    with pytest.raises(tw.TreewiseError, match='differs from that of the presorted engine in the array "cut"'):
        tw.grow({"x": [1.0, 2.0, 3.0], "y": ["a", "a", "b"]}, target="y")


def test_a_wrong_core_is_found_by_the_reference(monkeypatch):
    monkeypatch.setenv("TREEWISE_VERIFY", "1")
    grow = _core.grow

    def always_a_leaf(columns, target, settings, progress):
        settings.max_depth = 0
        return grow(columns, target, settings, progress)

    monkeypatch.setattr(_core, "grow", always_a_leaf)
    data = {"x": [1.0, 2.0, 3.0], "y": ["a", "a", "b"]}
    with pytest.raises(tw.TreewiseError, match="differs from that of the reference in the split of node 0"):
        tw.grow(data, target="y")
    monkeypatch.setenv("TREEWISE_VERIFY_CELLS", "2")  # the table has three: too large for the reference
    monkeypatch.setattr(self_check, "_has_noted", False)
    with pytest.warns(UserWarning, match="3 rows of 1 column are more cells than TREEWISE_VERIFY_CELLS"):
        assert len(tw.grow(data, target="y")) == 1
    assert len(tw.grow(data, target="y")) == 1  # said once
