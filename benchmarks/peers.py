"""Wrappers that fit the same tree or ensemble with each library: defaults except for the limits and two threads.

Nothing is regularised. ``prepare`` converts the cells to the usual input of the library and is not timed; encoding
text is part of fitting. Libraries that are not installed are skipped with a message.
"""

from __future__ import annotations

import importlib.util
import pickle
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.workloads import Array, Workload, text_columns

THREADS = 2
LIGHTGBM_MAX_LEAVES = 131_072  # LightGBM's upper limit
LIGHTGBM_POOL_MB = 2048  # histogram cache; the default exhausts the memory of a small machine


ENSEMBLES = {
    "forest": ("treewise", "scikit-learn", "ydf", "ranger"),
    "extra_trees": ("treewise", "scikit-learn"),
    "adaboost": ("treewise", "scikit-learn"),
}


def save_pickle(model: Any, path: Path) -> None:
    """Save a model with pickle."""
    path.write_bytes(pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL))


def load_pickle(path: Path) -> Any:
    """Load a pickled model."""
    return pickle.loads(path.read_bytes())


@dataclass(frozen=True)
class Learner:
    """One library: how to prepare its input, fit, count nodes, predict, save and load."""

    name: str
    module: str
    exact: bool  # whether it considers every threshold
    prepare: Callable[[Workload, Array], Any]
    fit: Callable[[Workload, Any, Array], Any]
    nodes: Callable[[Any], int]
    predict: Callable[[Any, Any], Array]
    not_for: tuple[str, ...] = ()  # unsupported tables and workloads
    save: Callable[[Any, Path], object] = save_pickle
    load: Callable[[Path], Any] = load_pickle
    in_r: bool = False  # an R package, measured by ranger.R

    @property
    def installed(self) -> bool:
        """Whether the library is available."""
        if self.in_r:
            expression = f"quit(status = !requireNamespace('{self.module}', quietly = TRUE))"
            return (
                bool(shutil.which("Rscript"))
                and not subprocess.run(["Rscript", "-e", expression], check=False).returncode
            )
        return importlib.util.find_spec(self.module) is not None

    def supports(self, workload: Workload) -> bool:
        """Tell whether the library supports a workload."""
        if workload.peers and self.name not in ("treewise", *workload.peers):
            return False
        if workload.ensemble and self.name not in ENSEMBLES[workload.ensemble]:
            return False
        return not {workload.table, workload.name} & set(self.not_for) and (
            workload.ensemble is not None or not self.in_r
        )


def prepare_plain(workload: Workload, x: Array) -> Any:
    """Return numbers as an array and text as a pandas dataframe."""
    if not workload.text:
        return x
    import pandas as pd

    return pd.DataFrame(text_columns(x), dtype=object)


# -- treewise -------------------------------------------------------------------------------------------------


def prepare_treewise(workload: Workload, x: Array) -> Any:
    if not workload.text:
        return x
    import polars as pl

    return pl.DataFrame(text_columns(x))


def treewise_fit(workload: Workload, x: Any, y: Array) -> Any:
    import treewise as tw

    return getattr(tw, workload.ensemble or "grow")(
        x, y, task=workload.task, criterion=workload.loss, **workload.limits
    )


def treewise_nodes(model: Any) -> int:
    return len(model.members.kind) if hasattr(model, "members") else len(model)


# -- scikit-learn ---------------------------------------------------------------------------------------------


def sklearn_fit(workload: Workload, x: Any, y: Array) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if workload.ensemble:
        return sklearn_ensemble(workload).fit(x, y)
    if workload.task == "regression":
        return DecisionTreeRegressor(criterion=workload.loss, random_state=0, **workload.limits).fit(x, y)
    criterion = "entropy" if workload.criterion == "gain_ratio" else workload.criterion
    tree = DecisionTreeClassifier(criterion=criterion, random_state=0, **workload.limits)
    return (make_pipeline(OrdinalEncoder(), tree) if workload.text else tree).fit(x, y)


def sklearn_ensemble(workload: Workload) -> Any:
    from sklearn import ensemble
    from sklearn.tree import DecisionTreeClassifier

    limits = dict(workload.limits)
    if workload.ensemble in ("forest", "extra_trees"):
        name = {"forest": "RandomForest", "extra_trees": "ExtraTrees"}[workload.ensemble]
        kind = getattr(ensemble, name + ("Regressor" if workload.task == "regression" else "Classifier"))
        return kind(criterion=workload.loss, random_state=0, n_jobs=THREADS, **limits)
    rounds = limits.pop("n_estimators")
    stump = DecisionTreeClassifier(criterion=workload.criterion, random_state=0, **limits)
    return ensemble.AdaBoostClassifier(stump, n_estimators=rounds, random_state=0)


def sklearn_nodes(model: Any) -> int:
    if hasattr(model, "estimators_"):
        return sum(int(tree.tree_.node_count) for tree in model.estimators_)
    return int((model[-1] if hasattr(model, "steps") else model).tree_.node_count)


# -- ydf ------------------------------------------------------------------------------------------------------


