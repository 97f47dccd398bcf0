"""scikit-learn's front: ``TreeClassifier`` and ``TreeRegressor``.

Beside the command line, on top of everything: parameters become calls, and nothing is learned here (``growth.py``
does). scikit-learn is imported with this file, so only when an estimator is touched. Parameters have the names and
defaults of ``treewise.grow``; ``docs/scikit-learn.md`` says which mean the same as scikit-learn's own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone  # type: ignore[import-untyped]
from sklearn.utils import Bunch  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from treewise import predict
from treewise.criteria import CRITERIA
from treewise.errors import ParameterError
from treewise.estimators.inputs import (
    Features,
    read_classes,
    read_features,
    read_later,
    read_quantities,
    read_weights,
    validation_table,
    with_target,
)
from treewise.explain.importances import impurity_decrease
from treewise.growth import PRUNING, grow_problem, problem_for, pruning_for
from treewise.nodes import Label, Task
from treewise.prune.in_growth import grow_and_prune
from treewise.prune.sequence import nested_trees
from treewise.table import Column, KindSpec, Table
from treewise.tree import Tree

__all__ = ["TreeClassifier", "TreeRegressor"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class TreeEstimator(BaseEstimator):  # type: ignore[misc]
    """What the two have in common: fit, and everything that only looks at the tree.

    >>> from treewise import TreeRegressor
    >>> model = TreeRegressor().fit([[1, 0], [2, 0], [3, 0]], [1.5, 4.0, 4.5])
    >>> model.get_depth(), model.get_n_leaves(), model.feature_importances_.tolist()
    (2, 3, [1.0, 0.0])
    >>> model.apply([[1, 0], [3, 0]]).tolist(), model.decision_path([[3, 0]]).toarray().tolist()
    ([1, 4], [[1, 0, 1, 0, 1]])
    """

    _task: Task
    tree_: Tree
    n_features_in_: int
    _features: Features

    def _fit(self, X: Any, column: Column, sample_weight: Any, **changed: Any) -> tuple[Tree, dict[str, Any]]:
        """Grow the tree, and return it with what every fitted estimator knows; the estimator stays as it is."""
        params = self.get_params(deep=False)
        check_criterion(params["criterion"], self._task, type(self).__name__)
        table, features = read_features(X, params["na_values"])
        n_jobs = params.pop("n_jobs")
        pruning, validation, ccp_alpha = (params.pop(name) for name in PRUNING)
        options = {**params, "random_state": seed(params["random_state"]), **changed}
        together = with_target(table, column)
        weights = read_weights(sample_weight)
        problem = problem_for(together, together.target, task=self._task, sample_weight=weights, **options)
        valid = validation_table(validation, features, problem.target, type(self).__name__)
        wanted = pruning_for(params["preset"], pruning, valid, ccp_alpha)
        tree = grow_problem(problem, n_jobs=n_jobs) if wanted is None else grow_and_prune(problem, wanted, n_jobs)
        fitted = {"n_features_in_": len(features.names), "n_outputs_": 1, "_features": features}
        if features.named:
            fitted["feature_names_in_"] = np.array(features.names, object)
        return tree, fitted

    def _become(self, **fitted: Any) -> Self:
        """Take on the outcome of a fit all at once: an interrupted one leaves the estimator as it was."""
        unfitted = {name: value for name, value in vars(self).items() if not is_fitted_name(name)}
        self.__dict__ = unfitted | fitted
        return self

    def _read(self, X: Any) -> Table:
        """Read a later X; every column the tree was given must be there, by name where there are names."""
        check_is_fitted(self)
        return read_later(X, self._features, self.tree_.columns, type(self).__name__)

    def apply(self, X: Any) -> Ints:
        """Return the number of the node each row ends at."""
        table = self._read(X)
        nodes: Ints = predict.apply(self.tree_, table)
        return nodes

    def decision_path(self, X: Any) -> Any:
        """Return a sparse matrix, one row a row of X and one column a node, with 1 at the nodes a row passes."""
        table = self._read(X)
        nodes: Ints = predict.apply(self.tree_, table)
        start = np.concatenate([[0], np.cumsum(self.tree_.depths[nodes] + 1)])
        passed = np.empty(start[-1], np.int64)
        # All rows climb together, one step at a time; each writes its path from the back, so numbers increase.
        at, place = nodes, start[1:] - 1
        while len(at):
            passed[place] = at
            above = self.tree_.arrays.parent[at]
            at, place = above[above >= 0], place[above >= 0] - 1
        return csr_matrix((np.ones(len(passed), np.int64), passed, start), shape=(len(nodes), len(self.tree_)))

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the alphas of the nested sequence of prunings, and the total impurity of the leaves from each on.

        As scikit-learn's: ``ccp_alphas`` and ``impurities``, one entry a cut, of the tree as it is before pruning.

        >>> from treewise import TreeRegressor
        >>> X, y = [[1], [2], [3]], [1.0, 2.0, 4.0]
        >>> TreeRegressor().cost_complexity_pruning_path(X, y).ccp_alphas.round(3).tolist()
        [0.0, 0.167, 1.389]
        """
        full = clone(self).set_params(pruning="none", validation=None, ccp_alpha=0.0).fit(X, y, sample_weight)
        alphas, impurities = nested_trees(full.tree_).path
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def get_depth(self) -> int:
        """Return the number of tests on the longest path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> Floats:
        """The impurity each column of X takes away, as a share of all that is taken away; zeros when nothing is."""
        check_is_fitted(self)
        importances = np.zeros(self.n_features_in_)
        position = {name: i for i, name in enumerate(self._features.names)}
        importances[[position[name] for name in self.tree_.columns]] = impurity_decrease(self.tree_)
        total = importances.sum()
        return importances / total if total > 0 else importances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def is_fitted_name(name: str) -> bool:
    """Tell what ``fit`` sets from what the user set."""
    return name.endswith("_") or name in ("_features", "_order")


def check_criterion(criterion: Any, task: Task, who: str) -> None:
    """Refuse a criterion of the other task; one that nobody knows is refused further down."""
    fitting = [known.name for known in CRITERIA.values() if known.task == task]
    if isinstance(criterion, str) and criterion in CRITERIA and criterion not in fitting:
        meant = CRITERIA[criterion].task
        raise ParameterError(f'criterion="{criterion}" is for {meant}. {who} takes {", ".join(fitting)}.')


def seed(random_state: Any) -> Any:
    """Return the seed for random ties: None is 0, so that growing twice gives the same tree."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return 0 if random_state is None else random_state


