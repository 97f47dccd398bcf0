"""All input types give the same table, or a clear error."""

import csv
import datetime as dt
import io
import itertools
import re
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewise.data import encoding as encode
from treewise.data import table as table_module
from treewise.data.column import Column
from treewise.data.table import Table, read, read_rows
from treewise.errors import ColumnError, DataError, ParameterError

# -- the same cells in every container -----------------------------------------------------------------------

TRICKY = [
    *("1", "2.50", " 3", "-4", "+5", "1e3", ".5", "7.", "inf", "-Infinity", "02134", "00", "1_000", "0x1F"),
    *("9007199254740993", "NA", "n/a", "?", "NaN", "null", ".", "-", "n/d", "54y", "true", "FALSE", "True"),
    *("2024-03-31", "2024-03-31 14:30:00", "2024-03-31T14:30:00.25+02:00", "2024-02-31", "31/03/2024"),
    *("a", "b", "yes", 'quote "q"', "comma, here", "two\nlines", "ünïcode ☃", "#", "x;y", "12:30:00"),
]
characters = st.characters(codec="utf-8", exclude_characters="\0")
# An empty cell of a CSV file is missing, and nothing tells it from text that is empty or blank.
texts = (st.sampled_from(TRICKY) | st.text(characters, min_size=1)).filter(lambda text: bool(text.strip()))
CELLS = {
    "int": st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-5, 5),
    "float": st.floats(allow_nan=False) | st.sampled_from([0.5, 1.0, 2.0]),
    "bool": st.booleans(),
    "text": texts,
    "few": st.sampled_from(TRICKY[:4]) | st.sampled_from(["NA", "?"]),
    "date": st.dates(),
    "datetime": st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)),
}


@st.composite
def tables(draw):
    """Draw a form for each of three columns and cells to fill them, some of them missing."""
    n = draw(st.integers(1, 12))
    table = {}
    for name in ("a", "b", "c"):
        form = draw(st.sampled_from(sorted(CELLS)))
        cells = CELLS[form] if draw(st.booleans()) else st.none() | CELLS[form]
        table[name] = form, draw(st.lists(cells, min_size=n, max_size=n))
    return table


POLARS = {
    "int": pl.Int64,
    "float": pl.Float64,
    "bool": pl.Boolean,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
}
PANDAS = {"int": "Int64", "float": "float64", "bool": "boolean", "date": object, "datetime": "datetime64[us]"}


def as_polars(table):
    return pl.DataFrame([pl.Series(name, cells, POLARS.get(form, pl.String)) for name, (form, cells) in table.items()])


def as_pandas(table):
    return pd.DataFrame(
        {name: pd.Series(cells, dtype=PANDAS.get(form, object)) for name, (form, cells) in table.items()}
    )


