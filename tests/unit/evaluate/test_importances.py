"""Importances: by manual computation, against scikit-learn's, and for any number of threads."""

import json
import math
import weakref

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import BaseEstimator
from sklearn.inspection import permutation_importance
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treewise as tw
from tests.support.random_tables import limit_examples
from tests.support.random_tables import random_tables as drawn_table
from treewise.errors import DataError, ParameterError
from treewise.evaluate.evaluate import prepare_evaluation
from treewise.evaluate.permutation import Shuffle, measure_rise, prepare_trial

RNG = np.random.default_rng(7)
X = RNG.normal(size=(300, 5))
CLASSES = np.where(X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=300) > 0, "yes", "no")
NUMBERS = 3 * X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=300)
XOR = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": ["no", "yes", "yes", "no"]}
NAMES = [f"x{i}" for i in range(5)]


def table(y, rows=slice(None)):
    return {**{name: X[rows, i] for i, name in enumerate(NAMES)}, "y": y[rows]}


def by_column(found, value="importance"):
    return [getattr(found[name], value) for name in NAMES]


# -- impurity decrease ------------------------------------------------------------------------------------------------


def test_decrease_by_hand():
    """Hunger parts 6 meals into 2 + 4 of which 3 of one class: gain H(1/2) − 4/6·H(3/4), then the rest."""
    tree = tw.grow("food", preset="id3")
    importances = tree.importances()
    total = math.fsum(c.decrease for c in importances.columns)
    assert total == pytest.approx(tree[0].impurity)  # the leaves are pure: all of it is taken away
    root = tree.split_at(0).column
    assert importances[root].decrease >= tree[0].gain
    assert math.fsum(c.importance for c in importances.columns) == pytest.approx(1)
    assert [c.importance for c in importances.columns] == sorted(
        (c.importance for c in importances.columns), reverse=True
    )


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_decrease_is_scikit_learns(depth):
    ours = tw.grow(table(CLASSES), "y", criterion="gini", max_depth=depth).importances()
    theirs = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, CLASSES)
    assert np.allclose(by_column(ours), theirs.feature_importances_, atol=1e-9)
    raw = theirs.tree_.compute_feature_importances(normalize=False)
    assert np.allclose(by_column(ours, "decrease"), raw, atol=1e-9)
    ours = tw.grow(table(NUMBERS), "y", max_depth=depth).importances()
    theirs = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X, NUMBERS)
    assert np.allclose(by_column(ours), theirs.feature_importances_, atol=1e-9)


def test_a_root_alone_and_a_tree_without_gain():
    tree = tw.grow("penguins", max_depth=0)
    assert all(c.importance == c.decrease == c.splits == 0 for c in tree.importances().columns)
    assert "Not tested by any split" in str(tree.importances())
    assert tw.grow(XOR, "y", max_depth=1).impurity_decreases[0].tolist() == [0.0, 0.0]
    assert tw.grow(XOR, "y").impurity_decreases[0].tolist() == [0.0, 1.0]  # the first question alone tells nothing


def test_a_tree_written_by_hand_needs_rows():
    tree = tw.parse("x1 <= 0.5 -> 1\nx1 > 0.5 -> 0", target="y")
    with pytest.raises(DataError, match="a handwritten tree has no statistics"):
        tree.importances()
    assert tree.refit(tw.datasets.four_points()).importances()["x1"].splits == 1
    assert tree.importances("four_points")["x1"].splits == 1


# -- permutation ------------------------------------------------------------------------------------------------------


class Wrapped(BaseEstimator):
    """A tree behind scikit-learn's interface, without being fitted."""

    def __init__(self, tree):
        self.tree = tree

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.tree.predict(X)


@pytest.mark.parametrize(("y", "scoring"), [(CLASSES, "accuracy"), (NUMBERS, "neg_root_mean_squared_error")])
def test_permutation_is_scikit_learns_in_expectation(y, scoring):
    train, test = slice(0, 200), slice(200, 300)
    tree = tw.grow(table(y, train), "y", max_depth=4)
    ours = tree.importances(table(y, test), repeats=200)
    theirs = permutation_importance(
        Wrapped(tree), X[test], y[test], scoring=scoring, n_repeats=200, random_state=1, n_jobs=1
    )
    error = 4 * (theirs.importances_std + 1e-12) / math.sqrt(200) * math.sqrt(2)
    assert np.all(np.abs(by_column(ours) - theirs.importances_mean) <= error)
    spread = [found or 0.0 for found in by_column(ours, "spread")]
    assert np.allclose(spread, theirs.importances_std, rtol=0.25, atol=1e-6)


