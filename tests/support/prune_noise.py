"""A table with one true split and some wrong labels: a full tree memorises them, and pruning should find the split."""

import numpy as np


def one_split(seed, rows, columns, wrong):
    """Draw normal columns, and classes by the sign of the first, of which a share is wrong."""
    rng = np.random.default_rng(seed)
    data = {f"x{i}": rng.normal(size=rows) for i in range(columns)}
    data["y"] = np.where((data["x0"] > 0) ^ (rng.random(rows) < wrong), "yes", "no")
    return data
