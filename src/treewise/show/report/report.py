"""The report: a tree as one self-contained HTML file. ``tree.report`` and ``treewise report`` are the entries.

    facts.py      the data of the page: arrays and conditions of the tree, rows on request
    sections.py   the headline and the sections below the tree, as HTML
    performance.py  the tiles at the top, and the charts of an evaluation (drawn by show/plots)
    plots.py      the regions of two columns
    page.py       the HTML document
    assets/       the script (one module of several files) and the style; no library, no build step

Rows of the table are included only on request, because reports are mailed.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Any

import numpy as np

from treewise._lib.atomic_write import write_whole
from treewise._lib.text import plural, safe
from treewise._version import __version__
from treewise.data.column import LazyColumns
from treewise.data.table import Table, read
from treewise.errors import ParameterError, did_you_mean, join_few
from treewise.evaluate import Evaluation, evaluate
from treewise.formats.model_file.json_lines import checksum
from treewise.formats.model_file.model_file import dumps
from treewise.predict.displayed_table import displayed_table
from treewise.prune.cp_table import cp_table
from treewise.show.node_stats import has_training_rows
from treewise.show.report import facts as page_facts
from treewise.show.report import sections
from treewise.show.report.page import PageHead, page_html
from treewise.show.report.performance import headline_tiles, tiles_html
from treewise.show.text_tree.text_tree import header, missing_value_notes
from treewise.train.target import find_target_column, restore_levels
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

_ROWS = ("none", "sample", "all")
_SAMPLE_SIZE = 500  # rows in the file with rows="sample"
_MAX_LEAVES = 5_000  # a larger tree is pruned to this size, and the page says so
_NOT_TRAINED_ON = "The candidates are those of the training rows, and this is another table. treewise trace shows them."
_MAX_TRACED_CELLS = 100_000  # rows × columns × levels of the tree for which every candidate is computed


@dataclass(frozen=True)
class ReportOptions:
    """The content of a report."""

    rows: str = "none"
    computations: bool | None = None  # None: if the table is small enough
    title: str | None = None
    target: Any = None  # true labels of the table: the name of a column, or an array
    test_target: Any = None  # true labels of the test table
    model: Tree | None = None  # whose file is named, if the report is that of its displayed form

    def __post_init__(self) -> None:
        if self.rows not in _ROWS:
            hint = did_you_mean(str(self.rows), _ROWS)
            raise ParameterError(f"must be one of {', '.join(_ROWS)}.", parameter="rows", value=self.rows, hint=hint)


@dataclass(frozen=True, eq=False, repr=False)
class ReportPage:
    """A report that was not written to a file: a notebook shows it, ``.save("report.html")`` writes it."""

    html: str
    tree: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, atomically."""
        write_whole(path, self.html.encode())

    def __repr__(self) -> str:
        return f"<Report of {self.tree.strip('<>')}>"

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, where it can neither read nor change the notebook."""
        frame = 'width="100%" height="900" sandbox="allow-scripts allow-modals" frameborder="0"'
        return f'<iframe srcdoc="{escape(self.html)}" {frame}></iframe>'


def report(
    tree: Tree,
    path: str | os.PathLike[str] | None,
    data: Any = None,
    test: Any = None,
    options: ReportOptions | None = None,
) -> ReportPage | None:
    """Write the report of a tree to a file, atomically, or return it for a notebook."""
    if path is None:
        return ReportPage(report_html(tree, data, test, options), repr(tree))
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(
            "must be the name of a file, or None.", parameter="path", value=path, hint="Give the table as data=…."
        )
    write_whole(path, report_html(tree, data, test, options).encode())
    return None


def _displayed_report(tree: Tree, data: Any, test: Any, options: ReportOptions) -> str:
    """Return the report of a tree in the words of its display, with its tables in the same words."""
    table, target = (None, options.target) if data is None else displayed_table(tree, data, options.target)
    test_target = options.test_target
    if test is not None:
        test, test_target = displayed_table(tree, test, test_target)
    options = replace(options, target=target, test_target=test_target, model=tree)
    return report_html(tree.displayed, table, test, options)


def report_html(tree: Tree, data: Any = None, test: Any = None, options: ReportOptions | None = None) -> str:
    """Return the report of a tree with its training table, and a test table if there is one.

    A single table that is not the training table is a test table; without a table, the page shows the tree alone.
    """
    options = options or ReportOptions()
    if tree.display is not None and not tree.display.is_applied:
        return _displayed_report(tree, data, test, options)
    table = None if data is None else _read_table(tree, data, options.target)
    test_table = None if test is None else _read_table(tree, test, options.test_target)
    if table is None and (options.rows != "none" or options.computations):
        name = "computations" if options.rows == "none" else "rows"
        value = options.computations if options.rows == "none" else options.rows
        raise ParameterError("these need the table that the tree was grown on.", parameter=name, value=value)
    if tree.fit_info.is_handwritten and table is not None:
        tree = tree.refit(table)  # take the statistics of this table
    if table is not None:
        tree = tree.with_(encodings=restore_levels(tree.encodings, table))  # for the list of columns
    full_tree, tree = tree, limit_size(tree)
    warnings = _warnings(full_tree, tree)
    evaluation = None if table is None else _evaluate(full_tree, table)
    is_training_table = evaluation is not None and (evaluation.is_training_data or not has_training_rows(tree))
    if test_table is None and not is_training_table:
        test_table = table
    refitted = None if test_table is None else _refit_on_test(tree, test_table, warnings)
    training_table = table if is_training_table else None
    facts = page_facts.tree_facts(tree, refitted, training_table)
    facts["rows"] = None if table is None else _row_facts(tree, table, options.rows)
    facts["computations"], facts["computations_note"] = None, "" if table is None else _NOT_TRAINED_ON
    if is_training_table and table is not None:
        facts["computations"], facts["computations_note"] = _computations(tree, table, options)
    test_evaluation = evaluation if test_table is table else None
    if test_table is not None and test_table is not table:
        test_evaluation = _evaluate(full_tree, test_table)
    other_evaluation = None if test_table is table else evaluation
    head = PageHead(
        title=options.title or _default_title(tree),
        size=_describe_tables(full_tree, table, test_table),
        finding=sections.describe_finding(tree),
        tiles=tiles_html(headline_tiles(full_tree, test_evaluation, other_evaluation)),
        warnings=warnings,
    )
    lines = [
        ("treewise", __version__),
        ("model file", f"sha256 {checksum(dumps(options.model or full_tree).encode())}"),
        *([] if table is None or test_table is table else [("table", _describe_table(table))]),
        *([] if test_table is None else [("test table", _describe_table(test_table))]),
        ("rows in this file", _describe_rows(options.rows)),
    ]
    included = None if facts["rows"] is None else [number - 1 for number in facts["rows"]["number"]]
    regions = subgroups = None
    if table is not None and has_training_rows(tree):
        regions = sections.regions_section(tree, table, included)
        subgroups = sections.subgroups_section(tree, table, None if test_table is table else test_table)
    size = sections.size_section(tree, cp_table(tree)) if has_training_rows(tree) else None
    parts = [
        sections.performance_section(full_tree, test_evaluation, other_evaluation),
        sections.importances_section(tree, test_table),
        size,
        subgroups,
        sections.rules_section(tree),
        regions,
        sections.columns_section(tree, table),
        sections.history_section(full_tree, lines),
    ]
    return page_html(tree, head, facts, [section for section in parts if section is not None])


def _read_table(tree: Tree, data: Any, target: Any) -> Table:
    """Read a table as the tree does, with its true labels under the name of the target."""
    table = read(data, na_values=tree.na_values)
    if target is None:
        return table
    labels = replace(find_target_column(tree, table, target), name=tree.target.name)
    columns = {name: partial(table.columns.__getitem__, name) for name in table.columns}
    return replace(table, columns=LazyColumns({**columns, tree.target.name: labels}, len(table)))


def _refit_on_test(tree: Tree, test: Table, warnings: list[str]) -> Tree:
    """Count the test rows at every node; rows of a class unknown to the tree are left out, with a warning."""
    if tree.task == "classification" and test[tree.target.name].is_coded:
        known = {str(label) for label in tree.classes}
        column = test[tree.target.name].drop_unused_labels()
        unknown = sorted(set(column.labels) - known)
        if unknown:
            has_known_class = np.array([label in known for label in column.labels], bool)[column.values]
            labels = join_few([safe(label) for label in unknown], limit=4)
            warnings.append(
                f"{plural(int((~has_known_class).sum()), 'row')} of the test table have a class the tree does not know"
                f" ({labels}): they count as errors, and are not in the boxes."
            )
            test = test.take(np.flatnonzero(has_known_class))
    return tree.refit(test)


def _evaluate(tree: Tree, table: Table) -> Evaluation:
    """Evaluate the tree as it was grown: with its weights, and its treatment of rows without a label."""
    weight = tree.fit_info.sample_weight
    return evaluate(
        tree,
        table,
        drop_missing_target=tree.fit_info.drop_missing_target,
        sample_weight=weight if weight in table.columns else None,
    )


def limit_size(tree: Tree) -> Tree:
    """Prune a very large tree to what a page can draw."""
    return tree if tree.n_leaves <= _MAX_LEAVES else tree.prune(max_leaf_nodes=_MAX_LEAVES)


def _warnings(full_tree: Tree, shown_tree: Tree) -> list[str]:
    warnings = list(missing_value_notes(full_tree))
    if shown_tree is not full_tree:
        warnings.append(
            f"The tree has {full_tree.n_leaves:,} leaves. This page draws it pruned to {shown_tree.n_leaves:,} and"
            " predicts with those; errors are those of the whole tree."
        )
    warnings += [line for line in header(full_tree, ascii=False).splitlines()[1:] if "memorised" in line]
    return [text[0].upper() + text[1:] for text in warnings]


def _default_title(tree: Tree) -> str:
    """Return the target, with its classes."""
    if tree.task == "regression":
        return safe(tree.target.name)
    classes = " / ".join(safe(label) for label in tree.classes[:4])
    classes += f" / … {len(tree.classes)} classes" if len(tree.classes) > 4 else ""
    return f"{safe(tree.target.name)}: {classes}"


def _describe_tables(tree: Tree, table: Table | None, test: Table | None) -> str:
    """Describe which rows the page is about."""
    parts = []
    if table is not None and test is not table:
        parts.append(_name_table(table, "training table" if has_training_rows(tree) else "table"))
    if test is not None:
        parts.append(f"{_name_table(test, 'test table')}, {plural(len(test), 'row')}")
        if test is table:
            parts.append("not the table the tree was grown on")
    return " · ".join(parts) or "from the tree alone, without a table"


def _name_table(table: Table, role: str) -> str:
    return role if table.name == "the table" else f"{role} {safe(table.name)}"


def _row_facts(tree: Tree, table: Table, rows: str) -> dict[str, Any] | None:
    if rows == "none":
        return None
    chosen = page_facts.sample_rows(len(table), _SAMPLE_SIZE if rows == "sample" else len(table))
    return page_facts.row_facts(tree, table, chosen, sampled=len(chosen) < len(table))


def _describe_rows(rows: str) -> str:
    return {"none": "none", "sample": f"a sample of at most {_SAMPLE_SIZE}", "all": "all"}[rows]


def _computations(tree: Tree, table: Table, options: ReportOptions) -> tuple[dict[int, dict[str, Any]] | None, str]:
    """Compute the candidates of every node if requested or affordable; else return a note on how to get them."""
    if options.computations is False or not has_training_rows(tree):
        return None, ""
    levels = int(tree.arrays.rows[tree.arrays.kind != LEAF].sum()) / max(1, int(tree.arrays.rows[0]))
    if options.computations is None and len(table) * len(tree.columns) * levels > _MAX_TRACED_CELLS:
        return None, "The other candidates were not computed: the table is large. treewise trace shows them."
    return page_facts.computations(tree.trace(table), tree, with_rows=options.rows != "none"), ""


def _describe_table(table: Table) -> str:
    """Describe a table by its name, size, and a hash of its column names and cells in order."""
    digest = hashlib.sha256()
    for name in table.columns:
        column, missing = table[name], table[name].is_missing()
        heading = (name, column.form, column.unit, *column.labels)
        digest.update("\0".join(heading).encode("utf-8", "surrogatepass"))
        values = column.values.astype(np.float64) if column.form == "float" else column.values
        digest.update(np.where(missing, 0, values).tobytes() + np.packbits(missing).tobytes())
    return f"{safe(table.name)}, {plural(len(table), 'row')}, sha256 {digest.hexdigest()[:16]}…"
