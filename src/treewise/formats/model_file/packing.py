"""Write and read one array of a model file: as a JSON list, or packed as base64 of its bytes.

Used by ``model_file.py``, which writes and reads whole files.

    [0.5,NaN,1e+300]         a list: each number by its shortest repr, which reads back to the same bits
    {"int16":"AAD//w=="}     packed: little-endian, in the narrowest type that holds every number exactly
    {"fill":-1}              packed: the same number for every node

Nothing is compressed, so the memory that a file can claim is bounded by its size. An array must have exactly the
announced length, and is checked in its wide type before it is narrowed to the tree's.
"""

from __future__ import annotations

import binascii
import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.errors import ModelFormatError

Array = npt.NDArray[Any]

INTEGER_TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "int64")  # the narrower first
FLOAT_TYPES = ("float32", "float64")
_EXACT = 2**53  # up to here every whole number is a double
_PIECE = 1 << 18  # bytes or numbers handled at a time, so that little memory beyond the array is needed

_PACKED = re.compile(rb'\{"(u?int(?:8|16|32|64)|float32|float64)":"([A-Za-z0-9+/]*={0,2})"\}')
_FILL = re.compile(rb'\{"fill":([-+.0-9A-Za-z]{1,30})\}')
_NUMBERS = re.compile(rb"[-+.,0-9eEINafinty]*+")  # digits, and the letters of NaN, Infinity and 1e+300


# -- writing ----------------------------------------------------------------------------------------------------------


def write_list(array: Array) -> str:
    """Write an array as a JSON list.

    >>> write_list(np.array([0.1, np.nan, -np.inf, 1e300]))
    '[0.1,NaN,-Infinity,1e+300]'
    """
    return json.dumps(array.tolist(), separators=(",", ":"))


def write_packed(array: Array, may_fill: bool) -> str:
    """Write an array packed.

    >>> write_packed(np.array([0.0, 1.0, -1.0]), may_fill=True), write_packed(np.full(9, np.nan), may_fill=True)
    ('{"int8":"AAH/"}', '{"fill":NaN}')
    """
    array = plain_nan(array)
    if may_fill and len(array) and np.all(bits(array) == bits(array)[0]):
        return f'{{"fill":{json.dumps(array[0].item())}}}'
    narrow = narrowest(array)
    data = narrow.astype(narrow.dtype.newbyteorder("<"), copy=False).tobytes()
    return f'{{"{narrow.dtype.name}":"{binascii.b2a_base64(data, newline=False).decode()}"}}'


def plain_nan(array: Array) -> Array:
    """Replace every NaN by the same one: sign and payload mean nothing and must not change the file."""
    if array.dtype.kind != "f" or not np.isnan(array).any():
        return array
    return np.where(np.isnan(array), np.nan, array)


def bits(array: Array) -> Array:
    """Return the numbers as bit patterns, in which -0.0 is not 0.0."""
    return array.view(np.int64) if array.dtype.kind == "f" else array


def narrowest(array: Array) -> Array:
    """Return the array in the narrowest type that holds every number to the bit.

    >>> [narrowest(np.array(a)).dtype.name for a in ([3, 200], [-1, 200], [3.0, 7.0], [0.5, np.inf], [0.1], [-0.0])]
    ['uint8', 'int16', 'uint8', 'float32', 'float64', 'float32']
    """
    if not len(array):
        return array.astype(np.uint8)
    if array.dtype.kind == "f":
        if array.min() >= -_EXACT and array.max() <= _EXACT and _keeps_bits(array, np.int64):
            return narrowest(array.astype(np.int64))
        return array.astype(np.float32) if _keeps_bits(array, np.float32) else array
    low, high = int(array.min()), int(array.max())
    limits = ((np.iinfo(name), name) for name in INTEGER_TYPES)
    return array.astype(next(name for limit, name in limits if limit.min <= low and high <= limit.max))


def _keeps_bits(array: Array, dtype: npt.DTypeLike) -> bool:
    """Return whether doubles are the same to the bit after they have been converted to a type and back."""
    with np.errstate(over="ignore"):
        return all(
            np.array_equal(bits(piece.astype(dtype).astype(np.float64)), bits(piece))
            for piece in (array[i : i + _PIECE] for i in range(0, len(array), _PIECE))  # to need little memory
        )


# -- reading ----------------------------------------------------------------------------------------------------------


def decode_array(
    text: bytes, dtype: npt.DTypeLike, length: int, where: str, may_fill: bool = False, max_bytes: int | None = None
) -> Array:
    """Read an array in any of its forms, of exactly this length, and of no more than ``max_bytes`` in memory.

    >>> decode_array(b"[3,4]", np.int32, 2, "nodes.codes")
    array([3, 4], dtype=int32)
    >>> decode_array(b"[3,400]", np.uint8, 2, "nodes.stop")
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: nodes.stop[1] is 400: out of range
    """
    target = np.dtype(dtype)
    is_too_large = max_bytes is not None and length * target.itemsize > max_bytes
    if text.startswith(b"["):
        return _read_list(text, target, length, where)
    if packed := _PACKED.fullmatch(text):
        digits = memoryview(text)[slice(*packed.span(2))]
        _check_packed_length(packed[1].decode(), digits, target, length, where)
        if not is_too_large:
            return _unpack(packed[1].decode(), digits, target, length, where)
    elif fill := _FILL.fullmatch(text):
        if not may_fill:
            raise ModelFormatError(f"{where} cannot be a fill")
        filler = _read_list(b"[" + fill[1] + b"]", target, 1, where)
        if not is_too_large:
            return np.full(length, filler[0], target)
    if is_too_large:
        raise ModelFormatError(f"{where} has {length:,} numbers: too many for the size of the file")
    raise ModelFormatError(f"{where} is neither a list, nor packed, nor a fill: {excerpt(text)}")


