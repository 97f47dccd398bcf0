"""Validation curves equal growing one tree per value; selection of the best value."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treewise as tw
from treewise.errors import DataError, ParameterError
from treewise.evaluate.validation_curve.curve import OVER, Validation, curve_from_training_set
from treewise.evaluate.validation_curve.growers import NestedTreeSequence, ScoringRows, geometric_range
from treewise.evaluate.validation_curve.result import choose_best
from treewise.prune.choice_error import FoldLosses
from treewise.prune.losses import find_loss
from treewise.train.edit import collapse_nodes
from treewise.train.folds import Folds, assign_folds
from treewise.train.grow import grow_training_set, prepare
from treewise.train.resampling import LossStats, hold_out, take_rows

NESTED = ("max_leaf_nodes", "max_depth", "min_samples_split", "ccp_alpha")
VALUES = {
    "max_leaf_nodes": [1, 2, 3, 4, 5, 7, 10, 15],
    "max_depth": [0, 1, 2, 3, 4, 6, 9],
    "min_samples_split": [2, 3, 4, 6, 9, 14, 40],
    "pruning": [0, 0.001, 0.01, 0.03, 0.05, 0.1, 0.5],
    "ccp_alpha": [0, 0.001, 0.01, 0.03, 0.05, 0.1, 0.5],
    "min_samples_leaf": [1, 2, 3, 5, 9],
    "rows": [2, 4, 6],
}


@st.composite
def problems(draw):
    n = draw(st.integers(12, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    task = draw(st.sampled_from(["classification", "regression"]))
    data = {
        "x1": rng.integers(0, 5, n),
        "x2": np.where(rng.random(n) < 0.1, np.nan, rng.random(n)),
        "town": np.array(["Bari", "Rome", "Turin", "Pisa"])[rng.integers(0, 4, n)],
        "y": rng.choice(["a", "b", "c"], n) if task == "classification" else rng.normal(size=n).round(1) + 0.05,
        "w": rng.integers(1, 4, n) / 2,
    }
    options = {
        "categorical": draw(st.sampled_from(["multiway", "subset", "any"])),
        "empty_branch": draw(st.sampled_from(["parent", "root"])),
        "missing": draw(st.sampled_from(["learn", "branch"])),
        "sample_weight": draw(st.sampled_from([None, "w"])),
    }
    if task == "classification":
        options["criterion"] = draw(st.sampled_from(["entropy", "gini", "c45"]))
        options["cost"] = draw(st.sampled_from([None, rng.integers(0, 6, (3, 3))]))
    else:
        options["criterion"] = draw(st.sampled_from(["squared_error", "absolute_error"]))
    try:
        return prepare(data, "y", task=task, **options)
    except ParameterError:  # a class that did not come up has a cost
        return prepare(data, "y", task=task, **{**options, "cost": None})


def grown(training_set, over, value, seed=0):
    """The tree for one value, grown for it."""
    if over == "ccp_alpha":
        return training_set, grow_training_set(training_set).prune("cost_complexity", ccp_alpha=value)
    if over == "pruning":
        return training_set, grow_training_set(training_set).prune("cost_complexity", ccp_alpha=value, risk="error")
    if over == "rows":
        rows = np.random.default_rng(seed).permutation(len(training_set))[:value]
        training_set = take_rows(training_set, np.sort(rows))
    else:
        training_set = replace(training_set, settings=replace(training_set.settings, **{over: value}))
    return training_set, grow_training_set(training_set)


def loss_of(rows, tree):
    return float(ScoringRows.of(rows).score(tree, find_loss(tree, None)).mean[0])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(), st.sampled_from(OVER), st.integers(2, 4))
def test_a_curve_is_what_growing_for_each_value_gives(training_set, over, folds):
    values = VALUES[over]
    actual = curve_from_training_set(training_set, over, Validation(folds=folds, seed=1), values)
    assert sorted(point.value for point in actual.points) == values
    number = assign_folds(training_set, folds, 1)
    for point in actual.points:
        sums, own, leaves = LossStats.nothing(1), [], []
        for fold in range(folds):
            mine, tree = grown(take_rows(training_set, np.flatnonzero(number != fold)), over, point.value, seed=1)
            sums.add(
                ScoringRows.of(take_rows(training_set, np.flatnonzero(number == fold))).score(
                    tree, find_loss(tree, None)
                )
            )
            own.append(loss_of(mine, tree))
            leaves.append(tree.n_leaves)
        root = math.sqrt if actual.measure == "rmse" else float
        assert point.validation == pytest.approx(root(sums.mean[0]), rel=1e-9, abs=1e-9)
        error = sums.standard_error[0]
        if actual.measure == "rmse":
            error = error / (2 * point.validation) if point.validation else 0.0
        assert point.standard_error == pytest.approx(error, rel=1e-4, abs=1e-6)
        if over == "rows":
            assert point.training == pytest.approx(root(np.mean(own)), rel=1e-9, abs=1e-9)
            assert point.leaves == pytest.approx(np.mean(leaves))
        else:
            mine, tree = grown(training_set, over, point.value)
            assert point.training == pytest.approx(root(loss_of(mine, tree)), rel=1e-9, abs=1e-9)
            assert point.leaves == tree.n_leaves


def cut_to(sequence, value):
    """The tree in which the first so many nodes of a sequence are split."""
    tree = sequence.tree
    split = np.zeros(len(tree), bool)
    split[sequence.nodes[: sequence.splits_at(value)]] = True
    return collapse_nodes(tree, [node.id for node in tree if not (node.is_leaf or split[node.id])])


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(NESTED))
def test_the_trees_of_a_sequence_are_the_grown_ones(training_set, over):
    sequence = NestedTreeSequence(grow_training_set(training_set), over)
    for value in VALUES[over]:
        _, wanted = grown(training_set, over, value)
        actual = cut_to(sequence, value)
        assert [node.split for node in actual] == [node.split for node in wanted]
        assert sequence.leaves[sequence.splits_at(value)] == wanted.n_leaves
    sizes = [sequence.leaves[sequence.splits_at(value)] for value in sequence.values()]
    assert sizes == sorted(set(sizes))
    assert sizes[0] == 1


@pytest.mark.parametrize("over", NESTED[1:])
def test_a_limit_on_leaves_is_not_read_off_another_tree(over):
    """With max_leaf_nodes given, a depth or a number of rows changes which nodes come first."""
    training_set = prepare("penguins", max_leaf_nodes=6)
    actual = curve_from_training_set(training_set, over, Validation(validation=0.3), VALUES[over])
    train = take_rows(training_set, hold_out(training_set, 0.3)[0])
    for point in actual.points:
        assert point.leaves == grown(train, over, point.value)[1].n_leaves


def test_more_leaves_fit_better_and_ties_go_to_the_simplest():
    curve = tw.curve("penguins", over="max_leaf_nodes", folds=5)
    training = [point.training for point in curve.points]
    assert [point.value for point in curve.points] == list(range(1, 14))
    assert training == sorted(training, reverse=True)
    assert training[-1] == 0
    least = min(point.validation for point in curve.points)
    assert curve.best == next(p for p in curve.points if p.validation == least)
    within = [p for p in curve.points if p.validation <= curve.best.validation + curve.best.standard_error]
    assert curve.one_se == within[0]


def test_the_choice_by_hand():
    sums = LossStats(np.array([9.0, 4.0, 3.0, 3.0, 5.0]), np.array([9.0, 4.0, 3.0, 3.0, 5.0]), 30.0, 30.0)
    # least 3/30 at place 2; its standard error is √(0.1·0.9/30) = 0.0548: 0.1548 lets 4/30 in, not 5/30
    assert sums.standard_error[2] == pytest.approx(math.sqrt(0.09 / 30))
    judged = FoldLosses.of([sums], Folds((), 1, "given"), has_row_losses=True)
    assert choose_best(judged, LossStats.nothing(5)) == (2, 1)
    assert choose_best(None, sums) == (2, 2)


def test_validation_tables_and_shares():
    table = tw.datasets.penguins()
    rows = np.arange(344)
    train, test = table.take(rows[rows % 3 > 0]), table.take(rows[rows % 3 == 0])
    curve = tw.curve(train, over="max_depth", validation=test)
    assert "115 rows of penguins" in curve.evaluated_on
    for point in curve.points:
        tree = tw.grow(train, max_depth=int(point.value))
        assert point.validation == pytest.approx(tree.evaluate(test).error)
        assert point.training == pytest.approx(tree.evaluate(train).error)
    share = tw.curve(table, over="max_depth", validation=0.25)
    assert share.evaluated_on == "86 rows held out"


def test_a_share_is_of_every_class():
    training_set = prepare("penguins")
    train, test = hold_out(training_set, 0.25, 3)
    assert np.array_equal(np.sort(np.append(train, test)), np.arange(344))
    assert np.bincount(training_set.y[test]).tolist() == [38, 17, 31]


def test_the_truth_is_the_samplers():
    world = tw.datasets.sampler(noise=0.1)
    table = world.sample(300, seed=1)
    curve = tw.curve(table, over="max_leaf_nodes", truth=world, folds=0)
    for point in curve.points[::7]:
        tree = tw.grow(table, max_leaf_nodes=int(point.value))
        assert point.true == pytest.approx(world.true_error(tree))
        assert point.validation is None
    assert curve.best == curve.one_se == min(curve.points, key=lambda p: p.true)
    assert curve.best.true < curve.points[-1].true - 0.05  # overfitting (ID3 notes)
    assert tw.curve("noisy", folds=3).points[0].true == pytest.approx(0.4)


def test_more_data_helps():
    world = tw.datasets.sampler(noise=0.1)
    curve = tw.curve(world.sample(2000, seed=3), over="rows", truth=world, folds=4, min_samples_leaf=5)
    true = [point.true for point in curve.points]
    assert true[-1] < true[len(true) // 2] < true[0]
    gap = [point.true - point.training for point in curve.points]
    assert gap[-1] < 0.05 < gap[2]  # the training error approaches the true one


def test_rows_of_a_class_the_sample_does_not_have_are_errors():
    world = tw.datasets.Sampler(np.array([0.0, 0.25]))
    table = tw.read({"x1": [0, 1, 0, 1], "y": [0, 0, 0, 0]})
    curve = tw.curve(table, "y", truth=world, folds=0)
    assert curve.points[0].true == pytest.approx(0.125)
    with pytest.raises(ParameterError, match='truth knows no column "z"'):
        tw.curve({"z": [0, 1], "y": [0, 1]}, "y", truth=world, folds=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"over": "depth"}, 'over="depth": must be one of pruning, ccp_alpha, max_leaf_nodes'),
        ({"values": []}, "values is empty"),
        ({"over": "max_leaf_nodes", "values": [1.5]}, "max_leaf_nodes takes whole numbers"),
        ({"over": "max_leaf_nodes", "values": [0]}, "max_leaf_nodes=0: must be a whole number, 1 or more"),
        ({"over": "ccp_alpha", "values": [-1]}, "ccp_alpha is a number, 0 or more"),
        ({"over": "rows", "values": [400]}, "must be from 1 to 309 rows"),
        ({"validation": 0.2, "folds": 3}, "validation and folds cannot be combined"),
        ({"folds": 0}, "no validation is left"),
        ({"folds": 1}, "must be a whole number, 2 or more"),
        ({"validation": 1.5}, "must be a table, or a share between 0 and 1"),
        ({"max_deep": 3}, "no option max_deep"),
        ({"pruning": "cv"}, "pruning: a curve is computed from unpruned trees"),
        ({"over": "max_leaf_nodes", "max_leaf_nodes": 3}, "max_leaf_nodes is the parameter of the curve. Leave it out"),
    ],
)
def test_senseless_options_are_refused(options, message):
    with pytest.raises((ParameterError, DataError)) as error:
        tw.curve("penguins", **options)
    assert message in str(error.value)


def test_progress_is_told_and_ctrl_c_is_answered():
    text = []
    tw.curve("penguins", over="min_samples_leaf", values=[1, 5], folds=2, progress=text.append)
    assert text == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1.0])

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tw.curve("penguins", folds=2, progress=stop)


def test_long_sequences_are_thinned_and_drawn_within_the_page():
    rng = np.random.default_rng(0)
    data = {"x": rng.random(5000), "y": rng.choice(["a", "b"], 5000)}
    curve = tw.curve(data, "y", "max_leaf_nodes", validation=0.5)
    assert curve.points[-1].value > 1000 >= len(curve)
    assert max(map(len, str(curve).splitlines())) <= 100
    assert len(str(curve).splitlines()) <= 40


def test_one_leaf_makes_a_curve_of_one_point():
    curve = tw.curve({"x": [1, 1, 1, 1], "y": ["a", "b", "a", "b"]}, "y", folds=2)
    assert len(curve) == 1
    assert "best      1 leaf: error" in str(curve)


def test_plain_values():
    curve = tw.curve("penguins", over="ccp_alpha", folds=3)
    assert json.loads(json.dumps(curve.to_dict()))["points"][0]["leaves"] == 1
    lines = list(csv.DictReader(curve.to_csv().splitlines()))
    assert [float(line["ccp_alpha"]) for line in lines] == [point.value for point in curve.points]
    assert [float(line["validation"]) for line in lines] == [point.validation for point in curve.points]
    assert {line["true"] for line in lines} == {""}


def test_steps():
    assert geometric_range(1, 100, 5) == [1, 3, 10, 32, 100]


def test_points_that_are_not_listed_are_counted():
    curve = tw.curve("noisy", over="max_leaf_nodes", folds=0)
    listed = [line for line in str(curve).splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert f"… {len(curve) - len(listed) + 1} more: to_csv(), or -o curve.csv, writes all" in str(curve)
    assert "more:" not in str(tw.curve("penguins", over="max_leaf_nodes", values=[2, 3], folds=2))


def test_a_curve_whose_trees_do_not_grow_is_drawn():
    """The tree with the smallest least leaf may have fewer leaves: the one row is split off at once."""
    table = {"x": [0] * 13 + [1] + [0] * 18, "z": list(range(32)), "y": ["a"] * 13 + ["b"] + ["a"] * 18}
    curve = tw.curve(table, "y", "min_samples_leaf", validation=table, values=[17, 8, 4, 2, 1])
    leaves = [point.leaves for point in curve.points]
    assert leaves != sorted(leaves)
    axis = next(line for line in str(curve).splitlines() if line.endswith(" leaves"))
    assert axis.split()[-2] == f"{max(leaves):.0f}"
