"""Registry of engines: what runs an export.

To add an engine, write one file with two functions and a constant

    LIMITS = EngineLimits(…)                     what its cells can hold (``fuzz.py``)
    def find() -> str                            its name and version; raises NotInstalled with what to install
    def run(export: Export, rows: Rows) -> Outputs

and add an entry to ``ENGINES``. The engine receives the export as text (or bytes, or files by path), its stamp, the
program it came from (columns and classes), and the rows as plain cells; it returns whatever the export answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from treewise.formats.export.export import Exported
from treewise.formats.export.program import Program
from treewise.formats.verify.fuzz import EngineLimits, Rows


class NotInstalled(Exception):  # noqa: N818 - a reason, not an error
    """The engine cannot run here; the text says what is missing."""


@dataclass(frozen=True, eq=False)
class Export:
    """An export to be run."""

    content: Exported
    stamp: dict[str, Any]
    program: Program

    @property
    def text(self) -> str:
        """The export, if it is one text."""
        assert isinstance(self.content, str)
        return self.content


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of an export, row by row; None for an output that it does not have."""

    prediction: list[Any] | None = None  # labels or values; None for no answer
    probabilities: list[Any] | None = None  # a list of numbers per row; None for no answer
    leaf: list[Any] | None = None  # node numbers; for an ensemble a list per row


class ExportEngine(NamedTuple):
    """An engine; ``serves`` tells from a stamp whether it runs the export."""

    module: str
    serves: Callable[[dict[str, Any]], bool]

    @property
    def limits(self) -> EngineLimits:
        """The values that its cells can hold."""
        limits: EngineLimits = self._load().LIMITS
        return limits

    def find(self) -> str:
        """Return its name and version, or raise NotInstalled."""
        name: str = self._load().find()
        return name

    def run(self, export: Export, rows: Rows) -> Outputs:
        """Run an export on rows."""
        outputs: Outputs = self._load().run(export, rows)
        return outputs

    def _load(self) -> Any:
        return import_module(f"treewise.formats.verify.engines.{self.module}")


def _format(*names: str) -> Callable[[dict[str, Any]], bool]:
    return lambda stamp: stamp["format"] in names


def _dialect(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda stamp: stamp["format"] == "sql" and stamp.get("dialect") == name


ENGINES = {
    "jpmml": ExportEngine("jpmml", _format("pmml")),
    "pypmml": ExportEngine("pypmml", _format("pmml")),
    "spiffworkflow": ExportEngine("spiffworkflow", _format("dmn")),
    "libreoffice": ExportEngine("libreoffice", _format("xlsx")),
    "onnxruntime": ExportEngine("onnxruntime", _format("onnx")),
    "onnx": ExportEngine("onnx", _format("onnx")),
    "python": ExportEngine("python", _format("python")),
    "numpy": ExportEngine("numpy_module", _format("numpy")),
    "json": ExportEngine("json_rows", _format("json")),
    "c": ExportEngine("c", _format("c")),
    "node": ExportEngine("node", _format("javascript")),
    "rscript": ExportEngine("rscript", _format("r")),
    "sqlite": ExportEngine("sqlite", _dialect("sqlite")),
    "dbt": ExportEngine("dbt", lambda stamp: stamp["format"] == "dbt" and stamp["dialect"] == "duckdb"),
    "duckdb": ExportEngine("duckdb", _dialect("duckdb")),
    "postgresql": ExportEngine("postgresql", _dialect("postgresql")),
    "mysql": ExportEngine("mysql", _dialect("mysql")),
    "mariadb": ExportEngine("mariadb", _dialect("mariadb")),
    "spark": ExportEngine("spark", _dialect("spark")),
    "zetasql": ExportEngine("zetasql", _dialect("bigquery")),
    "sqlglot": ExportEngine("sqlglot", lambda stamp: stamp.get("dialect") in ("sqlserver", "snowflake")),
}
