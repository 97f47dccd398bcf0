"""The ensemble as a value: members, prefixes, equality and printing."""

import numpy as np
import pytest

import treewise as tw
from tests.support.ensembles import assert_same_arrays, ensemble_of
from treewise.ensemble import OutOfBag
from treewise.tree.history import HistoryStep


def test_members_are_trees():
    trees = [tw.grow("penguins", max_depth=d) for d in (1, 2, 3)]
    ensemble = ensemble_of(trees)
    assert len(ensemble) == len(ensemble.trees) == 3
    for t, tree in enumerate(trees):
        assert_same_arrays(tree.arrays, ensemble[t].arrays)
        assert ensemble[t].predict("penguins").tolist() == tree.predict("penguins").tolist()
        assert (
            (ensemble[t].classes, ensemble[t].columns)
            == (ensemble.classes, ensemble.columns)
            == (tree.classes, tree.columns)
        )
        assert ensemble[t].history == (*ensemble.history, {"did": "member", "options": {"tree": t}})
    assert ensemble[-1] == ensemble[2] == list(ensemble)[2] == ensemble.trees[2] == ensemble.trees[1:][1]
    assert ensemble.task == "classification"
    assert ensemble.na_values == trees[0].na_values


def test_the_first_trees_are_an_ensemble():
    trees = [tw.grow("penguins", max_depth=d) for d in (1, 2, 3)]
    ensemble = ensemble_of(trees, oob=OutOfBag(0.5, 3, 4))
    assert ensemble.first(2) == ensemble_of(trees[:2])
    assert ensemble.first(2).members.same_as(ensemble_of(trees[:2]).members)
    assert ensemble.first(2).oob is None
    assert ensemble.first(3) is ensemble
    for wrong in (0, 4, -1, 1.5, "2", None):
        with pytest.raises(tw.ParameterError, match=r"^first\(.*\): must be a whole number of trees, 1 to 3\.$"):
            ensemble.first(wrong)


def test_equal_explanations_have_equal_text():
    trees = [tw.grow("penguins", max_depth=d) for d in (1, 2)]
    ensemble = ensemble_of(trees)
    assert ensemble == ensemble_of(trees, notes=("a note",))
    assert hash(ensemble) == hash(ensemble_of(trees, notes=("a note",)))
    assert ensemble != ensemble_of(trees[::-1])
    assert ensemble != ensemble_of(trees, method="bagging")
    assert ensemble != ensemble.with_(votes=np.array([1.0, 2.0]))
    assert ensemble != trees[0]
    assert ensemble.__eq__(3) is NotImplemented


@pytest.mark.parametrize("make", [tw.forest, tw.adaboost])
def test_a_value_is_not_written_to(make):
    made = make("penguins", n_estimators=3)
    for each in (made, made.first(2), made.extend("penguins", 1)):
        assert not each.votes.flags.writeable
        assert not each.decreases.flags.writeable


def test_no_such_tree():
    ensemble = ensemble_of([tw.grow("xor"), tw.grow("xor")])
    with pytest.raises(IndexError, match=r"^no tree 2: there are trees 0 to 1$"):
        ensemble[2]
    with pytest.raises(IndexError, match=r"^no tree -3: there are trees 0 to 1$"):
        ensemble[-3]
    with pytest.raises(TypeError, match=r"^the number of a tree must be an integer, 0 to 1, not \"a\"$"):
        ensemble["a"]


def test_repr():
    assert repr(ensemble_of([tw.grow("penguins", max_depth=1)] * 2)) == (
        "<Ensemble forest of 2 trees · species: Adelie, Chinstrap, Gentoo · 4 leaves>"
    )
    numbers = tw.grow("penguins", "body_mass_g", max_depth=0, drop_missing_target=True)
    assert repr(ensemble_of([numbers])) == "<Ensemble forest of 1 tree · body_mass_g: a number · 1 leaf>"
    many = tw.grow({"x": list(range(6)), "y": list("abcdef")}, "y", max_depth=0)
    assert "y: a, b, c, d, … 6 classes" in repr(ensemble_of([many]))


# -- in a few lines ---------------------------------------------------------------------------------------------------


def test_summary_in_words():
    ensemble = ensemble_of([tw.grow("penguins", max_depth=d) for d in (1, 2, 3)], oob=OutOfBag(0.9375, 340, 344))
    step = {**ensemble.history[0], "ensemble": {"method": "forest", "n_estimators": 3, "table": "ab12"}}
    lines = str(ensemble.with_(history=(HistoryStep(step),))).splitlines()
    assert lines[0] == "trees   forest of 3 trees · target species: Adelie, Chinstrap, Gentoo"
    assert lines[1] == "size    leaves 2 to 7, median 4 · depth 1 to 3, median 2"
    assert lines[2] == ("unseen  error 6.2 % on 340 of 344 rows, each by the trees that have not seen it (out of bag)")
    assert lines[3].startswith("asks    flipper_length_mm ")
    assert lines[4] == 'made    forest(n_estimators=3, criterion="entropy", max_depth=1) on 344 rows'
    assert str(ensemble.first(1)).splitlines()[1] == "size    leaves 2 · depth 1"


def test_summary_as_data():
    ensemble = ensemble_of([tw.grow("penguins", max_depth=d) for d in (1, 3)])
    actual = ensemble.summary().to_dict()
    assert actual["leaves"] == {"least": 2, "median": 4.5, "most": 7}
    assert actual["depth"] == {"least": 1, "median": 2.0, "most": 3}
    assert actual["oob"] is None
    assert sum(actual["importances"].values()) == pytest.approx(1.0)
    one = {"flipper_length_mm": 1.0}
    taken = ensemble_of([ensemble[1]]).summary().columns
    shares = {name: (one.get(name, 0.0) + taken.get(name, 0.0)) / 2 for name in taken}
    assert actual["importances"] == pytest.approx(shares)
    assert list(actual["importances"].values()) == sorted(actual["importances"].values(), reverse=True)


def test_summary_of_numbers_and_of_nothing():
    numbers = tw.grow("penguins", "body_mass_g", max_depth=0, drop_missing_target=True)
    message = str(ensemble_of([numbers], oob=OutOfBag(0.25, 10, 342)))
    assert "unseen  R² 0.25 on 10 of 342 rows" in message
    assert "asks    no column: it always predicts the same" in message
    nothing = ensemble_of([numbers], oob=OutOfBag(float("nan"), 0, 342)).summary()
    assert "unseen  nothing is known on 0 of 342 rows" in str(nothing)
    assert nothing.to_dict()["oob"] == {"score": None, "rows": 0, "of": 342}


def test_depths_of_all_trees_at_once():
    trees = [tw.grow("penguins", max_depth=d) for d in (0, 3, 1, None)]
    assert ensemble_of(trees).members.depths.tolist() == [tree.depth for tree in trees]


def test_operations_of_single_trees_only_are_refused(capsys):
    boosted = tw.adaboost("admissions", n_estimators=2)
    for name in ("rules", "trace", "draw", "n_leaves"):
        with pytest.raises(AttributeError) as caught:
            getattr(boosted, name)
        assert str(caught.value) == (
            f"an ensemble has no {name}; only a single tree does. Use one of its trees, ensemble[0].{name}, or"
            " distill the ensemble into one tree, treewise.distill(ensemble, data)."
        )
    assert not hasattr(boosted, "rules")
    with pytest.raises(AttributeError, match=r"^'Ensemble' object has no attribute 'nonsense'$"):
        boosted.nonsense  # noqa: B018
    boosted.show()
    assert capsys.readouterr().out == f"{boosted}\n\n{boosted.rounds}\n"
