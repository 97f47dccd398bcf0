"""The frame of a verb: purpose, examples, options in sections of ``--help``; and options that several verbs share.

Between ``app.py``, which finds a verb, and the files of the verbs. The options of growing are in ``options.py``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from treewise.cli.app import VERBS
from treewise.cli.completion import TableOrFile, option_completions
from treewise.cli.output import SAFE_CSV
from treewise.cli.param_types import read_costs, read_count_or_share, read_names, read_row
from treewise.errors import ParameterError

Function = Callable[..., Any]

# The sections of --help, in order.
SHOWN, TABLE, OUTPUT, JUDGED = "Selection", "Input", "Output", "Exit status"
BASELINES, VALIDATION = "Baseline models", "Validation"
LEARNING, LIMITS, PRUNING, WEIGHTS = "Splits", "Limits", "Pruning", "Weights, ties and threads"
ENSEMBLES = "Ensembles"
WORDS = "Words and numbers"
CROSS_VALIDATION, TO_A_SIZE = "Cross-validation", "Pruning to a size"
LOSS_HELP = (
    "error, cost, log_loss, brier, auc; squared_error, absolute_error, poisson_deviance (default: what the tree"
    " predicts by)."
)
REPEATS_HELP = "Cross-validate this many times, each time with other folds (default 1)."
_SECTIONS = (
    *(SHOWN, VALIDATION, TABLE, OUTPUT, BASELINES, JUDGED),
    *(LEARNING, LIMITS, PRUNING, WORDS, ENSEMBLES, CROSS_VALIDATION, TO_A_SIZE, WEIGHTS),
)


class _SectionOption(click.Option):
    """An option with the section of ``--help`` that lists it."""

    def __init__(self, *args: Any, section: str = OUTPUT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a value in a shell: what the type knows, or what the placeholder tells."""
        return super().shell_complete(ctx, incomplete) or option_completions(self, incomplete)


class _VerbCommand(click.Command):
    """A command whose help shows description, examples and sections of options, in this order."""

    def __init__(
        self, *args: Any, synopsis: str = "", examples: Sequence[str] = (), about: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.synopsis, self.examples, self.about = synopsis, tuple(examples), about
        for parameter in self.params:
            if isinstance(parameter, click.Argument) and parameter.type is click.STRING:
                parameter.type = TableOrFile()

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage lines."""
        lines = [f"{ctx.command_path} {form}".rstrip() for form in self.synopsis.split("\n")]
        formatter.write("Usage: " + "\n       ".join(lines) + "\n")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description and the examples."""
        for paragraph in filter(None, (self.help, self.about)):
            formatter.write_paragraph()
            lines = textwrap.wrap(paragraph, formatter.width, break_on_hyphens=False)  # --max-depth stays whole
            formatter.write("\n".join(lines) + "\n")
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{' ' * formatter.current_indent}{example}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options section by section."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, _SectionOption) and record is not None:
                sections[parameter.section].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records, col_max=34)


def verb(name: str, synopsis: str, examples: Sequence[str], about: str = "") -> Callable[[Function], _VerbCommand]:
    """Decorate the function that runs a verb."""

    def decorate(function: Function) -> _VerbCommand:
        command = click.command(
            name, cls=_VerbCommand, help=VERBS[name], synopsis=synopsis, examples=examples, about=about
        )(function)
        assert isinstance(command, _VerbCommand)
        return command

    return decorate


def option(*names: str, section: str = OUTPUT, **settings: Any) -> Callable[[Function], Function]:
    """Add an option to a verb."""
    return click.option(*names, cls=_SectionOption, section=section, **settings)


def format_option(
    *formats: str, default: str | None = None, text: str = "Output format"
) -> Callable[[Function], Function]:
    """Add ``--format`` with the formats of a verb."""
    first = default if default is not None else formats[0]
    format_choice = option(
        "--format",
        "form",
        type=click.Choice(formats),
        metavar="|".join(formats),
        default=default or formats[0],
        help=f"{text} (default {first}).",
    )
    return (lambda function: format_choice(safe_csv_option(function))) if "csv" in formats else format_choice


def _note_safe_csv(ctx: click.Context, _: click.Parameter, is_requested: bool) -> None:
    ctx.meta[SAFE_CSV] = is_requested


safe_csv_option = option(
    "--safe-csv",
    is_flag=True,
    expose_value=False,
    callback=_note_safe_csv,
    help="In CSV, put ' before text that a spreadsheet would evaluate (= + - @).",
)


def output_option(content: str) -> Callable[[Function], Function]:
    """Add ``-o``."""
    return option("-o", "--output", metavar="FILE", help=f'{content} "-" is standard output.')


def image_options(function: Function) -> Function:
    """Add the options that every verb has for its pictures."""
    size = option("--size", metavar="WxH", help="Size of a picture in inches, such as 13.33x7.5 for a 16:9 slide.")
    font_size = option("--font-size", type=float, metavar="PT", help="Font size of a picture in points.")
    dpi = option("--dpi", type=int, metavar="N", help="Resolution of a .png in dots per inch.")
    return size(font_size(dpi(function)))


def take_image_options(options: dict[str, Any], is_drawn: bool = True) -> dict[str, Any]:
    """Remove the options for pictures from those of a verb, and return them; refuse them where nothing is drawn."""
    image = {name: options.pop(name) for name in ("size", "font_size", "dpi")}
    for name, value in image.items():
        if value is not None and not is_drawn:
            raise ParameterError(f"--{name.replace('_', '-')} is for pictures: -o FILE.png, .svg or .pdf draws one.")
    return image


