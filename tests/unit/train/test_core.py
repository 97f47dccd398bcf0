"""Small parts of the core against their Python versions."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import treewise as tw
from treewise import _core
from treewise._lib.rng import tie_key
from treewise.train.candidates import KIND_RANK
from treewise.train.criteria import FRACTION_BITS, log2_fixed, nlogn
from treewise.train.reference import Candidate, TieOrder, pick
from treewise.train.settings import SETTINGS
from treewise.tree.arrays import KIND_NUMBERS, LEAF, STOPS
from treewise.tree.splits import Threshold, midpoint

finite_or_not = st.floats(allow_nan=False)


def test_kinds_and_stop_reasons_have_the_same_numbers_in_both_languages():
    kinds = {"leaf": LEAF, **KIND_NUMBERS, "presence": KIND_RANK["presence"]}
    assert kinds == _core.SPLIT_KINDS
    assert _core.STOP_REASONS.items() <= {name: number for number, name in enumerate(STOPS)}.items()


def test_enums_of_the_core_are_set_by_name():
    settings = _core.Settings()
    settings.criterion, settings.rule, settings.selection = "gini", "ratio", "test"
    assert (settings.criterion, settings.rule, settings.selection) == ("gini", "ratio", "test")
    with pytest.raises(ValueError, match="unknown name: Gini"):
        settings.criterion = "Gini"


@given(finite_or_not, finite_or_not)
@example(-math.inf, math.inf)
@example(-math.inf, -1.7976931348623157e308)
@example(1.7976931348623157e308, math.inf)
@example(-0.0, 5e-324)
@example(-5e-324, 0.0)
@example(0.1, 0.2)
def test_midpoint_lies_between_and_is_the_same_in_both_languages(a, b):
    if a == b:
        return
    a, b = min(a, b), max(a, b)
    t = midpoint(a, b)
    assert a <= t < b
    assert math.copysign(1, t) == 1 or t != 0
    assert np.float64(t).tobytes() == np.float64(_core.midpoint(a, b)).tobytes()


@given(st.integers(0, 2**53))
def test_nlogn_is_the_same_in_both_languages(n):
    assert _core.nlogn(n) == float(nlogn(n))


@given(st.integers(1, 2**53))
def test_log2_is_right_to_sixty_bits(n):
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 40
        exact = Decimal(n).ln() / Decimal(2).ln()
        assert abs(Decimal(log2_fixed(n)) / Decimal(2**FRACTION_BITS) - exact) < Decimal(2) ** -58


def test_powers_of_two_have_exact_logarithms():
    assert all(log2_fixed(2**k) == k << FRACTION_BITS for k in range(53))


def test_every_limit_is_a_setting_of_the_core():
    core = _core.Settings()
    limits = [setting.core for setting in SETTINGS.values() if setting.core]
    assert len(limits) > 5
    assert all(isinstance(getattr(core, name), int | float) for name in limits)
    with pytest.raises(AttributeError):
        core.max_dept = 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _core.Column(np.zeros(3, np.int16)), "float32, float64, int64 or int32"),
        (lambda: _core.Column(np.zeros((3, 2))), "one-dimensional"),
        (lambda: _core.Column(np.array([0, 5], np.int32), 2), "code out of range"),
        (
            lambda: _core.Target(np.array([0, 7], np.uint8), np.empty(0), np.ones(2, np.int64), 2, 0, 0),
            "class out of range",
        ),
        (
            lambda: _core.Target(np.array([0, 1], np.uint8), np.empty(0), np.ones(3, np.int64), 2, 0, 0),
            "lengths differ",
        ),
    ],
)
def test_the_core_refuses_what_it_cannot_trust(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_columns_must_be_of_one_length():
    target = _core.Target(np.array([0, 1], np.uint8), np.empty(0), np.ones(2, np.int64), 2, 0, 0)
    with pytest.raises(ValueError, match="length"):
        _core.grow([_core.Column(np.zeros(3), 0, [1])], target, _core.Settings())


# -- who wins -------------------------------------------------------------------------------------------------------


def candidate(score, tolerance, column, position):
    order = TieOrder(column, 0, position, 0)
    return Candidate(partial(Threshold, "x", 0.0), 0, (), 0, order, score, score, tolerance, eligible=True)


@given(st.data(), st.booleans(), st.integers(0, 9))
def test_the_winner_does_not_depend_on_the_order_of_offers(data, random, node):
    spans = data.draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), min_size=1, max_size=12))
    offers = [[score, tolerance, i // 4, i % 4] for i, (score, tolerance) in enumerate(spans)]
    expected = pick([candidate(*o) for o in offers], (lambda column: tie_key(node, column)) if random else None).order
    for _ in range(4):
        shuffled = data.draw(st.permutations(offers))
        assert (
            pick([candidate(*o) for o in shuffled], (lambda column: tie_key(node, column)) if random else None).order
            == expected
        )
        won = shuffled[_core.winner(shuffled, random, node)]
        assert (won[2], 0, won[3], 0) == expected


def test_a_chain_of_near_ties_does_not_lead_away_from_the_best():
    chain = [[10 - i, 1, i, 0] for i in range(8)][::-1]  # each within the tolerance of the next, the ends far apart
    assert chain[_core.winner(chain, False, 0)] == [10, 1, 0, 0]
    falling = [[3, 1, 0, 0], [5, 1, 1, 0], [7, 1, 2, 0]]
    assert falling[_core.winner(falling, False, 0)] == [5, 1, 1, 0]


# -- what is handed over --------------------------------------------------------------------------------------------


def test_no_column_is_refused():
    target = _core.Target(np.array([0, 1], np.uint8), np.empty(0), np.ones(2, np.int64), 2, 0, 0)
    with pytest.raises(TypeError):
        _core.grow([None], target, _core.Settings())
    tree = tw.grow("xor")
    with pytest.raises(TypeError):
        _core.find_leaves(tree.arrays.for_core, [None, None], 2)
    with pytest.raises(TypeError):
        _core.refit(tree.arrays.for_core, tree.arrays.parent, [None], target, _core.Settings())


def test_a_trees_arrays_are_taken_as_they_are_or_refused():
    tree = tw.grow("xor")
    columns = [_core.Column(np.zeros(2)), _core.Column(np.zeros(2))]
    for name, wrong in (("cut", np.float32), ("kind", np.int64), ("children", np.int32)):
        with pytest.raises(TypeError, match=f"{name} is not"):
            _core.find_leaves({**tree.arrays.for_core, name: tree.arrays.for_core[name].astype(wrong)}, columns, 2)
    with pytest.raises(ValueError, match="differ in length"):
        _core.find_leaves({**tree.arrays.for_core, "cut": tree.arrays.for_core["cut"][:1]}, columns, 2)


def test_levels_in_any_order_find_their_branch():
    """A written tree lists its branches as people do; the core looks levels up in order of their codes."""
    levels = [f"l{i}" for i in np.random.default_rng(3).permutation(40)]
    tree = tw.parse("\n".join(f"c = {level} -> {level.upper()}" for level in levels), target="y")
    assert tree.predict({"c": levels}).tolist() == [level.upper() for level in levels]
    assert [tree.branch(node) for node in range(len(tree))] == [None, *range(40)]
