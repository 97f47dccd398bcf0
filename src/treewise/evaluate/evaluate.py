"""Compare what a tree predicts with what a table says.

Stands above ``predict/predict.py``: rows are walked to their nodes once, the rest is counting. The figures
themselves, and how they are printed, are in ``figures.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table, read
from treewise.errors import DataError, ParameterError, listing
from treewise.evaluate.ranking import Ranking
from treewise.evaluate.results import ClassificationEvaluation, Evaluation, RegressionEvaluation
from treewise.predict.costs import CostMatrix, cost_matrix_of
from treewise.predict.leaf_probabilities import LeafProbabilities, label_probabilities
from treewise.predict.predict import (
    answering_nodes,
    apply,
    check_answered,
    encode_columns,
    na_values,
    predict_at_nodes,
    subtree_sizes,
)
from treewise.train.true_labels import Ints, answers, as_compared, class_places, rows_with_answers
from treewise.train.weights import sample_weights
from treewise.tree.arrays import LEAF, Label
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """The rows that something is compared on."""

    table: Table
    column: Column  # the true answers
    rows: Ints  # which rows of the table that was given these are
    weight: Floats | None  # of each, where rows have weights


@dataclass(frozen=True, eq=False)
class PredictionComparison(ComparedRows):
    """A tree, the rows it is compared on, and where they end."""

    tree: Tree
    nodes: Ints  # the node each ends at


@dataclass(frozen=True)
class EvaluationContext:
    """What is said beside the figures."""

    root: Any  # what would be predicted without a test; None where that is not known
    seen: bool = False
    missing: str = ""
    estimate: str = "maximum_likelihood"
    many: bool = False  # trees, not one


@dataclass(frozen=True, eq=False)
class PredictedAnswers:
    """What was said of each row: its class, and how likely its true class was held."""

    labels: tuple[Label, ...]  # the classes, and then those of the table that are not among them
    truth: Ints  # places among these
    said: Ints
    chance: Floats  # of the true class
    second: Floats | None  # of two classes: the probability of the second


def evaluate(
    tree: Tree,
    data: Any,
    target: Any = None,
    *,
    drop_missing_target: bool = False,
    sample_weight: Any = None,
    estimate: Any = None,
    cost: Any = None,
) -> Evaluation:
    """Compare what a tree predicts with what a table says.

    ``target`` is the column with the true answers, by default the one the tree was grown for, or an array of them. Rows
    without one are refused, or left out with ``drop_missing_target``. A tree written by hand
    that predicts numbers is compared as classes or as values, as the column asks for. ``estimate`` is how probabilities
    are made of counts (``predict_proba``). ``cost`` says what mistakes cost (``grow``), by default what the tree
    predicts by; the tree's predictions stay as they are. With ``sample_weight``, a column's name or an array, a row of
    weight 2 counts as two and one of weight 0 not at all.

    >>> import treewise as tw
    >>> tree = tw.grow("penguins", max_leaf_nodes=4)
    >>> found = tree.evaluate("penguins")
    >>> found.n, found.errors
    (344, 13)
    >>> print(found)
    error        3.8 %   13 of 344 rows wrong; 95 % interval 2.2 to 6.4 % (Wilson)
    baseline    55.8 %   always "Adelie", the majority where the tree was grown
    log loss   0.1372 nats
    note       this looks like the table the tree was grown on; expect more errors on new rows
    <BLANKLINE>
    true \\ predicted  Adelie  Chinstrap  Gentoo  right %
    Adelie               145          7       0     95.4
    Chinstrap              5         63       0     92.6
    Gentoo                 0          1     123     99.2
    right %             96.7       88.7   100.0     96.2
    """
    here = compared(tree, data, target, drop_missing_target, sample_weight)
    tree = here.tree
    way = LeafProbabilities.of(estimate)
    if tree.task == "regression":
        if cost is not None:
            raise ParameterError("a tree that predicts numbers has no classes.", parameter="cost", hint="Leave it out.")
        return evaluate_numbers(here, way)
    matrix = cost_matrix_of(tree) if cost is None else CostMatrix.of(cost, tree.classes)
    return evaluate_classes(here, way, matrix)


def compared(
    tree: Tree, data: Any, target: Any = None, drop_missing_target: bool = False, sample_weight: Any = None
) -> PredictionComparison:
    """Read a table with known answers, and let the tree say where its rows end."""
    table = read(data, na_values=na_values(tree))
    here = with_answers(table, answers(tree, table, target), drop_missing_target, sample_weight)
    tree = as_compared(tree, here.column)
    return PredictionComparison(**vars(here), tree=tree, nodes=np.atleast_1d(apply(tree, here.table)))


def with_answers(table: Table, column: Column, drop_missing_target: bool, sample_weight: Any) -> ComparedRows:
    """Return the rows of a table that have an answer and count."""
    weight = None if sample_weight is None else sample_weights(table, sample_weight)
    rows = rows_with_answers(table, column, drop_missing_target, weight)
    if len(rows) < len(table):
        table, column, weight = table.take(rows), column.take(rows), None if weight is None else weight[rows]
    return ComparedRows(table, column, rows, weight)


def seen_before(tree: Tree, nodes: Ints) -> bool:
    """Tell whether every node gets as many rows as it kept when the tree was grown.

    One of many trees kept the rows of its bag: of the whole table a leaf gets these, and perhaps others.
    """
    found, kept = np.bincount(nodes, minlength=len(tree)), np.where(tree.arrays.kind == LEAF, tree.arrays.rows, 0)
    if tree.history and tree.history[-1].get("did") == "member":
        whole = any(step.get("rows") == len(nodes) for step in tree.history)
        return whole and bool(np.all(found >= kept))
    return bool(np.array_equal(found, kept))


def where_missing_went(tree: Tree, table: Table, nodes: Ints) -> str:
    """Say which branches took rows with a missing value, of a tree that was written: its text may not say it."""
    if tree.arrays.rows[0] > 0:
        return ""
    columns, sizes, order = encode_columns(tree, table), subtree_sizes(tree), np.argsort(nodes, kind="stable")
    sorted_nodes, any_gone, told = nodes[order], np.zeros(len(nodes), bool), []
    for node in np.flatnonzero(tree.arrays.kind != LEAF).tolist():
        first, last = np.searchsorted(sorted_nodes, [node, node + sizes[node]])
        rows, split, values = order[first:last], tree.split_at(node), columns[tree.arrays.column[node]]
        assert split is not None
        encoding = tree.encoding_of(split.column)
        if values is None or split.missing >= split.own_branches or split.asks_presence(encoding):
            continue
        gone = rows[encode.is_missing(encoding, values[rows])]
        any_gone[gone] = True
        if len(gone):
            words = split.condition(split.missing, encoding)
            told.append(f'"{words}" ({len(gone):,})')
    if not told:
        return ""
    rule = 'the branch that says "or missing", else the first'
    return f"{plural(int(any_gone.sum()), 'row')} with a missing value went with {listing(told, most=3)}: {rule}"


def evaluate_classes(
    here: PredictionComparison, way: LeafProbabilities, cost: CostMatrix | None
) -> ClassificationEvaluation:
    """Count what a tree predicted for which class, and how likely each row's class was held."""
    tree, nodes = here.tree, here.nodes
    speakers = answering_nodes(tree, nodes)
    check_answered(tree, nodes, here.table)
    truth, labels = class_places(tree, here.column)
    second = label_probabilities(tree, speakers, np.ones(len(nodes), np.int64), way) if len(tree.classes) == 2 else None
    said = predict_at_nodes(tree, speakers, way).astype(np.int64)
    majority = tree.prediction(0) if tree.arrays.rows[0] > 0 else None
    facts = EvaluationContext(majority, seen_before(tree, nodes), where_missing_went(tree, here.table, nodes), str(way))
    answers = PredictedAnswers(labels, truth, said, label_probabilities(tree, speakers, truth, way), second)
    return class_figures(here, tree.classes, answers, facts, cost)


