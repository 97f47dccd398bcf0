"""Unusual input to every public function gives a result or a treewise error.

Nothing raw from C++, NumPy, pandas, polars, Arrow or DuckDB may reach the user.
"""

import array
import datetime as dt
import decimal
import enum
import fractions
import gzip
import inspect
import math
import re
import sys
import uuid
from collections import deque

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.errors import assert_refused, check_message
from treewise.cli import main
from treewise.formats.model_file.model_file import dumps, loads

# -- odd tables at every entrance -------------------------------------------------------------------------------------

D = decimal.Decimal
TREE = tw.grow({"a": [1.0, 2.0, 3.0], "c": ["u", "v", "u"], "y": ["p", "q", "p"]}, "y")
NUMBERS = tw.grow({"a": [1.0, 2.0, 3.0], "y": [0.5, 1.5, 2.5]}, "y")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Unlike:
    """Says it has a length, and has none."""

    def __len__(self):
        raise RuntimeError("no length")


class NoArray:
    def __array__(self, *_, **__):
        raise RuntimeError("no array")


def column(cells):
    return {"a": cells, "y": ["p", "q"]}


def arrow(kind, cells):
    return pa.table({"a": pa.array(cells, kind), "y": ["p", "q"]})


def pandas_arrow(kind, cells):
    return pd.DataFrame({"a": pd.array(cells, dtype=pd.ArrowDtype(kind)), "y": ["p", "q"]})


ODD_TABLES = {
    "None": None,
    "a number": 3,
    "NaN": math.nan,
    "bytes": b"a,y\n1,2\n",
    "a name": "no such table",
    "no name": "",
    "a name with NUL": "a\0b",
    "a name with a newline": "a\nb",
    "a very long name": "x" * 5000,
    "half a character": "\ud800",
    "nobody's home": "~nobody-by-this-name/t.csv",
    "a folder": "/",
    "a type": dict,
    "a function": len,
    "a module": sys,
    "a generator": (i for i in range(3)),
    "a set": {1, 2},
    "an object": object(),
    "without length": Unlike(),
    "without array": NoArray(),
    "no list items": [],
    "a list of numbers": [1, 2, 3],
    "a list of None": [None],
    "ragged lists": [[1, 2], [3]],
    "nested lists": [[[1], [2]], [[3], [4]]],
    "lists and dicts": [{"a": 1}, [2]],
    "arrays without dimension": [np.array(1), np.array(2)],
    "empty lists": [[], []],
    "empty dicts": [{}, {}],
    "a dict of dicts": {"a": {"b": 1}, "y": {"b": 2}},
    "a dict of nothing": {"a": None, "y": None},
    "columns and a cell": {"a": [1, 2], "y": 3},
    "unequal columns": {"a": [1, 2], "y": [1]},
    "empty columns": {"a": [], "y": []},
    "half a character as name": {"\ud800": [1, 2], "y": [1, 2]},
    "names alike": {1: [1, 2], "1": [2, 3], "y": [1, 2]},
    "no rows": np.zeros((0, 2)),
    "no columns": np.zeros((2, 0)),
    "0 dimensions": np.array(3),
    "1 dimension": np.arange(3.0),
    "3 dimensions": np.zeros((2, 2, 2)),
    "complex": np.zeros((2, 2), complex),
    "void": np.zeros((2, 2), "V3"),
    "durations": np.zeros((2, 2), "m8[D]"),
    "ragged objects": np.array([[1, 2], [3]], dtype=object),
    "nested objects": np.array([[{}, []], [(), 1]], dtype=object),
    "a nested structure": np.zeros(2, [("a", "f8", (2,)), ("y", "i4")]),
    "pandas: nothing": pd.DataFrame(),
    "pandas: a series": pd.Series([1, 2]),
    "pandas: an index": pd.Index([1, 2]),
    "pandas: names twice": pd.DataFrame([[1, 2], [3, 4]], columns=["y", "y"]),
    "pandas: two-storey names": pd.DataFrame([[1, 2]] * 2, columns=pd.MultiIndex.from_tuples([("a", 1), ("y", 2)])),
    "polars: nothing": pl.DataFrame(),
    "polars: a series": pl.Series([1, 2]),
    "polars: lazy and wrong": pl.LazyFrame({"a": [1, 2]}).select(pl.col("zz")),
    "polars: lazy without file": pl.scan_csv("/no such file.csv"),
    "arrow: nothing": pa.table({}),
    "arrow: an array": pa.array([1, 2]),
    "arrow: names twice": pa.Table.from_arrays([pa.array([1, 2])] * 2, ["y", "y"]),
}

