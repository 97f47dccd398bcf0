"""Columns are passed to the core in place, for any type, order and stride."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import treewise as tw
from treewise import _core
from treewise.data import encoding as encode
from treewise.data.table import Table, read
from treewise.explain.trace.nodes import assign_branches
from treewise.tree.splits import Threshold

ROWS, COLUMNS = 300, 4
NAMES = [f"x{j}" for j in range(1, COLUMNS + 1)]


def cells(missing: bool) -> np.ndarray:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    x[:, 1] = rng.integers(-2, 3, ROWS) * np.float32(0.1)
    x[:, 2] *= np.float32(1e30)
    x[5, 3], x[6, 3], x[7, 3], x[8, 3] = np.inf, -np.inf, -0.0, 0.0
    if missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    return x


def packed(x: np.ndarray) -> np.ndarray:
    """Return the columns as fields of records of 4·4 + 1 bytes: neither aligned nor a whole number of floats apart."""
    records = np.zeros(len(x), np.dtype([("mark", "i1"), *((name, "f4") for name in NAMES)]))
    for j, name in enumerate(NAMES):
        records[name] = x[:, j]
    return records[NAMES]


def off_by_one(x: np.ndarray) -> np.ndarray:
    """Return the same floats one byte past an aligned address."""
    raw = np.zeros(x.nbytes + 1, np.uint8)
    shifted = raw[1:].view(np.float32).reshape(x.shape)
    shifted[:] = x
    assert not shifted.flags.aligned
    return shifted


FORMS = {
    "float32": lambda x: x,
    "Fortran order": np.asfortranarray,
    "float64": lambda x: x.astype(np.float64),
    "float64 in Fortran order": lambda x: np.asfortranarray(x.astype(np.float64)),
    "reversed memory": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "every third": lambda x: np.repeat(x, 3, axis=0)[::3],
    "the other byte order": lambda x: x.astype(">f4"),
    "long": lambda x: x.astype(np.longdouble),
    "unaligned": off_by_one,
    "records": packed,
    "columns": lambda x: {name: x[:, j] for j, name in enumerate(NAMES)},
    "lists": lambda x: {name: x[:, j].tolist() for j, name in enumerate(NAMES)},
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "pandas, column by column": lambda x: pd.DataFrame({name: x[:, j].copy() for j, name in enumerate(NAMES)}),
    "polars": lambda x: pl.DataFrame(x, schema=NAMES),
    "polars with nulls": lambda x: pl.DataFrame(x, schema=NAMES).fill_nan(None),
    "Arrow": lambda x: pa.table({name: x[:, j] for j, name in enumerate(NAMES)}),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_one_tree_and_one_file_whatever_the_memory_looks_like(form, missing, tmp_path):
    x = cells(missing)
    y = np.where(np.nan_to_num(x[:, 0]) + 3 * np.nan_to_num(x[:, 1]) > 0.1, "yes", "no")
    expected = tw.grow({name: x[:, j].astype(np.float64) for j, name in enumerate(NAMES)}, y)
    expected.save(tmp_path / "wanted.json")
    data = FORMS[form](x)
    tree = tw.grow(data, y)
    tree.save(tmp_path / "tree.json")
    assert (tmp_path / "tree.json").read_bytes() == (tmp_path / "wanted.json").read_bytes()
    assert tree.apply(data).tolist() == expected.apply(x.astype(np.float64)).tolist()
    table = Table("the table", {**read(data).columns, "y": read({"y": y})["y"]}, ROWS)
    assert tree.refit(table).arrays.missing_rows.tolist() == expected.arrays.missing_rows.tolist()


@pytest.mark.parametrize("form", ["float32", "Fortran order", "float64", "pandas", "polars", "Arrow", "columns"])
def test_floats_are_not_copied(form):
    x = cells(missing=False)
    data = FORMS[form](x)
    first, second = (encode.fit_encoding(read(data)[name]).values for name in ("x3", "x3"))
    assert np.shares_memory(first, second)  # two readings of the same table: a copy would be two
    if isinstance(data, np.ndarray):
        assert np.shares_memory(first, data)
    assert not first.flags.writeable


def test_a_view_is_compared_as_doubles_everywhere():
    """0.1 as float32 is a little more than 0.1, and no rounding of a threshold or a marker may hide it."""
    x = np.array([0.1, 0.1, 0.3, 0.3], np.float32)
    column = read({"x": x}, na_values=["0.1"])["x"]
    assert not column.is_missing().any()
    tree = tw.parse('x <= 0.1: "low"\nx > 0.1: "high"')
    assert tree.predict({"x": x}).tolist() == ["high"] * 4
    grown = tw.grow({"x": x, "y": ["a", "a", "b", "b"]}, "y")
    assert grown[0].split.cut == _core.midpoint(float(x[0]), float(x[2]))
    encoding = encode.Encoding("x", "number")
    assert assign_branches(Threshold("x", 0.1), encoding, x).tolist() == [1, 1, 1, 1]


def test_half_floats_and_weights_of_floats_are_read_exactly():
    x = np.array([1.5, 2.25, np.nan, 65504], np.float16)
    learned = encode.fit_encoding(read({"x": x})["x"])
    assert learned.values.tolist()[:2] == [1.5, 2.25]
    assert learned.values[3] == 65504
    weight = np.array([0.1, 0.2], np.float32)[::-1]
    assert encode.encode_numbers(read({"w": weight})["w"]).tolist() == [float(weight[0]), float(weight[1])]
