"""The models that ``compare_models`` compares: the tree and its baselines, behind one interface.

K-nearest neighbours and the linear models are scikit-learn's, imported when used; ``FeatureMatrix`` encodes the table
for them.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_rounded, plural, safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.errors import ParameterError, did_you_mean, join_few
from treewise.evaluate.baselines.indicators import level_codes, match_codes
from treewise.predict.costs import CostMatrix, least_costly, losses
from treewise.predict.predict import answering_nodes, find_leaves, predict_at_nodes
from treewise.train.folds import assign_folds
from treewise.train.resampling import take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import Target
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
NEIGHBOURS = (1, 3, 5, 9, 15, 25, 45, 75)
_KNN_OF = re.compile(r"knn=[1-9][0-9]*")  # K-NN of a given k
_BATCH = 1000  # rows per call, so that Ctrl-C is handled in between
_QUARTER = 4  # k is selected on one fold of this many


class BaselineModel(Protocol):
    """One compared model. ``predict`` returns class codes (with costs those of least expected cost) or values."""

    about: str  # describes the fitted model, with a placeholder for ``fact``

    def fit(self, rows: TrainingSet) -> None:
        """Fit the model."""
        ...

    def predict(self, rows: TrainingSet) -> npt.NDArray[Any]:
        """Predict other rows of the same table."""
        ...

    @property
    def state(self) -> Any:
        """The object to be stored; its pickled size is reported."""
        ...

    @property
    def fact(self) -> float:
        """A number that describes the fitted model: leaves, k, indicators."""
        ...


def pickled_size(model: BaselineModel) -> int:
    """Return the size of a fitted model in bytes."""
    return len(pickle.dumps(model.state, protocol=5))


class TreeModel:
    """A tree, grown by ``grow``."""

    about = "{} leaves"

    def __init__(self, grow: Callable[[TrainingSet], Tree]) -> None:
        self.grow = grow

    def fit(self, rows: TrainingSet) -> None:
        """Grow the tree, and prune it if ``grow`` does."""
        self.tree = self.grow(rows)

    def predict(self, rows: TrainingSet) -> npt.NDArray[Any]:
        """Predict with the tree."""
        nodes = find_leaves(self.tree, rows.columns, len(rows))
        return predict_at_nodes(self.tree, answering_nodes(self.tree, nodes))

    @property
    def state(self) -> Any:
        """The arrays and encodings of the tree."""
        arrays = self.tree.arrays
        return {f.name: getattr(arrays, f.name) for f in fields(arrays)}, self.tree.encodings

    @property
    def fact(self) -> float:
        """The number of leaves."""
        return float(self.tree.n_leaves)


class _ConstantModel:
    """Always predicts the majority class (or the one of least cost), or the mean."""

    about = "always {}"

    def __init__(self, cost: CostMatrix | None, n_jobs: int | None) -> None:
        self.cost = cost

    def fit(self, rows: TrainingSet) -> None:
        """Find the majority class or the mean."""
        weight = rows.weight.astype(np.float64)
        if rows.target.task == "regression":
            self.fact = float(np.average(rows.raw, weights=weight))
            return
        counts = np.bincount(rows.y, weight, len(rows.target.classes)).astype(np.float64)
        self.fact = float(least_costly(counts[None], self.cost)[0])

    def predict(self, rows: TrainingSet) -> npt.NDArray[Any]:
        """Return the constant."""
        return np.full(len(rows), self.fact if rows.target.task == "regression" else int(self.fact))

    @property
    def state(self) -> Any:
        """The constant."""
        return self.fact


class _SklearnModel:
    """Base of the scikit-learn models, fitted on a ``FeatureMatrix``."""

    def __init__(self, cost: CostMatrix | None, n_jobs: int | None) -> None:
        self.cost, self.n_jobs = cost, n_jobs
        self.model: Any = None

    def fit_model(self, rows: TrainingSet, model: Any, weighted: bool) -> None:
        """Fit a scikit-learn model on some rows."""
        self.features = FeatureMatrix(rows)
        weights = {"sample_weight": rows.weight.astype(np.float64)} if weighted else {}
        self.model = model.fit(self.features.encode_rows(rows), _target_values(rows), **weights)

    def predict(self, rows: TrainingSet) -> npt.NDArray[Any]:
        """Predict in batches."""
        X = self.features.encode_rows(rows)
        return np.concatenate([self.predict_batch(X[i : i + _BATCH]) for i in range(0, len(rows), _BATCH)])

    def predict_batch(self, X: Any) -> npt.NDArray[Any]:
        """Predict one batch of the feature matrix."""
        if self.cost is None:
            return np.asarray(self.model.predict(X))
        shares = np.zeros((X.shape[0], len(self.cost.classes)))
        shares[:, self.model.classes_] = self.model.predict_proba(X)
        return np.asarray(self.cost.predict_class(shares))

    @property
    def state(self) -> Any:
        """The fitted scikit-learn model."""
        return self.model


class NearestNeighbours(_SklearnModel):
    """K-nearest neighbours; unless it is given, k is selected on a quarter of the rows, the largest on ties."""

    about = "k = {}, chosen on a quarter of the training rows"

    def __init__(self, cost: CostMatrix | None, n_jobs: int | None, k: int | None = None) -> None:
        super().__init__(cost, n_jobs)
        self.k = k
        if k is not None:
            self.about = "k = {}"

    def fit(self, rows: TrainingSet) -> None:
        """Select k and fit on all rows."""
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor  # type: ignore[import-untyped]

        kind = KNeighborsRegressor if rows.target.task == "regression" else KNeighborsClassifier
        k = self.k
        if k is None:
            k = self.select_k(rows, kind) if len(rows) >= 2 * _QUARTER else 1
        self.fact = float(min(k, len(rows)))
        self.fit_model(rows, kind(n_neighbors=int(self.fact), n_jobs=self.n_jobs), weighted=False)

    def select_k(self, rows: TrainingSet, kind: Any) -> int:
        """Return the k of least loss on held-out rows; the neighbours are searched once, for the largest k."""
        held_out = assign_folds(rows, _QUARTER) == 0
        train, valid = take_rows(rows, np.flatnonzero(~held_out)), take_rows(rows, np.flatnonzero(held_out))
        candidates = [k for k in NEIGHBOURS if k <= len(train)]
        self.fit_model(train, kind(n_neighbors=candidates[-1], n_jobs=self.n_jobs), weighted=False)
        X, target_values = self.features.encode_rows(valid), _target_values(train)
        parts = (X[i : i + _BATCH] for i in range(0, len(valid), _BATCH))
        near = target_values[np.concatenate([self.model.kneighbors(part, return_distance=False) for part in parts])]
        predictions = {k: _combine_neighbours(near[:, :k], rows.target, self.cost) for k in candidates}
        return min(candidates, key=lambda k: (float(losses_on(valid, predictions[k], self.cost).mean()), -k))


def _combine_neighbours(near: npt.NDArray[Any], target: Target, cost: CostMatrix | None) -> npt.NDArray[Any]:
    """Return the prediction of neighbours: their mean, majority class, or class of least expected cost."""
    if target.task == "regression":
        return np.asarray(near.mean(axis=1))
    counts = np.stack([(near == c).sum(axis=1) for c in range(len(target.classes))], axis=1)
    return least_costly(counts.astype(np.float64), cost)


class _LinearModel(_SklearnModel):
    """Logistic regression, or ridge regression for regression tasks, with scikit-learn's default penalty."""

    about = "on {} indicators and {numbers}"

    def fit(self, rows: TrainingSet) -> None:
        """Fit with scikit-learn; a single class needs no model."""
        from sklearn.linear_model import LogisticRegression, Ridge  # type: ignore[import-untyped]

        if rows.target.task == "regression":
            self.fit_model(rows, Ridge(), weighted=True)
        elif len(np.unique(rows.y)) == 1:
            from sklearn.dummy import DummyClassifier  # type: ignore[import-untyped]

            self.fit_model(rows, DummyClassifier(), weighted=True)
        else:
            self.fit_model(rows, LogisticRegression(max_iter=1000), weighted=True)
        self.fact = float(self.features.indicators)


