"""AdaBoost: properties on every table, early stopping, and rejected input."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.random_tables import limit_examples, random_tables
from treewise import _core
from treewise.ensemble.adaboost import WEIGHT_BITS, Distribution, WeightUpdate, member_predictions
from treewise.ensemble.grow import prepare_same_table


def rng_table(n=200, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(1)
    x[rng.random((n, 3)) < 0.1] = np.nan
    score = np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) ** 2 + rng.normal(size=n)
    labels = np.array(list("abcd"))[np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)]
    return {"x1": x[:, 0], "x2": x[:, 1], "town": rng.choice(["Rome", "Bari", "Oslo"], n), "y": labels}


# -- property 23 ------------------------------------------------------------------------------------------------------


@limit_examples(2.0)
@given(
    random_tables(task="classification"),
    st.sampled_from([1, 2, None]),
    st.sampled_from([1.0, 1.0, 0.3, 2.0]),
    st.booleans(),
)
def test_every_round_of_every_table(table, depth, rate, resample):
    """Weights add up to 1, mistakes weigh (K − 1)/K after a round, the bound holds, and it ends when it must."""
    options = {**table.options, "max_depth": depth, "learning_rate": rate, "resample": resample}
    boosted = tw.adaboost(table.data, "y", 6, **options)
    rounds, k = boosted.rounds, len(boosted.classes)
    assert 1 <= len(rounds) == len(boosted) == len(boosted.votes) <= 6
    assert np.all(boosted.votes > 0)
    assert np.all(np.isfinite(boosted.votes))
    for b, found in enumerate(rounds, 1):
        worked_round = boosted.worked_round(table.data, b, sample_weight=table.options.get("sample_weight"))
        assert worked_round.error == found.error
        assert worked_round.weights.sum() == pytest.approx(1, abs=1e-12)
        assert np.all(worked_round.weights > 0)
        assert worked_round.weights[worked_round.wrong].sum() == pytest.approx(found.error, abs=1e-12)
        assert found.training_error <= found.bound + 1e-12
        last = b == len(rounds)
        assert found.error < 1 - 1 / max(2, k) or len(rounds) == 1
        assert found.error > 0 or last
        if worked_round.next_weights is not None and rate == 1.0:
            assert worked_round.next_weights[worked_round.wrong].sum() == pytest.approx((k - 1) / k, abs=1e-12)
    assert (len(boosted) < 6) <= bool(rounds.stopped)


@limit_examples()
@given(random_tables(task="classification"), st.booleans())
def test_fewer_rounds_are_the_first_of_more(table, resample):
    options = {**table.options, "max_depth": 1, "resample": resample}
    whole = tw.adaboost(table.data, "y", 5, **options)
    weights = table.options.get("sample_weight")
    for k in range(1, len(whole) + 1):
        fewer = tw.adaboost(table.data, "y", k, **options)
        if k < len(whole):
            assert whole.first(k) == fewer
            assert whole.first(k).rounds.rounds == fewer.rounds.rounds
            assert whole.first(k).notes == fewer.notes
        assert fewer.extend(table.data, 5 - k, sample_weight=weights) == whole if k < 5 else fewer == whole


@limit_examples()
@given(random_tables(task="classification", weights=False), st.data())
def test_the_order_of_rows_does_not_matter(table, data):
    order = data.draw(st.permutations(range(len(table))))
    resample = data.draw(st.booleans())
    options = {"max_depth": 1, "resample": resample, **{k: v for k, v in table.options.items() if k != "max_depth"}}
    mine = tw.adaboost(table.data, "y", 4, **options)
    assert tw.adaboost(table.rows(order).data, "y", 4, **options) == mine


@pytest.mark.parametrize("options", [{}, {"max_depth": 3}, {"resample": True}, {"learning_rate": 0.5}])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_any_number_of_threads_gives_the_same(options, n_classes):
    data = rng_table(70_000, n_classes)
    one = tw.adaboost(data, "y", 4, n_jobs=1, **options)
    assert tw.adaboost(data, "y", 4, n_jobs=3, **options) == one
    assert len(one) == 4


# -- weights ----------------------------------------------------------------------------------------------------------


def test_given_weights_are_the_first_rounds():
    data = rng_table()
    weight = np.arange(1, 201) % 7 + 1
    boosted = tw.adaboost(data, "y", 3, sample_weight=weight)
    first = boosted.worked_round(data, 1, sample_weight=weight)
    np.testing.assert_allclose(first.weights, weight / weight.sum(), rtol=1e-14)
    repeated = {name: np.repeat(cells, weight) for name, cells in data.items()}
    written_out = tw.adaboost(repeated, "y", 3)
    np.testing.assert_array_equal(written_out.votes, boosted.votes)
    assert [r.learner for r in written_out.rounds] == [r.learner for r in boosted.rounds]


def test_class_weights_and_priors_set_the_first_weights():
    data = rng_table()
    positive = np.array(data["y"]) == "b"
    by_class = tw.adaboost(data, "y", 3, class_weight={"b": 3})
    assert by_class == tw.adaboost(data, "y", 3, sample_weight=np.where(positive, 3, 1))
    prior = tw.adaboost(data, "y", 3, priors={"a": 0.9, "b": 0.1})
    first = prior.worked_round(data, 1)
    assert first.weights[positive].sum() == pytest.approx(0.1)


def test_a_target_that_was_an_array_is_given_again():
    data = rng_table()
    answers, weight = data.pop("y"), np.arange(200) % 3 + 1
    boosted = tw.adaboost(data, answers, 3, sample_weight=weight)
    worked_round = boosted.worked_round(data, 1, target=answers, sample_weight=weight)
    np.testing.assert_allclose(worked_round.weights, weight / weight.sum(), rtol=1e-14)
    with pytest.raises(tw.ColumnError, match=r"the target of these trees\. Give it: target=…"):
        boosted.worked_round(data, 1, sample_weight=weight)


def test_rows_of_weight_0_are_absent():
    data = rng_table()
    weight = (np.arange(200) % 3 > 0).astype(float)
    kept = {name: np.asarray(cells)[weight > 0] for name, cells in data.items()}
    boosted = tw.adaboost(data, "y", 4, sample_weight=weight)
    assert boosted == tw.adaboost(kept, "y", 4)
    assert boosted.worked_round(data, 2, sample_weight=weight).rows.tolist() == (np.flatnonzero(weight) + 1).tolist()


def test_weights_stay_in_proportion_on_small_tables():
    truth, message = np.array([0, 0, 1, 1, 1], np.uint8), np.array([0, 1, 1, 1, 0], np.uint8)
    weights = Distribution.of(np.array([1, 1, 1, 1, 2]))
    actual = weights.weight_update(truth, message)
    assert actual.error == Fraction(1, 2)
    weights = Distribution.of(np.array([4, 1, 4, 4, 2]))
    after = weights.next(truth, message, weights.weight_update(truth, message))
    assert after.exact
    assert [Fraction(int(u), after.total) for u in after.units] == [
        *(Fraction(1, 6), Fraction(1, 6), Fraction(1, 6), Fraction(1, 6), Fraction(1, 3))
    ]
    large = Distribution.of(np.array([2**40, 1, 2**40 + 1, 3, 5]))
    assert not large.exact
    assert large.units.min() >= 1
    assert abs(large.total - 2**WEIGHT_BITS) <= 5


def test_the_arithmetic_of_a_round():
    """CS221 section 5: α = ½ log((1 − ε)/ε), z = 2 √(ε(1 − ε)); for K classes half of SAMME's α."""
    two = WeightUpdate(1, 10, 2)
    assert two.vote == pytest.approx(0.5 * np.log(9))
    assert two.z == pytest.approx(2 * np.sqrt(0.09))
    assert two.factors == pytest.approx((1 / 1.8, 5.0))
    four = WeightUpdate(6, 10, 4)
    assert four.vote == pytest.approx(0.5 * (np.log(0.4 / 0.6) + np.log(3)))
    right, wrong = four.factors
    assert (0.4 * right, 0.6 * wrong) == pytest.approx((1 / 4, 3 / 4))
    assert wrong / right == pytest.approx(np.exp(2 * four.vote))
    slow = WeightUpdate(1, 10, 2, 0.5)
    right, wrong = slow.factors
    assert (slow.vote, wrong / right) == pytest.approx((0.25 * np.log(9), 3.0))
    assert 0.9 * right + 0.1 * wrong == pytest.approx(1)
    assert right == pytest.approx(np.exp(-slow.vote) / slow.z)


