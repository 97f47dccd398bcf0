"""Rounded thresholds: rounder numbers, the same rows at every node; with a share, few others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from treewise.errors import ParameterError
from treewise.train.round_thresholds import _round_cut

AGES = {"age": [18, 25, 31, 38, 43, 47, 58, 61], "y": [0, 0, 0, 0, 1, 1, 1, 1]}


def test_the_roundest_threshold_that_moves_no_row():
    tree = tw.grow(AGES, "y")
    assert tree[0].split.cut == 40.5
    rounded = tree.round_thresholds(AGES)
    assert rounded[0].split.cut == 40
    assert rounded.history[-1] == {"did": "round_thresholds", "options": {"changed": 1, "moved_rows": 0}}
    assert tw.grow(AGES, "y", round_thresholds=True) == rounded


def numbers(least, most):
    return st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 4)), min_size=least, max_size=most)


@given(numbers(2, 30), st.data())
def test_no_row_moves(values, data):
    values = np.sort(np.array(values))
    cut = data.draw(st.sampled_from(values.tolist()))
    rounded = _round_cut(cut, values, 0.0)
    assert np.array_equal(values <= rounded, values <= cut)
    assert len(f"{rounded:.15g}".strip("-0.").replace(".", "")) <= len(f"{cut:.15g}".strip("-0.").replace(".", "")) + 1


@given(numbers(2, 30), st.sampled_from([0.1, 0.25, 0.4]), st.data())
def test_few_rows_move(values, share, data):
    values = np.sort(np.array(values))
    cut = data.draw(st.sampled_from(values.tolist()))
    rounded = _round_cut(cut, values, share)
    assert np.count_nonzero((values <= rounded) != (values <= cut)) <= share * len(values)
    assert cut == rounded or values[0] <= rounded < values[-1]


@pytest.mark.parametrize("pruning", [None, "cv"])
def test_counts_and_errors_stay(pruning):
    plain = tw.grow("penguins", max_depth=4, pruning=pruning)
    rounded = tw.grow("penguins", max_depth=4, pruning=pruning, round_thresholds=True)
    assert np.array_equal(plain.apply("penguins"), rounded.apply("penguins"))
    assert plain.arrays.rows.tolist() == rounded.arrays.rows.tolist()
    assert rounded.fit_info.cross_validated == plain.fit_info.cross_validated
    assert rounded.evaluate("penguins").is_training_data


def test_with_a_share_the_tree_counts_again():
    tree = tw.grow("penguins", max_depth=2, round_thresholds=0.05)
    moved = tree.history[-1]["options"]["moved_rows"]
    assert 0 < moved <= 0.1 * 344
    assert any(f"send {moved} of 344 training rows to another leaf" in note for note in tree.notes)
    leaves, counts = np.unique(tree.apply("penguins"), return_counts=True)
    assert tree.arrays.rows[leaves].tolist() == counts.tolist()
    assert not tree.fit_info.has_independent_rows


def test_wrong_shares_are_refused():
    for share in (0.5, -0.1, "x"):
        with pytest.raises(ParameterError, match="must be True, or the share"):
            tw.grow(AGES, "y", round_thresholds=share)
    with pytest.raises(ParameterError, match="honest"):
        tw.grow("penguins", honest=0.5, round_thresholds=0.01)


def test_on_the_command_line(run):
    result = run("grow penguins --max-depth 1 --round-thresholds")
    assert "flipper_length_mm <= 206  " in result.out
    assert "round 1 threshold; no row moved" in result.err
    assert "flipper_length_mm <= 205  " in run("grow penguins --max-depth 1 --round-thresholds 0.05").out


def test_a_monotone_tree_that_moved_rows_says_if_it_is_monotone_no_longer():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 40)).round(2)
    data = {"x": x, "z": z, "y": (x + rng.normal(size=40) > 0).astype(int)}
    rounded = tw.grow(data, "y", monotone={"x": 1}, min_samples_leaf=2, round_thresholds=0.3)
    assert any("training rows to another leaf" in note for note in rounded.notes)
    assert any("on these rows the tree is not monotone" in note for note in rounded.notes)
