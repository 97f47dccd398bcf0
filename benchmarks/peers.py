"""How each library is asked for the same tree: its defaults, but for the limits, no regularisation, and two threads.

A learner takes a workload and cells as a user of that library would have them (``given``, not timed), and fits;
encoding text is part of fitting. Libraries that are not installed are left out, with a message.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.workloads import Array, Workload, text_columns

THREADS = 2
MOST_LEAVES = 131_072  # LightGBM's limit …
POOL = 2048  # … and MB for its histograms, which otherwise fill the memory of a small machine


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

    @property
    def installed(self) -> bool:
        """Whether the library can be imported."""
        return importlib.util.find_spec(self.module) is not None


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
    return tw.grow(x, y, task=workload.task, criterion=criterion, **workload.limits)


# -- scikit-learn ---------------------------------------------------------------------------------------------


def sklearn_fit(workload: Workload, x: Any, y: Array) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if workload.task == "regression":
        return DecisionTreeRegressor(random_state=0, **workload.limits).fit(x, y)
    tree = DecisionTreeClassifier(criterion=workload.criterion, random_state=0, **workload.limits)
    return (make_pipeline(OrdinalEncoder(), tree) if workload.text else tree).fit(x, y)


def sklearn_nodes(model: Any) -> int:
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
    return ydf.CartLearner(
        label="y",
        task=ydf.Task.REGRESSION if workload.task == "regression" else ydf.Task.CLASSIFICATION,
        max_depth=limits["max_depth"] + 1 if "max_depth" in limits else -1,  # counts the root
        min_examples=limits.get("min_samples_leaf", 1),
        validation_ratio=0.0,  # no pruning
        num_threads=THREADS,
    ).train({**x, "y": y})


def ydf_nodes(model: Any) -> int:
    """Count the nodes of ydf's tree without recursion."""
    waiting, nodes = [model.get_tree(0).root], 0
    while waiting:
        node = waiting.pop()
        nodes += 1
        if not node.is_leaf:
            waiting += [node.pos_child, node.neg_child]
    return nodes


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


LEARNERS = [
    Learner("treewise", "treewise", True, treewise_given, treewise_fit, len, plainly),
    Learner("scikit-learn", "sklearn", True, as_is, sklearn_fit, sklearn_nodes, plainly),
    Learner("ydf", "ydf", True, ydf_given, ydf_fit, ydf_nodes, ydf_predict, not_for=("W1 entropy",)),
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
]
