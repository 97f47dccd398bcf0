"""The command itself: finds the verb, and turns whatever goes wrong into one sentence and an exit code.

0    done
1    the answer is no (evaluate --fail-under, compare)
2    the command: an option or a parameter
3    the table, or no room for the output
4    the model file
70   a fault of ours
130  stopped by Ctrl-C
141  whoever reads our output has closed it (as after ``| head``)
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from treewise.cli.output import NO_ROOM, complain, discard_output, flush, out_of_reach, so_far
from treewise.cli.param_types import in_options
from treewise.errors import (
    DataError,
    ModelFormatError,
    PackageError,
    ParameterError,
    ParseError,
    TreewiseError,
    did_you_mean,
)

USAGE, DATA, MODEL, OURS, STOPPED, CLOSED = 2, 3, 4, 70, 130, 141

EXIT_CODES: tuple[tuple[type[TreewiseError], int], ...] = (
    (ParameterError, USAGE),
    (PackageError, USAGE),
    (DataError, DATA),
    (ModelFormatError, MODEL),
    (ParseError, MODEL),
)

# Each verb with its purpose, the first words a newcomer reads. A module is imported when its verb is used.
VERBS = {
    "demo": "See it work: a tree, its arithmetic and a prediction.",
    "data": "List the built-in tables, or print one.",
    "grow": "Grow a tree on a table, print it, and save it.",
    "stump": "Rank every test that a tree could begin with.",
    "extend": "Grow further trees for an ensemble.",
    "distill": "Make one tree that says what many say, and count how faithful it is.",
    "prune": "Cut a tree back, and show why; or list the trees nested in it.",
    "show": "Print a tree: bounded or whole, from a node down, or as a summary.",
    "draw": "Draw a tree: SVG, PNG or PDF, with the path of a row or histograms of a table.",
    "report": "Write a tree as one HTML page to look at, ask, print and send.",
    "trace": "Show how every split was chosen, with its arithmetic.",
    "explain": "Say why a row gets its answer, step by step, and what would alter it.",
    "predict": "Predict the rows of a table, or a single row, with a tree.",
    "evaluate": "Compare a tree with a table whose answers are known.",
    "rules": "Say a tree in rules: one a leaf, with how often and how surely it holds.",
    "subgroups": "Find groups of rows that differ from the rest, and test them on other rows.",
    "importance": "Say which columns matter to a tree.",
    "agreement": "Say how far many trees agree on each row.",
    "stages": "Follow the error of many trees, from one to all.",
    "stability": "Say how sure the structure of a tree is.",
    "refit": "Keep the splits of a tree, and count every node anew on a table.",
    "export": "Write a tree in another form: as nested if and else, or as complete text.",
    "compare": "Tell whether two trees are equivalent, and where they differ.",
    "regions": "Draw what trees predict over two columns, with the rows of a table.",
    "curve": "Choose the size of a tree: training error against validation error.",
}

EPILOG = """\
\b
Start here:
  treewise demo
  treewise grow penguins --target species --max-leaf-nodes 4
  treewise grow yours.csv --target COLUMN --pruning cv -o model.json
  treewise predict model.json new.csv -o out.csv

\b
MODEL is a saved tree (.json) or one written by hand (.txt); MODEL comes first, then DATA.
DATA is a CSV, TSV or Parquet file (.gz too), "-" for standard input, or a built-in table's name.
"treewise VERB --help" explains a verb.

\b
Results go to standard output, remarks to standard error.
Exit: 0 done, 1 the answer is no, 2 command, 3 table (or no room for the output), 4 model file,
70 a fault of treewise, 130 Ctrl-C, 141 the reader of our output has closed it.
"""


class App(click.Group):
    """The group of verbs, each loaded from its own file when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in reading order."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb."""
        if cmd_name not in VERBS:
            return None
        command = importlib.import_module(f"treewise.cli.verbs.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which there are."""
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            ctx.fail(f'no verb "{args[0]}".{did_you_mean(args[0], VERBS)} There are {", ".join(VERBS)}.')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without loading them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run, and exit with the code that says how it went."""
        words = list(sys.argv[1:] if args is None else args)
        sys.exit(guarded(lambda: self._run(words)))

    def _run(self, words: list[str]) -> int:
        try:
            with self.make_context("treewise", words) as ctx:
                result = self.invoke(ctx)
        except click.exceptions.Exit as wanted:
            return wanted.exit_code
        return result if isinstance(result, int) else 0


def show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the version, and be done."""
    if wanted:
        from treewise._version import __version__

        click.echo(f"treewise {__version__}")
        ctx.exit()


app = App(
    name="treewise",
    help="Decision trees you can read: grow them, and see every number on the way.",
    epilog=EPILOG,
    subcommand_metavar="VERB …",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=show_version,
            help="Print the version.",
        )
    ],
)


def guarded(run: Callable[[], int]) -> int:
    """Run, and turn every way of failing into a sentence on standard error and an exit code."""
    started = time.monotonic()
    so_far.forget()
    try:
        code = run()
        flush()
    except KeyboardInterrupt:
        complain(f"stopped by Ctrl-C after {time.monotonic() - started:.1f} s; {so_far}.")
        code = STOPPED
    except BrokenPipeError:
        discard_output()
        code = CLOSED
    except click.exceptions.NoArgsIsHelpError as help_wanted:
        click.echo(help_wanted.format_message(), err=True)
        code = USAGE
    except click.ClickException as error:
        complain(usage_sentence(error))
        code = USAGE
    except TreewiseError as error:
        complain(in_options(error.message))
        code = next((code for kind, code in EXIT_CODES if isinstance(error, kind)), OURS)
    except MemoryError:
        complain("not enough memory for this table. Fewer columns (--columns, --ignore) or rows need less.")
        code = DATA
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:  # while click printed a help page
            complain(str(out_of_reach(error)))
            return DATA
        if os.environ.get("TREEWISE_TRACEBACK"):
            raise
        report = "This is a fault of treewise, please report it; TREEWISE_TRACEBACK=1 shows where it is."
        complain(f"{fault_in_words(error)} {report}")
        code = OURS
    return code


def usage_sentence(error: click.ClickException) -> str:
    """Say what is wrong with the command, and where its help is."""
    said = error.format_message().rstrip()
    if not said.endswith((".", "?", ")")):
        said += "."
    context = getattr(error, "ctx", None)
    return f"{said} Help: {context.command_path} --help" if context is not None else said


def fault_in_words(error: Exception) -> str:
    """Say where an error of ours happened, in one line."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f" in {os.path.basename(at.tb_frame.f_code.co_filename)} line {at.tb_lineno}" if at else ""
    return f"{type(error).__name__}{place}: {str(error).splitlines()[0] if str(error) else 'no message'}."
