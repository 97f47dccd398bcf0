"""Export format "pmml": PMML 4.4, one ``TreeModel``, for a single tree.

A node's children carry complete conditions, so that the result depends on no strategy for missing values or for rows
that no child takes: ``x <= 3 or x missing``, ``city in {Bari, Rome}``, ``city not in {Bari, Rome}``. A condition on a
missing value, other than whether it is missing, is false (``missingValueStrategy="none"``).

    outputs    prediction, probability of each class as probability_1, probability_2, …, leaf

Engines compute probabilities from counts, so these are whole numbers with exactly the right quotients. Where the
weights of the training rows were not whole numbers there may be none, and an engine may be off by the last digit. A row
that the model refuses gets no prediction.

Numbers are doubles, NaN is missing; categories are strings and booleans are booleans. Level sets are written as sets of
values; texts are XML with every special character escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from xml.sax.saxutils import quoteattr

from treewise._version import __version__
from treewise.data.column import truncate
from treewise.data.encoding import Encoding
from treewise.errors import ParameterError
from treewise.formats.export.program import NO_ANSWER, Answer, BranchCondition, Program, conditions
from treewise.formats.export.stamp import stamp

_TYPES = {"number": ("continuous", "double"), "boolean": ("categorical", "boolean")}
_MAX_DENOMINATOR = 10**6  # of a share
_MAX_DEPTH = 900  # engines read and walk nodes by recursion


def write(program: Program) -> str:
    """Return the document.

    >>> import treewise as tw
    >>> print(tw.parse("x <= 3 or missing -> a\\nx > 3 -> b").export("pmml"))  # doctest: +ELLIPSIS
    <?xml version="1.0" encoding="UTF-8"?>
    ...
            <Node id="1" score="a">
              <CompoundPredicate booleanOperator="or">
                <SimplePredicate field="x" operator="lessOrEqual" value="3.0"/>
                <SimplePredicate field="x" operator="isMissing"/>
              </CompoundPredicate>
    ...
    """
    _check(program)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<!-- {stamp('pmml', outputs=output_names(program))} -->"]
    lines += [
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">',
        *_header(program),
        *_model(program),
        "</PMML>",
    ]
    return "\n".join(lines) + "\n"


def output_names(program: Program) -> list[str]:
    """Return the names of the outputs, which are those of no input."""
    names = ["prediction", *(f"probability_{k + 1}" for k in range(len(program.classes))), "leaf"]
    used_names = {encoding.name for encoding in program.inputs}
    while used_names & set(names):
        names = [f"{name}_" for name in names]
    return names


def _check(program: Program) -> None:
    """Refuse what PMML engines cannot hold or compare exactly."""
    for encoding in program.inputs:
        if encoding.kind in ("integer", "datetime"):
            what = "integers beyond 2^53" if encoding.kind == "integer" else "dates"
            raise ParameterError(
                f'column "{truncate(encoding.name)}" holds {what}, which PMML engines do not compare exactly.',
                hint="Export ONNX, SQL or C.",
                column=encoding.name,
            )
        for text in (encoding.name, *encoding.levels):
            _check_text(text, f'column "{truncate(encoding.name)}"')
    for label in program.classes:
        _check_text(str(label), "a class label")
    answers = program.routines[0].answers
    unknown = [math.isnan(value) for value in answers.value] or [label == NO_ANSWER for label in answers.label]
    for node, is_unknown in zip(answers.node, unknown, strict=True):
        if is_unknown and node != NO_ANSWER:
            raise ParameterError(f"node {node} predicts nothing, which PMML cannot express.", hint="Refit the tree.")
    if program.routines[0].depth > _MAX_DEPTH:
        raise ParameterError(
            f"the tree is {program.routines[0].depth:,} tests deep; PMML engines take about {_MAX_DEPTH:,}.",
            hint="Prune it, or export SQL, Python or C.",
        )


def _check_text(text: str, where: str) -> None:
    allowed = all(
        c in "\t\n\r" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff") for c in text
    )
    if not allowed or not text:
        what = "a NUL, control character or half of a surrogate pair" if text else "an empty text"
        raise ParameterError(f"{where} has {what}, which XML cannot hold.", hint="Rename it.")


def _header(program: Program) -> Iterator[str]:
    yield f'  <Header><Application name="treewise" version={quoteattr(__version__)}/></Header>'
    yield f'  <DataDictionary numberOfFields="{len(program.inputs) + 1}">'
    for encoding in program.inputs:
        kind, data = _TYPES.get(encoding.kind, ("categorical", "string"))
        yield f'    <DataField name={_attribute(encoding.name)} optype="{kind}" dataType="{data}"/>'
    kind, data = ("continuous", "double") if program.is_regression else ("categorical", "string")
    if program.is_regression:
        yield f'    <DataField name={_attribute(_target(program))} optype="{kind}" dataType="{data}"/>'
    else:
        yield f'    <DataField name={_attribute(_target(program))} optype="{kind}" dataType="{data}">'
        yield from (f"      <Value value={_attribute(str(label))}/>" for label in program.classes)
        yield "    </DataField>"
    yield "  </DataDictionary>"


def _target(program: Program) -> str:
    """Return the name of the target, which is that of no input and no output."""
    name, used_names = "target", {*(e.name for e in program.inputs), *output_names(program)}
    while name in used_names:
        name += "_"
    return name


def _model(program: Program) -> Iterator[str]:
    task = program.target.task
    yield f'  <TreeModel functionName="{task}" missingValueStrategy="none" splitCharacteristic="multiSplit">'
    yield "    <MiningSchema>"
    for encoding in program.inputs:
        yield f'      <MiningField name={_attribute(encoding.name)} invalidValueTreatment="asIs"/>'
    yield f'      <MiningField name={_attribute(_target(program))} usageType="target"/>'
    yield "    </MiningSchema>"
    yield "    <Output>"
    prediction, *probabilities, leaf = output_names(program)
    kind = (
        'optype="continuous" dataType="double"' if program.is_regression else 'optype="categorical" dataType="string"'
    )
    yield f'      <OutputField name="{prediction}" {kind} feature="predictedValue"/>'
    for name, label in zip(probabilities, program.classes, strict=True):
        about = f'optype="continuous" dataType="double" feature="probability" value={_attribute(str(label))}'
        yield f'      <OutputField name="{name}" {about}/>'
    yield f'      <OutputField name="{leaf}" optype="categorical" dataType="string" feature="entityId"/>'
    yield "    </Output>"
    yield from _nodes(program)
    yield "  </TreeModel>"


def _nodes(program: Program) -> Iterator[str]:
    """Yield the nodes, without recursion; inner nodes have no score and no number of a leaf."""
    steps, answers = program.routines[0].steps, program.routines[0].answers
    stack: list[tuple[int, BranchCondition | None, int] | str] = [(0, None, 2)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
            continue
        at, condition, depth = item
        step, margin = steps[at], "  " * depth
        if isinstance(step, Answer):
            yield from (f"{margin}{line}" for line in _leaf(program, step.number, _predicate(condition, program)))
            continue
        yield f'{margin}<Node id="inner {at}">'
        yield from (f"{margin}  {line}" for line in _predicate(condition, program))
        stack.append(f"{margin}</Node>")
        for way, child in reversed(conditions(step)):
            below = steps[child]
            if not isinstance(below, Answer) or answers.node[below.number] != NO_ANSWER:  # no child, no prediction
                stack.append((child, way, depth + 1))


def _leaf(program: Program, number: int, predicate: list[str]) -> Iterator[str]:
    answers = program.routines[0].answers
    shares: list[str] = []
    if program.is_regression:
        score = f'"{answers.value[number]!r}"'
    else:
        score = _attribute(str(program.classes[answers.label[number]]))
        probabilities = answers.probabilities[number].tolist()
        counts = record_counts(probabilities)
        for label, share, count in zip(program.classes, probabilities, counts, strict=True):
            given = f' probability="{share!r}"' if counts is probabilities else ""
            shares.append(f'<ScoreDistribution value={_attribute(str(label))} recordCount="{count!r}"{given}/>')
    yield f'<Node id="{answers.node[number]}" score={score}>'
    yield from (f"  {line}" for line in (*predicate, *shares))
    yield "</Node>"


def record_counts(shares: list[float]) -> list[float]:
    """Return counts whose quotients by their sum are the shares to the last bit, where there are whole ones.

    Engines compute a probability from the counts, and may do so even where it is given.

    >>> record_counts([1 / 3, 2 / 3]), record_counts([0.25, 0.75])
    ([1, 2], [1, 3])
    """
    fractions = [Fraction(share).limit_denominator(_MAX_DENOMINATOR) for share in shares]
    total = math.lcm(*(fraction.denominator for fraction in fractions))
    counts = [int(fraction * total) for fraction in fractions]
    is_exact = sum(counts) == total < 2**53 and all(c / total == s for c, s in zip(counts, shares, strict=True))
    return list(counts) if is_exact else shares


def _predicate(condition: BranchCondition | None, program: Program) -> list[str]:
    """Return the predicate of a branch."""
    if condition is None:
        return ["<True/>"]
    encoding = program.inputs[condition.column]
    field = f"field={_attribute(encoding.name)}"
    present = _present(condition, encoding, field)
    missing = f'<SimplePredicate {field} operator="isMissing"/>'
    if present is None:
        return [missing] if condition.missing else ["<False/>"]
    if not condition.missing:
        return [present]
    if "isNotMissing" in present:
        return ["<True/>"]
    return ['<CompoundPredicate booleanOperator="or">', f"  {present}", f"  {missing}", "</CompoundPredicate>"]


def _present(condition: BranchCondition, encoding: Encoding, field: str) -> str | None:
    """Return the predicate on present values; None if there are none."""
    anything = f'<SimplePredicate {field} operator="isNotMissing"/>'
    if condition.op is not None:
        if condition.below and condition.above:
            return anything
        if not (condition.below or condition.above):
            return None
        below, above = ("lessOrEqual", "greaterThan") if condition.op == "<=" else ("lessThan", "greaterOrEqual")
        operator = below if condition.below else above
        return f'<SimplePredicate {field} operator="{operator}" value="{condition.cut!r}"/>'
    if not condition.levels:
        return anything if condition.negated else None
    if encoding.kind == "boolean" or len(condition.levels) == 1:
        values = [encoding.levels[code] for code in condition.levels]
        if len(values) > 1:
            return None if condition.negated else anything
        operator = "notEqual" if condition.negated else "equal"
        return f'<SimplePredicate {field} operator="{operator}" value={_attribute(values[0])}/>'
    values = [encoding.levels[code] for code in condition.levels]
    quoted = " ".join('"' + value.replace('"', '\\"') + '"' for value in values)
    text = quoted.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    operator = "isNotIn" if condition.negated else "isIn"
    array = f'<Array type="string" n="{len(values)}">{text}</Array>'
    return f'<SimpleSetPredicate {field} booleanOperator="{operator}">{array}</SimpleSetPredicate>'


def _attribute(text: str) -> str:
    """Return an attribute in quotes; white space other than a blank would be read as one, so it is written as numbers.

    >>> print(_attribute('a"b'), _attribute("a\\n<"))
    'a"b' "a&#10;&lt;"
    """
    return quoteattr(text, {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})
