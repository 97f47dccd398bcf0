"""Import the trees and forests of scikit-learn: ``from_sklearn``.

scikit-learn stores a tree as arrays (``estimator.tree_``): children, thresholds, the branch of missing values, the
number and weight of the training rows, and class shares or a value for every node. It rounds inputs to float32 before
it compares them; ``float32.py`` finds the thresholds that give the same answers for float64 inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treewise.data.encoding import Encoding
from treewise.ensemble.model import Ensemble, Method
from treewise.errors import DataError, ParameterError
from treewise.formats.importers.float32 import exact_cuts, float32_at_most, short_cuts
from treewise.formats.importers.foreign_tree import (
    ForeignTree,
    Import,
    build_ensemble,
    build_tree,
    column_names,
    needs_node_stats,
)
from treewise.tree.arrays import Target
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Thresholds = Literal["exact", "short"]

_CRITERIA = {"log_loss": "entropy", "friedman_mse": "squared_error"}  # the others have the same name here
_BY_ROUNDING = (
    "the training weights are not whole numbers: class probabilities agree with scikit-learn's up to rounding, about 15"
    " digits"
)
_BY_VOTES = (
    "probabilities are shares of the vote weight, as in treewise's AdaBoost; scikit-learn's are another function"
)


def from_sklearn(
    estimator: Any,
    feature_names: Sequence[str] | None = None,
    *,
    target: str = "target",
    thresholds: Thresholds = "exact",
) -> Tree | Ensemble:
    """Return a fitted tree, forest, bagging or AdaBoost of scikit-learn as an ordinary model.

    Everything that works on a model of treewise works on it: printing, explaining, drawing, comparing, pruning,
    exporting, saving. Predictions are the same, for every float64 input and with missing values.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import treewise as tw
    >>> iris = load_iris()
    >>> theirs = DecisionTreeClassifier(max_depth=2, random_state=4).fit(iris.data, iris.target_names[iris.target])
    >>> ours = tw.from_sklearn(theirs, iris.feature_names, target="species", thresholds="short")
    >>> print(ours)
                                       predicts       rows  setosa  versicolor  virginica
    0  all rows                                        150      50          50         50
    1  ├─ petal length (cm) <= 2.45    → setosa         50      50           0          0
    2  └─ petal length (cm) > 2.45                     100       0          50         50
    3     ├─ petal width (cm) <= 1.75  → versicolor     54       0          49          5
    4     └─ petal width (cm) > 1.75   → virginica      46       0           1         45
    >>> bool((ours.predict_proba(iris.data) == theirs.predict_proba(iris.data)).all())
    True

    Parameters
    ----------
    estimator : a fitted ``DecisionTree``, ``ExtraTree``, ``RandomForest``, ``ExtraTrees`` or ``Bagging`` classifier or
        regressor, or ``AdaBoostClassifier``, with one output. For AdaBoost the classes agree (but for equal votes), the
        probabilities do not: treewise reports shares of the vote weight.
    feature_names : the names of the columns; by default those the estimator was fitted with, else x1, x2, …
    target : the name of what is predicted.
    thresholds : ``"exact"`` agrees for every float64 input: scikit-learn rounds inputs to float32, so a
        threshold becomes the largest double that it would send to the left. ``"short"`` takes the shortest decimal
        between the same two float32 values, which agrees for every float32 input and reads better.
    """
    if thresholds not in ("exact", "short"):
        raise ParameterError('must be "exact" or "short".', parameter="thresholds", value=thresholds)
    _check_estimator(estimator)
    names = column_names(feature_names, getattr(estimator, "feature_names_in_", None), estimator.n_features_in_)
    is_ensemble = hasattr(estimator, "estimators_")
    trees = list(estimator.estimators_) if is_ensemble else [estimator]
    features = getattr(estimator, "estimators_features_", None) or [np.arange(len(names))] * len(trees)
    classes = tuple(estimator.classes_.tolist()) if hasattr(estimator, "classes_") else ()
    criterion = _CRITERIA.get(trees[0].criterion, trees[0].criterion)
    reader = _TreeReader(thresholds, criterion, len(classes), encodes_labels=is_ensemble)
    foreign = [reader.read(tree, used) for tree, used in zip(trees, features, strict=True)]
    method = _method_of(estimator)
    is_whole = all(np.array_equal(tree.weight, np.rint(tree.weight)) for tree in foreign)
    about = Import(
        "from_sklearn",
        _describe(estimator),
        tuple(Encoding(name, "number") for name in names),
        Target(target, "classification" if classes else "regression", classes),
        criterion,
        (*[_BY_ROUNDING] * (bool(classes) and not is_whole), *[_BY_VOTES] * (method == "adaboost")),
    )
    if method is None:
        return build_tree(about, foreign[0])
    votes = estimator.estimator_weights_[: len(trees)] if method == "adaboost" else None
    return build_ensemble(about, foreign, method, votes)


def _describe(estimator: Any) -> str:
    from sklearn import __version__  # type: ignore[import-untyped]

    return f"scikit-learn {__version__} {type(estimator).__name__}"


def _method_of(estimator: Any) -> Method | None:
    """Return the method of an ensemble; None for a single tree; raise for what cannot be imported."""
    from sklearn import ensemble, tree

    kinds: list[tuple[type, Method | None]] = [
        (tree.BaseDecisionTree, None),
        (ensemble.RandomForestClassifier, "forest"),
        (ensemble.RandomForestRegressor, "forest"),
        (ensemble.ExtraTreesClassifier, "extra_trees"),
        (ensemble.ExtraTreesRegressor, "extra_trees"),
        (ensemble.BaggingClassifier, "bagging"),
        (ensemble.BaggingRegressor, "bagging"),
        (ensemble.AdaBoostClassifier, "adaboost"),
    ]
    for kind, method in kinds:
        if isinstance(estimator, kind):
            return method
    raise ParameterError(
        f"cannot import a {type(estimator).__name__}.",
        parameter="estimator",
        hint="Expected a fitted decision tree, extra tree, random forest, extra-trees or bagging of trees, or an"
        " AdaBoostClassifier of scikit-learn" + _hint_about(estimator),
    )


def _hint_about(estimator: Any) -> str:
    if isinstance(estimator, type):
        return "; this is the class: create and fit it first."
    if hasattr(estimator, "best_estimator_"):
        return "; pass its best_estimator_."
    if hasattr(estimator, "steps"):
        return "; pass its last step, and apply the other steps to the data first."
    if type(estimator).__module__.startswith("treewise"):
        return "; this one is treewise's own: it holds its model already."
    return "."


def _check_estimator(estimator: Any) -> None:
    """Raise for an estimator that cannot be imported."""
    from sklearn.tree import BaseDecisionTree  # type: ignore[import-untyped]
    from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

    _method_of(estimator)
    try:
        check_is_fitted(estimator)
    except ValueError:
        raise ParameterError(f"the {type(estimator).__name__} is not fitted.", parameter="estimator") from None
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise DataError(
            f"the {type(estimator).__name__} predicts {estimator.n_outputs_} outputs; a model has one.",
            hint="Fit one estimator per output.",
        )
    for member in getattr(estimator, "estimators_", ()):
        if not isinstance(member, BaseDecisionTree):
            raise DataError(f"its estimators are {type(member).__name__}s, not trees; only trees can be imported.")


class _TreeReader:
    """Reads the trees of one estimator."""

    def __init__(self, thresholds: Thresholds, criterion: str, n_classes: int, *, encodes_labels: bool) -> None:
        self.cuts = exact_cuts if thresholds == "exact" else short_cuts
        self.criterion, self.n_classes, self.encodes_labels = criterion, n_classes, encodes_labels

    def read(self, estimator: Any, features: Ints) -> ForeignTree:
        """Read the arrays of a tree, which was grown on some of the columns."""
        tree = estimator.tree_
        left = tree.children_left.astype(np.int64)
        inner = left >= 0
        cut = np.zeros(len(left))
        cut[inner] = self.cuts(float32_at_most(tree.threshold[inner]))
        common: dict[str, Any] = {
            "left": left,
            "right": tree.children_right.astype(np.int64),
            "column": np.where(inner, np.asarray(features)[np.where(inner, tree.feature, 0)], -1),
            "cut": cut,
            "missing": np.where(tree.missing_go_to_left, 0, 1),
            "rows": tree.n_node_samples.astype(np.int64),
            "weight": tree.weighted_n_node_samples.astype(np.float64),
        }
        values = tree.value[:, 0, :]
        if self.n_classes:
            return ForeignTree(**common, shares=self._shares(estimator, values))
        spread = np.full(len(left), np.nan)
        if self.criterion == "squared_error":
            spread = np.sqrt(np.maximum(tree.impurity, 0.0))
        impurity = np.maximum(tree.impurity, 0.0) if needs_node_stats(self.criterion) else None
        return ForeignTree(**common, value=values[:, 0], spread=spread, impurity=impurity)

    def _shares(self, estimator: Any, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the class shares; the trees of bagging may know only some of the classes, by number."""
        if values.shape[1] == self.n_classes:
            return values
        shares = np.zeros((len(values), self.n_classes))
        shares[:, np.asarray(estimator.classes_, np.int64)] = values[:, : len(estimator.classes_)]
        return shares
