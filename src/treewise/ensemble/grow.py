"""Growing many trees: what was asked → bags → the core → an Ensemble; and more trees of the same.

Stands between the doors (``forests.py``, ``bagging.py``) and the core (``src/core/forest/``), as ``train/grow.py`` does
for one tree. A member is exactly the tree that ``grow`` grows on the rows of its bag, a row that was drawn twice
weighing twice: limits count different rows, and limits that are shares are shares of the bag.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.checks import check_integer
from treewise._lib.text import safe
from treewise._version import __version__
from treewise.data.table import read
from treewise.ensemble.bootstrap import BootstrapSamples
from treewise.ensemble.model import Ensemble
from treewise.ensemble.oob import out_of_bag
from treewise.ensemble.packed_trees import PackedTrees
from treewise.ensemble.params import MOST_TREES, BaggingParams, how_grown, recipe_of
from treewise.errors import ColumnError, DataError, Param, ParameterError, refuse_unknown
from treewise.formats.model_file.packing import plain_nan
from treewise.train.grow import (
    PRUNING,
    ROLES,
    Progress,
    _out_of_memory,
    core_columns,
    core_settings,
    core_target,
    grow_training_set,
    note_leakage,
    prepare,
    pruning_for,
    resolve_n_jobs,
)
from treewise.train.settings import Settings
from treewise.train.training_set import TrainingSet, build_like
from treewise.tree.history import Step

Floats = npt.NDArray[np.float64]


def problem_of_many(
    data: Any, target: Any, options: Mapping[str, Any], asked_of: Callable[..., Ensemble]
) -> TrainingSet:
    """Prepare a table under the options of ``grow``, but for those that one tree alone can have.

    ``asked_of`` is the function that grows such trees, for what is said of an option it has not.
    """
    asked = dict(options)
    _refuse_pruning(asked.get("preset"), {name: asked.pop(name) for name in PRUNING if name in asked})
    if asked.pop("cost", None) is not None:
        raise ParameterError(
            "many trees vote by shares of classes, not by costs.",
            parameter="cost",
            hint="Leave it out, or weigh the classes: " + Param("class_weight", ...),
        )
    known = (*Settings.__dataclass_fields__, *ROLES, "preset")
    if not asked.keys() <= {*known}:
        help_on = f"help(treewise.{asked_of.__name__}), help(treewise.grow)"
        refuse_unknown(asked, known, help_on, also=signature(asked_of).parameters)
    return prepare(data, target, **asked)


def _refuse_pruning(preset: Any, given: Mapping[str, Any]) -> None:
    """Raise where the trees would be pruned; by what was given, or by a preset."""
    wanted = pruning_for(preset, **given)
    if wanted is None or wanted.method is None:
        return
    for name, value in given.items():
        if not (value is None or (isinstance(value, int | float) and value == 0)):
            raise ParameterError(
                "the trees of an ensemble are not pruned.",
                parameter=name,
                hint="Leave it out, or limit them by "
                + Param("max_depth")
                + ", "
                + Param("min_samples_leaf")
                + " or "
                + Param("max_leaf_nodes")
                + ".",
            )
    raise ParameterError(
        "it prunes, and the trees of an ensemble are not pruned.",
        parameter="preset",
        value=preset,
        hint="Add " + Param("pruning", "none") + ".",
    )


def grow_ensemble(
    training_set: TrainingSet,
    recipe: BaggingParams,
    progress: Progress | None = None,
    n_jobs: int | None = None,
    judge: bool = True,
) -> Ensemble:
    """Grow the trees of an ensemble on a prepared training set; ``progress`` is told the share of them that is grown.

    ``judge=False`` leaves to the caller to ask the trees about rows they have not seen, whatever the recipe says.
    """
    bags, asked = recipe.bags(training_set), training_set.settings
    members, decreases = _grow_members(bags, 0, recipe.n_estimators, progress, n_jobs)
    step = Step(
        did="grow",
        ensemble={**recipe.given(), **kept_of(training_set)},
        treewise=__version__,
        rows=len(training_set),
        settings=asked.given(),
        **training_set.fit_options.to_step(),
    )
    assert asked.criterion is not None
    made = Ensemble(
        recipe.method,
        training_set.encodings,
        training_set.target,
        members,
        np.ones(len(members)),
        decreases,
        asked.criterion,
        asked.empty_branch,
        history=(step,),
        notes=(*training_set.notes, *too_good(training_set, members, n_jobs)),
    )
    return _judged(made, recipe, bags) if judge else made


def _grow_members(
    bags: BootstrapSamples, first: int, trees: int, progress: Progress | None = None, n_jobs: int | None = None
) -> tuple[PackedTrees, Floats]:
    """Grow the trees from number ``first`` on; return them packed, and what each column's splits took away in each."""
    training_set = bags.training_set
    settings = core_settings(training_set)
    settings.n_jobs = resolve_n_jobs(n_jobs)
    given = (core_columns(training_set), core_target(training_set), settings, bags.plan)
    try:
        grown, decreases = _core.grow_forest(*given, first, trees, progress)
        members = PackedTrees.of(grown, training_set.settings.criterion or "")
    except MemoryError:
        raise _out_of_memory(training_set) from None
    return members, decreases.reshape(trees, len(training_set.columns))


