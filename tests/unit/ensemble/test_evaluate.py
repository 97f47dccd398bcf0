"""Evaluation of ensembles."""

import numpy as np
import pytest

import treewise as tw
from tests.support.ensembles import ensemble_of
from treewise.ensemble import predict as voting
from treewise.ensemble.predict import root_shares, root_values
from treewise.tree.history import HistoryStep

RNG = np.random.default_rng(1)
X = RNG.normal(size=(80, 3)).round(1)
Y = np.where(X[:, 0] + RNG.normal(size=80) > 0.7, "c", np.where(X[:, 1] > 0, "b", "a"))
ROWS = {"u": X[:, 0].tolist(), "v": X[:, 1].tolist(), "w": X[:, 2].tolist()}
CLASSES = {**ROWS, "y": Y.tolist()}
TWO = {**ROWS, "y": (Y == "c").tolist()}
NUMBERS = {**ROWS, "y": (X[:, 0] * X[:, 1] + RNG.normal(size=80)).tolist()}


def trees(data, n=3, **options):
    """Trees that differ by the weights of their rows."""
    weights = [RNG.poisson(1.0, 80) for _ in range(n)]
    return [tw.grow(data, "y", sample_weight=weight, **options) for weight in weights]


@pytest.mark.parametrize("data", [CLASSES, TWO])
def test_one_tree_is_judged_as_a_tree_is(data):
    tree = tw.grow(data, "y", max_depth=2)
    # The log loss of a tree alone would otherwise be smoothed; that of an ensemble averages shares.
    alone, among = tree.evaluate(data, estimate="maximum_likelihood"), ensemble_of([tree]).evaluate(data)
    assert among.scores == alone.scores
    assert np.array_equal(among.pairs, alone.pairs)
    assert (among.labels, among.majority, among.effective_n) == (alone.labels, alone.majority, alone.effective_n)
    assert (among.ranking is None) == (alone.ranking is None)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_one_tree_of_numbers_is_judged_as_a_tree_is(criterion):
    tree = tw.grow(NUMBERS, "y", max_depth=2, criterion=criterion)
    alone, among = tree.evaluate(NUMBERS), ensemble_of([tree]).evaluate(NUMBERS)
    assert among.scores == pytest.approx(alone.scores, rel=1e-12)
    assert among.root == pytest.approx(alone.root, rel=1e-12)


def test_many_trees_are_judged_by_what_they_say_together(monkeypatch):
    monkeypatch.setattr(voting, "_BLOCK", 30)  # some rows at a time
    ensemble = ensemble_of(trees(CLASSES, max_depth=3))
    evaluation = ensemble.evaluate(CLASSES)
    shares = np.mean([tree.predict_proba(CLASSES) for tree in ensemble], axis=0)
    truth = np.array([ensemble.classes.index(label) for label in Y])
    chance = shares[np.arange(80), truth]
    assert evaluation.errors == np.sum(shares.argmax(axis=1) != truth)
    assert evaluation.log_loss_of_others == pytest.approx(-np.mean(np.log(chance[chance > 0])))
    assert evaluation.impossible_rows == tuple((np.flatnonzero(chance == 0) + 1).tolist())
    assert evaluation.confusion.sum(axis=1).tolist() == [np.sum(truth == c) for c in range(3)]


def test_numbers_are_judged_by_their_mean():
    ensemble = ensemble_of(trees(NUMBERS, max_depth=3))
    off = np.mean([tree.predict(NUMBERS) for tree in ensemble], axis=0) - NUMBERS["y"]
    evaluation = ensemble.evaluate(NUMBERS)
    assert evaluation.rmse == pytest.approx(np.sqrt(np.mean(off**2)))
    assert evaluation.mae == pytest.approx(np.mean(np.abs(off)))


def test_boosted_trees_are_judged_by_their_votes():
    changed = ensemble_of(trees(TWO, max_depth=1), method="adaboost").with_(votes=np.array([0.2, 1.0, 0.3]))
    assert changed.evaluate(TWO).errors == np.sum(changed[1].predict(TWO) != np.array(TWO["y"]))


def test_what_would_be_said_without_a_test():
    grown = trees(CLASSES, max_depth=2)
    shares = np.mean([tree.probabilities(0) for tree in grown], axis=0)
    assert root_shares(ensemble_of(grown)) == pytest.approx(shares)
    assert root_shares(ensemble_of(grown, method="adaboost")) == pytest.approx(grown[0].probabilities(0))
    for criterion in ("squared_error", "absolute_error"):
        values = trees(NUMBERS, max_depth=2, criterion=criterion)
        assert root_values(ensemble_of(values).members) == pytest.approx([tree.arrays.value[0] for tree in values])


