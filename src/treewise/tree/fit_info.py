"""Typed facts about how a model was made: origin, settings, markers, weights, costs, sampling.

A model keeps a ``history``, a log for people that model files store step by step. This module is the only place that
reads facts out of it (``FitInfo.from_history``); all other code uses ``model.fit_info``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from treewise.tree.history import is_pruning

Found = TypeVar("Found")
Origin = Literal["hand-written", "grown", "edited", "member", "imported"]
_IMPORTS = ("from_sklearn", "from_lightgbm", "from_xgboost")  # names of steps


@dataclass(frozen=True)
class FitOptions:
    """How a training table was read and weighted: what is needed to prepare another table in the same way.

    >>> FitOptions(sample_weight="w", na_values=("-999",)).to_step()
    {'sample_weight': 'w', 'na_values': ['-999']}
    """

    sample_weight: str | None = None  # the name of the column
    has_weight_array: bool = False  # weights were given as an array, which is not kept
    class_weight: Any = None
    priors: Any = None
    split_kinds: Mapping[str, str] = field(default_factory=dict)  # of columns that have their own
    drop_missing_target: bool = False
    na_values: tuple[str, ...] = ()  # the texts that mean "missing"
    cost: Mapping[str, Any] | None = None  # of mistakes, by name: true class, predicted class
    imitates: str | None = None  # the teacher of a distilled tree
    groups: str | None = None  # the column whose groups stay together in folds
    time: str | None = None  # the column in whose order folds go forward
    exposure: str | None = None  # the column that the target is divided by
    has_exposure_array: bool = False  # the exposure was given as an array, which is not kept

    @classmethod
    def from_step(cls, step: Mapping[str, Any]) -> FitOptions:
        """Read the options from the training step of a history."""
        return cls(
            sample_weight=step.get("sample_weight"),
            has_weight_array=bool(step.get("sample_weight_array")),
            class_weight=step.get("class_weight"),
            priors=step.get("priors"),
            split_kinds=step.get("splits", {}),
            drop_missing_target=bool(step.get("drop_missing_target")),
            na_values=tuple(step.get("na_values", ())),
            cost=step.get("cost"),
            imitates=step.get("imitates"),
            groups=step.get("groups"),
            time=step.get("time"),
            exposure=step.get("exposure"),
            has_exposure_array=bool(step.get("exposure_array")),
        )

    @property
    def predicts_rates(self) -> bool:
        """Whether the target was divided by an exposure."""
        return self.exposure is not None or self.has_exposure_array

    def to_step(self) -> dict[str, Any]:
        """Return the entries of a training step: those that are not the default."""
        entries = {
            "sample_weight": self.sample_weight,
            "sample_weight_array": self.has_weight_array,
            "class_weight": self.class_weight,
            "priors": self.priors,
            "splits": self.split_kinds,
            "drop_missing_target": self.drop_missing_target,
            "na_values": list(self.na_values),
            "groups": self.groups,
            "time": self.time,
            "exposure": self.exposure,
            "exposure_array": self.has_exposure_array,
        }
        step = {name: value for name, value in entries.items() if value}
        if self.cost is not None:  # an empty matrix of costs is one: every mistake costs 1
            step["cost"] = self.cost
        return step if self.imitates is None else {**step, "imitates": self.imitates}


@dataclass(frozen=True)
class EnsembleInfo:
    """How the trees of an ensemble were sampled and grown."""

    method: str
    n_estimators: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # all recorded parameters and results, by name
    table: str | None = None  # the fingerprint of the training table
    majority: int | None = None  # the class of the largest weight in the training table, by position

    def option(self, name: str, default: Any) -> Any:
        """Return a recorded parameter; those with their default value are not recorded."""
        return self.options.get(name, default)


@dataclass(frozen=True)
class ChangeInfo:
    """A later change to a grown tree: pruning, refitting, editing."""

    action: str  # prune, refit, split, …
    method: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HonestInfo:
    """How the numbers of an honest tree were estimated: on rows that had no part in its structure."""

    share: float  # of the rows of the table, as given
    rows: int  # in the leaves
    table_rows: int  # of the whole table
    table: str  # the fingerprint of the rows of the whole table in each leaf

    def is_whole_table(self, leaf_rows: npt.NDArray[np.int64]) -> bool:
        """Tell by the number of rows in each leaf whether these look like the rows of the whole table."""
        return fingerprint(leaf_rows) == self.table


def fingerprint(leaf_rows: npt.NDArray[np.int64]) -> str:
    """Return a short hash of the number of rows that end at each node."""
    return sha256(leaf_rows.astype("<i8").tobytes()).hexdigest()[:16]


class CpRow(NamedTuple):
    """One tree of a nested sequence; ``cp`` is its alpha, relative to the error of the root as all errors are."""

    cp: float
    nsplit: int
    leaves: int
    rel_error: float
    xerror: float | None
    xstd: float | None


@dataclass(frozen=True)
class CpTableInfo:
    """The cp table by which cross-validation chose the size of a tree; ``best`` and ``chosen`` are indexes of rows."""

    root_error: float
    rows: tuple[CpRow, ...]
    best: int
    chosen: int
    left_out: int
    loss: str | None = None  # None: what the tree predicts by


@dataclass(frozen=True)
class CrossValidatedLoss:
    """The loss on new rows of the size that cross-validation chose: each fold evaluated at the choice of the others.

    >>> import treewise as tw
    >>> result = tw.grow("penguins", pruning="cv").fit_info.cross_validated
    >>> result.loss, round(result.value, 3), round(result.low, 3), round(result.high, 3), result.folds
    ('error', 0.035, 0.015, 0.069, 10)
    """

    loss: str  # error, cost, log_loss, brier, auc (1 − AUC), squared_error, absolute_error or poisson_deviance
    value: float
    low: float  # ends of the 95 % interval
    high: float
    folds: int
    repeats: int
    rule: str
    kind: str  # of the folds: stratified, random, groups, time or given

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as recorded in the history."""
        return asdict(self)


