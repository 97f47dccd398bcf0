"""``treewise demo``: what treewise does, in fewer than sixty lines, computed while you wait."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from treewise._lib.result_table import align_columns
from treewise._lib.text import format_percent, plural, safe
from treewise.cli.output import is_ascii_only, print_text
from treewise.cli.param_types import read_row
from treewise.cli.render import _format_cell
from treewise.cli.verb import verb

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.tree.tree import Tree

_ROW = "GPA=3.7, University=top20, Published=no"
_ROWS_SHOWN = 2


@verb("demo", "", examples=("treewise demo",), about="Nothing is written to your disk.")
def command() -> None:
    """Show the main job on built-in data."""
    from treewise.datasets import load
    from treewise.train.grow import grow

    admissions, penguins = load("admissions"), load("penguins")
    learned = grow(admissions, "Class", preset="id3")
    species = grow(penguins, "species", max_leaf_nodes=4)
    trace_command = "treewise trace admissions --target Class --preset id3 --per total"
    gaps = sum(int(column.is_missing().sum()) for column in penguins.columns.values())

    print_text("treewise: decision trees you can read.      (built-in data; nothing is written to your disk)\n")
    _print_step(1, f"A table: {admissions.title}", "treewise data admissions --rows", _first_rows(admissions))
    tree_command = "treewise grow admissions --target Class --preset id3 -o model.json"
    _print_step(2, "The tree", tree_command, [*_tree_lines(learned), _describe_fit(learned, admissions)])
    _print_step(
        3,
        f"Why {_root_column(learned)} first? Every computation",
        trace_command,
        _root_lines(learned, admissions),
    )
    _print_step(4, "One applicant", f"treewise explain model.json --row {shlex.quote(_ROW)}", _explain_row(learned))
    _print_step(
        5,
        f"A real table: {plural(len(penguins), 'penguin')}, {gaps} cells missing",
        "treewise grow penguins --target species --max-leaf-nodes 4",
        [*_tree_lines(species), _describe_fit(species, penguins)],
    )
    print_text("Now with your own table:   treewise grow yours.csv --target COLUMN --pruning cv -o model.json")
    print_text("As rules, or as a page:    treewise rules model.json · treewise report model.json yours.csv -o r.html")


def _print_step(number: int, title: str, typed: str, lines: list[str]) -> None:
    """Print one step: what it is, what to type for it, and what comes out."""
    print_text("\n".join([f"{number}  {title}", f"   $ {typed}", *(f"   {line}" for line in lines), ""]))


def _first_rows(table: Table) -> list[str]:
    """Return the first rows of a table, and how many more there are."""
    frame = table.to_polars()
    lines = align_columns([frame.columns, *(list(map(_format_cell, row)) for row in frame.head(_ROWS_SHOWN).rows())])
    return [*lines.splitlines(), f"… {len(table) - _ROWS_SHOWN} more rows"]


def _tree_lines(tree: Tree) -> list[str]:
    """Return the lines of a tree."""
    from treewise.show.text_tree.text_tree import render_tree

    return render_tree(tree, ascii=is_ascii_only(sys.stdout)).splitlines()


def _describe_fit(tree: Tree, table: Table) -> str:
    """Describe the size of a tree, and how many rows of a table it predicts correctly."""
    from treewise.evaluate import ClassificationEvaluation, evaluate

    evaluation = evaluate(tree, table)
    assert isinstance(evaluation, ClassificationEvaluation)
    right = evaluation.n - evaluation.errors
    hits = f"all {evaluation.n} rows right"
    if evaluation.errors:
        hits = f"{right} of {plural(evaluation.n, 'row')} right ({format_percent(evaluation.accuracy)} %)"
    return f"{plural(tree.n_leaves, 'leaf', 'leaves')}, depth {tree.depth}, {hits}"


def _root_column(tree: Tree) -> str:
    """Return the column of the root split."""
    split = tree.split_at(0)
    assert split is not None
    return safe(split.column)


def _root_lines(tree: Tree, table: Table) -> list[str]:
    """Return each column's gain at the root, with its formula."""
    trace = tree.trace(table, per="total")
    root = trace[0]
    rows = [
        [safe(name), column.formula, f"= {column.gain:.3f}{'  ◄ best' * (name == root.winner)}"]
        for name, column in root.candidates.items()
    ]
    more = sum(1 for _ in trace) - 1
    legend = f"H(p) in bits, p the share of {safe(tree.target.positive)}"
    return [*align_columns(rows).splitlines(), f"({legend}; {plural(more, 'more node')} with all candidates)"]


def _explain_row(tree: Tree) -> list[str]:
    """Explain the answer for one row."""
    return str(tree.explain(read_row(_ROW))).splitlines()
