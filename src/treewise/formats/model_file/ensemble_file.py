"""Write and read the model file of an ensemble: format 3.

Complements ``model_file.py``, whose parts it uses: the header's values and checks,
packed arrays, the checksum, the disk. ``docs/format.md`` describes the file.

    ensemble ──validate──▶ lines (header, members) ──▶ text ──atomic_write──▶ file
    file ──▶ bytes ──lines──▶ validate ──▶ ensemble
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from treewise.data.encoding import Encoding
from treewise.ensemble.model import Ensemble, Method, OutOfBag
from treewise.ensemble.packed_trees import (
    ARRAY_NAMES,
    DERIVABLE_CRITERIA,
    INNER_ARRAYS,
    LIST_LENGTHS,
    NODE_STATS,
    build_packed,
)
from treewise.errors import ModelFormatError
from treewise.formats.model_file.header import (
    check_criterion,
    check_fields,
    check_list,
    columns_from,
    history_from,
    notes_from,
    shown,
    target_from,
    text,
)
from treewise.formats.model_file.layout import FORMAT, block, header_lines, line_of
from treewise.formats.model_file.packing import read_array, write_list, write_packed
from treewise.formats.model_file.read import JsonLines, check_ending, read_empty_branch
from treewise.formats.model_file.validate import refuse
from treewise.formats.model_file.validate_ensemble import check_members
from treewise.tree.arrays import LEAF, Target

Array = npt.NDArray[Any]

METHODS = get_args(Method)
_LENGTHS = ("size", "kind", "decreases", *LIST_LENGTHS)  # as long as they are: never one number for all
_ONLY_OF_CLASSES = ("n_counts", "count_class", "count_weight")
_ONLY_OF_NUMBERS = ("weight", *NODE_STATS)
_DOUBLES = ("cut", "count_weight", *_ONLY_OF_NUMBERS)
_MOST_SAY = 1e300  # of a tree: the votes of a million trees add up without overflow
_WIDE = ("cut_int", "rows", "missing_rows")  # 64 bits; other whole numbers have 32 at most


def check_whole(ensemble: Ensemble) -> None:
    """Check that history, members, votes and decreases are valid and consistent."""
    for i, step in enumerate(ensemble.history):
        if step.get("cost") is not None:
            raise ModelFormatError(f"history[{i}] has costs, which ensembles do not support")
    check_members(ensemble.members, ensemble.encodings, ensemble.target)
    votes, decreases, trees = ensemble.votes, ensemble.decreases, len(ensemble)
    if votes.shape != (trees,) or decreases.shape != (trees, len(ensemble.encodings)):
        raise ModelFormatError("votes and decreases must have an entry for each tree")
    refuse(~((votes > 0) & (votes <= _MOST_SAY)), "votes", votes, "a vote is a number above 0, and none so large")
    if ensemble.method != "adaboost":
        refuse(votes != 1, "votes", votes, f"each tree of {ensemble.method} has a vote of 1")
    elif ensemble.task == "regression":
        raise ModelFormatError("the target is numbers: adaboost predicts classes")
    if not np.all(decreases >= 0):
        raise ModelFormatError(f"nodes.decreases[{np.argmin(decreases.ravel() >= 0)}]: it cannot be negative")


# -- writing ----------------------------------------------------------------------------------------------------------


def lines_of(ensemble: Ensemble, compact: bool) -> Iterator[str]:
    """Yield the lines before the checksum."""
    yield from header_lines(ensemble, FORMAT, before_target={"ensemble": ensemble.method})
    yield f'"oob": {line_of(None if ensemble.oob is None else asdict(ensemble.oob), "oob")},'
    yield '"nodes": {'
    yield f'"trees": {len(ensemble)},'
    yield f'"count": {len(ensemble.members.kind)},'
    arrays = _arrays_of(ensemble)
    yield from block([f'"{name}": {_written(name, array, compact)}' for name, array in arrays.items()])
    yield "},"


def _stored_arrays(target: Target, criterion: str) -> list[str]:
    """Return the names of the arrays of nodes that a file holds, in order."""
    left_out = {*(_ONLY_OF_NUMBERS if target.task == "classification" else _ONLY_OF_CLASSES)}
    if criterion in DERIVABLE_CRITERIA:
        left_out.add("impurity")
    return [name for name in ARRAY_NAMES if name not in left_out]


def _arrays_of(ensemble: Ensemble) -> dict[str, Array]:
    """Return the arrays of a file in their order: of trees, then of nodes."""
    members = ensemble.members
    found = {"size": np.diff(members.start), "votes": ensemble.votes, "decreases": ensemble.decreases.ravel()}
    return found | {name: getattr(members, name) for name in _stored_arrays(ensemble.target, ensemble.criterion)}


def _written(name: str, array: Array, compact: bool) -> str:
    """Write one array, packed or as a list; doubles with a point."""
    if name in (*_DOUBLES, "votes", "decreases"):
        array = array.astype(np.float64)
    return write_packed(array, name not in _LENGTHS) if compact and len(array) else write_list(array)


# -- reading ----------------------------------------------------------------------------------------------------------


def ensemble_of(content: bytes) -> Ensemble:
    """Read a model file of many trees, or raise ModelFormatError with what is wrong; the caller says in which file."""
    lines = JsonLines(content, check_ending(content))
    ensemble = _read_ensemble(lines)
    lines.expect_end()
    check_whole(ensemble)
    return ensemble


def _read_ensemble(lines: JsonLines) -> Ensemble:
    """Read the fields in order and build the ensemble."""
    lines.expect("{")
    lines.expect(f'"format": {FORMAT},')
    text(lines.value("treewise"), "treewise")
    method = lines.value("ensemble")
    if method not in METHODS:
        raise ModelFormatError(f"ensemble is {shown(method)}: it must be one of {', '.join(METHODS)}")
    target = target_from(lines.value("target"))
    criterion = check_criterion(lines.value("criterion"), target.task)
    empty_branch = read_empty_branch(lines)
    encodings = columns_from(lines.block("columns"))
    history = history_from(lines.block("history"), target)
    notes = notes_from(lines.value("notes"))
    oob = _value_from(lines.value("oob"), OutOfBag, "oob")
    start, votes, decreases, arrays = _read_nodes(lines, encodings, target, criterion)
    how: dict[str, Any] = {"history": history, "notes": notes, "oob": oob}
    members = build_packed(start, arrays)
    return Ensemble(method, encodings, target, members, votes, decreases, criterion, empty_branch, **how)


def _value_from(found: Any, kind: Any, where: str) -> Any:
    """Read a dataclass of plain values by its annotations; nothing stays None."""
    if found is None:
        return None
    if not isinstance(found, dict):
        raise ModelFormatError(f"{where} is {shown(found)}: it must be names and values")
    wanted = get_type_hints(kind)
    check_fields(found, {f.name for f in fields(kind)}, where)
    for name, value in found.items():
        _check_type(value, wanted[name], f"{where}.{name}")
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in found.items()})


def _check_type(value: Any, wanted: Any, where: str) -> None:
    """Refuse a value of another type than int, float, str, bool, or tuples of these."""
    if parts := get_args(wanted):
        check_list(value, where)
        for i, item in enumerate(value):
            _check_type(item, parts[0], f"{where}[{i}]")
    elif type(value) is not wanted:
        raise ModelFormatError(f"{where} is {shown(value)}: it must be of type {wanted.__name__}")


def _read_nodes(
    lines: JsonLines, encodings: tuple[Encoding, ...], target: Target, criterion: str
) -> tuple[npt.NDArray[np.int64], Array, Array, dict[str, Array]]:
    """Read the arrays; ``size`` and ``kind`` come first, and must have as many entries as announced."""
    lines.expect('"nodes": {')
    trees, count = lines.value("trees"), lines.value("count")
    for name, number in (("trees", trees), ("count", count)):
        if type(number) is not int or number < 1:
            raise ModelFormatError(f"nodes.{name} is {shown(number)}: there is a tree at least, and a root in it")

    def take(name: str, dtype: npt.DTypeLike, length: int, comma: bool = True) -> Array:
        value = lines.field(name, comma=comma)
        if value == b"[]" and name in ("cut_int", "other", "n_codes", "missing_rows"):
            return np.empty(0, np.int64)
        return read_array(value, dtype, length, f"nodes.{name}", name not in _LENGTHS)

    start = np.append(0, np.cumsum(take("size", np.int32, trees), dtype=np.int64))
    votes, decreases = take("votes", np.float64, trees), take("decreases", np.float64, trees * len(encodings))
    found: dict[str, Array] = {name: np.empty(0, np.uint8) for name in ARRAY_NAMES}
    names = _stored_arrays(target, criterion)
    inner = 0
    for name in names:
        length = _length_of(name, found, count, inner, criterion)
        dtype = np.float64 if name in _DOUBLES else np.int64 if name in _WIDE else np.int32
        found[name] = take(name, dtype, length, comma=name != names[-1])
        if name == "kind":
            inner = int(np.count_nonzero(found["kind"] != LEAF))
    lines.expect("},")
    return start, votes, decreases.reshape(trees, len(encodings)), found


def _length_of(name: str, found: dict[str, Array], count: int, inner: int, criterion: str) -> int:
    """Return how many entries an array must have."""
    if name in LIST_LENGTHS:
        many = found[LIST_LENGTHS[name]]
        if np.any(many < 0):
            raise ModelFormatError(f"nodes.{LIST_LENGTHS[name]}[{np.argmax(many < 0)}] is negative")
        return int(many.sum(dtype=np.int64))
    if name == "kind" or (name in NODE_STATS and criterion not in DERIVABLE_CRITERIA):
        return count
    return inner if name in INNER_ARRAYS else count - inner
