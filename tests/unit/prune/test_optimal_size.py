"""The size of an optimal tree, chosen by cross-validation."""

import numpy as np
import pytest

import treewise as tw
from tests.support.noisy_table import noisy_table
from treewise.prune.optimal_size import list_sizes
from treewise.train.folds import make_folds
from treewise.train.optimal.optimal import solve
from treewise.train.optimal.problem import OptimalProblem


def chosen(table, **options):
    return tw.optimal(table, "y", max_depth=2, n_jobs=1, **options)


def test_the_sizes_are_the_best_trees_at_every_penalty():
    problem = chosen(noisy_table(120, 3)).problem
    sizes = list_sizes(problem, {"n_jobs": 1})
    leaves = [size.result.tree.n_leaves for size in sizes]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[-1] == 1
    for penalty in np.geomspace(1e-4, 0.5, 25):
        best = solve(OptimalProblem.of(problem.training_set, "error", 2, None, float(penalty)), n_jobs=1).objective
        listed = (size.result.tree.evaluate(noisy_table(120, 3)).error for size in sizes)
        assert best == pytest.approx(min(e + penalty * n for e, n in zip(listed, leaves, strict=True)), rel=1e-6)


def test_each_size_is_judged_by_searches_without_the_fold():
    """Against the plain loop: search on the other rows, predict these."""
    table = noisy_table(120, 3)
    result = chosen(table, pruning={"method": "cv", "folds": 3})
    sizes, training_set = result.sizes, result.problem.training_set
    truth = np.array(table["y"])
    for i, size in enumerate(sizes.candidates):
        wrong = 0
        for fold in make_folds(training_set, 3).folds:
            rows = {name: [cells[row] for row in fold.training] for name, cells in table.items()}
            held = {name: [cells[row] for row in fold.held_out] for name, cells in table.items()}
            tree = tw.optimal(rows, "y", max_depth=size.max_depth, penalty=size.penalty, n_jobs=1).tree
            wrong += int((tree.predict(held) != truth[fold.held_out]).sum())
        assert sizes.losses.mean[i] == pytest.approx(wrong / 120)
    assert sizes.chosen == sizes.losses.choose("1se")


def test_the_record_and_the_words():
    result = chosen(noisy_table(200, 3), pruning="cv")
    size = result.sizes.candidates[result.sizes.chosen]
    assert result.tree.n_leaves == size.result.tree.n_leaves
    assert result.tree.fit_info.cross_validated == result.sizes.estimate
    assert "The greedy tree of any size, pruned by the same folds, has" in result.in_words()
    assert len(result.sizes.result_table().rows) == len(result.sizes.candidates)
    again = chosen(noisy_table(200, 3), pruning="cv")
    assert str(again) == str(result)


def test_a_column_of_noise_gives_a_single_leaf():
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=150).tolist(), "y": rng.choice(["a", "b"], 150).tolist()}
    assert chosen(table, pruning="cv").tree.n_leaves == 1


def test_regression_groups_and_costs():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, 90)
    table = {"x": x.tolist(), "y": (x > 4) * 5.0 + rng.normal(size=90)}
    assert chosen(table, pruning={"method": "cv", "folds": 5}).tree.n_leaves >= 2
    grouped = noisy_table(90, 2) | {"who": (np.arange(90) // 3).tolist()}
    assert chosen(grouped, groups="who", ignore=["who"], pruning="cv").sizes.estimate.kind == "groups"
    costly = chosen(noisy_table(90, 2), cost={"yes": {"no": 3}}, pruning={"method": "cv", "folds": 3})
    assert costly.sizes.loss.name == "cost"


@pytest.mark.parametrize(
    ("pruning", "message"),
    [
        ("reduced_error", "needs rows"),
        ("collapse", "not pruned"),
        ({"method": "cv", "loss": "auc"}, "no value for each row"),
        ({"method": "cv", "risk": "error"}, "no"),
        ({"method": "cv", "fold": 3}, "folds"),
        ("cvv", "must be one of"),
    ],
)
def test_wrong_options_are_named(pruning, message):
    with pytest.raises(tw.ParameterError, match=message):
        chosen(noisy_table(60, 2), pruning=pruning)


def test_the_estimator_and_the_verb(run):
    table = noisy_table(120, 3)
    x = np.array([table[f"x{i}"] for i in range(3)]).T
    model = tw.OptimalTreeClassifier(max_depth=2, pruning={"method": "cv", "folds": 3}).fit(x, table["y"])
    assert model.tree_.fit_info.cross_validated.folds == 3
    done = run("optimal penguins --target species --max-depth 2 --pruning cv:folds=3")
    assert "3 folds, 1se: depth 2" in done.out
    assert "chosen" in done.out
