"""Rows around the thresholds of a model: each threshold, its neighbours in float32 and float64, and special values."""

import numpy as np

SPECIAL = (np.nan, 0.0, -0.0, 5e-324, -5e-324, 1e-45, 2.0**-150, -(2.0**-149), 1e33, -1e33)
FLOAT32_RANGE = float(np.finfo(np.float32).max)


def neighbours(values):
    """Each value, the doubles beside it, the float32 values around it and the midpoints between these."""
    values = np.asarray(values, float)
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
        above, below = np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf))
        grid = [x.astype(float) for x in (below, single, above)]
        middles = [(grid[0] + grid[1]) / 2, (grid[1] + grid[2]) / 2]
    points = np.concatenate([values, *grid, *middles])
    points = np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])
    return points[np.isfinite(points) & (np.abs(points) <= FLOAT32_RANGE)]


def fuzzed_matrix(cuts_by_column, n_columns, n_rows, rng, special=SPECIAL):
    """A float64 matrix whose cells lie at and beside the cuts of their column, with some special values."""
    matrix = np.empty((n_rows, n_columns))
    for j in range(n_columns):
        cuts = cuts_by_column.get(j, [0.0])
        pool = np.concatenate([neighbours(cuts), np.asarray(special, float)])
        matrix[:, j] = rng.choice(pool, n_rows)
    return matrix
