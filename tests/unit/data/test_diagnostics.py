"""Notes on tables that a tree would learn the wrong thing from."""

import re

import numpy as np
import pytest

import treewise as tw
from treewise.cli.param_types import in_options


def notes_of(column, target=None, **options):
    target = [i % 2 for i in range(len(column))] if target is None else target
    return tw.grow({"c": column, "x": [i % 3 for i in range(len(column))], "y": target}, "y", **options).notes


def test_names_are_noted_by_their_rows_per_level():
    names = [f"n{i % 60}" for i in range(100)] + [f"once{i}" for i in range(40)]
    (note,) = notes_of(names)
    assert note.startswith("c: 100 levels in 140 rows, 60 of them once; a tree can memorise it.")


def test_levels_of_many_rows_are_not_noted():
    assert not notes_of([f"n{i % 61}" for i in range(900)])


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ([999] * 60 + list(range(20)) * 2, "c: 999 in 60 % of the rows, the others from 0 to 19."),
        ([-1] * 30 + [1.5, 2.5] * 35, "c: -1 in 30 % of the rows, the others from 1.5 to 2.5."),
        (["unknown"] * 50 + ["a", "b"] * 25, 'c: "unknown" in 50 % of the rows, a level like any other.'),
        (["Unknown"] * 50 + ["a", "b"] * 25, 'c: "Unknown" in 50 % of the rows, a level like any other.'),
    ],
)
def test_sentinels_are_noted(column, text):
    (note,) = notes_of(column)
    assert note.startswith(text)
    assert 'If that means missing: na_values=["' in note


@pytest.mark.parametrize(
    "column",
    [
        [999] * 5 + list(range(19)) * 5,  # too few rows
        [99] * 50 + list(range(60, 110)),  # not far from the others
        [-1] * 50 + [-2, 3] * 25,  # negative numbers are ordinary here
        ["unknown"] * 100,  # nothing else
    ],
)
def test_ordinary_values_are_not(column):
    assert not notes_of(column)


def test_a_key_as_the_target_is_noted():
    column = list("ab") * 20
    assert notes_of(column, [f"id{i}" for i in range(40)])[0].startswith("y: 40 classes in 40 rows, as in a key")
    keys = np.random.default_rng(0).permutation(40) + 1000
    assert notes_of(column, keys.tolist())[0].startswith("y: 40 different whole numbers in 40 rows, as in a key")


def test_a_target_of_one_class_is_noted():
    assert notes_of(["a", "b"], ["yes", "yes"]) == (
        "y: only one class, yes, so there is nothing to learn: a single leaf",
    )


def test_pruning_that_leaves_nothing_reports_what_the_full_tree_began_with():
    rng = np.random.default_rng(0)
    n = 300
    x = rng.normal(size=n)
    y = rng.random(n) < np.where(x > 0.7, 0.65, 0.15)
    data = {"name": [f"n{v}" for v in rng.integers(0, 150, n)], "x": x, "y": y}
    remaining = tw.grow(data, "y", pruning="cv", ignore=["name"]).n_leaves
    text = (
        "no split survived pruning: the tree is a single leaf. The full tree began with name;"
        f' without it, {remaining} leaves remain: ignore=["name"]'
    )
    with pytest.warns(UserWarning, match=re.escape(text)) as seen:
        tree = tw.grow(data, "y", pruning="cv", selection="gain", min_level_rows=1)
    assert seen[0].filename == __file__
    assert tree.n_leaves == 1
    assert text in tree.notes
    columns = {name: values for name, values in data.items() if name != "y"}
    with pytest.warns(UserWarning, match=re.escape(text)) as seen:
        tw.TreeClassifier(pruning="cv", selection="gain", min_level_rows=1).fit(columns, y)
    assert seen[0].filename == __file__
    with pytest.warns(UserWarning, match="without it, none survives either"):
        tw.grow(data, "y", pruning={"method": "gain", "threshold": 0.9})


def test_a_single_leaf_within_one_standard_error_names_the_rule_that_takes_more():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    data = {"x": x, "y": np.where(rng.random(120) < np.where(x > 1, 0.6, 0.3), "b", "a")}
    with pytest.warns(UserWarning, match="no split survived"):
        tree = tw.grow(data, "y", pruning="cv")
    best = tw.grow(data, "y", pruning={"method": "cv", "rule": "best"})
    assert tree.n_leaves == 1 < best.n_leaves
    assert tree.notes[-1] == (
        f"a tree of {best.n_leaves} leaves has the least cross-validated loss, but not by more than one standard error;"
        ' to take it: pruning={"method": "cv", "rule": "best"}'
    )
    assert in_options(tree.notes[-1]).endswith("to take it: --pruning cv:rule=best")


def test_a_tree_worse_than_the_baseline_is_reported():
    rng = np.random.default_rng(0)
    tables = [{"x": rng.normal(size=300), "y": rng.random(300) < 0.2} for _ in range(2)]
    evaluation = tw.grow(tables[0], "y").evaluate(tables[1])
    assert evaluation.error > evaluation.baseline_error
    text = 'worse than the baseline: always predicting "False" would do better on this table'
    assert text in evaluation.notes
    assert text in str(evaluation)
    numbers = [{"x": t["x"], "y": rng.normal(size=300)} for t in tables]
    evaluation = tw.grow(numbers[0], "y").evaluate(numbers[1])
    assert any(note.startswith("worse than the baseline") for note in evaluation.notes)
    assert not tw.grow("penguins").evaluate("penguins").notes[1:]


def test_stability_judges_the_split_and_not_only_its_column():
    rng = np.random.default_rng(0)
    data = {"name": [f"n{v}" for v in rng.integers(0, 60, 300)], "y": rng.integers(0, 2, 300)}
    result = tw.stability(data, "y", resamples=8, max_depth=1, selection="gain", min_level_rows=1)
    assert "The root split is uncertain, though its column is stable" in result.paragraph
