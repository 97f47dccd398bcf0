"""The cross-validated error of a chosen size: how often its interval contains the error of the tree on new rows.

The simulated tables take turns: one half chose the method among those of ``size_methods.py``, the other half judges
it. Two have noise of heavy tails and are listed apart: no interval from some hundred rows covers their mean loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score  # type: ignore[import-untyped]

import treewise as tw
from benchmarks.coverage.measured import Measured
from benchmarks.coverage.size_methods import PRINTED, USUAL, intervals
from treewise.predict.leaf_probabilities import default_smoothing
from treewise.prune.cross_validation import RULES, CrossValidation, cross_validate
from treewise.prune.losses import poisson_deviance
from treewise.train.grow import grow_training_set, prepare

FRESH_ROWS = 20_000
Rows = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _shares(share: Callable[[np.ndarray], Any]) -> Rows:
    return lambda x, rng: np.where(rng.random(len(x)) < share(x), "b", "a")


def _three_classes(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    right = np.where(x[:, 0] > 0, "a", np.where(x[:, 1] > 0.3, "b", "c"))
    return np.where(rng.random(len(x)) < 0.2, rng.choice(["a", "b", "c"], len(x)), right)


def _rings(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    ring = np.array(list("abcd"))[np.digitize(np.hypot(x[:, 0], x[:, 1]), [0.7, 1.2, 1.8])]
    return np.where(rng.random(len(x)) < 0.15, rng.choice(list("abcd"), len(x)), ring)


def _friedman(x: np.ndarray) -> np.ndarray:
    u = ndtr(x)
    return np.asarray(10 * np.sin(np.pi * u[:, 0] * u[:, 1]) + 20 * (u[:, 2] - 0.5) ** 2 + 10 * u[:, 3] + 5 * u[:, 4])


Noise = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _normal(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(len(x))


def _student(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_t(3, len(x)) / 3**0.5


def _log_normal(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (np.exp(rng.standard_normal(len(x))) - np.e**0.5) / (np.e * (np.e - 1)) ** 0.5


def _uneven(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (0.3 + np.abs(x[:, 2])) / (1.09 + 0.6 * (2 / np.pi) ** 0.5) ** 0.5 * rng.standard_normal(len(x))


@dataclass(frozen=True)
class NoisyNumbers:
    """Numbers of a known mean and noise: the true squared error needs no sample of it, whose mean may be far off."""

    mean: Callable[[np.ndarray], np.ndarray]
    deviation: float = 1.0
    noise: Noise = _normal  # of mean 0 and variance 1

    def __call__(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the target of some rows."""
        return self.mean(x) + self.deviation * self.noise(x, rng)

    def squared_error(self, x: np.ndarray, predicted: np.ndarray) -> float:
        """Return the true mean squared error of predictions."""
        return float(np.mean((predicted - self.mean(x)) ** 2)) + self.deviation**2


