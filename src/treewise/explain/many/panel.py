"""The trees of an ensemble as a panel: asked one after another about the rows of a table.

Beneath the other files of this folder. Columns are encoded once for all trees; each tree is opened, asked and let go,
so that a large ensemble costs the memory of one tree. What a tree says is what it says by itself, as an ordinary tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewise import encode
from treewise.ensemble import Ensemble
from treewise.estimates import Estimate, shares
from treewise.evaluate.answers import class_places
from treewise.evaluate.measure import Compared, refuse_infinite, with_answers
from treewise.predict import as_row, encoded_columns, find_nodes, na_values, nodes_that_speak, read_for
from treewise.problem.roles import take_target
from treewise.table import Table, read
from treewise.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Progress = Callable[[float], None]


class Said(NamedTuple):
    """What one tree says of each row."""

    adds: Floats  # what it adds to the answer: shares of classes, its vote for a class, or a value; rows × outputs
    answer: npt.NDArray[Any]  # a class number, or a value


@dataclass(frozen=True, eq=False)
class Panel:
    """An ensemble and the rows it is asked about."""

    ensemble: Ensemble
    table: Table
    single: bool  # whether it is one row, which was not in a table
    columns: list[npt.NDArray[Any] | None]  # encoded; None for those that no tree asks about

    @classmethod
    def of(cls, ensemble: Ensemble, data: Any) -> Panel:
        """Read the rows."""
        table, single = read_for(ensemble, as_row(ensemble, data))
        return cls.on(ensemble, table, single)

    @classmethod
    def on(cls, ensemble: Ensemble, table: Table, single: bool = False) -> Panel:
        """Take a table that was read already."""
        used = set(np.unique(ensemble.members.column).tolist())
        return cls(ensemble, table, single, encoded_columns(ensemble, table, used, lambda _: "a tree"))

    def __len__(self) -> int:
        return len(self.table)

    def speakers(self, progress: Progress | None = None) -> Iterator[tuple[Tree, Ints]]:
        """Go through the trees, each with the node that answers for each row."""
        trees = len(self.ensemble)
        for t in range(trees):
            tree = self.ensemble[t]
            yield tree, nodes_that_speak(tree, find_nodes(tree, self.columns, len(self)))
            if progress is not None:
                progress((t + 1) / trees)

    def said(self, progress: Progress | None = None) -> Iterator[Said]:
        """Go through what each tree says."""
        outputs = len(self.ensemble.classes) or 1
        for t, (tree, speakers) in enumerate(self.speakers(progress)):
            if tree.task == "regression":
                values = tree.arrays.value[speakers]
                yield Said(values[:, None], values)
                continue
            labels = tree.arrays.label[speakers].astype(np.int64)
            if self.ensemble.method == "adaboost":
                yield Said(self.ensemble.votes[t] * np.eye(outputs)[labels], labels)
            else:
                reached, place = np.unique(speakers, return_inverse=True)
                yield Said(shares(tree, reached, Estimate())[place], labels)


# -- the truth --------------------------------------------------------------------------------------------------------


def with_known_answers(
    ensemble: Ensemble, data: Any, target: Any = None, sample_weight: Any = None, drop_missing_target: bool = False
) -> Compared:
    """Read a table whose answers are known: in the column that was grown for, another one, or an array."""
    table = read(data, na_values=na_values(ensemble))
    column = take_target(table, ensemble.target.name if target is None else target)
    return with_answers(table, column, drop_missing_target, sample_weight)


def true_answers(ensemble: Ensemble, here: Compared) -> npt.NDArray[Any]:
    """Return the true answers as trees say theirs: class numbers, those they do not know last; or values."""
    if ensemble.task == "classification":
        return class_places(ensemble, here.column)[0]
    truth = encode.numbers(here.column)
    refuse_infinite(truth, here)
    return truth
