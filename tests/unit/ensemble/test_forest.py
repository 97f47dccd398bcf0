"""Forests and extra-trees: defaults, sampled columns, and accuracy compared with a single tree."""

import numpy as np
import pytest

import treewise as tw
from treewise import ParameterError
from treewise.ensemble.forest import prepare_forest
from treewise.ensemble.grow import grow_ensemble
from treewise.ensemble.params import BaggingParams, grow_record, recorded_params


def settings_of(ensemble):
    return ensemble.history[0]["settings"]


def test_how_many_columns_a_node_draws_by_default():
    assert settings_of(tw.forest("penguins", n_estimators=1))["max_features"] == "sqrt"
    numbers = tw.forest("penguins", "body_mass_g", n_estimators=1, drop_missing_target=True)
    assert "max_features" not in settings_of(numbers)
    assert settings_of(tw.forest("penguins", n_estimators=1, max_features=0.5))["max_features"] == 0.5
    assert settings_of(tw.extra_trees("penguins", n_estimators=1)) == {
        "criterion": "entropy",
        "max_features": "sqrt",
        "splitter": "random",
        "ties": "random",
    }


@pytest.mark.parametrize("grow", [tw.forest, tw.extra_trees, tw.bagging])
def test_two_columns_of_the_same_values_share_their_importance(grow):
    """With ties to the first column, the first of the two gets 0.1 to 0.7 more; at random, neither is preferred."""

    def advantage(seed, **options):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(200, 3))
        signal = x[:, 0]
        data = {"first": signal, "a": x[:, 1], "b": x[:, 2], "copy": signal}
        tree = grow(data | {"y": signal + rng.normal(size=200) > 0}, "y", 20, random_state=seed, **options)
        share = tree.importances()
        return share["first"].importance - share["copy"].importance

    by_default, to_the_first = ([advantage(seed, **o) for seed in range(12)] for o in ({}, {"ties": "first"}))
    assert np.mean(to_the_first) > 0.05
    assert abs(np.mean(by_default)) < 0.05
    assert settings_of(grow("penguins", n_estimators=1))["ties"] == "random"
    assert "ties" not in settings_of(grow("penguins", n_estimators=1, ties="first"))


def test_random_ties_choose_among_columns_and_take_the_first_cut():
    """x1 and x2 have three equally good cuts each: either column wins, with its first cut."""
    data = {"x1": [1, 2, 3, 4], "x2": [1, 2, 3, 4], "y": ["a", "b", "a", "b"]}
    roots = {str(tw.grow(data, "y", max_depth=1, ties="random", random_state=s)[0].split) for s in range(20)}
    first = str(tw.grow(data, "y", max_depth=1)[0].split)
    assert roots == {first, first.replace("x1", "x2")}


def test_what_the_history_says():
    forest = tw.forest("penguins", n_estimators=3, max_samples=0.5, random_state=7)
    params, (info, _) = recorded_params(forest, BaggingParams, "test"), grow_record(forest, "test")
    assert params == BaggingParams("forest", 3, max_samples=0.5)
    assert (info.origin, info.row_counts, info.settings["random_state"]) == ("grown", (344,), 7)
    assert forest.method == "forest"
    assert tw.extra_trees("penguins", n_estimators=3).method == "extra_trees"


def test_numpys_numbers_are_taken_and_kept_as_pythons(tmp_path):
    ours = tw.forest("penguins", n_estimators=3, max_samples=0.5, max_features=2, random_state=1)
    given = {"n_estimators": np.int64(3), "max_samples": np.float32(0.5), "max_features": np.int8(2)}
    theirs = tw.forest("penguins", **given, random_state=np.uint8(1), bootstrap=np.True_)
    assert theirs == ours
    assert theirs.history == ours.history
    theirs.save(tmp_path / "forest.json")
    assert tw.load(tmp_path / "forest.json").extend("penguins", np.int32(2)).first(3) == ours


def test_extra_trees_see_all_rows_and_forests_a_bag_of_them():
    assert [tree[0].rows for tree in tw.extra_trees("penguins", n_estimators=2)] == [344, 344]
    for tree in tw.forest("penguins", n_estimators=2):
        assert tree[0].rows < 260
        assert tree[0].weight == 344


