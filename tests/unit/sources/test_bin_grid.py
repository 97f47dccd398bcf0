"""The ends of bins: the first and the last number that arithmetic puts into a bin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treewise.train.source import BinGrid

doubles = st.floats(allow_nan=False)
whole = st.integers(-(2**63) + 1, 2**63 - 1)


@given(st.one_of(st.tuples(doubles, doubles), st.tuples(whole, whole)), st.integers(2, 300), st.randoms())
def test_ends_are_where_the_bin_changes(interval, n, random):
    low, high = sorted(interval)
    if not low < high or (isinstance(low, float) and high / 2 - low / 2 < 1e-290):
        return  # such an interval is never cut
    grid = BinGrid(low, high, n)
    first, last = grid.ends()
    dtype = first.dtype
    assert (first[0], last[-1]) == (low, high)
    for ends, step in ((first, -1), (last, 1)):
        inside = ends[(first <= last)]
        bins = np.flatnonzero(first <= last)
        assert np.array_equal(grid.bins(inside), bins)
        beyond = np.nextafter(inside, step * np.inf) if dtype == np.float64 else inside + step
        is_within = (beyond > low) & (beyond < high)
        assert (grid.bins(beyond[is_within]) != bins[is_within]).all()
    values = np.array([random.uniform(0, 1) * (high / 2 - low / 2) * 2 + low for _ in range(20)])
    values = np.clip(values, low, high) if dtype == np.float64 else np.array([random.randint(low, high)] * 5)
    values = values[~np.isnan(values)]
    bins = grid.bins(values)
    assert ((first[bins] <= values) & (values <= last[bins])).all()
