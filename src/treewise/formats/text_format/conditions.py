"""Conditions of a written tree: parse them, infer the encodings of the columns and the splits of siblings.

Uses ``notation.py``. Used by ``parse.py`` for whole trees, by ``tree.split`` and the command line for one condition.
Names and levels may be bare or in quotes (``notation.py``):

    age <= 71.5   age > 71.5   age < 72   age >= 72    a number, a date, or a level of an ordered column
    city = Rome   city in {Bari, Rome}   city otherwise
    city != Rome  city not in {Bari, Rome}             the other branch of these
    x3 is true    x3 is false
    else                                               otherwise, for the column its siblings test
    lactate missing   lactate present                  and after any other condition: ``or missing``

The conditions of siblings together stand for a split:

    x <= 3 | x > 3                     Threshold; Ordinal when x is a column of levels
    x = a  | x = b | …                 Multiway, with the branches as written
    x = a  | x otherwise               OneValue
    x in {a, b} | anything             Subset
    x present | x missing              a split on missingness itself
    …      | x missing                 a separate branch for missing values
    x = a  | x != a, x = a | else      same as ``x otherwise``; likewise for sets

Siblings may be written in any order; a split's branches have a fixed one (``<=`` before ``>``, the listed levels
before ``otherwise``), so ``infer_split`` also returns which sibling is which branch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from treewise.data.column import UNITS
from treewise.data.convert import MAX_EXACT_INT
from treewise.data.encoding import Encoding, sort_levels
from treewise.data.parse_cells import NUMBER, parse_number
from treewise.errors import Call, ParseError, did_you_mean, join_few
from treewise.formats.text_format.notation import DATETIME, QUOTED, TRUTH, read_text, split_list, write_name
from treewise.tree.splits import Multiway, OneValue, Ordinal, Presence, Split, Subset, Threshold

_QUOTED_NAME = re.compile(QUOTED)
_SIGN = re.compile(r"\s*(<=|>=|≤|≥|!=|≠|<>|<|>|==?)\s*|\s+(not\s+in|in)\s*(?=\{)")
_WORD = re.compile(r"\s+(otherwise|missing|present)$")
_IS = re.compile(r"\s+(is\s+not|is)\s+")
_OR_MISSING = re.compile(r"\s+or\s+missing$")
_SIGNS = {"≤": "<=", "≥": ">=", "==": "=", "in": "=", "is": "=", "≠": "!=", "<>": "!=", "not in": "!=", "is not": "!="}
_MORE = re.compile(r"\s(?:and|or|&&|\|\|)\s.*[<>=≤≥≠].*", re.IGNORECASE)  # a second test on one line
_REVERSED = re.compile(r"[^<>!=≤≥]=([<>])")  # =< for <=
_QUESTION = re.compile(r"is\s+(.*)\?$", re.IGNORECASE)  # Is x1 <= 0.5?
_ELSE = ("else", "otherwise", "default")

# A level for everything a text does not name: where it says "otherwise", the one remaining level named elsewhere
# in the tree need not be the only one.
ANY_OTHER = "(any other)"

SplitAndOrder = tuple[Split, list[int]]  # the split, and the sibling that stands for each branch


@dataclass(frozen=True)
class Condition:
    """One condition: ``city in {Bari, Rome} or missing``."""

    text: str
    line: int
    column: str
    test: str  # <=  >  <  >=  =  !=  otherwise  missing  present
    values: tuple[str, ...] = ()  # the levels of ``=`` and ``!=``, or the one value compared with
    or_missing: bool = False
    uses_is: bool = False  # written with ``is``, as booleans are
    is_quantity: bool = False  # compared with a bare number or date
    is_else: bool = False  # ``else``, which takes the column of its siblings

    @property
    def is_comparison(self) -> bool:
        """Whether this is one side of a threshold."""
        return self.test in ("<=", ">", "<", ">=")

    def error(self, why: str) -> ParseError:
        """Return an error that quotes this condition and its line."""
        return ParseError(f'line {self.line}: "{self.text}" ' + why)


def parse_condition(text: str, line: int = 1) -> Condition:
    """Read one condition.

    >>> c = parse_condition('bill length in {short, "very, very long"} or missing')
    >>> c.column, c.test, c.values, c.or_missing
    ('bill length', '=', ('short', 'very, very long'), True)
    """
    if question := _QUESTION.match(text):
        text = question[1]
    body = _OR_MISSING.sub("", text)
    if reversed_sign := _REVERSED.search(re.split('["{]', body)[0]):
        sign = reversed_sign[1]
        raise ParseError(f'line {line}: "{text}" has "={sign}". Write "{sign}=", or put the value in quotes.')
    if body.lower() in _ELSE:
        return Condition(text, line, "", "otherwise", or_missing=body != text, is_else=True)
    name, operator, rest = _split_parts(body, text, line)
    test = " ".join(operator.split())
    uses_is = test in ("is", "is not")
    condition = Condition(text, line, name, _SIGNS.get(test, test), or_missing=body != text, uses_is=uses_is)
    if test in ("otherwise", "missing", "present"):
        if condition.or_missing and test != "otherwise":
            raise condition.error('already tests for missing values: leave out "or missing".')
        return condition
    if not rest:
        raise condition.error('ends without a value. Write one at the end; "" is the empty text.')
    if rest.startswith("{") and condition.test in ("=", "!="):
        return replace(condition, values=_read_set(rest, condition))
    if rest.startswith('"') and not re.fullmatch(QUOTED, rest):
        raise condition.error('has an unclosed quote. Inside quotes, "" stands for a quote.')
    if condition.uses_is and TRUTH.fullmatch(rest):
        rest = rest.lower()
    if not rest.startswith('"') and (more := _MORE.search(rest)):
        raise condition.error(
            f'continues after its value: "{more[0].strip()}". A line tests one column; write further tests on lines '
            "below it, or put the value in quotes."
        )
    is_quantity = condition.is_comparison and bool(NUMBER.fullmatch(rest) or DATETIME.fullmatch(rest))
    return replace(condition, values=(read_text(rest),), is_quantity=is_quantity)


def _split_parts(body: str, text: str, line: int) -> tuple[str, str, str]:
    """Split a condition into name, operator and rest; symbols are searched first, then words."""
    quoted = _QUOTED_NAME.match(body)
    if quoted:
        name, body = read_text(quoted[0]), body[quoted.end() :]
        match = _SIGN.match(body) or _WORD.fullmatch(body) or _IS.match(body)
    else:
        match = _SIGN.search(body) or _WORD.search(body) or _IS.search(body)
        name = body[: match.start()].strip() if match else ""
    if not match or not (name or quoted):
        raise ParseError(
            f'line {line}: cannot read "{text}". A condition looks like "age <= 71.5", "city = Rome", '
            '"city in {Bari, Rome}", "city otherwise", "x3 is true" or "lactate missing".'
        )
    return name, next(group for group in match.groups() if group), body[match.end() :].strip()


def _read_set(text: str, where: Condition) -> tuple[str, ...]:
    """Read ``{Bari, "a, b"}``."""
    if not text.endswith("}"):
        raise where.error("opens a set with { and does not close it.")
    items = split_list(text[1:-1])
    if items and re.fullmatch(r"\+\d+", items[-1]):
        raise where.error("is abbreviated. Read the full text: " + Call("print(tree)") + ".")
    if "" in items:
        raise where.error('has an empty item in its set. Write "" if you mean the empty text.')
    return tuple(read_text(item) for item in items)


# -- conditions to encodings ------------------------------------------------------------------------------------


def infer_encodings(
    sibling_groups: Sequence[Sequence[Condition]],
    orders: Mapping[str, tuple[str, ...]],
    known: Mapping[str, Encoding],
) -> tuple[Encoding, ...]:
    """Infer the encoding of each column from all its conditions, in the order in which columns first occur.

    Each group holds the conditions of siblings. ``orders`` are the levels of ordered columns as the text declares
    them, ``known`` the columns of a table.

    >>> age, city = infer_encodings([[parse_condition("age <= 71.5")], [parse_condition("city = Rome")]], {}, {})
    >>> age.kind, city.kind, city.levels
    ('number', 'nominal', ('Rome',))
    """
    groups_by_column: dict[str, list[Sequence[Condition]]] = {}
    for siblings in sibling_groups:
        groups_by_column.setdefault(siblings[0].column, []).append(siblings)
    encodings = []
    for name, groups in groups_by_column.items():
        uses = [c for siblings in groups for c in siblings]
        if name in known:
            encodings.append(_extend(known[name], uses))
        elif name in orders:
            encodings.append(Encoding(name, "ordered", orders[name]))
            _check_levels(uses, encodings[-1])
        else:
            encoding = _infer_encoding(name, uses)
            encodings.append(_add_any_other(encoding, groups) if encoding.kind == "nominal" else encoding)
    return tuple(encodings)


def _check_levels(uses: Iterable[Condition], encoding: Encoding) -> None:
    levels = set(encoding.levels)
    for c in uses if encoding.is_categorical else ():
        unknown = [value for value in c.values if value not in levels]
        if unknown:
            raise c.error(f'names "{unknown[0]}". The levels are {join_few(encoding.levels)}.')


def _extend(known: Encoding, uses: list[Condition]) -> Encoding:
    """Add levels that the text names and the table does not have (nominal columns only)."""
    if known.kind != "nominal":
        _check_levels(uses, known)
        return known
    new = {level for c in uses for level in c.values} - set(known.levels)
    return replace(known, levels=(*known.levels, *sort_levels(sorted(new))))


def _add_any_other(encoding: Encoding, sibling_groups: list[Sequence[Condition]]) -> Encoding:
    """Add ``ANY_OTHER`` where "otherwise" could mean only one named level."""
    for siblings in sibling_groups:
        listed = sum(len(c.values) for c in siblings)
        if listed == len(encoding.levels) - 1 and any(c.test == "otherwise" for c in siblings):
            return replace(encoding, levels=(*encoding.levels, ANY_OTHER))
    return encoding


def _infer_encoding(name: str, uses: list[Condition]) -> Encoding:
    equalities = [c for c in uses if c.test == "="]
    for c in uses:
        if c.is_comparison and not c.is_quantity:
            example = " < ".join(["…", *sort_levels(sorted({v for u in uses for v in u.values})), "…"])
            raise c.error(
                f"compares levels, but their order is not known. Declare it on a line of its own: "
                f"order {write_name(name)}: {example}"
            )
    compared = [c for c in uses if c.is_comparison]
    if compared and equalities:
        raise equalities[0].error(
            f'names a level, but "{compared[0].text}" (line {compared[0].line}) compares this column.'
        )
    if compared:
        return _numeric_encoding(name, compared)
    levels = {level for c in equalities for level in c.values}
    uses_is = {c.uses_is for c in equalities if len(c.values) == 1}  # sets have no "is"
    if levels <= {"true", "false"} and uses_is == {True}:
        return Encoding(name, "boolean", ("false", "true"))
    first = next((c.test for c in uses if c.test in ("present", "missing")), "")
    if not levels and first == "present":  # how the text tree writes a threshold that only tests for presence
        return Encoding(name, "number")
    return Encoding(name, "nominal", sort_levels(sorted(levels)))


def _numeric_encoding(name: str, compared: list[Condition]) -> Encoding:
    """Return number (float64), or integer past 2^53 and datetime, which are compared exactly as int64."""
    values = [c.values[0] for c in compared]
    dates = [c for c in compared if DATETIME.fullmatch(c.values[0])]
    if dates:
        if len(dates) < len(compared):
            number = next(c for c in compared if not DATETIME.fullmatch(c.values[0]))
            raise number.error(f"compares with a number, but line {dates[0].line} compares with a date.")
        return Encoding(name, "datetime", unit=max((_unit(value) for value in values), key=UNITS.index))
    whole = [value for text in values if isinstance(value := parse_number(text), int)]
    if len(whole) == len(values) and MAX_EXACT_INT < max(map(abs, whole)) < 2**63:
        return Encoding(name, "integer")
    return Encoding(name, "number")


def _unit(date: str) -> str:
    """Return the coarsest unit that holds a written date exactly."""
    if ":" not in date and "T" not in date and " " not in date:
        return "D"
    decimals = len(date.partition(".")[2])
    return UNITS[1 + (decimals + 2) // 3]


# -- siblings to splits -----------------------------------------------------------------------------------------


def infer_split(siblings: Sequence[Condition], encoding: Encoding, weights: Sequence[float]) -> SplitAndOrder:
    """Return the split that siblings stand for, and which of them is which branch.

    Missing values take the branch that says so; if none does, the one with the largest weight (on ties the first).

    >>> siblings = [parse_condition("age > 71.5"), parse_condition("age <= 71.5 or missing")]
    >>> infer_split(siblings, Encoding("age", "number"), weights=[0, 0])
    (Threshold(column='age', missing=0, cut=71.5), [1, 0])
    """
    if len(siblings) == 1:
        raise siblings[0].error("has no sibling. A node needs two or more branches.")
    for c in siblings:
        _check_kind(c, encoding)
    missing_at = [i for i, c in enumerate(siblings) if c.test == "missing"]
    present_at = [i for i, c in enumerate(siblings) if c.test != "missing"]
    if len(missing_at) > 1:
        raise siblings[missing_at[1]].error(f"repeats line {siblings[missing_at[0]].line}.")
    present = [c for c in siblings if c.test == "present"]
    if present:
        if len(siblings) != 2 or not missing_at:
            raise present[0].error(f'needs "{present[0].column} missing" as its only sibling.')
        return _split_by_presence(present_at + missing_at, encoding, first_written=siblings[0].test)
    split, order = _split_present_values([siblings[i] for i in present_at], encoding)
    branches = [present_at[i] for i in order] + missing_at
    return replace(split, missing=_missing_branch(siblings, branches, missing_at, weights)), branches


def resolve_siblings(siblings: Sequence[Condition]) -> list[Condition]:
    """Give ``else`` the column of its siblings, and turn ``x != a`` into the other branch of ``x = a``.

    >>> [(c.column, c.test, c.values) for c in resolve_siblings([parse_condition("x != a"), parse_condition("else")])]
    [('x', 'otherwise', ()), ('x', '=', ('a',))]
    """
    named = next((c.column for c in siblings if not c.is_else), None)
    if siblings and named is None:
        raise siblings[0].error('needs a sibling with a condition, such as "city = Rome".')
    resolved = [replace(c, column=named, is_else=False) if named is not None and c.is_else else c for c in siblings]
    unequal = next((i for i, c in enumerate(resolved) if c.test == "!="), None)
    if unequal is None:
        return resolved
    negation, others = resolved[unequal], [i for i, c in enumerate(resolved) if i != unequal and c.test != "missing"]
    other = resolved[others[0]] if len(others) == 1 else None
    if other is not None and other.test == "otherwise":
        resolved[others[0]] = replace(other, test="=", values=negation.values, uses_is=negation.uses_is)
    elif other is None or other.test != "=" or set(other.values) != set(negation.values):
        test = "in {…}" if len(negation.values) > 1 else f"= {negation.values[0]}"
        expected = f'"{negation.column} {test}"'
        raise negation.error(f'is a negation: it needs exactly one sibling, {expected} or "else".')
    resolved[unequal] = replace(negation, test="otherwise", values=())
    return resolved


def check_one_column(siblings: Sequence[Condition]) -> None:
    """Raise if siblings test different columns."""
    for before, c in pairwise(siblings):
        if c.column != before.column:
            raise c.error(
                f'is at the same depth as "{before.text}" but tests another column. Siblings must test the same column.'
            )


def _check_kind(c: Condition, encoding: Encoding) -> None:
    if c.test in ("otherwise", "missing", "present"):
        return
    if not encoding.is_categorical:
        what = "dates" if encoding.kind == "datetime" else "numbers"
        if not c.is_comparison:
            raise c.error(f"names a level, but this is a column of {what}: compare it with <= or >.")
        if not c.is_quantity or bool(DATETIME.fullmatch(c.values[0])) != (encoding.kind == "datetime"):
            raise c.error(f"does not fit a column of {what}.")
        if encoding.kind == "integer" and not isinstance(parse_number(c.values[0]), int):
            raise c.error("does not fit a column of integers beyond 2^53: write a whole number.")


def parse_split(text: str, encodings: Sequence[Encoding]) -> tuple[Split, bool]:
    """Return the split of one condition against everything else, and whether it says where missing values go.

    The name of a categorical column alone stands for a multiway split.

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
    condition = parse_condition(text.strip())
    if condition.is_else or condition.test == "otherwise":
        raise condition.error('is not a condition by itself. Write one such as "city = Rome".')
    if condition.column not in by_name:
        raise ParseError(
            f'line 1: no column "{condition.column}".{did_you_mean(condition.column, by_name)} '
            f"Columns: {join_few(list(by_name))}."
        )
    _check_levels([condition], by_name[condition.column])
    other = {"missing": "present", "present": "missing"}.get(condition.test, "otherwise")
    siblings = resolve_siblings([condition, Condition(f"{condition.column} {other}", 1, condition.column, other)])
    split, _ = infer_split(siblings, by_name[condition.column], [0.0, 0.0])
    return split, condition.or_missing or condition.test in ("missing", "present")


