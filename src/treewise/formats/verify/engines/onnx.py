"""Engine "onnx": the reference evaluator of the onnx package, the readable definition of every operator."""

from __future__ import annotations

from treewise.formats.verify.engines.onnx_rows import LIMITS, feeds, outputs
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import Rows

__all__ = ["LIMITS"]


def find() -> str:
    """Return the version of the library."""
    try:
        import onnx
    except ImportError:
        raise NotInstalled("pip install onnx") from None
    return f"ONNX reference evaluator {onnx.__version__}"


def run(export: Export, rows: Rows) -> Outputs:
    """Check the graph and evaluate it on all rows."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    assert isinstance(export.content, bytes)
    model = onnx.load_from_string(export.content)
    onnx.checker.check_model(model, full_check=True)
    arrays = ReferenceEvaluator(model).run(export.stamp["outputs"], feeds(export, rows))
    return outputs(export, list(arrays))
