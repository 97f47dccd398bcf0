"""Export format "onnx": a graph for ONNX Runtime and other ONNX engines.

    inputs     one per column that is tested, [rows, 1]: numbers and booleans as doubles (NaN is missing), categories as
               strings, wide integers and datetimes (ticks of the column's unit since 1970) as int64, whose smallest
               value is missing
    outputs    prediction, probabilities, leaf

All trees are one ``TreeEnsemble`` of ``ai.onnx.ml`` 5 (``onnx_trees.py``). Its leaves hold the number of an answer
instead of a class or value, one target per tree, so that one pass finds all answers; what they mean is gathered from
tables of float64. The trees of an ensemble are added up one after another, in doubles, as ``predict`` does.

Every input becomes a double for the tree operator. A level becomes its code: 1 to k in a column of k levels, k + 1 for
a level that the model does not know. An integer becomes its rank among the cuts of its column, which is exact for
every int64. Where the model has no answer, probabilities and values are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from treewise.data.column import truncate
from treewise.data.encoding import INT64_MIN, Encoding
from treewise.errors import PackageError, ParameterError
from treewise.formats.export.onnx_trees import integer_cuts, tree_attributes
from treewise.formats.export.program import Program
from treewise.formats.export.stamp import stamp

_IR_VERSION, _OPSET, _ML_OPSET = 10, 18, 5  # ONNX 1.16; TreeEnsemble is new in ai.onnx.ml 5
_ML = "ai.onnx.ml"


def write(program: Program, *, missing: str = "") -> bytes:
    """Return the model; ``missing`` is the text that stands for a missing category.

    >>> import onnxruntime, treewise as tw
    >>> content = tw.grow("penguins", max_leaf_nodes=3).export("onnx")
    >>> session = onnxruntime.InferenceSession(content)
    >>> session.run(["prediction"], {"flipper_length_mm": np.array([[190.0]]), "bill_length_mm": np.array([[50.0]])})
    [array(['Chinstrap'], dtype=object)]
    """
    try:
        import onnx
    except ImportError:
        raise PackageError('ONNX models need onnx, which is not installed: pip install "treewise[onnx]".') from None
    if not program.inputs:
        raise ParameterError(
            "the model tests no column, and an ONNX graph without an input does not know the number of rows."
        )
    _check_memory(program)
    graph = _Graph(program, missing)
    graph.read_inputs()
    graph.walk()
    outputs = graph.one_tree() if program.combine == "tree" else graph.many_trees()
    options = {
        "missing": missing,
        "inputs": [declared.name for declared in graph.inputs],
        "outputs": [output.name for output in outputs],
    }
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes, "treewise", graph.inputs, outputs, graph.constants, doc_string=stamp("onnx", **options)
        ),
        opset_imports=[onnx.helper.make_opsetid("", _OPSET), onnx.helper.make_opsetid(_ML, _ML_OPSET)],
        ir_version=_IR_VERSION,
        producer_name="treewise",
    )
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _check_memory(program: Program) -> None:
    """Raise MemoryError if there is not enough: protobuf ends the process when it gets none."""
    n_steps = sum(len(routine.steps) for routine in program.routines)
    bytearray((8 << 20) + n_steps * (500 + 100 * len(program.classes)))


class _Graph:
    """The parts of the graph, and the names that are taken."""

    def __init__(self, program: Program, missing: str) -> None:
        from onnx import TensorProto, helper, numpy_helper

        self.helper, self.numpy_helper, self.types = helper, numpy_helper, TensorProto
        self.program, self.missing = program, missing
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.constants: list[Any] = []
        self.names = {""}  # no value has an empty name
        self.count = 0
        self.features = ""

    def name(self, base: str) -> str:
        """Return an unused name: the base name, or with a number after it."""
        name = base
        while name in self.names:
            self.count += 1
            name = f"{base}_{self.count}"
        self.names.add(name)
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """Add an operator and return the name of its output."""
        output = output or self.name(f"treewise/{operator}")
        self.nodes.append(self.helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add a constant tensor and return its name."""
        name = self.name("treewise/constant")
        self.constants.append(self.tensor(values, dtype, name))
        return name

    def tensor(self, values: Any, dtype: Any = None, name: str = "") -> Any:
        """Return a tensor; a list of text becomes strings."""
        if isinstance(values, list) and values and isinstance(values[0], str):
            return self.helper.make_tensor(name, self.types.STRING, [len(values)], [text.encode() for text in values])
        return self.numpy_helper.from_array(np.asarray(values, dtype), name)

    # -- inputs ---------------------------------------------------------------------------------------------------

    def read_inputs(self) -> None:
        """Declare the inputs and turn them into the matrix of doubles that the trees compare."""
        for encoding in self.program.inputs:
            _check_text(encoding.name, f"the name of column {truncate(encoding.name)}")
        names = [self.name(encoding.name) for encoding in self.program.inputs]  # columns take their names first
        converted = [self._input(*each) for each in zip(names, self.program.inputs, count(), strict=False)]
        self.features = self.node("Concat", converted, axis=1)

    def _input(self, name: str, encoding: Encoding, column: int) -> str:
        kind = {"integer": "INT64", "datetime": "INT64", "nominal": "STRING", "ordered": "STRING"}.get(encoding.kind)
        declared = getattr(self.types, kind or "DOUBLE")
        self.inputs.append(self.helper.make_tensor_value_info(name, declared, ["rows", 1]))
        if kind == "STRING":
            return self._codes(name, encoding)
        if kind == "INT64":
            return self._ranks(name, column)
        if encoding.kind == "boolean":
            return self.node("Add", [name, self.constant([[1.0]])])
        return name

    def _codes(self, name: str, encoding: Encoding) -> str:
        """Return the codes of a category: 1 … k, NaN for missing, k + 1 for every other text."""
        if self.missing in encoding.levels:
            raise ParameterError(
                f'column "{truncate(encoding.name)}" has this level, so that missing values need another mark.',
                parameter="missing",
                value=self.missing,
                column=encoding.name,
            )
        for level in encoding.levels:
            _check_text(level, f'level {truncate(level)} of column "{truncate(encoding.name)}"')
        codes = [*range(1, len(encoding.levels) + 1), math.nan]
        return self.node(
            "LabelEncoder",
            [name],
            domain=_ML,
            keys_tensor=self.tensor([*encoding.levels, self.missing]),
            values_tensor=self.tensor(codes, np.float64),
            default_tensor=self.tensor([len(codes)], np.float64),
        )

    def _ranks(self, name: str, column: int) -> str:
        """Return how many cuts of an integer column each value is above; NaN for missing."""
        cuts = integer_cuts(self.program, column)
        above = self.node("Greater", [name, self.constant(cuts, np.int64)])
        counted = self.node("Cast", [above], to=self.types.DOUBLE)
        rank = self.node("ReduceSum", [counted, self.constant([1], np.int64)], keepdims=1)
        is_missing = self.node("Equal", [name, self.constant([[INT64_MIN]], np.int64)])
        return self.node("Where", [is_missing, self.constant([[math.nan]]), rank])

    # -- trees ----------------------------------------------------------------------------------------------------

    def walk(self) -> None:
        """Find the number of the answer of each row in each tree: rows × trees."""
        attributes: dict[str, Any] = {
            name: self.tensor(values) if isinstance(values, np.ndarray) else values
            for name, values in tree_attributes(self.program).items()
        }
        numbers = self.node("TreeEnsemble", [self.features], domain=_ML, **attributes)
        self.answers = self.node("Cast", [numbers], to=self.types.INT64)

    def _of_tree(self, t: int) -> str:
        """Return the answers of one tree, one per row."""
        return self.node("Gather", [self.answers, self.constant(t, np.int64)], axis=1)

    def _output(
        self, name: str, operator: str, inputs: Sequence[str], kind: int, shape: Sequence[Any], **a: Any
    ) -> Any:
        output = self.node(operator, inputs, self.name(name), **a)
        return self.helper.make_tensor_value_info(output, kind, shape)

    def one_tree(self) -> list[Any]:
        """Return the outputs of a single tree, gathered from its answers."""
        program, answers, at = self.program, self.program.routines[0].answers, self._of_tree(0)
        leaves = self._output("leaf", "Gather", [self.constant(answers.node, np.int64), at], self.types.INT64, ["rows"])
        if program.is_regression:
            values = self.constant(answers.value, np.float64)
            return [self._output("prediction", "Gather", [values, at], self.types.DOUBLE, ["rows"]), leaves]
        shares = self.constant(program.contributions(0))
        labels, kind = self._labels()
        classes = np.array([max(label, 0) for label in answers.label], np.int64)
        number = self.node("Gather", [self.constant(classes), at])
        shape = ["rows", len(program.classes)]
        return [
            self._output("prediction", "Gather", [labels, number], kind, ["rows"]),
            self._output("probabilities", "Gather", [shares, at], self.types.DOUBLE, shape),
            leaves,
        ]

    def many_trees(self) -> list[Any]:
        """Return the outputs of an ensemble: sums over its trees, in their order."""
        program = self.program
        total, node_numbers = "", []
        for t, routine in enumerate(program.routines):
            at = self._of_tree(t)
            added = self.node("Gather", [self.constant(program.contributions(t)), at])
            total = self.node("Add", [total, added]) if total else added
            numbers = self.constant(np.array(routine.answers.node, np.int64)[:, None])
            node_numbers.append(self.node("Gather", [numbers, at]))
        leaves = self._output("leaf", "Concat", node_numbers, self.types.INT64, ["rows", len(program.routines)], axis=1)
        double = self.types.DOUBLE
        if program.is_regression:
            mean = self.node("Div", [total, self.constant([float(program.divisor)])])
            value = self.node("Mul", [mean, self.constant([program.unit])])
            flat = self.constant([-1], np.int64)
            return [self._output("prediction", "Reshape", [value, flat], double, ["rows"]), leaves]
        shape = ["rows", len(program.classes)]
        divisor = self._vote_total(total) if program.combine == "vote" else self.constant([float(program.divisor)])
        shares = self._output("probabilities", "Div", [total, divisor], double, shape)
        best = self.node("ArgMax", [total if program.combine == "vote" else shares.name], axis=1, keepdims=0)
        labels, kind = self._labels()
        return [self._output("prediction", "Gather", [labels, best], kind, ["rows"]), shares, leaves]

    def _vote_total(self, votes: str) -> str:
        """Add up the votes of all classes, in the order of the classes."""
        total = ""
        for k in range(len(self.program.classes)):
            of_class = self.node("Gather", [votes, self.constant([k], np.int64)], axis=1)
            total = self.node("Add", [total, of_class]) if total else of_class
        return total

    def _labels(self) -> tuple[str, int]:
        """Return the constant of class labels, and its type."""
        classes = self.program.classes
        types = {type(label) for label in classes}
        if types == {bool}:
            return self.constant(np.array(classes, bool)), self.types.BOOL
        if types == {int} and all(-(2**63) <= label < 2**63 for label in classes):  # type: ignore[operator]
            return self.constant(np.array(classes, np.int64)), self.types.INT64
        if types == {float}:
            return self.constant(np.array(classes, np.float64)), self.types.DOUBLE
        for label in classes:
            _check_text(str(label), f"class {truncate(label)}")
        return self.constant([str(label) for label in classes]), self.types.STRING


def _check_text(text: str, what: str) -> None:
    """Refuse text that ONNX cannot hold."""
    character = "a NUL character" if "\0" in text else "half of a surrogate pair" if _has_surrogate(text) else ""
    if character:
        raise ParameterError(f"{what} contains {character}, which ONNX engines cannot hold.", hint="Rename it.")


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
