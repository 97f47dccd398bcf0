"""CS221 section 5, number by number: twelve applicants, all gains, two trees that disagree, an AdaBoost step.

The section's gains are totals in bits, m·H. Where it prints 4.854, 0.854 and 2.099 it cut off 4.8548, 0.8548
and 2.0999; the tests hold the values before cutting. Its p = m+/m− is a slip for m+/m.
"""

import math
from fractions import Fraction
from itertools import product

import pytest

import treewise as tw
from tests.support.handmade_trees import OFFICIALS
from treewise.ensemble.adaboost import WeightUpdate


@pytest.fixture(scope="module")
def applicants():
    return tw.datasets.admissions()


@pytest.fixture(scope="module")
def learned(applicants):
    return tw.grow(applicants, "Class", preset="id3")


@pytest.fixture(scope="module")
def officials():
    return tw.parse(OFFICIALS)


@pytest.fixture(scope="module")
def trace(learned, applicants):
    return learned.trace(applicants, per="total", unit="bits")


def path_in_words(tree, leaf):
    return [tree.condition(node) for node in tree.path(leaf)[1:]]


# -- Question 1: the officials' tree categorises the twelve applicants correctly -----------------------


def test_officials_tree_agrees_with_every_row(officials, applicants, cells):
    assert officials.predict(applicants).tolist() == cells(applicants, "Class")


def test_officials_tree_path_of_every_row(officials, applicants):
    expected = [
        ["GPA = 4.0", "Recommendation = good"],
        ["GPA = 4.0", "Recommendation = good"],
        ["GPA = 4.0", "Recommendation = normal", "University = top20"],
        ["GPA = 3.7", "Published = yes"],
        ["GPA = 3.7", "Published = no", "University = top20"],
        ["GPA = 3.7", "Published = yes"],
        ["GPA = 3.7", "Published = no", "University = top30"],
        ["GPA = 3.7", "Published = no", "University = top10"],
        ["GPA = 3.5"],
        ["GPA = 3.5"],
        ["GPA = 3.5"],
        ["GPA = 3.5"],
    ]
    leaves = officials.apply(applicants).tolist()
    assert [path_in_words(officials, leaf) for leaf in leaves] == expected
    assert all(officials[leaf].is_leaf for leaf in leaves)


def test_officials_tree_categorises_the_applicants_correctly(officials, applicants):
    """The question itself: yes. No leaf is contradicted, no two like applicants were treated differently."""
    report = officials.check(applicants)
    assert report.sound
    assert (report.n, report.errors, report.least_errors, report.contradictions) == (12, 0, 0, ())
    assert [leaf.rule for leaf in report.empty] == [
        "GPA = 4.0 and Recommendation = normal and University = top10",
        "GPA = 4.0 and Recommendation = normal and University = top30",
    ]  # where it differs from the learned tree (question 3), no applicant tells who is right
    assert sum(leaf.agreeing for leaf in report.leaves) == 12
    assert officials.refit(applicants).predict(applicants).tolist() == officials.predict(applicants).tolist()


def test_officials_tree_has_nine_leaves(officials):
    assert (officials.n_leaves, officials.depth) == (9, 3)


# -- Question 2: what tree will the algorithm come up with? Show all the computations ------------------


@pytest.mark.parametrize(
    ("counts", "printed"),
    [
        ([3, 2], 0.97095),
        ([2, 1], 0.91830),
        ([1, 3], 0.81128),
        ([3, 4], 0.98523),
        ([5, 3], 0.95443),
        ([3, 0], 0.0),
    ],
)
def test_entropies(counts, printed):
    assert tw.entropy(counts) == pytest.approx(printed, abs=5e-6)


def test_root_contributes_twelve_bits(applicants, trace):
    root = tw.grow(applicants, "Class", max_depth=0)
    assert root.log_likelihood(applicants, unit="bits") == pytest.approx(-12)
    assert root[0].counts == {"N": 6, "P": 6}
    assert trace[0].impurity == pytest.approx(12)


