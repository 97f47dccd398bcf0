"""HTML pages that run their own script and nothing else, and data in which no character ends a script block.

Used by the report, by exercises and by the steps of growth, whose names and labels come from tables.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from treewise._lib.result_table import escape_html


def html_page(title: str, style: str, script: str, body: str) -> str:
    """Return a document; its Content-Security-Policy allows this style and this script alone, and no request.

    ``body`` is HTML and contains the script; ``title`` is text.
    """
    policy = (
        f"default-src 'none'; script-src '{csp_hash(script)}'; style-src '{csp_hash(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape_html(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


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
