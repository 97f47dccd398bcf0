"""Export format "numpy": a module that predicts whole columns at once and needs only NumPy.

    predict({"flipper_length_mm": array, "island": array})    an array of classes or values
    predict_proba(…)                                          rows × classes
    apply(…)                                                  node numbers; for an ensemble rows × trees

The trees are tables. Rows are divided among the steps: each test reads its column once for the rows that reach it. A
column is an array, a list or a column of a dataframe; missing is NaN, NaT, None, pandas.NA or masked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from treewise._lib.text import safe
from treewise.formats.export.program import Answer, Program, Step, Switch, Test
from treewise.formats.export.stamp import stamp

_MISSING = -(2**63)

_READING = """\
def _read(columns):
    cells, n = [], None
    for name, kind, unit, levels in COLUMNS:
        column = columns[name]
        if n is not None and len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, the others have {n}")
        n = len(column)
        values = _numbers(column, kind, unit)
        if values is None:
            values = _converted(_listed(column), kind, unit, levels)
        has_missing = np.isnan(values).any() if kind == "number" else (values == _MISSING).any()
        cells.append((values, bool(has_missing)))
    return cells, 1 if n is None else n


def _numbers(column, kind, unit):
    # what NumPy holds without a loss: not integers with missing ones, which it makes doubles
    array = np.asarray(column)
    if np.ma.isMaskedArray(column):
        return None
    if kind == "number" and array.dtype.kind in "fiub":
        return array.astype(np.float64, copy=False)
    if kind == "datetime" and array.dtype.kind == "M":
        return array.astype(f"M8[{unit}]").astype(np.int64)
    return array.astype(np.int64) if kind in ("integer", "datetime") and array.dtype.kind in "iu" else None


def _listed(column):
    ways = ("to_list", "to_pylist", "tolist")  # of pandas and polars, of Arrow, of NumPy
    cells = next((getattr(column, way)() for way in ways if hasattr(column, way)), column)
    # NaN is not equal to itself, and whether pandas.NA is, is neither true nor false
    return [None if x is None or (x == x) not in {True} else x for x in cells]


def _converted(cells, kind, unit, levels):
    if kind == "number":
        return np.array([np.nan if x is None else x for x in cells], np.float64)
    if kind == "datetime" and any(hasattr(x, "toordinal") or isinstance(x, np.datetime64) for x in cells):
        moments = np.full(len(cells), "NaT", f"M8[{unit}]")
        moments[[x is not None for x in cells]] = np.array([_moment(x) for x in cells if x is not None], "M8")
        return moments.astype(np.int64)
    if kind in ("integer", "datetime"):
        return np.array([_MISSING if x is None else int(x) for x in cells], np.int64)
    # a level's number; n for a never-seen one, n + 1 for a missing one
    n = len(levels)
    codes = {False: 0, True: 1} if kind == "boolean" else {level: i for i, level in enumerate(levels)}
    return np.array([n + 1 if x is None else codes.get(x, n) for x in cells], np.intp)


def _moment(x):
    if hasattr(x, "to_datetime64"):  # of pandas, with nanoseconds
        return x.to_datetime64()
    offset = x.utcoffset() if hasattr(x, "utcoffset") else None
    return x if offset is None else x.replace(tzinfo=None) - offset
"""
_WALKING = """\
def _answers(steps, cells, n):
    found = np.empty(n, np.intp)
    todo = [(0, np.arange(n))]
    while todo:
        at, rows = todo.pop()
        kind, column, data, below, above, missing = steps[at]
        if kind == 4:
            found[rows] = data
            continue
        values, has_missing = cells[column]
        x = values.take(rows)
        if kind == 2:
            following = data.take(x)
            ways = [(child, following == child) for child in np.unique(following).tolist()]
        else:
            first = x < data if kind == 3 else x <= data
            if has_missing:
                gone = x == _MISSING if kind == 1 else x != x
                if missing == below:
                    first |= gone
                elif kind == 1:
                    first &= ~gone
                if missing not in (below, above):
                    todo.append((missing, rows.compress(gone)))
                    rows, first = rows.compress(~gone), first.compress(~gone)
            ways = [(below, first), (above, ~first)]
        for child, mask in ways:
            some = rows.compress(mask)
            if some.size:
                todo.append((child, some))
    return found
"""
_ONE_TREE = """\
def apply(columns):
    cells, n = _read(columns)
    return _NODES.take(_answers(_STEPS, cells, n))


def predict(columns):
    cells, n = _read(columns)
    return _PREDICTIONS.take(_answers(_STEPS, cells, n))
"""
_PROBABILITIES = """

def predict_proba(columns):
    cells, n = _read(columns)
    return _PROBABILITIES.take(_answers(_STEPS, cells, n), axis=0)
"""
_MANY_TREES = """\
def apply(columns):
    cells, n = _read(columns)
    return np.stack([nodes.take(_answers(steps, cells, n)) for steps, nodes in zip(_STEPS, _NODES)], axis=1)


