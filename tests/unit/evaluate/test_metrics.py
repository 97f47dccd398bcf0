"""Metrics of an evaluation, against scikit-learn, SciPy and plain definitions; thresholds and pairs of models."""

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

import treewise as tw
from treewise.errors import ParameterError
from treewise.evaluate.metrics import rmse_interval
from treewise.evaluate.ranking import Ranking

LABELS = np.array(["no", "yes"])


def draw(n, seed, classes=2, weights=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(1)
    y = np.clip((x[:, 0] + rng.normal(size=n) * 0.8).round().astype(int) + 1, 0, classes - 1)
    table = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": np.array(["A", "B", "C", "D"])[y]}
    return table | ({"w": rng.integers(1, 5, n)} if weights else {})


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_metrics_are_scikit_learns(classes, ensemble, weights):
    train, test = draw(300, 1, classes), draw(400, 2, classes, weights)
    model = tw.forest(train, "y", n_estimators=7) if ensemble else tw.grow(train, "y", max_leaf_nodes=9)
    w = test.get("w")
    evaluation = model.evaluate(test, sample_weight="w" if weights else None)
    predicted, probability = model.predict(test), model.predict_proba(test)
    scores, truth = evaluation.scores, test["y"]
    assert scores["balanced_accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(truth, predicted, sample_weight=w)
    )
    expected = metrics.precision_recall_fscore_support(
        truth, predicted, labels=model.classes, sample_weight=w, zero_division=0
    )
    for got, *want in zip(evaluation.by_class, *expected, strict=True):
        assert [m.value or 0.0 for m in (got.precision, got.recall, got.f1)] == pytest.approx(want[:3])
        assert got.support == pytest.approx(want[3])
    if classes == 2:
        positive = truth == model.classes[1]
        assert scores["auc"] == pytest.approx(metrics.roc_auc_score(positive, probability[:, 1], sample_weight=w))
        assert scores["brier"] == pytest.approx(metrics.brier_score_loss(positive, probability[:, 1], sample_weight=w))
        assert [scores[name] for name in ("precision", "recall", "f1")] == pytest.approx([e[1] for e in expected[:3]])
    else:
        each = [
            metrics.roc_auc_score(truth == label, probability[:, k], sample_weight=w)
            for k, label in enumerate(model.classes)
        ]
        assert [got.auc.value for got in evaluation.by_class] == pytest.approx(each)
        assert scores["auc"] == pytest.approx(np.mean(each))
        outcome = truth[:, None] == np.array(model.classes)
        assert scores["brier"] == pytest.approx(np.average(((probability - outcome) ** 2).sum(axis=1), weights=w))
    for metric in [*evaluation.metrics, *(m for c in evaluation.by_class for m in c.metrics)]:
        if metric.interval is not None:
            low, high = metric.interval
            assert low <= metric.value <= high
            assert 0 <= low <= high <= 1 or metric.name == "brier"


def test_ks_is_scipys_and_lift_counts_rows():
    rng = np.random.default_rng(3)
    probability, positive = rng.random(500).round(2), rng.random(500) < 0.3
    ranking = Ranking.of("yes", probability, positive)
    assert ranking.ks == pytest.approx(stats.ks_2samp(probability[positive], probability[~positive]).statistic)
    distinct = rng.permutation(1000) / 1000
    ranking = Ranking.of("yes", distinct, np.tile(positive, 2))
    top = np.argsort(-distinct)[:100]
    assert ranking.lift(0.1) == pytest.approx(np.tile(positive, 2)[top].mean() / positive.mean())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=4, max_size=30))
def test_delongs_variance_is_that_of_all_pairs(rows):
    score, positive = np.array([s for s, _ in rows]) / 5, np.array([p for _, p in rows])
    assume(1 < positive.sum() < len(rows) - 1)
    ranking = Ranking.of(True, score, positive)
    wins = (score[positive][:, None] > score[~positive]) + (score[positive][:, None] == score[~positive]) / 2
    auc = wins.mean()
    assert ranking.auc == pytest.approx(auc)
    assume(0 < auc < 1)
    variance = wins.mean(axis=1).var(ddof=1) / positive.sum() + wins.mean(axis=0).var(ddof=1) / (~positive).sum()
    low, high = ranking.auc_interval
    widths = [abs(math.log(end / (1 - end)) - math.log(auc / (1 - auc))) for end in (low, high) if 0 < end < 1]
    half = stats.norm.ppf(0.975) * math.sqrt(variance) / (auc * (1 - auc))
    if half < 30:
        assert widths == pytest.approx([half] * len(widths), rel=1e-6, abs=1e-9)


