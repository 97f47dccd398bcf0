"""Show a result in the requested format, on the terminal or in a file: text, tables, trees and pictures.

The last step of every verb. Colour only repeats what is written: headings are bold and bars coloured on a terminal that
supports it, and everything is plain in a pipe, in a file and with NO_COLOR; FORCE_COLOR styles what is piped, too.
Matplotlib is imported only when there is a picture to draw, but checked for before any other work is done.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click import BadParameter

from treewise._lib.result_table import align_columns
from treewise._lib.text import format_exact, safe
from treewise.cli.output import encode_for, guard_csv, is_ascii_only, print_text, remark, write_output, write_stdout
from treewise.cli.param_types import in_options, split_at_equals
from treewise.cli.verb import Function, option, output_option, safe_csv_option
from treewise.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise._lib.result_table import Displayable
    from treewise.ensemble import Ensemble
    from treewise.show.picture.picture import Picture
    from treewise.train.training_set import TrainingSet
    from treewise.tree.tree import Tree

_FORMS = ("text", "markdown", "csv", "json", "html")
_ENDINGS = {".txt": "text", ".md": "markdown", ".csv": "csv", ".json": "json", ".html": "html"}
_NARROWEST = 40


def result_options(function: Function) -> Function:
    """Add ``--format`` and ``-o`` to a verb whose result is shown by ``present``."""
    return format_by_ending_option(*_FORMS)(output_option("Write the result to a file.")(function))


def format_by_ending_option(*forms: str) -> Callable[[Function], Function]:
    """Add ``--format`` to a verb whose default format follows from the ending of the file."""
    format_choice = option(
        "--format",
        "form",
        type=click.Choice(forms),
        metavar="|".join(forms),
        help="Output format (default: by the file ending of -o, else text).",
    )
    return lambda function: format_choice(safe_csv_option(function))


class RowLimit(NamedTuple):
    """How many rows of a table readers are shown (None: its own default), and how to see the others."""

    max_rows: int | None = None
    hint: str = ""


_DEFAULT_LIMIT = RowLimit()


def row_limit(items: Sized, show_all: bool, output: str | None = None, top: int | None = None) -> RowLimit:
    """Return how many rows to show: ``top``, or all in a file, in a pipe or with ``--all``, or what fits a terminal."""
    if top is not None:
        return RowLimit(top)
    return (
        RowLimit(len(items)) if show_all or output is not None or not sys.stdout.isatty() else RowLimit(hint=": --all")
    )


def present(
    result: Displayable,
    form: str | None = None,
    output: str | None = None,
    limit: RowLimit = _DEFAULT_LIMIT,
    picture_endings: Sequence[str] = (),
) -> None:
    """Print a result, or write it to a file; ``limit`` is for the rows that readers are shown, not those of data.

    ``picture_endings`` are listed as known too, where the verb draws pictures.
    """
    form = choose_format(form, output, other_endings=picture_endings)
    if form == "text" and output in (None, "-"):
        return print_styled(_terminal_text(result, limit))
    write_output(_format_result(result, form, limit.max_rows), output)
    if output not in (None, "-"):
        remark("", f"→ {safe(output)}")
    return None


def _terminal_text(result: Displayable, limit: RowLimit) -> str:
    width, emphasis = _terminal_width(), bold if has_style() else str
    if not limit.hint:
        return result.to_text(width, limit.max_rows, emphasis)
    tables = (replace(table, omission_hint=limit.hint) for table in result.displayed.result_tables())
    return "\n\n".join(table.to_text(width, limit.max_rows, emphasis) for table in tables)


def _format_result(result: Displayable, form: str, max_rows: int | None) -> str:
    """Return a result in a format, as the content of a file."""
    if form == "json":
        return json_text(result.to_dict())
    if form == "csv":
        return guard_csv(result.to_csv())
    if form == "markdown":
        return result.to_markdown(max_rows)
    return result.to_html(max_rows) if form == "html" else result.to_text(max_rows=max_rows) + "\n"


def choose_format(
    form: str | None,
    output: str | None,
    endings: Mapping[str, str] = _ENDINGS,
    other_endings: Sequence[str] = (),
    default: str = "text",
) -> str:
    """Return the given format, else the one of the file's ending; without an ending, the default.

    An unknown ending is refused; ``other_endings`` are listed as known too, such as those of pictures.

    >>> choose_format(None, "rules.md"), choose_format("csv", "rules.dat"), choose_format(None, None)
    ('markdown', 'csv', 'text')
    >>> choose_format(None, "out.parquet", TABLE_ENDINGS, default="csv")
    'parquet'
    """
    ending = "" if output in (None, "-") else Path(str(output)).suffix.lower()
    if form is not None or not ending:
        return form or default
    if ending not in endings:
        raise ParameterError(
            f"cannot write {safe(output)}: no format is known for {safe(ending)}.",
            hint=f"Known endings are {', '.join([*endings, *other_endings])}; --format names the format for any other.",
        )
    return endings[ending]


def _terminal_width() -> int:
    """Return COLUMNS if it is set, else the width of the terminal; 100 columns where there is none."""
    from treewise._lib.result_table import WIDTH

    if (given := os.environ.get("COLUMNS", "")).isdecimal() and int(given) > 0:
        return max(_NARROWEST, int(given))
    try:
        return max(_NARROWEST, os.get_terminal_size(sys.stdout.fileno()).columns) if sys.stdout.isatty() else WIDTH
    except (OSError, ValueError):
        return WIDTH


def has_style() -> bool:
    """Tell whether to style text: on a terminal with styles or with FORCE_COLOR, and never with NO_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    if not sys.stdout.isatty():
        return False
    from rich.console import Console

    return Console(file=sys.stdout).color_system is not None


