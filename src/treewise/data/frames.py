"""Read tables in memory into columns (dataframes, NumPy arrays, dicts, lists), and write dataframes.

narwhals gives the dtype of a column in the same terms for pandas, polars, Arrow and DuckDB; the values become NumPy
arrays.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.interruptible import polars_is_safe
from treewise._lib.text import plural
from treewise.data.column import (
    NAT,
    Array,
    Column,
    LazyColumns,
    Mask,
    bool_column,
    datetime_column,
    float_column,
    format_datetime,
    int_column,
    missing_column,
    read_only,
    truncate,
)
from treewise.data.objects import (
    BYTES_PER_CELL,
    check_names,
    read_object_array,
    read_objects,
    text_from_polars,
    unsupported_type_error,
)
from treewise.data.parse_cells import format_numbers
from treewise.data.sparse import SparseColumns, is_sparse
from treewise.errors import DataError, Param, TreewiseError, brief, join_few

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import polars as pl

    Frame = pl.DataFrame

_FEW_CELLS = 1000  # up to here a Python loop is faster than one expression of polars


def read_memory(data: Any, name: str, columns: Sequence[str] | None) -> LazyColumns:
    """Read a table in memory; ``columns`` names the columns of data without names.

    >>> list(read_memory([[1, "a"], [2, "b"]], "the table", None).items())[1][1].labels
    ('a', 'b')
    """
    if isinstance(data, np.ndarray):
        return _read_array(data, name, columns)
    if is_sparse(data):
        sparse = SparseColumns(data, name)
        names = _default_names(sparse.n_columns, columns, name)
        readers = [partial(_read_sparse, sparse, j) for j in range(sparse.n_columns)]
        return _build_columns(names, readers, name, n_rows=sparse.n_rows)
    if isinstance(data, Mapping):
        if data and all(_is_scalar(v) for v in data.values()):
            return read_dicts([data], name)
        return _build_columns(
            data.keys(), [partial(_read_values, v) for v in data.values()], name, lengths=data.values()
        )
    if isinstance(data, (list, tuple)):
        if not data:
            raise DataError(f"{name} is an empty list. Give at least one row.")
        if all(isinstance(row, Mapping) for row in data):
            return read_dicts(data, name)
        if all(isinstance(row, (list, tuple, np.ndarray)) for row in data):
            return _read_lists(data, name, columns)
    return read_frame(data, name)


# -- names ---------------------------------------------------------------------------------------------------


def _build_columns(
    names: Iterable[object],
    makers: Sequence[Callable[[str], Column]],
    table: str,
    lengths: Iterable[Any] = (),
    n_rows: int | None = None,
) -> LazyColumns:
    """Return lazy columns by name; raise for duplicate names or columns of unequal length."""
    texts = [str(n) for n in names]
    check_names(texts, table)
    for text, values in zip(texts, lengths, strict=False):
        n_cells = _length(values)
        if n_cells is None:
            raise DataError(
                f'column "{truncate(text)}" of {table} is a single value ({brief(values)}), not a column of values.'
                " Give a list or an array with a value for each row."
            )
        if n_rows is None:
            n_rows = n_cells
        elif n_cells != n_rows:
            raise DataError(
                f'column "{truncate(text)}" of {table} has {plural(n_cells, "value")}, but'
                f' "{truncate(texts[0])}" has {n_rows:,}. All columns need the same number of rows.'
            )
    if not n_rows:
        raise DataError(
            f"{table} has columns ({join_few([truncate(t) for t in texts])}) but no rows. Give at least one row."
        )
    return LazyColumns(
        {text: partial(_make_column, make, text) for text, make in zip(texts, makers, strict=True)}, n_rows
    )


def _make_column(make: Callable[[str], Column], name: str) -> Column:
    """Convert one column; errors of a library become a DataError that names the column."""
    with wrap_library_errors(
        f'column "{truncate(name)}"', "Convert it first, or leave it out: " + Param("ignore", [truncate(name)]) + "."
    ):
        return make(name)


@contextmanager
def wrap_library_errors(source: str, hint: str) -> Iterator[None]:
    """Turn an error of NumPy, pandas, polars, Arrow or DuckDB into a DataError."""
    try:
        yield
    except (TreewiseError, MemoryError, Warning):
        raise
    except BaseException as error:
        # A polars panic is not an Exception; other BaseExceptions, such as KeyboardInterrupt, are re-raised.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".!")
        raise DataError(f"{source} cannot be read: {truncate(reason, 200)}.", hint=hint) from None


def _length(values: Any) -> int | None:
    """Return the number of cells of a column; None if the value is not a column."""
    try:
        return None if _is_scalar(values) or isinstance(values, (Set, Mapping)) else len(values)
    except Exception:  # no length, several, or a type
        return None


def _is_scalar(value: object) -> bool:
    """Return whether a value is a single cell rather than a column."""
    return isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0


# -- without a library: lists, dicts, NumPy ------------------------------------------------------------------


def read_dicts(rows: Sequence[Mapping[Any, Any]], table: str) -> LazyColumns:
    """Read rows given as dicts; absent keys are missing cells."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[row.get(key) for row in rows] for key in names]
    return _build_columns(names, [partial(read_objects, c) for c in cells], table, n_rows=len(rows))


