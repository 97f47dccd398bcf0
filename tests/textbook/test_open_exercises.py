"""The questions that the notes leave open, answered with built-in tables and commands."""

import pytest

import treewise as tw
from tests.support.handmade_trees import OFFICIALS

# -- why accuracy is a bad score (chapter 8, "Simple example? (later?)") -----------------------------------


def test_accuracy_gives_no_guidance_where_entropy_does():
    by_error, by_entropy = (tw.candidates("no_guidance", criterion=c) for c in ("error", "entropy"))
    assert [by_error[name].gain for name in ("useless", "useful")] == [0, 0]
    assert [by_entropy[name].gain for name in ("useless", "useful")] == pytest.approx([0, 0.3113], abs=5e-5)
    assert (by_error.winner, by_entropy.winner) == ("useless", "useful")


def test_accuracy_prefers_a_rule_for_one_row():
    by_error, by_entropy = (tw.candidates("specialised", criterion=c) for c in ("misclassification", "entropy"))
    assert (by_error.winner, by_entropy.winner) == ("one_row", "group")
    assert [by_error[name].gain for name in ("one_row", "group")] == pytest.approx([1 / 18, 0])


# -- greedy is not always smallest -------------------------------------------------------------------------


def test_greedy_growth_misses_the_smallest_tree():
    greedy, smallest = tw.grow("distractor"), tw.smallest("distractor").tree
    assert greedy.split_at(0).column == "x3"  # the distractor has the only gain
    assert (greedy.n_leaves, smallest.n_leaves) == (6, 4)
    for tree in (greedy, smallest):
        assert tree.evaluate("distractor").error == 0
    assert smallest.columns[smallest.arrays.column[0]] != "x3"


@pytest.mark.parametrize("table", ["six_points", "four_points", "seven_points", "xor", "or", "admissions", "food"])
def test_no_smaller_tree_fits(table):
    """The smallest tree has no more leaves than the greedy one, and no more errors."""
    smallest, greedy = tw.smallest(table).tree, tw.grow(table)
    assert smallest.n_leaves <= greedy.n_leaves
    assert smallest.evaluate(table).error <= greedy.evaluate(table).error
    assert tw.smallest("or").least_leaves == 3  # an or of n inputs needs n + 1 leaves


def test_the_number_of_trees_is_exponential():
    assert [tw.count_trees(n) for n in range(4)] == [2, 6, 74, 16430]
    assert [len(str(tw.count_trees(n))) for n in (5, 10)] == [19, 627]


# -- is it a coincidence that two trees agree? (section 5, question 3) -------------------------------------


def test_agreement_on_the_rows_is_no_proof_and_agreement_everywhere_no_coincidence():
    """Both trees fit the twelve rows, and still differ. Where all cases are in the table, agreement is certain."""
    officials, grown = tw.parse(OFFICIALS, data="admissions"), tw.grow("admissions", preset="id3")
    comparison = tw.compare(officials, grown, "admissions")
    assert not comparison.equivalent
    assert officials.predict("admissions").tolist() == grown.predict("admissions").tolist()
    complete = tw.datasets.or_table(3)  # every case occurs: trees without error must agree
    one, two = tw.grow(complete), tw.smallest(complete).tree
    assert one.evaluate(complete).error == two.evaluate(complete).error == 0
    cases = {name: [row >> i & 1 for row in range(8)] for i, name in enumerate(("x1", "x2", "x3"))}
    assert one.predict(cases).tolist() == two.predict(cases).tolist()


# -- when is a tree better than K-NN, and when is K-NN? (ID3 notes) ----------------------------------------


def test_each_of_k_nn_and_the_tree_wins_on_a_table():
    for table, winner in {"diagonal": "knn does better", "irrelevant": "the tree does better"}.items():
        assert winner in str(tw.compare_models(table, models="knn", folds=5))


def test_k_can_be_given_and_1_nn_makes_no_training_error():
    assert "k = 1" in str(tw.compare_models("irrelevant", models="knn=1", folds=3))
    curve = tw.knn_curve("diagonal", ks=[1, 5, 25], leaves=[2, 8, 64], folds=3)
    at = {(p.model, p.size): p for p in curve.points}
    assert at["knn", 1].training_error == at["tree", 64].training_error == 0
    assert at["tree", 2].training_error > 0.2
    assert all(p.error >= 0 for p in curve.points)
    assert curve.best("knn").error < curve.best("tree").error
    axes = curve.draw()
    assert [ax.get_xlabel() for ax in axes] == ["k", "leaves"]
    with pytest.raises(tw.ParameterError, match="ks=9999: must be at most"):
        tw.knn_curve("diagonal", ks=[9999], folds=3)


def test_what_k_nn_costs_over_rows_and_columns():
    actual = tw.knn_scaling(rows=[500, 5000], columns=[2, 20])
    knn = {(p.rows, p.columns): p for p in actual.points if p.model == "knn"}
    tree = {(p.rows, p.columns): p for p in actual.points if p.model == "tree"}
    assert knn[5000, 2].bytes > 5 * knn[500, 2].bytes  # it stores the table
    assert knn[5000, 20].bytes > 3 * knn[5000, 2].bytes
    assert tree[5000, 20].bytes < knn[5000, 20].bytes