@pytest.mark.parametrize("n", [2, 3, 50, 5_000])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_mistakes_weigh_their_share_but_for_the_rounding(n, n_classes):
    rng = np.random.default_rng(n)
    for spread in (1.0, 10.0, 30.0):  # of the largest spread most rows weigh but one unit
        units = np.maximum(1, 2.0**50 * np.exp(-spread * rng.random(n))).astype(np.int64)
        truth, message = rng.integers(0, n_classes, (2, n)).astype(np.uint8)
        truth[0], message[0], truth[1], message[1] = 0, 0, 0, 1
        weights = Distribution(units, 0)
        after = weights.next(truth, message, WeightUpdate(int(units[truth != message].sum()), weights.total, n_classes))
        share = Fraction(int(after.units[truth != message].sum()), after.total)
        assert abs(share - Fraction(n_classes - 1, n_classes)) <= Fraction(2 * n + 8, 2**WEIGHT_BITS)


def test_weights_further_off_than_rounding_explains_are_caught(monkeypatch):
    weights, weigh = Distribution(np.array([2**50 + 1, 2**50 + 3, 2**51 + 5]), 0), _core.reweight
    truth, message = np.array([0, 1, 1], np.uint8), np.array([0, 1, 0], np.uint8)
    actual = weights.weight_update(truth, message)
    monkeypatch.setattr(_core, "reweight", lambda *given: weigh(*given) + np.array([0, 0, 200]))  # 2e-14 of all
    with pytest.raises(AssertionError):
        weights.next(truth, message, actual)