def too_good(training_set: TrainingSet, members: PackedTrees, n_jobs: int | None = None) -> list[str]:
    """Say which column tells all rows apart by itself, as ``grow`` does, if the trees look as though one did.

    The table is asked, not the tree: in its bag a column may tell rows apart that it does not tell apart elsewhere.
    """
    if not members.settled_by_one_test():
        return []
    one_test = replace(training_set.settings, max_depth=1, max_features=None, splitter="best")
    return note_leakage(
        grow_training_set(replace(training_set, settings=one_test), n_jobs=n_jobs, keep_quartiles=False)
    )


def _judged(ensemble: Ensemble, recipe: BaggingParams, bags: BootstrapSamples) -> Ensemble:
    """Add what the rows that trees have not seen say of it, if that was asked for."""
    if not recipe.oob_score:
        return ensemble
    return ensemble.with_(oob=out_of_bag(ensemble, bags.training_set, bags).summary)


# -- more trees -------------------------------------------------------------------------------------------------------


def same_problem(
    ensemble: Ensemble, data: Any, sample_weight: Any = None, target: Any = None, *, call: str
) -> TrainingSet:
    """Prepare the table an ensemble was grown on once more, for ``call``; another one is refused."""
    info, _ = how_grown(ensemble, call)
    data, name = read(data, na_values=ensemble.na_values), ensemble.target.name
    if target is None and name not in data.columns:
        raise ColumnError(
            f'{data.name} has no column "{safe(name)}", the target of these trees.',
            hint="Give it: " + Param("target", ...),
        )
    asked = {"criterion": ensemble.criterion, "empty_branch": ensemble.empty_branch, **info.settings}
    training_set = build_like(
        data, ensemble.encodings, ensemble.target, Settings.of(**asked), info.fit_options, sample_weight, target
    )
    check_same_table(ensemble, training_set, call)
    return training_set


def check_same_table(ensemble: Ensemble, training_set: TrainingSet, call: str) -> None:
    """Refuse a table that is not the one an ensemble was grown on."""
    info, grown = how_grown(ensemble, call)
    if fingerprint(training_set) != grown.table:
        weights = " and weights" if info.has_weight_array else ""
        raise DataError(
            f"{training_set.table_name} is not the table these trees were grown on. Give that one, with the same"
            f" rows{weights} in the same order; or grow anew on this one."
        )