def _read_lists(rows: Sequence[Sequence[Any]], table: str, columns: Sequence[str] | None) -> LazyColumns:
    """Read rows given as lists of equal length."""
    width = _length(rows[0])
    for i, row in enumerate(rows, start=1):
        n_cells = _length(row)
        if n_cells is None or width is None:
            raise DataError(f"row {i:,} of {table} is not a list of cells. Give each row as a list or a dict.")
        if n_cells != width:
            raise DataError(
                f"row {i:,} of {table} has {plural(n_cells, 'value')}, row 1 has {width:,}. Give every row as many."
            )
    assert width is not None
    cells = [list(c) for c in zip(*rows, strict=True)]
    return _build_columns(
        _default_names(width, columns, table), [partial(read_objects, c) for c in cells], table, n_rows=len(rows)
    )


def _read_array(data: Array, table: str, columns: Sequence[str] | None) -> LazyColumns:
    """Read a two-dimensional or a structured array."""
    if data.dtype.names is not None and data.ndim == 1:
        fields = [data[field] for field in data.dtype.names]
        return _build_columns(data.dtype.names, [partial(_read_values, f) for f in fields], table, n_rows=len(data))
    if data.ndim != 2:
        raise DataError(
            f"{table} is an array with {plural(data.ndim, 'dimension')}; a table has two, rows and columns."
            " (One column: array.reshape(-1, 1). One row: array.reshape(1, -1).)"
        )
    names = _default_names(data.shape[1], columns, table)
    return _build_columns(
        names, [partial(_read_values, data[:, j]) for j in range(data.shape[1])], table, n_rows=len(data)
    )


def _read_sparse(matrix: SparseColumns, column: int, name: str) -> Column:
    return _read_values(matrix.read(column), name)


def _default_names(width: int, columns: Sequence[str] | None, table: str) -> list[str]:
    """Return names for unnamed columns: as given, else x1, x2, …"""
    if columns is None:
        return [f"x{j}" for j in range(1, width + 1)]
    if len(columns) != width:
        raise DataError(f"{table} has {plural(width, 'column')}, but columns names {len(columns):,}. Name them all.")
    return [str(c) for c in columns]


def _read_values(values: Any, name: str) -> Column:
    """Read a column from an array, a list, a series or anything array-like."""
    if isinstance(values, np.ndarray):
        return _read_numpy(values, name)
    if isinstance(values, (list, tuple, range)):
        return read_objects(list(values), name)
    import narwhals.stable.v2 as nw

    pd: Any = sys.modules.get("pandas")
    pa: Any = sys.modules.get("pyarrow")
    if pa is not None and isinstance(values, pa.Array):
        values = pa.chunked_array([values])  # supported by narwhals
    if pd is not None and isinstance(values, (pd.api.extensions.ExtensionArray, pd.Index)):
        values = pd.Series(values)
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _read_series(series, name)
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        import polars as pl

        return _read_series(nw.from_native(pl.Series(values), series_only=True), name)
    return _read_numpy(np.asarray(values), name)


