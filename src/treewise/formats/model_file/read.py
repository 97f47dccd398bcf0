"""Read the bytes of a model file into a validated tree, or raise an error that says why not.

Used by ``model_file.py``; the inverse of ``layout.py``. Checks run in this order, so that each relies only on what the
earlier ones have verified:

    1  the format number      a newer file says so, whatever else is in it
    2  the checksum           an accident ends here: every flipped bit, every lost byte
    3  the layout             the fields of this format, one per line, in order
    4  each value by itself   types, lengths before contents, ranges before narrowing
    5  the whole              ``validate.py``: is it a tree?

From 3 on we only meet files that somebody made on purpose. Nothing in a file is executed, imported, opened or
constructed by name; the only parser is the standard library's JSON, one line at a time.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treewise._version import __version__
from treewise.errors import ModelFormatError
from treewise.formats.model_file.header import (
    MOST_DIGITS,
    check_criterion,
    columns_from,
    history_from,
    notes_from,
    quartiles_from,
    shown,
    target_from,
    text,
)
from treewise.formats.model_file.layout import FORMAT, LISTS, checksum, may_fill, stored_arrays
from treewise.formats.model_file.packing import excerpt, read_array
from treewise.formats.model_file.validate import check_nodes
from treewise.tree.arrays import Arrays, Target
from treewise.tree.tree import Tree

MOST_NESTED = 64
DTYPES: dict[str, type[np.generic]] = {
    "parent": np.int64, "kind": np.uint8, "column": np.int32, "cut": np.float64, "cut_int": np.int64,
    "missing": np.int32, "other": np.int32, "code_start": np.int64, "codes": np.int32, "stop": np.uint8,
    "rows": np.int64, "missing_rows": np.int64, "weight": np.float64, "impurity": np.float64, "gain": np.float64,
    "label": np.int32, "count_start": np.int64, "count_class": np.int32, "count_weight": np.float64,
    "value": np.float64, "spread": np.float64,
}  # fmt: skip

_BEGINNING = re.compile(rb'\{\s*"format"\s*:\s*([0-9]{1,9})\s*[,}]')
_ENDING = re.compile(rb'"sha256": "([0-9a-f]{64})"\}\n')
_LENGTH_OF_ENDING = len('"sha256": ""}\n') + 64
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')


def tree_of(content: bytes, number: int) -> Tree:
    """Read a model file of a format, or raise ModelFormatError with what is wrong; the caller says in which file."""
    lines = JsonLines(content, check_ending(content))
    tree = _read_tree(lines, number)
    lines.expect_end()
    check_nodes(tree.arrays, tree.encodings, tree.target)
    return tree


# -- 1 and 2: format and checksum -------------------------------------------------------------------------------------


def check_format(content: bytes, name: str) -> int:
    """Return the format number, which stands first in every format there will be.

    >>> check_format(b'{"format": 4, ', "m.json")                           # doctest: +ELLIPSIS
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: m.json is format 4; this treewise (...) reads up to 3. pip install -U treewise.
    """
    found = _BEGINNING.match(content[:200])
    if found is None:
        what = "it is empty" if not content else 'it does not begin with {"format": …'
        raise ModelFormatError(f"{name} is not a treewise model: {what}. Nothing was loaded.")
    if not 1 <= int(found[1]) <= FORMAT:
        raise ModelFormatError(
            f"{name} is format {int(found[1])}; this treewise ({__version__}) reads up to {FORMAT}."
            " pip install -U treewise."
        )
    return int(found[1])


def check_ending(content: bytes) -> int:
    """Compare the checksum with the content before it, and return where that ends."""
    end = len(content) - _LENGTH_OF_ENDING
    found = _ENDING.fullmatch(content[end:]) if end > 0 else None
    if found is None:
        changed = ": its line ends were changed to CRLF" if b"\r\n" in content[:200] else ": it was cut short or edited"
        raise ModelFormatError(f"it does not end with its checksum{changed}")
    says, has = found[1].decode(), checksum(memoryview(content)[:end])
    if says != has:
        raise ModelFormatError(f"checksum differs (the last line says {says[:8]}…, the content gives {has[:8]}…)")
    return end


# -- 3: layout --------------------------------------------------------------------------------------------------------


class JsonLines:
    """A file's lines before the checksum, taken one after another."""

    def __init__(self, content: bytes, end: int) -> None:
        self.content, self.end, self.at, self.number = content, end, 0, 0

    def take(self) -> bytes:
        """Return the next line."""
        end = self.content.find(b"\n", self.at, self.end)
        if end < 0:
            raise ModelFormatError(f"line {self.number + 1} is not there")
        line = self.content[self.at : end]
        self.at, self.number = end + 1, self.number + 1
        return line

    def expect(self, wanted: str) -> None:
        """Read a fixed line."""
        found = self.take()
        if found != wanted.encode():
            raise ModelFormatError(f"line {self.number} should be {wanted} but is {excerpt(found)}")

    def field(self, name: str, comma: bool = True) -> bytes:
        """Read the line of a field, and return its value."""
        line, beginning = self.take(), f'"{name}": '.encode()
        if not line.startswith(beginning) or line.endswith(b",") != comma:
            what = "followed by a comma" if comma else "the last of its block"
            raise ModelFormatError(f'line {self.number} should be "{name}", {what}, but is {excerpt(line)}')
        return line[len(beginning) : -1] if comma else line[len(beginning) :]

    def value(self, name: str) -> Any:
        """Read the line of a field, and return its parsed value."""
        return parse(self.field(name), f"line {self.number}")

    def block(self, name: str) -> list[Any]:
        """Read a list with one item per line."""
        self.expect(f'"{name}": [')
        items: list[Any] = []
        comma = True
        while (line := self.take()) != b"],":
            if not comma:
                raise ModelFormatError(f"line {self.number - 1} should end with a comma")
            comma = line.endswith(b",")
            items.append(parse(line[:-1] if comma else line, f"line {self.number}"))
        if items and comma:
            raise ModelFormatError(f"line {self.number - 1} should not end with a comma")
        return items

    def expect_end(self) -> None:
        """Raise unless everything has been read."""
        if self.at != self.end:
            raise ModelFormatError(f"line {self.number + 1} should be the checksum, the last line")