def test_the_majority_is_the_table_s_not_that_of_a_draw():
    """Eleven rows of one class and nine of the other: draws of them often have it the other way round."""
    table = {"x": np.arange(20) % 7, "y": ["a", "b"] * 9 + ["b", "b"]}
    for make, how in ((tw.adaboost, {"resample": True}), (tw.forest, {}), (tw.bagging, {"max_samples": 5})):
        for seed in range(12):
            evaluation = make(table, "y", n_estimators=1, random_state=seed, **how).evaluate(table)
            assert (evaluation.majority, evaluation.baseline_error) == ("b", pytest.approx(9 / 20))
    weighed = tw.adaboost(table, "y", n_estimators=2, resample=True, class_weight={"a": 2})
    assert weighed.evaluate(table).majority == "a"
    assert tw.adaboost(table, "y", n_estimators=2, resample=True).first(1).evaluate(table).majority == "b"


@pytest.mark.parametrize("place", [None, "b", True, 2, -1, 0.0])
def test_a_history_that_does_not_say_the_majority(place):
    table = {"x": np.arange(20) % 7, "y": ["a", "b"] * 9 + ["b", "b"]}
    for resample, majority in ((True, None), (False, "b")):
        boosted = tw.adaboost(table, "y", n_estimators=2, resample=resample)
        message = {**boosted.history[0]["ensemble"], "majority": place}
        old = boosted.with_(history=(HistoryStep({**boosted.history[0], "ensemble": message}),))
        assert old.evaluate(table).majority == majority
        assert "baseline" in str(old.evaluate(table)) or resample


def test_weights_costs_and_other_columns():
    ensemble = ensemble_of(trees(CLASSES, max_depth=2))
    wrong = ensemble.predict(CLASSES) != Y
    weight = RNG.integers(0, 3, 80)
    assert ensemble.evaluate(CLASSES, sample_weight=weight).errors == np.sum(weight[wrong])
    assert ensemble.evaluate(ROWS, Y).errors == ensemble.evaluate({**ROWS, "z": Y}, "z").errors == wrong.sum()
    priced = ensemble.evaluate(CLASSES, cost={"a": {"b": 5}})
    taken = (Y == "a") & (ensemble.predict(CLASSES) == "b")
    assert priced.cost == pytest.approx((wrong.sum() + 4 * taken.sum()) / 80)
    gone = {**CLASSES, "y": [None, *CLASSES["y"][1:]]}
    assert ensemble.evaluate(gone, drop_missing_target=True).n == 79
    with pytest.raises(tw.DataError, match=r'^target "y" is missing in 1 row of the table \(1\)\.'):
        ensemble.evaluate(gone)
    with pytest.raises(tw.ParameterError, match=r"^cost: trees that predict numbers have no classes. Leave it out.$"):
        ensemble_of(trees(NUMBERS, 1)).evaluate(NUMBERS, cost={"a": {"b": 5}})


def test_the_words_speak_of_trees():
    ensemble = ensemble_of(trees(CLASSES, max_depth=2))
    message = str(ensemble.evaluate({**CLASSES, "y": ["new", *CLASSES["y"][1:]]}))
    assert "where the trees were grown" in message
    assert 'unknown    "new" in 1 row: not a class of the trees, so wrong' in message


def test_the_table_it_was_grown_on_is_known_again():
    forest = tw.forest(CLASSES, "y", n_estimators=3)
    assert forest.evaluate(CLASSES).is_training_data
    assert "this looks like the table the trees were grown on" in str(forest.evaluate(CLASSES))
    assert not forest.evaluate({**CLASSES, "u": CLASSES["v"]}).is_training_data
    assert not forest.evaluate({name: cells[1:] for name, cells in CLASSES.items()}).is_training_data
    assert not forest.evaluate(ROWS, Y[::-1]).is_training_data
    assert not forest.evaluate({**CLASSES, "z": Y[::-1]}, "z").is_training_data
    assert not ensemble_of(trees(CLASSES)).evaluate(CLASSES).is_training_data


@pytest.mark.parametrize("weight", [None, np.arange(80) % 3])
def test_it_is_known_again_where_target_and_weights_are_arrays(weight):
    forest = tw.forest(ROWS, Y, n_estimators=3, sample_weight=weight)
    assert forest.evaluate(ROWS, Y, sample_weight=weight).is_training_data
    assert forest.importances(ROWS, Y, sample_weight=weight, repeats=1).seen
    assert not forest.evaluate(ROWS, Y[::-1], sample_weight=weight).is_training_data
    assert forest.evaluate(ROWS, Y, sample_weight=np.arange(80) + 1.0).is_training_data == (weight is None)


@pytest.mark.parametrize("make", [tw.forest, tw.extra_trees, tw.bagging, tw.adaboost])
def test_a_member_knows_the_table_it_was_grown_on(make):
    member = make("penguins", n_estimators=4)[3]
    note = "this looks like the table the tree was grown on; expect more errors on new rows"
    assert member.evaluate("penguins").notes == [note]
    assert member.importances("penguins", repeats=1).seen
    fewer = tw.datasets.penguins().take(np.arange(340))
    others = tw.datasets.penguins().take(np.arange(344) % 172)
    for table in (fewer, others):
        assert not member.evaluate(table).is_training_data
