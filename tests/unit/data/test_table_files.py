"""Tables read from files (CSV, gzip, Parquet), and the messages about names and cells."""

import datetime as dt
import gzip
import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
import pytest

import treewise as tw
from treewise.data import encoding as encode
from treewise.data import table as table_module
from treewise.data.table import Table, read
from treewise.errors import ColumnError, DataError, ParameterError


def column(values, **more):
    return read({"x": values}, **more)["x"]


def test_files_by_content_whatever_they_are_called(tmp_path):
    text = b"a,b\n1,x\n2,y\n"
    (tmp_path / "t.csv").write_bytes(text)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "t.data").write_bytes(text)
    (tmp_path / "t.tsv").write_bytes(text.replace(b",", b"\t"))
    pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}).write_parquet(tmp_path / "t.parquet")
    for file in sorted(tmp_path.iterdir()):
        for path in (file, str(file)):
            table = read(path)
            assert table.name == file.name
            assert table.notes == ()
            assert table["a"].values.tolist() == [1, 2]
            assert table["b"].labels == ("x", "y")


def test_standard_input(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"a\n1\n")

    monkeypatch.setattr("sys.stdin", Stdin)
    table = read("-")
    assert (table.name, table["a"].values.tolist()) == ("standard input", [1])


def test_built_in_tables_by_name():
    assert read("admissions").target == "Class"
    with pytest.raises(DataError, match=r'no file "admision" or built-in table.*Did you mean "admissions"'):
        read("admision")


def test_files_that_are_not_there(tmp_path):
    (tmp_path / "people.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r'no file ".*peple.csv"\. Did you mean "people.csv"\?'):
        read(tmp_path / "peple.csv")
    with pytest.raises(DataError, match=r'no file ".*pets.csv"\.$'):  # an ending alone is no likeness
        read(tmp_path / "pets.csv")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="folder: the folder has no CSV, TSV or Parquet file"):
        read(tmp_path / "folder")
    with pytest.raises(DataError, match="no file"):
        read(str(tmp_path / "none" / "x.csv"))


def test_damaged_files(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n1\n" * 1000)[:-9])
    with pytest.raises(DataError, match=r"t\.csv\.gz is damaged"):
        read(tmp_path / "t.csv.gz")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match=r"t\.parquet is damaged"):
        read(tmp_path / "t.parquet")
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04\0\0")
    with pytest.raises(DataError, match="not a text file"):
        read(tmp_path / "t.xlsx")


def test_the_representation_of_a_table():
    assert repr(Table("t.csv", {}, 1)) == "<Table t.csv · 1 row · 0 columns: >"


def test_no_dataframe_library_is_loaded_before_it_is_needed():
    code = (
        "import sys, treewise.data.encoding as e, treewise.data.table as t;"
        "e.fit_encoding(t.read({'x': ['a', 'b']})['x']);"
        "print(*({'polars', 'narwhals', 'pandas', 'pyarrow'} & sys.modules.keys()))"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == ""


def test_columns_may_be_numbered():
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (30, 23)))
    tree = tw.grow(frame, target=22, ignore=[3], kinds={4: "nominal"})
    assert tree == tw.grow(frame, target="22", ignore=["3"], kinds={"4": "nominal"})
    assert tree == tw.grow(frame, target=np.int64(22), ignore=["3"], kinds={"4": "nominal"})
    assert tree.predict(frame.to_dict("records")[0]) == tree.predict(frame)[0]
    assert list(read(frame, columns=[1, 2]).columns) == list(read(frame).columns)[1:3]
    assert len(read(frame).drop([1]).columns) == 22
    with pytest.raises(ColumnError, match=r'no column "22" .* the one with index 22 is "x23"\.'):
        tw.grow(frame.to_numpy(), target=22)
    with pytest.raises(
        ColumnError, match=r'no column "23" in the table\. Columns without names are x1, x2, …\. Columns: x1'
    ):
        tw.grow(frame.to_numpy(), target=23)


def test_arrow_datasets(tmp_path):
    parquet.write_table(pa.table({"x": [1, 2, 3], "y": ["a", "b", "a"]}), tmp_path / "t.parquet")
    data = dataset.dataset(tmp_path / "t.parquet")
    assert read(data)["x"].values.tolist() == [1, 2, 3]
    assert list(read(data.scanner(columns=["y"])).columns) == ["y"]


# -- messages ------------------------------------------------------------------------------------------------


