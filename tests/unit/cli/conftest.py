"""Fixtures for tests of the command line: a saved tree and a hand-written one."""

import pytest

from tests.support.handmade_trees import OFFICIALS


@pytest.fixture
def model(run):
    """A saved tree of penguins."""
    assert run("grow penguins --max-leaf-nodes 4 -o m.json").code == 0
    return "m.json"


@pytest.fixture
def officials(run, tmp_path):
    """The officials' tree of CS221 section 5, written by hand."""
    tmp_path.joinpath("stnordaf.txt").write_text(OFFICIALS)
    return "stnordaf.txt"