_MODELS: dict[str, tuple[str, Any]] = {  # the task ("" for both) and the class
    "knn": ("", NearestNeighbours),
    "logistic": ("classification", _LinearModel),
    "linear": ("regression", _LinearModel),
    "majority": ("classification", _ConstantModel),
    "mean": ("regression", _ConstantModel),
}


def find_baselines(names: Sequence[str] | str, task: str) -> dict[str, Any]:
    """Return the baseline classes by name; raise for unknown names and those of the other task."""
    name_list = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    fitting = [name for name, (for_task, _) in _MODELS.items() if for_task in ("", task)]
    for name in name_list:
        if name not in fitting and not _KNN_OF.fullmatch(name):
            near = did_you_mean(name, fitting)
            raise ParameterError(f'unknown model "{safe(name)}"; for {task}: {join_few(fitting)}.', hint=near)
    if not name_list:
        raise ParameterError("no model is given.", hint=f"For {task}: {join_few(fitting)}.")
    chosen = {name: _MODELS[name.partition("=")[0]][1] for name in name_list}
    if any(issubclass(kind, _SklearnModel) for kind in chosen.values()):
        _require_sklearn()
    given = {name: int(name.partition("=")[2]) for name in name_list if "=" in name}
    return {name: partial(kind, k=given[name]) if name in given else kind for name, kind in chosen.items()}


