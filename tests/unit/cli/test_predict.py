"""``treewise predict`` and ``evaluate``."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import treewise as tw
from treewise.ensemble.predict import ForestPredictor
from treewise.predict import predict as predicting

# -- predict ------------------------------------------------------------------------------------------


def test_predict_writes_csv(run, model):
    result = run(f"predict {model} penguins --proba --keep island")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    tree = tw.load(model)
    assert list(rows[0]) == ["island", "prediction", "p_Adelie", "p_Chinstrap", "p_Gentoo"]
    assert [row["prediction"] for row in rows] == tree.predict("penguins").tolist()
    assert np.allclose([float(row["p_Gentoo"]) for row in rows], tree.predict_proba("penguins")[:, 2])
    saved = run(f"predict {model} penguins -o out.csv")
    assert (saved.out, saved.err) == ("", "344 rows → out.csv (prediction)\n")
    assert len(Path("out.csv").read_text().splitlines()) == 345


def test_predict_needs_only_what_the_tree_asks(run, model, tmp_path):
    tmp_path.joinpath("new.csv").write_text("zzz,island,flipper_length_mm,bill_length_mm\n1,Dream,210,40\n")
    assert run(f"predict {model} new.csv").out == "prediction\nChinstrap\n"
    tmp_path.joinpath("new.csv").write_text("island,bill_length_mm\nDream,40\n")
    result = run(f"predict {model} new.csv")
    assert result.code == 3
    assert 'new.csv has no column "flipper_length_mm", which node 0 tests' in result.err


def test_predict_quantiles_of_leaves(run):
    run("grow penguins --target body_mass_g --drop-missing-target --max-depth 2 -q -o mass.json")
    tree = tw.load("mass.json")
    result = run("predict mass.json penguins --quantiles 0.1,0.5,0.9 --leaf-rows penguins")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert list(rows[0]) == ["prediction", "q_0.1", "q_0.5", "q_0.9"]
    actual = [[float(row[f"q_{q}"]) for q in (0.1, 0.5, 0.9)] for row in rows]
    assert np.array_equal(actual, tree.predict_quantiles("penguins", "penguins"))
    assert "q_…: quantiles of the targets in the leaf, among the rows of penguins" in result.err
    typed = run("predict mass.json --row 'species=Gentoo, sex=FEMALE' --quantiles 0.5,1 --leaf-rows penguins")
    low, high = tree.predict_quantiles({"species": "Gentoo", "sex": "FEMALE"}, "penguins", (0.5, 1))
    assert typed.lines[1] == f"quantiles of the leaf  0.5: {low:,g}  1: {high:,g}"


def test_predict_refuses_quantiles_that_cannot_be(run, model):
    run("grow penguins --target body_mass_g --drop-missing-target --max-depth 2 -q -o mass.json")
    run("grow penguins --ensemble forest --n-estimators 3 --target body_mass_g --drop-missing-target -q -o many.json")
    for options in ("--quantiles 0.5", "--leaf-rows penguins"):
        result = run(f"predict mass.json penguins {options}")
        assert (result.code, "belong together" in result.err) == (2, True), result.err
    both = "--quantiles 0.1,0.9 --leaf-rows penguins"
    assert "classes have no quantiles. Use --proba." in run(f"predict {model} penguins {both}").err
    assert "--quantiles is for a single tree" in run(f"predict many.json penguins {both}").err
    outside = run("predict mass.json penguins --quantiles 2 --leaf-rows penguins")
    assert "--quantiles 2: must be numbers from 0 to 1." in outside.err


def test_predict_json_lines_from_standard_input(run, model):
    rows = b'{"island": "Dream", "flipper_length_mm": 210, "bill_length_mm": 40}\n' * 2
    assert run(f"predict {model} - --format jsonl", stdin=rows).out == '{"prediction":"Chinstrap"}\n' * 2
    assert len(json.loads(run(f"predict {model} - --format json", stdin=b"[" + rows.splitlines()[0] + b"]").out)) == 1
    assert run(f"predict {model} -", stdin=b"{oops").code == 3
    assert run(f"predict - {model}", stdin=b"").code == 4


def test_predict_a_single_row(run, model):
    result = run(f"predict {model} --row 'bill_length_mm=44, flipper_length_mm=210, island=Dream'")
    assert result.out == (
        "species = Chinstrap (62.5 %: 5 of 8 rows there), because flipper_length_mm > 206.5"
        " and island in {Dream, Torgersen}.\n"
    )
    odd = run(f"predict {model} --row 'bill_length_mm=44, flipper_length_mm=, island=Mars'")
    assert 'flipper_length_mm missing and island never seen ("Mars")' in odd.out
    shares = run(f"predict {model} --row 'bill_length_mm=44,flipper_length_mm=210,island=Dream' --proba")
    assert shares.lines[1] == "Adelie 37.5 %  Chinstrap 62.5 %  Gentoo 0.0 %"
    short = run(f"predict {model} --row island=Dream")
    assert short.code == 3
    assert "can be left empty: COLUMN=" in short.err
    two = run(f"predict {model} --row 'bill_length_mm=44,flipper_length_mm=210,island=Dream' --format csv --proba")
    assert two.lines == ["prediction,p_Adelie,p_Chinstrap,p_Gentoo", "Chinstrap,0.375,0.625,0.0"]
    assert run(f"predict {model}").code == 2
    assert run(f"predict {model} penguins --row a=1").code == 2
    assert run(f"predict {model} --row a=1 --proba -o out.txt").code == 3
    assert "not COLUMN=VALUE" in run(f"predict {model} --row hello").err


def test_a_row_needs_only_what_its_path_asks(run, model):
    short = run(f"predict {model} --row 'flipper_length_mm=190, bill_length_mm=50'")
    assert short.out == (
        "species = Chinstrap (92.1 %: 58 of 63 rows there), because flipper_length_mm <= 206.5"
        " and bill_length_mm > 43.35.\n"
    )
    both = run(
        f"predict {model} --row flipper_length_mm=190,bill_length_mm=50 --row flipper_length_mm=210,island=Dream"
    )
    assert len(both.lines) == 2
    lacking = run(f"predict {model} --row flipper_length_mm=190")
    assert lacking.code == 3
    assert 'the row has no column "bill_length_mm", which node 1 tests' in lacking.err
    assert "None" not in lacking.err
    assert run(f"predict {model} --row flipper_length_mm=190,bill_length_mm=").code == 0


def test_predict_says_weight_where_rows_have_weights(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,w,y\n0,2.5,a\n0,1,b\n1,1,b\n")
    run("grow t.csv --target y --sample-weight w -o m.json")
    assert run("predict m.json --row x=0").out == "y = a (71.4 %: weight 2.5 of 3.5 there), because x <= 0.5.\n"
    assert "weighted training error 22.2 %" in run("grow t.csv --target y --sample-weight w").err
    tmp_path.joinpath("t.csv").write_text("x,w,y\n0,2.5,1.5\n0,1,2.5\n1,1,9.5\n")
    run("grow t.csv --target y --sample-weight w --max-depth 1 -o m.json")
    assert "2 rows of weight 3.5 there" in run("predict m.json --row x=0").out


def test_predict_writes_parquet(run, model):
    assert run(f"predict {model} penguins --keep island --proba -o out.parquet").code == 0
    table = tw.read("out.parquet")
    assert list(table.columns) == ["island", "prediction", "p_Adelie", "p_Chinstrap", "p_Gentoo"]
    assert len(table) == 344
    assert run("data penguins --rows -o p.parquet").code == 0
    assert tw.read("p.parquet").to_polars().equals(tw.datasets.penguins().to_polars())
    assert run(f"predict {model} penguins --format csv -o out.dat").code == 0


def test_predict_numbers(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,y\n1,0.5\n2,1.5\n")
    run("grow t.csv --target y -o m.json")
    assert run("predict m.json --row x=1").out == "y = 0.5 (1 row there), because x <= 1.5.\n"
    assert run("predict m.json t.csv").lines == ["prediction", "0.5", "1.5"]
    refused = run("predict m.json t.csv --proba")
    assert (refused.code, "--proba is for classification; this tree predicts numbers." in refused.err) == (3, True)
    assert run("grow t.csv --target y --ensemble forest --n-estimators 2 -o f.json").code == 0
    for rows in ("t.csv", "--row x=1"):
        assert "--proba is for classification; this tree predicts" in run(f"predict m.json {rows} --proba").err
        assert "--proba is for classification; these trees predict" in run(f"predict f.json {rows} --proba").err


def test_predict_notes_what_was_never_seen(run, model, tmp_path):
    tmp_path.joinpath("n.csv").write_text("island,flipper_length_mm,bill_length_mm\nMars,210,40\nDream,210,40\n")
    assert run(f"predict {model} n.csv").err == 'note  island: never-seen "Mars" in 1 row → node 6\n'
    tmp_path.joinpath("n.csv").write_text("island,flipper_length_mm,bill_length_mm\nMars,190,40\n")
    assert run(f"predict {model} n.csv").err == ""  # its island was never asked for


def test_predict_says_which_lines_have_no_prediction(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,1,no\n2,2,yes\n")
    (tmp_path / "new.csv").write_text("a,b\n1,1\n\n2,2\n")
    (tmp_path / "one.csv").write_text("a\n1\n\n2\n")
    run("grow t.csv --target y --columns a -o m.json -q")
    result = run("predict m.json new.csv")
    assert len(result.lines) == 3
    assert "note  new.csv: 1 blank line between rows left out" in result.err
    assert len(run("predict m.json one.csv").lines) == 4


def test_predict_refuses_a_clash_of_names(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,prediction\n1,a\n2,b\n")
    run("grow t.csv --target prediction -o m.json")
    assert run("predict m.json t.csv --keep prediction").code == 2
    assert run("predict m.json t.csv --keep x,nope").code == 3


def test_csv_cells_are_not_altered(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text('x,name,y\n1,"=1+1",a\n2,"a ""b"", c",b\n')
    run("grow t.csv --target y --ignore name -o m.json")
    rows = list(csv.DictReader(io.StringIO(run("predict m.json t.csv --keep name").out)))
    assert [row["name"] for row in rows] == ["=1+1", 'a "b", c']


# -- evaluate -----------------------------------------------------------------------------------------


def test_evaluate_prints_and_judges(run, model):
    result = run(f"evaluate {model} penguins")
    assert result.code == 0
    assert result.lines[0] == "m.json on penguins, column species"
    assert "13 of 344 rows wrong; training range 2.2 to 6.4 % (Wilson)" in result.out
    assert run(f"evaluate {model} penguins --fail-under accuracy=0.9 --fail-over error=0.1").code == 0
    no = run(f"evaluate {model} penguins --fail-under accuracy=0.99")
    assert no.code == 1
    assert no.err == "no: accuracy is 0.962209, under 0.99\n"
    assert run(f"evaluate {model} penguins --fail-over log_loss=0.1").code == 1
    odd = run(f"evaluate {model} penguins --fail-under acuracy=0.99")
    assert (odd.code, odd.out) == (2, "")
    assert 'Did you mean "accuracy"?' in odd.err
    assert run(f"evaluate {model} penguins --fail-under accuracy").code == 2


def test_evaluate_with_weights(run, tmp_path):
    tmp_path.joinpath("tree.txt").write_text("x <= 1 -> a\nx > 1 -> b\n")
    tmp_path.joinpath("t.csv").write_text("x,y,w\n0,a,2\n0,b,0.5\n2,b,1\n2,a,0\n")
    result = run("evaluate tree.txt t.csv --target y --sample-weight w")
    assert "weight 0.5 of 3.5 wrong, 3 rows" in result.out
    assert run("evaluate tree.txt t.csv --target y --sample-weight v").code == 3


def test_evaluate_json(run, model):
    parsed = json.loads(run(f"evaluate {model} penguins --format json --paths").out)
    assert (parsed["n"], parsed["errors"], len(parsed["paths"])) == (344, 13, 344)
    assert sum(path["wrong"] for path in parsed["paths"]) == 13


def test_evaluate_the_officials_tree_row_by_row(run, officials):
    run("data admissions --rows -o admissions.csv")
    result = run("evaluate stnordaf.txt admissions.csv --paths")
    assert result.code == 0
    assert result.lines[4] == " 5  GPA = 3.7 and Published = no and University = top20           → P"
    assert "stnordaf.txt on admissions.csv, column Class" in result.out
    assert "0 of 12 rows wrong" in result.out


def test_evaluate_numbers(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,y\n1,0.5\n2,1.5\n")
    run("grow t.csv --target y -o m.json")
    assert "r2    1.0000" in run("evaluate m.json t.csv").out
    assert run("evaluate m.json t.csv --fail-under r2=0.9 --fail-over rmse=0.1").code == 0


def test_evaluate_numbers_of_a_tree_written_by_hand(run, tmp_path):
    tmp_path.joinpath("h.txt").write_text("x <= 1.5 -> 1\nx > 1.5 -> 2\n")
    tmp_path.joinpath("t.csv").write_text("x,y\n1,0.5\n2,1.5\n")
    assert "mae   0.5" in run("evaluate h.txt t.csv --target y --paths").out
    assert run("trace h.txt t.csv --target y").code == 0


def test_edited_words_are_read_with_a_note(run, tmp_path):
    run("grow penguins --max-leaf-nodes 4 -o m.txt")
    path = tmp_path / "m.txt"
    path.write_text(path.read_text().replace("<= 206.5", "<= 207.5").replace("> 206.5", "> 207.5"))
    result = run("show m.txt")
    assert "flipper_length_mm <= 207.5" in result.out
    assert result.err.startswith("note  line 13 was edited: the text was read")
    assert "14 of 344 rows wrong" in run("evaluate m.txt penguins").out


def test_evaluate_missing_answers(run, model, tmp_path):
    table = run("data penguins --rows").out.replace("Adelie", "", 1)
    tmp_path.joinpath("t.csv").write_text(table)
    result = run(f"evaluate {model} t.csv")
    assert result.code == 3
    assert "missing in 1 row of t.csv (1). Remove it first, or --drop-missing-target." in result.err
    assert "of 343 rows" in run(f"evaluate {model} t.csv --drop-missing-target").out


@pytest.mark.parametrize("verb", ["predict", "explain", "explain --shap", "draw"])
def test_a_row_with_a_slip_of_the_pen_is_remarked(run, verb):
    assert run("grow penguins --max-leaf-nodes 5 -q -o five.json").code == 0
    first, *rest = verb.split()
    row = "flipper_length_mm=230, bill_length_mm=50, island=Mars, bill_dept_mm=17, species=Gentoo"
    result = run(" ".join([first, "five.json", "--row", f"'{row}'", *rest]))
    assert result.code == 0
    note, seen = result.err.splitlines()
    assert note == (
        'note  bill_dept_mm: the tree knows no such column, and it is not looked at. Did you mean "bill_depth_mm"?'
    )
    assert re.fullmatch(r'note  island: never-seen "Mars" in 1 row → node \d+', seen)


def test_all_columns_that_lack_are_named(run, tmp_path):
    assert run("grow penguins --max-leaf-nodes 5 -q -o five.json").code == 0
    tmp_path.joinpath("new.csv").write_text("bill_length_mm\n40\n")
    result = run("predict five.json new.csv")
    assert result.code == 3
    assert 'no column "island", which node' in result.err
    assert 'Also missing: "flipper_length_mm". (Extra columns are fine' in result.err


def test_markers_given_when_growing_mean_missing_when_predicting(run, tmp_path):
    rows = [f"{x},{'ab'[x > 5]}" for x in range(10)] + ["-999,b"] * 5
    tmp_path.joinpath("x.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    tmp_path.joinpath("new.csv").write_text("x\n-999\n")
    assert run("grow x.csv --target y --na -999 -q -o m.json").code == 0
    assert tw.load(tmp_path / "m.json").fit_info.na_values == ("-999",)
    assert run("predict m.json new.csv").out == "prediction\nb\n"
    assert run("distill m.json x.csv --na -999 -q -o d.json").code == 0
    assert tw.load(tmp_path / "d.json").fit_info.na_values == ("-999",)
    assert run("predict d.json new.csv").out == "prediction\nb\n"
    piped = run("grow - --target y --na -999 -q -o p.json", stdin=tmp_path.joinpath("x.csv").read_bytes())
    assert (piped.code, run("predict p.json new.csv").out) == (0, "prediction\nb\n")


@pytest.mark.parametrize("options", ["", "--ensemble forest --n-estimators 3 "])
def test_a_table_is_encoded_and_walked_once(run, monkeypatch, options):
    assert run(f"grow penguins {options}-q -o once.json").code == 0
    calls = []

    def spy(owner, name):
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **named: calls.append(name) or real(*args, **named))

    spy(predicting, "encode_columns")
    spy(predicting, "find_leaves")
    spy(ForestPredictor, "sums")
    intervals = "" if options else " --interval"
    assert run(f"predict once.json penguins --proba{intervals} -o out.csv").code == 0
    assert calls == ["encode_columns", "sums" if options else "find_leaves"]


def test_other_class_names_are_refused(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,y\n" + "1,0\n2,1\n" * 10)
    tmp_path.joinpath("other.csv").write_text("x,y\n1,no\n2,yes\n")
    run("grow t.csv --target y -o m.json")
    result = run("evaluate m.json other.csv")
    assert (result.code, result.out) == (3, "")
    assert 'none of its values ("no", "yes") is a class of the model ("0", "1")' in result.err


def test_a_value_that_was_never_missing_is_noted(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,z,y\n" + "1,,a\n2,3,b\n" * 10)
    tmp_path.joinpath("new.csv").write_text("x,z\n,3\n1,\n")
    run("grow t.csv --target y --columns x -o m.json")
    note = "x: missing in 1 row, never in training; they follow the larger branch"
    assert note in run("predict m.json new.csv").err
    assert note in run("predict m.json --row x=").err
    assert "missing" not in run("predict m.json t.csv").err
    run("grow t.csv --target y --columns z -o m.json")
    assert "missing" not in run("predict m.json new.csv").err


def test_a_decimal_comma_in_a_row_is_named(run):
    run("grow penguins --target species --max-leaf-nodes 2 -q -o m.json")
    result = run("predict m.json --row flipper_length_mm=206,5")
    assert (result.code, result.out) == (2, "")
    assert "If the comma before it is a decimal mark, write a point: 206.5." in result.err
