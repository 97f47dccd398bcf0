"""Engine "spiffworkflow": the DMN engine of SpiffWorkflow (``pip install SpiffWorkflow``).

It takes the first rule that matches, and does not check UNIQUE; here every rule is asked, and exactly one must match.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from treewise.errors import DataError
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import EngineLimits, Rows

LIMITS = EngineLimits(digits=17)  # FEEL has neither NaN nor infinities
_NAMES = {"null": None, "true": True, "false": False}  # the engine evaluates entries as Python


def find() -> str:
    """Return the version of the library."""
    try:
        import SpiffWorkflow  # noqa: F401
    except ImportError:
        raise NotInstalled("pip install SpiffWorkflow") from None
    from importlib.metadata import version

    return f"SpiffWorkflow {version('SpiffWorkflow')}"


def run(export: Export, rows: Rows) -> Outputs:
    """Check the document against the schema of DMN 1.3 and decide row by row."""
    from SpiffWorkflow.bpmn.script_engine import PythonScriptEngine, TaskDataEnvironment
    from SpiffWorkflow.dmn.specs.model import HitPolicy

    engine = _parse(export.text)
    engine.decision_table.hit_policy = HitPolicy.COLLECT.value  # ask every rule
    workflow = SimpleNamespace(script_engine=PythonScriptEngine(TaskDataEnvironment(_NAMES)))
    names = export.stamp["inputs"]
    answers = []
    for cells in zip(*rows.cells, strict=True) if rows.cells else [()]:
        row = {name: None if cell != cell else cell for name, cell in zip(names, cells, strict=True)}
        task = SimpleNamespace(data=row, workflow=workflow)
        rules = engine.decide(task)
        if len(rules) != 1:
            raise DataError(f"{len(rules)} rules match {row!r}; the hit policy UNIQUE demands one.")
        answers.append(rules[0].output_as_dict(task))
    return _read_outputs(export, answers)


def _parse(text: str) -> Any:
    """Return the engine for the decision of a document."""
    from lxml import etree
    from SpiffWorkflow.bpmn.parser.BpmnParser import BpmnValidator
    from SpiffWorkflow.dmn.parser.BpmnDmnParser import BpmnDmnParser

    parser = BpmnDmnParser(validator=BpmnValidator())
    parser.add_dmn_xml(etree.fromstring(text.encode(), etree.XMLParser(huge_tree=True)))
    return parser.get_engine("decision", None)


def _read_outputs(export: Export, answers: list[dict[str, Any]]) -> Outputs:
    prediction, leaf = ([answer[name] for answer in answers] for name in ("prediction", "leaf"))
    if export.program.is_regression:
        return Outputs(prediction, None, leaf)
    shares = [[answer[f"probability_{k + 1}"] for k in range(len(export.program.classes))] for answer in answers]
    return Outputs(
        prediction, [None if label is None else row for label, row in zip(prediction, shares, strict=True)], leaf
    )
