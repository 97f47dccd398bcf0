"""Shortcuts for large columns give the same results as the general code."""

import enum
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from treewise._lib.interruptible import MIN_ROWS_FOR_THREAD
from treewise._lib.worker_thread import any_worker_alive
from treewise.data import encoding as encode
from treewise.data import objects
from treewise.data.encoding import is_continuous, unique_inverse
from treewise.data.table import read
from treewise.train.fixed_point import scale_weights

N = MIN_ROWS_FOR_THREAD + 5000


class Colour(str, enum.Enum):  # noqa: UP042 (str() of a StrEnum would be its text anyway)
    RED = "red"


def text(cells):
    column = read({"x": cells})["x"]
    return [None if code < 0 else column.labels[code] for code in column.values.tolist()], column.labels


@pytest.mark.parametrize("form", [pl.Series, lambda cells: pd.Series(cells, dtype=object), lambda cells: cells])
@pytest.mark.parametrize("rare", [None, "zz", "a"], ids=["usual", "a rare label", "a rare first label"])
@pytest.mark.parametrize("gone", [False, True])
def test_text_is_read_alike_whatever_a_sample_of_it_shows(form, rare, gone):
    cells = [f"level {i * 7 % 37}" for i in range(N)]
    if rare:
        cells[N - 3] = rare
    if gone:
        cells[5] = cells[N - 1] = None
    found, labels = text(form(cells))
    assert found == cells
    assert list(labels) == sorted({cell for cell in cells if cell is not None})


def test_text_with_more_labels_than_a_sample_shows():
    cells = [f"key {i * 7919 % N}" for i in range(N)]
    assert text(pl.Series(cells)) == (cells, tuple(sorted(cells)))
    assert text(pl.Series(cells).cast(pl.Categorical)) == (cells, tuple(sorted(cells)))


