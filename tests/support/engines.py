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
