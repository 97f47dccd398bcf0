"""Ensemble files: exact, deterministic, small and validated."""

import copy
import json
import os
import pickle
import re
import tracemalloc
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.ensembles import ensemble_of
from tests.support.random_tables import limit_examples, random_tables
from treewise.ensemble import OutOfBag, PackedTrees
from treewise.errors import ModelFormatError
from treewise.formats.model_file import model_file
from treewise.formats.model_file.model_file import ENSEMBLE_FORMAT, dumps, loads
from treewise.formats.model_file.validate_packed import check_packed
from treewise.tree.arrays import LEAF

BEASTS = {
    "legs": [4, 4, 2, 2, 0, 0, 6, 8, None, 4, 2, 0],
    "skin": ["fur", "fur", "feather", "feather", "scale", "scale", "shell", "shell", "fur", None, "feather", "scale"],
    "id": [2**60, 2**60 + 1, 2**60 + 2, -(2**60), 2**53 + 1, 2**53, 0, 7, None, 2**60 + 3, 2**62, -1],
    "sort": list("mmbbffuummbf"),
    "mass": [0.1, 0.2, 9.5, 1e-9, 1e12, 3.0, 3.0, 0.7, 2.5, 1 / 3, 7.25, 6.02e23],
}


def beasts(target: str, **options):
    """Trees of several sizes and weights on one table, in one ensemble."""
    ignore = [name for name in ("sort", "mass") if name != target]
    weights = (None, [1, 2, 0, 1, 3, 1, 1, 2, 1, 1, 1, 1], np.linspace(0.1, 1, 12))
    trees = [tw.grow(BEASTS, target, ignore=ignore, sample_weight=w, max_depth=d, **options)
             for w, d in zip(weights, (None, 2, 0), strict=True)]  # fmt: skip
    return ensemble_of(trees)


LEVELS = {"skin": {"fur", "feather", "scale", "shell", "velvet"}}
ENSEMBLES = {
    "subsets": lambda: beasts("sort"),
    "multiway": lambda: beasts("sort", categorical="multiway", kinds=LEVELS),
    "empty branches from the root": lambda: beasts("sort", categorical="multiway", kinds=LEVELS, empty_branch="root"),
    "a branch of missing values": lambda: beasts("sort", missing="branch"),
    "gini": lambda: beasts("sort", criterion="gini", categorical="any"),
    "numbers": lambda: beasts("mass"),
    "numbers, multiway": lambda: beasts("mass", categorical="multiway", kinds=LEVELS),
    "medians": lambda: beasts("mass", criterion="absolute_error"),
    "rates": lambda: beasts("mass", criterion="poisson"),
    "votes": lambda: beasts("sort").with_(method="adaboost", votes=np.array([0.1, 1.5, 2 / 3])),
    "boosted": lambda: tw.adaboost(BEASTS, "sort", 5, ignore=["mass"], learning_rate=0.5),
    "a forest": lambda: tw.forest(BEASTS, "sort", 5, ignore=["mass"], oob_score=True),
    "out of bag": lambda: beasts("sort").with_(oob=OutOfBag(0.75, 11, 12), notes=("naïve ☃",)),
    "no columns": lambda: ensemble_of([tw.grow({"y": ["a", "a", "b"]}, "y")] * 2),
    "one leaf": lambda: ensemble_of([tw.grow({"x": [1, 2], "y": ["a", "a"]}, "y")]),
}


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_what_is_saved_is_what_is_loaded(name, compact, tmp_path):
    made = ENSEMBLES[name]()
    made.save(tmp_path / "m.json", compact=compact)
    loaded = tw.load(tmp_path / "m.json")
    assert loaded == made
    assert (loaded.history, loaded.notes, loaded.oob) == (made.history, made.notes, made.oob)
    for f in fields(PackedTrees):
        mine, theirs = getattr(made.members, f.name), getattr(loaded.members, f.name)
        assert mine.dtype == theirs.dtype
        assert not theirs.flags.writeable
    for t in range(len(made)):
        assert loaded[t] == made[t]
        assert loaded[t].history == made[t].history
    assert dumps(loaded, compact).encode() == (tmp_path / "m.json").read_bytes()
    assert loads(dumps(loaded, not compact)) == made


@given(st.lists(random_tables(task="classification", missing=False), min_size=1, max_size=3))
@limit_examples(0.5)
def test_any_trees_survive(tables):
    """Trees of one table each, saved as ensembles of one."""
    for table in tables:
        ensemble = ensemble_of([table.grow()] * 2)
        for compact in (False, True):
            assert loads(dumps(ensemble, compact)) == ensemble


@given(random_tables(task="regression"))
@limit_examples(0.5)
def test_any_trees_of_numbers_survive(table):
    ensemble = ensemble_of([table.grow()])
    assert loads(dumps(ensemble)) == ensemble


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_member_of_a_loaded_file_can_be_saved_by_itself(name):
    for tree in loads(dumps(ENSEMBLES[name]())):
        assert loads(model_file.dumps(tree)) == tree


