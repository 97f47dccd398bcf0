"""All ensemble estimators with a small table to fit them on."""

import treewise as tw
from treewise import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    ForestClassifier,
    ForestRegressor,
)

GROW_FUNCTIONS = {
    ForestClassifier: tw.forest,
    ForestRegressor: tw.forest,
    ExtraTreesClassifier: tw.extra_trees,
    ExtraTreesRegressor: tw.extra_trees,
    BaggingClassifier: tw.bagging,
    BaggingRegressor: tw.bagging,
    AdaBoostClassifier: tw.adaboost,
}


ALL = list(GROW_FUNCTIONS)


CLASSIFIERS = [kind for kind in ALL if kind.__name__.endswith("Classifier")]


SAMPLING_ESTIMATORS = [kind for kind in ALL if kind is not AdaBoostClassifier]


PENGUINS = tw.datasets.penguins().to_pandas()


X, Y = PENGUINS.drop(columns="species"), PENGUINS["species"]


LENGTHS = PENGUINS["bill_depth_mm"].fillna(17.0)


def target_for(kind):
    return Y if kind in CLASSIFIERS else LENGTHS


def fitted(kind, **options):
    return kind(n_estimators=4, **options).fit(X, target_for(kind))
