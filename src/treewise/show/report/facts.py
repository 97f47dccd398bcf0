"""What the page knows of a tree, as plain values: its arrays, its words, and what two tables have at each node.

Below ``report``: the page's script reads these facts, and draws and answers from them alone (``assets/model.js``).
Nothing is computed in two places: conditions are the tree's own words, merged conditions those of ``regions``, the
candidates of a node those of the trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_exact, format_rounded, plural, safe
from treewise.data.encoding import UNSEEN, Encoding, is_missing
from treewise.data.table import Table
from treewise.explain.rules import columns_with_missing, describe_conditions
from treewise.explain.trace import ColumnTrace, Trace
from treewise.predict.leaf_probabilities import nodes_with_counts
from treewise.predict.predict import encode_columns, find_leaves
from treewise.show.palette import CLASS_COLOURS
from treewise.show.text_tree.conditions import ConditionText
from treewise.tree.arrays import LEAF, STOPS
from treewise.tree.regions.region import regions
from treewise.tree.tree import Tree

REASONS = {
    "no_rows": "no row came here",
    "pure": "all its rows are alike",
    "sufficient_accuracy": "it is accurate enough",
    "max_depth": "it is as deep as was allowed",
    "min_samples_split": "it has too few rows to be split",
    "no_candidate": "no question tells its rows apart",
    "min_samples_leaf": "every split would leave too few rows on a side",
    "min_impurity_decrease": "no split gains enough",
    "max_leaf_nodes": "there are as many leaves as were allowed",
    "by_hand": "it was written so",
    "not_yet": "nobody has split it yet",
    **{stop: f"what was below was pruned: {stop[7:-1]}" for stop in STOPS if stop.startswith("pruned(")},
}
FEWEST = 10  # rows that share a level before a page without rows names it
MOST_WORDS = 1_000_000  # letters of merged conditions in the file
LONGEST_LIST = 12  # levels of a condition in a merged rule before it is cut in the middle


def facts_of(tree: Tree, test: Tree | None) -> dict[str, Any]:
    """Return the tree for the page; ``test`` is the same tree, re-estimated on the test table."""
    a, cost = tree.arrays, tree.cost
    asked = set(a.column.tolist())
    facts: dict[str, Any] = {
        "task": tree.task,
        "target": safe(tree.target.name),
        "classes": [safe(label) for label in tree.classes],
        "positive": 1 if len(tree.classes) == 2 else None,
        "colours": list(CLASS_COLOURS),
        "columns": [column_facts(encoding, i in asked) for i, encoding in enumerate(tree.encodings)],
        "nodes": node_facts(tree),
        "rules": merged_words(tree),
        "reasons": {name: reason for name, reason in REASONS.items() if name in set(stops(tree))},
        "stays_at_root": tree.empty_branch == "root",
        "cost": None if cost is None else cost.matrix.tolist(),
        "test": None if test is None else statistics(test),
    }
    if tree.task == "regression":
        known = a.value[(a.kind == LEAF) & ~np.isnan(a.value)]
        facts["range"] = [float(known.min()), float(known.max())] if len(known) else [0.0, 0.0]
    return facts


def column_facts(encoding: Encoding, asked: bool) -> dict[str, Any]:
    """Return what the page must know to read a value of a column; levels only where the tree asks about them."""
    facts: dict[str, Any] = {"name": safe(encoding.name), "kind": encoding.kind}
    if encoding.is_categorical and asked:
        facts["levels"] = [safe(level) for level in encoding.levels]
    return {**facts, "unit": encoding.unit} if encoding.unit else facts


def stops(tree: Tree) -> list[str]:
    """Return why each node is a leaf."""
    return [STOPS[stop] for stop in tree.arrays.stop.tolist()]


def node_facts(tree: Tree) -> dict[str, Any]:
    """Return the arrays of the nodes, and the condition that leads to each."""
    a, speaker = tree.arrays, ConditionText(tree)
    words = ["all rows"] * len(tree)
    for node in np.flatnonzero(a.kind != LEAF).tolist():
        for child, said in zip(tree.children(node), speaker.branches(node), strict=True):
            words[child] = said
    starts = a.code_start.tolist()
    codes = a.codes.tolist()
    return {
        "parent": a.parent.tolist(),
        "kind": a.kind.tolist(),
        "column": a.column.tolist(),
        "cut": list(cuts(tree)),
        "codes": [codes[starts[i] : starts[i + 1]] for i in range(len(tree))],
        "missing": a.missing.tolist(),
        "other": a.other.tolist(),
        "stop": stops(tree),
        "words": words,
        "label": a.label.tolist() if tree.task == "classification" else [],
        "speaks": nodes_with_counts(tree).tolist(),
        "weight": a.weight.tolist(),
        **statistics(tree),
    }


def cuts(tree: Tree) -> Iterator[float | str | None]:
    """Yield each node's threshold; as text where a number of JavaScript could not hold it."""
    a = tree.arrays
    for node in range(len(tree)):
        split = tree.split_at(node) if a.kind[node] != LEAF else None
        cut = getattr(split, "cut", None)
        if cut is None:
            yield None
        elif isinstance(cut, int):
            yield str(cut)
        else:
            yield in_json(cut)


