"""The numbers beside a text tree: which columns there are, and what each node's cells say.

Stands before ``text.py``, which lays them out.

    two classes       rows · the positive class's count · its share in %
    one, or 3 to 6    rows · one count a class
    more              rows · share of the predicted class in %
    regression        rows · standard deviation
    weighted rows     a weight column after rows, and class counts are weights
    by hand           nothing: such a tree has seen no rows
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treewise.draw.speech import counted, weighted
from treewise.tree import LEAF, Tree
from treewise.wording import count, figure, percent
from treewise.written.notation import label_order, write_label

MOST_COUNTED = 6  # with more classes than this, one column a class would be a table of its own


class Cells:
    """The columns of numbers of one tree."""

    def __init__(self, tree: Tree, nothing: str = "–", ascii: bool = False) -> None:
        a = tree.arrays
        self.tree, self.nothing, self.ascii = tree, nothing, ascii
        self.rows, self.weight = a.rows.tolist(), a.weight.tolist()
        self.weighted, self.shown = weighted(tree), counted(tree) or tree.task == "regression"
        self.regression = tree.task == "regression"
        self.listed = not self.regression and len(tree.classes) <= MOST_COUNTED
        self.counts = class_weights(tree).tolist() if self.listed and self.shown else []
        self.share = np.array([]) if self.listed or self.regression else predicted_share(tree)

    @property
    def headings(self) -> list[str]:
        """What stands above the columns; empty when there are none."""
        if not self.shown:
            return []
        return ["rows"] + ["weight"] * self.weighted + self._last_headings()

    def _last_headings(self) -> list[str]:
        classes = self.tree.classes
        if self.regression:
            return ["sd"]
        if len(classes) == 2:
            return [write_label(classes[1], self.ascii), "%"]
        return [write_label(label, self.ascii) for label in classes] if self.listed else ["%"]

    def of(self, node: int) -> list[str]:
        """Return one node's cells."""
        if not self.shown:
            return []
        cells = [count(self.rows[node])] + [count(self.weight[node])] * self.weighted
        return cells + self._last_cells(node)

    def _last_cells(self, node: int) -> list[str]:
        if self.regression:
            return [self._figure(self.tree.arrays.spread[node])]
        if not self.listed:
            return [self._percent(self.share[node])]
        counts = self.counts[node]
        if len(counts) == 2:
            total = sum(counts)
            return [count(counts[1]), self._percent(counts[1] / total if total else np.nan)]
        return [count(weight) for weight in counts]

    def _figure(self, value: float) -> str:
        return self.nothing if np.isnan(value) else figure(value)

    def _percent(self, share: float) -> str:
        return self.nothing if np.isnan(share) else percent(share)

    def name_the_classes(self) -> bool:
        """Tell whether the classes and their order can be read off the columns and the leaves."""
        tree, a = self.tree, self.tree.arrays
        predicted = {tree.classes[c] for c in np.unique(a.label[a.kind == LEAF]).tolist() if c >= 0}
        if self.shown and self.listed:
            return len(tree.classes) != 2 or tree.classes[0] in predicted
        return label_order(predicted) == tree.classes


def class_weights(tree: Tree) -> npt.NDArray[np.float64]:
    """Return every node's weight of every class, as a table."""
    a = tree.arrays
    table = np.zeros((len(tree), len(tree.classes)))
    table[_node_of_counts(tree), a.count_class] = a.count_weight
    return table


def predicted_share(tree: Tree) -> npt.NDArray[np.float64]:
    """Return every node's share of the class it predicts; NaN where there are no counts."""
    a, node = tree.arrays, _node_of_counts(tree)
    total = np.bincount(node, a.count_weight, len(tree))
    hit = np.bincount(node, a.count_weight * (a.count_class == a.label[node]), len(tree))
    share = np.full(len(tree), np.nan)
    np.divide(hit, total, out=share, where=total > 0)
    return share


def _node_of_counts(tree: Tree) -> npt.NDArray[np.int64]:
    return np.repeat(np.arange(len(tree)), np.diff(tree.arrays.count_start))


def training_error(tree: Tree) -> float | None:
    """Return the error on the rows the tree was grown on, from its leaves; None when it has seen none.

    Classification: the share of rows whose class is not the one their leaf predicts. Regression: the root
    mean squared error; the mean absolute error for a tree grown by absolute error.
    """
    a = tree.arrays
    leaf = a.kind == LEAF
    weight = a.weight[leaf]
    if not counted(tree) or weight.sum() == 0:
        return None
    if tree.task == "regression":
        absolute = tree.criterion == "absolute_error"
        off = a.impurity[leaf] if absolute else a.spread[leaf] ** 2
        mean = float(np.sum(np.where(weight > 0, off, 0.0) * weight) / weight.sum())
        return mean if absolute else float(np.sqrt(mean))
    if len(a.count_class) == 0:
        return None
    node = _node_of_counts(tree)
    at_leaf = leaf[node]
    wrong = a.count_weight[at_leaf & (a.count_class != a.label[node])]
    return float(wrong.sum() / a.count_weight[at_leaf].sum())


def error_in_words(tree: Tree) -> list[str]:
    """Say the training error; an empty list when there is none to say."""
    error = training_error(tree)
    if error is None:
        return []
    if tree.task == "classification":
        return [f"training error {percent(error)} %"]
    return [f"training {'MAE' if tree.criterion == 'absolute_error' else 'RMSE'} {figure(error)}"]
