"""Damaged or malicious ensemble files raise ModelFormatError: no crash, no wrong ensemble."""

import faulthandler
import os
import tracemalloc
from functools import cache

import numpy as np
import pytest

import treewise as tw
from tests.support.ensembles import ensemble_of
from tests.support.hostile_files import (
    ROWS,
    assert_load_refused,
    check_answers,
    check_slowly,
    mutants,
    rendered,
    sealed,
    taken_apart,
)
from treewise.ensemble import Ensemble, OutOfBag
from treewise.formats.model_file import model_file
from treewise.formats.model_file.model_file import dumps, loads

LONG = bool(os.environ.get("TREEWISE_LONG"))
SHARDS = 6
MUTANTS = (60_000 if LONG else 1_800) // SHARDS
LEVELS = {"c": {"a", "b", "c", "d"}}


@cache
def small():
    """Thresholds with missing rows, multiway splits with a branch without rows, and a tree of one leaf."""
    options = {"categorical": "multiway", "kinds": LEVELS}
    trees = [tw.grow(ROWS, "y", **options), tw.grow(ROWS, "y", max_depth=0, **options)]
    trees.append(tw.grow(ROWS, "y", sample_weight=[0.5, 2, 1, 1, 1, 0.25, 1], **options))
    return ensemble_of(trees, oob=OutOfBag(0.5, 5, 7))


def subsets():
    return ensemble_of([tw.grow(ROWS, "y"), tw.grow(ROWS, "y", max_depth=1)])


def regression():
    data = {"t": np.array(["2020-01-01", "NaT", "2021-01-01", "2022-01-01"], "M8[D]"), "i": [2**60, 2**61, None, 5]}
    options = {"target": "y", "task": "regression"}
    table = {**data, "y": [0.1, 0.2, 5.5, 7.5]}
    return ensemble_of([tw.grow(table, **options), tw.grow(table, max_depth=1, **options)])


def medians():
    table = {"x": [1, 2, 3, None, 5], "c": list("abcab"), "y": [0.5, 0.25, 7.0, 8.0, 7.0]}
    return ensemble_of(
        [tw.grow(table, "y", task="regression", criterion="absolute_error", max_depth=d) for d in (1, 3)]
    )


def xor():
    return ensemble_of([tw.grow("xor")])


def one_leaf():
    return ensemble_of([tw.grow("xor", max_depth=0)])


def boosted():
    return tw.adaboost(ROWS, "y", 3, max_depth=2)


MODELS = {"small": small, "boosted": boosted, "regression": regression, "medians": medians}


@pytest.mark.parametrize("compact", [False, True])
def test_every_truncation_is_refused(compact):
    content = dumps(small(), compact).encode()
    for length in range(len(content)):
        assert_load_refused(content[:length])


def test_every_flipped_bit_is_refused():
    content = bytearray(dumps(ensemble_of([tw.grow("xor")])).encode())
    for at in range(len(content)):
        for bit in range(8):
            content[at] ^= 1 << bit
            assert_load_refused(bytes(content))
            content[at] ^= 1 << bit


def test_what_is_put_together_again_is_the_same():
    for make in MODELS.values():
        for compact in (False, True):
            text = dumps(make(), compact)
            assert sealed(rendered(taken_apart(text))).decode() == text


def changed(array, at, value, make=small):
    parts = taken_apart(dumps(make()))
    parts["nodes"][array][at] = value
    return sealed(rendered(parts))


def with_parts(make=small, **changes):
    return sealed(rendered({**taken_apart(dumps(make())), **changes}))


def with_nodes(make=small, **changes):
    parts = taken_apart(dumps(make()))
    return with_parts(make, nodes={**parts["nodes"], **changes})


