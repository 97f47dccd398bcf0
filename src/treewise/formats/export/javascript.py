"""Export format "javascript": an ES module without dependencies, for browsers and Node.

    import { predict, predictProba, apply } from "./model.js";
    predict({ flipper_length_mm: 190, island: "Dream" });

A row is an object with every column that some test reads. Numbers are numbers; wide integers are numbers or BigInts;
categories are strings, booleans booleans, datetimes Date objects or ticks since 1970 in the column's unit. null,
undefined and NaN are missing. Each tree is a function of nested ``if`` that returns the number of an answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator

from treewise._lib.text import safe
from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import Encoding
from treewise.formats.export.program import NO_ANSWER, BranchCondition, LeafOutputs, Program, Routine
from treewise.formats.export.stamp import stamp

_READERS = {
    "number": """\
function number(cell) {
  return cell === null || cell === undefined ? NaN : cell;
}
""",
    "text": """\
function level(cell) {
  return cell === undefined || cell !== cell ? null : cell;
}
""",
    "datetime": """\
function ticks(cell, perDay) {
  if (cell === null || cell === undefined || cell !== cell) return NaN;
  if (!(cell instanceof Date)) return cell;
  const ms = cell.getTime();
  if (ms !== ms) return NaN;
  if (perDay > 86400000n) return BigInt(ms) * (perDay / 86400000n);
  return Math.floor(ms / Number(86400000n / perDay));
}
""",
}
_READER_OF = {"number": "number", "integer": "number", "datetime": "datetime"}
_ONE_TREE = """\
export function apply(row) {
  const node = nodes[tree(...cells(row))];
  return node < 0 ? null : node;
}

export function predict(row) {
  return predictions[tree(...cells(row))];
}
"""
_ONE_TREE_PROBABILITIES = """
/** Probabilities in the order of `classes`. */
export function predictProba(row) {
  return probabilities[tree(...cells(row))];
}
"""
_MANY_TREES = """\
export function apply(row) {
  const read = cells(row);
  const found = trees.map((tree, t) => nodes[t][tree(...read)]);
  return found.some((node) => node < 0) ? null : found;
}

function sums(row) {
  const read = cells(row);
  const total = new Array(width).fill(0);
  for (let t = 0; t < trees.length; ++t) {
    const answer = answers[t][trees[t](...read)];
    if (answer === null) return null;
    for (let i = 0; i < answer.length; i += 2) total[answer[i]] += answer[i + 1];
  }
  return total;
}
"""
_CLASSES = """
function firstLargest(scores) {{
  let best = 0;
  for (let k = 1; k < scores.length; ++k) if (scores[k] > scores[best]) best = k;
  return classes[best];
}}

/** Probabilities in the order of `classes`. */
export function predictProba(row) {{
  const total = sums(row);
  if (total === null) return null;
  {share}
}}

export function predict(row) {{
  const total = sums(row);
  return total === null ? null : firstLargest({score});
}}
"""
_MEAN = {"share": "return total.map((each) => each / {d});", "score": "total.map((each) => each / {d})"}
_VOTE = {
    "share": """\
