"""Prediction: columns by name in any order, one row or many, and clear errors."""

import numpy as np
import polars as pl
import pytest

import treewise as tw
from treewise.data.encoding import decode
from treewise.evaluate import paths


@pytest.fixture(scope="module")
def penguins():
    return tw.grow("penguins", max_depth=4)


def test_a_table_and_its_rows_one_by_one_agree(penguins):
    table = tw.datasets.penguins()
    rows = table.to_polars().to_dicts()
    assert [penguins.predict(row) for row in rows] == penguins.predict(table).tolist()
    assert [penguins.apply(row) for row in rows] == penguins.apply(table).tolist()
    np.testing.assert_array_equal([penguins.predict_proba(row) for row in rows], penguins.predict_proba(table))


def test_columns_are_found_by_name_and_extra_ones_ignored(penguins):
    frame = tw.datasets.penguins().to_pandas()
    expected = penguins.predict(frame)
    turned = frame[frame.columns[::-1]].assign(extra=1)
    assert (penguins.predict(turned) == expected).all()
    assert (penguins.predict(pl.from_pandas(turned)) == expected).all()


def test_only_the_columns_the_tree_asks_about_are_needed():
    tree = tw.grow("admissions", preset="id3")
    assert tree.predict({"GPA": 4.0, "University": "top10", "Published": "no"}) == "P"
    with pytest.raises(tw.ColumnError, match='the row has no column "Published", which node 2 tests'):
        tree.predict({"GPA": 3.7, "University": "top10"})


def test_a_list_is_a_row_in_column_order():
    tree = tw.grow("admissions", preset="id3")
    assert tree.predict(["3.7", "top20", "no", "good"]) == "P"
    with pytest.raises(tw.DataError, match="the row has 2 values; the tree was given 4 columns"):
        tree.predict(["3.7", "top20"])


def test_an_array_without_names_goes_by_position():
    data = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 6.0]])
    tree = tw.grow(data, ["a", "b", "b"])
    assert tree.columns == ("x1", "x2")
    assert tree.predict(data).tolist() == ["a", "b", "b"]


def test_a_wrong_kind_is_reported(penguins):
    frame = tw.datasets.penguins().to_pandas().head(1).assign(flipper_length_mm=["wide"])
    with pytest.raises(
        tw.DataError, match=r'column "flipper_length_mm": the model was grown on numbers.*"wide" in row 1'
    ):
        penguins.predict(frame)


def test_never_seen_categories_take_the_documented_way():
    data = {"x": ["a", "a", "b", "c", "c", "c"], "y": ["p", "p", "q", "q", "q", "q"]}
    assert tw.grow(data, "y", categorical="subset").predict({"x": "new"}) == "q"
    multiway = tw.grow(data, "y", categorical="multiway")
    assert multiway.apply({"x": "new"}) == 0, "no branch for it: the node answers"
    assert multiway.predict({"x": "new"}) == "q"
    declared = tw.grow({**data}, "y", categorical="multiway", kinds={"x": {"a", "b", "c", "d"}})
    assert declared[declared.apply({"x": "d"})].stop == "no_rows"
    assert declared.apply({"x": "new"}) == declared.apply({"x": "d"})
    ordinal = tw.grow(data, "y", kinds={"x": ["a", "b", "c"]})
    assert ordinal.apply({"x": "new"}) == ordinal.apply({"x": None})


def test_a_hand_written_tree_has_no_answer_for_what_it_does_not_name():
    tree = tw.parse("GPA = 4.0 -> P\nGPA = 3.5 -> N")
    assert tree.predict({"GPA": "4.0"}) == "P"
    with pytest.raises(tw.DataError, match='the row stops at node 0, which has no branch for its "GPA"'):
        tree.predict({"GPA": "2.0"})


def test_probabilities_are_for_classes():
    with pytest.raises(tw.DataError, match="predicts numbers"):
        tw.grow({"x": [1, 2], "y": [0.5, 1.5]}, "y").predict_proba({"x": 1})


def test_classes_come_back_as_they_were():
    assert tw.grow({"x": [1, 2], "y": [True, False]}, "y").predict({"x": 1}) is True
    assert tw.grow({"x": [1, 2], "y": [3, 4]}, "y").predict({"x": [1, 2]}).tolist() == [3, 4]


def test_decode_is_the_way_back():
    tree = tw.grow("penguins", max_depth=0)
    for encoding in tree.encodings:
        column = tw.datasets.penguins()[encoding.name]
        from treewise.data import encoding as encode

        values = encode.encode_column(encoding, column, "penguins")
        assert [v is None for v in decode(encoding, values)] == column.is_missing().tolist()


def test_log_likelihood_of_a_contradicted_leaf_is_minus_infinity():
    tree = tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y")
    assert tree.log_likelihood({"x": [1, 2], "y": ["a", "b"]}) == 0.0
    assert tree.log_likelihood({"x": [1, 2], "y": ["b", "b"]}) == -np.inf
    with pytest.raises(tw.DataError, match='is "z" in row 2, a class the tree does not know'):
        tree.log_likelihood({"x": [1, 2], "y": ["a", "z"]})