NAN, INF = float("nan"), float("inf")
NODES = taken_apart(dumps(small()))["nodes"]
CRAFTED = {
    "a node less": (changed("size", 0, NODES["size"][0] - 1), "nodes.size adds up to"),
    "a tree of no nodes": (changed("size", 1, 0), "nodes.size[1] is 0: a tree has at least a root"),
    "sizes shifted": (
        with_nodes(size=[NODES["size"][0] + 1, NODES["size"][1], NODES["size"][2] - 1]),
        "tree 2 has more or fewer nodes than its splits have branches",
    ),
    "a leaf that asks": (changed("kind", -1, 1), "nodes.column has"),
    "an unknown kind": (changed("kind", 0, 6), "nodes.kind[0] is 6: unknown split kind"),
    "numbers asked for levels": (changed("kind", 0, 4, subsets), "a numeric column takes only threshold splits"),
    "a column of 9": (changed("column", 0, 9), "nodes.column[0] is 9: there are 2 columns"),
    "a column below": (changed("column", 0, -1), "nodes.column[0] is -1"),
    "a level that is none": (changed("codes", 0, 4), "the column has no such level"),
    "a NaN cut": (changed("cut", 0, NAN), "nodes.cut[0] is nan"),
    "a missing branch of 9": (changed("missing", 0, 9), "nodes.missing[0] is 9: there is no such branch"),
    "a missing branch below": (changed("missing", 0, -1), "nodes.missing[0] is -1: there is no such branch"),
    "an unknown stop": (changed("stop", 0, 99), "unknown stop reason"),
    "a stop below": (changed("stop", 0, -1), "nodes.stop[0] is -1: unknown stop reason"),
    "a kind below": (changed("kind", 0, -1), "nodes.kind[0] is -1: unknown split kind"),
    "no stop": (changed("stop", 0, 0), "a leaf has a reason to stop"),
    "a class of 3": (changed("count_class", 0, 3), "there are 3 classes"),
    "a count of 0": (changed("count_weight", 0, 0.0), "positive, finite"),
    "a count that is none": (changed("count_weight", 0, NAN), "positive, finite"),
    "counts that do not add up": (changed("count_weight", 0, 1e-300), "do not add up without rounding"),
    "fewer counts": (changed("n_counts", 0, 0), "nodes.count_class has"),
    "counts below": (changed("n_counts", 0, -1), "nodes.n_counts[0] is negative"),
    "no rows where there are some": (changed("rows", 0, 0), "a leaf without rows has the stop reason no_rows"),
    "rows below": (changed("rows", 0, -1), "no table has that many rows"),
    "2^53 rows": (changed("rows", 0, 2**53), "no table has that many rows"),
    "more missing than their branch": (changed("missing_rows", 0, 99), "the branch they take has fewer rows"),
    "missing rows below": (changed("missing_rows", 0, -1), "nodes.missing_rows[0] is -1"),
    "rows past counting": (with_nodes(xor, rows=[2**52, 2**52, 1, 1]), "the tree has no rows, or too many of them"),
    "no rows at all": (
        with_nodes(one_leaf, stop=[1], rows=[0], n_counts=[0], count_class=[], count_weight=[]),
        "nodes.size[0] is 1: the tree has no rows",
    ),
    "a leaf that counts for another": (
        with_nodes(xor, n_counts=[0, 2, 1, 1], count_class=[0, 1, 1, 0]),
        "nodes.n_counts[0] is 0: a leaf counts the classes of its rows, if it has any",
    ),
    "an infinite vote": (changed("votes", 1, INF), "nodes.votes[1] is inf: a vote weight is a number above 0"),
    "a NaN vote": (changed("votes", 1, NAN, boosted), "nodes.votes[1] is nan: a vote weight is a number above 0"),
    "a vote of 0": (changed("votes", 0, 0.0, boosted), "nodes.votes[0] is 0.0: a vote weight is a number above 0"),
    "a negative vote": (changed("votes", 0, -1.0, boosted), "nodes.votes[0] is -1.0: a vote weight is a number"),
    "too large a vote": (changed("votes", 0, 1e308, boosted), "nodes.votes[0] is 1e+308: a vote weight is a number"),
    "unequal votes in a forest": (changed("votes", 2, 2.0), "nodes.votes[2] is 2.0: each tree of forest has a"),
    "boosted numbers": (with_parts(regression, ensemble="adaboost"), "adaboost predicts classes"),
    "a negative decrease": (changed("decreases", 2, -1.0), "nodes.decreases[2]: it cannot be negative"),
    "a value that is none": (changed("value", 0, NAN, regression), "nodes.value[0] is nan"),
    "an infinite value": (changed("value", 0, INF, medians), "a predicted number is finite"),
    "a negative spread": (changed("spread", 0, -1.0, regression), "nodes.spread[0] is -1.0: it cannot be negative"),
    "a negative impurity": (changed("impurity", 0, -1.0, medians), "nodes.impurity[0] is -1.0"),
    "no weight": (changed("weight", 0, 0.0, regression), "rows have weight, and no rows have none"),
    "no trees": (with_nodes(trees=0), "nodes.trees is 0"),
    "no nodes": (with_nodes(count=0), "nodes.count is 0"),
    "trees that are none": (with_nodes(trees=None), "nodes.trees is nothing"),
    "an unknown method": (with_parts(ensemble="gradient"), 'ensemble is "gradient": it must be one of forest'),
    "a method that is none": (with_parts(ensemble=[]), "ensemble is a list"),
    "out of bag in a list": (with_parts(oob=[]), "oob is a list: it must be names and values"),
    "out of bag by half": (with_parts(oob={"score": 0.5}), "oob.of is missing"),
    "out of bag and more": (with_parts(oob={"score": 0.5, "rows": 1, "of": 2, "x": 1}), 'a field "x"'),
    "rows of a half": (with_parts(oob={"score": 0.5, "rows": 1.5, "of": 2}), "oob.rows is 1.5: it must be of type int"),
    "a criterion of the other task": (with_parts(criterion="poisson"), "criterion"),
    "a wrong setting": (with_parts(history=[{"did": "grow", "settings": {"max_depth": "2"}}]), "max_depth"),
    "options that are none": (with_parts(history=[{"did": "grow", "ensemble": []}]), "history[0].ensemble is a list"),
    "costs": (with_parts(history=[{"did": "grow", "cost": {"n": {"p": 5}}}]), "history[0] has costs"),
    "markers that are none": (with_parts(history=[{"did": "grow", "na_values": 5}]), "history[0].na_values is 5"),
    "a method of 3": (with_parts(history=[{"did": "grow", "ensemble": {"method": 3}}]), "ensemble.method is 3"),
    "half a tree": (with_parts(history=[{"did": "grow", "ensemble": {"n_estimators": 0.5}}]), "n_estimators is 0.5"),
    "errors in words": (with_parts(history=[{"did": "grow", "ensemble": {"errors": ["a"]}}]), "errors is a list"),
    "one number for all kinds": (with_nodes(kind={"fill": 0}), "nodes.kind cannot be a fill"),
    "one number for all sizes": (with_nodes(size={"fill": 1}), "nodes.size cannot be a fill"),
    "one number for all decreases": (with_nodes(decreases={"fill": 1.0}), "cannot be a fill"),
    "an empty array that is needed": (with_nodes(column=[]), "nodes.column has 0 numbers"),
    "a tree in the format of many": (sealed(rendered({**taken_apart(model_file.dumps(tw.grow("xor"))), "format": 3})),
                                     'line 4 should be "ensemble"'),
    "many in the format of a tree": (with_parts(format=2), 'line 4 should be "target"'),
}  # fmt: skip


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_files_are_refused_with_what_is_wrong(name):
    content, words = CRAFTED[name]
    assert_load_refused(content, words)


