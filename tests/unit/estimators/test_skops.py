"""Serialisation after prediction: what a model caches to predict fast is no part of its state."""

import copy
import pickle

import numpy as np
import pytest

from treewise import estimators

ESTIMATORS = [name for name in estimators.__all__ if name.endswith(("Classifier", "Regressor"))]


def fitted(name):
    """Return an estimator that has predicted a table and a single row, and the table."""
    x = np.random.default_rng(4).normal(size=(120, 3))
    model = getattr(estimators, name)().fit(x, (x[:, 0] + x[:, 1] > 0).astype(int))
    model.predict(x)
    inner = model.tree_ if hasattr(model, "tree_") else model.ensemble_
    inner.predict(x[0].tolist())
    return model, inner, x


@pytest.mark.parametrize("name", ESTIMATORS)
def test_skops_reads_back_a_model_that_has_predicted(name):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model, inner, x = fitted(name)
    stored = skops.dumps(model)
    back = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    assert np.array_equal(back.predict(x), model.predict(x))
    assert (back.tree_ if hasattr(back, "tree_") else back.ensemble_) == inner


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda m: pickle.loads(pickle.dumps(m, 0))],
    ids=["copy", "deepcopy", "pickle", "pickle protocol 0"],
)
def test_a_copy_is_equal_and_starts_without_caches(name, duplicate):
    _, inner, x = fitted(name)
    assert "predictor" in vars(inner)
    twin = duplicate(inner)
    assert twin == inner
    assert type(twin) is type(inner)
    assert "predictor" not in vars(twin)
    assert twin.predict(x[0].tolist()) == inner.predict(x[0].tolist())
