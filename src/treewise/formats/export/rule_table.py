"""The rules of a routine: for each answer the values of every column that lead to it.

The rules are disjoint and cover every row, because each comes from one way through the tests. Used by the formats that
are tables of rules: ``xlsx.py``, ``dmn.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from treewise.formats.export.program import Answer, BranchCondition, Routine, conditions


@dataclass(frozen=True)
class Values:
    """The values of a column that a rule admits: an interval of numbers or a set of levels, and perhaps missing ones.

    >>> at_most_5 = BranchCondition(0, False, "<=", 5.0, below=True)
    >>> Values().meet(at_most_5).meet(BranchCondition(0, True, "<=", 3.0, above=True))
    Values(low=3.0, high=5.0, missing=False, levels=frozenset(), negated=True)
    """

    low: float | int = -math.inf  # the numbers above this (-inf: all) …
    high: float | int = math.inf  # … up to and including this
    missing: bool = True
    levels: frozenset[int] = field(default_factory=frozenset)  # the levels, or all others if negated
    negated: bool = True

    def meet(self, condition: BranchCondition) -> Values:
        """Return the values that satisfy the condition as well."""
        both = replace(self, missing=self.missing and condition.missing)
        if condition.op is None:
            return both._meet_levels(frozenset(condition.levels), condition.negated)
        if condition.below and condition.above:
            return both
        if not (condition.below or condition.above):
            return replace(both, low=math.inf, high=-math.inf)
        cut = condition.cut if condition.op == "<=" else math.nextafter(condition.cut, -math.inf)
        return replace(both, high=min(self.high, cut)) if condition.below else replace(both, low=max(self.low, cut))

    def _meet_levels(self, levels: frozenset[int], negated: bool) -> Values:
        if self.negated and negated:
            return replace(self, levels=self.levels | levels)
        if self.negated or negated:
            named, excluded = (levels, self.levels) if self.negated else (self.levels, levels)
            return replace(self, levels=named - excluded, negated=False)
        return replace(self, levels=self.levels & levels)

    @property
    def has_present(self) -> bool:
        """Whether some present value is admitted."""
        return self.low < self.high and (self.negated or bool(self.levels))

    @property
    def is_any(self) -> bool:
        """Whether every value is admitted, missing ones too."""
        return self == Values()


def rules_of(routine: Routine) -> list[tuple[dict[int, Values], int]]:
    """Return the values of each restricted column, and the answer, in the order of the steps.

    >>> import treewise as tw
    >>> from treewise.formats.export.program import compile_model
    >>> program = compile_model(tw.parse("x <= 1 -> a\\nx > 1\\n  x <= 5 -> b\\n  x > 5 -> a"))
    >>> [(values[0].low, values[0].high, number) for values, number in rules_of(program.routines[0])]
    [(-inf, 1.0, 0), (1.0, 5.0, 1), (5.0, inf, 2)]
    """
    rules: list[tuple[dict[int, Values], int]] = []
    stack: list[tuple[int, dict[int, Values]]] = [(0, {})]
    while stack:
        at, admitted = stack.pop()
        step = routine.steps[at]
        if isinstance(step, Answer):
            rules.append((admitted, step.number))
            continue
        for condition, child in reversed(conditions(step)):
            values = admitted.get(condition.column, Values()).meet(condition)
            if values.has_present or values.missing:
                stack.append((child, {**admitted, condition.column: values}))
    return rules


def _number(value: float) -> str:
    """Return the shortest decimal that reads back as this number: 43.35, not 43.350000000000001."""
    return repr(value).removesuffix(".0")


def describe(values: Values, levels: Sequence[str], name: str = "") -> str:
    """Describe the values of a column for readers, after its name if one is given.

    >>> describe(Values(low=3.0, high=5.0), ()), describe(Values(levels=frozenset([1]), missing=False), ["a", "b"], "z")
    ('> 3 and <= 5 or missing', 'z not in {b}')
    """
    head = f"{name} " if name else ""
    if values.is_any:
        return ""
    if not values.has_present:
        return f"{head}missing"
    listed = ", ".join(levels[code] for code in sorted(values.levels))
    parts = [f"{head}not in {{{listed}}}" if values.negated else f"{head}in {{{listed}}}"] if values.levels else []
    parts += [f"{head}> {_number(values.low)}"] if values.low > -math.inf else []
    parts += [f"{head}<= {_number(values.high)}"] if values.high < math.inf else []
    text = " and ".join(parts)
    if not text:
        return f"{head}present"
    return f"{text} or missing" if values.missing else text
