"""Opening an editor: the first tree and the prepared tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from treewise import _core
from treewise.errors import ParameterError
from treewise.train.edit import refit
from treewise.train.grow import core_columns, core_settings, core_target, finish_tree, prepare, prepare_like
from treewise.train.resampling import hold_out, take_rows
from treewise.train.training_set import TrainingSet, name_quartiles
from treewise.tree.arrays import BY_HAND, Arrays
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree


def open_tables(
    start: Tree | str | None, data: Any, validation: Any, sample_weight: Any, options: dict[str, Any]
) -> tuple[Tree, TrainingSet, TrainingSet | None]:
    """Return the tree that an editor begins with, and the training and validation tables."""
    if not isinstance(start, Tree):
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return _open_target(start, data, validation, {**options, **weights})
    for name, value in options.items():
        raise ParameterError("belongs to growing, and there is a tree.", parameter=name, value=value)
    return _open_tree(start, data, validation, sample_weight)


def _open_tree(
    tree: Tree, data: Any, validation: Any, sample_weight: Any
) -> tuple[Tree, TrainingSet, TrainingSet | None]:
    """Return a tree counted on its table, and the tables."""
    if tree.display is not None and tree.display.is_applied:
        raise ParameterError("a displayed tree cannot be edited.", hint="Edit the tree itself.")
    if tree.fit_info.is_handwritten:
        tree = refit(tree, data, sample_weight)
    whole = training_set = prepare_like(tree, data, sample_weight)
    held_out: TrainingSet | None = None
    if isinstance(validation, float):
        training, others = hold_out(whole, _check_share(validation), whole.settings.random_state)
        training_set, held_out = take_rows(whole, training), take_rows(whole, others)
    elif validation is not None:
        held_out = prepare_like(tree, validation)
    # a column without a split may have been stored without levels
    tree = replace(tree, encodings=training_set.encodings)
    return tree, training_set, held_out


def _open_target(
    target: str | None, data: Any, validation: Any, options: dict[str, Any]
) -> tuple[Tree, TrainingSet, TrainingSet | None]:
    """Return the root alone of a tree that is still to grow, and the tables."""
    whole = training_set = prepare(data, target, **options)
    held_out = None
    if isinstance(validation, float):
        training, others = hold_out(whole, _check_share(validation), whole.settings.random_state)
        training_set, held_out = take_rows(whole, training), take_rows(whole, others)
    core = core_settings(training_set)
    core.max_depth, core.quartiles = 0, True
    grown = _core.grow(core_columns(training_set), core_target(training_set), core, None)
    quartiles = name_quartiles(training_set.encodings, grown.pop("quartiles"))
    grown["stop"][:] = BY_HAND
    for array in grown.values():
        array.flags.writeable = False
    tree = finish_tree(training_set, Arrays(**grown), quartiles)
    tree = replace(tree, history=(*tree.history, HistoryStep(did="edit", edit="start")))
    if validation is not None and held_out is None:
        held_out = prepare_like(tree, validation)
    return tree, training_set, held_out


def _check_share(share: float) -> float:
    if not 0 < share < 1:
        raise ParameterError(
            "must be a table, or a share of the rows, such as 0.3.", parameter="validation", value=share
        )
    return share
