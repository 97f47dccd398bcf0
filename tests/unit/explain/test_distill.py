"""Distillation: trees grown on a teacher's predictions, and their fidelity."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import treewise as tw
from tests.support.random_tables import limit_examples, random_tables
from treewise.explain.distill import distill as distilling
from treewise.predict.confidence_intervals import wilson
from treewise.predict.predict import find_leaves
from treewise.train.folds import assign_folds
from treewise.train.grow import grow_training_set, prepare
from treewise.train.resampling import take_rows


@pytest.fixture(scope="module")
def penguins():
    return tw.datasets.penguins()


# -- fidelity ---------------------------------------------------------------------------------------------------------


@given(random_tables(criteria=("entropy", "gini", "squared_error", "absolute_error"), weights=False))
@limit_examples(0.5)
def test_a_full_tree_imitates_any_tree_on_its_own_table(table):
    teacher = table.grow()
    distillation = tw.distill(teacher, table.data, folds=0, categorical=table.options["categorical"])
    assert distillation.held_out is None
    assert np.array_equal(distillation.tree.predict(table.data), teacher.predict(table.data))
    assert distillation.training.agreement == (
        1.0 if len(set(teacher.predict(table.data).tolist())) > 1 else distillation.fidelity
    )
    assert distillation.training.teacher_error == pytest.approx(distillation.training.student_error)


@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_value"])
def test_on_a_full_table_the_student_is_equivalent(categorical):
    cells = list(product("abc", "xy", [0, 1], [1.0, 2.0, 3.0]))
    data = {f"x{i + 1}": list(column) for i, column in enumerate(zip(*cells, strict=True))}
    data["y"] = ["p" if (a == "b") ^ (d > 1.5 and c == 1) or b == "x" < a else "n" for a, b, c, d in cells]
    teacher = tw.grow(data, "y", categorical=categorical)
    distillation = tw.distill(teacher, data, categorical=categorical)
    assert distillation.training.agreement == 1.0
    assert tw.compare(distillation.tree, teacher).equivalent
    assert distillation.training.teacher_error == distillation.training.student_error == 0.0


def test_agreement_is_what_counting_finds(penguins):
    teacher = tw.grow(penguins, max_leaf_nodes=9)
    distillation = tw.distill(teacher, penguins, max_leaf_nodes=4)
    taught, message, truth = (
        teacher.predict(penguins),
        distillation.tree.predict(penguins),
        penguins.to_polars()["species"],
    )
    assert distillation.training.agreement == np.mean(taught == message)
    assert distillation.training.teacher_error == np.mean(taught != truth.to_numpy())
    assert distillation.training.student_error == np.mean(message != truth.to_numpy())
    assert (
        distillation.training.n,
        distillation.training.low,
        distillation.held_out.rows,
        distillation.held_out.n,
    ) == (344, None, "10 folds", 344)
    assert distillation.held_out.low < distillation.held_out.agreement < distillation.held_out.high
    assert distillation.fidelity == distillation.held_out.agreement


def test_folds_by_hand(penguins):
    teacher = tw.grow(penguins, max_leaf_nodes=9)
    distillation = tw.distill(teacher, penguins, folds=4, random_state=3, max_depth=2)
    answers = teacher.predict(penguins)
    frame = penguins.to_polars().with_columns(species=pl.Series(answers.tolist()))
    training_set = prepare(tw.read(frame), "species", max_depth=2)
    number, same = assign_folds(training_set, 4, 3), []
    for fold in range(4):
        student = grow_training_set(take_rows(training_set, np.flatnonzero(number != fold)))
        held = take_rows(training_set, np.flatnonzero(number == fold))
        same += (student.arrays.label[find_leaves(student, held.columns, len(held))] == held.y).tolist()
    assert distillation.held_out.agreement == np.mean(same)


def test_a_test_table_is_evaluated_too(penguins):
    rows = np.arange(344)
    train, other = penguins.take(rows[rows % 3 > 0]), penguins.take(rows[rows % 3 == 0])
    teacher = tw.grow(train)
    distillation = tw.distill(teacher, train, test=other, max_leaf_nodes=4)
    taught, message = teacher.predict(other), distillation.tree.predict(other)
    truth = other.to_polars()["species"].to_numpy()
    assert distillation.held_out.agreement == distillation.fidelity == np.mean(taught == message)
    assert (distillation.held_out.teacher_error, distillation.held_out.student_error) == (
        np.mean(taught != truth),
        np.mean(message != truth),
    )
    assert (distillation.held_out.rows, distillation.held_out.n) == ("penguins", len(other))


def test_numbers(penguins):
    data = penguins.take(~penguins["body_mass_g"].is_missing())
    teacher = tw.grow(data, "body_mass_g")
    distillation = tw.distill(teacher, data, max_leaf_nodes=6)
    taught, message = teacher.predict(data), distillation.tree.predict(data)
    truth = data.to_polars()["body_mass_g"].to_numpy()
    off = np.mean((taught - message) ** 2)
    assert distillation.training.agreement == pytest.approx(1 - off / np.var(taught))
    assert distillation.training.rmse == pytest.approx(np.sqrt(off))
    assert distillation.training.student_error == pytest.approx(np.sqrt(np.mean((message - truth) ** 2)))
    assert distillation.training.teacher_error == pytest.approx(np.sqrt(np.mean((taught - truth) ** 2)))
    assert distillation.held_out.low < distillation.held_out.agreement < distillation.held_out.high
    assert "RMSE to teacher" in str(distillation)
    assert "teacher's RMSE" in str(distillation)


def test_huge_and_tiny_numbers_are_measured():
    for size in (1e-200, 1e200):
        y = (np.arange(20) % 5 + 0.5) * size
        distillation = tw.distill(y, {"x": np.arange(20) % 5, "z": np.arange(20)}, max_depth=1, folds=3)
        assert 0 < distillation.training.agreement < 1
        assert np.isfinite(distillation.held_out.agreement)


def test_a_teacher_that_always_says_the_same():
    data = {"x": [1, 2, 3, 4]}
    same = tw.distill(lambda rows: ["a"] * 4, data)
    assert (same.tree.n_leaves, same.fidelity) == (1, 1.0)
    numbers = tw.distill(lambda rows: [2.5] * 4, data)
    assert (numbers.fidelity, numbers.training.rmse) == (None, 0.0)
    assert tw.distill(["a"], {"x": [1]}).held_out is None


def test_weights_count_as_rows(penguins):
    head = penguins.take(np.arange(0, 344, 7))
    teacher = tw.grow(penguins, max_leaf_nodes=8)
    weight = np.arange(len(head)) % 4  # some rows weigh nothing
    weighed = tw.distill(teacher, head, sample_weight=weight, max_depth=2, folds=0)
    repeated = tw.distill(teacher, head.take(np.repeat(np.arange(len(head)), weight)), max_depth=2, folds=0)
    assert weighed.training.agreement == pytest.approx(repeated.training.agreement)
    assert weighed.training.student_error == pytest.approx(repeated.training.student_error)
    assert weighed.training.n == int((weight > 0).sum())
    assert tw.distill("sex", penguins, class_weight={"MALE": 0}, drop_missing_target=True).training.n == 165
    folded = tw.distill(teacher, head, sample_weight=weight, max_depth=2, folds=3).held_out
    counted = weight[weight > 0]
    rows = counted.sum() ** 2 / (counted**2).sum() / (1 + 3 / 2)  # the trees of the folds share rows
    assert (folded.low, folded.high) == pytest.approx(wilson(folded.agreement * rows, rows))
    named = tw.read(head.to_polars().with_columns(w=weight))
    assert tw.distill(teacher, named, sample_weight="w", max_depth=2, folds=0).training == weighed.training


# -- teachers ---------------------------------------------------------------------------------------------------------


def test_the_pilot_of_cs221_notes_6():
    """A tree watches what was done in each situation, and does the same."""
    rng = np.random.default_rng(5)
    log = {"height": rng.uniform(0, 100, 300), "speed": rng.uniform(50, 150, 300)}
    log["action"] = np.where(log["height"] < 20, "pull up", np.where(log["speed"] > 120, "throttle back", "hold"))
    distillation = tw.distill("action", log)
    assert distillation.training.agreement == 1.0
    assert distillation.fidelity > 0.97
    assert distillation.tree.predict({"height": 10.0, "speed": 140.0}) == "pull up"
    assert distillation.teacher == 'the column "action"'
    beside = tw.distill(log["action"], {name: log[name] for name in ("height", "speed")})
    assert beside.training.agreement == 1.0
    assert tw.compare(distillation.tree, beside.tree).equivalent


def test_a_function_is_called_with_the_table_as_it_was_given(tmp_path):
    given = []

    def rule(rows):
        given.append(type(rows))
        return np.asarray(rows["x"]) > 2.5

    frame = pl.DataFrame({"x": [1, 2, 3, 4], "z": [0, 1, 0, 1]})
    path = tmp_path / "rows.csv"
    frame.write_csv(path)
    for data in (frame, frame.to_pandas(), frame.to_dict(as_series=False), str(path), path, tw.read(frame)):
        distillation = tw.distill(rule, data)
        assert distillation.tree.condition(1) == "x <= 2.5"
        assert distillation.teacher == "the function rule"
    assert given == [pl.DataFrame, type(frame.to_pandas()), dict, pl.DataFrame, pl.DataFrame, pl.DataFrame]
    array = np.column_stack([[1, 2, 3, 4], [0, 1, 0, 1]])
    assert tw.distill(lambda rows: rows[:, 0] > 2.5, array).teacher == "a function"


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_model_of_scikit_learn_by_names(penguins, library):
    from sklearn.ensemble import RandomForestClassifier

    frame = penguins.to_polars().drop_nulls()
    frame = frame.to_pandas() if library == "pandas" else frame
    names = ["bill_length_mm", "flipper_length_mm"]
    model = RandomForestClassifier(7, random_state=0).fit(frame[names], frame["species"])
    distillation = tw.distill(model, frame, target="species", max_leaf_nodes=4, folds=3)
    assert distillation.training.agreement == np.mean(model.predict(frame[names]) == distillation.tree.predict(frame))
    assert set(distillation.tree.columns) == set(names)  # not the truth, nor what the model never saw
    assert distillation.tree.target.name == "species"
    assert distillation.teacher == "RandomForestClassifier"
    assert distillation.training.teacher_error is not None
    again = tw.distill(model, tw.read(frame), target="species", max_leaf_nodes=4, folds=3)
    assert again.training == distillation.training


def test_a_model_of_scikit_learn_on_an_array():
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 2))
    model = LinearRegression().fit(x, x @ [2.0, -1.0])
    distillation = tw.distill(model, x, target=x @ [2.0, -1.0] + 0.5, max_leaf_nodes=10)
    assert distillation.tree.task == "regression"
    assert distillation.training.teacher_error == pytest.approx(0.5)
    assert 0.5 < distillation.training.agreement < 1
    by_name = {"a": x[:, 0], "y": x @ [2.0, -1.0], "b": x[:, 1]}
    assert tw.distill(model, by_name, target="y", folds=0).training.teacher_error == pytest.approx(0, abs=1e-12)


def test_a_regressor_of_few_whole_numbers_stays_one():
    from sklearn.dummy import DummyClassifier, DummyRegressor

    x = np.arange(8.0).reshape(-1, 1)
    assert tw.distill(DummyRegressor().fit(x, np.full(8, 3.0)), x).tree.task == "regression"
    assert tw.distill(DummyClassifier().fit(x, [3] * 8), x).tree.task == "classification"


def test_an_estimator_of_ours(penguins):
    frame = penguins.to_pandas()
    fitted = tw.TreeClassifier(max_leaf_nodes=6).fit(frame.drop(columns="species"), frame["species"])
    assert tw.distill(fitted, frame, target="species").training.agreement == 1.0


def test_many_trees(penguins):
    forest = tw.forest(penguins, n_estimators=9)
    distillation = tw.distill(forest, penguins, max_leaf_nodes=4)
    assert distillation.teacher == "a forest of 9 trees"
    assert distillation.training.agreement == np.mean(forest.predict(penguins) == distillation.tree.predict(penguins))
    assert str(distillation.tree.history[0]).endswith("imitating a forest of 9 trees")
    heavy = penguins.take(~penguins["body_mass_g"].is_missing())
    numbers = tw.distill(tw.bagging(heavy, "body_mass_g", n_estimators=5), heavy, max_leaf_nodes=6, folds=3)
    assert numbers.teacher == "bagging of 5 trees"
    assert 0.5 < numbers.fidelity < 1


def test_kinds_and_classes_are_the_teachers():
    data = {"grade": [3.5, 3.7, 4.0, 3.5, 3.7, 4.0], "size": list("SMLSML"), "y": ["no", "yes", "no"] * 2}
    teacher = tw.grow(data, "y", kinds={"grade": "nominal", "size": ["S", "M", "L"]}, positive="no")
    distillation = tw.distill(teacher, data, folds=0)
    assert [e.kind for e in distillation.tree.encodings] == ["nominal", "ordered"]
    assert distillation.tree.encodings[1].levels == ("S", "M", "L")
    assert distillation.tree.classes == teacher.classes == ("yes", "no")
    chosen = tw.distill(teacher, data, folds=0, kinds={"grade": "number"}, ignore=["size"], positive="yes")
    assert [(e.name, e.kind) for e in chosen.tree.encodings] == [("grade", "number")]
    assert chosen.tree.classes == ("no", "yes")


def test_the_student_does_not_see_the_truth():
    data = {"x": list(range(20)), "y": ["ab"[i > 9] for i in range(20)], "did": ["ab"[i > 8] for i in range(20)]}
    for teacher in ("did", lambda rows: rows["did"]):
        distillation = tw.distill(teacher, data, target="y", folds=0)
        assert "y" not in distillation.tree.columns
        assert distillation.training.teacher_error == 0.05


def test_rows_without_the_truth_or_without_an_answer():
    data = {"x": list(range(20)), "y": [None if i % 4 == 0 else "ab"[i > 9] for i in range(20)]}
    distillation = tw.distill(lambda rows: ["ab"[i > 8] for i in rows["x"]], data, target="y", folds=0)
    assert distillation.training.n == 20
    assert distillation.training.teacher_error == distillation.training.student_error == pytest.approx(1 / 15)
    silent = [None if i < 2 else "ab"[i > 9] for i in range(20)]
    with pytest.raises(tw.DataError, match=r"target \"y\" is missing in 2 rows \(1, 2\)"):
        tw.distill(silent, data, target="y")
    assert tw.distill(silent, data, target="y", drop_missing_target=True).training.n == 18
    assert tw.distill(silent, {"x": data["x"]}, drop_missing_target=True, folds=2).held_out.n == 18


# -- how it was made --------------------------------------------------------------------------------------------------


def test_the_history_names_the_teacher(penguins, tmp_path):
    distillation = tw.distill(tw.grow(penguins), penguins, max_leaf_nodes=3, folds=0)
    message = 'grow(criterion="entropy", max_leaf_nodes=3) on 344 rows, imitating a tree of 13 leaves'
    assert str(distillation.tree.history[0]) == message
    distillation.tree.save(tmp_path / "student.json")
    loaded = tw.load(tmp_path / "student.json")
    assert loaded == distillation.tree
    assert str(loaded.history[0]) == message
    assert message in str(loaded.summary())


def test_pruning_is_judged_by_the_teachers_answers(penguins):
    rows = np.arange(344)
    train, other = penguins.take(rows[rows % 2 > 0]), penguins.take(rows[rows % 2 == 0])
    teacher = tw.grow(penguins, max_leaf_nodes=3)
    distillation = tw.distill(teacher, train, pruning="reduced_error", validation=other, folds=2)
    taught = [t.to_polars().with_columns(species=pl.Series(teacher.predict(t).tolist())) for t in (train, other)]
    by_hand = tw.grow(taught[0], "species", pruning="reduced_error", validation=taught[1])
    assert distillation.tree.arrays.same_as(by_hand.arrays)
    assert tw.distill(teacher, penguins, pruning="cv", folds=2).training.agreement == 1.0
    assert tw.distill(teacher, penguins, pruning="reduced_error", validation=0.3, folds=2).tree.n_leaves <= 3


def test_the_same_for_any_number_of_threads(penguins):
    teacher = tw.grow(penguins)
    one, two = (tw.distill(teacher, penguins, n_jobs=n, folds=3, max_leaf_nodes=5) for n in (1, 2))
    assert one.tree == two.tree
    assert (one.training, one.held_out) == (two.training, two.held_out)


def test_progress(penguins):
    text = []
    tw.distill(tw.grow(penguins), penguins, folds=4, progress=text.append)
    assert text == sorted(text)
    assert len(text) == 5
    assert text[-1] == 1.0


def test_forms(penguins):
    distillation = tw.distill(tw.grow(penguins), penguins, max_leaf_nodes=4, folds=5)
    assert distillation.to_frame().columns == [
        "rows",
        "n",
        "agreement",
        "low",
        "high",
        "teacher_error",
        "student_error",
    ]
    assert distillation.to_frame()["rows"].to_list() == ["training", "5 folds"]
    assert distillation.to_dict()["teacher"] == "a tree of 13 leaves"
    assert "| training | 344 | 96.2 |" in distillation.to_markdown()


# -- bad input --------------------------------------------------------------------------------------------------------

ROWS = {"x": [1, 2, 3, 4], "y": ["a", "b", "a", "b"]}


@pytest.mark.parametrize(
    ("teacher", "options", "message"),
    [
        (3, {}, "teacher=3: must be a tree, an ensemble, a model with predict, a function from rows to predictions"),
        ({"x": 1}, {}, 'teacher={"x": 1}: must be a tree'),
        (tw.TreeClassifier, {}, "teacher=<class 'treewise.estimators."),
        ("z", {}, 'no column "z" in the table. Columns: x, y.'),
        ("y", {"target": "y"}, 'target and teacher are both the column "y". Leave the target out'),
        (["a", "b"], {}, "teacher: 2 predictions for 4 rows of the table; expected one per row."),
        (
            lambda rows: "a",
            {},
            'teacher: a function returned "a" for 4 rows of the table; expected one class or number per row.',
        ),
        (lambda rows: np.zeros((4, 2)), {}, "teacher: a function returned an array of shape (4, 2) for 4 rows of the"),
        (lambda rows: None, {}, "teacher: a function returned None for 4 rows of the table"),
        (
            ["p", "q", "p", "q"],
            {"target": "y"},
            'target "y" contains a, b, but the teacher predicts p, q: they cannot be compared.',
        ),
        (["a", "b", "a", "b"], {"target": "yy"}, 'no column "yy" in the table.'),
        (["a", "b", "a", "b"], {"test": ROWS}, "test: the given predictions cover the rows of data only."),
        ("y", {"test": ROWS, "folds": 2}, "test and folds both hold rows out. Give one of them."),
        ("y", {"folds": 1}, "folds=1: must be a whole number, 2 or more, or 0 for none."),
        ("y", {"folds": 5}, "the table has 4 usable rows: too few for 5 folds."),
        ("y", {"max_depht": 2}, 'no option max_depht. Did you mean "max_depth"?'),
        ([1.5, 2.5, 3.5, 4.5], {"target": "y"}, 'target "y" is not numeric, but the teacher predicts numbers'),
    ],
)
def test_bad_input(teacher, options, message):
    with pytest.raises(tw.TreewiseError) as error:
        tw.distill(teacher, ROWS, **options)
    assert str(error.value).startswith(message)


def test_a_model_without_names_and_with_other_columns():
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier().fit([[1, 2], [3, 4]], ["a", "b"])
    with pytest.raises(tw.ParameterError, match="was fitted on 2 unnamed columns, but the table has 1: x"):
        tw.distill(model, ROWS, target="y")
    named = DecisionTreeClassifier().fit(pl.DataFrame({"x": [1.0, 2.0], "w": [1, 2]}), ["a", "b"])
    with pytest.raises(tw.ColumnError, match='no column "w" in the table'):
        tw.distill(named, ROWS, target="y")


def test_what_a_teacher_raises_comes_through():
    def broken(rows):
        raise ZeroDivisionError("of its own")

    with pytest.raises(ZeroDivisionError, match="of its own"):
        tw.distill(broken, ROWS)


@pytest.mark.parametrize("folds", [-1, 1, "3", 2.5, True])
def test_folds_are_judged_before_anything_is_grown(folds, monkeypatch):
    def grown(*_):
        raise AssertionError("a tree was grown")

    monkeypatch.setattr(distilling, "grow_training_set", grown)
    with pytest.raises(tw.ParameterError, match=r"^folds=.*: must be a whole number, 2 or more, or 0 for none\.$"):
        tw.distill("island", "penguins", folds=folds)
    with pytest.raises(tw.DataError, match=r"too few for 400 folds"):
        tw.distill("island", "penguins", folds=400)
