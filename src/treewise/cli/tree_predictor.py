"""A single tree asked for predictions: rows that are typed, answers as columns and in words, what was never seen.

Beneath the verbs predict, draw and explain; ``of_many.py`` is the same for a model of many trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from treewise._lib.text import format_percent, plural, safe
from treewise.cli.messages import in_options
from treewise.cli.output import remark
from treewise.errors import ColumnError, did_you_mean, listing

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.ensemble import Ensemble
    from treewise.tree.tree import Tree


class TypedRow(NamedTuple):
    """What is wanted beside the prediction itself."""

    proba: bool = False
    interval: bool = False
    confidence: float = 0.95
    estimate: str | None = None


@dataclass(frozen=True)
class TreePredictor:
    """A tree that answers."""

    tree: Tree
    asked: TypedRow

    def typed(self, rows: Sequence[dict[str, Any]]) -> Table:
        """Read rows that are typed in."""
        return read_typed(self.tree, rows)

    def columns(self, table: Table) -> dict[str, Any]:
        """Return the predictions as columns: prediction, probabilities, intervals."""
        from treewise.predict.predict import predict, predict_interval, predict_proba

        tree, asked = self.tree, self.asked
        made: dict[str, Any] = {"prediction": predict(tree, table, asked.estimate)}
        with_shares = asked.proba or (asked.interval and tree.task == "classification")
        shares = predict_proba(tree, table, asked.estimate) if with_shares else None
        ends = predict_interval(tree, table, asked.confidence) if asked.interval else None
        if ends is not None and tree.task == "regression":
            made |= {"low": ends[:, 0], "high": ends[:, 1]}
        for i, label in enumerate(tree.classes):
            if shares is not None:
                made[f"p_{label}"] = shares[:, i]
            if ends is not None:
                made |= {f"p_{label}_low": ends[:, i, 0], f"p_{label}_high": ends[:, i, 1]}
        return made

    def sentences(self, table: Table) -> list[str]:
        """Say what is predicted for each row, and because of which tests."""
        return answers_in_words(self.tree, table, self.asked)

    def notes(self, table: Table) -> list[str]:
        """Note categories that were never seen."""
        return never_seen(self.tree, table)


def read_typed(tree: Tree, rows: Sequence[dict[str, Any]]) -> Table:
    """Read rows typed in; a column may be left out where no row's path asks for it, as in Python."""
    from treewise.data.table import read
    from treewise.predict.predict import check_mentioned, encode_columns, find_leaves, na_values

    cells = [{**dict.fromkeys(tree.columns), **row} for row in rows]
    table = read(cells, name="the row" if len(rows) == 1 else "the rows", na_values=na_values(tree))
    nodes = find_leaves(tree, encode_columns(tree, table), len(table))
    for i, row in enumerate(rows):
        try:
            check_mentioned(tree, row, nodes[i : i + 1])
        except ColumnError as error:
            said = str(error).removesuffix(" (None says that it is missing.)")
            raise ColumnError(f"{said} A value that is not known can be left open: COLUMN=") from None
    return table


def remark_on_typed(made: Tree | Ensemble, rows: Sequence[dict[str, Any]], notes: Sequence[str]) -> None:
    """Remark columns that were typed and are not known, after the result; and what else there is to note."""
    from treewise.tree.tree import Tree

    known = [*made.columns, made.target.name]
    who = "the tree knows" if isinstance(made, Tree) else "the trees know"
    for name in dict.fromkeys(name for row in rows for name in row if name not in known):
        hint = did_you_mean(name, [column for column in made.columns if not any(row.get(column) for row in rows)])
        remark("note", f"{safe(name)}: {who} no such column, and it is not looked at.{hint}")
    for note in notes:
        remark("note", in_options(note))


