"""What a notebook shows of a trace: the Markdown of ``sheets.py``, and HTML, a table a node.

At the end of the trace, beside the printers; what is said in the cells comes from ``words.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from treewise._lib.result_table import ColumnSpec, ResultTable, escape_html
from treewise.explain.trace.markdown_latex import markdown
from treewise.explain.trace.nodes import NodeTrace
from treewise.explain.trace.words import (
    ROUNDED,
    conclusion,
    entries,
    impurity_in_words,
    in_full,
    left_out,
    legend,
    rows_in_words,
    settled_in_words,
)

HEADINGS = (
    ColumnSpec("candidate"),
    ColumnSpec("branches"),
    ColumnSpec("computation"),
    ColumnSpec("result", "number", formatter=str),
    ColumnSpec("mark", title=""),
)


def displayed(nodes: Sequence[NodeTrace], notes: Sequence[str] = ()) -> dict[str, str]:
    """Return nodes as Markdown and as HTML, with notes below them."""
    ends = [*notes, *([legend(nodes[-1]), ROUNDED] if nodes else [])]
    html = "".join(node_sheet(node).to_html() for node in nodes)
    html += "".join(f"<p>{escape_html(said)}</p>\n" for said in ends)
    return {"text/markdown": markdown(nodes, notes=notes), "text/html": f"<div>\n{html}</div>\n"}


def node_sheet(node: NodeTrace) -> ResultTable:
    """Lay out one node: its candidates with their arithmetic, and who has won."""
    title, rows = f"node {node.id}: {node.words}", rows_in_words(node)
    if node.settled:
        return ResultTable(f"{title} · {rows} · {settled_in_words(node)}", HEADINGS, [])
    cells = []
    for entry in entries(node, blanks=False, every=in_full(node)):
        said = "" if entry.formula is None else "".join(entry.formula.pieces())
        if entry.formula is not None and not entry.dead:
            said += " = " + "".join(entry.formula.pieces(numbers=True))
        computation = f"{said} ({entry.note})" if said and entry.note else said or entry.note
        cells.append((entry.label, entry.branches, computation, entry.result, entry.mark))
    return ResultTable(
        title,
        HEADINGS,
        cells,
        above=(f"{rows} · {impurity_in_words(node, blanks=False)}",),
        below=(*left_out(node), conclusion(node, blanks=False)),
        row_name="candidate",
        max_rows=None,
    )