@pytest.mark.parametrize(
    ("node", "column", "formula", "gain"),
    [
        (0, "GPA", "12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]", 7.145),
        (0, "University", "12 − [5·H(3/5) + 3·H(2/3) + 4·H(1/4)]", 1.145),
        (0, "Published", "12 − [7·H(3/7) + 5·H(3/5)]", 0.249),
        (0, "Recommendation", "12 − [8·H(5/8) + 4·H(1/4)]", 1.119),
        (2, "University", "4.855 − [2·H(1/2) + 1·H(1/1) + 2·H(1/2)]", 0.8548),
        (2, "Published", "4.855 − [3·H(1/3) + 2·H(2/2)]", 2.0999),
        (2, "Recommendation", "4.855 − [5·H(3/5)]", 0.0),
        (3, "University", "2.755 − [1·H(0/1) + 1·H(1/1) + 1·H(0/1)]", 2.755),
        (3, "Recommendation", "2.755 − [3·H(1/3)]", 0.0),
    ],
)
def test_all_the_computations(trace, node, column, formula, gain):
    assert trace[node][column].formula == formula
    assert trace[node][column].gain == pytest.approx(gain, abs=5e-4)


@pytest.mark.parametrize(
    ("column", "arithmetic"),
    [
        ("GPA", "12 − [4(0) + 5(0.97095) + 3(0)]"),
        ("University", "12 − [5(0.97095) + 3(0.91830) + 4(0.81128)]"),
        ("Published", "12 − [7(0.98523) + 5(0.97095)]"),
        ("Recommendation", "12 − [8(0.95443) + 4(0.81128)]"),
    ],
)
def test_the_computations_with_their_numbers_put_in(trace, column, arithmetic):
    assert trace[0][column].arithmetic == arithmetic


def test_gpa_wins_with_six_bits_to_spare(trace):
    assert (trace[0].winner, trace[0].runner_up) == ("GPA", "University")
    assert trace[0].margin == pytest.approx(6.0)


def test_the_two_outer_grades_are_done(learned):
    assert [learned.condition(child) for child in learned[0].children] == ["GPA = 3.5", "GPA = 3.7", "GPA = 4.0"]
    low, middle, high = (learned[child] for child in learned[0].children)
    assert (low.stop, low.counts) == ("pure", {"N": 4})
    assert (high.stop, high.counts) == ("pure", {"P": 3})
    assert middle.counts == {"N": 2, "P": 3}


def test_at_gpa_37_published_wins(trace):
    node = trace[2]
    assert node.impurity == pytest.approx(4.85475, abs=5e-6)
    assert (node.winner, node.runner_up) == ("Published", "University")


def test_columns_that_cannot_split_are_listed_with_the_reason(trace):
    recommendation, gpa = trace[2]["Recommendation"], trace[2]["GPA"]
    assert (recommendation.gain, gpa.gain) == (0, 0)
    assert "good" in recommendation.note
    assert "3.7" in gpa.note


def test_among_the_unpublished_university_wins(trace):
    node = trace[3]
    assert node.impurity == pytest.approx(2.755, abs=5e-4)
    assert node.winner == "University"


def test_the_learned_tree(learned, applicants, mistakes):
    shown = [(learned.condition(n.id), n.prediction if n.is_leaf else None) for n in learned]
    assert shown == [
        ("all rows", None),
        ("GPA = 3.5", "N"),
        ("GPA = 3.7", None),
        ("Published = no", None),
        ("University = top10", "N"),
        ("University = top20", "P"),
        ("University = top30", "N"),
        ("Published = yes", "P"),
        ("GPA = 4.0", "P"),
    ]
    assert (learned.n_leaves, learned.depth) == (6, 3)
    assert mistakes(learned, applicants) == 0


def test_the_gains_of_the_tree_are_the_log_likelihood_gained(learned, applicants):
    gained = sum(n.rows * n.gain for n in learned if not n.is_leaf)
    assert gained == pytest.approx(12)
    assert learned.log_likelihood(applicants, unit="bits") == 0


