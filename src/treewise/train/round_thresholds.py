"""Round the thresholds of a tree to numbers that people use, moving no training row, or few of each node.

A threshold t between neighbouring values a and b of a node's rows separates them as well anywhere in [a, b). The
roundest number there replaces it: a multiple of 1000, else of 500, 100, 50, 10 and so on, the nearest to t. What is
shown is then what is tested, everywhere: in text, files, exports and SQL.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural
from treewise.errors import ParameterError
from treewise.predict.predict import find_leaves
from treewise.train.constraints import note_broken_order
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import THRESHOLD
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]

_CONTEXT = Context(prec=60)
_FINEST = 17  # decimal digits after the first: those of a double


def read_share(given: Any) -> float | None:
    """Read ``round_thresholds``: False or None for no rounding, True or the share of a node's rows that may move.

    >>> read_share(True), read_share(0.01), read_share(False)
    (0.0, 0.01, None)
    """
    if given is None or given is False:
        return None
    if given is True:
        return 0.0
    if not isinstance(given, int | float) or not 0 <= given < 0.5:
        raise ParameterError(
            "must be True, or the share of a node's rows that may change branch, such as 0.01.",
            parameter="round_thresholds",
            value=given,
        )
    return float(given)


def round_thresholds(tree: Tree, training_set: TrainingSet, share: float = 0.0) -> Tree:
    """Round the thresholds on numbers; at each node at most ``share`` of its rows change branch."""
    if share and tree.fit_info.honest is not None:
        raise ParameterError(
            "an honest tree keeps its rows where they are.", parameter="round_thresholds", hint="Give True."
        )
    a = tree.arrays
    leaves = find_leaves(tree, training_set.columns, len(training_set))
    cut = a.cut.copy()
    for node, values in _values_at_thresholds(tree, training_set, leaves):
        cut[node] = _round_cut(float(cut[node]), values, share)
    changed = int(np.count_nonzero(cut != a.cut))
    if not changed:
        return tree
    cut.flags.writeable = False
    rounded = replace(tree, arrays=replace(a, cut=cut))
    moved = int(np.count_nonzero(find_leaves(rounded, training_set.columns, len(training_set)) != leaves))
    step: dict[str, Any] = {"did": "round_thresholds", "options": {"changed": changed, "moved_rows": moved}}
    if not moved:
        return replace(rounded, history=(*tree.history, HistoryStep(step)))
    from treewise.train.edit import estimate

    estimated = estimate(rounded, training_set, step)
    rows = f"{moved:,} of {plural(len(training_set), 'training row')}"
    note = f"rounded thresholds send {rows} to another leaf; every node was counted again"
    notes = (*tree.notes, note, *note_broken_order(estimated))
    return replace(estimated, notes=notes, quartiles=tree.quartiles)


def _values_at_thresholds(
    tree: Tree, training_set: TrainingSet, leaves: npt.NDArray[np.int64]
) -> Iterator[tuple[int, Floats]]:
    """Yield each node with a threshold on a number, and the sorted values of its rows."""
    a = tree.arrays
    end = np.arange(1, len(tree) + 1)  # of the subtree of each node
    for node in range(len(tree) - 1, 0, -1):
        end[a.parent[node]] = max(end[a.parent[node]], end[node])
    order = np.argsort(leaves, kind="stable")
    first = np.searchsorted(leaves[order], np.arange(len(tree) + 1))
    for node in np.flatnonzero(a.kind == THRESHOLD).tolist():
        column = int(a.column[node])
        if tree.encodings[column].kind != "number" or not math.isfinite(a.cut[node]):
            continue
        rows = order[first[node] : first[end[node]]]
        values = training_set.columns[column][rows].astype(np.float64)
        values = np.sort(values[np.isfinite(values)])
        if len(values):
            yield node, values


def _round_cut(cut: float, values: Floats, share: float) -> float:
    """Return the roundest threshold that moves at most a share of the sorted values; the same one if there is none.

    >>> values = np.array([31.0, 38.0, 42.0, 43.0, 58.0])
    >>> _round_cut(42.5, values, 0.0), _round_cut(50.5, values, 0.0), _round_cut(42.5, values, 0.3)
    (42.0, 50.0, 50.0)
    """
    n_left, allowed = int(np.searchsorted(values, cut, side="right")), int(share * len(values))
    if not 0 < n_left < len(values):
        return cut
    low, high = values[max(0, n_left - 1 - allowed)], values[min(len(values) - 1, n_left + allowed)]
    return _roundest(float(low), float(high), cut)


@dataclass(frozen=True)
class _Multiples:
    """The multiples of a round number: 1, 5 times a power of ten."""

    size: Decimal

    def nearest(self, low: Decimal, high: Decimal, cut: Decimal) -> float | None:
        """Return the multiple in [low, high) that is nearest to a number; None if there is none."""
        first = _CONTEXT.divide(low, self.size).to_integral_value(ROUND_CEILING)
        last = _CONTEXT.divide(high, self.size).to_integral_value(ROUND_CEILING) - 1
        if first > last:
            return None
        middle = _CONTEXT.divide(cut, self.size).to_integral_value()
        return float(_CONTEXT.multiply(min(max(first, middle), last), self.size))


def _roundest(low: float, high: float, cut: float) -> float:
    """Return the roundest number in [low, high), the nearest to the threshold among equally round ones.

    >>> _roundest(2, 3, 2.5), _roundest(45_210.4, 49_446.6, 47_328.5), _roundest(-3.0, 4.0, 0.5)
    (2.0, 47000.0, 0.0)
    >>> _roundest(41.0, 49.0, 45.0), _roundest(0.125, 0.126, 0.1255)
    (45.0, 0.125)
    """
    if low <= 0 < high:
        return 0.0
    exact_low, exact_high, exact_cut = (Decimal(value) for value in (low, high, cut))
    largest = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for exponent in range(largest, largest - _FINEST, -1):
        for multiple in (5, 1) if exponent < largest else (1,):
            rounded = _Multiples(Decimal(multiple).scaleb(exponent)).nearest(exact_low, exact_high, exact_cut)
            if rounded is not None and low <= rounded < high:
                return rounded + 0.0
    return cut
