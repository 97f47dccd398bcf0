"""How a verb shows a result: in the form asked for, on the screen or in a file.

The last step of every verb whose result is ``Shown`` (``sheet.py``). Colour only doubles what is written: headings are
bold and bars coloured on a terminal that can do it, and everything is plain in a pipe, in a file and with NO_COLOR.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import safe
from treewise.cli.messages import in_options
from treewise.cli.output import deliver, fit, is_plain, put, remark, say
from treewise.cli.tables import json_text
from treewise.cli.verb import Function, option, output_option
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise._lib.result_table import Displayable
    from treewise.ensemble import Ensemble
    from treewise.train.training_set import TrainingSet
    from treewise.tree.tree import Tree

FORMS = ("text", "markdown", "csv", "json", "html")
ENDINGS = {".txt": "text", ".md": "markdown", ".csv": "csv", ".json": "json", ".html": "html"}
NARROWEST = 40


def showing_options(function: Function) -> Function:
    """Put ``--format`` and ``-o`` on a verb that ends in ``present``."""
    return form_option(*FORMS)(output_option("Write the result to a file.")(function))


def form_option(*forms: str) -> Callable[[Function], Function]:
    """Put ``--format`` on a verb whose files tell their form by their ending."""
    return option(
        "--format",
        "form",
        type=click.Choice(forms),
        metavar="|".join(forms),
        help="Form of the result (default: text, or what the ending of -o says).",
    )


def present(
    shown: Displayable,
    form: str | None = None,
    output: str | None = None,
    most: int | None = None,
    drawn: Sequence[str] = (),
) -> None:
    """Print a result, or write it to a file; ``most`` bounds the rows that readers are shown, not those of data.

    ``drawn`` are the endings of pictures, where the verb draws too.
    """
    form = form_for(form, output, drawn=drawn)
    if form == "text" and output in (None, "-"):
        text = shown.to_text(terminal_width(), most, bold if has_style() else str)
        return say_styled(with_hint(text) if most is None else text)
    deliver(content(shown, form, most), output)
    if output not in (None, "-"):
        remark("", f"→ {safe(output)}")
    return None


def most_rows(listed: Sized, whole: bool, output: str | None = None) -> int | None:
    """Say how many rows of a list are shown: all in a file, in a pipe, or if asked for; None is what a screen holds."""
    return len(listed) if whole or output is not None or not sys.stdout.isatty() else None


def with_hint(text: str) -> str:
    """Say below a table that leaves rows out how to see them, where the verb has ``--all``."""
    context = click.get_current_context(silent=True)
    if context is None or all(parameter.name != "whole" for parameter in context.command.params):
        return text
    return re.sub(r"(?m)^… [\d,]+ more \w+$", r"\g<0>: --all", text)


def content(shown: Displayable, form: str, most: int | None) -> str:
    """Return a result in one of the forms, as a file holds it."""
    if form == "json":
        return json_text(shown.to_dict())
    if form == "csv":
        return shown.to_csv()
    if form == "markdown":
        return shown.to_markdown(most)
    return shown.to_html(most) if form == "html" else shown.to_text(max_rows=most) + "\n"


def form_for(
    asked: str | None, output: str | None, endings: Mapping[str, str] = ENDINGS, drawn: Sequence[str] = ()
) -> str:
    """Tell the form: the one asked for, else by the ending of the file; text where there is none.

    An ending that stands for no form is refused; ``drawn`` are those of pictures, which are known too.

    >>> form_for(None, "rules.md"), form_for("csv", "rules.dat"), form_for(None, None)
    ('markdown', 'csv', 'text')
    """
    ending = "" if output in (None, "-") else Path(str(output)).suffix.lower()
    if asked is not None or not ending:
        return asked or "text"
    if ending not in endings:
        raise ParameterError(
            f"cannot write {safe(output)}: no form is known for {safe(ending)}. Known are"
            f" {', '.join([*endings, *drawn])}; --format names the form for any other ending."
        )
    return endings[ending]


def terminal_width() -> int:
    """Return how wide a line may be: the terminal's width; 100 columns where nobody reads a screen."""
    from treewise._lib.result_table import WIDTH

    try:
        return max(NARROWEST, os.get_terminal_size(sys.stdout.fileno()).columns) if sys.stdout.isatty() else WIDTH
    except (OSError, ValueError):
        return WIDTH


