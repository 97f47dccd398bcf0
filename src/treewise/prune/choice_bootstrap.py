"""Bootstrap of the choice of a size: how the loss of the chosen size varies with the held-out rows that choose it.

BBC-CV (Tsamardinos, Greasidou and Borboudakis 2018): the held-out losses are those of trees that are grown already, so
a bootstrap sample of the rows costs no further tree. Each sample chooses a size by the rule, which is evaluated on the
rows that are not in the sample. The rows of a large table are sampled in blocks, and of its many sizes only some are
candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewise.prune.decision import Floats, Ints
from treewise.prune.penalty_path import PenaltyPath
from treewise.train.folds import Folds

EQUAL = 1 + 1e-12  # losses nearer than this are equal
_SAMPLES = 1000
_MOST_BLOCKS = 200
_MOST_SIZES = 100


@dataclass(frozen=True, eq=False)
class BlockLosses:
    """Sums of held-out losses by block of rows: blocks × sizes, from the largest tree to the smallest."""

    block: Ints  # of each row
    sizes: Ints  # indices of the sizes that the samples choose from
    loss: Floats
    weight: Floats  # per block

    @classmethod
    def of(cls, folds: Folds, groups: Ints | None, n_rows: int, n_sizes: int, seed: int) -> BlockLosses | None:
        """Return empty sums; None in order of time, where blocks would depend on each other.

        A block is a row, or whole groups; where there are too many of them, they share blocks at random.
        """
        if folds.kind == "time":
            return None
        units = np.arange(n_rows) if groups is None else groups
        n_units = int(units.max()) + 1
        order = np.random.default_rng(seed).permutation(n_units) if n_units > _MOST_BLOCKS else np.arange(n_units)
        n_blocks = min(n_units, _MOST_BLOCKS)
        indices = np.unique(np.geomspace(1, n_sizes, _MOST_SIZES).round().astype(np.int64))
        sizes = np.sort(n_sizes - indices)  # closer together among small trees
        return cls(order[units] % n_blocks, sizes, np.zeros((n_blocks, len(sizes))), np.zeros(n_blocks))

    def add(self, path: PenaltyPath, rows: Ints, weight: Floats, n_sizes: int) -> None:
        """Add the losses of the held-out rows of a fold."""
        block, n_blocks, width = self.block[rows], len(self.weight), len(self.sizes) + 1
        self.weight[:] += np.bincount(block, weight, n_blocks)
        changes, start = np.zeros(n_blocks * width), np.zeros(len(rows), np.int64)
        while len(path.rows):
            amount, at = path.loss * weight[path.rows], block[path.rows] * width
            for sign, index in ((1.0, start), (-1.0, path.stop)):
                changes += np.bincount(at + np.searchsorted(self.sizes, index), sign * amount, n_blocks * width)
            kept = path.stop < n_sizes
            start = path.stop[kept]
            path.keep(kept)
            path.climb()
        self.loss[:] += np.cumsum(changes.reshape(n_blocks, width), axis=1)[:, :-1]

    def add_losses(self, losses: Floats, rows: Ints, weight: Floats) -> None:
        """Add the losses of the held-out rows of a fold, rows × sizes."""
        block, n_blocks = self.block[rows], len(self.weight)
        self.weight[:] += np.bincount(block, weight, n_blocks)
        for i, size in enumerate(self.sizes.tolist()):
            self.loss[:, i] += np.bincount(block, weight * losses[:, size], n_blocks)

    def sample_losses(self, rule: str) -> Floats:
        """Return for each bootstrap sample the loss of the size that it chooses, on the blocks outside it."""
        n_blocks = len(self.weight)
        rng = np.random.default_rng(0)
        times = rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), _SAMPLES).astype(np.float64)
        is_outside = (times == 0).astype(np.float64)
        outside = is_outside @ self.weight
        usable = (outside > 0) & (times @ self.weight > 0)
        times, is_outside, outside = times[usable], is_outside[usable], outside[usable]
        weight = (times @ self.weight)[:, None]
        mean = times @ self.loss / weight
        cross = self.loss * self.weight[:, None]
        squares = times @ self.loss**2 - 2 * mean * (times @ cross) + mean**2 * (times @ self.weight**2)[:, None]
        chosen = choose_size(mean, np.sqrt(np.maximum(squares, 0.0)) / weight, rule)
        picked: Floats = (is_outside @ self.loss)[np.arange(len(chosen)), chosen] / outside
        return picked


def choose_size(mean: Floats, standard_error: Floats, rule: str) -> Ints:
    """Return the last index with the least mean loss (``"best"``), or within one standard error of it (``"1se"``).

    Each row of the last axis is a choice of its own.

    >>> mean, se = np.array([0.30, 0.20, 0.20, 0.24, 0.50]), np.full(5, 0.05)
    >>> int(choose_size(mean, se, "best")), int(choose_size(mean, se, "1se"))
    (2, 3)
    """
    best = _last(mean <= mean.min(axis=-1, keepdims=True) * EQUAL)
    if rule == "best":
        return best
    at = best[..., None]
    limit = np.take_along_axis(mean, at, -1) + np.take_along_axis(standard_error, at, -1)
    return _last(mean <= limit * EQUAL)


def _last(mask: np.ndarray) -> Ints:
    return np.asarray(mask.shape[-1] - 1 - np.argmax(mask[..., ::-1], axis=-1))
