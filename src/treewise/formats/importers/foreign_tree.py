"""The common part of the importers: a binary tree of another library, and the model made of such trees.

Each importer fills a ``ForeignTree`` per tree from the arrays or the file of its library; ``build_tree`` and
``build_ensemble`` renumber the nodes in pre-order, derive the statistics of inner nodes as for any packed tree
(``ensemble/unpack.py``), check the result as a model file is checked, and return an ordinary ``Tree`` or ``Ensemble``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural
from treewise.data.encoding import Encoding
from treewise.ensemble.model import Ensemble, Method
from treewise.ensemble.packed_trees import DERIVABLE_CRITERIA, PackedTrees
from treewise.errors import DataError, ModelFormatError, ParameterError
from treewise.formats.model_file.validate_packed import check_packed
from treewise.train.fixed_point import scale_weights
from treewise.tree.arrays import LEAF, STOPS, SUBSET, THRESHOLD, Target
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_PURE, _IMPORTED = STOPS.index("pure"), STOPS.index("imported")


@dataclass(frozen=True, eq=False)
class ForeignTree:
    """A binary tree with the node numbers of its library; node 0 is the root. Entries of leaves need no split."""

    left: Ints  # the child of values up to ``cut``, or of the levels in ``codes``; -1 at a leaf
    right: Ints
    column: Ints
    cut: Floats
    missing: Ints  # the branch of missing values: 0 left, 1 right
    rows: Ints
    weight: Floats
    shares: Floats | None = None  # classification: the class probabilities, nodes × classes
    value: Floats | None = None  # regression
    spread: Floats | None = None  # regression: the standard deviation; NaN where it is not known
    impurity: Floats | None = None  # regression, unless values of inner nodes follow from their leaves
    codes: Mapping[int, Sequence[int]] = field(default_factory=dict)  # the levels of a split by a set, by node

    @classmethod
    def constant(cls, value: float, rows: int) -> ForeignTree:
        """Return a tree of one leaf: the constant that an additive model begins with."""
        one = np.ones(1)
        return cls(
            -one.astype(np.int64), -one.astype(np.int64), -one.astype(np.int64), 0 * one, np.zeros(1, np.int64),
            np.array([rows]), rows * one, value=value * one, spread=0 * one,
        )  # fmt: skip

    def change_leaves(self, change: Callable[[Floats], npt.NDArray[Any]]) -> ForeignTree:
        """Return the tree with changed leaf values."""
        assert self.value is not None
        return replace(self, value=np.where(self.left < 0, change(self.value), self.value).astype(np.float64))

    def packed(self) -> dict[str, Any]:
        """Return the arrays of ``PackedTrees`` for this tree alone."""
        order = _preorder(self.left, self.right)
        leaf = self.left[order] < 0
        inner, leaves = order[~leaf], order[leaf]
        kind = np.where(leaf, LEAF, np.where(np.isin(order, list(self.codes)), SUBSET, THRESHOLD)).astype(np.uint8)
        codes = [list(self.codes.get(node, ())) for node in inner.tolist()]
        arrays: dict[str, Any] = {
            "kind": kind,
            "column": self.column[inner],
            "cut": np.where(kind[~leaf] == THRESHOLD, self.cut[inner], 0.0),
            "missing": self.missing[inner],
            "n_codes": np.array([len(items) for items in codes], np.int64),
            "codes": np.array([code for items in codes for code in items], np.int32),
            "rows": self.rows[leaves],
        }
        return arrays | (self._class_arrays(leaves) if self.shares is not None else self._value_arrays(order, leaf))

    def _class_arrays(self, leaves: Ints) -> dict[str, Any]:
        """Return the class counts of the leaves: exact where the weights are whole numbers."""
        assert self.shares is not None
        shares, weight = self.shares[leaves], self.weight[leaves, None]
        counts = np.rint(shares * weight)
        total = counts.sum(axis=1, keepdims=True)
        if not np.array_equal(counts / np.where(total > 0, total, 1.0), shares):
            units, scale = _to_units(shares * weight)
            rounded_up = np.flatnonzero(units.argmax(axis=1) != shares.argmax(axis=1))  # rounding made a tie
            units[rounded_up, shares.argmax(axis=1)[rounded_up]] = units[rounded_up].max(axis=1) + 1
            counts = np.ldexp(units.astype(np.float64), -scale)
        leaf, class_number = np.nonzero(counts)
        n_counts = np.bincount(leaf, minlength=len(leaves))
        stop = np.where(n_counts == 1, _PURE, _IMPORTED).astype(np.uint8)
        arrays = {"stop": stop, "n_counts": n_counts, "count_class": class_number}
        return {**arrays, "count_weight": counts[leaf, class_number]}

    def _value_arrays(self, order: Ints, leaf: npt.NDArray[np.bool_]) -> dict[str, Any]:
        assert self.value is not None
        assert self.spread is not None
        nodes = order[leaf] if self.impurity is None else order
        units, scale = _to_units(self.weight[order[leaf]])
        arrays: dict[str, Any] = {
            "weight": np.ldexp(units.astype(np.float64), -scale),
            "value": self.value[nodes],
            "spread": self.spread[nodes],
            "stop": np.where(self.spread[order[leaf]] == 0, _PURE, _IMPORTED).astype(np.uint8),
        }
        return arrays if self.impurity is None else {**arrays, "impurity": self.impurity[nodes]}


def _preorder(left: Ints, right: Ints) -> Ints:
    """Return the nodes in pre-order.

    >>> _preorder(np.array([2, -1, -1]), np.array([1, -1, -1])).tolist()
    [0, 2, 1]
    """
    first, second = left.tolist(), right.tolist()
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if first[node] >= 0:
            stack += [second[node], first[node]]
    return np.array(order, np.int64)


def _to_units(weights: Floats) -> tuple[Ints, int]:
    """Return weights as whole numbers of 2^-scale whose sum is exact; zeros stay.

    >>> units, scale = _to_units(np.array([0.25, 0.0, 3.0]))
    >>> np.ldexp(units, -scale).tolist()
    [0.25, 0.0, 3.0]
    """
    positive = weights > 0
    units = np.zeros(weights.shape, np.int64)
    units[positive], scale = scale_weights(weights[positive])
    return units, scale


@dataclass(frozen=True)
class Import:
    """Facts shared by the trees of an imported model."""

    call: str  # the importing function, for the history and for messages
    source: str  # what was imported: library, class and version
    encodings: tuple[Encoding, ...]
    target: Target
    criterion: str
    notes: tuple[str, ...] = ()

    def pack(self, trees: Sequence[ForeignTree]) -> PackedTrees:
        """Pack and check the trees; raise DataError for statistics that a model cannot hold."""
        members = PackedTrees.of([tree.packed() for tree in trees])
        try:
            check_packed(members, self.encodings, self.target)
        except ModelFormatError as error:
            raise DataError(f"{self.call}: the trees of {self.source} cannot be represented: {error}.") from None
        return members

    @property
    def history(self) -> tuple[HistoryStep, ...]:
        """The history of the imported model: one step."""
        return (HistoryStep(did=self.call, options={"source": self.source}),)


def build_tree(about: Import, tree: ForeignTree) -> Tree:
    """Return a single tree as an ordinary one."""
    arrays = about.pack([tree]).unpack(0, about.criterion)
    common = (about.encodings, about.target, arrays, about.criterion)
    return Tree(*common, history=about.history, notes=about.notes)


def build_ensemble(
    about: Import, trees: Sequence[ForeignTree], method: Method, votes: Floats | None = None
) -> Ensemble:
    """Return trees as an ensemble; ``votes`` are those of AdaBoost."""
    members, n_columns = about.pack(trees), len(about.encodings)
    ensemble = Ensemble(
        method,
        about.encodings,
        about.target,
        members,
        np.ones(len(trees)) if votes is None else np.array(votes, np.float64),
        np.zeros((len(trees), n_columns)),
        about.criterion,
        history=about.history,
        notes=about.notes,
    )
    decreases = np.concatenate([member.impurity_decreases for member in ensemble])
    return ensemble.with_(decreases=np.maximum(decreases, 0.0))


def needs_node_stats(criterion: str) -> bool:
    """Return whether a regression tree must provide the impurity and the value of every node."""
    return criterion not in DERIVABLE_CRITERIA


def column_names(given: Sequence[str] | None, known: Sequence[str] | None, n: int) -> list[str]:
    """Return the names of the columns: those given, else those of the library, else x1, x2, …

    >>> column_names(None, None, 2), column_names(("a", "b"), None, 2)
    (['x1', 'x2'], ['a', 'b'])
    """
    if given is None:
        return [f"x{i}" for i in range(1, n + 1)] if known is None else [str(name) for name in known]
    names = [given] if isinstance(given, str) else list(given)
    if len(names) != n or not all(isinstance(name, str) for name in names) or len(set(names)) < n:
        raise ParameterError(
            f"must be {plural(n, 'different name')}, one per column of the model.",
            parameter="feature_names",
            value=given,
        )
    return names
