"""Inferred column kinds, encoding, and encoding of later tables."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewise.data import encoding as encode
from treewise.data.column import Column
from treewise.data.encoding import INT64_MIN, UNSEEN, Encoding, decode, encode_classes, encode_column, fit_encoding
from treewise.data.table import read
from treewise.errors import DataError, ParameterError


def column(values, name="x", **more) -> Column:
    return read({name: values}, **more)[name]


def kind_of(values, kind=None):
    encoding = fit_encoding(column(values), kind).encoding
    return encoding.kind, encoding.levels


def new(encoding, values):
    return encode_column(encoding, column(values, encoding.name), "new.csv").tolist()


NUMBER = Encoding("x", "number")
TOWN = Encoding("x", "nominal", ("Bari", "Rome"))
GPA = Encoding("x", "nominal", ("3.5", "3.7", "4.0"))
DAY = Encoding("x", "datetime", unit="D")
BOOLEAN = Encoding("x", "boolean", ("false", "true"))
WIDE = Encoding("x", "integer")


# -- learning: what the column itself says -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        ([1, 2], "number", ()),
        ([1.5, None], "number", ()),
        ([2**53, -(2**53)], "number", ()),
        ([2**53 + 1, 0], "integer", ()),
        ([True, None], "boolean", ("false", "true")),
        (["b", "a", None], "nominal", ("a", "b")),
        (["10", "9", "more", "x"], "nominal", ("9", "10", "more", "x")),
        (["1", " 2.5", "1e3"], "number", ()),
        (["9007199254740993", "1"], "integer", ()),
        (["02134", "10001"], "nominal", ("02134", "10001")),
        (["TRUE", "false"], "boolean", ("false", "true")),
        (["TRUE", "FALSE", "NA"], "boolean", ("false", "true")),
        (["true", "false", "maybe"], "nominal", ("false", "maybe", "true")),
        (["2024-03-31", "2024-04-01T10:00"], "datetime", ()),
        (["2024-03-31", "soon"], "nominal", ("2024-03-31", "soon")),
        ([None, None], "number", ()),
        (pl.Series([None, None], dtype=pl.String), "number", ()),
        (["NA", "NA"], "number", ()),
        (pd.Categorical(["b"], ["c", "b"]), "nominal", ("c", "b")),
        (pd.Categorical(["b"], ["c", "b"], ordered=True), "ordered", ("c", "b")),
        (pd.Categorical(["1", "2"]), "nominal", ("1", "2")),
        (pd.Categorical([True, False]), "boolean", ("false", "true")),
        (pl.Series(["b"], dtype=pl.Enum(["c", "b"])), "nominal", ("c", "b")),
    ],
)
def test_kinds_by_themselves(values, kind, levels):
    assert kind_of(values) == (kind, levels)


def test_same_values_same_arrays_whatever_their_type():
    versions = [
        [1, 2, None],
        [1.0, 2.0, float("nan")],
        ["1", "2.0", None],
        pd.array([1, 2, None], "Int64"),
        pd.array([1, 2, None], "Float32"),
        pl.Series([1, 2, None], dtype=pl.UInt8),
    ]
    for kind in (None, "number", "nominal", "ordered"):
        actual = [fit_encoding(column(values), kind) for values in versions]
        assert len({f.encoding for f in actual}) == 1
        wide = [f.values.astype(np.float64) if f.values.dtype == np.float32 else f.values for f in actual]
        assert len({(values.dtype.str, values.tobytes()) for values in wide}) == 1


def test_encoded_arrays():
    assert fit_encoding(column([2**53 + 1, None])).values.tolist() == [2**53 + 1, INT64_MIN]
    assert fit_encoding(column([True, None, False])).values.tolist() == [1, -1, 0]
    assert fit_encoding(column([True])).values.dtype == np.int32
    assert fit_encoding(column(["b", None, "a"])).values.tolist() == [1, -1, 0]
    days = fit_encoding(column([dt.date(1970, 1, 2), None]))
    assert (days.encoding.unit, days.values.tolist()) == ("D", [1, INT64_MIN])
    values = np.array([0.5, np.inf, np.nan])
    assert np.shares_memory(fit_encoding(column(values)).values, values)


# -- learning: text among numbers ----------------------------------------------------------------------------


def test_markers_among_numbers_are_missing_with_a_note():
    learned = fit_encoding(column(["1", "NA", "2.5", "NA", "?"], "los_days"))
    assert np.isnan(learned.values).tolist() == [False, True, False, True, True]
    assert learned.notes == ('los_days: "?", "NA" read as missing in 3 cells (all other cells are numbers)',)


@pytest.mark.parametrize("marker", [*"?.- ", "", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL"])
def test_every_marker(marker):
    learned = fit_encoding(column(["1", "2", marker]))
    assert learned.encoding.kind == "number"
    assert np.isnan(learned.values[2])
    assert learned.notes == (f'x: "{marker}" read as missing in 1 cell (all other cells are numbers)',)


def test_markers_among_dates_are_missing_too():
    learned = fit_encoding(column(["2024-03-31", "NA"]))
    assert learned.values.tolist() == [19813, INT64_MIN]
    assert learned.notes == ('x: "NA" read as missing in 1 cell (all other cells are dates)',)


def test_markers_among_booleans_are_missing_too():
    learned = fit_encoding(column(["TRUE", "NA", "FALSE", "NA"]))
    assert learned.values.tolist() == [1, -1, 0, -1]
    assert learned.notes == ('x: "NA" read as missing in 2 cells (all other cells are true/false)',)


def test_notes_name_the_column():
    (note,) = fit_encoding(column(range(30), "visit no")).notes
    assert note.endswith('ignore=["visit no"]')
    with pytest.raises(DataError, match=r'kinds=\{"\(ca\)": "nominal"\}'):
        fit_encoding(column([*"123456789", "x"], "(ca)"))


def test_a_little_text_among_numbers_is_refused_with_the_ways_out():
    cells = [str(i % 150) for i in range(9988)]
    for row in range(40, 40 + 12):
        cells.insert(row, "n/d")
    with pytest.raises(DataError) as caught:
        fit_encoding(column(cells, "bp"))
    assert str(caught.value) == (
        'column "bp": 9,988 numbers and 12 cells that are not, first "n/d" in row 41.'
        ' If that means missing: na_values=["n/d"].'
        ' If bp is a code: kinds={"bp": "nominal"}.'
    )
    assert fit_encoding(column(cells, "bp", na_values=["n/d"])).encoding.kind == "number"
    assert fit_encoding(column(cells, "bp"), "nominal").encoding.levels[-1] == "n/d"


def test_the_share_of_numbers_decides():
    with pytest.raises(DataError, match='9 numbers and 1 cell that is not, "x" in row 10'):
        fit_encoding(column([*"123456789", "x"]))
    assert kind_of([*"12345678", "x", "y"])[0] == "nominal"
    with pytest.raises(DataError, match="9 numbers and 1 cell"):
        fit_encoding(column([*"123456789", "x", "NA", "NA", "NA"]))
    assert kind_of(["01", *"12345678", "V10"])[0] == "nominal"


def test_a_question_mark_among_words_is_a_level_with_a_note():
    learned = fit_encoding(column(["?", "b", "?"], "root"))
    assert learned.encoding.levels == ("?", "b")
    assert learned.notes == (
        'root: "?" in 2 cells is taken as a category of its own. If it means missing: na_values=["?"]',
    )
    assert fit_encoding(column(["NA", "b", "b"])).notes == ()


# -- learning: what the user says ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([4.0, 3.7, 3.5], "nominal", ("nominal", ("3.5", "3.7", "4.0"))),
        ([10, 9], "nominal", ("nominal", ("9", "10"))),
        (["3.70", "4"], "nominal", ("nominal", ("3.7", "4.0"))),
        (["02134", "9"], "nominal", ("nominal", ("9", "02134"))),
        ([True, False], "nominal", ("nominal", ("false", "true"))),
        (["True", "False"], "nominal", ("nominal", ("false", "true"))),
        ([dt.date(2024, 3, 31)], "nominal", ("nominal", ("2024-03-31",))),
        (["1", "0"], "boolean", ("boolean", ("false", "true"))),
        ([1.0, 0.0], "boolean", ("boolean", ("false", "true"))),
        (["007", "8"], "number", ("number", ())),
        (pd.Categorical(["1", "2"]), "number", ("number", ())),
        (pd.Categorical(["2024-03-31 10:00"]), "datetime", ("datetime", ())),
        ([1, 2], "multiway", ("nominal", ("1", "2"))),
        ([True], "subset", ("boolean", ("false", "true"))),
        (pd.Categorical(["b"], ["c", "b"], ordered=True), "any", ("ordered", ("c", "b"))),
        ([1, 2], "ordinal", ("ordered", ("1", "2"))),
        (["S", "L"], ["S", "M", "L"], ("ordered", ("S", "M", "L"))),
        (["S", "L"], {"S", "M", "L"}, ("nominal", ("L", "M", "S"))),
        ([4.0, 3.5], ["4", "3.5"], ("ordered", ("4", "3.5"))),
        ([4, 3], [3, 4], ("ordered", ("3", "4"))),
        ([True], [True, False], ("ordered", ("true", "false"))),
    ],
)
def test_kinds_as_declared(values, kind, expected):
    assert kind_of(values, kind) == expected


def test_declared_levels_encode_in_their_order():
    assert fit_encoding(column(["S", None, "L"]), ["S", "M", "L"]).values.tolist() == [0, -1, 2]
    assert fit_encoding(column([4.0, 3.5, 4.0]), ["4", "3.5"]).values.tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", ["multiway", "one_value", "ordinal", "subset", "any"])
def test_split_kinds_are_passed_on(kind):
    assert fit_encoding(column(["a", "b"]), kind).split_kind == kind
    assert fit_encoding(column(["a", "b"]), "nominal").split_kind is None


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (
            ["free", "dear"],
            ["free", "cheap"],
            '"dear" in row 2 is not among the declared levels (free, cheap)',
        ),
        ([1, 2], {"a", "b"}, 'column "x": 1 in row 1 is not among the declared levels (a, b)'),
        ([1, 2], ["1"], 'column "x": 2 in row 2 is not among'),
        (["1", "54y"], "number", 'cannot be read as numbers: row 2 holds "54y". If that means missing'),
        ([dt.date(2024, 3, 31)], "number", "cannot be read as numbers: row 1 holds 2024-03-31."),
        ([0, 1, 2], "boolean", "cannot be read as true/false or 0/1: row 3 holds 2."),
        (["true", "maybe"], "boolean", 'row 2 holds "maybe"'),
        (["2024-03-31", "31/3/2024"], "datetime", "(written as 2024-03-31 or 2024-03-31 14:30:00): row 2"),
        ([5], "datetime", "row 1 holds 5"),
        ([-(2**63)], None, "-9223372036854775808 in row 1 is the one whole number that cannot be told"),
    ],
)
def test_cells_that_contradict_are_named(values, kind, message):
    with pytest.raises(DataError) as caught:
        fit_encoding(column(values), kind)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nominl", 'Did you mean "nominal"?'),
        ([], "no levels"),
        (["a", "a"], "a level is given twice"),
        ("integer", "unknown kind"),
    ],
)
def test_kinds_that_are_none(kind, message):
    with pytest.raises(ParameterError) as caught:
        fit_encoding(column(["a"]), kind)
    assert message in str(caught.value)


def test_an_inferred_order_is_reported():
    (note,) = fit_encoding(column(["low", "high", "mid"]), "ordered").notes
    assert note.startswith("x: ordered alphabetically, high < low < mid. Another order:")
    assert fit_encoding(column([1, 2, 3]), "ordered").notes == ()


# -- suspicious columns --------------------------------------------------------------------------------------


def test_nearly_unique_columns_get_a_note():
    note = 'visit_no: 30 different values in 30 rows; a tree can memorise it. Leave it out: ignore=["visit_no"]'
    for values in (list(range(30)), [float(i) for i in range(30)]):
        assert fit_encoding(column(values, "visit_no")).notes == (note,)
    texts = note.replace("30 different values in 30 rows", "30 levels in 30 rows, each of them once")
    assert fit_encoding(column([f"p{i}" for i in range(30)], "visit_no")).notes == (texts,)
    assert fit_encoding(column([2**60 + i for i in range(30)])).notes


@pytest.mark.parametrize(
    "values",
    [
        list(range(19)),
        [i + 0.5 for i in range(30)],
        [*range(27), 0, 1, 2],
        [*range(27), None, None, None],
        [i % 5 for i in range(100)],
        [dt.date(2024, 1, 1) + dt.timedelta(i) for i in range(30)],
        [float("inf"), *range(29)],
    ],
)
def test_columns_above_suspicion(values):
    assert fit_encoding(column(values)).notes == ()


# -- later columns -------------------------------------------------------------------------------------------


def test_numbers_may_come_as_text_or_booleans():
    assert new(NUMBER, ["1", " 2.5 ", "007"]) == [1.0, 2.5, 7.0]
    assert np.isnan(new(NUMBER, ["1", "NA"])[1])
    assert new(NUMBER, [True, False]) == [1.0, 0.0]
    assert new(NUMBER, pd.Categorical(["2", "1"], ["x", "1", "2"])) == [2.0, 1.0]
    assert new(NUMBER, [2**64]) == [2.0**64]


def test_levels_by_text_then_by_value_then_never_seen():
    assert new(TOWN, ["Rome", None, "Paris", "Bari"]) == [1, -1, UNSEEN, 0]
    assert new(GPA, [4, 3.7, 2, None]) == [2, 1, UNSEEN, -1]
    assert new(GPA, [4, 3]) == [2, UNSEEN]
    assert new(GPA, ["3.70", "4", "NA", "high"]) == [1, 2, -1, UNSEEN]
    assert new(TOWN, ["NA"]) == [UNSEEN]
    assert new(Encoding("x", "ordered", ("02134", "10001")), [2134, 10001]) == [0, 1]
    assert new(Encoding("x", "nominal", ("1", "more")), [1, 2]) == [0, UNSEEN]
    assert new(TOWN, pd.Categorical(["Rome"], ["Oslo", "Rome"])) == [1]
    assert new(Encoding("x", "nominal", (str(2**60), str(2**60 + 1))), [2**60 + 1]) == [1]


def test_levels_that_are_booleans_or_dates():
    assert new(Encoding("x", "nominal", ("FALSE", "TRUE", "unknown")), [True, None, False]) == [1, -1, 0]
    assert new(Encoding("x", "nominal", ("0", "1")), [True, False]) == [1, 0]
    assert new(Encoding("x", "nominal", ("false", "true")), ["True"]) == [1]
    days = Encoding("x", "nominal", ("2024-03-31", "2024-04-01 10:00:00"))
    assert new(days, [dt.datetime(2024, 4, 1, 10), dt.datetime(2024, 3, 31)]) == [1, 0]
    assert new(days, ["2024-04-01T10:00", "2024-03-31 00:00:00", "2024-03-30"]) == [1, 0, UNSEEN]


def test_booleans():
    assert new(BOOLEAN, [True, None, False]) == [1, -1, 0]
    assert new(BOOLEAN, [1, 0]) == [1, 0]
    assert new(BOOLEAN, [1.0, np.nan, 0.0]) == [1, -1, 0]
    assert new(BOOLEAN, ["TRUE", "false", "1", "NA"]) == [1, 0, 1, -1]


def test_wide_integers_round_up_and_keep_their_ends():
    assert new(WIDE, [2**53 + 1, None]) == [2**53 + 1, INT64_MIN]
    assert new(WIDE, [1.1, -1.9, np.nan]) == [2, -1, INT64_MIN]
    assert new(WIDE, [np.inf, -np.inf]) == [2**63 - 1, INT64_MIN + 1]
    assert new(WIDE, ["9007199254740993"]) == [9007199254740993]
    assert new(WIDE, [-(2**63), 0]) == [INT64_MIN + 1, 0]


def test_datetimes_change_units_exactly():
    assert new(DAY, [dt.datetime(1969, 12, 31, 23), None]) == [-1, INT64_MIN]
    assert new(DAY, ["1970-01-02T23:59:59.999", "NA"]) == [1, INT64_MIN]
    seconds = Encoding("x", "datetime", unit="s")
    assert new(seconds, [dt.date(1970, 1, 2)]) == [86400]
    assert new(Encoding("x", "datetime", unit="ns"), [dt.date(9999, 12, 31)])[0] > 9 * 10**18


@pytest.mark.parametrize("encoding", [NUMBER, TOWN, DAY, BOOLEAN, WIDE])
@pytest.mark.parametrize("values", [[None, None], [np.nan, np.nan], pl.Series([None, None], dtype=pl.String)])
def test_a_column_of_nothing_fits_anything(encoding, values):
    actual = encode_column(encoding, column(values), "new.csv")
    assert encode.is_missing(encoding, actual).all()
    assert decode(encoding, actual) == [None, None]


@pytest.mark.parametrize(
    ("encoding", "values", "message"),
    [
        (NUMBER, ["54y"], 'grown on numbers, new.csv holds text ("54y" in row 1).'),
        (
            NUMBER,
            [None, dt.date(2024, 3, 31)],
            "grown on numbers, new.csv holds dates (2024-03-31 in row 2).",
        ),
        (WIDE, ["1", "x"], 'grown on numbers, new.csv holds text ("x" in row 2).'),
        (NUMBER, pd.Categorical(["a"]), 'grown on numbers, new.csv holds categories ("a" in row 1).'),
        (TOWN, [3.5], "grown on categories (Bari, Rome), new.csv holds numbers (3.5 in row 1)."),
        (DAY, [5], "grown on dates, new.csv holds numbers (5 in row 1)."),
        (DAY, ["2024-03-31", "soon"], 'grown on dates, new.csv holds text ("soon" in row 2).'),
        (BOOLEAN, [1, 2], "grown on true/false, new.csv holds numbers (2 in row 2)."),
        (BOOLEAN, ["true", "yes"], 'grown on true/false, new.csv holds text ("yes" in row 2).'),
        (BOOLEAN, [dt.date(2024, 3, 31)], "grown on true/false, new.csv holds dates"),
    ],
)
def test_what_does_not_fit_is_reported_in_one_sentence(encoding, values, message):
    with pytest.raises(DataError) as caught:
        new(encoding, values)
    assert str(caught.value).startswith('column "x": the model was ' + message)


# -- rounding never moves a row across a cut -----------------------------------------------------------------

wide = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(wide, min_size=1, max_size=5), st.floats(allow_nan=False))
def test_whole_numbers_stay_on_their_side_of_a_double(values, cut):
    actual = encode_column(NUMBER, column(values), "new.csv")
    assert [v <= cut for v in actual.tolist()] == [v <= cut for v in values]


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=5), st.integers(-(2**63) + 1, 2**63 - 2))
def test_doubles_stay_on_their_side_of_a_whole_number(values, cut):
    actual = encode_column(WIDE, column(values), "new.csv")
    assert [v <= cut for v in actual.tolist()] == [v <= cut for v in values]


@given(st.lists(st.datetimes(), min_size=1, max_size=5), st.datetimes(), st.sampled_from(["D", "s", "ms", "us"]))
def test_a_moment_counts_by_the_day_or_second_in_which_it_falls(values, cut, unit):
    whole = np.datetime64(cut, unit)
    actual = encode_column(Encoding("x", "datetime", unit=unit), column(values), "new.csv")
    assert [v <= int(whole.astype(np.int64)) for v in actual.tolist()] == [
        np.datetime64(v, "us") < whole + np.timedelta64(1, unit) for v in values
    ]


@given(st.data())
def test_a_training_column_is_applied_as_it_was_learned(data):
    cells = data.draw(
        st.sampled_from(
            [
                st.integers(-(2**62), 2**62),
                st.floats(allow_nan=False),
                st.booleans(),
                st.text("ab1.", min_size=1),
                st.dates(),
            ]
        )
    )
    made = column(data.draw(st.lists(st.none() | cells, min_size=1, max_size=8)))
    kind = data.draw(st.sampled_from([None, "nominal", "any"]))
    try:
        learned = fit_encoding(made, kind)
    except DataError:
        return
    assert encode_column(learned.encoding, made, "same.csv").tobytes() == learned.values.tobytes()


# -- the way back, the target --------------------------------------------------------------------------------


def test_decode():
    assert decode(NUMBER, np.array([1.5, np.nan])) == [1.5, None]
    assert decode(WIDE, np.array([2**60, INT64_MIN])) == [2**60, None]
    assert decode(DAY, np.array([1])) == [1]
    assert decode(BOOLEAN, np.array([1, 0, -1])) == ["true", "false", None]
    assert decode(TOWN, np.array([0, UNSEEN])) == ["Bari", "(never seen)"]


@pytest.mark.parametrize(
    ("values", "numeric", "labels"),
    [
        (["b", "a"], False, ("a", "b")),
        (["10", "9"], True, (9, 10)),
        (["1", "2", "3+"], False, ("1", "2", "3+")),
        (["01", "2"], False, ("01", "2")),
        (["true", "false"], False, ("false", "true")),
        ([True, False], False, (False, True)),
        ([1.0, 0.0], True, (0, 1)),
        ([1.5, 0.0], True, (0.0, 1.5)),
        ([2**60, 1], True, (1, 2**60)),
        (pd.Categorical(["b", "a"], ["c", "b", "a"]), False, ("b", "a")),
        ([dt.date(2024, 3, 31)], False, ("2024-03-31",)),
    ],
)
def test_classes(values, numeric, labels):
    made = column(values)
    actual = encode_classes(made)
    assert (actual[0], actual[2]) == (numeric, labels)
    assert [type(label) for label in actual[2]] == [type(label) for label in labels]
    assert len(actual[1]) == len(made)


def test_a_target_with_unclear_cells_is_refused():
    with pytest.raises(DataError, match=r'target "y" is "NA" in row 2.*na_values=\["NA"\]'):
        encode_classes(column(["1", "NA"], "y"))
    with pytest.raises(DataError, match='99 numbers and 1 cell that is not, "x" in row 100'):
        encode_classes(column([*map(str, range(99)), "x"], "y"))


def test_numbers():
    assert encode.encode_numbers(column(["1", "2.5"])).tolist() == [1.0, 2.5]
    with pytest.raises(DataError, match='column "w" cannot be read as numbers: row 2 holds "heavy"'):
        encode.encode_numbers(column(["1", "heavy"], "w"))


def test_values_are_reported_in_words():
    assert DAY.format(19813) == "2024-03-31"
    assert Encoding("x", "datetime", unit="s").format(1711843201) == "2024-03-31 00:00:01"
    assert NUMBER.format(42.0) == "42"
    assert TOWN.format("a\nb") == "a\\nb"
