"""Honest estimation: some rows choose the structure, the others give the leaves their numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.random_tables import limit_examples
from treewise.errors import DataError
from treewise.train.grow import prepare
from treewise.train.honest import split_rows
from treewise.train.resampling import _choose_groups, hold_out, take_rows
from treewise.tree.arrays import LEAF


def table(rows=200, seed=0, regression=False):
    rng = np.random.default_rng(seed)
    x, town = rng.normal(size=rows), rng.choice(["Bari", "Oslo", "Rome"], rows)
    y = x + (town == "Oslo") + rng.normal(size=rows)
    return {"x": x, "town": town, "y": y if regression else np.where(y > 0, "yes", "no")}


def take(data, rows):
    return {name: column[rows] for name, column in data.items()}


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("options", [{}, {"pruning": "cv"}, {"pruning": "reduced_error", "validation": 0.3}])
def test_structure_is_that_of_the_first_part_and_numbers_are_those_of_the_second(regression, options):
    data = table(regression=regression)
    structure, leaves = (part.rows for part in split_rows(prepare(data, "y"), 0.4))
    tree = tw.grow(data, "y", honest=0.4, max_depth=4, **options)
    alone = tw.grow(take(data, structure), "y", max_depth=4, **options)
    assert not set(structure) & set(leaves)
    assert len(structure) + len(leaves) == 200
    expected = alone.refit(take(data, leaves))
    assert [node.split for node in tree] == [node.split for node in expected]
    for name in ("kind", "column", "cut", "codes"):
        assert np.array_equal(getattr(tree.arrays, name), getattr(alone.arrays, name))
    for name in ("rows", "value", "count_weight", "label", "gain"):
        assert np.array_equal(getattr(tree.arrays, name), getattr(expected.arrays, name), equal_nan=True)
    assert tree.fit_info.honest.rows == tree.arrays.rows[0] == len(leaves)
    assert tree.fit_info.has_independent_rows
    assert not alone.fit_info.has_independent_rows


@given(st.permutations(range(30)), st.sampled_from([0.2, 0.5, 0.7]))
@limit_examples()
def test_parts_do_not_depend_on_the_order_of_rows(order, share):
    data = take(table(30), np.arange(30) % 25)  # some rows occur twice
    trees = [tw.grow(rows, "y", honest=share) for rows in (data, take(data, np.array(order)))]
    assert trees[0] == trees[1]


def test_parts_are_stratified_and_follow_the_seed():
    data = table(100)
    parts = [split_rows(prepare(data, "y", random_state=seed), 0.5)[1] for seed in (0, 0, 1)]
    yes = np.mean(data["y"] == "yes")
    for part in parts:
        assert abs(np.mean(part.y == 1) - yes) <= 0.01
    assert np.array_equal(parts[0].rows, parts[1].rows)
    assert not np.array_equal(parts[0].rows, parts[2].rows)


def test_a_branch_without_rows_takes_the_numbers_of_its_parent():
    data = table(40, seed=3)
    tree = tw.grow(data, "y", honest=0.1)
    empty = np.flatnonzero((tree.arrays.kind == LEAF) & (tree.arrays.rows == 0))
    assert len(empty)
    for node in empty.tolist():
        above = int(tree.arrays.parent[node])
        while tree.arrays.rows[above] == 0:
            above = int(tree.arrays.parent[above])
        assert tree.prediction(node) == tree.prediction(above)
        assert tree.interval(node) == tree.interval(above)


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1, True, "half"])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(tw.errors.ParameterError, match=r"^honest=.*between 0 and 1"):
        tw.grow("penguins", honest=share)


def test_too_few_rows_are_refused():
    with pytest.raises(tw.errors.DataError, match=r"honest=0\.1 of 3 rows leaves one part without rows"):
        tw.grow({"x": [1, 2, 3], "y": ["a", "b", "a"]}, "y", honest=0.1)


@pytest.mark.parametrize("grow", [tw.forest, tw.bagging, tw.adaboost, tw.stump, tw.stability])
def test_other_learners_refuse_it(grow):
    with pytest.raises(tw.errors.ParameterError, match=r"^honest"):
        grow("penguins", honest=0.5)


def test_the_whole_table_is_recognised_as_training_rows():
    data = table()
    tree = tw.grow(data, "y", honest=0.5, max_depth=3)
    assert tree.evaluate(data).is_training_data
    assert not tree.evaluate(table(seed=9)).is_training_data


@pytest.mark.parametrize("regression", [False, True])
def test_independence_follows_the_history(regression):
    data, other = table(regression=regression), table(seed=1, regression=regression)
    tree = tw.grow(data, "y", max_depth=4)
    refitted, honest = tree.refit(other), tw.grow(data, "y", max_depth=4, honest=0.5)
    assert refitted.fit_info.has_independent_rows
    assert not tree.refit(data).fit_info.has_independent_rows  # the rows that chose the splits
    assert refitted.refit(other).fit_info.has_independent_rows
    assert not honest.refit(data).fit_info.has_independent_rows
    assert not refitted.prune("gain", threshold=0.5).fit_info.has_independent_rows  # the rows chose what to cut
    assert refitted.prune(max_depth=9).fit_info.has_independent_rows  # nothing was cut
    assert not refitted.split(
        int(refitted.apply({"x": 0.0, "town": "Bari"})), "x <= 0", other
    ).fit_info.has_independent_rows
    assert not tw.forest(data, "y", n_estimators=1)[0].fit_info.has_independent_rows


def test_it_survives_a_file(tmp_path):
    tree = tw.grow(table(), "y", honest=0.5, pruning="cv")
    tree.save(tmp_path / "m.json")
    loaded = tw.load(tmp_path / "m.json")
    assert loaded == tree
    assert loaded.fit_info == tree.fit_info
    assert loaded.fit_info.cp_table is not None


def test_the_estimator_and_comparisons_repeat_it():
    data = table()
    X = {name: column for name, column in data.items() if name != "y"}
    model = tw.TreeClassifier(honest=0.5, max_depth=3).fit(X, data["y"])
    tree = tw.grow(data, "y", honest=0.5, max_depth=3)
    assert np.array_equal(model.tree_.arrays.rows, tree.arrays.rows)
    from treewise.evaluate.baselines.compare_models import grow_like

    grow, skipped = grow_like(tree)
    assert (grow(prepare(data, "y", max_depth=3)) == tree, skipped) == (True, [])


@pytest.mark.parametrize("options", [{"honest": 0.4}, {"pruning": "reduced_error", "validation": 0.3}])
def test_parts_keep_groups_whole(options):
    data = {**table(200), "who": np.random.default_rng(1).integers(0, 40, 200)}
    training_set = prepare(data, "y", groups="who")
    share = next(value for value in options.values() if isinstance(value, float))
    choose = split_rows if "honest" in options else lambda t, s: [take_rows(t, rows) for rows in hold_out(t, s)]
    kept, chosen = choose(training_set, share)
    assert not set(kept.groups) & set(chosen.groups)
    assert abs(len(chosen) - 200 * share) <= np.bincount(data["who"]).max()
    by_groups, by_rows = (tw.grow(data, "y", **options, **more) for more in ({"groups": "who"}, {"ignore": ["who"]}))
    assert not np.array_equal(by_groups.arrays.rows, by_rows.arrays.rows)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=40), st.floats(0.05, 0.95), st.integers(0, 3))
@limit_examples()
def test_groups_are_chosen_to_the_nearest_share(groups, share, seed):
    is_chosen = _choose_groups(np.array(groups), share, np.random.default_rng(seed))
    sizes = np.bincount(groups)
    for group in set(groups):
        assert len(set(is_chosen[np.array(groups) == group])) == 1
    assert abs(is_chosen.sum() - share * len(groups)) <= sizes.max() / 2 + 1e-9


def test_one_group_cannot_be_parted():
    with pytest.raises(DataError, match="leaves one part without rows"):
        tw.grow({**table(20), "who": ["p"] * 20}, "y", groups="who", honest=0.5)