def test_a_test_that_no_row_reaches():
    """Both leaves of a split are said to be empty, and all that follows from that is right."""
    parts = taken_apart(dumps(xor()))
    nodes = parts["nodes"]
    nodes["stop"][:2], nodes["rows"][:2], nodes["n_counts"][:2] = [1, 1], [0, 0], [0, 0]
    del nodes["count_class"][:2], nodes["count_weight"][:2]
    assert_load_refused(sealed(rendered(parts)), "nodes.kind[1] is 1: no row reaches this test")


def test_a_declared_size_allocates_nothing():
    parts = taken_apart(dumps(small(), compact=True))
    for field, words in (("trees", "nodes.size has"), ("count", "nodes.kind has")):
        for count in (10**18, 2**63 - 1, 10**12):
            content = sealed(rendered({**parts, "nodes": {**parts["nodes"], field: count}}))
            tracemalloc.start()
            assert_load_refused(content, words)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
            tracemalloc.stop()
    many = np.array(parts["nodes"]["count"] * [2**31 - 1]).tolist()
    assert_load_refused(with_nodes(n_counts=many[: len(NODES["n_counts"])]), "nodes.count_class has")


@pytest.mark.parametrize("shard", range(SHARDS))
def test_mutants_are_refused_or_are_trees(shard):
    """A file with a right checksum either is refused, or holds sound trees that answer: nothing in between."""
    faulthandler.dump_traceback_later(7200 if LONG else 600, exit=True)  # a hang ends here
    make = list(MODELS.values())[shard % 4]
    accepted = 0
    try:
        for content in mutants(dumps(make(), compact=shard >= 4), shard, MUTANTS):
            try:
                made = loads(content, "m.json")
            except tw.ModelFormatError:
                continue
            assert isinstance(made, Ensemble)
            accepted += 1
            for tree in made:
                check_slowly(tree)
                check_answers(tree)
                assert loads(model_file.dumps(tree)) == tree
            parsed = loads(dumps(made))
            assert parsed == made
            assert (parsed.history, parsed.notes, parsed.oob) == (made.history, made.notes, made.oob)
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert accepted > MUTANTS // 100
