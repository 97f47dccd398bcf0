"""AdaBoost rounds on the command line: one worked out, in every format, and all as a table."""

import json
import re
import sys

import pytest

import treewise as tw


@pytest.fixture
def boosted(run):
    """A few rounds on the twelve applicants."""
    assert run("grow admissions --ensemble adaboost --n-estimators 5 -o b.json -q").code == 0
    return tw.adaboost("admissions", n_estimators=5)


# -- one of them ----------------------------------------------------------------------------------------


def test_the_ending_of_a_file_is_the_form_of_a_round(run, boosted, tmp_path):
    worked_round = boosted.worked_round("admissions", 2)
    forms = {"txt": f"{worked_round}\n", "md": worked_round.to_markdown(), "csv": worked_round.to_csv()}
    for ending, written in forms.items():
        result = run(f"trace b.json admissions --round 2 -o r.{ending}")
        assert (result.code, result.out, result.err) == (0, "", f"→ r.{ending}\n")
        assert (tmp_path / f"r.{ending}").read_text() == written
    assert run("trace b.json admissions --round 2 -o r.dat --format csv").code == 0
    assert (tmp_path / "r.dat").read_text() == worked_round.to_csv()


def test_a_round_as_json_reports_what_it_comes_to(run, boosted, tmp_path):
    assert run("trace b.json admissions --round 2 -o r.json").code == 0
    message = json.loads((tmp_path / "r.json").read_text())
    second = boosted.rounds[1]
    assert [message[name] for name in ("round", "learner", "error", "vote")] == [2, second.learner, 0.15, second.vote]
    assert message["z"] == pytest.approx(second.z)
    assert len(message["rows"]) == 12


@pytest.mark.parametrize("ending", ["png", "html", "xyz"])
def test_a_round_has_no_other_forms(run, boosted, tmp_path, ending):
    result = run(f"trace b.json admissions --round 2 -o r.{ending}")
    assert result.code == 2
    assert ".txt, .md, .tex, .csv, .json" in result.err
    assert not (tmp_path / f"r.{ending}").exists()


def test_a_round_in_latex_and_with_blanks(run, boosted, tmp_path):
    worked_round = boosted.worked_round("admissions", 2)
    assert run("trace b.json admissions --round 2 --format latex").out == worked_round.render("latex")
    sheet = run("trace b.json admissions --round 2 --blanks").out
    assert sheet == worked_round.render(blanks=True)
    assert "0.15" not in sheet
    assert "1/6" not in sheet  # D_3 is asked for
    assert r"\varepsilon_{2}" in worked_round.render("latex")
    first = boosted.worked_round("admissions", 1).render("latex")
    assert r"D_{1}(i) = \tfrac{1}{12} + \tfrac{1}{12} = \tfrac{1}{6} = 0.16667" in first
    assert r"\log \frac{5/6}{1/6} = 0.80472" in first
    assert "$D_{1}$ & $D_{2}$" in first
    assert run("trace b.json admissions --round 2 --format csv --blanks").code == 2


@pytest.mark.parametrize("words", ["--node 0", "--column GPA", "--top 2", "--unit bits", "--per total"])
def test_what_is_asked_of_a_tree_is_not_asked_of_a_round(run, boosted, words):
    result = run(f"trace b.json admissions --round 2 {words}")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"treewise: {words.split()[0]} is for the trace of a tree")


def test_a_round_or_a_tree(run, boosted):
    result = run("trace b.json admissions --round 1 --tree 1")
    assert result.code == 2
    assert result.err.endswith("Give --round or --tree, not both.\n")


def test_a_round_with_the_weights_it_was_grown_with(run, tmp_path):
    rows = ["x,y,w", *(f"{i},{'ab'[i % 3 == 0]},{1 + i % 2}" for i in range(12))]
    tmp_path.joinpath("t.csv").write_text("\n".join(rows) + "\n")
    result = run("grow t.csv --target y --sample-weight w --ensemble adaboost --n-estimators 3 -o w.json -q")
    assert result.code == 0
    plain = run("trace w.json t.csv --round 1")
    assert plain.code == 0
    assert run("trace w.json t.csv --round 1 --sample-weight w").out == plain.out
    assert run("trace w.json t.csv --round 1 --sample-weight x").code != 0  # no longer passed over


# -- all of them ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["grow admissions --ensemble adaboost -q", "stages f.json admissions"])
def test_a_terminal_is_shown_the_first_and_the_last_and_told_how_to_see_all(run, monkeypatch, line):
    assert run("grow admissions --ensemble adaboost --n-estimators 50 -q -o f.json").out.count("→ P") >= 40
    left = "more rounds" if "grow" in line else "more stages"
    assert left not in run(line).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = run(line).lines
    assert any(re.fullmatch(f"… \\d+ {left}: --all", message) for message in shown)
    assert any(message.strip() == "…" for message in shown)
    assert left not in run(f"{line} --all").out


# -- a tree goes by the ending too ----------------------------------------------------------------------


def test_the_ending_of_a_file_is_the_form_of_a_trace(run, tmp_path):
    assert run("grow admissions -o m.json -q").code == 0
    for ending, form in {"txt": "text", "md": "markdown", "tex": "latex", "csv": "csv", "json": "json"}.items():
        assert run(f"trace m.json admissions -o t.{ending}").code == 0
        message = run(f"trace m.json admissions --format {form}").out
        assert (tmp_path / f"t.{ending}").read_text() == message
    result = run("trace m.json admissions -o t.xyz")
    assert result.code == 2
    assert "Known endings are .txt, .md, .tex, .csv, .json, .png, .svg, .pdf" in result.err


def test_a_picture_is_among_the_endings_of_what_is_drawn(run, boosted):
    for line in ("stages b.json admissions -o s.gif", "importance b.json -o i.gif"):
        assert ".html, .png, .svg, .pdf;" in run(line).err
