"""Agreement, Shapley values, importances, stages and explanations of ensembles, each against its definition."""

import json

import numpy as np
import pytest

import treewise as tw
from tests.support.displayables import renderings
from tests.support.ensembles import ensemble_of
from tests.support.output_checks import CHECKS
from tests.support.shapley import decoded_rows, mixed_table, shapley_by_enumeration, unusual_rows
from treewise.cli.predictor import Extras, Predictor
from treewise.data.table import read
from treewise.ensemble import Ensemble
from treewise.explain.shap import ShapTable
from treewise.predict.leaf_probabilities import LeafProbabilities

OPTIONS = [
    {"categorical": "multiway", "missing": "branch", "max_depth": 3},
    {"categorical": "subset", "criterion": "gini", "max_depth": 4},
    {"categorical": "any", "max_leaf_nodes": 6},
    {"categorical": "multiway", "kinds": {"c": {"p", "q", "r", "s", "absent"}}, "empty_branch": "root", "max_depth": 3},
]


def bagged(table, target, trees=5, method="forest", seed=0, votes=None, **options) -> Ensemble:
    """Trees on rows drawn with replacement, which differ; of boosting with votes that differ too."""
    rng, n = np.random.default_rng(seed), len(read(table))
    drawn = [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(trees)]
    made = ensemble_of([tw.grow(table, target, sample_weight=weight, **options) for weight in drawn], method)
    if method == "adaboost":
        made = made.with_(votes=rng.random(trees) + 0.1)
    return made if votes is None else made.with_(votes=np.array(votes))


def says(ensemble, rows):
    """What the trees say together, by definition: the mean of shares or values; of boosting the shares of the votes."""
    if not ensemble.classes:
        return np.mean([tree.predict(rows) for tree in ensemble], axis=0)
    if ensemble.method != "adaboost":
        return np.mean([tree.predict_proba(rows) for tree in ensemble], axis=0)
    classes = np.array(ensemble.classes)
    votes = [
        vote * (tree.predict(rows)[:, None] == classes) for vote, tree in zip(ensemble.votes, ensemble, strict=True)
    ]
    return np.sum(votes, axis=0) / ensemble.votes.sum()


def answers_of(ensemble, rows):
    message = says(ensemble, rows)
    return np.array(ensemble.classes)[message.argmax(axis=1)] if ensemble.classes else message


def ensembles():
    table = mixed_table(3)
    for i, options in enumerate(OPTIONS):
        yield bagged(table, "y", method="adaboost" if i % 2 else "forest", ignore=["score"], **options), table
    yield bagged(table, "score", ignore=["y"], max_depth=4), table


ENSEMBLES = list(ensembles())
IDS = [f"{e.method} {e.task}" for e, _ in ENSEMBLES]
each_ensemble = pytest.mark.parametrize(("ensemble", "table"), ENSEMBLES, ids=IDS)


# -- Shapley values ---------------------------------------------------------------------------------------------------


@each_ensemble
def test_shapley_values_are_those_of_the_definition(ensemble, table):
    rows = {name: cells[:4] for name, cells in unusual_rows(table, 1).items()}
    shap = ensemble.shap(rows)
    values = shap.values if ensemble.classes else shap.values[..., None]
    say = ensemble.votes / ensemble.votes.sum()
    for r in range(4):
        expected = sum(
            share
            * shapley_by_enumeration(
                tree,
                ShapTable.of(tree, LeafProbabilities(), ensemble.method == "adaboost"),
                decoded_rows(tree, rows)[r],
            )
            for share, tree in zip(say, ensemble, strict=True)
        )
        np.testing.assert_allclose(values[r], expected, atol=1e-12)


@each_ensemble
def test_shapley_values_add_up_to_the_answer(ensemble, table):
    rows = unusual_rows(table, 2)
    shap = ensemble.shap(rows)
    np.testing.assert_allclose(shap.base + shap.values.sum(axis=1), says(ensemble, rows), atol=1e-9)
    one = ensemble.shap({name: cells[0] for name, cells in rows.items()})
    np.testing.assert_array_equal(one.values, shap.values[0])
    assert one.single


@each_ensemble
def test_they_speak_of_what_the_ensemble_predicts(ensemble, table):
    rows = unusual_rows(table, 7)
    found, answers = ensemble.shap(rows), ensemble.predict(rows)
    chances = ensemble.predict_proba(rows) if ensemble.classes else answers
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), chances, atol=1e-9)
    assert ensemble.agreement(rows).predictions == answers.tolist()
    truth = np.array(table[ensemble.target.name]).astype(int if ensemble.classes else float)
    message = ensemble.predict(table)
    off = np.mean(message != truth) if ensemble.classes else np.sqrt(np.mean((message - truth) ** 2))
    assert ensemble.stages(table)[-1].error == pytest.approx(off)


