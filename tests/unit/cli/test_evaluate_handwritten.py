"""``treewise evaluate`` of a hand-written tree checks it leaf by leaf."""

import json


def test_a_written_tree_is_checked(run, officials):
    result = run(f"evaluate {officials} admissions --paths")
    assert result.code == 0
    assert result.lines[2] == " 3  GPA = 4.0 and Recommendation = normal and University = top20  → P"
    start = result.lines.index("Checked against admissions, column Class: 12 rows")
    assert "Every leaf predicts the majority of its rows." in result.lines[start:]
    actual = json.loads(run(f"evaluate {officials} admissions --format json").out)["check"]
    assert [leaf["node"] for leaf in actual["leaves"] if leaf["finding"] == "empty"] == [4, 6]


def test_a_grown_tree_where_it_is_asked_for(run, model):
    assert "Checked against" not in run(f"evaluate {model} penguins").out
    result = run(f"evaluate {model} penguins --check")
    assert "Every leaf has rows." in result.lines
    assert "check" not in json.loads(run(f"evaluate {model} penguins --format json").out)


def test_errors_are_reported(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,y\n1,a\n1,b\n1,b\n2,a\n")
    tmp_path.joinpath("t.txt").write_text("x <= 1 -> a\nx > 1 -> b\n")
    result = run("evaluate t.txt t.csv --target y")
    assert (
        "2 leaves do not predict the majority of their rows (nodes 1, 2). refit corrects this: 3 → 1 of 4 wrong."
        in " ".join(result.lines)
    )
    assert result.lines[-2:] == ["rows     alike in  but", "1, 2, 3  x 1       1 a, 2 b"]