def test_messages_stay_short_whatever_they_quote():
    long, word = "n" * 3000, "w" * 3000
    numbers = [str(i) for i in range(30)]
    attempts = [
        lambda: read({long: [1], f"{long}2": [1]})["x"],
        lambda: read({f"{long}{i}": [1] for i in range(30)})[f"{long}x"],
        lambda: read({long: [1, 2], f"{long}2": [1]}),
        lambda: read({long: [1, word]})[long],
        lambda: read({long: [[1], [2]]})[long],
        lambda: read({long: np.zeros((2, 2))})[long],
        lambda: read([[1, 2]], columns=[long, long]),
        lambda: read(f"{word}.csv"),
        lambda: read(np.array([[1]]), columns=[long, "b"]),
        lambda: encode.fit_encoding(read({long: [*numbers, word]})[long]),
        lambda: encode.fit_encoding(read({long: ["9" * 300, "1"]})[long]),
        lambda: encode.fit_encoding(read({long: [word]})[long], "number"),
        lambda: encode.fit_encoding(read({long: [word]})[long], "nominale"),
        lambda: encode.fit_encoding(read({long: [word]})[long], [f"{word}{i}" for i in range(30)]),
        lambda: encode.encode_column(encode.Encoding(long, "number"), read({long: [word]})[long], "new.csv"),
        lambda: encode.encode_column(encode.Encoding(long, "nominal", (word,)), read({long: [1]})[long], "new.csv"),
        lambda: encode.encode_classes(read({long: [*numbers, word]})[long]),
        lambda: table_module.read_bytes(f"{long},{long}\n1,2\n".encode(), "t.csv", ()),
    ]
    for attempt in attempts:
        with pytest.raises((DataError, ParameterError)) as caught:
            attempt()
        assert len(str(caught.value)) < 800, str(caught.value)[:200]


def test_times_with_and_without_an_offset_are_refused_with_rows():
    naive, aware = dt.datetime(2024, 1, 31, 10), dt.datetime(2024, 1, 31, 10, tzinfo=dt.UTC)
    message = r'column "x" mixes times with an offset \("?2024-01-31 10:00:00\+00:00"? in row 3\) and .* in row 1\)'
    cells = [naive, None, aware]
    stamps = [None if cell is None else pd.Timestamp(cell) for cell in cells]
    for data in (cells, np.array(cells, object), pd.Series(cells, dtype=object), stamps):
        with pytest.raises(DataError, match=message):
            column(data)
    texts = [None if cell is None else str(cell) for cell in cells]
    for data in (texts, pd.Series(texts), pl.Series(texts), pa.array(texts)):
        with pytest.raises(DataError, match=message):
            encode.fit_encoding(column(data))
        with pytest.raises(DataError, match=message):
            encode.encode_column(encode.Encoding("x", "datetime", unit="s"), column(data), "new.csv")
        assert encode.fit_encoding(column(data), "nominal").encoding.levels == tuple(sorted(filter(None, texts)))
    assert encode.fit_encoding(column([dt.date(2024, 1, 31), aware])).encoding.kind == "datetime"
    assert encode.fit_encoding(column(["2024-01-31", str(aware)])).encoding.kind == "datetime"


@pytest.mark.parametrize(("name", "form"), [("t.parquet", "Parquet"), ("t.csv.gz", "gzip"), ("t.csv", None)])
def test_files_whose_beginning_is_damaged(tmp_path, name, form):
    path = tmp_path / name
    pl.DataFrame({"a": range(100)}).write_parquet(path)
    whole = gzip.compress(b"a\n1\n" * 1000) if form == "gzip" else path.read_bytes()
    path.write_bytes(b"X" + whole[1:])
    with pytest.raises(DataError, match=rf"damaged.* as a {form} file" if form else "not a text file.* damaged"):
        read(path)


def test_rows_as_json(tmp_path):
    rows = [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    for name, content in (
        ("t.jsonl", lines),
        ("t.ndjson.gz", gzip.compress(lines)),
        ("t.jsonl.gz", gzip.compress(lines)),
        ("t.json", json.dumps(rows).encode()),
    ):
        (tmp_path / name).write_bytes(content)
        table = read(tmp_path / name)
        assert table["b"].labels == ("x", "y")
        assert table["a"].is_missing().tolist() == [False, True]
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(lines)[:-9])
    with pytest.raises(DataError, match=r"cut\.jsonl\.gz is damaged"):
        read(tmp_path / "cut.jsonl.gz")
