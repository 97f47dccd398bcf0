"""The settings of the learner, each declared once: name, type, default, range, help.

Used by everything that learns. A field of ``Settings`` is the whole declaration. From it follow the check of the value,
the parameter of ``treewise.grow`` and of the estimators (``SettingOptions`` repeats the types for type checkers and
editors; a test compares the two), the option of the command line, and for a limit the number that the specification
(``TrainingSet.limits``) and the core compare with. What a limit *does* is written in ``train/reference.py`` and in the
core.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from inspect import Parameter, Signature, signature
from numbers import Real
from typing import Any, Literal, Protocol, TypedDict, TypeVar

from treewise._lib.checks import (
    MAX_FLOAT,
    check_choice,
    check_count_or_share,
    check_integer,
    check_max_features,
    check_number,
    decimal_fraction,
    to_python_number,
)
from treewise._lib.text import safe
from treewise._lib.types import SPLIT_KINDS
from treewise.errors import Param, ParameterError
from treewise.train.criteria import get_criterion, list_criteria

# The settings of the books by name; a parameter given by the user takes precedence.
_PRESETS: dict[str, dict[str, Any]] = {
    "id3": {"criterion": "entropy", "categorical": "multiway"},  # Quinlan 1986; CS221 notes 6, ID3 notes
    "cart": {"criterion": "gini", "categorical": "subset"},  # Breiman, Friedman, Olshen, Stone 1984
    "c45": {"criterion": "c45", "categorical": "multiway", "min_samples_leaf": 2},  # Quinlan 1993
}
# Defaults that the presets do not share, nor models that were grown before there was a choice.
_WITHOUT_PRESET: dict[str, Any] = {"selection": "priced", "min_level_rows": 5}

# How the candidates of a node compete; the core: TREEWISE_SELECTIONS in criteria/registry.hpp.
SELECTIONS = ("gain", "test", "priced")
ALPHA = 0.05  # of selection="test"

PRESET_PRUNING = {"c45": "pessimistic"}  # how a preset prunes a classification tree unless pruning is given


# -- types of settings ------------------------------------------------------------------------------------------------


class SettingType(Protocol):
    """The domain of a setting: checks its values, and converts a limit to a number of rows or weight."""

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""

    def resolve(self, value: Any, n_rows: int, total_weight: int) -> int | float:
        """Return the number that the learner compares with."""


class _NotALimit:
    def resolve(self, value: Any, n_rows: int, total_weight: int) -> int | float:
        raise TypeError("this setting is not a limit")


@dataclass(frozen=True)
class Choice(_NotALimit):
    """One of several names."""

    words: Collection[str]

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""
        check_choice(name, value, self.words)


class CriterionName(_NotALimit):
    """The name of a criterion; None for the default of the task."""

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""
        if value is not None:
            get_criterion(value)


class FeatureCount(_NotALimit):
    """A number or a share of the columns, ``"sqrt"`` or ``"log2"``; None for all."""

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""
        check_max_features(name, value)


@dataclass(frozen=True)
class Integer:
    """A whole number; for an optional one, None means "no limit", which the core spells -1."""

    minimum: int
    maximum: int | None = None
    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""
        check_integer(name, value, self.minimum, "None for no limit" if self.optional else "", self.maximum)

    def resolve(self, value: int | None, n_rows: int, total_weight: int) -> int:
        """Return the number, or -1 for no limit."""
        return -1 if value is None else value


@dataclass(frozen=True)
class RowCount:
    """A number of rows, or a share of all rows (scikit-learn's "int or float")."""

    minimum: int

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""
        check_count_or_share(name, value, self.minimum)

    def resolve(self, value: int | float, n_rows: int, total_weight: int) -> int:
        """Return a number of rows."""
        return value if isinstance(value, int) else max(1, math.ceil(decimal_fraction(value) * n_rows))


@dataclass(frozen=True)
class Number:
    """A number in a closed range, or None if it is optional."""

    low: float
    high: float = math.inf
    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""
        if not (self.optional and value is None):
            check_number(name, value, self.low, self.high)

    def resolve(self, value: Any, n_rows: int, total_weight: int) -> int | float:
        """Return the number itself, or -1 for None."""
        return -1 if value is None else value


class WeightFraction(Number):
    """A share of the total weight."""

    def resolve(self, value: float, n_rows: int, total_weight: int) -> int:
        """Return a weight in the integer units of the training set."""
        return math.ceil(decimal_fraction(value) * total_weight)


class ColumnSigns(_NotALimit):
    """A sign for some columns, by name: +1 or -1 (0 for none)."""

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""
        if value is None:
            return
        if not isinstance(value, Mapping):
            raise ParameterError('must be a dict of column → +1 or -1, {"age": +1}.', parameter=name, value=value)
        for column, sign in value.items():
            if isinstance(sign, bool) or not isinstance(sign, Real) or sign not in (-1, 0, 1):
                raise ParameterError(
                    f'column "{safe(column)}": must be +1 (does not fall as it grows) or -1 (does not rise).',
                    parameter=name,
                    value=sign,
                )


class ColumnCosts(_NotALimit):
    """A number that is not negative for some columns, by name."""

    maximum = 64

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""
        if value is None:
            return
        if not isinstance(value, Mapping):
            raise ParameterError('must be a dict of column → cost, {"MRI": 500}.', parameter=name, value=value)
        for column, cost in value.items():
            if isinstance(cost, bool) or not isinstance(cost, Real) or not 0 <= to_python_number(cost) <= MAX_FLOAT:
                raise ParameterError(f'column "{safe(column)}": must be a cost, 0 or more.', parameter=name, value=cost)
        if sum(cost > 0 for cost in value.values()) > self.maximum:
            raise ParameterError(f"at most {self.maximum} columns may cost something.", parameter=name)


class ColumnGroups(_NotALimit):
    """Groups of columns, by name."""

    maximum = 63

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value out of range."""
        if value is None:
            return
        is_group = (
            [isinstance(group, list | tuple | set | frozenset) for group in value] if _is_list(value) else [False]
        )
        if not is_group or not all(is_group) or not all(isinstance(c, str) for group in value for c in group):
            raise ParameterError(
                'must be a list of groups of columns, [["age", "dose"], ["income"]].', parameter=name, value=value
            )
        if len(value) > self.maximum:
            raise ParameterError(f"{len(value):,} groups are too many; at most {self.maximum}.", parameter=name)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


Group = Literal["learning", "limits", "randomness"]


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting, in addition to its name, type and default."""

    type: SettingType
    group: Group  # the section of the command line's help
    metavar: str
    help: str
    core: str = ""  # a limit: the field of the core's settings that receives ``type.resolve``


def _setting(default: Any, type: SettingType, group: Group, metavar: str, help: str, core: str = "") -> Any:
    return field(default=default, metadata={"setting": Setting(type, group, metavar, help, core)})


# -- the settings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """Everything that controls growth. ``Settings.of(...)`` applies a preset and checks each value.

    >>> Settings.of(preset="id3", max_depth=3).categorical
    'multiway'
    """

    criterion: str | None = _setting(
        None,
        CriterionName(),
        "learning",
        "NAME",
        f"{list_criteria('classification')}; {list_criteria('regression')} for numbers"
        " (default entropy or squared_error)",
    )
    categorical: str = _setting(
        "subset",
        Choice(SPLIT_KINDS),
        "learning",
        "NAME",
        "How categories are split: subset, multiway, one_value, ordinal or any",
    )
    selection: str = _setting(
        "gain",
        Choice(SELECTIONS),
        "learning",
        "NAME",
        "How candidates compete: gain; priced (gain minus a description-length penalty, in bits, for sets of"
        " many levels); or test (the column of the smallest p-value) (default priced; with a preset gain)",
    )
    alpha: float | None = _setting(
        None,
        Number(0.0, 1.0, optional=True),
        "limits",
        "X",
        f"With selection=test: maximum p-value, adjusted for the number of columns, to split a node (default {ALPHA})",
        core="alpha",
    )
    monotone: Mapping[str, int] | None = _setting(
        None,
        ColumnSigns(),
        "learning",
        "COLUMN=SIGN",
        "The prediction does not fall as this column grows (+1), or does not rise (-1): age=+1",
    )
    interactions: Sequence[Sequence[str]] | None = _setting(
        None,
        ColumnGroups(),
        "learning",
        "A,B,…",
        "Columns that may be tested together on one path; repeat for each group. The columns that no group names form"
        " one more",
    )
    feature_costs: Mapping[str, float] | None = _setting(
        None,
        ColumnCosts(),
        "learning",
        "COLUMN=COST",
        "Cost of measuring a column: its first test on a path competes by its gain per row less the cost: MRI=0.05",
    )
    cost_scale: float = _setting(
        1.0, Number(0.0), "learning", "X", "What one unit of feature_costs is worth, as impurity per row"
    )
    missing: str = _setting(
        "learn",
        Choice(("learn", "branch", "error")),
        "learning",
        "NAME",
        "Missing values: learn, branch (of their own) or error",
    )
    empty_branch: Literal["parent", "root"] = _setting(
        "parent",
        Choice(("parent", "root")),
        "learning",
        "NAME",
        "The node whose prediction a branch without rows uses: parent or root",
    )
    max_depth: int | None = _setting(
        None, Integer(0, optional=True), "limits", "N", "Maximum depth of the tree", core="max_depth"
    )
    min_samples_split: int | float = _setting(
        2,
        RowCount(2),
        "limits",
        "N",
        "Minimum number of rows to split a node, or their share",
        core="min_samples_split",
    )
    min_samples_leaf: int | float = _setting(
        1, RowCount(1), "limits", "N", "Minimum number of rows in a leaf, or their share", core="min_samples_leaf"
    )
    max_leaf_nodes: int | None = _setting(
        None,
        Integer(1, optional=True),
        "limits",
        "N",
        "Maximum number of leaves; the best splits come first",
        core="max_leaf_nodes",
    )
    min_weight_fraction_leaf: float = _setting(
        0.0,
        WeightFraction(0.0, 0.5),
        "limits",
        "X",
        "Minimum share of the total weight in a leaf",
        core="min_leaf_weight",
    )
    min_impurity_decrease: float = _setting(
        0.0,
        Number(0.0),
        "limits",
        "X",
        "Minimum gain of a split, per row of the table",
        core="min_impurity_decrease",
    )
    sufficient_accuracy: float = _setting(
        1.0, Number(0.0, 1.0), "limits", "X", "Do not split a node in which one class has this share of the rows"
    )
    min_level_rows: int = _setting(
        1,
        Integer(1),
        "limits",
        "N",
        "Minimum number of rows of a level at a node to be named by a test, in columns of more than ten levels; rarer"
        " ones go with the others (default 5; with a preset 1)",
        core="min_level_rows",
    )
    ties: str = _setting(
        "first",
        Choice(("first", "random")),
        "randomness",
        "first|random",
        "Among equally good columns, take the first or a random one (default first; forests, extra-trees and bagging"
        " random)",
    )
    random_state: int = _setting(
        0,
        Integer(0, maximum=2**64 - 1),
        "randomness",
        "N",
        "Seed for sampled columns, random splits and ties, folds and held-out rows",
    )
    max_features: int | float | str | None = _setting(
        None,
        FeatureCount(),
        "learning",
        "N",
        "Columns sampled at each node: a number or share of them, sqrt or log2 (default all; forests of"
        " classification trees sqrt). For bagging, columns are sampled once per tree",
    )
    splitter: str = _setting(
        "best",
        Choice(("best", "random")),
        "learning",
        "best|random",
        "Take the best split of each column, or draw one at random",
    )

    @classmethod
    def of(cls, preset: str | None = None, **given: Any) -> Settings:
        """Combine a preset with the values given (None means "not given"), and check them."""
        if preset is not None:
            check_choice("preset", preset, _PRESETS)
        values = _WITHOUT_PRESET if preset is None else _PRESETS[preset]
        values = values | {name: value for name, value in given.items() if value is not None}
        if isinstance(values.get("criterion"), str):
            values["criterion"] = get_criterion(values["criterion"]).name  # of a synonym
        settings = cls.from_values(values)
        settings._check_selection(given.get("selection"))
        signs = {str(name): int(sign) for name, sign in (settings.monotone or {}).items() if sign != 0}
        groups = [list(group) for group in settings.interactions or ()]
        costs = {str(name): float(cost) for name, cost in (settings.feature_costs or {}).items() if cost != 0}
        if settings.monotone is None and settings.interactions is None and settings.feature_costs is None:
            return settings
        return replace(settings, monotone=signs or None, interactions=groups or None, feature_costs=costs or None)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Settings:
        """Return the settings of a grown model, from its history (``non_default_values``), and check them."""
        settings = cls(**{name: to_python_number(value) for name, value in values.items()})
        settings.check()
        uses_default_alpha = settings.selection == "test" and settings.alpha is None
        return replace(settings, alpha=ALPHA) if uses_default_alpha else settings

    def _check_selection(self, given: str | None) -> None:
        by_gain = self.criterion is None or get_criterion(self.criterion).rule == "gain"
        if self.feature_costs and (not by_gain or self.selection == "test"):
            rule = self.criterion if not by_gain else "selection by test"
            raise ParameterError(
                f"{rule} does not compare tests by gain alone, so costs cannot be subtracted.",
                parameter="feature_costs",
                hint="Leave it out, or choose another " + Param("selection" if by_gain else "criterion") + ".",
            )
        if given == "priced" and self.criterion and get_criterion(self.criterion).rule != "gain":
            raise ParameterError(
                f"{self.criterion} is not compared by gain alone, so it takes no price.",
                parameter="selection",
                value=given,
                hint="Leave it out, or choose another " + Param("criterion") + ".",
            )

    def check(self) -> None:
        """Raise ParameterError for the first value out of range."""
        for name, setting in SETTINGS.items():
            setting.type.check(name, getattr(self, name))
        if self.monotone and self.empty_branch == "root":
            raise ParameterError(
                "a branch without rows may not predict what the root does where a column is monotone.",
                parameter="empty_branch",
                value=self.empty_branch,
                hint="Leave it out.",
            )
        if self.alpha is not None and self.selection != "test":
            raise ParameterError(
                "applies only to selection by test.",
                parameter="alpha",
                value=self.alpha,
                hint="Leave it out, or add " + Param("selection", "test") + ".",
            )

    def features_of(self, columns: int) -> int:
        """Return the number of columns sampled at a node, of ``columns`` in all.

        >>> [Settings(max_features=m).features_of(20) for m in (None, 3, 0.5, "sqrt", "log2")]
        [20, 3, 10, 4, 4]
        """
        number = self.max_features
        if number is None:
            return columns
        if isinstance(number, str):
            number = math.isqrt(columns) if number == "sqrt" else columns.bit_length() - 1
        elif isinstance(number, float):
            number = math.floor(decimal_fraction(number) * columns)
        return min(columns, max(1, number))

    def limits(self, n_rows: int, total_weight: int) -> dict[str, int | float]:
        """Return each limit as the number that the learner compares with: rows, integer weight, or -1 for none.

        >>> Settings(min_samples_leaf=0.07).limits(n_rows=100, total_weight=100)["min_samples_leaf"]
        7
        """
        return {
            name: setting.type.resolve(getattr(self, name), n_rows, total_weight)
            for name, setting in SETTINGS.items()
            if setting.core
        }

    def non_default_values(self) -> dict[str, Any]:
        """Return the values that differ from the defaults, for the history and for headers.

        >>> Settings.of(preset="id3").non_default_values()
        {'criterion': 'entropy', 'categorical': 'multiway'}
        """
        values = ((f.name, getattr(self, f.name), f.default) for f in fields(self))
        return {name: deepcopy(value) for name, value, default in values if value != default}


SETTINGS: dict[str, Setting] = {f.name: f.metadata["setting"] for f in fields(Settings)}
DEFAULTS: dict[str, Any] = {
    # A setting that a preset may change is None until it is given.
    f.name: None if any(f.name in preset for preset in (_WITHOUT_PRESET, *_PRESETS.values())) else f.default
    for f in fields(Settings)
}


# -- for signatures ---------------------------------------------------------------------------------------------------


class SettingOptions(TypedDict, total=False):
    """The settings as keyword parameters, for type checkers and editors: those of every function and estimator."""

    criterion: str | None
    categorical: str | None
    selection: str | None
    alpha: float | None
    monotone: Mapping[str, int] | None
    interactions: Sequence[Sequence[str]] | None
    feature_costs: Mapping[str, float] | None
    cost_scale: float
    missing: str
    empty_branch: str
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float | None
    max_leaf_nodes: int | None
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    min_level_rows: int | None
    ties: str


class TreeSettingOptions(SettingOptions, total=False):
    """All settings of a single tree."""

    sufficient_accuracy: float
    max_features: int | float | str | None
    splitter: str
    random_state: int


Function = TypeVar("Function", bound=Callable[..., Any])


def with_settings(function: Function) -> Function:
    """Give a function that takes ``**settings`` a signature that lists them, with their defaults."""
    parameters = [p for p in signature(function).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    declared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=DEFAULTS[name], annotation=annotation.__forward_arg__)
        for name, annotation in TreeSettingOptions.__annotations__.items()
    ]
    returned = signature(function).return_annotation
    function.__signature__ = Signature([*parameters, *declared], return_annotation=returned)  # type: ignore[attr-defined]
    return function
