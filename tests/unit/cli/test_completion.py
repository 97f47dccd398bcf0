"""Shell completion, asked as a shell asks: by environment variables; and in a real bash."""

import os
import shutil
import subprocess
import sys

import polars as pl
import pytest

from treewise.cli.completion import SHELLS


def complete(line, **environment):
    """The completions of the last word of a line."""
    words = line.split(" ")
    requested = {"_TREEWISE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    completed = subprocess.run(
        [sys.executable, "-m", "treewise"],
        env=os.environ | requested | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (completed.returncode, completed.stderr) == (0, "")
    return [item.removeprefix("plain,") for item in completed.stdout.split()]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("treewise gr", ["grow"]),
        ("treewise grow pengu", ["penguins"]),
        ("treewise grow my_ta", ["file,my_ta"]),
        ("treewise predict pengu", ["file,pengu"]),  # a model: always a file
        ("treewise grow penguins --target bo", ["body_mass_g"]),
        ("treewise grow --target spe", []),  # no table yet
        ("treewise grow penguins --max-leaf", ["--max-leaf-nodes"]),
        ("treewise grow penguins --splitter ", ["best", "random"]),
        ("treewise grow penguins --missing ", ["learn", "branch", "error"]),
        ("treewise grow penguins --criterion gai", ["gain_ratio"]),
        ("treewise grow penguins --pruning c", ["cv", "cost_complexity", "collapse"]),
        ("treewise grow penguins -o tr", ["file,tr"]),
        ("treewise completion ", list(SHELLS)),
    ],
)
def test_completions(line, expected):
    assert complete(line) == expected


def test_columns_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("a.csv").write_text('size;"my; weight"\n1;2\n')
    assert complete("treewise grow a.csv --target si") == ["size"]
    tmp_path.joinpath("a.tsv").write_text("size\tsite\n1\t2\n")
    assert complete("treewise grow a.tsv -o m.json --target si") == ["size", "site"]
    pl.DataFrame({"size": [1], "site": [2]}).write_parquet("a.parquet")
    assert complete("treewise grow a.parquet --target si") == ["size", "site"]
    tmp_path.joinpath("bad.csv").write_bytes(b"\x00\xff")
    completed = subprocess.run(
        [sys.executable, "-m", "treewise"],
        env=os.environ
        | {
            "_TREEWISE_COMPLETE": "bash_complete",
            "COMP_WORDS": "treewise grow bad.csv --target ",
            "COMP_CWORD": "4",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.stderr == ""  # whatever the file is, the line being typed stays clean


def test_the_script_is_bash(tmp_path):
    if not shutil.which("bash"):
        pytest.skip("no bash")
    treewise = tmp_path / "treewise"
    treewise.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m treewise "$@"\n')
    treewise.chmod(0o755)
    script = (
        'eval "$(treewise completion)"; COMP_WORDS=(treewise grow penguins --target sp); COMP_CWORD=4; '
        '_treewise_completion treewise; echo "${COMPREPLY[@]}"'
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SHELL": "/bin/bash"}
    completed = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (completed.stdout, completed.stderr) == ("species\n", "")


def test_an_unknown_shell_is_named(run, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "name the shell: bash, zsh, fish." in run("completion").err
    assert '"tcsh" is not one of bash, zsh, fish.' in run("completion tcsh").err
