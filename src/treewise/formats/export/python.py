"""Export format "python": a module of plain functions without imports.

    predict({"flipper_length_mm": 190.0, "island": "Dream"})
    predict_proba(…)    a dict, class → probability
    apply(…)            the number of the node at which the row ends; for an ensemble, one per tree

A row is a mapping with every column that some test reads. Numbers and wide integers are numbers, categories text,
booleans bools, datetimes ``datetime``, ``date`` or integer ticks since 1970; None, NaN and pandas.NA are missing. Each
tree is a function of nested ``if`` that returns the number of an answer; ``Routine.code_lines`` keeps the nesting low.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from treewise._lib.text import safe
from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import Encoding
from treewise.formats.export.program import NO_ANSWER, BranchCondition, LeafOutputs, Program, Routine
from treewise.formats.export.stamp import stamp

_IS_MISSING = """\
def _is_missing(cell):
    # NaN is not equal to itself, and whether pandas.NA is, is neither true nor false
    return cell is None or (cell == cell) not in {True}
"""
_READERS = {
    "number": """\
def _number(cell):
    return _NAN if _is_missing(cell) else cell
""",
    "text": """\
def _text(cell):
    return None if _is_missing(cell) else cell
""",
    "datetime": """\
def _ticks(cell, per_day):
    if _is_missing(cell):
        return _NAN
    if not hasattr(cell, "toordinal"):
        return cell
    offset = cell.utcoffset() if hasattr(cell, "utcoffset") else None
    if offset is not None:
        cell = cell.replace(tzinfo=None) - offset
    ticks = (cell.toordinal() - 719163) * 86400000000
    if hasattr(cell, "hour"):
        ticks += ((cell.hour * 60 + cell.minute) * 60 + cell.second) * 1000000 + cell.microsecond
    ticks = ticks * 1000 + getattr(cell, "nanosecond", 0)
    return ticks // (86400000000000 // per_day)
""",
}
_READER_OF = {"number": "number", "integer": "number", "datetime": "datetime"}

_ONE_TREE = """\
def apply(row):
    node = _NODES[_tree(*_cells(row))]
    return None if node < 0 else node


def predict(row):
    return _PREDICTIONS[_tree(*_cells(row))]
"""
_ONE_TREE_PROBABILITIES = """\
def predict_proba(row):
    probabilities = _PROBABILITIES[_tree(*_cells(row))]
    return None if probabilities is None else dict(zip(CLASSES, probabilities))
"""
_MANY_TREES = """\
def apply(row):
    cells = _cells(row)
    nodes = [answers[tree(*cells)] for tree, answers in zip(_TREES, _NODES)]
    return None if min(nodes) < 0 else nodes


def _sums(row):
    cells = _cells(row)
    sums = [0.0] * _WIDTH
    for tree, answers in zip(_TREES, _ANSWERS):
        answer = answers[tree(*cells)]
        if answer is None:
            return None
        for k, share in answer:
            sums[k] += share
    return sums
"""
_MEAN_CLASSES = """\
def predict_proba(row):
    sums = _sums(row)
    return None if sums is None else dict(zip(CLASSES, [each / {divisor} for each in sums]))


def predict(row):
    sums = _sums(row)
    if sums is None:
        return None
    means = [each / {divisor} for each in sums]
    return CLASSES[means.index(max(means))]
"""
_VOTES = """\
def predict_proba(row):
    votes = _sums(row)
    if votes is None:
        return None
    total = 0.0
    for vote in votes:
        total += vote
    return dict(zip(CLASSES, [vote / (total if total > 0 else 1.0) for vote in votes]))


def predict(row):
    votes = _sums(row)
    return None if votes is None else CLASSES[votes.index(max(votes))]
"""
_MEAN_VALUES = """\
def predict(row):
    sums = _sums(row)
    return None if sums is None else sums[0] / {divisor} * {unit}
