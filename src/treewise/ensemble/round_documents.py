r"""A worked round of AdaBoost as LaTeX, or as a sheet with blanks: ε, α, z and the weight of every row after the round.

Complements ``rounds.py``, whose ``WorkedRound`` has the numbers and prints text, Markdown and CSV. LaTeX needs
``amsmath``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewise._lib.latex import BLANK, LATEX_BLANK, LATEX_END, LATEX_HEAD, escape_latex, latex_number
from treewise._lib.text import format_rounded
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.ensemble.rounds import WorkedRound

_FORMATS = ("text", "markdown", "latex")
_MAX_TERMS = 6  # of a sum that is written out


def render_round(worked: WorkedRound, format: str = "text", blanks: bool = False) -> str:
    """Return a round in a format; ``blanks`` leaves its results to be filled in."""
    if format not in _FORMATS:
        raise ParameterError(f"must be one of {', '.join(_FORMATS)}.", parameter="format", value=format)
    if format == "latex":
        return _latex(worked, blanks)
    if not blanks:
        return worked.to_text() if format == "text" else worked.to_markdown()
    lines = [_title(worked), *_steps(worked, blanks), *_row_lines(worked, blanks, format == "markdown")]
    return "\n".join(lines) + "\n"


def _title(worked: WorkedRound) -> str:
    return f"Round {worked.number} of AdaBoost for {worked.target}: {worked.learner}"


def _steps(worked: WorkedRound, blanks: bool) -> list[str]:
    """Return ε, α and z; with blanks only what is asked for."""
    if not blanks:
        return list(worked.steps)
    b = worked.number
    names = (f"ε_{b}", f"α_{b}", f"z_{b}") if worked.after is not None else (f"ε_{b}",)
    return [f"{name} = {BLANK}" for name in names]


def _cells(worked: WorkedRound, i: int, blanks: bool) -> list[str]:
    """Return one row: its number, true and predicted class, D_b and D_{b+1}."""
    after = worked.next_weights
    wrong = "wrong" if worked.wrong[i] else ""
    old = worked.weight_text(i)
    new = "" if after is None else BLANK if blanks else worked.next_weight_text(i)
    labels = [str(worked.classes[worked.truth[i]]), str(worked.classes[worked.predicted[i]])]
    return [str(int(worked.rows[i])), *labels, BLANK if blanks else wrong, old, new]


def _headings(worked: WorkedRound) -> list[str]:
    return ["row", worked.target, "predicted", "wrong", f"D_{worked.number}", f"D_{worked.number + 1}"]


def _row_lines(worked: WorkedRound, blanks: bool, markdown: bool) -> list[str]:
    from treewise._lib.result_table import align_columns
    from treewise._lib.text import escape_markdown

    rows = [_headings(worked), *(_cells(worked, i, blanks) for i in range(len(worked.rows)))]
    if not markdown:
        return align_columns(rows, (0,)).splitlines()
    lines = [f"| {' | '.join(map(escape_markdown, row))} |" for row in rows]
    return ["", lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def _worked_values(worked: WorkedRound) -> tuple[str, str, str]:
    """Return ε, α and z with what they are computed from, where that is short."""
    error, vote, z = (format_rounded(value) for value in (worked.error, worked.vote, float(worked.update.z)))
    if not worked.as_fractions:
        return error, vote, z
    wrong = [worked.weight_text(int(i)) for i in worked.wrong.nonzero()[0]]
    share, rest = map(latex_number, (worked.error_text, worked.accuracy_text))
    terms = [" + ".join(map(latex_number, wrong))] if len(wrong) <= _MAX_TERMS else []
    return (
        " = ".join(dict.fromkeys([*terms, share, error])),
        rf"\tfrac{{1}}{{2}} \log \frac{{{worked.accuracy_text}}}{{{worked.error_text}}} = {vote}",
        rf"2\sqrt{{{share} \cdot {rest}}} = {z}",
    )


def _latex(worked: WorkedRound, blanks: bool) -> str:
    b = worked.number
    parts = [rf"\subsection*{{{escape_latex(_title(worked))}}}"]
    if worked.after is not None and worked.update.n_classes == 2 and worked.update.learning_rate == 1.0:
        error, vote, z = (LATEX_BLANK,) * 3 if blanks else _worked_values(worked)
        ratio = r"\frac{1-\varepsilon}{\varepsilon}".replace(r"\varepsilon", rf"\varepsilon_{{{b}}}")
        lines = [
            rf"\varepsilon_{{{b}}} & = \sum_{{i:\,h_{{{b}}}(x_i) \neq y_i}} D_{{{b}}}(i) = {error}",
            rf"\alpha_{{{b}}} & = \tfrac{{1}}{{2}} \log {ratio} = {vote}",
            rf"z_{{{b}}} & = 2\sqrt{{\varepsilon_{{{b}}}(1-\varepsilon_{{{b}}})}} = {z}",
        ]
        body = " \\\\\n".join(lines)
        parts.append("\\begin{align*}\n" + body + "\n\\end{align*}")
    else:
        parts += [escape_latex(line) + r"\\" for line in _steps(worked, blanks)]
    head = [*map(escape_latex, _headings(worked)[:4]), f"$D_{{{b}}}$", f"$D_{{{b + 1}}}$"]
    rows = (_cells(worked, i, blanks) for i in range(len(worked.rows)))
    body = " \\\\\n".join(" & ".join(map(escape_latex, row)) for row in rows)
    table = " & ".join(head) + " \\\\ \\hline\n" + body
    parts.append("\\noindent\n\\begin{tabular}{rlllrr}\n" + table + "\n\\end{tabular}")
    if not blanks:
        parts += [r"\medskip\noindent", *(escape_latex(line) for line in (*worked.outcome, worked.effect) if line)]
    return f"{LATEX_HEAD}\n" + "\n\n".join(parts) + f"\n\n{LATEX_END}\n"
