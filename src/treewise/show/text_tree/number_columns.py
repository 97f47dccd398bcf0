"""The numbers beside a text tree: which columns there are, and what each node's cells say.

Stands before ``layout.py``, which puts them under each other.

    two classes       rows · the positive class's count · its share in %
    one, or 3 to 6    rows · one count a class
    more              rows · share of the predicted class in %
    regression        rows · standard deviation
    weighted rows     a weight column after rows, and class counts are weights
    by hand           nothing: such a tree has seen no rows

On a narrow page the counts of classes give way first, then the share; the rows stay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from treewise._lib.text import clip, format_count, format_percent, format_rounded, format_share, plural
from treewise.formats.text_format.notation import SHARE, SHARE_OF_PREDICTED, are_values, sort_labels, write_label
from treewise.show.text_tree.condition_text import counted, weighted
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

MOST_COUNTED = 6  # with more classes than this, one column a class would be a table of its own
NARROW = 6  # letters of a class above its share on a narrow page
LONGEST_COMMON = 10  # digits of a column's numbers; past that each is written by itself


class NumberColumns:
    """The columns of numbers of one tree; ``narrow`` leaves out the counts of classes (1), or all but the rows (2)."""

    def __init__(self, tree: Tree, nothing: str = "–", ascii: bool = False, narrow: int = 0) -> None:
        a = tree.arrays
        self.tree, self.nothing, self.ascii = tree, nothing, ascii
        self.rows, self.weight = a.rows.tolist(), a.weight.tolist()
        self.weighted, self.shown = weighted(tree), counted(tree)
        self.regression, self.two = tree.task == "regression", len(tree.classes) == 2
        self.only_rows = narrow > 1
        self.listed = not (self.regression or narrow) and len(tree.classes) <= MOST_COUNTED
        self.share = [] if self.regression else share_of(tree, 1 if self.two else None).tolist()

    @property
    def headings(self) -> list[str]:
        """What stands above the columns; empty when there are none."""
        if not self.shown:
            return []
        return ["rows"] + ["weight"] * self.weighted + ([] if self.only_rows else self._last_headings())

    def _last_headings(self) -> list[str]:
        if self.regression:
            return ["sd"]
        classes = [write_label(label, self.ascii) for label in self.tree.classes]
        if self.two:
            return [classes[1], f"{SHARE} {classes[1]}"] if self.listed else [f"{SHARE} {self._short_positive}"]
        return classes if self.listed else [SHARE_OF_PREDICTED]

    @property
    def _short_positive(self) -> str:
        """The positive class in a narrow column."""
        return clip(write_label(self.tree.classes[1], self.ascii), NARROW, "..." if self.ascii else "…")

    def of(self, nodes: Sequence[int | None]) -> list[list[str]]:
        """Return the cells of some nodes, a row each; a line without a node has none."""
        if not self.shown:
            return [[] for _ in nodes]
        spread = []
        if self.regression:
            a = self.tree.arrays
            spread = alike([math.nan if node is None else float(a.spread[node]) for node in nodes], self.nothing)
        rows: list[list[str]] = []
        for i, node in enumerate(nodes):
            if node is None:
                rows.append([])
                continue
            cells = [format_count(self.rows[node])] + [format_count(self.weight[node])] * self.weighted
            if not self.only_rows:
                cells += [spread[i]] if self.regression else self._of_classes(node)
            rows.append(cells)
        return rows

    def _of_classes(self, node: int) -> list[str]:
        share = self.nothing if math.isnan(self.share[node]) else format_percent(self.share[node])
        counts = [format_count(weight) for weight in class_weights(self.tree, node).tolist()] if self.listed else []
        return [*counts[1:], share] if self.two else counts or [share]

    def name_the_classes(self) -> bool:
        """Tell whether the classes and their order can be read off the columns and the leaves."""
        tree, a = self.tree, self.tree.arrays
        predicted = {tree.classes[c] for c in np.unique(a.label[a.kind == LEAF]).tolist() if c >= 0}
        named = self.two and self._short_positive == write_label(tree.classes[1], self.ascii)
        if self.shown and not self.only_rows and (self.listed or named):
            return not self.two or tree.classes[0] in predicted
        if not self.shown and are_values(tree.classes):
            return False  # without their line they would be taken for values
        return sort_labels(predicted) == tree.classes


def class_weights(tree: Tree, node: int) -> npt.NDArray[np.float64]:
    """Return a node's weight of every class; asked for the nodes that are shown, for all together may be gigabytes.

    >>> from treewise.train.grow import grow
    >>> class_weights(grow({"x": [1, 2, 3], "y": ["a", "b", "b"]}, "y"), 0)
    array([1., 2.])
    """
    a = tree.arrays
    where = slice(a.count_start[node], a.count_start[node + 1])
    weights = np.zeros(len(tree.classes))
    weights[a.count_class[where]] = a.count_weight[where]
    return weights


def share_of(tree: Tree, place: int | None) -> npt.NDArray[np.float64]:
    """Return every node's share of a class, or of the one it predicts (None); NaN where there are no counts."""
    a, node = tree.arrays, _node_of_counts(tree)
    total = np.bincount(node, a.count_weight, len(tree))
    wanted = a.label[node] if place is None else place
    hit = np.bincount(node, a.count_weight * (a.count_class == wanted), len(tree))
    share = np.full(len(tree), np.nan)
    np.divide(hit, total, out=share, where=total > 0)
    return share


