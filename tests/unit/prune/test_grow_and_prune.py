"""``pruning=``, ``validation=`` and ``ccp_alpha=`` of grow and the estimators; cross-validation."""

import numpy as np
import pytest

import treewise as tw
from tests.support.errors import assert_refused
from tests.support.noisy_table import noisy_split_table
from treewise import TreeClassifier, TreeRegressor


@pytest.fixture(scope="module")
def noisy():
    return noisy_split_table(seed=0, rows=600, columns=4, wrong=0.15)


def test_folds_find_the_one_split_there_is(noisy):
    tree = tw.grow(noisy, "y", pruning="cv")
    assert tree.n_leaves == 2
    assert tree[0].split.column == "x0"
    step = tree.history[-1]
    assert (step["method"], step["options"]["folds"], step["options"]["rule"]) == ("cv", 10, "1se")
    actual = tree.fit_info.cross_validated
    assert actual.low < 0.15 < actual.high
    table = tree.cp_table
    assert table[table.chosen].leaves == 2
    assert table[0][1:4] == (0, 1, 1.0)
    assert table[0].xerror == pytest.approx(1.0, abs=0.1)
    assert "chosen" in str(table)


def test_the_same_in_growth_and_after_it(noisy):
    tree = tw.grow(noisy, "y")
    assert tw.grow(noisy, "y", pruning="cv") == tree.prune("cv", data=noisy)
    assert tw.grow(noisy, "y", pruning="mdl") == tree.prune("mdl")
    assert tw.grow(noisy, "y", ccp_alpha=0.01) == tree.prune("cost_complexity", ccp_alpha=0.01)
    expected = {"method": "gain", "threshold": 0.05, "measure": "criterion"}
    assert tw.grow(noisy, "y", pruning=expected) == tree.prune("gain", threshold=0.05, measure="criterion")
    assert tw.grow(noisy, "y", pruning="none") == tree
    half = {name: cells[:300] for name, cells in noisy.items()}
    rest = {name: cells[300:] for name, cells in noisy.items()}
    assert tw.grow(half, "y", pruning="reduced_error", validation=rest) == tw.grow(half, "y").prune(
        "reduced_error", validation=rest
    )


def test_folds_as_given_and_the_best(noisy):
    tree = tw.grow(noisy, "y")
    folds = np.arange(600) % 4
    once, again = (tree.prune("cv", data=noisy, folds=f) for f in (folds, folds + 7))
    assert once == again
    assert once.history[-1]["options"]["folds"] == 4
    best = tree.prune("cv", data=noisy, folds=folds, rule="best")
    assert best.n_leaves >= once.n_leaves
    assert tree.prune("cv", data=noisy, random_state=1).n_leaves >= 1


def test_held_out_errors_are_those_of_the_trees_grown_without_a_fold(noisy):
    """The slow way: for each price and fold grow, prune, predict."""
    few = {name: cells[:120] for name, cells in noisy.items()}
    tree, folds = tw.grow(few, "y"), np.arange(120) % 3
    table = tree.prune("cv", data=few, folds=folds).cp_table
    alphas = np.array([row.cp for row in table]) * table.root_error
    prices = [9.9, *np.sqrt(alphas[1:] * alphas[:-1])]
    for row, price in zip(table, prices, strict=True):
        wrong = 0
        for fold in range(3):
            rest, held = ({n: c[folds == fold] if out else c[folds != fold] for n, c in few.items()} for out in (0, 1))
            small = tw.grow(rest, "y").prune("cost_complexity", ccp_alpha=float(price), risk="error")
            wrong += int((small.predict(held) != held["y"]).sum())
        assert row.xerror == pytest.approx(wrong / 120 / table.root_error)


def test_a_share_of_the_rows_is_held_back(noisy):
    tree = tw.grow(noisy, "y", pruning="reduced_error", validation=0.25)
    assert tree.history[0]["rows"] == 450
    assert tree.history[-1]["rows"] == 150
    assert tree.history[-1]["validation"]["table"].startswith("25 % of")
    assert tree == tw.grow(noisy, "y", pruning="reduced_error", validation=0.25)
    assert tree.n_leaves < tw.grow(noisy, "y").n_leaves
    numbers = tw.grow({**noisy, "y": noisy["x0"] * 2 + noisy["x1"]}, "y", pruning="reduced_error", validation=0.5)
    assert numbers.history[-1]["validation"]["after"] <= numbers.history[-1]["validation"]["before"]