# -- how it ends ------------------------------------------------------------------------------------------------------


def test_a_learner_without_mistakes_decides_alone():
    boosted = tw.adaboost("admissions", n_estimators=50, max_depth=3)
    last = boosted.rounds[-1]
    assert last.error == last.z == last.bound == last.training_error == 0
    assert last.vote == pytest.approx(1 + boosted.votes[:-1].sum())
    ended = "The learner of round 5 makes no mistake: nothing is left to weigh anew, and it decides alone."
    assert boosted.rounds.stopped == ended
    assert boosted.notes == (f"boosting ended after 5 trees of 50: {ended}",)
    assert boosted.first(4).notes == ()
    assert boosted.with_(notes=("read so", *boosted.notes)).first(4).notes == ("read so",)
    assert boosted.extend("admissions", 7) == boosted
    alone = tw.adaboost("admissions", n_estimators=50, max_depth=None)
    assert (len(alone), alone.votes.tolist()) == (1, [1.0])


def test_a_first_learner_no_better_than_chance_is_all_there_is():
    boosted = tw.adaboost("xor", n_estimators=9)
    assert (len(boosted), boosted.votes.tolist(), boosted.rounds[0].error) == (1, [1.0], 0.5)
    assert boosted.notes == (
        "boosting ended after 1 tree of 9: The first tree gets 50.0 % wrong, no better than chance (50.0 %): it is all"
        " there is, for boosting needs learners that do better. Trees deeper than 1 may.",
    )
    assert len(tw.adaboost("xor", n_estimators=9, max_depth=2)) == 1


def test_a_later_one_is_not_kept():
    data = {"x": [0.0, 0.0, 0.0], "y": ["a", "a", "b"]}
    boosted = tw.adaboost(data, "y", 50)
    assert [r.error for r in boosted.rounds] == [1 / 3]
    assert boosted.rounds.stopped == (
        "After 1 tree none does better than chance (50.0 % wrong) any more. Trees deeper than 1 may."
    )
    assert boosted.worked_round(data, 1).next_weights.tolist() == [0.25, 0.25, 0.5]
    assert boosted.extend(data, 5) == boosted


def test_one_class_is_one_tree():
    boosted = tw.adaboost({"x": [1.0, 2.0], "y": ["a", "a"]}, "y", 5)
    assert (len(boosted), boosted.rounds[0].learner, boosted.rounds[0].error) == (1, "always a", 0.0)


# -- drawing ----------------------------------------------------------------------------------------------------------


def test_draws_depend_on_the_seed_and_the_round_alone():
    data = rng_table()
    first = tw.adaboost(data, "y", 6, resample=True)
    assert tw.adaboost(data, "y", 6, resample=True) == first
    assert tw.adaboost(data, "y", 6, resample=True, random_state=1) != first
    assert tw.adaboost(data, "y", 6) == tw.adaboost(data, "y", 6, random_state=1)


def test_as_many_rows_are_drawn_as_there_are_and_by_weight():
    data = rng_table(1000)
    boosted = tw.adaboost(data, "y", 3, resample=True, max_depth=2)
    for tree in boosted:
        assert tree.arrays.weight[0] == 1000
        assert 550 < tree.arrays.rows[0] < 700
    heavy = np.where(np.arange(1000) < 10, 1e6, 1.0)
    drawn_rows = tw.adaboost(data, "y", 1, resample=True, sample_weight=heavy)[0].arrays.rows[0]
    assert drawn_rows <= 14


def test_errors_of_drawn_learners_are_those_on_all_rows():
    data = rng_table()
    boosted = tw.adaboost(data, "y", 4, resample=True)
    training_set = prepare_same_table(boosted, data, call="test")
    message = next(member_predictions(boosted, training_set))
    assert boosted.rounds[0].error == pytest.approx(np.mean(message != training_set.y), abs=1e-15)


# -- as an ensemble ---------------------------------------------------------------------------------------------------


