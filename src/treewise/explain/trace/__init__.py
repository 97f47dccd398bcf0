"""Show all the computations: every candidate of every node, with its arithmetic (CS221 section 5).

Behind ``tree.trace(data)`` and ``tw.candidates(data, target)``. The files, in the order of the flow:

    arithmetic.py   integers of the search → numbers in the reader's unit, and the formula of a gain
    nodes.py        a node, its columns and their candidates: views of the NodeSearch of ``train/reference.py``
    trace.py        search one node, or a whole tree node by node on demand
    words.py        the sentences and labels that all formats share
    text.py         the terminal: formulas, or a table for nodes with many candidates
    documents.py    Markdown, LaTeX (also as exercise sheets) and HTML for notebooks
    render.py       the choice of the format; CSV and JSON
"""

from treewise.explain.trace.nodes import CandidateTrace, ColumnTrace, NodeTrace
from treewise.explain.trace.trace import Trace, candidates, trace

__all__ = ["CandidateTrace", "ColumnTrace", "NodeTrace", "Trace", "candidates", "trace"]
