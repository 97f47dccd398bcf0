"""Growing and extending ensembles of independent trees: parameters → bootstrap samples → core → Ensemble.

Connects the public functions (``forest.py``, ``bagging.py``) and the core (``src/core/forest/``), as
``train/grow.py`` does for a single tree. Each member is exactly the tree that ``grow`` grows on its sample, where a row
drawn twice has weight 2: limits count distinct rows, and fractional limits are relative to the sample.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.checks import check_integer
from treewise._lib.text import safe
from treewise._version import __version__
from treewise.data.frames import is_dask_frame
from treewise.data.relation import is_database_table, is_relation
from treewise.data.table import read, read_for_model
from treewise.ensemble.bootstrap import BootstrapSamples
from treewise.ensemble.model import Ensemble
from treewise.ensemble.oob import OobPredictions, predict_oob
from treewise.ensemble.packed_trees import PackedTrees
from treewise.ensemble.params import MAX_TREES, BaggingParams, grow_record, recorded_params
from treewise.errors import ColumnError, DataError, Param, ParameterError, refuse_unknown
from treewise.train.canonical_rows import hash_rows
from treewise.train.grow import (
    PRUNING,
    ROLES,
    AnyTrainingSet,
    OnPrepared,
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
from treewise.tree.history import HistoryStep

Floats = npt.NDArray[np.float64]
OnOob = Callable[[OobPredictions], None]


def prepare_ensemble(
    data: Any, target: Any, options: Mapping[str, Any], function: Callable[..., Ensemble]
) -> TrainingSet:
    """Prepare a table in memory, or in temporary files, with the options of ``grow`` that ensembles have.

    ``function`` is the public function that was called, for messages.
    """
    options = dict(options)
    refuse_elsewhere(data, options.pop("engine", None), function)
    memory = options.pop("memory", None)
    options = check_ensemble_options(options, function)
    if memory is not None:
        data = read(data, na_values=options.get("na_values", ()), memory=memory)
    return prepare(data, target, **options)


def refuse_elsewhere(data: Any, engine: Any, function: Callable[..., Ensemble]) -> None:
    """Raise for rows that are elsewhere: a database draws no samples, and boosting weighs all rows again and again."""
    if isinstance(engine, str) and engine == "memory":
        return
    if is_database_table(data) or is_relation(data):
        raise DataError(
            f"{function.__name__} draws or reweights rows, which a database cannot do in a way that is repeatable.",
            hint=Param("engine", "memory")
            + " fetches the table; written as Parquet files it may be larger than memory.",
        )
    if engine is not None or is_dask_frame(data):
        raise DataError(
            f"{function.__name__} reweights all rows after each tree, and on a cluster they would be sent each time.",
            hint="Grow a forest there; or give files, which may be larger than memory; or frame.compute().",
        )


def check_ensemble_options(options: Mapping[str, Any], function: Callable[..., Ensemble]) -> dict[str, Any]:
    """Return the options for ``prepare``; raise for those that only a single tree has, and for unknown ones."""
    options = dict(options)
    _refuse_pruning(options.get("preset"), {name: options.pop(name) for name in PRUNING if name in options})
    if options.pop("cost", None) is not None:
        raise ParameterError(
            "ensembles do not support costs.",
            parameter="cost",
            hint="Leave it out, or weight the classes: " + Param("class_weight", ...),
        )
    options = {name: value for name, value in options.items() if value is not None or name not in ("groups", "time")}
    unused = {"time": "folds"} | ({"groups": "folds and samples"} if function.__name__ == "adaboost" else {})
    for name in sorted(unused.keys() & options.keys()):
        raise ParameterError(
            f"is for {unused[name]}, and {function.__name__} uses none.", parameter=name, hint="Leave it out."
        )
    roles = [name for name in ROLES if name not in unused]
    groups = options.get("groups")
    if not (groups is None or isinstance(groups, str)):
        raise ParameterError(
            "must be the name of a column: an ensemble draws the same groups again when it is extended.",
            parameter="groups",
            hint="Add the array to the table as a column, and name it.",
        )
    known = (*Settings.__dataclass_fields__, *roles, "preset")
    if not options.keys() <= {*known}:
        help_on = f"help(treewise.{function.__name__}), help(treewise.grow)"
        refuse_unknown(options, known, help_on, also=(*signature(function).parameters, "engine", "memory"))
    return options


def _refuse_pruning(preset: Any, given: Mapping[str, Any]) -> None:
    if given.get("honest") is not None:
        raise ParameterError("honest estimation is for a single tree.", parameter="honest", hint="Leave it out.")
    pruning = pruning_for(preset, **given)
    if pruning is None or pruning.method is None:
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


def sample_features(training_set: AnyTrainingSet) -> AnyTrainingSet:
    """Return a training set with the default of ``max_features`` of a forest, which depends on the task."""
    if training_set.settings.max_features is not None or training_set.target.task == "regression":
        return training_set
    return replace(training_set, settings=replace(training_set.settings, max_features="sqrt"))


def grow_ensemble(
    training_set: TrainingSet,
    params: BaggingParams,
    progress: Progress | None = None,
    n_jobs: int | None = None,
    on_prepared: OnPrepared | None = None,
    on_oob: OnOob | None = None,
) -> Ensemble:
    """Grow an ensemble on a prepared training set; ``progress`` is called with the fraction of trees grown."""
    if on_prepared is not None:
        on_prepared(training_set)
    samples = params.samples(training_set)
    members, decreases = grow_members(samples, 0, params.n_estimators, progress, n_jobs)
    notes = perfect_column_notes(training_set, members, n_jobs)
    ensemble = assemble_ensemble(training_set, params, members, decreases, notes, table_record(training_set))
    return _with_oob(ensemble, params, samples, on_oob)


def assemble_ensemble(
    training_set: TrainingSet,
    params: BaggingParams,
    members: PackedTrees,
    decreases: Floats,
    notes: Sequence[str],
    table: Mapping[str, Any],
) -> Ensemble:
    """Return the ensemble of grown trees; ``table`` is what the history records about the table."""
    settings = training_set.settings
    assert settings.criterion is not None
    return Ensemble(
        params.method,
        training_set.encodings,
        training_set.target,
        members,
        np.ones(len(members)),
        decreases,
        settings.criterion,
        settings.empty_branch,
        history=(_grow_step(training_set, params, table),),
        notes=(*training_set.notes, *notes),
    )


def _grow_step(training_set: TrainingSet, params: BaggingParams, table: Mapping[str, Any]) -> HistoryStep:
    """Return the record of the parameters for the history."""
    return HistoryStep(
        did="grow",
        ensemble={**params.history_record(), **table},
        treewise=__version__,
        rows=len(training_set),
        settings=training_set.settings.non_default_values(),
        **training_set.fit_options.to_step(),
    )


def grow_members(
    samples: BootstrapSamples, first: int, n_trees: int, progress: Progress | None = None, n_jobs: int | None = None
) -> tuple[PackedTrees, Floats]:
    """Grow the trees from number ``first`` on; return them packed, and the impurity decreases by tree and column."""
    training_set = samples.training_set
    settings = core_settings(training_set)
    settings.n_jobs = resolve_n_jobs(n_jobs)
    arguments = (core_columns(training_set), core_target(training_set), settings, samples.plan)
    try:
        trees, decreases = _core.grow_forest(*arguments, first, n_trees, progress)
        members = PackedTrees.of(trees, training_set.settings.criterion or "")
    except MemoryError:
        raise _out_of_memory(training_set) from None
    return members, decreases.reshape(n_trees, len(training_set.columns))


def perfect_column_notes(training_set: TrainingSet, members: PackedTrees, n_jobs: int | None = None) -> list[str]:
    """Return the notes of ``grow`` about a column that predicts the target perfectly, if some tree suggests one.

    They are based on the whole table: a column may separate the classes perfectly in a sample only.
    """
    if not members.has_perfect_stump():
        return []
    return note_leakage(grow_training_set(stump_of(training_set), n_jobs=n_jobs, keep_quartiles=False))


def stump_of(training_set: AnyTrainingSet) -> AnyTrainingSet:
    """Return a training set on which a stump is grown: the best of all columns."""
    settings = replace(training_set.settings, max_depth=1, max_features=None, splitter="best", ties="first")
    return replace(training_set, settings=settings)


def _with_oob(
    ensemble: Ensemble, params: BaggingParams, samples: BootstrapSamples, on_oob: OnOob | None = None
) -> Ensemble:
    if not params.oob_score:
        return ensemble
    predictions = predict_oob(ensemble, samples.training_set, samples)
    if on_oob is not None:
        on_oob(predictions)
    return ensemble.with_(oob=predictions.summary)


# -- extending -------------------------------------------------------------------------------------------------------


def prepare_same_table(
    ensemble: Ensemble, data: Any, sample_weight: Any = None, target: Any = None, *, call: str
) -> TrainingSet:
    """Prepare the training table of an ensemble again, for ``call``; raise if it is another table."""
    info, _ = grow_record(ensemble, call)
    data, name = read_for_model(data, ensemble.na_values), ensemble.target.name
    if target is None and name not in data.columns:
        raise ColumnError(
            f'{data.name} has no column "{safe(name)}", the target of these trees.',
            hint="Give it: " + Param("target", ...),
        )
    settings = {"criterion": ensemble.criterion, "empty_branch": ensemble.empty_branch, **info.settings}
    training_set = build_like(
        data,
        ensemble.encodings,
        ensemble.target,
        Settings.from_values(settings),
        info.fit_options,
        sample_weight,
        target,
        info.fit_options.groups,
    )
    check_same_table(ensemble, training_set, call)
    return training_set


def check_same_table(ensemble: Ensemble, training_set: TrainingSet, call: str) -> None:
    """Raise if a table is not the one that an ensemble was grown on."""
    info, grown = grow_record(ensemble, call)
    if fingerprint(training_set) != grown.table:
        weights = " and weights" if info.has_weight_array else ""
        raise DataError(
            f"{training_set.table_name} is not the table these trees were grown on. Give that one, with the same"
            f" rows{weights}, or grow a new ensemble."
        )


def extend(
    ensemble: Ensemble,
    data: Any,
    n: int,
    target: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_oob: OnOob | None = None,
) -> Ensemble:
    """Return the ensemble with n further trees, as if all had been grown at once."""
    check_integer("n", n, minimum=1, maximum=MAX_TREES - len(ensemble))
    training_set = prepare_same_table(ensemble, data, sample_weight, target, call="extend")
    return extend_training_set(ensemble, training_set, int(n), n_jobs, progress, on_oob)


def extend_training_set(
    ensemble: Ensemble,
    training_set: TrainingSet,
    n: int,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_oob: OnOob | None = None,
) -> Ensemble:
    """Extend an ensemble on its prepared training set."""
    if ensemble.method == "adaboost":
        from treewise.ensemble.adaboost import extend_adaboost

        return extend_adaboost(ensemble, training_set, n, n_jobs, progress)
    total = len(ensemble) + n
    params = replace(recorded_params(ensemble, BaggingParams, "extend"), n_estimators=total)
    samples = params.samples(training_set)
    members, decreases = grow_members(samples, len(ensemble), n, progress, n_jobs)
    new_notes = [note for note in perfect_column_notes(training_set, members, n_jobs) if note not in ensemble.notes]
    extended = ensemble.with_(
        members=ensemble.members.concat(members),
        votes=np.ones(total),
        decreases=np.concatenate([ensemble.decreases, decreases]),
        history=(_grow_step(training_set, params, table_record(training_set)),),
        notes=(*ensemble.notes, *new_notes),
    )
    return _with_oob(extended, params, samples, on_oob)


def oob_predict(ensemble: Ensemble, data: Any, target: Any = None, sample_weight: Any = None) -> npt.NDArray[Any]:
    """Return the out-of-bag prediction of each row of the training table."""
    params = recorded_params(ensemble, BaggingParams, "oob_predict")
    table = read_for_model(data, ensemble.na_values)
    training_set = prepare_same_table(ensemble, table, sample_weight, target, call="oob_predict")
    predicted = predict_oob(ensemble, training_set, params.samples(training_set)).predictions
    predictions = np.full(len(table), None if ensemble.classes else np.nan, predicted.dtype)
    predictions[np.asarray(training_set.rows)] = predicted
    return predictions


def table_record(training_set: TrainingSet) -> dict[str, Any]:
    """Return what the history records about the table: its fingerprint and, for classification, the majority class.

    The majority class cannot be derived from the trees, whose roots count sampled rows.

    >>> from treewise.train.grow import prepare
    >>> table_record(prepare("penguins"))["majority"]
    0
    """
    is_classification = training_set.target.task == "classification"
    weights = np.bincount(training_set.y, training_set.weight).tolist() if is_classification else ()
    return record_of(fingerprint(training_set), weights)


def record_of(table: str, class_weights: Sequence[float]) -> dict[str, Any]:
    """Return the same from the fingerprint and the weight of each class."""
    return {"table": table, **({"majority": int(np.argmax(class_weights))} if len(class_weights) else {})}


def fingerprint(training_set: TrainingSet) -> str:
    """Return a hash of 16 hexadecimal digits of the rows of a table, in any order, with their targets and weights.

    It includes the meaning of the numbers: names and levels of columns, classes, the scale of weights.

    >>> from treewise.train.grow import prepare
    >>> fingerprint(prepare("xor"))
    'e14a3bb28c40c41f'
    """
    return fingerprint_of_sum(training_set, len(training_set), sum_of_hashes(training_set))


def sum_of_hashes(training_set: TrainingSet) -> int:
    """Return the sum of the hashes of the rows: those of several parts of a table are added up."""
    return int(hash_rows(training_set, np.asarray(training_set.weight)).sum(dtype=np.uint64))


def fingerprint_of_sum(training_set: TrainingSet, n_rows: int, hash_sum: int) -> str:
    """Return the fingerprint of a table from the sum of the hashes of its rows."""
    facts = [
        [[e.name, e.kind, e.unit, *e.levels] for e in training_set.encodings],
        [str(label) for label in training_set.target.classes],
        str(training_set.weight_scale),
        training_set.repeats is None,
        [n_rows, hash_sum % 2**64],
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
