"""The tables of a classification's evaluation, for notebooks and data: confusion matrix, its cells, and metrics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from treewise._lib.result_table import ColumnSpec, ResultTable

if TYPE_CHECKING:
    from treewise.evaluate.results import ClassificationEvaluation


def describe_fact(head: str, text: str) -> str:
    """Write a line of columns as a sentence.

    >>> describe_fact("error", " 3.5 %   12 of 344 rows wrong"), describe_fact("note", "these are other rows")
    ('error 3.5 %: 12 of 344 rows wrong', 'these are other rows')
    """
    text = ": ".join(re.split(r" {2,}", text.strip()))
    return text if head == "note" else f"{head} {text}"


def metrics_table(evaluation: ClassificationEvaluation) -> ResultTable:
    """Return the metrics with their intervals."""
    head, *rows = evaluation.metric_cells()
    headings = [ColumnSpec("metric", title=head[0])]
    headings += [ColumnSpec(f"column {i}", "count", name, str) for i, name in enumerate(head[1:])]
    return ResultTable("Metrics", tuple(headings), rows, max_rows=None)


def confusion_table(evaluation: ClassificationEvaluation) -> ResultTable:
    """Return the confusion matrix, or the largest confusions, below the error and what belongs to it."""
    head, *rows = evaluation.confusion_cells()
    headings = [ColumnSpec("true", title=head[0])]
    headings += [ColumnSpec(f"column {i}", "count", name, str) for i, name in enumerate(head[1:])]
    above = tuple(describe_fact(head, text) for head, text in evaluation.facts)
    return ResultTable(evaluation.title, tuple(headings), rows, above=above, max_rows=None)


def pairs_table(evaluation: ClassificationEvaluation) -> ResultTable:
    """Return the nonzero cells of the confusion matrix, one per row."""
    headings = (
        ColumnSpec("true", "label"),
        ColumnSpec("predicted", "label"),
        ColumnSpec("rows", "count"),
        ColumnSpec("weight", "count"),
    )
    rows = [
        (evaluation.labels[true], evaluation.classes[predicted], rows, weight)
        for (true, predicted, rows), weight in zip(
            evaluation.pairs.tolist(), evaluation.pair_weights.tolist(), strict=True
        )
    ]
    return ResultTable(evaluation.title, headings, rows, row_name="pair")
