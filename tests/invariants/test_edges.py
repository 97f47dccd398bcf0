"""Extreme values are handled correctly or rejected with a message that names the place and a remedy.

One test a row of an edge-value table on which the peers we measured are silently wrong 5 to 11 times
(float32 inside, overflowing midpoints, clipped values, columns by position). "Right" means: training accuracy 1.0 where
the values, as given, separate the classes. Odd things at every entrance are in ``invariants/test_odd_input.py``.
"""

import math
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import treewise as tw
from tests.support.errors import assert_refused
from treewise.formats.model_file.model_file import dumps, loads

TIMES = 20  # each value so often, as in the table of the peers
EDGES = {}


def edge(name):
    """Put a check into the table."""

    def put(check):
        EDGES[name] = check
        return check

    return put


def holders(x, y):
    """Hold the same two columns in each kind of table; an object a library cannot hold is left out."""
    yield {"x": x, "y": y}
    yield pd.DataFrame({"x": x, "y": y})
    yield pl.DataFrame({"x": x, "y": y})
    yield pa.table({"x": x, "y": y})


def separated(values, dtype=None):
    """Grow on each value many times, neighbours of different classes: every row must be told right, and from a file."""
    x = np.array(values * TIMES, dtype)
    y = [("a", "b")[i % 2] for i in range(len(values))] * TIMES
    trees = []
    for data in holders(x, y):
        tree = tw.grow(data, "y")
        assert tree.predict(data).tolist() == y
        assert tree.n_leaves == len(values)
        for node in tree:
            if node.split is not None:
                assert not math.isnan(node.split.cut)
        assert loads(dumps(tree)).predict(data).tolist() == y
        trees.append(dumps(tree))
    assert len(set(trees)) == 1


# -- the table --------------------------------------------------------------------------------------------------------


@edge("±inf")
def _():
    separated([-math.inf, 0.0, math.inf])
    separated([-math.inf, -sys.float_info.max])
    separated([sys.float_info.max, math.inf])
    separated([-math.inf, math.inf])


@edge("±1e308 and ±1.7e308, whose midpoint overflows")
def _():
    separated([-1.7e308, -1e308, 1e308, 1.7e308])


@edge("1e39, past float32")
def _():
    separated([1e39, 2e39, 3e39])


@edge("±3.3e38, where a float32 midpoint overflows")
def _():
    separated([-3.3e38, -3.2e38, 3.2e38, 3.3e38])
    separated([-3.3e38, -3.2e38, 3.2e38, 3.3e38], np.float32)


@edge("3 adjacent float64")
def _():
    for start in (1.0, 0.1, -7.3, 1e300, 2.0**52):
        middle = math.nextafter(start, math.inf)
        separated([start, middle, math.nextafter(middle, math.inf)])


@edge("3 adjacent float32")
def _():
    one = np.float32(1)
    middle = np.nextafter(one, np.float32(2))
    separated([one, middle, np.nextafter(middle, np.float32(2))], np.float32)


@edge("2^53, 2^53+1, 2^53+2")
def _():
    separated([2**53, 2**53 + 1, 2**53 + 2])
    separated([-(2**53) - 2, -(2**53) - 1, -(2**53)])
    separated([2**63 - 3, 2**63 - 2, 2**63 - 1])
    separated([-(2**63) + 1, -(2**63) + 2, 0, 2**63 - 1])


@edge("ids from 2^24")
def _():
    separated([2**24, 2**24 + 1, 2**24 + 2])
    separated([2**24, 2**24 + 1, 2**24 + 2], np.uint32)


@edge("unix seconds a minute apart")
def _():
    separated([1_700_000_000, 1_700_000_060, 1_700_000_120])


@edge("denormal float64")
def _():
    separated([-1e-323, -5e-324, 5e-324, 1e-323, 1.5e-323])


@edge("1e-40 to 3e-40")
def _():
    separated([1e-40, 2e-40, 3e-40])


@edge("-0.0 and 0.0 are one value")
def _():
    tree = tw.grow({"x": [-0.0, 0.0, 1.0] * TIMES, "y": ["a", "a", "b"] * TIMES}, "y")
    assert tree.apply({"x": [-0.0]}) == tree.apply({"x": [0.0]})
    assert dumps(tree) == dumps(tw.grow({"x": [0.0, -0.0, 1.0] * TIMES, "y": ["a", "a", "b"] * TIMES}, "y"))
    assert tw.grow({"x": [-0.0, 0.0] * TIMES, "y": ["a", "b"] * TIMES}, "y").n_leaves == 1
    at_zero = tw.grow({"x": [-5e-324, 0.0], "y": ["a", "b"]}, "y")
    assert at_zero.predict({"x": [-0.0, 0.0, -5e-324]}).tolist() == ["b", "b", "a"]


