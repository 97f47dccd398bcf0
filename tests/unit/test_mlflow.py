"""The MLflow flavour with the real MLflow: log, load, predict as a Python function, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treewise as tw
from treewise import ForestClassifier, TreeRegressor
from treewise.errors import ParameterError

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and what it imports

PENGUINS = tw.datasets.penguins().to_pandas()
FEATURES = PENGUINS.drop(columns="species")
TREE = tw.grow(PENGUINS, "species", max_leaf_nodes=5)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A tracking store in a folder."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield
    mlflow.set_tracking_uri(before)


def test_log_and_load(runs):
    with mlflow.start_run():
        info = tw.mlflow.log_model(TREE, name="tree", input_example=FEATURES.head(3))
    assert tw.mlflow.load_model(info.model_uri) == TREE
    answers = mlflow.pyfunc.load_model(info.model_uri)
    assert np.array_equal(answers.predict(FEATURES), TREE.predict(FEATURES))
    assert np.array_equal(answers.predict(FEATURES.convert_dtypes()), TREE.predict(FEATURES))
    assert np.array_equal(answers.predict(FEATURES, params={"output": "probabilities"}), TREE.predict_proba(FEATURES))
    assert np.array_equal(answers.predict(FEATURES, params={"output": "leaves"}), TREE.apply(FEATURES))
    with pytest.raises(ParameterError, match="must be one of predictions"):
        answers.predict(FEATURES, params={"output": "votes"})


def test_only_the_columns_that_are_tested_are_needed(tmp_path):
    tw.mlflow.save_model(TREE, tmp_path / "m")
    answers = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    used = [TREE.columns[i] for i in TREE.used_columns]
    assert np.array_equal(answers.predict(FEATURES[used]), TREE.predict(FEATURES))
    with pytest.raises(mlflow.exceptions.MlflowException, match=used[0]):
        answers.predict(FEATURES[used[1:]])


def test_nothing_is_pickled(tmp_path):
    tw.mlflow.save_model(TREE, tmp_path / "m", metadata={"owner": "lab"})
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert names == {"MLmodel", "model.json", "requirements.txt", "conda.yaml", "python_env.yaml"}
    assert tw.load(tmp_path / "m" / "model.json") == TREE
    assert "treewise==" in (tmp_path / "m" / "requirements.txt").read_text(encoding="utf-8")
    assert mlflow.models.Model.load(str(tmp_path / "m")).metadata == {"owner": "lab"}


@pytest.mark.parametrize(
    "model",
    [ForestClassifier(5, max_depth=2).fit(FEATURES, PENGUINS["species"]), TreeRegressor().fit([[1], [2]], [0.5, 1.5])],
    ids=["ensemble", "numbers"],
)
def test_estimators_are_saved_as_their_model(model, tmp_path):
    tw.mlflow.save_model(model, tmp_path / "m", signature=False)
    inner = model.tree_ if hasattr(model, "tree_") else model.ensemble_
    assert tw.mlflow.load_model(str(tmp_path / "m")) == inner
    assert mlflow.models.Model.load(str(tmp_path / "m")).signature is None


def test_a_fresh_process_answers(tmp_path):
    tw.mlflow.save_model(TREE, tmp_path / "m")
    FEATURES.to_parquet(tmp_path / "x.parquet")
    code = (
        "import sys, mlflow.pyfunc, pandas as pd\n"
        "model = mlflow.pyfunc.load_model(sys.argv[1])\n"
        "print(*model.predict(pd.read_parquet(sys.argv[2])))"
    )
    run = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "m"), str(tmp_path / "x.parquet")]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout.split() == TREE.predict(FEATURES).tolist()


def test_wrong_arguments(tmp_path):
    with pytest.raises(ParameterError, match="is a dict; expected a tree, an ensemble or a fitted estimator"):
        tw.mlflow.save_model({}, tmp_path / "m")
    tw.mlflow.save_model(TREE, tmp_path / "m")
    with pytest.raises(ParameterError, match="exists already and is not empty"):
        tw.mlflow.save_model(TREE, tmp_path / "m")
    text = Path(tmp_path / "m" / "MLmodel").read_text(encoding="utf-8")
    (tmp_path / "m" / "MLmodel").write_text(text.replace("  treewise:", "  other:"), encoding="utf-8")
    with pytest.raises(ParameterError, match="has no flavour treewise; it has python_function, other"):
        tw.mlflow.load_model(str(tmp_path / "m"))