def weights_by_name(class_weight: Any, names: Mapping[object, str], n_classes: int) -> Any:
    """Write class weights by the tree's names; as in scikit-learn, a class y lacks may have one, if all others do.

    So a fold that happens to miss a class can be learned from.
    """
    if not isinstance(class_weight, Mapping):
        return class_weight
    named = {names[label]: weight for label, weight in class_weight.items() if label in names}
    if len(named) < min(len(class_weight), n_classes):
        return class_weight  # says what is wrong
    return named


def by_name(given: Any, names: Mapping[object, str]) -> Any:
    """Write what is said by class under the tree's names of the classes; lists stay as they are."""
    if not isinstance(given, Mapping):
        return given
    return {names.get(label, label) if isinstance(label, Hashable) else label: what for label, what in given.items()}


def costs_by_name(cost: Any, names: Mapping[object, str]) -> Any:
    """Write costs under the tree's names of the classes, true ones and predicted ones."""
    if hasattr(cost, "columns") and hasattr(cost, "index"):
        cost = cost.to_dict(orient="index")
    if not isinstance(cost, Mapping):
        return cost
    return {label: by_name(row, names) for label, row in by_name(cost, names).items()}


class TreeClassifier(ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """A decision tree for classes, as a scikit-learn estimator.

    Dataframes (pandas, polars, Arrow, DuckDB), arrays and lists of dicts go straight in, with text, categories,
    booleans, dates and missing values. Every parameter is one of ``treewise.grow``, with its default.

    >>> from treewise import TreeClassifier, datasets
    >>> penguins = datasets.penguins().to_polars()
    >>> X, y = penguins.drop("species"), penguins["species"]
    >>> model = TreeClassifier(max_leaf_nodes=3).fit(X, y)
    >>> print(model.tree_)
                                                predicts      rows  Adelie  Chinstrap  Gentoo
    0  all rows                                                344     152         68     124
    1  ├─ flipper_length_mm <= 206.5                           213     149         63       1
    2  │  ├─ bill_length_mm <= 43.35            → Adelie       150     145          5       0
    3  │  └─ bill_length_mm > 43.35             → Chinstrap     63       4         58       1
    4  └─ flipper_length_mm > 206.5 or missing  → Gentoo       131       3          5     123
    >>> round(model.score(X, y), 3)
    0.948
    >>> model.predict(X[:2]).tolist(), model.predict_proba(X[:1]).round(3).tolist()
    (['Adelie', 'Adelie'], [[0.967, 0.033, 0.0]])
    >>> model.predict_log_proba(X[:1]).round(1).tolist()
    [[-0.0, -3.4, -inf]]

    Attributes
    ----------
    tree_ : the tree, with everything ``treewise`` can do with one.
    classes_ : the classes, sorted; ``predict_proba`` has its columns in this order.
    n_classes_, n_features_in_, n_outputs_ : how many there are.
    feature_names_in_ : the names of the columns of X, if it had names.
    feature_importances_ : the share of each column in what the splits gain.
    """

    _task = "classification"
    classes_: npt.NDArray[Any]
    n_classes_: int
    _order: Ints  # the place in classes_ of each class of the tree, which has the positive one last

    def __init__(
        self,
        *,
        preset: str | None = None,
        criterion: str | None = None,
        categorical: str | None = None,
        kinds: Mapping[str, KindSpec] | None = None,
        ignore: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        na_values: Sequence[str] = (),
        missing: str = "learn",
        empty_branch: str = "parent",
        positive: Label | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | None = None,
        max_leaf_nodes: int | None = None,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        sufficient_accuracy: float = 1.0,
        pruning: Any = None,
        validation: Any = None,
        ccp_alpha: float = 0.0,
        class_weight: Mapping[Label, float] | str | None = None,
        priors: Any = None,
        cost: Any = None,
        drop_missing_target: bool = False,
        ties: str = "first",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.preset = preset
        self.criterion = criterion
        self.categorical = categorical
        self.kinds = kinds
        self.ignore = ignore
        self.columns = columns
        self.na_values = na_values
        self.missing = missing
        self.empty_branch = empty_branch
        self.positive = positive
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.sufficient_accuracy = sufficient_accuracy
        self.pruning = pruning
        self.validation = validation
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.priors = priors
        self.cost = cost
        self.drop_missing_target = drop_missing_target
        self.ties = ties
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on X and the classes y; ``sample_weight`` gives each row a weight, or names a column of X."""
        classes = read_classes(y, type(self).__name__)
        names = classes.names()
        changed = {
            "positive": names.get(self.positive, self.positive)
            if isinstance(self.positive, Hashable)
            else self.positive,
            "class_weight": weights_by_name(self.class_weight, names, len(classes.labels)),
            "priors": by_name(self.priors, names),
            "cost": costs_by_name(self.cost, names),
        }
        tree, fitted = self._fit(X, classes.column, sample_weight, **changed)
        # The tree's classes are texts so far, without those of weight 0, and with the positive one last.
        number = {str(label): i for i, label in enumerate(classes.labels)}
        present = np.array([number[str(label)] for label in tree.classes], np.int64)
        labels = tuple(classes.labels[i] for i in present)
        return self._become(
            **fitted,
            tree_=tree.with_(target=replace(tree.target, classes=labels)),
            classes_=classes.values[np.sort(present)],
            n_classes_=len(present),
            _order=np.argsort(np.argsort(present)),
        )

    def predict(self, X: Any, *, estimate: str | None = None) -> npt.NDArray[Any]:
        """Return the class of each row: the likeliest, or with costs the one of least expected cost.

        ``estimate`` is as in ``predict_proba``.
        """
        table = self._read(X)
        nodes: Ints = predict.apply(self.tree_, table)
        speakers = predict.nodes_that_speak(self.tree_, nodes)
        places: Ints = predict.answers_of(self.tree_, speakers, estimate)
        classes: npt.NDArray[Any] = self.classes_[self._order[places]]
        return classes

    def predict_proba(self, X: Any, *, estimate: str | None = None) -> Floats:
        """Return the probability of each class for each row, from the counts of the leaf it ends at.

        ``estimate`` is ``"maximum_likelihood"`` (the default), ``"laplace"``, ``"m_estimate"`` or ``"shrinkage"``.
        """
        table = self._read(X)
        shares = np.empty((len(table), self.n_classes_))
        shares[:, self._order] = predict.predict_proba(self.tree_, table, estimate)
        return shares

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities; of 0 it is -inf."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.predict_proba(X))
        return logs


class TreeRegressor(RegressorMixin, TreeEstimator):  # type: ignore[misc]
    """A decision tree for numbers, as a scikit-learn estimator.

    Takes what ``TreeClassifier`` takes, less what is about classes.

    >>> from treewise import TreeRegressor
    >>> X, y = [{"town": "Bari", "age": 31}, {"town": "Rome", "age": 54}, {"town": "Rome", "age": 40}], [1.5, 4.0, 4.5]
    >>> TreeRegressor(max_depth=1).fit(X, y).predict([{"town": "Rome", "age": 35}])
    array([4.25])

    Attributes
    ----------
    tree_ : the tree, with everything ``treewise`` can do with one.
    n_features_in_, n_outputs_ : how many there are.
    feature_names_in_ : the names of the columns of X, if it had names.
    feature_importances_ : the share of each column in what the splits gain.
    """

    _task = "regression"

    def __init__(
        self,
        *,
        preset: str | None = None,
        criterion: str | None = None,
        categorical: str | None = None,
        kinds: Mapping[str, KindSpec] | None = None,
        ignore: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        na_values: Sequence[str] = (),
        missing: str = "learn",
        empty_branch: str = "parent",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | None = None,
        max_leaf_nodes: int | None = None,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        pruning: Any = None,
        validation: Any = None,
        ccp_alpha: float = 0.0,
        drop_missing_target: bool = False,
        ties: str = "first",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.preset = preset
        self.criterion = criterion
        self.categorical = categorical
        self.kinds = kinds
        self.ignore = ignore
        self.columns = columns
        self.na_values = na_values
        self.missing = missing
        self.empty_branch = empty_branch
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.pruning = pruning
        self.validation = validation
        self.ccp_alpha = ccp_alpha
        self.drop_missing_target = drop_missing_target
        self.ties = ties
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on X and the numbers y; ``sample_weight`` gives each row a weight, or names a column of X."""
        column = read_quantities(y, type(self).__name__)
        tree, fitted = self._fit(X, column, sample_weight)
        return self._become(**fitted, tree_=tree)

    def predict(self, X: Any, *, estimate: str | None = None) -> Floats:
        """Return the value of the leaf each row ends at; ``estimate="shrinkage"`` shrinks it to those above it."""
        table = self._read(X)
        values: Floats = predict.predict(self.tree_, table, estimate)
        return values
