"""Bootstrap samples depend neither on the order of rows nor on weights versus repeated rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.random_tables import limit_examples
from treewise.train.canonical_rows import canonical_order, canonical_rows, cell_bits
from treewise.train.grow import prepare
from treewise.train.resampling import take_rows

CELLS = st.tuples(
    st.sampled_from([0.0, -0.0, 1.5, np.nan, 2.0]), st.sampled_from(["Bari", "Rome", None]), st.sampled_from("ab")
)


def table(rows):
    frame = pd.DataFrame(rows, columns=["x", "town", "y"])
    return frame.astype({"town": object})


def drawn_from(training_set):
    """What stands in each unit, and what it weighs."""
    units = canonical_rows(training_set)
    cells = [
        *(cell_bits(values) for values in training_set.columns),
        training_set.y,
        training_set.raw,
        np.ldexp(units.weight, -units.scale),
    ]
    return [tuple(float(c[row]) for c in cells if len(c)) for row in units.row]


@limit_examples(0.5)
@given(st.lists(st.tuples(CELLS, st.integers(0, 4)), min_size=4, max_size=12), st.randoms(), st.booleans())
def test_weights_are_repetitions_in_any_order(rows, chance, weigh_classes):
    rows = [((0.5, "first", "a"), 1), ((0.5, "last", "b"), 1), *rows]
    options = {"class_weight": {"a": 0.5, "b": 3} if weigh_classes else None}
    out = prepare(table([cells for cells, n in rows for _ in range(n)]), "y", **options)
    chance.shuffle(rows)
    weighed = prepare(table([cells for cells, _ in rows]), "y", sample_weight=np.array([n for _, n in rows]), **options)
    assert drawn_from(weighed) == drawn_from(out)


def test_numbers_to_predict_too():
    out = prepare({"x": [1.0, 2.0, 2.0], "y": [0.25, 1.5, 1.5]}, "y")
    weighed = prepare({"x": [2.0, 1.0], "y": [1.5, 0.25]}, "y", sample_weight=[2.0, 1.0])
    assert drawn_from(weighed) == drawn_from(out)
    assert sorted(canonical_rows(weighed).row.tolist()) == [0, 0, 1]


@pytest.mark.parametrize(
    ("weights", "counts"),
    [([1, 1, 1], None), ([2, 1, 1], [2, 1, 1]), ([0.5, 1, 1], None), ([28, 1, 1], [28, 1, 1]), ([29, 1, 1], None)],
)
def test_weights_are_counts_when_they_are_whole_and_few(weights, counts):
    training_set = prepare({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "b"]}, "y", sample_weight=weights)
    assert (None if training_set.repeats is None else training_set.repeats.times.tolist()) == counts
    expected = sum(counts) if counts else 3
    units = canonical_rows(training_set)
    assert len(units.row) == expected
    if not counts:
        assert units.weight is training_set.weight
    some = take_rows(training_set, np.array([0, 2]))
    assert len(canonical_rows(some).row) == (counts[0] + counts[2] if counts else 2)


def test_rows_that_differ_only_in_weight_keep_their_own():
    x, y = [1.0] * 4, ["a", "b", "b", "b"]
    problems = [prepare({"x": x, "y": y}, "y", sample_weight=w) for w in ([1, 0.5, 2, 0.5], [1, 2, 0.5, 0.5])]
    drawn = [p.weight[canonical_order(p, p.weight)].tolist() for p in problems]
    assert drawn[0] == drawn[1]


def test_which_class_is_positive_changes_nothing():
    problems = [prepare("penguins", positive=name) for name in (None, "Adelie", "Chinstrap")]
    orders = [canonical_rows(training_set).row.tolist() for training_set in problems]
    assert orders[0] == orders[1] == orders[2]
    assert sorted(orders[0]) == list(range(344))
    assert orders[0] != sorted(orders[0])
