"""The parts of the page that need no script: the answer in a sentence, and the sections below the tree, as HTML.

Below ``report``. Tables are those of the results themselves (``sheet``), curves are small SVGs; every text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewise._lib.result_table import ColumnSpec, ResultTable, escape_html
from treewise._lib.text import format_count, format_exact, format_percent, format_rounded, format_share, plural, safe
from treewise.data.encoding import Encoding, encode_column, is_missing
from treewise.data.table import Table
from treewise.errors import DataError
from treewise.evaluate.results import ClassificationEvaluation, Evaluation, RegressionEvaluation
from treewise.prune.cp_table import CpTable
from treewise.show.node_stats import describe_training_error, training_error
from treewise.show.palette import CLASS_COLOURS, class_colour
from treewise.show.regions.plane import make_plane
from treewise.show.report.facts import FEWEST
from treewise.show.report.plots import axis_number, curve_svg, regions_svg
from treewise.tree.arrays import LEAF
from treewise.tree.history import in_words
from treewise.tree.tree import Tree

MOST_RULES = 60
MOST_COLUMNS = 200
MOST_AREAS = 300  # leaves of a tree whose regions are drawn
MOST_CLASSES = 16  # in the legend


@dataclass(frozen=True)
class ReportSection:
    """One section: what the menu calls it, and its HTML."""

    id: str
    title: str
    html: str


# -- the head of the page -------------------------------------------------------------------------------------------


def answer_in_words(tree: Tree) -> str:
    """Say in one sentence what the tree found: what its first question tells apart.

    >>> import treewise as tw
    >>> answer_in_words(tw.grow("outlier", max_depth=1))
    'Of the rows with x1 > 4, 91.7 % are star; of those with x1 <= 4, none.'
    """
    below = tree.children(0)
    if not below:
        return f"The tree asks nothing: it always says {said(tree, 0)}."
    a = tree.arrays
    if tree.task == "regression":
        known = [node for node in below if not math.isnan(a.value[node])]
        if len(known) < 2:
            return first_question(tree)
        low, high = min(known, key=lambda i: a.value[i]), max(known, key=lambda i: a.value[i])
        ends = [f"{format_rounded(float(a.value[node]))} where {tree.condition(node)}" for node in (high, low)]
        return f"{safe(tree.target.name)} is on average {', '.join(ends)}."
    if a.rows[0] == 0:
        return first_question(tree)
    if len(tree.classes) == 2:
        return two_classes_in_words(tree, [node for node in below if a.rows[node]])
    parts = [
        f"where {tree.condition(node)}, {how_often(tree, node)} {said(tree, node)}"
        for node in below[:3]
        if a.rows[node]
    ]
    more = f"; and {plural(len(below) - 3, 'branch', 'branches')} more" if len(below) > 3 else ""
    return f"{safe(tree.target.name)}: {'; '.join(parts)}{more}."


def first_question(tree: Tree) -> str:
    """Say what is asked first, where nothing is known of the answers."""
    return f"The tree first asks for {safe(tree.columns[tree.arrays.column[0]])}."


def two_classes_in_words(tree: Tree, below: Sequence[int]) -> str:
    """Compare the branch where the positive class is most frequent with the one where it is least."""
    positive = safe(tree.classes[1])
    rate = {node: float(tree.probabilities(node)[1]) for node in below}
    high, low = max(rate, key=lambda i: rate[i]), min(rate, key=lambda i: rate[i])
    most, least = rate[high], rate[low]
    others = "of the others" if tree.condition(low).endswith(" otherwise") else f"of those with {tree.condition(low)}"
    share = f"Of the rows with {tree.condition(high)}, {format_share(most)} % are {positive}"
    if least == 0:
        return f"{share}; {others}, none."
    if most / least < 1.15:
        return f"{share}; {others}, {format_share(least)} %."
    return f"{share}: {format_rounded(round(most / least, 1))} times as many as {others}, {format_share(least)} %."


def how_often(tree: Tree, node: int) -> str:
    """Say whether what a node predicts is more than half of its rows."""
    return "mostly" if tree.probabilities(node)[tree.arrays.label[node]] > 0.5 else "most often"


def said(tree: Tree, node: int) -> str:
    """Say what a node predicts, and how sure it is."""
    prediction = tree.prediction(node)
    if tree.task == "regression":
        return "nothing" if prediction is None else format_rounded(float(prediction))
    share = tree.probabilities(node).max() if tree.arrays.weight[node] else None
    return safe(prediction) + ("" if share is None else f" ({format_share(float(share))} %)")


def error_line(tree: Tree, test: Evaluation | None) -> str:
    """Say the error that counts: on rows the tree has not seen; else the training error, by that name."""
    if test is None:
        known = " · ".join(describe_training_error(tree))
        return f"{known} (on the rows it was grown on; no test table was given)" if known else "no error is known"
    if isinstance(test, RegressionEvaluation):
        base = test.baseline_rmse
        against = "" if base is None else f", against {format_rounded(base)} without a tree"
        return f"test RMSE {format_rounded(test.rmse)}{against}"
    assert isinstance(test, ClassificationEvaluation)
    low, high = test.interval
    error = f"test error {format_share(test.error)} % [{format_percent(low)}, {format_percent(high)}]"
    base = test.baseline_error
    return error + ("" if base is None else f', always "{safe(test.majority)}": {format_share(base)} %')


# -- tables ---------------------------------------------------------------------------------------------------------


def table_html(sheet: ResultTable, link: int | None = None) -> str:
    """Return a sheet as an HTML table without any style; ``link`` is the column that holds a node's number."""
    shown = [i for i, heading in enumerate(sheet.columns) if heading.only != "data"]
    heads = [sheet.columns[i] for i in shown]

    def cells(tag: str, texts: Sequence[str]) -> str:
        classes = (' class="number"' if heading.is_right_aligned else "" for heading in heads)
        return "".join(f"<{tag}{kind}>{escape_html(text)}</{tag}>" for kind, text in zip(classes, texts, strict=True))

    parts = [f"<p>{escape_html(text)}</p>" for text in sheet.above]
    rows = sheet.rows if sheet.max_rows is None else sheet.rows[: sheet.max_rows]
    body = []
    for row in rows:
        line = cells("td", [sheet.columns[i].format_cell(row[i]) for i in shown])
        if link is not None:  # a number that can be pressed stands for the line
            node = int(row[link])
            line = line.replace(
                f">{node}<", f'><button type="button" class="small" data-leaf="{node}">{node}</button><', 1
            )
        body.append(f"<tr>{line}</tr>")
    table = f"<thead><tr>{cells('th', [h.heading for h in heads])}</tr></thead><tbody>{''.join(body)}</tbody>"
    parts.append(f'<div class="scroll"><table>{table}</table></div>')
    left = len(sheet.rows) - len(rows)
    more = [f"… {plural(left, f'more {sheet.row_name}')}"] if left else []
    return "".join([*parts, *(f'<p class="quiet">{escape_html(text)}</p>' for text in [*more, *sheet.below])])


