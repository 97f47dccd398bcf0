"""selection="priced" and min_level_rows: what a test pays to compete, and which levels it names."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from treewise.errors import ParameterError
from treewise.train.grow import prepare
from treewise.train.price import FREE_BITS, exp2_fixed, naming_bits
from treewise.train.reference import find_best_split

BY_BOOK = {"selection": "gain", "min_level_rows": 1}


def named_table(n=400, levels=80, seed=0, signal=True):
    """A number that tells the class in nine of ten rows, and a category of noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = (x > 0) != (rng.random(n) < 0.1) if signal else rng.random(n) < 0.5
    return {"name": [f"n{v}" for v in rng.integers(0, levels, n)], "x": x.tolist(), "y": y.tolist()}


def root_search(data, **options):
    training_set = prepare(data, "y", **options)
    return find_best_split(training_set, np.arange(len(training_set)))


@pytest.mark.parametrize(
    ("kind", "groups", "classes", "bits"),
    [
        ("subset", 50, 2, 45),
        ("subset", 6, 3, 1),
        ("subset", 5, 2, 0),  # four bits are free
        ("multiway", 50, 2, 44),
        ("multiway", 6, 2, 0),
        ("multiway", 6, 4, 8),
        ("multiway", 50, 0, 44),
        ("one_value", 50, 2, 0),
        ("ordinal", 50, 2, 0),
        ("threshold", 0, 2, 0),
    ],
)
def test_bits_by_kind_and_levels(kind, groups, classes, bits):
    assert naming_bits(kind, groups, classes) == bits


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_powers_of_two_in_integers(numerator, denominator):
    numerator %= 2 * denominator
    assert exp2_fixed(numerator, denominator) / 2**61 == pytest.approx(2 ** (numerator / denominator), rel=1e-14)


def test_the_price_is_subtracted_from_the_gain_in_bits():
    search = root_search(named_table())
    number, name = search.best_of_column[1], search.best_of_column[0]
    pooled = len({v for v in named_table()["name"] if named_table()["name"].count(v) >= 5}) + 1
    assert number.naming_bits == 0
    assert number.score == number.total_gain
    assert name.naming_bits == pooled - 1 - FREE_BITS
    assert (name.total_gain - name.score) / 2**61 == pytest.approx(name.naming_bits)
    assert search.winner is number


@pytest.mark.parametrize("criterion", ["gini", "error"])
def test_classes_other_than_entropy_pay_a_share_of_the_impurity(criterion):
    search = root_search(named_table(), criterion=criterion)
    name, node = search.best_of_column[0], search.scorer.node
    entropy = sum(-c * math.log2(c / node.weight) for c in node.counts)
    share = name.naming_bits / entropy
    assert name.total_gain - name.score == pytest.approx(share * search.scorer.total_impurity)


@pytest.mark.parametrize(("criterion", "exponent"), [("squared_error", 2), ("absolute_error", 1)])
def test_numbers_pay_by_what_is_left(criterion, exponent):
    data = named_table()
    data["y"] = np.random.default_rng(1).normal(size=400).tolist()
    search = root_search(data, criterion=criterion, task="regression")
    name, price = search.best_of_column[0], search.scorer.price
    factor = 2 ** (exponent * name.naming_bits / 400)
    assert name.score == pytest.approx(price.impurity - factor * (price.impurity - name.total_gain))
    bits = (400 / exponent) * math.log2(price.impurity / (price.impurity - name.total_gain))
    assert price.bits_gained(name.total_gain) == pytest.approx(bits)


def test_poisson_gains_are_bits():
    data = named_table()
    data["y"] = np.random.default_rng(1).poisson(3.0, size=400).tolist()
    search = root_search(data, criterion="poisson", task="regression")
    name, price = search.best_of_column[0], search.scorer.price
    assert price.bits_gained(name.total_gain) - price.bits_gained(name.score) == pytest.approx(name.naming_bits)
    nats = search.scorer.measure.unit_value * name.total_gain * 2.0**-search.scorer.training_set.target_scale
    assert price.bits_gained(name.total_gain) == pytest.approx(nats / math.log(2))


def test_a_column_of_names_does_not_win_by_chance():
    for seed in range(20):
        data = named_table(seed=seed, signal=False)
        assert tw.grow(data, "y", max_depth=1, **BY_BOOK)[0].split.column == "name"
        assert tw.grow(data, "y", max_depth=1)[0].split.column == "x"


def test_a_category_that_tells_much_still_wins():
    data = named_table(levels=30)
    data["y"] = [int(name[1:]) % 2 == 0 for name in data["name"]]
    assert tw.grow(data, "y", max_depth=1)[0].split.column == "name"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_names_of_levels_do_not_matter(seed):
    """Up to ties, which go by the order of levels: the root's gain and column are the same."""
    data = named_table(n=150, levels=25, seed=seed)
    order = np.random.default_rng(seed).permutation(25)
    renamed = {**data, "name": [f"m{order[int(v[1:])]:02}" for v in data["name"]]}
    a, b = tw.grow(data, "y", max_depth=1), tw.grow(renamed, "y", max_depth=1)
    assert (a[0].split.column, a[0].gain) == (b[0].split.column, b[0].gain)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["entropy", "gini", "error"]))
