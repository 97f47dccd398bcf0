"""How areas of a picture are filled: the palette's colours, each class with a hatching of its own for grey print.

Stands beside ``scene.py``, on ``show/palette.py``. Colour only doubles what is written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from treewise.show.palette import HUES, UNKNOWN, hue, scale, tint

PAPER, WORDS, FACTS, FRAME, BAND = "#FFFFFF", "#1C2330", "#566070", "#AAB3C0", "#D3DAE3"
HATCHINGS = ("", "/", "|", "\\", "x", "-", "+")


@dataclass(frozen=True)
class Fill:
    """How an area is filled: a colour, and the lines drawn over it."""

    colour: str
    hatching: str = ""

    @property
    def pale(self) -> str:
        """The colour as a ground on which text stays readable."""
        return tint(self.colour, 0.14)


REST = Fill(UNKNOWN, "x")  # classes too small to be drawn, or none


def of_class(place: int) -> Fill:
    """Return the ink of the class at this place among the classes; 56 of them differ.

    >>> of_class(0), of_class(1), of_class(8) == of_class(0)
    (Fill(colour='#0072B2', hatching=''), Fill(colour='#E69F00', hatching='/'), False)
    """
    if place < 0:
        return REST
    turns, colour = divmod(place, len(HUES))
    return Fill(hue(place), HATCHINGS[(colour + turns) % len(HATCHINGS)])


def of_value(share: float) -> Fill:
    """Return the ink of a number by where it lies between the lowest (0) and the highest (1)."""
    return REST if math.isnan(share) else Fill(scale(share))