def test_permutation_by_brute_force():
    """One shuffle, done by hand with the documented seed, for every measure."""
    tree = tw.grow(table(CLASSES), "y", max_depth=3).with_cost({"yes": {"no": 4}})
    weight = RNG.integers(1, 5, 300).astype(float)
    for measure in ("error", "cost", "log_loss"):
        importances = tree.importances(
            table(CLASSES), measure=measure, repeats=1, random_state=5, sample_weight=weight, estimate="laplace"
        )
        for i, name in enumerate(NAMES):
            order = np.random.default_rng((5, i, 0)).permutation(300)
            before, after = ({**table(CLASSES), name: X[rows, i]} for rows in (np.arange(300), order))
            scores = [
                tree.evaluate(data, sample_weight=weight, estimate="laplace").to_dict()[measure]
                for data in (before, after)
            ]
            assert importances[name].importance == pytest.approx(scores[1] - scores[0], abs=1e-12)
            assert importances.baseline == pytest.approx(scores[0])


def test_columns_the_tree_does_not_ask_about_are_exactly_zero_and_not_needed():
    data = table(CLASSES)
    tree = tw.grow(data, "y", max_depth=1)
    del data["x4"]
    importances = tree.importances(data)
    assert importances["x4"].importance == importances["x4"].low == importances["x4"].high == 0.0
    assert importances["x4"].repeats == (0.0,) * 10
    assert "Not tested by any split, so exactly 0" in str(importances)


@pytest.mark.parametrize("y", [CLASSES, NUMBERS])
def test_the_same_for_any_number_of_threads(y):
    tree = tw.grow(table(y), "y", max_depth=4)
    one, three = (tree.importances(table(y), repeats=5, random_state=3, n_jobs=n).to_dict() for n in (1, 3))
    assert one == three
    assert one != tree.importances(table(y), repeats=5, random_state=4).to_dict()


def test_a_weight_is_a_repeated_row_in_expectation_and_none_is_left_out():
    weight = np.repeat([0.0, 2.0], 150)
    tree = tw.grow(table(CLASSES), "y", max_depth=3)
    importances = tree.importances(table(CLASSES), sample_weight=weight, repeats=20)
    half = tree.importances(table(CLASSES, slice(150, 300)), repeats=20)
    assert importances.n == 150
    assert by_column(importances) == by_column(half)


def test_intervals_cover_what_other_rows_say():
    """Of the true rise, which a large table tells, a 90 % interval from 300 rows misses about one in ten."""
    rng = np.random.default_rng(3)

    def draw(n):
        x = rng.normal(size=(n, 2))
        return {"a": x[:, 0], "b": x[:, 1], "y": np.where(x[:, 0] + 0.4 * x[:, 1] + rng.normal(size=n) > 0, 1, 0)}

    tree = tw.grow(draw(300), "y", max_depth=3)
    truth = tree.importances(draw(50_000), repeats=2)
    hits = 0
    for _ in range(40):
        importances = tree.importances(draw(300), repeats=10, confidence=0.9)
        hits += sum(importances[c].low <= truth[c].importance <= importances[c].high for c in "ab")
    assert 62 <= hits <= 79  # of 80; about 72 are expected


@pytest.mark.parametrize("measure", ["error", "rmse"])
def test_the_standard_error_is_that_of_repeated_tables(measure):
    """A rare value matters when it is given to others: without that the error of a rare flag is a third too small."""
    rng = np.random.default_rng(5)

    def draw(n=400):
        flag, x = rng.random(n) < 0.04, rng.normal(size=n)
        y = 3.0 * flag + x + rng.normal(size=n)
        return {"flag": flag, "x": x, "y": y if measure == "rmse" else np.where(y > 1.5, "yes", "no")}

    tree = tw.grow(draw(4000), "y", max_depth=4)
    found = [tree.importances(draw(), repeats=10, random_state=i) for i in range(200)]
    for name in ("flag", "x"):
        actual = np.std([each[name].importance for each in found])
        stated = np.mean([each[name].high - each[name].low for each in found]) / (2 * 1.96)
        assert 0.87 < stated / actual < 1.15


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_numbers_of_any_size(scale):
    """Squares of these are too large, or nothing, for a double: all is as for numbers of a usual size."""
    usual, other = (
        tw.grow(table(y), "y", max_depth=3, criterion="absolute_error").importances(table(y), repeats=3)
        for y in (NUMBERS, NUMBERS * scale)
    )
    for name in NAMES:
        for value in ("importance", "low", "high", "spread"):
            assert getattr(other[name], value) == pytest.approx(getattr(usual[name], value) * scale, rel=1e-6)


def test_training_rows_are_noticed():
    tree = tw.grow(table(CLASSES, slice(0, 200)), "y")
    assert tree.importances(table(CLASSES, slice(0, 200))).seen
    assert "look like the training rows" in str(tree.importances(table(CLASSES, slice(0, 200))))
    assert not tree.importances(table(CLASSES, slice(200, 300))).seen


