"""Show all the computations: every candidate of every node, with its arithmetic (CS221 section 5).

``tree.trace(data)`` and ``tw.candidates(data, target)`` come here. The files, in the order of the flow:

    formula.py      one gain as a sum in its parts: 12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]
    lens.py         integers of the search → the numbers a reader wants: unit, per row or in total, digits
    candidate.py    one candidate of a column
    nodes.py        one column, one node
    contest.py      who wins at a node, compared by the search's own functions
    front.py        a whole tree, node by node as they are asked for
    render.py       which printer prints it
    words.py        what is said in every format
    text.py         for the terminal; table.py for nodes with many candidates
    sheets.py       Markdown and LaTeX, also as exercise sheets
    display.py      HTML, for notebooks
    data.py         CSV and JSON, every number as it is
"""

from treewise.explain.trace.candidate import CandidateTrace
from treewise.explain.trace.nodes import ColumnTrace, NodeTrace
from treewise.explain.trace.trace import Trace, candidates, trace

__all__ = ["CandidateTrace", "ColumnTrace", "NodeTrace", "Trace", "candidates", "trace"]