def _read_numpy(values: Array, name: str) -> Column:
    """Read a column from a NumPy array, masked or not."""
    if values.ndim != 1:
        raise DataError(
            f'column "{truncate(name)}" has {plural(values.ndim, "dimension")}; a column has one.',
            hint="Give one value per row.",
        )
    missing: Mask | None = None
    if isinstance(values, np.ma.MaskedArray):
        missing, values = np.ma.getmaskarray(values), np.asarray(values.data)
    kind = values.dtype.kind
    if kind == "f":
        return float_column(name, values if missing is None else np.where(missing, np.nan, values))
    if kind in "iu":
        filled = values if missing is None else np.where(missing, values.dtype.type(0), values)
        return int_column(name, filled, missing)
    if kind == "b":
        return bool_column(name, values, missing)
    if kind == "M":
        return datetime_column(name, values, missing)
    if kind == "O" and missing is None:
        return read_object_array(values, name)
    if kind in "OUT":
        cells = values.tolist()
        if missing is not None:
            cells = [None if is_missing else cell for cell, is_missing in zip(cells, missing.tolist(), strict=True)]
        return read_objects(cells, name)
    raise unsupported_type_error(name, str(values.dtype))


# -- dataframes ----------------------------------------------------------------------------------------------


def read_frame(data: Any, table: str) -> LazyColumns:
    """Read a dataframe of any library that narwhals supports, or any object with an Arrow stream."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    arrow: Any = sys.modules.get("pyarrow.dataset")
    if arrow is not None and isinstance(data, (arrow.Dataset, arrow.Scanner)):
        with wrap_library_errors(table, "Read it with pyarrow, and see what is wrong."):
            data = data.to_table()
    frame: Any = None
    with wrap_library_errors(table, "Give a dataframe of plain columns."), suppress(DuplicateError):
        frame = nw.from_native(data, pass_through=True, allow_series=True)
    if frame is None and data is not None:
        check_names([str(n) for n in getattr(data, "column_names", data.columns)], table)
    if not isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
        if not hasattr(data, "__arrow_c_stream__") or isinstance(frame, nw.Series):
            kind = type(data).__name__
            article = "an" if kind[0] in "aeiouAEIOU" else "a"
            raise DataError(
                f"cannot read a table from {article} {kind}. Give a dataframe (pandas, polars, Arrow,"
                " DuckDB), a dict of columns, a list of dicts, a two-dimensional array, or the path of a CSV"
                " or Parquet file."
            )
        import polars as pl

        with wrap_library_errors(table, "Give a dataframe of plain columns."):
            frame = nw.from_native(pl.DataFrame(data))
    with wrap_library_errors(table, "Collect it first, and see what is wrong."):
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        # Without the names, because polars treats names such as "*" and "^x.*$" as patterns.
        makers = [partial(_read_series, series.alias("cells")) for series in frame.iter_columns()]
        names, n_rows = frame.columns, len(frame)
    return _build_columns(names, makers, table, n_rows=n_rows)


def _read_series(series: nw.Series[Any], name: str) -> Column:
    """Read a column of a dataframe by its narwhals dtype."""
    import narwhals.stable.v2 as nw

    native = series.to_native()
    if getattr(native, "dtype", None) == np.dtype(object):
        return read_object_array(native.to_numpy(), name)
    dtype = series.dtype
    if dtype == nw.Object:
        return read_objects(series.to_list(), name)
    if dtype in (nw.Categorical, nw.Enum):
        return _read_categories(native, name)
    if dtype == nw.String:
        return _read_strings(series, name)
    if dtype.is_float():
        return float_column(name, series.to_numpy())
    if dtype == nw.Decimal:
        return read_objects(series.to_list(), name)
    missing = series.is_null().to_numpy()
    if missing.all():
        return missing_column(name, len(series))
    if dtype in (nw.Int128, nw.UInt128):
        return read_objects(series.to_list(), name)
    if dtype.is_integer():
        return int_column(name, (series.fill_null(0) if missing.any() else series).to_numpy(), missing)
    if dtype == nw.Boolean:
        filled = series.fill_null(False) if missing.any() else series
        return bool_column(name, filled.to_numpy().astype(np.bool_), missing)
    if dtype in (nw.Date, nw.Datetime):
        values = series.to_numpy()
        if values.dtype.kind == "M":
            return datetime_column(name, values)
        return read_objects(series.to_list(), name)
    if dtype == nw.Unknown:
        return _read_numpy(np.asarray(native), name)
    raise unsupported_type_error(name, str(dtype))


def _read_strings(series: nw.Series[Any], name: str) -> Column:
    """Read text; polars needs pyarrow to convert a pandas series."""
    import polars as pl

    native = series.to_native()
    if isinstance(native, pl.Series):
        return text_from_polars(name, native)
    if sys.modules.get("pyarrow") is not None and polars_is_safe(BYTES_PER_CELL * len(series)):
        return text_from_polars(name, pl.Series(native))
    return read_objects(series.to_list(), name)


def _read_categories(native: Any, name: str) -> Column:
    """Read a categorical column: the declared labels in their declared order, unused ones included.

    Where the order is only that of first appearance (polars Categorical, unordered Arrow dictionaries), labels are
    sorted.
    """
    import polars as pl

    if isinstance(native, pl.Series):
        if not isinstance(native.dtype, pl.Enum):
            text = text_from_polars(name, native)
            return Column(name, "category", text.values, labels=text.labels)
        labels = tuple(native.dtype.categories.to_list())
        codes = native.to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        return Column(name, "category", read_only(codes), labels=labels)
    if hasattr(native, "cat"):
        labels = _category_labels(native.cat.categories.to_numpy(), name)
        codes = np.asarray(native.cat.codes.to_numpy(), np.int32)
        return Column(name, "category", read_only(codes), labels=labels, ordered=bool(native.cat.ordered))
    if hasattr(native, "array"):  # a pandas series backed by Arrow
        native = native.array.__arrow_array__()
    array = native.unify_dictionaries().combine_chunks()
    ordered = bool(array.type.ordered)
    cells = np.array([*array.dictionary.to_pylist(), None], dtype=object)
    is_label = np.array([cell is not None for cell in cells])
    labels = _category_labels(cells[is_label], name)
    codes = array.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False)
    codes = np.where(is_label, np.cumsum(is_label) - 1, -1).astype(np.int32)[codes]  # a dictionary may contain null
    if not ordered:
        order = np.argsort(np.array(labels, dtype=object), kind="stable")
        new_code = np.append(np.argsort(order), -1).astype(np.int32)
        codes, labels = new_code[codes], tuple(labels[i] for i in order)
    return Column(name, "category", read_only(codes), labels=labels, ordered=ordered)


def _category_labels(values: Array, name: str) -> tuple[str, ...]:
    """Return the categories of a dtype, which may be numbers, booleans or dates, as labels."""
    try:
        labels = _cell_labels(_read_numpy(values, name))
    except DataError:  # intervals, tuples, mixed types: by str()
        labels = [str(v) for v in values]
    if len(set(labels)) < len(labels):
        duplicate = next(label for label, times in Counter(labels).items() if times > 1)
        raise DataError(
            f'column "{truncate(name)}": two categories have the text "{truncate(duplicate)}".',
            hint="Rename one, or make it text.",
        )
    return tuple(labels)


def _cell_labels(column: Column) -> list[str]:
    """Return every cell as a label."""
    if column.is_coded:
        return [column.labels[code] for code in column.values.tolist()]
    if column.form == "bool":
        return ["true" if v else "false" for v in column.values.tolist()]
    if column.form == "datetime":
        return [format_datetime(v, column.unit) for v in column.values.tolist()]
    return format_numbers(column.values)


# -- many tables, one after the other -------------------------------------------------------------------------


def iterate_batches(data: Any) -> Iterator[Any] | None:
    """Return the tables of an iterable of tables, or the batches of a lazy one; None for files, by name.

    A lazy frame of polars, a relation of DuckDB, a dataset or reader of Arrow and pandas' reader of chunks yield their
    batches as they compute them. A table in memory is one batch.
    """
    if isinstance(data, (str, os.PathLike)):
        return None
    if isinstance(data, (list, tuple)) and data and all(isinstance(path, (str, os.PathLike)) for path in data):
        return None
    for method in ("collect_batches", "to_batches", "to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader"):
        if callable(getattr(data, method, None)) and not hasattr(data, "num_rows"):
            batches: Iterator[Any] = iter(getattr(data, method)())
            return batches
    if (
        isinstance(data, Mapping)
        or hasattr(type(data), "columns")
        or hasattr(data, "dtype")
        or not hasattr(data, "__iter__")
    ):
        return iter([data])
    tables: Iterator[Any] = iter(data)
    return tables


# -- columns to dataframes ------------------------------------------------------------------------------------


def to_polars(columns: Mapping[str, Column]) -> pl.DataFrame:
    """Return columns as a polars dataframe."""
    import polars as pl

    return pl.DataFrame([_to_polars_series(column).alias(name) for name, column in columns.items()])


def _to_polars_series(column: Column) -> pl.Series:
    """Return a column as an unnamed polars series, categories as Enums; polars treats some names as patterns."""
    import polars as pl

    if column.is_coded:
        labels = (*column.labels, None)
        if len(column) <= _FEW_CELLS:
            cells = pl.Series([labels[code] for code in column.values.tolist()], dtype=pl.String)
        else:
            codes = np.where(column.values < 0, len(column.labels), column.values)
            cells = pl.Series(labels, dtype=pl.String).gather(codes)
        return cells.cast(pl.Enum(column.labels)) if column.form == "category" else cells
    is_missing = column.is_missing()
    if column.form == "datetime":  # NaT becomes null; polars has no seconds
        values = np.where(is_missing, NAT, column.values).view(f"datetime64[{column.unit}]")
        return pl.Series(values.astype("datetime64[ms]") if column.unit == "s" else values)
    cells = pl.Series(column.values)
    if is_missing.any():
        cells = cells.set(pl.Series(is_missing), None)
    return cells.cast(pl.Boolean) if column.form == "bool" else cells


def to_pandas(columns: Mapping[str, Column]) -> Any:
    """Return columns as a pandas dataframe; integers and booleans with missing cells become nullable."""
    pd: Any = import_module("pandas")  # has no type hints
    return pd.DataFrame({name: _to_pandas_values(column) for name, column in columns.items()})


def _to_pandas_values(column: Column) -> Any:
    """Return the values of a column for a pandas series."""
    pd: Any = import_module("pandas")
    if column.form == "category":
        return pd.Categorical.from_codes(column.values, list(column.labels), ordered=column.ordered)
    if column.form == "text":
        return np.array([*column.labels, None], dtype=object)[column.values]
    is_missing = column.is_missing()
    if column.form == "datetime":
        return np.where(is_missing, NAT, column.values).astype(np.int64).view(f"datetime64[{column.unit}]")
    values = column.values.astype(np.bool_) if column.form == "bool" else column.values.copy()
    if column.form == "float" or not is_missing.any():
        return values
    kind = pd.arrays.BooleanArray if column.form == "bool" else pd.arrays.IntegerArray
    return kind(values, is_missing.copy())


def to_frame(columns: Mapping[str, tuple[str, list[Any]]]) -> pl.DataFrame:
    """Build a polars dataframe from columns given as (kind, values), for ``ResultTable.to_frame``.

    >>> to_frame({"class": ("label", ["a", 1]), "rows": ("count", [3, None])}).rows()
    [('a', 3), ('1', None)]
    """
    import polars as pl

    types = {"text": pl.String, "count": pl.Int64, "number": pl.Float64, "share": pl.Float64, "flag": pl.Boolean}
    series = []
    for name, (kind, values) in columns.items():
        dtype: Any = types.get(kind)
        if kind == "label":
            dtype = _label_dtype([v for v in values if v is not None])
        elif kind == "count" and any(isinstance(v, float) and v != int(v) for v in values):  # rows with weights
            dtype = pl.Float64
        if dtype == pl.String:
            values = [_cell_text(v) for v in values]
        series.append(pl.Series(values, dtype=dtype, strict=False).alias(name))
    return pl.DataFrame(series)


def arrays_to_frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Make a polars dataframe of arrays; a column of labels is a pair: the labels, and the number of one for each row.

    Missing numbers (NaN) become null.

    >>> import numpy as np
    >>> arrays_to_frame({"class": (("a", "b"), np.array([1, 0])), "p": np.array([0.5, np.nan])}).rows()
    [('b', 0.5), ('a', None)]
    """
    import polars as pl

    series = []
    for name, values in columns.items():
        if isinstance(values, tuple):
            labels, numbers = values
            dtype = _label_dtype(list(labels))
            cells = [_cell_text(label) for label in labels] if dtype == pl.String else list(labels)
            column = pl.Series(cells, dtype=dtype).gather(numbers)
        else:
            has_nan = values.dtype.kind == "f" and bool(np.isnan(values).any())
            column = pl.Series(values, nan_to_null=has_nan)
        series.append(column.alias(name))
    return pl.DataFrame(series)


