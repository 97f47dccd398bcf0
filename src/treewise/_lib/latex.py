r"""LaTeX: names and labels with special characters as commands, numbers and fractions in mathematics.

Used by everything that writes LaTeX: traces, trees, rounds of boosting, joint distributions.
"""

from __future__ import annotations

import math
import re

LATEX_BLANK = r"\underline{\hspace{3em}}"  # where a number is to be filled in
BLANK = "_____"  # the same in text
LATEX_HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}  % names outside the Latin alphabet: compile with lualatex or xelatex
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
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
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "·": r"$\cdot$",
    "…": r"\dots{}",
    "²": "$^2$",
    "½": r"$\tfrac{1}{2}$",
    "√": r"$\surd$",
    "Σ": r"$\Sigma$",
    "ℓ": r"$\ell$",
    "α": r"$\alpha$",
    "ε": r"$\varepsilon$",
    **{chr(ord("₀") + digit): f"$_{digit}$" for digit in range(10)},
}


def latex_document(body: str, packages: tuple[str, ...] = ()) -> str:
    """Return a whole document with a body, which may need further packages."""
    head = LATEX_HEAD
    for package in packages:
        head = head.replace(r"\allowdisplaybreaks", f"\\usepackage{{{package}}}\n\\allowdisplaybreaks")
    return f"{head}\n{body}\n\n{LATEX_END}\n"


def escape_latex(text: str) -> str:
    r"""Write LaTeX's special characters as commands; blanks become rules to write on.

    >>> print(escape_latex("50% of a_b & {c}"))
    50\% of a\_b \& \{c\}
    """
    parts = text.split(BLANK)
    return LATEX_BLANK.join("".join(_ESCAPES.get(ch, ch) for ch in part) for part in parts)


def latex_number(text: str) -> str:
    r"""Write a number in mathematics: a fraction set small and in lowest terms, no space after thousands separators.

    Shares of nothing and of everything keep their count, as in CS221 section 5.

    >>> latex_number("5,625.0"), latex_number("6/12"), latex_number("0/4"), latex_number("3/3")
    ('5{,}625.0', '\\tfrac{1}{2}', '\\tfrac{0}{4}', '\\tfrac{3}{3}')
    """
    numerator, slash, denominator = text.partition("/")
    if not slash:
        return text.replace(",", "{,}")
    if numerator.isdecimal() and denominator.isdecimal() and 0 < int(numerator) < int(denominator):
        divisor = math.gcd(int(numerator), int(denominator))
        numerator, denominator = str(int(numerator) // divisor), str(int(denominator) // divisor)
    return rf"\tfrac{{{numerator}}}{{{denominator}}}"


# -- names and conditions in mathematics ----------------------------------------------------------------------

_INDEXED_NAME = re.compile(r"([A-Za-z])_?(\d{1,2})")
_RELATIONS = {"<=": r"\le", ">=": r"\ge", "≤": r"\le", "≥": r"\ge", "<": "<", ">": ">"}
_THRESHOLD = re.compile(r"(<=|>=|≤|≥|<|>) (-?(?:\d[\d,]*)?\.?\d+)(?![\w.])")
_CONDITION = re.compile(rf"(?<![\w.])([A-Za-z]_?\d{{1,2}}) {_THRESHOLD.pattern}")


def latex_name(name: str) -> str:
    r"""Write the name of a column in mathematics: a letter with an index as such, any other as text.

    >>> latex_name("x1"), latex_name("x_12"), latex_name("GPA"), latex_name("x")
    ('x_1', 'x_{12}', '\\text{GPA}', 'x')
    """
    if len(name) == 1 and name.isascii() and name.isalpha():
        return name
    if (indexed := _INDEXED_NAME.fullmatch(name)) is None:
        return rf"\text{{{escape_latex(name)}}}"
    letter, index = indexed.groups()
    return f"{letter}_{index}" if len(index) == 1 else f"{letter}_{{{index}}}"


def latex_condition(condition: str, name: str = "") -> str:
    r"""Write a condition in mathematics: on the column of this name, or what follows a name.

    >>> latex_condition("x1 <= 0.5", "x1"), latex_condition("≤ 206.5 or missing")
    ('x_1 \\le 0.5', '\\le 206.5\\text{ or missing}')
    >>> latex_condition("GPA = 3.7", "GPA"), latex_condition("GPA", "GPA")
    ('\\text{GPA} = \\text{3.7}', '\\text{GPA}')
    >>> latex_condition("<= medium")
    '\\le \\text{medium}'
    """
    if not condition.startswith(name):
        return rf"\text{{{escape_latex(condition)}}}"
    rest, parts = condition[len(name) :], [latex_name(name)] if name else []
    stripped = rest.removeprefix(" ") if name else rest
    if (threshold := _THRESHOLD.match(stripped)) is not None:
        relation, number = threshold.groups()
        parts.append(f"{_RELATIONS[relation]} {latex_number(number)}")
        rest = stripped[threshold.end() :]
        return " ".join(parts) + (rf"\text{{{escape_latex(rest)}}}" if rest else "")
    relation, _, level = stripped.partition(" ")
    if level and relation in ("=", *_RELATIONS):
        return " ".join([*parts, rf"{_RELATIONS.get(relation, relation)} \text{{{escape_latex(level)}}}"])
    return "".join(parts) + (rf"\text{{{escape_latex(rest)}}}" if rest else "")


def latex_sentence(text: str) -> str:
    r"""Escape a sentence, with the conditions in it on indexed names in mathematics.

    >>> latex_sentence("split on x1 <= 0.5; 50% of x_1")
    'split on $x_1 \\le 0.5$; 50\\% of x\\_1'
    """
    parts, end = [], 0
    for condition in _CONDITION.finditer(text):
        name, relation, number = condition.groups()
        mathematics = f"${latex_name(name)} {_RELATIONS[relation]} {latex_number(number)}$"
        parts += [escape_latex(text[end : condition.start()]), mathematics]
        end = condition.end()
    return "".join([*parts, escape_latex(text[end:])])