def as_csv(table, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        columns = [cells for _, cells in table.values()]
        for row in zip(*columns, strict=True):
            writer.writerow(["" if cell is None else str(cell) for cell in row])
    return path


def containers(table, folder):
    frame = as_polars(table)
    frame.write_parquet(folder / "table.parquet")
    lists = {name: cells for name, (_, cells) in table.items()}
    objects = np.empty((frame.height, len(lists)), object)
    for j, cells in enumerate(lists.values()):
        objects[:, j] = cells
    yield "list of dicts", [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    yield "polars", frame
    yield "pandas", as_pandas(table)
    yield "pandas Arrow", frame.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
    yield "Arrow", frame.to_arrow()
    yield "Parquet", folder / "table.parquet"
    yield "CSV", as_csv(table, folder / "table.csv")
    yield "lists", [list(row) for row in zip(*lists.values(), strict=True)]
    yield "NumPy", objects


def outcome(table, name):
    """Everything that can be learned from a column, or the error it gives."""
    try:
        learned = encode.fit_encoding(table[name])
    except DataError as error:
        return str(error)
    return learned.encoding, learned.values.dtype, learned.values.tobytes(), learned.notes


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_same_cells_same_columns_whatever_holds_them(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("tables")
    plain = read({name: cells for name, (_, cells) in table.items()})
    expected = {name: outcome(plain, name) for name in plain.columns}
    for what, data in containers(table, folder):
        actual = read(data, columns=["a", "b", "c"])
        assert {name: outcome(actual, name) for name in actual.columns} == expected, what


@settings(deadline=None, max_examples=100)
@given(tables(), st.randoms(use_true_random=False))
def test_permuting_rows_permutes_values(table, random):
    plain = read({name: cells for name, (_, cells) in table.items()})
    order = list(range(len(plain)))
    random.shuffle(order)
    shuffled = plain.take(np.array(order))
    for name in plain.columns:
        try:
            before = encode.fit_encoding(plain[name])
        except DataError:
            continue
        after = encode.fit_encoding(shuffled[name])
        assert after.encoding == before.encoding
        assert after.values.tobytes() == before.values[order].tobytes()
        assert after.notes == before.notes


@settings(deadline=None, max_examples=50)
@given(tables())
def test_to_pandas_and_to_polars_lead_back(table):
    plain = read({name: cells for name, (_, cells) in table.items()})
    for back in (read(plain.to_pandas()), read(plain.to_polars())):
        for name in plain.columns:
            assert outcome(back, name) == outcome(plain, name)


# -- single forms --------------------------------------------------------------------------------------------


def column(values, **more) -> Column:
    return read({"x": values}, **more)["x"]


@pytest.mark.parametrize("values", [[1, 2, None], [np.int8(1), np.int64(2), None], pd.array([1, 2, None], "Int64")])
def test_whole_numbers_with_gaps_have_a_mask(values):
    made = column(values)
    assert made.form == "int"
    assert made.values.dtype == np.int64
    assert made.values[:2].tolist() == [1, 2]
    assert made.is_missing().tolist() == [False, False, True]


def test_contiguous_doubles_are_not_copied():
    values = np.array([1.0, 2.0, np.nan])
    assert np.shares_memory(column(values).values, values)
    frame = pd.DataFrame({"x": values}, copy=False)
    assert np.shares_memory(read(frame)["x"].values, frame["x"].to_numpy())
    series = pl.Series("x", [1.0, 2.0])
    assert np.shares_memory(read(series.to_frame())["x"].values, series.to_numpy())
    assert not column(values).values.flags.writeable


def test_narrow_floats_widen_exactly():
    values = np.array([0.1, 1e-40, np.inf], np.float32)
    assert column(values).values.tolist() == [float(v) for v in values]
    assert column(np.array([0.1], np.float16)).values[0] == float(np.float16(0.1))


def test_unsigned_numbers_past_63_bits_stay_text_until_someone_asks():
    huge = 2**64 - 1
    for data in (
        np.array([huge, 1], np.uint64),
        pl.Series([huge, 1], dtype=pl.UInt64),
        pd.Series([huge, 1], dtype="uint64"),
        [huge, 1],
    ):
        made = column(data)
        assert made.form == "text"
        assert made.labels == ("1", str(huge))
        with pytest.raises(DataError, match=r'column "x": 18446744073709551615 in row 1 exceeds.*nominal'):
            encode.fit_encoding(made)
        assert encode.fit_encoding(made, "nominal").encoding.levels == ("1", str(huge))
    assert column(np.array([5], np.uint64)).form == "int"


def decimal_containers(cells, precision=30, scale=0):
    arrow = pa.array(cells, pa.decimal128(precision, scale))
    file = io.BytesIO()
    parquet.write_table(pa.table({"x": arrow}), file)
    yield from (cells, np.array(cells, object), pd.Series(cells, dtype=object), arrow, pa.chunked_array([arrow]))
    yield pl.Series(cells, dtype=pl.Decimal(precision, scale))
    yield pa.array(cells, pa.decimal256(precision + 40, scale))
    yield pd.Series(cells, dtype=pd.ArrowDtype(pa.decimal128(precision, scale)))
    yield table_module.read_bytes(file.getvalue(), "x.parquet", ())


def test_whole_decimals_are_compared_exactly():
    whole = [2**60 + i for i in range(12)]
    for cells in ([Decimal(v) for v in whole], [Decimal(v).scaleb(-2).scaleb(2) for v in whole]):
        for data in decimal_containers(cells):
            made = data["x"] if isinstance(data, Table) else column(data)
            assert made.form == "int"
            assert made.values.tolist() == whole
    assert column([Decimal("1.00"), None, 2, Decimal("NaN"), Decimal("sNaN")]).values.tolist() == [1, 0, 2, 0, 0]
    fitted = encode.fit_encoding(column([Decimal(v) for v in whole]))
    assert (fitted.encoding.kind, fitted.notes) == ("integer", ())


def test_whole_decimals_past_64_bits_are_refused_by_name():
    for data in decimal_containers([Decimal(1), Decimal(2) ** 64]):
        made = data["x"] if isinstance(data, Table) else column(data)
        with pytest.raises(DataError, match=r'column "x": 18446744073709551616 in row 2 exceeds 2\^63.*nominal'):
            encode.fit_encoding(made)
    with pytest.raises(DataError, match=r'column "x": the whole number in row 2 has thousands of digits'):
        column([Decimal(1), Decimal("1e999999")])


def test_decimals_with_a_fraction_become_the_nearest_doubles():
    cells = [Decimal("0.1"), None, Decimal("12345678901234567.89")]
    for data in decimal_containers(cells, scale=2):
        made = data["x"] if isinstance(data, Table) else column(data)
        assert made.form == "float"
        assert made.values[[0, 2]].tolist() == [0.1, 12345678901234567.89]
        assert np.isnan(made.values[1])
        assert made.rounding == ""


def test_different_numbers_that_share_a_double_get_a_note():
    wide = [Decimal(2**60 + i) for i in range(12)]
    for cells in ([*wide, Decimal("0.5")], [*map(int, wide), 0.5], [*wide, np.float32(0.5)]):
        fitted = encode.fit_encoding(column(cells))
        assert fitted.notes[0].startswith("x: 13 different numbers are compared as 2, the nearest doubles")
        exact = encode.fit_encoding(column(wide)).encoding
        with pytest.raises(DataError, match=r'column "x": the model was grown on whole numbers past 2\^53.*Round'):
            encode.encode_column(exact, column(cells), "new.csv")
    assert encode.fit_encoding(column([2**60, 0.5])).notes == ()


ODD_CELLS = [1, 2.5, np.int64(7), np.float32(1.5), 2**70, Decimal(3), Decimal("4.5"), Decimal("NaN"), Decimal("sNaN")]
ODD_CELLS += [Decimal("Infinity"), Decimal("1e5000"), Decimal("-0"), Decimal(2**60 + 1), None, float("nan")]
ODD_CELLS += [
    pd.NA,
    pd.NaT,
    np.datetime64("NaT", "D"),
    np.datetime64("2024-01-31"),
    dt.date(2024, 1, 31),
    True,
    "a",
    10**5000,
]


def test_any_mix_of_objects_is_a_column_or_a_clear_error():
    for cells in itertools.combinations(ODD_CELLS, 2):
        for data in (list(cells), np.array(cells, object), pd.Series(cells, dtype=object)):
            try:
                made = column(data)
                encode.fit_encoding(made)
            except DataError as error:
                assert re.search(r"mixes|exceeds 2\^63|thousands of digits", str(error)), cells
            else:
                assert len(made) == 2


@pytest.mark.parametrize(
    ("cells", "unit", "first"),
    [
        (["2024-03-31", "1969-12-31"], "D", 19813),
        (["2024-03-31T00:00:01", "2024-03-31"], "s", 1711843201),
        (["2024-03-31T00:00:00.5", "2024-03-31"], "ms", 1711843200500),
        (["2024-03-31T00:00:00.000001", "2024-03-31"], "us", 1711843200000001),
        (["2024-03-31T00:00:00.000000001", "2024-03-31"], "ns", 1711843200000000001),
    ],
)
def test_datetimes_take_the_coarsest_exact_unit(cells, unit, first):
    moments = np.array(cells, "datetime64[ns]")
    for data in (moments, pd.Series(moments), pl.Series(moments), cells):
        made = read({"x": data})["x"]
        learned = encode.fit_encoding(made)
        assert learned.encoding.unit == unit
        assert learned.values[0] == first


def test_far_dates_and_zones():
    far = [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]
    for data in (far, pl.Series(far), pd.Series(far)):
        made = column(data)
        assert (made.form, made.unit) == ("datetime", "D")
        assert made.values[:2].tolist() == [-719162, 2932896]
    east = dt.timezone(dt.timedelta(hours=2))
    zoned = [dt.datetime(2024, 3, 31, 2, tzinfo=east), None]
    for data in (zoned, pd.Series(zoned), pl.Series(zoned), pa.chunked_array([pa.array(zoned)])):
        made = column(data)
        assert (made.unit, int(made.values[0])) == ("D", 19813)


@pytest.mark.parametrize("unit", ["Y", "M", "W", "h", "m"])
def test_numpy_units_that_are_not_ours(unit):
    moment = np.datetime64("2024-03-28", unit)
    assert column(np.array([moment])).format_cell(0) == str(moment.astype("datetime64[D]"))


def test_times_finer_than_nanoseconds_are_refused():
    with pytest.raises(DataError, match='column "x": times finer than a nanosecond'):
        column(np.array([1], "datetime64[ps]"))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (pl.Series([dt.timedelta(1)]), "Duration"),
        (pl.Series([dt.time(1)]), "Time"),
        (pl.Series([[1, 2]]), "List"),
        (pl.Series([{"a": 1}]), "Struct"),
        (pl.Series([b"a"]), "Binary"),
        (pd.Series([pd.Timedelta(1)]), "Duration"),
        (np.array([1 + 2j]), "complex128"),
        (np.array([1], "timedelta64[s]"), "timedelta64"),
        ([{1, 2}], "set"),
        ([b"a"], "bytes"),
    ],
)
def test_values_that_cannot_be_compared_are_refused_by_name(data, what):
    with pytest.raises(DataError, match=f'(?i)column "x" holds {what}.*ignore=\\["x"\\]'):
        column(data)


def test_an_odd_column_harms_nobody_who_does_not_ask_for_it():
    frame = pl.DataFrame({"x": [1, 2], "odd": [[1], [2]]})
    table = read(frame)
    assert table["x"].values.tolist() == [1, 2]
    assert list(table.drop(["odd"]).columns) == ["x"]
    with pytest.raises(DataError, match='"odd" holds List'):
        table["odd"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["a", 1, None], r'mixes text \("a" in row 1\) and numbers \(1 in row 2\)'),
        ([None, 2.5, True], r"mixes numbers \(2.5 in row 2\) and true/false \(True in row 3\)"),
        (
            [np.nan, "a", dt.date(2024, 1, 1)],
            r'mixes text \("a" in row 2\) and dates \(2024-01-01 in row 3\)',
        ),
    ],
)
def test_mixtures_are_refused_with_rows(cells, message):
    objects = np.empty(len(cells), object)
    objects[:] = cells
    for data in (cells, pd.Series(cells, dtype=object), objects):
        with pytest.raises(DataError, match=f'column "x" {message}'):
            column(data)