def _require_sklearn() -> None:
    try:
        import sklearn  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise ParameterError(
            "K-NN and the linear models are scikit-learn's, which is not installed: pip install scikit-learn.",
            hint="(majority and mean need nothing.)",
        ) from None


def _target_values(rows: TrainingSet) -> npt.NDArray[Any]:
    return rows.raw if rows.target.task == "regression" else rows.y


def losses_on(rows: TrainingSet, predictions: npt.NDArray[Any], cost: CostMatrix | None) -> Floats:
    """Return the loss of each prediction."""
    return losses(_target_values(rows), predictions, rows.target.task, cost)


def describe_folds(about: str, facts: Sequence[float], rows: TrainingSet) -> str:
    """Describe the models of all folds: one number, or the range from the smallest to the largest."""
    if about == _ConstantModel.about and rows.target.task == "classification":
        predictions = dict.fromkeys(safe(rows.target.classes[int(fact)]) for fact in facts)
        return about.format(" or ".join(predictions))
    low, high = format_rounded(min(facts)), format_rounded(max(facts))
    numbers = plural(sum(not encoding.is_categorical for encoding in rows.encodings), "number")
    return about.format(low if low == high else f"{low} to {high}", numbers=numbers)


ColumnEncoder = Callable[[npt.NDArray[Any]], Floats]

_LARGEST_DENSE = 50_000_000  # entries; larger matrices are sparse


class FeatureMatrix:
    """Encodes rows as a numeric matrix, fitted on training rows.

    Numbers are centred and scaled, with the mean for missing values and an indicator if some are missing; categories
    become indicators of the levels of the column, declared ones and missing included.
    """

    def __init__(self, training: TrainingSet) -> None:
        self.encoders: list[ColumnEncoder] = []
        self.numbers = self.indicators = 0
        for encoding, values in zip(training.encodings, training.columns, strict=True):
            (self._add_levels if encoding.is_categorical else self._add_number)(encoding, values)

    def _add_number(self, encoding: Encoding, values: npt.NDArray[Any]) -> None:
        is_missing_ = encode.is_missing(encoding, values)
        present = np.clip(values[~is_missing_].astype(np.float64), -1e150, 1e150)
        mean = float(present.mean()) if len(present) else 0.0
        scale = (float(present.std()) if len(present) else 0.0) or 1.0
        has_missing = bool(is_missing_.any())
        self.numbers += 1
        self.indicators += has_missing

        def encode_rows(values: npt.NDArray[Any]) -> Floats:
            is_missing_ = encode.is_missing(encoding, values)
            scaled = (np.clip(np.where(is_missing_, mean, values.astype(np.float64)), -1e150, 1e150) - mean) / scale
            return np.column_stack([scaled, is_missing_]) if has_missing else scaled[:, None]

        self.encoders.append(encode_rows)

    def _add_levels(self, encoding: Encoding, values: npt.NDArray[Any]) -> None:
        codes = level_codes(encoding, values)
        self.indicators += len(codes)
        self.encoders.append(lambda values: match_codes(values, codes))

    @property
    def width(self) -> int:
        """The number of columns of the matrix."""
        return self.numbers + self.indicators

    def encode_rows(self, rows: TrainingSet) -> Any:
        """Return rows as a matrix, sparse if it is large."""
        parts = (encode_rows(values) for encode_rows, values in zip(self.encoders, rows.columns, strict=True))
        if not self.encoders:
            return np.zeros((len(rows), 1))
        if len(rows) * self.width <= _LARGEST_DENSE:
            return np.hstack(list(parts))
        from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]

        return hstack([csr_matrix(part) for part in parts], format="csr")
