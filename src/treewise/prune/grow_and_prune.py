"""Growing and pruning in one call: ``pruning=``, ``validation=``, ``ccp_alpha=`` and ``honest=`` of ``treewise.grow``.

``train/grow.py`` comes here when any of them is given; so do the estimators and the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treewise._lib.text import safe
from treewise.errors import Param, ParameterError, did_you_mean
from treewise.predict.predict import find_leaves
from treewise.prune import pessimistic
from treewise.prune.cost_complexity import check_alpha
from treewise.prune.cross_validation import CrossValidation, decide_by_folds
from treewise.prune.decision import Bools
from treewise.prune.prune import METHODS, apply_decision, check_choices, check_options, prune, stop_reason
from treewise.prune.reduced_error import decide_from_counts
from treewise.prune.validation_counts import count_validation_rows
from treewise.train.grow import NO_SPLIT_LEFT, Progress, grow_training_set
from treewise.train.honest import check_honest
from treewise.train.resampling import hold_out, take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

CV_OPTIONS = ("loss", "rule", "folds", "repeats", "risk")


@dataclass(frozen=True)
class PruningPlan:
    """How a tree is pruned after growing, and on which rows its leaves are estimated."""

    method: str | None = None  # None for no pruning
    options: dict[str, Any] = field(default_factory=dict)
    validation: Any = None
    honest: float | None = None  # the share of rows kept for the numbers in the leaves (train/honest.py)
    only_classes: bool = False  # set by presets that do not prune regression trees

    @classmethod
    def of(
        cls,
        pruning: Any = None,
        validation: Any = None,
        ccp_alpha: float = 0.0,
        honest: float | None = None,
        *,
        only_classes: bool = False,
    ) -> PruningPlan:
        """Check the parameters, before anything is grown."""
        ccp_alpha = check_alpha(ccp_alpha)
        method, options = _read_pruning(pruning)
        if ccp_alpha > 0:
            if method not in (None, "cost_complexity"):
                raise ParameterError(
                    Param("ccp_alpha") + " is for " + Param("pruning", "cost_complexity") + f', not "{method}".',
                    hint="Leave one out.",
                )
            method, options = "cost_complexity", {**options, "ccp_alpha": ccp_alpha}
        if method == "cost_complexity" and "ccp_alpha" not in options:
            raise ParameterError(
                Param("pruning", "cost_complexity")
                + " needs "
                + Param("ccp_alpha", ...)
                + ", a penalty per leaf; "
                + Param("pruning", "cv")
                + " chooses one."
            )
        if method == "reduced_error" and validation is None:
            raise ParameterError(
                Param("pruning", "reduced_error")
                + " needs rows not used for training: "
                + Param("validation", "valid.csv")
                + " or "
                + Param("validation", 0.3)
                + "."
            )
        if method != "reduced_error" and validation is not None:
            raise ParameterError(
                Param("validation") + " is for " + Param("pruning", "reduced_error") + ".",
                hint="Leave it out, or add " + Param("pruning", "reduced_error") + ".",
            )
        if is_share(validation) and not 0 < validation < 1:
            raise ParameterError(
                "must be a table, or a share between 0 and 1.", parameter="validation", value=validation
            )
        if "sample_weight" in options and (method != "reduced_error" or is_share(validation)):
            raise ParameterError(
                Param("pruning")
                + " uses the "
                + Param("sample_weight")
                + " of training: leave it out of the pruning options."
            )
        share = None if honest is None else check_honest(honest)
        return cls(method, options, validation, share, only_classes and ccp_alpha == 0)


def _read_pruning(pruning: Any) -> tuple[str | None, dict[str, Any]]:
    """Return method and options from a name, or from a dict such as ``{"method": "gain", "threshold": 0.02}``."""
    options = dict(pruning) if isinstance(pruning, Mapping) else {}
    method = options.pop("method", None) if isinstance(pruning, Mapping) else pruning
    options = {name: value for name, value in options.items() if value is not None}
    if method is None or (isinstance(method, str) and method == "none"):
        if options:
            raise ParameterError(
                'has no method. Write {"method": "gain", "threshold": 0.02}.', parameter="pruning", value=pruning
            )
        return None, {}
    known = ("none", *METHODS)
    if not isinstance(method, str) or method not in known:
        raise ParameterError(
            f"must be one of {', '.join(known)}.", parameter="pruning", value=method, hint=did_you_mean(method, known)
        )
    if method == "cv":
        check_choices(options)
    else:
        check_options(method, METHODS[method], options)
    for name in options:
        if method == "cv" and name in ("groups", "time", "sample_weight", "random_state", "n_jobs"):
            raise ParameterError(Param(name) + " is a parameter of growing: leave it out of the pruning options.")
        if (method == "cv" and name not in CV_OPTIONS) or name in ("data", "validation"):
            hint = did_you_mean(name, CV_OPTIONS) if method == "cv" else ""
            raise ParameterError(Param("pruning", method) + f" has no option {name}.", hint=hint)
    return method, options


def is_share(validation: Any) -> bool:
    """Return whether ``validation`` is a share of the rows rather than a table."""
    return isinstance(validation, int | float | np.number) and not isinstance(validation, bool)


def grow_unpruned(
    training_set: TrainingSet, pruning: PruningPlan, n_jobs: int | None = None, progress: Progress | None = None
) -> tuple[Tree, Bools | None]:
    """Grow the tree to be pruned: on all rows, or without held-out ones, whose mask is returned too."""
    if pruning.method != "reduced_error" or not is_share(pruning.validation):
        return grow_training_set(training_set, progress, n_jobs), None
    held_out = _hold_back(training_set, float(pruning.validation))
    return grow_training_set(take_rows(training_set, np.flatnonzero(~held_out)), progress, n_jobs), held_out


def prune_grown(
    tree: Tree,
    training_set: TrainingSet,
    pruning: PruningPlan,
    held_out: Bools | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Tree:
    """Prune a tree grown by ``grow_unpruned``."""
    if pruning.method is None or (pruning.only_classes and tree.task == "regression"):
        return tree
    if held_out is not None:
        return _prune_by_held_rows(tree, training_set, held_out, pruning)
    if pruning.method == "cv":
        plan = CrossValidation(**pruning.options, random_state=training_set.settings.random_state)
        decision = decide_by_folds(tree, training_set, plan, n_jobs, progress)
        return apply_decision(tree, decision, "cv", stop_reason("cv"))
    if pruning.options.get("raising"):
        options = {name: value for name, value in pruning.options.items() if name != "raising"}
        decision = pessimistic.decide_with_rows(tree, **options, training_set=training_set)
        return apply_decision(tree, decision, "pessimistic", stop_reason("pessimistic"))
    validation_option = {"validation": pruning.validation} if pruning.validation is not None else {}
    return prune(tree, pruning.method, **pruning.options, **validation_option)


_MAX_CELLS_TRIED_AGAIN = 1 << 22  # a table up to this size takes about a second


def note_no_split_left(
    full_tree: Tree, pruned: Tree, training_set: TrainingSet, pruning: PruningPlan, n_jobs: int | None = None
) -> list[str]:
    """Note that pruning left a single leaf, what comes out without the first column, and what rule="best" takes."""
    column = int(full_tree.arrays.column[0])
    name = safe(full_tree.columns[column])
    note = f"{NO_SPLIT_LEFT}: the tree is a single leaf. The full tree began with {name}"
    notes, without_column = [note], training_set.without_column(column)
    if without_column.columns and len(training_set) * len(training_set.columns) <= _MAX_CELLS_TRIED_AGAIN:
        tree, held_out = grow_unpruned(without_column, pruning, n_jobs)
        n_leaves = prune_grown(tree, without_column, pruning, held_out, n_jobs).n_leaves
        notes = [f"{note}; without it, none survives either"]
        if n_leaves > 1:
            notes = [f"{note}; without it, {n_leaves:,} leaves remain: " + Param("ignore", [name])]
    table = pruned.fit_info.cp_table
    if table is not None and table.best:  # neither unknown nor the root
        smallest = f"a tree of {table.rows[table.best].leaves:,} leaves has the least cross-validated loss, but not by"
        best = Param("pruning", {"method": "cv", **pruning.options, "rule": "best"})
        notes.append(f"{smallest} more than one standard error; to take it: " + best)
    return notes


def _hold_back(training_set: TrainingSet, share: float) -> Bools:
    """Choose held-out rows at random, stratified by class."""
    held_out = np.zeros(len(training_set), bool)
    held_out[hold_out(training_set, share, training_set.settings.random_state)[1]] = True
    return held_out


def _prune_by_held_rows(tree: Tree, training_set: TrainingSet, held_out: Bools, pruning: PruningPlan) -> Tree:
    """Prune with reduced error on the held-out rows."""
    rows = np.flatnonzero(held_out)
    ends = find_leaves(tree, [values[rows] for values in training_set.columns], len(rows))
    truth = (
        training_set.raw[rows] if training_set.target.task == "regression" else training_set.y[rows].astype(np.int64)
    )
    weight = np.ldexp(training_set.weight[rows].astype(np.float64), -training_set.weight_scale)
    name = f"{100 * float(pruning.validation):g} % of {training_set.table_name}"
    decision = decide_from_counts(
        tree, count_validation_rows(tree, ends, truth, weight, name), pruning.options.get("order", "bottom-up")
    )
    return apply_decision(tree, decision, "reduced_error", stop_reason("reduced_error"))