def never_seen(tree: Tree, table: Table) -> list[str]:
    """Note categories the tree has never seen, where a row was asked about one, and where such rows ended."""
    import numpy as np

    from treewise.data.encoding import UNSEEN
    from treewise.predict.predict import encode_columns, find_leaves

    columns = encode_columns(tree, table)
    new = {
        i: values == UNSEEN
        for i, (encoding, values) in enumerate(zip(tree.encodings, columns, strict=True))
        if encoding.is_categorical and values is not None
    }
    if not any(cells.any() for cells in new.values()):
        return []
    nodes, notes = find_leaves(tree, columns, len(table)), []
    for i, cells in new.items():
        rows = np.flatnonzero(cells & np.array(asked_on_the_way(tree, i))[nodes])
        if not len(rows):
            continue
        name = tree.columns[i]
        labels = sorted({table[name].format_cell(row) for row in rows[:1000].tolist()})
        ends = [str(node) for node in np.unique(nodes[rows]).tolist()]
        where = f"node{'s' if len(ends) > 1 else ''} {listing(ends, most=5)}"
        said = f"never-seen {listing(labels, most=3)} in {plural(len(rows), 'row')}"
        notes.append(f"{safe(name)}: {said} → {where}")
    return notes


def asked_on_the_way(tree: Tree, column: int) -> list[bool]:
    """Tell of each node whether a row that ends there was asked about a column."""
    parent, asks = tree.arrays.parent.tolist(), (tree.arrays.column == column).tolist()
    asked = [bool(asks[0])]
    for node in range(1, len(parent)):
        asked.append(asks[node] or asked[parent[node]])
    return asked


def answers_in_words(tree: Tree, table: Table, asked: TypedRow) -> list[str]:
    """Say what is predicted for each row, and because of which tests."""
    from treewise.evaluate import paths
    from treewise.explain.row.words import answer
    from treewise.predict.leaf_probabilities import LeafProbabilities
    from treewise.predict.predict import predict

    way = LeafProbabilities.of(asked.estimate)
    said = predict(tree, table, asked.estimate)  # refuses a row that a hand-written tree has no answer for
    sentences = []
    for path, prediction in zip(paths(tree, table), said.tolist(), strict=True):
        *first, last = path.tests or ("all rows are the same to it",)
        because = f"{', '.join(first)} and {last}" if first else last
        from_root = bool(path.stays) and tree.empty_branch == "root"
        speaker = 0 if from_root else path.node
        sentences.append(f"{safe(tree.target.name)} = {answer(tree, speaker, prediction, way)}, because {because}.")
        if path.stays:
            who = "the root" if from_root else "the node that asks for it"
            sentences.append(f"(Its {safe(path.stays)} was never seen; {who} answers.)")
        sentences += how_sure(tree, speaker, asked)
    return sentences


def how_sure(tree: Tree, node: int, asked: TypedRow) -> list[str]:
    """Say the probabilities of a node, and their intervals, where they are asked for."""
    import numpy as np

    from treewise._lib.text import format_rounded
    from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities
    from treewise.predict.predict import node_intervals

    if not (asked.proba or asked.interval):
        return []
    at = np.array([node])
    sure = f"{100 * asked.confidence:g} % interval"
    ends = node_intervals(tree, at, asked.confidence)[0] if asked.interval else None
    if tree.task == "regression":
        if ends is None:
            return []
        known = np.isfinite(ends).all()
        return [
            f"{sure} {format_rounded(float(ends[0]))} to {format_rounded(float(ends[1]))}"
            if known
            else f"{sure}: a single row has none"
        ]
    said = []
    for i, (label, share) in enumerate(
        zip(tree.classes, class_probabilities(tree, at, LeafProbabilities.of(asked.estimate))[0], strict=True)
    ):
        between = "" if ends is None else f" ({sure} {format_percent(ends[i, 0])} to {format_percent(ends[i, 1])})"
        said.append(f"{safe(label)} {format_percent(share)} %{between}")
    return ["  ".join(said)]
