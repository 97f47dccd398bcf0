"""The options of growing: one table that mirrors the parameters of ``treewise.grow``.

Used by every verb that can grow a tree (grow; show and trace on a table); below it stand the options of growing many. A
name, meaning or default is written here once; a test compares the tables with the signatures of ``treewise.grow`` and
the ensemble functions, so that they cannot drift apart. Ranges and spellings are checked where the Python interface
checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from treewise.cli.param_types import (
    read_class_weight,
    read_costs,
    read_count_or_share,
    read_feature_cost,
    read_feature_count,
    read_group,
    read_kind,
    read_method,
    read_names,
    read_share_or_name,
    read_shares,
    read_sign,
    read_words,
)
from treewise.cli.verb import ENSEMBLES, LEARNING, LIMITS, PRUNING, TABLE, WEIGHTS, WORDS, Function, option
from treewise.errors import ParameterError
from treewise.train.settings import (
    DEFAULTS,
    SETTINGS,
    Choice,
    ColumnCosts,
    ColumnGroups,
    ColumnSigns,
    CriterionName,
    FeatureCount,
    Integer,
    Number,
    RowCount,
    Settings,
    SettingType,
    WeightFraction,
)

METHODS = ("forest", "extra_trees", "bagging", "adaboost")
_DRAWING = METHODS[:3]  # each tree sees rows and columns that are drawn for it


@dataclass(frozen=True)
class _GrowOption:
    """One parameter of ``treewise.grow`` as an option."""

    parameter: str
    section: str
    help: str
    metavar: str | None = None
    type: Any = str
    default: Any = None  # the default of treewise.grow, for the help only
    flag: str | None = None  # where it differs from the parameter's name
    many: bool = False
    alone: str | None = None  # the value of the option without one
    off: bool = False  # a switch that can be turned off, too: --no-…

    @property
    def name(self) -> str:
        """The option as typed."""
        return self.flag or "--" + self.parameter.replace("_", "-")

    def add_to(self, function: Function) -> Function:
        """Add the option to a verb."""
        default = "" if self.default is None or "(default " in self.help else f" (default {self.default})"
        about: dict[str, Any] = {"help": f"{self.help}{default}."}
        if self.type is bool:
            about |= {"default": None} if self.off else {"is_flag": True}
        else:
            about |= {"type": self.type, "metavar": self.metavar, "multiple": self.many}
        if self.alone is not None:
            about |= {"is_flag": False, "flag_value": self.alone}
        typed = f"{self.name}/--no-{self.name[2:]}" if self.off else self.name
        return option(typed, self.parameter, section=self.section, **about)(function)

    def value(self, typed: Any) -> Any:
        """Return the given value as the parameter takes it; None if it was not given."""
        if typed is None or typed == () or (typed is False and not self.off):
            return None
        if self.type is read_names:
            return [name for names in typed for name in names]
        if self.type in (read_kind, read_sign, read_feature_cost):
            return dict(typed)
        if self.type is read_words:
            return {name: word for words in typed for name, word in words.items()}
        return list(typed) if self.many else typed


_TYPES: dict[type[SettingType], Any] = {
    Integer: int,
    Number: float,
    WeightFraction: float,
    RowCount: read_count_or_share,
    FeatureCount: read_feature_count,
    Choice: str,
    CriterionName: str,
    ColumnSigns: read_sign,
    ColumnGroups: read_group,
    ColumnCosts: read_feature_cost,
}
_REPEATED = (read_sign, read_group, read_feature_cost)


def _settings_options(group: str, section: str) -> Iterator[_GrowOption]:
    """Yield the options of one group of settings, as declared in ``train/settings.py``."""
    for name, setting in SETTINGS.items():
        if setting.group == group:
            default, help = getattr(Settings, name), setting.help
            if DEFAULTS[name] is None and default is not None:  # a preset may change it
                default, help = None, help if "(default " in help else f"{help} (default {default})"
            type_ = _TYPES[type(setting.type)]
            yield _GrowOption(name, section, help, setting.metavar, type_, default, many=type_ in _REPEATED)


GROW_OPTIONS = (
    _GrowOption("target", TABLE, "Column to predict (built-in tables have a default)", "COLUMN"),
    _GrowOption("task", TABLE, "Type of the target, where its values leave it open", "classification|regression"),
    _GrowOption(
        "ignore",
        TABLE,
        "Column to leave out; repeat, or separate by commas",
        "COLUMN",
        read_names,
        many=True,
    ),
    _GrowOption(
        "search",
        LEARNING,
        "greedy, or lookahead: the tests near the root are chosen together",
        "NAME",
        default="greedy",
    ),
    _GrowOption("columns", TABLE, "Use only these columns", "A,B,…", read_names, many=True),
    _GrowOption(
        "kinds",
        TABLE,
        'Type of a column: GPA=nominal, "Price=free<cheap<expensive" (ordered), "Hunger={a,b}" (levels)',
        "COLUMN=KIND",
        read_kind,
        flag="--kind",
        many=True,
    ),
    _GrowOption(
        "na_values",
        TABLE,
        'Text that marks a missing value, such as "?"; may be repeated',
        "TEXT",
        flag="--na",
        many=True,
    ),
    _GrowOption("drop_missing_target", TABLE, "Leave out rows whose target is missing", type=bool),
    _GrowOption(
        "groups",
        TABLE,
        "Column of groups, such as patients: no feature; folds and bootstrap samples keep groups whole",
        "COLUMN",
    ),
    _GrowOption(
        "time",
        TABLE,
        "Column of dates or numbers: folds are chronological; not used as a feature",
        "COLUMN",
    ),
    _GrowOption(
        "exposure",
        TABLE,
        "Column of time, area or people over which counts were observed: the tree predicts rates; no feature",
        "COLUMN",
    ),
    _GrowOption("preset", LEARNING, "Settings of a textbook algorithm; other options override them", "id3|cart|c45"),
    *_settings_options("learning", LEARNING),
    _GrowOption("positive", LEARNING, "Positive class, shown in percentages (default: the last)", "CLASS"),
    *_settings_options("limits", LIMITS),
    _GrowOption(
        "pruning",
        PRUNING,
        "cv (size by cross-validation), reduced_error, pessimistic, mdl, gain, collapse, cost_complexity, or none;"
        " with options gain:threshold=0.02, cv:loss=log_loss,rule=best,folds=5,repeats=3",
        "METHOD",
        read_method,
    ),
    _GrowOption(
        "validation",
        PRUNING,
        "For reduced_error: a validation table, or the share of rows to hold out",
        "DATA|X",
        read_share_or_name,
    ),
    _GrowOption(
        "ccp_alpha", PRUNING, "Penalty per leaf; above 0 the tree is pruned by cost complexity", "X", float, 0.0
    ),
    _GrowOption(
        "honest",
        PRUNING,
        "Share of the rows kept for the numbers in the leaves; the others grow and prune the tree",
        "X",
        float,
    ),
    _GrowOption(
        "round_thresholds",
        WORDS,
        "Round thresholds as far as no training row moves, or with X at most this share of a node's rows",
        "[X]",
        float,
        alone="0",
    ),
    _GrowOption(
        "labels", WORDS, "Labels of classes for readers: 0=stays,1=leaves", "CLASS=TEXT,…", read_words, many=True
    ),
    _GrowOption(
        "display_names",
        WORDS,
        'Names of columns for readers: "Balance=account balance"',
        "COLUMN=TEXT,…",
        read_words,
        many=True,
    ),
    _GrowOption("units", WORDS, "Units of columns: Balance=€,Age=years", "COLUMN=UNIT,…", read_words, many=True),
    _GrowOption("sample_weight", WEIGHTS, "Column with the weight of each row", "COLUMN"),
    _GrowOption(
        "class_weight",
        WEIGHTS,
        "balanced, or a weight for each class: yes=5,no=1",
        "WEIGHTS",
        read_class_weight,
    ),
    _GrowOption(
        "priors",
        WEIGHTS,
        "Class proportions where the tree will be used: no=0.9,yes=0.1",
        "SHARES",
        read_shares,
    ),
    _GrowOption(
        "cost",
        WEIGHTS,
        'Misclassification costs, true class then predicted class: "bad:good=5"; others cost 1',
        "COSTS",
        read_costs,
    ),
    *_settings_options("randomness", WEIGHTS),
    _GrowOption("n_jobs", WEIGHTS, "Number of threads (default: one per processor)", "N", int),
)


@dataclass(frozen=True)
class _EnsembleOption(_GrowOption):
    """A parameter of one or more of the functions that grow ensembles."""

    of: tuple[str, ...] = METHODS


ENSEMBLE_OPTIONS = (
    _EnsembleOption(
        "n_estimators",
        ENSEMBLES,
        "Number of trees (default 100; bagging 10; adaboost 50 at most)",
        "N",
        int,
        of=METHODS,
    ),
    _EnsembleOption(
        "bootstrap",
        ENSEMBLES,
        "Sample the rows of each tree with replacement (default yes; extra_trees no)",
        type=bool,
        off=True,
        of=_DRAWING,
    ),
    _EnsembleOption(
        "max_samples",
        ENSEMBLES,
        "Number, or share, of rows sampled for each tree (default all)",
        "N",
        read_count_or_share,
        of=_DRAWING,
    ),
    _EnsembleOption(
        "bootstrap_features", ENSEMBLES, "Sample the columns of each tree with replacement", type=bool, of=("bagging",)
    ),
    _EnsembleOption(
        "oob_score",
        ENSEMBLES,
        "Estimate the error on out-of-bag rows (extra_trees: with --bootstrap)",
        type=bool,
        of=_DRAWING,
    ),
    _EnsembleOption(
        "learning_rate", ENSEMBLES, "Factor applied to the vote weight of each tree", "X", float, 1.0, of=("adaboost",)
    ),
    _EnsembleOption(
        "resample",
        ENSEMBLES,
        "Sample the rows of each round by weight, instead of weighting them",
        type=bool,
        of=("adaboost",),
    ),
)


def grow_options_without(*left_out: str) -> Callable[[Function], Function]:
    """Add the options of growing to a verb, except some sections or parameters."""

    def decorate(function: Function) -> Function:
        for each in reversed(GROW_OPTIONS):
            if not {each.section, each.parameter} & {*left_out}:
                function = each.add_to(function)
        return function

    return decorate


grow_options = grow_options_without()


def _given_options(options: dict[str, Any], table: Sequence[_GrowOption] = GROW_OPTIONS) -> dict[str, Any]:
    """Return the options that were given, as parameters of ``treewise.grow``.

    >>> _given_options({"max_depth": 3, "ties": None, "ignore": (["id"], ["name", "town"]), "columns": ()})
    {'ignore': ['id', 'name', 'town'], 'max_depth': 3}
    """
    values = {option.parameter: option.value(options.get(option.parameter)) for option in table}
    return {name: value for name, value in values.items() if value is not None}


def take_words(grow_params: dict[str, Any]) -> dict[str, Any]:
    """Remove the words for readers from the options of growing; return them as parameters of ``Model.with_display``."""
    from treewise.train.grow import DISPLAY

    return {name: grow_params.pop(name) for name in DISPLAY if name in grow_params}


def take_grow_options(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of growing from those of a verb, and return them."""
    return _given_options({option.parameter: options.pop(option.parameter, None) for option in GROW_OPTIONS})


