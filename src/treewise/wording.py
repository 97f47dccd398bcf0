"""How numbers, counts and names are written, the same in every outlet.

Stands at the bottom of the flow beside ``errors.py``: text trees, traces, errors and exports all quote from here,
so that 42.35 is never once ``42.349999999999994``, and no name can smuggle a newline or an escape code into a terminal.
"""

from __future__ import annotations

import math
import unicodedata


def number(value: float) -> str:
    """Write a number as short as it can be without changing it.

    >>> number(42.35), number(4325.0), number(1e-7), number(-0.0), number(float("inf"))
    ('42.35', '4325', '1e-07', '0', 'inf')
    """
    if isinstance(value, int):
        return str(value)
    if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
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