@edge("0.0 and 1e-7")
def _():
    separated([0.0, 1e-7])


@edge("one column all NaN")
def _():
    x, y = [1.0, 2.0] * TIMES, ["a", "b"] * TIMES
    plain = tw.grow({"x": x, "y": y}, "y")
    for nothing in (np.full(len(x), np.nan), [None] * len(x), pl.Series([None] * len(x))):
        tree = tw.grow({"void": nothing, "x": x, "y": y}, "y")
        assert tree.predict({"void": nothing, "x": x}).tolist() == y
        assert [n.split for n in tree] == [n.split for n in plain]


@edge("only column all NaN")
def _():
    tree = tw.grow({"x": np.full(3, np.nan), "y": ["a", "b", "b"]}, "y")
    assert (tree[0].stop, tree.predict({"x": [math.nan, 1.0]}).tolist()) == ("no_candidate", ["b", "b"])


@edge("1 row")
def _():
    tree = tw.grow({"x": [1.0], "y": ["a"]}, "y")
    assert (tree.n_leaves, tree.predict({"x": [5.0]}).tolist()) == (1, ["a"])
    assert tree.predict_proba({"x": [5.0]}).tolist() == [[1.0]]
    assert tw.grow({"x": [1.0], "y": [2.5]}, "y").predict({"x": 7}) == 2.5


@edge("0 rows")
def _():
    for data in (
        {"x": [], "y": []},
        pd.DataFrame({"x": [], "y": []}),
        pl.DataFrame({"x": [], "y": []}),
        np.zeros((0, 2)),
    ):
        assert_refused(lambda data=data: tw.grow(data, "y"), "but no rows. Give at least one row.")
    tree = tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y")
    assert_refused(lambda: tree.predict({"x": []}), "but no rows")


@edge("0 columns")
def _():
    for data in ({}, pd.DataFrame(index=[1, 2]), pl.DataFrame(), np.zeros((2, 0))):
        assert_refused(lambda data=data: tw.grow(data, ["a", "b"]), "the table has no columns. Give at least one.")
    alone = tw.grow({"y": ["a", "b", "b"]}, "y")
    assert (alone[0].stop, alone.predict({"z": [1]}).tolist()) == ("no_candidate", ["b"])


@edge("1 class")
def _():
    tree = tw.grow({"x": [1, 2, 3], "y": ["a"] * 3}, "y")
    assert (tree[0].stop, tree.predict({"x": [9]}).tolist()) == ("pure", ["a"])
    assert tree.predict_proba({"x": [9, None]}).tolist() == [[1.0], [1.0]]
    assert tree.evaluate({"x": [1, 2], "y": ["a", "b"]}).errors == 1


@edge("bool column")
def _():
    y = ["a", "b"] * TIMES
    for data in holders(np.array([True, False] * TIMES), y):
        tree = tw.grow(data, "y")
        assert tree.encodings[0].kind == "boolean"
        assert tree.predict(data).tolist() == y


@edge("datetime64 column")
def _():
    moments = np.array(["2024-03-31T00:00:00.000000000", "2024-03-31T00:00:00.000000001"], "M8[ns]")
    y = ["a", "b"] * TIMES
    for data in holders(np.tile(moments, TIMES), y):
        tree = tw.grow(data, "y")
        assert (tree.encodings[0].kind, tree.encodings[0].unit) == ("datetime", "ns")
        assert tree.predict(data).tolist() == y


@edge("object column 'a', 1, None")
def _():
    for cells in (["a", 1, None], np.array(["a", 1, None], object), pd.Series(["a", 1, None], dtype=object)):
        assert_refused(
            lambda cells=cells: tw.grow({"x": cells, "y": [1, 2, 1]}, "y"),
            'column "x" mixes text ("a" in row 1) and numbers (1 in row 2)',
            "Make all its values one or the other first",
        )


@edge("string column")
def _():
    y = ["a", "b", "a"] * TIMES
    for data in holders(["x", "y", "z"] * TIMES, y):
        assert tw.grow(data, "y").predict(data).tolist() == y


@edge("pandas category")
def _():
    y = ["a", "b", "a"] * TIMES
    cells = pd.Categorical(["u", "v", "w"] * TIMES, categories=["w", "v", "unused", "u"])
    for data in (pd.DataFrame({"x": cells, "y": y}), pd.DataFrame({"x": cells.as_ordered(), "y": y})):
        assert tw.grow(data, "y").predict(data).tolist() == y


