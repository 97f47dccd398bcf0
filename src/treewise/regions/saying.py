"""A condition in words, merged: ``3.2 < age <= 7 or missing``, ``city in {Bari, Rome}``, "x3 is true".

Stands on ``condition.py`` and quotes the wording of ``split.py``, so that a rule reads as the tree's own branches do.
"""

from __future__ import annotations

from treewise.encode import Encoding
from treewise.regions.condition import Condition, Interval, Levels
from treewise.split import quote, say_equal, say_set
from treewise.wording import safe


def say(condition: Condition, encoding: Encoding, or_missing: bool = True, or_unseen: bool = True) -> str:
    """Say what is possible of a column; what is missing or never seen only where asked for, or where nothing else is.

    >>> age, city = Encoding("age", "number"), Encoding("city", "nominal", ("Bari", "Rome", "Turin"))
    >>> say(Interval(3.2, 7.0), age), say(Interval(3.2, 7.0), age, or_missing=False)
    ('3.2 < age <= 7 or missing', '3.2 < age <= 7')
    >>> say(Levels(0, 2, frozenset({0, 1}), unseen=False, missing=False), city)
    'city in {Bari, Rome}'
    >>> say(Levels(0, 2, without=frozenset({1}), missing=False), city)
    'city != Rome'
    >>> say(Levels(0, 2, frozenset(), unseen=False), city), say(Levels(0, 2, missing=False), city)
    ('city missing', 'city present')
    """
    name = safe(encoding.name)
    if isinstance(condition, Interval):
        said = say_interval(condition, name, encoding)
        unseen = False
    else:
        said, unseen = say_levels(condition, name, encoding)
    if not said:
        return say_odd(condition, name)
    others = ["missing"] * (or_missing and condition.missing) + ["never seen"] * (or_unseen and unseen)
    return " or ".join([said, *others])


def say_odd(condition: Condition, name: str) -> str:
    """Say that a cell is missing, or never seen, and nothing else."""
    unseen = isinstance(condition, Levels) and condition.unseen
    words = ["missing"] * condition.missing + ["never seen"] * unseen
    return f"{name} {' or '.join(words) or 'impossible'}"


def say_interval(condition: Interval, name: str, encoding: Encoding) -> str:
    """Say which numbers; nothing if there are none."""
    low, high = condition.low, condition.high
    if not condition.present:
        return ""
    if low is None and high is None:
        return f"{name} present"
    if low is None or high is None:
        return f"{name} <= {encoding.say(high)}" if high is not None else f"{name} > {encoding.say(low or 0)}"
    if encoding.kind != "number" and high - low == 1:
        return f"{name} = {encoding.say(high)}"
    return f"{encoding.say(low)} < {name} <= {encoding.say(high)}"


def say_levels(condition: Levels, name: str, encoding: Encoding) -> tuple[str, bool]:
    """Say which levels, and whether never-seen ones are still to be said; nothing if no declared one is possible."""
    size, n = len(encoding.levels), condition.n
    if n == 0:
        return "", False
    whole = condition.unseen or encoding.kind == "boolean"
    if n == size and whole:
        return f"{name} present", False
    if encoding.kind == "ordered" and n > 1 and (said := say_range(condition, name, encoding, n)):
        return said, condition.unseen
    if condition.unseen and size - n < n:
        out = tuple(level for code, level in enumerate(encoding.levels) if not condition.holds(code))
        if len(out) == 1:
            return f"{name} != {quote(out[0])}", False
        return say_set(name, out, encoding).replace(f"{name} in ", f"{name} not in ", 1), False
    levels = tuple(encoding.levels[code] for code in condition.codes())
    return (say_equal(name, levels[0], encoding) if n == 1 else say_set(name, levels, encoding)), condition.unseen


def say_range(condition: Levels, name: str, encoding: Encoding, n: int) -> str:
    """Say a run of ordered levels by its ends; nothing if it is no run, or has no end to say."""
    codes = list(condition.codes())
    first, last = codes[0], codes[-1]
    if last - first + 1 != n or n == len(encoding.levels):
        return ""
    below, top = (safe(encoding.levels[i]) if i >= 0 else "" for i in (first - 1, last))
    if first == 0:
        return f"{name} <= {top}"
    return f"{name} > {below}" if last == len(encoding.levels) - 1 else f"{below} < {name} <= {top}"