@limit_examples(0.5)
@given(drawn_table())
def test_every_table_has_importances(drawn):
    """With every option mixed with every other: what is not asked about is 0, and shares make 1 or nothing."""
    tree = drawn.grow()
    alone, tried = tree.importances(), tree.importances(drawn.data, repeats=2)
    total = math.fsum(c.importance for c in alone.columns)
    assert total == pytest.approx(1) or total == 0
    for c in tried.columns:
        assert c.splits == alone[c.column].splits
        assert c.splits or c.importance == 0 == alone[c.column].importance
        assert c.low <= c.importance <= c.high
    json.dumps([alone.to_dict(), tried.to_dict()], allow_nan=False)


# -- forms and mistakes -----------------------------------------------------------------------------------------------


def test_forms():
    tree = tw.grow(table(CLASSES), "y", max_depth=3)
    for found in (tree.importances(), tree.importances(table(CLASSES))):
        frame = found.to_frame()
        assert frame["column"].to_list() == [c.column for c in found.columns]
        assert frame["importance"].to_list() == [c.importance for c in found.columns]
        assert json.loads(json.dumps(found.to_dict()))["method"] == found.method
        assert found.to_csv().startswith("column,splits,importance,")
        assert set(found._repr_mimebundle_()) == {"text/plain", "text/html", "text/markdown"}
    assert "biased towards columns with many" in " ".join(str(tree.importances()).split())
    with pytest.raises(KeyError):
        found["nothing"]


def test_hostile_names():
    name = "<b>x|\x1b[31m\n"
    tree = tw.grow({name: X[:, 0], "y": CLASSES}, "y", max_depth=2)
    for found in (tree.importances(), tree.importances({name: X[:, 0], "y": CLASSES})):
        assert "\x1b" not in str(found)
        assert "<b>" not in found.to_html()
        assert found.to_frame()["column"].to_list() == [name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 0}, "repeats=0: must be a whole number, "),
        ({"repeats": 2.5}, "repeats=2.5: must be a whole number"),
        ({"random_state": -1}, "random_state=-1: must be a whole number"),
        ({"confidence": 1.0}, "confidence=1.0: must be a number between 0 and 1"),
        ({"measure": "rmse"}, 'measure="rmse": must be one of error, cost, log_loss'),
        ({"measure": "cost"}, 'measure="cost": the tree has no costs'),
        ({"n_jobs": 0}, "n_jobs=0: must be a whole number of threads"),
        ({"estimate": "bayes"}, 'estimate="bayes": must be one of'),
    ],
)
def test_errors_are_reported(options, message):
    tree = tw.grow(table(CLASSES), "y", max_depth=2)
    with pytest.raises(ParameterError) as caught:
        tree.importances(table(CLASSES), **options)
    assert str(caught.value).startswith(message)
    with pytest.raises(ParameterError, match="is for importances on data: give a table too"):
        tree.importances(**options)


def test_infinite_log_loss_is_reported():
    tree = tw.grow({"x": [1, 2, 3, 4], "y": ["a", "a", "b", "b"]}, "y")
    table = {"x": [1, 2, 3, 4], "y": ["b", "a", "b", "b"]}
    with pytest.raises(DataError, match='estimate="laplace"'):
        tree.importances(table, measure="log_loss", estimate="maximum_likelihood")
    plain, laplace = (tree.importances(table, measure="log_loss", estimate=how) for how in (None, "laplace"))
    assert plain["x"].importance == laplace["x"].importance


@pytest.mark.parametrize("y", ["number", "class"])
def test_the_interval_of_one_row_is_unknown(y):
    rows = {"x": [0, 1, 2, 3] * 5, "y": [0.5, 1.5, 2.5, 3.5] * 5 if y == "number" else ["a", "a", "b", "b"] * 5}
    tree = tw.grow(rows, "y", max_depth=1)
    importances = tree.importances({"x": [0], "y": rows["y"][:1]}, repeats=3)
    assert (importances["x"].low, importances["x"].high) == (None, None)
    (line,) = (line for line in str(importances).splitlines() if line.startswith("x "))
    assert "to" not in line.split()
    two = tree.importances({"x": [0, 3], "y": [rows["y"][0], rows["y"][3]]}, repeats=3)
    assert two["x"].low <= two["x"].importance <= two["x"].high


def test_shuffles_are_added_up_as_they_come():
    trial = prepare_trial(prepare_evaluation(tw.grow("penguins"), "penguins"), None)
    before, handed = np.zeros(344), []

    def after():
        for number in range(50):
            losses = np.full(344, float(number))
            handed.append(weakref.ref(losses))
            yield Shuffle(losses, np.arange(344))
            del losses
            assert sum(each() is not None for each in handed) <= 2

    assert measure_rise(trial, before, after(), 0.95)["importance"] == pytest.approx(24.5)
