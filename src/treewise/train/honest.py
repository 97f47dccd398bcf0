"""Honest estimation: one part of the rows grows the tree, the other gives its leaves their numbers.

``grow(honest=0.5)`` comes here (``train/grow.py``). Rows that choose the splits also make the leaves look better than
they are. Athey and Imbens (2016) call a tree honest if the rows in its leaves had no part in its structure: counts,
probabilities, means and their intervals then hold for other rows. Pruning is a choice of structure and uses the rows of
the structure alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewise._lib.text import plural
from treewise.errors import DataError, Param, ParameterError
from treewise.predict.predict import find_leaves
from treewise.train.canonical_rows import canonical_order
from treewise.train.constraints import note_broken_order
from treewise.train.edit import estimate
from treewise.train.resampling import choose_share, take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.fit_info import fingerprint
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree


def check_honest(share: object) -> float:
    """Return the share of rows for the leaves; raise unless it is between 0 and 1."""
    if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 < share < 1:
        raise ParameterError(
            "must be the share of rows that is kept for the leaves, between 0 and 1, such as 0.5.",
            parameter="honest",
            value=share,
        )
    return float(share)


def split_rows(training_set: TrainingSet, share: float) -> tuple[TrainingSet, TrainingSet]:
    """Return the rows of the structure and those of the leaves: at random, stratified by class or by whole groups.

    The parts depend on the seed and on the rows, not on their order in the table.

    >>> from treewise.train.grow import prepare
    >>> [len(part) for part in split_rows(prepare("penguins"), 0.25)]
    [258, 86]
    """
    by_content = canonical_order(training_set, np.asarray(training_set.weight)).astype(np.int64)
    rng = np.random.default_rng(training_set.settings.random_state)
    order = by_content[rng.permutation(len(by_content))]
    for_structure, for_leaves = choose_share(training_set, order, share, rng)
    if not len(for_structure) or not len(for_leaves):
        raise DataError(
            Param("honest", share)
            + f" of {plural(len(training_set), 'row')} leaves one part without rows. Give another share, or leave it"
            " out."
        )
    return take_rows(training_set, for_structure), take_rows(training_set, for_leaves)


def estimate_leaves(tree: Tree, rows: TrainingSet, share: float, full_training_set: TrainingSet) -> Tree:
    """Give every node the numbers of these rows; a branch without any takes its parent's (``empty_branch``).

    The history records the share, and how the rows of the whole table fall into the leaves, to recognise it later.
    """
    estimated = estimate(tree, rows, {"did": "estimate", "options": {"honest": share}})
    leaves = np.bincount(find_leaves(estimated, full_training_set.columns, len(full_training_set)), minlength=len(tree))
    *steps, last = estimated.history
    step = HistoryStep({**last, "table_rows": len(full_training_set), "table": fingerprint(leaves)})
    return replace(estimated, history=(*steps, step), notes=(*tree.notes, *note_broken_order(estimated)))
