"""Export format "json": the program as data, one object per step; ``docs/shipping-a-tree.md`` documents the schema.

    {"tree": 0, "step": 0, "test": "<=", "column": "x", "cut": 1.5, "below": 1, "above": 2, "missing": 1}
    {"tree": 0, "step": 2, "test": "level", "column": "z", "cases": [[["u", "v"], 3]], "default": 4, "missing": 3}
    {"tree": 0, "step": 3, "test": "answer", "node": 3, "prediction": "a", "probabilities": [1.0, 0.0]}

Numbers have the shortest digits that give the same double; what is not there (no answer) is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from treewise._version import __version__
from treewise.formats.export.program import NO_ANSWER, Answer, Program, Routine, Step, Test


def write(program: Program) -> str:
    """Return the program as JSON, one step per line.

    >>> import treewise as tw
    >>> print(tw.parse("x <= 1 -> a\\nx > 1 -> b").export("json").splitlines()[5])
     {"tree": 0, "step": 0, "test": "<=", "column": "x", "cut": 1.0, "below": 1, "above": 2, "missing": 1},
    """
    head: dict[str, Any] = {
        "treewise_export": {"format": "json", "version": __version__},
        "target": {"name": program.target.name, "task": program.target.task, "classes": list(program.classes)},
        "columns": [{"name": e.name, "kind": e.kind, "levels": list(e.levels), "unit": e.unit} for e in program.inputs],
        "combine": {"how": program.combine, "votes": list(program.votes), "divisor": program.divisor}
        | {"unit": program.unit},
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    rows = [json.dumps(row, allow_nan=False) for row in step_rows(program)]
    body = ",\n".join(f" {row}" for row in rows)
    return "{" + "\n".join(lines) + f'\n"steps": [\n{body}\n]}}\n'


def step_rows(program: Program) -> Iterator[dict[str, Any]]:
    """Yield the steps of every tree as plain values."""
    for t, routine in enumerate(program.routines):
        for number, step in enumerate(routine.steps):
            yield {"tree": t, "step": number, **_step(program, routine, step)}


def _step(program: Program, routine: Routine, step: Step) -> dict[str, Any]:
    if isinstance(step, Answer):
        return _answer(program, routine, step.number)
    encoding = program.inputs[step.column]
    if isinstance(step, Test):
        cut = None if step.op == "present" else step.cut
        ways = {"below": step.below, "above": step.above, "missing": step.missing}
        return {"test": step.op, "column": encoding.name, "cut": cut, **ways}
    cases = [[[encoding.levels[code] for code in codes], child] for codes, child in step.cases]
    return {"test": "level", "column": encoding.name, "cases": cases, "default": step.default, "missing": step.missing}


def _answer(program: Program, routine: Routine, number: int) -> dict[str, Any]:
    answers = routine.answers
    node = None if answers.node[number] == NO_ANSWER else answers.node[number]
    if program.is_regression:
        value = answers.value[number]
        return {"test": "answer", "node": node, "prediction": None if math.isnan(value) else value}
    label = answers.label[number]
    if label == NO_ANSWER:
        return {"test": "answer", "node": node, "prediction": None, "probabilities": None}
    shares = answers.probabilities[number].tolist()
    return {"test": "answer", "node": node, "prediction": program.classes[label], "probabilities": shares}
