"""Counter-based random numbers: feature sampling, random thresholds and tie-breaking at a node.

Used by ``train/reference.py``. Every draw is a function of the node's key, which depends on the seed and on the path
from the root, and of what is drawn (splitmix64's finaliser). Hence it does not depend on the order of evaluation or on
the number of threads. The C++ core (``rng.hpp``) draws the same numbers.

    key of the root = mix64(0, random_state)          key of branch b = mix64(key, b)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

_MASK = 2**64 - 1
_COLUMN_STREAM, _CUT_STREAM, _TIE_STREAM = 2**62, 2**62 + 1, 2**62 + 2  # disjoint from branches, which count from 0


def mix64(state: int, value: int) -> int:
    """Return 64 pseudo-random bits, a function of the two arguments.

    >>> mix64(0, 1) == mix64(0, 1) != mix64(0, 2)
    True
    """
    z = (state + 0x9E3779B97F4A7C15 * (value + 1)) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def uniform_below(random: int, n: int) -> int:
    """Map 64 random bits to an integer from 0 to n − 1."""
    return random * n >> 64


def tie_key(node: int, column: int) -> int:
    """Return the random rank of a column at a node; the smallest wins a tie."""
    return mix64(mix64(node, _TIE_STREAM), column)


def shuffled_columns(node: int, n_columns: int) -> Iterator[int]:
    """Yield the columns in the random order of a node, without replacement.

    >>> sorted(shuffled_columns(7, 5))
    [0, 1, 2, 3, 4]
    """
    key, order = mix64(node, _COLUMN_STREAM), list(range(n_columns))
    for i in range(n_columns):
        j = i + uniform_below(mix64(key, i), n_columns - i)
        order[i], order[j] = order[j], order[i]
        yield order[i]


def split_key(node: int, column: int, kind: int) -> int:
    """Return the key for a random split of one column and split kind."""
    return mix64(mix64(mix64(node, _CUT_STREAM), column), kind)


def uniform_float(random: int, low: float, high: float) -> float:
    """Return a threshold t, uniform in low <= t < high.

    >>> 2.0 <= uniform_float(mix64(0, 0), 2.0, 3.0) < 3.0
    True
    """
    largest = sys.float_info.max
    share = (random >> 11) * 2.0**-53
    t = max(low, -largest) * (1 - share) + min(high, largest) * share
    return (t if low <= t < high else low) + 0.0  # −0.0 becomes 0.0


def uniform_integer(random: int, low: int, high: int) -> int:
    """Return an integer threshold t, uniform in low <= t < high."""
    return low + uniform_below(random, high - low)


def random_subset(random: int, n: int) -> list[bool]:
    """Return for each of n levels (2 or more) whether it belongs to a random proper, non-empty subset.

    >>> sum(random_subset(mix64(0, 0), 2))
    1
    """
    attempt = 0
    while True:
        is_member = [bool(mix64(mix64(random, attempt), i) & 1) for i in range(n)]
        if 0 < sum(is_member) < n:
            return is_member
        attempt += 1
