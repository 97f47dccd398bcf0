"""The nodes of a tree as a table, one row per node: ``tree.to_frame()``, and the export format "markdown"."""

from __future__ import annotations

from typing import Any

from treewise._lib.result_table import ColumnSpec, ResultTable
from treewise.show.node_stats import has_training_rows
from treewise.show.text_tree.text_tree import header
from treewise.tree.splits import Split, Threshold
from treewise.tree.tree import Tree

_COLUMNS = (
    ColumnSpec("node", "count"),
    ColumnSpec("parent", "count"),
    ColumnSpec("depth", "count", only="data"),
    ColumnSpec("condition"),
    ColumnSpec("split", only="data"),
    ColumnSpec("column", only="data"),
    ColumnSpec("cut", "number", only="data"),
    ColumnSpec("prediction", "label", title="predicts"),
    ColumnSpec("is_leaf", "flag", title="leaf"),
    ColumnSpec("rows", "count"),
    ColumnSpec("weight", "number", only="data"),
    ColumnSpec("impurity", "number", only="data"),
    ColumnSpec("gain", "number", only="data"),
)


def node_table(tree: Tree) -> ResultTable:
    """Return a table of the nodes in their order.

    >>> import treewise as tw
    >>> print(node_table(tw.grow("penguins", max_depth=1)).to_text().splitlines()[2])
    1          0  flipper_length_mm <= 206.5             Adelie    yes    213
    """
    has_rows = has_training_rows(tree)
    rows = []
    for node in tree:
        statistics: tuple[Any, ...] = (node.rows, node.weight, node.impurity, node.gain) if has_rows else (None,) * 4
        split = _split(node.split)
        rows.append(
            (
                *(node.id, node.parent, node.depth, tree.condition(node.id), *split, node.prediction, node.is_leaf),
                *statistics,
            )
        )
    return ResultTable("", _COLUMNS, rows, row_name="node", max_rows=None)


def _split(split: Split | None) -> tuple[str | None, str | None, float | int | None]:
    if split is None:
        return None, None, None
    return split.kind, split.column, split.cut if isinstance(split, Threshold) else None


def write(tree: Tree) -> str:
    """Return the nodes as a Markdown table, under a line about the tree.

    >>> import treewise as tw
    >>> print(tw.parse("x <= 1 -> a\\nx > 1 -> b").export("markdown").splitlines()[0])
    class: a, b · 2 leaves · depth 1
    """
    from treewise._lib.text import escape_markdown

    head = [escape_markdown(line) for line in header(tree, ascii=False).splitlines()]
    return "\n".join([*head, "", node_table(tree).to_markdown().rstrip("\n"), ""])
