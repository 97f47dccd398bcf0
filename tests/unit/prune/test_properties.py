"""Properties of every pruning: nested, monotone, idempotent, consistently reported."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.random_tables import limit_examples, random_tables
from treewise.formats.model_file.model_file import dumps, loads
from treewise.prune.nested_trees import find_nested_trees
from treewise.prune.prune import METHODS as EVERY_METHOD
from treewise.tree.arrays import LEAF, STOPS

CLASSES_ONLY = ("pessimistic", "mdl")
METHODS = tuple(name for name in EVERY_METHOD if name != "cv")  # needs the table: test_cross_validation.py


def options_for(method, table):
    given = {"reduced_error": {"validation": table.data}, "cost_complexity": {"ccp_alpha": 0.05}}.get(method, {})
    if method == "gain":
        given = {"threshold": 0.1, "measure": "criterion"}
    return given


def grown(table):
    """Grow; a weight given as an array goes with this table."""
    return table.grow()


def paths(tree):
    """Return the leaves' paths: (column, branch) from the root down."""
    actual = set()
    for node in np.flatnonzero(tree.arrays.kind == LEAF).tolist():
        way = tree.path(node)
        actual.add(tuple((int(tree.arrays.column[up]), tree.branch(down)) for up, down in pairwise(way)))
    return actual


def is_pruning_of(small, large):
    """Tell whether every leaf of one is a node of the other."""
    inside = {way[:k] for way in paths(large) for k in range(len(way) + 1)}
    return paths(small) <= inside


@limit_examples()
@given(random_tables(), st.sampled_from(sorted(METHODS)))
def test_a_pruned_tree_is_part_of_the_tree(table, method):
    tree = grown(table)
    if tree.task == "regression" and method in CLASSES_ONLY:
        return
    pruned = tree.prune(method, **options_for(method, table))
    assert is_pruning_of(pruned, tree)
    assert loads(dumps(pruned)) == pruned
    step = pruned.history[-1]
    assert step["leaves"] == [tree.n_leaves, pruned.n_leaves]
    assert str(loads(dumps(pruned, complete=True)).history[-1]) == str(step)
    for decision in step["decisions"]:
        node, now = decision["node"], decision["now"]
        assert tree.arrays.kind[node] != LEAF
        if now is not None:
            assert pruned.arrays.rows[now] == tree.arrays.rows[node]
            assert (pruned.arrays.kind[now] == LEAF) == decision["cut"]
            assert not decision["cut"] or pruned[now].stop == f"pruned({method})"
    message = pruned.summary().stops
    assert sum(message.values()) == pruned.n_leaves


@limit_examples()
@given(random_tables(), st.sampled_from(sorted(METHODS)))
def test_pruning_twice_is_pruning_once(table, method):
    tree = grown(table)
    if tree.task == "regression" and method in CLASSES_ONLY:
        return
    once = tree.prune(method, **options_for(method, table))
    assert once.prune(method, **options_for(method, table)) == once


@limit_examples()
@given(random_tables(), st.sampled_from(["impurity", "error"]))
def test_the_sequence_is_nested_and_monotone(table, risk):
    tree = grown(table)
    nested = find_nested_trees(tree, risk)
    assert nested.n_leaves[0] == tree.n_leaves
    assert nested.n_leaves[-1] == 1
    assert (np.diff(nested.n_leaves) < 0).all()
    assert (np.diff(nested.alpha) >= 0).all()
    assert (np.diff(nested.alpha[1:]) > 0).all()
    assert (np.diff(nested.risk) >= -1e-9 * max(1.0, nested.root_risk)).all()
    members = [tree.prune(at=np.flatnonzero(nested.cut_at(k)).tolist()) for k in range(len(nested))]
    for larger, smaller in pairwise(members):
        assert is_pruning_of(smaller, larger)
    ones = nested.totals(tree, np.ones(len(tree)))
    assert ones.round().astype(int).tolist() == nested.n_leaves.tolist()


@limit_examples()
@given(random_tables())
def test_a_size_is_what_growth_gives_at_that_size(table):
    unlimited = {"max_depth": None, "max_leaf_nodes": None}
    tree = table.grow(**unlimited)
    for limit in [{"max_depth": 1}, {"max_depth": 2}, {"max_leaf_nodes": 1}, {"max_leaf_nodes": 3}]:
        small, mine = table.grow(**{**unlimited, **limit}), tree.prune(**limit)
        assert mine == same_stops(small, mine)


