"""Other trees that are nearly as good, and adopting one: an edit like others."""

import numpy as np
import pytest

import treewise as tw
from treewise.edit.graft import tree_of_splits
from treewise.tree.history import HistoryStep, is_edit


def test_alternatives_are_those_of_optimal_on_the_training_rows():
    editor = tw.Editor(tw.grow("penguins", max_depth=2), "penguins")
    found = editor.alternatives(4, time_limit=60)
    expected = tw.optimal("penguins", "species", max_depth=2, max_leaf_nodes=4).alternatives(4)
    assert [one.tree.n_leaves for one in found] == [tree.n_leaves for tree in expected.trees]
    assert [one.losses.training.lost / 344 for one in found] == pytest.approx([r.objective for r in expected.results])
    for one, tree in zip(found, expected.trees, strict=True):
        assert (one.tree.arrays.rows == tree.arrays.rows).all()
        predicts = one.tree.predict("penguins"), editor.tree.predict("penguins")
        assert one.differs == pytest.approx(np.mean(predicts[0] != predicts[1]))


def test_an_adopted_tree_is_counted_logged_saved_and_made_again(tmp_path):
    editor = tw.Editor("species", "penguins", validation=0.3)
    editor.split(0)
    best = editor.alternatives(2, time_limit=60)[0]
    tree = editor.adopt(best.tree, reason="fewer columns")
    assert (tree, editor.losses(), editor.validation_tree) == (best.tree, best.losses, best.validation_tree)
    assert editor.log().steps[-1]["what"] == f"a tree of {', '.join(best.columns)}"
    editor.save(tmp_path / "tree.json")
    saved = tw.load(tmp_path / "tree.json")
    assert saved == tree
    assert saved.history[-1]["reason"] == "fewer columns"
    assert is_edit(saved.history[-1])
    assert editor.undo().n_leaves == 2
    assert editor.redo() == tree
    again = editor.replay("penguins", validation=0.3)
    assert (again.conflicts, again.tree) == ((), tree)
    without = editor.replay(tw.read("penguins").drop([best.columns[0]]))
    assert [c.number for c in without.conflicts if c.edit == "adopt"] == [2]
    assert f"the table has no column {best.columns[0]}" in str(without)


def test_columns_that_may_not_be_asked_are_in_no_alternative_and_are_not_adopted():
    editor = tw.Editor("species", "penguins")
    grown = tw.grow("penguins", max_depth=1)
    editor.forbid("bill_length_mm"), editor.lock("island")
    editor.split(0)
    assert not {"bill_length_mm", "island"} & {name for one in editor.alternatives(3) for name in one.columns}
    editor.forbid("flipper_length_mm")
    with pytest.raises(tw.ParameterError, match=r'"flipper_length_mm" is forbidden. Allow it first'):
        editor.adopt(grown)
    with pytest.raises(tw.ParameterError, match="must be a tree"):
        editor.adopt("a tree")
    with pytest.raises(tw.ColumnError, match="no column"):
        editor.adopt(tw.grow("admissions"))
    editor.lock(0)
    with pytest.raises(tw.ParameterError, match="is locked"):
        editor.adopt(tw.grow("penguins", max_depth=0))


def test_a_table_that_is_too_large_is_not_searched():
    rng = np.random.default_rng(0)
    editor = tw.Editor("y", {"x": rng.normal(size=60_000), "y": rng.choice(["a", "b"], 60_000)})
    with pytest.raises(tw.ParameterError, match=r"60,000 rows and 1 columns are too many"):
        editor.alternatives()


@pytest.mark.parametrize("name", ["admissions", "penguins", "food"])
def test_a_tree_is_made_of_its_splits(name):
    tree = tw.grow(name, **({"preset": "id3"} if name != "penguins" else {"missing": "branch"}))
    made = tree_of_splits(tree, [node.split for node in tree])
    for array in ("kind", "parent", "column", "missing", "cut", "codes", "ends"):
        assert np.array_equal(getattr(made.arrays, array), getattr(tree.arrays, array)), array


@pytest.mark.parametrize(
    "splits",
    [
        [],
        [None, None],
        [{"kind": "threshold", "column": "x", "missing": 0, "cut": 1.0}, None],
        [{"kind": "threshold", "column": "x", "missing": 2, "cut": 1.0}, None, None],
        [{"kind": "threshold", "column": "x", "missing": 0}, None, None],
        ["x <= 1", None, None],
        "x <= 1",
    ],
)
def test_a_step_of_a_file_whose_splits_are_no_tree_is_no_edit(splits):
    step = HistoryStep(did="edit", edit="adopt", path=[], node="all rows", what="", reason="", call={"splits": splits})
    assert not is_edit(step)
