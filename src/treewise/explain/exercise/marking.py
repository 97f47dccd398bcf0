"""``check_answers``: mark what a student wrote, blank by blank, with partial credit and errors carried forward.

A blank is right if it agrees with the key, or if it follows from what the student wrote in other blanks. The page does
the same in JavaScript (``assets/marking.js``), and ``tests/browser`` compares both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import plural, safe
from treewise.errors import DataError, TreewiseError, did_you_mean, join_few
from treewise.explain.exercise.answers import StudentAnswers, read_answers, read_sheet
from treewise.explain.exercise.formula import evaluate
from treewise.explain.exercise.sheet import Blank
from treewise.explain.exercise.trees import typed_nodes

RIGHT, CARRIED, PARTLY, WRONG, EMPTY, UNREADABLE = "right", "carried forward", "partly", "wrong", "empty", "unreadable"
# Spaces only around signs: "1 1/2" is not 11/2. JavaScript reads the same pattern.
_DIGITS = "(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)"
NUMBER = rf"^([-+]?) *({_DIGITS}(?:e[-+]?[0-9]+)?)(?: */ *({_DIGITS}))? *(bits?|nats?)?$"
_SPACES = " \t\r\n\u00a0"  # what may surround an answer
_NATS = math.log(2.0)  # one bit
_ROUNDING = 1e-9
_LONGEST = 400  # characters of an answer that is shown


@dataclass(frozen=True)
class Mark:
    """The mark of one blank: the answer, the verdict and the points."""

    blank: Blank
    written: str
    verdict: str
    points: float
    note: str = ""


@dataclass(frozen=True, repr=False)
class Marks(Displayable):
    """The marks of one student: ``points`` of ``out_of``, and ``marks`` blank by blank.

    >>> import treewise as tw
    >>> sheet = tw.exercise("admissions")
    >>> marks = tw.check_answers(sheet, {"1": "0.9", "2": "0.495", "3": "0.095", "6": "GPA"})
    >>> [mark.verdict for mark in marks], marks.points, marks.out_of     # 0.495 follows from the wrong 0.9
    (['wrong', 'carried forward', 'right', 'empty', 'empty', 'right'], 3.0, 6)
    """

    title: str
    name: str
    marks: tuple[Mark, ...]

    @property
    def points(self) -> float:
        """The points reached."""
        return sum(mark.points for mark in self.marks)

    @property
    def out_of(self) -> int:
        """The points of the sheet."""
        return sum(mark.blank.points for mark in self.marks)

    def __iter__(self) -> Any:
        return iter(self.marks)

    def __len__(self) -> int:
        return len(self.marks)

    def result_table(self) -> ResultTable:
        """Lay out one blank per line."""
        columns = (
            ColumnSpec("blank", "count"),
            ColumnSpec("question"),
            ColumnSpec("answer"),
            ColumnSpec("verdict"),
            ColumnSpec("points", "number", formatter=_points),
            ColumnSpec("out_of", "count", title="of"),
            ColumnSpec("key"),
            ColumnSpec("note", only="text", title=""),
        )
        rows = [
            (int(m.blank.id), m.blank.prompt, _one_line(m.written), m.verdict, m.points, m.blank.points,
             _one_line(m.blank.key_text), m.note)
            for m in self.marks
        ]  # fmt: skip
        student = f"{safe(self.name)}: " if self.name else ""
        title = f"{student}{_points(self.points)} of {plural(self.out_of, 'point')} · {self.title}"
        return ResultTable(title, columns, rows, row_name="blank", max_rows=None)


@dataclass(frozen=True, repr=False)
class ClassMarks(Displayable):
    """The marks of several students on one sheet, and the blanks that most got wrong."""

    students: tuple[Marks, ...]

    def result_table(self) -> ResultTable:
        """Lay out one student per line."""
        columns = (
            ColumnSpec("name"),
            ColumnSpec("points", "number", formatter=_points),
            ColumnSpec("out_of", "count", title="of"),
            ColumnSpec("share", "share", title="%"),
            ColumnSpec("lost", title="points lost at"),
        )
        rows = []
        for student in self.students:
            lost = [mark.blank.id for mark in student if mark.points < mark.blank.points]
            rows.append(
                (student.name, student.points, student.out_of, student.points / student.out_of, ", ".join(lost))
            )
        return ResultTable(
            self.students[0].title, columns, rows, below=self._hardest(), row_name="student", max_rows=None
        )

    def _hardest(self) -> tuple[str, ...]:
        n_lost: dict[str, int] = {}
        prompts: dict[str, str] = {}
        for mark in (mark for student in self.students for mark in student):
            prompts[mark.blank.id] = mark.blank.prompt
            n_lost[mark.blank.id] = n_lost.get(mark.blank.id, 0) + (mark.points < mark.blank.points)
        worst = sorted((-n, int(blank)) for blank, n in n_lost.items() if n)[:3]
        return tuple(f"{plural(-n, 'student')} lost points at {blank}: {prompts[str(blank)]}" for n, blank in worst)


def check_answers(sheet: Any, answers: Any) -> Marks:
    """Mark answers to a sheet: an ``Exercise``, or the file that ``treewise exercise`` wrote (.json or .html).

    ``answers`` is a mapping from the number of a blank to what was written, or a file of answers: the JSON that the
    page saves, or lines such as ``7 = 0.97``, with a tree indented on the lines below its number. An empty blank gets
    no points; a number that the sheet does not have is an error.

    >>> import treewise as tw
    >>> print(tw.check_answers(tw.exercise("xor"), {"1": "0.69 nats", "2": "0", "3": "0/4", "4": "x2 <= 0.5"}))
    4 of 4 points · Which split is best?
    blank  question                     answer     verdict  points  of  key
        1  H(node) at node 0            0.69 nats  right         1   1  1
        2  gain of x1 <= 0.5 at node 0  0          right         1   1  0
        3  gain of x2 <= 0.5 at node 0  0/4        right         1   1  0
        4  best split at node 0         x2 <= 0.5  right         1   1  x1 <= 0.5 or x2 <= 0.5
    """
    title, blanks, sheet_id = read_sheet(sheet)
    given = read_answers(answers, sheet_id)
    known = {blank.id for blank in blanks}
    for number in given.written:
        if number not in known:
            hint = did_you_mean(number, known) if not number.isdecimal() else ""
            raise DataError(f'there is no blank "{safe(number)}": the sheet has 1 to {len(blanks)}.{hint}')
    return Marks(title, given.name, tuple(mark_blanks(blanks, given)))


def check_answers_file(sheet: str, answers: str) -> Marks:
    """Mark a file of answers by the file of a sheet; an error names the file."""
    try:
        return check_answers(Path(sheet), Path(answers))
    except DataError as error:
        message = str(error)
        raise DataError(
            message if safe(answers) in message or safe(sheet) in message else f"{safe(answers)}: {message}"
        ) from None


def mark_blanks(blanks: Sequence[Blank], answers: StudentAnswers) -> list[Mark]:
    """Mark every blank; what cannot be read counts as not written where others refer to it."""
    own: dict[str, Any] = {}
    for blank in blanks:
        read_value = _read_answer(blank, answers)
        own[blank.id] = _key_value(blank) if read_value is None else read_value
    return [_mark(blank, answers, own) for blank in blanks]


def _mark(blank: Blank, answers: StudentAnswers, own: Mapping[str, Any]) -> Mark:
    written = answers.written.get(blank.id, "").strip(_SPACES)
    if not written:
        return Mark(blank, "", EMPTY, 0.0)
    expected = None if blank.formula is None else evaluate(blank.formula, own, blank.tolerance)
    if blank.kind == "tree":
        return _mark_tree(blank, answers.written[blank.id], expected)
    value = _read_answer(blank, answers)
    if value is None:
        return Mark(blank, written, UNREADABLE, 0.0, _why_unreadable(blank))
    if _agrees(value, blank.value, blank.tolerance):
        return Mark(blank, written, RIGHT, float(blank.points))
    if _agrees(value, expected, blank.tolerance):
        return Mark(blank, written, CARRIED, float(blank.points))
    return Mark(blank, written, WRONG, 0.0, _hint(blank, written, answers.unit))


def _agrees(value: Any, key: Any, near: float) -> bool:
    """Tell whether a value is one of the key's options, or near its number."""
    if isinstance(key, tuple):
        return value in key
    return isinstance(key, float) and isinstance(value, float) and abs(value - key) <= near + _ROUNDING


