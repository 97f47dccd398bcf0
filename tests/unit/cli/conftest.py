"""What every test of the command line needs: a way to run it, a saved tree, a tree written by hand."""

import io
import shlex
import sys

import pytest

from tests.support.handmade_trees import OFFICIALS
from treewise.cli import main


class Answer:
    """What a command printed, and how it ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def lines(self):
        return self.out.splitlines()

    def __repr__(self):
        return f"exit {self.code}\n{self.out}\n--- stderr\n{self.err}"


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def command(line, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(line))
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Answer(ended.value.code or 0, said.out, said.err)

    return command


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
