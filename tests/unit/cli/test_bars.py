"""Bars on the command line: coloured on a terminal, plain in a pipe."""

import re
import sys

from treewise.cli.render import coloured, print_styled


def become_a_terminal(monkeypatch):
    """Let standard output be a terminal with colours, as wide as one likes."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("treewise.cli.render.has_style", lambda: True)


def test_a_pipe_has_no_bars_unless_asked_for(run):
    plain = run("show penguins --max-leaf-nodes 4").out
    assert not re.search("[█▓▒░]", plain)
    requested = run("show penguins --max-leaf-nodes 4 --bars").out
    assert "█████▓▓▓▒▒▒▒" in requested
    assert "\x1b" not in requested


def test_a_terminal_with_colours_has_them(run, monkeypatch):
    become_a_terminal(monkeypatch)
    for command in ("show penguins --max-leaf-nodes 4", "grow penguins --max-leaf-nodes 4"):
        assert "\x1b[38;5;32m█████\x1b[39m" in run(command).out
    assert "█" not in run("show penguins --max-leaf-nodes 4 --no-bars").out


def test_one_without_colours_does_not(run, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "█" not in run("show penguins --max-leaf-nodes 4").out
    assert "\x1b" not in run("show penguins --max-leaf-nodes 4 --bars").out


def test_no_name_steers_the_terminal(capsys):
    print_styled(f"{coloured('██', 0)} \x1b[2J\x1b[31m red \x9b1m\nnext")
    assert capsys.readouterr().out == f"{coloured('██', 0)} \\x1b[2J\\x1b[31m red \\x9b1m\nnext\n"


def test_a_tree_of_numbers_just_grown_has_histograms(run, monkeypatch):
    grow = "penguins --target body_mass_g --drop-missing-target --max-leaf-nodes 2"
    assert "▂▄██▇▆▅▄▃▄▂▁" in run(f"show {grow} --bars").out
    assert run(f"grow {grow} -o m.json").out == run("show m.json").out
    assert "▂▄██▇▆▅▄▃▄▂▁" not in run("show m.json --bars").out
    become_a_terminal(monkeypatch)
    assert "▂▄██▇▆▅▄▃▄▂▁" in run(f"grow {grow}").out
