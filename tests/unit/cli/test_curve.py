"""``treewise curve``: chart, CSV, JSON and errors."""

import json

import treewise as tw
from treewise.evaluate.validation_curve.curve import OVER


def without_calls(text):
    """The lines but the one that says how to grow the chosen tree: in Python, or on the command line."""
    return [line for line in text.splitlines() if not line.startswith("take it")]


def test_a_chart_and_a_file(run):
    result = run("curve penguins --over max_depth --folds 5 -o c.csv")
    curve = tw.curve("penguins", over="max_depth", folds=5)
    assert without_calls(result.out) == without_calls(f"\n{curve}\n")
    best, one_se = (int(point.value) for point in (curve.best, curve.one_se))
    take = f"take it   treewise grow penguins --max-depth {one_se}"
    assert take + (f"; the best: treewise grow penguins --max-depth {best}" if best != one_se else "") in result.out
    assert result.err.splitlines()[-1] == "6 points → c.csv"
    with open("c.csv") as file:
        assert file.read() == curve.to_csv()


def test_what_can_be_followed_is_reported_in_help_and_refusal(run):
    named = ", ".join(OVER)
    assert f'"leaves" is not one of {named}.' in run("curve penguins --over leaves").err
    text = " ".join(run("curve --help").out.split())
    assert f"{', '.join(OVER[:-1])} or {OVER[-1]}" in text


def test_forms(run):
    curve = tw.curve("penguins", "species", "max_leaf_nodes", folds=5, values=[1, 4, 8])
    given = "curve penguins --over max_leaf_nodes --folds 5 --values 1,4,8"
    assert run(f"{given} --format csv -q").out == curve.to_csv()
    assert run(f"{given} -o -").out == curve.to_csv()
    assert json.loads(run(f"{given} --format json").out) == curve.to_dict()
    assert run(f"{given} -q").err == ""


def test_options_of_growing_and_judges(run):
    run("data outlier --rows -o o.csv")
    result = run("curve o.csv --target y --over max_leaf_nodes --validation outlier_validation -q")
    expected = tw.curve("o.csv", "y", "max_leaf_nodes", validation="outlier_validation")
    assert without_calls(result.out) == without_calls(str(expected))
    result = run("curve penguins --validation 0.3 --criterion gini --random-state 5 --over ccp_alpha -q")
    expected = tw.curve("penguins", validation=0.3, criterion="gini", random_state=5, over="ccp_alpha")
    assert without_calls(result.out) == without_calls(str(expected))
    command = "treewise grow penguins --random-state 5 --criterion gini --ccp-alpha"
    assert sorted(f"{command} {expected.one_se.value}".split()) == sorted(
        result.out.split("take it")[1].split(";")[0].split()
    )


def test_the_command_takes_the_choice(run):
    for words in ("", " --loss auc", " --loss log_loss --repeats 2 --folds 5"):
        take = next(line for line in run(f"curve noisy{words} -q").out.splitlines() if line.startswith("take it"))
        for command in take.removeprefix("take it").split("; the best:"):
            result = run(command.strip().removeprefix("treewise ") + " -o m.json")
            assert result.code == 0, result
            tree, curve = tw.load("m.json"), json.loads(run(f"curve noisy{words} --format json").out)
            assert tree.n_leaves == curve["best" if "rule=best" in command else "one_se"]["leaves"]


def test_groups_and_time_are_columns(run):
    data = {"x": [i % 7 for i in range(80)], "who": [i // 4 for i in range(80)], "when": list(range(80))}
    tw.read({**data, "y": ["ab"[(i // 4) % 2] for i in range(80)]}).to_polars().write_csv("t.csv")
    result = run("curve t.csv --target y --groups who --ignore when --folds 4 -q")
    assert "evaluated on 4 folds of whole groups" in result.out
    assert "take it   treewise grow t.csv --target y --ignore when --groups who --pruning cv:folds=4" in result.out
    result = run("grow t.csv --target y --time when --ignore who --pruning cv:folds=4,loss=brier -o m.json")
    assert "4 folds forward in time, 1se: cross-validated Brier score" in result.err
    assert tw.load("m.json").columns == ("x",)
    result = run("prune m.json --method cv --data t.csv --folds 3 --loss log_loss")
    assert "3 folds forward in time" in result.out
    assert run("curve t.csv --target y --groups nobody").code == 3


def test_the_truth_of_a_built_in_table(run):
    result = run("curve noisy --folds 0 -q")
    assert ". training   + true" in result.out
    assert result.lines[-2:] == [
        "best      4 leaves: error 11.2 %",
        "overfits  past 4 leaves: training 13.0 → 1.5 %, true 11.2 → 20.7 %",
    ]


def test_errors(run, tmp_path):
    assert run("curve penguins --over depth").code == 2
    assert run("curve penguins --folds 0").code == 2
    assert run("curve penguins --values 1,x").code == 2
    assert run("curve penguins --validation nowhere.csv").code == 3
    assert run("curve admissions --folds 50").code == 3
    tmp_path.joinpath("v.csv").write_text("GPA,University,Published,Recommendation,Class\n4.0,top10,yes,good,Q\n")
    result = run("curve admissions --validation v.csv")
    assert (result.code, '"Q" in row 1, a class the tree does not know' in result.err) == (3, True)
    assert run("curve penguins -o penguins.csv/x").code == 2


def test_pictures_by_their_ending(run, tmp_path):
    result = run("curve penguins --over max_leaf_nodes --folds 3 --values 1,2,4 -q -o c.svg")
    assert (result.code, result.err) == (0, "")
    assert "best      max_leaf_nodes = 4" in result.out
    assert b"<svg" in tmp_path.joinpath("c.svg").read_bytes()
    assert (
        run("curve penguins --over max_leaf_nodes --folds 3 --values 1,2,4 -o c.png").err.splitlines()[-1]
        == "3 points → c.png"
    )
