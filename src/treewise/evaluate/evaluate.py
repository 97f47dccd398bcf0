"""Evaluation: compare a model's predictions with a table whose answers are known.

Rows are encoded and walked down the trees once; the rest is counting. Written against ``Model``, so trees and ensembles
are evaluated by the same code. ``results.py`` holds and prints the results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table, read_for_model
from treewise.ensemble.grow import prepare_same_table
from treewise.ensemble.model import Ensemble
from treewise.errors import DataError, ParameterError, TreewiseError, join_few
from treewise.evaluate.metrics import Metric, effective_sample_size, mean_metric, r2_interval, rmse_interval
from treewise.evaluate.ranking import Ranking
from treewise.evaluate.regression_results import RegressionEvaluation
from treewise.evaluate.residuals import Residuals
from treewise.evaluate.results import ClassificationEvaluation, Evaluation
from treewise.predict.costs import CostMatrix, cost_matrix_of
from treewise.predict.leaf_probabilities import LeafProbabilities, default_smoothing, label_probabilities
from treewise.predict.predict import Answers, EncodedRows, TreeAnswers, encode_table, subtree_sizes
from treewise.prune.losses import poisson_deviance
from treewise.sources.lazy import rows_by_leaf
from treewise.train.exposure import find_truth, weigh_by_exposure
from treewise.train.target import (
    Ints,
    encode_known_labels,
    resolve_handwritten_task,
    select_labelled_rows,
)
from treewise.train.weights import read_sample_weights
from treewise.tree.arrays import LEAF, Label
from treewise.tree.model import Model
from treewise.tree.tree import Tree

SomeModel = TypeVar("SomeModel", bound=Model)
Floats = npt.NDArray[np.float64]

_MAX_RANKED = 50  # classes: with more, probabilities are not ranked by class
_MAX_PROBABILITIES = 50_000_000  # rows × classes in memory


@dataclass(frozen=True, eq=False)
class EvaluationRows:
    """The rows of a table that have a true label, and those labels."""

    table: Table
    column: Column  # the true labels
    rows: Ints  # their indices in the table as given
    weight: Floats | None  # of each row; None without weights


@dataclass(frozen=True, eq=False)
class EvaluationData(EvaluationRows, Generic[SomeModel]):
    """A model and the rows it is evaluated on, encoded for it."""

    model: SomeModel
    encoded: EncodedRows

    @cached_property
    def leaves(self) -> Ints:
        """The number of the node each row ends at; for an ensemble rows × trees."""
        return self.model.leaves(self.encoded)


@dataclass(frozen=True)
class _EvaluationContext:
    """Contents of a result besides the metrics."""

    root: Any  # prediction of the root; None if unknown
    is_training_data: bool = False
    missing: str = ""
    estimate: str = "maximum_likelihood"
    log_loss_estimate: str | None = None  # None: the same
    is_ensemble: bool = False
    has_row_numbers: bool = True  # False: the rows were counted where they are


@dataclass(frozen=True, eq=False)
class _PredictedLabels:
    """The predicted class of each row, and probabilities."""

    labels: tuple[Label, ...]  # the classes of the model, then other labels of the table
    y_true: Ints  # indices into labels
    y_pred: Ints
    loss_probability: Floats  # of the true class, by the estimate that the log loss uses
    probability_of: dict[int, Floats]  # by class: the second of two, every one of more; none if there are too many


def evaluate(
    model: Model,
    data: Any,
    target: Any = None,
    *,
    drop_missing_target: bool = False,
    sample_weight: Any = None,
    estimate: Any = None,
    cost: Any = None,
) -> Evaluation:
    """Compare the predictions of a model with the true labels of a table.

    ``target`` is the column of true labels, by default the one the model was grown for, or an array of labels. Rows
    without one are refused, or left out with ``drop_missing_target``. A tree written by hand that predicts numbers is
    compared as classes or as values, depending on the column. ``estimate`` is how probabilities
    are made of counts (``predict_proba``); without it, the log loss of a tree is that of Laplace's estimate, which is
    never infinite because a leaf lacks a class. ``cost`` are the costs of mistakes (``grow``), by default what the tree
    predicts by; the tree's predictions stay as they are. With ``sample_weight``, a column's name or an array, a row of
    weight 2 counts as two and one of weight 0 not at all.

    >>> import treewise as tw
    >>> tree = tw.grow("penguins", max_leaf_nodes=4)
    >>> evaluation = tree.evaluate("penguins")
    >>> evaluation.n, evaluation.errors
    (344, 13)
    >>> print(evaluation)
    error        3.8 %   13 of 344 rows wrong; training range 2.2 to 6.4 % (Wilson)
    baseline    55.8 %   always "Adelie", the majority where the tree was grown
    log loss   0.1492 nats (laplace)
    note       this looks like the table the tree was grown on; expect more errors on new rows
    <BLANKLINE>
    true \\ predicted  Adelie  Chinstrap  Gentoo  right %
    Adelie               145          7       0     95.4
    Chinstrap              5         63       0     92.6
    Gentoo                 0          1     123     99.2
    right %             96.7       88.7   100.0     96.2
    <BLANKLINE>
    class      rows  precision %  training range  recall %  training range  F1 %  training range     AUC
    Adelie      152         96.7    92.4 to 98.6      95.4    90.8 to 97.8  96.0    93.1 to 97.7  0.9814
    Chinstrap    68         88.7    79.3 to 94.2      92.6    83.9 to 96.8  90.6    84.3 to 94.6  0.9691
    Gentoo      124        100.0   97.0 to 100.0      99.2    95.6 to 99.9  99.6    97.7 to 99.9  0.9989
    mean                    95.1                      95.7    92.2 to 97.4  95.4                  0.9831
    """
    counted = rows_by_leaf(model, data, target, sample_weight)
    rows = data if counted is None else counted
    compared = prepare_evaluation(model, rows, target, drop_missing_target, sample_weight)
    model = compared.model
    if model.task == "regression" and cost is not None:
        subject = "a tree that predicts" if isinstance(model, Tree) else "trees that predict"
        has = "has" if isinstance(model, Tree) else "have"
        raise ParameterError(f"{subject} numbers {has} no classes.", parameter="cost", hint="Leave it out.")
    answers = model.answers(compared.encoded, estimate)
    context = _EvaluationContext(
        model.baseline,
        looks_like_training_data(compared, answers.leaves),
        _where_missing_went(answers),
        str(LeafProbabilities.of(estimate)),
        is_ensemble=not isinstance(model, Tree),
        has_row_numbers=counted is None,
    )
    if model.task == "regression":
        evaluation = _evaluate_numbers(compared, answers.values(), context)
        if model.criterion == "poisson":
            evaluation = _with_deviance(evaluation, compared, answers.values())
        return replace(evaluation, display=model.display)
    matrix = CostMatrix.of(cost, model.classes) if cost is not None else cost_matrix_of(model)
    truth, labels = encode_known_labels(model, compared.column)
    predicted = _predict_labels(answers, truth, labels)
    if estimate is None and isinstance(answers, TreeAnswers) and answers.tree.arrays.rows[0] > 0:
        smoothed = label_probabilities(answers.tree, answers.nodes, truth, default_smoothing(answers.tree))
        predicted = replace(predicted, loss_probability=smoothed)
        context = replace(context, log_loss_estimate=default_smoothing(answers.tree).name)
    return replace(_evaluate_classes(compared, model.classes, predicted, context, matrix), display=model.display)


def prepare_evaluation(
    model: SomeModel, data: Any, target: Any = None, drop_missing_target: bool = False, sample_weight: Any = None
) -> EvaluationData[SomeModel]:
    """Read a table with true labels and encode it for the model."""
    table = read_for_model(data, model.na_values)
    weight = None if sample_weight is None else read_sample_weights(table, sample_weight)
    if model.fit_info.fit_options.predicts_rates:
        weight = weigh_by_exposure(model, table, np.ones(len(table)) if weight is None else weight)
    rows = _rows_with_labels(table, find_truth(model, table, target), drop_missing_target, weight)
    model = resolve_handwritten_task(model, rows.column)
    return EvaluationData(**vars(rows), model=model, encoded=encode_table(model, rows.table))


def _rows_with_labels(table: Table, column: Column, drop_missing_target: bool, weight: Floats | None) -> EvaluationRows:
    """Return the rows of a table that have a label and a positive weight."""
    rows = select_labelled_rows(table, column, drop_missing_target, weight)
    if len(rows) < len(table):
        table, column, weight = table.take(rows), column.take(rows), None if weight is None else weight[rows]
    return EvaluationRows(table, column, rows, weight)


def looks_like_training_data(compared: EvaluationData[Any], leaves: Ints | None = None) -> bool:
    """Tell whether these look like the rows the model was trained on.

    For a tree: every leaf gets as many rows as in training. A member of an ensemble was trained on a sample, so of the
    whole table its leaves get at least these; an honest tree records how the whole table falls into its leaves. For an
    ensemble: the rows and answers have the recorded fingerprint. Weights that were an array in training must be given
    again; others given here do not matter.
    """
    if isinstance(tree := compared.model, Tree):
        leaves = compared.leaves if leaves is None else leaves
        counts = np.bincount(leaves, minlength=len(tree))
        training_counts = np.where(tree.arrays.kind == LEAF, tree.arrays.rows, 0)
        info = tree.fit_info
        if info.origin == "member":
            return len(leaves) in info.row_counts and bool(np.all(counts >= training_counts))
        if info.honest is not None and info.honest.is_whole_table(counts):
            return True
        return bool(np.array_equal(counts, training_counts))
    ensemble: Ensemble = compared.model
    if ensemble.fit_info.row_counts[:1] != (len(compared.table),):
        return False
    weight = compared.weight if ensemble.fit_info.has_weight_array else None
    try:
        rates = ensemble.fit_info.fit_options.predicts_rates  # whose counts are in the table
        prepare_same_table(ensemble, compared.table, weight, None if rates else compared.column, call="evaluate")
    except TreewiseError:
        return False
    return True


def _where_missing_went(answers: Answers) -> str:
    """Describe which branches took rows with a missing value, for a hand-written tree, whose text may omit it."""
    if not isinstance(answers, TreeAnswers) or answers.tree.arrays.rows[0] > 0:
        return ""
    tree, nodes, columns = answers.tree, answers.leaves, answers.rows.columns
    assert nodes is not None
    sizes, order = subtree_sizes(tree), np.argsort(nodes, kind="stable")
    sorted_nodes, has_missing, branches = nodes[order], np.zeros(len(nodes), bool), []
    for node in np.flatnonzero(tree.arrays.kind != LEAF).tolist():
        first, last = np.searchsorted(sorted_nodes, [node, node + sizes[node]])
        rows, split, values = order[first:last], tree.split_at(node), columns[tree.arrays.column[node]]
        assert split is not None
        encoding = tree.encoding_of(split.column)
        if values is None or split.separates_missing:
            continue
        missing_rows = rows[encode.is_missing(encoding, values[rows])]
        has_missing[missing_rows] = True
        if len(missing_rows):
            condition = split.condition(split.missing, encoding)
            branches.append(f'"{condition}" ({len(missing_rows):,})')
    if not branches:
        return ""
    rule = 'the branch that says "or missing", else the first'
    return (
        f"{plural(int(has_missing.sum()), 'row')} with a missing value went with {join_few(branches, limit=3)}: {rule}"
    )


def _predict_labels(answers: Answers, truth: Ints, labels: tuple[Label, ...]) -> _PredictedLabels:
    """Predict classes and probabilities; those of every class only if the table of them is not too large."""
    k = len(answers.model.classes)
    if not 2 < k <= _MAX_RANKED or len(truth) * k > _MAX_PROBABILITIES:
        predicted, of_truth, second = answers.likelihoods(truth)
        return _PredictedLabels(labels, truth, predicted, of_truth, {} if second is None else {1: second})
    probabilities = answers.probabilities()
    of_truth, known = np.zeros(len(truth)), np.flatnonzero(truth < k)
    of_truth[known] = probabilities[known, truth[known]]
    predicted = answers.class_numbers().astype(np.int64)
    return _PredictedLabels(labels, truth, predicted, of_truth, dict(enumerate(probabilities.T)))


def _brier_score(predictions: _PredictedLabels, weight: Floats | None) -> Metric:
    """Return the mean squared difference of probability and outcome: of the positive class, or summed over classes."""
    if not predictions.probability_of:
        return Metric("brier", None)
    losses = sum(
        (probability - (predictions.y_true == number)) ** 2
        for number, probability in predictions.probability_of.items()
    )
    return mean_metric("brier", np.asarray(losses, np.float64), weight)


def _evaluate_classes(
    rows: EvaluationRows,
    classes: tuple[Label, ...],
    predictions: _PredictedLabels,
    context: _EvaluationContext,
    cost: CostMatrix | None,
) -> ClassificationEvaluation:
    """Count correct and wrong predictions."""
    n, k, weight = len(rows.table), len(classes), rows.weight
    cells, inverse, counts = np.unique(
        predictions.y_true * k + predictions.y_pred, return_inverse=True, return_counts=True
    )
    rankings = tuple(
        Ranking.of(classes[number], probability, predictions.y_true == number, weight)
        for number, probability in predictions.probability_of.items()
    )
    possible = predictions.loss_probability > 0
    losses = -np.log(predictions.loss_probability[possible])
    loss = mean_metric("log_loss", losses, None if weight is None else weight[possible]) if len(losses) else None
    of_others = mean(losses, None if weight is None else weight[possible]) if len(losses) else math.nan
    return ClassificationEvaluation(
        table=rows.table.name,
        target=rows.column.name,
        n=n,
        is_training_data=context.is_training_data,
        missing=context.missing,
        is_ensemble=context.is_ensemble,
        classes=classes,
        labels=predictions.labels,
        pairs=np.stack([cells // k, cells % k, counts], axis=1),
        weights=None if weight is None else np.bincount(inverse, weight, len(cells)).astype(np.float64),
        effective_n=effective_sample_size(n, weight),
        log_loss=of_others if possible.all() else math.inf,
        log_loss_interval=loss.interval if loss is not None and possible.all() else None,
        brier=_brier_score(predictions, weight),
        impossible_rows=tuple((rows.rows[~possible] + 1).tolist()),
        has_row_numbers=context.has_row_numbers,
        log_loss_of_others=of_others,
        majority=context.root,
        estimate=context.estimate,
        log_loss_estimate=context.log_loss_estimate or context.estimate,
        cost_matrix=cost,
        rankings=rankings,
    )


def _evaluate_numbers(rows: EvaluationRows, y_pred: Floats, context: _EvaluationContext) -> RegressionEvaluation:
    """Measure the errors of predicted numbers."""
    y_true, weight, root = encode.encode_numbers(rows.column), rows.weight, context.root
    refuse_infinite(y_true, rows)
    rmse, spread = root_mean_square(y_pred - y_true, weight), root_mean_square(y_true - mean(y_true, weight), weight)
    from_root = None if root is None else y_true - root
    absolute = mean_metric("mae", np.abs(y_pred - y_true), weight)
    return RegressionEvaluation(
        table=rows.table.name,
        target=rows.column.name,
        n=len(rows.table),
        is_training_data=context.is_training_data,
        missing=context.missing,
        is_ensemble=context.is_ensemble,
        rmse=rmse,
        mae=mean(np.abs(y_pred - y_true), weight),
        r2=1 - (rmse / spread) * (rmse / spread) if y_true.min() < y_true.max() else None,
        rmse_interval=rmse_interval(y_pred - y_true, weight),
        mae_interval=absolute.interval,
        r2_interval=r2_interval(y_true, y_pred - y_true, weight),
        root=root,
        baseline_rmse=None if from_root is None else root_mean_square(from_root, weight),
        baseline_mae=None if from_root is None else mean(np.abs(from_root), weight),
        residuals=Residuals.of(y_true, y_pred, weight),
        weight=None if weight is None else float(weight.sum()),
        estimate=context.estimate,
    )


def _with_deviance(evaluation: RegressionEvaluation, rows: EvaluationRows, y_pred: Floats) -> RegressionEvaluation:
    """Add the mean Poisson deviance, unless some of the true numbers are below 0."""
    y_true, weight, root = encode.encode_numbers(rows.column), rows.weight, evaluation.root
    if y_true.min() < 0 or y_pred.min() < 0:
        return evaluation
    losses, from_root = (poisson_deviance(y_true, np.full(len(y_true), rate)) for rate in (y_pred, root or 0.0))
    is_finite = np.isfinite(losses).all()
    deviance = mean_metric("poisson_deviance", losses, weight) if is_finite else Metric("poisson_deviance", math.inf)
    baseline = None if root is None else mean(from_root, weight) if np.isfinite(from_root).all() else math.inf
    return replace(evaluation, deviance=deviance, baseline_deviance=baseline)


def refuse_infinite(truth: Floats, rows: EvaluationRows) -> None:
    """Refuse a target of numbers that is infinite somewhere: nothing can be measured against it."""
    if not np.isfinite(truth).all():
        first = int(np.argmax(~np.isfinite(truth)))
        where = f"in row {int(rows.rows[first]) + 1:,} of {rows.table.name}"
        name = safe(rows.column.name)
        raise DataError(f'target "{name}" is {truth[first]} {where}. Leave that row out, or correct it.')


def mean(values: Floats, weight: Floats | None) -> float:
    """Return the mean, of weighted rows the weighted one; the same in any order of rows, without overflow.

    >>> mean(np.array([1.0, 4.0]), None), mean(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    (2.5, 2.0)
    """
    top = float(np.max(np.abs(values))) or 1.0
    share = np.ones(len(values)) if weight is None else weight / weight.max()
    return top * (math.fsum((values / top * share).tolist()) / math.fsum(share.tolist())) + 0.0


def root_mean_square(values: Floats, weight: Floats | None) -> float:
    """Return the root of the mean of squares, without overflow on the way."""
    top = float(np.max(np.abs(values)))
    return top * math.sqrt(mean((values / top) ** 2, weight)) if top > 0 else 0.0
