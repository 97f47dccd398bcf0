"""The lower and the upper quartile of each numeric column: what a tree keeps of how its columns spread.

Stands above ``training_set``; growth and re-estimation put them into the tree, and the nearest change that would alter a
decision measures by them (``explain/row_explanation``). The lower quartile is the smallest value such that the rows with values up
to it have at least a quarter of the weight, the upper one three quarters; rows in which the column is missing are left
out. So they are values of the table, the same for any order of rows, and a row of weight 2 is two rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treewise import _core
from treewise.data.encoding import Encoding
from treewise.train.training_set import TrainingSet

Quartiles = dict[str, tuple[float, float]]  # whole numbers for the kinds that are compared as such


def quartiles_of(training_set: TrainingSet) -> Quartiles:
    """Return the quartiles of every column of numbers or datetimes that has a value, by name.

    >>> from treewise.train.grow import prepare
    >>> quartiles_of(prepare({"x": [3, 1, 2, 4, None], "c": list("abcde"), "y": [0, 1, 0, 1, 0]}, "y"))
    {'x': (1.0, 3.0)}
    """
    columns = [
        _core.Column(values, len(encoding.levels))
        for encoding, values in zip(training_set.encodings, training_set.columns, strict=True)
    ]
    return quartiles_by_name(training_set.encodings, _core.quartiles(columns, training_set.weight))


def quartiles_by_name(encodings: Sequence[Encoding], found: Iterable[tuple[float, float] | None]) -> Quartiles:
    """Return what the core found in each column by the column's name, without those that have none."""
    return {encoding.name: ends for encoding, ends in zip(encodings, found, strict=True) if ends is not None}
