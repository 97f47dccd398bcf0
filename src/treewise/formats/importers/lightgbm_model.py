"""Import the trees of LightGBM: ``from_lightgbm``.

Reads LightGBM's text format, which a booster writes to the last digit; LightGBM itself is not needed. Numbers are
compared as doubles, ``x <= threshold``. The bits of ``decision_type`` are 1 for a split by a set of categories, 2 for
missing values to the left, and 4·m for the kind of missing value m:

    0  none   NaN is read as 0
    1  zero   values within 1e-35 of 0, and NaN, are missing (``zero_as_missing``)
    2  NaN    NaN is missing

It reads values within 1e-35 of 0 as 0, so thresholds in that band are moved to its edges. A category is an integer
code, or with pandas a position in ``pandas_categorical``; missing and unknown ones go right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data.encoding import Encoding
from treewise.ensemble.model import Ensemble
from treewise.errors import DataError, ModelFormatError, ParameterError
from treewise.formats.importers.foreign_tree import (
    ForeignTree,
    Import,
    build_ensemble,
    build_tree,
    column_names,
)
from treewise.tree.arrays import Target
from treewise.tree.tree import Tree

_ZERO = float(np.float32(1e-35))  # values closer to 0 are zero
_IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")  # their prediction is the raw score
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_SHIFT = 1, 2, 2
_MISSING_IS_ZERO, _MISSING_IS_NAN = 1, 2


def from_lightgbm(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    target: str = "target",
    raw_score: bool = False,
) -> Tree | Ensemble:
    """Return a model of LightGBM as an ordinary one: a tree, or an ensemble whose trees add up.

    Predictions agree to the last bit, for every input, with missing values and categories.

    >>> import treewise as tw
    >>> text = '''tree
    ... version=v4
    ... num_class=1
    ... num_tree_per_iteration=1
    ... max_feature_idx=0
    ... objective=regression
    ... feature_names=age
    ... feature_infos=[18:90]
    ...
    ... Tree=0
    ... num_leaves=2
    ... num_cat=0
    ... split_feature=0
    ... threshold=30.5
    ... decision_type=10
    ... left_child=-1
    ... right_child=-2
    ... leaf_value=1.5 2.25
    ... leaf_count=40 60
    ...
    ... end of trees'''
    >>> print(tw.from_lightgbm(text, target="price"))
                                  predicts   rows     sd
    0  all rows                               100      –
    1  ├─ age <= 30.5 or missing  → 1.50       40      –
    2  └─ age > 30.5              → 2.25       60      –

    Parameters
    ----------
    model : an ``LGBMRegressor``, an ``LGBMClassifier``, a ``Booster``, the path of a text file that LightGBM saved, or
        its text.
    feature_names : the names of the columns; by default those of the model.
    target : the name of what is predicted.
    raw_score : import a model whose prediction is a function of the sum over its trees, such as a classifier of two
        classes, as a regression of that sum: what ``predict(raw_score=True)`` returns.
    """
    content = _LightGBMText.of(_text_of(model))
    content.check(raw_score)
    names = column_names(feature_names, content.fields["feature_names"].split(), content.n_columns)
    levels = content.levels()
    encodings = tuple(
        Encoding(name, "nominal", tuple(map(str, levels[i]))) if i in levels else Encoding(name, "number")
        for i, name in enumerate(names)
    )
    codes = {i: {code: position for position, code in enumerate(of_column)} for i, of_column in levels.items()}
    if content.pandas_categories:
        codes = {i: {position: position for position in range(len(of_column))} for i, of_column in levels.items()}
    trees = [_read_tree(block, names, codes) for block in content.trees]
    about = Import(
        "from_lightgbm",
        f"LightGBM {content.fields['objective'] or 'model'}",
        encodings,
        Target(target, "regression"),
        "squared_error",
    )
    if len(trees) == 1:
        return build_tree(about, trees[0])
    is_mean = content.is_averaged and not raw_score  # LightGBM does not average raw scores
    return build_ensemble(about, trees, "bagging" if is_mean else "gradient_boosting")


def _text_of(model: Any) -> str:
    """Return the text format of a booster, an estimator, a file or a text."""
    booster = getattr(model, "booster_", model) if not isinstance(model, str | PathLike) else model
    if hasattr(booster, "model_to_string"):
        return str(booster.model_to_string())
    if isinstance(model, str) and "\n" in model:
        return model
    if isinstance(model, str | PathLike):
        try:
            return Path(model).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelFormatError(f"cannot read {safe(str(model))}: {error}") from None
    raise ParameterError(
        f"cannot import a {type(model).__name__}.",
        parameter="model",
        hint="Expected a fitted model of LightGBM, or the path of a file that it saved as text.",
    )


@dataclass(frozen=True)
class _LightGBMText:
    """The parts of the text format."""

    fields: Mapping[str, str]  # before the first tree
    trees: Sequence[Mapping[str, str]]
    parameters: Mapping[str, str]
    pandas_categories: Sequence[Sequence[Any]]
    is_averaged: bool

    @classmethod
    def of(cls, text: str) -> _LightGBMText:
        """Split the text into its parts; raise ModelFormatError for anything else."""
        head, *blocks = text.split("\nTree=")
        lines = head.splitlines()
        needed = ("num_tree_per_iteration", "feature_names", "feature_infos")
        fields = dict(line.split("=", 1) for line in lines if "=" in line)
        if not lines or lines[0] != "tree" or not blocks or not all(name in fields for name in needed):
            raise ModelFormatError("this is not a model in LightGBM's text format: it begins with a line “tree”.")
        blocks[-1], _, rest = blocks[-1].partition("end of trees")
        parameters = dict(
            line[1:-1].split(": ", 1) for line in rest.splitlines() if line.startswith("[") and ": " in line
        )
        listed = [line for line in rest.splitlines() if line.startswith("pandas_categorical:")]
        categories = json.loads(listed[-1].partition(":")[2]) if listed else None
        trees = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]
        fields.setdefault("objective", "")
        return cls(fields, trees, parameters, categories or [], "average_output" in lines)

    @property
    def n_columns(self) -> int:
        return len(self.fields["feature_infos"].split())

    def check(self, raw_score: bool) -> None:
        """Raise for a model whose prediction is not a sum of trees."""
        objective = self.fields["objective"].split()
        name = objective[0] if objective else ""
        if int(self.fields["num_tree_per_iteration"]) != 1:
            raise DataError(
                f"the model ({name}) has a tree per class in every iteration; only one sum can be imported."
            )
        if any(block.get("is_linear", "0") != "0" for block in self.trees):
            raise DataError("the model has linear models in its leaves (linear_tree); only constants can be imported.")
        is_identity = name in _IDENTITY and "sqrt" not in objective
        if not raw_score and not is_identity:
            raise DataError(
                f"the prediction of this model ({name or 'unknown objective'}) is a function of the sum over its trees,"
                " which cannot be imported.",
                hint="raw_score=True imports the sum: for two classes, the log-odds of the second.",
            )

    def levels(self) -> dict[int, list[Any]]:
        """Return the levels of categorical columns: their codes, or as text the categories of pandas."""
        infos = self.fields["feature_infos"].split()
        columns = [i for i, info in enumerate(infos) if info != "none" and not info.startswith("[")]
        if not self.pandas_categories:
            return {i: sorted({int(code) for code in infos[i].split(":")} - {-1}) for i in columns}
        given = self.parameters.get("categorical_feature", "")
        if given.replace(",", "").isdigit():
            columns = sorted(map(int, given.split(",")))
        if len(columns) != len(self.pandas_categories):
            raise ModelFormatError("the categories in the model do not match its categorical columns.")
        return {i: list(values) for i, values in zip(columns, self.pandas_categories, strict=True)}


def _read_tree(block: Mapping[str, str], names: Sequence[str], codes: Mapping[int, Mapping[int, int]]) -> ForeignTree:
    """Read one tree; its splits come first, then its leaves, which LightGBM numbers -1, -2, …"""

    def numbers(name: str, dtype: Any) -> npt.NDArray[Any]:
        return np.array(block.get(name, "").split(), dtype)

    leaf_value = numbers("leaf_value", np.float64)
    n_leaves = len(leaf_value)
    n_splits = n_leaves - 1
    counts = numbers("leaf_count", np.int64) if "leaf_count" in block else np.ones(n_leaves, np.int64)
    cut, kind = numbers("threshold", np.float64), numbers("decision_type", np.int64)
    column = numbers("split_feature", np.int64)
    children = [
        np.where(child < 0, n_splits + ~child, child)
        for child in (numbers("left_child", np.int64), numbers("right_child", np.int64))
    ]
    is_set = (kind & _CATEGORICAL).astype(bool)
    missing = np.array([_missing_branch(*split, names) for split in zip(kind, cut, column, strict=True)], np.int64)
    none, zeros = np.full(n_leaves, -1), np.zeros(n_leaves, np.int64)
    rows = np.concatenate([np.zeros(n_splits, np.int64), np.maximum(counts, 1)])
    return ForeignTree(
        left=np.concatenate([children[0], none]),
        right=np.concatenate([children[1], none]),
        column=np.concatenate([column, none]),
        cut=np.concatenate([np.where(is_set, 0.0, _out_of_zero(cut)), np.zeros(n_leaves)]),
        missing=np.concatenate([missing, zeros]),
        rows=rows,
        weight=rows.astype(np.float64),
        value=np.concatenate([np.full(n_splits, np.nan), leaf_value]),
        spread=np.full(n_splits + n_leaves, np.nan),
        codes={
            node: [codes[column[node]][code] for code in _members(block, int(cut[node])) if code in codes[column[node]]]
            for node in np.flatnonzero(is_set).tolist()
        },
    )


def _out_of_zero(cut: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Move the thresholds among values that are read as 0: all of these take the branch of 0."""
    positive = np.where((cut >= 0) & (cut < _ZERO), _ZERO, cut)
    return np.where((cut < 0) & (cut >= -_ZERO), np.nextafter(-_ZERO, -np.inf), positive)


def _missing_branch(kind: int, cut: float, column: int, names: Sequence[str]) -> int:
    """Return the branch of missing values: 0 left, 1 right."""
    if kind & _CATEGORICAL:
        return 1
    missing_kind, default = int(kind) >> _MISSING_SHIFT, 0 if kind & _DEFAULT_LEFT else 1
    if missing_kind == _MISSING_IS_NAN:
        return default
    if missing_kind != _MISSING_IS_ZERO:
        return 0 if cut >= 0 else 1
    of_zero = 0 if cut >= 0 else 1
    if default != of_zero:
        raise DataError(
            f'column "{safe(names[column])}": zeros are missing values (zero_as_missing) and do not take the branch of'
            f" their value at a threshold of {cut:g}; such a split cannot be imported.",
            column=names[column],
        )
    return default


def _members(block: Mapping[str, str], index: int) -> list[int]:
    """Return the codes in one of the bit sets of a tree."""
    start, stop = (int(x) for x in block["cat_boundaries"].split()[index : index + 2])
    words = [int(word) for word in block["cat_threshold"].split()[start:stop]]
    return [32 * i + bit for i, word in enumerate(words) for bit in range(32) if word >> bit & 1]
