r"""Write a trace as Markdown, LaTeX or HTML, with the results or, for an exercise, with blanks.

Uses the sentences of ``words.py``. Everything that comes from the table is escaped: ``\`` before Markdown characters,
commands for LaTeX's special ones. LaTeX needs ``amsmath``; a whole trace is a document, one node is a fragment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from treewise._lib.latex import (
    BLANK,
    LATEX_BLANK,
    escape_latex,
    latex_condition,
    latex_document,
    latex_number,
    latex_sentence,
)
from treewise._lib.result_table import ColumnSpec, ResultTable, escape_html
from treewise._lib.text import escape_markdown
from treewise.explain.trace.arithmetic import Formula, Term
from treewise.explain.trace.nodes import NodeTrace
from treewise.explain.trace.words import (
    ROUNDING_NOTE,
    Legend,
    TraceEntry,
    branches_heading,
    describe_members,
    describe_outcome,
    describe_rows,
    describe_settled,
    format_impurity,
    list_entries,
    note_columns_left_out,
    worked_terms,
    writes_formulas,
)

# -- Markdown -----------------------------------------------------------------------------------------------


def markdown(nodes: Iterable[NodeTrace], blanks: bool = False, notes: Sequence[str] = ()) -> str:
    """Return a heading, a table and the outcome of each node."""
    lines: list[str] = []
    last, legend = None, Legend()
    for node in nodes:
        if last is not None and not (last.settled and node.settled):
            lines.append("")
        lines += _markdown_node(node, blanks)
        last = node
        legend.add(node)
    if last is None:
        return "nothing to trace\n"
    footer = [*notes, str(legend), *([] if blanks else [ROUNDING_NOTE])]
    return "\n".join([*lines, "", "  \n".join(map(escape_markdown, footer))]) + "\n"


def markdown_tree(tree: str) -> str:
    """Return the tree in a block of code, "" where there is none."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", tree)), default=0))
    return f"\n### The tree\n\n{fence}text\n{tree}\n{fence}\n" if tree else ""


def _markdown_node(node: NodeTrace, blanks: bool) -> Iterator[str]:
    rows, words = escape_markdown(describe_rows(node)), escape_markdown(node.words)
    if node.settled:
        yield f"- node {node.id}: {words} · {rows} · {describe_settled(node)}"
        return
    yield f"### node {node.id}: {words}"
    yield ""
    yield f"{rows} · {escape_markdown(format_impurity(node, blanks))}"
    yield ""
    if members := describe_members(node):
        yield f"{escape_markdown(members)}"
        yield ""
    after = f"{node.number_format.letter} after"
    yield f"| candidate | {escape_markdown(branches_heading(node))} | computation | {after} | result |"
    yield "|---|---|---|---:|---:|"
    for entry in list_entries(node, blanks, include_all=writes_formulas(node)):
        yield _markdown_entry(entry, blanks)
    yield ""
    for symbol, worked in worked_terms(node).items():
        yield f"- {escape_markdown(symbol)} = {escape_markdown(BLANK if blanks else worked.text.partition(' = ')[2])}"
    if worked_terms(node):
        yield ""
    for line in note_columns_left_out(node):
        yield line
        yield ""
    yield escape_markdown(describe_outcome(node, blanks))


def _markdown_entry(entry: TraceEntry, blanks: bool) -> str:
    if entry.formula is None:
        return f"| {escape_markdown(entry.label)} | | {escape_markdown(entry.note)} | | |"
    computation = "".join(entry.formula.pieces(blanks=blanks))
    if not entry.has_no_candidate:
        computation += " = " + "".join(entry.formula.pieces(numbers=True, blanks=blanks))
    if entry.note:
        computation += f" ({entry.note})"
    result = escape_markdown(entry.result)
    result = f"**{result}** {entry.mark}" if entry.mark else result
    cells = map(escape_markdown, (entry.label, entry.branches, computation, _after(entry, blanks)))
    return f"| {' | '.join(cells)} | {result} |"


def _after(entry: TraceEntry, blanks: bool = False) -> str:
    """Return the impurity after a split, H(Y|Z); "" where there is no split."""
    if entry.formula is None or entry.has_no_candidate:
        return ""
    return BLANK if blanks else entry.formula.after


# -- LaTeX -------------------------------------------------------------------------------------------------

_TERMS_PER_LINE, _GROUPS_PER_LINE = 4, 2


