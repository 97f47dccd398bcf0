"""Read a sheet with its key, and answers: the JSON that the form saves, or lines such as ``7 = 0.97``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

from treewise._lib.text import format_exact, safe
from treewise.data.column import truncate
from treewise.errors import DataError, ParameterError, brief
from treewise.explain.exercise.sheet import Blank, Exercise, blanks_from, sheet_data

_UNITS = ("bits", "nats")
_EMBEDDED = re.compile(r'<script type="application/json" id="sheet">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True)
class StudentAnswers:
    """The answers of one student by the number of the blank, with the default unit of numbers."""

    written: Mapping[str, str]
    unit: str = ""
    name: str = ""


def read_sheet(sheet: Any) -> tuple[str, tuple[Blank, ...], str]:
    """Return the title, the blanks and the id of a sheet: an exercise, or a file with its key."""
    if isinstance(sheet, Exercise):
        data = sheet_data(sheet)
        return sheet.title, sheet.blanks, data["id"]
    text = _read_text(sheet, "a sheet")
    embedded = _EMBEDDED.search(text)
    try:
        content: Any = json.loads(embedded[1] if embedded else text)
    except (ValueError, RecursionError):
        content = {}
    blanks = blanks_from(content)
    return str(content.get("title", "")), blanks, str(content.get("id", ""))


def read_answers(answers: Any, sheet_id: str) -> StudentAnswers:
    """Return answers given as a mapping, as JSON of the page, or as lines ``7 = 0.97``."""
    if isinstance(answers, Mapping):
        return _answers_from(answers, sheet_id)
    text = _read_text(answers, "answers")
    name = Path(answers).stem if not isinstance(answers, str) or _is_path(answers) else ""
    if text.lstrip().startswith("{"):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"the answers are not valid JSON: {error}.") from None
    else:
        data = _parse_lines(text)
    student = _answers_from(data, sheet_id)
    return student if student.name else replace(student, name=name)


def _answers_from(data: Mapping[Any, Any], sheet_id: str) -> StudentAnswers:
    nested = data.get("answers")
    written = nested if isinstance(nested, Mapping) else data
    head = {"sheet": "", "unit": "", "name": ""}
    head |= {name: str(data[name]) for name in head if data.get(name)}
    if head["sheet"] and head["sheet"] != sheet_id:
        raise DataError("these answers belong to another sheet, or to another variant of it.")
    if head["unit"] and head["unit"] not in _UNITS:
        raise ParameterError("must be bits or nats.", parameter="unit", value=head["unit"])
    texts = {str(k): _answer_text(k, v) for k, v in written.items() if written is nested or k not in head}
    return StudentAnswers(texts, head["unit"], head["name"])


def _answer_text(number: object, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f'the answer to blank "{number}" must be a text or a number, got {brief(value)}.')
    return format_exact(value) if isinstance(value, float) else str(value)


def _parse_lines(text: str) -> dict[str, str]:
    """Read ``7 = 0.97`` line by line; indented lines continue the answer above."""
    values: dict[str, str] = {}
    last = None
    for at, line in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] in " \t":
            if last is None:
                raise DataError(f"line {at} of the answers is indented, but there is no blank above it.")
            values[last] += f"\n{line}"
            continue
        number, equals, value = line.partition("=")
        last = number.strip()
        if not equals:
            raise DataError(f'line {at} of the answers, "{safe(line[:60])}", is not of the form "7 = 0.97".')
        if last in values:
            raise DataError(f'line {at} of the answers: there is a line for "{safe(last)}" above already.')
        values[last] = value.strip()
    return {number: _dedented(value) for number, value in values.items()}


def _dedented(text: str) -> str:
    first, newline, rest = text.partition("\n")
    return f"{first}\n{dedent(rest)}".lstrip("\n") if newline else first


def _is_path(source: str) -> bool:
    return "\n" not in source and "=" not in source and not source.lstrip().startswith(("{", "<"))


def _read_text(source: Any, what: str) -> str:
    """Return the content of a file, or a text that is one."""
    if isinstance(source, str) and not _is_path(source):
        return source
    if not isinstance(source, str | os.PathLike):
        raise ParameterError(f"{what} must be a file, a text or the object itself, got {brief(source)}.")
    try:
        return Path(source).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot read {what} from {truncate(source)}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise DataError(f"{safe(source)} is not text in UTF-8.") from None
    except ValueError:  # a path with a NUL
        raise DataError(f"cannot read {what}: no file can be named {truncate(source)}.") from None
