r"""LaTeX: names and labels with special characters as commands, numbers and fractions in mathematics.

Used by everything that writes LaTeX: traces, rounds of boosting, joint distributions.
"""

from __future__ import annotations

LATEX_BLANK = r"\underline{\hspace{3em}}"  # where a number is to be filled in
BLANK = "_____"  # the same in text
LATEX_HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}  % names outside the Latin alphabet: compile with lualatex or xelatex
\usepackage{amsmath,textcomp}
\allowdisplaybreaks
\begin{document}
"""
LATEX_END = r"\end{document}"
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "·": r"$\cdot$",
    "…": r"\dots{}",
    "≤": r"$\leq$",
    "²": "$^2$",
    "½": r"$\tfrac{1}{2}$",
    "√": r"$\surd$",
    "Σ": r"$\Sigma$",
    "ℓ": r"$\ell$",
    "α": r"$\alpha$",
    "ε": r"$\varepsilon$",
    **{chr(ord("₀") + digit): f"$_{digit}$" for digit in range(10)},
}


def escape_latex(text: str) -> str:
    r"""Write LaTeX's special characters as commands; blanks become rules to write on.

    >>> print(escape_latex("50% of a_b & {c}"))
    50\% of a\_b \& \{c\}
    """
    parts = text.split(BLANK)
    return LATEX_BLANK.join("".join(_ESCAPES.get(ch, ch) for ch in part) for part in parts)


def latex_number(text: str) -> str:
    r"""Write a number in mathematics: a fraction set small, and no space after thousands separators.

    >>> latex_number("5,625.0"), latex_number("3/5")
    ('5{,}625.0', '\\tfrac{3}{5}')
    """
    numerator, slash, denominator = text.partition("/")
    return rf"\tfrac{{{numerator}}}{{{denominator}}}" if slash else text.replace(",", "{,}")