def test_members_are_ordinary_trees_on_the_rounds_weights():
    data = rng_table()
    boosted = tw.adaboost(data, "y", 4, criterion="gini")
    assert boosted[0].split_at(0) == tw.grow(data, "y", max_depth=1, criterion="gini").split_at(0)
    for b in range(1, 4):
        weight = boosted.worked_round(data, b + 1).weights
        alone = tw.grow(data, "y", max_depth=1, criterion="gini", sample_weight=weight)
        assert boosted[b].split_at(0) == alone.split_at(0)
        np.testing.assert_allclose(boosted[b].arrays.weight, alone.arrays.weight, rtol=1e-8)


def test_saved_and_loaded_it_keeps_its_rounds(tmp_path):
    boosted = tw.adaboost(rng_table(n_classes=3), "y", 5, learning_rate=0.7)
    boosted.save(tmp_path / "m.json")
    loaded = tw.load(tmp_path / "m.json")
    assert loaded == boosted
    assert loaded.rounds == boosted.rounds
    assert loaded.extend(rng_table(n_classes=3), 2) == boosted.extend(rng_table(n_classes=3), 2)


def test_progress_and_interruption():
    shares = []
    tw.adaboost(rng_table(), "y", 4, progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tw.adaboost(rng_table(), "y", 4, progress=stop)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0: must be a whole number, from 1 to 1000000."),
        ({"n_estimators": 2.5}, "n_estimators=2.5: must be a whole number, from 1 to 1000000."),
        ({"learning_rate": 0}, "learning_rate=0: must be a number above 0, at most 10."),
        ({"learning_rate": float("nan")}, "learning_rate=nan: must be a number above 0, at most 10."),
        ({"learning_rate": "fast"}, 'learning_rate="fast": must be a number above 0, at most 10.'),
        ({"resample": "yes"}, 'resample="yes": must be True or False.'),
        ({"max_dept": 2}, "no option max_dept. Did you mean "),
        ({"pruning": "cv"}, "pruning: the trees of an ensemble are not pruned. Leave it out"),
        (
            {"cost": {"P": {"N": 5}}},
            "cost: ensembles do not support costs. Leave it out",
        ),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(tw.ParameterError) as error:
        tw.adaboost("admissions", **options)
    assert str(error.value).startswith(message)


def test_numbers_are_refused():
    with pytest.raises(tw.ParameterError) as error:
        tw.adaboost({"x": [1.0, 2.0, 3.0], "y": [0.5, 1.5, 2.5]}, "y")
    assert str(error.value) == (
        'AdaBoost predicts classes, and "y" is numeric. Give classes, or grow a forest for regression;'
        ' task="classification" treats each distinct number as a class.'
    )


def test_another_table_is_refused():
    boosted = tw.adaboost("admissions", n_estimators=3)
    other = tw.datasets.admissions().take(np.arange(11))
    for call in (lambda: boosted.extend(other, 2), lambda: boosted.worked_round(other, 2)):
        with pytest.raises(tw.DataError, match="is not the table these trees were grown on"):
            call()


@pytest.mark.parametrize("number", [0, 4, 1.5, "one", True])
def test_rounds_are_selected_by_number(number):
    boosted = tw.adaboost("admissions", n_estimators=3)
    with pytest.raises(tw.ParameterError, match=r"^number=.*: must be the number of a round, 1 to 3\.$"):
        boosted.worked_round("admissions", number)


def test_other_ensembles_have_no_rounds():
    forest = tw.forest("admissions", n_estimators=2)
    assert len(forest.rounds) == 0
    assert str(forest.rounds) == "Class: these trees were not boosted, so there are no rounds"
    with pytest.raises(tw.ParameterError, match=r"this ensemble \(forest\) was not boosted, so it has no rounds."):
        forest.worked_round("admissions", 1)


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_answers_are_the_votes_added_up_round_by_round(n_classes):
    """Σ votes·[h = k], ties to the first class; the training errors of the rounds are those of the answers."""
    data = rng_table(n_classes=n_classes)
    boosted = tw.adaboost(data, "y", 6)
    message, classes = np.array([tree.predict(data) for tree in boosted]), np.array(boosted.classes)
    scores = np.zeros((len(data["y"]), n_classes))
    for b, answers in enumerate(boosted.staged_predict(data)):
        scores += boosted.votes[b] * (message[b][:, None] == classes)
        np.testing.assert_array_equal(answers, classes[scores.argmax(axis=1)])
        np.testing.assert_array_equal(answers, boosted.first(b + 1).predict(data))
        assert boosted.rounds[b].training_error == pytest.approx(np.mean(answers != data["y"]), abs=1e-12)
    np.testing.assert_array_equal(boosted.predict(data), answers)
