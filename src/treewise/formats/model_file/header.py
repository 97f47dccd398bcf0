"""The header of a model file (target, columns, criterion, history, notes), converted to plain values and back.

Used by ``layout.py`` and ``read.py``. Both directions go through the same checks, so nothing can be saved that
would be refused when it is loaded. Fields are fixed: one that is missing or not known is refused, because within one
format there are no others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

import numpy as np

from treewise._lib.text import safe
from treewise._version import __version__
from treewise.data.encoding import SPLIT_KINDS, Encoding, Kind
from treewise.errors import ModelFormatError, ParameterError
from treewise.predict.costs import CostMatrix
from treewise.train.criteria import get_criterion
from treewise.train.settings import Settings
from treewise.train.weights import read_priors
from treewise.tree.arrays import Label, Target, Task
from treewise.tree.history import Step, is_pruning

MOST_CHARACTERS = 1 << 24  # in one name, level or note
MOST_DIGITS = 20  # of a whole number that is not in an array: 64 bits
KINDS: tuple[Kind, ...] = get_args(Kind)
UNITS = ("D", "s", "ms", "us", "ns")
_FIELDS_OF_KIND = {"boolean": {"levels"}, "nominal": {"levels"}, "ordered": {"levels"}, "datetime": {"unit"}}

# Two halves of a surrogate pair, side by side but separate: JSON cannot say that they are not one letter.
_TORN_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


# -- the target -------------------------------------------------------------------------------------------------------


def target_to(target: Target) -> dict[str, Any]:
    """Write the target as plain values."""
    found = {"name": target.name, "task": target.task}
    return found if target.task == "regression" else {**found, "classes": [plain(c, "class") for c in target.classes]}


def target_from(found: Any) -> Target:
    """Read the target.

    >>> target_from({"name": "y", "task": "classification", "classes": ["a", "a"]})
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: target.classes[1] is "a", which stands there already
    """
    task = found.get("task") if isinstance(found, dict) else None
    if task not in ("classification", "regression"):
        raise ModelFormatError(f"target.task is {shown(task)}: it must be classification or regression")
    classes = task == "classification"
    check_fields(found, {"name", "task", "classes"} if classes else {"name", "task"}, "target")
    labels = found["classes"] if classes else []
    check_list(labels, "target.classes")
    if classes and not labels:
        raise ModelFormatError("target.classes is empty: there is nothing to predict")
    for i, label in enumerate(labels):
        _check_label(label, f"target.classes[{i}]")
    _check_different(labels, "target.classes")
    return Target(text(found["name"], "target.name"), cast(Task, task), tuple(labels))


def _check_label(label: Any, where: str) -> None:
    """Refuse what cannot be a class."""
    if isinstance(label, str):
        text(label, where)
    elif not isinstance(label, bool | int | float) or label != label:
        raise ModelFormatError(f"{where} is {shown(label)}: a class is text, a number, true or false")
    elif isinstance(label, int) and not -(2**64) < label < 2**64:
        raise ModelFormatError(f"{where} is a whole number of more than 64 bits")


# -- columns ----------------------------------------------------------------------------------------------------------


def column_to(encoding: Encoding) -> dict[str, Any]:
    """Write a column as plain values: only what its kind has."""
    found: dict[str, Any] = {"name": encoding.name, "kind": encoding.kind}
    if encoding.is_categorical or encoding.levels:
        found["levels"] = list(encoding.levels)
    return {**found, "unit": encoding.unit} if encoding.kind == "datetime" or encoding.unit else found


def _column_from(found: Any, where: str) -> Encoding:
    """Read a column.

    >>> _column_from({"name": "city", "kind": "nominal", "levels": ["Bari", "Rome"]}, "columns[0]")
    Encoding(name='city', kind='nominal', levels=('Bari', 'Rome'), unit='')
    """
    kind = found.get("kind") if isinstance(found, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelFormatError(f"{where}.kind is {shown(kind)}: it must be one of {', '.join(KINDS)}")
    check_fields(found, {"name", "kind"} | _FIELDS_OF_KIND.get(kind, set()), where)
    levels = found.get("levels", [])
    check_list(levels, f"{where}.levels")
    for i, level in enumerate(levels):
        if not isinstance(level, str) or len(level) > MOST_CHARACTERS:
            text(level, f"{where}.levels[{i}]")
    _check_different(levels, f"{where}.levels")
    if kind == "boolean" and levels != ["false", "true"]:
        raise ModelFormatError(f"{where}.levels is {shown(levels)}: a boolean's levels are false and true")
    unit = found.get("unit", "")
    if kind == "datetime" and unit not in UNITS:
        raise ModelFormatError(f"{where}.unit is {shown(unit)}: it must be one of {', '.join(UNITS)}")
    return Encoding(text(found["name"], f"{where}.name"), kind, tuple(levels), unit)


def columns_from(found: Iterable[Any]) -> tuple[Encoding, ...]:
    """Read all columns; no two may have one name."""
    columns = tuple(_column_from(column, f"columns[{i}]") for i, column in enumerate(found))
    _check_different([column.name for column in columns], "columns", ".name")
    return columns


def quartiles_from(found: Any, columns: tuple[Encoding, ...]) -> dict[str, tuple[float, float]]:
    """Read the quartiles of numeric columns: two numbers of the column's own type, the lower first.

    >>> quartiles_from({"x": [3.0, 1.0]}, (Encoding("x", "number"),))
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: quartiles of "x" are 3.0 and 1.0: the lower one comes first
    """
    if not isinstance(found, dict) or not found:
        raise ModelFormatError(f"quartiles is {shown(found)}: it must be names and pairs of numbers")
    kinds = {column.name: column for column in columns if not column.is_categorical}
    for name, ends in found.items():
        if name not in kinds:
            raise ModelFormatError(f"quartiles are given for {shown(name)}, which is no column of numbers")
        wanted = float if kinds[name].kind == "number" else int
        if not isinstance(ends, list) or len(ends) != 2 or not all(type(end) is wanted for end in ends):
            what = "numbers with a point" if wanted is float else "whole numbers"
            raise ModelFormatError(f"quartiles of {shown(name)} must be two {what}")
        if not ends[0] <= ends[1]:
            raise ModelFormatError(f"quartiles of {shown(name)} are {ends[0]} and {ends[1]}: the lower one comes first")
        if wanted is int and not (ends[0] > -(2**63) and ends[1] < 2**63):
            raise ModelFormatError(f"quartiles of {shown(name)} have more than 64 bits")
    return {name: (ends[0], ends[1]) for name, ends in found.items()}


# -- how the tree was made --------------------------------------------------------------------------------------------


def history_from(found: Any, target: Target) -> tuple[Step, ...]:
    """Check the history: whatever later steps (refit, trace, predict) look up in it must be what they expect."""
    check_list(found, "history")
    for i, step in enumerate(found):
        _check_step(step, f"history[{i}]")
        _check_by_class(step, target, f"history[{i}]")
    return tuple(map(Step, found))


def _check_by_class(step: dict[str, Any], target: Target, where: str) -> None:
    """Check what a step says of the classes one by one: their priors, and what mistakes cost."""
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
        raise ModelFormatError(f'{where} is {shown(step)}: a step says what was "did"')
    rows = step.get("rows", 0)
    if type(rows) is not int or rows < 0:
        raise ModelFormatError(f"{where}.rows is {shown(rows)}: it must be a whole number, 0 or more")
    for key in ("treewise", "sample_weight", "imitates"):
        text(step.get(key, ""), f"{where}.{key}")
    check_list(step.get("na_values", []), f"{where}.na_values")
    for i, marker in enumerate(step.get("na_values", [])):
        text(marker, f"{where}.na_values[{i}]")
    if ("decisions" in step or "leaves" in step) and not is_pruning(step):
        raise ModelFormatError(f"{where} is no pruning: leaves, facts, measure, looked_at or decisions are damaged")
    for key in ("settings", "options", "ensemble"):
        if not isinstance(step.get(key, {}), dict):
            raise ModelFormatError(f"{where}.{key} is {shown(step[key])}: it must be names and values")
    _check_many(step.get("ensemble", {}), f"{where}.ensemble")
    _check_settings(step.get("settings", {}), f"{where}.settings")
    _check_class_weight(step.get("class_weight", {}), f"{where}.class_weight")
    splits = step.get("splits", {})
    if not isinstance(splits, dict) or not all(isinstance(s, str) and s in SPLIT_KINDS for s in splits.values()):
        raise ModelFormatError(f"{where}.splits is {shown(splits)}: it must name columns and {', '.join(SPLIT_KINDS)}")


def _check_many(options: dict[str, Any], where: str) -> None:
    """Check what was asked of many trees: plain values, or how their rounds went in numbers."""
    text(options.get("method", ""), f"{where}.method")
    many = options.get("n_estimators", 1)
    if type(many) is not int or many < 1:
        raise ModelFormatError(f"{where}.n_estimators is {shown(many)}: it must be a whole number, 1 or more")
    for name, value in options.items():
        numbers = isinstance(value, list) and all(type(item) in (int, float) for item in value)
        if not (numbers or value is None or isinstance(value, str | bool | int | float)):
            raise ModelFormatError(f"{where}.{safe(name[:80])} is {shown(value)}: it must be a plain value")


def _check_settings(settings: dict[str, Any], where: str) -> None:
    """Check the settings a tree was grown with."""
    known = Settings.__dataclass_fields__
    for name in settings:
        if name not in known:
            raise ModelFormatError(
                f'{where}: treewise {__version__} has no setting "{safe(name[:80])}". Perhaps a newer one made this'
            )
    try:
        Settings.of(**settings)
    except ParameterError as error:
        raise ModelFormatError(f"{where}: {str(error).rstrip('.')}") from None


def _check_class_weight(weights: Any, where: str) -> None:
    """Check the weights of classes: ``balanced``, or a number for each."""
    if weights == "balanced":
        return
    numbers = weights.values() if isinstance(weights, dict) else [math.nan]
    if not all(type(w) in (int, float) and 0 <= w < math.inf for w in numbers):
        raise ModelFormatError(f"{where} is {shown(weights)}: it must be balanced, or numbers of 0 or more")


def notes_from(found: Any) -> tuple[str, ...]:
    """Check the notes."""
    check_list(found, "notes")
    return tuple(text(note, f"notes[{i}]") for i, note in enumerate(found))


def check_criterion(found: Any, task: Task) -> str:
    """Check the criterion: a known one, for this task."""
    try:
        criterion = get_criterion(found) if isinstance(found, str) else None
    except ParameterError:
        criterion = None
    if criterion is None or criterion.task != task:
        raise ModelFormatError(f"criterion is {shown(found)}: there is no such criterion for {task}")
    return criterion.name


# -- plain values -----------------------------------------------------------------------------------------------------


def plain(value: Any, where: str) -> Any:
    """Turn a value of the history into one that JSON has; what the file cannot hold is refused.

    >>> plain({0: np.float64(2.5), True: (None, {"b", "a"})}, "history")
    {'0': 2.5, 'True': [None, ['a', 'b']]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item, where) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(item, where) for item in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(item, where) for item in value]
    raise ModelFormatError(f"{where} holds a {type(value).__name__}, which a model file cannot")


