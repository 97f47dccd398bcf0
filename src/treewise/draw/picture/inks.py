"""How areas of a picture are filled: the palette's colours, each class with a hatching of its own for grey print.

Stands beside ``scene.py``, on ``draw/palette.py``. Colour only doubles what is written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from treewise.draw.palette import HUES, UNKNOWN, hue, scale, tint

PAPER, WORDS, FACTS, FRAME, BAND = "#FFFFFF", "#1C2330", "#566070", "#AAB3C0", "#D3DAE3"
HATCHINGS = ("", "/", "|", "\\", "x", "-", "+")


@dataclass(frozen=True)
class Ink:
    """How an area is filled: a colour, and the lines drawn over it."""

    colour: str
    hatching: str = ""

    @property
    def pale(self) -> str:
        """The colour as a ground on which text stays readable."""
        return tint(self.colour, 0.14)


REST = Ink(UNKNOWN, "x")  # classes too small to be drawn, or none


def of_class(place: int) -> Ink:
    """Return the ink of the class at this place among the classes; 56 of them differ.

    >>> of_class(0), of_class(1), of_class(8) == of_class(0)
    (Ink(colour='#0072B2', hatching=''), Ink(colour='#E69F00', hatching='/'), False)
    """
    if place < 0:
        return REST
    turns, colour = divmod(place, len(HUES))
    return Ink(hue(place), HATCHINGS[(colour + turns) % len(HATCHINGS)])


def of_value(share: float) -> Ink:
    """Return the ink of a number by where it lies between the lowest (0) and the highest (1)."""
    return REST if math.isnan(share) else Ink(scale(share))


def share_between(value: float, low: float, high: float) -> float:
    """Return where a number lies between two others, 0 to 1; NaN where that cannot be said.

    >>> share_between(3.0, 2.0, 4.0), share_between(9.0, 2.0, 4.0), share_between(0.0, -1.7e308, 1.7e308)
    (0.5, 1.0, 0.5)
    """
    if not low < high or math.isnan(value):
        return math.nan
    return min(max((value / 2 - low / 2) / (high / 2 - low / 2), 0.0), 1.0)  # half of each: the whole may be too large
