"""Texts of a sheet as HTML, for the form and for Moodle."""

from __future__ import annotations

import re

from treewise._lib.result_table import escape_html

_INDEXED = re.compile(r"(?<![A-Za-z])([DhmzεαΣ])_(b\+1|b|[0-9]+)(?![A-Za-z0-9])")  # D_2, ε_b, m_b of formulas


def formula_html(text: str) -> str:
    """Escape a text, and set the indices of the symbols of formulas.

    >>> formula_html("D_b+1 = D_b/(2 ε_b) <a_b>")
    'D<sub>b+1</sub> = D<sub>b</sub>/(2 ε<sub>b</sub>) &lt;a_b&gt;'
    """
    return _INDEXED.sub(r"\1<sub>\2</sub>", escape_html(text))


def code_html(text: str) -> str:
    r"""Return lines in fixed width, such as a printed tree.

    >>> code_html("x <= 1 -> a\n    b")
    '<pre>x &lt;= 1 -&gt; a\n    b</pre>'
    """
    return f"<pre>{chr(10).join(map(escape_html, text.splitlines()))}</pre>"