def rules_section(tree: Tree) -> ReportSection:
    """List the rules, the ones with most rows first; a line leads to its leaf."""
    found = tree.rules()
    sheet = replace(found.result_table(), max_rows=MOST_RULES)
    node = next(i for i, heading in enumerate(sheet.columns) if heading.name == "node")
    return ReportSection("rules", "Rules", table_html(sheet, node))


def columns_section(tree: Tree, table: Table | None) -> ReportSection:
    """Say what the data are: each column's kind, what is missing, how many questions are about it."""
    asked = np.bincount(tree.arrays.column[tree.arrays.kind != LEAF], minlength=len(tree.encodings))
    rows: list[list[Any]] = []
    for encoding, questions in zip(tree.encodings, asked.tolist(), strict=True):
        gone, span = describe(encoding, table)
        rows.append([encoding.name, kind_in_words(encoding), span, gone, questions])
    rows.sort(key=lambda row: -row[-1])
    headings = (
        ColumnSpec("column"),
        ColumnSpec("kind"),
        ColumnSpec("values"),
        ColumnSpec("missing", "count"),
        ColumnSpec("questions", "count", title="asked about"),
    )
    about = () if table is None else (f"{safe(table.name)}: {plural(len(table), 'row')}.",)
    return ReportSection(
        "columns",
        "Columns",
        table_html(ResultTable("", headings, rows, above=about, row_name="column", max_rows=MOST_COLUMNS)),
    )


