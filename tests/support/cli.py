"""Run the command line in a temporary directory."""

import io
import shlex
import sys

import pytest

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