@edge("duplicate column names")
def _():
    twice = pd.DataFrame([[1, 2, "a"], [3, 4, "b"]], columns=["x", "x", "y"])
    assert_refused(lambda: tw.grow(twice, "y"), "more than one column is named x. Rename them.")
    assert_refused(lambda: tw.grow(pa.Table.from_pandas(twice[["y"]]).append_column("y", [[1, 2]]), "y"), "is named y")
    assert_refused(lambda: tw.read([{"1": 1, 1: 2}]), "more than one column is named 1")
    tree = tw.grow(pd.DataFrame({"x": [1, 2], "y": ["a", "b"]}), "y")
    assert_refused(lambda: tree.predict(twice), "more than one column is named x")


@edge("columns swapped at prediction")
def _():
    data = {"u": [1.0, 2.0, 3.0, 4.0], "v": [4.0, 1.0, 3.0, 2.0], "y": ["a", "b", "b", "a"]}
    tree = tw.grow(data, "y")
    for hold in (dict, pd.DataFrame, pl.DataFrame, pa.table):
        swapped = hold({"v": data["v"], "extra": ["?"] * 4, "u": data["u"]})
        assert tree.predict(swapped).tolist() == data["y"]


@edge("a column missing at prediction")
def _():
    tree = tw.grow({"used": [1, 2, 3], "unused": [7, 7, 7], "y": ["a", "b", "b"]}, "y")
    assert tree.predict({"used": [1, 3]}).tolist() == ["a", "b"], "what the tree never asks for is not needed"
    assert_refused(
        lambda: tree.predict(pd.DataFrame({"usd": [1], "unused": [7]})),
        'the table has no column "used", which node 0 tests. Did you mean "usd"?',
        error=tw.ColumnError,
    )


@edge("all weights 0")
def _():
    assert_refused(
        lambda: tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y", sample_weight=[0, 0]),
        "no row has a target and a positive weight",
        "Give some rows a weight above 0.",
    )
    assert_refused(
        lambda: tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y", class_weight={"a": 0, "b": 0}),
        "no row has a positive weight",
    )


@edge("negative weights")
def _():
    assert_refused(
        lambda: tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y", sample_weight=[1, -1]),
        "sample_weight is negative in row 2 (-1)",
        "0 or more",
    )


@edge("NaN weight")
def _():
    for nothing in (math.nan, None):
        assert_refused(
            lambda nothing=nothing: tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y", sample_weight=[1.0, nothing]),
            "sample_weight is missing in row 2",
        )
    assert_refused(
        lambda: tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y", sample_weight=[math.inf, 1]),
        "sample_weight is infinite in row 1",
    )


@edge("weights 1e308")
def _():
    x, y = [1.0, 2.0, 3.0] * TIMES, ["a", "b", "a"] * TIMES
    plain = tw.grow({"x": x, "y": y}, "y")
    for weight in (1e308 / len(x), 1e-308, 5e-324):
        for classes in (None, "balanced"):
            tree = tw.grow({"x": x, "y": y}, "y", sample_weight=[weight] * len(x), class_weight=classes)
            assert tree.predict({"x": x}).tolist() == y
            assert [n.split for n in tree] == [n.split for n in plain]
            assert tree.predict_proba({"x": x}).max(axis=1).tolist() == [1.0] * len(x)
    assert_refused(
        lambda: tw.grow({"x": x, "y": y}, "y", sample_weight=[1e308] * len(x)),
        "the sum of the weights overflows. Scale them down",
    )
    assert_refused(
        lambda: tw.grow({"x": x, "y": y}, "y", sample_weight=[1e300] * len(x), class_weight={"b": 1e10}),
        "sample_weight times class_weight overflows in row 2",
    )


@edge("unseen category at prediction")
def _():
    data = {"x": ["u", "u", "v", "w", "w", "w"], "y": ["a", "a", "b", "b", "b", "b"]}
    assert tw.grow(data, "y").predict({"x": ["new", None]}).tolist() == ["b", "b"], "the other, heavier branch"
    multiway = tw.grow(data, "y", categorical="multiway")
    assert multiway.apply({"x": ["new"]}).tolist() == [0], "no branch for it: the node itself answers"
    frame = pd.DataFrame({"x": pd.Categorical(["new", "u"], categories=["new", "u", "other"])})
    assert multiway.predict(frame).tolist() == ["b", "a"]
    ordered = tw.grow(data, "y", kinds={"x": ["u", "v", "w"]})
    assert ordered.apply({"x": "new"}) == ordered.apply({"x": None}), "no place in the order: with the missing ones"