def _hint(blank: Blank, text: str, default_unit: str) -> str:
    """Recognise a number that is right in the other unit."""
    other = "nats" if (default_unit or blank.unit) == "bits" else "bits"
    value = read_number(text, blank.unit, other) if blank.unit else None
    if value is None or not abs(value) > blank.tolerance or not _agrees(value, blank.value, blank.tolerance):
        return ""
    return f"right in {other}: write {other} after the number"


# -- reading what was written -------------------------------------------------------------------------------


def _read_answer(blank: Blank, answers: StudentAnswers) -> Any:
    """Return a number in the unit of the blank, or one of its options; None for what is neither."""
    text = answers.written.get(blank.id, "").strip(_SPACES)
    if blank.kind == "choice":
        if text in blank.options:  # before options that differ from it in case alone
            return text
        return next((option for option in blank.options if _simplified(option) == _simplified(text)), None)
    return read_number(text, blank.unit, answers.unit) if blank.kind in ("count", "number") else None


def read_number(text: str, unit: str = "", default_unit: str = "") -> float | None:
    """Read a number or a fraction, with or without a unit, and convert it into the unit.

    >>> read_number("3/5"), read_number("0,97"), read_number("−2.5"), read_number("log 2")
    (0.6, 0.97, -2.5, None)
    >>> read_number("1 bit", "nats"), read_number("0.5", "bits", default_unit="bits"), read_number("3 nats")
    (0.6931471805599453, 0.5, None)
    """
    plain = text.strip(_SPACES).replace("−", "-").replace("\u00a0", " ").lower()
    if (parts := re.fullmatch(NUMBER, plain)) is None:
        return None
    sign, numerator, denominator, suffix = parts.groups()
    if suffix and not unit:
        return None
    divisor = float(denominator.replace(",", ".")) if denominator else 1.0
    value = float(numerator.replace(",", ".")) / divisor if divisor else math.inf
    own_unit = {"b": "bits", "n": "nats"}[suffix[0]] if suffix else default_unit or unit
    if unit and own_unit != unit:
        value *= _NATS if unit == "nats" else 1 / _NATS
    return (-value if sign == "-" else value) if math.isfinite(value) else None


