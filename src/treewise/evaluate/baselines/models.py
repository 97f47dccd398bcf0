"""The models a tree is compared with, each behind the same three calls: fit, predict, how large it is.

Below ``rivals``. K-nearest neighbours and the linear models are scikit-learn's, imported when they are used.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_rounded, plural, safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.errors import Param, ParameterError, did_you_mean, listing
from treewise.predict.costs import CostMatrix, least_costly, losses
from treewise.predict.predict import answering_nodes, find_leaves, predict_at_nodes
from treewise.train.resampling import fold_numbers, part
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import Target
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
NEIGHBOURS = (1, 3, 5, 9, 15, 25, 45, 75)
AT_ONCE = 1000  # rows, so that Ctrl-C is answered between them
QUARTER = 4  # K-NN's k is chosen on one row of so many


class BaselineModel(Protocol):
    """What is compared. ``predict`` gives class numbers, or values; under costs the class of least expected cost."""

    about: str  # how it came out, with a place for ``fact``

    def fit(self, rows: TrainingSet) -> None:
        """Learn from some rows."""
        ...

    def predict(self, rows: TrainingSet) -> npt.NDArray[Any]:
        """Answer for other rows of the same table."""
        ...

    @property
    def state(self) -> Any:
        """What it has to remember."""
        ...

    @property
    def fact(self) -> float:
        """The number that says how it came out: leaves, k, indicators."""
        ...


def size_of(model: BaselineModel) -> int:
    """Return how many bytes a fitted model remembers: as Python writes its arrays down."""
    return len(pickle.dumps(model.state, protocol=5))


class TreeModel:
    """Our own."""

    about = "{} leaves"

    def __init__(self, grow: Callable[[TrainingSet], Tree]) -> None:
        self.grow = grow

    def fit(self, rows: TrainingSet) -> None:
        """Grow, and prune where that was asked for."""
        self.tree = self.grow(rows)

    def predict(self, rows: TrainingSet) -> npt.NDArray[Any]:
        """Walk down."""
        nodes = find_leaves(self.tree, rows.columns, len(rows))
        return predict_at_nodes(self.tree, answering_nodes(self.tree, nodes))

    @property
    def state(self) -> Any:
        """The flat arrays and what the columns are."""
        arrays = self.tree.arrays
        return {f.name: getattr(arrays, f.name) for f in fields(arrays)}, self.tree.encodings

    @property
    def fact(self) -> float:
        """How many leaves."""
        return float(self.tree.n_leaves)


class ConstantModel:
    """Always the majority class (of least cost), or the mean."""

    about = "always {}"

    def __init__(self, cost: CostMatrix | None, n_jobs: int | None) -> None:
        self.cost = cost

    def fit(self, rows: TrainingSet) -> None:
        """Count."""
        weight = rows.weight.astype(np.float64)
        if rows.target.task == "regression":
            self.fact = float(np.average(rows.raw, weights=weight))
            return
        counts = np.bincount(rows.y, weight, len(rows.target.classes)).astype(np.float64)
        self.fact = float(least_costly(counts[None], self.cost)[0])

    def predict(self, rows: TrainingSet) -> npt.NDArray[Any]:
        """Say the same."""
        return np.full(len(rows), self.fact if rows.target.task == "regression" else int(self.fact))

    @property
    def state(self) -> Any:
        """One number."""
        return self.fact


class FittedModel:
    """A model of scikit-learn on the table as numbers."""

    def __init__(self, cost: CostMatrix | None, n_jobs: int | None) -> None:
        self.cost, self.n_jobs = cost, n_jobs
        self.model: Any = None

    def learn(self, rows: TrainingSet, model: Any, weighted: bool) -> None:
        """Fit one on some rows."""
        self.features = FeatureMatrix(rows)
        weights = {"sample_weight": rows.weight.astype(np.float64)} if weighted else {}
        self.model = model.fit(self.features.write(rows), targets(rows), **weights)

    def predict(self, rows: TrainingSet) -> npt.NDArray[Any]:
        """Answer, some rows at a time."""
        X = self.features.write(rows)
        return np.concatenate([self.answer(X[i : i + AT_ONCE]) for i in range(0, len(rows), AT_ONCE)])

    def answer(self, X: Any) -> npt.NDArray[Any]:
        """Answer for some rows as numbers."""
        if self.cost is None:
            return np.asarray(self.model.predict(X))
        shares = np.zeros((X.shape[0], len(self.cost.classes)))
        shares[:, self.model.classes_] = self.model.predict_proba(X)
        return np.asarray(self.cost.predict_class(shares))

    @property
    def state(self) -> Any:
        """All that the fitted model holds."""
        return self.model


class NearestNeighbours(FittedModel):
    """K-nearest neighbours; k is chosen on a quarter of the training rows, of equally good ones the largest."""

    about = "k = {}, chosen on a quarter of the training rows"

    def fit(self, rows: TrainingSet) -> None:
        """Choose k, and remember all rows."""
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor  # type: ignore[import-untyped]

        kind = KNeighborsRegressor if rows.target.task == "regression" else KNeighborsClassifier
        self.fact = float(self.choose(rows, kind)) if len(rows) >= 2 * QUARTER else 1.0
        self.learn(rows, kind(n_neighbors=int(self.fact), n_jobs=self.n_jobs), weighted=False)

    def choose(self, rows: TrainingSet, kind: Any) -> int:
        """Return the k that loses least on rows held out: the neighbours are found once, for the largest k."""
        held_out = fold_numbers(rows, QUARTER) == 0
        train, valid = part(rows, np.flatnonzero(~held_out)), part(rows, np.flatnonzero(held_out))
        tried = [k for k in NEIGHBOURS if k <= len(train)]
        self.learn(train, kind(n_neighbors=tried[-1], n_jobs=self.n_jobs), weighted=False)
        X, answers = self.features.write(valid), targets(train)
        parts = (X[i : i + AT_ONCE] for i in range(0, len(valid), AT_ONCE))
        near = answers[np.concatenate([self.model.kneighbors(part, return_distance=False) for part in parts])]
        said = {k: vote(near[:, :k], rows.target, self.cost) for k in tried}
        return min(tried, key=lambda k: (float(losses_on(valid, said[k], self.cost).mean()), -k))


def vote(near: npt.NDArray[Any], target: Target, cost: CostMatrix | None) -> npt.NDArray[Any]:
    """Return what neighbours answer together: their mean, the class most of them have, or the one of least cost."""
    if target.task == "regression":
        return np.asarray(near.mean(axis=1))
    counts = np.stack([(near == place).sum(axis=1) for place in range(len(target.classes))], axis=1)
    return least_costly(counts.astype(np.float64), cost)


class LinearModel(FittedModel):
    """Logistic regression, or for numbers ridge regression, with scikit-learn's usual penalty."""

    about = "on {} indicators and {numbers}"

    def fit(self, rows: TrainingSet) -> None:
        """Fit by scikit-learn; a single class needs no model."""
        from sklearn.linear_model import LogisticRegression, Ridge  # type: ignore[import-untyped]

        if rows.target.task == "regression":
            self.learn(rows, Ridge(), weighted=True)
        elif len(np.unique(rows.y)) == 1:
            from sklearn.dummy import DummyClassifier  # type: ignore[import-untyped]

            self.learn(rows, DummyClassifier(), weighted=True)
        else:
            self.learn(rows, LogisticRegression(max_iter=1000), weighted=True)
        self.fact = float(self.features.indicators)