def _missing_branch(
    siblings: Sequence[Condition], branches: list[int], missing_at: list[int], weights: Sequence[float]
) -> int:
    marked = [branch for branch, i in enumerate(branches) if siblings[i].or_missing]
    if missing_at and marked:
        missing_line = siblings[missing_at[0]].line
        raise siblings[branches[marked[0]]].error(f"takes missing values, and so does line {missing_line}.")
    if len(marked) > 1:
        first, second = (siblings[branches[branch]] for branch in marked[:2])
        raise second.error(f"takes missing values, and so does line {first.line}.")
    if missing_at:
        return len(branches) - 1
    if marked:
        return marked[0]
    by_branch = [weights[i] for i in branches]
    return by_branch.index(max(by_branch))


def _split_by_presence(branches: list[int], encoding: Encoding, first_written: str) -> SplitAndOrder:
    """Missing against present, with the branches in the order of the stored form (``tree/arrays.py``)."""
    present, missing = branches
    by_order = encoding.kind in ("ordered", "boolean") and first_written == "present"
    if by_order or not encoding.is_categorical:
        return Presence(encoding.name, missing=1), [present, missing]
    return Presence(encoding.name, missing=0), [missing, present]


def _split_present_values(siblings: list[Condition], encoding: Encoding) -> SplitAndOrder:
    """Return the split of the present values, and the order of its branches."""
    otherwise = [c for c in siblings if c.test == "otherwise"]
    if len(otherwise) > 1:
        raise otherwise[1].error(f"repeats line {otherwise[0].line}.")
    if len(otherwise) == len(siblings):
        raise otherwise[0].error('needs a sibling with a condition, such as "city = Rome".')
    if not any(c.is_comparison for c in siblings):
        return _split_by_levels(siblings, encoding)
    if len(siblings) != 2:
        third = siblings[2] if len(siblings) > 2 else siblings[0]
        raise third.error('does not fit: a comparison has two sides, "<=" and ">".')
    return _split_by_order(siblings, encoding)