def test_shapley_values_tell_their_progress_and_name_a_column_that_is_not_there():
    ensemble, table = ENSEMBLES[0]
    text = []
    ensemble.shap(unusual_rows(table, 1), progress=text.append)
    assert text == [0.2, 0.4, 0.6, 0.8, 1.0]
    with pytest.raises(tw.ColumnError, match='the row has no column "c", which a tree tests'):
        ensemble.shap({"x": 1, "z": 0.5, "b": True})


# -- agreement --------------------------------------------------------------------------------------------------------


@each_ensemble
def test_agreement_is_what_asking_each_tree_finds(ensemble, table):
    rows = unusual_rows(table, 4)
    agreement = ensemble.agreement(rows)
    message = np.array([tree.predict(rows) for tree in ensemble])
    answers = answers_of(ensemble, rows)
    assert sorted(row.row for row in agreement) == list(range(1, 13))
    for row in agreement:
        column = message[:, row.row - 1]
        assert row.prediction == (answers[row.row - 1] if ensemble.classes else pytest.approx(answers[row.row - 1]))
        if ensemble.classes:
            each = {c: ensemble.votes[column == c].sum() / ensemble.votes.sum() for c in ensemble.classes}
            assert row.shares == pytest.approx(each)
            assert row.share == pytest.approx(each[row.prediction])
        else:
            assert row.sd == pytest.approx(np.std(column))
            assert (row.low, row.high) == (column.min(), column.max())
    assert len(agreement.share) == (12 if ensemble.classes else 0)
    disputed = [-row.share if ensemble.classes else row.sd for row in agreement]
    assert disputed == sorted(disputed, reverse=True)
    same = sum(len(set(column.tolist())) == 1 for column in message.T)
    assert agreement.unanimous == same
    assert f"All trees agree on {same} of 12 rows." in str(agreement)


def test_trees_that_are_all_the_same_are_of_one_mind():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    agreement = ensemble_of([tree] * 7).agreement("penguins")
    assert agreement.unanimous == len(agreement) == 344
    assert set(agreement.share) == {1.0}
    assert [row.row for row in agreement[:3]] == [1, 2, 3]
    assert agreement.at(5).prediction == agreement.predictions[5]


# -- importances ------------------------------------------------------------------------------------------------------


@each_ensemble
def test_importances_are_the_mean_of_the_trees(ensemble, table):
    shares = np.array([d / d.sum() for d in (tree.impurity_decreases[0] for tree in ensemble)])
    mean = np.average(shares, axis=0, weights=ensemble.votes)
    importances = ensemble.importances()
    for i, name in enumerate(ensemble.columns):
        each = importances[name]
        assert each.importance == pytest.approx(mean[i])
        assert each.spread == pytest.approx(np.std(shares[:, i], ddof=1))
        assert each.splits == sum(int((tree.arrays.column[tree.arrays.kind > 0] == i).sum()) for tree in ensemble)
    assert [c.importance for c in importances.columns] == pytest.approx(sorted(mean.tolist(), reverse=True))
    assert importances.trees == 5
    assert "the mean of 5 trees" in str(importances)


def test_importances_of_trees_that_ask_nothing():
    alone = ensemble_of([tw.grow("penguins", max_depth=0)] * 2).importances()
    assert {c.importance for c in alone.columns} == {0.0}
    some = ensemble_of([tw.grow("penguins", max_depth=0), tw.grow("penguins", max_depth=1)]).importances()
    assert some["flipper_length_mm"].importance == 1.0