MODELS: dict[str, tuple[str, Any]] = {  # for which task ("" for both), and what
    "knn": ("", NearestNeighbours),
    "logistic": ("classification", LinearModel),
    "linear": ("regression", LinearModel),
    "majority": ("classification", ConstantModel),
    "mean": ("regression", ConstantModel),
}


def find_baselines(names: Sequence[str] | str, task: str) -> dict[str, Any]:
    """Find the models by name; one of the other task is refused."""
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    fitting = [name for name, (for_task, _) in MODELS.items() if for_task in ("", task)]
    for name in listed:
        if name not in fitting:
            near = did_you_mean(name, fitting)
            raise ParameterError(f'against "{safe(name)}": for {task} there are {listing(fitting)}.', hint=near)
    if not listed:
        raise ParameterError(Param("against") + " names no model.", hint=f"For {task} there are {listing(fitting)}.")
    chosen = {name: MODELS[name][1] for name in listed}
    if any(issubclass(kind, FittedModel) for kind in chosen.values()):
        require_sklearn()
    return chosen


def require_sklearn() -> None:
    """Say what to install where scikit-learn is not."""
    try:
        import sklearn  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise ParameterError(
            "K-NN and the linear models are scikit-learn's, which is not installed: pip install scikit-learn.",
            hint="(majority and mean need nothing.)",
        ) from None


