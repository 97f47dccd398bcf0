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

from treewise._version import __version__

TYPE_CHECKING = False  # as in typing, which takes long to import: Ctrl-C shows a traceback until cli.main runs

if TYPE_CHECKING:
    from typing import Any

    from treewise import datasets as datasets
    from treewise import mlflow as mlflow
    from treewise.data.encoding import Encoding as Encoding
    from treewise.data.table import Table as Table
    from treewise.data.table import read as read
    from treewise.edit.editor import Editor as Editor
    from treewise.ensemble.adaboost import adaboost as adaboost
    from treewise.ensemble.bagging import bagging as bagging
    from treewise.ensemble.forest import extra_trees as extra_trees
    from treewise.ensemble.forest import forest as forest
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
    from treewise.estimators import OptimalTreeClassifier as OptimalTreeClassifier
    from treewise.estimators import OptimalTreeRegressor as OptimalTreeRegressor
    from treewise.estimators import TreeClassifier as TreeClassifier
    from treewise.estimators import TreeRegressor as TreeRegressor
    from treewise.evaluate.baselines.compare_models import compare_models as compare_models
    from treewise.evaluate.baselines.indicators import indicators as indicators
    from treewise.evaluate.baselines.knn_lesson import knn_curve as knn_curve
    from treewise.evaluate.baselines.knn_lesson import knn_scaling as knn_scaling
    from treewise.evaluate.paired import evaluate_pair as evaluate_pair
    from treewise.evaluate.validation_curve.curve import curve as curve
    from treewise.explain.compare.compare import compare as compare
    from treewise.explain.describe import describe as describe
    from treewise.explain.distill.distill import distill as distill
    from treewise.explain.exercise.exercise import exercise as exercise
    from treewise.explain.exercise.marking import check_answers as check_answers
    from treewise.explain.stability.stability import stability as stability
    from treewise.explain.stump import stump as stump
    from treewise.explain.trace import candidates as candidates
    from treewise.explain.worked.count_trees import count_trees as count_trees
    from treewise.explain.worked.huffman import huffman_code as huffman_code
    from treewise.explain.worked.impurity import worked_impurity as worked_impurity
    from treewise.explain.worked.joint import joint as joint
    from treewise.formats.importers.lightgbm_model import from_lightgbm as from_lightgbm
    from treewise.formats.importers.sklearn_trees import from_sklearn as from_sklearn
    from treewise.formats.importers.xgboost_model import from_xgboost as from_xgboost
    from treewise.formats.model_file.model_file import load as load
    from treewise.formats.text_format.parse import parse as parse
    from treewise.formats.verify.verify import verify_export as verify_export
    from treewise.show.picture.picture import draw_trees as draw_trees
    from treewise.show.plots.boosting import draw_boosting_weights as draw_boosting_weights
    from treewise.show.plots.splits import draw_impurity as draw_impurity
    from treewise.show.regions.regions import draw_points as draw_points
    from treewise.show.regions.regions import draw_regions as draw_regions
    from treewise.show.regions.regions import draw_regions_grid as draw_regions_grid
    from treewise.train.criteria import conditional_entropy as conditional_entropy
    from treewise.train.criteria import entropy as entropy
    from treewise.train.criteria import gini as gini
    from treewise.train.criteria import information_gain as information_gain
    from treewise.train.grow import grow as grow
    from treewise.train.optimal.certificate import check_certificate as check_certificate
    from treewise.train.optimal.optimal import optimal as optimal
    from treewise.train.optimal.smallest import smallest as smallest
    from treewise.tree.arrays import Node as Node
    from treewise.tree.splits import Multiway as Multiway
    from treewise.tree.splits import OneValue as OneValue
    from treewise.tree.splits import Ordinal as Ordinal
    from treewise.tree.splits import Presence as Presence
    from treewise.tree.splits import Subset as Subset
    from treewise.tree.splits import Threshold as Threshold
    from treewise.tree.tree import Tree as Tree
    from treewise.workbench.explore import explore as explore
    from treewise.workbench.lesson.lesson import lesson as lesson

# public name → where it lives; "" is a module of its own
_HOMES = {
    "read": "data.table",
    "datasets": "",
    "grow": "train.grow",
    "optimal": "train.optimal.optimal",
    "smallest": "train.optimal.smallest",
    "check_certificate": "train.optimal.certificate",
    "candidates": "explain.trace",
    "stump": "explain.stump",
    "Editor": "edit.editor",
    "explore": "workbench.explore",
    "lesson": "workbench.lesson.lesson",
    "forest": "ensemble.forest",
    "extra_trees": "ensemble.forest",
    "bagging": "ensemble.bagging",
    "adaboost": "ensemble.adaboost",
    "curve": "evaluate.validation_curve.curve",
    "compare_models": "evaluate.baselines.compare_models",
    "evaluate_pair": "evaluate.paired",
    "knn_curve": "evaluate.baselines.knn_lesson",
    "knn_scaling": "evaluate.baselines.knn_lesson",
    "indicators": "evaluate.baselines.indicators",
    "describe": "explain.describe",
    "distill": "explain.distill.distill",
    "compare": "explain.compare.compare",
    "stability": "explain.stability.stability",
    "draw_trees": "show.picture.picture",
    "draw_points": "show.regions.regions",
    "draw_regions": "show.regions.regions",
    "draw_regions_grid": "show.regions.regions",
    "draw_impurity": "show.plots.splits",
    "draw_boosting_weights": "show.plots.boosting",
    "parse": "formats.text_format.parse",
    "load": "formats.model_file.model_file",
    "verify_export": "formats.verify.verify",
    "from_sklearn": "formats.importers.sklearn_trees",
    "from_lightgbm": "formats.importers.lightgbm_model",
    "from_xgboost": "formats.importers.xgboost_model",
    "mlflow": "",
    "TreeClassifier": "estimators",
    "TreeRegressor": "estimators",
    "OptimalTreeClassifier": "estimators",
    "OptimalTreeRegressor": "estimators",
    "ForestClassifier": "estimators",
    "ForestRegressor": "estimators",
    "ExtraTreesClassifier": "estimators",
    "ExtraTreesRegressor": "estimators",
    "BaggingClassifier": "estimators",
    "BaggingRegressor": "estimators",
    "AdaBoostClassifier": "estimators",
    "count_trees": "explain.worked.count_trees",
    "exercise": "explain.exercise.exercise",
    "check_answers": "explain.exercise.marking",
    "worked_impurity": "explain.worked.impurity",
    "joint": "explain.worked.joint",
    "huffman_code": "explain.worked.huffman",
    "entropy": "train.criteria",
    "gini": "train.criteria",
    "conditional_entropy": "train.criteria",
    "information_gain": "train.criteria",
    "Table": "data.table",
    "Encoding": "data.encoding",
    "Tree": "tree.tree",
    "Ensemble": "ensemble.model",
    "Node": "tree.arrays",
    "Threshold": "tree.splits",
    "Ordinal": "tree.splits",
    "OneValue": "tree.splits",
    "Subset": "tree.splits",
    "Multiway": "tree.splits",
    "Presence": "tree.splits",
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
    from importlib import import_module

    home = _HOMES[name]
    module = import_module(f"treewise.{home or name}")
    value = getattr(module, name) if home else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
