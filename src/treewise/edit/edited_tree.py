"""A tree and its edits: the states between which undo and redo move, and the log.

``Editor`` (``edit/editor.py``) derives from it and adds the verbs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data.encoding import Encoding
from treewise.edit.graft import graft
from treewise.edit.log import EditLog, Replay, edit_steps
from treewise.edit.node_search import NodeSearcher
from treewise.edit.state import (
    EditLosses,
    EditState,
    EditTables,
    RowsOfTree,
    check_unlocked,
    path_of_node,
    words_of_node,
)
from treewise.errors import ColumnError, ParameterError, did_you_mean, join_few
from treewise.explain.compare.comparison import TreeComparison
from treewise.train.training_set import TrainingSet, compute_quartiles
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]

_MAX_REASON = 10_000  # characters
_SURROGATE = re.compile("[\ud800-\udfff]")  # half of a pair, which UTF-8 cannot hold


class EditedTree:
    """A tree through its edits; only ``Editor`` is instantiated."""

    def __init__(self, tree: Tree, training_set: TrainingSet, validation_set: TrainingSet | None) -> None:
        self.tables = EditTables(
            RowsOfTree(training_set),
            None if validation_set is None else RowsOfTree(validation_set),
            compute_quartiles(training_set),
            NodeSearcher(training_set),
        )
        first = EditState(tree, None, self.tables.new_ids(len(tree)))
        fitted = self.tables.estimate(tree, first)
        if fitted.tree != tree:  # its numbers were those of other rows
            step = HistoryStep(did="refit", rows=len(training_set))
            tree = fitted.tree.with_(history=(*tree.history, step))
        self._start = replace(fitted, tree=tree)
        self._states, self._position = [self._start], 0
        self._losses: list[EditLosses] = []  # of the states, as far as they were asked for
        self.on_change: list[Callable[[], None]] = []  # called after every edit, undo and redo

    @property
    def tree(self) -> Tree:
        """The current tree; its history is the log.

        >>> import treewise as tw
        >>> tw.Editor("species", "penguins").tree.n_leaves
        1
        """
        return self._state.tree

    @property
    def start(self) -> Tree:
        """The tree before the first edit.

        >>> import treewise as tw
        >>> editor = tw.Editor("species", "penguins")
        >>> editor.split(0).n_leaves, editor.start.n_leaves
        (2, 1)
        """
        return self._start.tree

    @property
    def validation_tree(self) -> Tree | None:
        """The current tree with the statistics of the validation rows; None without a validation table.

        >>> import treewise as tw
        >>> tw.Editor("species", "penguins", validation=0.3).validation_tree[0].rows
        103
        """
        return self._state.held_out

    @property
    def _state(self) -> EditState:
        """The current state."""
        return self._states[self._position]

    @property
    def all_steps(self) -> list[Mapping[str, Any]]:
        """The edits of this session as steps of the history, those that were taken back included.

        >>> import treewise as tw
        >>> editor = tw.Editor("species", "penguins")
        >>> tree = editor.split(0)
        >>> editor.undo().n_leaves, len(editor.all_steps)
        (1, 1)
        """
        return edit_steps(self._states[-1].tree)[len(edit_steps(self.start)) :]

    def _losses_of(self, position: int) -> EditLosses:
        """Return the losses of a state; each is computed once."""
        while len(self._losses) <= position:
            self._losses.append(self.tables.losses(self._states[len(self._losses)].tree))
        return self._losses[position]

    def curve(self) -> list[tuple[str, int, EditLosses]]:
        """Return (verb, leaves, losses) of the first tree and after each edit: the overfitting curve of the session.

        >>> import treewise as tw
        >>> editor = tw.Editor("species", "penguins")
        >>> tree = editor.split(0)
        >>> [(verb, leaves, losses.training.lost) for verb, leaves, losses in editor.curve()]
        [('start', 1, 192.0), ('split', 2, 72.0)]
        """
        points = []
        for position, state in enumerate(self._states[: self._position + 1]):
            step = state.tree.history[-1] if position else {}
            points.append((str(step.get("edit", "start")), state.tree.n_leaves, self._losses_of(position)))
        return points

    def losses(self, node: int = 0) -> EditLosses:
        """Return what the tree gets wrong on the training and on the validation rows, at a node or on all rows.

        >>> import treewise as tw
        >>> tw.Editor(tw.grow("admissions", max_depth=1), "admissions").losses().training.lost
        2.0
        """
        return self.tables.losses(self.tree, self._node(node))

    # -- history -----------------------------------------------------------------------------------------------------

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to take back.

        >>> import treewise as tw
        >>> tw.Editor("species", "penguins").can_undo
        False
        """
        return self._position > 0

    @property
    def can_redo(self) -> bool:
        """Whether an edit was taken back.

        >>> import treewise as tw
        >>> tw.Editor("species", "penguins").can_redo
        False
        """
        return self._position + 1 < len(self._states)

    def undo(self) -> Tree:
        """Take the last edit back.

        >>> import treewise as tw
        >>> tw.Editor("species", "penguins").undo()
        Traceback (most recent call last):
        treewise.errors.ParameterError: there is nothing to undo.
        """
        if not self.can_undo:
            raise ParameterError("there is nothing to undo.")
        return self._move_to(self._position - 1)

    def redo(self) -> Tree:
        """Make the edit again that was last taken back.

        >>> import treewise as tw
        >>> editor = tw.Editor("species", "penguins")
        >>> grown = editor.split(0)
        >>> editor.undo().n_leaves, editor.redo() is grown
        (1, True)
        """
        if not self.can_redo:
            raise ParameterError("there is nothing to redo.")
        return self._move_to(self._position + 1)

    def _move_to(self, position: int) -> Tree:
        self._position = position
        for listener in self.on_change:
            listener()
        return self.tree

    def log(self) -> EditLog:
        """Return the edits as text, with their reasons and what they did to the errors.

        >>> import treewise as tw
        >>> editor = tw.Editor("species", "penguins")
        >>> tree = editor.split(0, "flipper_length_mm", at=206, reason="what the field guide says")
        >>> print(editor.log())
        Edits of the tree of species
           edit                                       node      rows  training %   reason
        1  split by flipper_length_mm <= 206          all rows   344  55.8 → 20.9  what the field guide says
           (missing with >)
        """
        return EditLog.of(self.tree)

    def diff(self) -> TreeComparison:
        """Compare the current tree with the first: what changed, and for which rows it predicts something else.

        >>> import treewise as tw
        >>> editor = tw.Editor(tw.grow("admissions", preset="id3"), "admissions")
        >>> tree = editor.prune(2)
        >>> print(editor.diff().to_text().splitlines()[0])
        not equivalent
        """
        from treewise.explain.compare.compare import compare

        return compare(self.start, self.tree, names=("start", "edited"))

    def replay(self, data: Any, *, validation: Any = None, sample_weight: Any = None) -> Replay:
        """Make the same edits on another table, such as next quarter's; report those that do not fit it.

        Splits keep their thresholds and levels. An edit of a node that is no longer there is left out and reported; so
        are splits that leave a branch without rows, which are made.

        >>> import treewise as tw
        >>> editor = tw.Editor("Class", "admissions", preset="id3")
        >>> tree = editor.split(0, "GPA")
        >>> result = editor.replay("admissions")
        >>> result.editor.tree == tree, result.conflicts
        (True, ())
        """
        from treewise.edit.replay import replay

        return replay(self.start, edit_steps(self.tree)[len(edit_steps(self.start)) :], data, validation, sample_weight)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the current tree as a model file, with the log in its history.

        >>> import tempfile, treewise as tw
        >>> editor = tw.Editor("species", "penguins")
        >>> tree, path = editor.split(0, reason="to begin with"), tempfile.mktemp(".json")
        >>> editor.save(path)
        >>> tw.load(path).history[-1]["reason"]
        'to begin with'
        """
        self.tree.save(path)

    # -- making edits ------------------------------------------------------------------------------------------------

    def _node(self, node: int) -> int:
        try:
            return self.tree.check_node(node)
        except (IndexError, TypeError) as error:
            raise ParameterError(f"{error}.") from None

    def _editable(self, node: int) -> int:
        """Return a node number; raise if the node or anything below it is locked."""
        node = self._node(node)
        check_unlocked(self.tree, self._state.ids, node, self._state.locked)
        return node

    def _column(self, name: Any) -> Encoding:
        for encoding in self.tree.encodings:
            if encoding.name == name:
                return encoding
        columns = self.tree.columns
        near = did_you_mean(name, columns)
        known = join_few([safe(c) for c in columns])
        raise ColumnError(f'no column "{safe(name)}" among the features.{near} Columns: {known}.')

    def _grafted(self, tree: Tree, ids: Ints, node: int, part: Tree, part_ids: Ints) -> tuple[Tree, Ints]:
        """Return a tree with another subtree, its statistics, and the identities of its nodes."""
        structure = graft(tree, node, part)
        ids = np.concatenate([ids[:node], part_ids, ids[int(tree.arrays.ends[node]) :]])
        return self.tables.estimate(structure, replace(self._state, ids=ids, labels={})).tree, ids

    def _change(
        self,
        verb: str,
        node: int,
        part: Tree,
        part_ids: Ints,
        call: dict[str, Any],
        reason: str,
        words: str = "",
    ) -> Tree:
        """Replace a subtree, estimate everything anew and log the edit."""
        tree, state = self.tree, self._state
        ids = np.concatenate([state.ids[:node], part_ids, state.ids[int(tree.arrays.ends[node]) :]])
        return self._note(verb, node, replace(state, ids=ids), call, reason, graft(tree, node, part), words)

    def _note(
        self,
        verb: str,
        node: int,
        state: EditState,
        call: dict[str, Any],
        reason: str,
        structure: Tree | None = None,
        words: str = "",
    ) -> Tree:
        """Estimate the tree of a new state and append it, with a step of the history."""
        if not isinstance(reason, str) or len(reason) > _MAX_REASON or _SURROGATE.search(reason):
            rule = f"must be a text of at most {_MAX_REASON:,} characters, in valid Unicode."
            raise ParameterError(rule, parameter="reason", value=reason)
        before, tree = self._losses_of(self._position), self.tree
        at_node = self.tables.losses(tree, node)
        after = self.tables.estimate(tree if structure is None else structure, state)
        losses = self.tables.losses(after.tree)
        step = {
            "did": "edit",
            "edit": verb,
            "path": path_of_node(tree, node),
            "node": words_of_node(tree, node),
            "what": words,
            "call": call,
            "reason": reason,
            "leaves": [tree.n_leaves, after.tree.n_leaves],
            "before": before.to_dict(),
            "after": losses.to_dict(),
            "touched_before": at_node.to_dict(),
            "touched_after": self.tables.losses(after.tree, node).to_dict(),
        }
        after = replace(after, tree=replace(after.tree, history=(*tree.history, HistoryStep(step))))
        del self._states[self._position + 1 :], self._losses[self._position + 1 :]
        self._states.append(after)
        self._losses.append(losses)
        return self._move_to(self._position + 1)
