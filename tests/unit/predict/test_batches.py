"""Prediction in batches gives what prediction at once gives, whatever the cuts and formats; bad rows are set aside."""

import gzip
import json
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treewise as tw
from treewise.data import row_batches
from treewise.data.convert import to_numbers
from treewise.predict.batches import encode_batch, map_pieces, plan_for


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(row_batches, "_CSV_BYTES", 200)
    monkeypatch.setattr(row_batches, "_JSON_BYTES", 300)
    monkeypatch.setattr(row_batches, "_CELLS", 30)


@pytest.fixture(scope="module")
def penguins():
    return tw.grow("penguins", target="species", max_leaf_nodes=8)


def batches_of(tree, data):
    return [label for batch in tree.predict_batches(data) for label in batch.tolist()]


def test_every_format_gives_the_same(tmp_path, penguins, small_pieces):
    frame = tw.datasets.penguins().to_polars()
    text = frame.write_csv()
    rows = frame.write_ndjson()
    frame.write_parquet(tmp_path / "p.parquet", row_group_size=50)
    for name, content in (
        ("p.csv", text.encode()),
        ("p.tsv", frame.write_csv(separator="\t").encode()),
        ("p.csv.gz", gzip.compress(text.encode())),
        ("p.jsonl", rows.encode()),
        ("p.jsonl.gz", gzip.compress(rows.encode())),
        ("crlf.csv", text.replace("\n", "\r\n").encode()),
        ("quoted.csv", frame.write_csv(quote_style="always", null_value="").replace('""', "").encode()),
        ("blank.csv", text.replace("\n", "\n\n").encode()),
        ("bom.csv", b"\xef\xbb\xbf" + text.encode()),
        ("list.json", b"[" + rows.strip().replace("\n", ",").encode() + b"]"),
    ):
        (tmp_path / name).write_bytes(content)
    expected = penguins.predict(frame).tolist()
    for path in tmp_path.iterdir():
        assert batches_of(penguins, str(path)) == expected, path.name
    (tmp_path / "year=1").mkdir()
    (tmp_path / "year=1" / "a.csv").write_text(text)
    (tmp_path / "year=1" / "b.jsonl").write_text(rows)
    assert batches_of(penguins, str(tmp_path / "year=1")) == expected * 2
    assert batches_of(penguins, str(tmp_path / "year=1" / "*.csv")) == expected
    assert batches_of(penguins, [str(tmp_path / "p.csv"), str(tmp_path / "p.parquet")]) == expected * 2


def test_tables_and_what_yields_batches(tmp_path, penguins):
    import duckdb
    import pandas as pd
    import pyarrow as pa
    import pyarrow.dataset

    frame = tw.datasets.penguins().to_polars()
    expected = penguins.predict(frame).tolist()
    frame.write_parquet(tmp_path / "p.parquet")
    frame.write_csv(tmp_path / "p.csv")
    assert batches_of(penguins, (frame[i : i + 100] for i in range(0, 344, 100))) == expected
    assert batches_of(penguins, frame) == expected
    assert batches_of(penguins, frame.lazy()) == expected
    assert batches_of(penguins, pd.read_csv(tmp_path / "p.csv", chunksize=100)) == expected
    assert batches_of(penguins, pyarrow.dataset.dataset(tmp_path / "p.parquet")) == expected
    arrow = frame.to_arrow()
    assert batches_of(penguins, pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches())) == expected
    assert batches_of(penguins, duckdb.sql(f"from '{tmp_path / 'p.parquet'}'")) == expected
    assert list(penguins.predict_batches(iter([]))) == []


NUMBERS = ["1", "2.5", "-3", "1e3", " 4", "", "NA", "007", ".5", "9007199254740993", "inf", "0.1", "123456.789", "?"]
LEVELS = ["a", "b", "1", "1.0", "01", "true", "", "NA", "x y", '"q"', "é", "2024-01-01"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_cuts_do_not_matter(tmp_path, monkeypatch, data):
    """Columns of every kind, with cells in several spellings: by pieces as by the whole file in one piece."""
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    n = rng.randint(4, 40)
    train = {
        "x": [rng.choice([1, 2.5, 3.0, -7.25, 1000]) for _ in range(n)],
        "c": [rng.choice(["a", "b", "1", "2"]) for _ in range(n)],
        "d": [rng.choice(["2024-01-01", "2024-06-30 12:00:00"]) for _ in range(n)],
        "b": [rng.choice(["true", "false"]) for _ in range(n)],
        "y": [rng.choice("pq") for _ in range(n)],
    }
    tree = tw.grow(train, target="y", max_depth=4, kinds={"c": "nominal"})
    lines = ["x,c,d,b"]
    for _ in range(rng.randint(1, 60)):
        level = rng.choice(LEVELS)
        cells = [
            rng.choice(NUMBERS[: rng.choice([4, len(NUMBERS)])]),
            '"' + level.replace('"', '""') + '"' if rng.random() < 0.2 or '"' in level else level,
            rng.choice(["2024-01-01", "2024-03-01 00:30:00", ""]),
            rng.choice(["true", "FALSE", "1", "0", ""]),
        ]
        lines.append(",".join(cells))
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    results = []
    for size in (1 << 22, rng.randint(30, 400)):
        monkeypatch.setattr(row_batches, "_CSV_BYTES", size)
        try:
            results.append(batches_of(tree, str(path)))
        except tw.DataError as error:
            results.append(str(error))
    assert results[0] == results[1]
    cells = pl.read_csv(path, infer_schema=False).with_columns(pl.all().replace("", None))  # each cell as text
    if not isinstance(results[0], str):
        wrong = [
            i for i, pair in enumerate(zip(results[0], tree.predict(cells).tolist(), strict=True)) if len(set(pair)) > 1
        ]
        assert not wrong, (tree, cells[wrong])


def test_numbers_are_read_to_the_last_digit(tmp_path):
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.normal(size=3000), 10.0 ** rng.uniform(-300, 300, 3000), rng.random(3000) * 1e16])
    forms = [repr, "{:.17g}".format, "{:.16e}".format]
    text = [forms[i % 3](v) for i, v in enumerate(values.tolist())]
    path = tmp_path / "n.csv"
    path.write_text("x,z\n" + "".join(f"{t},0\n" for t in text))
    tree = tw.grow({"x": [0.0, 1.0], "z": [0, 0], "y": ["a", "b"]}, target="y")
    source = row_batches.open_rows(str(path), plan_for(tree))
    actual = np.concatenate([to_numbers(piece.read(0).table["x"]) for piece in source.pieces])
    assert np.array_equal(actual, [float(t) for t in text])


