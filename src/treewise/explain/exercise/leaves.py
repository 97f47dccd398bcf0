"""Exercise topic "leaves": what a given tree says about a table; the tree may be typed by hand.

Level 1 leaves the results blank (the number of errors and the log-likelihood), level 2 also the class counts of every
leaf, level 3 everything: the prediction for every row, and −m·H(p) of every leaf (CS221 notes 6, section 1.2).
"""

from __future__ import annotations

import numpy as np

from treewise._lib.text import safe
from treewise.data.table import Table
from treewise.explain.exercise.builder import (
    COUNTS,
    EVERYTHING,
    SheetOptions,
    cell_texts,
    choice,
    count,
    impurity,
    label_text,
    number,
)
from treewise.explain.exercise.formula import Formula
from treewise.explain.exercise.sheet import Cell, Grid, Part
from treewise.explain.exercise.trees import tree_lines
from treewise.train.criteria import entropy
from treewise.tree.tree import Tree

TITLE = "What does the tree say about these rows?"


def leaf_parts(tree: Tree, table: Table, options: SheetOptions) -> list[Part]:
    """Return the tree, the rows with their predictions, and the leaves."""
    log = "log₂" if options.unit == "bits" else "ln"
    question = (
        "A leaf with m rows of the table, of which shares p have each class, contributes −m·H(p) to the log-likelihood"
        f" ℓ(T), with H = −Σ p·{log} p in {options.unit}.",
        "A row is an error if the class of its leaf is not its own.",
    )
    parts = [Part("The tree", question, code=tree_lines(tree))]
    if options.level == EVERYTHING:
        parts.append(_rows_part(tree, table))
    return [*parts, _leaves_part(tree, table, options)]


def _rows_part(tree: Tree, table: Table) -> Part:
    """Return the prediction of each row as a choice."""
    options = sorted({label_text(c) for c in (*tree.classes, *map(tree.prediction, range(len(tree))))})
    predicted = [label_text(label) for label in np.asarray(tree.predict(table)).tolist()]
    truth = cell_texts(table, tree.target.name)
    lines: list[tuple[Cell, ...]] = [
        (str(i), true, choice(f"row{i}", f"prediction for row {i}", [label], options))
        for i, (true, label) in enumerate(zip(truth, predicted, strict=True), start=1)
    ]
    return Part("Predictions", grid=Grid(("row", label_text(tree.target.name), "prediction of the tree"), tuple(lines)))


def _leaves_part(tree: Tree, table: Table, options: SheetOptions) -> Part:
    """Return the counts and likelihoods of the leaves, and their sums."""
    level, truth = options.level, cell_texts(table, tree.target.name)
    classes = list(dict.fromkeys([label_text(c) for c in tree.classes] + truth))
    lines: list[tuple[Cell, ...]] = []
    wrong: list[Formula] = []
    terms: list[Formula] = []
    errors, total, unit_factor = 0, 0.0, 1.0 if options.unit == "bits" else float(np.log(2.0))
    for leaf in _ends(tree, table):
        of_leaf = [truth[row - 1] for row in _own_rows(tree, table, leaf)]
        name, label = f"leaf {leaf}", label_text(tree.prediction(leaf))
        counts = [
            count(level >= COUNTS, f"{leaf}.{i}", f"number of {c} at {name}", of_leaf.count(c))
            for i, c in enumerate(classes)
        ]
        refs = [c.ref for c in counts]
        wrong += [ref for ref, c in zip(refs, classes, strict=True) if c != label]
        errors += sum(c != label for c in of_leaf)
        h = entropy([of_leaf.count(c) for c in classes]) * unit_factor
        formula = ("-", 0, ("*", ("+", *refs), impurity("entropy", options.unit, refs)))
        near = options.tolerance * len(of_leaf)
        contribution = number(
            level == EVERYTHING, f"{leaf}.l", f"−m·H(p) of {name}", -len(of_leaf) * h, formula, near, options.unit
        )
        terms.append(contribution.ref)
        total -= len(of_leaf) * h
        lines.append((str(leaf), label, *(c.cell for c in counts), *[contribution.cell] * (level == EVERYTHING)))
    n_errors = count(True, "errors", "number of errors of the tree", errors, ("+", *wrong))
    likelihood = number(
        True, "likelihood", "log-likelihood ℓ(T)", total, ("+", *terms), options.tolerance * len(table), options.unit
    )
    columns = ("leaf", "predicts", *classes, *["−m·H(p)"] * (level == EVERYTHING))
    empty = [""] * (len(columns) - 2)
    lines += [("errors", *empty, n_errors.cell), ("ℓ(T)", *empty, likelihood.cell)]
    heading = f"The leaves, with the rows of {safe(table.name)}"
    return Part(heading, grid=Grid(columns, tuple(lines)))


def _ends(tree: Tree, table: Table) -> list[int]:
    """Return the nodes at which rows of the table end: leaves, and nodes none of whose branches a row takes."""
    return [node for node in range(len(tree)) if _own_rows(tree, table, node)]


def _own_rows(tree: Tree, table: Table, node: int) -> list[int]:
    """Return the rows that end at a node."""
    below = {row for child in tree.children(node) for row in tree.rows(table, child).tolist()}
    return [row for row in tree.rows(table, node).tolist() if row not in below]
