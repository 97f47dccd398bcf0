"""Validators of parameters, and conversions of numbers given by the user.

Every package may use them. A check returns nothing; it raises a ``ParameterError`` that names the parameter, the value
and the rule.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any

from treewise.errors import ParameterError, PythonOnly, did_you_mean

_MAX_COUNT = 2**63 - 1  # rows, nodes and levels are counted in 64 bits
MAX_FLOAT = sys.float_info.max


def to_python_number(value: Any) -> Any:
    """Turn NumPy's numbers into Python's, which a model file can hold; everything else stays as it is.

    >>> import numpy as np
    >>> [to_python_number(value) for value in (np.int64(3), np.float32(0.5), "gini", True)]
    [3, 0.5, 'gini', True]
    """
    if isinstance(value, bool | int | float | str):
        return value
    count = as_integer(value)
    if count is not None:
        return count
    return float(value) if isinstance(value, Real) else value


def as_integer(value: Any) -> int | None:
    """Return a whole number of any type as an int; None if it is not a whole number."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


@lru_cache(maxsize=64)
def decimal_fraction(share: float) -> Fraction:
    """Return a share as the decimal the user wrote: 0.07 of 100 is 7, not 7.000000000000001.

    >>> decimal_fraction(0.07) * 100
    Fraction(7, 1)
    """
    return Fraction(repr(float(share))).limit_denominator(10**17)


def check_choice(name: str, value: object, known: Collection[str]) -> None:
    """Check a word against the known ones."""
    if not isinstance(value, str) or value not in known:
        raise ParameterError(
            f"must be one of {', '.join(known)}.", parameter=name, value=value, hint=did_you_mean(value, known)
        )


def check_integer(name: str, value: object, minimum: int, none: str = "", maximum: int | None = None) -> None:
    """Check a whole number (None allowed where ``none`` says what it means)."""
    if value is None and none:
        return
    count = as_integer(value)
    if count is None or not minimum <= count <= (maximum or _MAX_COUNT):
        upto = (
            f"from {minimum} to {maximum or _MAX_COUNT}"
            if maximum or (count or 0) > _MAX_COUNT
            else f"{minimum} or more"
        )
        raise ParameterError(
            f"must be a whole number, {upto}" + PythonOnly(f", or {none}" if none else "") + ".",
            parameter=name,
            value=value,
        )


def check_count_or_share(name: str, value: object, minimum: int) -> None:
    """Check a minimum number of rows, or a share of them."""
    if isinstance(value, float) and 0.0 < value <= 1.0:
        return
    count = as_integer(value)
    if count is not None and minimum <= count <= _MAX_COUNT:
        return
    raise ParameterError(
        f"must be a whole number, {minimum} or more, or a share above 0 and up to 1.0.", parameter=name, value=value
    )


def check_max_features(name: str, value: object) -> None:
    """Check how many columns a node considers: a number, a share, ``"sqrt"`` or ``"log2"``."""
    if value is None or (isinstance(value, str) and value in ("sqrt", "log2")):
        return
    count = as_integer(value)
    if (count is not None and 1 <= count <= _MAX_COUNT) or (isinstance(value, float) and 0.0 < value <= 1.0):
        return
    raise ParameterError(
        'must be "sqrt" or "log2", or a whole number of columns, or a share of them above 0 and up to 1'
        + PythonOnly(", or None for the usual number")
        + ".",
        parameter=name,
        value=value,
    )


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Check a number against a closed range."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= min(high, MAX_FLOAT):
        upto = f"between {low:g} and {high:g}" if high < math.inf else f"{low:g} or more"
        raise ParameterError(f"must be a number {upto}.", parameter=name, value=value)
