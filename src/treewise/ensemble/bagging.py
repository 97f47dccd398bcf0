"""Bagging: the same learner on many bags of rows, or of columns (Breiman 1996; Ho 1998).

Stands on ``growing.py``, beside ``forests.py``: here the columns are drawn once for a whole tree, there at every node.
"""

from __future__ import annotations

from typing import Any

from treewise.ensemble.grow import grow_ensemble, problem_of_many
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
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_prepared: OnPrepared | None = None,
    **options: Any,
) -> Ensemble:
    """Grow trees on bags of a table's rows, and of its columns.

    >>> import treewise as tw
    >>> bagged = tw.bagging("penguins", max_samples=0.5, max_depth=3)
    >>> bagged
    <Ensemble bagging of 10 trees · species: Adelie, Chinstrap, Gentoo · 56 leaves>
    >>> len(bagged[0]), int(bagged[0][0].rows), bagged[0][0].weight
    (9, 140, 172.0)

    Parameters
    ----------
    data, target : as in ``grow``.
    n_estimators : how many trees.
    max_samples : how many rows are drawn for each tree, or which share of them.
    max_features : how many columns are drawn for each tree, or which share of them: it asks about no others.
    bootstrap : draw rows with replacement: one that is drawn twice weighs twice. False: different rows; with
        ``max_samples=1.0`` all of them.
    bootstrap_features : draw columns with replacement: one that is drawn twice is there once.
    oob_score : whether to estimate how good it is on rows that trees have not seen (``oob``).
    random_state : the seed of every draw. Tree t draws by a seed of its own, made of this one and t.
    n_jobs : how many threads: None or -1 for one a processor. The trees are the same.
    progress : is called now and then with the share of the trees that is grown.
    on_prepared : is called with the prepared training set before the trees are grown.
    **options : those of ``grow``, but for pruning and cost. Limits count the different rows of a tree's bag; shares
        are of its rows or weight.
    """
    recipe = BaggingParams("bagging", n_estimators, bootstrap, max_samples, max_features, bootstrap_features, oob_score)
    training_set = problem_of_many(data, target, {**options, "random_state": random_state}, bagging)
    if on_prepared is not None:
        on_prepared(training_set)
    return grow_ensemble(training_set, recipe, progress, n_jobs)
