"""A table that stays where it is: a lazy frame of narwhals, of which only aggregates are fetched.

DuckDB relations, Ibis tables (hence PostgreSQL, Snowflake, BigQuery and so on), PySpark and SQLFrame frames. The engine
computes; what comes back are groups with counts, smallest and largest values, and sums. Nothing is written.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise.data.column import (
    Column,
    bool_column,
    datetime_column,
    float_column,
    int_column,
    missing_column,
    text_column,
    truncate,
)
from treewise.data.frames import wrap_library_errors
from treewise.data.objects import check_names, unsupported_type_error
from treewise.data.parse_cells import parse_number, to_double
from treewise.errors import ColumnError, DataError, did_you_mean, join_few

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

OnQuery = Callable[[str], None]  # receives the text of a query

MAX_GROUPS = 1 << 24  # that one query may return
_EAGER = ("polars",)  # lazy frames of this process, which are collected: that is what they are for
_DAY = 86_400
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://.*#[^#/]+", re.S)
_HINT = "Leave out the column, or fetch the table first."


def col(name: str) -> nw.Expr:
    """Return a column as an expression."""
    import narwhals.stable.v2 as nw

    return nw.col(name)


def lit(value: Any) -> nw.Expr:
    """Return a constant as an expression."""
    import narwhals.stable.v2 as nw

    return nw.lit(value)


def choose(cases: Sequence[tuple[Any, Any]], otherwise: Any) -> nw.Expr:
    """Return the value of the first condition that holds (CASE WHEN … THEN … ELSE … END); None for NULL."""
    import narwhals.stable.v2 as nw

    if not cases:
        return lit(otherwise) if isinstance(otherwise, int | float) else otherwise
    chain: Any = nw
    for condition, value in cases:
        chain = chain.when(condition).then(value)
    result: nw.Expr = chain if otherwise is None else chain.otherwise(otherwise)
    return result


def first_present(expression: Any, otherwise: Any) -> nw.Expr:
    """Return a constant where an expression is NULL (COALESCE)."""
    import narwhals.stable.v2 as nw

    return nw.coalesce(expression, nw.lit(otherwise))


def count_rows() -> nw.Expr:
    """Return the number of rows of a group."""
    import narwhals.stable.v2 as nw

    return nw.len()


def count_and_sum(names: Sequence[str]) -> dict[str, nw.Expr]:
    """Return the aggregates of a group: its rows, and sums of columns of whole numbers."""
    return {"rows": count_rows()} | {f"{name}_sum": to_int(col(name).sum()) for name in names}


def to_int(expression: nw.Expr) -> nw.Expr:
    """Return an expression as a 64-bit integer."""
    import narwhals.stable.v2 as nw

    return expression.cast(nw.Int64)


def to_float(expression: nw.Expr) -> nw.Expr:
    """Return an expression as a double."""
    import narwhals.stable.v2 as nw

    return expression.cast(nw.Float64)


@dataclass(frozen=True, eq=False)
class LazyColumn:
    """A column of a relation: its values as numbers that the engine can compare, or as they are."""

    name: str
    form: str  # "float", "int", "datetime": numbers; "text", "bool", "category": values that are listed
    value: nw.Expr  # float: a double; int: a 64-bit integer; datetime: ticks of ``unit``
    is_missing: nw.Expr
    unit: str = ""
    labels: tuple[str, ...] = ()  # of an enumeration

    @property
    def as_float(self) -> nw.Expr:
        """The value as a double."""
        return self.value if self.form == "float" else to_float(self.value)

    @property
    def is_number(self) -> bool:
        """Whether the engine compares the values as numbers."""
        return self.form in ("float", "int", "datetime")

    def to_column(self, cells: Sequence[Any]) -> Column:
        """Return fetched values, none of them missing, as a column."""
        if not len(cells):
            return missing_column(self.name, 1)
        if self.form == "float":
            return float_column(self.name, np.array(cells, np.float64))
        if self.form == "int":
            return int_column(self.name, np.array([int(cell) for cell in cells], np.int64))
        if self.form == "datetime":
            return datetime_column(self.name, np.array(cells, np.int64).view(f"datetime64[{self.unit}]"))
        if self.form == "bool":
            return bool_column(self.name, np.array(cells, np.bool_))
        if self.form == "category":
            code = {label: i for i, label in enumerate(self.labels)}
            return Column(self.name, "category", np.array([code[c] for c in cells], np.int32), labels=self.labels)
        return text_column(self.name, list(cells))


@dataclass(frozen=True, eq=False)
class Relation:
    """A lazy frame; ``on_query`` receives the text of each query."""

    frame: nw.LazyFrame[Any]
    name: str = "the table"
    on_query: OnQuery | None = None

    @classmethod
    def of(cls, data: Any, on_query: OnQuery | None = None) -> Relation | None:
        """Return a lazily evaluated table, or the address of one, as a relation; None for anything else."""
        name = "the table"
        if is_database_table(data):
            data, name = open_table(data), truncate(data.rpartition("#")[2])
        frame = _lazy_frame(data)
        return None if frame is None else cls(frame, name, on_query)

    @cached_property
    def has_nan(self) -> bool:
        """Whether the engine knows NaN; SQLite has none, and no function for it."""
        floats = [name for name, dtype in self.schema.items() if dtype.is_float()]
        if self.frame.implementation.value != "ibis" or not floats:
            return True
        try:
            self.frame.select(col(floats[0]).is_nan()).to_native().compile()
        except Exception:
            return False
        return True

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The type of each column."""
        with wrap_library_errors(self.name, "Give a table of plain columns."):
            schema = dict(self.frame.collect_schema())
        check_names(list(schema), self.name)
        return schema

    def where(self, condition: nw.Expr) -> Relation:
        """Return the rows for which a condition holds."""
        return replace(self, frame=self.frame.filter(condition))

    def column(self, name: str, na_values: Sequence[str] = ()) -> LazyColumn:
        """Return a column; numbers that equal one of ``na_values`` are missing."""
        import narwhals.stable.v2 as nw

        if name not in self.schema:
            names = join_few([truncate(n) for n in self.schema])
            hint = did_you_mean(name, self.schema)
            raise ColumnError(f'no column "{truncate(name)}" in {self.name}.{hint} Columns: {names}.')
        if name == "*":
            raise ColumnError('column "*" cannot be named in a query.', hint="Give it another name.")
        dtype, cell = self.schema[name], col(name)
        if dtype.is_numeric():
            form = "int" if dtype.is_integer() else "float"
            value = cell if dtype in (nw.Int64, nw.Float64) else to_int(cell) if form == "int" else to_float(cell)
            return LazyColumn(name, form, value, _is_missing_number(value, form, self.has_nan, na_values))
        if dtype in (nw.Date, nw.Datetime):
            if getattr(dtype, "time_zone", None) not in (None, "UTC", "Etc/UTC"):
                raise DataError(
                    f'column "{truncate(name)}" has the time zone {dtype.time_zone}.', hint="Convert it to UTC."
                )
            unit = "D" if dtype == nw.Date else "ns" if dtype.time_unit == "ns" else "us"
            return LazyColumn(name, "datetime", _ticks(cell, unit), cell.is_null(), unit)
        if dtype == nw.Boolean:
            return LazyColumn(name, "bool", cell, cell.is_null())
        if dtype == nw.String or dtype in (nw.Categorical, nw.Enum):
            text = cell if dtype == nw.String else cell.cast(nw.String)
            labels = tuple(sorted(dtype.categories)) if dtype == nw.Enum and hasattr(dtype, "categories") else ()
            return LazyColumn(name, "category" if labels else "text", text, cell.is_null(), labels=labels)
        raise unsupported_type_error(name, str(dtype))

    # -- what is fetched ---------------------------------------------------------------------------------------------

    def aggregate(self, aggregates: Mapping[str, nw.Expr]) -> dict[str, Any]:
        """Return aggregates of all rows."""
        with wrap_library_errors(f"a query on {self.name}", _HINT):
            selected = self.frame.select(*(e.alias(name) for name, e in aggregates.items()))
        fetched = self._fetch(selected)
        return {name: fetched[name].to_list()[0] for name in fetched.columns}

    def group(
        self,
        values: Mapping[str, nw.Expr],
        keys: Sequence[str],
        aggregates: Mapping[str, nw.Expr],
        where: nw.Expr | None = None,
        derived: Sequence[Mapping[str, nw.Expr]] = (),
        limit: int = MAX_GROUPS,
    ) -> dict[str, Any]:
        """Return groups of rows: their keys and aggregates.

        ``where`` is a condition on ``values``; each step of ``derived`` adds values that follow from those before it.
        Of more groups than ``limit``, one more is returned.
        """
        fetched = self.fetch_groups(values, keys, aggregates, limit, where, derived)
        return {name: _cells(fetched[name]) for name in fetched.columns}

    def fetch_groups(
        self,
        values: Mapping[str, nw.Expr],
        keys: Sequence[str],
        aggregates: Mapping[str, nw.Expr],
        limit: int,
        where: nw.Expr | None = None,
        derived: Sequence[Mapping[str, nw.Expr]] = (),
    ) -> nw.DataFrame[Any]:
        """Return groups of rows, as ``group`` does, in a dataframe."""
        with wrap_library_errors(f"a query on {self.name}", _HINT):
            chosen = self.frame.select(*(e.alias(name) for name, e in values.items()))
            chosen = chosen if where is None else chosen.filter(where)
            for step in derived:
                chosen = chosen.with_columns(*(e.alias(name) for name, e in step.items()))
            groups = chosen.group_by(*keys).agg(*(e.alias(name) for name, e in aggregates.items()))
            groups = groups.head(limit + 1) if limit < MAX_GROUPS else groups
        return self._fetch(groups)

    def group_by_each(
        self,
        values: Mapping[str, nw.Expr],
        keys: Sequence[str],
        also: Sequence[str],
        summed: Sequence[str],
        where: nw.Expr,
        derived: Sequence[Mapping[str, nw.Expr]],
    ) -> dict[str, Any]:
        """Return the groups of rows by each of some keys, with ``also`` and the aggregates of ``count_and_sum``.

        Keys are whole numbers, called "key" in the result; no number is used by two of them, and rows without one are
        left out. The table is read once where the library has GROUPING SETS.
        """
        with wrap_library_errors(f"a query on {self.name}", _HINT):
            chosen = self.frame.select(*(e.alias(name) for name, e in values.items())).filter(where)
            for step in derived:
                chosen = chosen.with_columns(*(e.alias(name) for name, e in step.items()))
            counted = _group_by_sets(chosen, keys, also, summed) if len(keys) > 1 else None
            if counted is None:
                parts = [
                    chosen.filter(~col(key).is_null())
                    .group_by(key, *also)
                    .agg(*(e.alias(name) for name, e in count_and_sum(summed).items()))
                    .rename({key: "key"})
                    for key in keys
                ]
            else:
                parts = [counted.filter(~col("key").is_null())]
        fetched = [self._fetch(part) for part in parts]
        return {name: _concatenate([_cells(part[name]) for part in fetched]) for name in fetched[0].columns}

    def _fetch(self, frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
        if self.on_query is not None:
            self.on_query(query_text(frame.to_native()))
        with wrap_library_errors(f"a query on {self.name}", _HINT):
            return frame.collect()


def _group_by_sets(
    frame: nw.LazyFrame[Any], keys: Sequence[str], also: Sequence[str], summed: Sequence[str]
) -> nw.LazyFrame[Any] | None:
    """Return the groups by each key, by GROUPING SETS; None for libraries that have none."""
    import narwhals.stable.v2 as nw

    native, library = _native(frame)
    if library not in ("duckdb", "pyspark"):
        return None
    quote = '"' if library == "duckdb" else "`"
    quoted = {name: f"{quote}{name}{quote}" for name in (*keys, *also, *summed, "key", "rows")}
    columns = [f"COALESCE({', '.join(quoted[key] for key in keys)}) AS {quoted['key']}"]
    columns += [quoted[name] for name in also] + [f"COUNT(*) AS {quoted['rows']}"]
    columns += [f"CAST(SUM({quoted[name]}) AS BIGINT) AS {quote}{name}_sum{quote}" for name in summed]
    sets = ", ".join("(" + ", ".join(quoted[name] for name in (key, *also)) + ")" for key in keys)
    selected, grouped = ", ".join(columns), f"GROUPING SETS ({sets})"
    if library == "duckdb":
        grouped_frame: nw.LazyFrame[Any] = nw.from_native(native.aggregate(selected, grouped))
    else:
        name = f"treewise_{uuid.uuid4().hex}"
        grouped_frame = run_query(frame, name, f"SELECT {selected} FROM {name} GROUP BY {grouped}")
    return grouped_frame


def _concatenate(parts: Sequence[Any]) -> Any:
    """Join fetched values: arrays, or lists."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [cell for part in parts for cell in part]


def _cells(series: nw.Series[Any]) -> Any:
    """Return fetched values: an array of numbers, 0 for missing ones, or a list of anything else."""
    import narwhals.stable.v2 as nw

    if series.dtype.is_float():
        return series.to_numpy()
    if series.dtype.is_integer() and series.dtype not in (nw.Int128, nw.UInt128, nw.UInt64):
        return series.fill_null(0).to_numpy()
    cells = series.to_list()
    return np.array([int(c or 0) for c in cells], object) if series.dtype.is_numeric() else cells


def _is_missing_number(value: nw.Expr, form: str, has_nan: bool, na_values: Sequence[str]) -> nw.Expr:
    """Return whether a number is missing: NULL, NaN, or equal to a marker."""
    is_missing = value.is_null() | value.is_nan() if form == "float" and has_nan else value.is_null()
    numbers = [number for marker in na_values if (number := parse_number(marker)) is not None]
    for number in numbers:
        if form == "float" or (isinstance(number, int) and -(2**63) <= number < 2**63):
            is_missing = is_missing | (value == (to_double(number) if form == "float" else number))
    return is_missing


def _ticks(cell: nw.Expr, unit: str) -> nw.Expr:
    """Return a date or time as an integer: days, microseconds or nanoseconds since 1970 (proleptic Gregorian)."""
    year, date = to_int(cell.dt.year()), cell.dt
    before = to_float(year) - 1.0  # leap days of the years before: exact in doubles
    leaps = (before * 0.25).floor() - (before * 0.01).floor() + (before * 0.0025).floor() - 477.0
    days = (year - 1970) * 365 + to_int(leaps) + to_int(date.ordinal_day()) - 1
    if unit == "D":
        return days
    seconds = days * _DAY + to_int(date.hour()) * 3600 + to_int(date.minute()) * 60 + to_int(date.second())
    if unit == "ns":
        return seconds * 1_000_000_000 + to_int(date.nanosecond())
    return seconds * 1_000_000 + to_int(date.microsecond())


def _lazy_frame(data: Any) -> nw.LazyFrame[Any] | None:
    """Return a table that a database evaluates lazily as a frame of narwhals; None for anything else."""
    module = type(data).__module__.partition(".")[0]
    if module not in ("_duckdb", "duckdb", "ibis", "pyspark", "sqlframe", "narwhals"):
        return None
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, pass_through=True)
    is_lazy = isinstance(frame, nw.LazyFrame) and frame.implementation.value not in _EAGER
    return frame if is_lazy else None


def is_relation(data: Any) -> bool:
    """Tell whether this is a table that a database evaluates lazily, such as a DuckDB relation."""
    return _lazy_frame(data) is not None


_DIALECTS = {
    "bigquery": "bigquery", "duckdb": "duckdb", "mssql": "sqlserver", "mysql": "mysql", "postgres": "postgresql",
    "snowflake": "snowflake", "sqlite": "sqlite",
}  # fmt: skip


def dialect_of(data: Any) -> str | None:
    """Return the dialect of SQL in which a table can be queried (``run_query``); None if it cannot."""
    table, library = _native(data)
    if library == "ibis":
        return _DIALECTS.get(table.get_backend().name)
    return {"duckdb": "duckdb", "pyspark": "spark"}.get(library)


def run_query(data: Any, name: str, query: str) -> Any:
    """Return a query on a table, which is called ``name`` there: lazy, and of the same library."""
    table, library = _native(data)
    with wrap_library_errors("a query on the table", _HINT):
        if library == "duckdb":
            result = table.query(name, query)
        elif library == "ibis":
            result = table.alias(name).sql(query)
        else:
            table.createOrReplaceTempView(name)
            try:  # the query is planned at once, and needs the name no longer
                result = table.sparkSession.sql(query)
            finally:
                table.sparkSession.catalog.dropTempView(name)
    if table is data:
        return result
    import narwhals.stable.v2 as nw

    return nw.from_native(result)


def _native(data: Any) -> tuple[Any, str]:
    """Return a lazy table without narwhals, and its library."""
    import narwhals.stable.v2 as nw

    table = nw.to_native(data, pass_through=True)
    return table, type(table).__module__.partition(".")[0].removeprefix("_")


def is_database_table(data: Any) -> bool:
    """Tell whether this is the address of a table in a database, duckdb:///file.db#table."""
    return isinstance(data, str) and _ADDRESS.fullmatch(data) is not None


def open_table(address: str) -> Any:
    """Open a table of a database for reading: of DuckDB, or of any that Ibis connects to."""
    database, _, table = address.rpartition("#")
    library = "duckdb" if database.startswith("duckdb://") else "ibis"
    try:
        module: Any = import_module(library)
    except ImportError:
        package = "duckdb" if library == "duckdb" else "ibis-framework"
        raise DataError(f"{truncate(database)} needs the package {package}.", hint=f"pip install {package}") from None
    is_file = database.startswith(("duckdb://", "sqlite://"))
    path = database.partition("://")[2].removeprefix("/")  # three slashes: relative; four: absolute
    if is_file and path not in ("", ":memory:") and not os.path.isfile(path):  # SQLite would make one
        raise DataError(
            f'no file "{truncate(path, 200)}".',
            hint=f"A path that is absolute has four slashes: {database.partition(':')[0]}:////folder/file.db#table.",
        )
    with wrap_library_errors(truncate(address, 200), "Check the address and the name of the table."):
        if library == "duckdb":
            return module.connect(path, read_only=True).table(table)
        connection = module.sqlite.connect(path) if is_file else module.connect(database)
        names = connection.list_tables()
        if is_file and table not in names:
            listed = join_few([truncate(name) for name in names]) or "none"
            raise DataError(
                f'no table "{truncate(table)}" in {truncate(path)}.{did_you_mean(table, names)} Tables: {listed}.'
            )
        return connection.table(table)


def query_text(native: Any) -> str:
    """Return a query as SQL, where its library tells it."""
    for name in ("sql_query", "sql", "compile"):
        make = getattr(native, name, None)
        if callable(make):
            try:
                return str(make())
            except Exception:
                continue
    return f"-- a query of {type(native).__module__.partition('.')[0]}, whose text is not known"
