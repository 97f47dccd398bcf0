"""Costs and priors against brute force, reweighting and manual computation."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from treewise import TreeClassifier
from treewise.errors import ModelFormatError, ParameterError
from treewise.formats.model_file.model_file import dumps, loads
from treewise.predict.costs import CostMatrix, with_cost

CREDIT = {  # ten borrowers: savings tell the bad ones, but not surely
    "savings": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1],
    "risk": ["good", "good", "good", "good", "bad", "bad", "good", "good", "good", "good"],
}
FIVE = {"bad": {"good": 5}}


def test_credit_by_hand():
    tree = tw.grow(CREDIT, "risk")
    assert tree.predict({"savings": [0, 1]}).tolist() == ["good", "good"]
    careful = tw.grow(CREDIT, "risk", cost=FIVE)  # 4 good, 2 bad: good costs 10, bad costs 4
    assert careful.predict({"savings": [0, 1]}).tolist() == ["bad", "good"]
    assert careful.predict({"savings": 0}) == "bad"
    assert [node.counts for node in careful] == [node.counts for node in tree]
    evaluation = careful.evaluate(CREDIT)
    assert (evaluation.cost, evaluation.baseline_cost, evaluation.errors) == (
        0.4,
        0.8,
        4,
    )  # the root says bad: 8 for 10 rows
    assert (
        "cost       0.4 a row, against 0.8 of the baseline (bad taken for good costs 5; every other mistake 1)"
        in str(evaluation)
    )
    judged = tree.evaluate(CREDIT, cost=FIVE)
    assert (judged.cost, judged.errors) == (1.0, 2)
    assert judged.to_dict()["cost_matrix"] == [[0.0, 5.0], [1.0, 0.0]]
    assert "cost" not in tree.evaluate(CREDIT).scores


def test_costs_go_with_the_tree(tmp_path):
    tree = tw.grow(CREDIT, "risk", cost=FIVE)
    assert tree == tw.grow(CREDIT, "risk").with_cost(FIVE)
    assert tree != tw.grow(CREDIT, "risk")
    assert tree.with_cost(None) == tw.grow(CREDIT, "risk")
    assert tree.with_cost(None).cost is None
    tree.save(tmp_path / "m.json")
    loaded = tw.load(tmp_path / "m.json")
    assert (loaded, loaded.cost.to_dict()) == (tree, {"bad": {"good": 5.0}})
    assert tw.parse(tree.export("text")).cost.to_dict() == loaded.cost.to_dict()
    assert "each node predicts the class of least expected cost: bad taken for good costs 5" in shown(tree)


def shown(tree):
    from treewise.show.text_tree.text_tree import header

    return header(tree)


def test_refitted_and_split_trees_predict_by_their_costs():
    tree = tw.grow(CREDIT, "risk", max_depth=0, cost=FIVE).split(0, "savings <= 0.5", CREDIT)
    assert [tree[i].prediction for i in (1, 2)] == ["bad", "good"]
    turned = {"savings": [1 - s for s in CREDIT["savings"]], "risk": CREDIT["risk"]}
    assert [tree.refit(turned)[i].prediction for i in (1, 2)] == ["good", "bad"]


def test_costs_and_estimates_together():
    tree = tw.grow(CREDIT, "risk", cost={"bad": {"good": 3}})
    assert tree.predict({"savings": 1}) == "good"
    assert tree.predict({"savings": 1}, estimate="laplace") == "good"  # 1/6 bad: 3/6 against 5/6
    assert tree.with_cost(FIVE).predict({"savings": 1}, estimate="laplace") == "bad"  # 5/6 against 5/6, the first
    assert tree.with_cost({"bad": {"good": 4}}).predict({"savings": 1}, estimate="laplace") == "good"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_class_of_least_cost_is_found_by_trying_all(data):
    k = data.draw(st.integers(1, 4))
    costs = data.draw(st.lists(st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=k, max_size=k))
    counts = data.draw(st.lists(st.integers(0, 9), min_size=k, max_size=k))
    for i in range(k):
        costs[i][i] = 0
    matrix = CostMatrix.of(costs, tuple("abcd"[:k]))
    tried = [sum(counts[true] * costs[true][message] for true in range(k)) for message in range(k)]
    assert matrix.risk(counts) == min(tried)
    assert matrix.predict_class(counts) == tried.index(min(tried))
    assert matrix.predict_class([counts, counts]).tolist() == [tried.index(min(tried))] * 2
    assert matrix.expected(counts).tolist() == tried
    again = CostMatrix.of(matrix.to_dict(), matrix.classes)
    assert np.array_equal(again.matrix, matrix.matrix)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 3))
def test_no_labels_cost_less_on_the_training_table(seed, k, depth):
    rng = np.random.default_rng(seed)
    data = {"x": rng.integers(0, 4, 30), "z": rng.integers(0, 4, 30), "y": rng.choice(list("abcd"[:k]), 30)}
    tree = tw.grow(data, "y", max_depth=depth)
    k = len(tree.classes)
    matrix = rng.integers(0, 6, (k, k)) * (1 - np.eye(k, dtype=int))
    tree = tree.with_cost(matrix)
    truth, leaf = np.array([tree.classes.index(y) for y in data["y"]]), tree.apply(data)
    least = 0
    for node in np.unique(leaf):  # leaves are independent: the best label of each
        least += min(matrix[truth[leaf == node], message].sum() for message in range(k))
    assert tree.evaluate(data).cost * 30 == pytest.approx(least)


def test_counting_mistakes_is_a_cost_of_one():
    tree = tw.grow("penguins")
    assert tree.with_cost({}) == tree
    assert tree.with_cost(1 - np.eye(3)) == tree
    assert str(tree.with_cost({}).cost) == "every mistake costs 1"
    evaluation = tree.with_cost({}).evaluate("penguins")
    assert evaluation.cost == evaluation.error


@pytest.mark.parametrize(
    "given",
    [
        {"good": {"bad": 2}},
        [[0, 1], [2, 0]],
        np.array([[0, 1], [2, 0]]),
        pd.DataFrame([[0, 1], [2, 0]], index=["bad", "good"], columns=["bad", "good"]),
        pd.DataFrame([[0, 2], [1, 0]], index=["good", "bad"], columns=["good", "bad"]),
    ],
    ids=["names", "lists", "array", "frame", "frame in another order"],
)
def test_costs_are_taken_in_any_form(given):
    assert CostMatrix.of(given, ("bad", "good")).matrix.tolist() == [[0.0, 1.0], [2.0, 0.0]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bad": 5}, 'cost of "bad" is 5: must name the predicted classes'),
        ({"bda": {"good": 5}}, 'cost names the class "bda"; the classes are bad, good. Did you mean "bad"?'),
        ({"bad": {"goood": 5}}, 'cost names the class "goood"'),
        ({"bad": {"good": -1}}, "cost of bad taken for good is -1: must be a number, 0 or more and finite"),
        ({"bad": {"good": float("nan")}}, "cost of bad taken for good is nan"),
        ({"bad": {"good": True}}, "cost of bad taken for good is True"),
        ([[0, 1]], "must be 2 rows of 2 numbers"),
        ("5:1", "must be 2 rows of 2 numbers"),
        ([[0, 1], [float("inf"), 0]], "cost of good taken for bad is inf"),
        ({"bad": {"bad": 2}}, "cost of bad taken for bad is 2: a right answer costs nothing"),
        ([[0, 1], [5, 0.5]], "cost of good taken for good is 0.5: a right answer costs nothing"),
    ],
)
def test_invalid_costs_are_refused(given, message):
    with pytest.raises(ParameterError) as error:
        tw.grow(CREDIT, "risk", cost=given)
    assert message in str(error.value)


def test_numbers_have_no_costs_and_no_priors():
    numbers = {"x": [0, 1], "y": [0.5, 1.5]}
    for options in ({"cost": [[0]]}, {"priors": {"a": 1}}):
        with pytest.raises(ParameterError, match="regression has no classes"):
            tw.grow(numbers, "y", **options)
    tree = tw.grow(numbers, "y")
    with pytest.raises(ParameterError, match="predicts numbers has no classes"):
        with_cost(tree, {})
    with pytest.raises(ParameterError, match="predicts numbers has no classes"):
        tree.evaluate(numbers, cost={})


def test_a_class_without_costs_makes_them_undefined():
    evaluation = tw.grow(CREDIT, "risk", cost=FIVE).evaluate({"savings": [0, 0], "risk": ["ugly", "bad"]})
    assert evaluation.cost is None
    assert "cost       not defined" in str(evaluation)


def test_files_with_costs_that_make_no_sense_are_refused():
    text = dumps(tw.grow(CREDIT, "risk", cost=FIVE, priors={"bad": 0.5, "good": 0.5}))
    for before, after in (('"good":5.0', '"godo":5.0'), ('"good":5.0', '"good":-5.0'), ('"bad":0.5', '"bad":1.5')):
        with pytest.raises(ModelFormatError):
            loads(sealed(text.replace(before, after)))
    assert loads(sealed(text)).cost is not None


def sealed(text):
    import hashlib

    body = text[: text.rindex('"sha256"')]
    return f'{body}"sha256": "{hashlib.sha256(body.encode()).hexdigest()}"}}\n'


# -- priors ------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_priors_are_weights_of_classes(seed, tenths):
    rng = np.random.default_rng(seed)
    data = {"x": rng.random(40), "z": rng.integers(0, 3, 40), "y": np.where(rng.random(40) < 0.3, "b", "a")}
    data["y"][:2] = ["a", "b"]
    share, n = tenths / 10, len(data["y"])
    counts = {label: int((data["y"] == label).sum()) for label in "ab"}
    tree = tw.grow(data, "y", priors={"a": 1 - share, "b": share}, max_depth=3)
    weights = {"a": (1 - share) * n / counts["a"], "b": share * n / counts["b"]}
    by_weight = tw.grow(data, "y", class_weight=weights, max_depth=3)
    assert [node.split for node in tree] == [node.split for node in by_weight]
    assert tree.predict_proba({"x": 0.5, "z": 1}) == pytest.approx(by_weight.predict_proba({"x": 0.5, "z": 1}))
    assert tree.probabilities(0) == pytest.approx([1 - share, share])  # the root says what was said
    assert tree.arrays.weight[0] == pytest.approx(n)
    assert tree.refit(data).probabilities(0) == pytest.approx([1 - share, share])


def test_priors_by_rparts_formula():
    """P(class | node) is π·n(class at node)/n(class), made to add up to 1."""
    tree = tw.grow("penguins", max_leaf_nodes=4, priors=[0.2, 0.3, 0.5])
    plain = tw.grow("penguins", max_depth=0)
    prior, total = np.array([0.2, 0.3, 0.5]), np.array(list(plain.counts(0).values()))
    leaf = tree.apply("penguins")
    species = np.array([tree.classes.index(s) for s in tw.datasets.penguins().to_polars()["species"]])
    for node in np.unique(leaf):
        here = prior * np.bincount(species[leaf == node], minlength=3) / total
        assert tree.probabilities(int(node)) == pytest.approx(here / here.sum())


def test_equal_priors_are_balanced_weights():
    assert tw.grow("penguins", priors=[1 / 3] * 3) == tw.grow("penguins", class_weight="balanced")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bad": 0.5}, 'the share of "good" is not given'),
        ({"bad": 0.5, "good": 0.6}, "priors add up to 1.1"),
        ({"bad": 0.0, "good": 1.0}, 'the share of "bad" is 0.0'),
        ({"bad": 0.5, "godo": 0.5}, 'priors names the class "godo"'),
        ([1.0], "must be a share for each class, in the order bad, good"),
        ("half", "must be a share for each class"),
        (["0.5", "0.5"], 'the share of "bad" is "0.5"'),
    ],
)
def test_invalid_priors_are_refused(given, message):
    with pytest.raises(ParameterError) as error:
        tw.grow(CREDIT, "risk", priors=given)
    assert message in str(error.value)


def test_priors_and_class_weights_do_not_mix():
    with pytest.raises(ParameterError, match="class_weight and priors both weigh the classes"):
        tw.grow(CREDIT, "risk", priors=[0.5, 0.5], class_weight="balanced")


# -- fronts ------------------------------------------------------------------------------------------------


def test_estimators_take_costs_and_priors():
    X, y = [[s] for s in CREDIT["savings"]], np.array([2 if r == "bad" else 1 for r in CREDIT["risk"]])
    model = TreeClassifier(cost={2: {1: 5}}).fit(X, y)
    assert model.predict([[0], [1]]).tolist() == [2, 1]
    assert model.predict([[1]], estimate="laplace").tolist() == [1]
    assert model.predict_proba([[1]], estimate="laplace") == pytest.approx(np.array([[5 / 6, 1 / 6]]))
    assert TreeClassifier(cost=[[0, 1], [5, 0]]).fit(X, y).tree_ == model.tree_
    frame = pd.DataFrame([[0, 1], [5, 0]], index=[1, 2], columns=[1, 2])
    assert TreeClassifier(cost=frame).fit(X, y).tree_ == model.tree_
    even = TreeClassifier(priors={1: 0.5, 2: 0.5}).fit(X, y)
    assert even.tree_.probabilities(0) == pytest.approx([0.5, 0.5])
    with pytest.raises(ParameterError, match='cost names the class "3"'):
        TreeClassifier(cost={3: {1: 5}}).fit(X, y)


def test_every_pair_of_classes_can_be_priced():
    tree = tw.grow("penguins", max_depth=1)
    for true, message in itertools.permutations(tree.classes, 2):
        dear = tree.with_cost({true: {message: 1e6}})
        node = dear[1]
        assert node.prediction != message or true not in node.counts


def test_the_form_that_an_error_suggests_can_be_given():
    import polars as pl

    with pytest.raises(ParameterError, match="must name its rows") as refused:
        CostMatrix.of(pl.DataFrame({"good": [0, 5], "bad": [1, 0]}), ("good", "bad"))
    suggested = str(refused.value).split("give ")[1].rstrip(".")
    assert CostMatrix.of(json.loads(suggested), ("good", "bad")).matrix.tolist() == [[0, 1], [5, 0]]
