"""What a picture is made of: boxes, words, lines and bands with their places; no file format yet.

Stands between ``compose.py``, which makes a scene of a tree, and those who put it on paper: ``svg.py`` and ``press.py``
(PNG and PDF). One scene, so every form shows the same. The unit is the pixel of CSS, 1/96 inch; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treewise.show.picture.fills import PAPER, WORDS, Fill

Point = tuple[float, float]
Segment = tuple[float, float, float, float]  # from x, y to x, y


@dataclass(frozen=True)
class BoxShape:
    """A rectangle, perhaps with round corners."""

    x: float
    y: float
    width: float
    height: float
    fill: str = PAPER
    stroke: str | None = None
    stroke_width: float = 1.0
    radius: float = 0.0
    dashed: bool = False


@dataclass(frozen=True)
class TextShape:
    """A line of text, from its left end (``start``), about its middle, or up to its right end, on its base line."""

    x: float
    y: float
    text: str
    size: float
    bold: bool = False
    colour: str = WORDS
    anchor: str = "start"


@dataclass(frozen=True)
class LineShape:
    """Straight lines of one colour and width."""

    segments: tuple[Segment, ...]
    colour: str
    width: float
    opacity: float = 1.0


@dataclass(frozen=True)
class BandShape:
    """A way from one place to another: straight from the first point to the second, bent by the third and fourth on
    the way to the fifth (a cubic of Bézier's), straight to the last.
    """

    points: tuple[Point, Point, Point, Point, Point, Point]
    colour: str
    width: float
    dashed: bool = False


@dataclass(frozen=True)
class ShapeGroup:
    """Parts that belong together, with the full text that is shown when one points at them."""

    title: str
    parts: tuple[Part, ...]
    name: str = ""  # what it is, for programs: "node 3"


Shape = BoxShape | TextShape | LineShape | BandShape
Part = Shape | ShapeGroup


@dataclass(frozen=True)
class VectorScene:
    """All parts, in the order in which they are painted, and how large the paper is."""

    width: float
    height: float
    title: str
    parts: tuple[Part, ...]

    def shapes(self) -> Iterator[Shape]:
        """Go through the shapes as they are painted."""
        left = list(reversed(self.parts))
        while left:
            part = left.pop()
            if isinstance(part, ShapeGroup):
                left.extend(reversed(part.parts))
            else:
                yield part


def filled(x: float, y: float, width: float, height: float, ink: Fill) -> list[BoxShape | LineShape]:
    """Fill a rectangle with an ink, hatching included."""
    parts: list[BoxShape | LineShape] = [BoxShape(x, y, width, height, ink.colour)]
    if segments := tuple(hatched(x, y, width, height, ink.hatching)):
        parts.append(LineShape(segments, PAPER, 1.1, 0.75))
    return parts


def hatched(x: float, y: float, width: float, height: float, hatching: str, apart: float = 5.0) -> Iterator[Segment]:
    """Yield the lines of a hatching within a rectangle.

    They are lines of the picture, not a pattern to refer to: a reference may meet another picture of the same page.
    """
    right, bottom = x + width, y + height
    if hatching in ("/", "x"):
        yield from _slanted(x, y, width, height, apart)
    if hatching in ("\\", "x"):
        for x1, y1, x2, y2 in _slanted(x, y, width, height, apart):
            yield x1, y + bottom - y1, x2, y + bottom - y2
    if hatching in ("|", "+"):
        for i in range(1, int(width / apart) + 1):
            yield x + i * apart - 1, y, x + i * apart - 1, bottom
    if hatching in ("-", "+"):
        for i in range(1, int(height / 3) + 1):
            yield x, y + 3 * i - 1, right, y + 3 * i - 1


def _slanted(x: float, y: float, width: float, height: float, apart: float) -> Iterator[Segment]:
    """Yield rising lines, cut off at the rectangle's edges."""
    for i in range(1, int((width + height) / apart) + 1):
        along = i * apart - 1  # where the line meets the upper edge, or would
        low, high = max(0.0, along - height), min(width, along)
        if high > low:
            yield x + low, y + along - low, x + high, y + along - high
