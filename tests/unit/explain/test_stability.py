"""Stability: margins as in the trace, resamples by brute force, and known results."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

import treewise as tw
from tests.support.random_tables import limit_examples
from tests.support.random_tables import random_tables as drawn_table
from treewise.errors import DataError, ParameterError
from treewise.explain.stability.margins import margins
from treewise.explain.stability.resample import ReferenceTree, SplitMatcher, draw_bootstrap
from treewise.predict.predict import find_leaves
from treewise.train.grow import grow_training_set, prepare
from treewise.train.resampling import bound_weights, resample, take_rows

RNG = np.random.default_rng(11)


def noise(n=120, columns=6, seed=0):
    rng = np.random.default_rng(seed)
    return {**{f"x{i}": rng.normal(size=n) for i in range(columns)}, "y": rng.choice(["a", "b"], n)}


def clear(n=400, seed=0):
    """The first question is beyond doubt, the second hardly less."""
    rng = np.random.default_rng(seed)
    first, second, third = (rng.uniform(size=n) for _ in range(3))
    y = np.where(first > 0.5, "c", np.where(second > 0.5, "b", "a"))
    return {"first": first, "second": second, "third": third, "y": y}


# -- margins ----------------------------------------------------------------------------------------------------------


@limit_examples(0.5)
@given(drawn_table())
def test_margins_are_those_of_the_trace(table):
    """Winner, runner-up, margin and ties, with every option mixed with every other."""
    options = {name: value for name, value in table.options.items() if name != "ties"}
    tree = tw.grow(table.data, "y", **options)
    training_set = prepare(table.data, "y", **options)
    trace = tree.trace(table.data, sample_weight=options.get("sample_weight"))
    for node, gap in margins(tree, training_set).items():
        actual = trace[node]
        assert actual.winner == tree.split_at(node).column
        assert gap.runner_up == actual.runner_up
        if actual.runner_up is not None:
            assert (gap.behind == 0) >= actual.tie
            assert gap.score - gap.second == pytest.approx(actual.margin, rel=1e-9, abs=1e-12)


def test_a_column_and_its_copy_are_a_tie():
    data = clear()
    stability = tw.stability({**data, "copy": data["first"]}, "y", max_depth=1, resamples=5)
    assert (stability.nodes[0].runner_up, stability.nodes[0].margin) == ("copy", 0.0)
    assert "at node 0, copy is as good as first" in stability.paragraph


def test_a_single_column_has_no_runner_up():
    data = clear()
    stability = tw.stability({"first": data["first"], "y": data["y"]}, "y", max_depth=1, resamples=3)
    assert stability.nodes[0].runner_up is stability.nodes[0].margin is None


# -- resamples --------------------------------------------------------------------------------------------------------


def test_draws_are_those_of_the_seed_and_as_many_as_rows():
    first = draw_bootstrap(50, 3, 0)
    assert first.sum() == len(first) == 50
    assert np.array_equal(first, draw_bootstrap(50, 3, 0))
    assert not np.array_equal(first, draw_bootstrap(50, 3, 1))
    assert not np.array_equal(first, draw_bootstrap(50, 4, 0))
    rows = np.random.default_rng((3, 0)).integers(0, 50, 50)
    assert np.array_equal(first, np.bincount(rows, minlength=50))


def test_repeated_rows_and_weights_grow_the_same_tree():
    training_set = prepare("penguins", max_depth=3)
    times = draw_bootstrap(len(training_set), 0, 0)
    repeated, weighed = (resample(training_set, times, way) for way in (False, True))
    assert len(repeated) == len(training_set)
    assert len(weighed) == np.count_nonzero(times)
    one, other = grow_training_set(repeated), grow_training_set(weighed)
    assert [one.split_at(n) for n in range(len(one))] == [other.split_at(n) for n in range(len(other))]
    assert np.array_equal(one.arrays.weight, other.arrays.weight)


def test_weights_that_would_be_too_heavy_become_coarser():
    data = {"x": np.arange(8.0), "y": ["a", "b"] * 4, "w": [2.0**51, *[1.0] * 7]}
    training_set = prepare(data, "y", sample_weight="w", ignore=["w"])
    times = np.array([8, 0, 0, 0, 0, 0, 0, 0]) + np.eye(8, dtype=int)[1]
    heavy = resample(training_set, times, as_weights=True)
    assert float(heavy.weight.sum()) < 2.0**53
    assert bound_weights(training_set) is training_set
    grow_training_set(heavy)


def brute_force(reference_tree, tree, training_set):
    """The three ways in which a question comes back, with sets of rows."""

    def rows_of(t):
        ends = find_leaves(t, training_set.columns, len(training_set))
        return [{r for r, e in enumerate(ends.tolist()) if n in t.path(e)} for n in range(len(t))]

    def column(t, n):
        return None if t.split_at(n) is None else t.split_at(n).column

    mine, theirs = rows_of(reference_tree), rows_of(tree)
    place = {0: 0}
    text = {}
    for node in range(len(reference_tree)):
        if reference_tree[node].is_leaf:
            continue
        asks = column(reference_tree, node)
        parent = reference_tree[node].parent
        if parent is not None and parent in place and column(tree, place[parent]) == column(reference_tree, parent):
            branches = tree.children(place[parent])
            shared = [len(mine[node] & theirs[b]) for b in branches]
            place[node] = branches[shared.index(max(shared))]
        overlap = [len(mine[node] & other) / len(mine[node] | other) for other in theirs]
        again = [o for n, o in enumerate(overlap) if column(tree, n) == asks and o >= 0.5]
        requested = [r for r in mine[node] if any(column(tree, n) == asks and r in theirs[n] for n in range(len(tree)))]
        best = overlap.index(max(overlap))
        text[node] = (
            node in place and column(tree, place[node]) == asks,
            bool(again),
            len(requested) / len(mine[node]),
            max(again, default=0.0),
            None if max(overlap) < 0.5 else column(tree, best),
        )
    return text


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("data", ["penguins", "noise"])
def test_splits_are_matched_as_by_brute_force(data, seed):
    given_to = {"data": noise(60), "target": "y"} if data == "noise" else {"data": "penguins"}
    training_set = prepare(**given_to, max_depth=4)
    tree = grow_training_set(training_set)
    other = grow_training_set(resample(training_set, draw_bootstrap(len(training_set), seed, 0), as_weights=False))
    actual = SplitMatcher(
        ReferenceTree(tree, training_set), other, find_leaves(other, training_set.columns, len(training_set))
    ).match_all()
    names = [None, *tree.columns]
    for text, (node, wanted) in zip(actual, brute_force(tree, other, training_set).items(), strict=True):
        place, again, asked, overlap, column = wanted
        assert (text["position"], text["rows"]) == (place, again), node
        assert (text["used"], text["overlap"]) == pytest.approx((asked, overlap)), node
        assert names[max(text["column"], -1) + 1] == column, node


def test_a_tree_matches_itself():
    training_set = prepare("penguins", max_depth=4)
    tree = grow_training_set(training_set)
    actual = SplitMatcher(
        ReferenceTree(tree, training_set), tree, find_leaves(tree, training_set.columns, len(training_set))
    ).match_all()
    assert actual["position"].all()
    assert actual["rows"].all()
    assert np.all(actual["used"] == 1)
    assert np.all(actual["overlap"] == 1)
    assert actual["same_split"].all()


def test_the_same_test_parts_the_values_present_alike():
    """A cut elsewhere in the same gap is the same test; one value further it is another; levels may change sides."""
    data = {"x": [1.0, 2.0, 3.0, 4.0], "c": ["u", "v", "w", "w"], "y": ["a", "a", "b", "b"]}
    training_set = prepare(data, "y")
    trees = {cut: tw.grow(data, "y", max_depth=0).split(0, cut, data) for cut in ("x <= 2.5", "x <= 2.1", "x <= 3.5")}
    trees |= {of: tw.grow(data, "y", max_depth=0).split(0, of, data) for of in ("c in {u, v}", "c = w", "c = v")}

    def same(one, other):
        ends = find_leaves(trees[other], training_set.columns, len(training_set))
        return bool(
            SplitMatcher(ReferenceTree(trees[one], training_set), trees[other], ends).match_all()["same_split"][0]
        )

    assert same("x <= 2.5", "x <= 2.1")
    assert not same("x <= 2.5", "x <= 3.5")
    assert same("c in {u, v}", "c = w")
    assert not same("c in {u, v}", "c = v")
    assert not same("x <= 2.5", "c = w")


# -- what must come out -----------------------------------------------------------------------------------------------


def test_few_rows_repeated_many_times_are_always_told_apart_alike():
    three = {"x": [0.0, 1.0, 2.0], "z": ["u", "v", "u"], "y": ["a", "b", "c"]}
    data = {name: np.repeat(cells, (600, 200, 50)) for name, cells in three.items()}
    stability = tw.stability(data, "y", resamples=30)
    assert all(n.same_position == n.same_rows == n.used == n.overlap == 1 for n in stability.nodes)
    assert all(n.threshold_low == n.threshold_high for n in stability.nodes if n.threshold_low is not None)
    assert stability.agreement.all_rows == stability.agreement.out_of_bag == stability.agreement.stable_rows == 1
    assert np.all(stability.row_agreement == 1)
    assert "The root split is stable: " in stability.paragraph
    assert "in all 30 resamples" in stability.paragraph
    assert "All have 3 leaves." in stability.paragraph


def test_noise_is_called_noise():
    stability = tw.stability(noise(), "y", max_depth=4, resamples=40)
    assert stability.nodes[0].same_position < 0.9
    assert np.mean([n.same_rows for n in stability.nodes[1:]]) < 0.5
    assert "this tree is one of many that fit about equally well" in stability.paragraph
    assert stability.agreement.out_of_bag < 0.8


def test_clear_results_are_called_clear():
    stability = tw.stability(clear(), "y", max_depth=2, resamples=40)
    assert [n.column for n in stability.nodes] == ["first", "second"]
    assert all(n.same_position == n.same_rows == 1 for n in stability.nodes)
    for n in stability.nodes:
        assert abs(n.threshold_median - 0.5) < 0.02
        assert n.threshold_low <= n.threshold_median <= n.threshold_high
    assert stability.agreement.all_rows > 0.98
    assert stability.root_columns == {"first": 40}


def test_numbers():
    x = RNG.uniform(size=300)
    data = {"x": x, "z": RNG.normal(size=300), "y": np.where(x > 0.5, 10.0, 0.0) + RNG.normal(size=300)}
    stability = tw.stability(data, "y", max_depth=1, resamples=20)
    assert stability.nodes[0].same_position == 1
    assert 0 < stability.agreement.all_rows < 0.5
    assert stability.agreement.sd == pytest.approx(5, rel=0.05)
    assert stability.agreement.stable_rows is None
    assert "root mean square" in stability.paragraph


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_numbers_of_any_size(scale):
    data = clear()
    y = data["first"] + data["second"] ** 2
    usual, other = (
        tw.stability({**data, "y": numbers}, "y", max_depth=2, resamples=3, criterion="absolute_error").agreement
        for numbers in (y, y * scale)
    )
    assert other.all_rows == pytest.approx(usual.all_rows * scale)
    assert other.out_of_bag == pytest.approx(usual.out_of_bag * scale)
    assert other.sd == pytest.approx(usual.sd * scale)


def test_agreement_by_hand():
    """The mean over resamples of the share of rows with the same class, each tree grown as documented."""
    training_set = prepare("penguins", max_depth=2)
    stability = tw.stability("penguins", max_depth=2, resamples=3, random_state=9)
    tree, shares, unseen = grow_training_set(training_set), [], []
    own = tree.arrays.label[find_leaves(tree, training_set.columns, len(training_set))]
    for number in range(3):
        rows = np.sort(np.random.default_rng((9, number)).integers(0, len(training_set), len(training_set)))
        other = grow_training_set(take_rows(training_set, rows))
        same = other.arrays.label[find_leaves(other, training_set.columns, len(training_set))] == own
        shares.append(same.mean())
        unseen.append(same[~np.isin(np.arange(len(training_set)), rows)])
    assert stability.agreement.all_rows == pytest.approx(np.mean(shares))
    assert stability.agreement.out_of_bag == pytest.approx(np.concatenate(unseen).mean())


def test_a_tree_without_splits():
    stability = tw.stability("penguins", max_depth=0, resamples=3)
    assert stability.nodes == ()
    assert stability.paragraph.startswith("The tree has no split; the resampled trees have one in none of 3 resamples.")
    assert stability.to_frame().height == 0
    assert "has no split" in str(stability)


@pytest.mark.parametrize(
    "options",
    [
        {"pruning": "cv"},
        {"preset": "c45"},
        {"pruning": "reduced_error", "validation": 0.3},
        {"pruning": "reduced_error", "validation": "penguins"},
        {"pruning": {"method": "pessimistic", "raising": True}},
        {"criterion": "gain_ratio", "max_depth": 2, "class_weight": "balanced"},
        {"categorical": "any", "missing": "branch", "max_leaf_nodes": 5, "ties": "random"},
        {"cost": {"Gentoo": {"Adelie": 5}}, "max_depth": 2},
    ],
)
def test_the_same_for_any_number_of_threads_and_as_grow_grows(options):
    one, three = (tw.stability("penguins", resamples=4, random_state=2, n_jobs=n, **options).to_dict() for n in (1, 3))
    assert one == three
    tree = tw.grow("penguins", random_state=2, **options)
    assert [n["node"] for n in one["nodes"]] == [n for n in range(len(tree)) if not tree[n].is_leaf]
    assert one["leaves"]["tree"] == tree.n_leaves
    assert one != tw.stability("penguins", resamples=4, random_state=3, **options).to_dict()


def test_other_kinds_of_columns():
    rng = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, 200).astype("timedelta64[D]")
    late = days > np.datetime64("2024-06-01")
    data = {
        "day": days.tolist(),
        "wide": (2**60 + rng.integers(0, 9, 200)).tolist(),
        "x": [None if i % 7 == 0 else float(i) for i in range(200)],
        "y": np.where(late, "late", "early").tolist(),
    }
    stability = tw.stability(data, "y", resamples=10)
    assert stability.nodes[0].column == "day"
    assert stability.nodes[0].threshold_range.startswith("2024-0")
    gone = tw.stability({"x": [None, 1.0] * 50, "y": ["a", "b"] * 50}, "y", resamples=5)
    assert gone.nodes[0].same_rows == 1  # it asks whether x is missing: no threshold to speak of
    assert gone.nodes[0].threshold_median is None


@limit_examples(0.5)
@given(drawn_table())
def test_every_table_can_be_questioned(table):
    """With every option mixed with every other, and resamples that lack classes, levels and values."""
    stability = tw.stability(table.data, "y", resamples=3, **table.options)
    assert stability.tree == table.grow()
    for n in stability.nodes:
        assert 0 <= n.same_position <= 1
        assert 0 <= n.same_rows <= 1
        assert 0 <= n.used <= 1 + 1e-12
        assert n.overlap is None or 0.5 <= n.overlap <= 1 + 1e-12
    json.dumps(stability.to_dict(), allow_nan=False)
    assert str(stability)


# -- forms and mistakes -----------------------------------------------------------------------------------------------


def test_forms():
    stability = tw.stability("penguins", max_leaf_nodes=4, resamples=5)
    frame = stability.to_frame()
    assert frame["node"].to_list() == [n.node for n in stability.nodes]
    assert frame["same_rows"].to_list() == [n.same_rows for n in stability.nodes]
    assert stability.to_csv().splitlines()[0].startswith("node,column,split,rows,score,runner_up,")
    text = json.loads(json.dumps(stability.to_dict()))
    assert text["paragraph"] == stability.paragraph
    assert len(text["leaves"]["resamples"]) == 5
    assert set(stability._repr_mimebundle_()) == {"text/plain", "text/html", "text/markdown"}
    assert len(max(str(stability).splitlines(), key=len)) <= 100
    assert stability.tree == tw.grow("penguins", max_leaf_nodes=4)


def test_hostile_names():
    name = "<b>x|\x1b[31m\n"
    data = clear()
    stability = tw.stability(
        {name: data["first"], "copy": data["first"], "y": data["y"]}, "y", max_depth=1, resamples=2
    )
    assert "\x1b" not in str(stability)
    assert "<b>" not in stability.to_html()
    assert stability.to_frame()["column"].to_list() == [name]


@pytest.mark.parametrize("resamples", [0, 2.5, "ten", None, True])
def test_an_invalid_number_of_resamples_is_refused(resamples):
    with pytest.raises(ParameterError, match="must be a whole number, from 1 to 1000000"):
        tw.stability("penguins", resamples=resamples)


def test_other_mistakes_are_those_of_grow():
    with pytest.raises(ParameterError, match="no option max_deep"):
        tw.stability("penguins", max_deep=3)
    with pytest.raises(ParameterError, match="n_jobs=0"):
        tw.stability("penguins", n_jobs=0)
    with pytest.raises(ParameterError, match="random_state=-1"):
        tw.stability("penguins", random_state=-1)
    with pytest.raises(DataError, match="no column"):
        tw.stability("penguins", "nothing")


def test_progress_and_interruption():
    shares = []
    tw.stability("penguins", resamples=4, progress=shares.append)
    assert shares == [0.2, 0.4, 0.6, 0.8, 1.0]  # four resamples, then the margins

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tw.stability("penguins", resamples=1000, progress=stop)


@pytest.mark.parametrize("unit", [1, 1_000_003])
def test_cuts_of_wide_integers_and_nanoseconds_are_exact(unit):
    rng = np.random.default_rng(0)
    whole = 2**60 + unit * rng.integers(0, 1000, 200)
    y = (whole > 2**60 + unit * 500).astype(int)
    actual = tw.stability({"n": whole, "y": y}, "y", resamples=10, max_depth=1).nodes[0]
    assert actual.threshold_median in {int(cut) for cut in cuts_between(whole)}
    assert actual.split == f"n <= {actual.threshold_median}"
    stamps = whole.view("datetime64[ns]")
    actual = tw.stability({"t": stamps, "y": y}, "y", resamples=10, max_depth=1).nodes[0]
    assert actual.threshold_median in {int(cut) for cut in cuts_between(whole)}


def cuts_between(values):
    levels = [int(value) for value in np.unique(values)]
    return [(a + b) // 2 for a, b in pairwise(levels)]


def test_a_set_of_levels_that_never_comes_back_is_not_called_stable():
    rng = np.random.default_rng(0)
    names = [f"n{v}" for v in rng.integers(0, 60, 400)]
    data = {"name": names, "x": rng.normal(size=400), "y": rng.random(400) < 0.4}
    stability = tw.stability(data, "y", resamples=20, selection="gain", min_level_rows=1, max_depth=2)
    root, *below = stability.nodes
    assert root.column == "name"
    assert root.same_rows == 1 > 0.1 > root.same_split
    assert stability.paragraph.startswith(
        "The root split is uncertain, though its column is stable: name is at the root"
    )
    sets = [node for node in below if node.column == "name" and node.same_rows >= 0.5]
    assert sets
    assert all(node.same_split < 0.5 for node in sets)
    assert "back with the same column but other levels: do not interpret which levels go where" in stability.paragraph
    assert " in at least " not in stability.paragraph


def test_the_words_and_the_rounded_thresholds_are_those_of_the_tree():
    rng = np.random.default_rng(3)
    table = {"income": rng.integers(10, 90, 300) * 1001, "rooms": rng.integers(1, 6, 300)}
    table["y"] = np.where(table["income"] > 44_000, "b", np.where(table["rooms"] > 2, "b", "a"))
    exact = tw.grow(table, "y", max_leaf_nodes=3)
    rounded = exact.round_thresholds(table).with_display(display_names={"rooms": "Rooms"}, units={"income": "€"})
    result = rounded.stability(table, resamples=5)
    splits = {node.column: (node.node, node.split) for node in result.nodes}
    node, split = splits["income"]
    assert split == f"income <= {rounded.split_at(node).cut:g}" != f"income <= {exact.split_at(node).cut:g}"
    assert splits["rooms"][1] == "rooms <= 2"  # data keep the names of the table
    text = str(result)
    assert "Rooms <= 2 " in text
    assert "rooms" not in text
    assert " €" in text
    assert "2.5" not in text.partition("score")[0]
    assert {record["column"] for record in result.to_dict()["nodes"]} == {"income", "rooms"}


def test_standard_deviations_have_three_digits():
    text = str(tw.stability("penguins", "body_mass_g", max_leaf_nodes=3, resamples=3, drop_missing_target=True))
    pattern = r"root\s+mean\s+square\s+of \d{2,3}(\.\d)? .*standard\s+deviation of \d{2,3}\."
    assert re.search(pattern, text, re.DOTALL), text
