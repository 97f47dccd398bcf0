"""The ends of bins: the first and the last number that arithmetic puts into a bin."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewise.train.source import BinGrid

doubles = st.floats(allow_nan=False)
whole = st.integers(-(2**63) + 1, 2**63 - 1)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # of a busy machine
@given(
    st.one_of(st.tuples(doubles, doubles), st.tuples(whole, whole)),
    st.integers(2, 300),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_ends_are_where_the_bin_changes(interval, n, shares):
    low, high = sorted(interval)
    if not low < high or (isinstance(low, float) and high / 2 - low / 2 < 1e-290):
        return  # such an interval is never cut
    grid = BinGrid(low, high, n)
    first, last = grid.ends()
    dtype = first.dtype
    assert first[0] == low
    assert last[-1] == high
    for ends, step in ((first, -1), (last, 1)):
        inside = ends[(first <= last)]
        bins = np.flatnonzero(first <= last)
        assert np.array_equal(grid.bins(inside), bins)
        beyond = np.nextafter(inside, step * np.inf) if dtype == np.float64 else inside + step
        is_within = (beyond > low) & (beyond < high)
        assert (grid.bins(beyond[is_within]) != bins[is_within]).all()
    values = [
        low + share * (high / 2 - low / 2) * 2 if dtype == np.float64 else low + int(share * (high - low))
        for share in shares
    ]
    values = np.array([min(max(value, low), high) for value in values if value == value], dtype)
    bins = grid.bins(values)
    assert ((first[bins] <= values) & (values <= last[bins])).all()