def test_errors_of_numbers_have_intervals():
    rng = np.random.default_rng(4)
    errors = rng.normal(size=400) * 3
    low, high = rmse_interval(errors, None)
    assert low < 3 < high
    assert rmse_interval(np.zeros(5), None) is None
    tree = tw.grow({"x": [1, 2, 3, 4], "y": [1.0, 1.0, 5.0, 5.5]}, "y", task="regression", max_depth=1)
    evaluation = tree.evaluate({"x": [1, 2, 3, 4], "y": [1.5, 1.0, 5.0, 6.0]})
    assert evaluation.r2_interval[0] < evaluation.r2 <= evaluation.r2_interval[1] <= 1
    assert evaluation.mae_interval[0] < evaluation.mae < evaluation.mae_interval[1]
    assert set(evaluation.to_dict()) >= {"rmse_interval", "mae_interval", "r2_interval"}
    assert tree.evaluate({"x": [1, 2], "y": [2.0, 2.0]}).r2_interval is None


def test_classes_that_do_not_occur():
    tree = tw.grow(draw(300, 1, 3), "y", max_leaf_nodes=6)
    one_class = {name: column[:1] for name, column in draw(300, 1, 3).items()}
    evaluation = tree.evaluate(one_class)
    assert evaluation.scores["auc"] is None
    assert json.loads(json.dumps(evaluation.to_dict()))["auc"] is None
    assert "–" in str(evaluation)


# -- thresholds ------------------------------------------------------------------------------------------


def outcomes(tree, test):
    """All (recall, precision, false positive rate, rate) that a threshold can give."""
    probability, positive = tree.predict_proba(test)[:, 1], test["y"] == tree.classes[1]
    for t in [*np.unique(probability), 2.0]:
        predicted = probability >= t
        yield (
            predicted[positive].mean(),
            positive[predicted].mean() if predicted.any() else math.nan,
            predicted[~positive].mean(),
            predicted.mean(),
        )


@pytest.mark.parametrize(("goal", "place"), [("recall", 0), ("precision", 1), ("false_positive_rate", 2), ("rate", 3)])
@pytest.mark.parametrize("value", [0.0, 0.3, 0.6, 0.75, 1.0])
def test_a_threshold_reaches_its_goal_at_the_least_price(goal, place, value):
    tree, test = tw.grow(draw(400, 5), "y", max_leaf_nodes=10), draw(300, 6)
    evaluation = tree.evaluate(test)
    at_least = goal in ("recall", "precision")
    reached = [o for o in outcomes(tree, test) if (o[place] >= value if at_least else o[place] <= value)]
    if not reached:
        with pytest.raises(ParameterError, match="the highest is"):
            evaluation.choose_threshold(**{goal: value})
        return
    chosen = evaluation.choose_threshold(**{goal: value})
    actual = {metric.name: metric.value for metric in chosen.metrics}
    # recall: the fewest rows predicted as positive; the others: the highest recall
    best = min(o[3] for o in reached) if goal == "recall" else max(o[0] for o in reached)
    assert actual["rate" if goal == "recall" else "recall"] == pytest.approx(best)
    if chosen.cost is None:
        assert not 0 < chosen.threshold < 1
        assert "no cost" in str(chosen)
        return
    by_cost = tree.with_cost(chosen.cost).evaluate(test).confusion
    assert by_cost.tolist() == [[chosen.counts[3], chosen.counts[1]], [chosen.counts[2], chosen.counts[0]]]
    assert json.loads(json.dumps(chosen.to_dict()))["threshold"] == chosen.threshold


