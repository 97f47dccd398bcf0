"""The header of a model file (target, columns, criterion, history, notes), converted to plain values and back.

Used by ``model_file.py``. Both directions go through the same checks, so nothing can be saved that
would be refused when it is loaded. Fields are fixed: one that is missing or not known is refused, because within one
format there are no others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_args

import numpy as np

from treewise._lib.text import safe
from treewise._version import __version__
from treewise.data.column import UNITS
from treewise.data.encoding import SPLIT_KINDS, Encoding, Kind
from treewise.errors import ModelFormatError, ParameterError, TreewiseError
from treewise.predict.costs import CostMatrix
from treewise.train.criteria import get_criterion
from treewise.train.settings import Settings
from treewise.train.weights import read_priors
from treewise.tree.arrays import Label, Target, Task
from treewise.tree.display import Display, make_display
from treewise.tree.history import HistoryStep, is_edit, is_pruning
from treewise.tree.model import Model

MAX_CHARACTERS = 1 << 24  # in one name, level or note
MAX_DIGITS = 20  # of a whole number that is not in an array: 64 bits
KINDS: tuple[Kind, ...] = get_args(Kind)
NUMBER_FACTS = ("whole", "binary")
_FIELDS_OF_KIND = {"boolean": {"levels"}, "nominal": {"levels"}, "ordered": {"levels"}, "datetime": {"unit"}}

# Two adjacent but separate halves of a surrogate pair: JSON cannot distinguish them from one character.
_TORN_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


# -- the target -------------------------------------------------------------------------------------------------------


def write_target(target: Target) -> dict[str, Any]:
    """Write the target as plain values."""
    values: dict[str, Any] = {"name": target.name, "task": target.task}
    if target.task == "classification":
        values["classes"] = [to_json_value(label, "class") for label in target.classes]
    return values


def read_target(data: Any) -> Target:
    """Read the target.

    >>> read_target({"name": "y", "task": "classification", "classes": ["a", "a"]})
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: target.classes[1] is "a", a duplicate
    """
    task = data.get("task") if isinstance(data, dict) else None
    if task not in ("classification", "regression"):
        raise ModelFormatError(f"target.task is {describe_value(task)}: it must be classification or regression")
    classes = task == "classification"
    check_fields(data, {"name", "task", "classes"} if classes else {"name", "task"}, "target")
    labels = data["classes"] if classes else []
    check_list(labels, "target.classes")
    if classes and not labels:
        raise ModelFormatError("target.classes is empty: there is nothing to predict")
    for i, label in enumerate(labels):
        _check_label(label, f"target.classes[{i}]")
    _check_unique(labels, "target.classes")
    return Target(check_text(data["name"], "target.name"), cast(Task, task), tuple(labels))


def _check_label(label: Any, where: str) -> None:
    """Refuse what cannot be a class."""
    if isinstance(label, str):
        check_text(label, where)
    elif not isinstance(label, bool | int | float) or label != label:
        raise ModelFormatError(f"{where} is {describe_value(label)}: a class is text, a number, true or false")
    elif isinstance(label, int) and not -(2**64) < label < 2**64:
        raise ModelFormatError(f"{where} is a whole number of more than 64 bits")


# -- columns ----------------------------------------------------------------------------------------------------------


def write_column(encoding: Encoding) -> dict[str, Any]:
    """Write a column as plain values: only what its kind has."""
    values: dict[str, Any] = {"name": encoding.name, "kind": encoding.kind}
    if encoding.is_categorical or encoding.levels:
        values["levels"] = list(encoding.levels)
    if encoding.kind == "datetime" or encoding.unit:
        values["unit"] = encoding.unit
    if encoding.numbers:
        values["numbers"] = encoding.numbers
    return values


def _read_column(data: Any, where: str) -> Encoding:
    """Read a column.

    >>> _read_column({"name": "city", "kind": "nominal", "levels": ["Bari", "Rome"]}, "columns[0]")
    Encoding(name='city', kind='nominal', levels=('Bari', 'Rome'), unit='')
    """
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelFormatError(f"{where}.kind is {describe_value(kind)}: it must be one of {', '.join(KINDS)}")
    optional = {"numbers"} & data.keys() if kind == "number" else set()  # files of earlier versions have none
    check_fields(data, {"name", "kind"} | _FIELDS_OF_KIND.get(kind, set()) | optional, where)
    if optional and data["numbers"] not in NUMBER_FACTS:
        facts = " or ".join(NUMBER_FACTS)
        raise ModelFormatError(f"{where}.numbers is {describe_value(data['numbers'])}: it must be {facts}")
    levels = data.get("levels", [])
    check_list(levels, f"{where}.levels")
    for i, level in enumerate(levels):
        if not isinstance(level, str) or len(level) > MAX_CHARACTERS:
            check_text(level, f"{where}.levels[{i}]")
    _check_unique(levels, f"{where}.levels")
    if kind == "boolean" and levels != ["false", "true"]:
        raise ModelFormatError(f"{where}.levels is {describe_value(levels)}: a boolean's levels are false and true")
    unit = data.get("unit", "")
    if kind == "datetime" and unit not in UNITS:
        raise ModelFormatError(f"{where}.unit is {describe_value(unit)}: it must be one of {', '.join(UNITS)}")
    return Encoding(check_text(data["name"], f"{where}.name"), kind, tuple(levels), unit, data.get("numbers", ""))


def read_columns(data: Iterable[Any]) -> tuple[Encoding, ...]:
    """Read all columns; no two may have one name."""
    columns = tuple(_read_column(column, f"columns[{i}]") for i, column in enumerate(data))
    _check_unique([column.name for column in columns], "columns", ".name")
    return columns


def read_quartiles(data: Any, columns: tuple[Encoding, ...]) -> dict[str, tuple[float, float]]:
    """Read the quartiles of numeric columns: two numbers of the column's own type, the lower first.

    >>> read_quartiles({"x": [3.0, 1.0]}, (Encoding("x", "number"),))
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: quartiles of "x" are 3.0 and 1.0: the lower one comes first
    """
    if not isinstance(data, dict) or not data:
        raise ModelFormatError(f"quartiles is {describe_value(data)}: it must be names and pairs of numbers")
    kinds = {column.name: column for column in columns if not column.is_categorical}
    for name, ends in data.items():
        if name not in kinds:
            raise ModelFormatError(f"quartiles are given for {describe_value(name)}, which is not a numeric column")
        expected = float if kinds[name].kind == "number" else int
        if not isinstance(ends, list) or len(ends) != 2 or not all(type(end) is expected for end in ends):
            expected_text = "numbers with a point" if expected is float else "whole numbers"
            raise ModelFormatError(f"quartiles of {describe_value(name)} must be two {expected_text}")
        if not ends[0] <= ends[1]:
            raise ModelFormatError(
                f"quartiles of {describe_value(name)} are {ends[0]} and {ends[1]}: the lower one comes first"
            )
        if expected is int and not (ends[0] > -(2**63) and ends[1] < 2**63):
            raise ModelFormatError(f"quartiles of {describe_value(name)} have more than 64 bits")
    return {name: (ends[0], ends[1]) for name, ends in data.items()}


# -- how the tree was made --------------------------------------------------------------------------------------------


def read_history(data: Any, target: Target) -> tuple[HistoryStep, ...]:
    """Check the history: the entries that later steps (refit, trace, predict) use must have the expected types."""
    check_list(data, "history")
    for i, step in enumerate(data):
        _check_step(step, f"history[{i}]")
        _check_priors_and_costs(step, target, f"history[{i}]")
    return tuple(map(HistoryStep, data))


def _check_priors_and_costs(step: dict[str, Any], target: Target, where: str) -> None:
    """Check the priors of the classes, and the costs of mistakes."""
    try:
        if step.get("cost") is not None:
            if not isinstance(step["cost"], dict) or not target.classes:
                raise ParameterError("costs name the classes, true ones and predicted ones")
            CostMatrix.of(step["cost"], target.classes)
        if "priors" in step:
            read_priors(step["priors"], target)
    except ParameterError as error:
        raise ModelFormatError(f"{where}: {str(error).rstrip('.')}") from None


def _check_step(step: Any, where: str) -> None:
    """Check one step of a history."""
    if not isinstance(step, dict) or not isinstance(step.get("did"), str):
        raise ModelFormatError(f'{where} is {describe_value(step)}: a step must have a field "did"')
    rows = step.get("rows", 0)
    if type(rows) is not int or rows < 0:
        raise ModelFormatError(f"{where}.rows is {describe_value(rows)}: it must be a whole number, 0 or more")
    for key in ("treewise", "sample_weight", "groups", "time", "exposure", "imitates"):
        check_text(step.get(key, ""), f"{where}.{key}")
    check_list(step.get("na_values", []), f"{where}.na_values")
    for i, marker in enumerate(step.get("na_values", [])):
        check_text(marker, f"{where}.na_values[{i}]")
    if step["did"] == "edit" and not is_edit(step):
        raise ModelFormatError(f"{where} is not a valid edit: its verb, its arguments or its texts are damaged")
    if ("decisions" in step or "leaves" in step) and not is_pruning(step):
        raise ModelFormatError(
            f"{where} is not a valid pruning step: leaves, facts, measure, looked_at or decisions are damaged"
        )
    for key in ("settings", "options", "ensemble"):
        if not isinstance(step.get(key, {}), dict):
            raise ModelFormatError(f"{where}.{key} is {describe_value(step[key])}: it must be names and values")
    _check_ensemble_options(step.get("ensemble", {}), f"{where}.ensemble")
    _check_settings(step.get("settings", {}), f"{where}.settings")
    _check_class_weight(step.get("class_weight", {}), f"{where}.class_weight")
    splits = step.get("splits", {})
    if not isinstance(splits, dict) or not all(isinstance(s, str) and s in SPLIT_KINDS for s in splits.values()):
        raise ModelFormatError(
            f"{where}.splits is {describe_value(splits)}: it must name columns and {', '.join(SPLIT_KINDS)}"
        )


def _check_ensemble_options(options: dict[str, Any], where: str) -> None:
    """Check the options of an ensemble: plain values, or a list of numbers with one entry per round."""
    check_text(options.get("method", ""), f"{where}.method")
    n_trees = options.get("n_estimators", 1)
    if type(n_trees) is not int or n_trees < 1:
        raise ModelFormatError(
            f"{where}.n_estimators is {describe_value(n_trees)}: it must be a whole number, 1 or more"
        )
    for name, value in options.items():
        is_numbers = isinstance(value, list) and all(type(item) in (int, float) for item in value)
        if not (is_numbers or value is None or isinstance(value, str | bool | int | float)):
            raise ModelFormatError(f"{where}.{safe(name[:80])} is {describe_value(value)}: it must be a plain value")


def _check_settings(settings: dict[str, Any], where: str) -> None:
    """Check the settings a tree was grown with."""
    declared = Settings.__dataclass_fields__
    for name in settings:
        if name not in declared:
            raise ModelFormatError(
                f'{where}: treewise {__version__} has no setting "{safe(name[:80])}". Perhaps a newer one made this'
            )
    try:
        Settings.from_values(settings)
    except ParameterError as error:
        raise ModelFormatError(f"{where}: {str(error).rstrip('.')}") from None


def _check_class_weight(weights: Any, where: str) -> None:
    """Check the weights of classes: ``balanced``, or a number for each."""
    if weights == "balanced":
        return
    numbers = weights.values() if isinstance(weights, dict) else [math.nan]
    if not all(type(w) in (int, float) and 0 <= w < math.inf for w in numbers):
        raise ModelFormatError(f"{where} is {describe_value(weights)}: it must be balanced, or numbers of 0 or more")


def read_display(data: Any, model: Model) -> Display:
    """Read the words for readers: texts for classes and columns of the model."""
    if not isinstance(data, dict):
        raise ModelFormatError(f"display is {describe_value(data)}: it must be labels, names and units")
    check_fields(data, {"labels", "names", "units"}, "display")
    for name, words in data.items():
        if not isinstance(words, dict):
            raise ModelFormatError(f"display.{name} is {describe_value(words)}: it must be names and texts")
        for text in words.values():
            check_text(text, f"display.{name}")
    try:
        return make_display(model, **data)
    except TreewiseError as error:
        raise ModelFormatError(f"display: {str(error).rstrip('.')}") from None


def read_notes(data: Any) -> tuple[str, ...]:
    """Check the notes."""
    check_list(data, "notes")
    return tuple(check_text(note, f"notes[{i}]") for i, note in enumerate(data))


def check_criterion(data: Any, task: Task) -> str:
    """Check the criterion: a known one, for this task."""
    try:
        criterion = get_criterion(data) if isinstance(data, str) else None
    except ParameterError:
        criterion = None
    if criterion is None or criterion.task != task:
        raise ModelFormatError(f"criterion is {describe_value(data)}: there is no such criterion for {task}")
    return criterion.name


# -- plain values -----------------------------------------------------------------------------------------------------


def to_json_value(value: Any, where: str) -> Any:
    """Turn a value of the history into one that JSON has; what the file cannot hold is refused.

    >>> to_json_value({0: np.float64(2.5), True: (None, {"b", "a"})}, "history")
    {'0': 2.5, 'True': [None, ['a', 'b']]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item, where) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((to_json_value(item, where) for item in value), key=str)
    if isinstance(value, list | tuple):
        return [to_json_value(item, where) for item in value]
    raise ModelFormatError(f"{where} contains a {type(value).__name__}, which a model file cannot store")