def kind_in_words(encoding: Encoding) -> str:
    """Say what a column is; levels are counted, not named.

    >>> kind_in_words(Encoding("town", "nominal", ("Bari", "Rome"))), kind_in_words(Encoding("n", "integer"))
    ('category, 2 levels', 'number')
    """
    if encoding.kind in ("nominal", "ordered"):
        ordered = "ordered " * (encoding.kind == "ordered")
        return f"{ordered}category, {plural(len(encoding.levels), 'level')}"
    return {"integer": "number", "datetime": "date"}.get(encoding.kind, encoding.kind)


def describe(encoding: Encoding, table: Table | None) -> tuple[int | None, str]:
    """Count a column's missing cells in a table, and say its rough range or its most frequent levels.

    Levels of few rows are not named, and numbers are rounded: this stands in files that are to hold no rows.
    """
    if table is None or encoding.name not in table.columns:
        return None, ""
    values = encode_column(encoding, table[encoding.name], table.name)
    gone = is_missing(encoding, values)
    known = values[~gone]
    if not len(known):
        return len(values), ""
    if not encoding.is_categorical:
        ends = [axis_number(encoding, end.item()) for end in (known.min(), known.max())]
        return int(gone.sum()), " to ".join(ends)
    levels, many = np.unique(known[known >= 0], return_counts=True)
    order = [i for i in np.argsort(-many, kind="stable")[:4].tolist() if many[i] >= FEWEST]
    often = ", ".join(f"{safe(encoding.levels[levels[i]])} {format_count(int(many[i]))}" for i in order)
    left = len(levels) - len(order)
    more = [f"{left:,} more" if order else plural(left, "level")] if left else []
    return int(gone.sum()), ", ".join([*([often] if often else []), *more])


def errors_section(test: Evaluation | None, training: Evaluation | None) -> ReportSection:
    """Print the figures on the test table, then those on the training table, which are not what to expect."""
    parts = []
    for name, found in (("On the test table", test), ("On the table it was grown on", training)):
        if found is not None:
            parts.append(f"<h3>{name}</h3><pre>{in_html_lines(str(found))}</pre>")
    if test is None:
        parts.insert(
            0, '<p class="warn">No test table was given, so nothing here tells how the tree does on new rows.</p>'
        )
    return ReportSection("errors", "Errors", "".join(parts))


def in_html_lines(text: str) -> str:
    """Escape a text of several lines."""
    return "\n".join(escape_html(line) for line in text.splitlines())


def importances_section(tree: Tree, test: Table | None) -> ReportSection:
    """List the columns by how much they matter: on the test table where there is one."""
    try:
        found = tree.importances() if test is None else tree.importances(test)
    except ValueError as error:
        return ReportSection("importance", "Importance", f'<p class="quiet">{escape_html(str(error))}</p>')
    return ReportSection(
        "importance",
        "Importance",
        "".join(f"<p>{escape_html(s.title)}</p>{table_html(s)}" for s in found.result_tables()),
    )


