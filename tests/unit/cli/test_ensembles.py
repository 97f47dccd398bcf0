"""``treewise grow --ensemble`` and the verbs that use ensembles."""

import csv
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import treewise as tw
from treewise.cli import output
from treewise.cli.app import VERBS
from treewise.cli.options import ENSEMBLE_OPTIONS, GROW_OPTIONS, METHODS
from treewise.train.grow import grow


@pytest.fixture
def forest(run):
    """A small forest of penguins."""
    assert run("grow penguins --ensemble forest --n-estimators 7 --oob-score -o f.json -q").code == 0
    return tw.forest("penguins", n_estimators=7, oob_score=True)


@pytest.fixture
def boosted(run):
    """A few rounds on the twelve applicants."""
    assert run("grow admissions --ensemble adaboost --n-estimators 5 -o b.json -q").code == 0
    return tw.adaboost("admissions", n_estimators=5)


# -- growing ------------------------------------------------------------------------------------------


def test_options_are_the_parameters_of_the_functions():
    of_one = {*inspect.signature(grow).parameters, "data", "target", "progress", "on_prepared", "on_oob", "options"}
    defaults = {each.parameter: each.default for each in ENSEMBLE_OPTIONS if each.default is not None}
    for method in METHODS:
        parameters = inspect.signature(getattr(tw, method)).parameters
        own = {each.parameter for each in ENSEMBLE_OPTIONS if method in each.of}
        assert own == set(parameters) - of_one, method
        assert all(parameters[name].default == defaults[name] for name in own & defaults.keys())
    assert not {each.parameter for each in GROW_OPTIONS} & {each.parameter for each in ENSEMBLE_OPTIONS}


def test_a_forest_reports_what_it_understood_and_what_it_is(run):
    result = run("grow penguins --ensemble forest --n-estimators 7 --oob-score -o f.json")
    table, task, grown, blank, saved = result.err.splitlines()
    assert table.startswith("penguins   344 rows · 6 columns: 4 numbers, 2 categories · missing: sex 11")
    assert task == "task  classification of species: Adelie 152, Chinstrap 68, Gentoo 124"
    assert re.fullmatch(r"grow  \d+\.\d s   7 trees · \d+ leaves", grown)
    assert blank == ""
    assert saved == (
        "saved f.json   next: treewise evaluate f.json new.csv · treewise importance f.json"
        " · treewise show f.json --tree 0 · treewise distill f.json penguins"
    )
    assert set(re.findall(r"treewise (\w+)", saved)) <= set(VERBS)
    made = tw.forest("penguins", n_estimators=7, oob_score=True)
    assert result.out == f"{made}\n"
    assert tw.load("f.json") == made
    assert tw.load("f.json").oob == made.oob


def test_trees_worse_than_one_answer_are_reported(run):
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=300), "rare": rng.choice(["no", "no", "no", "yes"], 300), "z": rng.normal(size=300)}
    tw.read(table).to_polars().write_csv("noise.csv")
    forest = "grow noise.csv --ensemble forest --n-estimators 20 --oob-score -o f.json --target"
    share = 100 * np.mean(table["rare"] == "yes")
    baseline = (
        f"note  worse than the baseline out of bag: always predicting no, with an error of {share:.1f} %, would do"
    )
    assert baseline in run(f"{forest} rare").err
    assert "out of bag: always predicting the mean would do better" in run(f"{forest} z").err
    assert "worse than the baseline" not in run("grow penguins --ensemble forest --n-estimators 9 --oob-score").err


