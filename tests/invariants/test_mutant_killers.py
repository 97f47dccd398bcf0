"""Small tables that expose small faults, found by mutation testing (``tests/mutants``).

Each test is about one promise that random tables seldom touch: sums that differ in the last bit, weights far apart,
branches of exactly the least size, the edges of what the core accepts.
"""

import math

import numpy as np
import pytest

import treewise as tw
from tests.support.criteria import CLASSIFICATION, REGRESSION
from treewise import _core
from treewise.train.grow import grow_training_set, prepare
from treewise.train.reference_grower import grow_reference, reference_facts, tree_facts
from treewise.tree.splits import midpoint

MAX = 1.7976931348623157e308


def the_same_in_both(data, **options):
    """Grow with the core and with the readable search, and return the one tree they agree on."""
    training_set = prepare(data, "y", **options)
    tree = grow_training_set(training_set)
    assert tree_facts(tree) == reference_facts(training_set, grow_reference(training_set))
    return tree


def root_column(data, **options):
    return the_same_in_both(data, **options)[0].split.column


# -- thresholds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "t"),
    [
        (1.0, 1.0000000000000004, 1.0),  # the middle, 1.0000000000000002, is 1 in 15 digits: a itself will do
        (0.29999999999999993, 0.3, 0.29999999999999993),  # the middle is 0.3 in 15 digits, which is b: it will not
        (-1.7e308, 1.7e308, 0.0),  # b - a is infinite
        (-1.6e308, 1.7e308, 5e306),
        (1.0, 1.0000000000000002, 1.0),  # neighbours: the middle is rounded to b, so a will do
        (1.0000000000000002, 1.0000000000000004, 1.0000000000000002),
        (-math.inf, -1.0, -MAX),
        (-math.inf, -MAX, -math.inf),
        (1.0, math.inf, 1.0),
        (MAX, math.inf, MAX),
    ],
)
def test_the_middle_is_rounded_only_where_it_stays_in_the_middle(a, b, t):
    assert midpoint(a, b) == _core.midpoint(a, b) == t
    assert a <= t < b


# -- gains that are equal but for rounding, and gains that are nearly so ----------------------------------------------


def two_columns(counts, first, second):
    """Rows of two classes (or of numbers) divided by x1 as ``first`` says and by x2 as ``second`` does."""
    a, b = counts
    columns = [[0] * k + [1] * (a - k) + [0] * m + [1] * (b - m) for k, m in (first, second)]
    return {"x1": columns[0], "x2": columns[1], "y": ["n"] * a + ["p"] * b}


GINI_TIES = [((2, 7), (0, 1), (1, 5)), ((3, 6), (0, 3), (2, 1)), ((4, 8), (1, 2), (2, 4))]


@pytest.mark.parametrize(("counts", "one", "other"), GINI_TIES)
def test_equal_ginis_of_unequal_branches_are_a_tie(counts, one, other):
    """7/3 + 5/3 rounded down is one unit less than 4: still a tie, so the first column wins, or either by chance."""
    for first, second in ((one, other), (other, one)):
        data = two_columns(counts, first, second)
        assert root_column(data, criterion="gini", max_depth=1) == "x1"
        drawn = {root_column(data, criterion="gini", max_depth=1, ties="random", random_state=s) for s in range(20)}
        assert drawn == {"x1", "x2"}


@pytest.mark.parametrize(("counts", "one", "other"), [((4, 8), (1, 2), (2, 4)), ((5, 25), (1, 5), (2, 10))])
def test_splits_that_leave_all_rates_alike_are_a_tie_and_gain_nothing(counts, one, other):
    """Their logarithms are rounded otherwise: the raw gains are some units of the last bit above and below 0."""
    for first, second in ((one, other), (other, one)):
        data = two_columns(counts, first, second)
        tree = the_same_in_both(data, criterion="entropy", max_depth=1)
        assert tree[0].split.column == "x1"
        assert tree[0].gain == 0.0


def test_who_is_within_both_roundings_of_the_best_may_win():
    offers = [[10, 1, 1, 0], [8, 1, 0, 0]]  # score, tolerance, column, position: 10 may be 9, and so may 8
    assert offers[_core.winner(offers, False, 0)] == [8, 1, 0, 0]
    assert offers[::-1][_core.winner(offers[::-1], False, 0)] == [8, 1, 0, 0]


