"""Quantiles of leaves: the spread of the rows in a leaf, instead of their mean.

``Tree.predict_quantiles`` and ``treewise predict --quantiles`` come here. A tree contains no rows, so the table is
given again: the training rows or, for figures that hold for new rows, others. The q-quantile of a leaf is the smallest
target y such that rows of at least the share q of its weight have targets up to y; if the share is exactly q, the mean
of y and the next target (so that the 0.5-quantile is the median of ``absolute_error``).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import decimal_fraction
from treewise.errors import Call, ParameterError
from treewise.predict.predict import find_leaves, subtree_sizes
from treewise.train.grow import prepare_like
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def predict_quantiles(tree: Tree, data: Any, table: Any, quantiles: Sequence[float], sample_weight: Any) -> Floats:
    """Return the quantiles of each row's leaf: rows × quantiles; for a single row, one number per quantile."""
    rows = tree.encode(data)
    quantiles_of_rows = leaf_quantiles(tree, tree.leaves(rows), table, quantiles, sample_weight)
    return quantiles_of_rows[0] if rows.single else quantiles_of_rows


def leaf_quantiles(
    tree: Tree, leaves: npt.NDArray[Any], table: Any, quantiles: Sequence[float], sample_weight: Any = None
) -> Floats:
    """Return the quantiles of leaves, counted on the rows of a table: leaves × quantiles.

    A leaf that no row of the table reaches answers with the nearest node above that some reach.
    """
    shares = _check_quantiles(quantiles)
    if tree.task == "classification":
        raise ParameterError("classes have no quantiles.", hint="Use " + Call("predict_proba") + ".")
    training_set = prepare_like(tree, table, sample_weight)
    leaf_of_row = find_leaves(tree, training_set.columns, len(training_set))
    order = np.lexsort((training_set.raw, leaf_of_row))
    start, size = np.searchsorted(leaf_of_row[order], np.arange(len(tree) + 1)), subtree_sizes(tree)
    reached, inverse = np.unique(leaves, return_inverse=True)
    result = np.empty((len(reached), len(shares)))
    for i, node in enumerate(reached.tolist()):
        while node > 0 and start[node] == start[node + size[node]]:
            node = int(tree.arrays.parent[node])
        below = order[start[node] : start[node + size[node]]]
        result[i] = weighted_quantiles(training_set.raw[below], training_set.weight[below], shares)
    return result[inverse]


def weighted_quantiles(values: Floats, weights: Ints, shares: Sequence[Fraction]) -> list[float]:
    """Return the quantiles of weighted numbers, exactly: weights are integers and shares fractions.

    >>> weighted_quantiles(np.array([4.0, 1.0, 2.0, 3.0]), np.ones(4, np.int64), [Fraction(1, 2), Fraction(9, 10)])
    [2.5, 4.0]
    """
    order = np.argsort(values, kind="stable")
    ascending, cumulated = values[order], np.cumsum(weights[order])
    quantiles = []
    for share in shares:
        target = share * int(cumulated[-1])
        first = int(np.searchsorted(cumulated, -(-target.numerator // target.denominator)))
        last = min(first, len(ascending) - 1)
        upper = min(last + 1, len(ascending) - 1) if cumulated[last] == target else last
        quantiles.append(float(ascending[last] / 2 + ascending[upper] / 2))
    return quantiles


def _check_quantiles(quantiles: Any) -> list[Fraction]:
    levels = [quantiles] if isinstance(quantiles, int | float) else list(quantiles)
    for quantile in levels:
        if isinstance(quantile, bool) or not isinstance(quantile, int | float | np.number) or not 0 <= quantile <= 1:
            raise ParameterError("must be numbers from 0 to 1.", parameter="quantiles", value=quantile)
    return [decimal_fraction(float(quantile)) for quantile in levels]