def latex(
    nodes: Iterable[NodeTrace],
    blanks: bool = False,
    notes: Sequence[str] = (),
    document: bool = True,
    tree: str = "",
) -> str:
    """Return one section per node, its computations in ``align*``: a document, or a fragment of one.

    ``tree`` is the picture of the tree, written in forest, and stands at the end.
    """
    parts, legend = [], Legend()
    for node in nodes:
        parts.append("\n".join(_latex_node(node, blanks)))
        legend.add(node)
    if legend:
        footer = [*notes, str(legend), *([] if blanks else [ROUNDING_NOTE])]
        parts.append("\\medskip\\noindent\n" + "\\\\\n".join(map(escape_latex, footer)))
    if tree:
        parts.append("\\subsection*{The tree}\n" + tree)
    body = "\n\n".join(parts)
    return latex_document(body, ("forest",) if tree else ()) if document else f"{body}\n"


def _latex_node(node: NodeTrace, blanks: bool) -> Iterator[str]:
    rows, words = escape_latex(describe_rows(node)), latex_sentence(node.words)
    if node.settled:
        yield rf"\noindent Node {node.id}: {words}; {rows}; {describe_settled(node)}.\par"
        return
    yield rf"\subsection*{{Node {node.id}: {words}}}"
    term = node.number_format.whole_term()
    result = LATEX_BLANK if blanks else latex_number(term.value)
    yield (
        rf"\noindent {rows}; $\displaystyle {_latex_term(term)} = {result}$ {node.number_format.shown_unit}".rstrip()
        + "."
    )
    if members := describe_members(node):
        yield rf"\par\noindent {escape_latex(members)}."
    listed = list(list_entries(node, blanks, include_all=writes_formulas(node)))
    computed = [e for e in listed if e.formula is not None]
    if computed:
        yield r"\begin{align*}"
        yield " \\\\[1ex]\n".join(_latex_entry(e, e.formula, blanks) for e in computed if e.formula is not None)
        yield r"\end{align*}"
    if (worked := worked_terms(node)) and not blanks:
        yield r"\begin{align*}"
        yield " \\\\[1ex]\n".join(each.latex_of(_latex_symbol(symbol)) for symbol, each in worked.items())
        yield r"\end{align*}"
    for e in listed:
        if e.formula is None:
            yield rf"\par\noindent {escape_latex(e.label)}: {escape_latex(e.note)}."
    for line in (*note_columns_left_out(node), describe_outcome(node, blanks)):
        yield rf"\par\noindent {latex_sentence(line)}"
    yield r"\par"


def _latex_symbol(symbol: str) -> str:
    r"""Write ``H(5/7)`` as mathematics.

    >>> print(_latex_symbol("H(5/7, 2/7)"))
    H\bigl(\tfrac{5}{7}, \tfrac{2}{7}\bigr)
    """
    letter, _, shares = symbol[:-1].partition("(")
    return rf"{letter}\bigl({', '.join(map(latex_number, shares.split(', ')))}\bigr)"


def _latex_entry(entry: TraceEntry, formula: Formula, blanks: bool) -> str:
    """Return the lines of one candidate: formula, arithmetic, result."""
    result = LATEX_BLANK if entry.result == BLANK else latex_number(entry.result)
    remark = ", ".join(part for part in (entry.mark.removeprefix("◄ "), entry.note) if part)
    score = "Gain" if not formula.divisor and not formula.penalty else "Score"
    condition = latex_condition(entry.label, entry.column)
    steps = [rf"\operatorname{{{score}}}({condition}) & = {_latex_formula(formula, numbers=False, blanks=blanks)}"]
    for i in range(0, len(entry.groups), _GROUPS_PER_LINE):
        steps.append(rf"& \quad\text{{{escape_latex('; '.join(entry.groups[i : i + _GROUPS_PER_LINE]))}}}")
    if not entry.has_no_candidate:
        steps.append(f"& = {_latex_formula(formula, numbers=True, blanks=blanks)}")
        if not formula.penalty and not formula.divisor:
            after = LATEX_BLANK if blanks else latex_number(formula.after)
            steps.append(f"& = {LATEX_BLANK if blanks else latex_number(formula.before.value)} - {after}")
    steps.append(f"& = {result}" + (rf"\quad\text{{({escape_latex(remark)})}}" if remark else ""))
    return " \\\\\n".join(steps)