TABLES: dict[str, Rows] = {  # in turn: one for choosing the method, one for judging it
    "no signal, half": _shares(lambda _: 0.5),
    "slope": _shares(lambda x: 1 / (1 + np.exp(-2 * (x[:, 0] + x[:, 1])))),
    "no signal, 30 %": _shares(lambda _: 0.3),
    "rectangle": _shares(lambda x: np.where((x[:, 0] > 0) & (x[:, 1] > -0.5), 0.9, 0.1)),
    "rare class": _shares(lambda x: np.where((x[:, 0] > 0.8) & (x[:, 1] > 0), 0.6, 0.05)),
    "three classes": _three_classes,
    "steep": _shares(lambda x: 1 / (1 + np.exp(-6 * (x[:, 0] - x[:, 1] * x[:, 2])))),
    "rings, four classes": _rings,
    "diagonal": _shares(lambda x: np.where(x[:, 0] + x[:, 1] > 0, 0.85, 0.15)),
    "no signal, 10 %": _shares(lambda _: 0.1),
    "stripes": _shares(lambda x: np.where(np.floor(2 * x[:, 0]) % 2 == 0, 0.8, 0.2)),
    "sphere": _shares(lambda x: np.where((x**2).sum(axis=1) > 4.35, 0.9, 0.1)),
    "exclusive or": _shares(lambda x: np.where((x[:, 0] > 0) != (x[:, 1] > 0), 0.85, 0.15)),
    "numbers": NoisyNumbers(lambda x: 2 * x[:, 0] + np.abs(x[:, 1])),
    "numbers, waves": NoisyNumbers(lambda x: 3 * np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2], deviation=0.5),
    "numbers, no signal": NoisyNumbers(lambda x: np.zeros(len(x))),
    "numbers, late step": NoisyNumbers(lambda x: 3.0 * (x[:, 0] > 1.2)),
    "numbers, Friedman": NoisyNumbers(_friedman),
    "numbers, sum": NoisyNumbers(lambda x: x.sum(axis=1)),
    "numbers, uneven noise": NoisyNumbers(lambda x: 2 * x[:, 0] + x[:, 1], noise=_uneven),
    "counts": lambda x, rng: rng.poisson(np.exp(0.5 * x[:, 0] + 0.7 * (x[:, 1] > 1))).astype(float),
}
HEAVY_TAILS: dict[str, Rows] = {
    "heavy tails, t of 3 degrees": NoisyNumbers(lambda x: 2 * (x[:, 0] > 0) + x[:, 1], 3**0.5, _student),
    "heavy tails, log-normal": NoisyNumbers(lambda x: 2 * (x[:, 0] > 0) + x[:, 1], noise=_log_normal),
}
SIZES = (150, 600)
OTHER_LOSSES = (  # table, rows, loss
    *(("slope", rows, loss) for loss in ("log_loss", "brier", "auc") for rows in (300, 1000)),
    *(("numbers", rows, "absolute_error") for rows in (300, 1000)),
    *(("counts", rows, "poisson_deviance") for rows in (300, 1000)),
)


def draw_table(name: str, rows: int, seed: int) -> dict[str, np.ndarray]:
    """Return a table of five normal numbers and a target."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 5))
    return {**{f"x{i}": x[:, i] for i in range(5)}, "y": {**TABLES, **HEAVY_TAILS}[name](x, rng)}


def true_loss(tree: tw.Tree, fresh: dict[str, np.ndarray], loss: str | None = None, name: str = "") -> float:
    """Return the loss on fresh rows: by default the error rate, or the mean squared error (of a table, by name)."""
    truth, target = fresh["y"], {**TABLES, **HEAVY_TAILS}.get(name)
    if loss is None and isinstance(target, NoisyNumbers):
        x = np.column_stack([fresh[column] for column in fresh if column != "y"])
        return target.squared_error(x, tree.predict(fresh))
    if loss in (None, "absolute_error", "poisson_deviance"):
        predicted = tree.predict(fresh)
        if loss == "poisson_deviance":
            return float(np.mean(poisson_deviance(truth, predicted)))
        if tree.task == "classification":
            return float(np.mean(predicted != truth))
        return float(np.mean(np.abs(predicted - truth) if loss else (predicted - truth) ** 2))
    probability = tree.predict_proba(fresh, estimate=default_smoothing(tree))[:, -1]
    is_positive = truth == tree.classes[-1]
    if loss == "auc":
        return 1 - float(roc_auc_score(is_positive, probability))
    return float((log_loss if loss == "log_loss" else brier_score_loss)(is_positive, probability))


def chosen_sizes(tables: int) -> Iterator[Measured]:
    """Measure trees of 150 and 600 rows by both rules: each kind of table, and the two halves together."""
    for rows in SIZES:
        halves: tuple[list[Covered], list[Covered]] = [], []
        for i, name in enumerate((*TABLES, *HEAVY_TAILS)):
            fresh = draw_table(name, FRESH_ROWS, 10**6)
            covered = [_covers(name, rows, seed, fresh) for seed in range(tables)]
            if name in TABLES:
                halves[i % 2].extend(covered)
            for rule in RULES:
                for method in (PRINTED, USUAL):
                    share = float(np.mean([found[rule, method] for found in covered]))
                    yield Measured("size", method, f"{name}, n = {rows:,}, {rule}", share, tables, "")
        for half, covered in zip(("half for choosing", "half for evaluation"), halves, strict=True):
            for rule, method in covered[0]:
                share, promise = np.mean([found[rule, method] for found in covered]), "interval" * (method == PRINTED)
                yield Measured("size", method, f"{half}, n = {rows:,}, {rule}", float(share), len(covered), promise)


def other_losses(tables: int) -> Iterator[Measured]:
    """Measure other losses, and folds of whole groups."""
    for name, rows, loss in OTHER_LOSSES:
        fresh = draw_table(name, FRESH_ROWS, 10**6)
        covered = [_covers(name, rows, seed, fresh, loss) for seed in range(tables)]
        for rule in RULES:
            share = float(np.mean([found[rule, PRINTED] for found in covered]))
            yield Measured(
                "losses", f"cross-validated {loss}", f"{name}, n = {rows:,}, {rule}", share, tables, "at least"
            )
    yield from grouped_folds(tables)


def draw_groups(groups: int, seed: int, regression: bool) -> dict[str, np.ndarray]:
    """Return a table of groups of ten rows each; the rows of a group share a part of the target and of a column."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), 10)
    shared, x = rng.standard_normal(groups)[group], rng.standard_normal((5, len(group)))
    x[2] = 0.7 * (x[2] + shared)
    score = 2 * (x[0] + x[1]) + shared
    y = np.where(rng.random(len(group)) < 1 / (1 + np.exp(-score)), "b", "a")
    columns = {f"x{i}": column for i, column in enumerate(x)}
    return {**columns, "group": group, "y": score + rng.standard_normal(len(group)) if regression else y}


