"""One resample: the rows drawn again, the tree they grow, and where the reference tree's questions come back in it.

Stands below ``stability``, which does this many times in threads. **Whether a question comes back** is told in three
ways:

    place   the resample's tree asks the same columns on the way down, followed along the branches that hold most of the
            node's rows, and the same column there
    again   somewhere in the resample's tree the same column is asked of about the same rows: of all rows that pass
            through either of the two nodes, at least half pass through both
    asked   the share of the node's rows that are asked about the column at all, anywhere on their way

The rows are always those of the whole table, sent down both trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data import encoding as encode
from treewise.explain.trace.candidate import in_order_of_rows
from treewise.predict.predict import answering_nodes, find_leaves, predict_at_nodes
from treewise.train.resampling import resampled
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF, MULTIWAY, ORDINAL, THRESHOLD
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Grow = Callable[[TrainingSet], Tree]

ABOUT_THE_SAME = 0.5  # of the rows that pass through either of two nodes, how many must pass through both
NEARLY = 1e-9  # what sums of weights may be off by
TINY = float(np.finfo(float).tiny)
NOTHING = -2  # instead of a column: no node has about the same rows


def drawn(n: int, random_state: int, number: int) -> Ints:
    """Return how often each row is drawn in one resample, as many times in all as there are rows.

    >>> len(drawn(5, random_state=0, number=1)), int(drawn(5, random_state=0, number=1).sum())
    (5, 5)
    """
    rows = np.random.default_rng((random_state, number)).integers(0, n, n)
    return np.bincount(rows, minlength=n)


@dataclass(frozen=True, eq=False)
class ReferenceTree:
    """The tree that is questioned, with where the rows of the table go in it."""

    tree: Tree
    training_set: TrainingSet

    @cached_property
    def inner(self) -> Ints:
        """The nodes that ask."""
        return np.flatnonzero(self.tree.arrays.kind != LEAF)

    @cached_property
    def ends(self) -> Ints:
        """The node at which each row ends."""
        return find_leaves(self.tree, self.training_set.columns, len(self.training_set))

    @cached_property
    def answers(self) -> npt.NDArray[Any]:
        """What the tree says of each row: a class number, or a value."""
        return predict_at_nodes(self.tree, answering_nodes(self.tree, self.ends))

    @cached_property
    def order(self) -> Ints:
        """The rows, those of a node together: a subtree is a run of them."""
        return np.argsort(self.ends, kind="stable")

    @cached_property
    def runs(self) -> tuple[Ints, Ints]:
        """Where each node's rows begin and end in that order."""
        start = np.searchsorted(self.ends[self.order], np.arange(len(self.tree) + 1))
        return start[:-1], start[self.tree.arrays.ends]

    @cached_property
    def weight(self) -> Floats:
        """What each row weighs, in that order."""
        scaled = np.asarray(self.training_set.weight, np.float64)[self.order]
        return np.asarray(scaled / scaled.max())

    @cached_property
    def present(self) -> dict[int, npt.NDArray[Any]]:
        """For each node that asks, the different values of its column there, in order: numbers, or codes."""
        found = {}
        for node in self.inner.tolist():
            column = int(self.tree.arrays.column[node])
            start, end = (int(side[node]) for side in self.runs)
            values = self.training_set.columns[column][self.order[start:end]]
            found[node] = np.unique(values[~encode.is_missing(self.tree.encodings[column], values)])
        return found


@dataclass(frozen=True, eq=False)
class ResampledTree:
    """What one resample says: of its own tree, of its answers, and of every inner node of the reference tree."""

    leaves: int
    depth: int
    first: int  # the column its tree asks first; -1 where it asks nothing
    answers: npt.NDArray[Any]  # of all rows
    unseen: Bools  # rows that were not drawn
    questions: npt.NDArray[np.void]  # of each inner node of the reference, in order: QUESTION


