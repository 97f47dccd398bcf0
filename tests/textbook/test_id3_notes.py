"""The ID3 notes, number by number: thresholds, entropy in nats, joint tables, XOR, the outlier, true error.

The notes print 0.918 for H(5/7, 2/7), which is 0.598 in nats (0.863 bits); their four gains follow from 0.598
but subtract rounded parts. The tests hold the exact values.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw

LOG2, LOG3 = math.log(2), math.log(3)


def asked(tree):
    """Return what each inner node asks, in words."""
    return [tree.condition(node.children[0]) for node in tree if not node.is_leaf]


# -- Rules as trees ------------------------------------------------------------------------------------


def test_the_nested_rule_of_the_first_page():
    tree = tw.parse("""
        x1 <= 3
            x2 <= 3 -> 0
            x2 > 3 -> 1
        x1 > 3 -> 0
    """)
    points = {"x1": [3, 3, 4, 0, 9], "x2": [3, 4, 4, 99, 0]}
    assert tree.predict(points).tolist() == [0, 1, 0, 1, 0]


def test_six_points_fit_by_two_trees_and_id3_finds_the_smaller(mistakes):
    points = tw.datasets.six_points()
    small = tw.parse("""
        x1 <= 0.5 -> +
        x1 > 0.5
            x2 <= 1.5 -> -
            x2 > 1.5 -> +
    """)
    large = tw.parse("""
        x2 <= 0.5
            x1 <= 0.5 -> +
            x1 > 0.5 -> -
        x2 > 0.5
            x2 <= 1.5
                x1 <= 0.5 -> +
                x1 > 0.5 -> -
            x2 > 1.5 -> +
    """)
    learned = tw.grow(points, "y", preset="id3")
    assert mistakes(small, points) == mistakes(large, points) == mistakes(learned, points) == 0
    assert (small.n_leaves, large.n_leaves) == (3, 5)
    assert learned.n_leaves == small.n_leaves
    assert asked(learned) == asked(small) == ["x1 <= 0.5", "x2 <= 1.5"]
    comparison = tw.compare(small, large, points, names=("Tree 1", "Tree 2"), complete=True)
    assert comparison.equivalent
    assert [side.error.wrong for side in comparison.sides] == [0, 0]
    assert comparison.smaller == "Tree 1"
    assert "both 0 of 6 rows wrong: Tree 1 is simpler at equal error" in str(comparison).replace("\n", " ")


# -- The small example, rule by rule -------------------------------------------------------------------


def test_three_candidates_before_there_is_a_tree(rules):
    root = tw.candidates(tw.datasets.four_points(), "y")
    assert rules(root) == ["x1 <= 0.5", "x1 <= 1.5", "x2 <= 0.5"]


def test_the_small_example_split_by_hand(rules, mistakes):
    points = tw.datasets.four_points()
    tree = tw.grow(points, "y", max_depth=0)
    assert tree[0].counts == {0: 3, 1: 1}

    tree = tree.split(0, "x1 <= 0.5", points)
    v1, v2 = (tree[child] for child in tree[0].children)
    assert (v1.counts, v2.counts) == ({0: 1, 1: 1}, {0: 2})
    assert rules(tree.trace(points)[v1.id]) == ["x2 <= 0.5"]

    tree = tree.split(v1.id, "x2 <= 0.5", points)
    assert all(len(node.counts) == 1 for node in tree if node.is_leaf)
    assert [node.prediction for node in tree if node.is_leaf] == [1, 0, 0]
    assert mistakes(tree, points) == 0
    grown = tw.grow(points, "y")
    assert [(tree.condition(n.id), n.counts) for n in tree] == [(grown.condition(n.id), n.counts) for n in grown]


labelled_points = st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.booleans(), min_size=2)


@settings(max_examples=30, deadline=None)
@given(labelled_points)
def test_distinct_rows_give_pure_leaves_and_no_training_error(points):
    x1, x2 = zip(*points, strict=True)
    data = {"x1": list(x1), "x2": list(x2), "y": [int(y) for y in points.values()]}
    tree = tw.grow(data, "y")
    assert tree.predict(data).tolist() == data["y"]
    assert {n.stop for n in tree if n.is_leaf} == {"pure"}


# -- Entropy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [([1 / 2, 1 / 2], LOG2), ([1, 0], 0.0), *[([1 / k] * k, math.log(k)) for k in (2, 3, 5, 10)]],
)
def test_entropy_examples(probabilities, expected):
    assert tw.entropy(probabilities, unit="nats") == pytest.approx(expected)


def test_log_2_is_about_069():
    assert tw.entropy([1, 1], unit="nats") == pytest.approx(0.69, abs=5e-3)


def test_the_nearer_to_one_half_the_higher():
    values = [tw.entropy([p / 20, 1 - p / 20], unit="nats") for p in range(11)]
    assert all(a < b for a, b in pairwise(values))


some_counts = st.lists(st.integers(0, 1000), min_size=1, max_size=6).filter(any)


@settings(deadline=None)
@given(some_counts, st.randoms(use_true_random=False), st.integers(1, 50))
def test_entropy_depends_on_the_probabilities_only(counts, random, times):
    shuffled = random.sample(counts, len(counts))
    shares = [count / sum(counts) for count in counts]
    for same in (shuffled, [times * count for count in counts], shares, [*counts, 0]):
        assert tw.entropy(same, "nats") == pytest.approx(tw.entropy(counts, "nats"), abs=1e-12)


@settings(deadline=None)
@given(some_counts)
def test_entropy_lies_between_0_and_log_k_with_equality_only_when_uniform(counts):
    h, most = tw.entropy(counts, "nats"), math.log(len(counts))
    assert 0 <= h <= most + 1e-12
    assert (h > most - 1e-12) == (len(set(counts)) == 1)
    assert (h == 0) == (sum(count > 0 for count in counts) == 1)


# -- Conditional entropy and information gain ----------------------------------------------------------

JOINT_Z_IN_COLUMNS = [[1 / 3, 1 / 3], [1 / 3, 0]]
JOINT_Z_IN_ROWS = [[0, 1 / 2, 1 / 4], [1 / 12, 1 / 12, 1 / 12]]


def test_first_joint_table_has_z_in_columns():
    h = tw.conditional_entropy(JOINT_Z_IN_COLUMNS, given="columns", unit="nats")
    assert h == pytest.approx(2 / 3 * LOG2)
    assert h == pytest.approx(0.462, abs=5e-4)


def test_exercise_knowing_z_reduces_the_uncertainty_about_x():
    h_x = tw.entropy([2 / 3, 1 / 3], unit="nats")
    h_x_given_z = tw.conditional_entropy(JOINT_Z_IN_COLUMNS, given="columns", unit="nats")
    assert h_x == pytest.approx(0.6365, abs=5e-5)
    assert h_x_given_z < h_x
    gain = tw.information_gain([2 / 3, 1 / 3], [[1 / 3, 1 / 3], [1 / 3, 0]], unit="nats")
    assert gain == pytest.approx(h_x - h_x_given_z)


def test_second_joint_table_has_z_in_rows():
    assert tw.entropy([0, 2 / 3, 1 / 3], unit="nats") == pytest.approx(LOG3 - 2 / 3 * LOG2)
    assert tw.entropy([1 / 3, 1 / 3, 1 / 3], unit="nats") == pytest.approx(LOG3)
    h = tw.conditional_entropy(JOINT_Z_IN_ROWS, given="rows", unit="nats")
    assert h == pytest.approx(LOG3 - LOG2 / 2)
    assert h == pytest.approx(3 / 4 * (LOG3 - 2 / 3 * LOG2) + 1 / 4 * LOG3)


def test_the_two_ways_of_writing_a_joint_table_agree():
    turned = [list(column) for column in zip(*JOINT_Z_IN_ROWS, strict=True)]
    by_rows = tw.conditional_entropy(JOINT_Z_IN_ROWS, given="rows")
    assert tw.conditional_entropy(turned, given="columns") == pytest.approx(by_rows)


@settings(deadline=None)
@given(some_counts)
def test_nothing_is_left_of_x_given_x(counts):
    joint = [[count if i == j else 0 for j in range(len(counts))] for i, count in enumerate(counts)]
    assert tw.conditional_entropy(joint, given="rows") == 0
    assert tw.conditional_entropy(joint, given="columns") == 0


@settings(deadline=None)
@given(some_counts, some_counts)
def test_an_independent_z_tells_nothing(x, z):
    joint = [[a * b for a in x] for b in z]
    assert tw.conditional_entropy(joint, given="rows") == pytest.approx(tw.entropy(x), abs=1e-12)
    assert tw.conditional_entropy(joint, given="columns") == pytest.approx(tw.entropy(z), abs=1e-12)


joint_counts = st.integers(1, 4).flatmap(lambda k: st.lists(st.tuples(*[st.integers(0, 99)] * k), min_size=1))


@settings(deadline=None)
@given(joint_counts)
def test_information_gain_is_never_negative(joint):
    x = [sum(column) for column in zip(*joint, strict=True)]
    if not any(x):
        return
    gain = tw.information_gain(x, joint, unit="nats")
    assert 0 <= gain <= tw.entropy(x, "nats") + 1e-12
    left = tw.conditional_entropy(joint, given="rows", unit="nats")
    assert gain == pytest.approx(tw.entropy(x, "nats") - left, abs=1e-9)


# -- Seven points: four candidate rules, their gains in nats -------------------------------------------


@pytest.fixture(scope="module")
def seven():
    return tw.datasets.seven_points()


def test_entropy_of_five_stars_and_two_dots():
    assert tw.entropy([5, 2], unit="nats") == pytest.approx(0.598, abs=5e-4)
    assert tw.entropy([5, 2], unit="bits") == pytest.approx(0.863, abs=5e-4)
    assert tw.entropy([3, 2], unit="nats") == pytest.approx(0.673, abs=5e-4)


def test_conditional_entropy_of_x2_below_15_step_by_step():
    h = tw.conditional_entropy([[2, 3], [0, 2]], given="rows", unit="nats")
    assert h == pytest.approx(5 / 7 * tw.entropy([3, 2], unit="nats"))
    assert h == pytest.approx(0.48, abs=5e-3)


@pytest.mark.parametrize(
    ("rule", "branches", "left_over", "gain"),
    [
        ("x1 <= 0.5", [[1, 0], [1, 5]], 0.3862, 0.2121),
        ("x1 <= 1.5", [[2, 2], [0, 3]], 0.3961, 0.2022),
        ("x2 <= 0.5", [[2, 1], [0, 4]], 0.2728, 0.3255),
        ("x2 <= 1.5", [[2, 3], [0, 2]], 0.4807, 0.1175),
    ],
)
def test_gains_of_the_four_rules(seven, rule, branches, left_over, gain):
    root = tw.candidates(seven, "y", unit="nats", per="row")
    tests = {test.words: test for column in root.candidates.values() for test in column.tests}
    assert len(tests) == 4
    assert [list(branch) for branch in tests[rule].branches] == branches  # dots, stars
    assert tests[rule].gain == pytest.approx(gain, abs=5e-5)
    assert tw.conditional_entropy(branches, given="rows", unit="nats") == pytest.approx(left_over, abs=5e-5)
    assert tw.information_gain([2, 5], branches, unit="nats") == pytest.approx(gain, abs=5e-5)


def test_id3_takes_x2_below_05_and_then_x1_below_15(seven, rules, mistakes):
    tree = tw.grow(seven, "y", preset="id3")
    assert asked(tree) == ["x2 <= 0.5", "x1 <= 1.5"]
    trace = tree.trace(seven, unit="nats", per="row")
    left = trace[1]
    assert rules(left) == ["x1 <= 0.5", "x1 <= 1.5"]
    assert [test.gain for test in left["x1"].tests] == pytest.approx([0.1744, 0.6365], abs=5e-5)
    assert (tree.n_leaves, mistakes(tree, seven)) == (3, 0)


# -- XOR: the best gain is 0, and we do not stop -------------------------------------------------------


def test_xor_gains_nothing_at_the_root(rules):
    root = tw.candidates(tw.datasets.xor(), "y", unit="nats", per="row")
    assert root.impurity == pytest.approx(LOG2)
    assert rules(root) == ["x1 <= 0.5", "x2 <= 0.5"]
    assert [root["x1"].gain, root["x2"].gain] == [0, 0]
    assert tw.conditional_entropy([[1, 1], [1, 1]], unit="nats") == pytest.approx(LOG2)


def test_xor_is_solved_all_the_same(mistakes):
    points = tw.datasets.xor()
    tree = tw.grow(points, "y")
    assert tree[0].gain == 0
    assert (tree.n_leaves, tree.depth, mistakes(tree, points)) == (4, 2, 0)
    # Unless told otherwise, the first of equals.
    assert asked(tree) == ["x1 <= 0.5", "x2 <= 0.5", "x2 <= 0.5"]


def test_ties_are_broken_at_random_when_asked(mistakes):
    points = tw.datasets.xor()
    trees = [tw.grow(points, "y", ties="random", random_state=seed) for seed in range(40)]
    roots = [tree[0].split.column for tree in trees]
    assert set(roots) == {"x1", "x2"}
    assert 8 <= roots.count("x1") <= 32  # a fair coin leaves this range once in 20,000 times
    assert all(mistakes(tree, points) == 0 for tree in trees)
    assert all(tw.grow(points, "y", ties="random", random_state=seed) == trees[seed] for seed in (0, 1, 2))


# -- Overfitting: the outlier, and true error ----------------------------------------------------------


def test_the_full_tree_isolates_the_lone_dot_and_the_validation_points_contradict_it(mistakes):
    points, unseen = tw.datasets.outlier(), tw.datasets.outlier_validation()
    full = tw.grow(points, "y", preset="id3")
    lone = full[int(full.apply(points)[-1])]
    assert (lone.rows, lone.prediction) == (1, "dot")
    assert (mistakes(full, points), mistakes(full, unseen)) == (0, 2)
    fooled = full.apply(unseen).tolist().count(lone.id)
    assert fooled == 2

    simple = tw.grow(points, "y", preset="id3", max_leaf_nodes=2)
    assert asked(simple) == ["x1 <= 4"]
    assert (mistakes(simple, points), mistakes(simple, unseen)) == (1, 0)


@pytest.fixture(scope="module")
def world():
    return tw.datasets.sampler(noise=0.1)


def test_a_large_test_set_estimates_the_true_error(world):
    tree = tw.grow(world.sample(200, seed=1), "y")
    test = world.sample(40_000, seed=2)
    estimate = np.mean(tree.predict(test) != test["y"].values)
    assert estimate == pytest.approx(world.true_error(tree), abs=0.01)


def test_training_error_falls_with_size_while_true_error_turns(world, mistakes):
    data = world.sample(300, seed=3)
    sizes = [1, 2, 4, 8, 16, 32, 64, None]
    trees = [tw.grow(data, "y", max_leaf_nodes=size) for size in sizes]
    training = [mistakes(tree, data) for tree in trees]
    true = [world.true_error(tree) for tree in trees]
    assert all(a >= b for a, b in pairwise(training))
    best = int(np.argmin(true))
    assert 0 < best < len(sizes) - 1
    assert true[-1] > true[best] + 0.02
    assert min(true) >= world.least_error


def test_more_data_brings_training_and_true_error_together(world, mistakes):
    def gap(n):
        tables = [world.sample(n, seed=seed) for seed in range(5)]
        trees = [tw.grow(table, "y", max_leaf_nodes=8) for table in tables]
        gaps = [world.true_error(t) - mistakes(t, table) / n for t, table in zip(trees, tables, strict=True)]
        return float(np.mean(gaps))

    assert abs(gap(5000)) < 0.01 < gap(50)


def test_the_tree_after_each_update_lists_the_points_of_its_nodes():
    from treewise.show.picture.scene import TextShape

    strip = tw.grow("four_points").draw_steps(data="four_points", rows="abcd", questions=True)
    shown = [shape.text for shape in strip.scene.shapes() if isinstance(shape, TextShape)]
    assert shown[2:5] == ["start", "impure", "0"]
    assert shown.count("impure") == 2  # the root, then v1
    assert shown.count("a b") == 2  # "Now v1, containing a, b, is impure", and after its split
    assert shown.count("Is x1 ≤ 0.5?") == 2