@edge("NaN in y")
def _():
    for y in ([0.5, math.nan, 1.5], ["a", None, "b"], pd.Series([1, None, 2], dtype="Int64")):
        assert_refused(
            lambda y=y: tw.grow({"x": [1, 2, 3], "y": y}, "y"),
            'target "y" is missing in 1 row (2)',
            "drop_missing_target=True",
        )
        assert tw.grow({"x": [1, 2, 3], "y": y}, "y", drop_missing_target=True)[0].rows == 2
    assert_refused(lambda: tw.grow({"x": [1, 2], "y": [0.5, math.inf]}, "y"), 'target "y" is inf in row 2')
    assert_refused(
        lambda: tw.grow({"x": [1, 2], "y": [None, None]}, "y", drop_missing_target=True), "no row has a target"
    )


@pytest.mark.parametrize("check", EDGES.values(), ids=EDGES)
def test_edge(check):
    check()


def test_the_table_is_whole():
    assert len(EDGES) == 33


# -- further edges ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize(
    "y",
    [[-1.7e308, 0.0, 1.7e308], [5e-324, 1e-323, 1.5e-323], [1.0, math.nextafter(1.0, 2), 2.0], [1e-300, 1.0, 1e300]],
    ids=["huge", "denormal", "adjacent", "wide"],
)
def test_targets_at_the_edges_are_predicted_to_the_bit(y, criterion):
    x = [1.0, 2.0, 3.0]
    tree = tw.grow({"x": x, "y": y}, "y", task="regression", criterion=criterion)
    assert tree.predict({"x": x}).tolist() == y
    assert not np.isnan(tree.arrays.impurity).any()
    assert not np.isnan(tree.arrays.gain).any()
    assert loads(dumps(tree)) == tree


def test_whole_numbers_past_64_bits_are_asked_about():
    for values in ([2**63, 1], np.array([2**64 - 1, 1], np.uint64), ["18446744073709551615", "1"], [10**30, 1]):
        assert_refused(
            lambda values=values: tw.grow({"id": values, "y": ["a", "b"]}, "y"),
            'column "id"',
            "exceeds 2^63 - 1",
            'kinds={"id": "nominal"}',
            'ignore=["id"]',
        )
        tree = tw.grow({"id": values, "y": ["a", "b"]}, "y", kinds={"id": "nominal"})
        assert tree.predict({"id": values}).tolist() == ["a", "b"]
    assert_refused(
        lambda: tw.grow({"id": [10**5000, 1], "y": ["a", "b"]}, "y"), 'column "id"', "row 1", "thousands of digits"
    )
    wide = {"id": [-(2**63), 2**60], "y": ["a", "b"]}
    assert_refused(lambda: tw.grow(wide, "y"), 'column "id"', "row 1", "cannot be told from missing")


def test_a_target_given_beside_its_own_column_is_that_column():
    frame = pd.DataFrame({"x": [1, 2, 3], "y": ["a", "b", "a"]})
    assert tw.grow(frame, frame["y"]) == tw.grow(frame, "y")
    other = tw.grow(frame, pd.Series(["p", "q", "q"], name="y"))
    assert (other.columns, other.target.name) == (("x", "y"), "target"), "another y: nothing is left out in silence"
    assert tw.grow(frame, ["p", "q", "q"]).target.name == "target"


def test_the_largest_limits_are_no_limits():
    most = sys.maxsize
    assert tw.grow("admissions", max_depth=most, max_leaf_nodes=most) == tw.grow("admissions", max_leaf_nodes=99)
    assert tw.grow("admissions", min_samples_leaf=most)[0].stop == "min_samples_leaf"
    assert tw.grow("admissions", min_samples_split=most)[0].stop == "min_samples_split"
    assert_refused(
        lambda: tw.grow("admissions", max_depth=most + 1), "max_depth=", "None for no limit", error=tw.ParameterError
    )


def test_numbers_of_numpy_are_as_good_as_pythons():
    options = {"max_depth": np.int8(2), "min_samples_leaf": np.float32(0.25), "sufficient_accuracy": np.float64(0.9)}
    same = {"max_depth": 2, "min_samples_leaf": 0.25, "sufficient_accuracy": 0.9}
    weights = {np.str_("N"): np.float32(2), "P": np.int64(1)}
    tree = tw.grow("admissions", **options, class_weight=weights)
    assert dumps(tree) == dumps(tw.grow("admissions", **same, class_weight={"N": 2, "P": 1}))
    assert dumps(loads(dumps(tree)).refit("admissions")) == dumps(tree.refit("admissions"))


def test_class_weights_survive_a_file_whatever_the_classes_are():
    for classes in ([True, False], [1, 2], [0.5, 1.5], ["x", "y"]):
        data = {"x": [1, 2, 3, 4], "y": classes * 2}
        tree = tw.grow(data, "y", task="classification", class_weight={classes[0]: 3})
        assert loads(dumps(tree)).refit(data) == tree.refit(data)