def made_section(tree: Tree, lines: Sequence[tuple[str, str]]) -> ReportSection:
    """Say how the tree was made: every step with its parameters, versions, the data's fingerprint."""
    steps = [in_words(step) for step in tree.history] or ["written by hand"]
    items = "".join(f"<li>{escape_html(step)}</li>" for step in steps)
    rest = "".join(f"<tr><th>{escape_html(head)}</th><td>{escape_html(text)}</td></tr>" for head, text in lines)
    notes = "".join(f"<li>{escape_html(note)}</li>" for note in tree.notes)
    noted = f"<h3>Notes</h3><ul>{notes}</ul>" if notes else ""
    return ReportSection("made", "How it was made", f"<ol>{items}</ol><table>{rest}</table>{noted}")


# -- pictures -------------------------------------------------------------------------------------------------------


def size_section(tree: Tree, found: CpTable) -> ReportSection | None:
    """Draw the error of the trees nested in this one over their leaves: training, and cross-validated if known."""
    rows = list(found)
    if len(rows) < 2:
        return None
    leaves = [float(row.leaves) for row in rows]
    lines = [("training", "one", [row.rel_error * found.root_error for row in rows])]
    held = rows[0].xerror is not None
    if held:
        lines.append(("cross-validated", "two", [float(row.xerror or 0.0) * found.root_error for row in rows]))
    shares = tree.task == "classification" and found.counted == "errors"
    picture = curve_svg(
        leaves, lines, (lambda error: f"{format_percent(error)} %") if shares else format_rounded, found.chosen
    )
    how = "and by cross-validation" if held else "on the training rows alone, which always favours the larger tree"
    said = f"The error of the trees nested in this one, {how}. Splits that change no error are left out."
    if training_error(tree) is None:
        return None
    return ReportSection("size", "Size", f"<p>{escape_html(said)}</p>{picture}")


def regions_section(tree: Tree, table: Table, rows: Sequence[int] | None) -> ReportSection | None:
    """Draw the areas of the two columns that matter most, the others held; with the rows that are in the file."""
    matter = [column for column in tree.importances().columns if column.splits][:2] if len(tree.classes) != 1 else []
    if len(matter) < 2 or tree.n_leaves > MOST_AREAS:
        return None
    try:
        plane = make_plane([tree], table, matter[0].column, matter[1].column, None)
    except DataError:
        return None  # more levels than an axis shows, or nothing to show
    areas, met = plane.areas(tree)
    held = [f"{safe(name)} = {held_in_words(plane.fixed[name])}" for name in met]
    where = f" where {', '.join(held)} (the most frequent or middle value)" if held else ""
    said = f"What is predicted over {safe(plane.x.name)} and {safe(plane.y.name)}{where}. Click an area for its leaf."
    return ReportSection(
        "regions", "Regions", f"<p>{escape_html(said)}</p>{regions_svg(tree, plane, areas, table, rows)}"
    )


def held_in_words(value: float | str | None) -> str:
    """Write the value a column is held at.

    >>> held_in_words(30.0), held_in_words(None), held_in_words("Rome")
    ('30', 'missing', 'Rome')
    """
    if value is None:
        return "missing"
    return safe(value) if isinstance(value, str) else format_exact(value)


def legend(tree: Tree) -> str:
    """Name the colours."""
    if tree.task == "regression":
        return (
            '<p class="quiet">The bar of a box tells where its mean lies between the lowest and the highest leaf.</p>'
        )
    patch = '<svg viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" rx="3" fill="{}"/></svg>'
    items = [
        f"<span>{patch.format(class_colour(i))} {escape_html(safe(label))}</span>"
        for i, label in enumerate(tree.classes[:MOST_CLASSES])
    ]
    more = len(tree.classes) - MOST_CLASSES
    again = '<span class="quiet">colours begin again after eight classes; boxes name theirs</span>'
    items += [f"<span>… {more} more</span>"] * (more > 0) + [again] * (len(tree.classes) > len(CLASS_COLOURS))
    return f'<div class="legend">{"".join(items)}</div>'
