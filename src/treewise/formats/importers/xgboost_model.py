"""Import the trees of XGBoost: ``from_xgboost``.

Reads XGBoost's JSON format, which a booster writes to the last digit; XGBoost itself is not needed. Values are rounded
to float32 and compared, ``x < threshold``; missing values take the branch ``default_left``. Categories in the set of a
split go right, all others left. Leaf values are float32 and are added up in float32, which a sum of doubles repeats up
to rounding.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from treewise._lib.text import safe
from treewise.data.encoding import Encoding
from treewise.ensemble.model import Ensemble
from treewise.errors import DataError, ModelFormatError, ParameterError
from treewise.formats.importers.float32 import exact_cuts, float32_below
from treewise.formats.importers.foreign_tree import (
    ForeignTree,
    Import,
    build_ensemble,
    build_tree,
    column_names,
)
from treewise.tree.arrays import Target
from treewise.tree.tree import Tree

_IDENTITY = (
    "reg:squarederror",
    "reg:squaredlogerror",
    "reg:pseudohubererror",
    "reg:absoluteerror",
    "reg:quantileerror",
)
_LOGISTIC = ("binary:logistic", "reg:logistic")
_BY_FLOAT32 = (
    "XGBoost adds up float32 numbers; predictions agree up to its rounding, about 6 digits. Leaves agree exactly"
)
_BY_COVER = "rows and weights are XGBoost's cover (sums of hessians), which counts rows only for reg:squarederror"


def from_xgboost(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    target: str = "target",
    output_margin: bool = False,
) -> Tree | Ensemble:
    """Return a model of XGBoost as an ordinary one: a tree, or an ensemble whose trees add up.

    Every row ends at the same leaves, with missing values and categories. The prediction of a single tree agrees to the
    last bit; sums agree up to the rounding of float32, in which XGBoost adds.

    >>> import treewise as tw
    >>> tree = {"left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [0, 0, 0],
    ...         "split_conditions": [0.5, 1.0, 2.0], "default_left": [1, 0, 0], "sum_hessian": [10.0, 4.0, 6.0],
    ...         "split_type": [0, 0, 0], "categories_nodes": []}
    >>> model = {"learner": {"feature_names": ["x"], "feature_types": ["float"], "objective": {"name":
    ...     "reg:squarederror"}, "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "1"},
    ...     "gradient_booster": {"name": "gbtree", "model": {"trees": [tree]}}}}
    >>> imported = tw.from_xgboost(model)
    >>> imported.predict([0.4999999]), imported.predict([0.5]), imported.predict([None])
    (1.5, 2.5, 1.5)

    Parameters
    ----------
    model : an ``XGBRegressor``, ``XGBRFRegressor``, ``XGBClassifier``, a ``Booster``, the path of a JSON file that
        XGBoost saved, or its content as a dict.
    feature_names : the names of the columns; by default those of the model, else x1, x2, …
    target : the name of what is predicted.
    output_margin : import a classifier of two classes as a regression of the sum over its trees, the log-odds of the
        second class: what ``predict(output_margin=True)`` returns.
    """
    learner = _learner_of(model)
    base = _base_margin(learner, output_margin)
    n_columns = int(learner["learner_model_param"]["num_feature"])
    names = column_names(feature_names, learner.get("feature_names") or None, n_columns)
    content = learner["gradient_booster"]["model"]
    types = learner.get("feature_types") or ["float"] * n_columns
    levels = {i: _levels_of(content, i) for i, kind in enumerate(types) if kind == "c"}
    encodings = tuple(
        Encoding(name, "nominal", levels[i]) if i in levels else Encoding(name, "number")
        for i, name in enumerate(names)
    )
    trees = [_read_tree(tree) for tree in content["trees"]]
    objective = learner["objective"]["name"]
    notes = [_BY_COVER] * (objective != "reg:squarederror") + [_BY_FLOAT32] * (len(trees) > 1)
    about = Import(
        "from_xgboost", f"XGBoost {objective}", encodings, Target(target, "regression"), "squared_error", tuple(notes)
    )
    if len(trees) == 1:
        return build_tree(about, trees[0].change_leaves(lambda leaf: leaf.astype(np.float32) + base))
    constant = ForeignTree.constant(float(base), int(trees[0].rows[trees[0].left < 0].sum()))
    return build_ensemble(about, [constant, *trees] if base else trees, "gradient_boosting")


def _learner_of(model: Any) -> Mapping[str, Any]:
    """Return the JSON of a booster, an estimator or a file."""
    if isinstance(model, Mapping):
        content: Any = model
    elif hasattr(model, "get_booster") or hasattr(model, "save_raw"):
        content = json.loads(bytes(_booster_of(model).save_raw("json")))
    elif isinstance(model, str | PathLike):
        try:
            content = json.loads(Path(model).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelFormatError(f"cannot read {safe(str(model))} as JSON: {error}") from None
    else:
        raise ParameterError(
            f"cannot import a {type(model).__name__}.",
            parameter="model",
            hint="Expected a fitted model of XGBoost, or the path of a JSON file that it saved.",
        )
    try:
        learner: Mapping[str, Any] = content["learner"]
        name = learner["gradient_booster"]["name"]
        learner["objective"]["name"], learner["learner_model_param"]["base_score"]
    except (KeyError, TypeError):
        raise ModelFormatError("this is not a model in XGBoost's JSON format: it has no learner.") from None
    if name != "gbtree":
        raise DataError(
            f"the booster is {safe(name)}; only gbtree, whose trees are added up unscaled, can be imported."
        )
    return learner


def _booster_of(model: Any) -> Any:
    """Return the booster; for an estimator that stopped early, with the trees that it predicts with."""
    if not hasattr(model, "get_booster"):
        return model
    booster = model.get_booster()
    best = booster.attr("best_iteration")
    return booster if best is None else booster[: int(best) + 1]


def _base_margin(learner: Mapping[str, Any], output_margin: bool) -> np.float32:
    """Return the constant that is added to the trees; raise for a model whose prediction is not a sum."""
    objective, param = learner["objective"]["name"], learner["learner_model_param"]
    bases = [np.float32(text) for text in param["base_score"].strip("[]").split(",")]
    n_outputs = max(int(param["num_class"]), int(param.get("num_target", 1)), len(bases))
    if n_outputs > 1:
        raise DataError(f"the model ({safe(objective)}) has {n_outputs} outputs; only one sum can be imported.")
    if objective in _IDENTITY:
        return bases[0]
    if objective in _LOGISTIC and output_margin:
        return np.float32(-math.log(float(np.float32(1) / bases[0] - np.float32(1))))  # rounded as XGBoost rounds it
    raise DataError(
        f"the prediction of this model ({safe(objective)}) is a function of the sum over its trees, which cannot be"
        " imported.",
        hint="output_margin=True imports the sum: the log-odds of the second class." * (objective in _LOGISTIC),
    )


def _levels_of(content: Mapping[str, Any], column: int) -> tuple[str, ...]:
    """Return the levels of a categorical column by code: as stored, or the codes that its splits name."""
    stored = content.get("cats", {}).get("enc", [])
    if column < len(stored) and stored[column].get("values"):
        values = stored[column]["values"]
        if "offsets" not in stored[column]:
            return tuple(str(value) for value in values)
        text, offsets = bytes(value % 256 for value in values), stored[column]["offsets"]
        return tuple(text[start:stop].decode() for start, stop in pairwise(offsets))
    named = [
        code
        for tree in content["trees"]
        for node, codes in _category_sets(tree).items()
        if tree["split_indices"][node] == column
        for code in codes
    ]
    return tuple(str(code) for code in range(max(named, default=0) + 1))


def _category_sets(tree: Mapping[str, Any]) -> dict[int, list[int]]:
    """Return the codes that go right at each split by a set."""
    sets = zip(
        tree.get("categories_nodes", ()),
        tree.get("categories_segments", ()),
        tree.get("categories_sizes", ()),
        strict=True,
    )
    return {node: tree["categories"][start : start + size] for node, start, size in sets}


def _read_tree(tree: Mapping[str, Any]) -> ForeignTree:
    """Read one tree. ``x < t`` is ``x <= s`` with s the float32 below t."""
    left, right = np.array(tree["left_children"], np.int64), np.array(tree["right_children"], np.int64)
    conditions = np.array(tree["split_conditions"], np.float32)
    missing = np.where(np.array(tree["default_left"], bool), 0, 1)
    sets = _category_sets(tree)
    by_set = np.isin(np.arange(len(left)), list(sets))
    cover = np.array(tree["sum_hessian"], np.float64)
    return ForeignTree(
        left=np.where(by_set, right, left),
        right=np.where(by_set, left, right),
        column=np.array(tree["split_indices"], np.int64),
        cut=exact_cuts(float32_below(conditions)),
        missing=np.where(by_set, 1 - missing, missing),
        rows=np.maximum(np.rint(cover), 1).astype(np.int64),
        weight=np.maximum(cover, np.finfo(np.float32).tiny),
        value=conditions.astype(np.float64),
        spread=np.full(len(left), np.nan),
        codes=sets,
    )
