"""The structure of a tree: its node arrays, with the encodings and the target that give the numbers their meaning.

Uses ``tree/arrays.py``; used by ``tree/tree.py``, whose ``Tree`` adds prediction, editing, explanation and display.
They are apart because they are two layers: nothing here needs more than the tree itself (no table, no core, no file),
while every method of ``Tree`` calls code that is built on trees. The regions of nodes (``tree/regions/``) and whatever
else only reads a tree take a ``TreeStructure``.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural
from treewise.data.encoding import Encoding
from treewise.errors import brief
from treewise.tree.arrays import LEAF, STOPS, Arrays, Label, Node, Target
from treewise.tree.display import Display
from treewise.tree.model import Model
from treewise.tree.splits import Split


@dataclass(frozen=True, eq=False)
class TreeStructure(Model):
    """Columns, target, nodes and history of a tree; only ``Tree`` is instantiated.

    >>> import treewise as tw
    >>> tree = tw.grow(tw.datasets.admissions(), target="Class", preset="id3")
    >>> tree.task, tree.classes, tree.columns, tree.na_values
    ('classification', ('N', 'P'), ('GPA', 'University', 'Published', 'Recommendation'), ())
    >>> tree.n_leaves, tree.depth, tree.depths.tolist(), len(tree.nodes)
    (6, 3, [0, 1, 1, 2, 3, 3, 3, 2, 1], 9)

    The facts of a node, by its number (``tree[2]`` has all of them):

    >>> tree.condition(2), tree.children(2), tree.branch(2), tree.heavier(2), tree.check_node(2)
    ('GPA = 3.7', (3, 7), 1, 0, 2)
    >>> tree.counts(2), tree.prediction(2), tree.probabilities(2).tolist()
    ({'N': 2.0, 'P': 3.0}, 'P', [0.4, 0.6])
    >>> tree.split_at(1) is None, tree.encoding_of("Published").levels, tree.with_(notes=()).notes
    (True, ('no', 'yes'), ())
    """

    encodings: tuple[Encoding, ...]
    target: Target
    arrays: Arrays
    criterion: str = "entropy"
    empty_branch: Literal["parent", "root"] = "parent"
    history: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    quartiles: Mapping[str, tuple[float, float]] = field(
        default_factory=dict
    )  # of numeric columns (train/training_set.py)
    display: Display | None = None  # the words for readers

    # -- the shape ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.arrays)

    @cached_property
    def n_leaves(self) -> int:
        """How many leaves there are."""
        return int(np.count_nonzero(self.arrays.kind == LEAF))

    @cached_property
    def depth(self) -> int:
        """The number of tests on the longest path."""
        return int(self.depths.max())

    @property
    def depths(self) -> npt.NDArray[np.int64]:
        """The depth of every node."""
        return self.arrays.depths

    def children(self, node: int) -> tuple[int, ...]:
        """Return a node's children in branch order."""
        (start, child), node = self.arrays.child_lists, self.check_node(node)
        return tuple(child[start[node] : start[node + 1]].tolist())

    def branch(self, node: int) -> int | None:
        """Return which branch of its parent a node is."""
        branch = int(self.arrays.branches[self.check_node(node)])
        return None if branch < 0 else branch

    def check_node(self, node: Any) -> int:
        """Return a node number as an int; raise if there is no such node."""
        try:
            number = operator.index(node)
        except TypeError:
            raise TypeError(f"a node number must be an integer, 0 to {len(self) - 1}, not {brief(node)}") from None
        if not 0 <= number < len(self):
            raise IndexError(f"no node {number}: the tree has nodes 0 to {len(self) - 1}")
        return number

    def __getitem__(self, node: int) -> Node:
        """Return a readable view of one node."""
        a, node = self.arrays, self.check_node(node)
        return Node(
            id=node,
            parent=None if a.parent[node] < 0 else int(a.parent[node]),
            branch=self.branch(node),
            depth=int(self.depths[node]),
            children=self.children(node),
            split=self.split_at(node),
            stop=STOPS[a.stop[node]],
            rows=int(a.rows[node]),
            weight=float(a.weight[node]),
            missing_rows=int(a.missing_rows[node]),
            impurity=float(a.impurity[node]),
            gain=float(a.gain[node]),
            prediction=self.prediction(node),
            counts=self.counts(node),
            spread=float(a.spread[node]) if len(a.spread) else 0.0,
            p_value=float(a.p_value[node]) if len(a.p_value) and not np.isnan(a.p_value[node]) else None,
        )

    @property
    def nodes(self) -> Sequence[Node]:
        """All nodes in pre-order."""
        return [self[i] for i in range(len(self))]

    def __iter__(self) -> Iterator[Node]:
        """Iterate over the nodes in pre-order."""
        return (self[i] for i in range(len(self)))

    # -- one node's facts -----------------------------------------------------------------------------------------

    def split_at(self, node: int) -> Split | None:
        """Return the split at a node, None at a leaf."""
        return self.arrays.split_at(self.check_node(node), self.encodings)

    def encoding_of(self, column: str) -> Encoding:
        """Return the encoding of a column by name."""
        return next(e for e in self.encodings if e.name == column)

    def counts(self, node: int) -> dict[Label, float]:
        """Return the weight of each class present at a node, in class order."""
        a, node = self.arrays, self.check_node(node)
        entries = slice(a.count_start[node], a.count_start[node + 1])
        return {
            self.classes[c]: w
            for c, w in zip(a.count_class[entries].tolist(), a.count_weight[entries].tolist(), strict=True)
        }

    def prediction(self, node: int) -> Label | None:
        """Return the class or value a node predicts."""
        a, node = self.arrays, self.check_node(node)
        if self.task == "regression":
            value = float(a.value[node])
            return None if np.isnan(value) else value
        return self.classes[a.label[node]] if a.label[node] >= 0 else None

    def probabilities(self, node: int) -> npt.NDArray[np.float64]:
        """Return the class shares at a node (CS221 notes 6: p = m+/m).

        A node without rows answers with its nearest ancestor's, or the root's (``empty_branch``); a leaf written by
        hand has probability 1 for its class.
        """
        a = self.arrays
        source = node = self.check_node(node)
        while source > 0 and STOPS[a.stop[node]] == "no_rows" and a.count_start[source] == a.count_start[source + 1]:
            source = 0 if self.empty_branch == "root" else int(a.parent[source])
        shares = np.zeros(len(self.classes))
        entries = slice(a.count_start[source], a.count_start[source + 1])
        if a.count_start[source] < a.count_start[source + 1]:
            shares[a.count_class[entries]] = a.count_weight[entries]
            shares /= shares.sum()
            return shares
        if a.label[node] >= 0:
            shares[a.label[node]] = 1.0
        return shares

    def path(self, node: int) -> tuple[int, ...]:
        """Return the nodes from the root down to a node.

        >>> import treewise as tw
        >>> tw.grow(tw.datasets.admissions(), target="Class", preset="id3").path(5)
        (0, 2, 3, 5)
        """
        nodes = [self.check_node(node)]
        while (parent := int(self.arrays.parent[nodes[-1]])) >= 0:
            nodes.append(parent)
        return tuple(reversed(nodes))

    def condition(self, node: int) -> str:
        """Return the condition of the branch that leads to a node: ``GPA = 3.7``; the root is ``all rows``.

        "or missing" stands on the branch missing values take when there were some at the split, or when that is not
        the heavier branch (which is where they go when nothing is known).
        """
        node = self.check_node(node)
        parent = int(self.arrays.parent[node])
        if parent < 0:
            return "all rows"
        split, branch = self.split_at(parent), self.branch(node)
        assert split is not None
        assert branch is not None
        text = split.condition(branch, self.encoding_of(split.column))
        is_shared = branch == split.missing and not split.separates_missing
        if is_shared and (self.arrays.missing_rows[parent] > 0 or branch != self.heavier(parent)):
            text += " or missing"
        return text

    def heavier(self, node: int) -> int:
        """Return the branch with the most weight (the first of equals): where missing values go by default."""
        weights = self.arrays.weight[list(self.children(node))]
        return int(np.argmax(weights))

    # -- as a value -----------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Two trees are equal when columns, target, nodes and statistics are; history and notes do not count."""
        if not isinstance(other, TreeStructure):
            return NotImplemented
        our_fields = (self.stored_encodings, self.target, self.criterion, self.empty_branch, self.quartiles)
        their_fields = (other.stored_encodings, other.target, other.criterion, other.empty_branch, other.quartiles)
        return our_fields == their_fields and self.arrays.same_as(other.arrays)

    def __hash__(self) -> int:
        return hash((self.stored_encodings, self.target, self.arrays.parent.tobytes(), self.arrays.cut.tobytes()))

    def __repr__(self) -> str:
        rows = plural(int(self.arrays.rows[0]), "row")
        return f"<Tree {self._target_text()} · {rows} · {plural(self.n_leaves, 'leaf', 'leaves')} · depth {self.depth}>"
