"""Conditions as people write them: text → column, test and values; and from all of them, what each column is.

Stands on ``notation.py``; ``siblings.py`` turns the conditions of siblings into their split and ``parse.py``
reads whole trees. The grammar, with names and levels bare or in quotes (``notation.py``):

    age <= 71.5   age > 71.5   age < 72   age >= 72    a number, a date, or a level of an ordered column
    city = Rome   city in {Bari, Rome}   city otherwise
    city != Rome  city not in {Bari, Rome}             the other branch of these
    x3 is true    x3 is false
    else                                               otherwise, of the column that its siblings ask about
    lactate missing   lactate present                  and, after any other: ``or missing``
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from treewise.data.convert import MAX_EXACT_INT
from treewise.data.encoding import Encoding, sort_levels
from treewise.data.parse_cells import NUMBER, parse_number
from treewise.errors import Call, ParseError, listing
from treewise.formats.text_format.notation import DATETIME, QUOTED, TRUTH, read_text, split_list, write_name

_QUOTED_NAME = re.compile(QUOTED)
_SIGN = re.compile(r"\s*(<=|>=|≤|≥|!=|≠|<>|<|>|==?)\s*|\s+(not\s+in|in)\s*(?=\{)")
_WORD = re.compile(r"\s+(otherwise|missing|present)$")
_IS = re.compile(r"\s+(is\s+not|is)\s+")
_OR_MISSING = re.compile(r"\s+or\s+missing$")
_SIGNS = {"≤": "<=", "≥": ">=", "==": "=", "in": "=", "is": "=", "≠": "!=", "<>": "!=", "not in": "!=", "is not": "!="}
_ELSE = ("else", "otherwise", "default")

# A level for all that a text does not name: where it says "otherwise", the one other level that is named
# somewhere else in the tree is not all there may be.
ANY_OTHER = "(any other)"

_UNITS = ("D", "s", "ms", "us", "ns")


@dataclass(frozen=True)
class Condition:
    """One condition: ``city in {Bari, Rome} or missing``."""

    text: str
    line: int
    column: str
    test: str  # <=  >  <  >=  =  !=  otherwise  missing  present
    values: tuple[str, ...] = ()  # the levels of ``=`` and ``!=``, or the one value compared with
    or_missing: bool = False
    spoken: bool = False  # said with ``is``, as booleans are
    quantity: bool = False  # compared with a bare number or date
    nameless: bool = False  # ``else``, which leaves its column to its siblings

    @property
    def compares(self) -> bool:
        """Whether this is one side of a threshold."""
        return self.test in ("<=", ">", "<", ">=")

    def fault(self, why: str) -> ParseError:
        """Return the error that names this condition and its line."""
        return ParseError(f'line {self.line}: "{self.text}" ' + why)


def read(text: str, line: int = 1) -> Condition:
    """Read one condition.

    >>> c = read('bill length in {short, "very, very long"} or missing')
    >>> c.column, c.test, c.values, c.or_missing
    ('bill length', '=', ('short', 'very, very long'), True)
    """
    body = _OR_MISSING.sub("", text)
    if body.lower() in _ELSE:
        return Condition(text, line, "", "otherwise", or_missing=body != text, nameless=True)
    name, said, rest = _take_apart(body, text, line)
    test = " ".join(said.split())
    spoken = test in ("is", "is not")
    found = Condition(text, line, name, _SIGNS.get(test, test), or_missing=body != text, spoken=spoken)
    if test in ("otherwise", "missing", "present"):
        if found.or_missing and test != "otherwise":
            raise found.fault('asks about missing values already: leave out "or missing".')
        return found
    if not rest:
        raise found.fault('breaks off. Write a value at the end; "" is the empty text.')
    if rest.startswith("{") and found.test in ("=", "!="):
        return replace(found, values=_read_set(rest, found))
    if rest.startswith('"') and not re.fullmatch(QUOTED, rest):
        raise found.fault('has a quote that does not close at the end. Inside quotes, "" stands for a quote.')
    if found.spoken and TRUTH.fullmatch(rest):
        rest = rest.lower()
    quantity = found.compares and bool(NUMBER.fullmatch(rest) or DATETIME.fullmatch(rest))
    return replace(found, values=(read_text(rest),), quantity=quantity)


def _take_apart(body: str, text: str, line: int) -> tuple[str, str, str]:
    """Split a condition into name, test and rest; a sign is looked for first, then the words."""
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
        raise where.fault("opens a set with { that does not close at the end.")
    items = split_list(text[1:-1])
    if items and re.fullmatch(r"\+\d+", items[-1]):
        raise where.fault("is shortened. Read the whole text: " + Call("print(tree)") + ".")
    if "" in items:
        raise where.fault('has an empty place in its set. Write "" if you mean the empty text.')
    return tuple(read_text(item) for item in items)


# -- what each column must be -------------------------------------------------------------------------------


def encodings_of(
    families: Sequence[Sequence[Condition]],
    orders: Mapping[str, tuple[str, ...]],
    known: Mapping[str, Encoding],
) -> tuple[Encoding, ...]:
    """Find what each column is from everything asked about it, in the order in which columns are first asked.

    A family are the conditions of siblings. ``orders`` are the levels of ordered columns as the text declares
    them, ``known`` columns known beforehand.

    >>> age, city = encodings_of([[read("age <= 71.5")], [read("city = Rome"), read("city = Bari")]], {}, {})
    >>> age.kind, city.kind, city.levels
    ('number', 'nominal', ('Bari', 'Rome'))
    """
    asked: dict[str, list[Sequence[Condition]]] = {}
    for family in families:
        asked.setdefault(family[0].column, []).append(family)
    found = []
    for name, its in asked.items():
        uses = [c for family in its for c in family]
        if name in known:
            found.append(_extend(known[name], uses))
        elif name in orders:
            found.append(Encoding(name, "ordered", orders[name]))
            check_levels(uses, found[-1])
        else:
            encoding = _encoding(name, uses)
            found.append(_leave_open(encoding, its) if encoding.kind == "nominal" else encoding)
    return tuple(found)


def check_levels(uses: Iterable[Condition], encoding: Encoding) -> None:
    """Refuse a level that a column does not have."""
    levels = set(encoding.levels)
    for c in uses if encoding.is_categorical else ():
        strange = [value for value in c.values if value not in levels]
        if strange:
            raise c.fault(f'names "{strange[0]}". The levels are {listing(encoding.levels)}.')


def _extend(known: Encoding, uses: list[Condition]) -> Encoding:
    """Add levels of a nominal column that are asked about, but that the table does not have."""
    if known.kind != "nominal":
        check_levels(uses, known)
        return known
    new = {level for c in uses for level in c.values} - set(known.levels)
    return replace(known, levels=(*known.levels, *sort_levels(sorted(new))))


def _leave_open(encoding: Encoding, families: list[Sequence[Condition]]) -> Encoding:
    """Add a level for all that is not named, if one named level would be all that "otherwise" could mean."""
    for family in families:
        listed = sum(len(c.values) for c in family)
        if listed == len(encoding.levels) - 1 and any(c.test == "otherwise" for c in family):
            return replace(encoding, levels=(*encoding.levels, ANY_OTHER))
    return encoding


def _encoding(name: str, uses: list[Condition]) -> Encoding:
    """Judge one column: numbers if compared with numbers, else categories."""
    levelled = [c for c in uses if c.test == "="]
    for c in uses:
        if c.compares and not c.quantity:
            example = " < ".join(["…", *sort_levels(sorted({v for u in uses for v in u.values})), "…"])
            raise c.fault(
                f"compares levels, but their order is not known. Declare it in a line of its own: "
                f"order {write_name(name)}: {example}"
            )
    compared = [c for c in uses if c.compares]
    if compared and levelled:
        raise levelled[0].fault(
            f'names a level, but "{compared[0].text}" (line {compared[0].line}) compares this column.'
        )
    if compared:
        return _quantity(name, compared)
    levels = {level for c in levelled for level in c.values}
    spoken = {c.spoken for c in levelled if len(c.values) == 1}  # a set has no "is" to say
    if levels <= {"true", "false"} and spoken == {True}:
        return Encoding(name, "boolean", ("false", "true"))
    first = next((c.test for c in uses if c.test in ("present", "missing")), "")
    if not levels and first == "present":  # so the text tree writes a threshold that asks for nothing else
        return Encoding(name, "number")
    return Encoding(name, "nominal", sort_levels(sorted(levels)))


def _quantity(name: str, compared: list[Condition]) -> Encoding:
    """Numbers are float64; integers past 2^53 and dates are compared exactly, as wide integers."""
    values = [c.values[0] for c in compared]
    dates = [c for c in compared if DATETIME.fullmatch(c.values[0])]
    if dates:
        if len(dates) < len(compared):
            number = next(c for c in compared if not DATETIME.fullmatch(c.values[0]))
            raise number.fault(f"compares with a number, but line {dates[0].line} with a date.")
        return Encoding(name, "datetime", unit=max((_unit(value) for value in values), key=_UNITS.index))
    whole = [value for text in values if isinstance(value := parse_number(text), int)]
    if len(whole) == len(values) and MAX_EXACT_INT < max(map(abs, whole)) < 2**63:
        return Encoding(name, "integer")
    return Encoding(name, "number")


def _unit(date: str) -> str:
    """Return the coarsest unit that holds a written date exactly."""
    if ":" not in date and "T" not in date and " " not in date:
        return "D"
    decimals = len(date.partition(".")[2])
    return _UNITS[1 + (decimals + 2) // 3]