def has_style() -> bool:
    """Tell whether standard output is a terminal that shows bold, and nobody asked for plain text."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return False
    from rich.console import Console

    return Console(file=sys.stdout).color_system is not None


BOLD, USUAL, UNCOLOURED = "\x1b[1m", "\x1b[22m", "\x1b[39m"
COLOURS = (32, 178, 36, 175, 74, 166, 227, 244)  # of 256: the nearest to those of show/palette.py
STYLES = re.compile(r"(\x1b\[(?:1|22|39|38;5;[0-9]{1,3})m)")


def bold(text: str) -> str:
    """Make a heading bold."""
    return f"{BOLD}{text}{USUAL}"


def coloured(text: str, place: int) -> str:
    """Give a text the colour of the class at this place among the classes."""
    return f"\x1b[38;5;{COLOURS[place % len(COLOURS)]}m{text}{UNCOLOURED}"


def say_styled(text: str) -> None:
    """Write a result for people; our own bold and colours are kept, while no name can steer the terminal."""
    pieces = STYLES.split(text)
    pieces[::2] = ["\n".join(map(safe, piece.split("\n"))) for piece in pieces[::2]]
    put((fit("".join(pieces), sys.stdout) + "\n").encode(sys.stdout.encoding or "utf-8"))


# -- trees and ensembles --------------------------------------------------------------------------------

MOST_LINES = 60  # of a bounded view
EVERY_LINE = "every line: --all"


def tree_text(
    tree: Tree, whole: bool = False, bars: bool | None = None, training_set: TrainingSet | None = None
) -> str:
    """Write a tree: bounded on a terminal unless every line is asked for, whole into a file or a pipe."""
    if whole or not sys.stdout.isatty():
        return bounded_tree_text(tree, bool(bars), training_set)
    text = bounded_tree_text(tree, bars, training_set, max_lines=MOST_LINES, width=screen_width())
    return in_options(text, node="treewise show MODEL --node")  # the verb that calls this has no --node


def bounded_tree_text(tree: Tree, bars: bool | None, training_set: TrainingSet | None, **bounds: Any) -> str:
    """Write a tree as standard output can show it; with bars where asked for, or (None) on a terminal with colours.

    The bars of a regression tree are histograms where it has just been grown on a training set.
    """
    from treewise.show.node_stats import NodeSamples
    from treewise.show.text_tree.columns import unpainted
    from treewise.show.text_tree.text_tree import render

    style = has_style()
    with_bars = bars if bars is not None or style else False
    paint = coloured if style else unpainted
    has_samples = with_bars is not False and training_set is not None and tree.task == "regression"
    samples = NodeSamples.from_training_set(tree, training_set) if has_samples and training_set is not None else None
    return render(tree, ascii=is_plain(sys.stdout), bars=with_bars, paint=paint, samples=samples, **bounds)


def screen_width() -> int | None:
    """Return how wide a line may be; None, no limit, where standard output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    try:
        return max(60, os.get_terminal_size(sys.stdout.fileno()).columns)
    except OSError:
        return None


def show_ensemble(ensemble: Ensemble, whole: bool = False) -> None:
    """Print the summary of an ensemble; for AdaBoost also its rounds."""
    say_styled(ensemble.summary().to_text(emphasis=bold if has_style() else str))
    show_rounds(ensemble, whole)


def show_rounds(ensemble: Ensemble, whole: bool) -> None:
    """Print the rounds of boosting: on a terminal the first and the last ones, unless all are asked for."""
    if ensemble.method == "adaboost":
        say("")
        present(ensemble.rounds, most=most_rows(ensemble, whole))
