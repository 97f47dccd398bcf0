"""What the page knows of a tree, as plain values: its arrays, its words, and what two tables have at each node.

Below ``report``: the page's script reads these facts, and draws and answers from them alone (``assets/model.js``).
Nothing is computed in two places: conditions are the tree's own words, merged conditions those of ``regions``, the
candidates of a node those of the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.draw.palette import HUES
from treewise.draw.speech import Speaker
from treewise.estimates import nodes_that_answer
from treewise.explain.rules.ends import conditions, gaps_of
from treewise.explain.trace import Trace
from treewise.nodes import LEAF, STOPS
from treewise.predict import encoded, find_nodes
from treewise.regions import regions
from treewise.table import Table
from treewise.tree import Tree
from treewise.wording import figure, number, plural, safe

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
}
MOST_WORDS = 1_000_000  # letters of merged conditions in the file
LONGEST_LIST = 12  # levels of a condition in a merged rule before it is cut in the middle


def facts_of(tree: Tree, test: Tree | None) -> dict[str, Any]:
    """Return the tree for the page; ``test`` is the same tree, re-estimated on the test table."""
    a = tree.arrays
    facts: dict[str, Any] = {
        "task": tree.task,
        "target": safe(tree.target.name),
        "classes": [safe(label) for label in tree.classes],
        "positive": 1 if len(tree.classes) == 2 else None,
        "colours": list(HUES),
        "columns": [column_facts(encoding) for encoding in tree.encodings],
        "nodes": node_facts(tree),
        "rules": merged_words(tree),
        "reasons": {name: reason for name, reason in REASONS.items() if name in set(stops(tree))},
        "stays_at_root": tree.empty_branch == "root",
        "test": None if test is None else statistics(test),
    }
    if tree.task == "regression":
        known = a.value[(a.kind == LEAF) & ~np.isnan(a.value)]
        facts["range"] = [float(known.min()), float(known.max())] if len(known) else [0.0, 0.0]
    return facts


def column_facts(encoding: Any) -> dict[str, Any]:
    """Return what the page must know to read a value of a column."""
    facts = {"name": safe(encoding.name), "kind": encoding.kind}
    if encoding.categorical:
        facts["levels"] = [safe(level) for level in encoding.levels]
    return {**facts, "unit": encoding.unit} if encoding.unit else facts


def stops(tree: Tree) -> list[str]:
    """Return why each node is a leaf."""
    return [STOPS[stop] for stop in tree.arrays.stop.tolist()]


def node_facts(tree: Tree) -> dict[str, Any]:
    """Return the arrays of the nodes, and the condition that leads to each."""
    a, speaker = tree.arrays, Speaker(tree)
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
        "speaks": nodes_that_answer(tree).tolist(),
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
            yield cut if np.isfinite(cut) else ("Infinity" if cut > 0 else "-Infinity")


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
    found, room, gaps = {}, MOST_WORDS, gaps_of(tree)
    for node, region in regions(tree):
        found[node] = [shortened(words) for words in conditions(region, gaps, unseen=False)]
        room -= sum(map(len, found[node]))
        if room < 0:
            break
    return found


def shortened(words: str) -> str:
    """Leave out the middle of a set of very many levels.

    >>> shortened("id in {" + ", ".join(map(str, range(40))) + "}")
    'id in {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 28 more}'
    """
    parts = words.split(", ")
    if len(parts) <= LONGEST_LIST + 4 or not words.endswith("}"):
        return words
    return f"{', '.join(parts[:LONGEST_LIST])}, … {len(parts) - LONGEST_LIST} more}}"


# -- the computations of each node -----------------------------------------------------------------------------------


def computations(trace: Trace, tree: Tree) -> dict[int, dict[str, Any]]:
    """Return every column's best test at each inner node, the best first, and how they were compared."""
    found = {}
    for node in np.flatnonzero(tree.arrays.kind != LEAF).tolist():
        at = trace[node]
        columns = sorted(at.columns.values(), key=lambda c: (c.best is None, -(c.score or 0.0), -c.gain))
        best = [c for c in columns if c.best is not None]
        chosen = at.split.column if at.split is not None else None
        lines = [{"test": c.words, "gain": figure(c.gain), "won": c.name == chosen} for c in best[:12]]
        said = (
            f"{plural(at.tried, 'test')} tried in {plural(len(at.columns), 'column')}; impurity {figure(at.impurity)}."
        )
        if at.runner_up is not None and at.margin is not None:
            said += (
                " The first two are equally good."
                if at.tie
                else f" {safe(at.runner_up)} is {figure(at.margin)} behind."
            )
        found[node] = {"words": said, "candidates": lines}
    return found


# -- rows, where they are wanted ------------------------------------------------------------------------------------


def row_facts(tree: Tree, table: Table, chosen: npt.NDArray[np.int64], sampled: bool) -> dict[str, Any]:
    """Return some rows of a table with the node each ends at; cells column by column, as text, None where missing."""
    part = table.take(chosen)
    ends = find_nodes(tree, encoded(tree, part), len(part))
    names = [name for name in (*tree.columns, tree.target.name) if name in table.columns]
    frame = part.to_polars().select(names)
    cells = [listed_once([cell_text(cell) for cell in frame[name].to_list()]) for name in names]
    return {
        "columns": [safe(name) for name in names],
        "number": (chosen + 1).tolist(),
        "node": ends.tolist(),
        "cells": cells,
        "sampled": sampled,
    }


def listed_once(texts: list[str | None]) -> dict[str, Any]:
    """Write a column as its different texts, and the place of each row's among them: most are there many times.

    >>> listed_once(["Rome", None, "Rome"])
    {'texts': ['Rome', None], 'places': [0, 1, 0]}
    """
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return {"texts": list(place), "places": [place[text] for text in texts]}


def cell_text(cell: object) -> str | None:
    """Write a cell as it can be typed again; None where it is missing.

    >>> cell_text(True), cell_text(4325.0), cell_text(float("nan")), cell_text("a\\nb") == "a\\\\nb"
    ('true', '4325', None, True)
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return None if np.isnan(cell) else number(cell)
    return None if cell is None else safe(cell)


def places_of(n: int, most: int) -> npt.NDArray[np.int64]:
    """Return which of n rows a sample takes: evenly spread over the table, always the same.

    >>> places_of(10, 4).tolist()
    [0, 2, 5, 7]
    """
    return (np.arange(min(n, most)) * (n / max(1, min(n, most)))).astype(np.int64)
