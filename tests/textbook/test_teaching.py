"""What a lecturer trips over: hints on the student's page, weights of a round, names, orders and headings."""

import json

import pytest

import treewise as tw


def test_the_student_s_page_has_no_hint_and_the_teacher_s_screen_names_real_nodes(run):
    sheet = run("trace admissions --preset id3 --blanks")
    assert "--node" not in sheet.out
    assert "an exercise has one node, here node 0; --node N selects another: 2, 3" in sheet.err
    assert "--node N" not in run("trace seven_points --max-depth 1 --blanks -q").err
    points = run("trace seven_points --blanks").err
    assert "selects another: 1" in points  # node 2 is pure there


def test_a_learner_of_a_round_is_traced_with_the_weights_of_its_round(run):
    boosted = tw.adaboost("admissions", n_estimators=5)
    for number in range(1, 6):
        root = boosted.trace_round("admissions", number)[0]
        assert root.agrees, number  # the learner is the best under D_b
    run("grow admissions --ensemble adaboost --n-estimators 5 -o b.json -q")
    printed = run("trace b.json admissions --tree 1").out
    assert "12 rows, weight 20: 14 N, 6 P" in printed  # D_2: 1/20 for ten rows, 5/20 for two
    assert "→ split on GPA = 4.0" in printed
    assert "best here is" not in printed
    assert "weighted by D_2, the weights of round 2 of AdaBoost" in printed


def test_trace_can_be_quiet_and_names_of_the_notes_are_understood(run):
    assert run("trace seven_points -q").err == ""
    for typed, ours in {"--minLeaf": "--min-samples-leaf", "--min-parent": "--min-samples-split"}.items():
        result = run(f"trace seven_points {typed} 3")
        assert result.code == 2
        assert f"Did you mean {ours}?" in result.err
    with pytest.raises(tw.ParameterError, match='Did you mean "min_samples_leaf"'):
        tw.grow("penguins", minLeaf=3)


def test_pruning_by_gain_heads_its_columns_by_what_they_hold(run):
    run("grow penguins -o full.json -q")
    lines = run("prune full.json --method gain --threshold 0.5").lines
    heading = next(line for line in lines if line.startswith("node "))
    assert heading.split()[4:6] == ["gain", "threshold"]
    assert "gain and threshold: in accuracy per row of the node" in lines
    cut = tw.load("full.json").prune("gain", threshold=0.5)
    assert "before" not in str(cut.history[-1])
    assert tw.load("full.json").prune("gain", threshold=0.5) == cut


def test_the_markdown_of_a_trace_says_which_class_comes_first():
    root = tw.candidates("seven_points", unit="nats")
    assert "| candidate | branches \\[dot star\\] | computation | H after | result |" in root.render("markdown")
    numbers = tw.candidates("penguins", "body_mass_g", drop_missing_target=True)
    assert "branches \\[rows mean\\]" in numbers.render("markdown")


OFFICIALS = "GPA = 4.0 -> P\nGPA = 3.7 -> P\nGPA = 3.5 -> N"


def test_a_typed_tree_predicts_the_target_of_its_table(run, tmp_path):
    assert tw.parse(OFFICIALS, data="admissions").target.name == "Class"
    assert tw.parse(OFFICIALS).trace("admissions").tree.target.name == "Class"
    assert tw.parse(OFFICIALS, target="verdict", data="admissions").target.name == "verdict"
    assert tw.parse(OFFICIALS).refit("admissions").target.name == "Class"


def test_a_typed_tree_has_the_colours_of_a_grown_one():
    """The table of six points declares - before +; sorting by name would swap their colours."""
    text = "x1 <= 0.5 -> +\nx1 > 0.5\n  x2 <= 1.5 -> -\n  x2 > 1.5 -> +"
    tree = tw.grow("six_points")
    typed = tw.parse(text, data="six_points")
    assert typed.classes == tree.classes == ("-", "+")
    assert [n.prediction for n in typed if n.is_leaf] == [n.prediction for n in tree if n.is_leaf]
    both = tw.draw_regions({"typed": tw.parse(text), "grown": tree}, "six_points", "x1", "x2")
    colours = [[tuple(c) for c in panel.collections[0].get_facecolor()] for panel in both]
    assert colours[0] == colours[1]
    assert tw.parse("classes: +, -\n" + text, data="six_points").classes == ("+", "-")  # as declared


def test_information_gain_of_the_table_that_conditional_entropy_takes():
    joint = [[0, 1 / 2, 1 / 4], [1 / 12, 1 / 12, 1 / 12]]  # Z down, X across
    whole = [sum(column) for column in zip(*joint, strict=True)]
    gain = tw.information_gain(joint, unit="nats")
    assert gain == pytest.approx(tw.entropy(whole, "nats") - tw.conditional_entropy(joint, unit="nats"))
    across = [list(column) for column in zip(*joint, strict=True)]
    assert tw.information_gain(across, given="columns", unit="nats") == pytest.approx(gain)
    with pytest.raises(tw.ParameterError, match="branches: is needed in addition to the counts of the parent"):
        tw.information_gain([3, 4])


def test_indicators_of_the_roommate_s_meal():
    """CS221 notes 6: (hungry, yes, yes, cheap) has 11 components, the level that never occurs included."""
    kinds = {
        "Hunger": ["starving", "hungry", "can-eat", "full"],
        "Like": ["y", "n"],
        "Healthy": ["y", "n"],
        "Price": ["free", "cheap", "expensive"],
    }
    meal = {"Hunger": ["hungry"], "Like": ["y"], "Healthy": ["y"], "Price": ["cheap"], "Eat": ["y"]}
    assert tw.indicators(meal, "Eat", kinds=kinds)[0] == [0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0]
    food = tw.indicators("food")
    assert food.n_components == 11
    assert food.matrix.sum(axis=1).tolist() == [4] * 6  # one value of each feature
    assert "on 11 indicators" in str(tw.compare_models("food", models="logistic", folds=3))


def test_a_binary_feature_needs_one_component_only():
    """CS221 notes 6, footnote 1: the second component is one minus the first."""
    two, one = tw.indicators("food"), tw.indicators("food", binary="one")
    assert (two.n_components, one.n_components) == (11, 9)
    at = {name: i for i, name in enumerate(two.names)}
    assert (two.matrix[:, at["Like = n"]] + two.matrix[:, at["Like = y"]] == 1).all()
    assert [name for name in two.names if name not in one.names] == ["Like = n", "Healthy = n"]
    assert json.loads(json.dumps(one.to_dict()))["rows"][0]["Like = y"] == 1
