"""ONNX models: ensembles, integers and dates in both engines; what the format cannot hold is refused in words."""

import datetime as dt

import numpy as np
import pytest

import treewise as tw
from tests.support.cli import run
from tests.support.exports import _found, check
from tests.support.handmade_trees import chain
from tests.support.hostile_names import NAMES

pytest.importorskip("onnx")
__all__ = ["run"]


@pytest.fixture(params=["onnxruntime", "onnx"])
def engine(request):
    return _found(request.param)


def big_integers():
    rng = np.random.default_rng(0)
    number = 2**60 + rng.integers(0, 50, 200)
    day = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 900, 200)]
    flag = rng.random(200) < 0.5
    y = np.where((number % 7 < 3) ^ flag, "a", np.where([d.day < 12 for d in day], "b", "c"))
    return {"number": number, "day": day, "flag": flag, "y": y}


MODELS = {
    "forest": lambda: tw.forest("penguins", n_estimators=6),
    "values": lambda: tw.forest("penguins", target="body_mass_g", n_estimators=6, drop_missing_target=True),
    "adaboost": lambda: tw.adaboost("penguins", n_estimators=9),
    "two classes": lambda: tw.adaboost("admissions", n_estimators=5),
    "multiway": lambda: tw.grow("admissions", preset="id3"),
    "integers and dates": lambda: tw.grow(big_integers(), "y"),
    "forest of integers": lambda: tw.forest(big_integers(), "y", n_estimators=4),
    "refuses missing": lambda: tw.grow(big_integers(), "y", missing="error", max_depth=3),
    "huge values": lambda: tw.forest({"x": [1, 2, 3, 4], "y": [1.7e308, 1.6e308, 1e308, 1.5e308]}, "y", n_estimators=3),
    "truth values": lambda: tw.grow({"x": [1, 2, 3, 4], "y": [True, False, True, True]}, "y"),
    "numbers as classes": lambda: tw.grow({"x": [1, 2, 3, 4], "y": [3, 5, 3, 7]}, "y", task="classification"),
    "a stump among trees": lambda: tw.forest({"x": [1.0] * 9 + [2.0], "y": [*"aaaaaaaaab"]}, "y", n_estimators=6),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_every_kind(engine, name):
    model = MODELS[name]()
    check(model, engine, 150)


def test_sums_of_trees(engine):
    sklearn = pytest.importorskip("sklearn.ensemble")
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[::9, 1] = np.nan
    forest = tw.from_sklearn(sklearn.RandomForestRegressor(5, max_depth=5, random_state=0).fit(X, X[:, 0] ** 2))
    check(forest.with_(method="gradient_boosting"), engine, 150)
    check(forest, engine, 150)


def test_laplace_and_given_rows(engine):
    check(tw.grow("penguins", max_leaf_nodes=5), engine, 50, data="penguins", estimate="laplace")


def test_hostile_names_are_inputs_and_labels(engine):
    usable = [name for name in NAMES if "\0" not in name and not any("\ud800" <= c <= "\udfff" for c in name)]
    a, b, *_ = usable
    for name in usable:
        column = name if name not in (a, b) else "x"
        data = {column: [a, b, name, a, b, name], "prediction": [1, 2, 3, 1, 2, 3.5], "y": [a, b, name, b, b, name]}
        check(tw.grow(data, "y", categorical="multiway", min_samples_leaf=1, max_depth=3), engine, 20)


def test_a_deep_tree_is_refused_in_words():
    with pytest.raises(tw.ParameterError, match="more than 900 tests deep"):
        chain(1200).export("onnx")


def test_what_cannot_be_written_is_refused_in_words():
    tree = tw.grow({"city": ["Bari", "Rome", "Rome", "Bari"] * 5, "y": [0, 1, 1, 0] * 5}, "y")
    with pytest.raises(tw.ParameterError, match='column "city" has this level'):
        tree.export("onnx", missing="Rome")
    with pytest.raises(tw.ParameterError, match="tests no column"):
        tw.grow("penguins", max_depth=0).export("onnx")


def test_the_file_ending_names_the_format(tmp_path, run):
    tree = tw.grow("penguins", max_leaf_nodes=4)
    tree.save(tmp_path / "m.json")
    run("export m.json -o m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == tree.export("onnx")
    assert "2,344 of 2,344 rows agree" in run("verify m.json m.onnx penguins").out
