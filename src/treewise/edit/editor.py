"""The editor: a person grows, questions and corrects a tree, and every number is estimated anew after each edit.

    Editor      the verbs, on node numbers of the current tree; undo, redo, replay
    state.py    the tables, and what an edit leaves behind
    graft.py    cutting and joining trees
    node_search.py, candidates.py    the candidates of a node, fast; as a table for readers
    log.py      edits as steps of the tree's history: as text, and to be replayed

A verb changes the structure (``_change``); the statistics of all nodes follow from the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.edit.alternatives import Alternative, find_alternatives, words_of_tree
from treewise.edit.candidates import Candidates, CandidateTest, list_tests, why_settled
from treewise.edit.edited_tree import EditedTree
from treewise.edit.graft import graft, join, leaf, tree_of_splits
from treewise.edit.grow_node import grow_node
from treewise.edit.log import split_to_dict
from treewise.edit.merge import merge_branches
from treewise.edit.node_search import NodeCandidates
from treewise.edit.opening import open_tables
from treewise.edit.state import (
    check_unlocked,
)
from treewise.edit.typed_split import check_allowed, make_split, read_answer
from treewise.errors import ParameterError, join_few
from treewise.explain.trace.nodes import describe_first_branch
from treewise.train.constraints import constraints_at
from treewise.tree.arrays import LEAF
from treewise.tree.splits import Split
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]


class Editor(EditedTree):
    """A tree that a person grows and corrects; every step gives an ordinary tree, counted on all rows.

    >>> import treewise as tw
    >>> editor = tw.Editor("Class", "admissions", preset="id3")
    >>> editor.split(0, "GPA").n_leaves                              # the best test of a column, or at=, values=
    3
    >>> print(editor.candidates(2))
    node 2 · GPA = 3.7 · 5 rows, 2 wrong as a leaf
       column      test                                   gain  wrong  costs
    1  Published   Published = no | yes                0.41997      1
    2  University  University = top10 | top20 | top30  0.17095      2      1
    2 columns have no test here
    >>> tree = editor.split(2, "Published", reason="the committee reads them")
    >>> editor.undo().n_leaves, editor.redo().n_leaves
    (3, 4)

    Parameters
    ----------
    start : a tree to edit, or the name of the target, to start from a single leaf.
    data : the table; for a tree, one with its columns and its target. All statistics are those of its rows.
    validation : a table of other rows, or a share of the rows to hold out (0.3): every edit shows what it does to them.
    sample_weight : a weight for each row, as in ``grow``.
    options : for a target, the options of ``grow`` (criterion, limits, kinds …).
    """

    def __init__(
        self, start: Tree | str | None, data: Any, *, validation: Any = None, sample_weight: Any = None, **options: Any
    ) -> None:
        tree, training_set, validation_set = open_tables(start, data, validation, sample_weight, options)
        super().__init__(tree, training_set, validation_set)

    # -- what there is -----------------------------------------------------------------------------------------------

    @property
    def forbidden(self) -> tuple[str, ...]:
        """The columns that may not be asked.

        >>> import treewise as tw
        >>> tw.Editor("species", "penguins").forbidden
        ()
        """
        return tuple(sorted(self._state.forbidden))

    @property
    def locked_columns(self) -> tuple[str, ...]:
        """The columns that are not offered for new splits.

        >>> import treewise as tw
        >>> tw.Editor("species", "penguins").locked_columns
        ()
        """
        return tuple(sorted(self._state.locked_columns))

    @property
    def locked(self) -> tuple[int, ...]:
        """The nodes whose subtrees are locked.

        >>> import treewise as tw
        >>> tw.Editor("species", "penguins").locked
        ()
        """
        nodes = (self._state.node_of(identity) for identity in self._state.locked)
        return tuple(sorted(node for node in nodes if node is not None))

    @property
    def _excluded(self) -> frozenset[str]:
        return self._state.forbidden | self._state.locked_columns

    def rows(self, node: int) -> list[int]:
        """Return the rows of the table that pass through a node, counted from 1.

        >>> import treewise as tw
        >>> tw.Editor(tw.grow("admissions", preset="id3"), "admissions").rows(3)
        [5, 7, 8]
        """
        rows = self.tables.training.rows_at(self.tree, self._node(node))
        numbers: list[int] = (np.asarray(self.tables.training.training_set.rows)[rows] + 1).tolist()
        return numbers

    # -- candidates --------------------------------------------------------------------------------------------------

    def _search(self, node: int) -> NodeCandidates:
        """Return the candidates of a node as the learner compares them."""
        node, tree, state = self._node(node), self.tree, self._state
        excluded = frozenset(tree.columns.index(name) for name in state.forbidden | state.locked_columns)
        constraints = constraints_at(tree, node)
        path = tuple((tree.split_at(above), int(tree.arrays.branches[at])) for above, at in pairwise(tree.path(node)))

        def search() -> NodeCandidates:
            rows = self.tables.training.rows_at(tree, node)
            return self.tables.searcher.search(rows, constraints, excluded)

        return self.tables.searches.get((path, constraints, excluded), search)  # these decide which rows and columns

    def candidates(self, node: int) -> Candidates:
        """Return the best test of every column at a node, ranked, with what it costs to prefer another to the first.

        Columns that are forbidden or locked are left out. At a node that is split the candidates are those of all its
        rows, whatever its split.

        >>> import treewise as tw
        >>> tests = tw.Editor("Class", "admissions", preset="id3").candidates(0)
        >>> [(test.column, round(test.gain, 3), test.costs) for test in tests][:2]
        [('GPA', 0.595, 0.0), ('University', 0.095, 2.0)]
        """
        node = self._node(node)
        why = why_settled(self.tree, node)
        outcome = None if why else self._search(node)
        return list_tests(self, node, outcome, why)

    def best(self, node: int) -> CandidateTest | None:
        """Return the best test of a node: the first of ``candidates``; None if there is none.

        >>> import treewise as tw
        >>> tw.Editor("Class", "admissions", preset="id3").best(0).column
        'GPA'
        """
        tests = self.candidates(node)
        return tests[0] if len(tests) else None

    # -- edits -------------------------------------------------------------------------------------------------------

    def split(
        self,
        node: int,
        column: str | None = None,
        *,
        at: Any = None,
        values: Any = None,
        missing: str | None = None,
        reason: str = "",
    ) -> Tree:
        """Split a node; what was below it is replaced.

        Without a column the best test of all; with a column its best test. ``at`` is a threshold (65, a date, a
        level of an ordered column), ``values`` the levels on the first side. ``column`` may also be a condition as
        trees are written, ``"age <= 65 or missing"``. ``missing`` says where missing values go: ``"yes"`` with the rows
        that meet the condition, ``"no"`` with the others, ``"own"`` a branch of their own; by default where
        they gain most.

        >>> import treewise as tw
        >>> editor = tw.Editor("species", "penguins")
        >>> tree = editor.split(0, "flipper_length_mm", at=206, reason="what the field guide says")
        >>> tree.condition(1), editor.split(1, "island", values=["Dream"]).condition(2)
        ('flipper_length_mm <= 206', 'island = Dream')
        """
        node = self._editable(node)
        split = make_split(self, node, column, at, values, missing)
        return self._apply_split(node, split, reason)

    def _apply_split(self, node: int, split: Split, reason: str) -> Tree:
        tree = self.tree
        part = join(tree, split, [leaf(tree)] * split.n_branches)
        ids = np.append(self._state.ids[node], self.tables.new_ids(split.n_branches))
        rows, encoding = self.tables.training.rows_at(tree, node), self._column(split.column)
        values = self.tables.training.training_set.columns[tree.columns.index(split.column)][rows]
        test = describe_first_branch(split, encoding, int(encode.is_missing(encoding, values).sum()))
        return self._change("split", node, part, ids, {"split": split_to_dict(split)}, reason, words=test)

    def prune(self, node: int, *, reason: str = "") -> Tree:
        """Make a node a leaf.

        >>> import treewise as tw
        >>> tw.Editor(tw.grow("admissions", preset="id3"), "admissions").prune(2, reason="five rows").n_leaves
        3
        """
        node = self._editable(node)
        if self.tree.arrays.kind[node] == LEAF:
            raise ParameterError(f"node {node} is a leaf already.", hint="Name a node with a split.")
        return self._change("prune", node, leaf(self.tree), self._state.ids[node : node + 1], {}, reason)

    def regrow(self, node: int = 0, *, reason: str = "", **limits: Any) -> Tree:
        """Grow a node anew on its rows; ``limits`` are those of ``grow``, for this subtree.

        Without limits those that the tree was grown with hold. Columns that are forbidden or locked are left out.

        >>> import treewise as tw
        >>> tree = tw.grow("penguins", max_leaf_nodes=6)
        >>> editor = tw.Editor(tree, "penguins")
        >>> editor.prune(0).n_leaves, editor.regrow(0) == tree, editor.regrow(0, max_depth=1).n_leaves
        (1, True, 2)
        """
        node = self._editable(node)
        part = grow_node(self.tables.training, self.tree, node, limits, self._excluded)
        ids = np.append(self._state.ids[node], self.tables.new_ids(len(part) - 1))
        return self._change("regrow", node, part, ids, {"limits": limits}, reason)

    def merge(self, leaves: Iterable[int], *, reason: str = "") -> Tree:
        """Join leaves of one split into one; all of them make the node a leaf.

        >>> import treewise as tw
        >>> editor = tw.Editor(tw.grow("admissions", preset="id3"), "admissions")
        >>> print(editor.merge([4, 6], reason="top10 and top30 were treated alike").condition(4))
        University in {top10, top30}
        """
        tree, state = self.tree, self._state
        nodes = sorted({self._node(node) for node in leaves})
        parents = {int(tree.arrays.parent[node]) for node in nodes}
        if len(nodes) < 2 or len(parents) != 1 or any(tree.arrays.kind[node] != LEAF for node in nodes):
            raise ParameterError(
                f"these are not several leaves of one split: {join_few(nodes)}.", hint="Name leaves with one parent."
            )
        parent = self._editable(parents.pop())
        branches = [int(tree.arrays.branches[node]) for node in nodes]
        children = tree.children(parent)
        if len(nodes) == len(children):
            part, ids = leaf(tree), state.ids[parent : parent + 1]
        else:
            part, ids = merge_branches(self, parent, branches)
        words = " with ".join(tree.condition(node) for node in nodes)
        return self._change("merge", parent, part, ids, {"branches": branches}, reason, words=words)

    def relabel(self, node: int, label: Any, *, reason: str = "") -> Tree:
        """Let a leaf predict something else than its rows say; give a reason, which the log keeps.

        Its counts and probabilities stay those of its rows.

        >>> import treewise as tw
        >>> editor = tw.Editor(tw.grow("admissions", preset="id3"), "admissions")
        >>> editor.relabel(1, "P", reason="two rows were typed wrong").prediction(1), editor.losses().training.lost
        ('P', 4.0)
        """
        node, tree, state = self._editable(node), self.tree, self._state
        if tree.arrays.kind[node] != LEAF:
            raise ParameterError(f"node {node} is not a leaf.", hint="Name a leaf.")
        answer = read_answer(tree, label)
        changed = replace(state, labels={**state.labels, int(state.ids[node]): answer})
        call = {"label": label.item() if hasattr(label, "item") else label}
        return self._note("relabel", node, changed, call, reason, words=safe(label))

    def lock(self, what: int | str, *, reason: str = "") -> Tree:
        """Lock a subtree, by its node, which then stays as it is; or a column, which new splits then do not use.

        >>> import treewise as tw
        >>> editor = tw.Editor(tw.grow("admissions", preset="id3"), "admissions")
        >>> tree = editor.lock(2)
        >>> editor.prune(3)
        Traceback (most recent call last):
        treewise.errors.ParameterError: node 3 is in the locked subtree of node 2. Unlock it first: unlock(2).
        """
        state = self._state
        if isinstance(what, str):
            name = self._column(what).name
            changed = replace(state, locked_columns=state.locked_columns | {name})
            return self._note("lock", 0, changed, {"column": name}, reason, words=safe(name))
        node = self._node(what)
        changed = replace(state, locked=state.locked | {int(state.ids[node])})
        return self._note("lock", node, changed, {}, reason)

    def unlock(self, what: int | str, *, reason: str = "") -> Tree:
        """Unlock a subtree, or a column; a forbidden column may be asked again.

        >>> import treewise as tw
        >>> editor = tw.Editor("species", "penguins")
        >>> tree = editor.lock("island")
        >>> editor.locked_columns, (editor.unlock("island"), editor.locked_columns)[1]
        (('island',), ())
        """
        state = self._state
        if isinstance(what, str):
            name = self._column(what).name
            if name not in state.locked_columns | state.forbidden:
                raise ParameterError(f'column "{safe(name)}" is neither locked nor forbidden.')
            changed = replace(state, locked_columns=state.locked_columns - {name}, forbidden=state.forbidden - {name})
            return self._note("unlock", 0, changed, {"column": name}, reason, words=safe(name))
        node = self._node(what)
        identity = int(state.ids[node])
        if identity not in state.locked:
            raise ParameterError(f"node {node} is not locked. Locked: {join_few(self.locked) or 'none'}.")
        return self._note("unlock", node, replace(state, locked=state.locked - {identity}), {}, reason)

    def forbid(self, column: str, *, reason: str = "") -> Tree:
        """Never ask a column: where the tree does, it is grown anew without it, to as many leaves as there were.

        >>> import treewise as tw
        >>> editor = tw.Editor(tw.grow("penguins", max_leaf_nodes=4), "penguins")
        >>> tree = editor.forbid("flipper_length_mm", reason="not measured any more")
        >>> tree.n_leaves, sorted({node.split.column for node in tree if node.split})
        (4, ['bill_length_mm', 'island'])
        """
        name = self._column(column).name
        number, state = self.tree.columns.index(name), self._state
        changed = replace(state, forbidden=state.forbidden | {name})
        tree, ids, excluded = self.tree, state.ids, changed.forbidden | changed.locked_columns
        while len(asking := np.flatnonzero((tree.arrays.kind != LEAF) & (tree.arrays.column == number))):
            node = int(asking[0])
            check_unlocked(tree, ids, node, state.locked)
            n_leaves = int((tree.arrays.kind[node : int(tree.arrays.ends[node])] == LEAF).sum())
            part = grow_node(self.tables.training, tree, node, {"max_leaf_nodes": n_leaves}, excluded)
            tree, ids = self._grafted(tree, ids, node, part, np.append(ids[node], self.tables.new_ids(len(part) - 1)))
        return self._note("forbid", 0, replace(changed, ids=ids), {"column": name}, reason, tree, words=safe(name))

    def first(self, column: str, *, reason: str = "") -> Tree:
        """Ask a column first: its best test at the root, and below it as many leaves as there were.

        >>> import treewise as tw
        >>> tree = tw.Editor(tw.grow("penguins", max_leaf_nodes=4), "penguins").first("island")
        >>> tree.split_at(0).column, tree.n_leaves
        ('island', 4)
        """
        check_unlocked(self.tree, self._state.ids, 0, self._state.locked)
        name = self._column(column).name
        split = make_split(self, 0, name, None, None, None)
        state, before = self._state, self.tree
        tree = replace(join(before, split, [leaf(before)] * split.n_branches), history=before.history)
        tree = self.tables.estimate(tree, replace(state, ids=self.tables.new_ids(len(tree)), labels={})).tree
        for branch in reversed(range(split.n_branches)) if before.n_leaves > split.n_branches else ():
            node = tree.children(0)[branch]
            if tree.arrays.rows[node]:
                limits = {"max_leaf_nodes": before.n_leaves}
                tree = graft(tree, node, grow_node(self.tables.training, tree, node, limits, self._excluded))
        tree = self.tables.estimate(tree, replace(state, ids=self.tables.new_ids(len(tree)), labels={})).tree
        if tree.n_leaves > before.n_leaves > split.n_branches:
            tree = replace(tree.prune(max_leaf_nodes=before.n_leaves), history=before.history)
        ids = np.append(state.ids[0], self.tables.new_ids(len(tree) - 1))
        return self._change("first", 0, tree, ids, {"column": name}, reason, words=safe(name))

    def alternatives(self, k: int = 5, *, time_limit: float = 1.0) -> list[Alternative]:
        """Return the best trees of about the size of the current one, each without a column of every tree before it.

        For tables that are small enough (``tw.optimal`` searches them); ``time_limit`` are seconds for each tree.

        >>> import treewise as tw
        >>> editor = tw.Editor(tw.grow("penguins", max_depth=2), "penguins")
        >>> for other in editor.alternatives(2, time_limit=60):
        ...     print(other.losses.training.lost, *other.columns)
        6.0 island bill_length_mm flipper_length_mm
        10.0 bill_length_mm bill_depth_mm island
        """
        return find_alternatives(self, k, time_limit)

    def adopt(self, tree: Tree, *, reason: str = "") -> Tree:
        """Take the splits of another tree on these columns, such as one of ``alternatives``, in place of all there are.

        >>> import treewise as tw
        >>> editor = tw.Editor("species", "penguins")
        >>> editor.adopt(tw.grow("penguins", max_depth=2), reason="the tree of last year").n_leaves
        4
        """
        if not isinstance(tree, Tree):
            raise ParameterError("must be a tree.", parameter="tree", value=tree)
        splits = [node.split for node in tree]
        return self._adopt(splits, reason)

    def _adopt(self, splits: Sequence[Split | None], reason: str) -> Tree:
        check_unlocked(self.tree, self._state.ids, 0, self._state.locked)
        for split in splits:
            if split is not None:
                lacking = [level for level in split.named if level not in self._column(split.column).levels]
                if lacking:
                    raise ParameterError(f"{safe(split.column)} has no level {join_few([safe(v) for v in lacking])}.")
                check_allowed(self, split.column)
        part = tree_of_splits(self.tree, splits)
        ids = np.append(self._state.ids[0], self.tables.new_ids(len(part) - 1))
        call = {"splits": [None if split is None else split_to_dict(split) for split in splits]}
        return self._change("adopt", 0, part, ids, call, reason, words=words_of_tree(part))
