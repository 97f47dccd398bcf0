"""Editing a tree: each change gives a new tree with recomputed statistics."""

from itertools import pairwise

import numpy as np
import pytest

import treewise as tw
from treewise.train.edit import collapse_nodes


def test_suppose_we_pick():
    data = tw.datasets.four_points()
    root = tw.grow(data, "y", max_depth=0)
    one = root.split(0, "x1 <= 0.5", data)
    two = one.split(1, "x2 <= 0.5", data)
    assert [t.n_leaves for t in (root, one, two)] == [1, 2, 3]
    assert [two.condition(i) for i in range(len(two))] == [
        "all rows",
        "x1 <= 0.5",
        "x2 <= 0.5",
        "x2 > 0.5",
        "x1 > 0.5",
    ]
    assert [n.rows for n in two] == [4, 2, 1, 1, 2]
    assert (two.predict(data) == [1, 0, 0, 0]).all()
    assert [step["did"] for step in two.history] == ["grow", "split", "split"]
    assert root.n_leaves == 1, "the tree itself never changes"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("GPA = 4.0", ["GPA = 4.0", "GPA otherwise"]),
        ("GPA in {3.5, 3.7}", ["GPA in {3.5, 3.7}", "GPA = 4.0"]),
        ("University", ["University = top10", "University = top20", "University = top30"]),
    ],
)
def test_categories_can_be_split_by_hand(condition, words):
    tree = tw.grow("admissions", max_depth=0).split(0, condition, "admissions")
    assert [tree.condition(c) for c in tree[0].children] == words
    assert sum(tree[c].rows for c in tree[0].children) == 12


def with_holes(seed, task):
    rng = np.random.default_rng(seed)
    x, town = rng.integers(0, 9, 60).astype(float), rng.choice(["Bari", "Rome", "Turin", None], 60)
    x[rng.random(60) < 0.2] = np.nan
    y = rng.choice(["a", "b"], 60) if task == "classification" else rng.integers(0, 50, 60) / 4
    return {"x": x, "town": town, "y": y}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "settings",
    [
        {"criterion": "entropy"},
        {"criterion": "gain_ratio"},
        {"criterion": "gini", "categorical": "multiway"},
        {"criterion": "entropy", "missing": "branch"},
        {"criterion": "squared_error", "categorical": "one_value"},
        {"criterion": "absolute_error"},
    ],
    ids=str,
)
def test_missing_values_of_a_split_by_hand_go_where_growing_sends_them(seed, settings):
    task = "regression" if settings["criterion"].endswith("_error") else "classification"
    for column in ("x", "town"):
        data = with_holes(seed, task)
        del data[{"x": "town", "town": "x"}[column]]
        tree = tw.grow(data, "y", task=task, max_depth=1, **settings)
        if "present" in tree.condition(1) + tree.condition(2):
            continue
        condition = "town" if tree[0].split.kind == "multiway" else tree.condition(1).removesuffix(" or missing")
        byhand = tw.grow(data, "y", task=task, max_depth=0, **settings).split(0, condition, data)
        assert byhand[0].split.missing == tree[0].split.missing
        assert [n.rows for n in byhand] == [n.rows for n in tree]


def test_missing_values_of_a_split_by_hand_go_where_the_condition_says():
    data = {"x": [1.0, 2.0, 3.0, None, None], "y": ["a", "b", "b", "b", "b"]}
    root = tw.grow(data, "y", max_depth=0)
    assert root.split(0, "x <= 1.5", data)[0].split.missing == 1
    assert root.split(0, "x <= 1.5 or missing", data)[0].split.missing == 0
    whole = {"x": [1.0, 2.0, 3.0], "y": ["a", "b", "b"]}
    root = tw.grow(whole, "y", max_depth=0)
    assert root.split(0, "x <= 1.5", whole)[0].split.missing == 1
    text = root.split(0, "x <= 1.5 or missing", whole)
    assert text[0].split.missing == 0
    assert text.condition(1) == "x <= 1.5 or missing"
    gone = {"x": [None, None], "y": ["a", "b"]}
    assert [n.rows for n in root.split(0, "x <= 1.5", gone)] == [2, 2, 0]


def test_splitting_in_the_middle_renumbers():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    deeper = tree.split(2, "sex = MALE", "penguins")
    assert len(deeper) == len(tree) + 2
    assert deeper.condition(5) == tree.condition(3)
    assert [n.rows for n in deeper][5:] == [n.rows for n in tree][3:]
    assert all(p < i for i, p in enumerate(deeper.arrays.parent.tolist()))


