"""What is fuzzed: functions that take any bytes, and raise only where treewise is wrong.

    model_file   a model file with a right checksum raises ``ModelFormatError``, or predicts and is saved unchanged
    text         a tree as text is refused by ``ParseError``, or prints text that reads back as the same tree
    csv          a table is refused by an error of treewise, or has as many rows as predictions
    grow         a table and settings made of the bytes: engines and reference grow the same tree (TREEWISE_VERIFY)
    export       the SQL and the Python of a tree that was read decide as the tree does

``fuzz/fuzz_*.py`` give these to atheris; a test runs each on the corpus and on noise.
"""

from __future__ import annotations

import os
import random
import tempfile
import warnings
from pathlib import Path

import numpy as np

import treewise as tw
from treewise.formats.model_file.json_lines import append_checksum
from treewise.formats.model_file.model_file import dumps, loads

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
_MAX_ROWS = 40


def model_file(data: bytes) -> None:
    """Read a model file, first as it is and then with the right checksum."""
    body, separator, _ = data.rpartition(b'"sha256"')
    contents = [data]
    if separator:
        contents.append(append_checksum([body.decode("utf-8", "replace").rstrip("\n")]).encode())
    for content in contents:
        try:
            model = loads(content)
        except tw.ModelFormatError:
            continue
        rows = [_row_for(model, seed) for seed in range(3)]
        predictions = [model.predict(row) for row in rows]
        parsed = loads(dumps(model))
        assert [parsed.predict(row) for row in rows] == predictions or any(p != p for p in predictions)
        assert dumps(parsed) == dumps(model)


def text(data: bytes) -> None:
    """Parse a tree written as text."""
    try:
        tree = tw.parse(data.decode("utf-8", "replace"))
    except (tw.ParseError, tw.DataError, tw.ParameterError):
        return
    printed = str(tree)
    assert str(tw.parse(printed)) == printed, printed


def csv(data: bytes) -> None:
    """Read a table, grow a stump on it if that is possible, and predict its rows."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(data)
        file.flush()
        try:
            table = tw.read(file.name)
            columns = list(table.columns)
            tree = tw.grow(table, target=columns[-1], max_depth=1, drop_missing_target=True)
            predictions = tree.predict(file.name)
        except tw.TreewiseError:
            return
    assert len(predictions) == len(table)


def grow(data: bytes) -> None:
    """Grow on a table made of the bytes, on every engine and by the reference."""
    rng = random.Random(data[:8])
    cells = data[8 : 8 + 6 * _MAX_ROWS]
    n = len(cells) // 6
    if n < 2:
        return
    columns = [list(cells[i * n : (i + 1) * n]) for i in range(6)]
    table = {
        "number": [float(c) / 3 if c != 255 else None for c in columns[0]],
        "few": [c % 4 for c in columns[1]],
        "letter": [None if c == 255 else chr(97 + c % 12) for c in columns[2]],
        "date": [np.datetime64("2024-01-01") + c for c in columns[3]],
        "weight": [1 + c % 5 for c in columns[4]],
        "y": [f"c{c % 3}" for c in columns[5]],
    }
    settings = {
        "criterion": rng.choice(["entropy", "gini", "error", "gain_ratio", "c45"]),
        "categorical": rng.choice(["subset", "multiway", "one_value", "ordinal", "any"]),
        "missing": rng.choice(["learn", "branch"]),
        "selection": rng.choice(["gain", "priced", "test"]),
        "ties": rng.choice(["first", "random"]),
        "min_samples_leaf": rng.choice([1, 2, 3]),
        "max_leaf_nodes": rng.choice([None, 3, 5]),
        "sample_weight": rng.choice([None, "weight"]),
    }
    before = os.environ.get("TREEWISE_VERIFY")
    os.environ["TREEWISE_VERIFY"] = "1"
    try:
        tw.grow(table, target="y", task="classification", **settings)
    except (tw.DataError, tw.ParameterError):
        return
    finally:
        del os.environ["TREEWISE_VERIFY"]
        if before is not None:
            os.environ["TREEWISE_VERIFY"] = before


def export(data: bytes) -> None:
    """Export a tree and run the copies."""
    try:
        model = loads(data)
    except tw.ModelFormatError:
        try:
            model = tw.parse(data.decode("utf-8", "replace"))
        except (tw.ParseError, tw.DataError, tw.ParameterError):
            return
    for format, options in (("sql", {"dialect": "sqlite"}), ("python", {})):
        try:
            exported = model.export(format, **options)
        except (tw.ParameterError, tw.DataError):
            continue
        verified = tw.verify_export(model, exported, rows=20)
        assert verified.ok, verified


def _row_for(model: object, seed: int) -> dict[str, object]:
    """Return a row with a value, or none, for each column of a model."""
    rng = random.Random(seed)
    row: dict[str, object] = {}
    for encoding in model.encodings:  # type: ignore[attr-defined]
        if encoding.levels:
            row[encoding.name] = rng.choice([*encoding.levels, None])
        elif encoding.kind == "datetime":
            row[encoding.name] = None
        else:
            row[encoding.name] = rng.choice([0, 1, -7, 2**60, None])
    return row


TARGETS = {function.__name__: function for function in (model_file, text, csv, grow, export)}


def corpus(name: str) -> list[bytes]:
    """Return the inputs that fuzzing a target begins with."""
    warnings.simplefilter("ignore")
    models = [path.read_bytes() for path in sorted(GOLDEN.glob("*.json"))]
    if name in ("model_file", "export"):
        return [model for model in models if len(model) < 20_000]
    if name == "text":
        trees = [tw.grow(table, max_depth=3) for table in ("admissions", "penguins", "food", "seven_points")]
        return [str(tree).encode() for tree in trees] + [tree.export("if-else").encode() for tree in trees]
    if name == "csv":
        return [b"a,b,y\n1,x,0\n2,y,1\n", b'a;"b; c"\n1,5;"q"\n', b"\xef\xbb\xbfa\ty\r\n1\t\r\n?\tNA\r\n", b"y\n"]
    return [random.Random(seed).randbytes(8 + 6 * 24) for seed in range(8)]
