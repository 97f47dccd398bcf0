"""How wide a text will be, without asking any font: so that boxes are drawn around texts, and not the other way round.

Stands beside ``tidy.py`` at the bottom of ``draw/picture``. A letter is as wide as in DejaVu Sans or in Helvetica,
whichever is wider. matplotlib brings DejaVu Sans along, so PNG and PDF are set in it; browsers set SVG in the first of
Segoe UI, Helvetica, Arial (which is as wide as Helvetica) and DejaVu Sans that they have. A test compares this table
with the fonts themselves.
"""

from __future__ import annotations

import unicodedata

# Advance widths of the characters from space to ~, in hundredths of the letter size, rounded up.
PLAIN = (
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34,
    84, 84, 84, 56, 102, 69, 69, 73, 78, 67, 62, 78, 76, 30, 50, 67, 56, 87, 75, 79, 67, 79, 73, 67, 62, 74, 69, 99,
    69, 67, 69, 40, 34, 40, 84, 56, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53,
    40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
)  # fmt: skip
BOLD = (
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40,
    84, 84, 84, 62, 100, 78, 77, 74, 84, 69, 69, 83, 84, 38, 56, 78, 64, 100, 84, 86, 74, 86, 78, 73, 69, 82, 78,
    111, 78, 73, 73, 46, 37, 46, 84, 56, 50, 68, 72, 60, 72, 68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72,
    50, 60, 48, 72, 66, 93, 65, 66, 59, 72, 37, 72, 84,
)  # fmt: skip
OURS = {"…": 100, "·": 38, "–": 50, "≤": 84, "≥": 84, "→": 84, "×": 84, "±": 84}
FIRST, LAST = " ", "~"
OTHER, OTHER_BOLD, WIDE, PICTOGRAPH = 112, 126, 108, 140  # Щ and Ж are Cyrillic's widest, 東 is a square, 🌲 more
MARGIN = 1.03  # browsers round and hint


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return how wide a text is at most, in the unit of its size.

    >>> text_width("Rome", 100), text_width("Rome", 100, bold=True), text_width("e\u0301", 100) == text_width("é", 100)
    (303.85, 329.6, True)
    """
    return round(sum(hundredths(letter, bold) for letter in text) * size * MARGIN / 100, 3)


def hundredths(letter: str, bold: bool) -> int:
    """Return how wide a character is at most, in hundredths of its size."""
    table = BOLD if bold else PLAIN
    if FIRST <= letter <= LAST:
        return table[ord(letter) - ord(FIRST)]
    if letter in OURS:
        return OURS[letter]
    category = unicodedata.category(letter)
    if category in ("Mn", "Me"):
        return 0
    base = unicodedata.normalize("NFD", letter)[0]
    if FIRST <= base <= LAST:
        return table[ord(base) - ord(FIRST)]
    if category == "So":
        return PICTOGRAPH
    if unicodedata.east_asian_width(letter) in "WF":
        return WIDE
    return OTHER_BOLD if bold else OTHER


def clip_to(text: str, room: float, size: float, bold: bool = False) -> str:
    """Leave letters out of the middle until a text fits: names that begin alike often end differently.

    >>> clip_to("flipper_length_mm", 80, 12), clip_to("island", 80, 12)
    ('flippe…_mm', 'island')
    """
    if text_width(text, size, bold) <= room:
        return text
    least, most = 1, min(len(text), int(room / (0.28 * size)) + 1)  # how many letters stay: no more than thin ones fit
    while least < most:
        kept = (least + most + 1) // 2
        if text_width(_without_middle(text, kept), size, bold) <= room:
            least = kept
        else:
            most = kept - 1
    return _without_middle(text, least)


def _without_middle(text: str, kept: int) -> str:
    end = kept * 2 // 5
    return f"{text[: kept - end]}…{text[len(text) - end :]}"
