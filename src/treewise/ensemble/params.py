"""What is asked of many trees beside the options of each: checked, kept in their history, and read from it again.

Stands on ``bags.py``, below everything that grows many trees: ``growing.py`` follows a ``BagRecipe``, ``boosting.py`` a
``BoostRecipe``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np

from treewise._lib.checks import check_integer, to_python_number
from treewise.ensemble.bootstrap import BootstrapSamples, columns_to_draw, rows_to_draw
from treewise.ensemble.model import Ensemble
from treewise.errors import Param, ParameterError
from treewise.train.training_set import TrainingSet
from treewise.tree.fit_info import EnsembleInfo, FitInfo

BagMethod = Literal["forest", "extra_trees", "bagging"]

MOST_TREES = 10**6
_FASTEST = 10.0  # learning rate

Asked = TypeVar("Asked", bound="EnsembleParams")


@dataclass(frozen=True)
class EnsembleParams:
    """What all ways to grow many trees are asked."""

    methods: ClassVar[tuple[str, ...]]  # the ways of growing that are asked so
    method: str
    n_estimators: int

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            flag = isinstance(value, bool | np.bool_)
            if each.type == "bool" and not flag:
                raise ParameterError("must be True or False.", parameter=each.name, value=value)
            object.__setattr__(
                self, each.name, bool(value) if flag else to_python_number(value)
            )  # Python's instead of NumPy's
        check_integer("n_estimators", self.n_estimators, least=1, most=MOST_TREES)

    def given(self) -> dict[str, Any]:
        """Return what the history keeps: method, number of trees, and what differs from the defaults."""
        always = ("method", "n_estimators")
        usual = {each.name: each.default for each in fields(self) if each.name not in always}
        return {name: value for name, value in asdict(self).items() if name in always or value != usual[name]}


@dataclass(frozen=True)
class BaggingParams(EnsembleParams):
    """Trees on bags of rows.

    >>> BaggingParams("bagging", 10, max_samples=0.5).given()
    {'method': 'bagging', 'n_estimators': 10, 'max_samples': 0.5}
    """

    methods = get_args(BagMethod)
    method: BagMethod
    bootstrap: bool = True  # rows are drawn with replacement
    max_samples: int | float | None = None  # rows drawn for a tree; None: as many as there are
    max_features: int | float = 1.0  # columns drawn for a whole tree
    bootstrap_features: bool = False
    oob_score: bool = False

    def bags(self, training_set: TrainingSet) -> BootstrapSamples:
        """Return how the rows and columns of each tree are drawn."""
        columns, rows = columns_to_draw(self.max_features, training_set), rows_to_draw(self.max_samples, training_set)
        every_row = rows == rows_to_draw(None, training_set) and not self.bootstrap
        every_column = not training_set.columns or (
            columns >= len(training_set.columns) and not self.bootstrap_features
        )
        bags = BootstrapSamples(
            training_set,
            drawn=0 if every_row else rows,
            replace=self.bootstrap,
            columns_drawn=0 if every_column else columns,
            replace_columns=self.bootstrap_features,
        )
        if self.oob_score and not bags.drawn:
            raise ParameterError(
                "without bootstrap every tree sees every row.",
                parameter="oob_score",
                value=True,
                hint="Give " + Param("bootstrap", True) + ", or a " + Param("max_samples") + " below 1.0.",
            )
        return bags


@dataclass(frozen=True)
class AdaBoostParams(EnsembleParams):
    """Trees one after another, on weights.

    >>> AdaBoostParams("adaboost", 10, resample=True).given()
    {'method': 'adaboost', 'n_estimators': 10, 'resample': True}
    """

    methods = ("adaboost",)
    method: Literal["adaboost"]
    learning_rate: float = 1.0
    resample: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = self.learning_rate
        if not isinstance(rate, int | float) or isinstance(rate, bool) or not 0 < rate <= _FASTEST:
            raise ParameterError(
                f"must be a number above 0, at most {_FASTEST:g}.", parameter="learning_rate", value=rate
            )
        object.__setattr__(self, "learning_rate", float(rate))


def how_grown(ensemble: Ensemble, call: str) -> tuple[FitInfo, EnsembleInfo]:
    """Return how an ensemble was grown; raise where that is not recorded, because ``call`` needs it."""
    info = ensemble.fit_info
    if info.ensemble is not None and info.ensemble.n_estimators and info.ensemble.method == ensemble.method:
        return info, info.ensemble
    raise ParameterError(
        f"{call}: the history of the ensemble does not say how it was grown, and this needs it.", hint="Grow it anew."
    )


def recipe_of(ensemble: Ensemble, kind: type[Asked], call: str) -> Asked:
    """Read from its history what was asked of an ensemble; one that was grown in another way has no such recipe."""
    if ensemble.method not in kind.methods:
        raise ParameterError(
            f"{call} is for {', '.join(kind.methods)}; these trees are of {ensemble.method}.",
            hint="To judge them, take rows they have not seen: evaluate.",
        )
    options = how_grown(ensemble, call)[1].options
    return kind(**{each.name: options[each.name] for each in fields(kind) if each.name in options})
