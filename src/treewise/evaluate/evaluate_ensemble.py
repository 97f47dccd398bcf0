"""Compare what many trees predict with what a table says.

Stands on ``treewise.evaluate``, which counts for one tree and for many alike; here is what many trees say of the rows,
and what they would say without a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data.table import read
from treewise.ensemble.grow import same_problem
from treewise.ensemble.model import Ensemble
from treewise.ensemble.packed_trees import PackedTrees
from treewise.errors import ParameterError, TreewiseError
from treewise.evaluate import Evaluation
from treewise.evaluate.evaluate import (
    ComparedRows,
    EvaluationContext,
    PredictedAnswers,
    class_figures,
    number_figures,
    with_answers,
)
from treewise.predict.costs import CostMatrix
from treewise.train.column_roles import take_target
from treewise.train.true_labels import class_places
from treewise.tree.arrays import Label

Floats = npt.NDArray[np.float64]


def evaluate(
    ensemble: Ensemble,
    data: Any,
    target: Any = None,
    *,
    drop_missing_target: bool = False,
    sample_weight: Any = None,
    cost: Any = None,
) -> Evaluation:
    """Compare what many trees predict with what a table says; ``treewise.evaluate.evaluate`` explains the options."""
    here = with_known_answers(ensemble, data, target, sample_weight, drop_missing_target)
    seen = seen_before(ensemble, here)
    if ensemble.task == "regression":
        if cost is not None:
            raise ParameterError("trees that predict numbers have no classes.", parameter="cost", hint="Leave it out.")
        unit = ensemble.voting.unit
        facts = EvaluationContext(float((root_values(ensemble.members) / unit).mean()) * unit, seen, many=True)
        return number_figures(here, np.asarray(ensemble.predict(here.table), np.float64), facts)
    matrix = None if cost is None else CostMatrix.of(cost, ensemble.classes)
    facts = EvaluationContext(majority_of(ensemble), seen, many=True)
    return class_figures(here, ensemble.classes, said_of(ensemble, here), facts, matrix)


def with_known_answers(
    ensemble: Ensemble, data: Any, target: Any = None, sample_weight: Any = None, drop_missing_target: bool = False
) -> ComparedRows:
    """Read a table whose answers are known: in the column that was grown for, another one, or an array."""
    table = read(data, na_values=ensemble.na_values)
    column = take_target(table, ensemble.target.name if target is None else target)
    return with_answers(table, column, drop_missing_target, sample_weight)


def seen_before(ensemble: Ensemble, here: ComparedRows) -> bool:
    """Tell whether these are the rows the trees were grown on, with the same answers.

    Weights that were an array then must be given again; others that are given here do not matter.
    """
    made = next((step for step in ensemble.history if "ensemble" in step), {})
    if made.get("rows") != len(here.table):
        return False
    weight = here.weight if made.get("sample_weight_array") else None
    try:
        same_problem(ensemble, here.table, weight, here.column, call="evaluate")
    except TreewiseError:
        return False
    return True


def said_of(ensemble: Ensemble, here: ComparedRows) -> PredictedAnswers:
    """Ask the trees for the class of each row, and how likely they hold the true one; some rows at a time."""
    voting, k, trees = ensemble.voting, len(ensemble.classes), len(ensemble)
    truth, labels = class_places(ensemble, here.column)
    columns, n, _ = voting.read(here.table)
    said, chance, second = np.empty(n, np.int64), np.zeros(n), np.empty(n) if k == 2 else None
    for rows, sums in voting.blocks(columns, n):
        shares = voting.probabilities(sums, trees)
        said[rows] = voting.best(sums, trees)
        known = np.flatnonzero(truth[rows] < k)
        chance[rows][known] = shares[known, truth[rows][known]]
        if second is not None:
            second[rows] = shares[:, 1]
    return PredictedAnswers(labels, truth, said, chance, second)


def majority_of(ensemble: Ensemble) -> Label | None:
    """Return the class that weighs most where the trees were grown, by their history.

    One that does not say it is asked by its roots, whose rows are all there or drawn evenly. Those of boosting that
    draws by weight tell nothing: None.
    """
    said: Mapping[str, Any] = next((step["ensemble"] for step in ensemble.history if "ensemble" in step), {})
    place = said.get("majority")
    if type(place) is int and 0 <= place < len(ensemble.classes):
        return ensemble.classes[place]
    return None if said.get("resample") else ensemble.classes[int(np.argmax(root_shares(ensemble)))]


def root_shares(ensemble: Ensemble) -> Floats:
    """Return the shares of the classes at the roots: of AdaBoost at the first, which has the rows' own weights."""
    m = ensemble.members.first(1) if ensemble.method == "adaboost" else ensemble.members
    tree = np.repeat(np.arange(len(m)), np.diff(m.count_start))
    table = np.zeros((len(m), len(ensemble.classes)))
    np.add.at(table, (tree, m.count_class), m.count_weight)
    shares: Floats = (table / table.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def root_values(m: PackedTrees) -> Floats:
    """Return what each root says."""
    if m.by_node:
        return m.value[m.start[:-1]].astype(np.float64)
    weight, value = m.weight.astype(np.float64), m.value.astype(np.float64)
    total = np.repeat(np.add.reduceat(weight, m.leaf_start[:-1]), np.diff(m.leaf_start))
    return np.add.reduceat(weight / total * value, m.leaf_start[:-1])
