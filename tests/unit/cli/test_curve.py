"""``treewise curve``: chart, CSV, JSON and errors."""

import json

import treewise as tw
from treewise.evaluate.validation_curve.curve import OVER


def test_a_chart_and_a_file(run):
    answer = run("curve penguins --over max_depth --folds 5 -o c.csv")
    found = tw.curve("penguins", over="max_depth", folds=5)
    assert answer.out == f"\n{found}\n"
    assert answer.err.splitlines()[-1] == "6 points → c.csv"
    with open("c.csv") as file:
        assert file.read() == found.to_csv()


def test_what_can_be_followed_is_said_in_help_and_refusal(run):
    named = ", ".join(OVER)
    assert f'"leaves" is not one of {named}.' in run("curve penguins --over leaves").err
    told = " ".join(run("curve --help").out.split())
    assert f"{', '.join(OVER[:-1])} or {OVER[-1]}" in told


def test_forms(run):
    found = tw.curve("penguins", folds=5, values=[1, 4, 8])
    assert run("curve penguins --folds 5 --values 1,4,8 --format csv -q").out == found.to_csv()
    assert run("curve penguins --folds 5 --values 1,4,8 -o -").out == found.to_csv()
    assert json.loads(run("curve penguins --folds 5 --values 1,4,8 --format json").out) == found.to_dict()
    assert run("curve penguins --folds 5 --values 1,4,8 -q").err == ""


def test_options_of_growing_and_judges(run):
    run("data outlier -o o.csv")
    answer = run("curve o.csv --target y --over max_leaf_nodes --validation outlier_validation -q")
    assert answer.out == f"{tw.curve('o.csv', 'y', validation='outlier_validation')}\n"
    answer = run("curve penguins --validation 0.3 --criterion gini --random-state 5 --over ccp_alpha -q")
    wanted = tw.curve("penguins", validation=0.3, criterion="gini", random_state=5, over="ccp_alpha")
    assert answer.out == f"{wanted}\n"


def test_the_truth_of_a_built_in_table(run):
    answer = run("curve noisy --folds 0 -q")
    assert ". training   + true" in answer.out
    assert answer.out.rstrip().endswith("best      max_leaf_nodes = 4: error 11.2 %")


def test_what_goes_wrong(run, tmp_path):
    assert run("curve penguins --over depth").code == 2
    assert run("curve penguins --folds 0").code == 2
    assert run("curve penguins --values 1,x").code == 2
    assert run("curve penguins --validation nowhere.csv").code == 3
    assert run("curve admissions --folds 50").code == 3
    tmp_path.joinpath("v.csv").write_text("GPA,University,Published,Recommendation,Class\n4.0,top10,yes,good,Q\n")
    answer = run("curve admissions --validation v.csv")
    assert (answer.code, '"Q" in row 1, a class the tree does not know' in answer.err) == (3, True)
    assert run("curve penguins -o penguins.csv/x").code == 2


def test_pictures_by_their_ending(run, tmp_path):
    answer = run("curve penguins --folds 3 --values 1,2,4 -q -o c.svg")
    assert (answer.code, answer.err) == (0, "")
    assert "best      max_leaf_nodes = 4" in answer.out
    assert b"<svg" in tmp_path.joinpath("c.svg").read_bytes()
    assert run("curve penguins --folds 3 --values 1,2,4 -o c.png").err.splitlines()[-1] == "3 points → c.png"
