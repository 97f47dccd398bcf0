"""A tree as a fitted estimator of scikit-learn: ``Tree.to_sklearn``.

Uses the arrays of ``tree/flat_view.py``, which have scikit-learn's names and numbering; ``tw.from_sklearn`` is the way
back. scikit-learn makes a tree from arrays only where it unpickles one, so that is the entrance taken here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from treewise.tree.flat_view import FlatView

_CLASSIFIER_CRITERIA = ("gini", "entropy")
_REGRESSOR_CRITERIA = ("squared_error", "absolute_error", "poisson")
_FIELDS = {
    "left_child": "children_left",
    "right_child": "children_right",
    "feature": "feature",
    "threshold": "threshold",
    "impurity": "impurity",
    "n_node_samples": "n_node_samples",
    "weighted_n_node_samples": "weighted_n_node_samples",
    "missing_go_to_left": "missing_go_to_left",
}


def to_sklearn(tree: FlatView) -> Any:
    """Return a fitted decision tree of scikit-learn with the nodes of a tree."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # type: ignore[import-untyped]
    from sklearn.tree._tree import Tree as LowLevelTree  # type: ignore[import-untyped]

    low_level = LowLevelTree(tree.n_features, tree.n_classes, 1)
    empty = low_level.__getstate__()
    nodes = np.zeros(tree.node_count, empty["nodes"].dtype)
    for theirs, ours in _FIELDS.items():
        nodes[theirs] = getattr(tree, ours)
    low_level.__setstate__(
        {
            **empty,
            "max_depth": tree.max_depth,
            "node_count": tree.node_count,
            "nodes": nodes,
            "values": np.array(tree.value),
        }
    )
    is_classifier = tree.task == "classification"
    # Where scikit-learn has no such criterion, its default is named: the impurities shown are the tree's own.
    known = _CLASSIFIER_CRITERIA if is_classifier else _REGRESSOR_CRITERIA
    criterion = {"criterion": tree.criterion} if tree.criterion in known else {}
    model = (DecisionTreeClassifier if is_classifier else DecisionTreeRegressor)(**criterion)
    model.n_features_in_, model.n_outputs_, model.max_features_ = tree.n_features, 1, tree.n_features
    model.feature_names_in_ = np.array(tree.columns, object)
    if is_classifier:
        model.classes_, model.n_classes_ = np.array(tree.classes), len(tree.classes)
    model.tree_ = low_level
    return model
