"""Bootstrap samples: equal to the Python version, correctly distributed, validated."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.random_tables import limit_examples
from treewise import DataError, ParameterError, _core
from treewise._lib.rng import mix64
from treewise.ensemble.bootstrap import (
    BootstrapSamples,
    draw_counts,
    draw_sample,
    resolve_max_features,
    resolve_max_samples,
)
from treewise.train.grow import prepare


def numbers(n, columns=2, **options):
    data = {f"x{i}": np.arange(n) * 1.0 + i for i in range(columns)}
    return prepare({**data, "y": np.arange(n) % 2}, "y", **options)


@limit_examples()
@given(st.data())
def test_the_core_draws_the_specified_samples(data):
    n, columns = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 6))
    weights = data.draw(st.none() | st.lists(st.sampled_from([0.5, 1, 2, 3]), min_size=n, max_size=n))
    groups = data.draw(st.none() | st.lists(st.integers(0, 9), min_size=n, max_size=n))
    options = {"sample_weight": weights, "random_state": data.draw(st.integers(0, 2**64 - 1))}
    training_set = numbers(n, columns, groups=None if groups is None else np.array(groups), **options)
    samples = BootstrapSamples(
        training_set,
        n_drawn=data.draw(st.integers(0, n if groups is None else len(set(groups)))),
        replace=data.draw(st.booleans()),
        n_columns_drawn=data.draw(st.integers(0, columns)),
        replace_columns=data.draw(st.booleans()),
    )
    tree = data.draw(st.integers(0, 2**40))
    times, chosen = draw_sample(samples, tree)
    assert samples.counts(tree).tolist() == times.tolist()
    assert samples.columns(tree).tolist() == chosen.tolist()
    if groups is None:
        assert times.sum() == (samples.n_drawn or n)
    elif training_set.repeats is None:
        assert all(len({int(k) for k in times[np.array(groups) == group]}) == 1 for group in groups)
    if not samples.replace and training_set.repeats is None:
        assert times.max() == 1


def test_the_oob_mask_marks_the_rows_not_drawn():
    samples = BootstrapSamples(numbers(21), n_drawn=21)
    unseen = np.unpackbits(samples.oob_mask(3), axis=1, count=21, bitorder="little").astype(bool)
    assert np.array_equal(unseen, [samples.counts(t) == 0 for t in range(3)])


@pytest.mark.parametrize("replacing", [True, False])
def test_every_row_is_drawn_as_often_as_any_other(replacing):
    """Chi-square of how often each row is drawn in many samples, and each pair of neighbours together."""
    trees, n, drawn = 4000, 20, 10
    samples = BootstrapSamples(numbers(n), n_drawn=drawn, replace=replacing)
    times = np.array([samples.counts(t) for t in range(trees)], np.int64)
    each = times.sum(axis=0)
    expected = trees * drawn / n
    variance = drawn / n * (1 - 1 / n) if replacing else drawn / n * (1 - drawn / n)
    z = (each - expected) / np.sqrt(trees * variance)
    # Σz² has n-1 degrees of freedom; with n = 20 it stays below 43.8 in 999 of 1000 cases.
    assert np.sum(z**2) * (n - 1) / n < 43.8
    together = (np.minimum(times[:, :-1], 1) * np.minimum(times[:, 1:], 1)).sum(axis=0)
    kept = 1 - 2 * (1 - 1 / n) ** drawn + (1 - 2 / n) ** drawn if replacing else drawn * (drawn - 1) / (n * (n - 1))
    off = (together - trees * kept) / np.sqrt(trees * kept * (1 - kept))
    assert np.abs(off).max() < 4


def test_a_bootstrap_leaves_out_a_share_of_one_over_e():
    samples = BootstrapSamples(numbers(50_000), n_drawn=50_000)
    left_out = np.mean(samples.counts(3) == 0)
    assert abs(left_out - np.exp(-1)) < 0.01
    counts = np.bincount(samples.counts(3), minlength=4)[:4] / 50_000
    assert np.abs(counts - np.exp(-1) / np.array([1, 1, 2, 6])).max() < 0.01


def test_samples_differ_between_trees_and_seeds():
    training_set = numbers(40)
    other = replace(training_set, settings=replace(training_set.settings, random_state=1))
    drawn = [BootstrapSamples(p, n_drawn=40).counts(t).tolist() for p in (training_set, other) for t in (0, 1)]
    assert len(set(map(tuple, drawn))) == 4


def test_larger_samples_without_replacement_contain_the_smaller_ones():
    small, large = (draw_counts(5, 30, n, replace=False) for n in (7, 12))
    assert np.all(large >= small)
    assert large.sum() == 12


def test_stir_is_the_finaliser_of_splitmix64():
    """The first outputs of the published generator, seeded with 1234567: its state advances by the odd constant."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [mix64(1234567, i) for i in range(4)] == expected


@pytest.mark.parametrize("given_", [0, -1, 0.0, 1.5, True, "all", np.nan])
def test_what_cannot_be_a_number_of_rows_or_columns(given_):
    training_set = numbers(10)
    for read, name, things in (
        (resolve_max_samples, "max_samples", "rows"),
        (resolve_max_features, "max_features", "columns"),
    ):
        with pytest.raises(
            ParameterError, match=f"^{name}=.*: must be a whole number of {things}, 1 or more, or a fraction"
        ):
            read(given_, training_set)


def test_more_rows_or_columns_than_there_are():
    training_set = numbers(10)
    with pytest.raises(
        DataError, match=r"^max_samples=11: .* has 10 rows that count\. Give at most 10, or a fraction\.$"
    ):
        resolve_max_samples(11, training_set)
    with pytest.raises(DataError, match=r"^max_features=3: .* has 2 feature columns\. Give at most 2, or"):
        resolve_max_features(3, training_set)
    assert resolve_max_samples(0.25, training_set) == 2  # half to even, as scikit-learn rounds
    assert resolve_max_samples(0.01, training_set) == resolve_max_features(0.1, training_set) == 1
    assert resolve_max_features(0.99, training_set) == 1  # rounded down, as scikit-learn does
    assert resolve_max_features(1.0, training_set) == 2


def test_the_core_refuses_samples_beyond_the_table():
    weight, none = np.ones(3, np.int64), np.empty(0, np.uint32)
    for units, ends, why in (
        ([0, 3], [], "a sampling unit is not a row"),
        ([], [], "nothing to sample from"),
        ([0, 1], [1, 3], "the groups are not those of the sampling units"),
        ([0, 1], [2, 1, 2], "the groups are not those of the sampling units"),
    ):
        plan = _core.SamplingPlan(
            0, 2, True, np.array(units, np.uint32), np.array(ends, np.uint32), weight, 0, 0, False
        )
        with pytest.raises(ValueError, match=why):
            _core.draw_sample(plan, 0, 1)
    plan = _core.SamplingPlan(0, 0, True, none, none, weight, 0, 1, True)
    with pytest.raises(ValueError, match="nothing to sample from"):
        _core.draw_sample(plan, 0, 0)
