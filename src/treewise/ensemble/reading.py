"""What an ensemble can be asked about itself and about rows: doors to ``explain/many``.

Stands below ``model.py``, whose ``Ensemble`` inherits these methods. Their code lives downstream and is imported when
used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

    from treewise.ensemble.model import Ensemble
    from treewise.explain.importances import Importances
    from treewise.explain.many.agreement import Agreement
    from treewise.explain.many.explanation import ManyExplanation
    from treewise.explain.many.stages import Stages
    from treewise.explain.shap import ShapValues

Progress = Callable[[float], None]


class Reading:
    """The part of an ensemble that answers questions; only an ``Ensemble`` is ever made."""

    def importances(self) -> Importances:
        """Say which columns matter: the share of impurity each takes away, in the mean over the trees and its spread.

        It is of the training rows, and favours columns with many different values.
        """
        from treewise.explain.many.importances import importances

        return importances(as_ensemble(self))

    def agreement(self, data: Any, *, progress: Progress | None = None) -> Agreement:
        """Say how far the trees agree on each row: the say for each class, or how far values spread.

        The rows they quarrel about most come first.
        """
        from treewise.explain.many.agreement import agreement

        return agreement(as_ensemble(self), data, progress)

    def explain(self, row: Any) -> ManyExplanation:
        """Say why one row gets its answer: how far the trees agree, and which columns speak for and against it."""
        from treewise.explain.many.explanation import explain

        return explain(as_ensemble(self), row)

    def shap(self, data: Any, *, progress: Progress | None = None) -> ShapValues:
        """Return what each column adds to each answer: exact Shapley values, which add up to it with ``base``.

        The answer is ``predict_proba``, of boosting the share of the votes, or the value.
        """
        from treewise.explain.many.shap import shap

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

        Of boosting the bound on the training error stands beside it.
        """
        from treewise.explain.many.stages import stages

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
        """
        return self.stages(data, target, test=test).draw(ax, path)


def as_ensemble(part: Reading) -> Ensemble:
    """Return the ensemble that this is a part of: itself."""
    return cast("Ensemble", part)
