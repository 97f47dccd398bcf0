"""Export format "xlsx": a workbook that predicts in Excel and LibreOffice, for a single tree.

    Calculator   type a row, read its prediction, probabilities and leaf; fill the formulas down for more rows
    Rules        one line per leaf: the values of each column that lead to it; filter it, sort it, print it
    Nodes, Cases, Levels, Answers    the tables that the calculator looks up
    Formula      the whole tree as one nested IF, where it fits Excel's limits

The calculator walks the tree by lookup, one column per level, so that nothing nests. An empty cell is a missing value;
text is compared exactly, with case. Both programs take numbers that agree in about 15 digits as equal, so thresholds
are rounded down to 14 significant digits: inputs of up to 14 digits are decided exactly as ``predict`` does.
"""

from __future__ import annotations

import datetime as dt
import io
import math
import re
import zipfile
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from treewise._lib.text import plural
from treewise.data.column import truncate
from treewise.data.encoding import Encoding
from treewise.errors import PackageError, ParameterError
from treewise.formats.export.program import NO_ANSWER, Answer, Program, Switch, Test
from treewise.formats.export.rule_table import describe, rules_of
from treewise.formats.export.stamp import stamp

DIGITS = 14
_EPOCH = dt.datetime(2000, 1, 1)
_LARGEST = 9.99999999999999e307  # the largest number that Excel takes
_MAX_FORMULA, _MAX_NESTING, _MAX_TEXT, _MAX_ROWS, _MAX_DEPTH = 8192, 64, 32767, 1_048_575, 1000
_TEST, _CASES = 1, 2  # kinds of nodes; 0 is an answer


def write(program: Program) -> bytes:
    """Return the workbook.

    >>> import treewise as tw, openpyxl, io
    >>> book = openpyxl.load_workbook(io.BytesIO(tw.grow("penguins", max_leaf_nodes=3).export("xlsx")))
    >>> book.sheetnames, [cell.value for cell in book["Calculator"][1]][:3]
    (['Calculator', 'Rules', 'Nodes', 'Cases', 'Levels', 'Answers', 'Formula'],
     ['bill_length_mm', 'flipper_length_mm', 'prediction'])
    """
    try:
        import openpyxl
    except ImportError:
        raise PackageError('workbooks need openpyxl, which is not installed: pip install "treewise[xlsx]".') from None
    _check(program)
    book = openpyxl.Workbook()
    book.properties.description = stamp("xlsx")
    writer = _Workbook(book, program)
    writer.calculator(book.active)
    writer.rules(book.create_sheet("Rules"))
    writer.tables()
    writer.formula(book.create_sheet("Formula"))
    return _packed(book)


def _packed(book: Any) -> bytes:
    """Return the file: the same for the same tree, and with the stamp uncompressed, so that it is found."""
    written, packed = io.BytesIO(), io.BytesIO()
    book.properties.created = book.properties.modified = _EPOCH
    book.save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name in source.namelist():
            content = source.read(name)
            if name == "docProps/core.xml":  # openpyxl writes the time of saving
                content = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>2000-01-01T00:00:00Z", content)
            kind = zipfile.ZIP_STORED if name == "docProps/core.xml" else zipfile.ZIP_DEFLATED
            file.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), content, kind)
    return packed.getvalue()


def _check(program: Program) -> None:
    """Refuse what a spreadsheet cannot hold."""
    routine = program.routines[0]
    for encoding in program.inputs:
        if encoding.kind in ("integer", "datetime"):
            what = "integers beyond 2^53" if encoding.kind == "integer" else "dates, which spreadsheets count in days"
            raise ParameterError(
                f'column "{truncate(encoding.name)}" holds {what}; a spreadsheet cannot compare them exactly.',
                hint="Export SQL, Python or ONNX.",
                column=encoding.name,
            )
        for text in (encoding.name, *encoding.levels):
            _check_text(text, f'column "{truncate(encoding.name)}"')
    for label in program.classes:
        _check_text(str(label), "a class label")
    if routine.depth > _MAX_DEPTH or len(routine.steps) > _MAX_ROWS:
        raise ParameterError(
            f"the tree has {plural(len(routine.steps), 'node')} and is {routine.depth:,} tests deep; a workbook takes"
            f" {_MAX_ROWS:,} and {_MAX_DEPTH:,}.",
            hint="Prune it, or export SQL, Python or C.",
        )


