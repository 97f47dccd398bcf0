"""Tables read in batches: many files, patterns, folders, and columns in files instead of memory."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.random_csv import random_file
from tests.support.random_tables import limit_examples, random_tables
from tests.support.small_memory import small_memory
from treewise.data import batches, csv_chunks
from treewise.data.csv_file import CsvFormat
from treewise.data.table import read, read_bytes
from treewise.errors import ColumnError, DataError, ParameterError
from treewise.formats.model_file.model_file import dumps

LONG = bool(os.environ.get("TREEWISE_LONG"))


@contextmanager
def chunks_of(size: int):
    """Read text in pieces of this many bytes, and Parquet in batches of few cells."""
    before = csv_chunks.CHUNK, batches._CELLS
    csv_chunks.CHUNK, batches._CELLS = size, size
    try:
        yield
    finally:
        csv_chunks.CHUNK, batches._CELLS = before


def write_parts(frame: pl.DataFrame, folder: Path, n_parts: int, ending: str = "parquet") -> str:
    for i, part in enumerate(frame.iter_slices(max(1, -(-len(frame) // n_parts)))):
        if ending == "parquet":
            part.write_parquet(folder / f"part-{i:03}.parquet", row_group_size=max(1, len(part) // 2))
        else:
            part.write_csv(folder / f"part-{i:03}.csv")
    return str(folder / f"*.{ending}")


@pytest.fixture
def table() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    n = 600
    frame = pl.DataFrame(
        {
            "number": rng.normal(size=n),
            "narrow": rng.normal(size=n).astype("f4"),
            "count": rng.integers(0, 9, n).astype("i2"),
            "key": 2**60 + rng.integers(0, 40, n),
            "town": rng.choice(["Rome", "Bari", "10", "9"], n),
            "flag": rng.random(n) < 0.5,
            "day": np.datetime64("2020-01-01") + rng.integers(0, 90, n),
            "time": np.datetime64("2020-01-01T10:00:00", "us") + rng.integers(0, 10**6, n) * 1000,
            "y": rng.choice(["no", "yes"], n),
        }
    )
    gaps = [
        pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in frame.columns[:-1]
    ]
    return frame.with_columns(gaps)


@pytest.mark.parametrize("in_files", [False, True])
@pytest.mark.parametrize("n_parts", [1, 7])
def test_the_same_model_as_in_memory(table, tmp_path, in_files, n_parts):
    pattern = write_parts(table, tmp_path, n_parts)
    memory = small_memory(*table.shape) if in_files else None
    with chunks_of(500):
        batched = read(pattern, memory=memory)
    assert (batched.store._folder is not None) == in_files
    assert dumps(tw.grow(batched, "y")) == dumps(tw.grow(table, "y"))
    forest = {"n_estimators": 3, "random_state": 1}
    assert dumps(tw.forest(batched, "y", **forest)) == dumps(tw.forest(table, "y", **forest))


@limit_examples(0.5)
@given(drawn=random_tables(), n_parts=st.integers(1, 4), in_files=st.booleans())
def test_random_tables(tmp_path_factory, drawn, n_parts, in_files):
    frame = pl.DataFrame(drawn.data, strict=False)
    pattern = write_parts(frame, tmp_path_factory.mktemp("parts"), n_parts)
    batched = read(pattern, memory=small_memory(*frame.shape) if in_files else None)
    expected = tw.grow(frame, "y", **drawn.options)
    assert dumps(tw.grow(batched, "y", **drawn.options)) == dumps(expected)


def same_columns(batched, whole) -> None:
    assert list(batched.columns) == list(whole.columns)
    for name in whole.columns:
        assert batched[name].equals(whole[name]), name


@pytest.mark.parametrize("seed", range(6_000 if LONG else 400))
def test_random_text_cut_anywhere(tmp_path, seed):
    text, separator = random_file(seed)
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    size = random.Random(seed).choice([1, 5, 20, 60, 1000])
    try:
        whole = read_bytes(text.encode(), "t.csv", (), CsvFormat(separator))
    except DataError as error:
        with chunks_of(size), pytest.raises(DataError) as actual:
            read(path, separator=separator, memory="1GB")
        assert str(actual.value).partition(" ")[0] == str(error).partition(" ")[0]
        return
    with chunks_of(size):
        batched = read(path, separator=separator, memory="1GB")
    same_columns(batched, whole)
    assert set(batched.notes) == set(whole.notes)


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2", "x", "3"],
        ["1", "2.5", "", "3"],
        ["01", "2", "3", "4"],
        ["1", "2", "NaN", "4"],
        ["1", "9223372036854775808", "3", "4"],
        ["1", "9223372036854775808", "3.5", "4"],
        ["true", "", "false", "true"],
        ["true", "NA", "false", "true"],
        ["2024-01-31", "", "2024-02-01 10:00", "2024-01-01"],
        ["", "", "", ""],
    ],
)
def test_all_cells_decide_the_type(tmp_path, cells):
    for i, cell in enumerate(cells):
        (tmp_path / f"{i}.csv").write_text(f"x,y\n{cell},a\n")
    whole = read_bytes("\n".join(["x,y", *(f"{cell},a" for cell in cells)]).encode(), "t.csv", ())
    same_columns(read(tmp_path), whole)


def test_gzip_and_columns_in_another_order(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n1,a\n"))
    (tmp_path / "b.csv").write_text("y,x\nb,2\n")
    assert read(str(tmp_path / "*")).to_polars().rows() == [(1, "a"), (2, "b")]


def test_partitions_are_columns(tmp_path):
    for year, town in ((2023, "New%20York"), (2024, "Bari")):
        folder = tmp_path / f"year={year}" / f"town={town}"
        folder.mkdir(parents=True)
        pl.DataFrame({"x": [year + 1, year + 2]}).write_parquet(folder / "part.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.parquet").touch()
    rows = read(tmp_path).to_polars().rows()
    assert rows == [
        (2024, "2023", "New York"),
        (2025, "2023", "New York"),
        (2025, "2024", "Bari"),
        (2026, "2024", "Bari"),
    ]
    assert tw.grow(tmp_path, "x", task="regression").encodings[0].kind == "number"


def test_a_list_of_paths_in_its_order(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n")
    (tmp_path / "b.csv").write_text("x,y\n2,b\n")
    assert read([tmp_path / "b.csv", str(tmp_path / "a.csv")])["x"].values.tolist() == [2, 1]
    with pytest.raises(DataError, match=r"no file '.*c\.csv'"):
        read([tmp_path / "b.csv", tmp_path / "c.csv"])


def test_types_that_go_together(tmp_path):
    pl.DataFrame({"x": [1, 2], "z": [None, None]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": [0.5, None], "z": ["u", "v"]}).write_parquet(tmp_path / "b.parquet")
    assert read(tmp_path).to_polars().rows() == [(1.0, None), (2.0, None), (0.5, "u"), (None, "v")]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"x": [1]}, {"x": ["a"]}, 'column "x" is whole numbers in a.parquet, but text in b.parquet'),
        ({"x": [1]}, {"x": [True]}, r"but true/false in b\.parquet"),
        ({"x": [1], "age": [1]}, {"x": [2], "agee": [1]}, "b.parquet has other columns .* lacks age and has agee"),
        ({"x": [2**60]}, {"x": [0.5]}, "whole numbers past 2\\^53"),
    ],
)
def test_files_that_do_not_go_together(tmp_path, first, second, message):
    pl.DataFrame(first).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame(second).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=message):
        read(tmp_path)


def test_errors_name_the_file_and_the_line(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n")
    (tmp_path / "b.csv").write_text("x,y\n1,a\n\n2,b,c\n")
    with pytest.raises(DataError, match=r"b\.csv line 4 has 3 cells"), chunks_of(8):
        read(tmp_path)
    (tmp_path / "b.csv").write_bytes(b"x,y\n1,a\n2,\xff\n3,b\n")
    with pytest.raises(DataError, match=r"b\.csv line 3: byte 0xff"), chunks_of(8):
        read(tmp_path)
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"c\.parquet have different formats"):
        read(tmp_path)
    (tmp_path / "c.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(DataError, match=r"c\.parquet is damaged"):
        read(str(tmp_path / "c*"))
    with pytest.raises(DataError, match="no file matches"):
        read(str(tmp_path / "*.txt"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="the folder has no CSV"):
        read(tmp_path / "empty")


def test_a_column_that_cannot_be_read_matters_only_if_it_is_used(tmp_path):
    pl.DataFrame({"x": [1, 2, 3], "list": [[1], [2], [3]], "y": ["a", "b", "a"]}).write_parquet(tmp_path / "a.parquet")
    assert tw.grow(str(tmp_path / "*"), "y", ignore=["list"]).n_leaves > 1
    with pytest.raises(DataError, match='column "list" has the type List'):
        tw.grow(str(tmp_path / "*"), "y")
    with pytest.raises(ColumnError):
        tw.grow(str(tmp_path / "*"), "z")


def test_memory(table, tmp_path):
    pattern = write_parts(table, tmp_path, 2)
    with pytest.raises(ParameterError, match="need at least"):
        read(pattern, memory="10KB")
    for amount in ("much", "-1GB", 0, True, "GB"):
        with pytest.raises(ParameterError, match='such as "2GB"'):
            read(pattern, memory=amount)


def test_folders_are_searched_below_their_names_and_not_in_circles(tmp_path):
    for name in ("a[1]", "b"):
        (tmp_path / name / "sub").mkdir(parents=True)
        pl.DataFrame({"x": [len(name)]}).write_parquet(tmp_path / name / "sub" / "part.parquet")
    (tmp_path / "b" / "sub" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert [file.path.parent.parent.name for file in batches.find_files(str(tmp_path))] == ["a[1]", "b"]
    assert [file.path.parent.parent.name for file in batches.find_files(f"{tmp_path}/?/**/*.parquet")] == ["b"]
    assert [file.path.parent.parent.name for file in batches.find_files(f"{tmp_path}/[ab]*/sub/*")] == ["a[1]", "b"]


def test_a_folder_of_a_whole_disk_is_no_table(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "_MOST_ENTRIES", 5)
    for i in range(6):
        (tmp_path / f"{i}.csv").touch()
    with pytest.raises(DataError, match="hold more than 5 files"):
        batches.find_files(str(tmp_path))


def test_the_folder_is_removed(table, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    pattern = write_parts(table, tmp_path, 3)
    batched = read(pattern, memory=small_memory(*table.shape))
    other = read(pattern, memory=small_memory(*table.shape))  # the folder is in use
    assert len(list((tmp_path / "temporary").glob("*/*"))) == 2
    same_columns(batched, other)
    del batched, other
    assert list((tmp_path / "temporary").iterdir()) == []
    (tmp_path / "part-001.parquet").write_bytes(b"PAR1broken")
    with pytest.raises(DataError):
        read(pattern, memory=small_memory(*table.shape))
    assert list((tmp_path / "temporary").iterdir()) == []


KILLED = """
import sys
from treewise.data import batches, store_folder
batches._CELLS = 100
log = store_folder.StoreFolder.log
def slow(self, rows, *more):
    log(self, rows, *more)
    print(rows.stop, flush=True)
    if rows.stop > int(sys.argv[3]):
        sys.stdin.read()
