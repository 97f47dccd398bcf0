"""``warm_start`` is bit-identical to a single fit."""

import pickle

import numpy as np
import pandas as pd
import pytest

from tests.support.ensemble_estimators import (
    ALL,
    CLASSIFIERS,
    GROW_FUNCTIONS,
    SAMPLING_ESTIMATORS,
    X,
    Y,
    fitted,
    target_for,
)
from treewise import AdaBoostClassifier, BaggingRegressor, ForestClassifier
from treewise.ensemble import predict as voting
from treewise.errors import DataError, ParameterError


@pytest.mark.filterwarnings("ignore:oob_score")
@pytest.mark.parametrize("kind", ALL)
def test_a_warm_start_is_one_fit_to_the_last_bit(kind):
    y, options = target_for(kind), {"max_depth": 3, "random_state": 3}
    if kind in SAMPLING_ESTIMATORS:
        options |= {"bootstrap": True, "oob_score": True, "max_samples": 0.6}
    if kind in CLASSIFIERS:
        options |= {"class_weight": "balanced", "positive": "Adelie"}
    weights = 1 + np.arange(344) % 3
    whole = kind(n_estimators=20, **options).fit(X, y, weights)
    model = kind(n_estimators=14, warm_start=True, **options).fit(X, y, weights)
    first = model.ensemble_
    model.set_params(n_estimators=20).fit(X, y, weights)
    assert model.ensemble_ == whole.ensemble_
    assert model.ensemble_.first(14) == first
    assert pickle.dumps(model.ensemble_) == pickle.dumps(whole.ensemble_)
    again = kind(n_estimators=14, **options).fit(X, y, weights).set_params(n_estimators=20, warm_start=True)
    assert again.fit(X, y, weights).ensemble_ == whole.ensemble_
    assert set(vars(model)) == set(vars(whole))
    if kind in SAMPLING_ESTIMATORS:
        assert model.oob_score_ == whole.oob_score_


def test_a_warm_start_from_nothing_is_a_fit():
    assert ForestClassifier(3, warm_start=True).fit(X, Y).ensemble_ == fitted(ForestClassifier).ensemble_.first(3)


@pytest.mark.parametrize("kind", ALL)
def test_what_a_warm_start_refuses(kind):
    y = target_for(kind)
    model = fitted(kind, warm_start=True, max_depth=2)
    before = dict(vars(model))
    with pytest.raises(
        ParameterError, match=r"^n_estimators=3: with warm_start trees are only added, and there are already 4"
    ):
        model.set_params(n_estimators=3).fit(X, y)
    model.set_params(n_estimators=6)
    with pytest.raises(DataError, match="not the table these trees were grown on"):
        model.fit(X[1:], y[1:])
    with pytest.raises(ParameterError, match=r"^warm_start: max_depth has changed since the trees were grown"):
        model.set_params(max_depth=3).fit(X, y)
    model.set_params(max_depth=2, n_estimators=4)
    with pytest.warns(UserWarning, match="already 4 trees, so none is added"):
        model.fit(X, y)
    assert model.ensemble_ == before["ensemble_"]


@pytest.mark.parametrize("kind", [ForestClassifier, BaggingRegressor, AdaBoostClassifier])
def test_a_warm_start_refuses_other_names_for_the_same_codes(kind):
    towns, y = pd.DataFrame({"town": ["Bari", "Rome"] * 4}), np.arange(8) % 3
    model = kind(n_estimators=2, warm_start=True).fit(towns, y).set_params(n_estimators=4)
    with pytest.raises(DataError, match="not the table these trees were grown on"):
        model.fit(towns.replace({"Bari": "Oslo", "Rome": "Paris"}), y)
    assert model.fit(towns, y).ensemble_ == kind(n_estimators=4).fit(towns, y).ensemble_


@pytest.mark.parametrize("kind", SAMPLING_ESTIMATORS)
def test_out_of_bag_rows_are_predicted_once_per_fit(kind, monkeypatch):
    asked, ask = [], voting.masked_means
    monkeypatch.setattr(
        "treewise.ensemble.oob.masked_means", lambda trees, *rest: asked.append(len(trees)) or ask(trees, *rest)
    )
    options = {"oob_score": True, "bootstrap": True}
    model = kind(n_estimators=30, warm_start=True, **options).fit(X, target_for(kind))
    model.set_params(n_estimators=40).fit(X, target_for(kind))
    assert asked == [30, 40]
    table = X.assign(y=target_for(kind))
    assert model.ensemble_.oob == GROW_FUNCTIONS[kind](table, "y", 40, **options).oob
    assert model.ensemble_.oob.score == model.oob_score_


@pytest.mark.parametrize(
    ("name", "value", "key", "other"),
    [
        ("class_weight", {"Adelie": 2.0, "Gentoo": 1.0}, "Adelie", 9.0),
        ("kinds", {"island": ["Biscoe", "Dream", "Torgersen"]}, "island", "nominal"),
        ("na_values", ["?"], 0, "-"),
    ],
)
def test_a_warm_start_notices_what_was_changed_in_place(name, value, key, other):
    model = fitted(ForestClassifier, warm_start=True, **{name: value}).set_params(n_estimators=6)
    before, value[key] = value[key], other
    with pytest.raises(ParameterError, match=f"^warm_start: {name} has changed since the trees were grown"):
        model.fit(X, Y)
    value[key] = before
    assert len(model.fit(X, Y).ensemble_) == 6


def test_a_warm_start_does_not_mind_who_else_draws_from_the_generator():
    chance = np.random.RandomState(7)
    model = ForestClassifier(2, warm_start=True, random_state=chance).fit(X, Y)
    chance.rand(3)
    assert len(model.set_params(n_estimators=3).fit(X, Y).ensemble_) == 3


def test_a_warm_start_goes_on_with_the_seed_that_was_drawn():
    model = ForestClassifier(2, warm_start=True, random_state=np.random.RandomState(7)).fit(X, Y)
    whole = ForestClassifier(5, random_state=np.random.RandomState(7)).fit(X, Y)
    assert model.set_params(n_estimators=5).fit(X, Y).ensemble_ == whole.ensemble_