def test_rows_are_numbered_by_file(tmp_path, penguins, small_pieces):
    text = tw.datasets.penguins().to_polars().write_csv()
    lines = text.splitlines()
    lines[200] = lines[200].replace(lines[200].split(",")[4], "long")
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text("\n".join(lines))
    column = lines[0].split(",")[4]
    tree = tw.grow("penguins", target="species", columns=[column, "island"], max_depth=3)
    with pytest.raises(tw.DataError, match=r'b\.csv holds text \("long" in row 200\)') as caught:
        batches_of(tree, str(tmp_path))
    assert (caught.value.column, caught.value.row) == (column, 199)


def bad_rows_of(tree, path):
    source = row_batches.open_rows(str(path), plan_for(tree, is_tolerant=True))
    found, answers = [], []

    class Done:
        def __init__(self, n_rows, bad, labels):
            self.n_rows, self.bad, self.labels = n_rows, bad, labels

        def shifted(self, n):
            return Done(self.n_rows, [(row + n, column, why) for row, column, why in self.bad], self.labels)

    def work(piece, first_row):
        batch = piece.read(first_row)
        encoded = encode_batch(tree, batch, is_tolerant=True)
        bad = [(row.row, row.column, row.reason) for row in encoded.bad]
        return Done(len(batch.table), bad, tree.answers(encoded.rows).predictions().tolist())

    for _, done in map_pieces(work, source.pieces):
        found += done.bad
        answers += done.labels
    return found, answers


@pytest.mark.parametrize("size", [20, 1 << 22])
def test_bad_rows(tmp_path, monkeypatch, size):
    monkeypatch.setattr(row_batches, "_CSV_BYTES", size)
    monkeypatch.setattr(row_batches, "_JSON_BYTES", size)
    tree = tw.grow({"x": [1, 2, 3, 4], "b": [True, False, True, False], "y": list("aabb")}, target="y")
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,b\n1,true\n2\nlots,true\n\xff,true\n4,true,9\n4,true\n,true\n")
    found, answers = bad_rows_of(tree, path)
    assert [row for row, _, _ in found] == [2, 3, 4, 5]
    assert [column for _, column, _ in found] == ["", "x", "", ""]
    assert found[0][2] == "the line has 1 cell, and the header 2 columns"
    assert found[1][2] == '"lots" is not a number'
    assert found[2][2] == "the line is not UTF-8"
    assert answers == ["a", "b", "a"]
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": 1}\n{oops\n[1]\n{"x": "many"}\n{"x": [1]}\n{"x": 4}\n')
    found, answers = bad_rows_of(tree, path)
    assert [(row, column) for row, column, _ in found] == [(2, ""), (3, ""), (4, "x"), (5, "x")]
    assert answers == ["a", "b"]


def test_rows_that_stop_and_missing_values_that_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("town,x\nRome,1\nOslo,1\nBari,\n")
    tree = tw.parse("town = Rome: a\ntown = Bari: b\n", target="y")
    found, answers = bad_rows_of(tree, path)
    assert [(row, why[:13]) for row, _, why in found] == [(2, "stops at node")]
    assert answers == ["a", "b"]
    strict = tw.grow({"x": [1, 2], "y": ["a", "b"]}, target="y", missing="error")
    assert bad_rows_of(strict, path)[0] == [(3, "x", "missing, which the model refuses")]


def test_types_that_are_other_than_in_training(tmp_path):
    tree = tw.grow({"town": ["Rome", "Bari"] * 5, "y": ["a", "b"] * 5}, target="y")
    path = tmp_path / "t.csv"
    path.write_text("town\n1\n2\n")
    with pytest.raises(tw.DataError, match=r"grown on categories .* t\.csv holds numbers"):
        batches_of(tree, str(path))
    path.write_text("town\n1\nRome\n")
    assert len(batches_of(tree, str(path))) == 2


def test_json_lines_that_lack_keys_are_missing(tmp_path, small_pieces):
    tree = tw.grow({"x": [1, 2, None], "y": ["a", "b", "b"]}, target="y")
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"x": 1} if i < 20 else {"z": i}) + "\n" for i in range(200)))
    assert batches_of(tree, str(path)) == ["a"] * 20 + ["b"] * 180