def test_a_mixture_that_narwhals_does_not_see_is_refused_too():
    cells = ["a"] * 500 + [1]  # narwhals looks at the first hundred cells of an object column
    with pytest.raises(DataError, match=r"mixes text .* numbers \(1 in row 501\)"):
        column(pd.Series(cells, dtype=object))


def test_one_kind_of_objects_is_fine():
    assert column(pd.Series([True, None, False], dtype=object)).form == "bool"
    assert column(pd.Series([1, None, 2.5], dtype=object)).form == "float"
    assert column(pd.Series([1, pd.NA, 2], dtype=object)).form == "int"
    assert column(["a", float("nan"), None]).is_missing().tolist() == [False, True, True]
    assert column([np.str_("a"), "b"]).labels == ("a", "b")
    assert column([None, None]).is_missing().all()


def test_half_characters_are_refused():
    for cells in (["\ud800"], ["\ud800"] * 6000):
        with pytest.raises(DataError, match="not valid Unicode"):
            column(cells)


# -- categories ----------------------------------------------------------------------------------------------


def test_pandas_categories_keep_order_and_unused_labels():
    made = column(pd.Series(pd.Categorical(["b", None, "a"], ["c", "b", "a"], ordered=True)))
    assert (made.form, made.labels, made.ordered) == ("category", ("c", "b", "a"), True)
    assert made.values.tolist() == [1, -1, 2]
    assert not column(pd.Series(pd.Categorical(["b", "a"]))).ordered


