"""Which columns matter to an ensemble: what their splits gain in its trees, and what all lose when one is shuffled.

Stands on ``evaluate/importances.py``, whose values it makes, and on ``evaluate/permutation.py``, which shuffles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.checks import check_choice
from treewise.ensemble import Ensemble
from treewise.errors import DataError, Param, ParameterError
from treewise.evaluate.evaluate_ensemble import seen_before, with_known_answers
from treewise.evaluate.importances import ColumnImportance, Importances, ranked
from treewise.evaluate.permutation import Cells, PermutationTrial, Shuffles, in_shares
from treewise.explain.ensemble.member_predictions import Floats, MemberPredictions, true_answers
from treewise.train.criteria import criterion_named
from treewise.train.loss_stats import size_of_numbers

MEASURES = {"classification": ("error", "log_loss"), "regression": ("rmse", "mae")}


def importances(ensemble: Ensemble, data: Any = None, **options: Any) -> Importances:
    """Return how much each column matters; without data from the trees alone (``Ensemble.importances``)."""
    given = {name: value for name, value in options.items() if value is not None}
    if data is not None:
        return on_data(ensemble, data, **given)
    for name in given:
        raise ParameterError(f"{name} is for importances on data: give a table too, or leave it out.")
    return of_members(ensemble)


def of_members(ensemble: Ensemble) -> Importances:
    """Return the impurity decrease of every column: its share in each tree, in the mean by the trees' say.

    A tree that asks nothing has no shares and does not count.
    """
    shares, mean = shares_of_columns(ensemble)
    splits = np.bincount(ensemble.members.column, minlength=len(ensemble.columns))
    found = [
        ColumnImportance(name, int(splits[i]), float(mean[i]), repeats=tuple(shares[:, i].tolist()))
        for i, name in enumerate(ensemble.columns)
    ]
    unit = criterion_named(ensemble.criterion).unit
    return Importances("impurity decrease", ensemble.target.name, ranked(found), unit=unit, trees=len(ensemble))


def shares_of_columns(ensemble: Ensemble) -> tuple[Floats, Floats]:
    """Return the share of each column in what the splits of each tree gain, and the mean by the trees' say."""
    total = ensemble.decreases.sum(axis=1)
    asks = total > 0
    shares = ensemble.decreases[asks] / total[asks, None]
    say = ensemble.votes[asks]
    return shares, (say[:, None] * shares).sum(axis=0) / (say.sum() or 1.0)


@dataclass(frozen=True, eq=False)
class EnsemblePermutation(PermutationTrial):
    """That of an ensemble."""

    ensemble: Ensemble

    def losses_on(self, columns: Cells) -> Floats:
        """Ask all trees."""
        ensemble, voting = self.ensemble, self.ensemble.voting
        sums = voting.sums(list(columns), len(self.truth), n_jobs=1)  # there is a thread for every shuffle
        if ensemble.task == "regression":
            return self.off_by(voting.probabilities(sums, len(ensemble))[:, 0])
        if self.measure == "error":
            return np.asarray(voting.best(sums, len(ensemble)) != self.truth, np.float64)
        known = self.truth < len(ensemble.classes)
        shares = voting.probabilities(sums, len(ensemble))
        chance = np.where(known, shares[np.arange(len(shares)), np.where(known, self.truth, 0)], 0.0)
        if not chance.all():
            raise DataError(
                "log_loss is infinite: no tree gives a chance to a class that came up.",
                hint="Give trees with larger leaves ("
                + Param("min_samples_leaf")
                + "), or "
                + Param("measure", "error")
                + ".",
            )
        return np.asarray(-np.log(chance), np.float64)


def on_data(
    ensemble: Ensemble,
    data: Any,
    target: Any = None,
    *,
    measure: str | None = None,
    sample_weight: Any = None,
    drop_missing_target: bool = False,
    **shuffling: Any,
) -> Importances:
    """Return how much worse the trees do on a table when a column is shuffled, for each."""
    shuffles = Shuffles.of(**shuffling)
    name = MEASURES[ensemble.task][0] if measure is None else measure
    check_choice("measure", name, MEASURES[ensemble.task])
    here = with_known_answers(ensemble, data, target, sample_weight, drop_missing_target)
    truth, panel = true_answers(ensemble, here), MemberPredictions.on(ensemble, here.table)
    unit = size_of_numbers(truth) if ensemble.task == "regression" else 1.0
    trial = EnsemblePermutation(panel.columns, truth, in_shares(here.weight, len(panel)), name, unit, ensemble)
    splits = np.bincount(ensemble.members.column, minlength=len(ensemble.columns))
    seen = seen_before(ensemble, here)
    return shuffles.importances(trial, here, ensemble.columns, splits, seen, len(ensemble))