ODD_COLUMNS = {
    "a set": {1, 2},
    "keys": {1: 2, 3: 4}.keys(),
    "a generator": (i for i in range(2)),
    "lists": [[1], [2]],
    "bytes": [b"a", b"b"],
    "complex": [1j, 2],
    "objects": [object(), object()],
    "fractions": [fractions.Fraction(1, 3), fractions.Fraction(2, 3)],
    "decimals": [D("0.1"), D("NaN")],
    "signaling NaN": [D("0.1"), D("sNaN")],
    "huge decimals": [D("Infinity"), D("-1e400")],
    "huge and a fraction": [10**400, 0.5],
    "a number of thousands of digits": [10**5000, 1],
    "times of day": [dt.time(1), dt.time(2)],
    "durations": [dt.timedelta(1), dt.timedelta(2)],
    "the ends of the calendar": [
        dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=5))),
        dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=5))),
    ],
    "uuids": [uuid.UUID(int=1), uuid.UUID(int=2)],
    "enums": [Color.RED, Color.BLUE],
    "half characters": ["\ud800", "b"],
    "NumPy: void": np.zeros(2, "V4"),
    "NumPy: bytes": np.array([b"a", b"b"]),
    "NumPy: complex": np.array([1j, 2]),
    "NumPy: durations": np.array([1, 2], "m8[s]"),
    "NumPy: long": np.array([np.finfo(np.longdouble).max, 2], np.longdouble),
    "NumPy: other end first": np.array([1, 2], ">f8"),
    "NumPy: no unit": np.array(["NaT", "NaT"], "M8"),
    "NumPy: far years": np.array(["2020", "292277026596"], "M8[Y]"),
    "NumPy: attoseconds": np.array([1, 2], "M8[as]"),
    "NumPy: 0 dimensions": np.array(3),
    "NumPy: 2 dimensions": np.zeros((2, 2)),
    "memory": memoryview(b"ab"),
    "an array": array.array("d", [1, 2]),
    "a deque": deque([1, 2]),
    "a pandas table": pd.DataFrame({"b": [1, 2]}),
    "a pandas table, names twice": pd.DataFrame([[1, 2], [3, 4]], columns=["b", "b"]),
    "a polars table": pl.DataFrame({"b": [1, 2]}),
    "an Arrow table": pa.table({"b": [1, 2]}),
    "a lazy table": pl.LazyFrame({"b": [1, 2]}),
    "without length": Unlike(),
    "a type": list,
}