# -- many trees -----------------------------------------------------------------------------------------


def ensemble_options(function: Function) -> Function:
    """Add ``--ensemble`` and its options to a verb."""
    for each in reversed(ENSEMBLE_OPTIONS):
        function = each.add_to(function)
    help = "Grow an ensemble: forest, extra_trees, bagging or adaboost."
    return option("--ensemble", type=click.Choice(METHODS), metavar="METHOD", section=ENSEMBLES, help=help)(function)


def _join_or(methods: Sequence[str]) -> str:
    """List methods.

    >>> _join_or(("forest", "extra_trees", "bagging")), _join_or(["adaboost"])
    ('forest, extra_trees or bagging', 'adaboost')
    """
    *first, last = methods
    return f"{', '.join(first)} or {last}" if first else last


def take_ensemble_options(options: dict[str, Any], method: str | None) -> dict[str, Any]:
    """Remove the options of ensembles from those of a verb, and return them; refuse those of other methods."""
    typed = _given_options(
        {declared.parameter: options.pop(declared.parameter) for declared in ENSEMBLE_OPTIONS}, ENSEMBLE_OPTIONS
    )
    for declared in ENSEMBLE_OPTIONS:
        if declared.parameter in typed and method not in declared.of:
            raise ParameterError(f"{declared.name} is for --ensemble {_join_or(declared.of)}. Leave it out.")
    return typed
