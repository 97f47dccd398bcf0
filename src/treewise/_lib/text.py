"""How numbers, counts and names are written, the same in every outlet.

Stands at the bottom of the flow beside ``errors.py``: text trees, traces, errors and exports all quote from here,
so that 42.35 is never once ``42.349999999999994``, and no name can smuggle a newline or an escape code into a terminal.
"""

from __future__ import annotations

import math
import re
import unicodedata

NOT_ONE_WIDE = re.compile(r"[^\x00-\u02ff\u2010-\u2027\u2190-\u2193\u2500-\u257f]")


def number(value: float) -> str:
    """Write a number as short as it can be without changing it.

    >>> number(42.35), number(4325.0), number(1e15), number(1e-7), number(-0.0), number(float("inf"))
    ('42.35', '4325', '1000000000000000', '1e-07', '0', 'inf')
    """
    if isinstance(value, int):
        return str(value)
    if math.isfinite(value) and value == int(value) and abs(value) <= 2**53:
        return str(int(value))
    return repr(float(value))


def count(value: float) -> str:
    """Write how many: whole numbers with thousands separators, weights to four significant digits.

    >>> count(32561), count(12.0), count(0.25), count(1234.5678)
    ('32,561', '12', '0.25', '1,234.57')
    """
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.4g}"


def percent(share: float) -> str:
    """Write a share as a percentage with one decimal, without the sign.

    >>> percent(1 / 3), percent(1.0)
    ('33.3', '100.0')
    """
    return f"{100 * share:.1f}"


def rough_percent(share: float) -> str:
    """Write a percentage that never says none or all where there are some, or some are missing.

    >>> rough_percent(0.0), rough_percent(4 / 8124), rough_percent(1 / 3), rough_percent(8120 / 8124)
    ('0.0', '<0.1', '33.3', '>99.9')
    """
    said = percent(share)
    if said == "0.0" and share > 0:
        return "<0.1"
    return ">99.9" if said == "100.0" and share < 1 else said


def plural(n: int, word: str, many: str | None = None) -> str:
    """Write a counted noun.

    >>> plural(1, "leaf", "leaves"), plural(1200, "row")
    ('1 leaf', '1,200 rows')
    """
    return f"{n:,} {word if n == 1 else many or word + 's'}"


def safe(name: object) -> str:
    r"""Make a name printable on one line: control, format and separator characters are written as escapes.

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


def display_width(text: str) -> int:
    """Return how many terminal columns a text takes: East Asian wide letters two, combining marks none.

    >>> display_width("Rome"), display_width("東京"), display_width("e\u0301")
    (4, 4, 1)
    """
    if not NOT_ONE_WIDE.search(text):
        return len(text)
    wide = sum(unicodedata.east_asian_width(ch) in "WF" for ch in text)
    return len(text) + wide - sum(unicodedata.category(ch) in ("Mn", "Me") for ch in text)


def pad(text: str, width: int) -> str:
    """Fill up with spaces to a display width.

    >>> pad("東京", 6) + "|"
    '東京  |'
    """
    return text + " " * (width - display_width(text))


def clip(text: str, width: int, dots: str = "…") -> str:
    """Cut a text to a display width, marking the cut.

    >>> clip("flipper_length_mm <= 206.5", 12), clip("short", 12)
    ('flipper_len…', 'short')
    """
    if display_width(text) <= width:
        return text
    kept, left = [], width - len(dots)
    for ch in text:
        left -= display_width(ch)
        if left < 0:
            break
        kept.append(ch)
    return "".join(kept) + dots


def figure(value: float) -> str:
    """Write a mean or a spread to five significant digits, whole numbers whole.

    >>> figure(3932.7997), figure(1234567.8), figure(0.000123456), figure(4.0), figure(1 / 3)
    ('3,932.8', '1,234,568', '0.00012346', '4', '0.33333')
    """
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return number(float(f"{value:.5g}"))
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.5g}"


def escape_markdown(said: str) -> str:
    r"""Put a backslash before whatever Markdown could take for a mark.

    >>> print(escape_markdown("a|b *c* _d <e>"))
    a\|b \*c\* \_d \<e\>
    """
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", said)