class TextOptions(NamedTuple):
    """How DATA is read, as parameters of ``treewise.read``: the format of delimited text, and the memory allowed."""

    separator: str | None = None
    decimal: str = "."
    header: bool = True
    names: tuple[str, ...] | None = None
    memory: str | None = None


# -- of the table ---------------------------------------------------------------------------------------


na_option = option(
    "--na",
    "na_values",
    multiple=True,
    metavar="TEXT",
    section=TABLE,
    help='Text that marks a missing value, such as "?"; may be repeated.',
)


def text_options(function: Function) -> Function:
    """Add the options for reading DATA, which all verbs that take it have."""
    separator = option(
        "--separator",
        metavar="CHAR",
        section=TABLE,
        help='Field separator, such as ";" or "tab" (default: guessed from the first line).',
    )
    decimal = option("--decimal", metavar="CHAR", section=TABLE, help="Decimal mark: . or , (default .).")
    header = option(
        "--no-header",
        "header",
        flag_value=False,
        default=True,
        section=TABLE,
        help="The file has no header line; columns are named x1, x2, …",
    )
    names = option(
        "--names",
        type=read_names,
        metavar="A,B,…",
        section=TABLE,
        help="Names of the columns of a file that has no header line.",
    )
    memory = option(
        "--memory",
        metavar="AMOUNT",
        section=TABLE,
        help="Memory for the table, such as 2GB (default: half of what is free); a larger one is kept in files.",
    )
    return separator(decimal(header(names(memory(function)))))


def take_text_options(options: dict[str, Any]) -> TextOptions:
    """Remove the options for reading DATA from those of a verb, and return them."""
    separator, decimal = options.pop("separator"), options.pop("decimal")
    character = {"tab": "\t", "\\t": "\t", "space": " "}.get(separator, separator)
    names = options.pop("names")
    names = None if names is None else tuple(names)
    return TextOptions(character, decimal or ".", options.pop("header"), names, options.pop("memory"))


row_option = option(
    "--row",
    "typed",
    type=read_row,
    multiple=True,
    metavar="'A=1, B=x'",
    section=TABLE,
    help="A single row, by column name; may be repeated.",
)


# -- of the answers in it -------------------------------------------------------------------------------


def target_option(default_target: str = "the one the tree was grown for") -> Callable[[Function], Function]:
    """Add ``--target`` to a verb that compares a model with known answers."""
    help = f"Column with the true answers (default: {default_target})."
    return option("--target", metavar="COLUMN", section=TABLE, help=help)


weight_option = option("--sample-weight", metavar="COLUMN", section=TABLE, help="Column with the weight of each row.")

drop_option = option(
    "--drop-missing-target", is_flag=True, section=TABLE, help="Leave out rows whose target is missing."
)


# -- of a finished tree ---------------------------------------------------------------------------------


def cost_option(help: str) -> Callable[[Function], Function]:
    """Add ``--cost`` to a verb that takes a model."""
    return option("--cost", type=read_costs, metavar="TRUE:PREDICTED=X", help=help)


tree_option = option(
    "--tree", "member", type=int, metavar="N", section=SHOWN, help="For an ensemble: which tree, counting from 0."
)

estimate_option = option(
    "--estimate",
    metavar="NAME",
    help="Estimator of leaf probabilities: maximum_likelihood, laplace, m_estimate=M, shrinkage=L (default"
    " maximum_likelihood; laplace for the log loss of evaluate).",
)

confidence_option = option(
    "--confidence",
    type=float,
    default=0.95,
    metavar="X",
    section=SHOWN,
    help="Confidence level of the intervals (default 0.95).",
)


def support_option(help: str) -> Callable[[Function], Function]:
    """Add ``--min-support`` to a verb that lists groups of rows."""
    return option("--min-support", type=read_count_or_share, default=0, metavar="N", section=SHOWN, help=help)


def top_option(of: str) -> Callable[[Function], Function]:
    """Add ``--top`` to a verb that prints a ranking."""
    return option("--top", type=click.IntRange(1), metavar="N", section=SHOWN, help=f"Show only the first N {of}.")


jobs_option = option(
    "--n-jobs", type=int, metavar="N", section=SHOWN, help="Number of threads (default: one per processor)."
)


def choice_option(flag: str, *choices: str, help: str) -> Callable[[Function], Function]:
    """Add an option with fixed choices; the first is the default."""
    help_text = f"{help} (default {choices[0]})."
    kind = click.Choice(choices)
    return option(flag, type=kind, metavar="|".join(choices), default=choices[0], section=SHOWN, help=help_text)


unit_option = choice_option("--unit", "bits", "nats", help="Unit of entropy")

per_option = choice_option("--per", "row", "total", help="Report gains per row of the node, or in total")

quiet_option = option("-q", "--quiet", is_flag=True, help="Print only the result and errors.")


def all_option(of: str) -> Callable[[Function], Function]:
    """Add ``--all`` to a verb that prints only the first items on a terminal."""
    help = f"Show every {of}, as in a file or a pipe."
    return option("--all", "show_all", is_flag=True, section=SHOWN, help=help)


whole_option = option("--all", "show_all", is_flag=True, help="Print the whole tree.")