def targets(rows: TrainingSet) -> npt.NDArray[Any]:
    """Return what is to be predicted: class numbers, or values."""
    return rows.raw if rows.target.task == "regression" else rows.y


def losses_on(rows: TrainingSet, said: npt.NDArray[Any], cost: CostMatrix | None) -> Floats:
    """Return what each answer loses."""
    return losses(targets(rows), said, rows.target.task, cost)


def facts_in_words(about: str, facts: Sequence[float], rows: TrainingSet) -> str:
    """Say how a model came out over the folds: one number, or from the least to the most."""
    if about == ConstantModel.about and rows.target.task == "classification":
        said = dict.fromkeys(safe(rows.target.classes[int(fact)]) for fact in facts)
        return about.format(" or ".join(said))
    low, high = format_rounded(min(facts)), format_rounded(max(facts))
    numbers = plural(sum(not encoding.is_categorical for encoding in rows.encodings), "number")
    return about.format(low if low == high else f"{low} to {high}", numbers=numbers)


Writer = Callable[[npt.NDArray[Any]], Floats]

LARGEST_DENSE = 50_000_000  # numbers; a larger table is kept sparse


class FeatureMatrix:
    """Writes rows as numbers, in the way that some training rows suggest."""

    def __init__(self, training: TrainingSet) -> None:
        self.writers: list[Writer] = []
        self.numbers = self.indicators = 0
        for encoding, values in zip(training.encodings, training.columns, strict=True):
            (self._add_levels if encoding.is_categorical else self._add_number)(encoding, values)

    def _add_number(self, encoding: Encoding, values: npt.NDArray[Any]) -> None:
        gone = encode.is_missing(encoding, values)
        known = np.clip(values[~gone].astype(np.float64), -1e150, 1e150)
        mean = float(known.mean()) if len(known) else 0.0
        scale = (float(known.std()) if len(known) else 0.0) or 1.0
        any_gone = bool(gone.any())
        self.numbers += 1
        self.indicators += any_gone

        def write(values: npt.NDArray[Any]) -> Floats:
            gone = encode.is_missing(encoding, values)
            scaled = (np.clip(np.where(gone, mean, values.astype(np.float64)), -1e150, 1e150) - mean) / scale
            return np.column_stack([scaled, gone]) if any_gone else scaled[:, None]

        self.writers.append(write)

    def _add_levels(self, encoding: Encoding, values: npt.NDArray[Any]) -> None:
        present = np.unique(values)  # missing is a level here
        self.indicators += len(present)
        self.writers.append(lambda values: (values[:, None] == present).astype(np.float64))

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return self.numbers + self.indicators

    def write(self, rows: TrainingSet) -> Any:
        """Return rows as a matrix of numbers, sparse where it is large."""
        parts = (write(values) for write, values in zip(self.writers, rows.columns, strict=True))
        if not self.writers:
            return np.zeros((len(rows), 1))
        if len(rows) * self.width <= LARGEST_DENSE:
            return np.hstack(list(parts))
        from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]

        return hstack([csr_matrix(part) for part in parts], format="csr")