def _latex_formula(formula: Formula, numbers: bool, blanks: bool = False) -> str:
    """Write a formula, or its arithmetic; long sums are broken into lines."""
    terms = [_latex_numbers(t, blanks) if numbers else _latex_term(t) for t in formula.terms]
    lines = [" + ".join(terms[i : i + _TERMS_PER_LINE]) for i in range(0, len(terms), _TERMS_PER_LINE)]
    inside = " \\\\\n& \\qquad + ".join(lines)
    before = latex_number(formula.before.value)
    if blanks:
        before = LATEX_BLANK if numbers else _latex_term(formula.before)
    text = rf"{before} - \bigl[{inside}\bigr]"
    if formula.penalty:
        price = re.sub(r"log₂", r"\\log_2 ", formula.penalty[0]).replace("ln(", r"\ln (")
        price = (
            price.replace("price(", r"\mathrm{price}(")
            .replace(" bits)", r"\ \mathrm{bits})")
            .replace("cost", r"\mathrm{cost}")
        )
        text += f" - {(LATEX_BLANK if blanks else latex_number(formula.penalty[1])) if numbers else price}"
    if not formula.divisor:
        return text
    divisor = formula.divisor
    if isinstance(divisor, Term):
        entropy = _latex_numbers(divisor, blanks) if numbers else _latex_term(divisor)
        return rf"\bigl({text}\bigr) \big/ " + (rf"\bigl[{entropy}\bigr]" if divisor.weight else entropy)
    return rf"\bigl({text}\bigr) \big/ {divisor}"


def _latex_term(term: Term) -> str:
    r"""Write one summand.

    >>> print(_latex_term(Term("4/12", "H", ("3/5",), 1, "0.97095")))
    \tfrac{1}{3}\,H\bigl(\tfrac{3}{5}\bigr)
    """
    letter = term.letter if len(term.letter) == 1 else rf"\operatorname{{{term.letter}}}"
    if term.shares:
        letter += rf"\bigl({', '.join(map(latex_number, term.shares))}\bigr)"
    else:
        letter += f"_{{{term.branch_number}}}" if term.branch_number else r"(\text{node})"
    return rf"{latex_number(term.weight)}\,{letter}" if term.weight else letter


def _latex_numbers(term: Term, blanks: bool) -> str:
    value = LATEX_BLANK if blanks else latex_number(term.value)
    return f"{latex_number(term.weight)}({value})" if term.weight else value


def _headings(node: NodeTrace) -> tuple[ColumnSpec, ...]:
    return (
        ColumnSpec("candidate"),
        ColumnSpec("branches", title=branches_heading(node)),
        ColumnSpec("computation"),
        ColumnSpec("after", "number", title=f"{node.number_format.letter} after", formatter=str),
        ColumnSpec("result", "number", formatter=str),
        ColumnSpec("mark", title=""),
    )


def notebook_formats(nodes: Sequence[NodeTrace], notes: Sequence[str] = ()) -> dict[str, str]:
    """Return nodes as Markdown and as HTML, with notes below them."""
    footer = [*notes, *([str(Legend(*nodes)), ROUNDING_NOTE] if nodes else [])]
    html = "".join(_node_table(node).to_html() for node in nodes)
    html += "".join(f"<p>{escape_html(line)}</p>\n" for line in footer)
    return {"text/markdown": markdown(nodes, notes=notes), "text/html": f"<div>\n{html}</div>\n"}


def _node_table(node: NodeTrace) -> ResultTable:
    title, rows = f"node {node.id}: {node.words}", describe_rows(node)
    if node.settled:
        return ResultTable(f"{title} · {rows} · {describe_settled(node)}", _headings(node), [])
    cells = []
    for entry in list_entries(node, blanks=False, include_all=writes_formulas(node)):
        formula = "" if entry.formula is None else "".join(entry.formula.pieces())
        if entry.formula is not None and not entry.has_no_candidate:
            formula += " = " + "".join(entry.formula.pieces(numbers=True))
        computation = f"{formula} ({entry.note})" if formula and entry.note else formula or entry.note
        cells.append((entry.label, entry.branches, computation, _after(entry), entry.result, entry.mark))
    return ResultTable(
        title,
        _headings(node),
        cells,
        above=tuple(filter(None, (f"{rows} · {format_impurity(node, blanks=False)}", describe_members(node)))),
        below=(
            *note_columns_left_out(node),
            *(f"{symbol} = {worked.text.partition(' = ')[2]}" for symbol, worked in worked_terms(node).items()),
            describe_outcome(node, blanks=False),
        ),
        row_name="candidate",
        max_rows=None,
    )
