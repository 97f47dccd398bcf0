"""Registry of export formats: ``model.export("sql", dialect="duckdb")`` and ``treewise export MODEL -o model.sql``.

To add a format, write one file with a function

    def write(program: Program, *, option=default) -> str | bytes | dict[str, str]

and add an entry to ``FORMATS``; Python and the command line then offer it with its options, the help page describes it,
and the tests of all formats cover it. The function receives the model as a ``Program`` (``program.py``: tests, switches
and answers, all decisions made) and returns the whole file: text ending with a newline, bytes, or for several files a
dict from path to text. Options are keyword-only parameters with a default. A format for readers, which shows a tree
rather than runs it, takes the ``Tree`` instead (``reads="tree"``).

Programs may be 100,000 tests deep: nested code comes from ``Routine.code_lines``, which nests only log2 as deep; tables
come from ``Routine.steps``. Names are data: generate identifiers, quote or escape every name and label. A stamp
(``stamp.py``) in a comment lets ``treewise verify`` run the file in an engine (``formats/verify/engines/``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, NamedTuple

from treewise._lib.text import plural
from treewise.errors import ParameterError, did_you_mean
from treewise.formats.export.program import compile_model
from treewise.tree.model import Model
from treewise.tree.tree import Tree

Exported = str | bytes | dict[str, str]  # one file, or several by path


class ExportFormat(NamedTuple):
    """An export format; the help page of ``treewise export`` quotes ``description``."""

    module: str  # in this package, imported when used
    description: str
    endings: tuple[str, ...] = ()  # of files that are written in this format by default
    reads: Literal["program", "tree"] = "program"
    ensembles: bool = True
    function: str = "write"

    @property
    def write(self) -> Callable[..., Exported]:
        """The function that writes the format."""
        write: Callable[..., Exported]
        write = getattr(import_module(f"treewise.formats.export.{self.module}"), self.function)
        return write

    @property
    def options(self) -> dict[str, Any]:
        """The options of the format with their defaults."""
        parameters = inspect.signature(self.write).parameters.values()
        own = {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}
        return {**own, "estimate": None} if self.reads == "program" else own


FORMATS = {
    "text": ExportFormat(
        "text", "contains every number and can be read back as a MODEL, edited or not", (".txt",), "tree", False
    ),
    "if-else": ExportFormat("if_else", "is pseudocode for readers", (), "tree", False),
    "sql": ExportFormat("sql.sql", "is a query that adds predictions to a table", (".sql",)),
    "pmml": ExportFormat("pmml", "is a document for PMML 4.4 engines", (".pmml",), "program", False),
    "dmn": ExportFormat("dmn", "is a DMN 1.3 decision table with hit policy UNIQUE", (".dmn",), "program", False),
    "xlsx": ExportFormat(
        "xlsx", "is a workbook with a calculator and the rules, for Excel and LibreOffice", (".xlsx",), "program", False
    ),
    "onnx": ExportFormat("onnx", "is a graph for ONNX Runtime and other ONNX engines", (".onnx",)),
    "dbt": ExportFormat("sql.dbt", "is a package for dbt, in a folder", (), "program", False),
    "python": ExportFormat("python", "is a module without imports", (".py",)),
    "numpy": ExportFormat("numpy_module", "is a module that predicts whole columns with NumPy"),
    "c": ExportFormat("c", "is a C99 header", (".h", ".c")),
    "javascript": ExportFormat("javascript", "is an ES module", (".js", ".mjs")),
    "r": ExportFormat("r", "is an R script that predicts for data frames", (".r",)),
    "json": ExportFormat("json_rows", "lists tests and answers as data", (".json",)),
    "markdown": ExportFormat("node_table", "is a table of the nodes", (".md",), "tree", False),
    "dot": ExportFormat("graph", "is a graph for Graphviz", (".dot", ".gv"), "tree", False, "write_dot"),
    "mermaid": ExportFormat("graph", "is a flowchart for Mermaid", (".mmd",), "tree", False, "write_mermaid"),
}


def export(model: Model, format: str = "text", **options: Any) -> Exported:
    """Return a model in one of the ``FORMATS``.

    >>> from treewise.formats.text_format.parse import parse
    >>> tree = parse("x <= 1 -> a; x > 1 -> b".replace("; ", chr(10)))
    >>> parse(export(tree, "text")) == tree
    True
    >>> export(tree, "txt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    treewise.errors.ParameterError: format="txt": must be one of text, ... Did you mean "text"?
    """
    if format not in FORMATS:
        hint = did_you_mean(format, FORMATS)
        raise ParameterError(f"must be one of {', '.join(FORMATS)}.", parameter="format", value=format, hint=hint)
    chosen = FORMATS[format]
    known = chosen.options
    for name in options:
        if name not in known:
            raise ParameterError(f'format "{format}" has no option {name}.{did_you_mean(name, known)}')
    if not isinstance(model, Tree) and not chosen.ensembles:
        can = ", ".join(name for name, each in FORMATS.items() if each.ensembles)
        raise ParameterError(
            f'"{format}" is for a single tree, and this model has {plural(len(model.trees), "tree")}.',
            hint=f"Export one of them (model[0]), or choose one of {can}.",
        )
    if chosen.reads == "tree":
        return chosen.write(model, **options)
    estimate = options.pop("estimate", None)
    if estimate is not None and not isinstance(model, Tree):
        raise ParameterError("only for a single tree; an ensemble averages its trees.", parameter="estimate")
    return chosen.write(compile_model(model, estimate), **options)


def format_of_ending(path: str) -> str | None:
    """Return the format that a file name stands for by its ending; None if there is none.

    >>> format_of_ending("scores.SQL"), format_of_ending("scores")
    ('sql', None)
    """
    return next((name for name, each in FORMATS.items() if path.lower().endswith(each.endings or ("\0",))), None)
