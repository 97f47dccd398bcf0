"""Decision tables in SpiffWorkflow's engine: exactly one rule matches; what DMN cannot hold is refused in words."""

import datetime as dt
import os
import xml.etree.ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings

import treewise as tw
from tests.support.exports import _found, check, tamed
from tests.support.handmade_trees import chain, trees
from tests.support.hostile_names import BATCHES, table

LONG = bool(os.environ.get("TREEWISE_LONG"))
DMN = "{https://www.omg.org/spec/DMN/20191111/MODEL/}"
MODELS = {
    "numbers and levels": lambda: tw.grow("penguins", max_leaf_nodes=7),
    "multiway": lambda: tw.grow("admissions", preset="id3"),
    "values": lambda: tw.grow("penguins", "body_mass_g", max_depth=2, drop_missing_target=True),
    "one leaf": lambda: tw.grow("penguins", max_depth=0),
    "truth values": lambda: tw.grow(
        {"x": [True, False, None, True] * 3, "y": [1, 2, 3, 1] * 3}, "y", task="classification"
    ),
    "refuses missing": lambda: tw.grow({"x": [1, 2, 3, 4], "z": [*"abab"], "y": [*"pqqp"]}, "y", missing="error"),
    "wide integers": lambda: tw.grow({"id": [2**60 + i * 7 % 12 for i in range(12)], "y": [*"aabbcc"] * 2}, "y"),
    "reserved words": lambda: tw.grow(
        {"if": [1, 2, 3, 4], "null": [*"abab"], "true": [1, 1, 2, 2], "y": [*"pqqr"]}, "y"
    ),
}


@pytest.fixture(scope="module")
def engine():
    return _found("spiffworkflow")


@pytest.mark.parametrize("name", MODELS)
def test_models_of_every_kind(engine, name):
    check(MODELS[name](), engine, 100_000 if LONG else 100)


def test_given_rows_and_laplace(engine):
    check(tw.grow("penguins", max_leaf_nodes=4), engine, 20, data="penguins", estimate="laplace")


@settings(max_examples=200 if LONG else 8, deadline=None, derandomize=not LONG,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])  # fmt: skip
@given(tree=trees())
def test_random_trees(engine, tree):
    try:
        check(tamed(tree), engine, 15)
    except tw.ParameterError as error:
        assert any(reason in str(error) for reason in ("holds datetimes", "surrogate", "infinite")), error


@pytest.mark.parametrize("names", BATCHES if LONG else BATCHES[::4], ids=lambda names: ascii(names[0])[:8])
def test_hostile_names_and_labels(engine, names):
    cells, target = table(names)
    check(tw.grow(cells, target, max_depth=2, categorical="multiway"), engine, 20)


@pytest.mark.parametrize("names", BATCHES, ids=lambda names: ascii(names[0])[:8])
def test_every_name_is_well_formed_xml(names):
    cells, target = table(names)
    tree = tw.grow(cells, target, max_depth=2, categorical="multiway")
    decision = ET.fromstring(tree.export("dmn")).find(f"{DMN}decision/{DMN}decisionTable")
    assert len(decision.findall(f"{DMN}input")) == len(tree.used_columns)


def test_deep_trees_are_flat_rules(engine):
    check(chain(100), engine, 10)
    deep = chain(100_000 if LONG else 3_000)
    assert deep.export("dmn").count("<rule ") == deep.n_leaves


def test_what_dmn_cannot_hold_is_refused_in_words():
    days = {"day": [dt.date(2024, 1, i) for i in range(1, 9)], "y": [0, 0, 0, 0, 1, 1, 1, 1]}
    with pytest.raises(tw.ParameterError, match='column "day" holds datetimes'):
        tw.grow(days, "y", task="classification").export("dmn")
    with pytest.raises(tw.ParameterError, match="single tree"):
        tw.forest("penguins", n_estimators=2).export("dmn")


def test_a_wrong_cut_and_two_rules_for_a_row_are_found(engine):
    tree = tw.parse("x <= 206.5 -> a\nx > 206.5 -> b")
    document = tree.export("dmn")
    off = document.replace("&gt; 206.5", "&gt; 206.50000000000003")
    with pytest.raises(tw.DataError, match=r"0 rules match \{'x': 206.50000000000003\}"):
        tw.verify_export(tree, off)
    with pytest.raises(tw.DataError, match=r"2 rules match \{'x': 206.4"):
        tw.verify_export(tree, document.replace("&gt; 206.5", "&gt; 206.4"))
    assert not tw.verify_export(tree, document.replace('"a"', '"b"')).ok
