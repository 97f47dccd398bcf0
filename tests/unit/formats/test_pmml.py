"""PMML in two engines that share no code; what the format cannot hold is refused in words."""

import xml.etree.ElementTree as ET

import pytest

import treewise as tw
from tests.support.exports import _found, check
from tests.support.handmade_trees import chain
from tests.support.hostile_names import NAMES
from treewise.formats.export.pmml import record_counts

MODELS = {
    "numbers and levels": lambda: tw.grow("penguins"),
    "multiway": lambda: tw.grow("admissions", preset="id3"),
    "values": lambda: tw.grow("penguins", "body_mass_g", max_depth=5, drop_missing_target=True),
    "truth values": lambda: tw.grow(
        {"x": [True, False, None, True] * 3, "y": [1, 2, 3, 1] * 3}, "y", task="classification"
    ),
    "refuses missing": lambda: tw.grow({"x": [1, 2, 3, 4], "z": [*"abab"], "y": [*"pqqp"]}, "y", missing="error"),
    "names of outputs": lambda: tw.grow({"prediction": [1, 2, 3, 4], "leaf": [*"abab"], "y": [*"pqqp"]}, "y"),
}


@pytest.fixture(scope="module", params=["pypmml", "jpmml"])
def engine(request):
    return _found(request.param)


@pytest.mark.parametrize("name", MODELS)
def test_models_of_every_kind(engine, name):
    check(MODELS[name](), engine, 200)


def test_given_rows_and_laplace(engine):
    check(tw.grow("penguins", max_leaf_nodes=5), engine, 50, data="penguins", estimate="laplace")


def test_hostile_names_and_levels(engine):
    usable = [name for name in NAMES if name and all(c >= " " and not "\ud800" <= c <= "\udfff" for c in name)]
    first, second, *_ = usable
    for name in usable:
        levels = [first, second, name] * 4
        data = {name + "x": levels, "y": [0, 1, 2] * 4}
        check(tw.grow(data, "y", categorical="subset", task="classification"), engine, 10)


def test_every_text_is_well_formed_xml():
    for name in NAMES:
        tree = tw.grow({f"c{name}": [f"{name}a", f"{name}b", f"{name}c"] * 4, "y": [f"{name}p", "q", "q"] * 4}, "y")
        try:
            root = ET.fromstring(tree.export("pmml"))
        except tw.ParameterError as error:
            assert "which XML cannot hold" in str(error)
            continue
        assert root[1][0].get("name") == f"c{name}"


def test_counts_have_the_shares_as_quotients():
    assert record_counts([3 / 7, 0.0, 4 / 7]) == [3, 0, 4]
    assert record_counts([1.0]) == [1]
    odd = [0.1234567890123, 1 - 0.1234567890123]
    assert record_counts(odd) == odd


def test_what_pmml_cannot_hold_is_refused_in_words():
    with pytest.raises(tw.ParameterError, match='column "id" holds integers beyond'):
        tw.grow({"id": [2**60 + i for i in range(8)], "y": [0, 1] * 4}, "y").export("pmml")
    with pytest.raises(tw.ParameterError, match="2,000 tests deep"):
        chain(2000).export("pmml")
    with pytest.raises(tw.ParameterError, match="single tree"):
        tw.forest("penguins", n_estimators=2).export("pmml")
