"""Prediction of single rows gives the same results and errors as prediction of tables."""

import copy
import datetime as dt
import pickle
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from treewise.predict.single_row import RowPredictor

ROWS = 400
RNG = np.random.default_rng(5)
DAYS = np.datetime64("2024-01-01") + RNG.integers(0, 300, ROWS)
DATA = {
    "number": np.where(RNG.random(ROWS) < 0.1, np.nan, RNG.normal(size=ROWS).round(1)),
    "count": RNG.integers(0, 5, ROWS),
    "large": 2**60 + RNG.integers(0, 9, ROWS),
    "town": RNG.choice(np.array(["Bari", "Rome", "4", "NA", None], object), ROWS),
    "size": pd.Categorical.from_codes(RNG.integers(0, 3, ROWS), ["S", "M", "L"], ordered=True),
    "flag": RNG.random(ROWS) < 0.5,
    "day": DAYS,
    "unused": np.zeros(ROWS),
}
SCORE = (
    np.nan_to_num(DATA["number"])
    + DATA["count"] % 2
    + (DATA["large"] % 3)
    + (DATA["town"] == "Rome")
    + DATA["size"].codes
    + DATA["flag"]
    + (DAYS - np.datetime64("2024-01-01")).astype(int) / 200
)
CLASSES = np.array(["low", "middle", "high"])[np.digitize(SCORE, [2.5, 4.5])]
NUMBERS = {name: DATA[name] for name in ("number", "count", "unused")}

TREES = {
    "subset": tw.grow(DATA, CLASSES, max_depth=9),
    "multiway": tw.grow(DATA, CLASSES, categorical="multiway", max_depth=7),
    "any": tw.grow(DATA, CLASSES, categorical="any", missing="branch"),
    "regression": tw.grow(DATA, SCORE, max_depth=8),
    "numbers": tw.grow(NUMBERS, CLASSES),
    "no missing": tw.grow({n: v for n, v in NUMBERS.items() if n != "number"}, CLASSES, missing="error"),
    "markers": tw.grow(DATA, CLASSES, na_values=["Rome", "3"], max_depth=4),
    "one leaf": tw.grow(DATA, CLASSES, max_depth=0),
    "by hand": tw.parse("town = Rome -> 1\ntown = Bari\n  number <= 0.5 -> 0\n  number > 0.5 -> 1"),
}

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.floats(-2, 2).map(lambda v: round(v, 1)),
    st.integers(-3, 9),
    st.integers(2**60 - 2, 2**60 + 10),
    st.sampled_from([2**53, -(2**53), 2**63 - 1, -(2**63), 2**64, 10**400, -(2**63) + 1]),
    st.sampled_from(["Bari", "Rome", "4", "NA", "Oslo", " Rome ", "S", "M", "L", "XL", "true", "False"]),
    st.sampled_from(["0.5", "", "?", "\0", "2024-05-01", "2024-05-01T10:00", "\ud800", "3"]),
    st.sampled_from([
        np.float64(0.3), np.float32(0.1), np.float16(0.5), np.longdouble(1), np.int64(3), np.int8(2), np.uint64(2**63),
        np.bool_(True), np.str_("Rome"), np.float64("nan"), np.datetime64("2024-03-03"), np.datetime64("NaT", "s"),
        np.int64(-(2**63)), dt.date(2024, 5, 1), dt.datetime(2024, 5, 1, 12), pd.NA, pd.NaT,
        pd.Timestamp("2024-05-01"), Decimal("0.5"), Decimal("NaN"), b"Rome", 1j, ..., [1], {"a": 1}, (), {1},
        np.zeros(1),
    ]),
)  # fmt: skip
NAMES = [*DATA, "other", "Town", 3, "\ud800", "y"]


def usual(name):
    return st.sampled_from(list(DATA[name])[:40])


ROWS_AS_DICTS = st.one_of(
    st.fixed_dictionaries({name: st.one_of(usual(name), CELLS) for name in DATA}),
    st.fixed_dictionaries({name: usual(name) for name in DATA}, optional={"other": CELLS, 3: CELLS, "\ud800": CELLS}),
    st.dictionaries(st.sampled_from(NAMES), CELLS, max_size=9),
    st.fixed_dictionaries({}, optional={name: usual(name) for name in DATA}),
)


def outcome(call):
    try:
        actual = call()
    except Exception as error:
        return type(error), str(error)
    return type(actual), actual.tolist() if isinstance(actual, np.ndarray) else actual


def table_only(tree):
    """The same tree, whose predictor for single rows knows nothing."""
    plain = copy.copy(tree)
    plain.predictor.is_enabled = False
    return plain


PLAIN = {name: table_only(tree) for name, tree in TREES.items()}


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(list(TREES)), ROWS_AS_DICTS)
def test_dicts_are_answered_as_tables_are(name, row):
    tree, plain = TREES[name], PLAIN[name]
    assert outcome(lambda: tree.predict(row)) == outcome(lambda: plain.predict(row))
    assert outcome(lambda: tree.apply(row)) == outcome(lambda: plain.apply(row))
    if tree.task == "classification":
        assert outcome(lambda: tree.predict_proba(row)) == outcome(lambda: plain.predict_proba(row))


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(list(TREES)), st.data())
def test_lists_are_answered_as_tables_are(name, data):
    tree, plain = TREES[name], PLAIN[name]
    width = len(tree.columns)
    cells = [st.one_of(usual(column), CELLS) if column in DATA else CELLS for column in tree.columns]
    row = data.draw(st.one_of(st.tuples(*cells), st.tuples(*cells).map(list), st.lists(CELLS, max_size=width + 1)))
    assert outcome(lambda: tree.predict(row)) == outcome(lambda: plain.predict(row))
    assert outcome(lambda: tree.apply(row)) == outcome(lambda: plain.apply(row))


@pytest.mark.parametrize("name", ["subset", "multiway", "any", "regression", "numbers", "no missing"])
def test_usual_rows_take_the_shorter_way_to_the_same_node(name):
    tree = TREES[name]
    frame = pd.DataFrame({column: DATA[column] for column in tree.columns})
    nodes = tree.apply(frame)
    short = 0
    for i, node in enumerate(nodes.tolist()):
        row = {column: plain_cell(DATA[column][i]) for column in tree.columns}
        assert tree.apply(row) == node
        assert tree.apply(list(row.values())) == node
        row.pop("day", None)
        short += RowPredictor(tree).leaf({**row, "day": None}) is not None
    assert short > 0.9 * ROWS


def plain_cell(value):
    return value.item() if isinstance(value, np.generic) else value


def test_a_series_is_a_row():
    tree = TREES["numbers"]
    frame = pd.DataFrame(NUMBERS)
    assert [tree.predict(frame.iloc[i]) for i in range(20)] == tree.predict(frame)[:20].tolist()


def test_the_predictor_is_made_once_shared_by_threads_and_never_pickled():
    tree = tw.grow(NUMBERS, CLASSES)
    rows = pd.DataFrame(NUMBERS).to_dict("records")
    expected = PLAIN["numbers"].predict(NUMBERS).tolist()
    actual = {}

    def run(i):
        actual[i] = [tree.predict(row) for row in rows]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(answers == expected for answers in actual.values())
    assert tree.predictor is tree.predictor
    size = len(pickle.dumps(tw.grow(NUMBERS, CLASSES)))
    assert abs(len(pickle.dumps(tree)) - size) < 100
    assert pickle.loads(pickle.dumps(tree)).predict(rows[0]) == expected[0]
    assert tree == tw.grow(NUMBERS, CLASSES)
