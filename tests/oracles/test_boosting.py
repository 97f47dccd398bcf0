"""AdaBoost compared round by round with exact arithmetic (``boosting.py``) and with scikit-learn's."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import treewise as tw
from tests.oracles import boosting
from tests.oracles.exact import Column, Problem, Settings
from tests.oracles.exact_cases import as_table, parameters, question_of
from tests.oracles.strategies import Case, any_case
from tests.support.random_tables import LONG
from treewise.ensemble.adaboost import MAX_EXACT_SUM

ROUNDS = 6


def any_boost(seed: int) -> Case:
    """Draw a table of classes, and small trees for it."""
    choose = random.Random(seed).choice
    while True:
        case = any_case(choose)
        if case.problem.classes:
            settings = replace(
                case.settings, criterion=choose(("gini", "error")), max_depth=choose((1, 1, 2)), max_leaf_nodes=None
            )
            return replace(case, settings=settings)


@pytest.mark.parametrize("start", range(0, 2000 if LONG else 300, 50))
def test_every_round_is_the_one_of_exact_arithmetic(start):
    compared = 0
    for seed in range(start, start + 50):
        case = any_boost(seed)
        expected = boosting.adaboost(case.problem, case.settings, ROUNDS)
        boosted = tw.adaboost(as_table(case), "y", ROUNDS, **parameters(case))
        alive, rounds = case.problem.rows, boosted.rounds
        total, bound = 0.0, 1.0
        for b, due in enumerate(expected):
            if math.lcm(*(w.denominator for w in due.weights)) > MAX_EXACT_SUM:
                break
            compared += 1
            tree, found = boosted[b], rounds[b]
            assert (question_of(tree.split_at(0)) if tree.split_at(0) else None) == due.question, (seed, b)
            assert found.error == float(due.error), (seed, b)
            vote = due.vote if due.error and due.error < 1 - 1 / len(case.problem.classes) else 1 + total
            assert found.vote == pytest.approx(vote, rel=1e-14), (seed, b)
            assert tree.predict(as_table(case))[alive].tolist() == [due.said[row] for row in alive], (seed, b)
            assert found.training_error <= (bound := bound * found.z) * (1 + 1e-12) + 1e-12, (seed, b)
            total += found.vote
        else:
            assert len(boosted) == len(expected), seed
            assert (len(boosted) < ROUNDS) == bool(rounds.stopped), seed
    assert compared > 100


def test_many_rounds_on_numbers_without_ties():
    """Past the first rounds weights are rounded to 52 bits: questions stay the same, errors to ten digits."""
    rng = np.random.default_rng(3)
    x, n = rng.normal(size=(3, 24)), 24
    y = [int(v) for v in (x[0] + x[1] * x[2] + rng.normal(size=n) > 0)]
    columns = tuple(Column(f"x{i + 1}", values.tolist()) for i, values in enumerate(x))
    problem = Problem(columns, y, [1] * n, ("n", "p"))
    expected = boosting.adaboost(problem, Settings("gini", max_depth=1), 12)
    data = {column.name: list(column.values) for column in columns} | {"y": [problem.classes[v] for v in y]}
    boosted = tw.adaboost(data, "y", 12, criterion="gini")
    rounds = boosted.rounds
    assert len(boosted) == len(expected) == 12
    for b, due in enumerate(expected):
        assert question_of(boosted[b].split_at(0)) == due.question
        assert rounds[b].error == pytest.approx(float(due.error), rel=1e-10)
        weights = boosted.worked_round(data, b + 1).weights
        np.testing.assert_allclose(weights, np.array(due.weights, float), rtol=1e-9)


# -- scikit-learn -----------------------------------------------------------------------------------------------------


def learnable(n_classes, n=300, seed=0):
    """Return numbers that float32 holds, all different, and classes that they tell something of."""
    rng = np.random.default_rng(seed)
    x = rng.permuted(np.arange(4 * n, dtype=np.float64).reshape(n, 4, order="F"), axis=0)
    score = x @ np.array([1.0, -1.0, 0.5, 0.2]) + rng.normal(size=n) * n
    return x, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


@pytest.mark.parametrize(("n_classes", "depth"), [(2, 1), (2, 2), (3, 1), (4, 2)])
def test_scikit_learn_makes_the_same_errors_round_by_round(n_classes, depth):
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    x, y = learnable(n_classes)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth, random_state=0), n_estimators=25).fit(x, y)
    ours = tw.adaboost(x, y, 25, max_depth=depth, criterion="gini")
    assert len(ours) == 25
    np.testing.assert_allclose([r.error for r in ours.rounds], theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(2 * ours.votes, theirs.estimator_weights_, rtol=1e-9)
    wrong = [1 - score for score in theirs.staged_score(x, y)]
    np.testing.assert_allclose([r.training_error for r in ours.rounds], wrong, atol=1e-12)


@pytest.mark.parametrize("rate", [0.5, 1.5])
def test_scikit_learn_agrees_on_a_learning_rate(rate):
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    x, y = learnable(2)
    weak = DecisionTreeClassifier(max_depth=1, random_state=0)
    theirs = AdaBoostClassifier(weak, n_estimators=15, learning_rate=rate).fit(x, y)
    ours = tw.adaboost(x, y, 15, criterion="gini", learning_rate=rate)
    np.testing.assert_allclose([r.error for r in ours.rounds], theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(2 * ours.votes, theirs.estimator_weights_, rtol=1e-9)
