"""The command ``treewise``: find the verb, and turn every failure into one sentence and an exit status.

0    success
1    negative result (evaluate --fail-under, compare)
2    usage error: an option or a parameter
3    data error, or no space for the output
4    model file error
70   internal error
129  ended by SIGHUP (the terminal was closed)
130  interrupted by Ctrl-C
141  broken pipe (as after ``| head``)
143  ended by SIGTERM
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn

import click

from treewise._lib.worker_thread import any_worker_alive, in_main_thread
from treewise.cli.completion import COMPLETION_VARIABLE, complete
from treewise.cli.output import (
    DISK_FULL,
    discard_output,
    flush_output,
    output_error,
    partial_output,
    print_error,
    replace_closed_streams,
)
from treewise.cli.param_types import in_options
from treewise.errors import (
    DataError,
    ModelFormatError,
    PackageError,
    ParameterError,
    ParseError,
    TreewiseError,
    did_you_mean,
    known_name,
)

USAGE, DATA, MODEL, INTERNAL, INTERRUPTED, BROKEN_PIPE = 2, 3, 4, 70, 130, 141
_SIGNAL_REPEAT_SECONDS = 5.0  # seconds after which a signal to end is repeated
_SIGNALLED = 128  # plus the number of the signal

_EXIT_CODES: tuple[tuple[type[TreewiseError], int], ...] = (
    (ParameterError, USAGE),
    (PackageError, USAGE),
    (DataError, DATA),
    (ModelFormatError, MODEL),
    (ParseError, MODEL),
)

# What a verb is called elsewhere.
_OTHER_VERBS = {
    **dict.fromkeys(("train", "fit", "learn", "build", "id3", "cart", "c45", "rpart", "ctree", "tree"), "grow"),
    **dict.fromkeys(("forest", "bagging", "boost", "boosting", "adaboost"), "grow"),
    **dict.fromkeys(("gain", "gains", "information-gain", "entropy", "gini", "computations"), "trace"),
    **dict.fromkeys(("test", "score", "accuracy", "cv", "cross-validate", "knn"), "evaluate"),
    **dict.fromkeys(("plot", "picture", "visualize"), "draw"),
    **dict.fromkeys(("edit", "workbench", "interactive"), "explore"),
    **dict.fromkeys(("equivalent", "diff"), "compare"),
    **dict.fromkeys(("overfitting", "error"), "curve"),
    **dict.fromkeys(("sheet", "worksheet", "homework", "quiz"), "exercise"),
    **dict.fromkeys(("mark", "marks", "grade"), "check"),
}

# Each verb with its description in --help. The module of a verb is imported when the verb is used.
VERBS = {
    "demo": "Show a worked example: a tree, its arithmetic and a prediction.",
    "data": "Describe a table, or list the built-in ones.",
    "grow": "Grow a tree or an ensemble on a table, print it and save it.",
    "optimal": "Find the best tree of a size, and prove it.",
    "check-certificate": "Check the proof of an optimal tree, without the search.",
    "stump": "Rank all candidate splits of the root.",
    "extend": "Add trees to an ensemble.",
    "distill": "Grow one tree that imitates a model, and measure how faithful it is.",
    "prune": "Prune a tree and show why; or list its nested subtrees.",
    "show": "Print a tree, a subtree or a summary.",
    "draw": "Draw a tree as SVG, PNG or PDF.",
    "report": "Write an interactive HTML report of a tree.",
    "explore": "Grow a tree by hand, on a page of this machine.",
    "trace": "Show how each split was chosen, with its arithmetic.",
    "exercise": "Make an exercise sheet with its key from a table, or from a seed.",
    "check": "Mark answers to an exercise sheet.",
    "explain": "Explain the prediction for a row, and what would change it.",
    "predict": "Predict the rows of a table, or a single row.",
    "serve": "Serve predictions on a port: JSON, CSV, and a page to try.",
    "evaluate": "Measure the error of a model on a table with known answers.",
    "monitor": "Compare how new rows spread over the leaves with the training rows.",
    "rules": "List a tree as rules, one per leaf, with coverage and probability.",
    "subgroups": "Find groups of rows that differ from the rest, and test them on other rows.",
    "importance": "Rank the columns by importance.",
    "agreement": "Show how far the trees of an ensemble agree on each row.",
    "stages": "Show the error of an ensemble by number of trees.",
    "stability": "Measure how stable the structure of a tree is.",
    "refit": "Keep the splits of a tree, and recompute its nodes on a table.",
    "export": "Export a model to SQL, Python, C, JavaScript and other formats.",
    "verify": "Run an export in its real engine and compare it with the model.",
    "compare": "Decide whether two trees are equivalent, and show where they differ.",
    "regions": "Draw the decision regions of trees over two columns.",
    "curve": "Plot training and validation error against the size of a tree.",
    "completion": "Print the script that completes treewise commands in a shell.",
}

_EPILOG = """\
\b
Start here:
  treewise demo
  treewise grow penguins --target species --max-leaf-nodes 4
  treewise grow yours.csv --target COLUMN --pruning cv -o model.json
  treewise predict model.json new.csv -o out.csv

