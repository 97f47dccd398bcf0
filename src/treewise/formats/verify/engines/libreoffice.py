"""Engine "libreoffice": LibreOffice without a window, for workbooks.

Fills the calculator down, as a user would, and lets LibreOffice compute it.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from bisect import bisect_left
from pathlib import Path
from typing import Any

from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import EngineLimits, Rows

LIMITS = EngineLimits(nul=False, empty=False, digits=14, controls=False)
_SECONDS = 300


def find() -> str:
    """Return the version of the program."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise NotInstalled("pip install openpyxl") from None
    program = shutil.which("soffice")
    if program is None:
        raise NotInstalled("apt install libreoffice-calc")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    return " ".join(version.stdout.split()[:2]) or "LibreOffice"


def run(export: Export, rows: Rows) -> Outputs:
    """Compute all rows in one sheet."""
    with tempfile.TemporaryDirectory() as folder:
        _fill(export, rows, Path(folder, "rows.xlsx"))
        command = ["soffice", f"-env:UserInstallation={Path(folder, 'profile').as_uri()}", "--headless"]
        command += ["--convert-to", "xlsx", "--outdir", str(Path(folder, "computed")), str(Path(folder, "rows.xlsx"))]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
        return _read(export, Path(folder, "computed", "rows.xlsx"), len(rows))


def _fill(export: Export, rows: Rows, path: Path) -> None:
    """Write the rows into the calculator and its formulas beside each."""
    import openpyxl
    from openpyxl.formula.translate import Translator

    assert isinstance(export.content, bytes)
    book = openpyxl.load_workbook(io.BytesIO(export.content))
    sheet = book["Calculator"]
    first = {cell.coordinate: cell.value for cell in sheet[2] if cell.value is not None}
    for i in range(len(rows)):
        for j, column in enumerate(rows.cells):
            value = None if column[i] is None or column[i] != column[i] else column[i]
            cell = sheet.cell(i + 2, j + 1, value)
            if isinstance(value, str):
                cell.value, cell.data_type = value, "s"
        for coordinate, value in first.items() if i else ():
            to = coordinate[:-1] + str(i + 2)
            is_formula = isinstance(value, str) and value.startswith("=")
            sheet[to] = Translator(value, coordinate).translate_formula(to) if is_formula else value
    book.save(path)


def _read(export: Export, path: Path, n_rows: int) -> Outputs:
    """Read what was computed; an empty text is not an answer.

    LibreOffice saves 15 digits of a number, which stand for the entry of the answers that was looked up.
    """
    import openpyxl

    assert isinstance(export.content, bytes)
    program, first = export.program, len(export.program.inputs)
    answers = openpyxl.load_workbook(io.BytesIO(export.content))["Answers"]
    entries = [sorted({c.value for c in column[1:] if _is_number(c.value)}) for column in list(answers.columns)[1:]]
    sheet = openpyxl.load_workbook(path, data_only=True)["Calculator"]
    cells = []
    for row in sheet.iter_rows(2, n_rows + 1, first + 1, first + len(entries), values_only=True):
        values = [_nearest(known, value) for known, value in zip(entries, row, strict=True)]
        cells.append([None if value in ("", None) else value for value in values])
    prediction, leaf = [row[0] for row in cells], [row[-1] for row in cells]
    if program.is_regression:
        return Outputs(prediction, None, leaf)
    return Outputs(prediction, [None if row[1] is None else row[1:-1] for row in cells], leaf)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _nearest(entries: list[float], value: Any) -> Any:
    """Return the entry that agrees with a saved number in 15 digits; anything else as it is."""
    if not _is_number(value):
        return value
    at = bisect_left(entries, value)
    near = [entry for entry in entries[max(0, at - 1) : at + 1] if abs(entry - value) <= 1e-14 * abs(value)]
    return min(near, key=lambda entry: abs(entry - value), default=value)