@pytest.mark.parametrize(("place", "measure"), [(0, "error"), (1, "error"), (4, "rmse"), (4, "mae")])
def test_permutation_importances_by_hand(place, measure):
    ensemble, table = ENSEMBLES[place]
    truth = np.array(table[ensemble.target.name]).astype(int if ensemble.classes else float)
    cells = {name: np.array(table[name], object) for name in ensemble.columns}

    def lost(columns):
        message = says(ensemble, {name: list(column) for name, column in columns.items()})
        if measure == "error":
            return np.mean(np.array(ensemble.classes)[message.argmax(axis=1)] != truth)
        return np.mean(np.abs(message - truth)) if measure == "mae" else np.sqrt(np.mean((message - truth) ** 2))

    importances = ensemble.importances(table, measure=measure, repeats=3, random_state=7)
    assert importances.baseline == pytest.approx(lost(cells))
    for i, name in enumerate(ensemble.columns):
        if not importances[name].splits:
            assert importances[name].importance == 0.0
            continue
        dealt = [np.random.default_rng((7, i, repeat)).permutation(60) for repeat in range(3)]
        rises = [lost({**cells, name: cells[name][order]}) - lost(cells) for order in dealt]
        assert importances[name].repeats == pytest.approx(rises)
        assert importances[name].importance == pytest.approx(np.mean(rises))
        assert importances[name].low <= importances[name].importance <= importances[name].high
    assert importances.trees == 5
    assert "of these trees rises" in str(importances)
    assert not importances.seen
    again = ensemble.importances(table, measure=measure, repeats=3, random_state=7, n_jobs=1)
    assert again.to_dict() == importances.to_dict()


def test_log_loss_of_many_trees_is_finite_where_some_tree_gives_a_chance():
    forest = bagged("penguins", "species", trees=9, max_leaf_nodes=3)
    importances = forest.importances("penguins", measure="log_loss", repeats=2)
    truth = tw.datasets.penguins().to_polars()["species"].to_list()
    chance = [row[forest.classes.index(label)] for row, label in zip(says(forest, "penguins"), truth, strict=True)]
    assert importances.baseline == pytest.approx(-np.mean(np.log(chance)))
    with pytest.raises(
        tw.DataError, match="log_loss is infinite: every tree gives probability 0 to a class that occurs"
    ):
        ensemble_of([tw.grow("penguins")]).importances("penguins", measure="log_loss", repeats=2)


def test_rows_the_trees_were_grown_on_are_noticed():
    forest = tw.forest("outlier", n_estimators=5)
    assert forest.importances("outlier", repeats=2).seen
    assert "These look like the training rows" in str(forest.importances("outlier", repeats=2))
    assert not forest.importances("outlier_validation", repeats=2).seen


def test_importances_refuse_what_does_not_fit():
    forest = ENSEMBLES[0][0]
    with pytest.raises(
        tw.ParameterError, match="repeats is for importances on data: give a table too, or leave it out"
    ):
        forest.importances(repeats=3)
    with pytest.raises(tw.ParameterError, match='measure="rmse": must be one of error, log_loss'):
        forest.importances(mixed_table(3), measure="rmse")
    with pytest.raises(tw.ParameterError, match="repeats=0: must be a whole number"):
        forest.importances(mixed_table(3), repeats=0)


# -- stages -----------------------------------------------------------------------------------------------------------


@each_ensemble
def test_stages_are_the_errors_of_the_first_trees(ensemble, table):
    stages = ensemble.stages(table)
    truth = np.array(table[ensemble.target.name]).astype(int if ensemble.classes else float)
    assert [stage.trees for stage in stages] == [1, 2, 3, 4, 5]
    for stage in stages:
        message = answers_of(ensemble.first(stage.trees), table)
        off = np.mean(message != truth) if ensemble.classes else np.sqrt(np.mean((message - truth) ** 2))
        assert stage.error == pytest.approx(off)
        assert stage.test_error is None
        assert stage.bound is None
    assert stages.best.error == min(stage.error for stage in stages)
    weight = np.arange(60.0)
    weighed = ensemble.stages(table, sample_weight=weight)[-1].error
    if ensemble.classes:
        assert weighed == pytest.approx(np.average(answers_of(ensemble, table) != truth, weights=weight))


def boosted():
    return tw.adaboost(mixed_table(3), "y", ignore=["score"], n_estimators=5)


def test_stages_on_other_rows_with_the_bound_of_boosting():
    ensemble, text = boosted(), []
    assert ensemble.method == "adaboost"
    stages = ensemble.stages(mixed_table(3), test=mixed_table(8), progress=text.append)
    assert stages[-1].test_error == ensemble.stages(mixed_table(8))[-1].error
    assert stages.best.test_error == min(stage.test_error for stage in stages)
    assert [stage.bound for stage in stages] == [r.bound for r in ensemble.rounds]
    assert "Lowest on the test rows after" in str(stages)
    assert "bound %" in str(stages)
    assert text == [pytest.approx(0.1 * i) for i in range(1, 11)]
    with pytest.raises(tw.DataError, match="sample_weight is negative in row 1"):
        ensemble.stages(mixed_table(3), sample_weight=[-1.0] * 60)
    with pytest.raises(tw.ColumnError, match='no column "y"'):
        ensemble.stages({"x": [1.0]})


