"""Estimates, intervals, costs and priors on the command line."""

import json
import re

import pytest

import treewise as tw

CREDIT = "savings,risk\n" + "0,good\n" * 4 + "0,bad\n" * 2 + "1,good\n" * 4


@pytest.fixture
def credit(run, tmp_path):
    tmp_path.joinpath("credit.csv").write_text(CREDIT)
    return "credit.csv"


def test_grow_with_costs_saves_them_and_is_reported(run, credit):
    result = run(f"grow {credit} --target risk --cost bad:good=5 -o m.json")
    assert "note  each node predicts the class of least expected cost: bad taken for good costs 5" in result.err
    assert tw.load("m.json") == tw.grow("credit.csv", "risk", cost={"bad": {"good": 5}})
    assert run("predict m.json --row savings=0").out.startswith("risk = bad (33.3 %: 2 of 6 rows there), because")
    judged = run(f"evaluate m.json {credit} --fail-over cost=0.3")
    assert (judged.code, judged.err) == (1, "no: cost is 0.4, over 0.3\n")
    assert "cost       0.4 a row, against 0.8 of the baseline" in judged.out


def test_costs_of_a_finished_tree(run, credit):
    run(f"grow {credit} --target risk -o m.json")
    assert run("predict m.json --row savings=0").out.startswith("risk = good (66.7 %: 4 of 6 rows there)")
    assert run("predict m.json --row savings=0 --cost bad:good=5").out.startswith("risk = bad (33.3 %")
    result = run(f"evaluate m.json {credit} --cost bad:good=5 --format json")
    assert json.loads(result.out)["cost"] == 1.0


def test_priors(run, credit):
    run(f"grow {credit} --target risk --priors good=0.5,bad=0.5 -o m.json")
    assert tw.load("m.json") == tw.grow("credit.csv", "risk", priors={"good": 0.5, "bad": 0.5})
    result = run(f"grow {credit} --target risk --priors good=0.5")
    assert (result.code, result.err.splitlines()[-1]) == (
        2,
        'treewise: --priors: the share of "bad" is not given. It must be above 0 and at most 1.',
    )


def test_estimates_and_intervals(run, credit):
    run(f"grow {credit} --target risk -o m.json")
    result = run(f"predict m.json {credit} --proba --estimate laplace --interval")
    assert result.lines[0] == "prediction,p_bad,p_bad_low,p_bad_high,p_good,p_good_low,p_good_high"
    assert [round(float(x), 4) for x in result.lines[1].split(",")[1:]] == [0.375, 0.0968, 0.7, 0.625, 0.3, 0.9032]
    first, message = run("predict m.json --row savings=1 --proba --interval --confidence 0.9 --estimate laplace").lines
    share = re.search(r"\((.*) % by laplace: ", first)[1]
    assert f" {share} % (training range" in message  # one probability, not two
    assert message == "bad 16.7 % (training range 0.0 to 40.3)  good 83.3 % (training range 59.7 to 100.0)"
    assert run(f"predict m.json {credit} --estimate laplace --interval").out == result.out
    for line in ("--row savings=1", credit):
        refused = run(f"predict m.json {line} --interval --confidence 2")
        assert refused.code == 2
        assert "--confidence 2.0: must be a number between 0 and 1, such as 0.95." in refused.err
    actual = run(f"evaluate m.json {credit} --estimate shrinkage=5")
    assert "nats (shrinkage=5)" in actual.out
    wrong = run(f"evaluate m.json {credit} --estimate laplas")
    assert (wrong.code, "Did you mean" in wrong.err) == (2, True)


def test_intervals_of_numbers(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,y\n0,1.5\n0,2.5\n1,7.25\n")
    run("grow t.csv --target y --max-depth 1 -o m.json")
    assert run("predict m.json t.csv --interval").lines[0] == "prediction,mean_low,mean_high"
    assert run("predict m.json --row x=1 --interval").lines[1] == "training range of the mean: unknown (one row)"
    assert run("predict m.json --row x=0 --interval").lines[1] == "training range of the mean: -4.3531 to 8.3531"
    tmp_path.joinpath("new.csv").write_text("x,y\n0,1\n0,2\n1,7\n")
    run("refit m.json new.csv -o r.json")
    result = run("predict r.json --row x=0 --interval --confidence 0.9")
    assert result.lines[1] == "90 % interval of the mean: -1.6569 to 4.6569"
    assert "training range" not in result.err
    assert run("predict m.json --row x=0 --estimate shrinkage").out.startswith("y = 3.3462 ")


@pytest.mark.parametrize("given", ["bad=5", "bad:good", "bad:good:ugly=1", "bad:good=much"])
def test_invalid_costs_are_refused(run, credit, given):
    result = run(f"grow {credit} --target risk --cost {given}")
    assert result.code == 2
    assert "is not TRUE:PREDICTED=COST, such as bad:good=5" in result.err


def test_a_right_answer_costs_nothing(run, credit):
    result = run(f"grow {credit} --target risk --cost bad:bad=2")
    assert result.code == 2
    assert "cost of bad taken for bad is 2.0: a right answer costs nothing" in result.err


def test_costs_are_not_called_errors(run, tmp_path):
    rows = "".join(f"{i},{'bad' if i * 7919 % 103 > i else 'good'}\n" for i in range(103))
    tmp_path.joinpath("t.csv").write_text("x,y\n" + rows)
    result = run("grow t.csv --target y --cost bad:good=5 --pruning cv -o m.json")
    assert "cross-validated cost" in result.err
    assert "cross-validated error" not in result.err
    assert run("prune m.json --cp-table").lines[0].startswith("cp table of y: costs relative to those of the root, ")
    run("grow t.csv --target y --cost bad:good=5 -o full.json")
    assert run("prune full.json --cp-table").lines[0].startswith("cp table of y: costs relative to those of the root, ")