def _read_list(text: bytes, target: np.dtype[Any], length: int, where: str) -> Array:
    """Read a JSON list of numbers, piece by piece."""
    if not text.endswith(b"]"):
        raise ModelFormatError(f"{where} is an unterminated list")
    pieces, count, at, end = [], 0, 1, len(text) - 1
    while at < end:
        stop = text.find(b",", min(at + _PIECE, end), end)
        stop = end if stop < 0 else stop
        pieces.append(_read_piece(text[at:stop], target, where, count))
        count += len(pieces[-1])
        if count > length:
            break
        at = stop + 1
    if count != length or (length and text[end - 1 : end] == b","):
        more = " or more" if count > length else ""
        raise ModelFormatError(f"{where} has {plural(count, 'number')}{more}: {length:,} are needed")
    return np.concatenate(pieces) if pieces else np.empty(0, target)


def _read_piece(text: bytes, target: np.dtype[Any], where: str, first: int) -> Array:
    """Read some numbers of a list, the first of which is number ``first``."""
    if not _NUMBERS.fullmatch(text):  # so nothing is nested, and no string is among them
        raise ModelFormatError(f"{where} contains something that is not a number, after number {first:,}")
    if _has_too_many_digits(text):
        raise ModelFormatError(f"{where} contains a number with too many digits, after number {first:,}")
    try:
        values = json.loads(b"[" + text + b"]")
    except ValueError:
        raise ModelFormatError(f"{where} contains something that is not a number, after number {first:,}") from None
    expected = float if target.kind == "f" else int
    if set(map(type, values)) - {expected}:
        at = next(i for i, v in enumerate(values) if type(v) is not expected)
        kind = "a whole number" if expected is int else "a number with a point or exponent"
        raise ModelFormatError(f"{where}[{first + at}] is {values[at]}: it must be {kind}")
    if expected is int:
        return _narrow_to(_wide_integers(values, where, first), target, where, first)
    array = np.array(values, np.float64)
    if np.count_nonzero(np.isinf(array)) != text.count(b"Infinity"):
        raise ModelFormatError(f"{where} contains a number too large for a double, after number {first:,}")
    return array


def _has_too_many_digits(text: bytes) -> bool:
    """Return whether some number has more digits than any double or 64-bit integer we write."""
    return re.search(rb"[0-9]{25}", text) is not None


def _wide_integers(values: list[int], where: str, first: int) -> Array:
    """Return integers as int64; larger ones are refused."""
    try:
        return np.array(values, np.int64)
    except OverflowError:
        at = next(i for i, v in enumerate(values) if not -(2**63) <= v < 2**63)
        raise ModelFormatError(f"{where}[{first + at}] is {values[at]}: out of range") from None


def _narrow_to(array: Array, target: np.dtype[Any], where: str, first: int = 0) -> Array:
    """Convert integers to the type of the tree's array; raise if they do not fit."""
    limit = np.iinfo(target)
    if len(array) and (array.min() < limit.min or array.max() > limit.max):  # masks would take memory
        at = int(np.argmax((array < limit.min) | (array > limit.max)))
        raise ModelFormatError(f"{where}[{first + at}] is {array[at]}: out of range")
    return array.astype(target, copy=False)


def _check_packed_length(name: str, text: memoryview, target: np.dtype[Any], length: int, where: str) -> None:
    """Raise unless the type of packed numbers is possible and the text has the right length."""
    if name not in (*INTEGER_TYPES, *FLOAT_TYPES) or (name in FLOAT_TYPES and target.kind != "f"):
        raise ModelFormatError(f"{where} cannot be packed as {name}")
    needed = length * np.dtype(name).itemsize
    if len(text) != 4 * ((needed + 2) // 3):
        raise ModelFormatError(f"{where} has {len(text):,} characters of base64, which do not fit {length:,} numbers")


def _unpack(name: str, text: memoryview, target: np.dtype[Any], length: int, where: str) -> Array:
    """Read packed numbers whose length has been checked: first bytes, then ranges."""
    stored = np.dtype(name).newbyteorder("<")
    needed = length * stored.itemsize
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error as error:
        raise ModelFormatError(f"{where} is not base64: {error}") from None
    if len(data) != needed:
        raise ModelFormatError(f"{where} has {len(data):,} bytes: {needed:,} are needed")
    array = np.frombuffer(data, stored)
    if target.kind != "f":
        return _narrow_to(array, target, where)
    if name == "int64" and np.any((array > _EXACT) | (array < -_EXACT)):
        raise ModelFormatError(f"{where} contains whole numbers past 2^53, which are not exact as doubles")
    with np.errstate(invalid="ignore"):  # some NaNs of 32 bits
        return array.astype(np.float64)


def excerpt(text: bytes) -> str:
    """Return the beginning of a line for an error."""
    return safe(text[:40].decode("utf-8", "replace")) + ("…" if len(text) > 40 else "")
