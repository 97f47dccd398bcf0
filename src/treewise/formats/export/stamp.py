"""The stamp: the line of an export that says what it is, so that ``treewise verify`` can run it.

Each format writes it as a comment of its language near the top of the file; the rest of the line is JSON:

    -- treewise-export {"format": "sql", "version": "0.4.0", "dialect": "duckdb", "table": "data", …}
"""

from __future__ import annotations

import json
from typing import Any

from treewise._version import __version__

_WORD = "treewise-export "
_JSON_KEY = '"treewise_export": '  # the same in JSON, which has no comments


def stamp(format: str, **options: Any) -> str:
    """Return the stamp of an export, without the comment sign.

    >>> stamp("sql", dialect="duckdb").replace(__version__, "…")
    'treewise-export {"format": "sql", "version": "…", "dialect": "duckdb"}'
    """
    return _WORD + json.dumps({"format": format, "version": __version__, **options}).replace("/", "\\/")


def read_stamp(text: str) -> dict[str, Any] | None:
    """Return what the stamp of an export says; None if there is none.

    >>> read_stamp("/* " + stamp("c", name="x") + " */")["name"]
    'x'
    """
    start = text.find(_WORD + "{")
    sign = _WORD if start >= 0 else _JSON_KEY
    start = max(start, text.find(sign + "{"))
    if start < 0:
        return None
    try:
        stamp_data, _ = json.JSONDecoder().raw_decode(text, start + len(sign))
    except ValueError:
        return None
    return stamp_data if isinstance(stamp_data, dict) and isinstance(stamp_data.get("format"), str) else None