def _check_text(text: str, where: str) -> None:
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if len(text) > _MAX_TEXT:
        raise ParameterError(f"{where}: a text of {len(text):,} characters; a cell of a workbook takes {_MAX_TEXT:,}.")
    if ILLEGAL_CHARACTERS_RE.search(text) or any("\ud800" <= c <= "\udfff" for c in text) or "_x" in text.lower():
        raise ParameterError(
            f'{where}: "{truncate(text)}" has a control character or escape that no workbook can hold.'
        )


def round_down(cut: float) -> float:
    """Return the largest number of 14 significant digits that is not above the cut, within Excel's range.

    >>> round_down(0.1), round_down(2 / 3), round_down(-2 / 3)
    (0.1, 0.66666666666666, -0.66666666666667)
    """
    if abs(cut) >= _LARGEST:
        return math.copysign(_LARGEST, cut)
    return float(Context(prec=DIGITS, rounding=ROUND_FLOOR).create_decimal(Decimal(repr(cut))))


class _Workbook:
    """Writes the sheets; cells are addressed as in Excel."""

    def __init__(self, book: Any, program: Program) -> None:
        from openpyxl.utils import get_column_letter

        self.book, self.program, self.letter = book, program, get_column_letter
        self.routine, self.n = program.routines[0], len(program.inputs)
        self.width = max((len(e.levels) for e in program.inputs), default=0) + 2  # of the keys of cases

    def put(self, sheet: Any, row: int, column: int, value: Any, *, formula: bool = False) -> None:
        """Write a cell; text is never a formula unless it is meant to be one."""
        cell = sheet.cell(row, column, value)
        if isinstance(value, str) and not formula:
            cell.value, cell.data_type = value, "s"
        elif type(value) is float:
            cell._value = repr(value)  # openpyxl would write 16 digits

    def head(self, sheet: Any, titles: Sequence[str]) -> None:
        """Write the first row, which stays in view."""
        from openpyxl.styles import Font

        for column, title in enumerate(titles, start=1):
            self.put(sheet, 1, column, title)
            sheet.cell(1, column).font = Font(bold=True)
            sheet.column_dimensions[self.letter(column)].width = min(40, max(10, len(title) + 3))
        sheet.freeze_panes = "A2"

    # -- the calculator -------------------------------------------------------------------------------------------

    def calculator(self, sheet: Any) -> None:
        """Write inputs, outputs, and the columns that find the way: values, then one step per level."""
        sheet.title = "Calculator"
        program, depth = self.program, self.routine.depth
        outputs = ["prediction", *(f"probability of {label}" for label in program.classes), "leaf"]
        first_value = self.n + len(outputs) + 1
        first_step = first_value + self.n
        steps = [f"step {i}" for i in range(depth + 1)]
        titles = [*(e.name for e in program.inputs), *outputs, *(f"value {i + 1}" for i in range(self.n)), *steps]
        self.head(sheet, titles)
        for i, encoding in enumerate(program.inputs):
            self.put(sheet, 2, first_value + i, self._value(i, encoding), formula=True)
        values = f"${self.letter(first_value)}2:${self.letter(first_value + max(0, self.n - 1))}2"
        self.put(sheet, 2, first_step, 0)
        for i in range(depth):
            self.put(sheet, 2, first_step + i + 1, self._next(f"{self.letter(first_step + i)}2", values), formula=True)
        answer = f"{self._at('G', f'{self.letter(first_step + depth)}2')}"
        rows = len(self.routine.answers) + 1
        for i in range(len(outputs)):
            source = self.letter(2 + i)
            formula = f"=INDEX(Answers!${source}$2:${source}${rows},{answer}+1)"
            self.put(sheet, 2, self.n + 1 + i, formula, formula=True)
        for column in range(first_value, first_step + depth + 1):
            sheet.column_dimensions[self.letter(column)].outlineLevel = 1
            sheet.column_dimensions[self.letter(column)].hidden = True

    def _value(self, i: int, encoding: Encoding) -> str:
        """Return the formula of what the nodes compare: the number, or the code of a level from 1, 0 for others."""
        cell = f"{self.letter(i + 1)}2"
        if encoding.kind == "number":
            return f'=IF({cell}="","",{cell})'
        if encoding.kind == "boolean":
            return f'=IF({cell}="","",IF({cell},2,1))'
        column, rows = self.letter(i + 2), len(encoding.levels) + 1
        names, codes = f"Levels!${column}$2:${column}${rows}", f"Levels!$A$2:$A${rows}"
        return f'=IF({cell}="","",SUMPRODUCT(EXACT({names},{cell}&"")*{codes}))'

    def _at(self, column: str, step: str) -> str:
        return f"INDEX(Nodes!${column}$2:${column}${len(self.routine.steps) + 1},{step}+1)"

    def _next(self, step: str, values: str) -> str:
        """Return the formula of the step after a step: an answer stays where it is."""
        value = f"INDEX({values},{self._at('B', step)})"
        compare = f"IF({value}<={self._at('C', step)},{self._at('D', step)},{self._at('E', step)})"
        cases = self._n_cases() + 1
        find = f"VLOOKUP({step}*{self.width}+{value},Cases!$A$2:$B${cases},2,FALSE)"
        choose = f"IFERROR({find},{self._at('E', step)})"
        present = f"IF({self._at('A', step)}={_TEST},{compare},{choose})"
        missing = f'IF({value}="",{self._at("F", step)},{present})'
        return f"=IF({self._at('A', step)}=0,{step},{missing})"

    def _n_cases(self) -> int:
        switches = [step for step in self.routine.steps if isinstance(step, Switch)]
        return max(1, sum(len(codes) for step in switches for codes, _ in step.cases))

    # -- the tables -----------------------------------------------------------------------------------------------

    def tables(self) -> None:
        """Write what the calculator looks up; steps are numbered from 0."""
        nodes, cases = self.book.create_sheet("Nodes"), self.book.create_sheet("Cases")
        self.head(nodes, ["kind", "column", "cut", "at most", "otherwise", "missing", "answer"])
        self.head(cases, ["key", "next"])
        self.put(cases, 2, 1, -1)
        n_cases = 0
        for i, step in enumerate(self.routine.steps):
            for column, value in enumerate(_node_cells(step), start=1):
                self.put(nodes, i + 2, column, value)
            for codes, child in step.cases if isinstance(step, Switch) else ():
                for code in codes:
                    n_cases += 1
                    self.put(cases, n_cases + 1, 1, i * self.width + code + 1)
                    self.put(cases, n_cases + 1, 2, child)
        levels, answers = self.book.create_sheet("Levels"), self.book.create_sheet("Answers")
        self.head(levels, ["code", *(encoding.name for encoding in self.program.inputs)])
        for code in range(1, self.width):
            self.put(levels, code + 1, 1, code)
        for i, encoding in enumerate(self.program.inputs):
            for code, level in enumerate(encoding.levels):
                self.put(levels, code + 2, i + 2, level)
        self.head(answers, ["answer", *self._answer_titles()])
        for i in range(len(self.routine.answers)):
            for column, value in enumerate([i, *self._answer_cells(i)], start=1):
                self.put(answers, i + 2, column, value)

    def _answer_titles(self) -> list[str]:
        return ["prediction", *(f"probability of {label}" for label in self.program.classes), "leaf"]

    def _answer_cells(self, number: int) -> list[Any]:
        answers = self.routine.answers
        leaf = answers.node[number] if answers.node[number] >= 0 else ""
        if self.program.is_regression:
            value = answers.value[number]
            return ["" if math.isnan(value) else value, leaf]
        label = answers.label[number]
        if label == NO_ANSWER:
            return ["", *[""] * len(self.program.classes), leaf]
        return [self.program.classes[label], *answers.probabilities[number].tolist(), leaf]

    # -- for readers ----------------------------------------------------------------------------------------------

    def rules(self, sheet: Any) -> None:
        """Write the rules, with a filter on every column."""
        self.head(sheet, [*(encoding.name for encoding in self.program.inputs), *self._answer_titles()])
        rows = rules_of(self.routine)
        for row, (admitted, number) in enumerate(rows, start=2):
            for i, encoding in enumerate(self.program.inputs):
                text = describe(admitted[i], encoding.levels) if i in admitted else ""
                self.put(sheet, row, i + 1, text[:_MAX_TEXT])
            for column, value in enumerate(self._answer_cells(number), start=self.n + 1):
                self.put(sheet, row, column, value)
        sheet.auto_filter.ref = f"A1:{self.letter(self.n + len(self._answer_titles()))}{len(rows) + 1}"

    def formula(self, sheet: Any) -> None:
        """Write the tree as one formula, as text to copy, or why it does not fit."""
        text = self._nested_if() if self.routine.depth <= _MAX_NESTING and len(self.routine.steps) < 2000 else ""
        fits = bool(text) and len(text) <= _MAX_FORMULA
        note = "Copy into a cell beside a row of inputs in columns A, B, …; missing cells are empty."
        self.put(sheet, 1, 1, note if fits else "The tree is too large for one formula: use the calculator.")
        if fits:
            self.put(sheet, 2, 1, text)

    def _nested_if(self) -> str:
        texts: list[str] = [""] * len(self.routine.steps)
        for i in range(len(self.routine.steps) - 1, -1, -1):
            step = self.routine.steps[i]
            if isinstance(step, Answer):
                texts[i] = _literal(self._answer_cells(step.number)[0])
                continue
            cell, encoding = f"{self.letter(step.column + 1)}2", self.program.inputs[step.column]
            if isinstance(step, Test):
                cut = repr(round_down(float(step.cut)))
                text = texts[step.below]
                if step.op == "<=" and step.below != step.above:
                    text = f"IF({cell}<={cut},{texts[step.below]},{texts[step.above]})"
            else:
                text = texts[step.default]
                for codes, child in reversed(step.cases):
                    tests = [_equals(cell, encoding, code) for code in codes]
                    text = f"IF(OR({','.join(tests)}),{texts[child]},{text})" if tests else text
            texts[i] = f'IF({cell}="",{texts[step.missing]},{text})' if texts[step.missing] != text else text
            if len(texts[i]) > _MAX_FORMULA:
                return ""
        return f"={texts[0]}"


def _node_cells(step: Test | Switch | Answer) -> list[Any]:
    """Return kind, column, cut, next steps and answer of a node; unused cells are 0."""
    if isinstance(step, Answer):
        return [0, 1, 0, 0, 0, 0, step.number]
    if isinstance(step, Switch):
        return [_CASES, step.column + 1, 0, 0, step.default, step.missing, 0]
    below = step.above if step.op == "<" else step.below  # no number is below the smallest
    cut = _LARGEST if step.op == "present" else round_down(float(step.cut))
    return [_TEST, step.column + 1, cut, below, step.above, step.missing, 0]


def _equals(cell: str, encoding: Encoding, code: int) -> str:
    return (
        f"{cell}={'TRUE' if code else 'FALSE'}"
        if encoding.kind == "boolean"
        else f'EXACT({cell}&"",{_literal(encoding.levels[code])})'
    )


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return repr(value)
