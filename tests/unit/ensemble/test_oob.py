"""Out-of-bag predictions use exactly the trees that were not trained on the row."""

import numpy as np
import pytest

import treewise as tw
from treewise.ensemble.bagging import bagging
from treewise.ensemble.grow import extend, grow_ensemble
from treewise.ensemble.oob import predict_oob
from treewise.ensemble.params import BaggingParams
from treewise.train.grow import prepare


def by_hand(ensemble, samples, table, columns):
    """Ask each tree about each row it has not seen, one by one."""
    message = np.full((len(table[columns[0]]), max(1, len(ensemble.classes))), np.nan)
    for r in range(len(message)):
        row = {name: table[name][r] for name in columns}
        trees = [t for t in range(len(ensemble)) if samples.counts(t)[r] == 0]
        answers = [ensemble[t].predict_proba(row) if ensemble.classes else ensemble[t].predict(row) for t in trees]
        if answers:
            message[r] = np.sum(answers, axis=0) / len(answers)
    return message


@pytest.mark.parametrize("target", ["kind", "size"])
def test_answers_are_those_of_the_trees_that_have_not_seen_a_row(target):
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=25).round(1), rng.choice(list("abc"), 25)
    table = {"x": x.tolist(), "z": z.tolist(), "kind": np.where(x + rng.normal(size=25) > 0, "yes", "no").tolist()}
    table["size"] = (x * 3 + rng.normal(size=25)).round(2).tolist()
    other = "size" if target == "kind" else "kind"
    weight = rng.integers(1, 3, 25).astype(float) / 2
    training_set = prepare(table, target, ignore=[other], sample_weight=weight)
    params = BaggingParams("bagging", 6, oob_score=True)
    ensemble, samples = grow_ensemble(training_set, params), params.samples(training_set)
    actual = predict_oob(ensemble, training_set, samples)
    expected = by_hand(ensemble, samples, table, ["x", "z"])
    np.testing.assert_array_equal(actual.outputs.reshape(expected.shape), expected)
    covered = ~np.isnan(expected[:, 0])
    assert actual.n_trees.tolist() == [sum(samples.counts(t)[r] == 0 for t in range(6)) for r in range(25)]
    if target == "kind":
        right = np.array(ensemble.classes)[np.argmax(expected[covered], axis=1)] == np.array(table["kind"])[covered]
        assert actual.score == pytest.approx(np.average(right, weights=weight[covered]), abs=1e-15)
        assert all((message is None) != known for message, known in zip(actual.predictions, covered, strict=True))
    else:
        truth, message, w = np.array(table["size"])[covered], expected[covered, 0], weight[covered]
        spread = np.average((truth - np.average(truth, weights=w)) ** 2, weights=w)
        assert actual.score == pytest.approx(1 - np.average((truth - message) ** 2, weights=w) / spread, abs=1e-12)
        assert actual.predictions is actual.outputs
    assert (ensemble.oob.score, ensemble.oob.rows, ensemble.oob.of) == (actual.score, covered.sum(), 25)


@pytest.mark.parametrize("how", [{"class_weight": "balanced"}, {"class_weight": {"no": 9}}, {"priors": [0.5, 0.5]}])
def test_the_score_counts_rows_whatever_their_classes_weigh(how):
    rng = np.random.default_rng(3)
    x, times = rng.normal(size=(2, 150)).round(1), rng.integers(1, 4, 150)
    table = {"x": x[0], "z": x[1], "y": np.where(x[0] + rng.normal(size=150) > 1.3, "yes", "no")}
    for weight in (None, times, times / 2):
        forest = tw.forest(table, "y", 300, oob_score=True, sample_weight=weight, **how)
        message = forest.oob_predict(table, sample_weight=weight)
        assert forest.oob.rows == 150
        right = np.average(message == table["y"], weights=weight)
        assert forest.oob.score == pytest.approx(right, abs=1e-12)
        assert forest.stages(table).oob == pytest.approx(1 - right, abs=1e-12)
        model = tw.ForestClassifier(300, oob_score=True, class_weight=how.get("class_weight"), priors=how.get("priors"))
        model.fit(np.column_stack(x), table["y"], weight)
        best = model.classes_[np.argmax(model.oob_decision_function_, axis=1)]
        assert model.oob_score_ == pytest.approx(np.average(best == table["y"], weights=weight), abs=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660])
