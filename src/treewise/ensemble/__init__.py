"""Ensembles: random forests, extra-trees, bagging and AdaBoost as one model.

Every member is an ordinary tree; this package is about many of them together.

    model.py         ``Ensemble``: the value and its methods (``tree/model.py`` has those it shares with a tree)
    packed_trees.py  the nodes of all trees in narrow arrays; unpack.py: one of them as an ordinary tree
    predict.py       rows → sums over all trees → predictions
    params.py        parameters of an ensemble; bootstrap.py: the rows and columns of each tree
    grow.py          growing and extending; forest.py, bagging.py, adaboost.py: the methods
    grow_partitions.py   growing on a cluster; partition_samples.py: what its tasks do
    oob.py           out-of-bag predictions; rounds.py: the rounds of AdaBoost as tables
"""

from __future__ import annotations

from treewise.ensemble.model import Ensemble, OutOfBag
from treewise.ensemble.packed_trees import PackedTrees

__all__ = ["Ensemble", "OutOfBag", "PackedTrees"]