@pytest.mark.parametrize(
    ("parent", "branches", "printed"),
    [
        ([6, 6], [[0, 3], [2, 3], [4, 0]], 7.145),
        ([6, 6], [[2, 3], [1, 2], [3, 1]], 1.145),
        ([6, 6], [[2, 3], [4, 3]], 0.249),
        ([6, 6], [[3, 1], [3, 5]], 1.119),
        ([2, 3], [[1, 1], [0, 1], [1, 1]], 0.8548),
        ([2, 3], [[0, 2], [2, 1]], 2.0999),
        ([2, 3], [[2, 3]], 0.0),
        ([2, 1], [[1, 0], [0, 1], [1, 0]], 2.755),
        ([2, 1], [[2, 1]], 0.0),
    ],
)
def test_every_gain_by_hand(parent, branches, printed):
    assert tw.information_gain(parent, branches, per="total") == pytest.approx(printed, abs=5e-4)


# -- Question 3: are the two trees equivalent? If not, a case they classify differently ----------------


def test_the_trees_disagree_on_the_sections_example(officials, learned):
    case = {"GPA": "4.0", "University": "top10", "Published": "yes", "Recommendation": "normal"}
    assert officials.predict([case]).tolist() == ["N"]
    assert learned.predict([case]).tolist() == ["P"]


def test_the_trees_differ_on_four_of_all_36_applications(officials, learned):
    names = ("GPA", "University", "Published", "Recommendation")
    levels = (("4.0", "3.7", "3.5"), ("top10", "top20", "top30"), ("yes", "no"), ("good", "normal"))
    cases = [dict(zip(names, case, strict=True)) for case in product(*levels)]
    pairs = zip(cases, officials.predict(cases).tolist(), learned.predict(cases).tolist(), strict=True)
    different = [case for case, a, b in pairs if a != b]
    assert len(cases) == 36
    assert len(different) == 4
    assert all(case["GPA"] == "4.0" and case["Recommendation"] == "normal" for case in different)
    assert {case["University"] for case in different} == {"top10", "top30"}


def test_compare_answers_the_question(officials, learned, applicants):
    comparison = tw.compare(officials, learned, applicants, names=("officials", "learned"))
    assert not comparison.equivalent
    assert (comparison.differ_on, comparison.cases) == (4, 36)
    assert (comparison.rows_differ, comparison.rows) == (0, 12)
    assert [officials.predict(comparison.witness), learned.predict(comparison.witness)] == ["N", "P"]
    assert [(side.prediction, side.node) for side in comparison.sides] == [("N", 4), ("P", 8)]
    assert comparison.witness_needs == ()
    case = {"GPA": "4.0", "University": "top10", "Published": "yes", "Recommendation": "normal"}
    assert [w.region.contains(case) for w in comparison.where] == [True]
    assert comparison.where[0].text == "GPA = 4.0 and Recommendation = normal and University in {top10, top30}"
    assert [change.text for change in comparison.changes] == [
        "the split Recommendation = … (4 leaves below) became a leaf: P"
    ]


# -- Section 2: after AdaBoost's update, the last learner errs on exactly half the weight --------------


def test_adaboost_update_leaves_the_last_stump_at_one_half(cells):
    data = tw.datasets.seven_rows()
    truth = cells(data, "Y")

    def weighted_error(stump, weights):
        message = stump.predict(data).tolist()
        wrong = [w for w, s, t in zip(weights, message, truth, strict=True) if s != t]
        return Fraction(sum(wrong), sum(weights)), [s != t for s, t in zip(message, truth, strict=True)]

    first = tw.grow(data, "Y", max_depth=1)
    error, wrong = weighted_error(first, [1] * 7)
    assert error == Fraction(2, 7)
    # D(i) / (2·(1 − ε)) where right, D(i) / (2·ε) where wrong: 7/10 and 7/4, as whole numbers 2 and 5.
    weights = [(1 - error if w else error).numerator for w in wrong]
    assert sorted(weights) == [2, 2, 2, 2, 2, 5, 5]
    assert weighted_error(first, weights)[0] == Fraction(1, 2)

    second = tw.grow(data, "Y", max_depth=1, sample_weight=weights)
    assert weighted_error(second, weights)[0] < Fraction(1, 2)
    assert second[0].split != first[0].split