@pytest.mark.parametrize(
    ("words", "make"),
    [
        (
            "forest --n-estimators 3 --max-features log2 --max-samples 0.5 --max-depth 4 --criterion gini",
            lambda: tw.forest(
                "penguins", n_estimators=3, max_features="log2", max_samples=0.5, max_depth=4, criterion="gini"
            ),
        ),
        (
            "forest --n-estimators 3 --max-features 2 --no-bootstrap --random-state 5",
            lambda: tw.forest("penguins", n_estimators=3, max_features=2, bootstrap=False, random_state=5),
        ),
        (
            "extra_trees --n-estimators 3 --bootstrap --oob-score",
            lambda: tw.extra_trees("penguins", n_estimators=3, bootstrap=True, oob_score=True),
        ),
        ("adaboost --n-estimators 3 --max-features 1", lambda: tw.adaboost("penguins", n_estimators=3, max_features=1)),
        (
            "bagging --max-features 0.5 --bootstrap-features --max-samples 100 --n-jobs 1",
            lambda: tw.bagging("penguins", max_features=0.5, bootstrap_features=True, max_samples=100),
        ),
        (
            "adaboost --n-estimators 4 --learning-rate 0.5 --resample",
            lambda: tw.adaboost("penguins", n_estimators=4, learning_rate=0.5, resample=True),
        ),
        (
            "adaboost --n-estimators 4 --max-depth 2 --ignore island",
            lambda: tw.adaboost("penguins", n_estimators=4, max_depth=2, ignore=["island"]),
        ),
    ],
)
def test_every_method_passes_its_options_on(run, words, make):
    assert run(f"grow penguins --ensemble {words} -o e.json -q").code == 0
    made, found = make(), tw.load("e.json")
    assert found == made
    assert found.history == made.history


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--n-estimators 5", "--n-estimators is for --ensemble forest, extra_trees, bagging or adaboost."),
        ("--ensemble adaboost --oob-score", "--oob-score is for --ensemble forest, extra_trees or bagging. Leave"),
        ("--ensemble forest --learning-rate 0.5", "--learning-rate is for --ensemble adaboost. Leave it out."),
        ("--ensemble forest --no-bootstrap --oob-score", "--oob-score: without bootstrap every tree sees every row."),
        ("--ensemble woods", "--ensemble"),
        ("--ensemble forest --n-estimators 0", "--n-estimators 0: must be a whole number, from 1 to 1000000."),
        ("--ensemble forest --max-features some", "--max-features some: must be"),
        ("--ensemble bagging --max-samples 2.5", "--max-samples 2.5: must be"),
        ("--ensemble extra_trees --oob-score", "Give --bootstrap, or a --max-samples below 1.0."),
        ("--ensemble forest --ccp-alpha 0.1", "--ccp-alpha: the trees of an ensemble are not pruned. Leave it out, or"),
        ("--ensemble forest --preset c45", "--preset c45: it prunes, and the trees of an ensemble are not pruned. Add"),
        ("--ensemble extra_trees --splitter best", "--splitter best: extra-trees draw splits at random; use a forest"),
        (
            "--ensemble forest --cost Adelie:Gentoo=5",
            "--cost: ensembles do not support costs.",
        ),
        ("--ensemble forest --pruning cv", "--pruning: the trees of an ensemble are not pruned."),
        ("--ensemble forest -o f.txt", "cannot write f.txt: an ensemble is saved as one model file (.json)."),
        ("--ensemble adaboost --target body_mass_g --drop-missing-target", "AdaBoost predicts classes"),
    ],
)
def test_errors_are_one_sentence_each(run, tmp_path, words, message):
    result = run(f"grow penguins {words}")
    assert (result.code, result.out) == (2, "")
    complaint = result.err.splitlines()[-1]
    assert complaint.startswith("treewise: ")
    assert message in complaint
    assert not list(tmp_path.iterdir())


def test_the_model_alone_goes_to_standard_output(run):
    result = run("grow penguins --ensemble bagging --n-estimators 2 -o -")
    assert json.loads(result.out)["format"] == 3


def test_boosting_prints_its_rounds(run, boosted):
    result = run("grow admissions --ensemble adaboost --n-estimators 5 -q")
    assert result.out == f"{boosted}\n\n{boosted.rounds.to_text()}\n"
    assert run("show b.json").out.endswith(f"\n\n{boosted.rounds.to_text()}\n")