# -- comparisons --------------------------------------------------------------------------------------------


def _split_by_order(siblings: list[Condition], encoding: Encoding) -> SplitAndOrder:
    """Return the split at one threshold; the comparison gives it, the other side must agree."""
    at = next(i for i, c in enumerate(siblings) if c.is_comparison)
    comparison, other_side = siblings[at], siblings[1 - at]
    cut, comparison_is_low = _threshold(comparison, encoding), comparison.test in ("<=", "<")
    fits = True
    if other_side.is_comparison:
        fits = _threshold(other_side, encoding) == cut and comparison_is_low != (other_side.test in ("<=", "<"))
    elif other_side.test == "=":
        side = encoding.levels[int(cut) + 1 :] if comparison_is_low else encoding.levels[: int(cut) + 1]
        fits = set(other_side.values) == set(side)
    if not fits:
        raise other_side.error(
            f'does not fit "{comparison.text}" (line {comparison.line}). Both sides must name the same threshold, '
            'one with "<=", one with ">".'
        )
    order = [at, 1 - at] if comparison_is_low else [1 - at, at]
    if encoding.is_categorical:
        return Ordinal(encoding.name, encoding.levels[int(cut)]), order
    return Threshold(encoding.name, cut), order


def _threshold(c: Condition, encoding: Encoding) -> float | int:
    """Return the largest value on the lower side (for an ordered column, its position)."""
    value, below = c.values[0], c.test in ("<", ">=")  # x < 3 is x <= the number before 3
    if encoding.kind == "number":
        return math.nextafter(float(value), -math.inf) if below else float(value) + 0.0
    if encoding.is_categorical:
        rank = encoding.levels.index(value) - below
        if rank < 0:
            raise c.error(f'leaves nothing on one side: "{value}" is the lowest level.')
        return rank
    whole = int(value) if encoding.kind == "integer" else _since_epoch(value, encoding.unit)
    return whole - below


