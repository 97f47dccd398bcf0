"""Subgroups: counts agree with the rows, p-values with other programs, and noise is not significant."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.handmade_trees import OFFICIALS
from tests.support.random_tables import limit_examples, random_tables
from treewise.explain.rules import class_index
from treewise.explain.subgroups.node_groups import WHOLE_TABLE, KeptGroups
from treewise.explain.subgroups.permuted_search import permute_target
from treewise.explain.subgroups.statistics import GroupStatistics, fisher, holm, newcombe, welch
from treewise.predict.confidence_intervals import wilson
from treewise.train.grow import prepare

# -- arithmetic -------------------------------------------------------------------------------------------------------


@limit_examples(2)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_fisher_is_the_sum_of_all_tables_no_more_probable(hits, misses, rest_hits, rest_misses):
    n, rest, all_hits = hits + misses, rest_hits + rest_misses, hits + rest_hits
    ways = {k: math.comb(n, k) * math.comb(rest, all_hits - k) for k in range(min(n, all_hits) + 1)}
    total = sum(ways.values())
    exact = Fraction(sum(w for w in ways.values() if w <= ways[hits]), total)
    assert fisher(hits, n, rest_hits, rest) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_fisher_and_welch_agree_with_scipy(seed):
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(seed)
    n, rest = rng.integers(50, 20_000, 2).tolist()
    hits, rest_hits = int(rng.binomial(n, 0.3)), int(rng.binomial(rest, 0.32))
    for few, many in ((hits, rest_hits), (hits // 2, rest_hits), (3, rest // 900), (0, 20 + rest // 100)):
        table = [[few, n - few], [many, rest - many]]
        assert fisher(few, n, many, rest) == pytest.approx(stats.fisher_exact(table)[1], rel=1e-7)
    one, two = rng.normal(5, 1, 3 + seed), rng.normal(4.5, 3, 40)
    actual = welch(GroupStatistics.of(one), GroupStatistics.of(two), 0.9)
    theirs = stats.ttest_ind(one, two, equal_var=False)
    assert actual.p == pytest.approx(theirs.pvalue)
    assert (actual.low, actual.high) == pytest.approx(tuple(theirs.confidence_interval(0.9)))


def test_tables_too_large_for_a_double_are_not_too_large():
    assert fisher(300_000, 10**6, 3_100_000, 9 * 10**6) == 0.0
    assert fisher(4_000, 5_000, 1_000, 5_000) == 0.0
    for hits in (3_300, 3_100, 2_600):  # not so far out
        expected = pytest.importorskip("scipy.stats").fisher_exact([[hits, 5_000 - hits], [5_000 - hits, hits]])[1]
        assert fisher(hits, 5_000, 5_000 - hits, 5_000) == pytest.approx(expected, rel=1e-6)
    assert 0.9 < fisher(300_000, 10**6, 2_700_010, 9 * 10**6) <= 1.0


def test_holm_and_newcombe_of_the_papers():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    low, high = newcombe([GroupStatistics(10, 9, 9)], [GroupStatistics(10, 3, 3)], 0.95)
    assert (round(low[0], 4), round(high[0], 4)) == (0.1705, 0.8090)  # Newcombe 1998, example (d)


# -- groups -----------------------------------------------------------------------------------------------------------


@limit_examples(0.5)
@given(random_tables(weights=False))
def test_counts_are_those_of_the_rows(table):
    if len(table) < 2:
        return
    tree = table.grow()
    cls = None if tree.task == "regression" else tree.classes[0]
    actual = tree.subgroups(table.data, cls).all_groups
    paths = [tree.path(node) for node in tree.apply(table.data).tolist()]
    y = table.data["y"]
    for group in actual:
        mine = [y[i] for i, path in enumerate(paths) if group.node in path]
        others = [y[i] for i, path in enumerate(paths) if group.node not in path]
        assert (group.rows, group.rest.n) == (len(mine), len(others))
        if cls is None:
            assert group.rate == pytest.approx(np.mean(mine))
            assert group.group.sd == pytest.approx(np.std(mine), abs=1e-6)
        else:
            assert group.hits == mine.count(cls)
            assert group.rest.hits == others.count(cls)
            assert group.group.interval(0.95) == pytest.approx(wilson(mine.count(cls), len(mine)))
    sizes = [(g.rows, g.node) for g in actual]
    assert len(sizes) == len(set(sizes)) == actual.n_compared
    assert actual.is_training_data
    assert {g.p_adjusted for g in actual} <= {None}
    other = replace(actual, is_training_data=False)  # as if they were other rows
    assert [g.p_adjusted for g in other] == pytest.approx(holm([g.difference.p for g in other]))


def test_rows_are_in_the_groups_that_cover_them():
    tree = tw.grow("penguins", max_leaf_nodes=6)
    actual = tree.subgroups("penguins", "Adelie").all_groups
    table = tw.read("penguins")
    rows = [dict(zip(table.columns, cells, strict=True)) for cells in table.to_polars().rows()]
    for group in actual:
        assert sum(map(group.covers, rows)) == group.rows


def c_section(n, seed, risk=0.6):
    """A table with one group of high risk, known to nobody: short women past forty (CS221 notes 6, section 4)."""
    rng = np.random.default_rng(seed)
    data = {"age": rng.integers(18, 46, n), "height": rng.integers(145, 185, n), "visits": rng.integers(0, 12, n)}
    high = (data["age"] > 40) & (data["height"] <= 155)
    urgent = rng.random(n) < np.where(high, risk, 0.08)
    return {
        **{name: values.tolist() for name, values in data.items()},
        "urgent": np.where(urgent, "yes", "no").tolist(),
    }


def test_an_unknown_group_of_high_risk_is_found_and_found_again():
    tree = tw.grow(c_section(4000, 1), "urgent", min_samples_leaf=20, max_leaf_nodes=4)
    subgroups = tree.subgroups(c_section(4000, 1), "yes", test=c_section(3000, 2))
    first = subgroups[0]
    assert subgroups.is_training_data
    assert set(first.region.conditions) == {0, 1}  # age and height
    assert 0.45 < first.rate < 0.75
    assert first.test.confirmed
    assert first.test.group.n > 20
    assert first.covers({"age": 44, "height": 150, "visits": 3})
    assert "These look like the training rows" in str(subgroups)
    assert (
        f"Confirmed on the table (3,000 rows): {sum(g.test.confirmed for g in subgroups)} of {len(subgroups)}"
        in str(subgroups)
    )
    assert not tree.subgroups(c_section(3000, 2), "yes").is_training_data


def test_what_is_found_in_noise_is_not_found_again():
    rng = np.random.default_rng(0)

    def noise():
        return {"x1": rng.random(400).tolist(), "x2": rng.random(400).tolist(), "y": rng.integers(0, 2, 400).tolist()}

    on_its_own, again = 0, 0
    for _ in range(40):
        train = noise()
        tree = tw.grow(train, "y", task="classification", max_leaf_nodes=8)
        on_its_own += len(tree.subgroups(train)) > 0
        again += len(tree.subgroups(noise())) > 0  # rows the tree has not seen: at most 1 in 20 by chance
    assert on_its_own > 20
    assert again <= 6


# -- p-values on the training rows ------------------------------------------------------------------------------------


def test_training_rows_have_no_p_value_and_say_why():
    tree = tw.grow("outlier", max_leaf_nodes=4)
    subgroups = tree.subgroups("outlier")
    heading = next(line for line in str(subgroups).splitlines() if line.startswith("node"))
    assert "training range" in heading
    assert " p " not in heading
    assert (
        "A p-value would have to account for that search: repeat it on permuted targets (option permutations)"
        in str(subgroups).replace("\n", " ")
    )
    assert (subgroups[0].p_adjusted, subgroups.to_dict()["groups"][0]["p"]) == (None, None)
    other = tree.subgroups("outlier_validation")
    assert "95 % interval" in str(other)
    assert other.all_groups[0].p_adjusted is not None


def test_permutations_account_for_the_search():
    rng = np.random.default_rng(1)
    x = rng.random((2, 150))
    noise = {"x1": x[0], "x2": x[1], "y": rng.integers(0, 2, 150)}
    signal = {**noise, "y": (x[0] > 0.6).astype(int) ^ (rng.random(150) < 0.2)}
    for data, is_found in ((noise, False), (signal, True)):
        tree = tw.grow(data, "y", task="classification", max_leaf_nodes=6)
        subgroups = tree.subgroups(data, permutations=60)
        assert (len(subgroups) > 0) is is_found
        ps = [group.p_adjusted for group in subgroups.all_groups]
        assert min(ps) >= 1 / 61
        assert {round(61 * p, 6) % 1 for p in ps} == {0.0}
        again = tree.subgroups(data, permutations=60, n_jobs=1)
        assert [g.p_adjusted for g in again.all_groups] == ps
        assert "the share of 60 searches on permuted targets" in str(subgroups).replace("\n", " ")


def test_permuted_search_by_hand():
    """One permutation, done by hand: the smallest p-value of the tree that is grown on it."""
    data = {"x": np.arange(40.0), "y": np.where(np.arange(40) % 7 < 3, "a", "b")}
    tree = tw.grow(data, "y", max_depth=2, pruning="pessimistic")
    order = np.random.default_rng((3, 0)).permutation(40)
    permuted = {**data, "y": data["y"][order]}
    again = tw.grow(permuted, "y", max_depth=2, pruning="pessimistic")
    best = min((g.difference.p for g in again.subgroups(permuted).all_groups), default=1.0)
    actual = tree.subgroups(data, permutations=1, random_state=3).all_groups
    for group in actual:
        assert group.p_adjusted == (1.0 if best <= group.difference.p else 0.5)


@pytest.mark.parametrize("regression", [False, True])
def test_permuted_targets_keep_their_weights(regression):
    rng = np.random.default_rng(2)
    y = rng.random(60) if regression else np.where(rng.random(60) < 0.2, "a", "b")
    options = {} if regression else {"class_weight": {"a": 5}}
    training_set = prepare({"x": rng.random(60), "y": y}, "y", **options)
    permuted = permute_target(training_set, (0, 1))
    pairs = [sorted(zip(t.y.tolist(), t.weight.tolist(), strict=True)) for t in (training_set, permuted)]
    assert pairs[0] == pairs[1]
    assert not np.array_equal(training_set.y, permuted.y)
    assert np.array_equal(training_set.columns[0], permuted.columns[0])


def test_what_cannot_be_permuted_is_refused():
    tree = tw.grow("outlier", max_leaf_nodes=3)
    with pytest.raises(tw.ParameterError, match="is not the table that the tree was grown on"):
        tree.subgroups("outlier_validation", permutations=5)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(tw.ParameterError, match=r"^permutations="):
            tree.subgroups("outlier", permutations=wrong)
    pruned = tw.grow("noisy", pruning="reduced_error", validation=0.3)
    rows = np.arange(200)
    with pytest.raises(tw.ParameterError, match=r"cannot be repeated"):
        pruned.refit("noisy").subgroups("noisy", permutations=5)
    weighted = tw.grow("noisy", sample_weight=1 + rows % 2, max_depth=2)
    with pytest.raises(tw.ParameterError, match="weights given as an array"):
        weighted.subgroups("noisy", permutations=5)


def test_groups_that_repeat_others_are_told_apart():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    subgroups = tree.subgroups("penguins", "Gentoo")
    likes = {group.node: group.redundancy for group in subgroups.all_groups}
    assert likes[1] == "nearly the complement of node 6"
    assert likes[4] == "due to node 6, which it contains"
    assert all(not group.redundancy for group in subgroups)
    assert (
        len(subgroups) + len(subgroups.redundant) + len(subgroups.insignificant)
        == subgroups.n_compared
        == len(tree) - 1
    )
    halves = {"x": [*range(60)], "y": [*"aaab" * 7, *"aabbbbbb" * 4]}
    likes = {g.node: g.redundancy for g in tw.grow(halves, "y", max_depth=1).subgroups(halves).all_groups}
    assert likes == {1: "", 2: "the complement of node 1"}
    table = {"x": [*range(60)], "y": [*"a" * 30, *"b" * 29, "a"]}
    stairs = tw.grow(table, "y").subgroups(table)
    assert {g.node: g.redundancy for g in stairs.all_groups} == {
        3: "",
        1: "nearly the complement of node 3",
        2: "due to node 3, which it contains",
        4: "",  # one row: may be chance
    }


def test_of_more_classes_each_node_speaks_of_its_own():
    subgroups = tw.grow("penguins", max_leaf_nodes=4).subgroups("penguins")
    assert [group.cls for group in subgroups] == ["Gentoo", "Adelie", "Chinstrap", "Chinstrap"]
    assert "share of their class" in str(subgroups)
    assert subgroups.to_frame()["class"].to_list() == [group.cls for group in subgroups]


def test_every_form():
    subgroups = tw.grow("outlier", max_leaf_nodes=4).subgroups("outlier", test="outlier_validation")
    frame = subgroups.all_groups.to_frame()
    assert frame["p"].to_list() == [None] * len(frame)  # on the training rows there is none
    assert frame["test_p"].to_list() == [g.test.difference.p for g in subgroups.all_groups]
    assert {"hits", "rest_rate", "redundancy", "confirmed", "group"} <= set(frame.columns)
    assert subgroups.to_dict()["groups"][0]["rows"] == subgroups[0].rows
    assert subgroups[:1].to_csv().count("\n") == 2
    assert subgroups.to_markdown().startswith("**")
    assert "<script" not in subgroups._repr_mimebundle_()["text/html"]
    assert "test_rows" not in tw.grow("outlier").subgroups("outlier").to_frame().columns


def test_numbers_are_compared_by_their_means():
    tree = tw.grow("penguins", "body_mass_g", drop_missing_target=True, max_leaf_nodes=4)
    subgroups = tree.subgroups("penguins", drop_missing_target=True)
    assert subgroups[0].hits is None
    assert subgroups[0].cls is None
    assert "Welch's t-test" in str(tree.subgroups("penguins", drop_missing_target=True, permutations=1))
    assert (
        str(subgroups[0]) == "species = Gentoo AND sex = MALE: mean 5,484.8 of 61 rows, against 3,923.2 of 281 others"
    )


def test_nothing_to_find():
    tree = tw.grow("outlier", max_depth=0)
    subgroups = tree.subgroups("outlier")
    assert len(subgroups) == subgroups.n_compared == 0
    assert str(subgroups).startswith("0 groups, ranked by how much their share of y = star differs from the rest")
    officials = tw.parse(OFFICIALS, target="Class").subgroups("admissions")
    assert officials.overall.n == 12
    assert not officials.is_training_data


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"cls": "Gento"}, 'Did you mean "Gentoo"?'),
        ({"test": 0.3}, "test=0.3: the tree has seen the rows it was grown on. Hold some out before growing"),
        ({"confidence": 0}, "confidence=0: must be a number between 0 and 1"),
        ({"min_support": 1.5}, "min_support=1.5: must be a whole number, 0 or more, or a share above 0 and up to 1.0"),
    ],
)
def test_invalid_requests_are_refused(asked, message):
    with pytest.raises(tw.ParameterError) as error:
        tw.grow("penguins", max_depth=1).subgroups("penguins", **asked)
    assert message in str(error.value)


def test_one_row_has_nothing_beside_it():
    tree = tw.grow("outlier", max_depth=1)
    with pytest.raises(tw.DataError, match="the table has 1 row: there is nothing to compare a group with"):
        tree.subgroups({"x1": [1], "x2": [1], "y": ["dot"]})


# -- numbers of every size --------------------------------------------------------------------------------------------


def steps(scale=1.0, outlier=None):
    x = np.arange(60.0)
    y = scale * (np.where(x < 20, 1.0, 3.0) + (x % 3) / 10)
    y = np.append(y, y[-1] if outlier is None else outlier)
    return {"x": np.append(x, 100.0), "y": y}


STEPS = "x <= 19.5 -> 1\nx > 19.5\n  x <= 80 -> 3\n  x > 80 -> 3"


def test_an_infinite_target_is_refused_and_named():
    message = 'target "y" is inf in row 61 of the table. Leave that row out, or correct it.'
    with pytest.raises(tw.DataError) as caught:
        tw.parse(STEPS, target="y", task="regression").subgroups(steps(outlier=math.inf), target="y")
    assert str(caught.value) == message


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**660, 2.0**1000])
def test_numbers_of_any_size_are_compared_alike(scale):
    tree = tw.parse(STEPS, task="regression")
    one, other = tree.subgroups(steps(), target="y").all_groups, tree.subgroups(steps(scale), target="y").all_groups
    assert [group.node for group in one] == [group.node for group in other]
    for small, large in zip(one, other, strict=True):
        assert (large.rate, large.group.sd) == (small.rate * scale, small.group.sd * scale)
        assert large.difference.p == pytest.approx(small.difference.p, rel=1e-9)
        assert large.difference.low == pytest.approx(small.difference.low * scale)


def test_an_outlier_costs_the_other_groups_no_digits():
    near, far = (
        {group.node: group for group in tw.parse(STEPS, task="regression").subgroups(table, target="y").all_groups}
        for table in (steps(outlier=3.0), steps(outlier=1e9 + 0.1))
    )
    for node in (1, 3):
        assert far[node].group.sd == near[node].group.sd
        assert far[node].group.mean == near[node].group.mean
    values = steps()["y"][20:60]
    assert far[4].rest.sd == pytest.approx(np.std(steps()["y"][:60]), rel=1e-12)
    assert far[3].group.sd == pytest.approx(np.std(values), rel=1e-12)


# -- families of tests, and what JSON says ----------------------------------------------------------------------------


def test_held_out_p_values_are_corrected_for_the_groups_that_are_shown():
    rows, fresh = c_section(3_000, 0), c_section(1_500, 1)
    tree = tw.grow(rows, "urgent", max_leaf_nodes=12)
    subgroups = tree.subgroups(rows, test=fresh)
    assert subgroups.redundant or subgroups.insignificant
    for groups in (subgroups, subgroups.all_groups):
        ps = [1.0 if group.test.difference is None else group.test.difference.p for group in groups]
        assert [group.test.p_adjusted for group in groups] == holm(ps)
        assert subgroups.to_dict()["held_out"] == {
            "table": "the table",
            "rows": 1_500,
            "is_training_data": False,
            "groups": len(subgroups),
        }
        assert f"adjusted for {len(groups)} group" in " ".join(str(groups).split())
    message = subgroups.to_dict()
    assert (message["redundant"], message["insignificant"]) == (len(subgroups.redundant), len(subgroups.insignificant))
    assert message["rate"] == pytest.approx(np.mean([label == subgroups.cls for label in rows["urgent"]]))


def test_nearest_and_outermost_groups_are_those_of_a_search_through_all():
    rows = c_section(3_000, 0)
    tree = tw.grow(rows, "urgent", min_samples_leaf=5)
    found, ends = tree.subgroups(rows).all_groups, tree.arrays.ends.tolist()
    for seed in range(5):
        kept = KeptGroups(ends, 0.95)
        nodes = []
        for each in np.random.default_rng(seed).permutation(np.array(found.groups, object))[:80]:
            around = [other for other in nodes if other < each.node < ends[other]]
            inside = [other for other in nodes if each.node < other < ends[each.node]]
            outer = [i for i in inside if not any(other < i < ends[other] for other in inside)]
            assert kept._around(each.node) == max(around, default=WHOLE_TABLE)
            assert [other.node for other in kept._inside(each.node)] == sorted(outer)
            kept.add(each)
            nodes.append(each.node)


def test_of_more_classes_there_is_no_rate_of_all_rows():
    message = tw.grow("penguins", max_leaf_nodes=4).subgroups("penguins").to_dict()
    assert (message["class"], message["rate"], message["held_out"]) == (None, None, None)


def test_a_class_is_found_however_its_case_is_written():
    rows = {"x": [1, 2, 3, 4] * 10, "y": [False, False, True, True] * 10}
    tree = tw.grow(rows, "y")
    assert tree.subgroups(rows, "true").cls == tree.subgroups(rows, True).cls
    both = tw.grow({"x": [1, 2, 3, 4], "y": ["a", "A", "b", "b"]}, "y")
    assert [class_index(both, label) for label in both.classes] == [0, 1, 2]
    with pytest.raises(tw.ParameterError, match="no such class"):
        tw.grow({"x": [1, 2, 3, 4], "y": ["aa", "AA", "b", "b"]}, "y").rules(cls="Aa")
