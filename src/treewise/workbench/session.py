"""A session of the workbench: requests of the page as plain values, answered by an editor, saved after every edit.

Knows nothing of how the page is served: ``handle`` takes one message and returns one, both of plain values that JSON
can hold. Whatever was done is in the session file beside the table after each edit, and a new session makes it again.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from traceback import format_exception, format_exception_only
from typing import Any, cast

import numpy as np

from treewise._lib.atomic_write import write_whole
from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.table import Table
from treewise.edit.alternatives import Alternative
from treewise.edit.editor import Editor
from treewise.edit.log import ReplayConflict, edit_steps
from treewise.edit.rectangle import cut_out, propose_splits
from treewise.edit.replay import replay
from treewise.edit.state import EditLosses, TableLoss
from treewise.errors import ParameterError, TreewiseError
from treewise.formats.model_file.model_file import dumps, loads
from treewise.show.report.facts import tree_facts
from treewise.tree.history import describe_edit
from treewise.tree.splits import Threshold
from treewise.tree.tree import Tree
from treewise.workbench.regions import read_sides, region_facts

_FORMAT = "treewise session 1"
_MAX_ROWS = 200  # of a node on the page
_MAX_ALTERNATIVES, _SEARCH_SECONDS = 6, 0.5  # for each
_VERBS: dict[str, tuple[str, ...]] = {  # the arguments that the page may give to each verb of the editor
    "split": ("node", "column", "at", "values", "missing", "reason"),
    "prune": ("node", "reason"),
    "regrow": ("node", "max_depth", "max_leaf_nodes", "min_samples_leaf", "reason"),
    "merge": ("leaves", "reason"),
    "relabel": ("node", "label", "reason"),
    "lock": ("what", "reason"),
    "unlock": ("what", "reason"),
    "forbid": ("column", "reason"),
    "first": ("column", "reason"),
    "adopt": ("number", "reason"),
    "undo": (),
    "redo": (),
}


@dataclass(eq=False)
class Session:
    """An editor with the tables and files of a page."""

    editor: Editor
    table: Table
    autosave: Path | None = None
    output: Path | None = None
    start: str = ""  # a hash of what the session begins with
    validation: Table | None = None
    saved: str = ""  # when the model was saved last
    notes: list[str] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)  # files, for the message at the end
    unsaved: str = ""  # why the session file does not have the edits
    keeps_earlier: bool = False  # whether the session file has edits that this session could not make
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _state: dict[str, Any] | None = None  # until the next change
    _alternatives: list[Alternative] = field(default_factory=list)  # as listed last

    def __post_init__(self) -> None:
        """Keep every edit, whoever makes it; say before the first if there is no place to keep it."""
        self.editor.on_change.append(self._keep)
        if self.autosave is not None:
            folder = os.path.dirname(os.path.realpath(self.autosave))
            if not os.access(folder, os.W_OK):
                self.unsaved = f'edits are not saved: the folder "{safe(folder)}" cannot be written to'

    @property
    def all_notes(self) -> list[str]:
        """Notes for the user, first of all that edits are not saved."""
        notes = [self.unsaved, *self.notes] if self.unsaved else list(self.notes)
        return [*notes, "the next edit keeps the last session in a file of its own"] if self.keeps_earlier else notes

    def handle(self, message: Any) -> dict[str, Any]:
        """Answer one message of the page; an error is an answer, too.

        The host of the page puts a ``state`` of the answer where the page finds it, and sends it the rest.
        """
        handlers: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "state": lambda _: {"state": self.state()},
            "candidates": self._candidates,
            "edit": self._edit,
            "rows": self._rows,
            "alternatives": lambda _: self._list_alternatives(),
            "preview": lambda message: self._preview(self._alternative(message)),
            "regions": self._regions,
            "propose": self._propose,
            "cut_out": self._cut_out,
            "save": lambda _: self._save(),
        }
        before = self.editor.tree
        try:
            kind = message.get("do") if isinstance(message, Mapping) else None
            if not isinstance(kind, str) or kind not in handlers:
                raise ParameterError("the page asked for something unknown.")
            with self._lock:
                return handlers[kind](message)
        except Exception as error:
            answer: dict[str, Any] = (
                {"error": str(error)} if isinstance(error, TreewiseError) else describe_fault(error)
            )
            if self.editor.tree is not before:  # a listener failed, not the edit
                answer["error"] = f"the edit was made, but: {answer['error']}"
                with suppress(Exception):
                    answer["state"] = self.state()
            return answer

    # -- answers -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that the page shows besides candidates: the tree, the errors, the history."""
        if self._state is None:
            self._state = self._compute_state()
        return self._state

    def _compute_state(self) -> dict[str, Any]:
        editor, tree = self.editor, self.editor.tree
        curve = editor.curve()
        log = [_step_facts(step) for step in edit_steps(tree)]
        return {
            "facts": tree_facts(tree, editor.validation_tree),
            "ids": editor._state.ids.tolist(),
            "locked": list(editor.locked),
            "locked_columns": list(editor.locked_columns),
            "forbidden": list(editor.forbidden),
            "losses": _losses(editor.losses()),
            "start": _losses(curve[0][2]),
            "loss_name": "error" if tree.task == "classification" else "squared error",
            "curve": [{"edit": verb, "leaves": leaves, **_losses(losses)} for verb, leaves, losses in curve],
            "log": log,
            "can_undo": editor.can_undo,
            "can_redo": editor.can_redo,
            "output": None if self.output is None else self.output.name,
            "saved": self.saved,
            "autosave": None if self.autosave is None or self.unsaved else self.autosave.name,
            "notes": self.all_notes,
        }

    def _candidates(self, message: Mapping[str, Any]) -> dict[str, Any]:
        editor = self.editor
        tests = editor.candidates(_integer(message, "node"))
        columns = {encoding.name: encoding for encoding in editor.tree.encodings}
        listed = []
        for test in tests:
            encoding = columns[test.column]
            facts: dict[str, Any] = {
                "column": test.column, "test": test.test, "gain": test.gain, "behind": test.behind, "wrong": test.wrong,
                "costs": test.costs, "validation": test.validation_wrong, "kind": encoding.kind,
                "rows": [branch.rows for branch in test.branches],
                "points": [[_number(p.threshold), p.gain, p.left, encoding.format(p.threshold)] for p in test.points],
                "at": encoding.format(test.split.cut) if isinstance(test.split, Threshold) else None,
            }  # fmt: skip
            if encoding.is_categorical:
                facts["levels"] = [safe(level) for level in encoding.levels[:200]]
                facts["named"] = [safe(level) for level in test.split.named]
            listed.append(facts)
        return {
            "node": tests.node,
            "words": tests.words,
            "rows": tests.rows,
            "wrong": tests.wrong,
            "validation": tests.validation_wrong,
            "is_classification": tests.is_classification,
            "note": tests.note,
            "tests": listed,
            "columns": list(columns),
        }

    def _edit(self, message: Mapping[str, Any]) -> dict[str, Any]:
        verb = message.get("verb")
        if not isinstance(verb, str) or verb not in _VERBS:
            raise ParameterError("there is no such edit.")
        given = message.get("with", {})
        if not isinstance(given, Mapping) or not given.keys() <= set(_VERBS[verb]):
            raise ParameterError(f"{verb} takes {', '.join(_VERBS[verb]) or 'nothing'}.")
        arguments = {k: v for k, v in given.items() if k == "label" or (v is not None and v != "")}
        if verb == "relabel" and self.editor.tree.task == "regression":
            arguments["label"] = _as_number(arguments.get("label"))
        if verb == "adopt":
            arguments.pop("number", None)
            arguments["tree"] = self._alternative(given).tree
        before = self.editor.tree
        try:
            getattr(self.editor, verb)(**arguments)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, TreewiseError) or self.editor.tree is not before:
                raise
            raise ParameterError(f"{verb}: an argument is missing or of the wrong type.") from None
        return {"state": self.state()}

    def _rows(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return rows of a node as text."""
        numbers = self.editor.rows(_integer(message, "node"))
        shown = numbers[:_MAX_ROWS]
        part = self.table.take(np.array(shown, np.int64) - 1)
        tree = self.editor.tree
        names = [name for name in (tree.target.name, *tree.columns) if name in part.columns]
        cells = [_cell_texts(part, name) for name in names]
        return {"columns": [safe(n) for n in names], "numbers": shown, "cells": cells, "total": len(numbers)}

    def _list_alternatives(self) -> dict[str, Any]:
        """Search for trees that are nearly as good; the page names one by its number in this list."""
        self._alternatives = self.editor.alternatives(_MAX_ALTERNATIVES, time_limit=_SEARCH_SECONDS)
        listed = [
            {
                "columns": [safe(name) for name in other.columns], "leaves": other.tree.n_leaves,
                **_losses(other.losses), "differs": other.differs, "proven": other.is_proven,
            }
            for other in self._alternatives
        ]  # fmt: skip
        return {"trees": listed}

    def _alternative(self, message: Mapping[str, Any]) -> Alternative:
        number = _integer(message, "number")
        if not 0 <= number < len(self._alternatives):
            raise ParameterError("there is no such tree. List them again.", parameter="number", value=number)
        return self._alternatives[number]

    def _preview(self, other: Alternative) -> dict[str, Any]:
        return {"facts": tree_facts(other.tree, other.validation_tree)}

    def _regions(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rows of a node over two columns, and the areas of the leaves below it."""
        names = [message.get(axis) for axis in ("x", "y")]
        return region_facts(self.editor, self.table, _integer(message, "node"), *names)

    def _propose(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sides of a rectangle as splits."""
        rectangle = propose_splits(self.editor, _integer(message, "node"), read_sides(message.get("sides")))
        return {
            "rows": rectangle.rows,
            "counts": list(rectangle.counts),
            "mean": rectangle.mean,
            "sides": [dict(vars(side)) for side in rectangle.sides],
        }

    def _cut_out(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Split off a rectangle: an edit for each side."""
        reason = message.get("reason", "")
        cut_out(self.editor, _integer(message, "node"), read_sides(message.get("sides")), reason)
        return {"state": self.state()}

    def _save(self) -> dict[str, Any]:
        if self.output is None:
            raise ParameterError("there is no file to save to; download the model instead.")
        try:
            self.editor.save(self.output)
        except OSError as error:
            raise ParameterError(str(error)) from None
        self._note_written(self.output)
        self.saved, self._state = f"{datetime.now():%H:%M:%S}", None
        return {"state": self.state()}

    # -- autosave ----------------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        self._state = None
        self.write_autosave()

    def write_autosave(self) -> None:
        """Write the edits to the session file, atomically; an edit stays made where that fails, with a note."""
        if self.autosave is None:
            return
        try:
            content = {
                "format": _FORMAT,
                "start": self.start,
                "base": dumps(self.editor.start, complete=True),
                "steps": [dict(step) for step in self.editor.all_steps],
                "position": len(edit_steps(self.editor.tree)) - len(edit_steps(self.editor.start)),
            }
            data = (json.dumps(content, ensure_ascii=False) + "\n").encode()
            self._keep_earlier(self.autosave)
            write_whole(self.autosave, data)
            self._note_written(self.autosave)
            self.unsaved = ""
        except (OSError, ValueError) as error:
            self.unsaved = f"this edit is not saved: {str(error).removesuffix(' Nothing was saved.')}"

    def _keep_earlier(self, autosave: Path) -> None:
        """Copy the session file before the first write, if it has edits that this session could not make."""
        if not self.keeps_earlier:
            return
        kept = free_name(autosave)
        with suppress(FileNotFoundError):  # removed meanwhile: there is nothing to keep
            write_whole(kept, autosave.read_bytes())
            self._note_written(kept)
            self.notes.append(f"the last session is kept as {safe(kept.name)}")
        self.keeps_earlier = False

    def _note_written(self, path: Path) -> None:
        if path not in self.written:
            self.written.append(path)


def free_name(autosave: Path) -> Path:
    """Return a name for a session that ends: .old, .old-2, …, so that no earlier one is lost."""
    names = (autosave.with_name(f"{autosave.name}.old{'' if n == 1 else f'-{n}'}") for n in count(1))
    return next(name for name in names if not name.exists())


def describe_fault(error: Exception) -> dict[str, Any]:
    """Return the answer to a message when something unforeseen happens."""
    return {"error": "".join(format_exception_only(error)).strip(), "traceback": format_exception(error)}


@dataclass(frozen=True)
class Resumed:
    """An editor in which the edits of a session file were made again."""

    editor: Editor
    n_edits: int  # in force when the session ended
    conflicts: tuple[ReplayConflict, ...]

    @property
    def notes(self) -> list[str]:
        """What does not fit the table."""
        return [f"edit {c.number} ({c.edit} at {c.node}): {c.why}" for c in self.conflicts]


def resume(path: Path, start: str, data: Any, validation: Any = None, sample_weight: Any = None) -> Resumed | None:
    """Open the editor of a session file again.

    None if the file cannot be used, or if the hash of what its session began with is another one.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT or content["start"] != start:
            return None
        base, steps, position = loads(content["base"], path.name), content["steps"], content["position"]
        if not isinstance(base, Tree) or type(position) is not int or not 0 <= position <= len(steps):
            return None
        checked = loads(dumps(base.with_(history=(*base.history, *steps)), complete=True), path.name)
        checked_steps = edit_steps(cast(Tree, checked))[len(edit_steps(base)) :]
        result = replay(base, checked_steps, data, validation, sample_weight)
    except (OSError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None
    refused = {conflict.number for conflict in result.conflicts if not conflict.was_made}
    for number in range(position + 1, len(checked_steps) + 1):
        if number not in refused:
            result.editor.undo()
    return Resumed(result.editor, position, result.conflicts)


def _integer(message: Mapping[str, Any], name: str) -> int:
    value = message.get(name)
    if type(value) is not int:
        raise ParameterError("must be a whole number.", parameter=name, value=value)
    return value


def _as_number(label: Any) -> float:
    """Return what was typed for a leaf of numbers."""
    try:
        return float(label)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("must be a number.", parameter="label", value=label) from None


def _losses(losses: EditLosses) -> dict[str, Any]:
    def plain(loss: TableLoss | None) -> dict[str, Any] | None:
        return None if loss is None else {"rows": loss.rows, "lost": loss.lost, "rate": loss.rate}

    return {"training": plain(losses.training), "validation": plain(losses.validation)}


def _step_facts(step: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "words": describe_edit(step),
        "node": safe(step.get("node", "")),
        "reason": safe(step.get("reason", "")),
    }
    for table in ("training", "validation"):
        for name, prefix in ((table, ""), (f"touched_{table}", "touched_")):
            both = [step.get(f"{prefix}{when}", {}).get(table) for when in ("before", "after")]
            facts[name] = [loss[2] / loss[1] if loss and loss[1] else None for loss in both]
    touched = step.get("touched_before", {}).get("training", [0])
    return {**facts, "touched": touched[0]}


def _number(value: float | int) -> float | str:
    """Return a number that JavaScript can hold; wide integers as text."""
    return value if isinstance(value, float) or abs(value) < 2**53 else str(value)


def _cell_texts(table: Table, name: str) -> list[str]:
    encoded = encode.fit_encoding(table[name])
    values = encode.decode(encoded.encoding, encoded.values)
    return ["" if value is None else safe(encoded.encoding.format(value)) for value in values]
