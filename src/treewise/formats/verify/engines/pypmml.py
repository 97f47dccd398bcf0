"""Engine "pypmml": the Scala library PMML4S through pypmml (``pip install pypmml``; needs Java)."""

from __future__ import annotations

import shutil
from importlib.metadata import version

from treewise.formats.verify.engines.pmml_rows import LIMITS, read_outputs, rows_by_name
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import Rows

__all__ = ["LIMITS"]


def find() -> str:
    """Return the version of the library."""
    try:
        import pypmml  # noqa: F401
    except ImportError:
        raise NotInstalled("pip install pypmml") from None
    if shutil.which("java") is None:
        raise NotInstalled("apt install default-jre-headless")
    return f"PMML4S by pypmml {version('pypmml')}"


def run(export: Export, rows: Rows) -> Outputs:
    """Evaluate row by row."""
    from pypmml import Model

    model = Model.fromString(export.text)
    return read_outputs(export, [model.predict(row) for row in rows_by_name(export, rows)])
