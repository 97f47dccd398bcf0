"""Formatting of numbers, counts and names for every kind of output.

Text trees, traces, errors and exports all use these functions, so that a number looks the same everywhere and no name
can smuggle a newline or an escape code into a terminal.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable

_LONG_WORD = 200  # characters, which the path of a file seldom has
_LONG_WORDS = re.compile(rf"\S{{{_LONG_WORD},}}")
_LONG_MESSAGE = 1000
_NOT_SINGLE_WIDTH = re.compile(r"[^\x00-\u02ff\u2010-\u2027\u2190-\u2193\u2500-\u257f]")


def format_exact(value: float) -> str:
    """Format a number as short as possible without losing any digit.

    >>> [format_exact(value) for value in (42.35, 4325.0, 1e15, 1e-7, -0.0, float("inf"))]
    ['42.35', '4325', '1000000000000000', '1e-07', '0', 'inf']
    """
    if isinstance(value, int):
        return str(value)
    if math.isfinite(value) and value == int(value) and abs(value) <= 2**53:
        return str(int(value))
    return repr(float(value))


SHARE_DIGITS = 9  # of a probability that is written into a tree


def format_share_exact(share: float) -> str:
    """Format a probability with a point, so that it reads as one.

    >>> [format_share_exact(share) for share in (0.75, 1.0, 2 / 3)]
    ['0.75', '1.0', '0.666666667']
    """
    return repr(round(float(share), SHARE_DIGITS))


def format_count(value: float) -> str:
    """Format a count with thousands separators, a fractional weight to four significant digits.

    >>> [format_count(value) for value in (32561, 12.0, 0.25, 1234.5678)]
    ['32,561', '12', '0.25', '1,234.57']
    """
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.4g}"


def format_percent(share: float) -> str:
    """Format a share of 1 in percent with one decimal, without the sign.

    >>> format_percent(1 / 3), format_percent(1.0)
    ('33.3', '100.0')
    """
    return f"{100 * share:.1f}"


def format_share(share: float) -> str:
    """Format a share of 1 in percent; only exactly 0 and 1 become 0.0 and 100.0.

    >>> [format_share(share) for share in (0.0, 4 / 8124, 1 / 3, 8120 / 8124)]
    ['0.0', '<0.1', '33.3', '>99.9']
    """
    text = format_percent(share)
    if text == "0.0" and share > 0:
        return "<0.1"
    return ">99.9" if text == "100.0" and share < 1 else text


def plural(n: int, singular: str, several: str | None = None) -> str:
    """Format a count with its noun.

    >>> plural(1, "leaf", "leaves"), plural(1200, "row")
    ('1 leaf', '1,200 rows')
    """
    return f"{n:,} {singular if n == 1 else several or singular + 's'}"


def safe(name: object) -> str:
    r"""Make a name printable on one line: control, format and separator characters become escapes.

    >>> safe("a\nb"), safe("\x1b[31mred"), safe("naïve ☃")
    ('a\\nb', '\\x1b[31mred', 'naïve ☃')
    """
    text = str(name)
    if text.isprintable():
        return text
    return "".join(
        ch if ch == " " or unicodedata.category(ch)[0] not in "CZ" else ch.encode("unicode_escape").decode()
        for ch in text
    )


def shorten(message: str) -> str:
    """Shorten a message that quotes long names: first its long words, then its middle, so that the advice stays.

    >>> shorten("no file " + "x" * 1000 + ".csv; give another.")
    'no file xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxx.csv; give another.'
    >>> len(shorten("many words " * 1000 + "to shorten")), shorten("many words")
    (903, 'many words')
    """
    if len(message) <= _LONG_WORD:
        return message
    message = _LONG_WORDS.sub(lambda word: f"{word[0][:40]}…{word[0][-21:]}", message)
    return message if len(message) <= _LONG_MESSAGE else f"{message[:700]} … {message[-200:]}"


def display_width(text: str) -> int:
    """Return the width of a text in terminal columns: two for East Asian wide letters, none for combining marks.

    >>> display_width("Rome"), display_width("東京"), display_width("e\u0301")
    (4, 4, 1)
    """
    if not _NOT_SINGLE_WIDTH.search(text):
        return len(text)
    wide = sum(unicodedata.east_asian_width(ch) in "WF" for ch in text)
    return len(text) + wide - sum(unicodedata.category(ch) in ("Mn", "Me") for ch in text)


def pad(text: str, width: int) -> str:
    """Pad with spaces to a display width.

    >>> pad("東京", 6) + "|"
    '東京  |'
    """
    return text + " " * (width - display_width(text))


def clip(text: str, width: int, ellipsis: str = "…") -> str:
    """Truncate a text to a display width, with an ellipsis at the cut.

    >>> clip("flipper_length_mm <= 206.5", 12), clip("short", 12)
    ('flipper_len…', 'short')
    """
    if display_width(text) <= width:
        return text
    kept, left = [], width - len(ellipsis)
    for ch in text:
        left -= display_width(ch)
        if left < 0:
            break
        kept.append(ch)
    return "".join(kept) + ellipsis


def format_rounded(value: float) -> str:
    """Format a measured number (a mean) to five significant digits.

    >>> [format_rounded(value) for value in (3932.7997, 1234567.8, 0.000123456, 4.0, 1 / 3)]
    ['3,932.8', '1,234,568', '0.00012346', '4', '0.33333']
    """
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return format_exact(float(f"{value:.5g}"))
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.5g}"


def format_spread(value: float) -> str:
    """Format a standard deviation or a standard error to three significant digits; whole digits are kept.

    >>> [format_spread(value) for value in (3.2847, 12345.678, 0.0123456, 0.0, 2.0)]
    ['3.28', '12,346', '0.0123', '0', '2']
    """
    return format_rounded(float(f"{value:.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"))


def format_signed(value: float, formatter: Callable[[float], str] = format_rounded) -> str:
    """Format a change with its sign. The minus of a number is "-", which can be typed; "−" is subtraction in a formula.

    >>> format_signed(2.5), format_signed(-0.25), format_signed(0.0), format_signed(-0.126, format_percent)
    ('+2.5', '-0.25', '0', '-12.6')
    """
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{formatter(abs(value))}"


def format_p_value(p: float) -> str:
    """Format a p-value with few digits.

    >>> format_p_value(0.0123), format_p_value(3.2e-9), format_p_value(0.0), format_p_value(1.0)
    ('0.012', '3e-09', '<1e-300', '1')
    """
    if p < 1e-300:
        return "<1e-300"
    return f"{p:.0e}" if p < 0.001 else f"{p:.2g}"


def escape_markdown(text: str) -> str:
    r"""Escape the characters that have a meaning in Markdown.

    >>> print(escape_markdown("a|b *c* _d <e>"))
    a\|b \*c\* \_d \<e\>
    """
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", text)
