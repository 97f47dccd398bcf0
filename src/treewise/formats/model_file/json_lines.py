"""The lines of a model file: one field per line, the format number first, the checksum last.

Used by ``model_file.py``, which defines the fields. Reading checks in this order, so that each check relies only on
what the earlier ones have verified:

    1  the format number      a newer file is recognised, whatever follows
    2  the checksum           detects every accident: each flipped bit, each lost byte
    3  the layout             the fields of this format, one per line, in order
    4  each value by itself   types, lengths before contents, ranges before narrowing (``header.py``, ``packing.py``)
    5  the whole              is it a tree? (``validate.py``)

A file that fails from 3 on was made on purpose. Nothing in a file is executed, imported, opened or constructed by name;
the only parser is the standard library's JSON, one line at a time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from treewise._version import __version__
from treewise.errors import ModelFormatError
from treewise.formats.model_file.header import MAX_DIGITS, check_writable
from treewise.formats.model_file.packing import excerpt

FORMAT = 4  # the newest format
MAX_NESTING = 64

_BEGINNING = re.compile(rb'\{\s*"format"\s*:\s*([0-9]{1,9})\s*[,}]')
_ENDING = re.compile(rb'"sha256": "([0-9a-f]{64})"\}\n')
_LENGTH_OF_ENDING = len('"sha256": ""}\n') + 64
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_PADDING = re.compile(rb"(?: +\n)?")
_SURROGATE = re.compile("[\ud800-\udfff]")


# -- writing ----------------------------------------------------------------------------------------------------------


def append_checksum(lines: Iterable[str]) -> str:
    """Join the lines and append the checksum."""
    body = "\n".join(lines) + "\n"
    return f'{body}"sha256": "{checksum(body.encode())}"}}\n'


def pad(lines: list[str], arrays_size: int) -> list[str]:
    """Add a line of spaces if a reader would refuse the lines, because names and arrays take too much memory.

    Such are models with some hundred thousand short names, of levels, classes or columns.
    """
    header = [line.encode() for line in lines[: lines.index('"nodes": {')]]
    columns = range(header.index(b'"columns": [') + 1, header.index(b"],"))
    claimed = most = 1000
    for i, line in enumerate(header):
        most = max(most, claimed + parsed_size(line))
        claimed += column_size(line) if i in columns else parsed_size(line)
    size = sum(map(len, lines)) + len(lines)  # at least
    while most > header_memory_allowed(size) or arrays_size > arrays_memory_allowed(size, claimed):
        size += 1 << 20
    missing = size - sum(map(len, lines)) - len(lines)
    return [*lines, " " * missing] if missing else lines


def checksum(content: bytes | memoryview) -> str:
    """Return the checksum that the last line gives of everything before it."""
    return hashlib.sha256(content).hexdigest()


def block_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a list, with commas between them."""
    for i, line in enumerate(lines, start=1):
        yield line + "," * (i < len(lines))


def to_line(value: Any, where: str) -> str:
    r"""Write a value as JSON on one line: non-ASCII text unescaped, lone surrogates as \uXXXX.

    >>> print(to_line(["naïve", "two\nlines", "\ud800"], "here"))
    ["naïve","two\nlines","\ud800"]
    """
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    check_writable(line, where)
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", line)


# -- reading 1 and 2: format and checksum -----------------------------------------------------------------------------


def format_number(content: bytes, name: str) -> int:
    """Return the format number, which comes first in every format, also in future ones.

    >>> format_number(b'{"format": 5, ', "m.json")                           # doctest: +ELLIPSIS
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: m.json is format 5; this treewise (...) reads up to 4. pip install -U treewise.
    """
    beginning = _BEGINNING.match(content[:200])
    if beginning is None:
        reason = "it is empty" if not content else 'it does not begin with {"format": …'
        raise ModelFormatError(f"{name} is not a treewise model: {reason}. Nothing was loaded.")
    number = int(beginning[1])
    if not 1 <= number <= FORMAT:
        raise ModelFormatError(
            f"{name} is format {number}; this treewise ({__version__}) reads up to {FORMAT}. pip install -U treewise."
        )
    return number