ODD_FRAMES = {
    "pandas: periods": pd.DataFrame(column(pd.period_range("2020", periods=2, freq="M"))),
    "pandas: intervals": pd.DataFrame(column(pd.interval_range(0, 2))),
    "pandas: durations": pd.DataFrame(column(pd.to_timedelta([1, 2]))),
    "pandas: sparse": pd.DataFrame(column(pd.arrays.SparseArray([0, 1]))),
    "pandas: complex": pd.DataFrame(column([1j, 2])),
    "pandas: mixed": pd.DataFrame(column(["a", 1])),
    "pandas: nested": pd.DataFrame(column([[1], [2]])),
    "pandas: bytes": pd.DataFrame(column([b"1", b"2"])),
    "pandas: mixed names": pd.DataFrame([[1, "p"], [3, "q"]], columns=[0, "y"]),
    "pandas: categories of tuples": pd.DataFrame(column(pd.Categorical([(1, 2), (3, 4)]))),
    "pandas: categories alike": pd.DataFrame(column(pd.Categorical([1, "1"]))),
    "pandas: categories of nothing": pd.DataFrame(column(pd.Categorical([None, None], categories=["u"]))),
    "pandas: uint64": pd.DataFrame(column(np.array([2**64 - 1, 1], np.uint64))),
    "pandas Arrow: lists": pandas_arrow(pa.list_(pa.int64()), [[1], [2]]),
    "pandas Arrow: decimals": pandas_arrow(pa.decimal128(5, 2), [D("1.1"), None]),
    "pandas Arrow: durations": pandas_arrow(pa.duration("s"), [1, 2]),
    "pandas Arrow: times of day": pandas_arrow(pa.time32("s"), [1, 2]),
    "pandas Arrow: bytes": pandas_arrow(pa.binary(), [b"1", b"2"]),
    "pandas Arrow: dictionary": pandas_arrow(pa.dictionary(pa.int32(), pa.string()), ["u", "v"]),
    "pandas Arrow: null": pandas_arrow(pa.null(), [None, None]),
    "pandas Arrow: structs": pandas_arrow(pa.struct([("q", pa.int64())]), [{"q": 1}, {"q": 2}]),
    "polars: lists": pl.DataFrame(column([[1], [2]])),
    "polars: structs": pl.DataFrame(column([{"b": 1}, {"b": 2}])),
    "polars: durations": pl.DataFrame(column([dt.timedelta(1)] * 2)),
    "polars: times of day": pl.DataFrame(column([dt.time(1)] * 2)),
    "polars: bytes": pl.DataFrame(column([b"1", b"2"])),
    "polars: null": pl.DataFrame(column([None, None])),
    "polars: 128 bits": pl.DataFrame(column(pl.Series([10**30, 1], dtype=pl.Int128))),
    "polars: objects": pl.DataFrame(column(pl.Series([object(), object()], dtype=pl.Object))),
    "polars: arrays": pl.DataFrame(column(pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2)))),
    "arrow: lists": arrow(None, [[1], [2]]),
    "arrow: durations": arrow(pa.duration("s"), [1, 2]),
    "arrow: times of day": arrow(pa.time32("s"), [1, 2]),
    "arrow: bytes": arrow(None, [b"1", b"2"]),
    "arrow: null": arrow(pa.null(), [None, None]),
    "arrow: wide decimals": arrow(pa.decimal256(50, 2), [D("1.5"), D("2.5")]),
    "arrow: decimals of hundreds": arrow(pa.decimal128(5, -2), [D("100"), D("200")]),
    "arrow: halves": arrow(None, np.array([1, 2], np.float16)),
    "arrow: maps": arrow(pa.map_(pa.string(), pa.int64()), [[("k", 1)], []]),
    "arrow: null in the dictionary": pa.table(column(pa.DictionaryArray.from_arrays([0, 1], pa.array(["x", None])))),
    "arrow: alike in the dictionary": pa.table(column(pa.DictionaryArray.from_arrays([0, 1], pa.array(["x", "x"])))),
    "arrow: runs": pa.table(column(pa.RunEndEncodedArray.from_arrays([1, 2], pa.array([5, 6])))),
    "arrow: views": arrow(pa.string_view(), ["u", "v"]),
}

ALL_ODD = {
    **ODD_TABLES,
    **ODD_FRAMES,
    **{f"column: {name}": column(cells) for name, cells in ODD_COLUMNS.items()},
}


def only_our_words(call):
    """Call, and let nothing through but an answer or one of our sentences."""
    try:
        call()
    except tw.TreewiseError as error:
        check_message(error)


@pytest.mark.parametrize("name", ALL_ODD)
def test_odd_tables_are_read_or_refused_in_our_words(name, monkeypatch):
    data = ALL_ODD[name]
    for call in (
        lambda: tw.grow(data, "y"),
        lambda: tw.grow(data, ["p", "q"]),
        lambda: tw.candidates(data, "y"),
        lambda: TREE.predict(data),
        lambda: TREE.predict_proba(data),
        lambda: TREE.apply(data),
        lambda: TREE.evaluate(data),
        lambda: NUMBERS.evaluate(data),
        lambda: TREE.log_likelihood(data),
        lambda: TREE.trace(data),
        lambda: TREE.refit(data),
        lambda: TREE.split(1, "a <= 1.5", data),
        lambda: tw.read(data).to_polars(),
    ):
        only_our_words(call)


@pytest.mark.parametrize("name", {**ODD_TABLES, **ODD_COLUMNS})
def test_odd_targets_and_weights_are_read_or_refused_in_our_words(name):
    data = {**ODD_TABLES, **ODD_COLUMNS}[name]
    only_our_words(lambda: tw.grow({"a": [1, 2], "b": [3, 4]}, data))
    only_our_words(lambda: tw.grow({"a": [1, 2], "y": [3, 4]}, "y", sample_weight=data))
    only_our_words(lambda: TREE.evaluate({"a": [1, 2], "c": ["u", "v"], "y": ["p", "q"]}, data))


