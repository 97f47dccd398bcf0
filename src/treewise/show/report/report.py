"""The report: a tree as one HTML file to look at, ask, print and send.

Stands at the end of the flow, among the outlets. ``tree.report`` and ``treewise report`` come here.

    facts.py      what the page knows: the tree's arrays and words, rows where they are wanted
    sections.py   the sentence at the top and the sections below, as HTML
    plots.py      small pictures among them: errors over leaves, regions of two columns
    page.py       one file of it all, which nothing can break out of
    assets/       the page's own script (four files, one module) and style; no library, no build step

Rows of the table are in the file only on request: a hospital will mail it.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from treewise._lib.text import plural, safe
from treewise._version import __version__
from treewise.data.column import LazyColumns
from treewise.data.table import Table, read
from treewise.errors import ParameterError, did_you_mean, listing
from treewise.evaluate import Evaluation, evaluate
from treewise.formats.model_file.atomic_write import write_whole
from treewise.prune.cp_table import cp_table
from treewise.show.node_stats import has_training_rows
from treewise.show.report import facts as known
from treewise.show.report import sections as made
from treewise.show.report.page import PageHead, page_html
from treewise.show.text_tree.text_tree import header, missing_value_notes
from treewise.train.true_labels import target_column
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

ROWS = ("none", "sample", "all")
SAMPLE = 500  # rows in the file with rows="sample"
MOST_LEAVES = 5_000  # drawn; a larger tree is cut to so many, and the page says so
MOST_CELLS = 4_000_000  # rows times columns times levels of the tree for which every candidate is computed


@dataclass(frozen=True)
class ReportOptions:
    """What is to be in the file."""

    rows: str = "none"
    computations: bool | None = None  # None: where that is affordable
    title: str | None = None
    target: Any = None  # the answers of the table: a column's name, or an array
    test_target: Any = None  # those of the test table

    def __post_init__(self) -> None:
        if self.rows not in ROWS:
            hint = did_you_mean(str(self.rows), ROWS)
            raise ParameterError(f"must be one of {', '.join(ROWS)}.", parameter="rows", value=self.rows, hint=hint)


def report(
    tree: Tree, path: str | os.PathLike[str], data: Any, test: Any = None, wanted: ReportOptions | None = None
) -> None:
    """Write the report of a tree to a file, whole or not at all."""
    write_whole(path, report_html(tree, data, test, wanted).encode())


def report_html(tree: Tree, data: Any, test: Any = None, wanted: ReportOptions | None = None) -> str:
    """Return the report of a tree on the table it was grown on, and on a test table if there is one."""
    wanted = wanted or ReportOptions()
    table = read_for(tree, data, wanted.target)
    held = None if test is None else read_for(tree, test, wanted.test_target)
    if tree.fit_info.is_handwritten:
        tree = tree.refit(table)  # written by hand: what it knows is what this table says
    whole, tree = tree, bounded(tree)
    warnings = warnings_for(whole, tree)
    facts = known.facts_of(tree, None if held is None else on_test_rows(tree, held, warnings))
    facts["rows"] = rows_for(tree, table, wanted.rows)
    facts["computations"], facts["computations_note"] = computations_for(tree, table, wanted)
    judged = None if held is None else judge(whole, held)
    head = PageHead(
        title=wanted.title or f"{safe(tree.target.name)}: {what_is_predicted(tree)}",
        size=size_in_words(whole),
        error=made.error_line(whole, judged),
        answer=made.answer_in_words(tree),
        warnings=warnings,
    )
    lines = [
        ("treewise", __version__),
        ("table", table_in_words(table)),
        *([] if held is None else [("test table", table_in_words(held))]),
        ("rows in this file", rows_in_words(wanted.rows)),
    ]
    included = None if facts["rows"] is None else [number - 1 for number in facts["rows"]["number"]]
    regions = made.regions_section(tree, table, included) if has_training_rows(tree) else None
    size = made.size_section(tree, cp_table(tree)) if has_training_rows(tree) else None
    sections = [
        made.rules_section(tree),
        made.columns_section(tree, table),
        made.errors_section(judged, judge(whole, table)),
        made.importances_section(tree, held),
        *(section for section in (regions, size) if section),
        made.made_section(whole, lines),
    ]
    return page_html(tree, head, facts, sections)


def read_for(tree: Tree, data: Any, target: Any) -> Table:
    """Read a table as the tree reads tables, with its answers under the name the tree knows."""
    table = read(data, na_values=tree.na_values)
    if target is None:
        return table
    answer = replace(target_column(tree, table, target), name=tree.target.name)
    columns = {name: partial(table.columns.__getitem__, name) for name in table.columns}
    return replace(table, columns=LazyColumns({**columns, tree.target.name: answer}, len(table)))


def on_test_rows(tree: Tree, held: Table, warnings: list[str]) -> Tree:
    """Count the test rows at every node; those of a class the tree does not know are left out, and that is said."""
    if tree.task == "classification":
        labels = {str(label) for label in tree.classes}
        found = held[tree.target.name].labels if held[tree.target.name].is_coded else ()
        strange = sorted(set(found) - labels)
        if strange:
            column = held[tree.target.name].drop_unused_labels()
            known_rows = np.array([label in labels for label in column.labels], bool)[column.values]
            if not known_rows.all():
                left = int((~known_rows).sum())
                warnings.append(
                    f"{plural(left, 'row')} of the test table have a class the tree does not know"
                    f" ({listing([safe(label) for label in strange], most=4)}): errors, and not has_training_rows in the boxes."
                )
                held = held.take(np.flatnonzero(known_rows))
    return tree.refit(held)


def judge(tree: Tree, table: Table) -> Evaluation:
    """Compare the tree with a table as it was grown: rows without an answer left out or refused, its weights used."""
    weight = tree.fit_info.sample_weight
    return evaluate(
        tree,
        table,
        drop_missing_target=tree.fit_info.drop_missing_target,
        sample_weight=weight if weight in table.columns else None,
    )


def bounded(tree: Tree) -> Tree:
    """Cut a very large tree to what a page can draw."""
    return tree if tree.n_leaves <= MOST_LEAVES else tree.prune(max_leaf_nodes=MOST_LEAVES)


def warnings_for(whole: Tree, drawn: Tree) -> list[str]:
    """Say what the reader must know before anything else."""
    said = list(missing_value_notes(whole))
    if drawn is not whole:
        said.append(
            f"The tree has {whole.n_leaves:,} leaves. This page draws it cut to {drawn.n_leaves:,} and answers with"
            " those; errors are those of the whole tree."
        )
    said += [line for line in header(whole, ascii=False).splitlines()[1:] if "memorised" in line]
    return [text[0].upper() + text[1:] for text in said]


def what_is_predicted(tree: Tree) -> str:
    """Say the classes, or that it is a number."""
    if tree.task == "regression":
        return "a number"
    shown = " / ".join(safe(label) for label in tree.classes[:4])
    return shown + (f" / … {len(tree.classes)} classes" if len(tree.classes) > 4 else "")


def size_in_words(tree: Tree) -> str:
    """Say how large the tree is and what it was grown on."""
    rows = [plural(int(tree.arrays.rows[0]), "row")] if has_training_rows(tree) else []
    return " · ".join([*rows, plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}"])


def rows_for(tree: Tree, table: Table, rows: str) -> dict[str, Any] | None:
    """Take the rows that go into the file."""
    if rows == "none":
        return None
    chosen = known.places_of(len(table), SAMPLE if rows == "sample" else len(table))
    return known.row_facts(tree, table, chosen, sampled=len(chosen) < len(table))


def rows_in_words(rows: str) -> str:
    """Say which rows are in the file."""
    return {"none": "none", "sample": f"a sample of at most {SAMPLE}", "all": "all"}[rows]


def computations_for(tree: Tree, table: Table, wanted: ReportOptions) -> tuple[dict[int, dict[str, Any]] | None, str]:
    """Compute every node's candidates where that is affordable or was asked for; else say how to get them."""
    if wanted.computations is False or not has_training_rows(tree):
        return None, ""
    levels = int(tree.arrays.rows[tree.arrays.kind != LEAF].sum()) / max(1, int(tree.arrays.rows[0]))
    if wanted.computations is None and len(table) * len(tree.columns) * levels > MOST_CELLS:
        return (
            None,
            "The other candidates of this question were not computed: the table is large. treewise trace shows them.",
        )
    return known.computations(tree.trace(table), tree, rows=wanted.rows != "none"), ""


def table_in_words(table: Table) -> str:
    """Say which table it was: its name, its size, and a hash of its names and cells in their order."""
    found, frame = hashlib.sha256(), table.to_polars()
    for name in frame.columns:
        found.update(frame[name].to_frame().write_csv().encode("utf-8", "surrogatepass"))
    return f"{safe(table.name)}, {plural(len(table), 'row')}, sha256 {found.hexdigest()[:16]}…"
