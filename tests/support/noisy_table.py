"""Tables with label noise on which a full tree overfits: one true split, and the sign of a product."""

import numpy as np


def noisy_split_table(seed, rows, columns, wrong):
    """Return normal columns and classes given by the sign of the first, a share of them flipped."""
    rng = np.random.default_rng(seed)
    data = {f"x{i}": rng.normal(size=rows) for i in range(columns)}
    data["y"] = np.where((data["x0"] > 0) ^ (rng.random(rows) < wrong), "yes", "no")
    return data


def noisy_table(n=400, columns=6, seed=0):
    """Return rounded normal columns and classes given by the sign of the product of the first two, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns)).round(2)
    y = (x[:, 0] * x[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return {f"x{i}": x[:, i].tolist() for i in range(columns)} | {"y": [("no", "yes")[c] for c in y]}