@pytest.mark.parametrize(
    ("node", "condition", "message"),
    [
        (0, "GPA = 4.0", "node 0 is split already"),
        (99, "GPA = 4.0", "no node 99"),
        (1, "GPAA = 4.0", "GPAA"),
        (1, "GPA = 9.9", "9.9"),
        (1, "nonsense here", "nonsense here"),
    ],
)
def test_refusals(node, condition, message):
    tree = tw.grow("admissions", preset="id3")
    with pytest.raises(tw.TreewiseError, match=message):
        tree.split(node, condition, "admissions")


def test_refit_takes_the_numbers_of_the_new_table():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    half = tw.datasets.penguins().take(np.arange(0, 344, 2))
    refitted = tree.refit(half)
    assert [n.split for n in refitted] == [n.split for n in tree]
    assert refitted[0].rows == 172
    assert refitted[0].counts == {"Adelie": 76.0, "Chinstrap": 34.0, "Gentoo": 62.0}


def test_a_hand_written_tree_learns_its_counts():
    tree = tw.parse("GPA = 4.0 -> P\nGPA = 3.7 -> P\nGPA = 3.5 -> N", target="Class").refit("admissions")
    assert [n.rows for n in tree] == [12, 3, 5, 4]
    assert [tree.condition(n.id) for n in tree][1:] == ["GPA = 4.0", "GPA = 3.7", "GPA = 3.5"]
    assert tree[2].counts == {"N": 2.0, "P": 3.0}


def test_steps_go_from_the_root_to_the_tree_one_split_at_a_time():
    tree = tw.grow("penguins", max_leaf_nodes=6)
    seen = list(tree.steps())
    assert [t.n_leaves for t in seen] == list(range(1, 7))
    assert seen[-1] == tree
    for smaller, larger in pairwise(seen):
        assert larger.log_likelihood("penguins") >= smaller.log_likelihood("penguins")
    assert {n.stop for n in seen[1] if n.is_leaf} <= {"not_yet", "pure", "max_leaf_nodes"}
    for k, step in enumerate(seen, 1):
        assert [n.split for n in step] == [n.split for n in tw.grow("penguins", max_leaf_nodes=k)]


def test_cutting_keeps_the_rest():
    tree = tw.grow("admissions", preset="id3")
    small = collapse_nodes(tree, [3])
    assert [small.condition(i) for i in range(len(small))] == [
        "all rows",
        "GPA = 3.5",
        "GPA = 3.7",
        "Published = no",
        "Published = yes",
        "GPA = 4.0",
    ]
    assert small[3].counts == tree[3].counts
    assert small[3].prediction == "N"


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_table_is_read_again_as_it_was_grown_on(task):
    y = ["a", "b", "b", None, "a", "zz"] if task == "classification" else [1.5, 2.5, 2.5, None, 1.5, float("inf")]
    data = {"x": [1, 2, 3, 4, 1, 6], "w": [1, 2, 1, 1, 3, 0], "y": y}
    tree = tw.grow(data, "y", task=task, sample_weight="w", drop_missing_target=True)
    assert tree.refit(data) == tree
    assert tree.trace(data)[0].rows == 4
    assert tree.split(1, "x <= 0.5", data)[0].rows == 4


def test_a_weight_column_that_a_table_lacks_is_noted():
    data = {"x": [1, 2, 3], "y": ["a", "b", "b"], "fare": [1.0, 2.0, 3.0]}
    tree = tw.grow(data, "y", sample_weight="fare")
    without = {name: data[name] for name in ("x", "y")}
    message = 'has no column "fare", the weights the tree was grown with; every row has weight 1 here'
    assert sum(message in note for note in tree.refit(without).notes) == 1
    assert any("the tree was grown with weights" in note for note in tree.trace(without).notes)
    for notes in (tree.refit(data).notes, tree.refit(without, sample_weight=[1, 1, 1]).notes):
        assert not any("weigh" in note for note in notes)


def test_weights_given_as_an_array_are_remembered_to_be_missing():
    data = {"x": [1, 2, 3, 4], "y": list("abba")}
    tree = tw.grow(data, "y", sample_weight=[2, 1, 1, 3])
    assert tree.history[0]["sample_weight_array"] is True
    assert tree.refit(data, sample_weight=[2, 1, 1, 3]) == tree
    assert tree.refit(data, sample_weight=[2, 1, 1, 3]).notes == ()
    assert "given as an array" in tree.refit(data).notes[-1]
    stump = tw.grow(data, "y", sample_weight=[2, 1, 1, 3], max_depth=0)
    assert stump.split(0, "x <= 1.5", data, sample_weight=[2, 1, 1, 3])[1].weight == 2.0
    assert "sample_weight_array" not in tw.grow(data, "y").history[0]
