"""Shapley values: the core against the Python version, brute force over subsets, and the shap package."""

import numpy as np
import pytest

import treewise as tw
from tests.support.shapley import decoded_rows, mixed_table, shapley_by_enumeration, unusual_rows, varied_trees
from treewise.explain.shap import ShapTable, shapley_reference
from treewise.predict.leaf_probabilities import LeafProbabilities
from treewise.tree.arrays import LEAF


def answers(tree, rows):
    return tree.predict(rows)[:, None] if tree.task == "regression" else tree.predict_proba(rows)


@pytest.mark.parametrize("seed", range(3))
def test_brute_force_over_subsets_twin_and_core_agree(seed):
    for tree, table in varied_trees(seed):
        shares = ShapTable.of(tree, LeafProbabilities())
        rows = unusual_rows(table, seed)
        values = tree.shap(rows).values
        values = values[..., None] if tree.task == "regression" else values
        for i, row in enumerate(decoded_rows(tree, rows)):
            if i >= 5:
                break
            assert np.allclose(shapley_by_enumeration(tree, shares, row), values[i], atol=1e-12)
            assert np.allclose(shapley_reference(tree, shares, row), values[i], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_values_add_up_to_the_prediction(seed):
    for tree, table in varied_trees(seed):
        rows = unusual_rows(table, seed)
        shap = tree.shap(rows)
        total = np.atleast_1d(shap.base) + (shap.values if shap.classes else shap.values[..., None]).sum(axis=1)
        assert np.abs(total - answers(tree, rows)).max() < 1e-9


def test_the_base_is_the_mean_over_training_rows():
    table = mixed_table(3)
    tree = tw.grow(table, "y", ignore=["score"])
    assert np.allclose(tree.shap(table).base, tree.probabilities(0), atol=1e-12)
    grown = tw.grow(table, "score", ignore=["y"], max_depth=3)
    assert grown.shap(table).base == pytest.approx(grown[0].prediction, abs=1e-12)


def test_rows_that_stayed_in_training_keep_their_share():
    tree = tw.parse("c = p -> 1\nc = q -> 2", target="y").refit({"c": ["p", "q", "r", "r"], "y": [1, 2, 2, 1]})
    shap = tree.shap({"c": ["p", "r", "never"]})
    assert shap.base.tolist() == [0.5, 0.5]
    assert np.allclose(shap.base + shap.values.sum(axis=1), tree.predict_proba({"c": ["p", "r", "never"]}))


def test_estimates_are_explained_too():
    tree, table = next(varied_trees(1))
    for estimate in ("laplace", "m_estimate=5", "shrinkage"):
        shap = tree.shap(table, estimate=estimate)
        total = shap.base + shap.values.sum(axis=1)
        assert np.abs(total - tree.predict_proba(table, estimate=estimate)).max() < 1e-9


def test_many_columns_on_one_path():
    rng = np.random.default_rng(0)
    x = rng.random((400, 40))
    tree = tw.grow(x, x @ rng.normal(size=40), max_depth=30)
    shap = tree.shap(x[:50])
    assert np.abs(shap.base + shap.values.sum(axis=1) - tree.predict(x[:50])).max() < 1e-9
    table = ShapTable.of(tree, LeafProbabilities())
    assert np.allclose(shapley_reference(tree, table, x[7].tolist())[:, 0], shap.values[7], atol=1e-10)


def test_deep_trees_up_to_a_limit():
    n = 1002
    lines = [f"{'  ' * i}x <= {i} -> {i % 2}\n{'  ' * i}x > {i}" for i in range(n)]
    chain = "\n".join([*lines, "  " * n + f"x <= {n} -> 1", "  " * n + f"x > {n} -> 0"])
    data = {"x": np.arange(n + 3), "y": np.arange(n + 3) % 2}
    tree = tw.parse(chain, target="y").refit(data)
    with pytest.raises(tw.DataError, match=r"^the tree has depth 1,003; Shapley values are limited to 1,000"):
        tree.shap(data)
    shorter = tree.prune(max_depth=1000)
    shap = shorter.shap(data)
    assert np.abs(shap.base + shap.values.sum(axis=1) - shorter.predict_proba(data)).max() < 1e-9


def test_what_cannot_be_explained_is_refused():
    with pytest.raises(tw.DataError, match=r"the tree has no training rows.*tree\.refit\(data\) counts them\."):
        tw.parse("x <= 1 -> a\nx > 1 -> b").shap({"x": [1]})
    tree = tw.grow("penguins", max_leaf_nodes=4)
    with pytest.raises(tw.ColumnError, match='the row has no column "bill_length_mm", which node 1 tests'):
        tree.shap({"flipper_length_mm": 210, "island": "Dream"})
    assert tree.shap({"flipper_length_mm": 210, "island": "Dream", "bill_length_mm": None}).values.shape == (6, 3)


def test_frame_and_forms():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    shap = tree.shap("penguins")
    frame = shap.to_frame()
    assert frame.columns == ["row", "class", "column", "shap"]
    assert len(frame) == 344 * 6 * 3
    first = frame.filter((frame["row"] == 1) & (frame["class"] == "Adelie"))["shap"].to_list()
    assert first == shap.values[0, :, 0].tolist()
    assert shap.to_dict()["values"] == shap.values.tolist()
    assert "flipper_length_mm" in str(shap)
    numbers = tw.grow("penguins", "body_mass_g", max_leaf_nodes=4, drop_missing_target=True).shap("penguins")
    assert numbers.to_frame().columns == ["row", "column", "shap"]
    assert isinstance(numbers.base, float)


def test_the_same_as_the_shap_package():
    shap = pytest.importorskip("shap")
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    rng = np.random.default_rng(4)
    x = rng.integers(0, 40, (300, 6)).astype(float)
    y = x[:, 0] + x[:, 1] * (x[:, 2] > 20) + rng.normal(size=300) * 5
    classes = np.array(list("abc"))[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
    table = {f"x{i}": x[:, i] for i in range(6)}
    for learner, target in ((DecisionTreeRegressor, y), (DecisionTreeClassifier, classes)):
        peer = learner(max_depth=5, random_state=0).fit(x, target)
        actual = written(peer).refit({**table, "target": target}).shap(table)
        theirs = shap.TreeExplainer(peer, feature_perturbation="tree_path_dependent")
        order = [int(name[1:]) for name in actual.columns]  # the columns that the tree asks about, as it meets them
        assert np.allclose(actual.values, theirs.shap_values(x)[:, order], atol=1e-9)
        assert np.allclose(actual.base, theirs.expected_value, atol=1e-9)


def written(peer):
    """Return scikit-learn's tree as one that was written by hand."""
    t, lines, waiting = peer.tree_, [], [(0, 0, "")]
    while waiting:
        node, depth, message = waiting.pop()
        leaf, value = t.children_left[node] < 0, t.value[node].ravel()
        answer = value[0] if len(value) == 1 else peer.classes_[value.argmax()]
        if message:
            lines.append("  " * depth + message + (f" -> {answer}" if leaf else ""))
        if not leaf:
            test = f"x{t.feature[node]}", float(t.threshold[node])
            waiting += [(t.children_right[node], depth + 1, "{} > {}".format(*test))]
            waiting += [(t.children_left[node], depth + 1, "{} <= {}".format(*test))]
    return tw.parse("\n".join(lines), target="target")


def test_threads_and_ends_without_rows():
    tree = tw.grow(
        {"c": ["p", "q"] * 40, "x": np.arange(80) % 7, "y": (np.arange(80) % 3).astype(str)},
        "y", kinds={"c": {"p", "q", "absent"}}, categorical="multiway",
    )  # fmt: skip
    assert (tree.arrays.rows[tree.arrays.kind == LEAF] == 0).any()
    rows = {"c": ["absent", "p", "q"] * 200, "x": list(range(600))}
    shap = tree.shap(rows)
    assert np.abs(shap.base + shap.values.sum(axis=1) - tree.predict_proba(rows)).max() < 1e-9


def test_the_core_checks_what_it_is_given():
    from treewise import _core

    tree = tw.grow("xor")
    columns = [_core.Column(np.zeros(2)), _core.Column(np.zeros(2))]
    n = len(tree)
    good = [np.ones(n), np.full(n, -1.0), np.arange(n), np.zeros(2 * n)]
    assert len(_core.shapley(tree.arrays.for_core, columns, 2, *good, 2)) == 8
    for i in range(4):
        bad = [array[:-1] if place == i else array for place, array in enumerate(good)]
        with pytest.raises(ValueError, match="lengths differ"):
            _core.shapley(tree.arrays.for_core, columns, 2, *bad, 2)
    with pytest.raises(ValueError, match="lengths differ"):
        _core.shapley(tree.arrays.for_core, columns, 2, *good, 0)
