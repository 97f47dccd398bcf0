"""Edits as steps of a tree's history: the log as text, and the outcome of making the edits again on other rows.

A step has ``did="edit"``, the verb (``edit``), the branches that lead to the node (``path``) and its conditions in
words (``node``), the arguments (``call``), the reason, and what the tree lost before and after. ``tree/history.py``
describes and checks it, because it may come from a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_percent, format_rounded, plural, safe
from treewise.tree.history import describe_edit
from treewise.tree.splits import Multiway, OneValue, Ordinal, Presence, Split, Subset, Threshold
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.edit.editor import Editor

_SPLITS: dict[str, type[Split]] = {cls.kind: cls for cls in (Threshold, Ordinal, OneValue, Subset, Multiway, Presence)}


def edit_steps(tree: Tree) -> list[Mapping[str, Any]]:
    """Return the edits in the history of a tree.

    >>> import treewise as tw
    >>> editor = tw.Editor("Class", "admissions")
    >>> tree = editor.split(0)
    >>> [step["edit"] for step in edit_steps(tree)]
    ['split']
    """
    return [step for step in tree.history if step.get("did") == "edit" and step.get("edit") != "start"]


def split_to_dict(split: Split) -> dict[str, Any]:
    """Return a split as plain values, as the log records it.

    >>> split_to_dict(Subset("city", ("Bari", "Rome"), missing=1))
    {'kind': 'subset', 'column': 'city', 'missing': 1, 'levels': ['Bari', 'Rome']}
    """
    values = {name: getattr(split, name) for name in type(split).__dataclass_fields__}
    return {"kind": split.kind, **{name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}}


def split_from_dict(values: Mapping[str, Any]) -> Split:
    """Return the split of a step.

    >>> split_from_dict({"kind": "threshold", "column": "age", "missing": 0, "cut": 65.0})
    Threshold(column='age', missing=0, cut=65.0)
    """
    fields: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if name != "kind"
    }
    kind: Any = _SPLITS[values["kind"]]
    split: Split = kind(**fields)
    return split


@dataclass(frozen=True, repr=False)
class EditLog(Displayable):
    """The edits of a tree as sentences, with their reasons, as an auditor reads them."""

    target: str
    is_classification: bool
    steps: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, tree: Tree) -> EditLog:
        """Return the log of a tree."""
        return cls(tree.target.name, tree.task == "classification", tuple(edit_steps(tree)))

    def __len__(self) -> int:
        return len(self.steps)

    def result_table(self) -> ResultTable:
        """Return one row per edit."""
        tables = [t for t in ("training", "validation") if any(t in step.get("after", {}) for step in self.steps)]
        sign = " %" if self.is_classification else ""
        columns = [
            ColumnSpec("number", "count", title=""),
            ColumnSpec("edit"),
            ColumnSpec("node"),
            ColumnSpec("rows", "count"),
            *(ColumnSpec(table, "text", title=f"{table}{sign}") for table in tables),
            ColumnSpec("reason"),
        ]
        rows = [
            [
                number,
                describe_edit(step),
                safe(step["node"]),
                step.get("touched_before", {}).get("training", [0])[0],
                *(self._change(step, table) for table in tables),
                step.get("reason", ""),
            ]
            for number, step in enumerate(self.steps, 1)
        ]
        title = f"Edits of the tree of {safe(self.target)}"
        above = () if rows else ("no edits",)
        return ResultTable(title, tuple(columns), rows, above, row_name="edit", max_rows=None)

    def _change(self, step: Mapping[str, Any], table: str) -> str:
        both = [step.get(when, {}).get(table) for when in ("before", "after")]
        texts = [self._rate(loss) for loss in both]
        return texts[1] if texts[0] == texts[1] else " → ".join(texts)

    def _rate(self, loss: Sequence[float] | None) -> str:
        if not loss or not loss[1]:
            return "–"
        rate = loss[2] / loss[1]
        return format_percent(rate) if self.is_classification else format_rounded(rate)


@dataclass(frozen=True)
class ReplayConflict:
    """An edit that does not fit the other table."""

    number: int
    edit: str
    node: str
    why: str
    was_made: bool


@dataclass(frozen=True, repr=False)
class Replay(Displayable):
    """The outcome of ``Editor.replay``: an editor of the other table, and the edits that do not fit it."""

    editor: Editor
    n_edits: int
    conflicts: tuple[ReplayConflict, ...]

    @property
    def tree(self) -> Tree:
        """The tree of the other table."""
        return self.editor.tree

    def result_table(self) -> ResultTable:
        """Return one row per conflict."""
        n_made = self.n_edits - sum(not conflict.was_made for conflict in self.conflicts)
        columns = (
            ColumnSpec("number", "count", title=""),
            ColumnSpec("edit"),
            ColumnSpec("node"),
            ColumnSpec("why"),
            ColumnSpec("was_made", "flag", title="made"),
        )
        rows = [[c.number, c.edit, c.node, c.why, c.was_made] for c in self.conflicts]
        below = () if rows else ("no conflicts",)
        return ResultTable(f"{n_made} of {plural(self.n_edits, 'edit')} made again", columns, rows, below=below)
