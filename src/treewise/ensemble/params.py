"""Parameters of ensembles: validated, recorded in the history, and read back from it.

Uses ``bootstrap.py``; used by everything that grows ensembles: ``grow.py`` takes ``BaggingParams``, ``adaboost.py``
``AdaBoostParams``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np

from treewise._lib.checks import check_integer, to_python_number
from treewise.ensemble.bootstrap import BootstrapSamples, resolve_max_features, resolve_max_samples
from treewise.ensemble.model import Ensemble
from treewise.errors import Param, ParameterError
from treewise.train.training_set import TrainingSet
from treewise.tree.fit_info import EnsembleInfo, FitInfo

BaggingMethod = Literal["forest", "extra_trees", "bagging"]

MAX_TREES = 10**6
_MAX_LEARNING_RATE = 10.0

ParamsType = TypeVar("ParamsType", bound="EnsembleParams")


@dataclass(frozen=True)
class EnsembleParams:
    """Parameters common to all methods."""

    methods: ClassVar[tuple[str, ...]]  # that take these parameters
    method: str
    n_estimators: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            is_bool = isinstance(value, bool | np.bool_)
            if field.type == "bool" and not is_bool:
                raise ParameterError("must be True or False.", parameter=field.name, value=value)
            # NumPy scalars become Python's, for the history
            object.__setattr__(self, field.name, bool(value) if is_bool else to_python_number(value))
        check_integer("n_estimators", self.n_estimators, minimum=1, maximum=MAX_TREES)

    def history_record(self) -> dict[str, Any]:
        """Return the record for the history: method, number of trees, and what differs from the defaults."""
        always = ("method", "n_estimators")
        defaults = {field.name: field.default for field in fields(self) if field.name not in always}
        return {name: value for name, value in asdict(self).items() if name in always or value != defaults[name]}


@dataclass(frozen=True)
class BaggingParams(EnsembleParams):
    """Parameters of forests, extra-trees and bagging.

    >>> BaggingParams("bagging", 10, max_samples=0.5).history_record()
    {'method': 'bagging', 'n_estimators': 10, 'max_samples': 0.5}
    """

    methods = get_args(BaggingMethod)
    method: BaggingMethod
    bootstrap: bool = True  # draw rows with replacement
    max_samples: int | float | None = None  # rows drawn for each tree; None: as many as there are
    max_features: int | float = 1.0  # columns drawn for each tree
    bootstrap_features: bool = False
    oob_score: bool = False

    def samples(self, training_set: TrainingSet) -> BootstrapSamples:
        """Return how the rows and columns of each tree are drawn."""
        columns = resolve_max_features(self.max_features, training_set)
        rows = resolve_max_samples(self.max_samples, training_set)
        every_row = rows == resolve_max_samples(None, training_set) and not self.bootstrap
        every_column = not training_set.encodings or (
            columns >= len(training_set.encodings) and not self.bootstrap_features
        )
        samples = BootstrapSamples(
            training_set,
            n_drawn=0 if every_row else rows,
            replace=self.bootstrap,
            n_columns_drawn=0 if every_column else columns,
            replace_columns=self.bootstrap_features,
        )
        if self.oob_score and not samples.n_drawn:
            raise ParameterError(
                "without bootstrap every tree sees every row.",
                parameter="oob_score",
                value=True,
                hint="Give " + Param("bootstrap", True) + ", or a " + Param("max_samples") + " below 1.0.",
            )
        return samples


@dataclass(frozen=True)
class AdaBoostParams(EnsembleParams):
    """Parameters of AdaBoost.

    >>> AdaBoostParams("adaboost", 10, resample=True).history_record()
    {'method': 'adaboost', 'n_estimators': 10, 'resample': True}
    """

    methods = ("adaboost",)
    method: Literal["adaboost"]
    learning_rate: float = 1.0
    resample: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = self.learning_rate
        if not isinstance(rate, int | float) or isinstance(rate, bool) or not 0 < rate <= _MAX_LEARNING_RATE:
            raise ParameterError(
                f"must be a number above 0, at most {_MAX_LEARNING_RATE:g}.", parameter="learning_rate", value=rate
            )
        object.__setattr__(self, "learning_rate", float(rate))


def grow_record(ensemble: Ensemble, call: str) -> tuple[FitInfo, EnsembleInfo]:
    """Return how an ensemble was grown; raise if that is not recorded, because ``call`` needs it."""
    info = ensemble.fit_info
    if info.ensemble is not None and info.ensemble.n_estimators and info.ensemble.method == ensemble.method:
        return info, info.ensemble
    raise ParameterError(
        f"{call}: the history of the ensemble does not say how it was grown, which is required.", hint="Grow it again."
    )


def recorded_params(ensemble: Ensemble, kind: type[ParamsType], call: str) -> ParamsType:
    """Return the parameters that an ensemble was grown with; raise if its method takes other ones."""
    if ensemble.method not in kind.methods:
        raise ParameterError(
            f"{call} is for {', '.join(kind.methods)}; this ensemble is {ensemble.method}.",
            hint="Use evaluate on rows that were not used for training.",
        )
    options = grow_record(ensemble, call)[1].options
    return kind(**{field.name: options[field.name] for field in fields(kind) if field.name in options})