ODD_VALUES = {
    "a number": 3,
    "a negative number": -1,
    "a fraction": 2.5,
    "NaN": math.nan,
    "inf": math.inf,
    "true": True,
    "complex": 1j,
    "complex, though real": 1 + 0j,
    "a huge number": 10**400,
    "a decimal": D("0.5"),
    "text": "nothing",
    "much text": "x" * 5000,
    "two lines": "a\nb",
    "half a character": "\ud800",
    "no text": "",
    "bytes": b"abc",
    "an empty list": [],
    "a list": ["a", "b"],
    "numbers": [1, 2],
    "mixed": [None, 1j, object()],
    "a dict": {"a": 1, "y": 2},
    "a dict of columns": {"a": ["x"], "b": np.array([1, 2])},
    "keys of no kind": {None: 1, (1, 2): "nominal"},
    "a set": {1, 2},
    "an array": np.arange(3.0),
    "an array of text": np.array(["a", "b"]),
    "an array without dimension": np.array(3),
    "a pandas table": pd.DataFrame({"a": [1, 2]}),
    "a pandas series": pd.Series(["a", "b"]),
    "a polars table": pl.DataFrame({"a": [1, 2]}),
    "an object": object(),
    "a type": int,
    "a date": dt.date(2024, 3, 31),
}

PARAMETERS = sorted(set(inspect.signature(tw.grow).parameters) - {"data", "target", "unknown"})


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_odd_values_of_a_parameter_are_refused_by_its_name(parameter):
    data = {"a": [1, 2, 3], "b": ["x", "y", "x"], "y": ["p", "q", "p"]}
    column = {name: f"column|{name}" for name in ("sample_weight", "groups", "time", "exposure")}
    named = {"kinds": "kind|declared levels", **column}.get(parameter, parameter)
    for value in ODD_VALUES.values():
        try:
            tree = tw.grow(data, "y", **{parameter: value})
        except tw.TreewiseError as error:
            check_message(error)
            assert re.search(named, str(error)), error
        else:
            assert loads(dumps(tree)) == tree, "what is accepted can be saved"


@pytest.mark.parametrize("name", ODD_VALUES)
def test_odd_values_in_other_places_are_refused_in_our_words(name):
    value = ODD_VALUES[name]
    data = {"a": [1.0, 2.0, 3.0], "c": ["u", "v", "u"], "y": ["p", "q", "p"]}
    calls = [
        lambda place=place: TREE.trace(data, **{place: value}) for place in ("node", "unit", "per", "column", "top")
    ]
    calls += [
        lambda: tw.grow(data, "y", kinds={"a": value}),
        lambda: tw.grow(data, "y", class_weight={"p": value}),
        lambda: tw.grow(data, "y", priors={"p": value, "q": 0.5}),
        lambda: tw.grow(data, "y", cost={"p": {"q": value}}),
        lambda: tw.grow(data, "y", feature_costs={"a": value}),
        lambda: tw.grow(data, "y", monotone={"a": value}),
        lambda: tw.grow(data, "y", interactions=[value]),
        lambda: TREE.evaluate(data, value),
        lambda: TREE.log_likelihood(data, value),
        lambda: TREE.split(value, "a <= 1", data),
        lambda: tw.entropy(value),
        lambda: tw.gini(value),
        lambda: tw.entropy([1, 2], value),
        lambda: tw.conditional_entropy(value),
        lambda: tw.conditional_entropy([[1, 2]], value),
        lambda: tw.information_gain(value, [[1, 2]]),
        lambda: tw.information_gain([1, 2], value),
        lambda: tw.read(data)[value],
    ]
    for call in calls:
        only_our_words(call)
    if not isinstance(value, int) or value not in range(len(TREE)):
        with pytest.raises((TypeError, IndexError), match=f"nodes? .*0 to {len(TREE) - 1}"):
            TREE[value]


cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.decimals(allow_nan=True),
    st.dates(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
)
columns = st.one_of(*(st.lists(s, max_size=6) for s in (cells, st.floats(), st.text(max_size=3), st.integers())))
things = st.one_of(
    cells,
    columns,
    st.dictionaries(st.text(max_size=3) | st.just("y"), columns, max_size=4),
    st.lists(st.dictionaries(st.sampled_from("axy"), cells, max_size=3), max_size=4),
    st.lists(columns, max_size=4),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(things, things)
def test_whatever_hypothesis_thinks_of_is_read_or_refused_in_our_words(data, target):
    only_our_words(lambda: tw.grow(data, "y").predict(data))
    only_our_words(lambda: tw.grow(data, target))
    only_our_words(lambda: TREE.predict(data))


# -- the words themselves ---------------------------------------------------------------------------------------------

PEOPLE = {"age": [31, 54, 47], "town": ["Rome", "Bari", "Rome"], "ill": ["no", "yes", "yes"]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tw.grow(PEOPLE), "no target is given. Name it: target=…. Columns: age, town, ill."),
        (lambda: tw.grow(PEOPLE, "il"), 'no column "il" in the table. Did you mean "ill"? Columns: age, town, ill.'),
        (lambda: tw.grow(PEOPLE, 3), 'no column "3" in the table. Columns: age, town, ill.'),
        (
            lambda: tw.grow(PEOPLE, 2.5),
            "target=2.5: must be the name of a column, or an array with a value for each row. Columns: age, town, ill.",
        ),
        (
            lambda: tw.grow(PEOPLE, ["no", "yes"]),
            "target has 2 values, the table has 3 rows. They must match.",
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", task="regression"),
            'target "ill" is not a column of numbers ("no" in row 1), so task="regression" does not fit.'
            " Leave task out, or give numbers.",
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", task="classify"),
            'task="classify": must be classification or regression, or None to infer it from the target.'
            ' Did you mean "classification"?',
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", criterion="squared_error"),
            'criterion="squared_error": this criterion is for regression, but target "ill" has 2 classes (no, yes).'
            ' Use criterion="entropy", or task="regression".',
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", positive="Yes"),
            'positive="Yes": target "ill" has the classes no, yes. Did you mean "yes"?',
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", ignore=["twon"]),
            'ignore: no column "twon" in the table. Did you mean "town"? Columns: age, town, ill.',
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", ignore="town"),
            'ignore="town": must be a list of names, ["town"].',
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", columns=["age", "age"]),
            'columns: "age" is named twice. Name each column once.',
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", kinds={"town": "nominl"}),
            'unknown kind "nominl" for column "town". Did you mean "nominal"? Expected one of number, nominal, ordered,'
            " boolean, datetime, subset, multiway, one_value, ordinal, any; or the levels in their order, such as"
            ' kinds={"town": ["low", "high"]}, or a set of them.',
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", kinds={"town": ["Rome"]}),
            'column "town": "Bari" in row 2 is not among the declared levels (Rome). Declare it too, or correct the'
            " cell.",
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", class_weight={"Yes": 2}),
            'class_weight names "Yes"; the classes are no, yes. Did you mean "yes"?',
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", class_weight={"yes": "2"}),
            'class_weight of "yes" is "2": must be a number, 0 or more and finite.',
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", sample_weight=[1, 2]),
            "sample_weight has 2 values, the table has 3 rows. They must match.",
        ),
        (
            lambda: tw.grow(PEOPLE, "ill", random_state=-1),
            "random_state=-1: must be a whole number, from 0 to 18446744073709551615.",
        ),
        (lambda: tw.grow([], "ill"), "the table is an empty list. Give at least one row."),
        (
            lambda: tw.grow({"age": [31, 54], "ill": "no"}, "ill"),
            'column "ill" of the table is a single value ("no"), not a column of values.'
            " Give a list or an array with a value for each row.",
        ),
        (
            lambda: tw.grow({"t": [dt.timedelta(1)] * 2, "y": [1, 2]}, "y"),
            'column "t" holds timedelta values. Trees compare numbers, text, true/false and dates: convert it first,'
            ' or leave it out: ignore=["t"].',
        ),
        (
            lambda: tw.grow(arrow(pa.decimal128(5, -2), [D(100), D(200)]), "y"),
            'column "a" cannot be read: scale must be a positive integer, found -2. Convert it first, or leave it'
            ' out: ignore=["a"].',
        ),
        (
            lambda: NUMBERS.predict({"a": ["one"]}),
            'column "a": the model was grown on numbers, the table holds text ("one" in row 1).',
        ),
        (lambda: TREE.split(9, "a <= 1", PEOPLE), f"no node 9: the tree has nodes 0 to {len(TREE) - 1}."),
        (
            lambda: TREE.trace({"a": [1], "c": ["u"], "y": ["p"]}, node="root"),
            f'a node number must be an integer, 0 to {len(TREE) - 1}, not "root".',
        ),
        (lambda: tw.entropy(["a"]), '["a"]: counts or probabilities must be 0 or more, finite, and not all 0.'),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_words(call, message):
    with pytest.raises(tw.TreewiseError) as caught:
        call()
    assert str(caught.value) == message
    check_message(caught.value)


def test_names_and_cells_cannot_break_a_message():
    name = 'a "b"\n\x1b[31m\u202e\ud7ff'
    for call in (
        lambda: tw.grow({name: ["x", 1], "y": [1, 2]}, "y"),
        lambda: tw.grow({name: [1, 2], "y": [1, 2]}, name + "!"),
        lambda: tw.grow({"x": [1, 2], name: ["p", None]}, name),
        lambda: tw.grow({"x": [1, 2], name: [name, "p"]}, name, positive="?"),
        lambda: tw.grow({"x": [1, 2], name: [name, "p"]}, name, class_weight={"q": 1}),
        lambda: tw.grow({"x": [1, 2], name: [name, "p"]}, name, criterion="poisson"),
        lambda: tw.grow({name: [1.0, None], "y": [1, 2]}, "y", missing="error"),
        lambda: tw.grow({name: [1, 2], "y": [1, 2]}, "y").predict({"x": [1]}),
        lambda: tw.grow({"x": [1, 2], name: [name, "p"]}, name).evaluate({"x": [1], "z": [1]}),
    ):
        assert_refused(call, error=tw.TreewiseError)


# -- the command line -------------------------------------------------------------------------------------------------

ODD_FILES = {
    "nothing": b"",
    "spaces": b" \n \n",
    "a header only": b"x,y\n",
    "binary": bytes(range(256)),
    "latin-1": "x,y\né,1\n".encode("latin-1"),
    "UTF-16": "x,y\n1,2\n".encode("utf-16"),
    "NUL": b"x,y\n1,\0\n",
    "ragged": b"x,y\n1,2\n3\n",
    "too wide": b"x,y\n1,2,3\n",
    "an open quote": b'x,y\n"1,2\n3,4\n',
    "names twice": b"y,y\n1,2\n",
    "no names": b",\n1,2\n",
    "cut gzip": gzip.compress(b"x,y\n1,2\n" * 1000)[:-20],
    "cut Parquet": b"PAR1" + b"\0" * 50,
    "too large": b"x,y\n99999999999999999999,a\n1,b\n",
    "strays": b"x,y\n" + b"".join(b"%d,a\n" % i for i in range(30)) + b"oops,b\n",
    "JSON": b'{"a": [1, 2',
    "deep JSON": b"[" * 5000,
    "a list of nothing": b"[]",
    "numbers": b"[1, 2, 3]",
    "control characters": b"x\x1b[31m,y\n1,\x07\n2,b\n",
    "only carriage returns": b"x,y\r1,a\r2,b\r",
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_odd_files_are_one_sentence_on_the_command_line(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.csv").write_bytes(ODD_FILES[name])
    (tmp_path / "odd.json").write_bytes(ODD_FILES[name])
    (tmp_path / "odd.txt").write_bytes(ODD_FILES[name])
    TREE.save(tmp_path / "good.json")
    for line in (
        "grow odd.csv --target y",
        "grow odd.json --target y",
        "predict good.json odd.csv",
        "predict good.json odd.json",
        "evaluate good.json odd.csv",
        "trace odd.csv --target y",
        "show odd.json",
        "show odd.txt",
        "predict odd.txt good.json",
    ):
        with pytest.raises(SystemExit) as ended:
            main(line.split())
        message = capsys.readouterr().err
        assert ended.value.code in (None, 0, 2, 3, 4), (line, message)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]|Traceback|bug in treewise", message), (line, message)
        if ended.value.code:
            assert [text[:10] for text in message.splitlines() if not text.startswith("note")] == ["treewise: "], (
                message
            )
