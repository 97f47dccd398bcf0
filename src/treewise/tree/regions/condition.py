"""What is still possible of one column: an interval of numbers, or a set of levels; and missing or not.

The ground of ``regions``: a region is one of these a column. Both are immutable values in the column's own numbers
(float64, exact int64, codes of levels), so that what they hold is decided as the core decides it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treewise.data.encoding import INT64_MAX, INT64_MIN, Encoding

Number = float | int


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers with ``low < x <= high`` (None: no bound), unless ``present`` is False: then there are none.

    >>> Interval(3.2, 7.0, missing=False).holds(7.0), Interval(3.2, 7.0).holds(None), Interval().free
    (True, True, True)
    """

    low: Number | None = None
    high: Number | None = None
    present: bool = True  # whether some number is possible
    missing: bool = True  # whether the cell may be missing

    @property
    def free(self) -> bool:
        """Whether everything is possible."""
        return self.low is None and self.high is None and self.present and self.missing

    @property
    def empty(self) -> bool:
        """Whether nothing is possible."""
        return not (self.present or self.missing)

    def holds(self, value: Number | None) -> bool:
        """Tell whether a number, or a missing cell (None), is among them."""
        if value is None:
            return self.missing
        above = self.low is None or value > self.low
        return self.present and above and (self.high is None or value <= self.high)

    def within(self, other: Interval, encoding: Encoding) -> Interval:
        """Return what is possible by both."""
        lows = [i.low for i in (self, other) if i.low is not None]
        highs = [i.high for i in (self, other) if i.high is not None]
        missing = self.missing and other.missing
        if not (self.present and other.present):
            return Interval(present=False, missing=missing)
        return interval(max(lows, default=None), min(highs, default=None), missing, encoding)


def interval(low: Number | None, high: Number | None, missing: bool, encoding: Encoding) -> Interval:
    """Make an interval, and see whether any number of the column's kind lies in it.

    Doubles have one in ``(low, high]`` whenever low < high: the high end itself; and -inf where there is no low end.

    >>> interval(3.0, 3.5, False, Encoding("x", "number")).present          # 3.5
    True
    >>> interval(INT64_MAX, None, False, Encoding("n", "integer")).present
    False
    """
    if encoding.kind == "number":
        some = low is None or low < (float("inf") if high is None else high)
        high = None if high == float("inf") else high
    else:
        low, high = INT64_MIN if low is None else low, INT64_MAX if high is None else high
        some = low < high
        low, high = None if low == INT64_MIN else low, None if high == INT64_MAX else high
    return Interval(low, high, True, missing) if some else Interval(present=False, missing=missing)


@dataclass(frozen=True, eq=False, slots=True)
class Levels:
    """Codes from ``first`` to ``last``; of these only the ``listed``, if not None, and none ``without``.

    ``unseen`` is whether a level the tree does not know may stand there.

    >>> some = Levels(0, 9, None, frozenset({3}))
    >>> some.n, some.holds(3), some.holds(4), some.holds(-2), some == Levels(0, 9, frozenset({0, 1, 2, *range(4, 10)}))
    (9, False, True, True, True)
    """

    first: int
    last: int
    listed: frozenset[int] | None = None
    without: frozenset[int] = frozenset()
    unseen: bool = True
    missing: bool = True

    def codes(self) -> Iterator[int]:
        """Go through the codes of the declared levels that are possible, in order."""
        among = range(self.first, self.last + 1) if self.listed is None else sorted(self.listed)
        return (c for c in among if self.first <= c <= self.last and c not in self.without)

    @property
    def n(self) -> int:
        """How many declared levels are possible."""
        if self.listed is None:
            out = sum(1 for c in self.without if self.first <= c <= self.last)
            return max(0, self.last - self.first + 1 - out)
        return sum(1 for _ in self.codes())

    @property
    def present(self) -> bool:
        """Whether some level is possible."""
        return self.unseen or next(self.codes(), None) is not None

    def free(self, encoding: Encoding) -> bool:
        """Whether everything is possible."""
        everything = self.missing and (self.unseen or encoding.kind == "boolean")
        return everything and self.n == len(encoding.levels)

    @property
    def empty(self) -> bool:
        """Whether nothing is possible."""
        return not (self.missing or self.present)

    def holds(self, code: int | None) -> bool:
        """Tell whether a code is among them; -2 is a never-seen level, -1 or None a missing cell."""
        if code is None or code == -1:
            return self.missing
        if code < 0:
            return self.unseen
        listed = self.listed is None or code in self.listed
        return listed and self.first <= code <= self.last and code not in self.without

    def within(self, other: Levels) -> Levels:
        """Return what is possible by both."""
        listed, without = self.listed, self.without | other.without
        if listed is None or (other.listed is not None and len(other.listed) < len(listed)):
            listed = other.listed
        if listed is not None:
            listed = frozenset(c for c in listed if self.holds(c) and other.holds(c))
            without = frozenset()
        first, last = max(self.first, other.first), min(self.last, other.last)
        return Levels(first, last, listed, without, self.unseen and other.unseen, self.missing and other.missing)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Levels):
            return NotImplemented
        flags = (self.unseen, self.missing) == (other.unseen, other.missing)
        return flags and self.n == other.n and all(other.holds(c) for c in self.codes())

    def __hash__(self) -> int:
        return hash((self.n, self.unseen, self.missing))


Condition = Interval | Levels


def anything(encoding: Encoding) -> Condition:
    """Return the condition that leaves a column free.

    >>> anything(Encoding("flag", "boolean", ("false", "true"))).unseen      # a boolean has no third level
    False
    """
    if not encoding.is_categorical:
        return Interval()
    return Levels(0, len(encoding.levels) - 1, unseen=encoding.kind != "boolean")


def is_free(condition: Condition, encoding: Encoding) -> bool:
    """Tell whether a condition leaves everything possible."""
    return condition.free if isinstance(condition, Interval) else condition.free(encoding)


def both(one: Condition, two: Condition, encoding: Encoding) -> Condition:
    """Return what is possible by two conditions on one column."""
    if isinstance(one, Interval):
        assert isinstance(two, Interval)
        return one.within(two, encoding)
    assert isinstance(two, Levels)
    return one.within(two)