def _since_epoch(date: str, unit: str) -> int:
    return int(np.array([date.replace(" ", "T")], f"datetime64[{unit}]").astype(np.int64)[0])


# -- levels -------------------------------------------------------------------------------------------------


def _split_by_levels(siblings: list[Condition], encoding: Encoding) -> SplitAndOrder:
    """Return a split with one branch per level, or of one level or set against the rest."""
    sets = [i for i, c in enumerate(siblings) if c.test == "="]
    rest = [i for i, c in enumerate(siblings) if c.test == "otherwise"]
    seen: dict[str, Condition] = {}
    for c in (siblings[i] for i in sets):
        for level in c.values:
            if level in seen:
                raise c.error(f'names "{level}", as does line {seen[level].line}.')
            seen[level] = c
    first = siblings[sets[0]]
    if any(len(siblings[i].values) != 1 for i in sets):
        if len(siblings) != 2:
            raise first.error('has a set and several siblings. A set takes exactly one sibling: "otherwise".')
        return Subset(encoding.name, first.values), sets + rest
    if len(sets) == 1 and rest:
        return OneValue(encoding.name, first.values[0]), sets + rest
    levels = tuple(siblings[i].values[0] for i in sets)
    return Multiway(encoding.name, levels, other=bool(rest)), sets + rest
