"""``treewise exercise`` and ``treewise check``: sheets in files, answers of one student and of a class."""

import json

import treewise as tw


def test_a_sheet_and_its_marks(run, tmp_path):
    for name in ("sheet.html", "sheet.tex", "sheet.md", "sheet.xml", "sheet.json"):
        done = run(f"exercise admissions --per total -o {name}")
        assert (done.code, done.out) == (0, "")
        assert done.err == f"6 blanks, 6 points → {name}\n"
    (tmp_path / "pat.txt").write_text("1 = 12\n2 = 7.1\n6 = University\n")
    for sheet in ("sheet.json", "sheet.html"):
        marked = run(f"check {sheet} pat.txt")
        assert marked.out.startswith("pat: 2 of 6 points · Which split is best?")
        assert "best split at node 0" in marked.out
    assert (tmp_path / "sheet.md").read_text() == run("exercise admissions --per total").out


def test_a_class(run, tmp_path):
    sheet = tw.exercise(random=7)
    (tmp_path / "a.json").write_text(json.dumps({"name": "Ada", "answers": sheet.key}))
    (tmp_path / "b.txt").write_text("1 = 0.5\n2 = 0.3\n")
    assert run("exercise --random 7 -o sheet.json -q").err == ""
    marked = run("check sheet.json a.json b.txt")
    assert marked.code == 0
    lines = marked.out.splitlines()
    assert lines[2].split() == ["Ada", "5", "5", "100.0"]
    assert lines[3].split()[:4] == ["b", "0", "5", "0.0"]
    assert "1 student lost points at 1: H(node) at node 0" in marked.out
    assert run("check sheet.json a.json b.txt --format csv").out.splitlines()[1] == "Ada,5,5,1,"


def test_options(run, tmp_path):
    (tmp_path / "typed.txt").write_text("GPA = 4.0 -> P\nGPA = 3.7 -> P\nGPA = 3.5 -> N\n")
    assert "What does the tree say" in run("exercise admissions --tree typed.txt").out
    assert "Prune the tree" in run("exercise outlier --validation outlier_validation --level 2").out
    assert "Round 2" in run("exercise admissions --topic boosting --nodes 2").out
    assert r"\documentclass" in run("exercise --random 3 --format latex").out
    assert "# Key" not in run("exercise --random 3 --no-key").out
    assert "Gini index" in run("exercise admissions --criterion gini").out
    assert (
        run("exercise --random 3 --level 3 --topic pruning").out
        == run("exercise --random 3 --level 3 --topic pruning").out
    )


def test_errors(run, tmp_path):
    assert "an exercise needs a table, or a seed: --random 7" in run("exercise").err
    assert "no format is known for .pdf" in run("exercise admissions -o sheet.pdf").err
    assert "--level 9: must be a whole number" in run("exercise admissions --level 9").err
    run("exercise admissions -o sheet.json")
    (tmp_path / "a.txt").write_text("77 = 1\n")
    wrong = run("check sheet.json a.txt")
    assert (wrong.code, wrong.err) == (3, 'treewise: a.txt: there is no blank "77": the sheet has 1 to 6.\n')
    assert run("check sheet.json none.txt").code == 3
    assert "this is not a sheet with its key" in run("check a.txt a.txt").err