let all = 0;
  for (const vote of total) all += vote;
  return total.map((vote) => vote / (all > 0 ? all : 1));""",
    "score": "total",
}
_VALUES = """
export function predict(row) {{
  const total = sums(row);
  return total === null ? null : (total[0] / {divisor}) * {unit};
}}
"""


def write(program: Program) -> str:
    """Return the module.

    >>> import treewise as tw
    >>> tw.parse("x <= 1 -> a\\nx > 1 -> b").export("javascript").partition("function tree")[2].splitlines()[:3]
    ['(x0) {', '  if (x0 > 1.0) {', '    return 1;']
    """
    parts = [f"// {stamp('javascript')}", f"// Predicts {safe(program.target.name)}; exported by treewise.", ""]
    parts += _reading(program)
    if not program.is_regression:
        parts.append(f"export const classes = {_list(map(_label, program.classes))};\n")
    sets: dict[str, str] = {}
    if program.combine == "tree":
        routine = program.routines[0]
        body = [*_tree_function("tree", routine, program, sets), *_tables(routine.answers, program), "", _ONE_TREE]
        body += [] if program.is_regression else [_ONE_TREE_PROBABILITIES]
    else:
        body = list(_many_trees(program, sets))
    parts += [f"const {name} = new Set({values});" for values, name in sets.items()]
    return "\n".join([*parts, "", *body]).rstrip("\n") + "\n"


def _reading(program: Program) -> Iterator[str]:
    for kind in dict.fromkeys(_READER_OF.get(encoding.kind, "text") for encoding in program.inputs):
        yield _READERS[kind]
    yield "function cells(row) {"
    yield "  return ["
    for encoding in program.inputs:
        yield f"    {_read_cell(encoding)},"
    yield "  ];"
    yield "}\n"


def _read_cell(encoding: Encoding) -> str:
    cell = f"row[{json.dumps(encoding.name)}]"
    if encoding.kind == "datetime":
        return f"ticks({cell}, {TICKS_PER_DAY[encoding.unit]}n)"
    return f"{'number' if encoding.kind in _READER_OF else 'level'}({cell})"


def _tree_function(name: str, routine: Routine, program: Program, sets: dict[str, str]) -> Iterator[str]:
    yield f"function {name}({', '.join(f'x{i}' for i in range(len(program.inputs)))}) {{"
    for line in routine.code_lines(range(len(routine.answers))):
        margin = "  " * (line.depth + 1)
        if line.kind == "if":
            assert line.condition is not None
            yield f"{margin}if ({_condition(line.condition, program.inputs[line.condition.column], sets)}) {{"
        elif line.kind == "end":
            yield f"{margin}}}"
        else:
            yield f"{margin}return {line.answer};"
    yield "}\n"


def _condition(condition: BranchCondition, encoding: Encoding, sets: dict[str, str]) -> str:
    """Write a condition; missing numbers are NaN, so that every comparison with them is false."""
    x = f"x{condition.column}"
    if condition.op is None:
        values = [json.dumps(encoding.levels[code]) for code in condition.levels]
        if encoding.kind == "boolean":
            values = ["true" if code else "false" for code in condition.levels]
        if condition.missing != condition.negated:  # null is among the values that are compared
            values.append("null")
        if len(values) <= 1:
            return f"{x} {'!==' if condition.negated else '==='} {values[0]}" if values else "true"
        name = sets.setdefault(_list(values), f"s{len(sets)}")
        return f"{'!' if condition.negated else ''}{name}.has({x})"
    return condition.compare(x, repr(condition.cut) if encoding.kind == "number" else f"{condition.cut}n")


def _tables(answers: LeafOutputs, program: Program) -> Iterator[str]:
    yield f"const nodes = {_list(map(str, answers.node))};"
    if program.is_regression:
        yield f"const predictions = {_list(map(_number, answers.value))};"
        return
    labels = ["null" if label == NO_ANSWER else f"classes[{label}]" for label in answers.label]
    yield f"const predictions = {_list(labels)};"
    rows = program.contributions(0).tolist()
    yield f"const probabilities = {_list('null' if math.isnan(row[0]) else _list(map(_number, row)) for row in rows)};"


def _many_trees(program: Program, sets: dict[str, str]) -> Iterator[str]:
    n = len(program.routines)
    for t, routine in enumerate(program.routines):
        yield from _tree_function(f"tree{t}", routine, program, sets)
    yield f"const trees = {_list(f'tree{t}' for t in range(n))};"
    yield f"const nodes = {_list(_list(map(str, routine.answers.node)) for routine in program.routines)};"
    yield f"const answers = {_list(_list(_contributions(program, t)) for t in range(n))};"
    yield f"const width = {max(1, len(program.classes))};\n"
    yield _MANY_TREES
    if program.is_regression:
        yield _VALUES.format(divisor=program.divisor, unit=_number(program.unit))
    elif program.combine == "vote":
        yield _CLASSES.format(**_VOTE)
    else:
        yield _CLASSES.format(**{key: text.format(d=program.divisor) for key, text in _MEAN.items()})


def _contributions(program: Program, t: int) -> Iterator[str]:
    """Yield what each answer of a tree adds to the sums: position, number, position, number, …"""
    for row in program.contributions(t).tolist():
        is_known = not math.isnan(row[0])
        yield _list(f"{k}, {_number(share)}" for k, share in enumerate(row) if share) if is_known else "null"


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def _label(label: object) -> str:
    if isinstance(label, int) and not isinstance(label, bool) and abs(label) > 2**53:
        return f"{label}n"
    return json.dumps(label)


def _number(number: float) -> str:
    if math.isnan(number):
        return "null"
    return repr(number) if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"