@pytest.mark.parametrize("markers", [["-9"], -9, iter(["-9"])], ids=["list", "number", "iterator"])
def test_what_meant_missing_in_training_means_missing_for_ever(markers):
    data = {"x": ["-9", "1", "2", "3"], "y": ["a", "b", "b", "b"]}
    tree = tw.grow(data, "y", na_values=markers)
    assert tree.predict({"x": "-9"}) == tree.predict({"x": None}) == "a"
    assert tree.predict({"x": ["-9", "2"]}).tolist() == ["a", "b"]
    assert tree.evaluate(data).errors == 0


def test_log_likelihood_refuses_a_missing_class():
    tree = tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y")
    with pytest.raises(tw.DataError, match="missing in row 2"):
        tree.log_likelihood({"x": [1, 2], "y": ["a", None]})


def test_a_row_of_a_dataframe_is_a_single_row():
    penguins = tw.datasets.penguins()
    tree, frame = tw.grow(penguins, max_leaf_nodes=4), penguins.to_pandas()
    row = frame.iloc[3]
    assert row.isna().any()
    assert tree.predict(row) == tree.predict(frame)[3] == tree.predict(penguins.to_polars().row(3, named=True))
    assert tree.apply(row) == tree.apply(frame)[3]
    assert tree.predict_proba(row).tolist() == tree.predict_proba(frame)[3].tolist()
    with pytest.raises(tw.ColumnError, match='the row has no column "flipper_length_mm", which node 0 tests'):
        tree.predict(row.drop("flipper_length_mm"))
    for column in (frame["island"], penguins.to_polars()["island"]):
        with pytest.raises(tw.DataError, match=r"A row is df\.iloc\[3\] in pandas, df\.row\(3, named=True\) in polars"):
            tree.predict(column)


@pytest.mark.parametrize("empty_branch", ["parent", "root"])
def test_a_row_that_stays_at_a_node_is_answered_by_it_or_by_the_root(empty_branch):
    data = {"x": [0, 0, 0, 1, 1, 1, 1, 1], "c": list("aabaabbb"), "y": list("nnpppppp"), "z": [1.5] * 3 + [8.5] * 5}
    options = {"columns": ["x", "c"], "categorical": "multiway", "empty_branch": empty_branch}
    tree = tw.grow(data, "y", **options)
    row = {"x": 0, "c": "never seen"}
    rows = {"x": [0, 0], "c": ["never seen", "a"], "y": ["p", "n"]}
    speaker = 0 if empty_branch == "root" else 1
    assert tree.apply(row) == 1
    assert tree.predict(row) == tree[speaker].prediction == ("p" if speaker == 0 else "n")
    assert tree.predict_proba(row).tolist() == tree.probabilities(speaker).tolist()
    assert tree.log_likelihood(rows) == pytest.approx(np.log(tree.probabilities(speaker)[1]))
    assert tree.evaluate(rows).accuracy == (1.0 if speaker == 0 else 0.5)
    assert paths(tree, rows)[0].prediction == tree[speaker].prediction
    fitted = tw.TreeClassifier(categorical="multiway", empty_branch=empty_branch)
    fitted.fit([[str(x), c] for x, c in zip(data["x"], data["c"], strict=True)], data["y"])
    assert fitted.predict([["0", "new"]])[0] == tree[speaker].prediction


@pytest.mark.parametrize("missing", ["learn", "branch"])
@pytest.mark.parametrize("narrow", [(), ("a",), ("a", "b", "c")])
@pytest.mark.parametrize("order", ["C", "F"])
def test_many_rows_take_the_branches_their_splits_say(missing, narrow, order):
    rng = np.random.default_rng(7)
    cells = np.asarray(rng.normal(size=(400, 4)), order=order)
    cells[rng.random(cells.shape) < 0.1] = np.nan
    data = dict(zip("abcd", cells.T, strict=True))
    tree = tw.grow({**data, "y": rng.integers(0, 3, 400)}, "y", missing=missing)
    cuts = [node.split.cut for node in tree if isinstance(node.split, tw.Threshold)]
    beside = np.concatenate([np.float32(cuts), np.nextafter(np.float32(cuts), np.float32(9)), cuts, [np.inf, -np.inf]])
    cells[::2] = rng.choice(beside, cells[::2].shape)
    table = {name: data[name].astype(np.float32) if name in narrow else data[name] for name in data}

    def ends(row):
        node = 0
        while split := tree[node].split:
            value = float(table[split.column][row])
            known = None if np.isnan(value) else value
            node = tree[node].children[split.branch(known, tree.encoding_of(split.column))]
        return node

    assert tree.apply(table).tolist() == [ends(row) for row in range(400)]


def test_labels_that_end_in_nul_stay_apart():
    table = {"x": [1, 2, 3, 4], "y": ["a\0", "a\0", "a", "a"]}
    tree = tw.grow(table, "y")
    for model in (tree, tw.forest(table, "y", n_estimators=9, random_state=0, max_features=None)):
        assert model.predict(table).tolist() == table["y"]
        assert model.predict({"x": 1}) == "a\0"
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    for y in (table["y"], np.array(table["y"], object)):
        assert tw.TreeClassifier().fit(X, y).predict(X).tolist() == table["y"]
        assert tw.ForestClassifier(n_estimators=9, random_state=0).fit(X, y).predict(X).tolist() == table["y"]
