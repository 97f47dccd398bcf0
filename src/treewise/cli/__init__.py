"""The command line, ``treewise``: one file a verb, read only when its verb is used.

A front: it turns words into calls of the Python interface and results into text. The files, in the order in
which a command passes through them:

    app.py        finds the verb, turns every error into one sentence and an exit code
    verb.py       what a verb is: its purpose, examples and options, and how --help lays them out
    options.py    the options of growing, tables that mirror the parameters of treewise.grow and its sisters
    shared.py     options that several verbs have in common
    values.py     what is typed after an option, as Python values: levels, class weights, single rows
    inputs.py     MODEL and DATA, as files, standard input or built-in names
    sources.py    MODEL, or DATA on which a tree is grown first
    understood.py what was understood of a table before anything is grown on it
    many.py       growing many trees aloud
    of_one.py of_many.py  a tree, or many, asked for predictions
    demo.py data.py grow.py prune.py show.py trace.py predict.py evaluate.py …: the verbs
    showing.py    a result (sheet) in the form asked for, with its options
    tables.py     rows of a dataframe as aligned text, CSV, JSON
    streams.py    results to standard output, remarks to standard error, files written at once or not at all
    progress.py   the bar while a tree grows

This file stays small: ``treewise --help`` should cost no more than Python and click.
"""

from __future__ import annotations

import sys
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
