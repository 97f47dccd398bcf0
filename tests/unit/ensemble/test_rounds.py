"""AdaBoost rounds as a table and row by row, in every format."""

import json
from dataclasses import replace

import numpy as np
import pytest

import treewise as tw
from treewise.ensemble.rounds import describe_learner


@pytest.fixture(scope="module")
def penguins():
    return tw.adaboost("penguins", n_estimators=4)


def test_learners_in_words():
    tree = tw.grow("penguins", max_depth=1, preset="id3", columns=["island"])
    assert describe_learner(tree) == "island = Biscoe → Gentoo, island = Dream → Chinstrap, island = Torgersen → Adelie"
    assert describe_learner(tw.grow("penguins", max_depth=2)) == "flipper_length_mm first, 4 leaves"
    assert describe_learner(tw.grow("penguins", max_depth=0)) == "always Adelie"


def test_rounds_are_a_sequence(penguins):
    rounds = penguins.rounds
    assert len(rounds) == 4
    assert [r.vote for r in rounds] == penguins.votes.tolist()
    assert rounds[-1] == list(rounds)[3]
    assert rounds[:2].rounds == penguins.first(2).rounds.rounds
    assert np.cumprod([r.z for r in rounds]) == pytest.approx([r.bound for r in rounds])


def test_some_of_the_rounds_keep_their_numbers(penguins):
    rounds = penguins.rounds
    assert [r.number for r in rounds] == [1, 2, 3, 4]
    assert rounds[2:4].to_frame()["round"].to_list() == [3, 4]
    assert rounds[::-2].to_frame()["round"].to_list() == [4, 2]
    assert "    3  bill_length_mm <= 44.25" in str(rounds[2:4])


def test_rounds_in_every_form(penguins):
    rounds = penguins.rounds
    assert rounds.to_frame().columns == ["round", "learner", "error", "vote", "z", "training_error", "bound"]
    assert rounds.to_frame()["error"].to_list() == [r.error for r in rounds]
    data = rounds.to_dict()
    assert data["title"] == "AdaBoost for species: 4 rounds"
    assert json.loads(json.dumps(data["rows"][2]))["learner"] == rounds[2].learner
    assert rounds.to_csv().splitlines()[0] == "round,learner,error,vote,z,training_error,bound"
    assert "α = ½ (log((1 − ε)/ε) + log 2)" in rounds.legend
    slow = tw.adaboost("admissions", n_estimators=2, learning_rate=0.5).rounds
    assert "α = 0.5 · ½ log((1 − ε)/ε); z = (1 − ε) e^−α + ε e^α" in slow.legend


def test_a_worked_round_of_three_classes(penguins):
    worked_round = penguins.worked_round("penguins", 2)
    text = str(worked_round)
    assert "α_2 = ½ (log(0.78962/0.21038) + log 2) = 1.0079, its vote weight" in text
    assert "which is D/(3 (1 − ε)) and 2 D/(3 ε)" in text.replace("\n", " ")
    assert "now have 2/3 of the total weight, so this learner would do no better than chance" in text.replace("\n", " ")
    assert worked_round.to_frame()["next_weight"].sum() == pytest.approx(1)
    wrong = worked_round.next_weights[worked_round.wrong].sum()
    assert wrong == pytest.approx(2 / 3, abs=1e-12)


def test_the_hardest_rows_come_with_their_weights(penguins):
    worked_round = penguins.worked_round("penguins", 4)
    hardest = worked_round.hardest()
    weights = [row[3] for row in hardest.rows]
    assert weights == sorted(worked_round.next_weights.tolist(), reverse=True)[:10]
    assert hardest.rows[0][4] == pytest.approx(weights[0] * 344)
    assert hardest.rows[0][2] == worked_round.mistakes[hardest.rows[0][0] - 1]
    assert worked_round.mistakes.max() <= 4


def test_a_worked_round_with_a_learning_rate():
    boosted = tw.adaboost("admissions", n_estimators=2, learning_rate=0.5)
    worked_round = boosted.worked_round("admissions", 1)
    right, wrong = worked_round.update.factors
    assert worked_round.describe_update(0) == f"0.083333 · {right:.5g} = {worked_round.next_weights[0]:.5g}"
    assert worked_round.describe_update(6) == f"0.083333 · {wrong:.5g} = {worked_round.next_weights[6]:.5g}"
    share = worked_round.next_weights[worked_round.wrong].sum()
    assert worked_round.outcome == (f"The misclassified rows now have {share:.5g} of the total weight.",)


def test_the_last_round_has_no_next_weights():
    boosted = tw.adaboost("admissions", n_estimators=9, max_depth=3)
    worked_round = boosted.worked_round("admissions", len(boosted))
    assert worked_round.next_weights is None
    assert worked_round.steps == ("ε_5 = 0: no row is misclassified.",)
    assert worked_round.outcome == (boosted.rounds.stopped,)
    assert len(worked_round.result_tables()) == 1
    assert worked_round.to_frame()["next_weight"].null_count() == 12