BOLD, USUAL, UNCOLOURED = "\x1b[1m", "\x1b[22m", "\x1b[39m"
# Of 256 the nearest to the first of show/palette.py; the others would be unreadable on a dark or on a light terminal.
COLOURS = (32, 178, 36, 175, 74, 166, 227, 244)
STYLES = re.compile(r"(\x1b\[(?:1|22|39|38;5;[0-9]{1,3})m)")


def bold(text: str) -> str:
    """Make a heading bold."""
    return f"{BOLD}{text}{USUAL}"


def coloured(text: str, class_index: int) -> str:
    """Give a text the colour of a class, by its index."""
    return f"\x1b[38;5;{COLOURS[class_index % len(COLOURS)]}m{text}{UNCOLOURED}"


def print_styled(text: str) -> None:
    """Print a result with our own styles; other control characters are escaped."""
    pieces = STYLES.split(text)
    pieces[::2] = ["\n".join(map(safe, piece.split("\n"))) for piece in pieces[::2]]
    write_stdout((encode_for("".join(pieces), sys.stdout) + "\n").encode(sys.stdout.encoding or "utf-8"))


# -- trees and ensembles --------------------------------------------------------------------------------

MAX_LINES = 60  # of a tree on a terminal
_MAX_PIPED_LINES = 1000  # of a tree that has just been grown; a larger one is shown as on a terminal


def print_tree(tree: Tree, show_all: bool = False, training_set: TrainingSet | None = None) -> bool:
    """Print a tree: within bounds on a terminal, or if it is very large; return whether lines were left out."""
    from treewise.show.text_tree.text_tree import is_folded

    if show_all or (not sys.stdout.isatty() and len(tree) <= _MAX_PIPED_LINES):
        print_styled(tree_text(tree, False, training_set))
        return False
    text = tree_text(tree, None, training_set, max_lines=MAX_LINES, width=screen_width())
    print_styled(in_options(text, node="treewise show MODEL --node"))  # the verb that calls this has no --node
    return is_folded(text)


def tree_text(tree: Tree, bars: bool | None, training_set: TrainingSet | None, **bounds: Any) -> str:
    """Render a tree in characters that standard output can encode; ``bars=None`` means on a terminal with colours.

    The bars of a regression tree are histograms where it has just been grown on a training set.
    """
    from treewise.show.node_stats import NodeSamples
    from treewise.show.text_tree.columns import unpainted
    from treewise.show.text_tree.text_tree import render_tree

    tree = tree.displayed
    style = has_style()
    with_bars = bars if bars is not None or style else False
    paint = coloured if style else unpainted
    has_samples = with_bars is not False and training_set is not None and tree.task == "regression"
    samples = NodeSamples.from_training_set(tree, training_set) if has_samples and training_set is not None else None
    return render_tree(tree, ascii=is_ascii_only(sys.stdout), bars=with_bars, paint=paint, samples=samples, **bounds)