def test_a_threshold_of_least_cost():
    tree, test = tw.grow(draw(400, 5), "y", max_leaf_nodes=10), draw(300, 6)
    evaluation = tree.evaluate(test)
    chosen = evaluation.choose_threshold(cost={"B": {"A": 7}})
    probability, positive = tree.predict_proba(test)[:, 1], test["y"] == "B"
    costs = [
        ((probability >= t) & ~positive).sum() + 7 * ((probability < t) & positive).sum()
        for t in [*np.unique(probability), 2.0]
    ]
    _, fp, fn, _ = chosen.counts
    assert fp + 7 * fn == min(costs)
    assert (
        evaluation.choose_threshold(cost=True).counts == tree.evaluate(test, cost={}).choose_threshold(cost=True).counts
    )


@pytest.mark.parametrize(
    ("goals", "message"),
    [
        ({}, "one of recall, precision"),
        ({"recall": 0.5, "rate": 0.2}, "2 goals given"),
        ({"recall": 1.5}, "between 0 and 1"),
        ({"rate": True}, "between 0 and 1"),
    ],
)
def test_goals_are_checked(goals, message):
    evaluation = tw.grow(draw(100, 5), "y", max_depth=2).evaluate(draw(50, 6))
    with pytest.raises(ParameterError, match=message):
        evaluation.choose_threshold(**goals)
    three = tw.grow(draw(100, 5, 3), "y", max_depth=2).evaluate(draw(50, 6, 3))
    with pytest.raises(ParameterError, match="two classes"):
        three.choose_threshold(recall=0.5)


# -- two models ------------------------------------------------------------------------------------------


def test_differences_of_a_pair_are_those_of_the_evaluations():
    train, test = draw(300, 7), draw(200, 8)
    a, b = tw.grow(train, "y", max_depth=1), tw.forest(train, "y", n_estimators=9)
    pair = {d.metric: d for d in tw.evaluate_pair(a, b, test).differences}
    one, two = a.evaluate(test), b.evaluate(test)
    for name, score in (("error", "error"), ("Brier score", "brier"), ("AUC", "auc")):
        assert pair[name].first == pytest.approx(one.scores[score])
        assert pair[name].second == pytest.approx(two.scores[score])
        assert pair[name].interval[0] < pair[name].difference < pair[name].interval[1]
    wrong = [(m.predict(test) != test["y"]).astype(int) for m in (a, b)]
    worse, better = ((wrong[1] - wrong[0]) == 1).sum() + 0.5, ((wrong[0] - wrong[1]) == 1).sum() + 0.5
    half = stats.norm.ppf(0.975) * math.sqrt(worse + better - (worse - better) ** 2 / 202) / 202
    assert pair["error"].interval == pytest.approx(((worse - better) / 202 - half, (worse - better) / 202 + half))


def test_a_pair_of_models_of_numbers_and_one_of_itself():
    table = {"x": np.arange(50.0), "y": np.arange(50.0) ** 1.5}
    a, b = tw.grow(table, "y", max_depth=1), tw.grow(table, "y", max_depth=4)
    pair = tw.evaluate_pair(a, b, table, names=("small", "large"))
    assert [d.metric for d in pair.differences] == ["RMSE", "MAE"]
    assert pair.differences[0].difference == pytest.approx(b.evaluate(table).rmse - a.evaluate(table).rmse)
    assert "large has the lower RMSE" in str(pair)
    assert "training table of small" in str(pair)
    same = tw.evaluate_pair(a, a, table)
    assert all(d.difference == 0 and d.interval == (0, 0) for d in same.differences)
    with pytest.raises(ParameterError, match="different things"):
        tw.evaluate_pair(a, tw.grow("penguins", max_depth=1), table)


def test_classes_in_another_order_are_the_same_classes():
    train, test = draw(300, 7), draw(200, 8)
    a, b = tw.grow(train, "y", max_depth=3), tw.grow(train, "y", max_depth=3, positive="A")
    assert a.classes == b.classes[::-1]
    differences = tw.evaluate_pair(a, b, test).differences
    assert [d.metric for d in differences] == ["error", "log loss", "Brier score", "AUC"]
    assert all(d.difference == pytest.approx(0, abs=1e-12) for d in differences)


def test_a_notebook_shows_the_metrics():
    evaluation = tw.grow("noisy", max_depth=3).evaluate(tw.datasets.noisy(seed=1))
    html = evaluation._repr_mimebundle_()["text/html"]
    assert "error 15.0 %: 30 of 200 rows wrong" in html
    for row in evaluation.metric_cells()[1:]:
        assert f">{row[0]}<" in html
