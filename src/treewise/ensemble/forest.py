"""Random forests and extra-trees: trees that differ by their rows and by the columns each node may ask about.

Stands on ``growing.py``. A forest (Breiman 2001) grows each tree on rows drawn with replacement and lets every node
choose among a few columns drawn anew; extra-trees (Geurts, Ernst and Wehenkel 2006) take all rows, and of each column
drawn one threshold at random. Their trees answer with the mean of what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from treewise.ensemble.grow import grow_ensemble, problem_of_many
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
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_prepared: OnPrepared | None = None,
    **options: Any,
) -> Ensemble:
    """Grow a random forest on a table.

    >>> import treewise as tw
    >>> forest = tw.forest("penguins", n_estimators=20, oob_score=True)
    >>> forest
    <Ensemble forest of 20 trees · species: Adelie, Chinstrap, Gentoo · 292 leaves>
    >>> print(forest.oob)
    out-of-bag score 0.9855 on 344 of 344 rows

    Parameters
    ----------
    data, target : as in ``grow``.
    n_estimators : how many trees. The first k of them are the forest that ``n_estimators=k`` grows.
    max_features : how many columns a node may choose among, drawn anew at every node: a whole number, a share,
        ``"sqrt"`` or ``"log2"`` of their number, 1.0 for all. By default ``"sqrt"`` for classes and all for numbers.
        Columns that cannot split a node are replaced by others, as long as there are any.
    bootstrap : draw the rows of each tree with replacement: a row that is drawn twice weighs twice.
    max_samples : how many rows are drawn for a tree, or which share of them; by default as many as there are. Without
        ``bootstrap`` so many different rows.
    oob_score : whether to estimate how good it is on rows that trees have not seen (``oob``).
    random_state : the seed of every draw. Tree t draws by a seed of its own, made of this one and t.
    n_jobs : how many threads: None or -1 for one a processor. The forest is the same.
    progress : is called now and then with the share of the trees that is grown.
    on_prepared : is called with the prepared training set before the trees are grown.
    **options : those of ``grow``: criterion, categorical, kinds, missing, class_weight, sample_weight, max_depth, …
        but for pruning and cost. Limits count the different rows of a tree's bag; shares are of its rows or weight.
    """
    recipe = BaggingParams("forest", n_estimators, bootstrap, max_samples, oob_score=oob_score)
    asked = {**options, "max_features": max_features, "random_state": random_state}
    training_set = problem_of_forest(data, target, asked)
    if on_prepared is not None:
        on_prepared(training_set)
    return grow_ensemble(training_set, recipe, progress, n_jobs)


def extra_trees(
    data: Any,
    target: Any = None,
    n_estimators: int = 100,
    *,
    max_features: int | float | str | None = None,
    bootstrap: bool = False,
    max_samples: int | float | None = None,
    oob_score: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_prepared: OnPrepared | None = None,
    **options: Any,
) -> Ensemble:
    """Grow extremely randomised trees on a table: of each column that a node draws, one test drawn at random.

    >>> import treewise as tw
    >>> tw.extra_trees("penguins", n_estimators=20)
    <Ensemble extra_trees of 20 trees · species: Adelie, Chinstrap, Gentoo · 823 leaves>

    Parameters
    ----------
    bootstrap : False: each tree is grown on all rows, and what distinguishes trees is drawn at the nodes; then no row
        is out of bag, so ``oob_score`` needs True, or fewer rows by ``max_samples``.
    data, target, n_estimators, max_features, max_samples, oob_score, random_state, n_jobs, progress,
    on_prepared, options :
        as in ``forest``.
    """
    recipe = BaggingParams("extra_trees", n_estimators, bootstrap, max_samples, oob_score=oob_score)
    asked = {**options, "max_features": max_features, "random_state": random_state}
    training_set = problem_of_extra_trees(data, target, asked)
    if on_prepared is not None:
        on_prepared(training_set)
    return grow_ensemble(training_set, recipe, progress, n_jobs)


def problem_of_extra_trees(data: Any, target: Any, options: dict[str, Any]) -> TrainingSet:
    """Prepare a table under the options of extra-trees: those of a forest, and tests are drawn."""
    if options.get("splitter", "random") != "random":
        raise ParameterError(
            "extra-trees draw tests at random; a forest looks for the best.",
            parameter="splitter",
            value=options["splitter"],
        )
    return problem_of_forest(data, target, {**options, "splitter": "random"}, extra_trees)


def problem_of_forest(
    data: Any, target: Any, options: dict[str, Any], asked_of: Callable[..., Ensemble] = forest
) -> TrainingSet:
    """Prepare a table under the options of a forest: without ``max_features`` the task decides."""
    training_set = problem_of_many(data, target, options, asked_of)
    if training_set.settings.max_features is None and training_set.target.task == "classification":
        training_set = replace(training_set, settings=replace(training_set.settings, max_features="sqrt"))
    return training_set