# What a resample says of one question: the three ways in which it may come back (the file's head); where it comes back
# again, how many rows the two nodes have in common, the threshold (NaN where there is none; of dates and whole numbers
# exactly beside it), and whether the values present at the node are parted alike; and in any case the column asked of
# about the same rows (-1 where they are a leaf, NOTHING where no node has them).
QUESTION = np.dtype(
    [
        *(("place", np.bool_), ("again", np.bool_), ("asked", np.float64)),
        *(
            ("overlap", np.float64),
            ("cut", np.float64),
            ("exact_cut", np.int64),
            ("same_test", np.bool_),
            ("column", np.int64),
        ),
    ]
)
Question = tuple[bool, bool, float, float, float, int, bool, int]


def one_resample(reference: ReferenceTree, times: Ints, grow: Grow, as_weights: bool) -> ResampledTree:
    """Grow the tree of one resample, and look for the reference tree's questions in it."""
    tree = grow(resampled(reference.training_set, times, as_weights))
    ends = find_leaves(tree, reference.training_set.columns, len(reference.training_set))
    answers = predict_at_nodes(tree, answering_nodes(tree, ends))
    first = -1 if tree.arrays.kind[0] == LEAF else int(tree.arrays.column[0])
    return ResampledTree(
        tree.n_leaves, tree.depth, first, answers, times == 0, CounterpartSearch(reference, tree, ends).every()
    )


class CounterpartSearch:
    """Looks for the questions of the reference tree in another one."""

    def __init__(self, reference: ReferenceTree, tree: Tree, ends: Ints) -> None:
        self.reference, self.tree = reference, tree
        self.ends = ends[reference.order]  # the rows of a node of the reference are a run of these
        self.parent = tree.arrays.parent
        self.column = np.where(tree.arrays.kind == LEAF, -1, tree.arrays.column)
        self.sizes = at_or_below(tree, np.bincount(self.ends, reference.weight, len(tree)))
        self.places: dict[int, int] = {}  # node of the reference → node at the same place
        self.asking: dict[int, Bools] = {}  # column → nodes at or below one that asks it

    def every(self) -> npt.NDArray[np.void]:
        """Look for every question; in pre-order, so that the place of a node's parent is known."""
        return np.array([self.look(node) for node in self.reference.inner.tolist()], QUESTION)

    def look(self, node: int) -> Question:
        """Look for one question."""
        reference, mine = self.reference, int(self.reference.tree.arrays.column[node])
        here = ResampleRun(self, slice(*(int(side[node]) for side in reference.runs)))
        asked = here.weight_of(self.asks(mine)) / here.size
        place = self.place_of(node, here)
        at_place = place is not None and int(self.column[place]) == mine
        nodes = here.candidates()
        shared = here.shared(nodes)
        common = shared / np.maximum(here.size + self.sizes[nodes] - shared, TINY)
        column = NOTHING
        if len(nodes) and common.max() >= ABOUT_THE_SAME:
            column = int(self.column[nodes[np.argmax(common)]])
        common = np.where(self.column[nodes] == mine, common, -1.0)
        if not len(nodes) or common.max() < ABOUT_THE_SAME:
            return at_place, False, asked, 0.0, np.nan, 0, False, column
        alike, present = int(nodes[np.argmax(common)]), reference.present[node]
        same = np.array_equal(parted(reference.tree, node, present), parted(self.tree, alike, present))
        return at_place, True, asked, float(common.max()), *cut_of(self.tree, alike), same, column

    def asks(self, column: int) -> Bools:
        """Tell of which nodes the rows are asked about a column, there or above."""
        if column not in self.asking:
            here = self.column == column
            self.asking[column] = here | self.tree.arrays.below(here)
        return self.asking[column]

    def place_of(self, node: int, here: ResampleRun) -> int | None:
        """Return the node at the same place, below that of its parent where both ask the same; None: there is none."""
        own = self.reference.tree.arrays
        parent = int(own.parent[node])
        above = self.places.get(parent)
        if parent < 0:
            self.places[node] = 0
        elif above is not None and self.column[above] == own.column[parent]:
            start, children = self.tree.arrays.child_lists
            branches = children[start[above] : start[above + 1]]
            self.places[node] = int(branches[np.argmax(here.shared(branches))])
        return self.places.get(node)