def text(value: Any, where: str) -> str:
    """Check a piece of text."""
    if not isinstance(value, str):
        raise ModelFormatError(f"{where} is {shown(value)}: it must be text")
    if len(value) > MOST_CHARACTERS:
        raise ModelFormatError(f"{where} has {len(value):,} letters: {MOST_CHARACTERS:,} are the most")
    return value


def check_writable(written: str, where: str) -> None:
    """Refuse text that JSON would read back as something else."""
    if _TORN_PAIR.search(written):
        raise ModelFormatError(f"{where} holds a torn letter (two halves of a surrogate pair)")


def check_list(found: Any, where: str) -> None:
    """Refuse what is no list."""
    if not isinstance(found, list):
        raise ModelFormatError(f"{where} is {shown(found)}: it must be a list")


def check_fields(found: Mapping[str, Any], needed: set[str], where: str) -> None:
    """Refuse an object that lacks a field or has one more."""
    for name in sorted(needed - found.keys()):
        raise ModelFormatError(f"{where}.{name} is not there")
    for name in sorted(found.keys() - needed):
        raise ModelFormatError(f'{where} has a field "{safe(name[:80])}", which is not known')


def _check_different(values: list[Label], where: str, part: str = "") -> None:
    """Refuse a list in which something stands twice."""
    if len(set(values)) == len(values):
        return
    seen = set()
    for i, value in enumerate(values):
        if value in seen:
            raise ModelFormatError(f"{where}[{i}]{part} is {shown(value)}, which stands there already")
        seen.add(value)


def shown(value: Any) -> str:
    """Show a value found in a file: briefly, and on one line."""
    if isinstance(value, str):
        return f'"{safe(value[:60])}{"…" if len(value) > 60 else ""}"'
    if isinstance(value, dict | list | tuple):
        return "a list" if not isinstance(value, dict) else "an object"
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)
