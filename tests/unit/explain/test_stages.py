"""The error after each tree: training rows, out-of-bag rows, and the plot."""

import numpy as np
import pytest

import treewise as tw
from treewise._lib.text import format_rounded

KNOWN = "looks like the training table: expect larger errors on new rows."


def numbers(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    return {"x": x, "z": rng.random(n), "y": 3 * x + rng.normal(0, 0.2, n)}


def said_below(found):
    return list(found.result_table().below)


def test_rows_of_growth_are_no_test():
    forest = tw.forest("penguins", n_estimators=5)
    stages = forest.stages("penguins")
    assert stages.is_training_data
    assert said_below(stages)[-1] == f"penguins {KNOWN}"
    both = forest.stages("penguins", test="penguins")
    assert (both.to_dict()["is_training_data"], both.to_dict()["test_is_training_data"]) == (True, True)
    assert said_below(both).count(f"penguins {KNOWN}") == 2


def test_other_rows_are_not_taken_for_those_of_growth():
    forest = tw.forest(numbers(), "y", n_estimators=5)
    stages = forest.stages(numbers(seed=1), test=numbers())
    assert (stages.is_training_data, stages.test_is_training_data) == (False, True)
    assert [KNOWN in line for line in said_below(stages)] == [False, True]


def test_out_of_bag_of_numbers_is_the_error_of_its_answers():
    table = numbers()
    forest = tw.forest(table, "y", n_estimators=60, oob_score=True)
    stages = forest.stages(table)
    missed = np.sqrt(np.mean((forest.oob_predict(table) - table["y"]) ** 2))
    assert stages.oob == pytest.approx(missed)
    assert stages.oob_r2 == forest.oob.score
    assert any(line.startswith("Out of bag, all trees: ") and "R² " in line for line in said_below(stages))
    assert stages.to_dict()["out_of_bag"] == stages.oob
    labels = [text.get_text() for text in stages.draw().get_legend().get_texts()]
    assert f"out of bag, all trees: {stages.oob_text}" in labels


def test_out_of_bag_of_numbers_on_other_rows_is_r2_alone():
    forest = tw.forest(numbers(), "y", n_estimators=60, oob_score=True)
    stages = forest.stages(numbers(seed=1))
    assert stages.oob is None
    assert stages.oob_text == f"R² {format_rounded(forest.oob.score)}"
    labels = [text.get_text() for text in stages.draw().get_legend().get_texts()]
    assert f"out of bag, all trees: {stages.oob_text}" in labels


def test_the_bound_of_boosting_does_not_squash_the_errors():
    stages = tw.adaboost("penguins", n_estimators=3).stages("penguins")
    worst = 100 * max(stage.error for stage in stages)
    ax = stages.draw()
    assert ax.get_ylim() == pytest.approx((0, 1.15 * worst))
    assert 100 * stages[0].bound > ax.get_ylim()[1]


def test_titles_begin_with_a_capital():
    for grow, message in (
        (tw.forest, "Forest for"),
        (tw.adaboost, "AdaBoost for"),
        (tw.extra_trees, "Extra-trees for"),
    ):
        assert grow("penguins", n_estimators=2).draw_stages("penguins").get_title(loc="left").startswith(message)