@dataclass(frozen=True)
class PruningInfo:
    """The outcome of a pruning; its decisions are in the history."""

    method: str | None  # None: pruned to a size
    leaves_before: int
    leaves_after: int
    facts: tuple[str, ...] = ()
    cp_table: CpTableInfo | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the table it used, such as labels the tree does not know."""
        return tuple(fact.removeprefix("note: ") for fact in self.facts if fact.startswith("note: "))


@dataclass(frozen=True)
class FitInfo:
    """How a model was made.

    >>> import treewise as tw
    >>> info = tw.grow("penguins", max_depth=2, na_values=["-999"]).fit_info
    >>> info.origin, info.settings, info.na_values
    ('grown', {'criterion': 'entropy', 'max_depth': 2}, ('-999',))
    >>> tw.parse("x <= 1 -> a\\nx > 1 -> b").fit_info.origin, tw.forest("xor", n_estimators=2)[0].fit_info.origin
    ('hand-written', 'member')
    """

    origin: Origin = "hand-written"  # "edited": hand-written, then refitted or split; "member": of an ensemble
    is_grown: bool = False  # whether it was learned from a table, and how is recorded
    settings: Mapping[str, Any] = field(default_factory=dict)  # those that differ from the defaults
    na_values: tuple[str, ...] = ()  # the texts that meant "missing"
    sample_weight: str | None = None  # the name of the column
    has_weight_array: bool = False  # weights were given as an array, which is not kept
    class_weight: Any = None
    priors: Any = None
    cost: Mapping[str, Any] | None = None  # of mistakes, by name: true class, predicted class
    drop_missing_target: bool = False
    refuses_missing: bool = False  # grown with missing="error"
    is_best_first: bool = False  # grown with max_leaf_nodes
    has_looked_ahead: bool = False  # grown with search="lookahead"
    row_counts: tuple[int, ...] = ()  # training rows of each step that had some
    ensemble: EnsembleInfo | None = None
    changes: tuple[ChangeInfo, ...] = ()
    pruning: PruningInfo | None = None  # where pruning was the last step, but for an honest estimation
    honest: HonestInfo | None = None
    has_independent_rows: bool = False  # the rows in the leaves had no part in choosing the splits
    cp_table: CpTableInfo | None = None  # the one that chose the size, unless the tree has changed since
    cross_validated: CrossValidatedLoss | None = None  # of the chosen size, unless the tree has changed since
    fit_options: FitOptions = field(default_factory=FitOptions)  # to prepare another table like it

    @property
    def is_handwritten(self) -> bool:
        """Whether it was written by hand and never fitted to a table."""
        return self.origin == "hand-written"

    @property
    def has_weights(self) -> bool:
        """Whether the training rows were weighted."""
        return bool(self.sample_weight or self.has_weight_array or self.class_weight or self.priors)

    @classmethod
    def from_history(cls, steps: Sequence[Mapping[str, Any]]) -> FitInfo:
        """Read the facts out of a history, which may come from a file of any version."""
        grown = next((step for step in steps if step.get("did") == "grow" or "ensemble" in step), {})
        sampled = next((step["ensemble"] for step in steps if "ensemble" in step), None)

        def first(name: str) -> Any:
            return next((step[name] for step in steps if step.get(name)), None)

        return cls(
            origin=_origin(steps),
            is_grown=any(step.get("did") == "grow" for step in steps),
            settings=grown.get("settings", {}),
            na_values=tuple(text for step in steps for text in step.get("na_values", ())),
            sample_weight=first("sample_weight"),
            has_weight_array=bool(first("sample_weight_array")),
            class_weight=first("class_weight"),
            priors=first("priors"),
            cost=next((step["cost"] for step in reversed(steps) if "cost" in step), None),
            drop_missing_target=bool(grown.get("drop_missing_target")),
            refuses_missing=any(step.get("settings", {}).get("missing") == "error" for step in steps),
            is_best_first=any(step.get("settings", {}).get("max_leaf_nodes") for step in steps),
            has_looked_ahead=grown.get("search") == "lookahead",
            row_counts=tuple(step["rows"] for step in steps if "rows" in step),
            ensemble=None if sampled is None else _ensemble_info(sampled),
            changes=tuple(
                ChangeInfo(step.get("did", ""), step.get("method"), step.get("options", {}))
                for step in steps
                if step.get("did") != "grow"
            ),
            pruning=next((_pruning_info(step) for step in reversed(steps) if not _keeps_leaves(step)), None),
            honest=next((info for step in reversed(steps) if (info := _honest_info(step)) is not None), None),
            has_independent_rows=_has_independent_rows(steps),
            cp_table=_current(steps, "cp_table", _cp_table_info),
            cross_validated=_current(steps, "cross_validated", _cross_validated_loss),
            fit_options=FitOptions.from_step(grown),
        )


def _origin(steps: Sequence[Mapping[str, Any]]) -> Origin:
    if not steps:
        return "hand-written"
    if steps[-1].get("did") == "member":
        return "member"
    if steps[0].get("did") in _IMPORTS:
        return "imported"
    return "grown" if any(step.get("did") == "grow" or "ensemble" in step for step in steps) else "edited"


def _ensemble_info(recorded: Mapping[str, Any]) -> EnsembleInfo:
    majority = recorded.get("majority")
    return EnsembleInfo(
        recorded.get("method", ""),
        recorded.get("n_estimators"),
        recorded,
        recorded.get("table"),
        majority if type(majority) is int else None,
    )


def _pruning_info(step: Mapping[str, Any]) -> PruningInfo | None:
    if step.get("did") != "prune" or not is_pruning(step):
        return None
    before, after = step["leaves"]
    facts = tuple(step.get("facts", ()))
    return PruningInfo(step.get("method"), before, after, facts, _cp_table_info(step.get("cp_table")))


def _honest_info(step: Mapping[str, Any]) -> HonestInfo | None:
    """Read a step of honest estimation, which may come from a file; None if it is not a valid one."""
    options = step.get("options")
    share = options.get("honest") if isinstance(options, Mapping) else None
    rows, table_rows, table = step.get("rows"), step.get("table_rows"), step.get("table")
    if step.get("did") != "estimate" or not (isinstance(share, float) and isinstance(table, str)):
        return None
    return HonestInfo(share, rows, table_rows, table) if type(rows) is int and type(table_rows) is int else None


def _keeps_leaves(step: Mapping[str, Any]) -> bool:
    """Tell whether a step changes no leaf and no row's way: honest estimation, rounding that moves no row."""
    options = step.get("options")
    keeps_rows = isinstance(options, Mapping) and options.get("moved_rows") == 0
    is_rounding = step.get("did") == "round_thresholds" and keeps_rows
    return is_rounding or _honest_info(step) is not None


