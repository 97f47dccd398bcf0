"""A tree under scikit-learn's names: the flat arrays of its ``tree_``, read-only, and ``to_sklearn``.

``tree/editable.py`` derives from this class. Both libraries number nodes in pre-order, so the arrays differ in names
and layout only. scikit-learn's have room for thresholds on numbers with two branches; what every tree has (rows,
weights, impurities, values) is there for every tree.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.errors import DataError
from treewise.tree.arrays import LEAF, THRESHOLD
from treewise.tree.structure import TreeStructure

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_NO_CHILD, _NO_FEATURE = -1, -2  # as in scikit-learn


class NoFlatArrayError(DataError, AttributeError):
    """A tree that scikit-learn's arrays cannot describe; ``hasattr`` is then False."""


class FlatView(TreeStructure):
    """The arrays of a tree under scikit-learn's names; ``Tree`` alone is instantiated.

    ``feature`` counts the tree's ``columns``, ``value`` has the class shares in the order of ``classes``. A tree that
    tests sets of levels, several branches, or dates has no ``children_left``, ``children_right``, ``feature``,
    ``threshold`` and ``missing_go_to_left``.

    >>> import treewise as tw
    >>> tree = tw.grow("penguins", max_leaf_nodes=3)
    >>> tree.children_left.tolist(), tree.children_right.tolist(), tree.feature.tolist(), tree.threshold.tolist()
    ([1, 2, -1, -1, -1], [4, 3, -1, -1, -1], [3, 1, -2, -2, -2], [206.5, 43.35, -2.0, -2.0, -2.0])
    >>> tree.n_node_samples.tolist(), tree.value[1].round(2).tolist(), tree.impurity.round(2).tolist()
    ([344, 213, 150, 63, 131], [[0.7, 0.3, 0.0]], [1.51, 0.92, 0.21, 0.46, 0.39])
    >>> tree.missing_go_to_left.tolist(), tree.weighted_n_node_samples.tolist()
    ([0, 1, 0, 0, 0], [344.0, 213.0, 150.0, 63.0, 131.0])
    >>> tree.node_count, tree.max_depth, tree.n_features, tree.n_outputs, tree.n_classes.tolist(), tree.max_n_classes
    (5, 2, 6, 1, [3], 3)
    """

    # -- which trees ----------------------------------------------------------------------------------------------

    def _check_thresholds(self) -> None:
        """Raise for the first node whose test is not a threshold on a number."""
        a = self.arrays
        number_columns = np.array([e.kind == "number" for e in self.encodings])
        inner = a.kind != LEAF
        is_threshold = (a.kind == THRESHOLD) & number_columns[np.where(inner, a.column, 0)]
        if (other := np.flatnonzero(inner & ~is_threshold)).size:
            split = self.split_at(int(other[0]))
            assert split is not None
            raise NoFlatArrayError(
                f'node {other[0]} tests "{safe(split.column)}" by something else than a threshold on a number, which'
                " scikit-learn's arrays do not have. Encode such columns as numbers before growing, or read"
                " tree[i].split and tree.children(i)."
            )

    @cached_property
    def _tests(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that only trees of thresholds have."""
        self._check_thresholds()
        a = self.arrays
        inner = np.flatnonzero(a.kind != LEAF)
        _, child = a.child_lists
        left, right = np.full((2, len(a)), _NO_CHILD, np.int64)
        left[inner], right[inner] = child[0::2], child[1::2]
        feature, threshold = np.full(len(a), _NO_FEATURE, np.int64), np.full(len(a), float(_NO_FEATURE))
        feature[inner], threshold[inner] = a.column[inner], a.cut[inner]
        to_left = np.zeros(len(a), np.uint8)
        to_left[inner] = a.missing[inner] == 0
        arrays: dict[str, npt.NDArray[Any]] = {
            "left": left,
            "right": right,
            "feature": feature,
            "threshold": threshold,
            "to_left": to_left,
        }
        return {name: _read_only(array) for name, array in arrays.items()}

    @property
    def children_left(self) -> Ints:
        """The number of each node's first child; -1 at a leaf."""
        return self._tests["left"]

    @property
    def children_right(self) -> Ints:
        """The number of each node's second child; -1 at a leaf."""
        return self._tests["right"]

    @property
    def feature(self) -> Ints:
        """Which of ``columns`` each node tests; -2 at a leaf."""
        return self._tests["feature"]

    @property
    def threshold(self) -> Floats:
        """The threshold of each node: smaller and equal values go to the left; -2 at a leaf."""
        return self._tests["threshold"]

    @property
    def missing_go_to_left(self) -> npt.NDArray[np.uint8]:
        """Whether missing values go to the left child; 0 at a leaf."""
        return self._tests["to_left"]

    # -- what every tree has ----------------------------------------------------------------------------------------

    @property
    def impurity(self) -> Floats:
        """The impurity of each node, per unit of weight."""
        return _read_only(self.arrays.impurity.view())

    @property
    def n_node_samples(self) -> Ints:
        """The number of training rows that reached each node."""
        return _read_only(self.arrays.rows.view())

    @property
    def weighted_n_node_samples(self) -> Floats:
        """The weight of the training rows that reached each node."""
        return _read_only(self.arrays.weight.view())

    @cached_property
    def value(self) -> Floats:
        """The class shares at each node, or its value: (nodes, 1, classes), or (nodes, 1, 1) for regression."""
        a = self.arrays
        if self.task == "regression":
            return _read_only(a.value[:, None, None].copy())
        shares = np.zeros((len(a), len(self.classes)))
        owner = np.repeat(np.arange(len(a)), np.diff(a.count_start))
        shares[owner, a.count_class] = a.count_weight
        total = shares.sum(axis=1)
        shares[total > 0] /= total[total > 0, None]
        for node in np.flatnonzero(total == 0).tolist():
            shares[node] = self.probabilities(node)
        return _read_only(shares[:, None, :])

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self)

    @property
    def max_depth(self) -> int:
        """The depth of the tree."""
        return self.depth

    @property
    def n_features(self) -> int:
        """The number of ``columns``."""
        return len(self.encodings)

    @property
    def n_outputs(self) -> int:
        """The number of targets: 1."""
        return 1

    @property
    def n_classes(self) -> Ints:
        """The number of classes of the one target; 1 for regression."""
        return np.array([self.max_n_classes])

    @property
    def max_n_classes(self) -> int:
        """The number of classes; 1 for regression."""
        return max(1, len(self.classes))

    def to_sklearn(self) -> Any:
        """Return the tree as a fitted ``DecisionTreeClassifier`` or ``DecisionTreeRegressor`` of scikit-learn.

        For tools that accept these classes only: ``plot_tree``, ``export_text``, shap's ``TreeExplainer``,
        converters. Only for trees of thresholds on numbers; columns keep their order, the tree's, and their names.
        scikit-learn rounds rows to float32 before it compares them: predictions are equal for every row that float32
        represents exactly, and for other rows unless a threshold lies between a value and its rounding.

        >>> import treewise as tw
        >>> from sklearn.tree import export_text
        >>> print(export_text(tw.grow("outlier", max_depth=1).to_sklearn(), feature_names=["x1", "x2"]), end="")
        |--- x1 <= 4.00
        |   |--- class: dot
        |--- x1 >  4.00
        |   |--- class: star
        """
        from treewise.formats.export.sklearn_tree import to_sklearn

        return to_sklearn(self)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array that cannot be written to."""
    array.setflags(write=False)
    return array
