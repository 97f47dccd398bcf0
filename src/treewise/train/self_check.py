"""``TREEWISE_VERIFY=1``: grow every tree a second and a third time, by other means, and compare.

    the engines that the table calls for   ─┐
    the presorted engine, without bounds    ├─▶ must agree: each array bit for bit, each fact of each node
    the reference (``reference_grower.py``) ─┘   (tables of at most ``TREEWISE_VERIFY_CELLS`` cells, by default 20,000)

For those who want to see it for themselves, and for fuzzing (``fuzz/``). Members of an ensemble, and trees grown from
statistics (databases, clusters), are not checked.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from treewise import _core
from treewise._lib.caller import warn_caller
from treewise._lib.text import plural
from treewise.errors import TreewiseError
from treewise.train.reference_grower import grow_reference, reference_facts, tree_facts
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import Arrays
from treewise.tree.tree import Tree

_has_noted = False
_FACTS = ("split", "rows", "stop reason", "prediction", "counts", "missing rows", "p-value")  # of tree_facts


def check_growth(training_set: TrainingSet, grown: dict[str, Any], columns: Any, target: Any, settings: Any) -> None:
    """Grow again on the presorted engine and by the reference; raise ``TreewiseError`` where the trees differ."""
    tuning = settings.tuning
    tuning.exact_only = True
    settings.tuning, settings.n_jobs = tuning, 1
    exact = _core.grow(columns, target, settings, None)
    exact.pop("quartiles", None)
    for name, array in grown.items():
        if not np.array_equal(array, exact[name], equal_nan=array.dtype.kind == "f"):
            raise _difference("the presorted engine", f'the array "{name}"', array, exact[name])
    if len(training_set) * len(training_set.columns) > int(os.environ.get("TREEWISE_VERIFY_CELLS", "20000")):
        _note_size(training_set)
        return
    criterion = training_set.settings.criterion
    assert criterion is not None
    arrays = Arrays(**grown)
    tree = Tree(training_set.encodings, training_set.target, arrays, criterion, training_set.settings.empty_branch)
    facts, expected = tree_facts(tree), reference_facts(training_set, grow_reference(training_set))
    for node, (ours, theirs) in enumerate(zip(facts, expected, strict=False)):
        for fact, a, b in zip(_FACTS, ours, theirs, strict=True):
            if a != b:
                raise _difference("the reference", f"the {fact} of node {node}", a, b)
    if len(facts) != len(expected):
        raise _difference("the reference", "the number of nodes", len(facts), len(expected))


def _note_size(training_set: TrainingSet) -> None:
    """Say once what is not compared."""
    global _has_noted  # noqa: PLW0603
    if not _has_noted:
        _has_noted = True
        warn_caller(
            f"TREEWISE_VERIFY: {plural(len(training_set), 'row')} of {plural(len(training_set.columns), 'column')} are"
            " more cells than TREEWISE_VERIFY_CELLS (20,000 unless set). Such trees are compared with another engine,"
            " not with the reference."
        )


def _difference(other: str, name: str, ours: Any, theirs: Any) -> TreewiseError:
    return TreewiseError(
        f"TREEWISE_VERIFY: the tree differs from that of {other} in {name}: {str(ours)[:200]}, not {str(theirs)[:200]}."
        " This is a bug in treewise, please report it with the table (fuzz/reduce.py shrinks it)."
    )