def statistics(tree: Tree) -> dict[str, Any]:
    """Return what the rows of one table are at each node."""
    a = tree.arrays
    facts: dict[str, Any] = {"rows": a.rows.tolist()}
    if tree.task == "regression":
        facts["value"] = [finite(value) for value in a.value.tolist()]
        facts["spread"] = [finite(value) for value in a.spread.tolist()]
        return facts
    starts, classes, weights = a.count_start.tolist(), a.count_class.tolist(), a.count_weight.tolist()
    facts["counts"] = [
        [item for i in range(starts[node], starts[node + 1]) for item in (classes[i], shortest(weights[i]))]
        for node in range(len(tree))
    ]
    return facts


def shortest(weight: float) -> float | int:
    """Return a count as a whole number where it is one: the file is shorter."""
    return int(weight) if weight == int(weight) else weight


def finite(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if np.isfinite(value) else None


def merged_words(tree: Tree) -> dict[int, list[str]]:
    """Return what is asked of the rows of each node, one condition a column; the page joins a path where none is given.

    Long sets are cut, and of a very large tree only the first nodes' are in the file.
    """
    found, room, gaps = {}, MOST_WORDS, columns_with_missing(tree)
    for node, region in regions(tree):
        found[node] = [shortened(words) for words in describe_conditions(region, gaps, or_unseen=False)]
        room -= sum(map(len, found[node]))
        if room < 0:
            break
    return found


def shortened(words: str) -> str:
    """Leave out the end of a set of very many levels.

    >>> shortened("id in {" + ", ".join(map(str, range(40))) + "} or missing")
    'id in {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 28 more} or missing'
    """
    found = re.search(r"\{(.*)\}", words)
    levels = found[1].split(", ") if found else []
    if found is None or len(levels) <= LONGEST_LIST + 4:
        return words
    listed = f"{{{', '.join(levels[:LONGEST_LIST])}, … {len(levels) - LONGEST_LIST} more}}"
    return words[: found.start()] + listed + words[found.end() :]


# -- the computations of each node -----------------------------------------------------------------------------------


def computations(trace: Trace, tree: Tree, rows: bool) -> dict[int, dict[str, Any]]:
    """Return every column's best test at each inner node, the best first, and how they were compared.

    Without ``rows`` in the file, levels of columns that the tree does not ask about are counted, not named.
    """
    found = {}
    asked = {tree.columns[i] for i in np.unique(tree.arrays.column).tolist() if i >= 0}
    for node in np.flatnonzero(tree.arrays.kind != LEAF).tolist():
        at = trace[node]
        columns = sorted(at.columns.values(), key=lambda c: (c.best is None, -(c.score or 0.0), -c.gain))
        best = [c for c in columns if c.best is not None]
        chosen = at.split.column if at.split is not None else None
        lines = [
            {
                "test": c.words if rows or c.name in asked else test_in_short(c),
                "gain": format_rounded(c.gain),
                "won": c.name == chosen,
            }
            for c in best[:12]
        ]
        said = f"{plural(at.tried, 'test')} tried in {plural(len(at.columns), 'column')}; impurity {format_rounded(at.impurity)}."
        if at.runner_up is not None and at.margin is not None:
            said += (
                " The first two are equally good."
                if at.tie
                else f" {safe(at.runner_up)} is {format_rounded(at.margin)} behind."
            )
        found[node] = {"words": said, "candidates": lines}
    return found


def test_in_short(column: ColumnTrace) -> str:
    """Say the best test of a column without naming any of its levels."""
    assert column.best is not None
    named = column.best.candidate.split.named
    if not named:
        return column.words
    return f"{safe(column.name)}: {len(named):,} of {plural(len(column.encoding.levels), 'level')}"


# -- rows, where they are wanted ------------------------------------------------------------------------------------


def row_facts(tree: Tree, table: Table, chosen: npt.NDArray[np.int64], sampled: bool) -> dict[str, Any]:
    """Return some rows of a table: their cells as text to be read, and as the tree sees them to be followed."""
    part = table.take(chosen)
    arrays = encode_columns(tree, part)
    names = [name for name in (*tree.columns, tree.target.name) if name in table.columns]
    frame = part.to_polars()
    return {
        "columns": [safe(name) for name in names],
        "number": (chosen + 1).tolist(),
        "node": find_leaves(tree, arrays, len(part)).tolist(),
        "texts": [listed_once([cell_text(cell) for cell in frame[name].to_list()]) for name in names],
        "cells": {
            i: listed_once(seen(encoding, values))
            for i, (encoding, values) in enumerate(zip(tree.encodings, arrays, strict=True))
            if values is not None
        },
        "sampled": sampled,
    }


def seen(encoding: Encoding, values: npt.NDArray[Any]) -> list[Any]:
    """Return encoded cells as the page walks with them: a code, a number, or one as text; None missing, -2 never seen.

    >>> seen(Encoding("n", "integer"), np.array([2**60, -(2**63)]))
    ['1152921504606846976', None]
    """
    gone = is_missing(encoding, values).tolist()
    if encoding.is_categorical:
        return [
            None if empty else (int(code) if code >= 0 else UNSEEN) for code, empty in zip(values, gone, strict=True)
        ]
    if encoding.kind != "number":
        return [None if empty else str(value) for value, empty in zip(values.tolist(), gone, strict=True)]
    return [None if empty else in_json(float(value)) for value, empty in zip(values, gone, strict=True)]


def in_json(value: float) -> float | str:
    """Write a number that JSON can hold; the page reads infinities from text."""
    return value if np.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def listed_once(cells: list[Any]) -> dict[str, Any]:
    """Write a column as its different cells, and the place of each row's among them: most are there many times.

    >>> listed_once(["Rome", None, "Rome"])
    {'values': ['Rome', None], 'places': [0, 1, 0]}
    """
    place = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    return {"values": list(place), "places": [place[cell] for cell in cells]}


def cell_text(cell: object) -> str | None:
    """Write a cell as it can be typed again; None where it is missing.

    >>> cell_text(True), cell_text(4325.0), cell_text(float("nan")), cell_text("a\\nb") == "a\\\\nb"
    ('true', '4325', None, True)
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return None if np.isnan(cell) else format_exact(cell)
    return None if cell is None else safe(cell)


def places_of(n: int, most: int) -> npt.NDArray[np.int64]:
    """Return which of n rows a sample takes: evenly spread over the table, always the same.

    >>> places_of(10, 4).tolist()
    [0, 2, 5, 7]
    """
    return (np.arange(min(n, most)) * (n / max(1, min(n, most)))).astype(np.int64)
