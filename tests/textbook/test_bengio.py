"""Bengio's slides: rules with AND, mixed inputs, entropy as bits, stumps and recursion, capacity.

A slide writes max where the conditional entropy over thresholds is to be minimised; here it is.
"""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw

MIXED = {
    "x1": ["a", "b", "a", "b", "b", "a", "b", "a"],
    "x3": [False, False, False, False, True, True, True, True],
    "x5": [1.4, 2.9, 3.5, 6.1, 1.4, 2.9, 3.5, 6.1],
    "y": [-1, -1, -1, -1, 1, 1, -1, -1],
}


# -- Rule based decisions ------------------------------------------------------------------------------


def test_if_x3_is_true_and_x5_at_most_32_then_y_is_1():
    tree = tw.grow(MIXED, "y")
    assert tree.classes == (-1, 1)
    yes = [node for node in tree if node.is_leaf and node.prediction == 1]
    assert [[tree.condition(i) for i in tree.path(node.id)[1:]] for node in yes] == [["x3 is true", "x5 <= 3.2"]]
    assert tree.predict(MIXED).tolist() == MIXED["y"]


def test_the_rule_holds_for_new_rows():
    tree = tw.grow(MIXED, "y")
    rows = [{"x3": True, "x5": 3.2}, {"x3": True, "x5": 3.2000001}, {"x3": False, "x5": 0.0}]
    assert tree.predict(rows).tolist() == [1, -1, -1]


# -- Information gain ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probabilities", "bits"),
    [([1 / 8] * 8, 3), ([1 / 2, 1 / 4, 1 / 8, 1 / 8], 1.75), ([1 / 2, 1 / 2], 1), ([1], 0)],
)
def test_entropy_is_the_average_number_of_bits_to_transmit_y(probabilities, bits):
    assert tw.entropy(probabilities) == pytest.approx(bits)
    assert huffman_length(probabilities) == pytest.approx(bits)


@settings(deadline=None)
@given(st.lists(st.integers(1, 100), min_size=2, max_size=8))
def test_no_code_beats_the_entropy_and_the_best_is_within_a_bit(counts):
    length = huffman_length([count / sum(counts) for count in counts])
    assert tw.entropy(counts) - 1e-9 <= length < tw.entropy(counts) + 1


def huffman_length(probabilities):
    """Return the average length of the best prefix code: each merge adds a bit to all that is merged."""
    heap, total = list(probabilities), 0.0
    heapq.heapify(heap)
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        total += merged
        heapq.heappush(heap, merged)
    return total


def test_information_gain_is_entropy_less_conditional_entropy():
    root = tw.candidates(MIXED, "y")
    h = tw.entropy([6, 2])
    assert root.impurity == pytest.approx(h)
    assert root["x3"].gain == pytest.approx(h - tw.conditional_entropy([[4, 0], [2, 2]], given="rows"))
    assert root["x1"].gain == pytest.approx(h - tw.conditional_entropy([[3, 1], [3, 1]], given="rows"))
    assert root["x1"].gain == pytest.approx(0, abs=1e-12)


def test_a_threshold_minimises_the_conditional_entropy():
    tests = tw.candidates(MIXED, "y")["x5"].tests
    assert [test.words for test in tests] == ["x5 <= 2.15", "x5 <= 3.2", "x5 <= 4.8"]
    left_over = [tw.conditional_entropy([list(b) for b in test.branches], given="rows") for test in tests]
    best = int(np.argmin(left_over))
    assert tests[best].words == "x5 <= 3.2"
    assert tw.candidates(MIXED, "y")["x5"].gain == pytest.approx(tw.entropy([6, 2]) - left_over[best])


# -- Stumps and recursion ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["food", "admissions", "seven_points", "seven_rows", "outlier", "penguins"])
def test_a_stump_takes_the_feature_of_largest_gain_in_the_whole_table(name):
    data = tw.datasets.load(name)
    root = tw.candidates(data, data.target, preset="id3")
    stump = tw.grow(data, data.target, preset="id3", max_depth=1)
    best = max(root.candidates, key=lambda column: root[column].gain)
    assert stump[0].split.column == root.winner == best
    assert stump.depth == 1


def test_recursion_grows_on_each_part_what_the_part_alone_would_grow(cells):
    data = tw.datasets.admissions()
    tree = tw.grow(data, "Class", preset="id3")
    middle = np.array([i for i, gpa in enumerate(cells(data, "GPA")) if gpa == "3.7"])
    alone = tw.grow(data.take(middle), "Class", preset="id3")
    part = [(tree.condition(i), tree[i].counts) for i in range(3, 8)]
    assert [(alone.condition(i), alone[i].counts) for i in range(1, len(alone))] == part


# -- Controlling the capacity --------------------------------------------------------------------------


def test_a_complete_tree_learns_any_labels_by_heart_and_an_early_stop_does_not():
    rng = np.random.default_rng(0)
    data = {"x1": rng.random(64), "x2": rng.random(64), "y": rng.integers(0, 2, 64)}
    complete, stopped = tw.grow(data, "y"), tw.grow(data, "y", max_depth=2)
    assert (complete.predict(data) == data["y"]).all()
    assert stopped.n_leaves <= 4
    assert (stopped.predict(data) != data["y"]).sum() > 0
