"""The vocabulary of a picture: shapes with positions, fills, and the widths of text; independent of any file format.

``build_scene.py`` makes a ``VectorScene`` of a tree, ``render.py`` turns it into SVG, PNG or PDF, so every format shows
the same. The unit is the CSS pixel, 1/96 inch; y grows downwards. Colour only repeats what is written: each class also
has a hatching of its own for greyscale print.

Text widths are computed without fonts, so that boxes can be drawn around texts. A letter is as wide as in DejaVu Sans
or in Helvetica, whichever is wider: matplotlib ships DejaVu Sans, which PNG and PDF use; browsers render SVG in the
first available of Segoe UI, Helvetica, Arial (as wide as Helvetica) and DejaVu Sans. A test compares the widths with
the fonts.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from treewise.show.palette import CLASS_COLOURS, UNKNOWN_COLOUR, class_colour, scale_colour, tint

BACKGROUND, TEXT, MUTED_TEXT, FRAME, EDGE = "#FFFFFF", "#1C2330", "#566070", "#AAB3C0", "#D3DAE3"
_HATCHINGS = ("", "/", "|", "\\", "x", "-", "+")


@dataclass(frozen=True)
class Fill:
    """The fill of an area: a colour, and the hatching drawn over it."""

    colour: str
    hatching: str = ""

    @property
    def pale(self) -> str:
        """The colour as a background on which text stays readable."""
        return tint(self.colour, 0.14)


OTHER_CLASSES = Fill(UNKNOWN_COLOUR, "x")  # classes too small to be drawn, or none


def class_fill(class_index: int) -> Fill:
    """Return the fill of a class by its index; 224 of them differ.

    >>> class_fill(0), class_fill(1), class_fill(32) == class_fill(0)
    (Fill(colour='#0072B2', hatching=''), Fill(colour='#E69F00', hatching='/'), False)
    """
    if class_index < 0:
        return OTHER_CLASSES
    cycle, colour = divmod(class_index, len(CLASS_COLOURS))
    return Fill(class_colour(class_index), _HATCHINGS[(colour + cycle) % len(_HATCHINGS)])


def value_fill(position: float) -> Fill:
    """Return the fill of a number by its position between the lowest (0) and the highest (1)."""
    return OTHER_CLASSES if math.isnan(position) else Fill(scale_colour(position))


# -- shapes -------------------------------------------------------------------------------------------------

Point = tuple[float, float]
Segment = tuple[float, float, float, float]  # from x, y to x, y


@dataclass(frozen=True)
class BoxShape:
    """A rectangle, with rounded corners if it has a radius."""

    x: float
    y: float
    width: float
    height: float
    fill: str = BACKGROUND
    stroke: str | None = None
    stroke_width: float = 1.0
    radius: float = 0.0
    dashed: bool = False


@dataclass(frozen=True)
class TextShape:
    """A line of text, anchored on its baseline at the start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    bold: bool = False
    colour: str = TEXT
    anchor: str = "start"
    is_code: bool = False  # in a font of fixed width


@dataclass(frozen=True)
class LineShape:
    """Straight lines of one colour and width."""

    segments: tuple[Segment, ...]
    colour: str
    width: float
    opacity: float = 1.0


@dataclass(frozen=True)
class PathShape:
    """Straight lines from point to point; an area if it has a fill."""

    points: tuple[Point, ...]
    stroke: str | None = None
    width: float = 1.0
    fill: str | None = None
    opacity: float = 1.0  # of the fill
    dashes: tuple[float, ...] = ()


@dataclass(frozen=True)
class EdgeShape:
    """An edge between two boxes: a line from point 1 to 2, a Bézier curve to 5 (control points 3, 4), a line to 6."""

    points: tuple[Point, Point, Point, Point, Point, Point]
    colour: str
    width: float
    dashed: bool = False


@dataclass(frozen=True)
class ShapeGroup:
    """Parts that belong together, with the tooltip of the group."""

    title: str
    parts: tuple[Part, ...]
    name: str = ""  # for programs: "node 3"


Shape = BoxShape | TextShape | LineShape | PathShape | EdgeShape
Part = Shape | ShapeGroup


@dataclass(frozen=True)
class VectorScene:
    """All parts in painting order, and the size of the picture.

    The picture shows the scene from (left, top) on, ``width`` by ``height``, magnified by ``scale``.
    """

    width: float
    height: float
    title: str
    parts: tuple[Part, ...]
    scale: float = 1.0
    left: float = 0.0
    top: float = 0.0

    def shapes(self) -> Iterator[Shape]:
        """Yield the shapes in painting order."""
        stack = list(reversed(self.parts))
        while stack:
            part = stack.pop()
            if isinstance(part, ShapeGroup):
                stack.extend(reversed(part.parts))
            else:
                yield part


def fill_box(x: float, y: float, width: float, height: float, fill: Fill) -> list[BoxShape | LineShape]:
    """Return a filled rectangle, with its hatching."""
    parts: list[BoxShape | LineShape] = [BoxShape(x, y, width, height, fill.colour)]
    if segments := tuple(hatch_lines(x, y, width, height, fill.hatching)):
        parts.append(LineShape(segments, BACKGROUND, 1.1, 0.75))
    return parts