# -- asked --------------------------------------------------------------------------------------------


def test_predict(run, forest):
    rows = list(csv.DictReader(io.StringIO(run("predict f.json penguins --proba --keep island").out)))
    table = tw.datasets.penguins()
    assert [row["prediction"] for row in rows] == forest.predict(table).tolist()
    assert [float(row["p_Gentoo"]) for row in rows] == forest.predict_proba(table)[:, 2].tolist()
    assert list(rows[0]) == ["island", "prediction", "p_Adelie", "p_Chinstrap", "p_Gentoo"]


ROW = "island=Dream, bill_length_mm=50, bill_depth_mm=18, flipper_length_mm=190, body_mass_g=3700, sex="


def test_predict_a_row(run, forest):
    result = run(f"predict f.json --row '{ROW}' --proba")
    assert re.fullmatch(
        r"species = Chinstrap: predicted by \d of 7 trees, mean probability \d+\.\d %\.", result.lines[0]
    )
    assert re.fullmatch(r"Adelie \d+\.\d %  Chinstrap \d+\.\d %  Gentoo \d+\.\d %", result.lines[1])
    short = run("predict f.json --row 'island=Dream'")
    assert short.code == 3
    assert short.err == (
        'treewise: the row has no column "bill_length_mm", which some of the trees use. Also missing:'
        ' "bill_depth_mm", "flipper_length_mm", "body_mass_g", "sex". An unknown value can be left empty:'
        " COLUMN=\n"
    )
    for verb in ("predict", "explain"):
        odd = run(f"{verb} f.json --row '{ROW.replace('Dream', 'Mars')}, colour=red'")
        assert (odd.code, odd.err.splitlines()) == (
            0,
            [
                "note  colour: the trees know no such column, and it is not looked at.",
                'note  island: never-seen "Mars" in 1 row',
            ],
        )
    for words in ("--interval", "--estimate laplace", "--cost Adelie:Gentoo=2"):
        refused = run(f"predict f.json --row '{ROW}' {words}")
        assert refused.code == 2
        assert f"{words.split()[0]} is for a single tree, and f.json holds 7 trees." in refused.err


@pytest.mark.parametrize("verb", ["predict", "explain"])
def test_every_column_a_row_lacks_is_named(run, tmp_path, verb):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (200, 12))
    names = [f"col{i}" for i in range(12)]
    rows = [",".join(map(str, [*row, int(sum(row) > 48)])) for row in x.tolist()]
    tmp_path.joinpath("t.csv").write_text("\n".join([",".join([*names, "y"]), *rows]) + "\n")
    assert run("grow t.csv --target y --ensemble forest --n-estimators 9 -q -o g.json").code == 0
    result = run(f"{verb} g.json --row 'col0=3'")
    assert result.code == 3
    assert all(f'"{name}"' in result.err for name in names[1:])
    known = ", ".join(["col0=3", *(f"{name}=" for name in names[1:])])
    assert run(f"{verb} g.json --row '{known}'").code == 0


def test_an_option_is_refused_in_whole_sentences(run):
    result = run("grow penguins --ensemble forest --max-features half")
    assert result.err.endswith(
        'must be "sqrt" or "log2", or a whole number of columns, or a share of them above 0 and up to 1.\n'
    )
    assert "adaboost 50 at most" in " ".join(run("grow --help").out.split())