def screen_width() -> int | None:
    """Return how wide a line may be; None, no limit, where standard output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    try:
        return max(60, os.get_terminal_size(sys.stdout.fileno()).columns)
    except OSError:
        return None


def show_ensemble(ensemble: Ensemble, show_all: bool = False) -> None:
    """Print the summary of an ensemble; for AdaBoost also its rounds."""
    print_styled(ensemble.summary().to_text(emphasis=bold if has_style() else str))
    show_rounds(ensemble, show_all)


def show_rounds(ensemble: Ensemble, show_all: bool) -> None:
    """Print the rounds of boosting: on a terminal the first and the last ones, unless all are requested."""
    if ensemble.method == "adaboost":
        print_text("")
        present(ensemble.rounds, limit=row_limit(ensemble, show_all))


# -- tables of rows -------------------------------------------------------------------------------------

TABLE_FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "text")
TABLE_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "text",
}


def frame_content(frame: Any, form: str) -> str | bytes:
    """Return a dataframe in a format; missing cells are empty or null."""
    if form == "parquet":
        content = io.BytesIO()
        frame.write_parquet(content)
        return content.getvalue()
    if form in ("csv", "tsv"):
        return guard_csv(str(frame.write_csv(separator="," if form == "csv" else "\t")))
    if form == "text":
        return (
            align_columns([list(map(safe, frame.columns)), *(list(map(_format_cell, row)) for row in frame.rows())])
            + "\n"
        )
    lines = str(frame.write_ndjson())
    if form == "jsonl":
        return lines
    return "[\n" + ",\n".join(lines.rstrip("\n").split("\n")) + "\n]\n"


def _format_cell(value: object) -> str:
    """Write one cell for people."""
    if value is None:
        return ""
    return format_exact(value) if isinstance(value, float) else safe(value)


def json_text(value: dict[str, Any]) -> str:
    """Write plain values as JSON, one key per line, and one item per line where a value is a list of objects.

    >>> print(json_text({"n": 2, "rows": [{"a": 1}, {"a": 2}]}), end="")
    {
     "n": 2,
     "rows": [
      {"a": 1},
      {"a": 2}
     ]
    }
    """

    def one_line(part: object) -> str:
        return json.dumps(part, ensure_ascii=False, allow_nan=False)

    lines = []
    for key, part in value.items():
        text = one_line(part)
        if isinstance(part, list) and part and isinstance(part[0], dict):
            text = "[\n  " + ",\n  ".join(map(one_line, part)) + "\n ]"
        lines.append(f" {one_line(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


# -- pictures -------------------------------------------------------------------------------------------

PICTURE_ENDINGS = (".png", ".svg", ".pdf")
EVALUATIONS = ("confusion", "roc", "precision_recall", "gains", "lift", "calibration")
REGRESSION_EVALUATIONS = ("predicted", "residuals")


def is_picture(output: str | None) -> bool:
    """Tell by its ending whether a file is to be drawn.

    >>> is_picture("curve.PNG"), is_picture("curve.csv"), is_picture(None)
    (True, False, False)
    """
    return Path(output or "").suffix.lower() in PICTURE_ENDINGS


def check_picture(output: str | None) -> None:
    """Check that matplotlib is installed if a picture is requested, before anything is computed."""
    if is_picture(output):
        from treewise.show.mpl_helpers import require_matplotlib

        require_matplotlib()


def read_picture(text: str) -> tuple[str, str]:
    """Read what to draw, and where to: ``roc=roc.png``.

    >>> read_picture("roc=out/roc.png")
    ('roc', 'out/roc.png')
    """
    plot, file = split_at_equals(text)
    if file is None or not is_picture(file):
        raise BadParameter(f'"{text}" is not WHAT=FILE with a picture\'s ending, such as roc=roc.png (or .svg, .pdf).')
    if plot not in (known := (*EVALUATIONS, *REGRESSION_EVALUATIONS)):
        raise BadParameter(f'no picture "{plot}".{did_you_mean(plot, known)} There are {", ".join(known)}.')
    return plot, file


def picture_content(drawn: Picture | Axes, output: str) -> bytes:
    """Return the content of a picture file."""
    from treewise.show.picture.picture import Picture, picture_format

    if isinstance(drawn, Picture):
        return drawn.to_bytes(picture_format(output))
    from treewise.show.mpl_helpers import figure_bytes, image_format

    figure = drawn.get_figure(root=True)
    assert figure is not None
    return figure_bytes(figure, image_format(output))
