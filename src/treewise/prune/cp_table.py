"""The complexity-parameter table of rpart: the trees of a nested sequence with their cp and their errors.

``cross_validation.py`` records one in the history when cross-validation chooses the size; ``tree.cp_table`` returns
that one (``tree.fit_info.cp_table``), or computes one without cross-validated errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from treewise._lib.result_table import WIDTH, ColumnSpec, Displayable, ResultTable, Style, align_columns
from treewise._lib.text import format_rounded, plural, safe
from treewise.prune.decision import is_internal, node_risks
from treewise.prune.losses import LOSSES, find_loss
from treewise.prune.nested_trees import find_nested_trees
from treewise.tree.fit_info import CpRow
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.prune.cross_validation import HeldOutLosses

_MAX_STORED = 1000  # rows in the history: the smallest trees
_MAX_SHOWN = 40


@dataclass(frozen=True, repr=False)
class CpTable(Displayable, Sequence[CpRow]):
    """The rows from the root to the largest tree; ``best`` and ``chosen`` are indexes into them."""

    target: str
    root_error: float
    rows: tuple[CpRow, ...]
    best: int | None = None
    chosen: int | None = None
    left_out: int = 0
    loss: str = "error"  # what is relative to the root

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[CpRow]:
        return iter(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as recorded in the history."""
        rows = [list(row) for row in self.rows[:_MAX_STORED]]
        return {
            "root_error": self.root_error,
            "columns": list(CpRow._fields),
            "rows": rows,
            "best": self.best,
            "chosen": self.chosen,
            "left_out": len(self) - len(rows),
            "loss": self.loss,
        }

    @property
    def title(self) -> str:
        """The heading: what is compared, and its value for the root."""
        counted = {"error": "errors", "cost": "costs", "poisson_deviance": "deviances"}.get(self.loss, self.loss)
        if LOSSES[self.loss].risk == "impurity" and self.loss != "poisson_deviance":  # whose impurity is the deviance
            of_root = f"impurity and {'1 - auc' if self.loss == 'auc' else counted} relative to those of the root"
            return f"cp table of {safe(self.target)}: {of_root} ({format_rounded(self.root_error)})"
        per_row = f"{format_rounded(self.root_error)} per row"
        return f"cp table of {safe(self.target)}: {counted} relative to those of the root, {per_row}"

    @property
    def has_xerror(self) -> bool:
        """Whether there are cross-validated errors."""
        return bool(self.rows) and self.rows[0].xerror is not None

    def result_table(self) -> ResultTable:
        """Return the rows as a result table, the root first."""
        held_out: Literal["data"] | None = None if self.has_xerror else "data"
        headings = (
            ColumnSpec("cp", "number", formatter=lambda cp: f"{cp:.5g}"),
            ColumnSpec("nsplit", "count"),
            ColumnSpec("leaves", "count"),
            ColumnSpec("rel_error", "number", formatter=_four_digits),
            ColumnSpec("xerror", "number", formatter=_four_digits, only=held_out),
            ColumnSpec("xstd", "number", formatter=_four_digits, only=held_out),
            ColumnSpec("mark", title="", only=held_out),
        )
        rows = [(*row, self._mark(index)) for index, row in enumerate(self.rows)]
        below = (f"… {plural(self.left_out, 'larger tree')}",) if self.left_out else ()
        return ResultTable(self.title, headings, rows, below=below, row_name="larger tree", max_rows=self._last + 1)

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return the table as rpart prints it, up to 40 of the smallest trees."""
        has_xerror = self.has_xerror
        names = ["cp", "nsplit", "leaves", "rel_error", *(["xerror", "xstd"] if has_xerror else [])]
        table_rows = [self._cells(i, row, has_xerror) for i, row in enumerate(self.rows[: self._last + 1])]
        marks = [f"◄ {mark}" if mark else "" for mark in map(self._mark, range(len(table_rows)))]
        rows = [[*names, ""], *([*cells, mark] for cells, mark in zip(table_rows, marks, strict=True))]
        more = len(self) - len(table_rows) + self.left_out
        return "\n".join(
            [
                emphasis(self.title),
                align_columns(rows, right=range(len(names))),
                *([f"… {plural(more, 'larger tree')}"] if more else []),
            ]
        )

    def _cells(self, index: int, row: CpRow, has_xerror: bool) -> list[str]:
        cells = [f"{row.cp:.5g}", f"{row.nsplit:,}", f"{row.leaves:,}", f"{row.rel_error:.4f}"]
        return [*cells, f"{row.xerror:.4f}", f"{row.xstd:.4f}"] if has_xerror else cells

    def _mark(self, index: int) -> str:
        return ", ".join(["minimum xerror"] * (index == self.best) + ["chosen"] * (index == self.chosen))

    @property
    def _last(self) -> int:
        """The index of the last row that is shown."""
        return max(self.chosen or 0, self.best or 0, _MAX_SHOWN - 1)


def _four_digits(error: float) -> str:
    return f"{error:.4f}"


def cp_table_from_folds(tree: Tree, held_out: HeldOutLosses, chosen: int) -> CpTable:
    """Return the table of a cross-validation."""
    n, nested = len(held_out.sequence_index), held_out.nested
    alpha, leaves = nested.alpha[held_out.sequence_index], nested.n_leaves[held_out.sequence_index]
    cp = alpha / (nested.root_risk or 1.0)
    columns = (cp, held_out.n_splits, leaves, held_out.rel_error, held_out.xerror, held_out.xstd)
    rows = [CpRow(*(column[i].item() for column in columns)) for i in range(n - 1, -1, -1)]
    chosen_rows = n - 1 - held_out.losses.choose("best"), n - 1 - chosen
    return CpTable(tree.target.name, held_out.root_loss, tuple(rows), *chosen_rows, loss=held_out.loss.name)


def cp_table(tree: Tree) -> CpTable:
    """Return the table that chose the size of the tree, if it is unchanged since then; else one without xerror."""
    stored, loss = tree.fit_info.cp_table, find_loss(tree, None).name
    if stored is not None:
        chosen_rows = stored.best, stored.chosen, stored.left_out
        recorded = stored.loss if stored.loss in LOSSES else loss
        return CpTable(tree.target.name, stored.root_error, stored.rows, *chosen_rows, loss=recorded)
    risk = LOSSES[loss].risk
    nested = find_nested_trees(tree, risk)
    root = nested.root_risk or 1.0
    splits = nested.totals(tree, np.zeros(len(tree)), is_internal(tree).astype(float)).round().astype(int)
    rel = nested.totals(tree, node_risks(tree, risk)) / float(tree.arrays.weight[0]) / root
    rows = tuple(
        CpRow(float(nested.alpha[i]) / root, int(splits[i]), int(nested.n_leaves[i]), float(rel[i]), None, None)
        for i in range(len(nested) - 1, nested.first - 1, -1)
    )
    unit = 2.0 if loss == "poisson_deviance" else 1.0  # the impurity is half the deviance
    return CpTable(tree.target.name, unit * nested.root_risk, rows, loss=loss)