def with_empty_rows(frame: pl.DataFrame, positions: Any, n_rows: int) -> pl.DataFrame:
    """Return ``n_rows`` rows: those of a frame at their positions, and between them rows of empty cells.

    >>> import polars as pl
    >>> with_empty_rows(pl.DataFrame({"a": ["x", "y"]}), np.array([0, 2]), 4).rows()
    [('x',), (None,), ('y',), (None,)]
    """
    import polars as pl

    rows = np.full(n_rows, -1, np.int64)
    rows[positions] = np.arange(len(frame))
    index = pl.Series(rows).replace({-1: None}).cast(pl.UInt32)
    return pl.DataFrame([column.gather(index) for column in frame.get_columns()])


def _label_dtype(labels: list[Any]) -> Any:
    """Return the dtype of a column of labels: text, unless all are booleans or all numbers."""
    import polars as pl

    kinds = {type(label) for label in labels}
    if not kinds or not kinds <= {bool, int, float} or (bool in kinds and len(kinds) > 1):
        return pl.String
    return pl.Boolean if kinds == {bool} else pl.Int64 if kinds == {int} else pl.Float64


def _cell_text(value: Any) -> str | None:
    """Return a value as text; lists and booleans as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict, bool)) else str(value)


def is_dask_frame(data: Any) -> bool:
    """Tell whether this is a Dask dataframe, whose rows are on a cluster."""
    return type(data).__module__.startswith("dask.dataframe") and hasattr(data, "to_delayed")


def concatenate_pandas(parts: Sequence[Any]) -> Any:
    """Return dataframes of pandas one below the other, those without rows left out if there are others."""
    pd: Any = import_module("pandas")
    return pd.concat([part for part in parts if len(part)] or list(parts[:1]), ignore_index=True)


def array_to_pandas(values: Array, names: Sequence[str], index: Any = None) -> Any:
    """Return an array as a series of pandas, or of several columns as a dataframe."""
    pd: Any = import_module("pandas")
    is_series = values.ndim == 1
    return pd.Series(values, index, name=names[0]) if is_series else pd.DataFrame(values, index, names)