def test_the_score_has_no_unit(unit):
    x = np.arange(30.0)
    y = x + np.random.default_rng(0).normal(size=30)
    forest = tw.forest({"x": x, "y": y * unit}, "y", n_estimators=30, oob_score=True)
    message = forest.oob_predict({"x": x, "y": y * unit}) / unit
    assert forest.oob.rows == 30
    assert 0.5 < forest.oob.score < 1
    assert forest.oob.score == pytest.approx(1 - np.mean((y - message) ** 2) / np.var(y), abs=1e-12)


def test_the_score_is_there_only_where_it_was_asked_for():
    assert bagging("penguins", n_estimators=3).oob is None
    scored = bagging("penguins", n_estimators=30, oob_score=True)
    assert 0.9 < scored.oob.score <= 1
    assert scored.oob.of == 344
    assert scored.first(5).oob is None
    assert extend(bagging("penguins", n_estimators=20, oob_score=True), "penguins", 10).oob == scored.oob


def test_a_sample_without_replacement_leaves_rows_out_too():
    scored = bagging("penguins", n_estimators=5, bootstrap=False, max_samples=0.5, oob_score=True)
    assert scored.oob.rows == pytest.approx(344 * (1 - 0.5**5), abs=12)


def test_out_of_bag_is_about_as_good_as_on_new_rows():
    """It judges on 2,000 rows, so it is off by at most three standard errors of such a count."""
    world = tw.datasets.sampler(noise=0.1)
    ensemble = bagging(world.sample(2000, seed=1), n_estimators=40, oob_score=True, min_samples_leaf=5)
    assert 1 - ensemble.oob.score == pytest.approx(world.true_error(ensemble), abs=3 * np.sqrt(0.15 * 0.85 / 2000))


@pytest.mark.parametrize(("target", "gone"), [("species", []), ("body_mass_g", [3, 339])])
def test_each_row_of_the_table_has_its_answer(target, gone):
    forest = tw.forest("penguins", target, n_estimators=12, drop_missing_target=True, oob_score=True)
    message = forest.oob_predict("penguins")
    unsaid = [message[i] is None or message[i] != message[i] for i in range(344)]
    assert sum(unsaid) == 344 - forest.oob.rows
    assert all(unsaid[i] for i in gone)
    if target == "species":
        column = tw.read("penguins")["species"]
        truth = [column.labels[code] for code in column.values]
        right = np.mean([a == b for a, b, no in zip(message, truth, unsaid, strict=True) if not no])
        assert right == pytest.approx(forest.oob.score)
    with pytest.raises(tw.DataError, match="is not the table these trees were grown on"):
        forest.oob_predict(tw.read("penguins").take(np.arange(300)))


def test_out_of_bag_answers_need_rows_left_out():
    assert set(tw.extra_trees("xor", n_estimators=3).oob_predict("xor")) == {None}


def test_rows_that_every_tree_has_seen_are_not_judged():
    table = {"x": [1.0, 2.0, 3.0], "y": ["a", "b", "b"]}
    ensemble = bagging(table, "y", n_estimators=1, bootstrap=False, max_samples=2, oob_score=True)
    assert (ensemble.oob.rows, ensemble.oob.of) == (1, 3)
    same = bagging({"x": [1.0, 2.0], "y": [5.5, 5.5]}, "y", n_estimators=4, task="regression", oob_score=True)
    assert np.isnan(same.oob.score)  # R² of targets that are all the same