store_folder.StoreFolder.log = slow
from treewise.data.table import read
read(sys.argv[1], memory=int(sys.argv[2]))
"""


@pytest.mark.parametrize("damage", [None, "values", "journal"])
def test_reading_continues_after_a_kill(table, tmp_path, monkeypatch, damage):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    pattern, memory = write_parts(table, tmp_path, 3), small_memory(*table.shape)
    arguments = [sys.executable, "-c", KILLED, pattern, str(memory), "250"]
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(temporary)}, text=True
    )
    while int(process.stdout.readline()) <= 250:
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (folder,) = temporary.glob("*/*")
    lines = (folder / "journal").read_text().splitlines()
    start, stop, *_ = json.loads(lines[-1].partition(" ")[2])
    if damage == "values":  # a page that was not written
        with (folder / "columns-0").open("r+b") as file:
            file.seek(8 * start)
            file.write(b"damaged!")
    elif damage == "journal":
        (folder / "journal").write_text("\n".join(lines)[:-4])
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    written, write = [], batches.ColumnStore.write

    def record_and_write(self, columns, n):
        written.append(self.n_written)
        write(self, columns, n)

    monkeypatch.setattr(batches.ColumnStore, "write", record_and_write)
    with chunks_of(100):
        resumed = read(pattern, memory=memory)
    assert written[0] == (stop if damage is None else start)
    same_columns(resumed, read(pattern))
    assert dumps(tw.grow(resumed, "y")) == dumps(tw.grow(table, "y"))


def test_ctrl_c_leaves_nothing_behind(table, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    pattern = write_parts(table, tmp_path, 3)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, pattern, str(small_memory(*table.shape)), "250"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(temporary)},
        text=True,
    )
    while int(process.stdout.readline()) <= 250:
        pass
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=30)[1]
    assert list(temporary.iterdir()) == []


def test_progress_is_reported(table, tmp_path):
    for ending in ("parquet", "csv"):
        shares = []
        with chunks_of(700):
            read(write_parts(table, tmp_path, 2, ending), on_progress=shares.append)
        assert shares == sorted(shares)
        assert len(shares) > 4
        assert shares[-1] == pytest.approx(1.0)
