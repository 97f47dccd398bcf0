"""Trees on a sheet: printed with node numbers, typed as an outline, compared node by node on the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from treewise._lib.text import safe
from treewise.data.table import Table, read
from treewise.errors import TreewiseError
from treewise.explain.exercise.builder import cell_texts, label_text
from treewise.explain.exercise.formula import Formula
from treewise.explain.exercise.sheet import Blank
from treewise.tree.splits import Ordinal, quote
from treewise.tree.tree import Tree


def tree_lines(tree: Tree) -> str:
    """Return a tree to be printed on a sheet: node numbers, conditions, predictions, and no counts."""
    lines = []
    for node in range(len(tree)):
        depth = len(tree.path(node)) - 1
        text = "all rows" if node == 0 else tree.condition(node)
        is_leaf = tree.split_at(node) is None
        lines.append(f"{node:>2}  {'    ' * depth}{text}" + (f" -> {quote(str(tree.prediction(node)))}" * is_leaf))
    return "\n".join(lines)


def outline(tree: Tree) -> str:
    """Return a tree as it is typed: conditions, indented, with ``-> class`` at a leaf.

    >>> import treewise as tw
    >>> print(outline(tw.grow("or", max_depth=1)))
    x1 <= 0.5 -> 0
    x1 > 0.5 -> 1
    """
    if len(tree) == 1:
        return f"-> {quote(str(tree.prediction(0)))}"
    lines = []
    for node in range(1, len(tree)):
        leaf = f" -> {quote(str(tree.prediction(node)))}" if tree.split_at(node) is None else ""
        lines.append("    " * (len(tree.path(node)) - 2) + _typed_condition(tree, node) + leaf)
    return "\n".join(lines)


def _typed_condition(tree: Tree, node: int) -> str:
    """Return a condition as it is typed; that of an ordered column names its threshold on both sides."""
    parent = tree.path(node)[-2]
    split = tree.split_at(parent)
    if not isinstance(split, Ordinal):
        return tree.condition(node)
    sign = "<=" if node == tree.children(parent)[0] else ">"
    return f"{safe(split.column)} {sign} {quote(split.level)}"


def tree_blank(id: str, prompt: str, tree: Tree, table: Table, formula: Formula | None = None) -> Blank | None:
    """Return a blank for a typed tree, marked node by node: the same rows must be split alike or predicted alike.

    ``formula`` gives the nodes that follow from the student's choices. None if names of the table keep the tree from
    being typed.
    """
    nodes = tree_nodes(tree, table)
    encodings = [encoding for encoding in tree.encodings if encoding.name in table.columns]
    data = {
        "target": tree.target.name,
        "columns": {e.name: cell_texts(table, e.name, e) for e in encodings},
        "classes": cell_texts(table, tree.target.name),
        "kinds": {e.name: list(e.levels) if e.kind == "ordered" else e.kind for e in encodings},
        "nodes": nodes,
    }
    text = outline(tree)
    try:
        is_typed = typed_nodes(data, text) == nodes
    except TreewiseError:
        is_typed = False
    return Blank(id, prompt, "tree", text, text, formula, tree=data, points=len(nodes)) if is_typed else None


def tree_nodes(tree: Tree, table: Table) -> list[list[Any]]:
    """Return the nodes as ``[rows, parts]`` of a split or ``[rows, class]`` of a leaf; without those no row reaches.

    Two trees that ask the same questions of a table have equal nodes, whatever thresholds between two values they name
    and in whichever order they list the branches.
    """
    return [content for node in range(len(tree)) if (content := tree_node(tree, table, node))[0]]


def tree_node(tree: Tree, table: Table, node: int, as_leaf: bool = False) -> list[Any]:
    """Return a node as ``tree_nodes`` does, also one without rows; ``as_leaf`` cuts the tree there."""
    rows = tree.rows(table, node).tolist()
    if as_leaf or (split := tree.split_at(node)) is None:
        return [rows, label_text(tree.prediction(node))]
    parts = [tree.rows(table, child).tolist() for child in tree.children(node)]
    return [rows, [split.column, sorted(part for part in parts if part)]]


def typed_nodes(data: Mapping[str, Any], text: str) -> list[list[Any]]:
    """Parse a typed tree and send the rows of the sheet down it."""
    from treewise.formats.text_format.parse import parse
    from treewise.train.target import adopt_levels, adopt_target

    table = _table_of(data)
    tree = parse(text.strip("\n"), data=table, target=data["target"])
    return tree_nodes(adopt_levels(adopt_target(tree, table), table), table)


def _table_of(data: Mapping[str, Any]) -> Table:
    """Return the table of a blank as it was."""
    numbers = {name for name, kind in data["kinds"].items() if kind in ("number", "integer")}
    cells = {n: [float(cell) for cell in column] if n in numbers else column for n, column in data["columns"].items()}
    kinds = {**data["kinds"], data["target"]: "nominal"}
    return replace(
        read({**cells, data["target"]: data["classes"]}), name="the sheet", kinds=kinds, target=data["target"]
    )