# -- 4: values --------------------------------------------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raise for duplicate fields."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFormatError("a field stands there twice")
    return found


def _small_integer(digits: str) -> int:
    """Read a whole number; one of more than 64 bits is refused before it is computed."""
    if len(digits) > MOST_DIGITS + digits.startswith("-"):
        raise ModelFormatError("a whole number has too many digits")
    return int(digits)


def _finite_float(digits: str) -> float:
    """Read a number; one too large for a double is refused."""
    number = float(digits)
    if number in (np.inf, -np.inf):
        raise ModelFormatError("a number is too large for a double")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_small_integer, parse_float=_finite_float)


def parse(line: bytes, where: str) -> Any:
    """Parse one line of JSON, with a limit on nesting."""
    try:
        written = line.decode("utf-8")
        _check_nesting(written)
        return _DECODER.decode(written)
    except UnicodeDecodeError as error:
        raise ModelFormatError(f"{where}: byte {error.start:,} is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise ModelFormatError(f"{where} is not JSON: {error.msg} at letter {error.pos:,}") from None
    except ModelFormatError as error:
        raise ModelFormatError(f"{where}: {error}") from None


def _check_nesting(written: str) -> None:
    """Refuse JSON that is nested too deeply, before it reaches the recursive parser."""
    if written.count("[") + written.count("{") <= MOST_NESTED:
        return
    depth = 0
    for bracket in re.finditer(r"[][{}]", _STRING.sub("", written)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MOST_NESTED:
            raise ModelFormatError(f"it is nested more than {MOST_NESTED} deep")


def _read_tree(lines: JsonLines, number: int) -> Tree:
    """Read the fields in order and build the tree; format 1 had no quartiles."""
    lines.expect("{")
    lines.expect(f'"format": {number},')
    text(lines.value("treewise"), "treewise")
    target = target_from(lines.value("target"))
    criterion = check_criterion(lines.value("criterion"), target.task)
    empty_branch = read_empty_branch(lines)
    encodings = columns_from(lines.block("columns"))
    quartiles = quartiles_from(lines.value("quartiles"), encodings) if number > 1 else {}
    history = history_from(lines.block("history"), target)
    notes = notes_from(lines.value("notes"))
    arrays = _read_nodes(lines, target)
    return Tree(encodings, target, arrays, criterion, empty_branch, history, notes, quartiles)


def read_empty_branch(lines: JsonLines) -> Literal["parent", "root"]:
    """Read whose distribution a branch without rows predicts."""
    found = lines.value("empty_branch")
    if found not in ("parent", "root"):
        raise ModelFormatError(f"empty_branch is {shown(found)}: it must be parent or root")
    return "root" if found == "root" else "parent"


def _read_nodes(lines: JsonLines, target: Target) -> Arrays:
    """Read the arrays of the nodes; ``parent`` comes first, and must have as many entries as announced."""
    lines.expect('"nodes": {')
    count = lines.value("count")
    if type(count) is not int or count < 1:
        raise ModelFormatError(f"nodes.count is {shown(count)}: a tree has a root at least")
    names = stored_arrays(target.task)
    found: dict[str, npt.NDArray[Any]] = {}
    for name in names:
        length = count + name.endswith("_start")
        if name in LISTS:
            length = _length_of(LISTS[name], found[LISTS[name]])
        value = lines.field(name, comma=name != names[-1])
        found[name] = read_array(value, DTYPES[name], length, f"nodes.{name}", may_fill(name))
    lines.expect("},")
    empty: dict[str, npt.NDArray[Any]] = {name: np.empty(0, dtype) for name, dtype in DTYPES.items()}
    if target.task == "regression":
        empty["count_start"] = np.zeros(count + 1, np.int64)
    arrays = {**empty, **found}
    for array in arrays.values():
        array.flags.writeable = False
    return Arrays(**arrays)


def _length_of(name: str, start: npt.NDArray[np.int64]) -> int:
    """Return how many items the lists have together, by where the last one ends."""
    length = int(start[-1])
    if length < 0:
        raise ModelFormatError(f"nodes.{name}[{len(start) - 1}] is {length}: a list cannot end before it begins")
    return length