def hatch_lines(
    x: float, y: float, width: float, height: float, hatching: str, spacing: float = 5.0
) -> Iterator[Segment]:
    """Yield the lines of a hatching within a rectangle.

    Lines rather than an SVG pattern: the id of a pattern may clash with another picture on the same page.
    """
    right, bottom = x + width, y + height
    if hatching in ("/", "x"):
        yield from _slanted(x, y, width, height, spacing)
    if hatching in ("\\", "x"):
        for x1, y1, x2, y2 in _slanted(x, y, width, height, spacing):
            yield x1, y + bottom - y1, x2, y + bottom - y2
    if hatching in ("|", "+"):
        for i in range(1, int(width / spacing) + 1):
            yield x + i * spacing - 1, y, x + i * spacing - 1, bottom
    if hatching in ("-", "+"):
        for i in range(1, int(height / 3) + 1):
            yield x, y + 3 * i - 1, right, y + 3 * i - 1


def _slanted(x: float, y: float, width: float, height: float, spacing: float) -> Iterator[Segment]:
    """Yield rising lines, clipped to the rectangle."""
    for i in range(1, int((width + height) / spacing) + 1):
        along = i * spacing - 1  # where the line meets the upper edge, or would
        low, high = max(0.0, along - height), min(width, along)
        if high > low:
            yield x + low, y + along - low, x + high, y + along - high


# -- widths of text -----------------------------------------------------------------------------------------

# Advance widths of the characters from space to ~, in hundredths of the letter size, rounded up.
_REGULAR = (
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34,
    84, 84, 84, 56, 102, 69, 69, 73, 78, 67, 62, 78, 76, 30, 50, 67, 56, 87, 75, 79, 67, 79, 73, 67, 62, 74, 69, 99,
    69, 67, 69, 40, 34, 40, 84, 56, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53,
    40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
)  # fmt: skip
_BOLD = (
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40,
    84, 84, 84, 62, 100, 78, 77, 74, 84, 69, 69, 83, 84, 38, 56, 78, 64, 100, 84, 86, 74, 86, 78, 73, 69, 82, 78,
    111, 78, 73, 73, 46, 37, 46, 84, 56, 50, 68, 72, 60, 72, 68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72,
    50, 60, 48, 72, 66, 93, 65, 66, 59, 72, 37, 72, 84,
)  # fmt: skip
_SYMBOLS = {"…": 100, "·": 38, "–": 50, "≤": 84, "≥": 84, "→": 84, "×": 84, "±": 84}
_FIRST, _LAST = " ", "~"
_OTHER, _OTHER_BOLD, _WIDE, _PICTOGRAPH = 112, 126, 108, 140  # Щ and Ж are the widest in Cyrillic; 東; 🌲
_TOLERANCE = 1.03  # browsers round and hint


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return an upper bound on the width of a text, in the unit of its size.

    >>> text_width("Rome", 100), text_width("Rome", 100, bold=True), text_width("e\u0301", 100) == text_width("é", 100)
    (303.85, 329.6, True)
    """
    return round(sum(_advance(letter, bold) for letter in text) * size * _TOLERANCE / 100, 3)


def _advance(letter: str, bold: bool) -> int:
    """Return an upper bound on the width of a character, in hundredths of its size."""
    table = _BOLD if bold else _REGULAR
    if _FIRST <= letter <= _LAST:
        return table[ord(letter) - ord(_FIRST)]
    if letter in _SYMBOLS:
        return _SYMBOLS[letter]
    category = unicodedata.category(letter)
    if category in ("Mn", "Me"):
        return 0
    base = unicodedata.normalize("NFD", letter)[0]
    if _FIRST <= base <= _LAST:
        return table[ord(base) - ord(_FIRST)]
    if category == "So":
        return _PICTOGRAPH
    if unicodedata.east_asian_width(letter) in "WF":
        return _WIDE
    return _OTHER_BOLD if bold else _OTHER


CODE_WIDTH = 0.62  # of a letter in a font of fixed width, in its size


def clip_to_width(text: str, max_width: float, size: float, bold: bool = False) -> str:
    """Clip the middle of a text until it fits: names that begin alike often end differently.

    >>> clip_to_width("flipper_length_mm", 80, 12), clip_to_width("island", 80, 12)
    ('flippe…_mm', 'island')
    """
    if text_width(text, size, bold) <= max_width:
        return text
    low, high = 1, min(len(text), int(max_width / (0.28 * size)) + 1)  # letters kept: at most as many as thin ones fit
    while low < high:
        n_kept = (low + high + 1) // 2
        if text_width(_without_middle(text, n_kept), size, bold) <= max_width:
            low = n_kept
        else:
            high = n_kept - 1
    return _without_middle(text, low)


def _without_middle(text: str, n_kept: int) -> str:
    end = n_kept * 2 // 5
    return f"{text[: n_kept - end]}…{text[len(text) - end :]}"