def check_ending(content: bytes) -> int:
    """Compare the checksum with the content before it, and return where that ends."""
    end = len(content) - _LENGTH_OF_ENDING
    ending = _ENDING.fullmatch(content[end:]) if end > 0 else None
    if ending is None:
        changed = ": its line ends were changed to CRLF" if b"\r\n" in content[:200] else ": it was cut short or edited"
        raise ModelFormatError(f"it does not end with its checksum{changed}")
    expected, actual = ending[1].decode(), checksum(memoryview(content)[:end])
    if expected != actual:
        raise ModelFormatError(
            f"checksum differs (the last line says {expected[:8]}…, the content gives {actual[:8]}…)"
        )
    return end


# -- memory -----------------------------------------------------------------------------------------------------------

_OF_COLUMN = 240  # an Encoding without levels, in bytes


def parsed_size(line: bytes) -> int:
    """Return how many bytes of memory the values of a line take at most, before it is parsed.

    What Python objects take is counted by the characters that begin them or separate them. A field of an object is a
    name, which the parser remembers, and a pair, from which the object is built.

    >>> parsed_size(b'["a","b"]'), parsed_size(b"[[],[],[]]")
    (258, 388)
    """
    objects = 32 * line.count(b'"') + 40 * line.count(b",") + 72 * line.count(b"[")
    objects += 190 * line.count(b"{") + 210 * line.count(b":")
    return objects + len(line) * (1 + _bytes_per_character(line))


def column_size(line: bytes) -> int:
    """Return how much memory is kept of the line of a column: an ``Encoding``, and its levels.

    >>> column_size(b'{"name":"x","kind":"number","numbers":"whole"}')
    286
    """
    n_quotes = max(line.count(b'"') - 12, 0)  # twelve are those of three fields
    return (
        _OF_COLUMN + n_quotes * 32 + (8 * line.count(b",") if n_quotes else 0) + len(line) * _bytes_per_character(line)
    )


def _bytes_per_character(line: bytes) -> int:
    """Return how wide Python's strings become: as wide as the widest character in them."""
    if b"\\u" in line:
        return 4
    if line.isascii():
        return 1
    widest = int(np.frombuffer(line, np.uint8).max())
    return 4 if widest >= 0xF0 else 2 if widest >= 0xC4 else 1


def header_memory_allowed(file_size: int) -> int:
    """Return how many bytes the values of the header may take, so that a file claims four times its size and 32 MB."""
    return 3 * file_size + 30_000_000


