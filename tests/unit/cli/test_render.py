"""Rendering of results: bold only on a terminal, and names that contain control sequences."""

import pytest

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise.cli import render as showing
from treewise.errors import ParameterError


class Towns(Displayable):
    def result_table(self):
        return ResultTable("Towns", (ColumnSpec("town"),), [("Rome",), ("\x1b[31mBari",)])


def test_a_pipe_gets_plain_text(capsys):
    showing.present(Towns())
    assert capsys.readouterr().out == "Towns\ntown\nRome\n\\x1b[31mBari\n"


def test_a_terminal_gets_bold_headings_and_safe_names(capsys, monkeypatch):
    monkeypatch.setattr(showing, "has_style", lambda: True)
    showing.present(Towns())
    assert capsys.readouterr().out == "\x1b[1mTowns\x1b[22m\n\x1b[1mtown\x1b[22m\nRome\n\\x1b[31mBari\n"


def test_no_color_is_respected(monkeypatch):
    monkeypatch.setattr(showing.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not showing.has_style()


def test_files_are_plain_in_the_form_of_their_ending(tmp_path, capsys):
    showing.present(Towns(), output=str(tmp_path / "towns.txt"))
    assert (tmp_path / "towns.txt").read_text() == "Towns\ntown\nRome\n\\x1b[31mBari\n"
    showing.present(Towns(), output=str(tmp_path / "towns.csv"))
    assert (tmp_path / "towns.csv").read_text() == "town\nRome\n\x1b[31mBari\n"  # data stays what it is
    assert capsys.readouterr().out == ""
    with pytest.raises(ParameterError, match=r"no format is known for \.xls\. Known endings are \.txt, \.md, "):
        showing.present(Towns(), output=str(tmp_path / "towns.xls"))
