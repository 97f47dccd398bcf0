"""Counts of claims with their exposure, and limits of a small tree of them."""

import numpy as np


def claims(seed=2, n=600):
    """Return a table of claims whose rate depends on two of three columns, with the years of each row."""
    rng = np.random.default_rng(seed)
    table = {name: rng.choice(2**16, n, replace=False) / 64 for name in ("age", "power", "km")}
    years = rng.integers(8, 200, n) / 64
    rate = np.where(table["age"] < 300, 0.9, 0.2) * np.where(table["power"] > 700, 2.0, 1.0)
    return {**table, "years": years, "claims": rng.poisson(rate * years)}


LIMITS = {"max_depth": 3, "min_samples_leaf": 20}
