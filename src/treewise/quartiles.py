"""The lower and the upper quartile of each numeric column: what a tree keeps of how its columns spread.

Stands above ``problem``; growth and re-estimation put them into the tree, and the nearest change that would alter a
decision measures by them (``explain/row``). The lower quartile is the smallest value such that the rows with values up
to it have at least a quarter of the weight, the upper one three quarters; rows in which the column is missing are left
out. So they are values of the table, the same for any order of rows, and a row of weight 2 is two rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import encode
from treewise.encode import Encoding
from treewise.problem import Problem

Quartiles = dict[str, tuple[float, float]]  # whole numbers for the kinds that are compared as such


def quartiles_of(problem: Problem) -> Quartiles:
    """Return the quartiles of every column of numbers or datetimes that has a value, by name.

    >>> from treewise.growth import problem_for
    >>> quartiles_of(problem_for({"x": [3, 1, 2, 4, None], "c": list("abcde"), "y": [0, 1, 0, 1, 0]}, "y"))
    {'x': (1.0, 3.0)}
    """
    alike = (
        not len(problem.weight) or problem.weight.strides[0] == 0 or bool((problem.weight == problem.weight[0]).all())
    )
    found: Quartiles = {}
    for encoding, values in zip(problem.encodings, problem.columns, strict=True):
        if encoding.categorical:
            continue
        there = ~encode.is_missing(encoding, values)
        whole = bool(there.all())
        present = values if whole else values[there]
        if not len(present):
            continue
        weight = None if alike else problem.weight if whole else problem.weight[there]
        low, high = of_equals(present) if weight is None else of_weighted(present, weight)
        found[encoding.name] = as_numbers(encoding, low, high)
    return found


def as_numbers(encoding: Encoding, low: Any, high: Any) -> tuple[float, float]:
    """Return two values of a column as Python's numbers, of the type that its cuts have."""
    if encoding.kind == "number":
        return float(low) + 0.0, float(high) + 0.0  # -0.0 is 0.0
    return int(low), int(high)


def of_equals(values: npt.NDArray[Any]) -> tuple[Any, Any]:
    """Return the quartiles of values that all weigh the same.

    >>> of_equals(np.array([5.0, 1.0, 4.0, 2.0, 3.0]))
    (np.float64(2.0), np.float64(4.0))
    """
    places = [-(-len(values) // 4) - 1, -(-3 * len(values) // 4) - 1]
    sorted_there = np.partition(values, places)
    return sorted_there[places[0]], sorted_there[places[1]]


def of_weighted(values: npt.NDArray[Any], weight: npt.NDArray[np.int64]) -> tuple[Any, Any]:
    """Return the quartiles of weighted values, in whole numbers.

    >>> of_weighted(np.array([1.0, 2.0, 3.0]), np.array([1, 1, 6]))
    (np.float64(2.0), np.float64(3.0))
    """
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weight[order])
    total = int(up_to[-1])
    low, high = np.searchsorted(up_to, [-(-total // 4), -(-3 * total // 4)])
    return values[order[low]], values[order[high]]
