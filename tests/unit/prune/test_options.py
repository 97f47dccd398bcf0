"""Pruning options, in ``grow`` and afterwards: accepted, rejected and stored."""

import numpy as np
import pytest

import treewise as tw
from tests.support.errors import assert_refused
from tests.support.noisy_table import noisy_split_table


@pytest.fixture(scope="module")
def noisy():
    return noisy_split_table(seed=5, rows=240, columns=3, wrong=0.2)


def test_a_cp_table_is_that_of_the_tree_as_it_is_now(noisy):
    chosen = tw.grow(noisy, "y").prune("cv", data=noisy, folds=4, rule="best")
    assert chosen.cp_table.chosen is not None
    assert chosen.prune("collapse").prune("collapse").cp_table[0].xerror == chosen.cp_table[0].xerror
    for later in (chosen.prune(at=0), chosen.refit(noisy), chosen.with_cost({"yes": {"no": 5}})):
        assert later.cp_table.chosen is None
        assert later.cp_table[0].xerror is None
        assert later.cp_table[-1].leaves <= later.n_leaves


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ('rule="worst"', {"method": "cv", "rule": "worst"}),
        ('risk="none"', {"method": "cv", "risk": "none"}),
        ('loss="luck"', {"method": "cv", "loss": "luck"}),
        ("groups is a parameter of growing", {"method": "cv", "groups": "x"}),
        ("has no option fold", {"method": "cv", "fold": 3}),
        ('order="sideways"', {"method": "reduced_error", "order": "sideways"}),
        ('measure="luck"', {"method": "gain", "measure": "luck"}),
        ("leave it out of the pruning options", {"method": "reduced_error", "sample_weight": [1.0] * 240}),
        ("leave it out of the pruning options", {"method": "pessimistic", "sample_weight": [1.0] * 240}),
        ("has no option n_jobs", {"method": "cost_complexity", "ccp_alpha": 0.1, "n_jobs": 1}),
        ("has no option folds", {"method": "cost_complexity", "ccp_alpha": 0.1, "folds": 3}),
    ],
)
def test_options_in_growth_are_checked(noisy, words, options):
    validation = 0.3 if options["method"] == "reduced_error" else None
    assert_refused(lambda: tw.grow(noisy, "y", pruning=options, validation=validation), words, error=tw.ParameterError)


def test_options_after_growth_are_checked_as_well(noisy):
    tree = tw.grow(noisy, "y")

    def wrong(words, method, **options):
        assert_refused(lambda: tree.prune(method, **options), words, error=tw.ParameterError)

    wrong('order="sideways"', "reduced_error", validation=noisy, order="sideways")
    wrong('rule="worst"', "cv", data=noisy, rule="worst")
    wrong('loss="luck"', "cv", data=noisy, loss="luck")
    wrong("has no option rule", "cost_complexity", ccp_alpha=0.1, rule="best", n_jobs=1)
    wrong("has no option random_state", "cost_complexity", ccp_alpha=0.1, random_state=0)
    wrong("sample_weight is used only with raising=True", "pessimistic", sample_weight=[1.0] * 240)
    assert tree.prune("reduced_error", validation=noisy, order=None).history[-1]["options"] == {"order": "bottom-up"}


def test_growth_raises_with_the_rows_it_has(noisy):
    tree = tw.grow(noisy, "y", pruning={"method": "pessimistic", "raising": True, "confidence": 0.4})
    assert tree == tw.grow(noisy, "y").prune("pessimistic", raising=True, data=noisy, confidence=0.4)
    assert tree.history[-1]["options"] == {"confidence": 0.4, "raising": True}


def test_raising_counts_the_mistakes_of_the_class_that_is_predicted(noisy):
    rarer = min(("yes", "no"), key=list(noisy["y"]).count)
    tree = tw.grow(noisy, "y", cost={rarer: {"no" if rarer == "yes" else "yes": 4}})
    assert tree[0].prediction == rarer
    after = [
        pruned.history[-1]["decisions"][0]["after"]
        for pruned in (tree.prune("pessimistic"), tree.prune("pessimistic", raising=True, data=noisy))
    ]
    assert after[0] == pytest.approx(after[1])


def test_a_node_without_rows_that_is_cut_is_reported(noisy):
    full = tw.grow(noisy, "y")
    first = full[0].split
    tree = full.refit({name: cells[noisy[first.column] <= first.cut] for name, cells in noisy.items()})
    empty = [node for node in range(len(tree)) if tree[node].rows == 0 and not tree[node].is_leaf]
    assert empty
    assert tree.prune(at=empty[:1])[empty[0]].stop == "no_rows"
    assert full.prune(at=empty[:1])[empty[0]].stop == "by_hand"


def test_numbers_of_numpy_are_numbers(noisy):
    tree = tw.grow(noisy, "y")
    assert tree.prune(at=np.int64(0)) == tree.prune(at=0) == tree.prune(at=[0])
    price = np.float32(0.01)
    assert tree.prune("cost_complexity", ccp_alpha=price) == tree.prune("cost_complexity", ccp_alpha=float(price))
    assert tw.grow(noisy, "y", ccp_alpha=price) == tw.grow(noisy, "y", ccp_alpha=float(price))
    assert_refused(lambda: tree.prune(at=True), "at=True", error=tw.ParameterError)


def test_costs_of_many_classes_are_summed_as_those_of_few():
    rng = np.random.default_rng(1)
    data = {"x": rng.normal(size=200), "z": rng.normal(size=200)}
    data["y"] = np.array([f"c{i:02}" for i in rng.integers(0, 12, 200)])
    valid = {name: cells[::2] for name, cells in data.items()}
    tree = tw.grow(data, "y", max_depth=4, cost={"c00": {"c01": 7}, "c03": {"c02": 0.5}})
    step = tree.prune("reduced_error", validation=valid).history[-1]
    assert step["validation"]["before"] == pytest.approx(tree.evaluate(valid).cost * 100)
