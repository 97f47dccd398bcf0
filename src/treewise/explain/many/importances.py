"""Which columns matter to an ensemble: what the splits of each gain, in the mean over the trees, and how they differ.

Stands on ``explain/importances.py``, whose values it makes.
"""

from __future__ import annotations

import numpy as np

from treewise.criteria import criterion_named
from treewise.ensemble import Ensemble
from treewise.explain.importances import ColumnImportance, Importances, ranked


def importances(ensemble: Ensemble) -> Importances:
    """Return the impurity decrease of every column: its share in each tree, in the mean by the trees' say.

    A tree that asks nothing has no shares and does not count.
    """
    total = ensemble.decreases.sum(axis=1)
    asks = total > 0
    shares = ensemble.decreases[asks] / total[asks, None]
    say = ensemble.votes[asks]
    mean = (say[:, None] * shares).sum(axis=0) / (say.sum() or 1.0)
    splits = np.bincount(ensemble.members.column, minlength=len(ensemble.columns))
    found = [
        ColumnImportance(name, int(splits[i]), float(mean[i]), repeats=tuple(shares[:, i].tolist()))
        for i, name in enumerate(ensemble.columns)
    ]
    unit = criterion_named(ensemble.criterion).unit
    return Importances("impurity decrease", ensemble.target.name, ranked(found), unit=unit, trees=len(ensemble))
