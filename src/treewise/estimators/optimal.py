"""Optimal trees as scikit-learn estimators: ``OptimalTreeClassifier`` and ``OptimalTreeRegressor``.

As ``trees.py``; ``train/optimal/optimal.py`` finds the tree.
"""

from __future__ import annotations

from typing import Any, Self, Unpack

from sklearn.utils.metaestimators import available_if  # type: ignore[import-untyped]

from treewise.estimators.base import FitInput
from treewise.estimators.options import OptimalTreeClassifierOptions, OptimalTreeOptions, parameters
from treewise.estimators.trees import BaseTree, TreeClassifier, TreeRegressor
from treewise.train.grow import grow
from treewise.train.optimal.optimal import optimal
from treewise.tree.tree import Tree

_PENALTY = 1e-6  # of equally good trees, take one of fewest leaves


def _never(_estimator: object) -> bool:
    return False


class OptimalTree(BaseTree):
    """Base of both: fit by search."""

    objective_: float
    lower_bound_: float
    status_: str

    def _learn(self, given: FitInput) -> Tree:
        """Find the best tree of the size."""
        assert given.table.target is not None
        result = optimal(given.table, given.table.target, **given.options)
        self._found = {
            "objective_": result.objective,
            "lower_bound_": result.lower_bound,
            "status_": result.status,
        }
        return result.tree

    def _set_fitted(self, given: FitInput, model: Any, **fitted: Any) -> Self:
        return super()._set_fitted(given, model, **fitted, **self.__dict__.pop("_found"))

    @available_if(_never)  # type: ignore[untyped-decorator]
    def cost_complexity_pruning_path(self) -> None:
        """Do not offer the path of a grown tree: subtrees of an optimal tree are not optimal.

        >>> from treewise import OptimalTreeClassifier
        >>> hasattr(OptimalTreeClassifier(), "cost_complexity_pruning_path")
        False
        """


class OptimalTreeClassifier(OptimalTree, TreeClassifier):
    """The decision tree of least training error of a given size, as a scikit-learn estimator.

    The parameters are those of ``treewise.optimal``, with a depth of 3 by default, and of
    equally good trees the one with the fewest leaves (a penalty of 1e-6).

    >>> from treewise import OptimalTreeClassifier
    >>> model = OptimalTreeClassifier(max_depth=2).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> model.score([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]), model.status_
    (1.0, 'proven')

    Attributes
    ----------
    tree_ : the ``treewise.Tree``; further attributes as in ``TreeClassifier``.
    objective_, lower_bound_ : the objective of the tree, and a bound that no tree of the size is below.
    status_ : ``"proven"``, or ``"stopped"`` by the time limit.
    """

    @parameters(OptimalTreeClassifierOptions, optimal, grow, max_depth=3, penalty=_PENALTY)
    def __init__(self, **options: Unpack[OptimalTreeClassifierOptions]) -> None: ...


class OptimalTreeRegressor(OptimalTree, TreeRegressor):
    """The regression tree of least squared training error of a given size, as a scikit-learn estimator.

    The parameters are those of ``treewise.optimal``, with a depth of 2 by default, and of
    equally good trees the one with the fewest leaves (a penalty of 1e-6).

    >>> from treewise import OptimalTreeRegressor
    >>> model = OptimalTreeRegressor(max_depth=1).fit([[1], [2], [3], [4]], [1.0, 1.5, 8.0, 9.0])
    >>> model.predict([[2], [3]]).tolist(), model.status_
    ([1.25, 8.5], 'proven')

    Attributes
    ----------
    tree_ : the ``treewise.Tree``; further attributes as in ``TreeRegressor``.
    objective_, lower_bound_ : the objective of the tree, and a bound that no tree of the size is below.
    status_ : ``"proven"``, or ``"stopped"`` by the time limit.
    """

    @parameters(OptimalTreeOptions, optimal, grow, max_depth=2, penalty=_PENALTY)
    def __init__(self, **options: Unpack[OptimalTreeOptions]) -> None: ...
