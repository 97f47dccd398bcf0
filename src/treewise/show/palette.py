"""The colours of every picture: one a class, a scale for numbers, and tints of both; the same in SVG and matplotlib.

Stands at the bottom of ``draw``. The hues are those of Okabe and Ito (2008), which readers with any of the common forms
of colour blindness can tell apart; since nobody should have to, each class also has a marker of its own. The scale for
numbers goes from light to dark in one hue, so it survives a black-and-white printer.
"""

from __future__ import annotations

from collections.abc import Sequence

HUES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#7F7F7F")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "p", "<", ">", "h")  # matplotlib's names; 8 and 11 have no common factor
SCALE = ("#EDF3FA", "#BBD3EA", "#7CAED6", "#3C82BA", "#0B4A82")  # numbers, from low to high

INK = "#222222"  # lines and text
QUIET = "#8A8A8A"  # what stands in the background
UNKNOWN = "#B5B5B5"  # where no class is known


def hue(place: int) -> str:
    """Return the colour of the class at this place among the classes; after eight they begin again.

    >>> hue(0), hue(8) == hue(0), marker(0) == marker(8)
    ('#0072B2', True, False)
    """
    return HUES[place % len(HUES)] if place >= 0 else UNKNOWN


def marker(place: int) -> str:
    """Return the marker of a class: two classes of one colour never share it (up to 88 classes)."""
    return MARKERS[place % len(MARKERS)] if place >= 0 else "."


def scale(share: float) -> str:
    """Return the colour of a number that lies this far between the lowest (0) and the highest (1).

    >>> scale(0.0), scale(0.5), scale(1.0), scale(float("nan"))
    ('#EDF3FA', '#7CAED6', '#0B4A82', '#B5B5B5')
    """
    if not 0 <= share <= 1:
        return UNKNOWN
    at = share * (len(SCALE) - 1)
    below = min(int(at), len(SCALE) - 2)
    return mix(SCALE[below], SCALE[below + 1], at - below)


def tint(colour: str, strength: float) -> str:
    """Return a colour on white paper: 0 is the paper, 1 the colour itself.

    >>> tint("#0072B2", 0.0), tint("#0072B2", 1.0), tint("#000000", 0.5)
    ('#FFFFFF', '#0072B2', '#808080')
    """
    return mix("#FFFFFF", colour, strength)


def sure(colour: str, probability: float, classes: int) -> str:
    """Return the tint of an area where a class has this probability: pale where it is a guess, full where certain.

    >>> sure("#0072B2", 0.5, 2), sure("#0072B2", 1.0, 2)
    ('#E0EEF6', '#80B8D8')
    """
    guess = 1 / max(classes, 2)
    certainty = max(0.0, (probability - guess) / (1 - guess))
    return tint(colour, 0.12 + 0.38 * certainty)


def ink_on(colour: str) -> str:
    """Return the colour of text that can be read on an area: dark or white, whichever has more contrast.

    >>> ink_on("#F0E442"), ink_on("#0B4A82")
    ('#222222', '#FFFFFF')
    """
    ground = luminance(colour)
    return INK if (ground + 0.05) / (luminance(INK) + 0.05) >= 1.05 / (ground + 0.05) else "#FFFFFF"


def luminance(colour: str) -> float:
    """Return how light a colour is, 0 to 1, as WCAG 2 measures it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in parts(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def mix(one: str, other: str, share: float) -> str:
    """Return the colour that lies this far on the way from one to the other."""
    pairs = zip(parts(one), parts(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


def parts(colour: str) -> Sequence[int]:
    """Return red, green and blue."""
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