def test_invalid_requests(noisy):
    def wrong(*parts, error=tw.ParameterError, **options):
        assert_refused(lambda: tw.grow(noisy, "y", **options), *parts, error=error)

    wrong('pruning="reduced_error" needs rows not used for training', "validation=0.3", pruning="reduced_error")
    wrong('pruning="cvv"', 'Did you mean "cv"', pruning="cvv")
    wrong("validation is for", pruning="cv", validation=0.3)
    wrong("validation is for", validation=0.3)
    wrong("validation=1.5", pruning="reduced_error", validation=1.5)
    wrong("leaves one side without rows", pruning="reduced_error", validation=1e-9, error=tw.DataError)
    wrong("needs ccp_alpha", pruning="cost_complexity")
    wrong("Leave one out", pruning="mdl", ccp_alpha=0.1)
    wrong("has no option confidence", pruning={"method": "cv", "confidence": 0.1})
    wrong("has no method", pruning={"threshold": 0.1})
    wrong("has no option x", pruning={"method": "gain", "x": 1})
    wrong("has no option data", pruning={"method": "pessimistic", "data": noisy})


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_tiny_tables(n):
    data = {"x": list(range(n)), "y": ["a", "b", "a", "a", "b", "b", "a"][:n]}
    if n == 1:
        assert_refused(lambda: tw.grow(data, "y", pruning="cv"), "1 usable row:", "folds")
    else:
        assert tw.grow(data, "y", pruning="cv").n_leaves >= 1


def test_estimators_prune(noisy):
    X, y = np.stack([noisy[f"x{i}"] for i in range(4)], axis=1), noisy["y"]
    assert TreeClassifier(pruning="cv").fit(X, y).get_n_leaves() == 2
    assert TreeClassifier(pruning="reduced_error", validation=0.3).fit(X, y).get_n_leaves() < 40
    model = TreeClassifier(pruning="reduced_error", validation=(X[300:], y[300:])).fit(X[:300], y[:300])
    table = {**{f"x{i}": X[300:, i] for i in range(4)}, "y": y[300:]}
    assert model.tree_.history[-1]["rows"] == len(table["y"])
    assert model.predict(X).shape == (600,)
    numbers = TreeRegressor(pruning="reduced_error", validation=(X[300:], X[300:, 0])).fit(X[:300], X[:300, 0])
    assert numbers.tree_.history[-1]["method"] == "reduced_error"
    assert_refused(
        lambda: TreeClassifier(pruning="reduced_error", validation="v.csv").fit(X, y), "(X, y)", error=tw.ParameterError
    )


def test_the_path_is_of_the_unpruned_tree(noisy):
    X, y = np.stack([noisy[f"x{i}"] for i in range(4)], axis=1), noisy["y"]
    plain = TreeClassifier().cost_complexity_pruning_path(X, y)
    pruned = TreeClassifier(pruning="cv").cost_complexity_pruning_path(X, y)
    np.testing.assert_array_equal(plain.ccp_alphas, pruned.ccp_alphas)
    assert (np.diff(plain.impurities) >= -1e-12).all()


def test_c45_prunes_as_the_book_does(noisy):
    tree, full = tw.grow(noisy, "y", preset="c45"), tw.grow(noisy, "y", preset="c45", pruning="none")
    assert tree == full.prune("pessimistic")
    assert tree.n_leaves < full.n_leaves
    assert [step["did"] for step in full.history] == ["grow"]
    assert tw.grow(noisy, "y", preset="c45", pruning="mdl") == full.prune("mdl")
    assert tw.grow(noisy, "y", preset="c45", ccp_alpha=0.05) == full.prune("cost_complexity", ccp_alpha=0.05)
    numbers = tw.grow({**noisy, "y": noisy["x0"]}, "y", preset="c45")  # nothing to count: as it was grown
    assert [step["did"] for step in numbers.history] == ["grow"]