def check_text(value: Any, where: str) -> str:
    """Check a piece of text."""
    if not isinstance(value, str):
        raise ModelFormatError(f"{where} is {describe_value(value)}: it must be text")
    if len(value) > MAX_CHARACTERS:
        raise ModelFormatError(f"{where} has {len(value):,} characters; at most {MAX_CHARACTERS:,} are allowed")
    return value


def check_writable(text: str, where: str) -> None:
    """Refuse text that JSON would read back as something else."""
    if _TORN_PAIR.search(text):
        raise ModelFormatError(f"{where} contains a lone half of a surrogate pair")


def check_list(value: Any, where: str) -> None:
    """Refuse anything but a list."""
    if not isinstance(value, list):
        raise ModelFormatError(f"{where} is {describe_value(value)}: it must be a list")


def check_fields(data: Mapping[str, Any], needed: set[str], where: str) -> None:
    """Refuse an object that lacks a field or has one more."""
    for name in sorted(needed - data.keys()):
        raise ModelFormatError(f"{where}.{name} is missing")
    for name in sorted(data.keys() - needed):
        raise ModelFormatError(f'{where} has a field "{safe(name[:80])}", which is unknown')


def _check_unique(values: Sequence[Label], where: str, part: str = "") -> None:
    """Refuse a list with duplicates; the hashes of a million names take less memory than a set of them."""
    if len(values) < 1000 and len(set(values)) == len(values):
        return
    hashes, counts = np.unique(np.fromiter(map(hash, values), np.int64, len(values)), return_counts=True)
    if len(hashes) == len(values):
        return
    repeated = set(hashes[counts > 1].tolist())
    unique = set()
    for i, value in enumerate(values):
        if value in unique:
            raise ModelFormatError(f"{where}[{i}]{part} is {describe_value(value)}, a duplicate")
        if hash(value) in repeated:
            unique.add(value)


def describe_value(value: Any) -> str:
    """Describe a value of a file for an error: briefly, and on one line."""
    if isinstance(value, str):
        return f'"{safe(value[:60])}{"…" if len(value) > 60 else ""}"'
    if isinstance(value, dict | list | tuple):
        return "a list" if not isinstance(value, dict) else "an object"
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)
