"""Intervals for the loss of a chosen size: the printed one, and the others that it was chosen among.

None of them has a constant of ours. They were compared on one half of the simulated tables, and the one that was
chosen is judged on the other (``chosen_size.py``). Nested cross-validation (Bates, Hastie and Tibshirani 2023) grows
45 further trees for each repeat of ten folds, and some hundred repeats; it is too slow to be printed by default.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from treewise.predict.confidence_intervals import Z95, student_quantile
from treewise.prune.choice_error import FoldLosses, estimate_choice_error
from treewise.prune.losses import Loss

PRINTED = "BBC-CV (Tsamardinos, Greasidou and Borboudakis 2018), printed"
USUAL = "chosen size ± 1.96 SE, not corrected"


def intervals(losses: FoldLosses, rule: str, loss: Loss) -> Iterator[tuple[str, float, float]]:
    """Yield the name and the ends of each interval."""
    printed = estimate_choice_error(losses, rule, loss)
    yield PRINTED, printed.low, printed.high
    chosen = losses.choose(rule)
    value, error = float(losses.mean[chosen]), float(losses.standard_error[chosen])
    yield USUAL, value - Z95 * error, value + Z95 * error
    if not losses.has_row_losses:
        return
    bias = _bias_by_folds(losses, chosen)
    yield "the same, less the bias of Tibshirani and Tibshirani (2009)", *_around(value + bias, Z95 * error)
    sizes = np.array([losses.choose(rule, without=fold) for fold in range(len(losses.folds.folds))])
    value, error = losses.at_sizes(sizes)
    yield "size chosen by the other folds, SE of the rows (Bayle et al. 2020)", *_around(value, Z95 * error)
    k = losses.folds.count
    fold_losses = losses.loss[np.arange(k), sizes] / losses.weight
    error = float(np.std(fold_losses, ddof=1)) * math.sqrt(1 / k + 1 / (k - 1))
    yield (
        "the same, Nadeau and Bengio's (2003) SE of the folds",
        *_around(value, student_quantile(0.975, k - 1) * error),
    )


def _around(value: float, half: float) -> tuple[float, float]:
    return value - half, value + half


def _bias_by_folds(losses: FoldLosses, chosen: int) -> float:
    """Return the mean over folds of the loss at the chosen size less the least loss of the fold."""
    by_fold = losses.loss / losses.weight[:, None]
    return float(np.mean(by_fold[:, chosen] - by_fold.min(axis=1)))
