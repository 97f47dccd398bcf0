"""``fit(…, exposure=)`` of the regressors: the model of ``treewise.grow``, scores of rates, metadata routing."""

import numpy as np
import pytest
import sklearn
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV

import treewise as tw
from tests.support.claims import LIMITS, claims
from tests.support.ensemble_estimators import GROW_FUNCTIONS
from treewise import BaggingRegressor, ExtraTreesRegressor, ForestRegressor, TreeRegressor
from treewise.errors import DataError, ParameterError

TABLE = claims()
COUNTS, YEARS = TABLE["claims"], TABLE["years"]
X = {name: TABLE[name] for name in ("age", "power", "km")}
X_YEARS = {**X, "years": YEARS}
RATES = COUNTS / YEARS


def test_the_tree_is_the_one_that_grow_grows():
    by_name = TreeRegressor(**LIMITS).fit(X_YEARS, COUNTS, exposure="years")
    assert by_name.tree_.columns == ("age", "power", "km")
    tree = tw.grow(TABLE, "claims", exposure="years", **LIMITS)
    assert by_name.tree_.criterion == tree.criterion == "poisson"
    assert [node.split for node in by_name.tree_] == [node.split for node in tree]
    assert by_name.predict(X).tolist() == tree.predict(TABLE).tolist()
    assert by_name.predict(X).tolist() == TreeRegressor(**LIMITS).fit(X, COUNTS, exposure=YEARS).predict(X).tolist()


@pytest.mark.parametrize("kind", [ForestRegressor, ExtraTreesRegressor, BaggingRegressor])
def test_ensembles_are_those_of_the_functions(kind):
    model = kind(n_estimators=3, max_depth=3).fit(X_YEARS, COUNTS, exposure="years")
    grown = GROW_FUNCTIONS[kind](TABLE, "claims", exposure="years", n_estimators=3, max_depth=3)
    assert model.predict(X).tolist() == grown.predict(TABLE).tolist()
    *_, last = model.staged_score(X_YEARS, COUNTS)
    assert last == pytest.approx(model.score(X_YEARS, COUNTS))


def test_weights_multiply_the_exposure():
    weight = np.random.default_rng(0).integers(1, 4, len(COUNTS))
    model = TreeRegressor(**LIMITS).fit(X, COUNTS, weight, exposure=YEARS)
    rates = TreeRegressor(criterion="poisson", **LIMITS).fit(X, RATES, weight * YEARS)
    assert model.predict(X) == pytest.approx(rates.predict(X), rel=1e-9)
    assert model.score(X, COUNTS, weight, exposure=YEARS) == pytest.approx(rates.score(X, RATES, weight * YEARS))


def test_scores_compare_rates():
    model = TreeRegressor(**LIMITS).fit(X_YEARS, COUNTS, exposure="years")
    expected = r2_score(RATES, model.predict(X), sample_weight=YEARS)
    assert model.score(X_YEARS, COUNTS) == pytest.approx(expected)
    assert model.score(X, COUNTS, exposure=YEARS) == pytest.approx(expected)
    with pytest.raises(ParameterError, match="which is not kept"):
        TreeRegressor(**LIMITS).fit(X, COUNTS, exposure=YEARS).score(X, COUNTS)
    with pytest.raises(ParameterError, match="predicts no rates"):
        TreeRegressor(**LIMITS).fit(X, COUNTS).score(X, COUNTS, exposure=YEARS)


def test_a_warm_start_needs_the_exposure_in_a_column():
    whole = ForestRegressor(4, max_depth=2).fit(X_YEARS, COUNTS, exposure="years")
    model = ForestRegressor(2, max_depth=2, warm_start=True).fit(X_YEARS, COUNTS, exposure="years")
    assert model.set_params(n_estimators=4).fit(X_YEARS, COUNTS, exposure="years").ensemble_ == whole.ensemble_
    model = ForestRegressor(2, max_depth=2, warm_start=True).fit(X, COUNTS, exposure=YEARS)
    with pytest.raises(DataError, match="given as an array"):
        model.set_params(n_estimators=4).fit(X, COUNTS, exposure=YEARS)


def test_the_pruning_path_is_that_of_rates():
    path = TreeRegressor(**LIMITS).cost_complexity_pruning_path(X, COUNTS, exposure=YEARS)
    rates = TreeRegressor(criterion="poisson", **LIMITS).cost_complexity_pruning_path(X, RATES, YEARS)
    assert path.ccp_alphas == pytest.approx(rates.ccp_alphas, rel=1e-9)


def test_metadata_routing_splits_the_exposure_with_the_rows():
    x = np.column_stack(list(X.values()))
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = TreeRegressor(**LIMITS).set_fit_request(exposure=True).set_score_request(exposure=True)
        search = GridSearchCV(estimator, {"max_depth": [1, 3]}, cv=2).fit(x, COUNTS, exposure=YEARS)
    half = len(COUNTS) // 2
    first = TreeRegressor(**LIMITS).fit(x[half:], COUNTS[half:], exposure=YEARS[half:])
    expected = first.score(x[:half], COUNTS[:half], exposure=YEARS[:half])
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(expected)
