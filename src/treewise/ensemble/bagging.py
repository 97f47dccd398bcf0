"""Bagging: trees grown on samples of the rows, and of the columns (Breiman 1996; Ho 1998).

Uses ``grow.py``, like ``forest.py``: here columns are drawn once for each tree, there at every node.
"""

from __future__ import annotations

from typing import Any

from treewise.ensemble.grow import OnOob, grow_ensemble, prepare_ensemble
from treewise.ensemble.grow_partitions import grow_partitions, is_partitioned
from treewise.ensemble.model import Ensemble
from treewise.ensemble.params import BaggingParams
from treewise.train.grow import OnPrepared, Progress


def bagging(
    data: Any,
    target: Any = None,
    n_estimators: int = 10,
    *,
    max_samples: int | float = 1.0,
    max_features: int | float = 1.0,
    bootstrap: bool = True,
    bootstrap_features: bool = False,
    oob_score: bool = False,
    ties: str = "random",
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_prepared: OnPrepared | None = None,
    on_oob: OnOob | None = None,
    **options: Any,
) -> Ensemble:
    """Grow trees on samples of the rows of a table, and of its columns.

    >>> import treewise as tw
    >>> bagged = tw.bagging("penguins", max_samples=0.5, max_depth=3)
    >>> bagged
    <Ensemble bagging of 10 trees · species: Adelie, Chinstrap, Gentoo · 56 leaves>
    >>> len(bagged[0]), int(bagged[0][0].rows), bagged[0][0].weight
    (9, 140, 172.0)

    Parameters
    ----------
    data, target : as in ``grow``.
    n_estimators : number of trees.
    max_samples : rows drawn for each tree: a number, or a fraction of all.
    max_features : columns drawn for each tree: a number, or a fraction of all; the tree tests no others.
    bootstrap : draw rows with replacement; a row drawn twice has weight 2. False: distinct rows; with
        ``max_samples=1.0`` all of them.
    bootstrap_features : draw columns with replacement; a column drawn twice is used once.
    oob_score : whether to estimate the accuracy, or R², on out-of-bag rows (``oob``). With ``groups``, the name of a
        column, whole groups are drawn, and a row is out of bag only if its group is.
    ties : which of several equally good columns a node takes: ``"random"`` or ``"first"``.
    random_state : seed of all random choices. Each tree has its own seed, derived from this and its number.
    n_jobs : number of threads: None or -1 for all processors. The trees do not depend on it.
    progress : called repeatedly with the fraction of the trees that are grown.
    on_prepared : called with the prepared training set before the trees are grown.
    on_oob : with ``oob_score``: called with the out-of-bag predictions of all rows.
    **options : those of ``grow``, except pruning and cost. Limits count the distinct rows of each sample; fractional
        limits are relative to its rows or weight.
    """
    params = BaggingParams("bagging", n_estimators, bootstrap, max_samples, max_features, bootstrap_features, oob_score)
    options = {**options, "ties": ties, "random_state": random_state}
    if is_partitioned(data, options.get("engine")):
        return grow_partitions(data, target, options, params, bagging, progress, on_prepared, on_oob)
    training_set = prepare_ensemble(data, target, options, bagging)
    return grow_ensemble(training_set, params, progress, n_jobs, on_prepared, on_oob)
