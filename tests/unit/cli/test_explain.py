"""``treewise explain``: typed rows, rows of a table, counterfactuals, every format."""

import csv
import io
import json
from pathlib import Path

import pytest

import treewise as tw

ROW = "'flipper_length_mm=190, bill_length_mm=50'"


def test_a_typed_row(run, model):
    result = run(f"explain {model} --row {ROW}")
    assert result.lines[:4] == [
        "species = Chinstrap (92.1 %: 58 of 63 rows like this), because flipper_length_mm is 190 (<= 206.5)",
        "and bill_length_mm is 50 (> 43.35).",
        "It would be Adelie (96.7 %: 145 of 150 rows like that) if bill_length_mm were 43.3 (<= 43.35).",
        "island, bill_depth_mm, body_mass_g and sex were not given and are not needed.",
    ]
    assert result.lines[4].split() == ["step", "node", "condition", "value", "rows", "%", "Chinstrap", "change"]
    assert result.lines[-1].split() == ["2", "3", "bill_length_mm", ">", "43.35", "50", "63", "92.1", "+62.5"]
    two = run(f"explain {model} --row {ROW} --row flipper_length_mm=210,island=Dream")
    assert "row 2\nspecies = Chinstrap (62.5 %" in two.out
    lacking = run(f"explain {model} --row flipper_length_mm=190")
    assert lacking.code == 3
    assert 'no column "bill_length_mm", which node 1 tests' in lacking.err


def test_rows_of_a_table(run, model):
    result = run(f"explain {model} penguins --rows 1,300")
    assert result.lines[0] == "row 1"
    assert "row 300" in result.lines
    assert run(f"explain {model} penguins").err.startswith(
        "treewise: penguins has 344 rows: say which, as in --rows 1,5."
    )
    assert "penguins has rows 1 to 344" in run(f"explain {model} penguins --rows 345").err
    assert run(f"explain {model} penguins --rows one").code == 2
    assert run(f"explain {model}").code == 2
    assert run(f"explain {model} penguins --rows 1 --row {ROW}").code == 2
    assert run(f"explain {model} --rows 1").code == 2


def test_a_table_grows_its_tree_first(run):
    result = run("explain penguins --target species --max-depth 3 --rows 17")
    assert result.lines[:2] == [
        "row 17",
        "species = Adelie (99.3 %: 138 of 139 rows like this), because flipper_length_mm is 195 (<= 206.5)",
    ]
    typed = run("explain admissions --preset id3 --row GPA=4.0")
    assert "Class = P (100.0 %: 3 of 3 rows like this), because GPA is 4.0." in typed.out
    assert run("explain penguins admissions --rows 1").code == 2


def test_desired_predictions(run, model):
    desired = run(f"explain {model} --row 'flipper_length_mm=190, bill_length_mm=50, island=Dream' --desired Gentoo")
    assert "It would be Gentoo (100.0 %: 123 of 123 rows like that) if flipper_length_mm were" in desired.out.replace(
        "\n", " "
    )
    row = "'flipper_length_mm=190, bill_length_mm=50, island=Dream'"
    fixed = run(f"explain {model} --row {row} --desired Gentoo --fixed island")
    assert "No change that keeps island fixed would make it Gentoo." in fixed.lines
    assert run(f"explain {model} --row {ROW} --desired Gento").err.startswith(
        "treewise: --desired Gento: no such class."
    )
    assert 'no column "iland" in the tree' in run(f"explain {model} --row {ROW} --fixed iland").err
    assert run(f"explain {model} --row {ROW} --max-depth 3").code == 2


def test_forms(run, model):
    parsed = json.loads(run(f"explain {model} --row {ROW} --format json").out)
    assert parsed["prediction"] == "Chinstrap"
    assert parsed["base"] + sum(parsed["contributions"].values()) == pytest.approx(parsed["output"], abs=1e-12)
    assert len(json.loads(run(f"explain {model} penguins --rows 1,2 --format json").out)["explanations"]) == 2
    rows = list(csv.DictReader(io.StringIO(run(f"explain {model} --row {ROW} --format csv").out)))
    assert [row["condition"] for row in rows] == ["all rows", "flipper_length_mm <= 206.5", "bill_length_mm > 43.35"]
    assert run(f"explain {model} --row {ROW} -o why.md").code == 0
    assert Path("why.md").read_text().count("|") > 20


def test_shapley_values(run, model):
    row = "'flipper_length_mm=190, bill_length_mm=50, island=Dream'"
    result = run(f"explain {model} --row {row} --shap")
    assert result.lines[1].split() == ["column", "Adelie", "Chinstrap", "Gentoo"]
    assert result.lines[2].startswith("(all rows)")
    parsed = json.loads(run(f"explain {model} penguins --rows 3 --shap --format json").out)
    assert parsed["values"] == tw.load(model).shap("penguins").values[2].tolist()
    assert run(f"explain {model} --row flipper_length_mm=190 --shap").code == 3


def test_a_tree_written_by_hand(run, officials):
    result = run(f"explain {officials} admissions --rows 1")
    assert result.lines[1] == "class = P, because GPA is 4.0 and Recommendation is good."


def test_a_table_on_standard_input(run):
    rows = b"x,y\n1,a\n2,a\n3,b\n4,b\n"
    result = run("explain - --target y --rows 1", rows)
    assert result.lines[:2] == ["row 1", "y = a (100.0 %: 2 of 2 rows like this), because x is 1 (<= 2.5)."]
    nameless = run("explain - --rows 1", rows)
    assert nameless.code == 2
    assert "(Of a table on standard input, name the --target.)" in nameless.err.replace("\n", " ")
    tree = b"x <= 2.5 -> a\nx > 2.5 -> b\n"
    assert "y = b, because x is 4 (> 2.5)." in run("explain - --target y --row x=4", tree).out
    assert run("explain - --row x=4", tree).lines[0] == "class = b, because x is 4 (> 2.5)."


@pytest.mark.parametrize("option", ["--desired Gentoo", "--fixed island"])
def test_shapley_values_take_no_desired_prediction(run, model, option):
    result = run(f"explain {model} penguins --rows 1 --shap {option}")
    assert result.code == 2
    assert "--desired and --fixed are for the counterfactual, which --shap does not compute" in result.err


def test_a_tree_written_by_hand_knows_the_levels_of_the_table(run, tmp_path):
    tmp_path.joinpath("t.txt").write_text("University = top20 -> P\nUniversity otherwise -> N\n")
    assert "because University is top10 (not top20)." in run("explain t.txt admissions --rows 1").out
    assert (
        'because University is "top99" (not mentioned in the tree).' in run("explain t.txt --row University=top99").out
    )
