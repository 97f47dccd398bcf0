"""The ensemble as a value: its trees, the first of them, equality, and how it says itself."""

import numpy as np
import pytest

import treewise as tw
from tests.ensemble.made import of_trees
from tests.ensemble.test_members import assert_same
from treewise.ensemble import OutOfBag


def test_members_are_trees():
    trees = [tw.grow("penguins", max_depth=d) for d in (1, 2, 3)]
    made = of_trees(trees)
    assert len(made) == len(made.trees) == 3
    for t, tree in enumerate(trees):
        assert_same(tree.arrays, made[t].arrays)
        assert made[t].predict("penguins").tolist() == tree.predict("penguins").tolist()
        assert (made[t].classes, made[t].columns) == (made.classes, made.columns) == (tree.classes, tree.columns)
        assert made[t].history == (*made.history, {"did": "member", "options": {"tree": t}})
    assert made[-1] == made[2] == list(made)[2] == made.trees[2] == made.trees[1:][1]
    assert made.task == "classification"
    assert made.na_values == trees[0].na_values


def test_costs_label_the_members():
    trees = [tw.grow("penguins", max_depth=1, cost={"Gentoo": {"Adelie": 500}})]
    made = of_trees(trees)
    assert made[0][1].prediction == trees[0][1].prediction == "Chinstrap"


def test_the_first_trees_are_an_ensemble():
    trees = [tw.grow("penguins", max_depth=d) for d in (1, 2, 3)]
    made = of_trees(trees, oob=OutOfBag(0.5, 3, 4))
    assert made.first(2) == of_trees(trees[:2])
    assert made.first(2).members.same_as(of_trees(trees[:2]).members)
    assert made.first(2).oob is None
    assert made.first(3) is made
    for wrong in (0, 4, -1, 1.5, "2", None):
        with pytest.raises(tw.ParameterError, match=r"^first\(.*\): must be a whole number of trees, 1 to 3\.$"):
            made.first(wrong)


def test_equal_is_equal_in_what_it_says():
    trees = [tw.grow("penguins", max_depth=d) for d in (1, 2)]
    made = of_trees(trees)
    assert made == of_trees(trees, notes=("a note",))
    assert hash(made) == hash(of_trees(trees, notes=("a note",)))
    assert made != of_trees(trees[::-1])
    assert made != of_trees(trees, method="bagging")
    assert made != made.with_(votes=np.array([1.0, 2.0]))
    assert made != trees[0]
    assert made.__eq__(3) is NotImplemented


def test_no_such_tree():
    made = of_trees([tw.grow("xor"), tw.grow("xor")])
    with pytest.raises(IndexError, match=r"^no tree 2: there are trees 0 to 1$"):
        made[2]
    with pytest.raises(IndexError, match=r"^no tree -3: there are trees 0 to 1$"):
        made[-3]
    with pytest.raises(TypeError, match=r"^a tree is asked for by its number, 0 to 1, not 'a'$"):
        made["a"]


def test_repr():
    assert repr(of_trees([tw.grow("penguins", max_depth=1)] * 2)) == (
        "<Ensemble forest of 2 trees · species: Adelie, Chinstrap, Gentoo · 4 leaves>"
    )
    numbers = tw.grow("penguins", "body_mass_g", max_depth=0, drop_missing_target=True)
    assert repr(of_trees([numbers])) == "<Ensemble forest of 1 tree · body_mass_g: a number · 1 leaf>"
    many = tw.grow({"x": list(range(6)), "y": list("abcdef")}, "y", max_depth=0)
    assert "y: a, b, c, d, … 6 classes" in repr(of_trees([many]))
