"""Texts that mean "missing" to one of two trees only (``na_values``): to the other they are values like any other.

Stands under ``space.py``, where each becomes a cell of its own: there one tree goes where missing values go, and the
other by the value. What is missing to both, or on a column that only one of them asks about, is simply missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treewise._lib.text import safe
from treewise.data.convert import BOOLEANS, EXACT
from treewise.data.encoding import INT64_MAX, INT64_MIN, Encoding
from treewise.data.parse_cells import number_of, read_moments
from treewise.errors import Param, ParameterError
from treewise.predict.predict import na_values, refuses_missing
from treewise.tree.tree import Tree


@dataclass(frozen=True)
class AxisMarkers:
    """The texts that are missing to the first tree only and to the second only, and those that are so to all."""

    own: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    shared: tuple[str, ...] = ()

    @classmethod
    def of(cls, users: Sequence[Tree], encoding: Encoding, names: tuple[str, str]) -> AxisMarkers:
        """Read those of the trees that ask about a column; refuse what cannot be told apart."""
        texts = [na_values(tree) for tree in users]
        if len(users) == 1:
            return cls(shared=texts[0])
        keys = [set(map(same_text, some)) for some in texts]
        own = [
            tuple(t for t in texts[i] if same_text(t) not in keys[1 - i]) * (not refuses_missing(users[i]))
            for i in (0, 1)
        ]
        for name, some in zip(names, own, strict=True):
            for text in some:
                if is_odd(text, encoding):
                    raise ParameterError(
                        f'column "{safe(encoding.name)}": "{safe(text)}" means missing to {name} only: the trees cannot be'
                        " compared.",
                        hint="Grow both with the same " + Param("na_values") + ".",
                    )
        return cls((own[0], own[1]), tuple(t for t in texts[0] if same_text(t) in keys[1]))


def same_text(text: str) -> str | float | int:
    """Return what two markers that mean the same cells have in common.

    >>> same_text("-999") == same_text("-999.0"), same_text(" ?")
    (True, '?')
    """
    value = number_of(text)
    return text.strip() if value is None else value


def is_odd(text: str, encoding: Encoding) -> bool:
    """Tell whether a marker is a value of a column that has no room for one more: true, false, or a moment."""
    if encoding.kind == "boolean":
        return text.strip().lower() in BOOLEANS or number_of(text) in (0, 1)
    return encoding.kind == "datetime" and read_moments([text]) is not None


def numbers_of(texts: Iterable[str], encoding: Encoding) -> list[float | int]:
    """Return the markers that are numbers of a column."""
    if encoding.kind not in ("number", "integer"):
        return []
    values = [value for value in map(number_of, texts) if value is not None]
    if encoding.kind == "integer":
        return [int(v) for v in values if INT64_MIN < v <= INT64_MAX and v == int(v)]
    return [float(v) if abs(v) < EXACT else v for v in values]


def just_below(value: float | int, encoding: Encoding) -> float | int:
    """Return a cut with nothing of the column between it and a value.

    >>> just_below(5, Encoding("n", "integer")), just_below(math.inf, Encoding("x", "number")) < math.inf
    (4, True)
    """
    if encoding.kind == "integer" or (math.isfinite(value) and abs(value) >= EXACT):
        return int(value) - 1
    return math.nextafter(value, -math.inf)