def _has_independent_rows(steps: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether the last estimation was on rows that did not choose the splits, and nothing was chosen since.

    A refit counts unless it repeated the numbers that were there; so does that of a handwritten tree. Costs change no
    split, and neither does a pruning that cuts nothing.
    """
    for step in reversed(steps):
        if _honest_info(step) is not None or step.get("did") == "refit":
            return not step.get("same_rows")
        if _keeps_leaves(step):
            continue
        pruning = _pruning_info(step)
        cuts = pruning is None or pruning.leaves_before != pruning.leaves_after
        if step.get("did") != "with_cost" and cuts:
            return False
    return False


def _current(steps: Sequence[Mapping[str, Any]], name: str, read: Callable[[Any], Found | None]) -> Found | None:
    """Return the last recorded result; None if a later step, other than a pruning without effect, follows it."""
    for step in reversed(steps):
        if (result := read(step.get(name))) is not None:
            return result
        pruning = _pruning_info(step)
        if _keeps_leaves(step):
            continue
        if pruning is None or pruning.leaves_before != pruning.leaves_after:
            return None
    return None


def _cross_validated_loss(stored: Any) -> CrossValidatedLoss | None:
    """Read a stored loss, which may come from a file; None if it is not a valid one."""
    types: dict[str, Any] = {"loss": str, "value": float, "low": float, "high": float}
    types |= {"folds": int, "repeats": int, "rule": str, "kind": str}
    names = [field.name for field in fields(CrossValidatedLoss)]
    if not isinstance(stored, Mapping) or sorted(stored) != sorted(names):
        return None
    is_valid = all(isinstance(stored[name], types[name]) for name in names)
    return CrossValidatedLoss(**stored) if is_valid else None


def _cp_table_info(stored: Any) -> CpTableInfo | None:
    """Read a stored cp table, which may come from a file; None if it is not a valid one."""
    if not isinstance(stored, Mapping) or stored.get("columns") != list(CpRow._fields):
        return None
    rows: Any = stored.get("rows")
    root_error: Any = stored.get("root_error")
    indices: list[Any] = [stored.get(name) for name in ("best", "chosen", "left_out")]
    is_valid = (
        isinstance(rows, list)
        and all(isinstance(row, list) and len(row) == len(CpRow._fields) for row in rows)
        and all(isinstance(cell, int | float) for row in rows for cell in row)
        and all(type(index) is int for index in indices)
        and isinstance(root_error, float)
    )
    if not is_valid:
        return None
    loss = stored.get("loss")
    best, chosen, left_out = indices
    loss = loss if isinstance(loss, str) else None
    return CpTableInfo(root_error, tuple(CpRow(*row) for row in rows), best, chosen, left_out, loss)