@pytest.mark.parametrize("many", [10, N])
@pytest.mark.parametrize("absent", [None, np.nan, pd.NA, pd.NaT], ids=repr)
def test_objects_are_read_alike_however_many(many, absent):
    cells = np.array(["a", "b", absent, np.str_("c"), Colour.RED] * (many // 5), dtype=object)
    expected = ["a", "b", None, "c", "red"] * (many // 5)
    for data in (cells, cells.tolist(), pd.Series(cells, dtype=object)):
        assert text(data)[0] == expected


@pytest.mark.parametrize("stray", [3, True, b"a"], ids=repr)
def test_what_is_no_text_is_found_among_many(stray):
    cells = np.array(["a"] * N, dtype=object)
    cells[N - 1] = stray
    with pytest.raises(tw.DataError, match=rf'column "x" .*{N:,}'):
        read({"x": cells})["x"]
    cells[N - 1] = "\ud800"
    with pytest.raises(tw.DataError, match="Unicode"):
        read({"x": cells})["x"]


ARRAYS = st.lists(
    st.one_of(st.integers(-5, 5), st.integers(-(2**62), 2**62), st.floats(allow_nan=False)), min_size=1, max_size=30
)


@settings(deadline=None)
@given(ARRAYS, st.sampled_from([np.int64, np.float64, np.float32, np.int16, np.uint8]))
def test_distinct_is_numpys_unique(cells, dtype):
    with np.errstate(all="ignore"):
        values = np.array(cells, object).astype(np.float64).astype(dtype)
    present, place = unique_inverse(values)
    wanted, where = np.unique(values, return_inverse=True)
    assert present.dtype == wanted.dtype
    assert place.dtype == np.int64
    assert present.tolist() == wanted.tolist()
    assert place.tolist() == where.tolist()


@settings(deadline=None)
@given(st.lists(st.one_of(st.integers(-30, 30), st.floats(-5, 5)), min_size=1, max_size=60))
def test_a_quantity_is_never_taken_for_classes_or_the_other_way_round(cells):
    column = read({"y": np.array(cells, float)})["y"]
    _, _, labels = encode.encode_classes(column)
    classes = len(labels) <= 20 and all(float(v).is_integer() for v in labels)
    assert not (is_continuous(column) and classes)
    assert (tw.grow({"x": np.arange(len(cells)), "y": cells}, "y").task == "classification") == classes


@settings(deadline=None)
@given(st.lists(st.one_of(st.integers(1, 9), st.floats(1e-3, 1e3), st.just(2.0**52)), min_size=1, max_size=20))
def test_weights_are_scaled_by_their_sum_alone(cells):
    weight = np.array(cells, float)
    scaled, scale = scale_weights(weight)
    again, same = scale_weights(weight[::-1])
    assert (scaled.tolist(), scale) == (again[::-1].tolist(), same)
    assert int(scaled.sum()) < 2**53 + len(cells)
    if all(float(c).is_integer() for c in cells) and sum(cells) < 2**53:
        assert (scaled.tolist(), scale) == ([int(c) for c in cells], 0)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_a_key_is_noted_among_many_rows_and_only_a_key(dtype):
    rng = np.random.default_rng(0)
    key = rng.permutation(N)
    holes = np.where(np.arange(N) % 1000 == 0, 0, key)  # a pattern that every thousandth row would fall for
    data = {"key": key.astype(dtype), "holes": holes.astype(dtype), "few": (key % 50).astype(dtype), "half": key // 2}
    notes = tw.grow({**data, "wide": key + 0.5, "y": key % 2}, "y", max_depth=1).notes
    noted = [note for note in notes if "can memorise it" in note]
    assert [note.split(":")[0] for note in noted] == ["key", "holes"]
    assert f"{N:,} different values" in noted[0]


def test_a_column_of_almost_nothing_is_read():
    x = np.full(N, np.nan)
    x[-1] = 4.5
    learned = encode.fit_encoding(read({"x": x})["x"])
    assert (learned.encoding.kind, learned.values[-1]) == ("number", 4.5)


def test_labels_that_do_not_occur_are_found_missing_behind_the_first_rows():
    values = pd.Categorical(["a"] * N + ["b"], categories=["a", "b", "c"])
    column = read({"x": values})["x"]
    assert column.drop_unused_labels().labels == ("a", "b")


def test_columns_are_converted_in_threads_and_report_what_is_wrong_in_order(monkeypatch):
    seen = set()
    convert = objects._codes_from_sample

    def spy(series):
        seen.add(threading.get_ident())
        return convert(series)

    monkeypatch.setattr(objects, "_codes_from_sample", spy)
    frame = pl.DataFrame({f"c{j}": [f"v{(i + j) % 9}" for i in range(N)] for j in range(6)})
    y = np.arange(N) % 2
    tree = tw.grow(frame, y, max_depth=2)
    assert seen
    assert threading.get_ident() not in seen
    assert list(tree.columns) == frame.columns
    odd = frame.with_columns(pl.lit([1]).alias("c2"), pl.lit([2]).alias("c4"))
    with pytest.raises(tw.DataError, match='"c2"'):
        tw.grow(odd, y)
    assert not any_worker_alive()


def test_whole_numbers_of_any_width_give_one_tree():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 100, (500, 3))
    y = (x[:, 0] + x[:, 1] > 90).astype(int)
    expected = tw.grow(x.astype(float), y)
    for dtype in (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, ">i4"):
        for order in "CF":
            tree = tw.grow(np.array(x, dtype, order=order), y)
            assert tree == expected
            assert tree.predict(np.array(x, dtype, order=order)).tolist() == expected.predict(x.astype(float)).tolist()


def test_a_column_of_very_many_categories_is_traced_and_said_in_short():
    """Its candidates are listed in time that grows with the categories, not with their square, and fit on a line."""
    n = 3_000
    data = {"x": [f"key {i}" for i in range(n)], "y": [i % 10 < 5 for i in range(n)]}
    tree = tw.grow(data, "y", max_depth=1, min_level_rows=1)
    trace = tree.trace(data)
    assert trace[0]["x"].tried == n - 1
    assert max(map(len, str(trace).splitlines())) < 300
    assert tree.condition(1).endswith(f", +{n // 2 - 10}}}")
    one = tw.candidates(data, "y", categorical="one_value", min_level_rows=1)["x"]
    assert one.tried == n
