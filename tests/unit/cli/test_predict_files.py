"""``treewise predict`` on files: formats in and out, copied columns, bad rows, and output that is whole."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import treewise as tw
from treewise.data import row_batches


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(row_batches, "_CSV_BYTES", 2000)


def test_every_format_is_written(run, model, small_pieces):
    frame = tw.datasets.penguins().to_polars()
    frame.write_csv("p.csv")
    expected = tw.load(model).predict("penguins").tolist()
    for name in ("o.csv", "o.tsv", "o.csv.gz", "o.tsv.gz", "o.jsonl", "o.jsonl.gz", "o.json", "o.parquet"):
        assert run(f"predict {model} p.csv --keep island -o {name}").err.endswith(
            f"344 rows → {name} (island, prediction)\n"
        )
        content = Path(name).read_bytes()
        content = gzip.decompress(content) if name.endswith(".gz") else content
        if ".json" in name:
            rows = [json.loads(line) for line in content.splitlines()] if "jsonl" in name else json.loads(content)
            out = pl.DataFrame(rows)
        elif "parquet" in name:
            out = pl.read_parquet(name)
        else:
            out = pl.read_csv(content, separator="\t" if "tsv" in name else ",")
        assert out["prediction"].to_list() == expected, name
        assert out["island"].to_list() == frame["island"].to_list(), name
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_all_columns_can_be_kept(run, model, small_pieces):
    text = "day,code,x,flipper_length_mm,bill_length_mm,island\n" + "2024-01-02,007,1.50,190,40,Dream\n" * 300
    Path("p.csv").write_text(text + ",1,2,190,50,Dream\n")
    assert run(f"predict {model} p.csv --columns keep -o o.csv").code == 0
    lines = Path("o.csv").read_text().splitlines()
    assert lines[:2] == [text.splitlines()[0] + ",prediction", "2024-01-02,007,1.50,190,40,Dream,Adelie"]
    assert lines[-1] == ",1,2,190,50,Dream,Chinstrap"
    assert run(f"predict {model} p.csv --columns keep -o o.parquet").code == 0
    out = pl.read_parquet("o.parquet")
    assert out.schema["day"] == pl.Date
    assert (out.schema["code"], out.schema["x"]) == (pl.String, pl.Float64)
    assert out.drop("prediction").equals(tw.read("p.csv").to_polars())
    refused = run(f"predict {model} o.csv --columns keep")
    assert (refused.code, "have a column of that name too" in refused.err) == (2, True)


def test_bad_rows(run, model, small_pieces):
    good = "190,40,Dream\n"
    Path("a.csv").write_text("flipper_length_mm,bill_length_mm,island\n" + good * 100 + "long,40,Dream\n" + good)
    Path("b.csv").write_text("flipper_length_mm,bill_length_mm,island\n190,40\n" + good)
    stopped = run(f"predict {model} '[ab].csv' -o o.csv")
    assert stopped.code == 3
    assert '"flipper_length_mm": the model was grown on numbers, a.csv holds text ("long" in row 101)' in stopped.err
    assert not Path("o.csv").exists()
    skipped = run(f"predict {model} '[ab].csv' -o o.csv --on-error skip --bad-rows bad.csv")
    assert skipped.code == 0
    assert 'bad   a.csv row 101, flipper_length_mm: "long" is not a number' in skipped.err
    assert "2 rows left out → bad.csv" in skipped.err
    assert len(Path("o.csv").read_text().splitlines()) == 1 + 102
    assert Path("bad.csv").read_text() == (
        'file,row,column,reason\na.csv,101,flipper_length_mm,"""long"" is not a number"\n'
        'b.csv,1,,"the line has 2 cells, and the header 3 columns"\n'
    )
    empty = run(f"predict {model} '[ab].csv' -o o.csv --on-error null --columns keep")
    lines = Path("o.csv").read_text().splitlines()
    assert "2 rows without a prediction" in empty.err
    assert (len(lines), lines[101], lines[103]) == (1 + 104, "long,40,Dream,", ",,,")
    assert run(f"predict {model} a.csv --bad-rows bad.csv").code == 2
    for name in ("bad.parquet", "bad.csv.gz", "bad"):
        refused = run(f"predict {model} a.csv -o p.csv --on-error skip --bad-rows {name}")
        assert (refused.code, "give it a name that ends in .csv" in refused.err) == (2, True)
        assert not Path(name).exists()
        assert not Path("p.csv").exists()


def test_files_whose_beginning_is_damaged_are_no_bad_rows(run, model):
    penguins = tw.datasets.penguins().to_polars()
    penguins.write_parquet("p.parquet")
    Path("p.csv.gz").write_bytes(gzip.compress(penguins.write_csv().encode()))
    for name, form in (("p.parquet", "Parquet"), ("p.csv.gz", "gzip")):
        Path(name).write_bytes(b"X" + Path(name).read_bytes()[1:])
        for on_error in ("stop", "skip", "null"):
            refused = run(f"predict {model} {name} -o o.csv --on-error {on_error}")
            assert (refused.code, Path("o.csv").exists()) == (3, False)
            assert f"{name} is damaged: it does not begin as a {form} file does" in refused.err


def test_every_verb_reads_json_lines_that_are_gzipped(run, model):
    Path("p.jsonl.gz").write_bytes(gzip.compress(tw.datasets.penguins().to_polars().write_ndjson().encode()))
    for command in (f"evaluate {model} p.jsonl.gz", "grow p.jsonl.gz --target species --max-depth 2 -q"):
        built_in = run(command.replace("p.jsonl.gz", "penguins")).out
        assert run(command).out == built_in.replace("on penguins", "on p.jsonl.gz")


def test_standard_input_in_pieces(run, model, small_pieces):
    frame = tw.datasets.penguins().to_polars()
    expected = "prediction\n" + "".join(label + "\n" for label in tw.load(model).predict("penguins"))
    text = frame.write_csv().encode()
    for content in (text, gzip.compress(text), frame.write_ndjson().encode()):
        assert run(f"predict {model} -", stdin=content).out == expected
    assert run(f"predict {model} -", stdin=b" \n").code == 3


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs Unix")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_kill_leaves_no_half_file(tmp_path, model, ending):
    """The source is a pipe that stays open, so that the command is killed in the middle."""
    out, old = tmp_path / f"o.{ending}", b"what was there"
    out.write_bytes(old)
    command = [sys.executable, "-m", "treewise", "predict", str(Path(model).resolve()), "-", "-o", str(out)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        line = b"190,40,Dream\n"
        process.stdin.write(
            b"flipper_length_mm,bill_length_mm,island\n" + line * (row_batches._CSV_BYTES // len(line) * 6)
        )
        process.stdin.flush()
        for _ in range(300):
            if any(name.endswith(".tmp") for name in os.listdir(tmp_path)):
                break
            time.sleep(0.05)
        assert out.read_bytes() == old
        process.kill()
        process.wait()
        assert out.read_bytes() == old
    finally:
        process.kill()
        process.stdin.close()
        process.wait()
