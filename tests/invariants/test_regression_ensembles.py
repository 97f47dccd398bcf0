"""Forests and extra-trees of numbers have a shorter way (``forest/regression_grower.cpp``); the trees are the same."""

import numpy as np
import pytest

import treewise as tw
from treewise.ensemble import grow as ensemble_growth

OPTIONS = [
    {},
    {"min_samples_leaf": 7},
    {"max_depth": 3},
    {"min_samples_split": 30},
    {"min_impurity_decrease": 0.05},
    {"min_weight_fraction_leaf": 0.03},
    {"max_features": 1},
    {"bootstrap": True, "oob_score": True},
    {"bootstrap": True, "max_samples": 0.4, "sample_weight": "whole"},
    {"sample_weight": "any"},
    {"sample_weight": "whole", "min_samples_leaf": 3},
]
TARGETS = ["smooth", "whole", "skewed", "two scales", "two values"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("method", ["forest", "extra_trees"])
def test_short_way_of_regression_ensembles(method, target, monkeypatch, tmp_path):
    table, y, weights = regression_problem(target)
    for number, options in enumerate(OPTIONS):
        given = {"n_estimators": 2, "max_features": 3, "random_state": number, **options}
        if "sample_weight" in given:
            given["sample_weight"] = weights[given["sample_weight"]]

        def saved(name, given=given):
            getattr(tw, method)(table, y, task="regression", **given).save(tmp_path / name)
            return (tmp_path / name).read_bytes()

        short = saved("short.json")
        with monkeypatch.context() as patch:
            plain = ensemble_growth.core_settings
            patch.setattr(
                ensemble_growth, "core_settings", lambda training_set, plain=plain: without_bounds(plain(training_set))
            )
            assert saved("long.json") == short, options


def without_bounds(settings):
    """Turn the short way off, with all other bounds."""
    tuning = settings.tuning
    tuning.use_bounds = False
    settings.tuning = tuning
    return settings


def regression_problem(target, n=400):
    """Return columns of numbers with few and many values, wide integers and a copy; a target; weights."""
    rng = np.random.default_rng(TARGETS.index(target))
    x = rng.normal(size=n)
    table = {
        "x": x.astype(np.float32),
        "few": rng.integers(0, 4, n).astype(float),
        "rounded": rng.normal(size=n).round(1),
        "copy": x.astype(np.float32),
        "wide": rng.integers(2**55, 2**60, n),
        "constant": np.zeros(n),
    }
    noise = rng.normal(size=n)
    y = {
        "smooth": np.sin(2 * x) + table["few"] + noise,
        "whole": (table["few"] + noise).round(),
        "skewed": np.exp(9 * (x + noise)),
        "two scales": np.where(rng.random(n) < 0.02, 1e9, noise * 1e-6),  # nodes of small targets have finer units
        "two values": (x > noise).astype(float),
    }[target]
    return table, y, {"whole": rng.integers(1, 5, n).astype(float), "any": rng.random(n) + 0.01}
