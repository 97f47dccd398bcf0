"""Single trees as scikit-learn estimators: ``TreeClassifier`` and ``TreeRegressor``.

On ``base.py``, which reads X and y; ``train/grow.py`` grows the tree. Parameters have the names and defaults of
``treewise.grow``; ``docs/scikit-learn.md`` says which mean the same as scikit-learn's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.utils import Bunch  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from treewise.estimators.base import BaseClassifier, BaseRegressor, Estimator, FitInput, Floats, Ints, by_name
from treewise.estimators.inputs import TargetClasses, validation_table
from treewise.estimators.options import TreeClassifierOptions, TreeOptions, parameters
from treewise.predict import predict
from treewise.prune.nested_trees import find_nested_trees
from treewise.train.grow import grow
from treewise.tree.arrays import Target
from treewise.tree.tree import Tree


class BaseTree(Estimator):
    """Base of both: fit, and everything that only reads the tree.

    >>> from treewise import TreeRegressor
    >>> model = TreeRegressor().fit([[1, 0], [2, 0], [3, 0]], [1.5, 4.0, 4.5])
    >>> model.get_depth(), model.get_n_leaves(), model.feature_importances_.tolist()
    (2, 3, [1.0, 0.0])
    >>> model.apply([[1, 0], [3, 0]]).tolist(), model.decision_path([[3, 0]]).toarray().tolist()
    ([1, 4], [[1, 0, 1, 0, 1]])
    """

    _model = "tree_"
    tree_: Tree

    def _learn(self, given: FitInput) -> Tree:
        """Grow the tree, and prune it if requested."""
        assert given.table.target is not None
        target = Target(given.table.target, self._task)
        validation = validation_table(self.validation, given.features, target, type(self).__name__)
        return grow(given.table, given.table.target, **{**given.options, "validation": validation})

    def apply(self, X: Any) -> Ints:
        """Return the node number of the leaf that each row reaches."""
        table = self._read(X)
        nodes: Ints = predict.apply(self.tree_, table)
        return nodes

    def predict_interval(self, X: Any, *, confidence: float = 0.95, calibration: Any = None) -> Floats:
        """Return the low and the high end for each row, as ``Tree.predict_interval``.

        For classes, (rows, classes, 2) in the order of ``classes_``. ``calibration`` is a pair (X, y) that ``fit`` has
        not seen; with it, the ends are a prediction interval for single rows.

        >>> from treewise import TreeRegressor
        >>> model = TreeRegressor(max_depth=1).fit([[1], [1], [2], [2]], [1.0, 3.0, 5.0, 9.0])
        >>> model.predict_interval([[1]]).round(1)
        array([[-10.7,  14.7]])
        """
        table = self._read(X)
        target, estimator = self.tree_.target, type(self).__name__
        calibration_table = validation_table(calibration, self._features, target, estimator, "calibration")
        return self.tree_.predict_interval(table, confidence=confidence, calibration=calibration_table)

    def decision_path(self, X: Any) -> Any:
        """Return a sparse indicator matrix of shape (rows, nodes): the nodes that each row passes."""
        table = self._read(X)
        return paths_to(self.tree_, predict.apply(self.tree_, table))

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Bunch:
        """Return the effective alphas of minimal cost-complexity pruning, and the total leaf impurity at each.

        As in scikit-learn: ``ccp_alphas`` and ``impurities`` of the unpruned tree, one entry per step. ``fit_params``
        are passed to ``fit`` (``exposure`` of a regressor).

        >>> from treewise import TreeRegressor
        >>> X, y = [[1], [2], [3]], [1.0, 2.0, 4.0]
        >>> TreeRegressor().cost_complexity_pruning_path(X, y).ccp_alphas.round(3).tolist()
        [0.0, 0.167, 1.389]
        """
        unpruned = clone(self).set_params(pruning="none", validation=None, ccp_alpha=0.0, honest=None)
        full = unpruned.fit(X, y, sample_weight, **fit_params)
        alphas, impurities = find_nested_trees(full.tree_).path
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def get_depth(self) -> int:
        """Return the depth of the tree."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> Floats:
        """The share of each column of X in the total decrease of impurity; zeros for a tree without splits."""
        check_is_fitted(self)
        return self._shares_of(self.tree_.impurity_decreases[0])


def paths_to(tree: Tree, nodes: Ints) -> csr_matrix:
    """Return a sparse indicator matrix of shape (rows, nodes): the nodes on the path to each of ``nodes``."""
    start = np.concatenate([[0], np.cumsum(tree.depths[nodes] + 1)])
    passed = np.empty(start[-1], np.int64)
    # All rows climb in lockstep; each writes its path backwards, so column indices increase.
    current, end = nodes, start[1:] - 1
    while len(current):
        passed[end] = current
        above = tree.arrays.parent[current]
        current, end = above[above >= 0], end[above >= 0] - 1
    return csr_matrix((np.ones(len(passed), np.int64), passed, start), shape=(len(nodes), len(tree)))