def arrays_memory_allowed(file_size: int, header_size: int = 0) -> int:
    """Return how many bytes the arrays may take; a third of what the header leaves is needed to read and check them."""
    left = header_memory_allowed(file_size) - header_size
    return min(2 * file_size + (16 << 20), left * 2 // 3)


# -- reading 3: layout ------------------------------------------------------------------------------------------------


class JsonLines:
    """A file's lines before the checksum, taken one after another, and the memory that their values have claimed."""

    def __init__(self, content: bytes, end: int) -> None:
        self.content, self.end, self.at, self.number = content, end, 0, 0
        self.claimed = 0

    def take(self) -> bytes:
        """Return the next line."""
        end = self.content.find(b"\n", self.at, self.end)
        if end < 0:
            raise ModelFormatError(f"line {self.number + 1} is missing")
        line = self.content[self.at : end]
        self.at, self.number = end + 1, self.number + 1
        return line

    def expect(self, expected: str) -> None:
        """Read a fixed line."""
        line = self.take()
        if line != expected.encode():
            raise ModelFormatError(f"line {self.number} should be {expected} but is {excerpt(line)}")

    def field(self, name: str, comma: bool = True) -> bytes:
        """Read the line of a field, and return its value."""
        line, beginning = self.take(), f'"{name}": '.encode()
        if not line.startswith(beginning) or line.endswith(b",") != comma:
            rule = "followed by a comma" if comma else "the last of its block"
            raise ModelFormatError(f'line {self.number} should be "{name}", {rule}, but is {excerpt(line)}')
        return line[len(beginning) : -1] if comma else line[len(beginning) :]

    def has_field(self, name: str) -> bool:
        """Tell whether the next line is that of a field, for fields that a file may lack."""
        return self.content.startswith(f'"{name}": '.encode(), self.at, self.end)

    def value(self, name: str) -> Any:
        """Read the line of a field, and return its parsed value."""
        return self._parse(self.field(name))

    def block(self, name: str, kept: Callable[[bytes], int] | None = None) -> Iterator[Any]:
        """Read a list with one item per line, item by item; ``kept`` is how much memory the reader keeps of a line."""
        self.expect(f'"{name}": [')
        comma, is_first = True, True
        while (line := self.take()) != b"],":
            if not comma:
                raise ModelFormatError(f"line {self.number - 1} should end with a comma")
            comma, is_first = line.endswith(b","), False
            before = self.claimed
            yield self._parse(line[:-1] if comma else line)
            if kept is not None:
                self.claimed = before + kept(line)
        if comma and not is_first:
            raise ModelFormatError(f"line {self.number - 1} should not end with a comma")

    def _parse(self, line: bytes) -> Any:
        """Parse one line, if there is memory left for its values."""
        allowed = header_memory_allowed(len(self.content))
        self.claimed += parsed_size(line)
        if self.claimed > allowed:
            raise ModelFormatError(
                f"line {self.number}: its values may take {self.claimed / 1e6:,.0f} MB of memory with those before it. "
                f"The names and notes of a file of this size may take {allowed / 1e6:,.0f} MB, three times its size "
                "and 30 MB"
            )
        return _parse_line(line, f"line {self.number}")

    def expect_end(self) -> None:
        """Raise unless everything has been read, but for a line of spaces (``pad``)."""
        if not _PADDING.fullmatch(self.content, self.at, self.end):
            raise ModelFormatError(f"line {self.number + 1} should be the checksum, the last line")


# -- reading 4: values ------------------------------------------------------------------------------------------------


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raise for duplicate fields."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ModelFormatError("a field occurs twice")
    return values


def _small_integer(digits: str) -> int:
    """Read a whole number; one of more than 64 bits is refused before it is computed."""
    if len(digits) > MAX_DIGITS + digits.startswith("-"):
        raise ModelFormatError("a whole number has too many digits")
    return int(digits)


def _finite_float(digits: str) -> float:
    """Read a number; one too large for a double is refused."""
    number = float(digits)
    if number in (np.inf, -np.inf):
        raise ModelFormatError("a number is too large for a double")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_fields, parse_int=_small_integer, parse_float=_finite_float)


def _parse_line(line: bytes, where: str) -> Any:
    """Parse one line of JSON, with a limit on nesting."""
    try:
        text = line.decode("utf-8")
        _check_nesting(text)
        return _DECODER.decode(text)
    except UnicodeDecodeError as error:
        raise ModelFormatError(f"{where}: byte {error.start:,} is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise ModelFormatError(f"{where} is not JSON: {error.msg} at character {error.pos:,}") from None
    except ModelFormatError as error:
        raise ModelFormatError(f"{where}: {error}") from None


def _check_nesting(text: str) -> None:
    """Refuse JSON that is nested too deeply, before it reaches the recursive parser."""
    if text.count("[") + text.count("{") <= MAX_NESTING:
        return
    depth = 0
    for bracket in re.finditer(r"[][{}]", _STRING.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_NESTING:
            raise ModelFormatError(f"it is nested more than {MAX_NESTING} deep")
