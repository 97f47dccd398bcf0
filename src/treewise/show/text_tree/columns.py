"""The columns beside a text tree: counts and shares of each node, and bars of its class distribution.

    two classes       rows · count of the positive class · its share in %
    one, or 3 to 6    rows · one count per class
    more              rows · share of the predicted class in %
    regression        rows · standard deviation
    weighted rows     a weight column after rows, and class counts are weights
    selection="test"  a p-value after rows and weight
    by hand           nothing: such a tree has no training rows

On a narrow page the class counts are dropped first, then the share; the rows stay. Bars, on request:

    ██████████▓▓    classification: shares of the classes, each with its own shade and, on a terminal, colour
    ··▒▒▒█▒▒▒···    regression: the mean on the scale of the tree, with one standard deviation to either side
    ··▁▂▅█▇▃▁···    regression with rows at hand: a histogram of the target values
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from treewise._lib.text import clip, display_width, format_count, format_p_value, format_percent, format_rounded
from treewise.formats.text_format.notation import (
    P_VALUE,
    SHARE,
    SHARE_OF_PREDICTED,
    are_values,
    sort_labels,
    write_label,
)
from treewise.show.node_stats import (
    NodeSamples,
    class_shares,
    class_weights,
    has_training_rows,
    is_weighted,
    value_range,
)
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

BAR_WIDTH = 12
_MAX_COUNTED_CLASSES = 6  # with more, one column per class would be too wide
_NARROW_CLASS_WIDTH = 6  # of the positive class's name above its share on a narrow page
_MAX_BAR_CLASS_WIDTH = 24  # of a class name in the heading of the bars
_MAX_COMMON_DIGITS = 10  # of numbers with a common number of decimals; past that each is formatted by itself

_TWO_SHADES, _SHADES = "░█", "█▓▒░"  # with two classes the second, whose share is printed, is the dark one
_ASCII_TWO_SHADES, _ASCII_SHADES = ".#", "#+=-"
_HEIGHTS, _ASCII_HEIGHTS = "·▁▂▃▄▅▆▇█", "-.:=+*%#"  # of a histogram, from no row up
Paint = Callable[[str, int], str]  # colours a text by the index of a class


class NumberColumns:
    """The columns of numbers of one tree; ``narrow`` leaves out the class counts (1), or all but the rows (2)."""

    def __init__(self, tree: Tree, blank: str = "–", ascii: bool = False, narrow: int = 0) -> None:
        a = tree.arrays
        self.tree, self.blank, self.ascii = tree, blank, ascii
        self.rows, self.weight = a.rows.tolist(), a.weight.tolist()
        self.is_weighted, self.has_rows = is_weighted(tree), has_training_rows(tree)
        self.is_regression, self.has_two_classes = tree.task == "regression", len(tree.classes) == 2
        self.only_rows = narrow > 1
        self.p_value = a.p_value.tolist()
        self.is_tested = bool(self.p_value) and not self.only_rows
        self.has_counts = not (self.is_regression or narrow) and len(tree.classes) <= _MAX_COUNTED_CLASSES
        self.share = [] if self.is_regression else class_shares(tree, 1 if self.has_two_classes else None).tolist()

    @property
    def headings(self) -> list[str]:
        """The headings of the columns; empty when there are none."""
        if not self.has_rows:
            return []
        beside_rows = ["weight"] * self.is_weighted + [P_VALUE] * self.is_tested
        return ["rows", *beside_rows, *([] if self.only_rows else self._target_headings())]

    def _target_headings(self) -> list[str]:
        if self.is_regression:
            return ["sd"]
        classes = [write_label(label, self.ascii) for label in self.tree.classes]
        if self.has_two_classes:
            return [classes[1], f"{SHARE} {classes[1]}"] if self.has_counts else [f"{SHARE} {self._short_positive}"]
        return classes if self.has_counts else [SHARE_OF_PREDICTED]

    @property
    def _short_positive(self) -> str:
        return clip(write_label(self.tree.classes[1], self.ascii), _NARROW_CLASS_WIDTH, "..." if self.ascii else "…")

    def cells(self, nodes: Sequence[int | None]) -> list[list[str]]:
        """Return the cells of some nodes, one row each; a line without a node has none."""
        if not self.has_rows:
            return [[] for _ in nodes]
        spread = []
        if self.is_regression:
            a = self.tree.arrays
            spreads = [math.nan if node is None else float(a.spread[node]) for node in nodes]
            spread = format_column(spreads, self.blank, large_digits=3, small_digits=2)
        rows: list[list[str]] = []
        for i, node in enumerate(nodes):
            if node is None:
                rows.append([])
                continue
            cells = [format_count(self.rows[node])] + [format_count(self.weight[node])] * self.is_weighted
            if self.is_tested:
                cells.append(self.blank if math.isnan(self.p_value[node]) else format_p_value(self.p_value[node]))
            if not self.only_rows:
                cells += [spread[i]] if self.is_regression else self._class_cells(node)
            rows.append(cells)
        return rows

    def _class_cells(self, node: int) -> list[str]:
        share = self.blank if math.isnan(self.share[node]) else format_percent(self.share[node])
        counts = [format_count(weight) for weight in class_weights(self.tree, node).tolist()] if self.has_counts else []
        return [*counts[1:], share] if self.has_two_classes else counts or [share]

    def identify_classes(self) -> bool:
        """Return whether the classes and their order can be read off the columns and the leaves."""
        tree, a = self.tree, self.tree.arrays
        predicted = {tree.classes[c] for c in np.unique(a.label[a.kind == LEAF]).tolist() if c >= 0}
        names_positive = self.has_two_classes and self._short_positive == write_label(tree.classes[1], self.ascii)
        if self.has_rows and not self.only_rows and (self.has_counts or names_positive):
            return not self.has_two_classes or tree.classes[0] in predicted
        if not self.has_rows and are_values(tree.classes):
            return False  # without the line that lists them, they would be taken for values
        return sort_labels(predicted) == tree.classes


def format_column(values: Sequence[float], blank: str = "–", large_digits: int = 5, small_digits: int = 3) -> list[str]:
    """Format numbers with the same decimals: ``large_digits`` for the largest, ``small_digits`` for the smallest.

    >>> format_column([524.3712, 2324.6, 0.0, math.nan]), format_column([1234.5, -0.5])
    (['524.4', '2,324.6', '0.0', '–'], ['1,234.5', '-0.5'])
    >>> format_column([524.3712, 2324.6], large_digits=3, small_digits=2)
    ['524', '2,325']
    >>> format_column([4.0, 12.0]), format_column([1e-9, 5e7])
    (['4', '12'], ['1e-09', '50,000,000'])
    """
    decimals, rounded = common_decimals(values, large_digits, small_digits), values
    while decimals is not None:
        rounded = [round(value, decimals) for value in values]
        again = common_decimals(rounded, large_digits, small_digits)  # 0.09996 rounds to 0.1, for example
        if again is None or again >= decimals:
            break
        decimals = again
    if decimals is None:
        return [blank if math.isnan(value) else format_rounded(value) for value in values]
    while decimals and all(math.isnan(value) or round(value, decimals - 1) == value for value in rounded):
        decimals -= 1
    return [blank if math.isnan(value) else f"{value + 0.0:,.{decimals}f}" for value in rounded]


def common_decimals(values: Sequence[float], large_digits: int = 5, small_digits: int = 3) -> int | None:
    """Return the decimals for ``large_digits`` of the largest number and ``small_digits`` of the smallest.

    None where their magnitudes differ too much.
    """
    sizes = [abs(value) for value in values if value and not math.isnan(value)] or [1.0]
    if math.inf in sizes:
        return None
    smallest, largest = (math.floor(math.log10(size)) + 1 for size in (min(sizes), max(sizes)))
    decimals = max(0, small_digits - smallest, large_digits - largest)
    return decimals if max(largest, 1) + decimals <= _MAX_COMMON_DIGITS else None


# -- bars ---------------------------------------------------------------------------------------------------


def unpainted(text: str, _: int) -> str:
    """Leave a text uncoloured: in a pipe, in a file, with NO_COLOR."""
    return text


class DistributionBars:
    """The bars of one tree."""

    def __init__(
        self, tree: Tree, ascii: bool = False, paint: Paint = unpainted, samples: NodeSamples | None = None
    ) -> None:
        self.tree, self.ascii, self.paint = tree, ascii, paint
        self.has_rows = has_training_rows(tree)
        self.is_regression = tree.task == "regression"
        two = len(tree.classes) == 2
        self.shades = (_ASCII_TWO_SHADES if two else _ASCII_SHADES) if ascii else (_TWO_SHADES if two else _SHADES)
        self.outside, self.inside, self.mean = "-=#" if ascii else "·▒█"
        self.range = value_range(tree) if self.is_regression else (0.0, 1.0)
        self.samples = samples if self.is_regression else None
        if self.samples is not None:
            self.range = self.samples.value_range
        self.heights = _ASCII_HEIGHTS if ascii else _HEIGHTS

    @property
    def heading(self) -> str:
        """The key to the shades."""
        return self._key(self.paint)

    @property
    def heading_width(self) -> int:
        """The display width of the heading."""
        return display_width(self._key(unpainted))

    def _key(self, paint: Paint) -> str:
        if self.is_regression:
            low, high = map(format_rounded, self.range)
            sample = self.inside + self.mean + self.inside
            if self.samples is not None:
                sample = self.heights[2] + self.heights[-2] + self.heights[2]
            return f"{low} {sample} {high}"
        ellipsis, classes = "..." if self.ascii else "…", self.tree.classes[: self._n_shaded]
        labels = [clip(write_label(label, self.ascii), _MAX_BAR_CLASS_WIDTH, ellipsis) for label in classes]
        entries = [f"{paint(self.shades[i], i)} {label}" for i, label in enumerate(labels)]
        if len(self.tree.classes) > self._n_shaded:
            entries.append(f"{self.outside} others")
        return "  ".join(entries)

    @property
    def _n_shaded(self) -> int:
        return min(len(self.shades), len(self.tree.classes))

    def bar(self, node: int | None) -> str:
        """Return the bar of a node, empty for a line without a node or a node without rows.

        >>> import treewise as tw
        >>> bars = DistributionBars(tw.grow("penguins", max_leaf_nodes=4))
        >>> bars.bar(0), bars.bar(2), bars.heading
        ('█████▓▓▓▒▒▒▒', '████████████', '█ Adelie  ▓ Chinstrap  ▒ Gentoo')
        """
        if node is None or not self.has_rows:
            return ""
        if self.samples is not None:
            return self._histogram(node, self.samples)
        return self._mean_bar(node) if self.is_regression else self._class_bar(node)

    def _histogram(self, node: int, samples: NodeSamples) -> str:
        counts = samples.histogram(node, BAR_WIDTH)
        if not counts.any():
            return ""
        tallest = len(self.heights) - 1
        return "".join(self.heights[math.ceil(tallest * n / int(counts.max()))] for n in counts.tolist())

    def _class_bar(self, node: int) -> str:
        weights = class_weights(self.tree, node)
        if not weights.any():
            return ""
        cells = apportion(weights / weights.sum(), BAR_WIDTH)
        shaded = "".join(self.paint(self.shades[i] * cells[i], i) for i in range(self._n_shaded) if cells[i])
        return shaded + self.outside * sum(cells[self._n_shaded :])

    def _mean_bar(self, node: int) -> str:
        a, (low, high) = self.tree.arrays, self.range
        value, spread = float(a.value[node]), float(a.spread[node])
        positions = [relative_position(v, low, high) * BAR_WIDTH for v in (value - spread, value, value + spread)]
        if not a.rows[node] or any(map(math.isnan, positions)):
            return ""
        first, mean, last = (min(int(position), BAR_WIDTH - 1) for position in positions)
        cells = [self.inside if first <= i <= last else self.outside for i in range(BAR_WIDTH)]
        cells[mean] = self.mean
        return "".join(cells)


def relative_position(value: float, low: float, high: float) -> float:
    """Return where a number lies between two bounds, from 0 to 1; NaN where that is undefined.

    >>> relative_position(3.0, 2.0, 4.0), relative_position(9.0, 2.0, 4.0), relative_position(0.0, -1.7e308, 1.7e308)
    (0.5, 1.0, 0.5)
    """
    if not low < high or math.isnan(value):
        return math.nan
    return min(max((value / 2 - low / 2) / (high / 2 - low / 2), 0.0), 1.0)  # halves: high − low may overflow


def apportion(shares: npt.NDArray[np.float64], n_cells: int) -> list[int]:
    """Divide cells by shares, with the largest-remainder method.

    >>> apportion(np.array([0.5, 0.3, 0.2]), 4), apportion(np.array([1.0, 0.0]), 4)
    ([2, 1, 1], [4, 0])
    """
    exact = shares * n_cells
    cells = np.floor(exact).astype(int)
    n_left = n_cells - int(cells.sum())
    for i in np.argsort(-(exact - cells), kind="stable")[:n_left]:
        cells[i] += 1
    return [int(n) for n in cells]
