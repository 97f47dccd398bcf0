"""Pages that run their own script and nothing else: the hash of a script, and data in which no character ends a block.

Used by the report and by exercises, whose names and labels come from tables.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any


def csp_hash(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows a script or a style.

    >>> csp_hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def script_json(data: Any) -> str:
    """Return data as JSON in which no character can end a script block or a line.

    >>> script_json({"name": "</script><b>&"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e\\\\u0026"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