def test_a_limit_is_met_where_only_rounding_stands_between():
    """One light row among rows of 2^46: its 48 bits are known to some 2^-17 of them."""
    heavy = 3.0 * 2**45
    data = {"x": [0, 0, 1], "y": ["n", "n", "p"]}
    options = {"criterion": "entropy", "sample_weight": [heavy, heavy, 1.0]}
    gain = the_same_in_both(data, **options)[0].gain
    assert len(the_same_in_both(data, min_impurity_decrease=gain * (1 + 2**-20), **options)) == 3
    assert len(the_same_in_both(data, min_impurity_decrease=gain * (1 + 2**-10), **options)) == 1


def test_equal_deviances_of_unequal_branches_are_a_tie():
    """(2, 4)|(3, 3) and (2, 3, 4)|(3) leave every branch the mean 3: they gain nothing, both."""
    pairs, three = [0, 1, 1, 0], [0, 0, 1, 0]
    for x1, x2 in ((pairs, three), (three, pairs)):
        data = {"x1": x1, "x2": x2, "y": [2.0, 3.0, 3.0, 4.0]}
        assert root_column(data, task="regression", criterion="poisson", max_depth=1) == "x1"


def test_dividing_branches_into_equal_parts_gains_nothing_more():
    """Nine branches of three rows are rounded nine times, three of nine rows three times: equal all the same."""
    fine = [f"{level}{part}" for level in "abc" for part in "123" for _ in range(3)]
    coarse = [name[0] for name in fine]
    y = [float(row == 0) + 3 * "abc".index(level) for level, row in zip(coarse, [0, 1, 2] * 9, strict=True)]
    for x1, x2 in ((fine, coarse), (coarse, fine)):
        data = {"x1": x1, "x2": x2, "y": y}
        assert root_column(data, task="regression", categorical="multiway", selection="gain", max_depth=1) == "x1"


@pytest.mark.parametrize("criterion", ["entropy", "gini", "error", "squared_error", "absolute_error"])
def test_a_row_of_weight_1_decides_against_rows_of_weight_a_trillion(criterion):
    """x1 sends both light rows astray, x2 only one: the better split gains a billionth of a billionth more."""
    regression = criterion.endswith("_error")
    columns = [0, 1, 1, 0], [0, 1, 0, 0]
    for better, (x1, x2) in (("x2", columns), ("x1", columns[::-1])):
        data = {"x1": x1, "x2": x2, "y": [0.0, 1.0, 0.0, 1.0] if regression else ["n", "p", "n", "p"]}
        options = {"task": "regression" if regression else "classification", "criterion": criterion}
        assert root_column(data, max_depth=1, sample_weight=[2.0**40, 2.0**40, 1, 1], **options) == better


# -- levels and subsets -----------------------------------------------------------------------------------------------


def test_levels_are_ordered_by_the_middle_of_two_medians():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        levels = [level for level in "abcd" for _ in range(2)]
        data = {"x": levels, "y": rng.integers(0, 20, 8).astype(float)}
        the_same_in_both(data, task="regression", criterion="absolute_error", max_depth=1)


def categories_with_gaps(rng, n, regression):
    """Few rows of a number and of two categories, one of them of three to twelve levels, all with missing cells."""
    data = {"number": rng.integers(0, 12, n).astype(float).tolist()}
    for name, most in (("many", int(rng.integers(3, 13))), ("few", 3)):
        data[name] = rng.choice(list("abcdefghijkl")[:most], n).tolist()
    for cells in data.values():
        for row in np.flatnonzero(rng.random(n - 1) < rng.choice([0, 0.3])):
            cells[row + 1] = None
    n_classes = int(rng.integers(2, 5))
    data["y"] = (rng.integers(0, 6, n) / 2).tolist() if regression else [f"c{v}" for v in rng.integers(0, n_classes, n)]
    return data


