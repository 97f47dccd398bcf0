"""Random forests and extra-trees: trees that differ in their rows and in the columns considered at each node.

Uses ``grow.py``. A forest (Breiman 2001) grows each tree on a bootstrap sample, and every node chooses among a few
randomly drawn columns; extra-trees (Geurts, Ernst and Wehenkel 2006) use all rows, and one random threshold for each
drawn column. Both average the predictions of their trees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treewise.ensemble.grow import OnOob, grow_ensemble, prepare_ensemble, sample_features
from treewise.ensemble.grow_partitions import grow_partitions, is_partitioned
from treewise.ensemble.model import Ensemble
from treewise.ensemble.params import BaggingParams
from treewise.errors import ParameterError
from treewise.train.grow import OnPrepared, Progress
from treewise.train.training_set import TrainingSet


def forest(
    data: Any,
    target: Any = None,
    n_estimators: int = 100,
    *,
    max_features: int | float | str | None = None,
    bootstrap: bool = True,
    max_samples: int | float | None = None,
    oob_score: bool = False,
    ties: str = "random",
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_prepared: OnPrepared | None = None,
    on_oob: OnOob | None = None,
    **options: Any,
) -> Ensemble:
    """Grow a random forest on a table.

    >>> import treewise as tw
    >>> forest = tw.forest("penguins", n_estimators=20, oob_score=True)
    >>> forest
    <Ensemble forest of 20 trees · species: Adelie, Chinstrap, Gentoo · 289 leaves>
    >>> print(forest.oob)
    out-of-bag score 0.9855 on 344 of 344 rows

    Parameters
    ----------
    data, target : as in ``grow``.
    n_estimators : number of trees. The first k of them are the forest that ``n_estimators=k`` grows.
    max_features : columns considered at each node, drawn at random: a number, a fraction, ``"sqrt"`` or ``"log2"`` of
        their number, 1.0 for all. By default ``"sqrt"`` for classification and all for regression. Columns that cannot
        split a node are replaced by others while there are any.
    bootstrap : draw the rows of each tree with replacement; a row drawn twice has weight 2.
    max_samples : rows drawn for each tree: a number, or a fraction of all; by default as many as there are. Without
        ``bootstrap``, distinct rows.
    oob_score : whether to estimate the accuracy, or R², on out-of-bag rows (``oob``). With ``groups``, the name of a
        column, whole groups are drawn, and a row is out of bag only if its group is.
    ties : which of several equally good columns a node takes: ``"random"``, so that columns with the same information
        share their importance, or ``"first"``.
    random_state : seed of all random choices. Each tree has its own seed, derived from this and its number.
    n_jobs : number of threads: None or -1 for all processors. The forest does not depend on it.
    progress : called repeatedly with the fraction of the trees that are grown.
    on_prepared : called with the prepared training set before the trees are grown.
    on_oob : with ``oob_score``: called with the out-of-bag predictions of all rows.
    **options : those of ``grow``: criterion, categorical, kinds, missing, class_weight, sample_weight, max_depth, …
        except pruning and cost. ``memory`` is for files larger than memory, and ``engine`` for a Dask cluster, on which
        the forest is the same; ``"memory"`` fetches a table of a database. Limits count the distinct rows of each
        sample; fractional limits are relative to its rows or weight.
    """
    params = BaggingParams("forest", n_estimators, bootstrap, max_samples, oob_score=oob_score)
    options = {**options, "max_features": max_features, "ties": ties, "random_state": random_state}
    if is_partitioned(data, options.get("engine")):
        return grow_partitions(data, target, options, params, forest, progress, on_prepared, on_oob)
    return grow_ensemble(prepare_forest(data, target, options), params, progress, n_jobs, on_prepared, on_oob)


def extra_trees(
    data: Any,
    target: Any = None,
    n_estimators: int = 100,
    *,
    max_features: int | float | str | None = None,
    bootstrap: bool = False,
    max_samples: int | float | None = None,
    oob_score: bool = False,
    ties: str = "random",
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_prepared: OnPrepared | None = None,
    on_oob: OnOob | None = None,
    **options: Any,
) -> Ensemble:
    """Grow extremely randomised trees on a table: one random split for each column drawn at a node.

    >>> import treewise as tw
    >>> tw.extra_trees("penguins", n_estimators=20)
    <Ensemble extra_trees of 20 trees · species: Adelie, Chinstrap, Gentoo · 824 leaves>

    Parameters
    ----------
    bootstrap : if False, each tree is grown on all rows, and trees differ by the random choices at their nodes. No row
        is out of bag then, so ``oob_score`` requires True, or a smaller ``max_samples``.
    data, target, n_estimators, max_features, max_samples, oob_score, ties, random_state, n_jobs,
    progress, on_prepared, on_oob, options :
        as in ``forest``.
    """
    params = BaggingParams("extra_trees", n_estimators, bootstrap, max_samples, oob_score=oob_score)
    options = {**options, "max_features": max_features, "ties": ties, "random_state": random_state}
    if is_partitioned(data, options.get("engine")):
        options = draw_splits(options)
        return grow_partitions(data, target, options, params, extra_trees, progress, on_prepared, on_oob)
    return grow_ensemble(prepare_extra_trees(data, target, options), params, progress, n_jobs, on_prepared, on_oob)


def prepare_extra_trees(data: Any, target: Any, options: dict[str, Any]) -> TrainingSet:
    """Prepare a table for extra-trees."""
    return prepare_forest(data, target, draw_splits(options), extra_trees)


def draw_splits(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of extra-trees, whose splits are drawn."""
    if options.get("splitter", "random") != "random":
        raise ParameterError(
            "extra-trees draw splits at random; use a forest to search for the best.",
            parameter="splitter",
            value=options["splitter"],
        )
    return {**options, "splitter": "random"}


def prepare_forest(
    data: Any, target: Any, options: dict[str, Any], function: Callable[..., Ensemble] = forest
) -> TrainingSet:
    """Prepare a table for a forest; the default of ``max_features`` depends on the task."""
    return sample_features(prepare_ensemble(data, target, options, function))