def test_stages_of_boosting_are_its_rounds():
    noisy, other = tw.datasets.noisy(), tw.datasets.noisy(seed=1)
    boosted_stumps = tw.adaboost(noisy, "y", n_estimators=20)
    stages = boosted_stumps.stages(noisy, test=other)
    assert [s.error for s in stages] == pytest.approx([r.training_error for r in boosted_stumps.rounds])
    assert [s.bound for s in stages] == [r.bound for r in boosted_stumps.rounds]
    assert all(s.error <= s.bound for s in stages)
    message = [np.mean(answers != other["y"].values) for answers in boosted_stumps.staged_predict(other)]
    assert [s.test_error for s in stages] == pytest.approx(message)
    student = tw.distill(boosted_stumps, noisy, max_leaf_nodes=6, folds=2)
    assert student.teacher == "AdaBoost of 20 trees"


def test_the_bound_of_boosting_stands_only_beside_the_error_it_bounds():
    ensemble, own, other = boosted(), mixed_table(3), mixed_table(8)
    bounds = [r.bound for r in ensemble.rounds]
    assert [s.bound for s in ensemble.stages(own)] == bounds
    assert [s.bound for s in ensemble.first(3).stages(own)] == bounds[:3]
    without = {name: cells for name, cells in own.items() if name != "y"}
    assert [s.bound for s in ensemble.stages(without, own["y"])] == bounds  # the answers as an array
    assert [s.bound for s in ensemble.stages({name: cells[::-1] for name, cells in own.items()})] == bounds  # any order
    weighed = [
        tw.adaboost(own, "y", ignore=["score"], n_estimators=5, **how)
        for how in ({"sample_weight": np.arange(60.0) + 1}, {"class_weight": "balanced"}, {"priors": [0.8, 0.1, 0.1]})
    ]
    by_column = tw.adaboost({**own, "w": np.arange(60) + 1.0}, "y", ignore=["score"], n_estimators=5, sample_weight="w")
    elsewhere = [
        ensemble.stages(other),
        ensemble.stages({name: cells[1:] for name, cells in own.items()}),
        ensemble.stages(own, sample_weight=np.arange(60.0)),
        ensemble.stages(own, own["y"][::-1]),
        by_column.stages({**own, "w": np.arange(60) + 1.0}),
        *(each.stages(own) for each in weighed),
    ]
    for found in elsewhere:
        assert {stage.bound for stage in found} == {None}
        assert "bound %" not in str(found)
        assert not any("bound" in text.get_text() for text in found.draw().get_legend().get_texts())


def test_an_out_of_bag_error_of_no_rows_is_none():
    table = {"x": [1.0, 2.0], "y": ["a", "b"]}
    forest = tw.forest(table, "y", n_estimators=1, oob_score=True)
    assert (forest.oob.rows, forest.oob.of) == (0, 2)  # the one tree has seen both rows
    stages = forest.stages(table)
    assert stages.oob is None
    assert "Out of bag" not in str(stages)
    assert json.loads(json.dumps(stages.to_dict(), allow_nan=False))["out_of_bag"] is None
    assert tw.forest("penguins", n_estimators=5, oob_score=True).stages("penguins").oob > 0


def test_stages_are_drawn(tmp_path):
    stages = boosted().stages(mixed_table(3), test=mixed_table(8))
    ax = stages.draw(path=tmp_path / "stages.png")
    assert (tmp_path / "stages.png").read_bytes().startswith(b"\x89PNG")
    lines = [line.get_ydata() for line in ax.lines]
    np.testing.assert_allclose(lines[0], [100 * s.error for s in stages])
    np.testing.assert_allclose(lines[1], [100 * s.test_error for s in stages])
    np.testing.assert_allclose(lines[2], [100 * min(1, s.bound) for s in stages])
    assert (lines[3][0], ax.lines[3].get_xdata()[0]) == (100 * stages.best.test_error, stages.best.trees)
    assert ax.get_legend().get_texts()[1].get_text() == "test: the table, 60 rows"
    with pytest.raises(tw.ParameterError, match=r"a picture ends in \.png, \.svg or \.pdf"):
        boosted().draw_stages(mixed_table(3), path=tmp_path / "stages.gif")
    assert ENSEMBLES[4][0].draw_stages(mixed_table(3)).get_ylabel() == "RMSE"
    one = ensemble_of([tw.grow("penguins", max_depth=1)]).draw_stages("penguins")
    assert len(one.lines) == 2


