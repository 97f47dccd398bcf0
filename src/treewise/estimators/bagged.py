"""Ensembles whose trees see bags of the rows: how forests and bagging grow, and what unseen rows say of them.

Between ``ensembles.py`` and the estimators of ``forests.py`` and ``bagging.py``, which say what is drawn.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from treewise._lib.text import plural
from treewise.ensemble import Ensemble
from treewise.ensemble.grow import grow_ensemble, more_of_problem
from treewise.ensemble.oob import out_of_bag, score
from treewise.ensemble.params import BaggingParams
from treewise.estimators.base import FitInput, Floats, in_order
from treewise.estimators.ensembles import EnsembleEstimator
from treewise.estimators.inputs import warn
from treewise.train.training_set import TrainingSet


class Bagged(EnsembleEstimator):
    """What forests and bagging have in common.

    >>> from treewise import BaggingRegressor, ForestClassifier
    >>> X, y = [[1], [2], [3], [7], [8], [9]], [0, 0, 0, 1, 1, 1]
    >>> model = ForestClassifier(50, oob_score=True).fit(X, y)
    >>> model.oob_score_, model.oob_decision_function_[[0, 5]].round().tolist()
    (1.0, [[1.0, 0.0], [0.0, 1.0]])
    >>> BaggingRegressor(n_estimators=50, oob_score=True).fit(X, y).oob_prediction_.round().tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    """

    oob_score_: float
    oob_decision_function_: Floats
    oob_prediction_: Floats

    def _recipe(self) -> BaggingParams:
        """Return what is asked of the trees together."""
        raise NotImplementedError

    def _grow(self, training_set: TrainingSet) -> Ensemble:
        return grow_ensemble(training_set, self._recipe(), n_jobs=self.n_jobs, judge=False)

    def _grow_more(self, before: Ensemble, training_set: TrainingSet, n: int) -> Ensemble:
        return more_of_problem(before, training_set, n, self.n_jobs, judge=False)

    def _become(self, given: FitInput, model: Any, **fitted: Any) -> Self:
        """Take on the outcome of a fit, with what rows that trees have not seen say of it: asked only here."""
        if not self.oob_score:
            return super()._become(given, model, **fitted)
        answers = out_of_bag(model, given.training_set, self._recipe().bags(given.training_set))
        model = model.with_(oob=answers.summary)
        seen = int(np.count_nonzero(answers.trees == 0))
        if seen:
            warn(
                f"oob_score: every tree has seen {plural(seen, 'row')} of {len(answers.trees):,}, left out of the"
                " score. More trees leave out fewer.",
                stacklevel=4,
            )
        said = np.full((given.rows, *answers.said.shape[1:]), np.nan)  # also where a row does not count
        said[np.asarray(given.training_set.rows)] = answers.said
        if self._task == "regression":
            return super()._become(given, model, **fitted, oob_score_=answers.score, oob_prediction_=said)
        order = fitted["_order"]
        right = score(given.training_set, answers.said, answers.trees > 0, np.argsort(order))
        return super()._become(given, model, **fitted, oob_score_=right, oob_decision_function_=in_order(said, order))
