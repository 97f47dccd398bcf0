"""Ensembles: random forests, extra-trees, bagging and AdaBoost as one model.

Members grow, predict and explain themselves as any tree does; this package is about many of them together.

    model.py         ``Ensemble``: the value and its methods (``tree/model.py`` has those it shares with a tree)
    packed_trees.py  the nodes of all trees in narrow arrays; unpack.py: one of them as an ordinary tree
    predict.py       rows → sums over all trees → predictions
    params.py        parameters of an ensemble; bootstrap.py, canonical_rows.py: the rows and columns of each tree
    grow.py          growing and extending; bagging.py, forest.py, adaboost.py: the methods; oob.py: out of bag
    adaboost_update.py, weak_learners.py, rounds.py, worked_round.py: the rounds of AdaBoost and their arithmetic
"""

from __future__ import annotations

from treewise.ensemble.model import Ensemble, OutOfBag
from treewise.ensemble.packed_trees import PackedTrees

__all__ = ["Ensemble", "OutOfBag", "PackedTrees"]
