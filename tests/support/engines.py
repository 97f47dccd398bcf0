"""Grow with a chosen engine of the core and compare the resulting arrays."""

import numpy as np

from treewise import _core
from treewise.train import grow as growth

NO_SUBTREES = {"use_forest_engine": False, "subtree_cells": 0, "subtree_rows": 0}


def grow_arrays(training_set, n_jobs=1, **tuning):
    settings = growth.core_settings(training_set)
    settings.n_jobs = n_jobs
    expected = settings.tuning
    for name, value in tuning.items():
        setattr(expected, name, value)
    settings.tuning = expected
    return _core.grow(growth.core_columns(training_set), growth.core_target(training_set), settings)


def differing_arrays(a, b):
    return [name for name in a if not np.array_equal(a[name], b[name], equal_nan=a[name].dtype.kind == "f")]


# Engines and shortcuts with the tuning that selects them, also on small tables.
WAYS = {
    "drawn columns": {},
    "drawn columns, counted": {"bitset_rows": 2},
    "drawn columns without bounds": {"use_bounds": False},
    "random cuts one column at a time": {"subtree_cells": 0},
    "subtrees": {"use_forest_engine": False},
    "subtrees without bounds": {"use_forest_engine": False, "use_bounds": False},
    "histograms to the end": {**NO_SUBTREES, "histogram_rows": 2},
    "histograms, then subtrees": {
        "use_forest_engine": False,
        "subtree_cells": 0,
        "subtree_rows": 8,
        "histogram_rows": 2,
    },
    "histograms without bounds": {**NO_SUBTREES, "histogram_rows": 2, "use_bounds": False},
    "histograms without subtraction": {**NO_SUBTREES, "histogram_rows": 2, "subtract_histograms": False},
    "all off": {**NO_SUBTREES, "histogram_rows": 2, "subtract_histograms": False, "use_bounds": False},
    "sorted anew at every node": {**NO_SUBTREES, "histogram_rows": 2**40},
    "three threads": {
        "use_forest_engine": False,
        "subtree_cells": 0,
        "subtree_rows": 8,
        "histogram_rows": 2,
        "n_jobs": 3,
    },
}
