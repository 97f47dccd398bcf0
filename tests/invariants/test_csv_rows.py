"""Rows never vanish between a CSV file and its predictions: random files, against Python's csv module.

``TREEWISE_LONG=1`` tries 50,000 files, ``python -m tests.invariants.test_csv_rows`` the same with a count at the end.
"""

import csv
import io
import os
import random

import treewise as tw
from treewise.data.csv_file import CsvFormat
from treewise.data.table import read_bytes
from treewise.errors import DataError

N_FILES = 50_000 if os.environ.get("TREEWISE_LONG") else 2_000

PLAIN = ["", " ", "a", "b", "1", "2.5", "7 mm", "ü", "it's", "NA", "2024-01-31"]
QUOTED = ['""', '" "', '"a"', '"a,b"', '"a;b"', '"two\nlines"', '"two\r\nlines"', '"one\n\n\ntwo"', '"x ""y"""', '"\n"']
STRAY = ['5" pipe', 'say "no"', ' "a"', '6""', 'a"', '"a"b', '"', "a\rb"]


def random_file(seed: int) -> tuple[str, str]:
    """Return the text of a file, and its separator."""
    rng = random.Random(seed)
    width, separator = rng.choice([1, 1, 2, 3]), rng.choice(",,,;\t")
    cells = PLAIN + QUOTED * rng.randrange(2) + STRAY * (rng.random() < 0.4)
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    names = [rng.choice([f"c{j}", f'"c{j}"', f'c"{j}', f'"c\n{j}"'][: rng.choice([1, 2, 4])]) for j in range(width)]
    lines = [separator.join(names)]
    for _ in range(rng.randrange(1, 9)):
        n_cells = width if rng.random() < 0.98 else rng.randrange(1, 4)
        lines.append(separator.join(rng.choice(cells) for _ in range(n_cells)))
        if rng.random() < 0.25:
            lines += [rng.choice(["", "", " ", "   "])] * rng.randrange(1, 3)
    text = end.join(lines) + end * rng.randrange(3)
    return "\n" * rng.randrange(2) + (text.replace(end, "\n", 1) if rng.random() < 0.1 else text), separator


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