@pytest.mark.parametrize(
    ("categories", "labels"),
    [
        ([3, 1, 2], ("3", "1", "2")),
        ([1.0, 2.0], ("1", "2")),
        ([1.5, 2.0], ("1.5", "2.0")),
        ([True, False], ("true", "false")),
        (pd.to_datetime(["2024-03-31", "2024-01-01"]), ("2024-03-31", "2024-01-01")),
        ([("a", 1), ("b", 2)], ("('a', 1)", "('b', 2)")),
    ],
)
def test_categories_of_any_type_become_labels(categories, labels):
    codes = pd.Categorical.from_codes([0, 1], pd.Index(categories, tupleize_cols=False))
    assert column(pd.Series(codes)).labels == labels


def test_intervals_are_labels_in_order():
    made = column(pd.Series(pd.cut([1, 5, 9], [0, 4, 8, 12])))
    assert made.labels == ("(0, 4]", "(4, 8]", "(8, 12]")
    assert made.ordered


def test_polars_enums_keep_their_order_and_categoricals_are_sorted():
    enum = column(pl.Series(["b", None, "a"], dtype=pl.Enum(["c", "b", "a"])))
    assert (enum.form, enum.labels, enum.ordered) == ("category", ("c", "b", "a"), False)
    assert enum.values.tolist() == [1, -1, 2]
    free = column(pl.Series(["b", None, "a", "b"], dtype=pl.Categorical))
    assert (free.form, free.labels, free.values.tolist()) == ("category", ("a", "b"), [1, -1, 0, 1])