def extend(
    ensemble: Ensemble,
    data: Any,
    n: int,
    target: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Ensemble:
    """Return the ensemble with n further trees: what asking for all of them at once would have given."""
    check_integer("n", n, least=1, most=MOST_TREES - len(ensemble))
    training_set = same_problem(ensemble, data, sample_weight, target, call="extend")
    return more_of_problem(ensemble, training_set, int(n), n_jobs, progress)


def more_of_problem(
    ensemble: Ensemble,
    training_set: TrainingSet,
    n: int,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    judge: bool = True,
) -> Ensemble:
    """Return the ensemble with n further trees, grown on its own training set; ``judge`` as in ``grow_ensemble``."""
    if ensemble.method == "adaboost":
        from treewise.ensemble.adaboost import more_rounds

        return more_rounds(ensemble, training_set, n, n_jobs, progress)
    recipe = recipe_of(ensemble, BaggingParams, "extend")
    step = next(step for step in ensemble.history if "ensemble" in step)
    bags = recipe.bags(training_set)
    members, decreases = _grow_members(bags, len(ensemble), n, progress, n_jobs)
    total = len(ensemble) + n
    found = [note for note in too_good(training_set, members, n_jobs) if note not in ensemble.notes]
    more = ensemble.with_(
        members=ensemble.members.joined(members),
        votes=np.ones(total),
        decreases=np.concatenate([ensemble.decreases, decreases]),
        history=(Step({**step, "ensemble": {**step["ensemble"], "n_estimators": total}}),),
        notes=(*ensemble.notes, *found),
    )
    return _judged(more, recipe, bags) if judge else more


def oob_predictions(ensemble: Ensemble, data: Any, target: Any = None, sample_weight: Any = None) -> npt.NDArray[Any]:
    """Return for each row of the table what the trees say that have not seen it."""
    recipe = recipe_of(ensemble, BaggingParams, "oob_predict")
    table = read(data, na_values=ensemble.na_values)
    training_set = same_problem(ensemble, table, sample_weight, target, call="oob_predict")
    said = out_of_bag(ensemble, training_set, recipe.bags(training_set)).predictions
    found = np.full(len(table), None if ensemble.classes else np.nan, said.dtype)
    found[np.asarray(training_set.rows)] = said
    return found


def kept_of(training_set: TrainingSet) -> dict[str, Any]:
    """Return what the history keeps of the table: its fingerprint; of classes the one that weighs most, by its number.

    The trees do not tell it: their roots count rows that were drawn.

    >>> from treewise.train.grow import prepare
    >>> kept_of(prepare("penguins"))["majority"]
    0
    """
    kept: dict[str, Any] = {"table": fingerprint(training_set)}
    if training_set.target.task == "classification":
        kept["majority"] = int(np.argmax(np.bincount(training_set.y, training_set.weight)))
    return kept


def fingerprint(training_set: TrainingSet) -> str:
    """Return 16 digits that tell one table from another: its columns, targets and weights, in the order of the rows.

    What numbers stand for counts as much as the numbers: names and levels of columns, classes, the unit of weights.

    >>> from treewise.train.grow import prepare
    >>> fingerprint(prepare("xor"))
    '71c662a0ee8506dc'
    """
    meaning = [
        [[e.name, e.kind, e.unit, *e.levels] for e in training_set.encodings],
        [str(label) for label in training_set.target.classes],
        str(training_set.weight_scale),
        training_set.repeats is None,
    ]
    found = hashlib.sha256(json.dumps(meaning).encode())  # what processors have instructions for
    for values in (
        *training_set.columns,
        training_set.raw if len(training_set.raw) else training_set.y,
        training_set.weight,
    ):
        numbers = plain_nan(np.asarray(values, np.float64)) + 0.0 if values.dtype.kind == "f" else values
        found.update(f"/{numbers.nbytes}/".encode())  # where one ends, so that no two tables run together to the same
        found.update(np.ascontiguousarray(numbers))
    return found.hexdigest()[:16]
