"""Leaf probabilities and intervals by manual, direct and exact computation."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import treewise as tw
from tests.support.handmade_trees import chain
from treewise.errors import DataError, ParameterError
from treewise.predict.confidence_intervals import student_half_width, student_quantile, wilson
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities, label_probabilities

EVERY = ("maximum_likelihood", "laplace", "m_estimate", "m_estimate=0", "shrinkage", "shrinkage=0", "shrinkage=1000")


@st.composite
def tables(draw):
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(1, 4))
    return {
        "x1": rng.integers(0, 6, n),
        "x2": rng.random(n),
        "town": np.array(["Bari", "Rome", "Turin", "Pisa"])[rng.integers(0, 4, n)],
        "y": np.array(["a", "b", "c", "d"])[rng.integers(0, k, n)],
        "w": rng.integers(1, 4, n),
    }


@st.composite
def trees(draw):
    data = draw(tables())
    options = {
        "max_depth": draw(st.sampled_from([None, 0, 1, 3])),
        "categorical": draw(st.sampled_from(["multiway", "subset"])),
        "empty_branch": draw(st.sampled_from(["parent", "root"])),
        "kinds": {"town": {"Bari", "Rome", "Turin", "Pisa", "Como"}},
        "sample_weight": draw(st.sampled_from([None, "w"])),
    }
    return tw.grow(data, "y", **options), data


def slowly(tree, node, estimate):
    """The formulas of ``leaf_probabilities.py``, one node and one class at a time, in fractions."""
    if not tree.counts(node):
        return slowly(tree, 0 if tree.empty_branch == "root" else tree[node].parent, estimate)
    k = len(tree.classes)

    def own(at, label):
        counts = tree.counts(at)
        return Fraction(counts.get(label, 0)) / Fraction(sum(counts.values()))

    def total(at):
        return Fraction(sum(tree.counts(at).values()))

    strength = Fraction(estimate.strength)
    actual = []
    for label in tree.classes:
        c, n = own(node, label) * total(node), total(node)
        if estimate.name == "maximum_likelihood":
            p = c / n
        elif estimate.name == "laplace":
            p = (c + 1) / (n + k)
        elif estimate.name == "m_estimate":
            p = (c + strength * own(0, label)) / (n + strength)
        else:
            path = tree.path(node)
            p = own(0, label)
            for above, below in pairwise(path):
                p += (own(below, label) - own(above, label)) / (1 + strength / total(above))
        actual.append(p)
    return actual


@settings(max_examples=60, deadline=None)
@given(trees(), st.sampled_from(EVERY))
def test_estimates_are_the_readable_formula(made, name):
    tree, data = made
    estimate = LeafProbabilities.of(name)
    nodes = np.arange(len(tree))
    actual = class_probabilities(tree, nodes, estimate)
    expected = np.array([[float(p) for p in slowly(tree, node, estimate)] for node in range(len(tree))])
    assert actual == pytest.approx(expected, abs=1e-12)
    assert actual.sum(axis=1) == pytest.approx(np.ones(len(tree)))
    assert (actual >= 0).all()
    proba = tree.predict_proba(data, estimate=name)
    assert proba == pytest.approx(expected[tree.apply(data)], abs=1e-12)
    truth = np.array([tree.classes.index(label) for label in data["y"]])
    assert label_probabilities(tree, tree.apply(data), truth, estimate) == pytest.approx(
        proba[np.arange(len(truth)), truth]
    )


@settings(max_examples=30, deadline=None)
@given(trees())
def test_maximum_likelihood_is_the_shares_of_the_leaf(made):
    tree, data = made
    assert np.array_equal(tree.predict_proba(data), tree.predict_proba(data, estimate="maximum_likelihood"))
    assert tree.predict_proba(data, estimate="shrinkage=0") == pytest.approx(tree.predict_proba(data))
    assert tree.predict_proba(data, estimate="m_estimate=0") == pytest.approx(tree.predict_proba(data))
    row = {name: values[0].item() for name, values in data.items() if name != "y"}
    for name in EVERY:
        assert tree.predict_proba(row, estimate=name) == pytest.approx(tree.predict_proba(data, estimate=name)[0])


def test_estimates_by_hand():
    tree = tw.grow({"x": [0, 0, 0, 0, 1, 1], "y": ["n", "y", "y", "y", "n", "n"]}, "y")  # leaves 1:3 and 2:0 of 3:3
    row = {"x": 0}
    assert tree.predict_proba(row).tolist() == [0.25, 0.75]
    assert tree.predict_proba(row, estimate="laplace") == pytest.approx([2 / 6, 4 / 6])
    assert tree.predict_proba(row, estimate="m_estimate=4") == pytest.approx([3 / 8, 5 / 8])
    assert tree.predict_proba(row, estimate="shrinkage=6") == pytest.approx([0.5 - 0.25 / 2, 0.5 + 0.25 / 2])
    assert tree.predict_proba({"x": 1}, estimate="laplace") == pytest.approx([3 / 4, 1 / 4])
    assert tree.evaluate({"x": [1], "y": ["y"]}, estimate="maximum_likelihood").log_loss == math.inf
    assert tree.evaluate({"x": [1], "y": ["y"]}).log_loss == pytest.approx(math.log(4))
    assert tree.evaluate({"x": [1], "y": ["y"]}, estimate="laplace").log_loss == pytest.approx(math.log(4))
    assert tree.log_likelihood({"x": [1], "y": ["y"]}, estimate="laplace") == pytest.approx(-math.log(4))


def test_shrinkage_of_numbers_by_hand():
    data = {"x": [0, 0, 1, 1], "z": [0, 1, 0, 0], "y": [1.0, 3.0, 6.0, 6.0]}
    tree = tw.grow(data, "y", task="regression")  # 4 → 2 → (1, 3); 4 → 6
    predictions = tree.predict(data, estimate="shrinkage=2")
    inner, outer = 1 / (1 + 2 / 2), 1 / (1 + 2 / 4)
    root, left = 4.0, 4.0 + (2.0 - 4.0) * outer
    assert predictions == pytest.approx([left - inner, left + inner, root + 2 * outer, root + 2 * outer])
    assert tree.predict({"x": 0, "z": 1}, estimate="shrinkage=2") == pytest.approx(left + inner)
    assert tree.evaluate(data, estimate="shrinkage=2").rmse > tree.evaluate(data).rmse == 0
    assert "predicted by shrinkage=2" in str(tree.evaluate(data, estimate="shrinkage=2"))


def test_a_class_may_change_with_the_estimate():
    data = {"x": [0] * 9 + [1] * 3, "y": ["a"] * 9 + ["a", "b", "b"]}
    tree = tw.grow(data, "y")
    assert tree.predict({"x": 1}) == "b"
    assert tree.predict({"x": 1}, estimate="laplace") == "b"
    assert tree.predict({"x": 1}, estimate="m_estimate=10") == "a"
    assert tree.predict({"x": [0, 1]}, estimate="shrinkage=100").tolist() == ["a", "a"]


def test_a_leaf_written_by_hand_is_certain_whatever_the_estimate():
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b", target="y")
    for name in EVERY:
        assert tree.predict_proba({"x": [0.0, 2.0]}, estimate=name).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_no_rows_no_estimates():
    tree = tw.grow("penguins", max_depth=2)
    nothing = tw.datasets.penguins().take(np.empty(0, np.int64))
    for name in EVERY:
        assert tree.predict_proba(nothing, estimate=name).shape == (0, 3)


def test_deep_trees_are_shrunk_without_recursion():
    tree = chain(3000)
    actual = class_probabilities(tree, np.arange(len(tree)), LeafProbabilities.of("shrinkage"))
    assert actual.sum(axis=1) == pytest.approx(np.ones(len(tree)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("laplas", 'estimate="laplas": must be one of .*Did you mean "laplace"'),
        ("laplace=1", "laplace takes no number"),
        ("shrinkage=-1", "the number must be 0 or more and finite"),
        ("m_estimate=much", "the number must be 0 or more and finite"),
        (3, "estimate=3: must be one of"),
    ],
)
def test_an_unknown_estimate_is_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        tw.grow("penguins", max_depth=1).predict_proba("penguins", estimate=given)


def test_numbers_are_not_counted():
    tree = tw.grow({"x": [0, 1], "y": [0.5, 1.5]}, "y")
    with pytest.raises(ParameterError, match="is for classes; a tree that predicts numbers takes shrinkage"):
        tree.predict({"x": [0]}, estimate="laplace")
    printed = tw.parse(str(tw.grow({"x": [0, 1, 2], "y": [0.5, 1.5, 2.5]}, "y")))
    with pytest.raises(DataError, match="shrinkage needs the mean of every node"):
        printed.predict({"x": [0, 1]}, estimate="shrinkage")


# -- intervals -----------------------------------------------------------------------------------------------


def test_intervals_of_classes_are_wilsons():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    actual = tree.predict_interval("penguins")
    assert actual.shape == (344, 3, 2)
    node = tree.apply("penguins")[0]
    assert [list(ends) for ends in tree.interval(node).values()] == actual[0].tolist()
    for i, label in enumerate(tree.classes):
        assert actual[0, i] == pytest.approx(wilson(tree[node].counts.get(label, 0), tree[node].rows))
    proba = tree.predict_proba("penguins")
    assert ((actual[..., 0] <= proba) & (proba <= actual[..., 1])).all()
    wider = tree.predict_interval("penguins", confidence=0.999)
    assert (wider[..., 0] <= actual[..., 0]).all()
    assert (actual[..., 1] <= wider[..., 1]).all()


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5, 0.85])
@pytest.mark.parametrize("n", [20, 50, 200])
def test_wilson_holds_the_truth_about_as_often_as_it_says(share, n):
    hits = np.arange(n + 1)
    chance = stats.binom.pmf(hits, n, share)
    inside = [low <= share <= high for low, high in (wilson(int(h), n) for h in hits)]
    assert 0.90 < float(chance[inside].sum()) < 0.995


def test_intervals_of_means_are_students():
    rng = np.random.default_rng(5)
    data = {"x": np.repeat([0, 1], 15), "y": rng.normal(size=30)}
    tree = tw.grow(data, "y", max_depth=1)
    for x in (0, 1):
        y = data["y"][data["x"] == x]
        expected = stats.t.interval(0.9, len(y) - 1, loc=y.mean(), scale=stats.sem(y))
        assert tree.predict_interval({"x": x}, confidence=0.9) == pytest.approx(expected)
        assert tree.interval(1 + x, confidence=0.9) == pytest.approx(expected)


@pytest.mark.parametrize("freedom", [1, 1.3, 2, 2.7, 3, 7, 30, 40.5, 1000, 10**6])
@pytest.mark.parametrize("share", [0.6, 0.95, 0.975, 0.9995])
def test_quantiles_of_student_are_scipys(freedom, share):
    assert student_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-7)


def test_one_row_has_no_interval():
    tree = tw.grow({"x": [0, 1, 1], "y": [0.5, 1.5, 1.75]}, "y", max_depth=1)
    assert tree.predict_interval({"x": 0}).tolist() == [-math.inf, math.inf]
    assert student_half_width(0.0, 1) == math.inf
    median = tw.grow({"x": [0, 1, 1], "y": [0.5, 1.5, 1.75]}, "y", criterion="absolute_error")
    with pytest.raises(ParameterError, match="an interval of a median needs the rows"):
        median.predict_interval({"x": 0})
    with pytest.raises(ParameterError, match="confidence=1: must be a number between 0 and 1"):
        tree.predict_interval({"x": 0}, confidence=1)


def test_a_written_leaf_has_the_widest_interval():
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b", target="y")
    assert tree.predict_interval({"x": 0}).tolist() == [[0.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize("confidence", [1e-300, 1e-17, 1 - 2**-53])
@pytest.mark.parametrize("target", ["y", "c"])
def test_every_confidence_between_0_and_1_has_an_interval(confidence, target):
    tree = tw.grow({"x": [0, 0, 1, 1], target: [0.5, 1.5, 1.75, 2] if target == "y" else list("abab")}, target)
    low, high = tree.predict_interval({"x": 0}, confidence=confidence).reshape(-1, 2)[0]
    assert low <= high
    assert (high - low < 1e-12) == (confidence < 0.5)