def _simplified(text: str) -> str:
    """Forget case and spaces, and how ≤ is typed."""
    return re.sub(f"[{_SPACES}]+", "", text.lower().replace("≤", "<=").replace("≥", ">="))


def _key_value(blank: Blank) -> Any:
    return blank.value[0] if isinstance(blank.value, tuple) else blank.value


def _why_unreadable(blank: Blank) -> str:
    if blank.kind == "choice":
        return f"choose one of {join_few(list(blank.options), limit=5)}"
    return "not a number"


# -- trees --------------------------------------------------------------------------------------------------


def _mark_tree(blank: Blank, text: str, expected: Any) -> Mark:
    """Give a point for each node of the key at which the same rows are split, or predicted, alike.

    A tree that follows from the student's own choices gets the same share of the points.
    """
    try:
        nodes = typed_nodes(blank.tree, text)
    except TreewiseError as error:
        return Mark(blank, text, UNREADABLE, 0.0, str(error))
    n_right = sum(node in nodes for node in blank.tree["nodes"])
    if n_right == blank.points:
        return Mark(blank, text, RIGHT, float(n_right))
    n_carried = sum(node in nodes for node in expected) if expected else 0
    if expected and (points := blank.points * n_carried // len(expected)) > n_right:
        is_whole = n_carried == len(expected)
        note = "" if is_whole else f"{n_carried} of {plural(len(expected), 'node')} follow from your choices"
        return Mark(blank, text, CARRIED if is_whole else PARTLY, float(points), note)
    verdict = PARTLY if n_right else WRONG
    return Mark(blank, text, verdict, float(n_right), f"{n_right} of {plural(blank.points, 'node')} as in the key")


def _points(points: Any) -> str:
    return f"{points:g}"


def _one_line(text: str) -> str:
    joined = " / ".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
    return joined if len(joined) <= _LONGEST else joined[: _LONGEST - 1] + "…"