def test_growing_more_of_each():
    for grow in (tw.forest, tw.extra_trees):
        few, many = (grow("penguins", n_estimators=n, class_weight="balanced") for n in (3, 5))
        assert few.extend("penguins", 2) == many


def test_probabilities_are_the_mean_of_the_trees():
    rows = tw.read("penguins")
    forest = tw.forest(rows, n_estimators=9)
    total = np.zeros((344, 3))
    for tree in forest:
        total += tree.predict_proba(rows)
    np.testing.assert_array_equal(forest.predict_proba(rows), total / 9)


def test_every_option_goes_through():
    forest = tw.forest(
        "penguins",
        "species",
        2,
        criterion="gini",
        max_depth=2,
        ignore=["island"],
        categorical="multiway",
        missing="branch",
        positive="Gentoo",
        sample_weight=np.linspace(0.5, 1.5, 344),
    )
    assert forest.criterion == "gini"
    assert forest.classes[-1] == "Gentoo"
    assert "island" not in forest.columns
    assert max(node.depth for tree in forest for node in tree) == 2


@pytest.mark.parametrize("grow", [tw.forest, tw.extra_trees])
def test_many_trees_err_less_than_one(grow):
    """On a noisy truth that one full tree learns by heart: the true error is known, not estimated."""
    world = tw.datasets.sampler(noise=0.15)
    table = world.sample(1500, seed=3)
    forest = grow(table, n_estimators=40, min_samples_leaf=3, max_features=2)
    assert world.true_error(forest) < world.true_error(tw.grow(table)) - 0.02


@pytest.mark.parametrize("grow", [tw.forest, tw.extra_trees])
def test_as_good_as_scikit_learns_on_rows_held_out(grow):
    """The difference is within three standard errors of a count."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1200, 6)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=1200) > 0).astype(int)
    theirs_of = {tw.forest: ensemble.RandomForestClassifier, tw.extra_trees: ensemble.ExtraTreesClassifier}
    ours = grow(x[:600], y[:600], n_estimators=60, max_features=2)
    theirs = theirs_of[grow](n_estimators=60, max_features=2, criterion="entropy", random_state=0)
    right_ours = np.mean(ours.predict(x[600:]) == y[600:])
    right_theirs = theirs.fit(x[:600], y[:600]).score(x[600:], y[600:])
    assert right_ours == pytest.approx(right_theirs, abs=3 * np.sqrt(0.2 * 0.8 / 600))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_features": "half"}, r'^max_features="half": must be "sqrt" or "log2", or a whole number of columns'),
        ({"max_features": 0}, r'^max_features=0: must be "sqrt" or "log2"'),
        ({"max_samples": 0}, r"^max_samples=0: must be a whole number of rows, 1 or more"),
        ({"n_estimators": 0}, r"^n_estimators=0: must be a whole number"),
        ({"pruning": "mdl"}, r"^pruning: the trees of an ensemble are not pruned\."),
        ({"cost": {"Adelie": {"Gentoo": 5}}}, r"^cost: ensembles do not support costs"),
        ({"random_state": -1}, r"^random_state=-1: must be a whole number"),
        ({"splitter": "worst"}, r'^splitter="worst": must be one of best, random\.'),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        tw.forest("penguins", **options)


def test_extra_trees_have_no_best_cuts():
    with pytest.raises(ParameterError, match=r'^splitter="best": extra-trees draw splits at random; use a forest'):
        tw.extra_trees("penguins", splitter="best")


def test_a_forest_of_a_table_without_columns_is_its_roots():
    forest = tw.forest({"y": ["a", "b", "b"]}, "y", n_estimators=3)
    assert [len(tree) for tree in forest] == [1, 1, 1]
    assert forest.decreases.shape == (3, 0)
    assert len(tw.bagging({"y": ["a", "b", "b"]}, "y", n_estimators=2, bootstrap_features=True)[0]) == 1


def test_a_prepared_problem_gives_the_same_forest():
    training_set = prepare_forest("penguins", None, {"max_features": None, "ties": "random", "random_state": 0})
    assert grow_ensemble(training_set, BaggingParams("forest", 4)) == tw.forest("penguins", n_estimators=4)
