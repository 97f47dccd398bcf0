"""Each member is the tree of its own bootstrap sample, for any number of threads and calls."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import treewise as tw
from tests.support.ensembles import assert_same_arrays
from tests.support.random_tables import limit_examples, random_tables
from treewise import DataError, ParameterError
from treewise.ensemble.bagging import bagging
from treewise.ensemble.bootstrap import sample_training_set
from treewise.ensemble.grow import extend, extend_training_set, fingerprint, grow_ensemble
from treewise.ensemble.params import AdaBoostParams, BaggingParams, recorded_params
from treewise.formats.model_file.model_file import dumps
from treewise.train.grow import grow_training_set, prepare
from treewise.train.reference_grower import grow_reference, reference_facts, tree_facts
from treewise.tree.arrays import LEAF

ROWS = ({"bootstrap": st.booleans()}, {"max_samples": st.floats(0.2, 1.0)})
HOWS = st.fixed_dictionaries(
    ROWS[0], optional={**ROWS[1], "max_features": st.floats(0.3, 1.0), "bootstrap_features": st.booleans()}
)
CUTS = st.fixed_dictionaries({}, optional={"splitter": st.just("random")})
CHANCE = st.fixed_dictionaries(  # what forests and extra-trees leave to chance at a node
    {}, optional={"max_features": st.sampled_from(["sqrt", "log2", 1, 2, 0.7]), "splitter": st.just("random")}
)
WAYS = st.tuples(HOWS, CUTS) | st.tuples(
    st.fixed_dictionaries(ROWS[0], optional=ROWS[1]), CHANCE
)  # columns are drawn for a tree, or a node


def alone(samples, tree):
    """Grow one member by itself, on its bootstrap sample; its columns numbered as in the whole table."""
    training_set = sample_training_set(samples, tree)
    grown = grow_training_set(training_set, keep_quartiles=False)
    names = [e.name for e in samples.training_set.encodings]
    places = np.array([names.index(e.name) for e in training_set.encodings], np.int32)
    column = np.where(grown.arrays.kind == LEAF, -1, places[grown.arrays.column.clip(0)]) if len(places) else -1
    return replace(grown.arrays, column=np.broadcast_to(column, len(grown)).astype(np.int32)), training_set


def taken_away(arrays, n):
    gone = np.zeros(n)
    inner = arrays.kind != LEAF
    np.add.at(gone, arrays.column[inner], arrays.gain[inner] * (arrays.weight[inner] / arrays.weight[0]))
    return gone


@limit_examples()
@given(random_tables(), WAYS, st.integers(0, 2**64 - 1), st.sampled_from(["first", "random"]))
def test_a_member_is_the_tree_of_its_sample(table, way, seed, ties):
    how, chance = way
    training_set = prepare(table.data, "y", **table.options, **chance, random_state=seed, ties=ties)
    params = BaggingParams("bagging", 4, **how)
    samples = params.samples(training_set)
    ensemble = grow_ensemble(training_set, params, n_jobs=2)
    for t, tree in enumerate(ensemble):
        arrays, _ = alone(samples, t)
        assert_same_arrays(arrays, tree.arrays)
        np.testing.assert_allclose(
            ensemble.decreases[t], taken_away(arrays, len(training_set.columns)), rtol=1e-12, atol=0
        )


@limit_examples(0.6)
@given(random_tables(), WAYS)
def test_the_readable_search_grows_the_same_members(table, way):
    how, chance = way
    training_set = prepare(table.data, "y", **table.options, **chance)
    params = BaggingParams("bagging", 2, **how)
    for t, tree in enumerate(grow_ensemble(training_set, params)):
        own = sample_training_set(params.samples(training_set), t)
        assert leaves_of(reference_facts(own, grow_reference(own))) == leaves_of(tree_facts(tree))
        assert [f[:3] for f in reference_facts(own, grow_reference(own))] == [f[:3] for f in tree_facts(tree)]


def leaves_of(found):
    return [f for f in found if f[0] is None]


@limit_examples(0.6)
@given(random_tables(), WAYS, st.integers(1, 4), st.integers(1, 3))
def test_k_trees_are_the_first_k_of_more(table, way, k, more):
    how, chance = way
    training_set = prepare(table.data, "y", **table.options, **chance)
    few, many = (grow_ensemble(training_set, BaggingParams("bagging", n, **how)) for n in (k, k + more))
    assert many.first(k) == few
    further = extend_training_set(few, training_set, more)
    assert further == many
    assert further.history == many.history


@pytest.mark.parametrize(
    ("grow", "how"),
    [
        (bagging, {}),
        (bagging, {"bootstrap": False, "max_samples": 0.6}),
        (bagging, {"max_features": 0.5, "max_leaf_nodes": 9}),
        (tw.forest, {"max_features": 2}),
        (tw.extra_trees, {"max_features": 0.5}),
    ],
)
@pytest.mark.parametrize("target", ["species", "body_mass_g"])
def test_the_same_trees_for_any_number_of_threads(grow, how, target):
    how = how | {"drop_missing_target": True}
    one, two, five = (grow("penguins", target, n_estimators=7, n_jobs=n, **how) for n in (1, 2, 5))
    assert one == two == five
    alone = [grow("penguins", target, n_estimators=1, n_jobs=n, **how) for n in (1, 3)]
    assert alone[0] == alone[1] == one.first(1)


@limit_examples(0.6)
@given(random_tables(), CHANCE, st.integers(0, 3), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(table, chance, seed, random):
    order = list(range(len(table)))
    random.shuffle(order)
    shuffled = table.rows(order)
    one, other = (tw.forest(t.data, "y", 3, random_state=seed, **t.options, **chance) for t in (table, shuffled))
    assume(one.encodings == other.encodings and one.classes == other.classes)
    assert one == other


@pytest.mark.parametrize("target", ["species", "body_mass_g"])
def test_without_chance_every_tree_is_the_one_that_grow_grows(target):
    limits = {"min_samples_leaf": 0.02, "min_weight_fraction_leaf": 0.01, "drop_missing_target": True}
    tree = tw.grow("penguins", target, **limits)
    for member in bagging("penguins", target, 3, bootstrap=False, **limits):
        assert_same_arrays(tree.arrays, member.arrays)


@pytest.mark.parametrize(
    "weights",
    [
        {"class_weight": "balanced"},
        {"class_weight": {"Chinstrap": 3.5}},
        {"priors": {"Adelie": 0.5, "Chinstrap": 0.25, "Gentoo": 0.25}},
        {"sample_weight": np.linspace(0.1, 2, 344), "class_weight": {"Gentoo": 0}},
        {"sample_weight": np.arange(344) % 4, "priors": [0.2, 0.3, 0.5]},
    ],
)
def test_weights_of_rows_and_classes_go_into_every_sample(weights):
    training_set = prepare("penguins", **weights, max_features="sqrt")
    params = BaggingParams("forest", 3)
    ensemble = grow_ensemble(training_set, params)
    for t in range(3):
        assert_same_arrays(alone(params.samples(training_set), t)[0], ensemble[t].arrays)
    again = {name: weights[name] for name in weights if name == "sample_weight"}
    assert extend(ensemble, "penguins", 1, **again).first(3) == ensemble


def test_fractional_limits_are_relative_to_the_sample():
    training_set = prepare("penguins", min_samples_leaf=0.1, min_samples_split=0.3, min_weight_fraction_leaf=0.2)
    params = BaggingParams("bagging", 5, max_samples=0.5)
    for t, tree in enumerate(grow_ensemble(training_set, params)):
        arrays, own = alone(params.samples(training_set), t)
        assert_same_arrays(arrays, tree.arrays)
        leaves = arrays.kind == LEAF
        assert arrays.rows[leaves].min() >= 0.1 * len(own)
        assert arrays.weight[leaves].min() >= 0.2 * 172


def test_rows_so_heavy_that_a_bag_outweighs_the_table_are_weighed_more_coarsely():
    data = {"x": np.arange(8.0), "y": ["a", "b"] * 4, "w": [2.0**51.5, *[0.75] * 7]}
    training_set = prepare(data, "y", sample_weight="w", ignore=["w"])
    params = BaggingParams("bagging", 60)
    samples = params.samples(training_set)
    heavy = [t for t in range(60) if sample_training_set(samples, t).weight_scale < training_set.weight_scale]
    assert heavy
    ensemble = grow_ensemble(training_set, params)
    for t in heavy:
        one, other = alone(samples, t)[0], ensemble[t].arrays
        assert all(
            np.array_equal(getattr(one, n), getattr(other, n)) for n in ("kind", "cut", "weight", "count_weight")
        )


def test_progress_goes_from_nothing_to_all():
    text = []
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 5))
    data = {f"x{i}": x[:, i] for i in range(5)} | {"y": x[:, 0] + rng.normal(size=3000) > 0}
    bagging(data, "y", n_estimators=300, progress=text.append, n_jobs=2)  # told every 50 ms or so
    assert len(text) > 1
    assert all(0 <= share <= 1 for share in text)
    assert text[-1] > text[0]


def test_what_progress_raises_stops_everything_and_leaves_no_thread():
    import threading

    def stop(share):
        raise KeyboardInterrupt

    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=20_000), "z": rng.normal(size=20_000), "y": rng.integers(0, 2, 20_000)}
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        bagging(data, "y", n_estimators=200, progress=stop, n_jobs=3)
    assert threading.active_count() == before


# -- more trees -------------------------------------------------------------------------------------------------------


def test_growing_more_is_having_asked_for_all_at_once():
    five = bagging("penguins", n_estimators=5, class_weight="balanced")
    eight = bagging("penguins", n_estimators=8, class_weight="balanced")
    assert extend(five, "penguins", 3) == eight
    assert extend(eight.first(2), "penguins", 6) == eight
    assert extend(five, "penguins", np.int64(3)).history == eight.history


def test_growing_more_needs_the_same_table():
    table = {"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "b", "a", "b"]}
    ensemble = bagging(table, "y", n_estimators=2)
    for other in ({"x": [1.0, 2.0, 3.0, 5.0]}, {"y": ["a", "b", "b", "b"]}):
        with pytest.raises(
            DataError, match=r"is not the table these trees were grown on\. Give that one, with the same"
        ):
            extend(ensemble, table | other, 1)
    with pytest.raises(DataError, match="is not the table these trees were grown on"):
        extend(ensemble, {name: cells[:3] for name, cells in table.items()}, 1)
    with pytest.raises(ParameterError, match=r"^n=0: must be a whole number"):
        extend(ensemble, table, 0)


def test_growing_more_asks_for_the_weights_again():
    table = {"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "b", "a", "b"]}
    weight = [0.5, 1.5, 2.5, 0.25]
    ensemble = bagging(table, "y", n_estimators=2, sample_weight=weight)
    with pytest.raises(DataError, match="with the same rows and weights"):
        extend(ensemble, table, 1)
    assert extend(ensemble, table, 1, sample_weight=weight) == bagging(table, "y", 3, sample_weight=weight)


def test_tables_are_told_apart_by_what_stands_in_them_only():
    floats = {"x": np.array([1.0, np.nan, 0.0]), "y": ["a", "b", "a"]}
    narrow = {"x": np.array([1.0, -np.nan, -0.0], np.float32), "y": ["a", "b", "a"]}
    assert fingerprint(prepare(floats, "y")) == fingerprint(prepare(narrow, "y"))
    assert fingerprint(prepare(floats, "y")) != fingerprint(prepare(floats, "y", sample_weight=[1, 2, 1]))
    renamed = {"z": floats["x"], "y": floats["y"]}
    assert fingerprint(prepare(floats, "y")) != fingerprint(prepare(renamed, "y"))


@pytest.mark.parametrize(
    "other",
    [
        {"town": ["Oslo", "Paris", "Oslo", "Paris"]},
        {"y": ["c", "d", "d", "c"]},
        {"n": [False, True, True, False]},
        {"day": np.array([1, 2, 3, 4], "M8[s]")},
    ],
    ids=["levels", "classes", "kind", "unit"],
)
def test_tables_that_differ_in_what_their_numbers_stand_for_are_told_apart(other):
    table = {
        "town": ["Bari", "Rome", "Bari", "Rome"],
        "n": ["f", "t", "t", "f"],
        "day": np.array([1, 2, 3, 4], "M8[D]"),
        "y": ["a", "b", "b", "a"],
    }
    one, two = prepare(table, "y"), prepare(table | other, "y")
    assert all(np.array_equal(a, b) for a, b in zip(one.columns, two.columns, strict=True))
    assert np.array_equal(one.y, two.y)
    assert fingerprint(one) != fingerprint(two)


def test_tables_that_differ_in_what_their_weights_stand_for_are_told_apart():
    table = {"x": [1.0, 2.0, 3.0], "y": ["a", "b", "a"]}
    training_set = prepare(table, "y")
    counted = prepare(table, "y", sample_weight=[1, 2, 1])
    actual = [
        fingerprint(p)
        for p in (training_set, replace(training_set, weight_scale=training_set.weight_scale + 1), counted)
    ]
    actual.append(fingerprint(replace(counted, repeats=None)))
    assert counted.repeats is not None
    assert len(set(actual)) == 4


def test_columns_do_not_run_together():
    training_set = prepare({"x": [1, 2, 3], "z": [4, 5, 6], "y": ["a", "b", "a"]}, "y")
    x, z = training_set.columns
    assert fingerprint(training_set) != fingerprint(replace(training_set, columns=(z, x)))
    assert fingerprint(training_set) != fingerprint(replace(training_set, columns=(x, z[[1, 0, 2]])))


def test_an_ensemble_that_does_not_say_how_it_was_grown():
    lost, boosted = bagging("xor", n_estimators=1).with_(history=()), tw.adaboost("xor", n_estimators=1)
    for call, ask in {
        "extend": lambda: lost.extend("xor", 1),
        "oob_predict": lambda: lost.oob_predict("xor"),
        "worked_round": lambda: boosted.with_(history=()).worked_round("xor", 1),
    }.items():
        with pytest.raises(ParameterError, match=f"^{call}: the history of the ensemble does not say how it was grown"):
            ask()


def test_only_sampled_trees_have_rows_out_of_bag():
    boosted = tw.adaboost("penguins", n_estimators=5)
    with pytest.raises(ParameterError, match=r"^oob_predict is for forest, extra_trees, bagging; this ensemble is"):
        boosted.oob_predict("penguins")
    with pytest.raises(ParameterError, match=r"^x is for adaboost; this ensemble is forest\."):
        recorded_params(tw.forest("xor", n_estimators=1), AdaBoostParams, "x")


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, r"^n_estimators=0: must be a whole number, from 1 to 1000000\.$"),
        ({"n_estimators": 2.5}, r"^n_estimators=2.5: must be a whole number"),
        ({"bootstrap": "yes"}, r'^bootstrap="yes": must be True or False\.$'),
        ({"oob_score": 1}, r"^oob_score=1: must be True or False\.$"),
        ({"pruning": "cv"}, r"^pruning: the trees of an ensemble are not pruned\. Leave it out"),
        ({"ccp_alpha": 0.1}, r"^ccp_alpha: the trees of an ensemble are not pruned\."),
        ({"preset": "c45"}, r'^preset="c45": it prunes, and .* are not pruned\. Add pruning="none"\.$'),
        (
            {"cost": {"Adelie": {"Gentoo": 5}}},
            r"^cost: ensembles do not support costs\.",
        ),
        ({"bootstrap": False, "oob_score": True}, r"^oob_score=True: without bootstrap every tree sees every row\."),
        ({"max_dept": 3}, r'^no option max_dept\. Did you mean "max_depth"\?'),
        (
            {"n_estimator": 3},
            r'^no option n_estimator\. Did you mean "n_estimators"\? Options: help\(treewise\.bagging\)',
        ),
        ({"criterion": "ginny"}, r"gini"),
        ({"n_jobs": 0}, r"^n_jobs=0: must be a whole number of threads"),
        ({"class_weight": {"Emu": 2}}, r"^class_weight names"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        bagging("penguins", **options)


def test_a_preset_that_prunes_may_grow_many_trees_unpruned():
    assert len(bagging("penguins", n_estimators=2, preset="c45", pruning="none")) == 2


# -- too good to be true --------------------------------------------------------------------------------------------

GIVEN_AWAY = {"leak": ["yes", "no"] * 20, "x": list(range(40)), "z": [i % 7 for i in range(40)], "y": [1, 0] * 20}
TOLD = 'leak: it alone predicts y perfectly. If it is not known before y is, leave it out: ignore=["leak"]'


@pytest.mark.parametrize(
    ("grow", "task"),
    [
        *((grow, {}) for grow in (tw.forest, tw.extra_trees, tw.bagging, tw.adaboost)),
        *((grow, {"task": "regression"}) for grow in (tw.forest, tw.extra_trees, tw.bagging)),
    ],
)
def test_a_column_that_gives_the_target_away_is_noted(grow, task):
    assert grow(GIVEN_AWAY, "y", n_estimators=10, **task).notes.count(TOLD) == 1
    assert grow(GIVEN_AWAY, "y", n_estimators=10, max_depth=1, **task).notes.count(TOLD) == 1
    honest = {**GIVEN_AWAY, "leak": ["yes", "no"] * 19 + ["no", "yes"]}
    assert not [note for note in grow(honest, "y", n_estimators=10, **task).notes if "alone predicts" in note]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_leaves_that_hold_one_number_are_told_from_others(criterion):
    how = {"n_estimators": 3, "task": "regression", "criterion": criterion, "max_depth": 1}
    assert tw.bagging(GIVEN_AWAY, "y", **how).members.has_perfect_stump()
    assert not tw.bagging(GIVEN_AWAY, "y", ignore=["leak"], **how).members.has_perfect_stump()


def test_the_note_comes_once_with_further_trees():
    one = tw.forest(GIVEN_AWAY, "y", n_estimators=1, max_features=1, max_depth=1, random_state=2)
    assert TOLD not in one.notes
    more = extend(one, GIVEN_AWAY, 20)
    assert more.notes.count(TOLD) == extend(more, GIVEN_AWAY, 1).notes.count(TOLD) == 1


def test_a_target_given_as_an_array_is_given_again():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(80, 3))
    y = (x[:, 0] > 0).astype(int)
    for table in (x, {"p": x[:, 0], "q": x[:, 1], "r": x[:, 2]}):
        few, more = (tw.forest(table, y, n_estimators=n, oob_score=True) for n in (3, 5))
        assert few.extend(table, 2, target=y) == more
        assert few.oob_predict(table, target=y).tolist() == few.oob_predict({**few_named(x, few), "y": y}).tolist()
        with pytest.raises(
            tw.ColumnError, match=r'^the table has no column "y", the target of these trees\. Give it: ta'
        ):
            few.extend(table, 2)
        with pytest.raises(tw.DataError, match="is not the table these trees were grown on"):
            few.extend(table, 2, target=1 - y)


def few_named(x, ensemble):
    """Return an array as the columns an ensemble knows."""
    return dict(zip(ensemble.columns, x.T, strict=True))


@pytest.mark.parametrize("grow", [tw.forest, tw.extra_trees, tw.bagging, tw.adaboost])
def test_an_option_that_is_not_there_is_looked_for_where_it_was_given(grow):
    with pytest.raises(tw.ParameterError, match=rf"^no option foo\. Options: help\(treewise\.{grow.__name__}\)"):
        grow("penguins", n_estimators=2, foo=1)
    meant = "" if grow is tw.adaboost else r' Did you mean "oob_score"\?'
    with pytest.raises(tw.ParameterError, match=rf"^no option oob_scor\.{meant} Options"):
        grow("penguins", n_estimators=2, oob_scor=True)


def test_an_array_of_other_columns_is_refused_by_its_width():
    x = np.random.default_rng(5).normal(size=(40, 3))
    named = {"p": x[:, 0], "q": x[:, 1], "r": x[:, 2]}
    for model, who in (
        (tw.forest(named, x[:, 0] > 0, n_estimators=2), "trees were"),
        (tw.grow(named, x[:, 0] > 0), "tree was"),
    ):
        assert model.predict(x).tolist() == model.predict(named).tolist()
        for wrong, n in ((x[:, :2], "2 columns"), (x[:, :1], "1 column"), (np.hstack([x, x]), "6 columns")):
            with pytest.raises(tw.DataError, match=f"^the array has {n}; the {who} given 3 columns: p, q, r"):
                model.predict(wrong)


@pytest.mark.parametrize("method", ["forest", "bagging", "extra_trees", "adaboost"])
def test_rows_in_another_order_give_the_same_ensemble_and_extend_it(method):
    rng = np.random.default_rng(5)
    table = {"x": rng.integers(0, 9, 60).tolist(), "z": rng.normal(size=60).round(1).tolist()}
    table["y"] = ["ab"[int(x + noise > 5)] for x, noise in zip(table["x"], rng.normal(size=60), strict=True)]
    table["w"] = rng.integers(1, 4, 60).tolist()
    order = rng.permutation(60)
    turned = {name: [cells[i] for i in order] for name, cells in table.items()}
    grow = getattr(tw, method)
    options = {"n_estimators": 5, "sample_weight": "w", "random_state": 3}
    grown, other = (grow(each, "y", **options) for each in (table, turned))
    assert dumps(grown) == dumps(other)
    assert dumps(grown.extend(turned, 2)) == dumps(grow(table, "y", **options | {"n_estimators": 7}))
    turned["z"][0] += 0.1
    with pytest.raises(DataError, match="is not the table these trees were grown on"):
        grown.extend(turned, 2)
