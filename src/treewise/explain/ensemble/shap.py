"""What each column adds to the answer of an ensemble: the Shapley values of its trees, averaged.

Stands on ``explain/shap.py``. The Shapley values of a mean are the mean of Shapley values, and an answer by votes is
the mean of what the trees decide, weighed by their votes. So they stay exact, and add up to ``predict_proba``, or the
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from treewise._lib.text import safe
from treewise.ensemble import Ensemble
from treewise.errors import ColumnError, did_you_mean
from treewise.explain.ensemble.member_predictions import MemberPredictions, Progress
from treewise.explain.shap import ShapTable, ShapValues, refuse_unfit
from treewise.predict.leaf_probabilities import LeafProbabilities
from treewise.predict.predict import also_missing, series_as_dict, to_core_columns
from treewise.tree.tree import Tree


def shap(ensemble: Ensemble, data: Any, progress: Progress | None = None) -> ShapValues:
    """Return the Shapley values of the columns for each row of a table, or for a single row (``Ensemble.shap``)."""
    data = series_as_dict(ensemble, data)
    panel = MemberPredictions.of(ensemble, data)
    if panel.single and isinstance(data, Mapping):
        refuse_gaps(ensemble, data)
    columns = to_core_columns(ensemble.encodings, panel.columns)
    outputs = len(ensemble.classes) or 1
    found = np.zeros((len(panel), len(ensemble.columns), outputs))
    base, unit = np.zeros(outputs), ensemble.voting.unit
    for t in range(len(ensemble)):
        tree = ensemble[t]
        refuse_unfit(tree)
        spread = spread_of(ensemble, tree)
        say = ensemble.votes[t]
        found += say / unit * spread.shapley(tree, columns, len(panel))
        base += say / unit * spread.base(tree)
        if progress is not None:
            progress((t + 1) / len(ensemble))
    total = float(ensemble.votes.sum())
    return ShapValues.of(found / total * unit, base / total * unit, panel.single, ensemble.columns, ensemble.target)


def spread_of(ensemble: Ensemble, tree: Tree) -> ShapTable:
    """Return how a row spreads over a tree; boosting listens to what its ends decide, not to how sure they are."""
    spread = ShapTable.of(tree, LeafProbabilities())
    if ensemble.method != "adaboost":
        return spread
    decided = np.zeros_like(spread.said)
    knows = tree.arrays.label >= 0
    decided[knows, tree.arrays.label[knows]] = 1.0
    return replace(spread, said=decided)


def refuse_gaps(ensemble: Ensemble, row: Mapping[str, Any]) -> None:
    """Refuse a single row that does not mention a column some tree asks about, on whatever path."""
    gone = [name for i in np.unique(ensemble.members.column).tolist() if (name := ensemble.columns[i]) not in row]
    if gone:
        raise ColumnError(
            f'the row has no column "{safe(gone[0])}", which a tree asks for.{did_you_mean(gone[0], map(str, row))}'
            f"{also_missing(gone[1:])} (None says that it is missing. Shapley values take all paths into account, not"
            " only the row's own.)"
        )
