"""Evaluation and paths, against scikit-learn, manual computation and definitions."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import treewise as tw
from tests.support.handmade_trees import OFFICIALS
from treewise.evaluate import ClassificationEvaluation, RegressionEvaluation, evaluate
from treewise.evaluate.paths import LONGEST, paths
from treewise.predict.confidence_intervals import wilson


@pytest.fixture(scope="module")
def penguins():
    return tw.grow("penguins", max_leaf_nodes=4)


# -- classes ---------------------------------------------------------------------------------------------


def test_penguins_figures_follow_from_the_tree(penguins):
    evaluation = penguins.evaluate("penguins")
    assert isinstance(evaluation, ClassificationEvaluation)
    assert (evaluation.n, evaluation.errors, evaluation.classes) == (344, 13, ("Adelie", "Chinstrap", "Gentoo"))
    assert evaluation.confusion.tolist() == [[145, 7, 0], [5, 63, 0], [0, 1, 123]]
    assert evaluation.baseline_error == pytest.approx(192 / 344)
    assert evaluation.majority == "Adelie"
    assert evaluation.log_loss == pytest.approx(-penguins.log_likelihood("penguins", estimate="laplace") / 344)
    assert (evaluation.estimate, evaluation.log_loss_estimate) == ("maximum_likelihood", "laplace")
    assert evaluation.impossible_rows == ()


def test_log_loss_is_scikit_learns(penguins):
    evaluation = penguins.evaluate("penguins")
    table = tw.datasets.penguins()
    truth = [table["species"].labels[code] for code in table["species"].values]
    assert evaluation.log_loss == pytest.approx(
        metrics.log_loss(truth, penguins.predict_proba(table, estimate="laplace"))
    )
    counted = penguins.evaluate("penguins", estimate="maximum_likelihood")
    assert counted.log_loss == pytest.approx(metrics.log_loss(truth, penguins.predict_proba(table)))


def test_log_loss_is_finite_unless_it_is_asked_as_counted():
    table = {"x": [0, 1, 1, 0], "y": ["a", "b", "b", "a"]}
    new = {"x": [0, 1, 1], "y": ["a", "b", "a"]}
    plain = tw.grow(table, "y").evaluate(new)
    assert plain.log_loss == pytest.approx(-(2 * math.log(3 / 4) + math.log(1 / 4)) / 3)
    assert plain.errors == tw.grow(table, "y").evaluate(new, estimate="maximum_likelihood").errors == 1
    for unit in (8.0, 0.125):  # only proportions of weights matter
        weighted = tw.grow(table, "y", sample_weight=[unit] * 4).evaluate(new)
        assert weighted.log_loss == pytest.approx(plain.log_loss)


def test_log_loss_of_a_certain_wrong_answer_is_infinite_and_names_the_row():
    tree = tw.grow({"x": [0, 1], "y": ["a", "b"]}, "y")
    evaluation = tree.evaluate({"x": [0, 1, 1], "y": ["a", "b", "a"]}, estimate="maximum_likelihood")
    assert evaluation.log_loss == math.inf
    assert evaluation.impossible_rows == (3,)
    assert evaluation.log_loss_of_others == 0
    assert "infinite: the class of row 3 was given probability 0 (0.0000 nats on the other 2)" in str(evaluation)
    assert evaluation.to_dict()["log_loss"] is None


def test_labels_the_tree_does_not_know_are_errors_and_named():
    tree = tw.grow({"x": [0, 1], "y": ["a", "b"]}, "y")
    evaluation = tree.evaluate({"x": [0, 1, 0], "y": ["a", "new", "new"]})
    assert (evaluation.errors, evaluation.labels, evaluation.unknown) == (2, ("a", "b", "new"), {"new": 2})
    assert '"new" in 2 rows: not a class of the tree, so wrong' in str(evaluation)


def test_classes_are_the_same_in_other_clothes():
    tree = tw.grow({"x": [0, 1, 2], "y": [1, 2, 3]}, "y", task="classification")
    assert tree.evaluate({"x": [0, 1, 2], "y": ["1", "2", "3"]}).errors == 0
    assert tree.evaluate({"x": [0, 1, 2], "y": [1.0, 2.0, 3.0]}).errors == 0
    truth = tw.grow({"x": [0, 1], "y": ["false", "true"]}, "y")
    assert truth.evaluate({"x": [0, 1], "y": [False, True]}).errors == 0


def test_missing_answers_are_refused_by_row_or_dropped(penguins):
    table = tw.datasets.penguins().to_pandas()
    table.loc[[3, 9], "species"] = None
    with pytest.raises(tw.DataError, match=r'"species" is missing in 2 rows of the table \(4, 10\)'):
        penguins.evaluate(table)
    assert evaluate(penguins, table, drop_missing_target=True).n == 342
    table["species"] = None
    with pytest.raises(tw.DataError, match="nothing to compare with"):
        evaluate(penguins, table, drop_missing_target=True)


def test_rows_keep_their_numbers_when_others_are_dropped():
    tree = tw.grow({"x": [0, 1], "y": ["a", "b"]}, "y")
    options = {"drop_missing_target": True, "estimate": "maximum_likelihood"}
    evaluation = evaluate(tree, {"x": [0, 1, 1], "y": [None, "b", "a"]}, **options)
    assert evaluation.impossible_rows == (3,)


def test_the_training_table_is_recognised(penguins):
    assert penguins.evaluate("penguins").is_training_data
    assert not penguins.evaluate(tw.datasets.penguins().head(300)).is_training_data
    assert not tw.parse(OFFICIALS).evaluate("admissions").is_training_data


def test_no_answer_column(penguins):
    with pytest.raises(tw.ColumnError, match='no column "species"'):
        penguins.evaluate(tw.datasets.penguins().drop(["species"]))


def test_printed_block(penguins):
    lines = str(penguins.evaluate("penguins")).splitlines()
    assert lines[0] == "error        3.8 %   13 of 344 rows wrong; training range 2.2 to 6.4 % (Wilson)"
    assert lines[1] == 'baseline    55.8 %   always "Adelie", the majority where the tree was grown'
    assert lines[3] == "note       this looks like the table the tree was grown on; expect more errors on new rows"
    assert lines[5].split() == ["true", "\\", "predicted", "Adelie", "Chinstrap", "Gentoo", "right", "%"]
    assert lines[9].split() == ["right", "%", "96.7", "88.7", "100.0", "96.2"]
    assert lines[-1].split() == ["mean", "95.1", "95.7", "92.2", "to", "97.4", "95.4", "0.9831"]


def test_many_classes_list_their_largest_confusions():
    rows = {"x": [*range(12), 5], "y": [*map(str, range(12)), "7"]}
    tree = tw.grow({"x": list(range(12)), "y": list(map(str, range(12)))}, "y", task="classification")
    text = str(tree.evaluate(rows))
    assert "most frequent confusions of 12 classes" in text
    assert "\n7 taken for 5  1\n" in text
    assert "lowest F1 of 12 classes" in text
    assert "\nnothing is confused\n" in str(tree.evaluate({"x": [0], "y": ["0"]}))


def test_to_dict_is_json(penguins):
    parsed = json.loads(json.dumps(penguins.evaluate("penguins").to_dict(), allow_nan=False))
    assert parsed["error_interval"] == pytest.approx([0.022216, 0.063574], abs=1e-6)
    assert parsed["confusion"][0] == [145, 7, 0]


@given(st.integers(0, 60), st.integers(1, 60))
def test_wilson_solves_its_equation(errors, n):
    errors = min(errors, n)
    z, p = 1.959963984540054, errors / n
    low, high = wilson(errors, n)
    assert 0 <= low <= p <= high <= 1
    for bound in (low, high):  # |p - bound| is z standard deviations of the bound
        assert abs(p - bound) == pytest.approx(z * math.sqrt(bound * (1 - bound) / n), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=30), st.data())
def test_confusion_counts_every_row_once(rows, data):
    x, y = map(list, zip(*rows, strict=True))
    tree = tw.grow({"x": x, "y": y}, "y", max_depth=data.draw(st.integers(0, 3)))
    evaluation = tree.evaluate({"x": x, "y": y})
    message = tree.predict({"x": x}).tolist()
    assert evaluation.confusion.sum() == evaluation.n == len(rows)
    assert evaluation.errors == sum(a != b for a, b in zip(message, y, strict=True))
    assert evaluation.impossible_rows == ()  # the tree has seen every row
    assert evaluation.log_loss == pytest.approx(-tree.log_likelihood({"x": x, "y": y}, estimate="laplace") / len(rows))


# -- numbers ---------------------------------------------------------------------------------------------


def test_numbers_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=200), rng.normal(size=200)
    tree = tw.grow({"x": x, "y": y}, "y", max_depth=3)
    new_x, new_y = rng.normal(size=50), rng.normal(size=50)
    evaluation = tree.evaluate({"x": new_x, "y": new_y})
    message = tree.predict({"x": new_x})
    assert isinstance(evaluation, RegressionEvaluation)
    assert evaluation.rmse == pytest.approx(metrics.root_mean_squared_error(new_y, message))
    assert evaluation.mae == pytest.approx(metrics.mean_absolute_error(new_y, message))
    assert evaluation.r2 == pytest.approx(metrics.r2_score(new_y, message))
    assert evaluation.root == pytest.approx(y.mean())
    assert evaluation.baseline_rmse == pytest.approx(metrics.root_mean_squared_error(new_y, np.full(50, y.mean())))
    assert evaluation.baseline_mae == pytest.approx(metrics.mean_absolute_error(new_y, np.full(50, y.mean())))
    assert not evaluation.is_training_data
    assert str(evaluation).splitlines()[0] == "rows  50"


def test_r2_of_equal_targets_is_not_defined():
    tree = tw.grow({"x": [0, 1], "y": [0.5, 1.5]}, "y")
    evaluation = tree.evaluate({"x": [0, 1], "y": [2.5, 2.5]})
    assert (evaluation.r2, evaluation.rmse) == (None, pytest.approx(math.sqrt((2**2 + 1) / 2)))
    assert "not defined" in str(evaluation)
    assert json.dumps(evaluation.to_dict(), allow_nan=False)


def test_large_numbers_do_not_overflow():
    tree = tw.grow({"x": [0, 1], "y": [1e300, 3.5]}, "y")
    evaluation = tree.evaluate({"x": [1, 1], "y": [1e300, 3.5]})
    assert evaluation.rmse == pytest.approx(1e300 / math.sqrt(2))


def test_infinite_and_worded_answers_are_refused():
    tree = tw.grow({"x": [0, 1], "y": [0.5, 1.5]}, "y")
    with pytest.raises(tw.DataError, match="row 2"):
        tree.evaluate({"x": [0, 1], "y": [0.5, math.inf]})
    with pytest.raises(tw.DataError, match="numbers"):
        tree.evaluate({"x": [0, 1], "y": ["low", "high"]})


# -- by hand ---------------------------------------------------------------------------------------------


def test_a_tree_by_hand_finds_its_answers():
    tree = tw.parse(OFFICIALS)
    assert tree.evaluate("admissions").errors == 0  # the built-in table knows its target
    table = tw.datasets.admissions().to_pandas()
    evaluation = tree.evaluate(table)  # the only column with nothing but N and P
    assert (evaluation.target, evaluation.errors, evaluation.baseline_error) == ("Class", 0, None)
    table["Twin"] = table["Class"]
    with pytest.raises(tw.ParameterError, match=r"perhaps Class, Twin"):
        tree.evaluate(table)
    assert tree.evaluate(table, target="Twin").errors == 0


def test_officials_paths_row_by_row():
    lines = str(paths(tw.parse(OFFICIALS), "admissions")).splitlines()
    assert len(lines) == 12
    assert lines[2] == " 3  GPA = 4.0 and Recommendation = normal and University = top20  → P"
    assert lines[11].split("  ", 2) == ["12", "GPA = 3.5", lines[11].split("  ", 2)[2]]
    assert not any("wrong" in line for line in lines)


def test_a_row_a_tree_by_hand_has_no_answer_for():
    tree = tw.parse("a = x -> 1\na = y -> 0")
    with pytest.raises(tw.DataError, match="row 2 of the table stops at node 0"):
        tree.evaluate({"a": ["x", "z"], "class": [1, 0]})
    path = paths(tree, {"a": ["x", "z"]})[1]
    assert (path.node, path.prediction, path.stopping_column) == (0, None, "a")
    assert str(path) == "all rows, where it stays: its a was never seen"


# -- paths -----------------------------------------------------------------------------------------------


def test_paths_report_what_the_row_has(penguins):
    actual = paths(penguins, [{"flipper_length_mm": None, "bill_length_mm": 40, "island": "Mars"}])
    assert actual[0].tests == ("flipper_length_mm missing", 'island never seen ("Mars")')
    actual = paths(penguins, {"flipper_length_mm": 210, "bill_length_mm": 40, "island": "Dream"})
    assert actual[-1].tests == ("flipper_length_mm > 206.5", "island in {Dream, Torgersen}")


def test_paths_mark_what_is_wrong(penguins):
    actual = paths(penguins, "penguins")
    assert sum(path.wrong for path in actual) == 13
    assert sum("wrong: " in line for line in actual.lines()) == 13
    assert [p.row for p in actual[:2]] == [1, 2]
    with pytest.raises(IndexError):
        actual[344]


def test_paths_without_answers_and_with_gaps(penguins):
    table = tw.datasets.penguins().head(2)
    assert [p.truth for p in paths(penguins, table.drop(["species"]))] == [None, None]
    with pytest.raises(tw.ColumnError):
        paths(penguins, table, target="specie")


def test_paths_of_numbers():
    tree = tw.grow({"x": [0, 1], "y": [0.5, 1.5]}, "y")
    assert str(paths(tree, {"x": [0, 1], "y": [0.5, 2.5]})).splitlines() == [
        "1  x <= 0.5  → 0.5   true: 0.5",
        "2  x > 0.5   → 1.5   true: 2.5",
    ]


def test_paths_of_a_very_deep_tree_stay_short():
    n = 3000
    tree = tw.grow({"x": list(range(n)), "y": ["a", "b"] * (n // 2)}, "y")
    actual = paths(tree, {"x": list(range(n))})
    assert tree.depth > 10 * LONGEST
    deepest = actual[int(np.argmax(tree.depths[tree.apply({"x": list(range(n))})]))]
    assert len(deepest.tests) == LONGEST + 1
    assert deepest.tests[LONGEST // 2] == f"… {tree.depth - LONGEST:,} more tests …"
    assert len(str(actual)) < 3000 * n


def test_a_tree_of_numbers_written_by_hand_is_compared_as_the_column_asks_for():
    tree = tw.parse("x <= 1 -> 1\nx > 1 -> 3", target="y")
    values = tree.evaluate({"x": [0, 1, 2, 3], "y": [0.5, 1.0, 3.0, 4.5]})
    assert (values.mae, values.baseline_rmse) == (0.5, None)
    assert tree.evaluate({"x": [0, 1, 2, 3], "y": [1, 1, 3, 1]}).errors == 1  # whole numbers, few: classes
    halves = tw.parse("x <= 1 -> 0.5\nx > 1 -> 2.5", target="y")
    assert halves.evaluate({"x": [0, 1, 2, 3], "y": [0, 1, 2, 3]}).mae == 0.5
    assert str(paths(halves, {"x": [0], "y": [0]})) == "1  x <= 1  → 0.5   true: 0"


def test_a_few_errors_are_not_none():
    tree = tw.parse("x <= 0 -> a\nx > 0 -> b", target="y")
    evaluation = tree.evaluate({"x": [0] * 8120 + [1] * 4, "y": ["a"] * 8124})
    assert str(evaluation).splitlines()[0] == (
        "error       <0.1 %   4 of 8,124 rows wrong; 95 % interval 0.02 to 0.13 % (Wilson)"
    )
    assert ">99.9" in str(evaluation)


def test_levels_that_a_hand_written_tree_does_not_name_are_the_tables():
    officials = tw.parse("GPA = 3.5 -> N\nelse\n    Recommendation = good -> P\n    else -> N", target="Class")
    message = str(paths(officials, "admissions"))
    assert "Recommendation = normal" in message
    assert "never seen" not in message
    root = officials.trace("admissions")[0]
    assert "missing" not in str(root)
    assert root["GPA"].formula == "1 − [4/12·H(0/4) + 8/12·H(6/8)]"
    tree = tw.grow({"town": ["a", "b"], "y": ["p", "q"]}, "y", categorical="one_value")
    assert 'town never seen ("c")' in str(paths(tree, {"town": ["c", "a"]}))


def test_a_tree_of_numbers_by_hand_predicts_a_value():
    assert tw.parse("x <= 1 -> 1.5\nelse -> 2.5").target.name == "value"
    assert tw.parse("x <= 1 -> a\nelse -> b").target.name == "class"


def test_the_answers_may_be_an_array():
    x, y = np.array([[1.0], [2.0], [3.0]]), np.array(["a", "b", "b"])
    tree = tw.grow(x, y)
    assert tree.evaluate(x, y).errors == 0
    assert tree.evaluate(x, ["b", "b", "b"]).errors == 1
    with pytest.raises(tw.DataError, match=r"target has 2 values, .* has 3 rows"):
        tree.evaluate(x, y[:2])


def test_rows_without_an_answer_can_be_left_out_of_an_evaluation():
    tree = tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y")
    new = {"x": [1, 2, 2], "y": ["a", None, "b"]}
    with pytest.raises(tw.DataError, match="drop_missing_target=True"):
        tree.evaluate(new)
    assert tree.evaluate(new, drop_missing_target=True).n == 2


def test_where_rows_with_a_missing_value_went_is_reported_of_a_written_tree():
    tree = tw.parse("x <= 1 -> a\nx > 1\n    town = Rome -> a\n    town otherwise or missing -> b", target="y")
    data = {"x": [0.5, None, 2, 3], "town": ["Rome", None, None, "Rome"], "y": ["a", "b", "b", "a"]}
    message = '2 rows with a missing value went with "x <= 1" (1), "town otherwise" (1)'
    assert f'note       {message}: the branch that says "or missing", else the first' in str(tree.evaluate(data))
    assert "missing" not in str(tree.evaluate({"x": [0.5], "town": [None], "y": ["a"]}))
    assert "missing value" not in str(tree.refit(data).evaluate(data))


# -- weights ---------------------------------------------------------------------------------------------


def test_a_row_of_weight_2_counts_as_two_and_one_of_weight_0_not_at_all():
    table = tw.datasets.penguins()
    weight = np.arange(len(table)) % 3
    twice = table.take(np.repeat(np.arange(len(table)), weight))
    numbers = tw.grow(table, "bill_depth_mm", max_depth=2, drop_missing_target=True)
    for tree in (tw.grow(table, max_leaf_nodes=3), numbers):
        evaluation = tree.evaluate(table, sample_weight=weight, drop_missing_target=True)
        expected = tree.evaluate(twice, drop_missing_target=True)
        assert evaluation.scores == {name: pytest.approx(value) for name, value in expected.scores.items()}
        assert evaluation.n < expected.n
    assert isinstance(evaluation, RegressionEvaluation)


def test_weights_in_a_confusion_matrix_and_its_interval():
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b", target="y")
    data = {"x": [0, 0, 2, 2], "y": ["a", "b", "b", "a"], "w": [2.0, 0.5, 1.0, 0.0]}
    evaluation = tree.evaluate(data, sample_weight="w")
    assert evaluation.confusion.tolist() == [[2.0, 0.0], [0.5, 1.0]]
    assert (evaluation.n, evaluation.errors, evaluation.error, evaluation.effective_n) == (
        3,
        0.5,
        0.5 / 3.5,
        3.5**2 / 5.25,
    )
    assert evaluation.interval == wilson(evaluation.error * evaluation.effective_n, evaluation.effective_n)
    assert "weight 0.5 of 3.5 wrong, 3 rows" in str(evaluation)
    assert evaluation.to_dict()["weight"] == 3.5
    even = tree.evaluate(data, sample_weight=[3, 3, 3, 3])
    assert even.interval == pytest.approx(tree.evaluate(data).interval)
    with pytest.raises(tw.DataError, match="no row has a positive weight"):
        tree.evaluate(data, sample_weight=[0, 0, 0, 0])


def test_weights_as_sklearn_has_them():
    data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [1.5, 1.0, 4.0, 9.5]}
    weight = np.array([1.0, 3.0, 0.5, 2.0])
    tree = tw.grow(data, "y", max_depth=1)
    found, message = tree.evaluate(data, sample_weight=weight), tree.predict(data)
    assert found.mae == pytest.approx(metrics.mean_absolute_error(data["y"], message, sample_weight=weight))
    assert found.rmse == pytest.approx(metrics.root_mean_squared_error(data["y"], message, sample_weight=weight))
    assert found.r2 == pytest.approx(metrics.r2_score(data["y"], message, sample_weight=weight))


def test_a_column_called_class_by_chance_is_not_what_a_written_tree_predicts():
    tree = tw.parse("x <= 1 -> 1\nx > 1 -> 0")
    table = {"x": [1, 2, 3], "class": ["First", "Second", "First"], "survived": [1, 0, 0]}
    assert (tree.evaluate(table).target, tree.evaluate(table).errors) == ("survived", 0)
    assert tree.evaluate({"x": [1, 2], "class": [1, 0]}).target == "class"


@pytest.mark.parametrize(
    ("gone", "message"), [(1, "in 1 row (1). Remove it first"), (2, "in 2 rows (1, 2). Remove them")]
)
def test_one_row_is_singular(gone, message):
    table = {"x": [1, 2, 3, 4], "y": [None] * gone + ["b", "a", "b", "a"][gone:]}
    with pytest.raises(tw.DataError, match=re.escape(message)):
        tw.grow(table, "y")
    with pytest.raises(tw.DataError, match=re.escape(message.split("(")[-1])):
        evaluate(tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y"), table)


@pytest.mark.parametrize("grow", [tw.grow, tw.forest])
def test_labels_that_are_no_classes_at_all_are_refused(grow):
    train = {"x": [1, 2, 3, 4] * 5, "y": [0, 0, 1, 1] * 5}
    model = grow(train, "y", task="classification")
    other = {"x": [1, 4], "y": ["no", "yes"]}
    for call in (model.evaluate, model.importances):
        with pytest.raises(
            tw.DataError, match=r'"y": none of its values \("no", "yes"\) is a class of the model \("0", "1"\)'
        ):
            call(other)
    some = {"x": [1, 4], "y": ["0", "yes"]}
    assert model.evaluate(some).unknown == {"yes": 1}
