"""Opening a session of the workbench: the tree and tables it begins with, or where the last one ended."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from treewise._lib.text import plural, safe
from treewise.data.table import Table
from treewise.edit.editor import Editor
from treewise.edit.log import edit_steps
from treewise.errors import ParameterError
from treewise.formats.model_file.model_file import dumps
from treewise.tree.tree import Tree
from treewise.workbench.session import Session, free_name, resume


def open_session(
    table: Table,
    tree: Tree | None,
    options: dict[str, Any],
    validation: Any = None,
    autosave: Path | None = None,
    output: Path | None = None,
    fresh: bool = False,
) -> Session:
    """Return a session: resumed from its session file, if there is one and it fits, else new.

    >>> import treewise as tw
    >>> session = open_session(tw.read("penguins"), None, {"target": "species"})
    >>> answer = session.handle({"do": "edit", "verb": "split", "with": {"node": 0}})
    >>> len(answer["state"]["ids"]), session.handle({"do": "edit", "verb": "explode"})
    (3, {'error': 'there is no such edit.'})
    """
    options = dict(options)
    target = options.pop("target", None)
    start = _hash_of_start(tree, options)
    notes: list[str] = []
    held_out = validation if isinstance(validation, Table) else None
    if autosave is not None and autosave.exists():
        resumed = None if fresh else resume(autosave, start, table, validation, options.get("sample_weight"))
        if resumed is not None and (tree is not None or target in (None, resumed.editor.start.target.name)):
            editor = resumed.editor
            n_made = len(edit_steps(editor.tree)) - len(edit_steps(editor.start))
            lacks = f"{n_made} of " if n_made < resumed.n_edits else ""
            n_edits = f"{lacks}{plural(resumed.n_edits, 'edit')}"
            notes = [f"continued after {n_edits} of the last session; --fresh begins anew", *resumed.notes]
            keeps = bool(resumed.conflicts)
            return Session(editor, table, autosave, output, start, held_out, notes=notes, keeps_earlier=keeps)
    if tree is None:
        if target is None and not table.columns:
            raise ParameterError("name the column to predict.", parameter="target")
        editor = Editor(target, table, validation=validation, **options)
    else:
        editor = Editor(tree, table, validation=validation, sample_weight=options.get("sample_weight"))
    if autosave is not None and autosave.exists():
        kept = free_name(autosave)
        autosave.replace(kept)
        notes.append(f"the last session {'' if fresh else 'was another one; it '}is kept as {safe(kept.name)}")
    return Session(editor, table, autosave, output, start, held_out, notes=notes)


def _hash_of_start(tree: Tree | None, options: dict[str, Any]) -> str:
    """Return what tells sessions apart that begin with other trees, or with other options of growing."""
    text = "" if tree is None else dumps(tree)
    return hashlib.sha256((text + json.dumps(options, sort_keys=True, default=str)).encode()).hexdigest()
