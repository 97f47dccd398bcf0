"""Folds: stratified, of whole groups, forward in time; against scikit-learn where it is comparable."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold, TimeSeriesSplit

import treewise as tw
from tests.support.errors import assert_refused
from treewise.train.folds import assign_folds, check_classes, make_folds
from treewise.train.grow import prepare
from treewise.train.resampling import take_rows


def table(n=60, seed=0, groups=None, classes="ab", time=None):
    rng = np.random.default_rng(seed)
    data = {"x": rng.random(n), "y": rng.choice(list(classes), n)}
    data["y"][: len(classes)] = list(classes)
    if groups is not None:
        data["who"] = [f"p{g}" for g in rng.integers(0, groups, n)]
    if time is not None:
        data["when"] = time
    return data


@pytest.mark.parametrize("folds", [2, 5, 10])
def test_classes_are_spread_as_in_stratified_folds(folds):
    data = table(97, classes="abc")
    training_set = prepare(data, "y")
    actual = make_folds(training_set, folds, random_state=3)
    assert np.array_equal(np.sort(np.concatenate([f.held_out for f in actual.folds])), np.arange(97))
    theirs = StratifiedKFold(folds).split(data["x"], data["y"])
    for fold, (_, test) in zip(actual.folds, theirs, strict=True):
        ours, expected = (np.bincount(training_set.y[rows], minlength=3) for rows in (fold.held_out, test))
        assert np.abs(ours - expected).max() <= 1
        assert np.array_equal(np.setdiff1d(np.arange(97), fold.held_out), fold.training)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(6, 40), st.booleans())
def test_groups_are_never_parted(seed, folds, groups, regression):
    data = table(120, seed, groups)
    if regression:
        data["y"] = data["x"]
    n_groups = len(set(data["who"]))
    if n_groups < folds:
        return
    actual = make_folds(prepare(data, "y", task="regression" if regression else None, groups="who"), folds, 2, seed)
    assert (actual.count, actual.repeats, actual.kind) == (folds, 2, "groups")
    who = np.array(data["who"])
    for fold in actual.folds:
        assert not {*who[fold.training]} & {*who[fold.held_out]}
        assert len(fold.training)
        assert len(fold.held_out)
    for repeat in (actual.folds[:folds], actual.folds[folds:]):
        assert np.array_equal(np.sort(np.concatenate([f.held_out for f in repeat])), np.arange(120))


def test_groups_of_equal_size_fill_the_folds_evenly():
    data = {"x": np.arange(200.0), "who": np.repeat(np.arange(50), 4), "y": np.tile([0, 0, 1, 1], 50)}
    actual = make_folds(prepare(data, "y", groups="who"), 10)
    assert {len(fold.held_out) for fold in actual.folds} == {20}
    skewed = {**data, "y": np.repeat([1] * 10 + [0] * 40, 4)}  # whole groups of one class
    actual = make_folds(prepare(skewed, "y", groups="who"), 10)
    assert {int(skewed["y"][fold.held_out].sum()) for fold in actual.folds} == {4}


def test_groups_are_no_feature_and_arrays_will_do():
    data = table(60, 1, 12)
    training_set = prepare(data, "y", groups="who")
    assert [encoding.name for encoding in training_set.encodings] == ["x"]
    plain = {name: data[name] for name in ("x", "y")}
    given_array = prepare(plain, "y", groups=data["who"])
    assert np.array_equal(assign_folds(training_set, 4, 7), assign_folds(given_array, 4, 7))
    assert tw.grow(data, "y", groups="who").fit_info.fit_options.groups == "who"


@pytest.mark.parametrize("folds", [2, 5, 9])
def test_time_goes_forward_as_in_scikit_learn(folds):
    n = 53
    order = np.random.default_rng(0).permutation(n)
    actual = make_folds(prepare(table(n, time=order), "y", time="when"), folds)
    place = np.argsort(order)
    for fold, (train, test) in zip(actual.folds, TimeSeriesSplit(folds).split(place), strict=True):
        assert np.array_equal(fold.training, np.sort(place[train]))
        assert np.array_equal(fold.held_out, np.sort(place[test]))


def test_rows_of_the_same_time_stay_together():
    time = np.repeat(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"], 5)
    actual = make_folds(prepare(table(20, time=time), "y", time="when"), 3)
    for fold in actual.folds:
        assert max(time[fold.training]) < min(time[fold.held_out])
    assert actual.kind == "time"


def test_repeats_use_other_folds_and_the_seed_decides():
    training_set = prepare("penguins")
    actual = make_folds(training_set, 5, 3, random_state=4)
    assert (len(actual.folds), actual.count) == (15, 5)
    assert str(actual) == "5 folds, repeated 3 times"
    first = [fold.held_out for fold in actual.folds]
    assert all(
        np.array_equal(a, f.held_out) for a, f in zip(first, make_folds(training_set, 5, 3, 4).folds, strict=True)
    )
    assert not np.array_equal(first[0], first[5])


def test_tables_that_cannot_be_folded_are_refused():
    def refused(words, data, folds=None, repeats=1, error=tw.TreewiseError, **roles):
        assert_refused(lambda: make_folds(prepare(data, "y", **roles), folds, repeats), words, error=error)

    few = table(40, 2, 3)
    refused("has 3 groups: too few for 5 folds of whole groups. Give folds=3", few, 5, groups="who")
    assert make_folds(prepare(few, "y", groups="who")).count == 3
    lacking = {**few, "who": [None, *few["who"][1:]]}
    refused('groups: column "who" is missing in 1 row (1)', lacking, groups="who")
    timed = table(30, time=np.arange(30.0))
    refused("cannot be combined", {**timed, "who": few["who"][:30]}, time="when", groups="who")
    refused("there is one order of time", timed, 3, 2, time="when")
    refused('time: column "when" is missing in 1 row (2)', table(3, time=[1.0, np.nan, 2.0]), time="when")
    refused("holds neither dates nor numbers", table(3, time=["mon", "tue", "wed"]), time="when")
    refused("2 different times in 30 rows: too few for 4 folds", table(30, time=[1, 2] * 15), 4, time="when")
    refused("repeats=0", few, 3, 0)
    refused("would be equal", few, np.arange(40) % 4, 2)
    refused("clock", timed, 3, error=tw.ColumnError, time="clock")
    forward = prepare(timed, "y", time="when")
    assert_refused(lambda: assign_folds(forward, 3), "do not hold out every row", error=tw.ParameterError)


def test_a_rare_class_is_noted():
    data = {"x": range(30), "y": ["a"] * 28 + ["b"] * 2}
    training_set = prepare(data, "y")
    assert "class b has 2 rows, fewer than the 5 folds" in check_classes(training_set, make_folds(training_set, 5))
    assert check_classes(training_set, make_folds(training_set, 2)) is None
    assert any("class b" in note for note in tw.grow(data, "y", pruning="cv").fit_info.pruning.notes)


def test_the_target_is_no_group():
    with pytest.raises(tw.TreewiseError, match='groups="species": this is the target'):
        tw.grow("penguins", "species", pruning="cv", groups="species")


def test_groups_that_a_part_of_the_rows_lacks_have_no_folds():
    training_set = prepare({"x": range(12), "who": list("aabbccddeeff"), "y": list("nnyyny" * 2)}, "y", groups="who")
    part = take_rows(training_set, np.array([0, 1, 4, 5, 8, 9, 10, 11]))
    actual = make_folds(part, 4)
    assert sorted(len(fold.held_out) for fold in actual.folds) == [2, 2, 2, 2]
    with pytest.raises(tw.DataError, match="has 4 groups: too few for 5 folds"):
        make_folds(part, 5)