def same_stops(tree, other):
    """Take another tree's reasons to stop: growth looks at limits in an order, pruning knows only its own."""
    assert len(tree) == len(other)
    changed = tree.arrays.__class__(**{**vars_of(tree.arrays), "stop": other.arrays.stop})
    return tree.with_(arrays=changed)


def vars_of(arrays):
    return {name: getattr(arrays, name) for name in arrays.__dataclass_fields__}


@limit_examples(0.3)
@given(random_tables())
def test_rules_of_pessimism_and_gain_are_monotone(table):
    tree = grown(table)
    gains = [tree.prune("gain", threshold=t, measure="criterion").n_leaves for t in (0.0, 0.1, 0.5, 1e9)]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] == tree.n_leaves
    assert gains[-1] == 1
    if tree.task == "classification":
        sizes = [tree.prune("cost_complexity", ccp_alpha=a, risk="error").n_leaves for a in (0, 0.01, 0.1, 1)]
        assert sizes == sorted(sizes, reverse=True)


def test_every_method_has_a_reason_to_stop():
    assert {f"pruned({name})" for name in METHODS} == {stop for stop in STOPS if stop.startswith("pruned")}


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
def test_depth_100_000(regression):
    """A chain: every method walks it without recursion."""
    n = 100_000
    x = np.arange(n + 1, dtype=float)
    y = np.arange(n + 1) % 2 if not regression else x % 7
    tree = tw.grow({"x": x, "y": y}, "y", task="regression" if regression else "classification", max_depth=1)
    deep = chain(tree, n)
    assert deep.depth == n
    valid = {"x": x[::2000], "y": y[::2000]}
    options = {"reduced_error": {"validation": valid}, "cost_complexity": {"ccp_alpha": 1e-9}}
    options["gain"] = {"threshold": 1e-3, "measure": "criterion"}
    for method in METHODS:
        if not (regression and method in CLASSES_ONLY):
            assert deep.prune(method, **options.get(method, {})).n_leaves <= deep.n_leaves
    assert deep.prune(max_depth=10).n_leaves == 11
    assert deep.prune(max_leaf_nodes=10).n_leaves == 10


def chain(tree, n):
    """Make a chain of n thresholds, each with a leaf on its left, with statistics that add up."""
    nodes = 2 * n + 1
    a = {name: np.zeros(nodes, value.dtype) for name, value in vars_of(tree.arrays).items() if len(value) == 3}
    a["parent"][0] = -1
    a["parent"][1::2] = np.arange(0, nodes - 1, 2)
    a["parent"][2::2] = np.arange(0, nodes - 1, 2)
    inner = np.arange(0, nodes - 1, 2)
    a["kind"][inner] = 1
    a["column"][:], a["column"][inner] = -1, 0
    a["cut"][inner] = np.arange(n) + 0.5
    a["missing"][:], a["missing"][inner] = -1, 0
    a["other"][:] = -1
    a["stop"][:] = STOPS.index("pure")
    a["stop"][inner] = 0
    rows = np.ones(nodes, np.int64)
    rows[inner] = n + 1 - np.arange(n)
    a["rows"], a["weight"] = rows, rows.astype(float)
    a["impurity"][inner], a["gain"][inner] = 1.0, 1.0 / rows[inner]
    a["code_start"] = np.zeros(nodes + 1, np.int64)
    more = {"codes": np.empty(0, np.int32)}
    if tree.task == "classification":
        ones = np.zeros(nodes)
        ones[inner], ones[1::2], ones[-1] = (rows[inner] + 1) // 2, np.arange(n) % 2, n % 2
        counts = np.stack([rows - ones, ones], axis=1)
        present = counts > 0
        more |= {
            "count_start": np.append(0, np.cumsum(present.sum(axis=1))),
            "count_class": np.tile(np.array([0, 1], np.int32), nodes)[present.ravel()],
            "count_weight": counts[present],
            "value": np.empty(0),
            "spread": np.empty(0),
        }
        a["label"] = counts.argmax(axis=1).astype(np.int32)
    else:
        more |= {
            "count_start": np.zeros(nodes + 1, np.int64),
            "count_class": np.empty(0, np.int32),
            "count_weight": np.empty(0),
            "label": np.empty(0, np.int32),
        }
        a["value"] = np.where(np.arange(nodes) % 2, np.arange(nodes) // 2 % 7, 3.0).astype(float)
        a["spread"] = np.where(rows > 1, 2.0, 0.0)
    return tree.with_(arrays=tree.arrays.__class__(**{**a, **more}))
