"""The tree as a value: shape and nodes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import treewise as tw
from tests.support.handmade_trees import trees
from tests.support.hostile_files import chain
from treewise.show.text_tree.text_tree import show_text
from treewise.tree.arrays import DTYPES, Arrays


@settings(max_examples=50, deadline=None)
@given(trees())
def test_depths_branches_and_children_are_those_of_the_parents(tree):
    a = tree.arrays
    for node, parent in enumerate(a.parent.tolist()):
        assert tree.depths[node] == (0 if parent < 0 else tree.depths[parent] + 1)
        assert tree.branch(node) == (None if parent < 0 else tree.children(parent).index(node))
    assert sorted(child for node in range(len(tree)) for child in tree.children(node)) == list(range(1, len(tree)))


def test_depths_of_a_deep_tree():
    tree = chain(20_000)
    assert tree.depth == 20_000
    assert np.array_equal(np.bincount(tree.depths), [1, *[2] * 20_000])


@pytest.mark.parametrize("method", ["path", "children", "branch", "condition", "counts", "prediction", "split_at"])
@pytest.mark.parametrize("node", [-1, 99, "3", None, 1.0, [1, 2], pd.Series([1, 2])], ids=str)
def test_a_node_is_selected_by_its_number(method, node):
    tree = tw.grow("xor")
    message = r"^(no node -?\d+: the tree has nodes 0 to 6|a node number must be an integer, 0 to 6, not )"
    with pytest.raises((TypeError, IndexError), match=message):
        getattr(tree, method)(node)


def test_a_tree_written_by_hand_says_where_missing_values_go():
    note = 'note  missing values take the first branch of a split unless another one says "or missing"'
    assert note in show_text(tw.parse("x <= 1 -> a\nx > 1 -> b"))
    assert note not in show_text(tw.parse("x <= 1 -> a\nx > 1 or missing -> b"))
    assert note not in show_text(tw.grow("penguins", max_depth=1))


def test_the_dtypes_of_the_arrays_are_those_of_a_grown_tree():
    for table in ("penguins", "xor"):
        arrays = tw.grow(table, max_depth=2).arrays
        assert all(getattr(arrays, name).dtype == dtype for name, dtype in DTYPES.items())
    assert list(DTYPES) == list(Arrays.__dataclass_fields__)
