"""Run the command line in a temporary directory."""

import io
import shlex
import sys

import pytest

from treewise.cli import main


class CommandResult:
    """Exit code, standard output and standard error of a command."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def lines(self):
        return self.out.splitlines()

    def __repr__(self):
        return f"exit {self.code}\n{self.out}\n--- stderr\n{self.err}"


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """A function that runs a command line in a temporary directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # lines are as long as in a file

    def command(line, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(line))
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return CommandResult(ended.value.code or 0, printed.out, printed.err)

    return command