def test_the_weights_of_rows_are_part_of_how_it_was_made(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,y,w\n1,a,1\n2,b,2\n3,a,2\n4,b,1\n")
    result = run("grow t.csv --target y --sample-weight w --ensemble forest --n-estimators 2 -q")
    assert re.search(r'(?m)^made .*, sample_weight="w"\) on 4 rows$', result.out)


def test_predict_reports_what_was_never_seen(run, forest, tmp_path):
    lines = run("data penguins --rows").out.splitlines()
    tmp_path.joinpath("new.csv").write_text("\n".join([lines[0], lines[1].replace("Torgersen", "Elba")]) + "\n")
    assert 'note  island: never-seen "Elba" in 1 row\n' in run("predict f.json new.csv").err


def test_evaluate(run, forest):
    result = run("evaluate f.json penguins")
    assert result.lines[0] == "f.json on penguins, column species"
    assert result.out.endswith(f"{forest.evaluate(tw.datasets.penguins())}\n")
    assert run("evaluate f.json penguins --fail-under accuracy=1.01").code == 1
    assert json.loads(run("evaluate f.json penguins --format json").out)["model"] == "f.json"
    assert "--paths is for a single tree" in run("evaluate f.json penguins --paths").err


# -- read ---------------------------------------------------------------------------------------------


def test_importance(run, forest):
    assert run("importance f.json").out == f"{forest.importances()}\n"


def test_explain(run, forest):
    table = tw.datasets.penguins()
    result = run("explain f.json penguins --rows 1,3")
    first, second = (str(forest.explain(table.take(np.array([i])))) for i in (0, 2))
    assert result.out == f"row 1\n{first}\n\nrow 3\n{second}\n"
    assert json.loads(run("explain f.json penguins --rows 1 --format json").out)["trees"] == 7
    assert "takes one row: --rows 1" in run("explain f.json penguins --rows 1,3 --format json").err
    assert run("explain f.json penguins --rows 1,3 --shap").out == f"{forest.shap(table.take(np.array([0, 2])))}\n"
    assert "--desired is for a single tree" in run("explain f.json penguins --rows 1 --desired Gentoo").err


def test_agreement(run, forest):
    agreement = forest.agreement(tw.datasets.penguins())
    assert run("agreement f.json penguins").out == f"{agreement.to_text(max_rows=344)}\n"
    assert run("agreement f.json penguins --top 3").out == f"{agreement.to_text(max_rows=3)}\n"
    assert len(run("agreement f.json penguins --format csv").lines) == 345


def test_stages(run, boosted, tmp_path):
    stages = boosted.stages(tw.datasets.admissions())
    assert run("stages b.json admissions").out == f"{stages}\n"
    assert run("stages b.json admissions -o s.png").code == 0
    assert tmp_path.joinpath("s.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("verb", ["agreement", "stages", "extend"])
def test_a_single_tree_is_not_many(run, model, verb):
    result = run(f"{verb} {model} penguins" + " --trees 3 -o f.json" * (verb == "extend"))
    assert result.code == 2
    assert result.err == (
        "treewise: m.json contains a single tree, but this verb takes an ensemble:"
        " treewise grow DATA --target COLUMN --ensemble forest -o forest.json\n"
    )


# -- grown further ------------------------------------------------------------------------------------


def test_more_trees_are_those_one_would_have_got_at_once(run, forest):
    result = run("extend f.json penguins --trees 4 -o f.json")
    assert result.code == 0
    assert tw.load("f.json") == tw.forest("penguins", n_estimators=11)
    assert re.match(r"grow  \d+\.\d s   11 trees · \d+ leaves\n", result.err)
    assert result.err.endswith("saved f.json\n")


def test_more_rounds(run, boosted):
    assert run("extend b.json admissions --trees 3 -o more.json -q").code == 0
    assert tw.load("more.json") == tw.adaboost("admissions", n_estimators=8)


def test_more_trees_are_for_a_file(run):
    result = run("extend nowhere.json nowhere.csv --trees 1")
    assert result.code == 2
    assert result.err == "treewise: extend: -o FILE says where to save all trees; it may be MODEL itself.\n"


@pytest.mark.parametrize("line", ["extend f.json admissions --trees 5 -o x.json", "trace b.json penguins --round 1"])
def test_advice_is_possible_where_the_table_is_another(run, forest, boosted, line):
    result = run(line)
    assert result.code == 3
    assert result.err.endswith("the target of these trees. Give the table they were grown on.\n")


def test_more_gives_no_advice_for_growing(run):
    assert "--oob-score" in run("grow penguins --ensemble forest --n-estimators 2 -o g.json").err
    assert "--oob-score" not in run("extend g.json penguins --trees 1 -o g.json").err


def test_more_needs_the_same_table(run, forest):
    run("data penguins --rows -o p.csv")
    result = run("extend f.json admissions --trees 1 -o f.json")
    assert (result.code, result.out) == (3, "")
    assert "no column" in result.err


# -- long ones ----------------------------------------------------------------------------------------


def test_a_bar_shows_how_far_it_is(run, monkeypatch):
    shown = []

    class Noticed(output.ProgressBar):
        def __call__(self, done):
            shown.append((self.title, done))

    monkeypatch.setattr(output, "ProgressBar", Noticed)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert run("grow penguins --ensemble adaboost --n-estimators 5 -q").code == 0
    assert shown == [("grow", share) for share in (0.2, 0.4, 0.6, 0.8, 1.0)]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
@pytest.mark.parametrize("method", ["forest", "adaboost"])
def test_ctrl_c_stops_many_trees(tmp_path, method):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 10**9, (20_000, 8)), rng.integers(0, 2, 20_000)])
    np.savetxt(tmp_path / "t.csv", rows, "%d", ",", header="a,b,c,d,e,f,g,h,y", comments="")
    words = f"grow t.csv --target y --ensemble {method} --n-estimators 100000 -o m.json".split()
    with subprocess.Popen(
        [sys.executable, "-m", "treewise", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert any(line.startswith(b"task") for line in process.stderr)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert re.fullmatch(r"treewise: stopped by Ctrl-C after \d+\.\d s; nothing was written\.", err.decode().strip())
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_why_boosting_ended_is_reported_once(run):
    result = run("grow xor --ensemble adaboost")
    assert "note  boosting ended after 1 tree of 50; the line below its rounds says why\n" in result.err
    assert (result.out + result.err).count("no better than chance (50.0 %)") == 1
    assert (
        "The only learner is no better than chance, so the formula gives no vote above 0: α is set to 1.\n"
        in result.out
    )


def test_a_round_of_many_rows_is_bounded_on_a_terminal(run, monkeypatch):
    assert run("grow penguins --ensemble adaboost --n-estimators 2 -o p.json").code == 0
    assert "… 294 more rows" not in run("trace p.json penguins --round 1").out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\n… 294 more rows: --all\n" in run("trace p.json penguins --round 1").out
    assert "more rows" not in run("trace p.json penguins --round 1 --all").out


def test_a_round_takes_the_columns_of_target_and_weights(run, tmp_path):
    rows = [f"{i},{'ab'[(i * 7) % 5 > 1]},{i % 3 + 1}" for i in range(30)]
    for name, target, weight in (("old", "y", "w"), ("new", "z", "v")):
        (tmp_path / f"{name}.csv").write_text("\n".join([f"x,{target},{weight}", *rows, ""]))
    grown = "grow old.csv --target y --sample-weight w --ensemble adaboost --n-estimators 3 -o b.json -q"
    assert run(grown).code == 0
    old = run("trace b.json old.csv --round 2")
    assert run("trace b.json new.csv --round 2 --target z --sample-weight v").out == old.out
    assert old.code == 0
    assert "is not the table these trees were grown on" in run("trace b.json new.csv --round 2 --target z").err


def test_a_boosted_model_is_traced_by_round_or_by_tree(run, boosted):
    result = run("trace b.json admissions")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "treewise: b.json holds 5 boosted trees. Work a round out with --round N (1 to 5), or pick a tree with --tree N"
        " (0 to 4).\n"
    )