def grouped_folds(tables: int) -> Iterator[Measured]:
    """Measure folds of whole groups: how often the interval contains the loss on rows of new groups."""
    for regression in (False, True):
        fresh = draw_groups(FRESH_ROWS // 10, 10**6, regression)
        del fresh["group"]
        for groups in (30, 100):
            covered = 0
            for seed in range(tables):
                data = draw_groups(groups, seed, regression)
                tree = tw.grow(data, "y", groups="group", random_state=seed, n_jobs=1).prune(
                    "cv", data=data, random_state=seed, n_jobs=1
                )
                found, true = tree.fit_info.cross_validated, true_loss(tree, fresh)
                assert found is not None
                covered += found.low <= true <= found.high
            figure = f"cross-validated {'squared error' if regression else 'error'}, folds of whole groups"
            yield Measured("losses", figure, f"{groups} groups of 10 rows", covered / tables, tables, "at least")


Covered = dict[tuple[str, str], bool]  # (rule, method): whether the interval contains the true loss


def _covers(name: str, rows: int, seed: int, fresh: dict[str, np.ndarray], loss: str | None = None) -> Covered:
    """Tell for each rule and method whether the interval contains the loss on fresh rows."""
    criterion = {"criterion": "poisson", "task": "regression"} if loss == "poisson_deviance" else {}
    training_set = prepare(draw_table(name, rows, seed), "y", **criterion)
    tree = grow_training_set(training_set, n_jobs=1)
    held_out = cross_validate(tree, training_set, CrossValidation(loss, random_state=seed), n_jobs=1)
    losses, nested = held_out.losses, held_out.nested
    covered = {}
    for rule in RULES:
        entry = int(held_out.sequence_index[losses.choose(rule)])
        pruned = tree.prune("cost_complexity", ccp_alpha=float(nested.alpha[entry]), risk=nested.risk_name)
        true = true_loss(pruned, fresh, loss, name)
        for method, low, high in intervals(losses, rule, held_out.loss):
            covered[rule, method] = low <= true <= high
    return covered
