"""The static parts of the page: headline, error, and the sections below the tree, as escaped HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewise._lib.result_table import ColumnSpec, ResultTable, escape_html
from treewise._lib.text import format_count, format_percent, format_rounded, format_share, plural, safe
from treewise.data.encoding import Encoding, encode_column, is_missing
from treewise.data.table import Table
from treewise.errors import DataError
from treewise.evaluate.results import Evaluation
from treewise.prune.cp_table import CpTable
from treewise.prune.losses import describe_cross_validation
from treewise.show.node_stats import training_error
from treewise.show.palette import CLASS_COLOURS, INK, class_colour
from treewise.show.plots.chart import DASHED, Chart, ChartAxis, Curve, Mark, floats
from treewise.show.regions.plane import make_plane
from treewise.show.report.facts import MIN_ROWS_PER_LEVEL
from treewise.show.report.performance import chart_figure, charts_html, figures_html
from treewise.show.report.plots import axis_number, regions_svg, unit_text
from treewise.tree.arrays import LEAF
from treewise.tree.history import describe_step
from treewise.tree.tree import Tree

_MAX_RULES = 60
_MAX_COLUMNS = 200
_MAX_AREAS = 300  # leaves of a tree whose regions are drawn
_MAX_LEGEND_CLASSES = 26
_MAX_SUBGROUPS = 15
_BAR_WIDTH = 280.0  # of the importances, in pixels: with their names as wide as a phone
_CURVE_STYLE = {"training": (class_colour(0), 2.0, DASHED), "validation": (class_colour(5), 2.0, ())}


@dataclass(frozen=True)
class ReportSection:
    """One section: its anchor, its title and its HTML."""

    id: str
    title: str
    html: str


# -- head of the page -------------------------------------------------------------------------------------------


def describe_finding(tree: Tree) -> str:
    """Summarise the first split in one sentence.

    >>> import treewise as tw
    >>> describe_finding(tw.grow("outlier", max_depth=1))
    'Of the rows with x1 > 4, 91.7 % are star; of those with x1 <= 4, none.'
    """
    below = tree.children(0)
    if not below:
        return f"The tree has no split: it always predicts {_describe_prediction(tree, 0)}."
    a = tree.arrays
    if tree.task == "regression":
        known = [node for node in below if not math.isnan(a.value[node])]
        if len(known) < 2:
            return _describe_first_split(tree)
        low, high = min(known, key=lambda i: a.value[i]), max(known, key=lambda i: a.value[i])
        ends = [f"{format_rounded(float(a.value[node]))} where {tree.condition(node)}" for node in (high, low)]
        return f"{safe(tree.target.name)} is on average {', '.join(ends)}."
    if a.rows[0] == 0:
        return _describe_first_split(tree)
    if len(tree.classes) == 2:
        return _compare_branches(tree, [node for node in below if a.rows[node]])
    parts = [
        f"where {tree.condition(node)}, {_majority_word(tree, node)} {_describe_prediction(tree, node)}"
        for node in below[:3]
        if a.rows[node]
    ]
    more = f"; and {plural(len(below) - 3, 'branch', 'branches')} more" if len(below) > 3 else ""
    return f"{safe(tree.target.name)}: {'; '.join(parts)}{more}."


def _describe_first_split(tree: Tree) -> str:
    return f"The first split is on {safe(tree.columns[tree.arrays.column[0]])}."


def _compare_branches(tree: Tree, below: Sequence[int]) -> str:
    """Compare the branch where the positive class is most frequent with the one where it is least."""
    positive = safe(tree.classes[1])
    rate = {node: float(tree.probabilities(node)[1]) for node in below}
    high, low = max(rate, key=lambda i: rate[i]), min(rate, key=lambda i: rate[i])
    rest_text = (
        "of the others" if tree.condition(low).endswith(" otherwise") else f"of those with {tree.condition(low)}"
    )
    finding = f"Of the rows with {tree.condition(high)}, {format_share(rate[high])} % are {positive}"
    if rate[low] == 0:
        return f"{finding}; {rest_text}, none."
    finding += f", against {format_share(rate[low])} % {rest_text}"
    ratio = rate[high] / rate[low]
    return f"{finding}." if ratio < 1.15 else f"{finding} ({format_rounded(round(ratio, 1))} times the rate)."


def _majority_word(tree: Tree, node: int) -> str:
    return "mostly" if tree.probabilities(node)[tree.arrays.label[node]] > 0.5 else "most often"


def _describe_prediction(tree: Tree, node: int) -> str:
    prediction = tree.prediction(node)
    if tree.task == "regression":
        return "nothing" if prediction is None else format_rounded(float(prediction))
    share = tree.probabilities(node).max() if tree.arrays.weight[node] else None
    return safe(prediction) + ("" if share is None else f" ({format_share(float(share))} %)")


# -- tables ---------------------------------------------------------------------------------------------------------


def _table_html(table: ResultTable, node_column: int | None = None, is_stacked: bool = False) -> str:
    """Return a result as an HTML table without style; cells of ``node_column`` become buttons that select the node.

    On a phone the rows of a ``is_stacked`` table are paragraphs: the last cell first, the others below it.
    """
    shown = [i for i, column in enumerate(table.columns) if column.only != "data"]
    columns = [table.columns[i] for i in shown]

    def cells(tag: str, texts: Sequence[str]) -> str:
        is_labelled = is_stacked and tag == "td"
        labels = (f' data-label="{escape_html(column.heading)}"' * is_labelled for column in columns)
        kinds = (' class="number"' * column.is_right_aligned for column in columns)
        cells = zip(kinds, labels, texts, strict=True)
        return "".join(f"<{tag}{kind}{label}>{escape_html(text)}</{tag}>" for kind, label, text in cells)

    parts = [f"<p>{escape_html(text)}</p>" for text in table.above]
    rows = table.rows if table.max_rows is None else table.rows[: table.max_rows]
    body = []
    for row in rows:
        line = cells("td", [table.columns[i].format_cell(row[i]) for i in shown])
        if node_column is not None:
            node = int(row[node_column])
            line = line.replace(
                f">{node}<", f'><button type="button" class="small" data-leaf="{node}">{node}</button><', 1
            )
        body.append(f"<tr>{line}</tr>")
    head = cells("th", [column.heading for column in columns])
    content = f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
    parts.append(f'<div class="scroll{" stacked" * is_stacked}"><table>{content}</table></div>')
    n_more = len(table.rows) - len(rows)
    more = [f"… {plural(n_more, f'more {table.row_name}')}"] if n_more else []
    return "".join([*parts, *(f'<p class="muted">{escape_html(text)}</p>' for text in [*more, *table.below])])


def rules_section(tree: Tree) -> ReportSection:
    """List the rules, those with most rows first; a row selects its leaf."""
    table = replace(tree.rules().result_table(), max_rows=_MAX_RULES)
    node_column = next(i for i, column in enumerate(table.columns) if column.name == "node")
    return ReportSection("rules", "Rules", _table_html(table, node_column, is_stacked=True))


def columns_section(tree: Tree, table: Table | None) -> ReportSection:
    """List the columns: kind, values, missing cells and number of splits."""
    n_splits = np.bincount(tree.arrays.column[tree.arrays.kind != LEAF], minlength=len(tree.encodings))
    rows: list[list[Any]] = []
    for encoding, splits in zip(tree.encodings, n_splits.tolist(), strict=True):
        missing, values = _describe_values(encoding, table)
        rows.append([encoding.name, _describe_kind(encoding), values, missing, splits])
    rows.sort(key=lambda row: -row[-1])
    columns = (
        ColumnSpec("column"),
        ColumnSpec("kind"),
        ColumnSpec("values"),
        ColumnSpec("missing", "count"),
        ColumnSpec("splits", "count"),
    )
    above = () if table is None else (f"{safe(table.name)}: {plural(len(table), 'row')}.",)
    return ReportSection(
        "columns",
        "Columns",
        _table_html(ResultTable("", columns, rows, above=above, row_name="column", max_rows=_MAX_COLUMNS)),
    )


def _describe_kind(encoding: Encoding) -> str:
    """Describe the kind of a column; levels are counted, not named.

    >>> _describe_kind(Encoding("town", "nominal", ("Bari", "Rome"))), _describe_kind(Encoding("n", "integer"))
    ('category, 2 levels', 'number')
    """
    if encoding.kind in ("nominal", "ordered"):
        ordered = "ordered " * (encoding.kind == "ordered")
        levels = f", {plural(len(encoding.levels), 'level')}" if encoding.levels else ""
        return f"{ordered}category{levels}"
    return {"integer": "number", "datetime": "date"}.get(encoding.kind, encoding.kind)


def _describe_values(encoding: Encoding, table: Table | None) -> tuple[int | None, str]:
    """Return the number of missing cells of a column, and its approximate range or most frequent levels.

    Levels of few rows are not named, and numbers are rounded, so that the file discloses no rows.
    """
    if table is None or encoding.name not in table.columns:
        return None, ""
    values = encode_column(encoding, table[encoding.name], table.name)
    missing = is_missing(encoding, values)
    known = values[~missing]
    if not len(known):
        return len(values), ""
    if not encoding.is_categorical:
        ends = [axis_number(encoding, end.item()) for end in (known.min(), known.max())]
        return int(missing.sum()), " to ".join(ends)
    levels, counts = np.unique(known[known >= 0], return_counts=True)
    order = [i for i in np.argsort(-counts, kind="stable")[:4].tolist() if counts[i] >= MIN_ROWS_PER_LEVEL]
    frequent = [f"{safe(encoding.levels[levels[i]])} {format_count(int(counts[i]))}" for i in order]
    n_more = len(levels) - len(order)
    more = [f"{n_more:,} more" if order else plural(n_more, "level")] if n_more else []
    return int(missing.sum()), ", ".join([*frequent, *more])


def performance_section(tree: Tree, test: Evaluation | None, other: Evaluation | None) -> ReportSection:
    """Show the evaluation on the test table, then on the other one; without a test table the cross-validation."""
    names = ("Test table", test), ("Training table" if other and other.is_training_data else "Other table", other)
    given = [(name, evaluation) for name, evaluation in names if evaluation is not None]
    parts = [charts_html(evaluation, tree.n_leaves > 1) for _, evaluation in given[:1]]
    figures = "".join(figures_html(name, evaluation) for name, evaluation in given)
    parts += [f'<div class="pair">{figures}</div>'] * bool(given)
    loss_text = describe_cross_validation(tree)
    if test is None and loss_text is not None:
        parts.insert(0, f"<p>New rows: {escape_html(loss_text)}. No test table was given.</p>")
    elif test is None:
        parts.insert(0, '<p class="warning">No test table was given: the error on new rows is unknown.</p>')
    return ReportSection("performance", "Performance", "".join(parts))


def importances_section(tree: Tree, test: Table | None) -> ReportSection | None:
    """Show the importances as bars and as a table: permutation importances on the test table if there is one."""
    if tree.n_leaves == 1:
        return None
    try:
        importances = tree.importances() if test is None else tree.importances(test)
    except ValueError as error:
        return ReportSection("importances", "Importances", f'<p class="muted">{escape_html(str(error))}</p>')
    tables = "".join(f"<p>{escape_html(table.title)}</p>{_table_html(table)}" for table in importances.result_tables())
    chart = chart_figure(replace(importances.draw().chart, width=_BAR_WIDTH), f"Importance by {importances.method}")
    details = f"<details><summary>As a table</summary>{tables}</details>"
    return ReportSection("importances", "Importances", f'<div class="charts">{chart}</div>{details}')


def subgroups_section(tree: Tree, table: Table, test: Table | None) -> ReportSection | None:
    """List the nodes whose share of a class, or mean, differs most from the rest of the rows."""
    if tree.n_leaves == 1 or tree.n_leaves > _MAX_AREAS:
        return None
    drop = tree.fit_info.drop_missing_target
    try:
        subgroups = tree.subgroups(table, test=test, drop_missing_target=drop)
    except ValueError:
        return None  # one row, or none
    if not len(subgroups):
        return None
    tables = "".join(
        f"<p>{escape_html(result.title)}</p>{_table_html(replace(result, max_rows=_MAX_SUBGROUPS), is_stacked=True)}"
        for result in subgroups.result_tables()[:1]
    )
    return ReportSection("subgroups", "Subgroups", tables)


def history_section(tree: Tree, lines: Sequence[tuple[str, str]]) -> ReportSection:
    """List the steps that made the tree with their parameters, versions, and hashes of the data."""
    steps = [describe_step(step) for step in tree.history] or ["written by hand"]
    items = "".join(f"<li>{escape_html(step)}</li>" for step in steps)
    facts = "".join(f"<tr><th>{escape_html(head)}</th><td>{escape_html(text)}</td></tr>" for head, text in lines)
    notes = "".join(f"<li>{escape_html(note)}</li>" for note in tree.notes)
    notes_html = f"<h3>Notes</h3><ul>{notes}</ul>" if notes else ""
    return ReportSection("history", "History", f"<ol>{items}</ol><table>{facts}</table>{notes_html}")


# -- charts -------------------------------------------------------------------------------------------------------


def size_section(tree: Tree, cp_table: CpTable) -> ReportSection | None:
    """Draw the error of the pruning sequence by number of leaves: training, and cross-validated if known."""
    rows = list(cp_table)
    if len(rows) < 2:
        return None
    leaves = [float(row.leaves) for row in rows]
    lines = [("training", "training", [row.rel_error * cp_table.root_error for row in rows])]
    is_cross_validated = rows[0].xerror is not None
    if is_cross_validated:
        lines.append(
            ("cross-validated", "validation", [float(row.xerror or 0.0) * cp_table.root_error for row in rows])
        )
    is_error_rate = tree.task == "classification" and cp_table.loss == "error"
    curves = [Curve(floats(leaves), floats(errors), *_CURVE_STYLE[kind]) for _, kind, errors in lines]
    legend: list[tuple[Mark, str]] = [(curve, name) for curve, (name, _, _) in zip(curves, lines, strict=True)]
    if cp_table.chosen is not None:
        last = curves[-1]
        point_at = (last.x[cp_table.chosen],), (last.y[cp_table.chosen],)
        mark = Curve(*point_at, INK, 0.0, marker="D", size=8.0)
        legend.append((mark, f"this tree, {plural(int(point_at[0][0]), 'leaf', 'leaves')}"))
    write = (lambda error: f"{format_percent(error)} %") if is_error_rate else format_rounded
    top = max(max(curve.y) for curve in curves)
    title = f"{'error' if cp_table.loss == 'error' else cp_table.loss.replace('_', ' ')} by number of leaves"
    y = ChartAxis.linear("", 0.0, 1.04 * top or 1.0, write)
    x = ChartAxis.logarithmic("leaves", max(1.0, min(leaves)), max(2.0, *leaves))
    marks = tuple(mark for mark, _ in legend)
    chart = chart_figure(Chart((title,), x, y, marks, tuple(legend), 320.0, 240.0, "y"))
    validation_text = (
        "by cross-validation too" if is_cross_validated else "on the training rows only, which favours larger trees"
    )
    caption = (
        f"The error of the pruning sequence of this tree, {validation_text}. Splits that change no error are left out."
    )
    if training_error(tree) is None:
        return None
    return ReportSection("size", "Size", f'<p>{escape_html(caption)}</p><div class="charts">{chart}</div>')


def regions_section(tree: Tree, table: Table, rows: Sequence[int] | None) -> ReportSection | None:
    """Draw the regions of the two most important columns, the others fixed; with the rows that are in the file."""
    used = [column for column in tree.importances().columns if column.splits][:2] if len(tree.classes) != 1 else []
    if len(used) < 2 or tree.n_leaves > _MAX_AREAS:
        return None
    try:
        plane = make_plane([tree], table, used[0].column, used[1].column, None)
    except DataError:
        return None  # too many levels for an axis, or no values
    areas, relevant = plane.areas(tree)
    encodings = {encoding.name: encoding for encoding in tree.encodings}
    fixed = [f"{safe(name)} = {_format_fixed(encodings[name], plane.fixed[name])}" for name in relevant]
    fixed_text = f" where {', '.join(fixed)} (the most frequent value or the median)" if fixed else ""
    caption = f"Predictions over {safe(plane.x.name)} and {safe(plane.y.name)}{fixed_text}. Click an area for its leaf."
    html = f"<p>{escape_html(caption)}</p>{regions_svg(tree, plane, areas, table, rows)}{colour_legend(tree, True)}"
    return ReportSection("regions", "Regions", html)


def _format_fixed(encoding: Encoding, value: float | str | None) -> str:
    if value is None:
        return "missing"
    if isinstance(value, str):
        return safe(value)
    return axis_number(encoding, value) + unit_text(encoding)


def colour_legend(tree: Tree, of_areas: bool = False) -> str:
    """Return the legend of the class colours, or of the bars; areas are the stronger, the surer the class."""
    if tree.task == "regression" and of_areas:
        return '<p class="muted">The darker an area, the higher its mean.</p>'
    if tree.task == "regression":
        return '<p class="muted">The bar of a box shows its mean between the lowest and the highest leaf.</p>'
    patch = '<svg viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" rx="3" fill="{}"/></svg>'
    items = [
        f"<span>{patch.format(class_colour(i))} {escape_html(safe(label))}</span>"
        for i, label in enumerate(tree.classes[:_MAX_LEGEND_CLASSES])
    ]
    n_more = len(tree.classes) - _MAX_LEGEND_CLASSES
    repeats = f'<span class="muted">colours repeat after {len(CLASS_COLOURS)} classes; boxes name theirs</span>'
    items += [f"<span>… {n_more} more</span>"] * (n_more > 0) + [repeats] * (len(tree.classes) > len(CLASS_COLOURS))
    items += ['<span class="muted">the stronger, the higher its probability</span>'] * of_areas
    return f'<div class="legend">{"".join(items)}</div>'