class ResampleRun:
    """The rows of one node of the reference, by where they end in the other tree: as much work as there are rows."""

    def __init__(self, search: CounterpartSearch, run: slice) -> None:
        self.search, ends, weight = search, search.ends[run], search.reference.weight[run]
        order = np.argsort(ends, kind="stable")
        self.ends, self.weight = ends[order], weight[order]
        self.running = np.concatenate([[0.0], np.cumsum(self.weight)])
        self.size = float(self.running[-1])

    def weight_of(self, which: Bools) -> float:
        """Return the weight of the rows that end at some nodes."""
        return float(self.weight[which[self.ends]].sum())

    def shared(self, nodes: Ints) -> Floats:
        """Return the weight of the rows that pass through each of some nodes."""
        last = np.searchsorted(self.ends, self.search.tree.arrays.ends[nodes])
        return np.asarray(self.running[last] - self.running[np.searchsorted(self.ends, nodes)])

    def candidates(self) -> Ints:
        """Return the nodes that may have about the same rows, in order.

        Such a node has half of the rows at least, so the one in the middle (or one of the two), and at most as many
        again of its own: it is where that row ends, or above, as long as nodes are not too large.
        """
        middle = self.size * ABOUT_THE_SAME * np.array([1 - NEARLY, 1 + NEARLY])
        places = np.searchsorted(self.running[1:], middle).clip(0, len(self.ends) - 1)
        largest, parent, found = self.size / ABOUT_THE_SAME * (1 + NEARLY), self.search.parent, set()
        for node in self.ends[places].tolist():
            while node >= 0 and node not in found and self.search.sizes[node] <= largest:
                found.add(node)
                node = int(parent[node])
        return np.array(sorted(found), np.int64)


def at_or_below(tree: Tree, staying: npt.NDArray[Any]) -> Floats:
    """Return the weight of the rows that pass through each node, from that of the rows that end at each."""
    run = np.concatenate([[0.0], np.cumsum(staying)])
    return np.asarray(run[tree.arrays.ends] - run[:-1])


def cut_of(tree: Tree, node: int) -> tuple[float, int]:
    """Return a node's threshold, as a double and, of dates and whole numbers, exactly.

    The first is NaN where it has none, or only asks whether a value is missing.
    """
    a, split = tree.arrays, tree.split_at(node)
    encoding = tree.encodings[a.column[node]]
    if a.kind[node] != THRESHOLD or split is None or split.asks_presence(encoding):
        return np.nan, 0
    exact = 0 if encoding.kind == "number" else int(a.cut_int[node])
    return float(a.cut[node] if encoding.kind == "number" else exact), exact


def parted(tree: Tree, node: int, present: npt.NDArray[Any]) -> Ints:
    """Return into which branch a test puts each of some values of its column, branches numbered as they appear."""
    a = tree.arrays
    if a.kind[node] == THRESHOLD:
        cut = a.cut if tree.encodings[a.column[node]].kind == "number" else a.cut_int
        return in_order_of_rows(present > cut[node : node + 1])  # an array: float32 is compared as double
    named = a.codes[a.code_start[node] : a.code_start[node + 1]]
    if a.kind[node] == ORDINAL:
        return in_order_of_rows(present > named[0])
    if a.kind[node] != MULTIWAY:
        return in_order_of_rows(np.isin(present, named))
    order = np.argsort(named)
    spot = np.searchsorted(named[order], present).clip(0, len(named) - 1)
    return in_order_of_rows(np.where(named[order][spot] == present, order[spot], -1))
