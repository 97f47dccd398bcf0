"""Samples of a known distribution, for which the true error of a tree can be computed exactly.

The ID3 notes define the true error of a prediction rule h as Pr(h(x) != y)
over the distribution D that rows are drawn from. Here D is finite: the columns x1, …, xd are uniform on a
grid of cells, and in each cell y is 1 with a known probability. The true error is one sum over the cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from treewise.data.table import Column, Table
from treewise.errors import ParameterError


class _SupportsPredict(Protocol):
    """Anything that predicts the classes 0 and 1 for the rows of a table, as a tree does."""

    def predict(self, data: Any, /) -> Sequence[Any] | npt.NDArray[Any]:
        """Return one class per row."""
        ...


@dataclass(frozen=True, eq=False)
class Sampler:
    """A distribution of tables: uniform over the cells of a grid, with P(y = 1) given for each.

    ``rate[i, j]`` is P(y = 1 | x1 = i, x2 = j); with any number of dimensions.

    >>> coin = Sampler(np.array([0.25, 0.75]))           # x1 is 0 or 1, and y follows it three times of four
    >>> coin.sample(5, seed=1)["x1"].values.shape
    (5,)
    >>> coin.true_error(lambda table: table["x1"].values)
    0.25
    >>> coin.true_error(lambda table: [0] * len(table))
    0.5
    """

    rate: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.rate.ndim == 0 or self.rate.size == 0 or not ((self.rate >= 0) & (self.rate <= 1)).all():
            raise ParameterError("rate must hold at least one cell, and probabilities from 0 to 1.")

    def sample(self, n: int, seed: int = 0) -> Table:
        """Draw n rows; the same seed draws the same rows."""
        if n < 1:
            raise ParameterError("must be 1 or more rows.", parameter="n", value=n)
        rng = np.random.default_rng(seed)
        cell = rng.integers(self.rate.size, size=n)
        y = rng.random(n) < self.rate.ravel()[cell]
        return self._table(cell, f"{n} rows drawn with seed {seed}", y)

    def cells(self) -> Table:
        """Return every cell once, without the target."""
        return self._table(np.arange(self.rate.size), "every cell of the grid once")

    def true_error(self, rule: _SupportsPredict | Callable[[Table], Sequence[Any] | npt.NDArray[Any]]) -> float:
        """Return Pr(h(x) != y) of a tree, or of any function from a table to classes 0 and 1."""
        cells = self.cells()
        predicted = np.asarray(rule.predict(cells) if hasattr(rule, "predict") else rule(cells))
        if predicted.shape != (self.rate.size,) or not np.isin(predicted, (0, 1)).all():
            raise ParameterError(f"the rule must return 0 or 1 for each of the {self.rate.size} cells.")
        rate = self.rate.ravel()
        return math.fsum(np.where(predicted == 1, 1 - rate, rate)) / self.rate.size

    @property
    def least_error(self) -> float:
        """The Bayes error: that of predicting the likelier class in each cell."""
        return math.fsum(np.minimum(self.rate, 1 - self.rate).ravel()) / self.rate.size

    def _table(self, cell: npt.NDArray[np.int64], title: str, y: npt.NDArray[Any] | None = None) -> Table:
        values = {f"x{i + 1}": at for i, at in enumerate(np.unravel_index(cell, self.rate.shape))}
        if y is not None:
            values["y"] = y
        columns = {name: Column(name, "int", v.astype(np.int64)) for name, v in values.items()}
        return Table("noisy", columns, len(cell), target=None if y is None else "y", title=title)


def sampler(noise: float = 0.1, size: int = 32) -> Sampler:
    """Return a distribution of four rectangles on a size × size grid, labels flipped with probability ``noise``.

        x2 ▲ 1 │ 0
           │ 1 │ 0         left half: 1 above the middle
           │ 0 │ 0         right half: 1 in the lowest quarter
           │ 0 │ 1
           └───┴───▶ x1    four leaves represent it; no rule errs less than ``noise``

    >>> world = sampler(noise=0.125)
    >>> world.least_error, world.true_error(lambda table: [0] * len(table))
    (0.125, 0.40625)
    """
    if not 0 <= noise <= 0.5:
        raise ParameterError("the share of wrong labels must be from 0 to 0.5.", parameter="noise", value=noise)
    if size < 4 or size % 4:
        raise ParameterError(
            "must be a multiple of 4, so that the regions consist of whole cells.", parameter="size", value=size
        )
    x1, x2 = np.indices((size, size))
    truth = np.where(x1 < size // 2, x2 >= size // 2, x2 < size // 4)
    return Sampler(np.where(truth, 1 - noise, noise))


def noisy(n: int = 200, noise: float = 0.1, seed: int = 0, size: int = 32) -> Table:
    """Draw a table from ``sampler(noise, size)``, which computes the true error of its trees.

    >>> noisy(300, noise=0.2, seed=7).n_rows
    300
    """
    return sampler(noise, size).sample(n, seed)
