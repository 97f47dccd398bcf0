"""Packing and unpacking trees gives the same trees."""

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.ensembles import assert_same_arrays
from tests.support.random_tables import limit_examples, random_tables
from treewise.ensemble import PackedTrees
from treewise.ensemble.unpack import stack_heights, subtree_ends, tree_shape
from treewise.tree.arrays import STOPS, Arrays


def packed_and_opened(tree: tw.Tree) -> Arrays:
    return PackedTrees.of([tree.arrays], tree.criterion).unpack(0, tree.criterion, tree.empty_branch)


@given(random_tables(), st.sampled_from(["parent", "root"]))
@limit_examples(4.0)
def test_a_grown_tree_comes_back(table, empty_branch):
    tree = table.grow(empty_branch=empty_branch)
    assert_same_arrays(tree.arrays, packed_and_opened(tree))


@given(st.lists(random_tables(task="classification"), min_size=2, max_size=4))
@limit_examples(0.5)
def test_many_trees_are_each_itself(tables):
    trees = [table.grow(criterion="gini") for table in tables]
    members = PackedTrees.of([tree.arrays for tree in trees])
    assert len(members) == len(trees)
    for t, tree in enumerate(trees):
        assert_same_arrays(tree.arrays, members.unpack(t, "gini"))
        assert members.member(t).same_as(PackedTrees.of([tree.arrays]))
        assert members.first(t + 1).same_as(PackedTrees.of([tree.arrays for tree in trees[: t + 1]]))
    halves = members.between(0, 1).concat(members.between(1, len(trees)))
    assert halves.same_as(members)
    assert all(getattr(halves, f.name).dtype == getattr(members, f.name).dtype for f in fields(PackedTrees))


@pytest.mark.parametrize("empty_branch", ["parent", "root"])
@pytest.mark.parametrize("y", [["a", "b", "b", "b", "a", "b"], [1.0, 2.5, 2.5, 7.0, 1e-3, 4.0]])
def test_empty_branches(empty_branch, y):
    data = {"c": ["u", "u", "v", "v", "w", "w"], "x": [1, 2, 3, 4, 5, 6], "y": y}
    tree = tw.grow(data, "y", kinds={"c": {"u", "v", "w", "z"}}, categorical="multiway", empty_branch=empty_branch)
    assert STOPS.index("no_rows") in tree.arrays.stop
    assert (tree.arrays.other >= 0).any()
    assert_same_arrays(tree.arrays, packed_and_opened(tree))


def test_weights_that_are_no_whole_numbers_add_up_exactly():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    tree = tw.grow(x, rng.integers(0, 5, 400).astype(str), sample_weight=rng.random(400))
    assert_same_arrays(tree.arrays, packed_and_opened(tree), whole=False)


@pytest.mark.parametrize("size", [1e-300, 2.0**60, 1e300])
def test_weights_of_any_size(size):
    rng = np.random.default_rng(0)
    tree = tw.grow(rng.normal(size=(60, 2)), rng.integers(0, 3, 60).astype(str), sample_weight=rng.random(60) * size)
    assert_same_arrays(tree.arrays, packed_and_opened(tree), whole=False)


def test_many_classes():
    rng = np.random.default_rng(0)
    tree = tw.grow(rng.normal(size=(600, 2)), rng.integers(0, 400, 600), task="classification")
    assert len(tree.classes) > 256
    assert_same_arrays(tree.arrays, packed_and_opened(tree))


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_numbers_of_any_size(size):
    rng = np.random.default_rng(1)
    tree = tw.grow(rng.normal(size=(200, 2)), rng.normal(size=200) * size, min_samples_leaf=7)
    assert_same_arrays(tree.arrays, packed_and_opened(tree))


def test_means_far_from_zero_do_not_cancel():
    rng = np.random.default_rng(2)
    tree = tw.grow(rng.normal(size=(5000, 2)), 1e9 + rng.normal(size=5000), min_samples_leaf=3)
    actual = packed_and_opened(tree)
    np.testing.assert_allclose(actual.value, tree.arrays.value, rtol=1e-14)
    np.testing.assert_allclose(actual.spread, tree.arrays.spread, rtol=1e-6)


def test_a_deep_chain():
    x = np.arange(3000.0)
    tree = tw.grow({"x": x, "y": np.where(x % 2 == 0, "a", "b")}, "y", criterion="error")
    assert tree.depth > 10
    assert_same_arrays(tree.arrays, packed_and_opened(tree))
    deep = tree_shape(np.array([2, 0] * 50_000 + [0]), np.array([0, 100_001]))
    assert deep.parent[-1] == 99_998
    assert deep.branch[-1] == 1


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 3))
@limit_examples(2.0)
def test_parents_and_ends_as_a_stack_finds_them(wanted, trees_more):
    """Against a plain stack, over several trees at once."""
    forest, start = [], [0]
    for shift in range(1 + trees_more):
        open_places, i = 1, 0
        while open_places:  # cut the random numbers to a whole tree: leaves once they run out
            b = wanted[(i + shift) % len(wanted)] if i < 40 else 0
            forest.append(b)
            open_places, i = open_places - 1 + b, i + 1
        start.append(len(forest))
    branches, starts = np.array(forest), np.array(start)
    actual = tree_shape(branches, starts)
    parent, branch, ends = [], [], [0] * len(forest)
    for first, last in pairwise(start):
        stack = [(-1, -1)]
        for node in range(first, last):
            up, which = stack.pop()
            parent.append(up)
            branch.append(which)
            stack.extend((node, k) for k in reversed(range(forest[node])))
    for node in reversed(range(len(forest))):
        below = [child for child in range(node + 1, len(forest)) if parent[child] == node]
        ends[node] = max([ends[child] for child in below], default=node + 1)
    assert actual.parent.tolist() == parent
    assert actual.branch.tolist() == branch
    assert stack_heights(branches, starts).min() >= 0
    assert subtree_ends(actual.height, starts).tolist() == ends


def test_arrays_as_the_core_has_them_pack_to_the_same():
    trees = [tw.grow("penguins", max_depth=d).arrays for d in (1, 4)]
    members = PackedTrees.of(trees)
    parts = [members.member(t) for t in range(2)]
    wide = [{f.name: getattr(p, f.name).astype(np.float64 if f.name == "cut" else np.int64)
             for f in fields(PackedTrees) if f.name != "start" and len(getattr(p, f.name))} for p in parts]  # fmt: skip
    assert PackedTrees.of(wide).same_as(members)


def test_packed_is_small():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 10)).astype(np.float32)
    trees = [tw.grow(x, (x[:, 0] + rng.normal(size=20_000) > 0).astype(int)).arrays for _ in range(2)]
    members = PackedTrees.of(trees)
    nodes = int(members.start[-1])
    assert nodes > 10_000
    assert members.nbytes <= 11 * nodes
    assert sum(getattr(trees[0], f.name).nbytes for f in fields(Arrays)) > 90 * len(trees[0])


def test_another_number_is_another_pack():
    tree = tw.grow("penguins")
    members = PackedTrees.of([tree.arrays])
    assert not members.same_as(PackedTrees.of([replace(tree.arrays, cut=tree.arrays.cut * 2)]))
    assert not members.same_as(members.concat(members))
    with pytest.raises(ValueError, match="read-only"):
        members.cut[0] = 1


def test_no_such_member():
    members = PackedTrees.of([tw.grow("xor").arrays])
    with pytest.raises(IndexError, match=r"^no member 1: there are 0 to 0$"):
        members.unpack(1)
    with pytest.raises(IndexError, match=r"^no members 0 to 1: there are 0 to 0$"):
        members.first(2)
