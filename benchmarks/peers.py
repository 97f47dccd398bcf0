"""How each library is asked for the same tree or ensemble: its defaults, but for the limits and two threads.

Nothing is regularised. A learner takes a workload and cells as a user of that library would have them (``given``, not
timed), and fits; encoding text is part of fitting. Libraries that are not installed are left out, with a message.
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
MOST_LEAVES = 131_072  # LightGBM's limit …
POOL = 2048  # … and MB for its histograms, which otherwise fill the memory of a small machine


ENSEMBLES = {
    "forest": ("treewise", "scikit-learn", "ydf", "ranger"),
    "extra_trees": ("treewise", "scikit-learn"),
    "adaboost": ("treewise", "scikit-learn"),
}


def pickled(model: Any, path: Path) -> None:
    """Write a model as Python's own serialisation."""
    path.write_bytes(pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL))


def unpickled(path: Path) -> Any:
    """Read what ``pickled`` wrote."""
    return pickle.loads(path.read_bytes())


@dataclass(frozen=True)
class Learner:
    """One library: what it is given, how it fits, how large the tree is, and what it predicts."""

    name: str
    module: str
    exact: bool  # whether it looks at every threshold
    given: Callable[[Workload, Array], Any]
    fit: Callable[[Workload, Any, Array], Any]
    nodes: Callable[[Any], int]
    predict: Callable[[Any, Any], Array]
    not_for: tuple[str, ...] = ()  # tables it has no single tree for, workloads whose criterion it has not
    save: Callable[[Any, Path], object] = pickled
    load: Callable[[Path], Any] = unpickled
    in_r: bool = False  # measured by ranger.R: its home is R

    @property
    def installed(self) -> bool:
        """Whether the library can be imported."""
        if self.in_r:
            asked = f"quit(status = !requireNamespace('{self.module}', quietly = TRUE))"
            return (
                bool(shutil.which("Rscript")) and not subprocess.run(["Rscript", "-e", asked], check=False).returncode
            )
        return importlib.util.find_spec(self.module) is not None

    def can(self, workload: Workload) -> bool:
        """Whether it has what the workload asks for."""
        if workload.ensemble and self.name not in ENSEMBLES[workload.ensemble]:
            return False
        return not {workload.table, workload.name} & set(self.not_for) and (
            workload.ensemble is not None or not self.in_r
        )


def as_is(workload: Workload, x: Array) -> Any:
    """Give numbers as the array, text as a pandas dataframe."""
    if not workload.text:
        return x
    import pandas as pd

    return pd.DataFrame(text_columns(x), dtype=object)


# -- treewise -------------------------------------------------------------------------------------------------


def treewise_given(workload: Workload, x: Array) -> Any:
    if not workload.text:
        return x
    import polars as pl

    return pl.DataFrame(text_columns(x))


def treewise_fit(workload: Workload, x: Any, y: Array) -> Any:
    import treewise as tw

    criterion = "squared_error" if workload.task == "regression" else workload.criterion
    return getattr(tw, workload.ensemble or "grow")(x, y, task=workload.task, criterion=criterion, **workload.limits)


def treewise_nodes(model: Any) -> int:
    return len(model.members.kind) if hasattr(model, "members") else len(model)


# -- scikit-learn ---------------------------------------------------------------------------------------------


def sklearn_fit(workload: Workload, x: Any, y: Array) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if workload.ensemble:
        return sklearn_many(workload).fit(x, y)
    if workload.task == "regression":
        return DecisionTreeRegressor(random_state=0, **workload.limits).fit(x, y)
    tree = DecisionTreeClassifier(criterion=workload.criterion, random_state=0, **workload.limits)
    return (make_pipeline(OrdinalEncoder(), tree) if workload.text else tree).fit(x, y)


def sklearn_many(workload: Workload) -> Any:
    from sklearn.ensemble import AdaBoostClassifier, ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    limits = dict(workload.limits)
    if workload.ensemble == "extra_trees" and workload.task == "regression":
        return ExtraTreesRegressor(random_state=0, n_jobs=THREADS, **limits)
    if workload.ensemble in ("forest", "extra_trees"):
        kind = RandomForestClassifier if workload.ensemble == "forest" else ExtraTreesClassifier
        return kind(criterion=workload.criterion, random_state=0, n_jobs=THREADS, **limits)
    rounds = limits.pop("n_estimators")
    stump = DecisionTreeClassifier(criterion=workload.criterion, random_state=0, **limits)
    return AdaBoostClassifier(stump, n_estimators=rounds, random_state=0)


def sklearn_nodes(model: Any) -> int:
    if hasattr(model, "estimators_"):
        return sum(int(tree.tree_.node_count) for tree in model.estimators_)
    return int((model[-1] if hasattr(model, "steps") else model).tree_.node_count)


# -- ydf ------------------------------------------------------------------------------------------------------


def ydf_given(workload: Workload, x: Array) -> Any:
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

    said = model.predict(x)
    if model.task().name == "REGRESSION":
        return np.asarray(said)
    found = np.argmax(said, axis=1) if said.ndim == 2 else (said > 0.5).astype(int)
    return np.asarray([int(name) for name in model.label_classes()])[found]


# -- LightGBM and XGBoost: one tree of a boosted ensemble, thresholds on 255 bins -----------------------------


def lightgbm_fit(workload: Workload, x: Any, y: Array) -> Any:
    import lightgbm

    limits = workload.limits
    depth, least = limits.get("max_depth", -1), limits.get("min_samples_leaf", 1)
    model = (lightgbm.LGBMRegressor if workload.task == "regression" else lightgbm.LGBMClassifier)(
        n_estimators=1,
        learning_rate=1.0,
        max_depth=depth,
        num_leaves=2**depth if depth > 0 else min(MOST_LEAVES, len(y) // least),
        min_child_samples=least,
        min_child_weight=0.0,
        histogram_pool_size=POOL,
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


def plainly(model: Any, x: Any) -> Array:
    """Predict as scikit-learn's interface does."""
    found: Array = model.predict(x)
    return found


def saved(model: Any, path: Path) -> None:
    """Write a model in the library's own format."""
    model.save(str(path))


def treewise_load(path: Path) -> Any:
    """Read a forest from its file."""
    import treewise as tw

    return tw.load(path)


def ydf_load(path: Path) -> Any:
    """Read a forest from its folder."""
    import ydf

    return ydf.load_model(str(path))


def measured_elsewhere(*_: Any) -> Any:
    """Stand for what only ranger.R does."""
    raise NotImplementedError("ranger is measured by ranger.R")


LEARNERS = [
    Learner(
        "treewise",
        "treewise",
        True,
        treewise_given,
        treewise_fit,
        treewise_nodes,
        plainly,
        save=saved,
        load=treewise_load,
    ),
    Learner("scikit-learn", "sklearn", True, as_is, sklearn_fit, sklearn_nodes, plainly),
    Learner("ydf", "ydf", True, ydf_given, ydf_fit, ydf_nodes, ydf_predict, ("W1 entropy",), saved, ydf_load),
    Learner(
        "LightGBM",
        "lightgbm",
        False,
        as_is,
        lightgbm_fit,
        lightgbm_nodes,
        lambda model, x: model.predict(x.astype("category") if hasattr(x, "dtypes") else x),
        not_for=("W1 entropy", "W5"),
    ),
    Learner(
        "XGBoost", "xgboost", False, as_is, xgboost_fit, xgboost_nodes, plainly, not_for=("W1 entropy", "W3", "W5")
    ),
    Learner("ranger", "ranger", True, as_is, measured_elsewhere, len, measured_elsewhere, in_r=True),
]
