"""Many trees: what forests, bagging and boosting have in common as estimators.

On ``base.py``, which reads X and y; ``treewise.ensemble`` grows the trees and answers for them. A fitted estimator
keeps one ``Ensemble``, with everything treewise can do with one; its members are shown as ``TreeClassifier`` or
``TreeRegressor`` when they are asked for.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Self, overload

import joblib  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
from scipy.sparse import hstack  # type: ignore[import-untyped]
from sklearn.metrics import accuracy_score, r2_score  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from treewise.data.table import Table
from treewise.ensemble import Ensemble
from treewise.ensemble import predict as voting
from treewise.ensemble.grow import check_same_table
from treewise.errors import Param, ParameterError
from treewise.estimators.base import BaseClassifier, BaseRegressor, Estimator, FitInput, Floats, Ints
from treewise.estimators.inputs import warn
from treewise.estimators.trees import TreeClassifier, TreeEstimator, TreeRegressor, paths_to
from treewise.evaluate.importances import importance_shares
from treewise.predict.predict import encode_table
from treewise.train.grow import workers
from treewise.train.settings import whole
from treewise.train.training_set import TrainingSet

FREE = ("n_estimators", "warm_start", "n_jobs")  # may change from one warm fit to the next
OF_TREES_TOO = ("classes_", "n_classes_", "_order", "n_features_in_", "n_outputs_", "_features", "feature_names_in_")


class EnsembleEstimator(Estimator):
    """What all of them do: grow, go on growing, and whatever only looks at the trees.

    >>> from treewise import ForestClassifier
    >>> X, y = [[1], [2], [3], [4]], ["a", "a", "b", "b"]
    >>> model = ForestClassifier(2, bootstrap=False, warm_start=True).fit(X, y)
    >>> model.set_params(n_estimators=3).fit(X, y).apply([[1], [4]]).tolist()
    [[1, 1, 1], [2, 2, 2]]
    >>> model.estimators_[0].tree_ == model.ensemble_[0], len(model.estimators_), model.feature_importances_.tolist()
    (True, 3, [1.0])
    >>> paths, starts = model.decision_path([[1]])
    >>> paths.toarray().tolist(), starts.tolist()
    ([[1, 1, 0, 1, 1, 0, 1, 1, 0]], [0, 3, 6, 9])
    """

    _model = "ensemble_"
    ensemble_: Ensemble
    _grown_with: dict[str, Any]

    # -- growing --------------------------------------------------------------------------------------------------

    def _grow(self, training_set: TrainingSet) -> Ensemble:
        """Grow all trees."""
        raise NotImplementedError

    def _grow_more(self, before: Ensemble, training_set: TrainingSet, n: int) -> Ensemble:
        """Grow n further trees."""
        raise NotImplementedError

    def _learn(self, given: FitInput) -> Ensemble:
        """Grow the trees; with ``warm_start`` only those that are not there yet."""
        if not self._goes_on():
            return self._grow(given.training_set)
        self._check_same_parameters()
        before = self.ensemble_.with_(target=given.training_set.target)
        check_same_table(before, given.training_set, "warm_start")
        whole("n_estimators", self.n_estimators, least=1)
        if self.n_estimators < len(before):
            raise ParameterError(
                "with " + Param("warm_start") + f" trees are added, and there are {len(before)} already.",
                parameter="n_estimators",
                value=self.n_estimators,
                hint="Ask for more, or fit anew with " + Param("warm_start", False) + ".",
            )
        if self.n_estimators == len(before):
            warn(f"warm_start: there are {len(before)} trees already, so no tree is added.", stacklevel=4)
            return before
        return self._grow_more(before, given.training_set, self.n_estimators - len(before))

    def _goes_on(self) -> bool:
        """Tell whether trees are to be added to those that are there."""
        return bool(self.warm_start) and "ensemble_" in vars(self)

    def _seed(self) -> Any:
        """Return the seed; one that was drawn from a generator stays for the trees that are added."""
        if self._goes_on() and isinstance(self.random_state, np.random.RandomState):
            return self.ensemble_.history[0]["settings"].get("random_state", 0)
        return super()._seed()

    def _check_same_parameters(self) -> None:
        """Refuse to add trees that are grown by other rules than those beside which they stand."""
        for name, now in self.get_params(deep=False).items():
            if name not in FREE and not same(now, self._grown_with[name]):
                raise ParameterError(
                    f"{name} has changed since the trees were grown, and trees that are added are grown as they were.",
                    parameter="warm_start",
                    hint="Put it back, or fit anew with " + Param("warm_start", False) + ".",
                )

    def _become(self, given: FitInput, model: Any, **fitted: Any) -> Self:
        """Take on the outcome of a fit, and remember by which parameters."""
        return super()._become(given, model, **fitted, _grown_with=kept(self.get_params(deep=False)))

    # -- looking --------------------------------------------------------------------------------------------------

    @property
    def estimators_(self) -> Sequence[TreeEstimator]:
        """The trees, each as a fitted ``TreeClassifier`` or ``TreeRegressor``, made when it is asked for."""
        check_is_fitted(self)
        return FittedMembers(self)

    def _tree(self, t: int) -> TreeEstimator:
        """Return one tree as a fitted estimator of its own."""
        kind = TreeClassifier if self._task == "classification" else TreeRegressor
        given = {name: getattr(self, name) for name in kind._get_param_names() if hasattr(self, name)}
        # A node's columns and tests, as the trees were grown: bagging draws its columns otherwise, and a forest has
        # defaults of its own.
        asked = self.ensemble_.history[0]["settings"]
        given |= {"max_features": asked.get("max_features"), "splitter": asked.get("splitter", "best")}
        tree = kind(**given)
        for name in OF_TREES_TOO:
            if name in vars(self):
                setattr(tree, name, vars(self)[name])
        tree.tree_ = self.ensemble_[t]
        return tree

    def apply(self, X: Any) -> Ints:
        """Return the number of the node each row ends at in each tree: one row a row, one column a tree."""
        table = self._read(X)
        return self._ends(table)

    def _ends(self, table: Table) -> Ints:
        """Send the rows of a table down all trees."""
        leaves: Ints = self.ensemble_.leaves(encode_table(self.ensemble_, table)).astype(np.int64)
        return leaves

    def decision_path(self, X: Any) -> tuple[Any, Ints]:
        """Return a sparse matrix with 1 at the nodes a row passes, all trees beside one another; and where each begins.

        As scikit-learn's: the nodes of tree t are the columns ``starts[t]`` up to ``starts[t + 1]``.
        """
        table = self._read(X)
        ends = self._ends(table)
        paths = [paths_to(tree, ends[:, t]) for t, tree in enumerate(self.ensemble_)]
        return hstack(paths, format="csr"), np.cumsum([0, *(path.shape[1] for path in paths)])

    @property
    def _voting(self) -> voting.ForestPredictor:
        """The trees made ready to predict."""
        return self.ensemble_.predictor

    def _sums(self, table: Table) -> Floats:
        """Add up what the trees say of each row."""
        return self._voting.sums(encode_table(self.ensemble_, table).columns, len(table), n_jobs=workers(self.n_jobs))

    def _stages(self, table: Table) -> Iterator[tuple[int, Floats]]:
        """Go through how many trees have spoken, and the sums of what they said."""
        return voting.staged_sums(self.ensemble_, encode_table(self.ensemble_, table))

    @property
    def feature_importances_(self) -> Floats:
        """The impurity each column of X takes away, as a share of all; the mean over the trees, by their say."""
        check_is_fitted(self)
        return self._shares_of(importance_shares(self.ensemble_)[1])


class FittedMembers(Sequence[TreeEstimator]):
    """The trees of a fitted ensemble in order, as estimators, each made when it is asked for."""

    def __init__(self, ensemble: EnsembleEstimator) -> None:
        self.ensemble = ensemble

    def __len__(self) -> int:
        return len(self.ensemble.ensemble_)

    @overload
    def __getitem__(self, at: int) -> TreeEstimator: ...
    @overload
    def __getitem__(self, at: slice) -> list[TreeEstimator]: ...
    def __getitem__(self, at: int | slice) -> TreeEstimator | list[TreeEstimator]:
        if isinstance(at, slice):
            return [self.ensemble._tree(t) for t in range(len(self))[at]]
        return self.ensemble._tree(at)


def kept(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the values of parameters as they are now, so that what is changed in place later is noticed.

    A generator of random numbers stays itself: drawing from it changes it, and its seed has been drawn.
    """
    return {
        name: value if isinstance(value, np.random.RandomState) else copy.deepcopy(value)
        for name, value in parameters.items()
    }