@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_value", "ordinal", "any"])
@pytest.mark.parametrize("criterion", [*CLASSIFICATION, *REGRESSION])
def test_categories_with_gaps_by_every_rule(criterion, categorical):
    regression = criterion not in CLASSIFICATION
    for seed in range(8):
        rng = np.random.default_rng([seed, len(criterion), len(categorical), 41])
        n = int(rng.integers(8, 26))
        options = {
            "task": "regression" if regression else "classification",
            "max_depth": 2,
            "missing": ["learn", "branch"][seed % 2],
            "min_samples_leaf": int(rng.choice([1, 2, 3])),
        }
        if seed % 4 == 3:
            options["sample_weight"] = rng.integers(1, 6, n) / 2
        data = categories_with_gaps(rng, n, regression)
        if criterion == "poisson":
            data["y"][1] = 1.0
        the_same_in_both(data, criterion=criterion, categorical=categorical, **options)


def test_missing_rows_that_could_go_either_way_join_the_lower_rate_though_the_other_side_is_listed():
    data = {"x": [*"aaabb", None, None], "y": [*"nnnppnp"]}
    split = the_same_in_both(data, criterion="error", max_depth=1)[0].split
    assert (split.levels, split.missing) == (("b",), 1)


def test_a_level_and_the_missing_rows_that_join_it_may_still_be_too_few():
    x = ["a", None, *"bbbbcccc"]
    data = {"x": x, "y": ["n", "n", *"nnnnpppp"]}
    options = {"categorical": "multiway", "min_samples_leaf": 3}
    assert the_same_in_both(data, **options)[0].stop == "min_samples_leaf"
    data["x"][2] = None  # now they are three
    assert [node.rows for node in the_same_in_both(data, **options)] == [10, 3, 3, 4]


def test_the_plain_engine_too_knows_that_a_level_with_the_missing_rows_is_too_few():
    data = {"x": ["a", None, *"bbbbcccc"], "y": [0.0] * 6 + [1.0] * 4}
    options = {"task": "regression", "criterion": "absolute_error", "categorical": "multiway", "min_samples_leaf": 3}
    assert the_same_in_both(data, **options)[0].stop == "min_samples_leaf"


def test_missing_rows_can_give_a_level_the_sum_that_poisson_asks_for():
    data = {"x": ["a", "a", None, "b", "b"], "y": [0.0, 0.0, 3.0, 2.0, 2.0]}
    options = {"task": "regression", "criterion": "poisson", "categorical": "multiway", "min_samples_leaf": 2}
    tree = the_same_in_both(data, max_depth=1, **options)
    assert [node.rows for node in tree] == [5, 3, 2]
    assert tree[0].missing_rows == 1


def test_a_column_whose_values_are_all_missing_at_a_node_has_no_bucket():
    """Poisson's nodes without a good split look at every column once more, also at those with nothing to cut."""
    x = [-1.7e308, *[None] * 6, 1.7e308]
    data = {"x": x, "z": [*"baababaa"], "y": [11.0, 7.0, 16.0, 4.0, 12.0, 17.0, 6.0, 29.0]}
    options = {"task": "regression", "criterion": "poisson", "categorical": "any"}
    the_same_in_both(data, sample_weight=[1, 1, 2, 3, 1, 2, 1, 3], **options)
    the_same_in_both(data, min_samples_leaf=2, **options)


# -- limits, and the order of growth ----------------------------------------------------------------------------------


HEAVY = 3.0 * 2**20


def table_of_groups(*groups):
    """Rows of (g, x, y) and their weights: groups of their own classes, and pure rows so that g is the first test."""
    cells = [(g, *row) for g, group in zip("ab", groups, strict=True) for row in group]
    cells += [("z", x, "w", HEAVY) for x in "pqr" for _ in range(14)]
    table = {name: [row[i] for row in cells] for i, name in enumerate(("g", "x", "y"))}
    return table, [row[3] for row in cells]


TWO = [("p", "n", 1.0), ("q", "m", HEAVY)]  # G = (1 + HEAVY)·H
THREE = [("p", "u", 1.0), ("p", "v", HEAVY), ("q", "u", 1.0), ("r", "v", HEAVY)]  # 2·G − G


@pytest.mark.parametrize("groups", [(TWO, THREE), (THREE, TWO)])
def test_equal_gains_are_taken_in_the_order_of_the_tree_though_rounded_otherwise(groups):
    data, weight = table_of_groups(*groups)
    options = {"criterion": "entropy", "categorical": "multiway", "sample_weight": weight}
    whole = the_same_in_both(data, max_depth=2, **options)
    first, second = (node for node in whole if node.depth == 1 and node.split)
    assert whole[0].split.column == "g"
    assert first.gain * first.weight == pytest.approx(second.gain * second.weight, rel=1e-12)
    tree = the_same_in_both(data, max_leaf_nodes=5, **options)  # room for either, not for both
    assert [bool(node.split) for node in tree if node.depth == 1] == [True, False, False]


