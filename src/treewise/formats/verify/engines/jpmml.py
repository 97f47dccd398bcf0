"""Engine "jpmml": the Java evaluator JPMML (``pip install jpmml_evaluator``; needs Java)."""

from __future__ import annotations

import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from treewise.formats.verify.engines.pmml_rows import LIMITS, read_outputs, rows_by_name
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import Rows

__all__ = ["LIMITS"]


def find() -> str:
    """Return the version of the library."""
    try:
        import jpmml_evaluator  # noqa: F401
    except ImportError:
        raise NotInstalled("pip install jpmml_evaluator") from None
    if shutil.which("java") is None:
        raise NotInstalled("apt install default-jre-headless")
    return f"JPMML evaluator {version('jpmml_evaluator')}"


def run(export: Export, rows: Rows) -> Outputs:
    """Evaluate row by row."""
    from jpmml_evaluator import make_evaluator

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.pmml")
        path.write_text(export.text, "utf-8")
        evaluator = make_evaluator(str(path))
        return read_outputs(export, [evaluator.evaluate(row) for row in rows_by_name(export, rows)])
