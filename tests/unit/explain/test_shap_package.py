"""``ShapValues.to_shap`` with the real shap package: its plots, and its own TreeSHAP as a peer."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import treewise as tw
from treewise import TreeClassifier, TreeRegressor
from treewise.errors import ColumnError, DataError

shap = pytest.importorskip("shap", reason="shap is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of shap and numba

PENGUINS = tw.datasets.penguins()
TREE = tw.grow("penguins", max_leaf_nodes=4)
ROW = {"flipper_length_mm": 190, "bill_length_mm": 50, "island": "Dream", "bill_depth_mm": 18, "body_mass_g": None}
ROW["sex"] = None


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_values_base_and_cells():
    result = TREE.shap(PENGUINS)
    explanation = result.to_shap(PENGUINS)
    assert explanation.shape == (344, 6, 3)
    assert np.array_equal(explanation.values, result.values)
    assert np.allclose(explanation.values.sum(axis=1) + explanation.base_values, TREE.predict_proba(PENGUINS))
    assert explanation.feature_names == list(TREE.columns)
    assert explanation.output_names == ["Adelie", "Chinstrap", "Gentoo"]
    assert explanation.display_data[0].tolist() == ["Torgersen", 39.1, 18.7, 181.0, 3750.0, "MALE"]
    assert explanation.data[0, 1:5].tolist() == [39.1, 18.7, 181.0, 3750.0]
    assert np.isnan(explanation.data[3, 1])


PLOTS = {
    "beeswarm": lambda e: shap.plots.beeswarm(e[..., 2], show=False),
    "bar": lambda e: shap.plots.bar(e[..., 2], show=False),
    "waterfall": lambda e: shap.plots.waterfall(e[0, :, 1], show=False),
    "scatter": lambda e: shap.plots.scatter(e[:, 3, 2], show=False),
    "heatmap": lambda e: shap.plots.heatmap(e[..., 2], show=False),
    "force": lambda e: shap.plots.force(e[0, :, 1], matplotlib=True, show=False),
}


@pytest.mark.parametrize("plot", PLOTS)
def test_its_plots(plot):
    PLOTS[plot](TREE.shap(PENGUINS).to_shap(PENGUINS))
    texts = {text.get_text() for text in plt.gcf().findobj(plt.Text)}
    assert any("flipper_length_mm" in text for text in texts)


def test_a_single_row_is_a_table_of_one():
    explanation = TREE.shap(ROW).to_shap(ROW)
    assert explanation.shape == (1, 6, 3)
    shap.plots.waterfall(explanation[0, :, 1], show=False)
    assert any("Dream" in text.get_text() for text in plt.gcf().findobj(plt.Text))
    assert TREE.shap(ROW).to_shap().data is None


def test_a_forest_of_numbers():
    table = {f"x{i}": column for i, column in enumerate(load_diabetes().data.T)}
    forest = tw.forest(table, load_diabetes().target, n_estimators=5, max_depth=3)
    explanation = forest.shap(table).to_shap(table)
    assert explanation.shape == (442, 10)
    assert np.allclose(explanation.values.sum(axis=1) + explanation.base_values, forest.predict(table))
    shap.plots.beeswarm(explanation, show=False)


@pytest.mark.parametrize("model", [TreeClassifier(max_depth=4), TreeRegressor(max_depth=4)], ids=type)
def test_its_own_explainer_reads_the_tree_and_agrees(model):
    features, target = load_iris(return_X_y=True)
    features = features.astype(np.float32).astype(float)
    tree = model.fit(features, target).tree_
    theirs = shap.TreeExplainer(tree.to_sklearn())(features)
    ours = tree.shap(dict(zip(tree.columns, features.T, strict=True)))
    assert np.abs(theirs.values - ours.values).max() < 1e-9
    assert np.abs(theirs.base_values - ours.base).max() < 1e-9


def test_another_table_is_refused():
    result = TREE.shap(PENGUINS)
    with pytest.raises(DataError, match=r"the table has 10 rows, the Shapley values are of 344\."):
        result.to_shap(PENGUINS.to_polars()[:10])
    with pytest.raises(ColumnError, match='no column "sex"'):
        result.to_shap(PENGUINS.to_polars().drop("sex"))
