"""What is left to chance at a node: which columns it looks at, where a random cut lies, who wins a tie.

Stands below ``train/reference.py``. Every draw is a function of the node's key, which depends on the seed and the path from the
root, and of what is drawn: a counter-based generator (splitmix64's finaliser). So it is the same whoever asks and in
which order. ``src/core/util/rng.hpp`` draws the same numbers.

    root's key  stir(0, random_state)          its branch b  stir(key, b)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

MASK = 2**64 - 1
COLUMN_STREAM, CUT_STREAM = 2**62, 2**62 + 1  # of a node, apart from its branches and ties, which are numbered from 0


def mix64(state: int, value: int) -> int:
    """Return a number of 64 bits that looks random, the same for the same two numbers.

    >>> mix64(0, 1) == mix64(0, 1) != mix64(0, 2)
    True
    """
    z = (state + 0x9E3779B97F4A7C15 * (value + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform_below(random: int, n: int) -> int:
    """Turn a random number into one from 0 to n − 1."""
    return random * n >> 64


def tie(node: int, key: tuple[int, int, int, int]) -> int:
    """Return the number a candidate draws; the smallest wins a tie."""
    for part in key:
        node = mix64(node, part)
    return node


def columns_in_turn(node: int, n_columns: int) -> Iterator[int]:
    """Draw the columns of a node one by one, none twice.

    >>> sorted(columns_in_turn(7, 5))
    [0, 1, 2, 3, 4]
    """
    key, order = mix64(node, COLUMN_STREAM), list(range(n_columns))
    for i in range(n_columns):
        j = i + uniform_below(mix64(key, i), n_columns - i)
        order[i], order[j] = order[j], order[i]
        yield order[i]


def cut_key(node: int, column: int, kind: int) -> int:
    """Return what a column's random test of one kind is drawn from."""
    return mix64(mix64(mix64(node, CUT_STREAM), column), kind)


def random_number(random: int, low: float, high: float) -> float:
    """Return a threshold t, uniform in low <= t < high.

    >>> 2.0 <= random_number(mix64(0, 0), 2.0, 3.0) < 3.0
    True
    """
    most = sys.float_info.max
    share = (random >> 11) * 2.0**-53
    t = max(low, -most) * (1 - share) + min(high, most) * share
    return (t if low <= t < high else low) + 0.0  # −0.0 becomes 0.0


def random_integer(random: int, low: int, high: int) -> int:
    """Return a whole threshold t, uniform in low <= t < high."""
    return low + uniform_below(random, high - low)


def random_subset(random: int, n: int) -> list[bool]:
    """Say of each of n levels (2 or more) whether a random subset names it: some, and not all.

    >>> sum(random_subset(mix64(0, 0), 2))
    1
    """
    attempt = 0
    while True:
        named = [bool(mix64(mix64(random, attempt), i) & 1) for i in range(n)]
        if 0 < sum(named) < n:
            return named
        attempt += 1