def same(now: Any, before: Any) -> bool:
    """Tell whether a parameter says the same as the value that was kept of it, whatever they are made of."""
    if isinstance(now, np.random.RandomState) and now is before:
        return True
    return bool(joblib.hash(now) == joblib.hash(before))


# -- answers ----------------------------------------------------------------------------------------------------------


class EnsembleClassifier(BaseClassifier, EnsembleEstimator):
    """What those for classes answer.

    >>> from treewise import ForestClassifier
    >>> X, y = [[1], [2], [3], [4]], ["a", "a", "b", "b"]
    >>> model = ForestClassifier(3, bootstrap=False).fit(X, y)
    >>> model.predict(X).tolist(), model.predict_proba(X[:1]).tolist(), model.score(X, y)
    (['a', 'a', 'b', 'b'], [[1.0, 0.0]], 1.0)
    >>> [stage.tolist() for stage in model.staged_predict(X[:1])], len(list(model.staged_predict_proba(X)))
    ([['a'], ['a'], ['a']], 3)
    >>> list(model.staged_score(X, y)), model.predict_log_proba(X[:1]).tolist()
    ([1.0, 1.0, 1.0], [[0.0, -inf]])
    """

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row: the one that most speaks for; of equals the first."""
        table = self._read(X)
        columns = encode_table(self.ensemble_, table).columns
        places = self._voting.places(columns, len(table), workers(self.n_jobs), self._best)
        classes: npt.NDArray[Any] = self.classes_[places]
        return classes

    def _best(self, sums: Floats, trees: int) -> Ints:
        """Return the place in ``classes_`` of the class that most speaks for, of equals the first there.

        So ``predict`` is always the first largest of ``predict_proba``, wherever the model has the positive class.
        """
        return np.asarray(np.argmax(self._in_order(self._voting.probabilities_of(sums, trees)), axis=1), np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row: the mean of what the trees say."""
        table = self._read(X)
        return self._in_order(self._voting.probabilities_of(self._sums(table), len(self.ensemble_)))

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Go through the classes that the first tree predicts, the first two, the first three, …"""
        table = self._read(X)
        return (self.classes_[self._best(sums, trees)] for trees, sums in self._stages(table))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Go through the probabilities by the first tree, the first two, the first three, …"""
        table = self._read(X)
        return (self._in_order(self._voting.probabilities_of(sums, trees)) for trees, sums in self._stages(table))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Go through the share of right answers of the first tree, the first two, the first three, …"""
        for classes in self.staged_predict(X):
            yield accuracy_score(y, classes, sample_weight=sample_weight)


class EnsembleRegressor(BaseRegressor, EnsembleEstimator):
    """What those for numbers answer.

    >>> from treewise import ForestRegressor
    >>> X, y = [[1], [2], [3], [4]], [1.0, 2.0, 3.0, 4.0]
    >>> model = ForestRegressor(2, bootstrap=False).fit(X, y)
    >>> model.predict(X).tolist(), [stage.tolist() for stage in model.staged_predict(X[:1])]
    ([1.0, 2.0, 3.0, 4.0], [[1.0], [1.0]])
    >>> list(model.staged_score(X, y))
    [1.0, 1.0]
    """

    def predict(self, X: Any) -> Floats:
        """Return the mean of what the trees predict for each row."""
        table = self._read(X)
        return self._values(self._sums(table), len(self.ensemble_))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Go through the values that the first tree predicts, the first two, the first three, …"""
        table = self._read(X)
        return (self._values(sums, trees) for trees, sums in self._stages(table))

    def _values(self, sums: Floats, trees: int) -> Floats:
        """Return the answers that come of what so many trees said."""
        return np.asarray(self._voting.answers(sums, trees))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Go through R² of the first tree, the first two, the first three, …"""
        for values in self.staged_predict(X):
            yield r2_score(y, values, sample_weight=sample_weight)
