"""Rows never vanish between a CSV file and its predictions: random files, against Python's csv module.

``TREEWISE_LONG=1`` tries 50,000 files, ``python -m tests.invariants.test_csv_rows`` the same with a count at the end.
"""

import csv
import io
import os

import treewise as tw
from tests.support.random_csv import random_file
from treewise.data.csv_file import CsvFormat
from treewise.data.table import read_bytes
from treewise.errors import DataError

N_FILES = 50_000 if os.environ.get("TREEWISE_LONG") else 2_000


def expected_rows(text: str, separator: str) -> list[list[str]]:
    """Read the rows with Python's csv module; blank lines are empty cells where there is one column, between rows."""
    if "\n" not in text:
        text = text.replace("\r", "\n")
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    records = []
    first = 0
    for cells in reader:
        is_blank = reader.line_num == first + 1 and not lines[first].strip(" \r\n")
        records.append(None if is_blank else cells)
        first = reader.line_num
    while records and records[-1] is None:
        records.pop()
    while records and records[0] is None:
        records.pop(0)
    width = len(records[0])
    return [cells or [""] for cells in records[1:] if cells is not None or width == 1]


def check(seed: int, model: tw.Tree) -> bool:
    """Read a random file and compare it with the csv module; return whether it was accepted."""
    text, separator = random_file(seed)
    try:
        table = read_bytes(text.encode(), "t.csv", (), CsvFormat(separator))
    except DataError:
        return False
    rows = expected_rows(text, separator)
    assert len(table) == len(rows), seed
    assert len(model.predict(table)) == len(rows), seed
    for j, name in enumerate(table.columns):
        column = table[name]
        assert column.is_missing().tolist() == [not row[j].strip() for row in rows], seed
        if column.form == "text":
            assert [column.labels[code] if code >= 0 else "" for code in column.values.tolist()] == [
                row[j] if row[j].strip() else "" for row in rows
            ], seed
    return True


def count_accepted(n_files: int) -> int:
    """Check this many files; return how many were accepted."""
    leaf = tw.grow({"c0": ["a", "b"], "y": ["p", "q"]}, "y", max_depth=0)
    return sum(check(seed, leaf) for seed in range(n_files))


def test_as_many_predictions_as_data_lines():
    assert count_accepted(N_FILES) > N_FILES // 2


def test_a_stray_quote_and_blank_cells():
    text = b'size\n5" pipe\n\n6 mm\n\n7 mm\n'
    assert len(read_bytes(text, "t.csv", ())) == 5


if __name__ == "__main__":
    n_accepted = count_accepted(50_000)
    print(
        f"50,000 files: {n_accepted:,} read, each with the rows of Python's csv module; {50_000 - n_accepted:,} refused"
    )
