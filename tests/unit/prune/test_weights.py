"""Pruning with row weights, class weights and costs."""

import numpy as np
import pytest

import treewise as tw
from tests.support.errors import assert_refused
from tests.support.noisy_table import noisy_split_table
from treewise.prune import find_nested_trees


@pytest.fixture(scope="module")
def noisy():
    return noisy_split_table(seed=3, rows=300, columns=3, wrong=0.2)


def part(data, rows):
    return {name: cells[rows] for name, cells in data.items()}


def test_validation_rows_are_weighed_by_priors_as_in_growth(noisy):
    train, valid = part(noisy, slice(0, 200)), part(noisy, slice(200, 300))
    priors = {"no": 0.9, "yes": 0.1}
    share = np.mean(valid["y"] == "yes")
    by_hand = np.where(valid["y"] == "yes", 0.1 / share, 0.9 / (1 - share))
    plain = tw.grow(train, "y", priors=priors)
    pruned = plain.prune("reduced_error", validation=valid)
    same = plain.with_(history=({k: v for k, v in plain.history[0].items() if k != "priors"},))
    weighed = same.prune("reduced_error", validation=valid, sample_weight=by_hand)
    assert pruned.history[-1]["validation"]["before"] == pytest.approx(weighed.history[-1]["validation"]["before"])
    assert pruned.n_leaves == weighed.n_leaves
    assert (
        pruned.history[-1]["validation"]["before"]
        != same.prune("reduced_error", validation=valid).history[-1]["validation"]["before"]
    )


def test_validation_rows_of_a_class_of_weight_0_are_absent(noisy):
    three = {**noisy, "y": np.where(noisy["x1"] > 1, "other", noisy["y"])}
    tree = tw.grow(three, "y", class_weight={"other": 0})
    step = tree.prune("reduced_error", validation=three).history[-1]
    assert step["rows"] == np.count_nonzero(three["y"] != "other")
    assert step["validation"]["before"] == 0


def test_the_unit_of_weights_does_not_matter_to_folds(noisy):
    folds = np.arange(300) % 5
    plain = tw.grow(noisy, "y").prune("cv", data=noisy, folds=folds)
    for unit in (10.0, 0.125):
        weight = np.full(300, unit)
        tree = tw.grow(noisy, "y", sample_weight=weight)
        heavy = tree.prune("cv", data=noisy, sample_weight=weight, folds=folds)
        np.testing.assert_allclose(np.array(heavy.cp_table.rows), np.array(plain.cp_table.rows), rtol=1e-9, atol=1e-12)
        for name in ("value", "low", "high"):
            found, expected = (getattr(tree.fit_info.cross_validated, name) for tree in (heavy, plain))
            assert found == pytest.approx(expected)
    assert plain.cp_table[0].xerror == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("method", ["cv", "pessimistic"])
def test_another_table_than_the_trees_own_is_refused(noisy, method):
    more = {"raising": True} if method == "pessimistic" else {}
    plain, heavy = tw.grow(noisy, "y"), tw.grow(noisy, "y", sample_weight=np.full(300, 10.0))
    fewer = part(noisy, slice(0, 200))
    assert_refused(lambda: plain.prune(method, data=fewer, **more), "has 200 usable rows", "grown on 300")
    assert_refused(lambda: heavy.prune(method, data=noisy, **more), "the total weight is 300", "3000", "sample_weight")
    tree = tw.grow(noisy, "y", pruning="reduced_error", validation=0.3)
    assert_refused(lambda: tree.prune(method, data=noisy, **more), "has 300 usable rows", "grown on 210")


def test_costs_that_were_taken_back_are_none_in_the_folds_either(noisy):
    folds = np.arange(300) % 5
    priced = tw.grow(noisy, "y", cost={"yes": {"no": 20}})
    plain, again = tw.grow(noisy, "y"), priced.with_cost(None)
    tables = [tree.prune("cv", data=noisy, folds=folds).cp_table.rows for tree in (plain, again, priced)]
    assert tables[0] == tables[1] != tables[2]


def test_a_pure_target_has_no_error_to_divide_by(noisy):
    same = {**noisy, "y": np.where(noisy["x0"] > 9, "no", "yes")}
    tree = tw.grow(same, "y").prune("cv", data=same)
    assert tree.cp_table.root_error == 0
    assert tree.fit_info.cross_validated.value == tree.fit_info.cross_validated.low == 0.0
    assert "root alone 0.0 %" in str(tree.history[-1])


def test_cp_is_in_units_of_the_risk_it_prices(noisy):
    tree = tw.grow(noisy, "y")
    table = tree.prune("cv", data=noisy, risk="impurity", folds=5).cp_table
    nested = find_nested_trees(tree, "impurity")
    assert table[0].cp == pytest.approx(nested.alpha[-1] / nested.root_risk)
    assert 0 < table[0].cp <= 1


def test_absolute_errors_are_held_out_as_absolute_errors():
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=200)}
    data["y"] = 1000 * (data["x"] > 0) + rng.normal(size=200)
    tree = tw.grow(data, "y", criterion="absolute_error").prune("cv", data=data, folds=5)
    assert 0.9 < tree.cp_table[0].xerror < 1.5  # squares in units of absolute errors would be hundreds
    assert "mean absolute error" in str(tree.history[-1])