def class_figures(
    here: ComparedRows,
    classes: tuple[Label, ...],
    found: PredictedAnswers,
    facts: EvaluationContext,
    cost: CostMatrix | None,
) -> ClassificationEvaluation:
    """Count what was said of the rows."""
    n, k, weight = len(here.table), len(classes), here.weight
    cells, place, times = np.unique(found.truth * k + found.said, return_inverse=True, return_counts=True)
    ranking = None if found.second is None else Ranking.of(classes[1], found.second, found.truth == 1, weight)
    possible = found.chance > 0
    losses = -np.log(found.chance[possible])
    of_others = mean(losses, None if weight is None else weight[possible]) if len(losses) else math.nan
    return ClassificationEvaluation(
        table=here.table.name,
        target=here.column.name,
        n=n,
        seen=facts.seen,
        missing=facts.missing,
        many=facts.many,
        classes=classes,
        labels=found.labels,
        pairs=np.stack([cells // k, cells % k, times], axis=1),
        weights=None if weight is None else np.bincount(place, weight, len(cells)).astype(np.float64),
        effective=n if weight is None else float(weight.sum() ** 2 / (weight**2).sum()),
        log_loss=of_others if possible.all() else math.inf,
        impossible_rows=tuple((here.rows[~possible] + 1).tolist()),
        log_loss_of_others=of_others,
        majority=facts.root,
        estimate=facts.estimate,
        cost_matrix=cost,
        ranking=ranking,
    )


def evaluate_numbers(here: PredictionComparison, way: LeafProbabilities) -> RegressionEvaluation:
    """Measure how far the values that a tree predicts are from the true ones."""
    tree, nodes = here.tree, here.nodes
    speakers = answering_nodes(tree, nodes)
    check_answered(tree, nodes, here.table)
    root = float(tree.arrays.value[0]) if tree.arrays.rows[0] > 0 else None
    facts = EvaluationContext(root, seen_before(tree, nodes), where_missing_went(tree, here.table, nodes), str(way))
    return number_figures(here, predict_at_nodes(tree, speakers, way), facts)


def number_figures(here: ComparedRows, said: Floats, facts: EvaluationContext) -> RegressionEvaluation:
    """Measure how far what was said is from the truth."""
    truth, weight, root = encode.encode_numbers(here.column), here.weight, facts.root
    refuse_infinite(truth, here)
    rmse, spread = root_mean_square(said - truth, weight), root_mean_square(truth - mean(truth, weight), weight)
    from_root = None if root is None else truth - root
    return RegressionEvaluation(
        table=here.table.name,
        target=here.column.name,
        n=len(here.table),
        seen=facts.seen,
        missing=facts.missing,
        many=facts.many,
        rmse=rmse,
        mae=mean(np.abs(said - truth), weight),
        r2=1 - (rmse / spread) * (rmse / spread) if truth.min() < truth.max() else None,
        root=root,
        baseline_rmse=None if from_root is None else root_mean_square(from_root, weight),
        baseline_mae=None if from_root is None else mean(np.abs(from_root), weight),
        weight=None if weight is None else float(weight.sum()),
        estimate=facts.estimate,
    )


def refuse_infinite(truth: Floats, here: ComparedRows) -> None:
    """Refuse a target of numbers that is infinite somewhere: nothing can be measured against it."""
    if not np.isfinite(truth).all():
        place = int(np.argmax(~np.isfinite(truth)))
        where = f"in row {int(here.rows[place]) + 1:,} of {here.table.name}"
        name = safe(here.column.name)
        raise DataError(f'target "{name}" is {truth[place]} {where}. Leave that row out, or correct it.')


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