def test_arrow_dictionaries():
    chunks = [pa.array(cells).dictionary_encode() for cells in (["b", None, "a"], ["c"])]
    free = column(pa.chunked_array(chunks))
    assert (free.form, free.labels, free.values.tolist()) == ("category", ("a", "b", "c"), [1, -1, 0, 2])
    codes = pa.array([0, None, 1], pa.int8())
    array = pa.DictionaryArray.from_arrays(codes, ["low", "high", "top"], ordered=True)
    ordered = column(pa.chunked_array([array]))
    assert (ordered.labels, ordered.ordered) == (("low", "high", "top"), True)
    assert ordered.values.tolist() == [0, -1, 1]


# -- containers ----------------------------------------------------------------------------------------------


def test_names():
    assert list(read(np.zeros((2, 3))).columns) == ["x1", "x2", "x3"]
    assert list(read(np.zeros((2, 2)), columns=["a", "b"]).columns) == ["a", "b"]
    assert list(read(pd.DataFrame([[1, 2]])).columns) == ["0", "1"]
    assert list(read([{"a": 1}, {"b": 2}]).columns) == ["a", "b"]
    assert read([{"a": 1}, {"b": 2}])["a"].is_missing().tolist() == [False, True]


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=["1", 1]).rename(columns={"1": "a", 1: "a"}),
        pa.table([[1], [2]], names=["a", "a"]),
    ],
)
def test_names_that_occur_twice_are_refused(data):
    with pytest.raises(DataError, match="the table: more than one column is named a"):
        read(data)


def test_structured_and_masked_arrays():
    array = np.array([(1, 2.5, "a"), (2, np.nan, "b")], [("i", "i4"), ("f", "f8"), ("s", "U1")])
    table = read(array)
    assert [table[name].form for name in "ifs"] == ["int", "float", "text"]
    masked = np.ma.MaskedArray([1, 2], mask=[False, True])
    assert read({"x": masked})["x"].is_missing().tolist() == [False, True]


def test_duckdb_relations():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select 1 as a, 'x' as b, DATE '2024-03-31' as c union all select 2, null, null")
    table = read(relation)
    assert [table[name].form for name in "abc"] == ["int", "text", "datetime"]


