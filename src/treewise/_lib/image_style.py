"""The size, font size and resolution of a picture: the options that every function and verb that draws has.

``size`` is in inches, as in matplotlib and slide programs (13.33 × 7.5 for 16:9); ``font_size`` is that of ordinary
text in points; all else is scaled with it. ``dpi`` is the resolution of PNG files.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from treewise.errors import ParameterError

_MAX_INCHES, _MAX_FONT_SIZE, _MAX_DPI = 200.0, 200.0, 2400


class ImageOptions(TypedDict, total=False):
    """The keyword arguments of everything that draws."""

    path: str | os.PathLike[str] | None  # write the picture to this file: .png, .svg or .pdf
    size: str | Sequence[float] | None
    font_size: float | None
    dpi: int | None


@dataclass(frozen=True)
class ImageStyle:
    """The checked options; None is the default of each kind of picture."""

    size: tuple[float, float] | None = None  # inches
    font_size: float | None = None  # points
    dpi: int | None = None

    @classmethod
    def check(
        cls, size: str | Sequence[float] | None = None, font_size: float | None = None, dpi: int | None = None
    ) -> ImageStyle:
        """Return the style, or raise an error that names the option.

        >>> ImageStyle.check("13.33x7.5", 18)
        ImageStyle(size=(13.33, 7.5), font_size=18, dpi=None)
        >>> ImageStyle.check(size=(16, 9, 2))
        Traceback (most recent call last):
        treewise.errors.ParameterError: size=(16, 9, 2): must be width and height in inches, such as (16, 9) or "16x9".
        """
        inches = None if size is None else _read_size(size)
        if font_size is not None and not _is_between(font_size, 1, _MAX_FONT_SIZE):
            raise ParameterError("must be a number of points from 1 to 200.", parameter="font_size", value=font_size)
        if dpi is not None and (isinstance(dpi, bool) or not isinstance(dpi, int) or not 10 <= dpi <= _MAX_DPI):
            raise ParameterError("must be a whole number from 10 to 2400.", parameter="dpi", value=dpi)
        return cls(inches, font_size, dpi)

    @property
    def is_default(self) -> bool:
        """Whether no option is given."""
        return self == ImageStyle()


def _read_size(size: str | Sequence[float]) -> tuple[float, float]:
    parts: Sequence[Any] = size.lower().replace("×", "x").split("x") if isinstance(size, str) else tuple(size)
    try:
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != 2 or not all(_is_between(number, 0.5, _MAX_INCHES) for number in numbers):
        raise ParameterError(
            'must be width and height in inches, such as (16, 9) or "16x9".', parameter="size", value=size
        )
    return numbers[0], numbers[1]


def _is_between(value: object, low: float, high: float) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and low <= value <= high  # type: ignore[operator, arg-type]