def test_equal_ensembles_are_equal_files_however_they_came_about():
    made = ENSEMBLES["multiway"]()
    members = made.members.first(1).concat(made.members.between(1, 3))
    assert dumps(made.with_(members=members)) == dumps(made)
    assert dumps(made) == dumps(ENSEMBLES["multiway"]())


def test_pickles_and_copies_are_files():
    made = ENSEMBLES["numbers"]()
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.deepcopy(made) == copy.copy(made) == made
    assert dumps(made, compact=True).encode() in pickle.dumps(made)


def test_single_trees_are_still_written_as_they_were():
    assert json.loads(model_file.dumps(tw.grow("xor")))["format"] == 2
    assert json.loads(model_file.dumps(tw.parse("x <= 1 -> a\nx > 1 -> b")))["format"] == 1
    assert json.loads(dumps(ENSEMBLES["gini"]()))["format"] == ENSEMBLE_FORMAT == 3


def large():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 10)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=20_000) > 0).astype(int)
    return ensemble_of([tw.grow(x, y, sample_weight=rng.poisson(1.0, 20_000)) for _ in range(3)])


def test_a_file_is_small():
    """A quarter of a pickled scikit-learn forest, whose nodes take 80 bytes (64, and 8 for each of two classes)."""
    made = large()
    nodes = len(made.members.kind)
    assert nodes > 10_000
    assert len(dumps(made)) <= 20 * nodes
    assert made.members.nbytes <= 11 * nodes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cut": np.full(3, np.nan)}, "nodes.cut[0] is nan: values cannot be compared with it"),
        ({"rows": np.zeros(2, np.int64)}, "nodes.rows has 2 entries: 4 are needed"),
        ({"n_counts": np.array([1, -1, 2, 2])}, "nodes.n_counts[1] is -1: it cannot be negative"),
        ({"value": np.zeros(4)}, "nodes.value has 4 entries: 0 are needed"),
        ({"kind": np.array([1, 1, 0, 0, 1, 0, 1], np.uint8)}, "nodes.column has 3 entries: 4 are needed"),
        ({"kind": np.array([0, 1, 0, 1, 1, 0, 0], np.uint8)}, "nodes.kind[3]: tree 0 has more or fewer nodes"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(change, words, tmp_path):
    ensemble = ensemble_of([tw.grow("xor")])
    broken = ensemble.with_(members=replace(ensemble.members, **change))
    with pytest.raises(tw.ModelFormatError) as caught:
        broken.save(tmp_path / "m.json")
    assert str(caught.value).startswith(f"the ensemble cannot be saved: {words}")
    assert str(caught.value).endswith(". Nothing was saved.")
    assert os.listdir(tmp_path) == []


def test_many_trees_have_no_costs():
    with pytest.raises(tw.ModelFormatError) as caught:
        dumps(beasts("sort", cost={"m": {"b": 5}}))
    assert str(caught.value) == (
        "the ensemble cannot be saved: history[0] has costs, which ensembles do not support. Nothing was saved."
    )


def test_votes_and_decreases_go_with_the_trees():
    ensemble = ensemble_of([tw.grow("xor")] * 2)
    for change, words in (
        ({"votes": np.ones(3)}, "votes and decreases must have an entry for each tree"),
        ({"decreases": np.ones((2, 3))}, "votes and decreases must have an entry for each tree"),
        ({"votes": np.array([1.0, np.inf])}, r"nodes\.votes\[1\] is inf: a vote weight is a number above 0"),
        ({"votes": np.array([1.0, 2.0])}, r"nodes\.votes\[1\] is 2.0: each tree of forest has a vote of 1"),
        ({"decreases": np.array([[1.0, 2.0], [3.0, np.nan]])}, r"nodes\.decreases\[3\]: it cannot be negative"),
    ):
        with pytest.raises(tw.ModelFormatError, match=words):
            dumps(ensemble.with_(**change))


def test_loading_a_forest_takes_little_more_memory_than_its_file():
    rng = np.random.default_rng(0)
    table = {f"c{i}": rng.normal(size=20_000) for i in range(4)}
    forest = tw.forest({**table, "y": rng.integers(0, 2, 20_000).astype(str)}, "y", n_estimators=60, random_state=0)
    content = dumps(forest).encode()
    assert len(content) > 4_000_000
    tracemalloc.start()
    try:
        loaded = loads(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert loaded == forest
    assert peak < 3 * len(content)  # the content itself was there before


def test_a_wrong_node_among_many_is_named():
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=20_000), "y": rng.normal(size=20_000)}
    forest = tw.forest(table, "y", n_estimators=8, random_state=0)
    members = forest.members
    column = members.column.copy()
    column[-1] = 7
    with pytest.raises(ModelFormatError, match=r"there are 1 columns") as caught:
        check_packed(replace(members, column=column), forest.encodings, forest.target)
    index, first = map(int, re.fullmatch(r"nodes.column\[(\d+)\] is 7: .* node (\d+)\)", str(caught.value)).groups())
    assert first > 0  # nodes are checked in pieces
    assert index == np.count_nonzero(members.kind[first:] != LEAF) - 1  # the last test