class TreeClassifier(BaseClassifier, BaseTree):
    """A decision tree classifier, as a scikit-learn estimator.

    Accepts dataframes (pandas, polars, Arrow, DuckDB), arrays and lists of dicts, with text, categories, booleans,
    dates and missing values. The parameters are those of ``treewise.grow``, with the same defaults.

    >>> from treewise import TreeClassifier, datasets
    >>> penguins = datasets.penguins().to_polars()
    >>> X, y = penguins.drop("species"), penguins["species"]
    >>> model = TreeClassifier(max_leaf_nodes=3).fit(X, y)
    >>> print(model.tree_)
                                                predicts      rows  Adelie  Chinstrap  Gentoo
    0  all rows                                                344     152         68     124
    1  ├─ flipper_length_mm <= 206.5                           213     149         63       1
    2  │  ├─ bill_length_mm <= 43.35            → Adelie       150     145          5       0
    3  │  └─ bill_length_mm > 43.35             → Chinstrap     63       4         58       1
    4  └─ flipper_length_mm > 206.5 or missing  → Gentoo       131       3          5     123
    >>> round(model.score(X, y), 3)
    0.948
    >>> model.predict(X[:2]).tolist(), model.predict_proba(X[:1]).round(3).tolist()
    (['Adelie', 'Adelie'], [[0.967, 0.033, 0.0]])
    >>> model.predict_log_proba(X[:1]).round(1).tolist()
    [[-0.0, -3.4, -inf]]

    Attributes
    ----------
    tree_ : the ``treewise.Tree``.
    classes_ : the classes, sorted; ``predict_proba`` has its columns in this order.
    n_classes_, n_features_in_, n_outputs_ : the numbers of classes, columns of X and targets (1).
    feature_names_in_ : the names of the columns of X, if it had names.
    feature_importances_ : the share of each column in the total gain of the splits.
    """

    @parameters(TreeClassifierOptions, grow)
    def __init__(self, **options: Unpack[TreeClassifierOptions]) -> None: ...

    def _class_options(self, classes: TargetClasses) -> dict[str, Any]:
        return {**super()._class_options(classes), "cost": _costs_by_name(self.cost, classes.names())}

    def predict(self, X: Any, *, estimate: str | None = None) -> npt.NDArray[Any]:
        """Return the class of each row: the most probable, or with costs the one of least expected cost.

        Ties are resolved as in the tree, where the positive class comes last. ``estimate`` is as in
        ``predict_proba``.
        """
        table = self._read(X)
        nodes: Ints = predict.apply(self.tree_, table)
        answering = predict.answering_nodes(self.tree_, nodes)
        return self._classes_at(predict.predict_at_nodes(self.tree_, answering, estimate))

    def predict_interval(self, X: Any, *, confidence: float = 0.95, calibration: Any = None) -> Floats:
        """Return the low and the high end of the share of each class in the leaf: (rows, classes, 2).

        >>> from treewise import TreeClassifier
        >>> TreeClassifier().fit([[1], [2], [2]], ["a", "b", "b"]).predict_interval([[2]]).round(2).tolist()
        [[[0.0, 0.66], [0.34, 1.0]]]
        """
        return self._in_order(super().predict_interval(X, confidence=confidence, calibration=calibration))

    def predict_proba(self, X: Any, *, estimate: str | None = None) -> Floats:
        """Return the probability of each class for each row, from the counts of its leaf.

        ``estimate`` is ``"maximum_likelihood"`` (the default), ``"laplace"``, ``"m_estimate"`` or ``"shrinkage"``.
        """
        table = self._read(X)
        return self._in_order(predict.predict_proba(self.tree_, table, estimate))


class TreeRegressor(BaseRegressor, BaseTree):
    """A decision tree regressor, as a scikit-learn estimator.

    As ``TreeClassifier``, without the parameters for classes.

    >>> from treewise import TreeRegressor
    >>> X, y = [{"town": "Bari", "age": 31}, {"town": "Rome", "age": 54}, {"town": "Rome", "age": 40}], [1.5, 4.0, 4.5]
    >>> TreeRegressor(max_depth=1).fit(X, y).predict([{"town": "Rome", "age": 35}])
    array([4.25])

    Attributes
    ----------
    tree_ : the ``treewise.Tree``.
    n_features_in_, n_outputs_ : the numbers of columns of X and targets (1).
    feature_names_in_ : the names of the columns of X, if it had names.
    feature_importances_ : the share of each column in the total gain of the splits.
    """

    @parameters(TreeOptions, grow)
    def __init__(self, **options: Unpack[TreeOptions]) -> None: ...

    def predict(self, X: Any, *, estimate: str | None = None) -> Floats:
        """Return the value of the leaf of each row; ``estimate="shrinkage"`` shrinks it towards its ancestors."""
        table = self._read(X)
        values: Floats = predict.predict(self.tree_, table, estimate)
        return values


def _costs_by_name(cost: Any, names: Mapping[object, str]) -> Any:
    """Translate the true and predicted classes of costs to the class names of the tree."""
    if hasattr(cost, "columns") and hasattr(cost, "index"):
        cost = cost.to_dict(orient="index")
    if not isinstance(cost, Mapping):
        return cost
    return {label: by_name(row, names) for label, row in by_name(cost, names).items()}