\b
MODEL is a saved tree or ensemble (.json) or a tree written by hand (.txt). It comes before DATA.
DATA is a CSV, TSV or Parquet file (.gz too), "-" for standard input, or a built-in table.
"treewise help VERB" or "treewise VERB --help" describes a verb.

\b
Results go to standard output, remarks and errors to standard error.
Exit status: 0 success, 1 negative result (compare, --fail-under), 2 usage error, 3 data error or disk full,
4 model file error, 70 internal error, 130 interrupted by Ctrl-C, 141 broken pipe, 143 ended by SIGTERM.
"""


class _Terminated(BaseException):
    """Raised when a signal ends the process, so that unfinished files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)


def _terminate(number: int, _: FrameType | None) -> None:
    """Raise ``_Terminated``, and again after a while: Python drops an exception that is raised in a destructor."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: _terminate(number, None))
        signal.setitimer(signal.ITIMER_REAL, _SIGNAL_REPEAT_SECONDS)
    raise _Terminated(number)


def _handle_termination() -> None:
    """Handle SIGTERM and SIGHUP, unless the process was started to ignore them (``nohup``)."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and in_main_thread() and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)


class _App(click.Group):
    """The group of verbs; each is imported from its own module on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of ``--help``."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb."""
        if cmd_name not in VERBS:
            return None
        command = importlib.import_module(f"treewise.cli.verbs.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or list the existing ones; ``help VERB`` is ``VERB --help``."""
        if args and args[0] == "help":
            args = [*args[1:2], "--help"]
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            hint = did_you_mean(_OTHER_VERBS.get(args[0].casefold(), args[0]), VERBS)
            ctx.fail(f'no verb "{args[0]}".{hint} Verbs: {", ".join(VERBS)}.')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run, and exit with the status."""
        arguments = list(sys.argv[1:] if args is None else args)
        replace_closed_streams()
        _handle_termination()
        code = run_guarded(lambda: self._run(arguments))
        if code >= _SIGNALLED and any_worker_alive():
            os._exit(code)  # a native call whose result nobody needs may take long
        sys.exit(code)

    def _run(self, arguments: list[str]) -> int:
        if request := os.environ.get(COMPLETION_VARIABLE):  # a shell asks for completions
            return complete(self, request)
        try:
            with self.make_context("treewise", arguments) as ctx:
                result = self.invoke(ctx)
        except click.exceptions.Exit as done:
            return done.exit_code
        return result if isinstance(result, int) else 0


def _show_version(ctx: click.Context, _: click.Parameter, is_requested: bool) -> None:
    """Print the version and exit."""
    if is_requested:
        from treewise._version import __version__

        click.echo(f"treewise {__version__}\n{_describe_build()}")
        ctx.exit()


def _describe_build() -> str:
    """Describe what this treewise was built with and runs on, as a bug report needs it."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    try:
        from treewise._core import build

        core = build
    except ImportError as error:
        core = f"cannot be loaded: {error}"
    libraries = []
    for name in ("numpy", "polars", "narwhals", "scikit-learn"):
        try:
            libraries.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            libraries.append(f"{name} missing")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return "\n".join(
        (
            f"core    {core}",
            f"python  {python} on {platform.system()} {platform.machine()}",
            f"with    {', '.join(libraries)}",
        )
    )


app = _App(
    name="treewise",
    help="Decision trees you can read: grow, prune, explain and evaluate them.",
    epilog=_EPILOG,
    subcommand_metavar="VERB …",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_show_version,
            help="Print the version, and what it runs on.",
        )
    ],
)


