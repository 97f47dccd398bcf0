"""Tree layout: no overlap, order, centred parents, linear running time."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.random_tables import limit_examples
from treewise.show.picture.layout import centres

NEAR = 1e-6


@st.composite
def shapes(draw):
    """A tree by its children lists, numbered so that children follow their parent, with a width for each box."""
    n = draw(st.integers(1, 40))
    children = [[] for _ in range(n)]
    for box in range(1, n):
        children[draw(st.integers(0, box - 1))].append(box)
    widths = draw(st.lists(st.floats(1, 200), min_size=n, max_size=n))
    return children, widths


def levels_of(children):
    """The boxes of each level from left to right."""
    level, levels = [0], []
    while level:
        levels.append(level)
        level = [child for box in level for child in children[box]]
    return levels


def check(children, widths, gap):
    x = centres(children, widths, gap)
    assert x[0] == 0
    assert all(map(math.isfinite, x))
    for level in levels_of(children):
        for left, right in pairwise(level):
            assert x[right] - x[left] >= (widths[left] + widths[right]) / 2 + gap - NEAR
    for box, below in enumerate(children):
        if below:
            assert x[box] == pytest.approx((x[below[0]] + x[below[-1]]) / 2, abs=NEAR)
    return x


@limit_examples()
@given(shapes(), st.floats(0, 50))
def test_nothing_overlaps_and_parents_stand_in_the_middle(shape, gap):
    check(*shape, gap)


@limit_examples()
@given(shapes())
def test_a_mirrored_tree_is_drawn_mirrored(shape):
    children, widths = shape
    mirrored = [list(reversed(below)) for below in children]
    for here, there in zip(centres(children, widths, 5), centres(mirrored, widths, 5), strict=True):
        assert here == pytest.approx(-there, abs=NEAR)


@limit_examples(0.5)
@given(shapes())
def test_leaves_of_one_parent_stand_as_close_as_they_may(shape):
    _, widths = shape
    n = len(widths)
    x = check([list(range(1, n)), *([] for _ in range(n - 1))], widths, 3)
    for left in range(1, n - 1):
        assert x[left + 1] - x[left] == pytest.approx((widths[left] + widths[left + 1]) / 2 + 3, abs=NEAR)


def test_a_small_subtree_between_two_large_ones_stands_in_the_middle():
    #      0
    #   1  2  3        1 and 3 are wide below; 2 is alone
    children = [[1, 2, 3], [4, 5, 6], [], [7, 8, 9], *([] for _ in range(6))]
    x = check(children, [10.0] * 10, 2)
    assert x[2] == pytest.approx((x[1] + x[3]) / 2)


def test_a_contour_goes_on_below_a_flatter_neighbour():
    # The third subtree must keep clear of the first one's depth, though the second stands between them.
    children = [[1, 2, 3], [4], [], [5], [6, 7, 8], [9, 10, 11], *([] for _ in range(6))]
    check(children, [10.0] * 12, 2)


@pytest.mark.parametrize("n", [100_000])
def test_any_depth_and_breadth(n):
    chain = [[box + 1] for box in range(n - 1)] + [[]]
    assert set(centres(chain, [7.0] * n, 1)) == {0.0}
    star = [list(range(1, n)), *([] for _ in range(n - 1))]
    x = centres(star, [7.0] * n, 1)
    assert x[1] == -x[-1] == pytest.approx(-(n - 2) * 8 / 2)


class Counted(list):
    """A list that counts how often it is asked."""

    asked = 0

    def __getitem__(self, at):
        Counted.asked += 1
        return super().__getitem__(at)


def work(children):
    Counted.asked = 0
    centres(children, Counted([10.0] * len(children)), 2)
    return Counted.asked / len(children)


def test_the_work_grows_with_the_boxes():
    """Widths asked for, a box: not more for a tree ten times as large, whatever its shape."""
    rng = random.Random(1)

    def comb(n):  # a spine with a leaf at every step
        return [[box + 1, box + 2] if box % 2 == 0 and box + 2 < n else [] for box in range(n)]

    def drawn(n):
        children = [[] for _ in range(n)]
        for box in range(1, n):
            children[rng.randrange(max(0, box - 20), box)].append(box)
        return children

    for make in (comb, drawn):
        assert work(make(20_001)) <= 1.2 * work(make(2001)) + 1
        assert work(make(20_001)) < 10
