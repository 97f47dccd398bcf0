"""Colours of all pictures: one per class, a scale for numbers, and tints of both.

The first class colours are those of Okabe and Ito (2008), which can be told apart with the common forms of colour
blindness. Each further one is as far as possible (in Lab) from all before it, as seen with full, red-blind and
green-blind sight. Each class also has a marker and a hatching of its own. The scale for numbers goes from light to
dark in one hue, so it survives greyscale print.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Marker = Any  # of matplotlib: a name, or the corners of a polygon

CLASS_COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#7F7F7F"),
    *("#783C1E", "#0F2D96", "#C3E196", "#870069", "#7887FF", "#D2965A", "#3CE1F0", "#2D5A4B"),
    *("#A5E15A", "#87694B", "#964B00", "#87C396", "#005AB4", "#78A5FF", "#696996", "#2D5AD2"),
    *("#5A2D87", "#A587C3", "#5A961E", "#B40F5A", "#E1873C", "#A5693C", "#692D2D", "#A569D2"),
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "p", "<", ">", "h")  # of matplotlib; 11 and 32 have no common factor
SCALE_COLOURS = ("#EDF3FA", "#BBD3EA", "#7CAED6", "#3C82BA", "#0B4A82")  # numbers, from low to high

INK = "#222222"  # lines and text
MUTED = "#8A8A8A"  # background lines
UNKNOWN_COLOUR = "#B5B5B5"  # where no class is known


def class_colour(class_index: int) -> str:
    """Return the colour of a class by its index; they repeat after 32.

    >>> class_colour(0), class_colour(32) == class_colour(0), class_colour(-1)
    ('#0072B2', True, '#B5B5B5')
    """
    return CLASS_COLOURS[class_index % len(CLASS_COLOURS)] if class_index >= 0 else UNKNOWN_COLOUR


# Classes that are named by a sign are drawn as that sign.
_SIGNS: dict[str, Marker] = {
    **dict.fromkeys(("star", "*", "★"), "*"),
    **dict.fromkeys(("dot", "•", ".", "circle", "o"), "o"),
    **dict.fromkeys(("+", "plus"), "P"),
    **dict.fromkeys(("-", "−", "minus"), ((-1.0, -0.3), (1.0, -0.3), (1.0, 0.3), (-1.0, 0.3))),
    **dict.fromkeys(("x", "cross"), "X"),
}


def class_markers(labels: Sequence[object]) -> list[Marker]:
    """Return the marker of each class: a star for "star", a dot for "dot", else the next free one.

    With the colours, which repeat after another number, up to 352 classes are told apart.

    >>> class_markers(["dot", "star"]), class_markers([0, 1]), class_markers(["star", "moon"])
    (['o', '*'], ['o', '^'], ['*', 'o'])
    """
    signs = [_SIGNS.get(str(label).casefold()) for label in labels]
    free = [marker for marker in MARKERS if marker not in signs]
    chosen = iter(range(len(labels)))
    return [sign if sign is not None else free[next(chosen) % len(free)] for sign in signs]


def scale_colour(position: float) -> str:
    """Return the colour of a number by its position between the lowest (0) and the highest (1).

    >>> scale_colour(0.0), scale_colour(0.5), scale_colour(1.0), scale_colour(float("nan"))
    ('#EDF3FA', '#7CAED6', '#0B4A82', '#B5B5B5')
    """
    if not 0 <= position <= 1:
        return UNKNOWN_COLOUR
    step = position * (len(SCALE_COLOURS) - 1)
    below = min(int(step), len(SCALE_COLOURS) - 2)
    return _mix(SCALE_COLOURS[below], SCALE_COLOURS[below + 1], step - below)


def tint(colour: str, strength: float) -> str:
    """Blend a colour with white: 0 is white, 1 the colour itself.

    >>> tint("#0072B2", 0.0), tint("#0072B2", 1.0), tint("#000000", 0.5)
    ('#FFFFFF', '#0072B2', '#808080')
    """
    return _mix("#FFFFFF", colour, strength)


def confidence_tint(colour: str, probability: float, n_classes: int) -> str:
    """Return the tint of an area by the probability of its class: pale for a guess, full for certainty.

    >>> confidence_tint("#0072B2", 0.5, 2), confidence_tint("#0072B2", 1.0, 2)
    ('#E0EEF6', '#80B8D8')
    """
    guess = 1 / max(n_classes, 2)
    certainty = max(0.0, (probability - guess) / (1 - guess))
    return tint(colour, 0.12 + 0.38 * certainty)


def text_colour_on(colour: str) -> str:
    """Return the colour of text on a background: dark or white, whichever has more contrast.

    >>> text_colour_on("#F0E442"), text_colour_on("#0B4A82")
    ('#222222', '#FFFFFF')
    """
    background = luminance(colour)
    return INK if (background + 0.05) / (luminance(INK) + 0.05) >= 1.05 / (background + 0.05) else "#FFFFFF"


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2), from 0 to 1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mix(start: str, end: str, share: float) -> str:
    pairs = zip(rgb(start), rgb(end), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


def rgb(colour: str) -> Sequence[int]:
    """Return red, green and blue."""
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