def prepare_ydf(workload: Workload, x: Array) -> Any:
    if workload.text:
        return {name: column.astype(str) for name, column in text_columns(x).items()}
    return {"x": x}


def ydf_fit(workload: Workload, x: Any, y: Array) -> Any:
    import ydf

    ydf.verbose(0)
    limits = workload.limits
    if workload.ensemble:
        return ydf.RandomForestLearner(
            label="y",
            num_trees=limits["n_estimators"],
            num_candidate_attributes=limits["max_features"],
            max_depth=-1,
            min_examples=1,
            winner_take_all=False,
            compute_oob_performances=False,
            num_threads=THREADS,
        ).train({**x, "y": y})
    return ydf.CartLearner(
        label="y",
        task=ydf.Task.REGRESSION if workload.task == "regression" else ydf.Task.CLASSIFICATION,
        max_depth=limits["max_depth"] + 1 if "max_depth" in limits else -1,  # counts the root
        min_examples=limits.get("min_samples_leaf", 1),
        validation_ratio=0.0,  # no pruning
        num_threads=THREADS,
    ).train({**x, "y": y})


def ydf_nodes(model: Any) -> int:
    return int(model.num_nodes())


def ydf_predict(model: Any, x: Any) -> Array:
    import numpy as np

    predicted = model.predict(x)
    if model.task().name == "REGRESSION":
        return np.asarray(predicted)
    actual = np.argmax(predicted, axis=1) if predicted.ndim == 2 else (predicted > 0.5).astype(int)
    return np.asarray([int(name) for name in model.label_classes()])[actual]


# -- LightGBM and XGBoost: one tree of a boosted ensemble, thresholds on 255 bins -----------------------------


def lightgbm_fit(workload: Workload, x: Any, y: Array) -> Any:
    import lightgbm

    limits = workload.limits
    depth, least = limits.get("max_depth", -1), limits.get("min_samples_leaf", 1)
    model = (lightgbm.LGBMRegressor if workload.task == "regression" else lightgbm.LGBMClassifier)(
        n_estimators=1,
        learning_rate=1.0,
        max_depth=depth,
        num_leaves=2**depth if depth > 0 else min(LIGHTGBM_MAX_LEAVES, len(y) // least),
        min_child_samples=least,
        min_child_weight=0.0,
        histogram_pool_size=LIGHTGBM_POOL_MB,
        n_jobs=THREADS,
        verbose=-1,
    )
    return model.fit(x.astype("category") if workload.text else x, y)


def lightgbm_nodes(model: Any) -> int:
    return 2 * int(model.booster_.dump_model()["tree_info"][0]["num_leaves"]) - 1


def xgboost_fit(workload: Workload, x: Any, y: Array) -> Any:
    import xgboost

    limits = workload.limits
    return (xgboost.XGBRegressor if workload.task == "regression" else xgboost.XGBClassifier)(
        n_estimators=1,
        learning_rate=1.0,
        tree_method="hist",
        max_depth=limits.get("max_depth", 0),
        min_child_weight=0.25 * limits.get("min_samples_leaf", 0),  # in units of p·(1 − p), which begins at 1/4
        reg_lambda=0.0,
        n_jobs=THREADS,
    ).fit(x, y)


def xgboost_nodes(model: Any) -> int:
    return len(model.get_booster().trees_to_dataframe())


def predict_plain(model: Any, x: Any) -> Array:
    """Predict through the scikit-learn interface."""
    predictions: Array = model.predict(x)
    return predictions


def save_native(model: Any, path: Path) -> None:
    """Save a model in the library's own format."""
    model.save(str(path))


def treewise_load(path: Path) -> Any:
    """Load a forest from its file."""
    import treewise as tw

    return tw.load(path)


def ydf_load(path: Path) -> Any:
    """Load a forest from its folder."""
    import ydf

    return ydf.load_model(str(path))


def not_in_python(*_: Any) -> Any:
    """Placeholder for libraries measured by ranger.R."""
    raise NotImplementedError("ranger is measured by ranger.R")


LEARNERS = [
    Learner(
        "treewise",
        "treewise",
        True,
        prepare_treewise,
        treewise_fit,
        treewise_nodes,
        predict_plain,
        save=save_native,
        load=treewise_load,
    ),
    Learner("scikit-learn", "sklearn", True, prepare_plain, sklearn_fit, sklearn_nodes, predict_plain),
    Learner("ydf", "ydf", True, prepare_ydf, ydf_fit, ydf_nodes, ydf_predict, ("W1 entropy",), save_native, ydf_load),
    Learner(
        "LightGBM",
        "lightgbm",
        False,
        prepare_plain,
        lightgbm_fit,
        lightgbm_nodes,
        lambda model, x: model.predict(x.astype("category") if hasattr(x, "dtypes") else x),
        not_for=("W1 entropy", "W5"),
    ),
    Learner(
        "XGBoost",
        "xgboost",
        False,
        prepare_plain,
        xgboost_fit,
        xgboost_nodes,
        predict_plain,
        not_for=("W1 entropy", "W3", "W5"),
    ),
    Learner("ranger", "ranger", True, prepare_plain, not_in_python, len, not_in_python, in_r=True),
]
