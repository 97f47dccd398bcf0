"""The parameters of the estimators; their defaults are those of the functions they are passed to.

Below the estimators. scikit-learn reads an estimator's parameters off the signature of its ``__init__``, editors and
type checkers off what is written there. Both get them from the lists below, so a parameter is named once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypedDict, TypeVar

import numpy as np

from treewise.data.table import KindSpec
from treewise.errors import did_you_mean
from treewise.train.settings import SettingOptions
from treewise.tree.arrays import Label

Init = TypeVar("Init", bound=Callable[..., None])


class _GrowOptions(SettingOptions, total=False):
    """Parameters of every estimator: settings of the learner, types of columns, randomness."""

    preset: str | None
    kinds: Mapping[str, KindSpec] | None
    ignore: Sequence[str]
    columns: Sequence[str] | None
    na_values: Sequence[str]
    drop_missing_target: bool
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    monotonic_cst: Sequence[int] | Mapping[str, int] | None


class _ClassOptions(TypedDict, total=False):
    """Parameters for classification."""

    positive: Label | None
    sufficient_accuracy: float
    class_weight: Mapping[Label, float] | str | None
    priors: Any


class TreeOptions(_GrowOptions, total=False):
    """Parameters of a single tree: ``max_features``, ``splitter``, pruning and honest estimation."""

    max_features: int | float | str | None
    splitter: str
    groups: Any
    time: Any
    pruning: Any
    validation: Any
    ccp_alpha: float
    honest: float | None
    search: str


class TreeClassifierOptions(TreeOptions, _ClassOptions, total=False):
    """Parameters of a classification tree."""

    cost: Any


class OptimalTreeOptions(TypedDict, total=False):
    """Parameters of an optimal tree."""

    max_depth: int | None
    max_leaf_nodes: int | None
    penalty: float
    pruning: Any
    time_limit: float | None
    categorical: str | None
    missing: str
    kinds: Mapping[str, KindSpec] | None
    ignore: Sequence[str]
    columns: Sequence[str] | None
    na_values: Sequence[str]
    drop_missing_target: bool
    n_jobs: int | None


class OptimalTreeClassifierOptions(OptimalTreeOptions, total=False):
    """Parameters of an optimal classification tree."""

    objective: str | None
    positive: Label | None
    class_weight: Mapping[Label, float] | str | None
    priors: Any
    cost: Any


class _EnsembleOptions(_GrowOptions, total=False):
    """Parameters of every ensemble, except the number of trees, which comes first."""

    warm_start: bool


class ExtraTreesOptions(_EnsembleOptions, total=False):
    """Parameters of extra-trees: columns are drawn at every node, with one random split each."""

    groups: str | None
    max_features: int | float | str | None
    bootstrap: bool
    max_samples: int | float | None
    oob_score: bool | Callable[[Any, Any], float]


class ExtraTreesClassifierOptions(ExtraTreesOptions, _ClassOptions, total=False):
    """Parameters of extra-trees for classification."""


class ForestOptions(ExtraTreesOptions, total=False):
    """Parameters of a forest: by default, it searches for the best split of the drawn columns."""

    splitter: str


class ForestClassifierOptions(ForestOptions, _ClassOptions, total=False):
    """Parameters of a forest for classification."""


class BaggingOptions(_EnsembleOptions, total=False):
    """Parameters of bagging: columns are drawn once per tree."""

    groups: str | None
    max_samples: int | float
    max_features: int | float
    splitter: str
    bootstrap: bool
    bootstrap_features: bool
    oob_score: bool | Callable[[Any, Any], float]


class BaggingClassifierOptions(BaggingOptions, _ClassOptions, total=False):
    """All that bagging for classes takes."""


class AdaBoostOptions(_EnsembleOptions, _ClassOptions, total=False):
    """All that boosting takes."""

    max_features: int | float | str | None
    splitter: str
    learning_rate: float
    resample: bool


_OWN_DEFAULTS: Mapping[str, Any] = {"monotonic_cst": None, "warm_start": False}  # parameters that no function has


def parameters(options: type, *functions: Callable[..., Any], **defaults: Any) -> Callable[[Init], Init]:
    """Make ``__init__`` keep these options; a default is that of the first function that has such a parameter.

    ``defaults`` are those that differ. What ``__init__`` itself names stays as it is, in front. As
    scikit-learn requires, values are not checked before ``fit``.
    """
    parameters_by_name = {
        p.name: p for function in reversed(functions) for p in signature(function).parameters.values()
    }
    parameters_by_name |= {
        name: Parameter(name, Parameter.KEYWORD_ONLY, default=default)
        for name, default in {**_OWN_DEFAULTS, **defaults}.items()
    }
    option_parameters = [
        parameters_by_name[name].replace(kind=Parameter.KEYWORD_ONLY) for name in options.__annotations__
    ]

    def keep_in(init: Init) -> Init:
        own_parameters = [p for p in signature(init).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        full_signature = Signature([*own_parameters, *option_parameters], return_annotation=None)

        @wraps(init)
        def keep(self: Any, *args: Any, **arguments: Any) -> None:
            for name in arguments:
                if name not in full_signature.parameters:
                    raise TypeError(
                        f"{type(self).__name__} has no parameter {name}.{did_you_mean(name, full_signature.parameters)}"
                    )
            chosen = full_signature.bind(self, *args, **arguments)
            chosen.apply_defaults()
            for name, value in list(chosen.arguments.items())[1:]:
                setattr(self, name, value)

        keep.__signature__ = full_signature  # type: ignore[attr-defined]
        return keep  # type: ignore[return-value]

    return keep_in
