"""Engine "onnxruntime": Microsoft's ONNX Runtime on the CPU (``pip install onnxruntime``)."""

from __future__ import annotations

from treewise.formats.verify.engines.onnx_rows import LIMITS, feeds, outputs
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import Rows

__all__ = ["LIMITS"]

FIRST_VERSION = (1, 24, 1)  # earlier ones read some trees wrongly, or have no TreeEnsemble for doubles


def find() -> str:
    """Return the version of the library."""
    try:
        import onnxruntime
    except ImportError:
        raise NotInstalled("pip install onnxruntime") from None
    version = onnxruntime.__version__
    if tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) < FIRST_VERSION:
        raise NotInstalled(f"onnxruntime {version} is too old; pip install 'onnxruntime>=1.24.1'")
    return f"ONNX Runtime {version}"


def run(export: Export, rows: Rows) -> Outputs:
    """Run the graph on all rows at once."""
    import onnxruntime

    session = onnxruntime.InferenceSession(export.content, providers=["CPUExecutionProvider"])
    return outputs(export, session.run(export.stamp["outputs"], feeds(export, rows)))
