"""The command line, ``treewise``: one module per verb, imported when the verb is used.

A front end: it turns arguments into calls of the Python interface, and results and errors into text. The modules, in
the order in which a command passes through them:

    app.py          finds the verb; turns every error into one sentence and an exit status
    verb.py         the frame of a verb, the layout of --help, and options that several verbs share
    options.py      the options of growing, generated from the parameters of treewise.grow and the ensemble functions
    param_types.py  parses the values of options; renders parameters in messages as options
    inputs.py       reads MODEL and DATA: files, standard input or built-in tables
    growing.py      grows trees with a report on standard error
    predictor.py    predictions of a model for the rows of a table, or for typed rows
    verbs/          one module per verb
    render.py       results as text, tables, trees and pictures
    output.py       standard output, standard error, files and the progress bar

This file stays small: ``treewise --help`` imports only Python and click.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; this is the console entry point."""
    try:
        from treewise.cli.app import app
    except KeyboardInterrupt:  # while Python was still loading
        sys.exit(130)
    app.main(args)
    raise AssertionError("app.main always exits")
