"""Columns and cells of the dataframe libraries, as the exported Python and NumPy modules read them."""

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import treewise as tw

N = 40
START = dt.datetime(2020, 1, 1)
CELLS = {
    "number": [None if i % 7 == 0 else i / 3 for i in range(N)],
    "whole number": [None if i % 9 == 0 else i for i in range(N)],
    "integer": [None if i % 8 == 0 else 2**60 + i for i in range(N)],
    "boolean": [None if i % 5 == 0 else i % 2 == 0 for i in range(N)],
    "text": [None if i % 6 == 0 else "abc"[i % 3] for i in range(N)],
    "datetime": [None if i % 10 == 0 else START + dt.timedelta(hours=i * 7) for i in range(N)],
}
PANDAS = {
    "number": ["float64", "Float64", "object", "float64[pyarrow]"],
    "whole number": ["float64", "Int64", "object", "int64[pyarrow]"],
    "integer": ["Int64", "object", "int64[pyarrow]"],
    "boolean": ["boolean", "object", "bool[pyarrow]"],
    "text": [None, "object", "string", "category", "string[pyarrow]"],
    "datetime": ["datetime64[us]", "datetime64[ns]", "timestamp[us][pyarrow]"],
}


def columns(kind):
    """Yield the same cells as columns of many types, with a name for each."""
    cells = CELLS[kind]
    yield "list", cells
    yield "numpy", np.array(cells, object)
    yield "masked", np.ma.array([0 if cell is None else cell for cell in cells], mask=[cell is None for cell in cells])
    yield "polars", pl.Series(cells)
    yield "pyarrow", pa.array(cells)
    yield "pyarrow in chunks", pa.chunked_array([cells[:9], cells[9:]])
    for dtype in PANDAS[kind]:
        yield f"pandas {dtype}", pd.Series(cells, dtype=dtype)
    if kind == "text":
        yield "polars category", pl.Series(cells, dtype=pl.Categorical)
    if kind == "datetime":
        utc = pd.Series(pd.to_datetime(cells, utc=True))
        yield "pandas UTC", utc
        yield "pandas Tokyo", utc.dt.tz_convert("Asia/Tokyo")
        yield "polars UTC", pl.Series(cells).dt.replace_time_zone("UTC")
        yield "with a time zone", [None if cell is None else cell.replace(tzinfo=dt.UTC) for cell in cells]
    with duckdb.connect() as connection:
        table = connection.from_arrow(pa.table({"x": cells}))
        yield "duckdb", table.fetchnumpy()["x"]


@pytest.mark.parametrize("kind", CELLS)
def test_columns_of_every_library_are_read(kind):
    tree = tw.grow({"x": CELLS[kind], "y": ["ab"[(i * i // 3) % 2] for i in range(N)]}, "y")
    expected = tree.apply({"x": CELLS[kind]})
    assert len(set(expected.tolist())) > 2
    by_column, by_row = {}, {}
    exec(tree.export("numpy"), by_column)
    exec(tree.export("python"), by_row)
    for name, column in columns(kind):
        assert by_column["apply"]({"x": column}).tolist() == expected.tolist(), name
        if isinstance(column, pd.Series | pl.Series | list):
            assert [by_row["apply"]({"x": cell}) for cell in list(column)] == expected.tolist(), name


def test_columns_of_different_lengths_are_refused():
    module = {}
    exec(tw.parse("x <= 1 -> a\nx > 1\n  z <= 1 -> b\n  z > 1 -> a").export("numpy"), module)
    with pytest.raises(ValueError, match="column 'z' has 2 rows, the others have 1"):
        module["apply"]({"x": [1.0], "z": [1.0, 2.0]})
