"""What an ensemble says of rows: doors to ``voting.py``.

Stands below ``model.py``, whose ``Ensemble`` inherits these methods. Their code lives beside this file and is imported
when used.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from treewise.ensemble.model import Ensemble
    from treewise.ensemble.predict import ForestPredictor


class Predicting:
    """The part of an ensemble that predicts; only an ``Ensemble`` is ever made.

    >>> import treewise as tw
    >>> trees = tw.forest("admissions", n_estimators=4)
    >>> row = {"GPA": "3.7", "Recommendation": "good", "University": "top10", "Published": "no"}
    >>> trees.predict(row), trees.predict_proba(row).tolist(), trees.apply(row).shape, trees.voting.width
    ('N', [0.5, 0.5], (4,), 2)
    >>> list(trees.staged_predict(row)), [float(p[1]) for p in trees.staged_predict_proba(row)][:2]
    (['N', 'N', 'P', 'N'], [0.0, 0.5])
    >>> trees.decision_function(row)
    Traceback (most recent call last):
    treewise.errors.DataError: decision_function is for adaboost, whose trees have more or less say; ...
    """

    @cached_property
    def voting(self) -> ForestPredictor:
        """The trees made ready to predict, when first asked for.

        That takes eight bytes a node more than the members do, and what the leaves say: little where they are pure, of
        numbers eight bytes each.
        """
        from treewise.ensemble.predict import ForestPredictor

        return ForestPredictor(as_ensemble(self))

    def predict(self, data: Any) -> Any:
        """Return the predicted class or value of each row of a table; for a single row (dict or list), that one.

        The class with the largest mean share over the trees, the first of equals, or the mean of their values; of
        AdaBoost the class with the most say.
        """
        from treewise.ensemble.predict import predict

        return predict(as_ensemble(self), data)

    def predict_proba(self, data: Any) -> npt.NDArray[np.float64]:
        """Return the probability of each class for each row: the mean of what the trees say.

        Of AdaBoost it is the share of the trees' say that goes to the class: it adds up to 1 and its largest is what
        is predicted, but it was not estimated from counts and is not calibrated.
        """
        from treewise.ensemble.predict import predict_proba

        return predict_proba(as_ensemble(self), data)

    def decision_function(self, data: Any) -> Any:
        """Return AdaBoost's sums: the say for each class; with two, that for the second less that for the first."""
        from treewise.ensemble.predict import decision_function

        return decision_function(as_ensemble(self), data)

    def staged_predict(self, data: Any) -> Iterator[Any]:
        """Go through what the first tree predicts, the first two together, and so on, in one pass over the trees."""
        from treewise.ensemble.predict import staged_predict

        return staged_predict(as_ensemble(self), data)

    def staged_predict_proba(self, data: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Go through the probabilities by the first tree, the first two together, and so on, in one pass."""
        from treewise.ensemble.predict import staged_predict_proba

        return staged_predict_proba(as_ensemble(self), data)

    def apply(self, data: Any) -> npt.NDArray[np.int32]:
        """Return the number of the node each row ends at in each tree: rows × trees; for a single row one a tree."""
        from treewise.ensemble.predict import apply

        return apply(as_ensemble(self), data)


def as_ensemble(part: object) -> Ensemble:
    """Return the ensemble that this is a part of: itself."""
    return cast("Ensemble", part)