@pytest.mark.parametrize(
    "went", [{}, {"errors": [0.1]}, {"errors": "many"}, {"errors": [0.1, 2]}, {"training_errors": [0.1, None]}]
)
def test_a_history_without_sound_rounds_has_none(went):
    boosted = tw.adaboost("admissions", n_estimators=2)
    kept = {name: boosted.history[0]["ensemble"][name] for name in ("method", "errors", "training_errors")}
    requested = {**kept, **went} if went else {"method": "adaboost"}
    broken = boosted.with_(history=({**boosted.history[0], "ensemble": requested},))
    with pytest.raises(tw.ParameterError, match="does not record the errors of its rounds"):
        _ = broken.rounds


def test_the_legend_says_how_a_vote_without_a_formula_is_set():
    set_to = "For ε = 0 the formula is undefined: α is 1 more than the sum of all previous votes."
    perfect = tw.adaboost("admissions", n_estimators=9, max_depth=None).rounds
    assert perfect[-1].error == 0
    assert set_to in perfect.result_table().below
    assert set_to not in tw.adaboost("admissions", n_estimators=3).rounds.result_table().below
    at_chance = "The only learner is no better than chance, so the formula gives no vote above 0: α is set to 1."
    nothing_known = tw.adaboost({"x": [None] * 6, "y": list("abcabc")}, "y")  # 2/3 wrong, as a guess among three
    for boosted in (tw.adaboost("xor"), nothing_known):
        assert at_chance in boosted.rounds.result_table().below
        assert boosted.rounds[0].z == 1


def test_some_rounds_or_none_of_them():
    rounds = tw.adaboost("admissions", n_estimators=3).rounds
    assert str(rounds[1:2]).startswith("AdaBoost for Class: 1 round\n")
    assert str(rounds[2:2]).startswith("AdaBoost for Class: 0 rounds")


def test_a_product_of_one_or_more_is_no_bound():
    rounds = tw.adaboost("penguins", n_estimators=4, max_depth=1).rounds
    loose = replace(rounds, rounds=(replace(rounds[0], bound=1.0), *rounds[1:]))
    lines = str(loose).splitlines()
    assert lines[2].endswith(" –")
    assert "–: a product of 1 or more bounds nothing." in lines
    assert loose.to_frame()["bound"][0] == 1.0
    assert "bounds nothing" not in str(rounds)


def test_a_learner_that_says_the_same_on_both_sides():
    stump = tw.grow({"x": [1, 1, 1, 2, 2, 2], "y": list("aabaaa")}, "y", max_depth=1)
    assert describe_learner(stump) == "always a (x <= 1.5 only changes the probability)"
    many = tw.grow({"c": list("pppqqqrrr"), "y": list("aabaaaaaa")}, "y", max_depth=1, categorical="multiway")
    assert describe_learner(many) == "always a (c only changes the probability)"


@pytest.mark.parametrize("rows", [360, 720])
def test_a_learner_names_a_few_levels_however_many_there_are(rows):
    table = {"name": [f"n{i:03}" for i in range(rows)], "y": ["ab"[i % 3 == 0] for i in range(rows)]}
    message = tw.adaboost(table, "y", n_estimators=1, selection="gain", min_level_rows=1).rounds[0].learner
    assert message == f"name in {{n000, n003, n006, n009, n012, +{rows // 3 - 5}}} → b, otherwise → a"


def test_one_class_has_no_formula():
    actual = tw.adaboost({"x": [1, 2, 3], "y": ["a"] * 3}, "y").rounds
    assert actual.result_table().below == (
        "There is only one class, so the learner makes no errors: ε = 0, and its vote α is set to 1.",
        "The learner of round 1 makes no mistake: nothing is left to weigh anew, and it decides alone.",
    )


@pytest.mark.parametrize("weights", [{"class_weight": {"N": 2, "P": 1}}, {"sample_weight": [1, 2] * 6}])
def test_the_legend_says_that_rows_are_weighed(weights):
    assert "voting, weighted as in round 1; it" in tw.adaboost("admissions", n_estimators=2, **weights).rounds.legend
    assert "round 1" not in tw.adaboost("admissions", n_estimators=2).rounds.legend


def test_rounds_stay_a_table_at_80_columns():
    lines = tw.adaboost("admissions", n_estimators=5).rounds.to_text(80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("round  learner               error ε   vote α        z       training  at most %")
    assert lines[2].split() == ["error", "%"]
    assert lines[3].startswith("    1  GPA = 3.5 → N,        0.16667  0.80472  0.74536           16.7       74.5")


def test_of_many_rounds_the_first_and_the_last_are_shown():
    rounds = tw.adaboost("admissions", n_estimators=50).rounds
    numbers = [line.split()[0] for line in rounds.to_text(200).splitlines()[2:23]]
    assert numbers == [*map(str, range(1, 16)), "…", *map(str, range(46, 51))]
    assert "… 30 more rounds" in rounds.to_text(200).splitlines()
    assert "…" not in rounds.to_text(200, max_rows=50)
    assert len(rounds.result_table().records()) == 50
