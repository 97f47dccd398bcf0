"""What a verb of the command line is: a purpose, examples that can be copied, and options in sections.

Stands between ``app.py``, which finds a verb, and the verbs' own files. ``--help`` is laid out for someone
who has not read anything yet: one sentence, examples, then options with the ones a newcomer needs first.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import click

from treewise.cli.app import VERBS

Function = Callable[..., Any]

# The sections of --help, in the order in which a newcomer needs them.
SHOWN, TABLE, OUTPUT, JUDGED = "What to show", "The table", "Output", "Yes or no"
BASELINES, JUDGES = "Baseline models", "What to follow, and who judges"
LEARNING, LIMITS, CUT, WEIGHTS = "How it learns", "How far it grows", "How it is pruned", "Weights and ties"
MANY = "Many trees"
JUDGED_BY, TO_A_SIZE = "With the rows it was grown on", "To a size"
SECTIONS = (
    *(SHOWN, JUDGES, TABLE, OUTPUT, BASELINES, JUDGED),
    *(LEARNING, LIMITS, CUT, MANY, JUDGED_BY, TO_A_SIZE, WEIGHTS),
)


class SectionOption(click.Option):
    """An option that knows under which heading ``--help`` lists it."""

    def __init__(self, *args: Any, section: str = OUTPUT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class VerbCommand(click.Command):
    """A command whose help shows purpose, examples and sections of options, in this order."""

    def __init__(
        self, *args: Any, synopsis: str = "", examples: Sequence[str] = (), about: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.synopsis, self.examples, self.about = synopsis, tuple(examples), about

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the forms of the command, one below the other."""
        lines = [f"{ctx.command_path} {form}".rstrip() for form in self.synopsis.split("\n")]
        formatter.write("Usage: " + "\n       ".join(lines) + "\n")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the purpose, what the words mean, and the examples."""
        for paragraph in filter(None, (self.help, self.about)):
            formatter.write_paragraph()
            lines = textwrap.wrap(paragraph, formatter.width, break_on_hyphens=False)  # --max-depth stays whole
            formatter.write("\n".join(lines) + "\n")
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{' ' * formatter.current_indent}{example}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options section by section."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, SectionOption) and record is not None:
                sections[parameter.section].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records, col_max=34)


def verb(name: str, synopsis: str, examples: Sequence[str], about: str = "") -> Callable[[Function], VerbCommand]:
    """Make a function the body of a verb."""

    def decorate(function: Function) -> VerbCommand:
        command = click.command(
            name, cls=VerbCommand, help=VERBS[name], synopsis=synopsis, examples=examples, about=about
        )(function)
        assert isinstance(command, VerbCommand)
        return command

    return decorate


def option(*names: str, section: str = OUTPUT, **settings: Any) -> Callable[[Function], Function]:
    """Add an option to a verb."""
    return click.option(*names, cls=SectionOption, section=section, **settings)


def format_option(
    *formats: str, default: str | None = None, text: str = "Form of the result"
) -> Callable[[Function], Function]:
    """Add ``--format`` with the forms that make sense for a verb."""
    first = default if default is not None else formats[0]
    return option(
        "--format",
        "form",
        type=click.Choice(formats),
        metavar="|".join(formats),
        default=default or formats[0],
        help=f"{text} (default {first}).",
    )


def output_option(what: str) -> Callable[[Function], Function]:
    """Add ``-o``."""
    return option("-o", "--output", metavar="FILE", help=f'{what} "-" is standard output.')
