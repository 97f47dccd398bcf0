"""Which split the conditions of siblings stand for.

Stands between ``condition.py``, which reads one condition, and ``parse.py``, which reads whole trees.

    x <= 3 | x > 3                     Threshold; Ordinal when x is a column of levels
    x = a  | x = b | …                 Multiway, its branches as they are written
    x = a  | x otherwise               OneValue
    x in {a, b} | anything             Subset
    x present | x missing              a split on missingness itself
    …      | x missing                 a branch of their own for missing values
    x = a  | x != a, x = a | else      as ``x otherwise``; so for sets

Siblings may be written in any order; a split's branches have one (``<=`` before ``>``, the listed levels
before ``otherwise``), so ``decide`` also says which sibling is which branch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from treewise.data.encoding import INT64_MAX, Encoding
from treewise.data.parse_cells import parse_number
from treewise.errors import ParseError, did_you_mean, listing
from treewise.formats.text_format.condition import Condition, check_levels, read
from treewise.formats.text_format.notation import DATETIME, read_text
from treewise.tree.splits import Multiway, OneValue, Ordinal, Split, Subset, Threshold

Decision = tuple[Split, list[int]]  # the split, and the sibling that stands for each branch


def decide(siblings: Sequence[Condition], encoding: Encoding, weights: Sequence[float]) -> Decision:
    """Return the split that siblings stand for, and which of them is which branch.

    Missing values take the branch that says so; if none does, the one with the most weight (the first of
    equals).

    >>> from treewise.formats.text_format.condition import read
    >>> decide([read("age > 71.5"), read("age <= 71.5 or missing")], Encoding("age", "number"), [0, 0])
    (Threshold(column='age', missing=0, cut=71.5), [1, 0])
    """
    if len(siblings) == 1:
        raise siblings[0].fault("stands alone. A node needs two branches or more.")
    for c in siblings:
        check_kind(c, encoding)
    apart = [i for i, c in enumerate(siblings) if c.test == "missing"]
    own = [i for i, c in enumerate(siblings) if c.test != "missing"]
    if len(apart) > 1:
        raise siblings[apart[1]].fault(f"says the same as line {siblings[apart[0]].line}.")
    present = [c for c in siblings if c.test == "present"]
    if present:
        if len(siblings) != 2 or not apart:
            raise present[0].fault(f'goes with "{present[0].column} missing" and nothing else.')
        return _presence(own + apart, encoding, first_written=siblings[0].test)
    split, order = _own_branches([siblings[i] for i in own], encoding)
    branches = [own[i] for i in order] + apart
    return replace(split, missing=_missing_branch(siblings, branches, apart, weights)), branches


def settle(siblings: Sequence[Condition]) -> list[Condition]:
    """Give ``else`` its siblings' column, and say ``x != a`` as the other branch of ``x = a``.

    >>> from treewise.formats.text_format.condition import read
    >>> [(c.column, c.test, c.values) for c in settle([read("x != a"), read("else")])]
    [('x', 'otherwise', ()), ('x', '=', ('a',))]
    """
    named = next((c.column for c in siblings if not c.nameless), None)
    if siblings and named is None:
        raise siblings[0].fault('does not say other than what. Write a condition beside it, such as "city = Rome".')
    said = [replace(c, column=named, nameless=False) if named is not None and c.nameless else c for c in siblings]
    unequal = next((i for i, c in enumerate(said) if c.test == "!="), None)
    if unequal is None:
        return said
    this, others = said[unequal], [i for i, c in enumerate(said) if i != unequal and c.test != "missing"]
    other = said[others[0]] if len(others) == 1 else None
    if other is not None and other.test == "otherwise":
        said[others[0]] = replace(other, test="=", values=this.values, spoken=this.spoken)
    elif other is None or other.test != "=" or set(other.values) != set(this.values):
        way = f'"{this.column} in {{…}}"' if len(this.values) > 1 else f'"{this.column} = {this.values[0]}"'
        raise this.fault(f"says what a value is not: it needs one sibling, {way} or else.")
    said[unequal] = replace(this, test="otherwise", values=())
    return said


def check_one_column(siblings: Sequence[Condition]) -> None:
    """Refuse siblings that ask about different columns."""
    for before, c in pairwise(siblings):
        if c.column != before.column:
            raise c.fault(
                f'is at the same depth as "{before.text}" but asks about another column. '
                "Siblings must ask about one column."
            )


def check_kind(c: Condition, encoding: Encoding) -> None:
    """Refuse a test that does not go with what the column is."""
    if c.test in ("otherwise", "missing", "present"):
        return
    if not encoding.is_categorical:
        what = "dates" if encoding.kind == "datetime" else "numbers"
        if not c.compares:
            raise c.fault(f"names a level, but this is a column of {what}: compare it with <= or >.")
        if not c.quantity or bool(DATETIME.fullmatch(c.values[0])) != (encoding.kind == "datetime"):
            raise c.fault(f"does not fit a column of {what}.")
        if encoding.kind == "integer" and not isinstance(parse_number(c.values[0]), int):
            raise c.fault("does not fit a column of whole numbers past 2^53: write a whole number.")


def parse_split(text: str, encodings: Sequence[Encoding]) -> tuple[Split, bool]:
    """Return the split that one condition stands for, everything else being the other branch.

    The name of a column of levels stands for a branch a level. Beside it stands whether the condition says where
    missing values go; where it does not, that is still to be decided.

    >>> columns = [Encoding("age", "number"), Encoding("city", "nominal", ("Bari", "Rome", "Turin"))]
    >>> parse_split("age > 71.5 or missing", columns)
    (Threshold(column='age', missing=1, cut=71.5), True)
    >>> parse_split("city", columns)
    (Multiway(column='city', missing=0, levels=('Bari', 'Rome', 'Turin'), other=False), False)
    """
    by_name = {encoding.name: encoding for encoding in encodings}
    named = by_name.get(read_text(text.strip()))
    if named and named.is_categorical and named.levels:
        return Multiway(named.name, named.levels), False
    condition = read(text.strip())
    if condition.nameless:
        raise condition.fault("does not say other than what.")
    if condition.column not in by_name:
        raise ParseError(
            f'line 1: no column "{condition.column}".{did_you_mean(condition.column, by_name)} '
            f"Columns: {listing(list(by_name))}."
        )
    if condition.test == "otherwise":
        raise condition.fault("does not say other than what.")
    check_levels([condition], by_name[condition.column])
    other = {"missing": "present", "present": "missing"}.get(condition.test, "otherwise")
    siblings = settle([condition, Condition(f"{condition.column} {other}", 1, condition.column, other)])
    split, _ = decide(siblings, by_name[condition.column], [0.0, 0.0])
    return split, condition.or_missing or condition.test in ("missing", "present")


def _missing_branch(
    siblings: Sequence[Condition], branches: list[int], apart: list[int], weights: Sequence[float]
) -> int:
    said = [branch for branch, i in enumerate(branches) if siblings[i].or_missing]
    if apart and said:
        raise siblings[branches[said[0]]].fault(f"takes missing values, and so does line {siblings[apart[0]].line}.")
    if len(said) > 1:
        first, second = (siblings[branches[branch]] for branch in said[:2])
        raise second.fault(f"takes missing values, and so does line {first.line}.")
    if apart:
        return len(branches) - 1
    if said:
        return said[0]
    by_branch = [weights[i] for i in branches]
    return by_branch.index(max(by_branch))


def _presence(branches: list[int], encoding: Encoding, first_written: str) -> Decision:
    """Missing against present: a cut above everything, or an empty set (``tree/splits.py``)."""
    name, (present, missing) = encoding.name, branches
    if encoding.kind == "number":
        return Threshold(name, math.inf, missing=1), [present, missing]
    if not encoding.is_categorical:
        return Threshold(name, INT64_MAX, missing=1), [present, missing]
    if encoding.kind in ("ordered", "boolean") and first_written == "present":
        return Ordinal(name, encoding.levels[-1], missing=1), [present, missing]
    return Subset(name, (), missing=0), [missing, present]


def _own_branches(siblings: list[Condition], encoding: Encoding) -> Decision:
    """Return the split of the present values, and the order of its branches."""
    otherwise = [c for c in siblings if c.test == "otherwise"]
    if len(otherwise) > 1:
        raise otherwise[1].fault(f"says the same as line {otherwise[0].line}.")
    if len(otherwise) == len(siblings):
        raise otherwise[0].fault("does not say other than what: write its siblings first.")
    if not any(c.compares for c in siblings):
        return _by_levels(siblings, encoding)
    if len(siblings) != 2:
        third = siblings[2] if len(siblings) > 2 else siblings[0]
        raise third.fault('does not fit: a comparison has two sides, "<=" and ">".')
    return _by_order(siblings, encoding)


# -- comparisons --------------------------------------------------------------------------------------------


def _by_order(siblings: list[Condition], encoding: Encoding) -> Decision:
    """Two sides of one cut; the side that compares says where, the other must agree."""
    at = next(i for i, c in enumerate(siblings) if c.compares)
    this, that = siblings[at], siblings[1 - at]
    cut, this_is_low = _cut(this, encoding), this.test in ("<=", "<")
    fits = True
    if that.compares:
        fits = _cut(that, encoding) == cut and this_is_low != (that.test in ("<=", "<"))
    elif that.test == "=":
        side = encoding.levels[int(cut) + 1 :] if this_is_low else encoding.levels[: int(cut) + 1]
        fits = set(that.values) == set(side)
    if not fits:
        raise that.fault(
            f'does not fit "{this.text}" (line {this.line}). The two sides must name the same cut, '
            'one with "<=", one with ">".'
        )
    order = [at, 1 - at] if this_is_low else [1 - at, at]
    if encoding.is_categorical:
        return Ordinal(encoding.name, encoding.levels[int(cut)]), order
    return Threshold(encoding.name, cut), order


def _cut(c: Condition, encoding: Encoding) -> float | int:
    """Return the largest value that goes to the lower side (for an ordered column, its place)."""
    value, below = c.values[0], c.test in ("<", ">=")  # x < 3 is x <= the number before 3
    if encoding.kind == "number":
        return math.nextafter(float(value), -math.inf) if below else float(value) + 0.0
    if encoding.is_categorical:
        place = encoding.levels.index(value) - below
        if place < 0:
            raise c.fault(f'leaves nothing on one side: "{value}" is the lowest level.')
        return place
    whole = int(value) if encoding.kind == "integer" else _since_epoch(value, encoding.unit)
    return whole - below


def _since_epoch(date: str, unit: str) -> int:
    return int(np.array([date.replace(" ", "T")], f"datetime64[{unit}]").astype(np.int64)[0])


# -- levels -------------------------------------------------------------------------------------------------


def _by_levels(siblings: list[Condition], encoding: Encoding) -> Decision:
    """One level a branch, or one level or set against the rest."""
    sets = [i for i, c in enumerate(siblings) if c.test == "="]
    rest = [i for i, c in enumerate(siblings) if c.test == "otherwise"]
    seen: dict[str, Condition] = {}
    for c in (siblings[i] for i in sets):
        for level in c.values:
            if level in seen:
                raise c.fault(f'names "{level}", which line {seen[level].line} has already.')
            seen[level] = c
    first = siblings[sets[0]]
    if any(len(siblings[i].values) != 1 for i in sets):
        if len(siblings) != 2:
            raise first.fault('is one of several siblings with a set. A set has one sibling: "otherwise".')
        return Subset(encoding.name, first.values), sets + rest
    if len(sets) == 1 and rest:
        return OneValue(encoding.name, first.values[0]), sets + rest
    levels = tuple(siblings[i].values[0] for i in sets)
    return Multiway(encoding.name, levels, other=bool(rest)), sets + rest
