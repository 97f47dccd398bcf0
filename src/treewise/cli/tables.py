"""Tables for output: aligned text for people; CSV, JSON, JSON lines and Parquet for programs.

Stands beside ``streams.py``, below the verbs that print rows (data, predict, demo).
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from treewise._lib.result_table import align_columns
from treewise._lib.text import format_exact, safe
from treewise.errors import ParameterError

FORMS = ("csv", "json", "jsonl", "parquet", "text")
ENDINGS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "text",
}


def form_for(output: str | None, asked: str | None, usual: str) -> str:
    """Tell the form of a file: the one asked for, else by its ending; an ending we do not write is refused.

    >>> form_for("out.parquet", None, "csv"), form_for("out.dat", "json", "csv"), form_for(None, None, "csv")
    ('parquet', 'json', 'csv')
    """
    ending = Path(output or "").suffix.lower()
    if asked is not None or not ending:
        return asked or usual
    if ending not in ENDINGS:
        raise ParameterError(
            f"cannot write {safe(output)}: no form is known for {safe(ending)}. Known are {', '.join(ENDINGS)};"
            " --format names the form for any other ending."
        )
    return ENDINGS[ending]


def frame_content(frame: Any, form: str) -> str | bytes:
    """Write a dataframe in one of the forms; missing cells are empty, or null."""
    if form == "parquet":
        content = io.BytesIO()
        frame.write_parquet(content)
        return content.getvalue()
    if form == "csv":
        return str(frame.write_csv())
    if form == "text":
        return align_columns([list(map(safe, frame.columns)), *(list(map(cell, row)) for row in frame.rows())]) + "\n"
    lines = str(frame.write_ndjson())
    if form == "jsonl":
        return lines
    return "[\n" + ",\n".join(lines.rstrip("\n").split("\n")) + "\n]\n"


def cell(value: object) -> str:
    """Write one cell for people."""
    if value is None:
        return ""
    return format_exact(value) if isinstance(value, float) else safe(value)


def json_text(value: dict[str, Any]) -> str:
    """Write plain values as JSON, one key a line, and one item a line where a value is a list of objects.

    >>> print(json_text({"n": 2, "rows": [{"a": 1}, {"a": 2}]}), end="")
    {
     "n": 2,
     "rows": [
      {"a": 1},
      {"a": 2}
     ]
    }
    """

    def one_line(part: object) -> str:
        return json.dumps(part, ensure_ascii=False, allow_nan=False)

    lines = []
    for key, part in value.items():
        written = one_line(part)
        if isinstance(part, list) and part and isinstance(part[0], dict):
            written = "[\n  " + ",\n  ".join(map(one_line, part)) + "\n ]"
        lines.append(f" {one_line(key)}: {written}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