def test_pandas_without_pyarrow():
    code = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd
from treewise.data.table import read
frame = pd.DataFrame({"s": ["b", None, "a"], "c": pd.Categorical(["x", None, "y"]), "i": [1, 2, 3]})
table = read(read(frame).to_pandas())
print(*(table[name].values.tolist() for name in table.columns))
"""
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[1, -1, 0] [0, -1, 1] [1, 2, 3]"


def test_lazy_frames_and_arrow_data():
    assert read(pl.LazyFrame({"a": [1]}))["a"].values.tolist() == [1]
    assert read(pa.RecordBatch.from_pydict({"a": [1]}))["a"].values.tolist() == [1]
    assert read({"a": pa.array([1, None])})["a"].is_missing().tolist() == [False, True]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1, 2], "b": [1]}, 'column "b" of the table has 1 value, but "a" has 2'),
        ({"a": [1, 2], "b": 3}, 'column "b" of the table is a single value'),
        ({}, "the table has no columns"),
        ({"a": []}, "but no rows"),
        (pl.DataFrame({"a": []}), "but no rows"),
        (np.zeros(3), "is an array with 1 dimension"),
        (np.zeros((2, 0)), "no columns"),
        ([[1, 2], [3]], "row 2 of the table has 1 value, row 1 has 2"),
        ([1, 2], "cannot read a table from a list"),
        (pd.Series([1]), "cannot read a table from a Series"),
        (5, "cannot read a table from an int"),
    ],
)
def test_values_that_are_not_tables(data, message):
    with pytest.raises(DataError, match=message):
        read(data)


def test_wrong_number_of_names():
    with pytest.raises(DataError, match="has 3 columns, but columns names 2"):
        read(np.zeros((2, 3)), columns=["a", "b"])


def test_a_dict_of_single_values_is_a_row():
    table = read({"GPA": 3.7, "Published": "no", "age": None})
    assert len(table) == 1
    assert table["Published"].labels == ("no",)
    assert len(read_rows([{"a": 1}, {"a": 2}])) == 2
    with pytest.raises(DataError, match="a row must be a dict"):
        read_rows([])


# -- the table -----------------------------------------------------------------------------------------------


def test_a_table_is_read_as_it_is():
    table = read({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert read(table) is table
    assert read(table, name="mine").name == "mine"
    assert list(read(table, columns=["b"]).columns) == ["b"]


def test_rows_and_columns_can_be_chosen():
    table = read({"a": [1, None, 3], "b": ["x", "y", "z"]})
    taken = table.take(np.array([2, 0]))
    assert taken["a"].values.tolist() == [3, 1]
    assert taken["a"].missing is None
    assert taken["b"].labels == ("x", "z")
    assert len(table.take(np.array([True, False, True]))) == 2
    assert len(table.head(2)) == 2
    assert len(table.head(99)) == 3
    with pytest.raises(ColumnError, match=r'no column "c" in the table\. Columns: a, b\.'):
        table.drop(["c"])
    with pytest.raises(ColumnError, match=r'no column "A" in the table\. Did you mean "a"\?'):
        read(table, columns=["A"])


def test_markers_for_missing():
    cells = ["n/d", " ? ", "x", None]
    assert column(cells, na_values=["n/d", "?"]).is_missing().tolist() == [True, True, False, True]
    assert column(cells, na_values="n/d").labels == (" ? ", "x")
    assert column([1, -999], na_values=["-999"]).is_missing().tolist() == [False, True]
    assert column([1.5, -999.0], na_values=[-999]).is_missing().tolist() == [False, True]
    assert column([2**53, 2**53 + 1], na_values=[str(2**53 + 1)]).is_missing().tolist() == [False, True]
    enum = column(pl.Series(["a", "?"], dtype=pl.Enum(["?", "b", "a"])), na_values=["?"])
    assert (enum.labels, enum.values.tolist()) == (("b", "a"), [1, -1])
    with pytest.raises(ParameterError, match="markers are text or numbers"):
        column(cells, na_values=[None])
