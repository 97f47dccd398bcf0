"""An evaluation as sheets: the confusion matrix for readers, its cells as rows for programs.

Beside ``figures.py``, whose own text is printed on a terminal; notebooks, Markdown and dataframes are made of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewise._lib.result_table import ColumnSpec, ResultTable
from treewise._lib.text import format_rounded

if TYPE_CHECKING:
    from treewise.evaluate.results import ClassificationEvaluation, Evaluation, RegressionEvaluation


def title(found: Evaluation) -> str:
    """Say what was compared with what."""
    return f"{found.table}, column {found.target}"


def confusion_sheet(found: ClassificationEvaluation) -> ResultTable:
    """Lay out the figures and the matrix; with many classes its largest wrong cells."""
    head, *rows = found.confusion_cells()
    headings = [ColumnSpec("true", title=head[0])]
    headings += [ColumnSpec(f"column {i}", "count", name, str) for i, name in enumerate(head[1:])]
    above = tuple(f"{about}: {said}" for about, said in found.facts)
    return ResultTable(title(found), tuple(headings), rows, above=above, max_rows=None)


def pairs_sheet(found: ClassificationEvaluation) -> ResultTable:
    """List how many rows of each class were given which prediction."""
    headings = (
        ColumnSpec("true", "label"),
        ColumnSpec("predicted", "label"),
        ColumnSpec("rows", "count"),
        ColumnSpec("weight", "count"),
    )
    rows = [
        (found.labels[true], found.classes[said], rows, weight)
        for (true, said, rows), weight in zip(found.pairs.tolist(), found.times.tolist(), strict=True)
    ]
    return ResultTable(title(found), headings, rows, row_name="pair")


def numbers_sheet(found: RegressionEvaluation) -> ResultTable:
    """Put the figures beside those of always saying what the root says."""
    headings = (ColumnSpec("figure"), ColumnSpec("value", "number"), ColumnSpec("baseline", "number"))
    rows = [
        ("rmse", found.rmse, found.baseline_rmse),
        ("mae", found.mae, found.baseline_mae),
        ("r2", found.r2, None if found.root is None else 0.0),
    ]
    always = () if found.root is None else (f"baseline: always {format_rounded(found.root)}, as the root predicts",)
    return ResultTable(f"{title(found)}: {found.n:,} rows", headings, rows, below=(*always, *found.notes))