"""


def write(program: Program) -> str:
    """Return the module.

    >>> import treewise as tw
    >>> module = {}
    >>> exec(tw.grow("penguins", max_depth=1).export("python"), module)
    >>> module["predict"]({"flipper_length_mm": 190.0}), module["apply"]({"flipper_length_mm": None})
    ('Adelie', 2)
    """
    parts = [
        f'"""Predicts {_in_docstring(program.target.name)}; exported by treewise."""',
        f"# {stamp('python')}",
        *_reading(program),
    ]
    if not program.is_regression:
        parts.append(f"CLASSES = {_items(map(repr, program.classes))}")
    if program.combine == "tree":
        routine = program.routines[0]
        parts += [*_tree_function("_tree", routine, program), *_one_tree_tables(routine.answers, program), "", ""]
        parts.append(_ONE_TREE if program.is_regression else f"{_ONE_TREE}\n\n{_ONE_TREE_PROBABILITIES}")
    else:
        parts += _many_trees(program)
    return "\n".join(parts)


def _in_docstring(name: str) -> str:
    return safe(name).replace("\\", "\\\\").replace('"', '\\"')


def _reading(program: Program) -> Iterator[str]:
    """Yield the functions that turn a row into the cells that the trees compare."""
    kinds = dict.fromkeys(_READER_OF.get(encoding.kind, "text") for encoding in program.inputs)
    yield '_NAN = float("nan")'
    for reader in (_IS_MISSING, *(_READERS[kind] for kind in kinds)):
        yield f"\n\n{reader.rstrip()}"
    yield "\n\ndef _cells(row):"
    yield "    return ("
    for encoding in program.inputs:
        yield f"        {_read_cell(encoding)},"
    yield "    )"
    yield "\n"


def _read_cell(encoding: Encoding) -> str:
    cell = f"row[{encoding.name!r}]"
    if encoding.kind == "datetime":
        return f"_ticks({cell}, {TICKS_PER_DAY[encoding.unit]})"
    return f"_{_READER_OF.get(encoding.kind, 'text')}({cell})"


def _tree_function(name: str, routine: Routine, program: Program) -> Iterator[str]:
    arguments = ", ".join(f"x{i}" for i in range(len(program.inputs)))
    yield f"\n\ndef {name}({arguments}):"
    for line in routine.code_lines(range(len(routine.answers))):
        margin = "    " * (line.depth + 1)
        if line.kind == "if":
            assert line.condition is not None
            yield f"{margin}if {_condition(line.condition, program.inputs[line.condition.column])}:"
        elif line.kind == "answer":
            yield f"{margin}return {line.answer}"


def _condition(condition: BranchCondition, encoding: Encoding) -> str:
    """Write a condition; missing numbers are NaN, so that every comparison with them is false."""
    x = f"x{condition.column}"
    if condition.op is None:
        values = [repr(encoding.levels[code]) for code in condition.levels]
        if encoding.kind == "boolean":
            values = [str(bool(code)) for code in condition.levels]
        if condition.missing != condition.negated:  # None is among the values that are compared
            values.append("None")
        if not values:
            return "True" if condition.negated else "False"
        if len(values) == 1 and values[0] == "None":
            return f"{x} is not None" if condition.negated else f"{x} is None"
        return f"{x} {'not in' if condition.negated else 'in'} {{{', '.join(values)}}}"
    return condition.compare(x, repr(condition.cut), "not {}")


def _one_tree_tables(answers: LeafOutputs, program: Program) -> Iterator[str]:
    yield f"\n\n_NODES = {_items(map(str, answers.node))}"
    if program.is_regression:
        yield f"_PREDICTIONS = {_items(map(_float, answers.value))}"
        return
    labels = ["None" if label == NO_ANSWER else f"CLASSES[{label}]" for label in answers.label]
    yield f"_PREDICTIONS = {_items(labels)}"
    rows = program.contributions(0).tolist()
    yield f"_PROBABILITIES = {_items('None' if math.isnan(row[0]) else _items(map(_float, row)) for row in rows)}"


def _many_trees(program: Program) -> Iterator[str]:
    n = len(program.routines)
    for t, routine in enumerate(program.routines):
        yield from _tree_function(f"_tree_{t}", routine, program)
    yield f"\n\n_TREES = {_items(f'_tree_{t}' for t in range(n))}"
    yield f"_NODES = {_items(_items(map(str, routine.answers.node)) for routine in program.routines)}"
    yield f"_ANSWERS = {_items(_items(_contributions(program, t)) for t in range(n))}"
    yield f"_WIDTH = {max(1, len(program.classes))}\n\n"
    yield _MANY_TREES + "\n"
    if program.is_regression:
        yield _MEAN_VALUES.format(divisor=program.divisor, unit=_float(program.unit))
    else:
        yield _VOTES if program.combine == "vote" else _MEAN_CLASSES.format(divisor=program.divisor)


def _contributions(program: Program, t: int) -> Iterator[str]:
    """Yield what each answer of a tree adds to the sums: pairs of position and number."""
    for row in program.contributions(t).tolist():
        is_known = not math.isnan(row[0])
        yield _items(f"({k}, {_float(share)})" for k, share in enumerate(row) if share) if is_known else "None"


def _items(texts: Iterator[str] | map[str] | list[str]) -> str:
    """Write a tuple; of one item too.

    >>> _items(["1"]), _items(["1", "2"]), _items([])
    ('(1,)', '(1, 2)', '()')
    """
    listed = list(texts)
    return f"({listed[0]},)" if len(listed) == 1 else f"({', '.join(listed)})"


def _float(number: float) -> str:
    """Write a double; None for NaN, which stands for no answer."""
    if math.isnan(number):
        return "None"
    return repr(number) if math.isfinite(number) else f'float("{number}")'
