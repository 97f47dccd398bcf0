"""scikit-learn's ``cost_complexity_pruning_path`` where both grow the same tree.

One entry a cut in both. Where two alphas are equal on paper, scikit-learn's sums may see them a last digit apart, and
then list a node that we hide under its equal above; so entries nearer than 1e-9 are compared as one.
"""

import numpy as np
import pytest
from sklearn import datasets
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treewise import TreeClassifier, TreeRegressor

TABLES = ["load_iris", "load_wine", "load_breast_cancer", "load_diabetes"]


def table(name):
    X, y = getattr(datasets, name)(return_X_y=True)
    return X.astype(np.float32).astype(float), y  # as scikit-learn reads it


def merged(alphas, impurities):
    """Keep the last of entries whose alphas are equal."""
    last = np.append(np.diff(alphas) > 1e-9 * alphas.max(), True)
    return alphas[last], impurities[last]


@pytest.mark.parametrize("name", TABLES)
def test_the_path_is_scikit_learns(name):
    X, y = table(name)
    regress = name == "load_diabetes"
    criteria = ["squared_error"] if regress else ["gini", "entropy"]
    for criterion in criteria:
        theirs = (DecisionTreeRegressor if regress else DecisionTreeClassifier)(criterion=criterion, random_state=0)
        ours = (TreeRegressor if regress else TreeClassifier)(criterion=criterion)
        expected, found = (m.cost_complexity_pruning_path(X, y) for m in (theirs, ours))
        if theirs.fit(X, y).get_n_leaves() != ours.fit(X, y).get_n_leaves():
            continue  # equal gains were broken otherwise
        a, b = merged(expected.ccp_alphas, expected.impurities), merged(found.ccp_alphas, found.impurities)
        assert len(a[0]) == len(b[0])
        scale = expected.impurities.max()
        np.testing.assert_allclose(b[0], a[0], rtol=1e-9, atol=1e-12 * scale)
        np.testing.assert_allclose(b[1], a[1], rtol=1e-9, atol=1e-12 * scale)


def test_drawn_tables():
    """Distinct values, so that ties are rare: path, and the tree at each alpha."""
    compared = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 4)).astype(np.float32).astype(float)
        y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=150) > 0).astype(int)
        theirs = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y)
        model = TreeClassifier(criterion="gini")
        ours = model.cost_complexity_pruning_path(X, y)
        a, b = merged(theirs.ccp_alphas, theirs.impurities), merged(ours.ccp_alphas, ours.impurities)
        if len(a[0]) != len(b[0]) or not np.allclose(a[0], b[0], atol=1e-9):
            continue  # equal gains
        compared += 1
        for alpha in (a[0][1:] + a[0][:-1])[:: max(1, len(a[0]) // 5)] / 2:
            pruned = DecisionTreeClassifier(random_state=0, ccp_alpha=alpha).fit(X, y)
            mine = TreeClassifier(criterion="gini", ccp_alpha=float(alpha)).fit(X, y)
            assert mine.get_n_leaves() == pruned.get_n_leaves()
    assert compared >= 6


def test_no_price_is_no_pruning():
    X, y = table("load_breast_cancer")
    full = TreeClassifier(criterion="gini").fit(X, y)
    assert TreeClassifier(criterion="gini", ccp_alpha=0.0).fit(X, y).tree_ == full.tree_
    assert TreeClassifier(criterion="gini", ccp_alpha=0.02).fit(X, y).get_n_leaves() < full.get_n_leaves()


def test_weights():
    X, y = table("load_wine")
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    theirs = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y, sample_weight=weight)
    ours = TreeClassifier(criterion="gini").cost_complexity_pruning_path(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.ccp_alphas.max(), theirs.ccp_alphas.max())
    np.testing.assert_allclose(ours.impurities[-1], theirs.impurities[-1])