@pytest.fixture(scope="module")
def boosted(applicants):
    return tw.adaboost(applicants, "Class", n_estimators=8)


def test_adaboost_votes_and_normalisers_are_the_notes(boosted):
    """α = ½ log((1 − ε)/ε) and z = 2 √(ε(1 − ε)), of every round."""
    for found in boosted.rounds:
        assert 0 < found.error < 0.5
        assert found.vote == pytest.approx(0.5 * math.log((1 - found.error) / found.error), rel=1e-14)
        assert found.z == pytest.approx(2 * math.sqrt(found.error * (1 - found.error)), rel=1e-14)
        assert found.training_error <= found.bound
    assert boosted.votes.tolist() == [found.vote for found in boosted.rounds]


def test_adaboost_first_rounds_in_fractions(boosted, applicants):
    """Twelve rows of 1/12, two wrong: ε = 1/6, the right ones become 1/20, the wrong ones 1/4; then ε = 3/20, …"""
    due = [
        (Fraction(1, 12), {7, 8}, Fraction(1, 6), Fraction(1, 20), Fraction(1, 4)),
        (Fraction(1, 20), {4, 5, 6}, Fraction(3, 20), Fraction(1, 34), Fraction(1, 6)),
    ]
    for b, (before, wrong, error, right_after, wrong_after) in enumerate(due, 1):
        worked_round = boosted.worked_round(applicants, b)
        assert {int(row) for row in worked_round.rows[worked_round.wrong]} == wrong
        assert worked_round.update.error == error
        assert Fraction(int(worked_round.before.units[0]), worked_round.before.total) == before
        after = [Fraction(int(units), worked_round.after.total) for units in worked_round.after.units]
        assert after[0] == right_after == before / (2 * (1 - error))
        assert after[min(wrong) - 1] == wrong_after == before / (2 * error)


def test_adaboost_mistakes_weigh_one_half_after_every_round(boosted, applicants):
    """What the section proves: Σ D_{b+1}(i)·1{h_b(x_i) ≠ y_i} = 1/2."""
    for b in range(1, len(boosted) + 1):
        worked_round = boosted.worked_round(applicants, b)
        assert worked_round.next_weights.sum() == pytest.approx(1, abs=1e-12)
        assert worked_round.next_weights[worked_round.wrong].sum() == pytest.approx(0.5, abs=1e-12)


def test_adaboost_moves_weights_the_more_the_fewer_mistakes():
    """The section's remark: near ε = 1/2 the next weights are almost the last ones; of few mistakes they grow much."""
    almost = WeightUpdate(499, 1000, 2).factors
    assert almost == pytest.approx((1, 1), abs=0.003)
    assert WeightUpdate(1, 1000, 2).factors[1] == 500


def test_adaboost_worked_round_on_paper(boosted, applicants):
    lines = boosted.worked_round(applicants, 2).to_text(width=110).split("\n")
    assert lines[:6] == [
        "Round 2 of AdaBoost for Class: GPA = 4.0 → P, otherwise → N",
        "ε_2 = 1/20 + 1/20 + 1/20 = 3/20 = 0.15, the weight of the misclassified rows",
        "α_2 = ½ log((17/20)/(3/20)) = 0.8673, its vote weight",
        "z_2 = 2 √((3/20) · (17/20)) = 0.71414",
        "D_3 = D_2 · e^−α/z if correct, D_2 · e^α/z if wrong, which is D/(2 (1 − ε)) and D/(2 ε)",
        "row  Class  predicted  wrong   D_2       D_3  update to D_3",
    ]
    assert lines[9] == "  4  P      N          yes    0.05   0.16667  1/20 / (2 · 3/20) = 1/6"
    assert lines[12] == "  7  N      N                 0.25   0.14706  1/4 / (2 · 17/20) = 5/34"
    assert lines[18] == "The misclassified rows now have 1/2 of the total weight, as much as the others."
