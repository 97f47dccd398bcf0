"""The fuzz targets accept their corpus and noise; so fuzzing finds faults of treewise rather than of the targets."""

import importlib.util
import random
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "fuzz"


def load(name):
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", FUZZ / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def restored_environment(monkeypatch):
    """The tools set TREEWISE_VERIFY for the rest of the process."""
    monkeypatch.setenv("TREEWISE_VERIFY", "0")


targets = load("targets")
reduce = load("reduce")


@pytest.mark.parametrize("name", [name for name in targets.TARGETS if name != "export"])
def test_targets_accept_corpus_and_noise(name):
    rng = random.Random(name)
    for content in targets.corpus(name)[:12]:
        targets.TARGETS[name](content)
        mutated = bytearray(content)
        for _ in range(3):
            mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        targets.TARGETS[name](bytes(mutated))
    targets.TARGETS[name](b"")


def test_exports_of_the_corpus_decide_as_the_model():
    for content in targets.corpus("export")[:3]:
        targets.export(content)


def test_a_fault_is_reduced_to_what_matters():
    x = [None if i == 33 else i / 3 for i in range(60)]
    table = {"x": x, "z": list("ab") * 30, "y": [i % 2 for i in range(60)]}
    case = reduce.Case(table, "y", {"max_depth": 3, "criterion": "gini"})
    small = reduce.shrink(case, lambda c: None in c.columns.get("x", ()) and c.settings.get("max_depth") == 3)
    assert small == reduce.Case({"x": [None], "y": [0]}, "y", {"max_depth": 3})


def test_growing_that_works_is_no_fault():
    assert not reduce.grow_fails(reduce.Case({"x": [1, 2], "y": [0, 1]}, "y", {}))
    assert reduce.grow_fails(reduce.Case({"x": [1, 2], "y": [0, 1]}, "y", {"max_depth": -1}), "ParameterError")
