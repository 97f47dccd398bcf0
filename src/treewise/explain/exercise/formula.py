"""How a blank follows from others: a formula as nested lists, which the page evaluates in JavaScript, too.

A formula is a number, the id of a blank, or ``(operation, *formulas)``. It is evaluated on what the student wrote, so
that an error is carried forward: a gain that follows from a wrong entropy is right. ``assets/marking.js`` has the same
operations, and tests compare both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from treewise.train.criteria import entropy, error, gini

Formula = float | int | str | tuple[Any, ...] | list[Any]


def _total(values: list[float]) -> list[float]:
    """Return counts; raise for anything that has no shares."""
    if min(values) < 0 or not sum(values) > 0:
        raise ValueError("no counts")
    return values


OPERATIONS: Mapping[str, Callable[..., float]] = {
    "+": lambda *terms: math.fsum(terms),
    "-": lambda a, b: a - b,
    "*": lambda *factors: math.prod(factors),
    "/": lambda a, b: a / b,
    "min": lambda *values: min(values),
    "sqrt": math.sqrt,
    "log": math.log,
    "entropy": lambda *counts: entropy(_total(list(counts))),  # in bits
    "gini": lambda *counts: gini(_total(list(counts))),
    "error": lambda *counts: error(_total(list(counts))),
}


def evaluate(
    formula: Formula, values: Mapping[str, Any], near: float = 0.0
) -> float | tuple[str, ...] | list[Any] | None:
    """Return the value of a formula, the options that are right, or the nodes of a tree; None where it is not defined.

    ``largest`` lists options with their numbers and returns those within ``near`` of the largest; ``choose`` returns
    one name if a <= b and else the other; ``match`` is one formula if a choice was made and else the other; ``nodes``
    are some nodes of a tree and those of further formulas; ``case`` is the formula of the choice that was made.

    >>> evaluate(("-", "h", ("/", ("entropy", 1, "n"), 2)), {"h": 1.0, "n": 1.0})
    0.5
    >>> evaluate(("largest", ("GPA", "g1"), ("University", 0.5)), {"g1": 0.7}), evaluate(("/", 1, 0), {})
    (('GPA',), None)
    >>> evaluate(("case", "c", ("cut", ("nodes", ["a"])), ("keep", ("nodes", ["b"], ("nodes", ["d"])))), {"c": "keep"})
    ['b', 'd']
    """
    try:
        value: float | tuple[str, ...] | list[Any] = _value(formula, values, near)
        return value
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _value(formula: Formula, values: Mapping[str, Any], near: float) -> Any:
    if isinstance(formula, int | float):
        return float(formula)
    if isinstance(formula, str):
        return values[formula]
    operation, *arguments = formula
    if operation == "largest":
        numbers = [(option, _value(each, values, near)) for option, each in arguments]
        best = max(number for _, number in numbers)
        return tuple(option for option, number in numbers if number >= best - near)
    if operation == "choose":
        a, b, if_at_most, if_more = arguments
        return (if_at_most if _value(a, values, near) <= _value(b, values, near) + near else if_more,)
    if operation == "match":
        blank, option, if_equal, if_other = arguments
        return _value(if_equal if values[blank] == option else if_other, values, near)
    if operation == "nodes":
        nodes, *below = arguments
        return [*nodes, *(node for each in below for node in _value(each, values, near))]
    if operation == "case":
        blank, *cases = arguments
        return next(_value(each, values, near) for option, each in cases if values[blank] == option)
    return OPERATIONS[operation](*(_value(each, values, near) for each in arguments))


def rename(formula: Formula, names: Mapping[str, str]) -> Formula:
    """Replace the ids of blanks.

    >>> rename(("largest", ("GPA", "a"), ("a", "b")), {"a": "1", "b": "2"})
    ('largest', ('GPA', '1'), ('a', '2'))
    """
    if isinstance(formula, str):
        return names[formula]
    if isinstance(formula, int | float):
        return formula
    operation, *arguments = formula
    if operation == "largest":
        return (operation, *((option, rename(each, names)) for option, each in arguments))
    if operation == "choose":
        a, b, *options = arguments
        return (operation, rename(a, names), rename(b, names), *options)
    if operation == "match":
        blank, option, *branches = arguments
        return (operation, names[blank], option, *(rename(each, names) for each in branches))
    if operation == "nodes":
        return (operation, arguments[0], *(rename(each, names) for each in arguments[1:]))
    if operation == "case":
        return (operation, names[arguments[0]], *((option, rename(each, names)) for option, each in arguments[1:]))
    return (operation, *(rename(each, names) for each in arguments))