# -- one row in words -------------------------------------------------------------------------------------------------


@each_ensemble
def test_answers_are_reported_without_working_out_their_reasons(ensemble, table, monkeypatch):
    rows = read(unusual_rows(table, 5))
    explained = [ensemble.explain(rows.take(np.array([i]))).sentences[0] for i in range(len(rows))]
    monkeypatch.setattr(Ensemble, "shap", None)
    monkeypatch.setattr(Ensemble, "explain", None)
    assert Predictor(ensemble, ensemble.encode(rows), Extras(ensemble)).sentences() == explained


def test_an_answer_in_words():
    forest = ensemble_of([tw.grow("penguins", max_leaf_nodes=n) for n in (2, 3, 4)])
    row = {"flipper_length_mm": 190, "bill_length_mm": 50, "island": "Dream"}
    explanation = forest.explain(row)
    assert explanation.sentences == (
        "species = Chinstrap: predicted by 2 of 3 trees, mean probability 71.2 %.",
        "The mean over the training rows is 19.8 %.",
        "In favour: bill_length_mm = 50 (+33.7 points), flipper_length_mm = 190 (+14.0 points),"
        " island = Dream (+3.7 points).",
    )
    chance = says(forest, read([row]))[0, 1]
    assert explanation.base + sum(c.contribution for c in explanation.columns) == pytest.approx(chance)
    assert explanation.output == pytest.approx(chance)
    assert forest.explain(read([row])).to_dict() == explanation.to_dict()
    voted = forest.with_(method="adaboost", votes=np.array([3.0, 1.0, 1.0])).explain(row)
    assert voted.sentences[0] == "species = Adelie: 60.0 % of the vote weight of 3 trees."
    assert any(sentence.startswith("Against: ") for sentence in voted.sentences)


def test_a_number_in_words():
    ensemble, table = ENSEMBLES[4]
    row = {name: cells[0] for name, cells in unusual_rows(table, 5).items()}
    explanation = ensemble.explain(row)
    assert explanation.output == pytest.approx(says(ensemble, read([row]))[0])
    assert explanation.base + sum(c.contribution for c in explanation.columns) == pytest.approx(explanation.output)
    assert "the mean of 5 trees, which predict " in explanation.sentences[0]
    assert any(sentence.startswith(("Raised by", "Lowered by")) for sentence in explanation.sentences)


def test_explain_is_for_one_row():
    with pytest.raises(tw.DataError, match=r"explain takes one row, but penguins has 344\. Select one of them"):
        ensemble_of([tw.grow("penguins", max_depth=1)]).explain("penguins")


# -- shown ------------------------------------------------------------------------------------------------------------


@each_ensemble
def test_forms(ensemble, table):
    rows = unusual_rows(table, 6)
    one = {name: cells[1] for name, cells in rows.items()}
    for found in (
        ensemble.agreement(rows),
        ensemble.importances(),
        ensemble.shap(rows),
        ensemble.stages(table),
        ensemble.explain(one),
    ):
        for form, text in renderings(found):
            CHECKS[form](text)
    assert len(ensemble.agreement(rows).to_frame()) == 12
    assert len(ensemble.stages(table).to_frame()) == 5


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: tw.extra_trees("xor", n_estimators=2, bootstrap=True), "extra_trees(n_estimators=2, bootstrap=True, "),
        (lambda: tw.extra_trees("xor", n_estimators=2), "extra_trees(n_estimators=2, criterion="),
        (lambda: tw.bagging("xor", n_estimators=2), "bagging(n_estimators=2, criterion="),
        (lambda: tw.bagging("xor", n_estimators=2, max_samples=1), "bagging(n_estimators=2, max_samples=1, "),
        (lambda: tw.forest("xor", n_estimators=2, class_weight={"1": 3}), 'class_weight={"1": 3.0}) on 4 rows'),
    ],
)
def test_the_summary_reports_what_differs_from_the_usual(made, message):
    assert message in dict(made().summary().lines())["made"]


def test_agreement_says_where_the_mean_decides():
    message = "The prediction is the class of largest mean probability, which may differ from the majority vote."
    assert message in str(tw.forest("xor", n_estimators=3).agreement("xor"))
    assert message not in str(tw.adaboost("admissions", n_estimators=3).agreement("admissions"))