def test_equal_groups_are_split_in_the_order_of_the_tree():
    data, weight = table_of_groups(TWO, [(x, {"n": "u", "m": "v"}[y], w) for x, y, w in TWO])
    tree = the_same_in_both(data, max_leaf_nodes=5, criterion="entropy", categorical="multiway", sample_weight=weight)
    assert [bool(node.split) for node in tree if node.depth == 1] == [True, False, False]


def test_just_accurate_enough_is_enough():
    data = {"x": [0, 1, 2, 3], "y": ["n", "p", "p", "p"]}
    assert the_same_in_both(data, sufficient_accuracy=0.75)[0].stop == "sufficient_accuracy"
    assert len(the_same_in_both(data, sufficient_accuracy=0.76)) == 3


@pytest.mark.parametrize("weight", [[0.25, 0.5, 0.125], [1.5, 2.5, 1.0], [1.0, 2.0**-60, 2.0**-60]])
def test_weights_come_out_as_they_were_given_and_none_is_lost(weight):
    data = {"x": [0, 1, 2], "y": ["n", "p", "p"]}
    tree = the_same_in_both(data, sample_weight=weight)
    assert [node.rows for node in tree] == [3, 1, 2]
    if min(weight) > 0.1:  # beside 1, 2^-60 is kept as the smallest weight there is
        assert [node.weight for node in tree] == [sum(weight), weight[0], sum(weight[1:])]


def test_a_leaf_has_at_least_the_share_of_weight_that_was_asked_for():
    data = {"x": [0, 1, 2, 3, 4], "y": [*"npppp"]}
    tree = the_same_in_both(data, min_weight_fraction_leaf=0.3)  # 1.5 of 5: one row is not enough
    assert min(node.rows for node in tree if not node.split) == 2


@pytest.mark.parametrize("y", [[0.5, 1.5, 2.0, 4.0], [0.1, 0.2, 0.7, 1.5], [1e30, 3.0, 7e29, 1e29]])
@pytest.mark.parametrize("criterion", REGRESSION)
def test_a_nodes_impurity_is_the_formula(criterion, y):
    y, weight = np.array(y), np.array([1.0, 2.0, 1.0, 1.0])
    mean, median = np.average(y, weights=weight), np.median(np.repeat(y, weight.astype(int)))
    each = {
        "squared_error": (y - mean) ** 2,
        "absolute_error": np.abs(y - median),
        "poisson": y * np.log(y / mean),
    }
    data = {"x": [0, 1, 2, 3], "y": y.tolist()}
    root = the_same_in_both(data, task="regression", criterion=criterion, sample_weight=weight, max_depth=0)[0]
    assert root.impurity == pytest.approx(np.average(each[criterion], weights=weight), rel=1e-12)


# -- rows down a tree -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["n", "p"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_a_value_at_its_cut_goes_left_and_a_missing_one_where_it_was_sent(kind, missing):
    start = 2**60 if kind is np.int64 else 1.5
    x = [start, start + 2, start + 4, start + 6, None]
    tree = the_same_in_both({"x": x, "y": ["n", "n", "p", "p", missing]}, max_depth=1)
    cut = tree[0].split.cut
    assert cut == start + 3
    requested = [cut, cut + 1, None] * 7  # more than the core takes down together
    if kind is not np.int64:
        requested = np.array(requested, dtype=kind)
    assert tree.predict({"x": requested}).tolist() == ["n", "p", missing] * 7


def test_an_ordered_category_is_cut_in_its_order_unless_asked_otherwise():
    data = {"size": [*"smlsml"], "y": [*"npnnpn"]}  # {m} against the others would be best
    tree = the_same_in_both(data, kinds={"size": ["s", "m", "l"]})
    assert {node.split.kind for node in tree if node.split} == {"ordinal"}


def test_rows_of_a_class_of_weight_0_do_not_count():
    data = {"x": [0, 1, 2, 3], "y": [*"nnpq"]}
    assert the_same_in_both(data, class_weight={"n": 0})[0].rows == 2


