"""What an ensemble can be asked about itself and about rows: doors to ``explain/many``.

Stands below ``model.py``, whose ``Ensemble`` inherits these methods. Their code lives downstream and is imported when
used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treewise.ensemble.predicting import as_ensemble

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

    from treewise.evaluate.importances import Importances
    from treewise.explain.ensemble.agreement import Agreement
    from treewise.explain.ensemble.explanation import EnsembleExplanation
    from treewise.explain.ensemble.stages import Stages
    from treewise.explain.shap import ShapValues

Progress = Callable[[float], None]

METHODS = {"forest": "forest", "extra_trees": "extra-trees", "bagging": "bagging", "adaboost": "AdaBoost"}  # in words


class Reading:
    """The part of an ensemble that answers questions; only an ``Ensemble`` is ever made."""

    if not TYPE_CHECKING:  # type checkers know that there is nothing else

        def __getattr__(self, name: str) -> Any:
            """Say how to come by what only a single tree can do."""
            from treewise.tree.tree import Tree

            if name.startswith("_") or not hasattr(Tree, name):
                raise AttributeError(f"'Ensemble' object has no attribute '{name}'")
            raise AttributeError(
                f"an ensemble has no {name}, which a single tree has. Open one of its trees, ensemble[0].{name}, or"
                " grow one that imitates all of them, treewise.distill(ensemble, data)."
            )

    def importances(
        self,
        data: Any = None,
        target: Any = None,
        *,
        measure: str | None = None,
        repeats: int | None = None,
        random_state: int | None = None,
        sample_weight: Any = None,
        drop_missing_target: bool | None = None,
        confidence: float | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Importances:
        """Say which columns matter: by what their splits gain, or on a table by what the trees lose without them.

        Without ``data`` it is the share of the impurity of the training rows that each column takes away, in the mean
        over the trees with the spread from tree to tree; it favours columns with many different values. With ``data``
        it is the permutation importance, as of a single tree (``Tree.importances``): best of rows the trees have not
        seen, for on those they were grown on columns that fit noise look useful.

        >>> import treewise as tw
        >>> forest = tw.forest("outlier", n_estimators=25)
        >>> [(c.column, round(c.importance, 2), round(c.spread, 2)) for c in forest.importances().columns]
        [('x1', 0.84, 0.16), ('x2', 0.16, 0.16)]
        >>> [c.column for c in forest.importances("outlier_validation").columns]
        ['x1', 'x2']

        Parameters
        ----------
        data, target, sample_weight, drop_missing_target : the rows and their answers, as for ``evaluate``.
        measure : ``"error"`` or ``"log_loss"``; for numbers ``"rmse"`` or ``"mae"``.
        repeats, random_state, confidence, n_jobs, progress : as of a single tree.
        """
        from treewise.explain.ensemble.importances import importances

        given = {name: value for name, value in locals().items() if name not in ("self", "data", "importances")}
        return importances(as_ensemble(self), data, **given)

    def agreement(self, data: Any, *, progress: Progress | None = None) -> Agreement:
        """Say how far the trees agree on each row: the say for each class, or how far values spread.

        The rows they quarrel about most come first.

        >>> import treewise as tw
        >>> found = tw.forest("penguins", n_estimators=20).agreement("penguins")
        >>> found.unanimous, len(found), found[0].row, round(found[0].share, 2)
        (289, 344, 340, 0.65)
        """
        from treewise.explain.ensemble.agreement import agreement

        return agreement(as_ensemble(self), data, progress)

    def explain(self, row: Any) -> EnsembleExplanation:
        """Say why one row gets its answer: how far the trees agree, and which columns speak for and against it.

        >>> import treewise as tw
        >>> row = {"GPA": "3.7", "Recommendation": "good", "University": "top10", "Published": "no"}
        >>> print(tw.forest("admissions", n_estimators=20).explain(row).sentences[0])
        Class = N: 13 of 20 trees say so, the mean of their probabilities is 65.0 %.
        """
        from treewise.explain.ensemble.explanation import explain

        return explain(as_ensemble(self), row)

    def shap(self, data: Any, *, progress: Progress | None = None) -> ShapValues:
        """Return what each column adds to each answer: exact Shapley values, which add up to it with ``base``.

        The answer is ``predict_proba``, of boosting the share of the votes, or the value.

        >>> import treewise as tw
        >>> found = tw.forest("admissions", n_estimators=20).shap("admissions")
        >>> found.values.shape, float((found.base + found.values.sum(axis=1))[0, 1].round(6))
        ((12, 4, 2), 1.0)
        """
        from treewise.explain.ensemble.shap import shap

        return shap(as_ensemble(self), data, progress)

    def stages(
        self,
        data: Any,
        target: Any = None,
        *,
        test: Any = None,
        sample_weight: Any = None,
        progress: Progress | None = None,
    ) -> Stages:
        """Return the error after one tree, two trees, … on a table whose answers are known, and on another, ``test``.

        Of boosting the bound on the training error stands beside it where ``data`` is the table the trees were grown
        on and all rows weigh the same: it bounds no other error.

        >>> import treewise as tw
        >>> found = tw.forest("penguins", n_estimators=20).stages("penguins")
        >>> found.best.trees, [round(stage.training, 3) for stage in found[:3]]
        (5, [0.015, 0.012, 0.006])
        """
        from treewise.explain.ensemble.stages import stages

        return stages(as_ensemble(self), data, target, test, sample_weight, progress)

    def draw_stages(
        self,
        data: Any,
        target: Any = None,
        *,
        test: Any = None,
        ax: Axes | None = None,
        path: str | PathLike[str] | None = None,
    ) -> Axes:
        """Draw the error after each tree, on ``ax`` or a figure of its own; with a ``path`` save it too.

        Needs matplotlib (``pip install "treewise[plot]"``).

        >>> import treewise as tw
        >>> tw.forest("penguins", n_estimators=9).draw_stages("penguins").get_xlabel()
        'trees'
        """
        return self.stages(data, target, test=test).draw(ax, path)