def _node_of_counts(tree: Tree) -> npt.NDArray[np.int64]:
    return np.repeat(np.arange(len(tree)), np.diff(tree.arrays.count_start))


def alike(values: Sequence[float], nothing: str = "–") -> list[str]:
    """Write the numbers of a column with as many decimals each: five digits for the largest, three for the smallest.

    >>> alike([524.3712, 2324.6, 0.0, math.nan]), alike([1234.5, -0.5]), alike([4.0, 12.0]), alike([1e-9, 5e7])
    (['524.4', '2,324.6', '0.0', '–'], ['1,234.5', '-0.5'], ['4', '12'], ['1e-09', '50,000,000'])
    """
    decimals, rounded = common_decimals(values), values
    while decimals is not None:
        rounded = [round(value, decimals) for value in values]
        again = common_decimals(rounded)  # 0.09996 has become 0.1, say
        if again is None or again >= decimals:
            break
        decimals = again
    if decimals is None:
        return [nothing if math.isnan(value) else format_rounded(value) for value in values]
    while decimals and all(value != value or round(value, decimals - 1) == value for value in rounded):
        decimals -= 1
    return [nothing if math.isnan(value) else f"{value + 0.0:,.{decimals}f}" for value in rounded]


def common_decimals(values: Sequence[float]) -> int | None:
    """Return how many decimals suit all these numbers; None where they are too different for that."""
    sizes = [abs(value) for value in values if value and not math.isnan(value)] or [1.0]
    if math.inf in sizes:
        return None
    smallest, largest = (math.floor(math.log10(size)) + 1 for size in (min(sizes), max(sizes)))
    decimals = max(0, 3 - smallest, 5 - largest)
    return decimals if max(largest, 1) + decimals <= LONGEST_COMMON else None


def share_between(value: float, low: float, high: float) -> float:
    """Return where a number lies between two others, 0 to 1; NaN where that cannot be said.

    >>> share_between(3.0, 2.0, 4.0), share_between(9.0, 2.0, 4.0), share_between(0.0, -1.7e308, 1.7e308)
    (0.5, 1.0, 0.5)
    """
    if not low < high or math.isnan(value):
        return math.nan
    return min(max((value / 2 - low / 2) / (high / 2 - low / 2), 0.0), 1.0)  # half of each: the whole may be too large


def value_range(tree: Tree) -> tuple[float, float]:
    """Return between which two numbers a regression's means lie, with a standard deviation to either side.

    >>> from treewise.train.grow import grow
    >>> value_range(grow({"x": [1, 2], "y": [1.5, 3.5]}, "y", task="regression"))
    (1.5, 3.5)
    """
    a = tree.arrays
    ends = np.concatenate([a.value - a.spread, a.value + a.spread])
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


# -- the training error -------------------------------------------------------------------------------------


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
    wrong, total = weight_wrong(tree)
    return wrong / total if total else None


def weight_wrong(tree: Tree) -> tuple[float, float]:
    """Return the weight that the leaves predict wrongly, and all weight they have."""
    a, node = tree.arrays, _node_of_counts(tree)
    at_leaf = (a.kind == LEAF)[node]
    wrong = a.count_weight[at_leaf & (a.count_class != a.label[node])]
    return float(wrong.sum()), float(a.count_weight[at_leaf].sum())


def error_in_words(tree: Tree) -> list[str]:
    """Say the training error, and how much that is where the percentage cannot say it; an empty list for none."""
    error = training_error(tree)
    if error is None:
        return []
    what = "weighted training" if weighted(tree) else "training"
    if tree.task == "regression":
        return [f"{what} {'MAE' if tree.criterion == 'absolute_error' else 'RMSE'} {format_rounded(error)}"]
    said = format_share(error)
    if said != "<0.1":
        return [f"{what} error {said} %"]
    wrong, total = weight_wrong(tree)
    much = f"{format_count(wrong)} of {plural(int(total), 'row')}"
    if weighted(tree):
        much = f"weight {format_count(wrong)} of {format_count(total)}"
    return [f"{what} error {said} % ({much})"]
