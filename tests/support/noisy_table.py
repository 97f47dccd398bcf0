"""A table with one true split and label noise: a full tree overfits, and pruning should recover the split."""

import numpy as np


def noisy_split_table(seed, rows, columns, wrong):
    """Return normal columns and classes given by the sign of the first, a share of them flipped."""
    rng = np.random.default_rng(seed)
    data = {f"x{i}": rng.normal(size=rows) for i in range(columns)}
    data["y"] = np.where((data["x0"] > 0) ^ (rng.random(rows) < wrong), "yes", "no")
    return data
