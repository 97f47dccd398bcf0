"""Model files: save a tree or an ensemble as one JSON file, and load it back bit for bit.

``docs/format.md`` describes the format for other readers. This file contains the order of its fields, for writing and
for reading; their values are handled by

    header.py       target, columns, quartiles, history and notes, from the file and back
    packing.py      one array, as a list of numbers or packed
    json_lines.py   format number and checksum, one field per line
    validate.py     is it a tree? ``validate_packed.py``: are they trees?

A model is validated before it is written and after it is read, so a file that is not a valid model is never loaded.
Nothing in a file is ever executed. Numbers are exact, fields have a fixed order, and there is no time stamp: equal
models give equal files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from treewise._lib.atomic_write import read_whole, write_whole
from treewise._lib.text import safe
from treewise._version import __version__
from treewise.ensemble.model import Ensemble, Method, OutOfBag
from treewise.ensemble.packed_trees import (
    ARRAY_NAMES,
    DERIVABLE_CRITERIA,
    INNER_ARRAYS,
    LIST_LENGTHS,
    NODE_STATS,
    PackedTrees,
    build_packed,
)
from treewise.errors import ModelFormatError, ParameterError, brief
from treewise.formats.model_file.header import (
    check_criterion,
    check_fields,
    check_list,
    check_text,
    describe_value,
    read_columns,
    read_display,
    read_history,
    read_notes,
    read_quartiles,
    read_target,
    to_json_value,
    write_column,
    write_target,
)
from treewise.formats.model_file.json_lines import (
    FORMAT,
    JsonLines,
    append_checksum,
    arrays_memory_allowed,
    block_lines,
    check_ending,
    column_size,
    format_number,
    pad,
    to_line,
)
from treewise.formats.model_file.packing import decode_array, narrowest, write_list, write_packed
from treewise.formats.model_file.validate import check_nodes, refuse
from treewise.formats.model_file.validate_packed import check_packed
from treewise.tree.arrays import DTYPES, LEAF, Arrays, Target, Task
from treewise.tree.history import HistoryStep, without_pruned_tests
from treewise.tree.model import Model
from treewise.tree.tree import Tree

__all__ = ["FORMAT", "dumps", "load", "loads", "save"]

Array = npt.NDArray[Any]

TREE_FORMAT = 2  # of a single tree; one without quartiles is written as format 1, which had none
ENSEMBLE_FORMAT = 3
P_VALUE_FORMAT = 4  # of a single tree with p-values (selection="test")
METHODS = get_args(Method)
_OTHER_ENDINGS = {  # of files that are not JSON, and how to write those
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), ", or use pickle or joblib, which keep the same text"),
    ".onnx": '; for ONNX: model.export("onnx")',
    ".pmml": '; for PMML: model.export("pmml")',
    ".txt": '; for text: model.export("text")',
    **dict.fromkeys((".png", ".svg", ".pdf"), "; for a picture: treewise.draw"),
    ".html": "; for a page: treewise.report",
}
_COMPACT_ABOVE = 10_000  # models of more nodes are packed by default
_MAX_VOTE = 1e300  # the votes of a million trees add up without overflow


def save(model: Model, path: str | os.PathLike[str], compact: bool | None = None, complete: bool = False) -> None:
    """Write a model to a file, atomically (``Model.save``)."""
    ending = Path(os.fsdecode(path)).suffix.lower()
    if ending in _OTHER_ENDINGS:
        raise ParameterError(
            f"a model file is JSON, and {safe(Path(os.fsdecode(path)).name)} would be taken for another format.",
            hint=f"Name it .json{_OTHER_ENDINGS[ending]}.",
        )
    write_whole(path, dumps(model, compact, complete).encode())


def load(path: str | os.PathLike[str]) -> Tree | Ensemble:
    """Load a model file: a ``Tree`` from ``tree.save``, an ``Ensemble`` from ``ensemble.save``.

    >>> load("no/such/m.json")
    Traceback (most recent call last):
    FileNotFoundError: no file no/such/m.json. Nothing was loaded.
    >>> load('{"format": 1, …')
    Traceback (most recent call last):
    treewise.errors.ParameterError: load takes the name of a file, not the text in it. ...
    """
    if not isinstance(path, str | bytes | os.PathLike):
        raise ParameterError(f"load takes the name of a file, not {brief(path)}.")
    name = os.fsdecode(path)
    is_model_text = name.lstrip().startswith("{")
    if (is_model_text or "\n" in name) and not os.path.exists(name):
        if is_model_text:
            advice = "treewise.formats.model_file.model_file.loads(text) reads a saved one"
        else:
            advice = "treewise.parse(text) reads words"
        raise ParameterError(f"load takes the name of a file, not the text in it. {advice}.")
    return loads(read_whole(path, b"{"), safe(Path(name).name))


def dumps(model: Model, compact: bool | None = None, complete: bool = False) -> str:
    """Return the text of a model file; ``complete`` adds what no node needs (``Model.save``).

    >>> import treewise as tw
    >>> print(dumps(tw.grow("xor"))[:33])
    {
    "format": 2,
    "treewise": "0...
    """
    assert isinstance(model, Tree | Ensemble)
    if not complete:
        history = tuple(HistoryStep(without_pruned_tests(step)) for step in model.history)
        model = replace(model, encodings=model.stored_encodings, history=history)
    _check_saveable(model)
    arrays = model.arrays if isinstance(model, Tree) else model.members
    n_nodes = len(arrays.kind)
    is_packed = n_nodes > _COMPACT_ABOVE if compact is None else compact
    lines = list(_model_lines(model, is_packed))
    if is_packed and isinstance(model, Tree) and _memory_of(arrays) > arrays_memory_allowed(sum(map(len, lines))):
        is_packed, lines = False, list(_model_lines(model, compact=False))  # lists are long enough
    return append_checksum(pad(lines, _memory_of(arrays) if is_packed else 0))


def _memory_of(arrays: Arrays | PackedTrees) -> int:
    """Return how many bytes arrays take while they are read: those of ensembles are first read in a wide type."""
    sizes: list[Array] = [getattr(arrays, name) for name in type(arrays).__dataclass_fields__]
    wide = 0 if isinstance(arrays, Arrays) else max(8 * len(array) for array in sizes)
    return sum(array.nbytes for array in sizes) + wide


def _memory_left(lines: JsonLines, arrays: Mapping[str, Array]) -> int:
    return arrays_memory_allowed(len(lines.content), lines.claimed) - sum(array.nbytes for array in arrays.values())


def loads(text: str | bytes, name: str = "the model") -> Tree | Ensemble:
    """Read the text of a model file; ``name`` is what errors call it.

    >>> import treewise as tw
    >>> tree = tw.grow("xor")
    >>> loads(dumps(tree)) == tree
    True
    >>> loads(dumps(tree).replace("entropy", "entropx"), "m.json")
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: m.json is damaged: checksum differs (the last line says ...). Nothing was loaded.
    """
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    number = format_number(content, name)
    try:
        lines = JsonLines(content, check_ending(content))
        model = _read_model(lines, number)
        lines.expect_end()
        _check_body(model)
    except ModelFormatError as error:
        raise ModelFormatError(f"{name} is damaged: {error}. Nothing was loaded.") from None
    return model


# -- validation -------------------------------------------------------------------------------------------------------


def _check_saveable(model: Tree | Ensemble) -> None:
    """Raise for a model that could not be loaded again."""
    try:
        read_target(write_target(model.target))
        read_columns(map(write_column, model.encodings))
        check_criterion(model.criterion, model.task)
        if isinstance(model, Tree) and model.quartiles:
            read_quartiles(_ordered_quartiles(model), model.encodings)
        read_history([to_json_value(step, f"history[{i}]") for i, step in enumerate(model.history)], model.target)
        read_notes(list(model.notes))
        if model.display is not None and not model.display.is_applied:
            read_display(model.display.to_dict(), model)
        _check_body(model)
    except ModelFormatError as error:
        kind = "tree" if isinstance(model, Tree) else "ensemble"
        raise ModelFormatError(f"the {kind} cannot be saved: {error}. Nothing was saved.") from None


def _check_body(model: Tree | Ensemble) -> None:
    """Check that nodes and votes are valid and fit the header, whose values have been checked one by one."""
    if isinstance(model, Tree):
        check_nodes(model.arrays, model.encodings, model.target)
        return
    for i, step in enumerate(model.history):
        if step.get("cost") is not None:
            raise ModelFormatError(f"history[{i}] has costs, which ensembles do not support")
    check_packed(model.members, model.encodings, model.target)
    votes, decreases, n_trees = model.votes, model.decreases, len(model)
    if votes.shape != (n_trees,) or decreases.shape != (n_trees, len(model.encodings)):
        raise ModelFormatError("votes and decreases must have an entry for each tree")
    refuse(~((votes > 0) & (votes <= _MAX_VOTE)), "votes", votes, "a vote weight is a number above 0 and not too large")
    if model.method != "adaboost":
        refuse(votes != 1, "votes", votes, f"each tree of {model.method} has a vote of 1")
    elif model.task == "regression":
        raise ModelFormatError("the target is numbers: adaboost predicts classes")
    if model.method == "gradient_boosting" and model.task == "classification":
        raise ModelFormatError("the target is classes: gradient_boosting predicts numbers")
    if not np.all(decreases >= 0):
        raise ModelFormatError(f"nodes.decreases[{np.argmin(decreases.ravel() >= 0)}]: it cannot be negative")


# -- the order of the fields, written and read ------------------------------------------------------------------------


def _model_lines(model: Tree | Ensemble, compact: bool) -> Iterator[str]:
    """Yield the lines of a file before the checksum."""
    yield "{"
    yield f'"format": {format_of(model)},'
    yield f'"treewise": {to_line(__version__, "the version")},'
    if isinstance(model, Ensemble):
        yield f'"ensemble": {to_line(model.method, "ensemble")},'
    yield f'"target": {to_line(write_target(model.target), "target")},'
    yield f'"criterion": {to_line(model.criterion, "criterion")},'
    yield f'"empty_branch": {to_line(model.empty_branch, "empty_branch")},'
    yield '"columns": ['
    yield from block_lines([to_line(write_column(e), f"columns[{i}]") for i, e in enumerate(model.encodings)])
    yield "],"
    if format_of(model) in (TREE_FORMAT, P_VALUE_FORMAT):
        assert isinstance(model, Tree)
        yield f'"quartiles": {to_line(_ordered_quartiles(model), "quartiles")},'
    yield '"history": ['
    names = [f"history[{i}]" for i in range(len(model.history))]
    steps = zip(model.history, names, strict=True)
    yield from block_lines([to_line(to_json_value(step, where), where) for step, where in steps])
    yield "],"
    yield f'"notes": {to_line(list(model.notes), "notes")},'
    if model.display is not None and not model.display.is_applied:
        yield f'"display": {to_line(model.display.to_dict(), "display")},'
    yield from _tree_body(model, compact) if isinstance(model, Tree) else _ensemble_body(model, compact)


def _read_model(lines: JsonLines, number: int) -> Tree | Ensemble:
    """Read the fields in order and build the model."""
    lines.expect("{")
    lines.expect(f'"format": {number},')
    check_text(lines.value("treewise"), "treewise")
    method = _read_choice(lines, "ensemble", METHODS) if number == ENSEMBLE_FORMAT else None
    target = read_target(lines.value("target"))
    criterion = check_criterion(lines.value("criterion"), target.task)
    empty_branch: Literal["parent", "root"] = _read_choice(lines, "empty_branch", ("parent", "root"))
    encodings = read_columns(lines.block("columns", column_size))
    quartiles = read_quartiles(lines.value("quartiles"), encodings) if number in (TREE_FORMAT, P_VALUE_FORMAT) else {}
    history = read_history(list(lines.block("history")), target)
    notes = read_notes(lines.value("notes"))
    words = lines.value("display") if lines.has_field("display") else None
    if method is None:
        arrays = _read_tree_arrays(lines, target, number)
        tree = Tree(encodings, target, arrays, criterion, empty_branch, history, notes, quartiles)
        return tree if words is None else replace(tree, display=read_display(words, tree))
    oob = _read_dataclass(lines.value("oob"), OutOfBag, "oob")
    start, votes, decreases, packed = _read_packed_arrays(lines, len(encodings), target, criterion)
    members = build_packed(start, packed)
    ensemble = Ensemble(
        method, encodings, target, members, votes, decreases, criterion, empty_branch,
        history=history, notes=notes, oob=oob,
    )  # fmt: skip
    return ensemble if words is None else replace(ensemble, display=read_display(words, ensemble))


def format_of(model: Tree | Ensemble) -> int:
    """Return the number of the format that a model is written in: the first that can hold it."""
    if isinstance(model, Ensemble):
        return ENSEMBLE_FORMAT
    if len(model.arrays.p_value):
        return P_VALUE_FORMAT
    return TREE_FORMAT if model.quartiles else 1


def _read_choice(lines: JsonLines, name: str, choices: tuple[str, ...]) -> Any:
    """Read a field that has one of some values."""
    value = lines.value(name)
    if value not in choices:
        choices_text = f"one of {', '.join(choices)}" if len(choices) > 2 else " or ".join(choices)
        raise ModelFormatError(f"{name} is {describe_value(value)}: it must be {choices_text}")
    return value


def _ordered_quartiles(tree: Tree) -> dict[str, list[float]]:
    """Return the quartiles as plain values, in the order of the columns."""
    return {name: list(tree.quartiles[name]) for name in tree.columns if name in tree.quartiles}


def _read_dataclass(values: Any, kind: Any, where: str) -> Any:
    """Read a dataclass of plain values by its annotations; nothing stays None."""
    if values is None:
        return None
    if not isinstance(values, dict):
        raise ModelFormatError(f"{where} is {describe_value(values)}: it must be names and values")
    types = get_type_hints(kind)
    check_fields(values, {f.name for f in fields(kind)}, where)
    for name, value in values.items():
        _check_type(value, types[name], f"{where}.{name}")
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})


def _check_type(value: Any, expected: Any, where: str) -> None:
    """Refuse a value of another type than int, float, str, bool, or tuples of these."""
    if parts := get_args(expected):
        check_list(value, where)
        for i, item in enumerate(value):
            _check_type(item, parts[0], f"{where}[{i}]")
    elif type(value) is not expected:
        raise ModelFormatError(f"{where} is {describe_value(value)}: it must be of type {expected.__name__}")


# -- the nodes of a tree ----------------------------------------------------------------------------------------------

ONLY_IN: dict[str, Task] = {
    "label": "classification", "count_start": "classification", "count_class": "classification",
    "count_weight": "classification", "value": "regression", "spread": "regression",
}  # fmt: skip
LIST_STARTS = {"codes": "code_start", "count_class": "count_start", "count_weight": "count_start"}


def stored_arrays(task: Task, number: int = TREE_FORMAT) -> list[str]:
    """Return the names of the arrays that a file of a format holds, in order: those that a tree of this task has."""
    names = [name for name in Arrays.__dataclass_fields__ if ONLY_IN.get(name, task) == task]
    return names if number == P_VALUE_FORMAT else [name for name in names if name != "p_value"]


def _may_fill(name: str) -> bool:
    """Return whether an array may be stored as one number for all nodes; ``parent`` gives their count."""
    return name != "parent" and name not in LIST_STARTS


def _tree_body(tree: Tree, compact: bool) -> Iterator[str]:
    """Yield the lines of the arrays of a tree."""

    def write(name: str) -> str:
        array = getattr(tree.arrays, name)
        return write_packed(array, _may_fill(name)) if compact else write_list(array)

    yield '"nodes": {'
    yield f'"count": {len(tree)},'
    yield from block_lines([f'"{name}": {write(name)}' for name in stored_arrays(tree.task, format_of(tree))])
    yield "},"


def _read_tree_arrays(lines: JsonLines, target: Target, number: int) -> Arrays:
    """Read the arrays of the nodes; ``parent`` comes first, and must have as many entries as announced."""
    lines.expect('"nodes": {')
    count = lines.value("count")
    if type(count) is not int or count < 1:
        raise ModelFormatError(f"nodes.count is {describe_value(count)}: a tree has at least a root")
    names = stored_arrays(target.task, number)
    arrays: dict[str, Array] = {name: np.empty(0, dtype) for name, dtype in DTYPES.items()}
    for name in names:
        length = count + name.endswith("_start")
        if name in LIST_STARTS:
            length = _total_length(LIST_STARTS[name], arrays[LIST_STARTS[name]])
        field = lines.field(name, comma=name != names[-1])
        left = _memory_left(lines, arrays)
        arrays[name] = decode_array(field, DTYPES[name], length, f"nodes.{name}", _may_fill(name), left)
    if target.task == "regression":
        arrays["count_start"] = np.zeros(count + 1, np.int64)
    lines.expect("},")
    for array in arrays.values():
        array.flags.writeable = False
    return Arrays(**arrays)


def _total_length(name: str, start: npt.NDArray[np.int64]) -> int:
    """Return how many items the lists have together, by where the last one ends."""
    length = int(start[-1])
    if length < 0:
        raise ModelFormatError(f"nodes.{name}[{len(start) - 1}] is {length}: a list cannot end before it begins")
    return length


# -- the nodes of an ensemble -----------------------------------------------------------------------------------------

_NEVER_FILLED = ("size", "kind", "decreases", *LIST_LENGTHS)  # they give the numbers of entries of the others
_CLASSIFICATION_ONLY = ("n_counts", "count_class", "count_weight")
_REGRESSION_ONLY = ("weight", *NODE_STATS)
_FLOAT64 = ("cut", "count_weight", *_REGRESSION_ONLY)
_INT64 = ("cut_int", "rows", "missing_rows")  # other whole numbers have 32 bits at most


def _ensemble_body(ensemble: Ensemble, compact: bool) -> Iterator[str]:
    """Yield the lines of the out-of-bag estimate and of the arrays: of trees, then of nodes."""
    members = ensemble.members
    arrays = {"size": np.diff(members.start), "votes": ensemble.votes, "decreases": ensemble.decreases.ravel()}
    arrays |= {name: getattr(members, name) for name in _packed_names(ensemble.target, ensemble.criterion)}

    def write(name: str, array: Array) -> str:
        if name in (*_FLOAT64, "votes", "decreases"):
            array = array.astype(np.float64)
        return write_packed(array, name not in _NEVER_FILLED) if compact and len(array) else write_list(array)

    yield f'"oob": {to_line(None if ensemble.oob is None else asdict(ensemble.oob), "oob")},'
    yield '"nodes": {'
    yield f'"trees": {len(ensemble)},'
    yield f'"count": {len(members.kind)},'
    yield from block_lines([f'"{name}": {write(name, array)}' for name, array in arrays.items()])
    yield "},"


def _packed_names(target: Target, criterion: str) -> list[str]:
    """Return the names of the arrays of nodes that a file holds, in order."""
    left_out = {*(_REGRESSION_ONLY if target.task == "classification" else _CLASSIFICATION_ONLY)}
    if criterion in DERIVABLE_CRITERIA:
        left_out.add("impurity")
    return [name for name in ARRAY_NAMES if name not in left_out]


def _read_packed_arrays(
    lines: JsonLines, n_columns: int, target: Target, criterion: str
) -> tuple[npt.NDArray[np.int64], Array, Array, dict[str, Array]]:
    """Read starts, votes, decreases and node arrays; ``size`` and ``kind`` must have as many entries as announced."""
    lines.expect('"nodes": {')
    n_trees, n_nodes = lines.value("trees"), lines.value("count")
    for name, number in (("trees", n_trees), ("count", n_nodes)):
        if type(number) is not int or number < 1:
            raise ModelFormatError(
                f"nodes.{name} is {describe_value(number)}: there is a tree at least, and a root in it"
            )

    def take(name: str, dtype: npt.DTypeLike, length: int, comma: bool = True) -> Array:
        field = lines.field(name, comma=comma)
        if field == b"[]" and name in ("cut_int", "other", "n_codes", "missing_rows"):
            return np.empty(0, np.int64)
        left = _memory_left(lines, arrays)
        return decode_array(field, dtype, length, f"nodes.{name}", name not in _NEVER_FILLED, left)

    arrays: dict[str, Array] = {name: np.empty(0, np.uint8) for name in ARRAY_NAMES}
    start = np.append(0, np.cumsum(take("size", np.int32, n_trees), dtype=np.int64))
    votes, decreases = take("votes", np.float64, n_trees), take("decreases", np.float64, n_trees * n_columns)
    names = _packed_names(target, criterion)
    n_inner = 0
    for name in names:
        if name in LIST_LENGTHS:
            length = _sum_of_lengths(LIST_LENGTHS[name], arrays[LIST_LENGTHS[name]])
        elif name == "kind" or (name in NODE_STATS and criterion not in DERIVABLE_CRITERIA):
            length = n_nodes
        else:
            length = n_inner if name in INNER_ARRAYS else n_nodes - n_inner
        dtype = np.float64 if name in _FLOAT64 else np.int64 if name in _INT64 else np.int32
        arrays[name] = narrowest(take(name, dtype, length, comma=name != names[-1]))
        if name == "kind":
            n_inner = int(np.count_nonzero(arrays["kind"] != LEAF))
    lines.expect("},")
    return start, votes, decreases.reshape(n_trees, n_columns), arrays


def _sum_of_lengths(name: str, lengths: Array) -> int:
    """Return how many items the lists have together."""
    if np.any(lengths < 0):
        raise ModelFormatError(f"nodes.{name}[{np.argmax(lengths < 0)}] is negative")
    return int(lengths.sum(dtype=np.int64))