def test_a_never_seen_level_has_no_place_in_an_order():
    data = {"size": ["s", "m", "l", None], "y": ["n", "p", "p", "p"]}
    training_set = prepare(data, "y", kinds={"size": ["s", "m", "l"]}, categorical="ordinal")
    tree = grow_training_set(training_set)
    split = tree[0].split
    assert split.missing == 1
    assert split.branch("xxl", training_set.encodings[0]) == 1
    assert tree.predict({"size": ["xxl", "s"]}).tolist() == ["p", "n"]


def test_numbers_of_two_widths_side_by_side_go_by_the_same_rule():
    data = {"a": [0.5, 0.5, 2.5, 2.5], "b": [0.5, 2.5, 0.5, 2.5], "y": [*"nmpq"]}
    tree = the_same_in_both(data)
    cuts = {node.split.column: node.split.cut for node in tree if node.split}
    for wide, narrow in (("a", "b"), ("b", "a")):
        table = {wide: np.full(9, cuts[wide]), narrow: np.full(9, cuts[narrow], np.float32)}
        assert tree.predict(table).tolist() == ["n"] * 9


# -- statistics for a given tree --------------------------------------------------------------------------------------


@pytest.mark.parametrize("empty_branch", ["parent", "root"])
@pytest.mark.parametrize("criterion", ["entropy", "gini", "squared_error", "absolute_error"])
def test_a_tree_refitted_on_its_own_table_is_itself(criterion, empty_branch):
    regression = criterion not in CLASSIFICATION
    for seed in range(6):
        rng = np.random.default_rng([seed, 51])
        data = categories_with_gaps(rng, 24, regression)
        if regression:  # the mean of equal tenths is not always a tenth
            data["y"] = [value * 0.2 + 0.1 for value in data["y"]]
        options = {"task": "regression" if regression else "classification", "empty_branch": empty_branch}
        tree = tw.grow(data, "y", criterion=criterion, categorical="multiway", **options)
        refitted = tree.refit(data)
        for name in ("rows", "weight", "impurity", "gain", "label", "value", "count_class", "count_weight"):
            np.testing.assert_array_equal(getattr(refitted.arrays, name), getattr(tree.arrays, name), err_msg=name)


def test_rows_that_stay_at_a_node_are_a_branch_of_their_own():
    tree = tw.grow({"x": [*"aabb"], "y": [*"nnpp"]}, "y", categorical="multiway", criterion="entropy")
    refitted = tree.refit({"x": [*"aabbcc"], "y": [*"nnppnp"]})
    assert refitted[0].gain == pytest.approx(1 - 2 / 6, rel=1e-12)


# -- what the core accepts --------------------------------------------------------------------------------------------


def core_target(y, n_classes=2, rows=2, raw=0):
    kind = np.int64 if n_classes == 0 else np.uint8 if n_classes <= 256 else np.int32
    return _core.Target(np.array(y, kind), np.zeros(raw), np.ones(rows, np.int64), n_classes, 0, 0)


@pytest.mark.parametrize("code", [2, -3])
def test_codes_just_out_of_range_are_refused(code):
    with pytest.raises(ValueError, match="code out of range"):
        _core.Column(np.array([0, code], np.int32), 2)
    assert _core.Column(np.array([1, -2], np.int32), 2)


@pytest.mark.parametrize(("cls", "n_classes"), [(2, 2), (300, 300), (-1, 300)])
def test_classes_just_out_of_range_are_refused(cls, n_classes):
    with pytest.raises(ValueError, match="class out of range"):
        core_target([0, cls], n_classes=n_classes)


@pytest.mark.parametrize("n_classes", [0, 2, 300])
def test_targets_of_another_type_are_refused(n_classes):
    with pytest.raises(TypeError, match="y must be int64 numbers, or class numbers"):
        _core.Target(np.zeros(2, np.int16), np.zeros(2), np.ones(2, np.int64), n_classes, 0, 0)


def test_lengths_must_agree_both_ways():
    with pytest.raises(ValueError, match="lengths differ"):
        core_target([0, 1], n_classes=0, raw=1)
    for rows in (1, 3):
        with pytest.raises(ValueError, match="length"):
            _core.grow([_core.Column(np.zeros(rows), 0, [1])], core_target([0, 1]), _core.Settings())