def run_guarded(run: Callable[[], int]) -> int:
    """Run, and turn every failure into a sentence on standard error and an exit status."""
    started = time.monotonic()
    partial_output.forget()
    try:
        code = run()
        flush_output()
        if partial_output.is_lost:
            raise DataError("standard output is closed, and the result is lost. Name a file with -o.")
    except KeyboardInterrupt:
        print_error(f"stopped by Ctrl-C after {time.monotonic() - started:.1f} s; {partial_output}.")
        code = INTERRUPTED
    except _Terminated as ended:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        print_error(f"stopped by {ended.signal.name} after {time.monotonic() - started:.1f} s; {partial_output}.")
        code = _SIGNALLED + ended.signal
    except BrokenPipeError:
        discard_output()
        code = BROKEN_PIPE
    except click.exceptions.NoArgsIsHelpError as no_args:
        click.echo(no_args.format_message(), err=True)
        code = USAGE
    except click.ClickException as error:
        print_error(_usage_message(error))
        code = USAGE
    except TreewiseError as error:
        print_error(in_options(error.message))
        code = next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), INTERNAL)
    except MemoryError:
        print_error("not enough memory for this table. Use fewer columns (--columns, --ignore) or fewer rows.")
        code = DATA
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:  # while click printed a help page
            print_error(str(output_error(error)))
            return DATA
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            print_error(f"the name of a file is too long: {error.filename}. Give a shorter one.")
            return DATA
        if os.environ.get("TREEWISE_TRACEBACK"):
            raise
        report = "This is a bug in treewise, please report it; TREEWISE_TRACEBACK=1 shows a traceback."
        print_error(f"{_describe_bug(error)} {report}")
        code = INTERNAL
    return code


def _usage_message(error: click.ClickException) -> str:
    """Return the message of a usage error, with what the verb takes and the command that prints help."""
    message, context = _describe_usage_error(error), getattr(error, "ctx", None)
    if not message.endswith((".", "?", ")")):
        message += "."
    if context is None:
        return message
    forms = getattr(context.command, "synopsis", "").replace(" [options]", "").split("\n")
    is_about_arguments = isinstance(error, click.MissingParameter) or message.startswith("unexpected argument")
    usage = f" Usage: {context.command_path} {' or '.join(forms)}." if is_about_arguments and forms[0] else ""
    return f"{message}{usage} Help: {context.command_path} --help"


def _describe_usage_error(error: click.ClickException) -> str:
    """Describe a usage error found by click in the words of our own messages."""
    message = error.format_message().rstrip()
    if isinstance(error, click.NoSuchOption):
        ours = known_name(error.option_name)
        option = f"--{(ours or '').replace('_', '-')}"
        verb_has_it = error.ctx is not None and any(option in param.opts for param in error.ctx.command.params)
        options = [option] if verb_has_it else list(error.possibilities or ())
        return f"no option {error.option_name}." + (f" Did you mean {' or '.join(options)}?" if options else "")
    if isinstance(error, click.MissingParameter) and error.param is not None and error.ctx is not None:
        name = error.param.make_metavar(error.ctx) if isinstance(error.param, click.Argument) else error.param.opts[0]
        return f"{name.removesuffix('...')} is missing"
    if isinstance(error, click.BadOptionUsage):
        metavar = (
            next((p.metavar for p in error.ctx.command.params if error.option_name in p.opts), None)
            if error.ctx
            else None
        )
        return f"{error.option_name} needs a value" + (f": {error.option_name} {metavar}" if metavar else "")
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{error.param.opts[0]}: {_reword_value_error(error.message)}"
    if extra := re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", message, re.DOTALL):
        return f"unexpected argument: {extra[1]}"
    return message


def _reword_value_error(message: str) -> str:
    """Reword what click says about a value.

    >>> _reword_value_error("'x' is not a valid integer."), _reword_value_error("'x' is not one of 'bits', 'nats'.")
    ('"x" is not a whole number.', '"x" is not one of bits, nats.')
    """
    for theirs, ours in (
        (" is not a valid integer", " is not a whole number"),
        (" is not a valid float", " is not a number"),
    ):
        message = message.replace(theirs, ours)
    if choice := re.fullmatch(r"'(.*?)' (is not one of )(.*)", message, re.DOTALL):
        return f'"{choice[1]}" {choice[2]}' + choice[3].replace("'", "")
    return re.sub(r"^'(.*?)' is not", r'"\1" is not', message)


def _describe_bug(error: Exception) -> str:
    """Describe an unexpected exception in one line, with file and line."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f" in {os.path.basename(at.tb_frame.f_code.co_filename)} line {at.tb_lineno}" if at else ""
    return f"{type(error).__name__}{where}: {str(error).splitlines()[0] if str(error) else 'no message'}."
