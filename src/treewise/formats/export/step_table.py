"""The steps of a routine as columns of numbers, for formats whose trees are tables: ``r.py``.

Every test is a comparison ``<= cut``: "present" is ``<= inf``, and ``< -max`` is ``<= -inf``. A switch looks a level's
code up in ``ways``, from the smallest code that its cases name to the largest; every other level goes ``above``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from treewise.data.encoding import INT64_MAX, Encoding
from treewise.formats.export.program import Answer, Routine, Test


@dataclass
class StepTable:
    """One entry per step, counted from 0; ``ways`` has its own length.

    >>> import treewise as tw
    >>> from treewise.formats.export.program import compile_model
    >>> program = compile_model(tw.parse("z = u -> a\\nz otherwise\\n  x <= 1 -> b\\n  x > 1 -> a"))
    >>> table = tabulate(program.routines[0], program.inputs)
    >>> table.column, table.cut, table.below, table.above, table.ways
    ([0, -1, 1, -1, -1], [0, 0, 1.0, 0, 0], [0, 0, 3, 1, 2], [2, 0, 4, 0, 0], [1])
    """

    column: list[int] = field(default_factory=list)  # -1 for an answer
    cut: list[float | int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)  # of an answer: its number
    above: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)  # the smallest code that a switch names
    size: list[int] = field(default_factory=list)  # 0 for a test
    start: list[int] = field(default_factory=list)  # where the ways of a switch begin
    ways: list[int] = field(default_factory=list)


def tabulate(routine: Routine, inputs: Sequence[Encoding]) -> StepTable:
    """Return the steps of a routine as columns."""
    table = StepTable()
    for step in routine.steps:
        codes: list[int] = []
        table.start.append(len(table.ways))
        if isinstance(step, Answer):
            entry: tuple[int, float | int, int, int, int] = (-1, 0, step.number, 0, 0)
        elif isinstance(step, Test):
            cut = step.cut if step.op == "<=" else -math.inf
            if step.op == "present":
                cut = math.inf if inputs[step.column].kind == "number" else INT64_MAX
            entry = (step.column, cut, step.below, step.above, step.missing)
        else:
            next_of = {code: child for named, child in step.cases for code in named}
            codes = list(range(min(next_of), max(next_of) + 1)) if next_of else []
            table.ways += [next_of.get(code, step.default) for code in codes]
            entry = (step.column, 0, 0, step.default, step.missing)
        table.first.append(codes[0] if codes else 0)
        table.size.append(len(codes))
        for name, value in zip(("column", "cut", "below", "above", "missing"), entry, strict=True):
            getattr(table, name).append(value)
    return table
