"""treewise: decision trees you can read.

>>> import treewise as tw
>>> tree = tw.grow(tw.datasets.admissions(), target="Class", preset="id3")
>>> print(tree)
                                predicts  rows  P    % P
0  all rows                                 12  6   50.0
1  ├─ GPA = 3.5                 → N          4  0    0.0
2  ├─ GPA = 3.7                              5  3   60.0
3  │  ├─ Published = no                      3  1   33.3
4  │  │  ├─ University = top10  → N          1  0    0.0
5  │  │  ├─ University = top20  → P          1  1  100.0
6  │  │  └─ University = top30  → N          1  0    0.0
7  │  └─ Published = yes        → P          2  2  100.0
8  └─ GPA = 4.0                 → P          3  3  100.0

The names below are all there is, in reading order; each is imported when first used, so that ``import treewise`` and
the command line start fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treewise._version import __version__

if TYPE_CHECKING:
    from treewise import datasets as datasets
    from treewise.criteria import conditional_entropy as conditional_entropy
    from treewise.criteria import entropy as entropy
    from treewise.criteria import gini as gini
    from treewise.criteria import information_gain as information_gain
    from treewise.curves import curve as curve
    from treewise.distilling import distill as distill
    from treewise.draw.plots.impurity import draw_impurity as draw_impurity
    from treewise.draw.regions import draw_regions as draw_regions
    from treewise.draw.regions import draw_regions_grid as draw_regions_grid
    from treewise.encode import Encoding as Encoding
    from treewise.ensemble.bagging import bagging as bagging
    from treewise.ensemble.boosting import adaboost as adaboost
    from treewise.ensemble.forests import extra_trees as extra_trees
    from treewise.ensemble.forests import forest as forest
    from treewise.ensemble.model import Ensemble as Ensemble
    from treewise.errors import ColumnError as ColumnError
    from treewise.errors import DataError as DataError
    from treewise.errors import ModelFormatError as ModelFormatError
    from treewise.errors import ParameterError as ParameterError
    from treewise.errors import ParseError as ParseError
    from treewise.errors import TreewiseError as TreewiseError
    from treewise.estimators import AdaBoostClassifier as AdaBoostClassifier
    from treewise.estimators import BaggingClassifier as BaggingClassifier
    from treewise.estimators import BaggingRegressor as BaggingRegressor
    from treewise.estimators import ExtraTreesClassifier as ExtraTreesClassifier
    from treewise.estimators import ExtraTreesRegressor as ExtraTreesRegressor
    from treewise.estimators import ForestClassifier as ForestClassifier
    from treewise.estimators import ForestRegressor as ForestRegressor
    from treewise.estimators import TreeClassifier as TreeClassifier
    from treewise.estimators import TreeRegressor as TreeRegressor
    from treewise.explain.compare import compare as compare
    from treewise.explain.stability import stability as stability
    from treewise.explain.stump import stump as stump
    from treewise.explain.trace import candidates as candidates
    from treewise.files import load as load
    from treewise.growth import grow as grow
    from treewise.nodes import Node as Node
    from treewise.rivals import against as against
    from treewise.split import Multiway as Multiway
    from treewise.split import OneValue as OneValue
    from treewise.split import Ordinal as Ordinal
    from treewise.split import Subset as Subset
    from treewise.split import Threshold as Threshold
    from treewise.table import Table as Table
    from treewise.table import read as read
    from treewise.tree import Tree as Tree
    from treewise.written.parse import parse as parse

# public name → where it lives; "" is a module of its own
_HOMES = {
    "read": "table",
    "datasets": "",
    "grow": "growth",
    "candidates": "explain.trace",
    "stump": "explain.stump",
    "forest": "ensemble.forests",
    "extra_trees": "ensemble.forests",
    "bagging": "ensemble.bagging",
    "adaboost": "ensemble.boosting",
    "curve": "curves",
    "against": "rivals",
    "distill": "distilling",
    "compare": "explain.compare",
    "stability": "explain.stability",
    "draw_regions": "draw.regions",
    "draw_regions_grid": "draw.regions",
    "draw_impurity": "draw.plots.impurity",
    "parse": "written.parse",
    "load": "files",
    "TreeClassifier": "estimators",
    "TreeRegressor": "estimators",
    "ForestClassifier": "estimators",
    "ForestRegressor": "estimators",
    "ExtraTreesClassifier": "estimators",
    "ExtraTreesRegressor": "estimators",
    "BaggingClassifier": "estimators",
    "BaggingRegressor": "estimators",
    "AdaBoostClassifier": "estimators",
    "entropy": "criteria",
    "gini": "criteria",
    "conditional_entropy": "criteria",
    "information_gain": "criteria",
    "Table": "table",
    "Encoding": "encode",
    "Tree": "tree",
    "Ensemble": "ensemble.model",
    "Node": "nodes",
    "Threshold": "split",
    "Ordinal": "split",
    "OneValue": "split",
    "Subset": "split",
    "Multiway": "split",
    "TreewiseError": "errors",
    "DataError": "errors",
    "ColumnError": "errors",
    "ParameterError": "errors",
    "ParseError": "errors",
    "ModelFormatError": "errors",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - the names are the table's keys


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'treewise' has no attribute {name!r}")
    home = _HOMES[name]
    found = import_module(f"treewise.{home or name}")
    value = getattr(found, name) if home else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