def _sums(columns):
    cells, n = _read(columns)
    sums = np.zeros((n, _WIDTH))
    for steps, shares in zip(_STEPS, _SHARES):
        sums += shares.take(_answers(steps, cells, n), axis=0)
    return sums
"""
_CLASSES = """

def _labels(scores):
    best = np.argmax(scores, axis=1)
    best[np.isnan(scores[:, 0])] = len(CLASSES)
    return _LABELS.take(best)
"""
_MEAN = """

def predict_proba(columns):
    return _sums(columns) / {divisor}


def predict(columns):
    return _labels(predict_proba(columns))
"""
_VOTE = """

def predict_proba(columns):
    votes = _sums(columns)
    total = np.zeros(len(votes))
    for each in votes.T:
        total += each
    return votes / np.where(total <= 0, 1.0, total)[:, None]


def predict(columns):
    return _labels(_sums(columns))
"""
_VALUES = """

def predict(columns):
    return _sums(columns)[:, 0] / {divisor} * {unit}
"""


def write(program: Program) -> str:
    """Return the module.

    >>> import treewise as tw
    >>> module = {}
    >>> exec(tw.grow("penguins", max_depth=1).export("numpy"), module)
    >>> module["predict"]({"flipper_length_mm": [190.0, 230.0, None]}).tolist()
    ['Adelie', 'Gentoo', 'Gentoo']
    """
    head = safe(program.target.name).replace("\\", "\\\\").replace('"', '\\"')
    parts = [f'"""Predicts {head}; exported by treewise."""', f"# {stamp('numpy')}", "import numpy as np\n"]
    parts += [f"_MISSING = {_MISSING}", "COLUMNS = ["]
    parts += [f"    ({e.name!r}, {e.kind!r}, {e.unit!r}, {list(e.levels)!r})," for e in program.inputs]
    parts += ["]", f"\n\n{_READING}\n\n{_WALKING}\n"]
    steps = [_table(program, t) for t in range(len(program.routines))]
    nodes = [f"np.array({routine.answers.node!r})" for routine in program.routines]
    if not program.is_regression:
        parts.append(f"CLASSES = {list(program.classes)!r}\n_LABELS = np.array([*CLASSES, None], object)")
    if program.combine == "tree":
        parts += [f"_STEPS = {steps[0]}", f"_NODES = {nodes[0]}", *_one_tree(program)]
    else:
        parts += ["_STEPS = [", *(f"    {table}," for table in steps), "]", f"_NODES = [{', '.join(nodes)}]"]
        parts += _many_trees(program)
    return "\n".join(parts).rstrip("\n") + "\n"


def _table(program: Program, t: int) -> str:
    rows = [_row(step, program) for step in program.routines[t].steps]
    return f"[{', '.join(rows)}]"


def _row(step: Step, program: Program) -> str:
    """Write a step as a tuple: kind, column, data, and the next steps."""
    if isinstance(step, Answer):
        return f"(4, 0, {step.number}, 0, 0, 0)"
    encoding = program.inputs[step.column]
    if isinstance(step, Switch):
        n = len(encoding.levels)
        following = [step.default] * (n + 1) + [step.missing]
        for codes, child in step.cases:
            for code in codes:
                following[code] = child
        return f"(2, {step.column}, np.array({following!r}), 0, 0, 0)"
    assert isinstance(step, Test)
    if encoding.kind == "number":
        kind, cut = (3 if step.op == "<" else 0), "np.inf" if step.op == "present" else repr(float(step.cut))
    else:
        kind, cut = 1, str(2**63 - 1) if step.op == "present" else str(step.cut)
    return f"({kind}, {step.column}, {cut}, {step.below}, {step.above}, {step.missing})"


def _one_tree(program: Program) -> Iterator[str]:
    answers = program.routines[0].answers
    if program.is_regression:
        yield f"_PREDICTIONS = np.array([{', '.join(map(_float, answers.value))}])\n\n\n{_ONE_TREE}"
        return
    yield f"_PREDICTIONS = _LABELS.take({answers.label!r})"
    yield f"_PROBABILITIES = {_matrix(program.contributions(0).tolist())}\n\n\n{_ONE_TREE}{_PROBABILITIES}"


def _many_trees(program: Program) -> Iterator[str]:
    yield "_SHARES = ["
    yield from (f"    {_matrix(program.contributions(t).tolist())}," for t in range(len(program.routines)))
    yield f"]\n_WIDTH = {max(1, len(program.classes))}\n\n"
    if program.is_regression:
        yield _MANY_TREES + _VALUES.format(divisor=program.divisor, unit=_float(program.unit))
    elif program.combine == "vote":
        yield _MANY_TREES + _CLASSES + _VOTE
    else:
        yield _MANY_TREES + _CLASSES + _MEAN.format(divisor=program.divisor)


def _matrix(rows: list[list[float]]) -> str:
    texts = [", ".join(map(_float, row)) for row in rows]
    return f"np.array([{', '.join(f'[{text}]' for text in texts)}])"


def _float(number: float) -> str:
    return repr(number) if math.isfinite(number) else f"np.{number}" if number > 0 or math.isnan(number) else "-np.inf"
