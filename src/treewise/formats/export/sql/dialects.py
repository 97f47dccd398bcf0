"""The SQL dialects: how each one quotes names and text, writes numbers and dates, and compares NaN and text.

A dialect is one entry of ``DIALECTS``. Columns are expected in these types: numbers as doubles, wide integers as 64-bit
integers, categories as text, booleans as the dialect's booleans, datetimes as timestamps in UTC without a time zone (in
SQLite as ISO text).
"""

from __future__ import annotations

import datetime as dt
import math
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from treewise.data.column import truncate
from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import Encoding
from treewise.errors import ParameterError

_UNIX_EPOCH = 719163  # 1970-01-01 as a proleptic ordinal
_NANOSECONDS_PER_DAY = 86_400 * 10**9
_POWER = 62  # the largest power of two that is written as an integer


@dataclass(frozen=True)
class Dialect:
    """One dialect of SQL."""

    name: str
    quotes: str = '""'  # opening and closing quote of a name
    string: Literal["joined", "escaped"] = "joined"  # unusual characters by number, joined to the rest; or as escapes
    char: str = "chr({})"  # one character by its number
    joined: tuple[str, str, str] = ("(", " || ", ")")
    is_backslash_special: bool = False  # in joined text
    text_prefix: str = ""
    text: str = "{}"  # the column of a text comparison …
    text_end: str = ""  # … and what is appended to the levels on the other side
    takes_nul: bool = True  # whether text may contain the character NUL
    nan: str = ""  # the test for NaN; empty where columns cannot hold it
    nan_is_largest: bool = False  # NaN > 1 is true
    true: str = "TRUE"
    false: str = "FALSE"
    rounds_correctly: bool = True  # whether a literal is read as the nearest double
    double: str = "{}"  # a double that is computed with
    datetime: str = "TIMESTAMP '{}'"
    datetime_ns: str = ""  # a type of their own for columns in nanoseconds
    datetime_column: str = "{}"
    datetime_digits: int = 6  # of the fraction of a second
    has_short_datetimes: bool = False  # datetimes are text: midnight is written without a time
    has_case_in_names: bool = False  # whether "a" and "A" are different columns
    max_name: int = 0  # characters of a name, all of the basic plane, the last no blank; 0 if not limited so
    max_nesting: int = 100  # of CASE in CASE
    lookup: str = ""  # an element of a list by its number from 1; empty where none is fast
    all_but: str = "*"  # all columns of a table except some, where it can be said

    def name_of(self, name: str) -> str:
        """Quote a name."""
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ParameterError(
                f'column "{truncate(name)}" has a character that no SQL text can hold (half of a surrogate pair).',
                hint="Rename the column.",
                column=name,
            ) from None
        if not name:
            raise ParameterError("a column without a name cannot be read in SQL.", hint="Name the column.", column=name)
        if "\0" in name:
            raise ParameterError(
                f'column "{truncate(name)}" contains the character NUL, which SQL names cannot.',
                hint="Rename the column.",
                column=name,
            )
        if self.max_name and (len(name) > self.max_name or max(name) > "\uffff" or name.endswith(" ")):
            raise ParameterError(
                f'column "{truncate(name)}" has a name that {self.name} does not allow: at most {self.max_name}'
                " characters, none beyond U+FFFF, and no blank at the end.",
                hint="Rename the column.",
                column=name,
            )
        if self.name == "spark" and "${" in name:
            raise ParameterError(
                f'column "{truncate(name)}" contains "${{", where Spark puts in a variable.',
                hint="Rename the column.",
                column=name,
            )
        if self.name == "bigquery":  # no doubling of quotes: escapes, as in text
            return f"`{_escaped(name).replace('`', chr(92) + '`')}`"
        return f"{self.quotes[0]}{name.replace(self.quotes[1], self.quotes[1] * 2)}{self.quotes[1]}"

    def can_hold(self, text: str) -> bool:
        """Return whether a text column can hold this value; a level that it cannot hold never occurs."""
        return ("\0" not in text or self.takes_nul) and not any("\ud800" <= ch <= "\udfff" for ch in text)

    def text_of(self, text: str) -> str:
        """Write text as a literal, without control or format characters in it."""
        if not self.can_hold(text):
            reason = "the character NUL" if "\0" in text else "half of a surrogate pair"
            raise ParameterError(f'label "{truncate(text)}" contains {reason}, which text of {self.name} cannot.')
        if self.string == "escaped":
            return f"'{_escaped(text)}'"
        parts, plain = [], ""
        for ch in text:
            if _is_unusual(ch) or (ch == "\\" and self.is_backslash_special):
                parts += [self._quoted(plain)] * bool(plain) + [self.char.format(unit) for unit in self._units(ch)]
                plain = ""
            else:
                plain += ch
        parts += [self._quoted(plain)] * (bool(plain) or not parts)
        before, between, after = self.joined
        return parts[0] if len(parts) == 1 else f"{before}{between.join(parts)}{after}"

    def _quoted(self, text: str) -> str:
        doubled = text.replace("'", "''")
        return f"{self.text_prefix}'{doubled}'"

    def _units(self, ch: str) -> list[int]:
        """Return the number of a character; in SQL Server, those of its UTF-16 units."""
        if self.name != "sqlserver":
            return [ord(ch)]
        units = ch.encode("utf-16-le")
        return [int.from_bytes(units[i : i + 2], "little") for i in range(0, len(units), 2)]

    def number_of(self, number: float | int) -> str:
        """Write a number: a double with an exponent and the shortest digits that give the same bits."""
        if isinstance(number, int):
            return str(number)
        text = repr(number)
        text = text if "e" in text else f"{text.removesuffix('.0')}e0"
        return text if self.rounds_correctly or _is_read_exactly(text, number) else _binary_quotient(number)

    def datetime_after(self, ticks: int, encoding: Encoding) -> str:
        """Write the first moment after a tick: ``x <= tick`` is ``x < moment``, whatever the column's precision."""
        per_day = TICKS_PER_DAY[encoding.unit]
        ns = (ticks + 1) * (_NANOSECONDS_PER_DAY // per_day)
        is_ns = encoding.unit == "ns" and self.datetime_ns != ""
        step = 1 if is_ns else 10 ** (9 - self.datetime_digits)
        day, in_day = divmod(-(-ns // step) * step, _NANOSECONDS_PER_DAY)
        try:
            date = dt.date.fromordinal(day + _UNIX_EPOCH)
        except (ValueError, OverflowError):
            raise ParameterError(
                f'column "{truncate(encoding.name)}" is compared with a datetime outside the years 1 to 9999, which'
                " SQL cannot write.",
                column=encoding.name,
            ) from None
        seconds, fraction = divmod(in_day, 10**9)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        if fraction:
            text = f"{date.isoformat()} {clock}.{fraction:09}".rstrip("0")
        else:
            text = _shortest(date, clock) if self.has_short_datetimes else f"{date.isoformat()} {clock}"
        return (self.datetime_ns if is_ns else self.datetime).format(text)


def _shortest(date: dt.date, clock: str) -> str:
    """Leave out zeros at the end, so that longer texts of the same moment are not smaller.

    >>> _shortest(dt.date(2024, 3, 15), "00:00:00"), _shortest(dt.date(2024, 3, 15), "12:30:00")
    ('2024-03-15', '2024-03-15 12:30')
    """
    if clock == "00:00:00":
        return date.isoformat()
    return f"{date.isoformat()} {clock.removesuffix(':00')}"


def _is_read_exactly(text: str, number: float) -> bool:
    """Return whether SQLite reads a literal as the nearest double.

    It divides the digits, as an integer, by a power of ten in an arithmetic of at least 64 bits and rounds the quotient
    once more. That is exact up to 22 decimal places unless the quotient is close to the middle of two doubles.

    >>> _is_read_exactly("42.35e0", 42.35), _is_read_exactly("8.739446704359491e-302", 8.739446704359491e-302)
    (True, False)
    """
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits, power = int(whole + fraction), int(exponent) - len(fraction)
    if digits == 0:
        return True
    if digits >= 2**63 or not -22 <= power <= 22:
        return False
    exact = Fraction(digits) * Fraction(10) ** power
    spacing = Fraction(math.ulp(number))
    to_middle = abs(abs(exact - Fraction(abs(number))) - spacing / 2)
    return to_middle > spacing / 2**10


def _binary_quotient(number: float) -> str:
    """Write a double as integer digits times or over powers of two, all of which are read and computed exactly.

    >>> _binary_quotient(0.1), _binary_quotient(-1.5 * 2.0**70)
    ('(3602879701896397e0 / 36028797018963968e0)', '(-6755399441055744e0 * 262144e0)')
    """
    numerator, denominator = number.as_integer_ratio()
    scale = -(denominator.bit_length() - 1)
    while abs(numerator) >= 2**53:
        numerator, scale = numerator // 2, scale + 1
    text, sign = f"{numerator}e0", "*" if scale > 0 else "/"
    for _ in range(abs(scale) // _POWER):
        text += f" {sign} {2**_POWER}e0"
    if rest := abs(scale) % _POWER:
        text += f" {sign} {2**rest}e0"
    return f"({text})"


def _is_unusual(ch: str) -> bool:
    return unicodedata.category(ch)[0] == "C" or unicodedata.category(ch) in ("Zl", "Zp")


def _escaped(text: str) -> str:
    r"""Escape quotes, backslashes, unusual characters, and dollars, since Spark replaces ``${name}`` in queries.

    >>> _escaped("it's \n"), _escaped("\U0001F600"), _escaped("${x}")
    ("it\\'s \\u000a", '😀', '\\u0024{x}')
    """
    parts = []
    for ch in text:
        if ch in "'\\":
            parts.append("\\" + ch)
        elif _is_unusual(ch) or ch == "$":
            parts.append(f"\\u{ord(ch):04x}" if ord(ch) <= 0xFFFF else f"\\U{ord(ch):08x}")
        else:
            parts.append(ch)
    return "".join(parts)


_MYSQL = Dialect(
    "mysql",  # cannot store NaN; compares text without case and trailing spaces unless told otherwise
    quotes="``",
    char="CONVERT(CHAR({} USING utf32) USING utf8mb4)",
    joined=("CONCAT(", ", ", ")"),
    is_backslash_special=True,
    max_name=64,
    text="CONVERT({} USING utf8mb4) COLLATE utf8mb4_0900_bin",
)


def _dialects(*dialects: Dialect) -> dict[str, Dialect]:
    return {dialect.name: dialect for dialect in dialects}


DIALECTS = _dialects(
    Dialect(
        "sqlite",  # turns NaN into NULL
        rounds_correctly=False,
        char="char({})",
        text="{} COLLATE BINARY",
        true="1",
        false="0",
        datetime="'{}'",
        datetime_column="replace({}, 'T', ' ')",
        datetime_digits=9,
        has_short_datetimes=True,
        max_nesting=18,  # its parser has a stack of 100 entries
    ),
    Dialect(
        "duckdb",
        nan="{} = 'NaN'::DOUBLE",
        nan_is_largest=True,
        datetime_ns="TIMESTAMP_NS '{}'",
        lookup="([{}])[{}]",
        all_but="* EXCLUDE ({})",
    ),
    Dialect(
        "postgresql",
        nan="{} = 'NaN'::float8",
        nan_is_largest=True,
        takes_nul=False,
        double="{}::float8",
        has_case_in_names=True,
    ),
    _MYSQL,
    replace(_MYSQL, name="mariadb", text="CONVERT({} USING utf8mb4) COLLATE utf8mb4_nopad_bin"),
    Dialect(
        "sqlserver",  # cannot store NaN; compares text without case, and never with trailing spaces: hence the dot
        quotes="[]",
        char="NCHAR({})",
        joined=("(", " + ", ")"),
        text_prefix="N",
        text="({} + N'.') COLLATE Latin1_General_100_BIN2",
        text_end=".",
        true="1",
        false="0",
        datetime="CAST('{}' AS DATETIME2(7))",
        datetime_digits=7,
    ),
    Dialect(
        "bigquery",
        quotes="``",
        string="escaped",
        nan="IS_NAN({})",
        datetime="DATETIME '{}'",
        datetime_column="CAST({} AS DATETIME)",
        all_but="* EXCEPT ({})",
    ),
    Dialect(
        "snowflake",  # its escapes end at U+FFFF
        char="CHR({})",
        is_backslash_special=True,
        nan="{} = 'NaN'::FLOAT",
        double="{}::FLOAT",
        has_case_in_names=True,
        nan_is_largest=True,
        datetime="'{}'::TIMESTAMP_NTZ(9)",
        datetime_digits=9,
        all_but="* EXCLUDE ({})",
    ),
    Dialect(
        "spark", quotes="``", string="escaped", nan="isnan({})", nan_is_largest=True, datetime="TIMESTAMP_NTZ '{}'"
    ),
)