def test_without_a_priced_test_nothing_changes(seed, criterion):
    rng = np.random.default_rng(seed)
    n = 80
    data = {"x": rng.normal(size=n), "c": rng.choice(list("abcde"), n), "y": rng.integers(0, 2, n)}
    tree = tw.grow(data, "y", criterion=criterion)
    assert tree == tw.grow(data, "y", criterion=criterion, **BY_BOOK)
    assert "selection" not in tree.fit_info.settings


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["entropy", "gini", "squared_error"]))
def test_a_constant_factor_of_all_weights_changes_nothing(seed, criterion):
    data = named_table(n=120, levels=15, seed=seed)
    if criterion == "squared_error":
        data["y"] = data["x"]
    weight = np.random.default_rng(seed).integers(1, 5, 120)
    task = "regression" if criterion == "squared_error" else None
    trees = [
        tw.grow(data, "y", criterion=criterion, task=task, sample_weight=factor * weight, max_depth=3)
        for factor in (1, 3)
    ]
    assert [n.split for n in trees[0]] == [n.split for n in trees[1]]


def test_gain_ratio_and_c45_take_no_price():
    data = named_table()
    for criterion in ("gain_ratio", "c45"):
        assert "selection" not in tw.grow(data, "y", criterion=criterion).fit_info.settings
        with pytest.raises(ParameterError, match="takes no price"):
            tw.grow(data, "y", criterion=criterion, selection="priced")


def test_presets_follow_the_books():
    data = named_table(signal=False)
    assert tw.grow(data, "y", preset="cart", max_depth=1)[0].split.column == "name"
    assert tw.grow(data, "y", preset="cart", selection="priced", max_depth=1)[0].split.column == "x"


def test_a_model_records_the_rule_and_old_models_are_by_gain(tmp_path):
    data = named_table()
    tree = tw.grow(data, "y", max_depth=2)
    assert tree.fit_info.settings["selection"] == "priced"
    tree.save(tmp_path / "tree.json")
    loaded = tw.load(tmp_path / "tree.json")
    assert loaded.trace(data)[0]["name"].best.price_bits > 0
    old = tw.grow(data, "y", max_depth=2, **BY_BOOK)
    assert old.trace(data)[0]["name"].best.price_bits == 0


# -- rare levels -----------------------------------------------------------------------------------------------------


def rare_table():
    """Twelve levels: two of twenty rows, ten of two."""
    names = ["a"] * 20 + ["b"] * 20 + [f"r{i}" for i in range(10) for _ in range(2)]
    return {"c": names, "y": ["n"] * 20 + ["p"] * 20 + ["p", "n"] * 10}


def test_rare_levels_are_not_named():
    tree = tw.grow(rare_table(), "y", max_depth=1)
    assert tree[0].split.levels == ("a",)
    assert list(tree.predict([{"c": "r3"}, {"c": "never seen"}, {"c": "a"}])) == ["p", "p", "n"]


def test_the_set_is_on_the_side_without_the_rare_levels():
    data = rare_table()
    data["y"] = ["n"] * 40 + ["p"] * 20  # the pool is lighter, and yet not listed
    tree = tw.grow(data, "y")
    assert set(tree[0].split.levels) == {"a", "b"}
    assert tree.n_leaves == 2


def test_one_value_never_names_a_rare_level():
    data = rare_table()
    data["y"] = ["n"] * 58 + ["p"] * 2
    assert tw.grow(data, "y", categorical="one_value", min_level_rows=1)[0].split.level == "r9"
    assert tw.grow(data, "y", categorical="one_value")[0].split.level in ("a", "b")


def test_rare_levels_share_the_branch_otherwise():
    tree = tw.grow(rare_table(), "y", categorical="multiway", max_depth=1)
    assert tree[0].split.levels == ("a", "b")
    assert tree[0].split.other
    assert [tree[child].rows for child in tree[0].children] == [20, 20, 20]


def test_nothing_but_rare_levels_is_no_candidate():
    names = [f"n{i}" for i in range(30)]
    tree = tw.grow({"c": names, "y": [i % 2 for i in range(30)]}, "y")
    assert tree.n_leaves == 1
    assert tree[0].stop == "no_candidate"


def test_columns_of_ten_levels_are_not_pooled():
    names = [f"n{i}" for i in range(10)] * 2
    tree = tw.grow({"c": names, "y": [i % 2 for i in range(10)] * 2}, "y")
    assert tree.n_leaves == 2
    assert "min_level_rows" not in tree.fit_info.settings


@pytest.mark.parametrize(
    ("categorical", "classes", "pays"),
    [
        ("subset", "pq", "A set of K levels pays K − 1"),
        ("multiway", "pqr", "A multiway split of K levels pays (K − 2)·(classes − 1)"),
    ],
)
def test_the_trace_explains_the_price(categorical, classes, pays):
    rng = np.random.default_rng(0)
    data = {"x": rng.choice(list("abcdefghijklmnop"), 200), "y": rng.choice(list(classes), 200)}
    text = " ".join(str(tw.grow(data, "y", categorical=categorical, max_depth=1).trace(data)).split())
    assert f"{pays} bits to compete, less 4 that are free; net is gain − price/rows." in text
