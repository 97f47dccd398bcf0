"""Export format "dmn": a DMN 1.3 decision table with hit policy UNIQUE, for a single tree.

One rule per leaf. The rules of a tree are disjoint and cover every row (``rule_table.py``), which is what UNIQUE
demands: exactly one rule matches. Entries are FEEL expressions in which ``?`` is the input:

    ? != null and ? > 3.0 and ? <= 5.0         not(? != null) or ? in ("Bari", "Rome")         "Bari"         -

Comparisons with null are guarded, and only operators are used that SpiffWorkflow's engine, whose expressions are those
of Python, reads as FEEL does. FEEL has no NaN (missing is null), and its numbers are decimals: cuts have the shortest
digits that stand for the double, so the decision is exact for inputs that are written the same way, as JSON does.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from treewise._lib.text import safe
from treewise.data.column import truncate
from treewise.data.encoding import Encoding
from treewise.errors import ParameterError
from treewise.formats.export.program import NO_ANSWER, Program
from treewise.formats.export.rule_table import Values, rules_of
from treewise.formats.export.stamp import stamp

_NAMESPACE = "https://www.omg.org/spec/DMN/20191111/MODEL/"
_RESERVED = set(
    re.findall(r"\w+", "true false null then some every satisfies between instance of function external date time")
)


def write(program: Program) -> str:
    """Return the document.

    >>> import treewise as tw
    >>> print(tw.parse("x <= 3 or missing -> a\\nx > 3 -> b").export("dmn"))  # doctest: +ELLIPSIS
    <?xml version="1.0" encoding="UTF-8"?>
    ...
          <rule id="rule_1">
            <inputEntry id="entry_1_1"><text>not(? != null) or ? &lt;= 3.0</text></inputEntry>
            <outputEntry id="prediction_1"><text>"a"</text></outputEntry>
    ...
    """
    for encoding in program.inputs:
        if encoding.kind == "datetime":
            raise ParameterError(
                f'column "{truncate(encoding.name)}" holds datetimes, which DMN engines read differently.',
                hint="Export SQL, Python or C, or replace the column by a number.",
                column=encoding.name,
            )
    names, outputs = variable_names(program), _outputs(program)
    types = [_type(encoding) for encoding in program.inputs]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<!-- {stamp('dmn', inputs=names)} -->"]
    lines += [f'<definitions xmlns="{_NAMESPACE}" id="definitions" name="treewise" namespace="treewise">']
    for i, (name, kind) in enumerate(zip(names, types, strict=True), 1):
        lines += [f'  <inputData id="data_{i}" name="{name}">']
        lines += [f'    <variable id="variable_{i}" name="{name}" typeRef="{kind}"/>', "  </inputData>"]
    lines += [f'  <decision id="decision" name={_attribute(program.target.name)}>']
    for i in range(1, len(names) + 1):
        lines += [f'    <informationRequirement id="requirement_{i}">', f'      <requiredInput href="#data_{i}"/>']
        lines += ["    </informationRequirement>"]
    lines += ['    <decisionTable id="table" hitPolicy="UNIQUE">']
    for i, (name, kind, encoding) in enumerate(zip(names, types, program.inputs, strict=True), 1):
        lines += [f'      <input id="input_{i}" label={_attribute(encoding.name)}>']
        lines += [
            f'        <inputExpression id="expression_{i}" typeRef="{kind}"><text>{name}</text></inputExpression>'
        ]
        lines += ["      </input>"]
    for name, (label, kind, _) in outputs.items():
        lines += [f'      <output id="{name}" label={_attribute(label)} name="{name}" typeRef="{kind}"/>']
    lines += _rules(program, outputs)
    return "\n".join([*lines, "    </decisionTable>", "  </decision>", "</definitions>", ""])


def variable_names(program: Program) -> list[str]:
    """Return the name of each input's variable: the column's own where it is a plain name, else a generated one."""
    reserved = _RESERVED.union(keyword.kwlist)
    plain = [
        re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", encoding.name) is not None and encoding.name not in reserved
        for encoding in program.inputs
    ]
    used_names = {encoding.name for encoding, is_plain in zip(program.inputs, plain, strict=True) if is_plain}
    names = []
    for i, (encoding, is_plain) in enumerate(zip(program.inputs, plain, strict=True), 1):
        name = encoding.name if is_plain else f"column_{i}"
        while not is_plain and name in used_names:
            name += "_"
        names.append(name)
        used_names.add(name)
    return names


def _type(encoding: Encoding) -> str:
    return {"number": "number", "integer": "number", "boolean": "boolean"}.get(encoding.kind, "string")


def _outputs(program: Program) -> dict[str, tuple[str, str, list[str]]]:
    """Return the outputs: name → label, type, and the text of each answer."""
    answers = program.routines[0].answers
    if program.is_regression:
        values = ["null" if math.isnan(value) else _number(value) for value in answers.value]
        outputs = {"prediction": (program.target.name, "number", values)}
    else:
        kinds = {type(label) for label in program.classes}
        kind = "string"
        if len(kinds) == 1 and str not in kinds:
            kind = "boolean" if bool in kinds else "number"
        texts = [_text(str(label)) if kind == "string" else _literal(label) for label in program.classes]
        labels = ["null" if number == NO_ANSWER else texts[number] for number in answers.label]
        outputs = {"prediction": (program.target.name, kind, labels)}
        for k, label in enumerate(program.classes):
            shares = answers.probabilities[:, k].tolist()
            known = [
                "null" if number == NO_ANSWER else _number(share)
                for number, share in zip(answers.label, shares, strict=True)
            ]
            outputs[f"probability_{k + 1}"] = f"probability of {label}", "number", known
    outputs["leaf"] = "leaf", "number", ["null" if node == NO_ANSWER else str(node) for node in answers.node]
    return outputs


def _rules(program: Program, outputs: dict[str, tuple[str, str, list[str]]]) -> Iterator[str]:
    for r, (admitted, answer) in enumerate(rules_of(program.routines[0]), 1):
        entries = [_entry(admitted.get(i, Values()), encoding) for i, encoding in enumerate(program.inputs)]
        if None in entries:  # no value of that column leads here
            continue
        yield f'      <rule id="rule_{r}">'
        for i, entry in enumerate(entries, 1):
            yield f'        <inputEntry id="entry_{r}_{i}"><text>{escape(entry or "")}</text></inputEntry>'
        for name, (_, _, texts) in outputs.items():
            yield f'        <outputEntry id="{name}_{r}"><text>{escape(texts[answer])}</text></outputEntry>'
        yield "      </rule>"


def _entry(values: Values, encoding: Encoding) -> str | None:
    """Write the values of a column as a unary test that is true exactly for them; None if there are none."""
    if values.is_any:
        return "-"
    tests = _present_tests(values, encoding) if values.has_present else None
    if tests is None:
        return "null" if values.missing else None
    if values.missing:
        takes_null = values.negated and _type(encoding) == "string"  # null equals no text
        guarded = [] if takes_null or not tests else ["not(? != null)"]
        return " or ".join([*guarded, " and ".join(tests)]) if tests else "-"
    is_one = len(tests) == 1 and tests[0].startswith("not(? != ")
    return tests[0][len("not(? != ") : -1] if is_one else " and ".join(["? != null", *tests])


def _present_tests(values: Values, encoding: Encoding) -> list[str] | None:
    """Return the tests of a value that is not null, which must all hold; None if no value can pass."""
    if not encoding.is_categorical:
        tests = [f"? > {_literal(values.low)}"] if values.low > -math.inf else []
        return [*tests, f"? <= {_literal(values.high)}"] if values.high < math.inf else tests
    if encoding.kind == "boolean":
        admitted = [code for code in (0, 1) if (code in values.levels) != values.negated]
        return [f"not(? != {_literal(admitted == [1])})"] if len(admitted) == 1 else [] if admitted else None
    levels = [_text(encoding.levels[code]) for code in sorted(values.levels) if _can_hold(encoding.levels[code])]
    if not levels:
        return [] if values.negated else None
    if len(levels) == 1:
        return [f"? != {levels[0]}" if values.negated else f"not(? != {levels[0]})"]
    listed = f"? in ({', '.join(levels)})"
    return [f"not({listed})" if values.negated else listed]


def _literal(value: Any) -> str:
    """Write a number or boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _number(value)


def _number(value: float) -> str:
    """Write a double with its shortest digits; FEEL 1.3 knows no exponents.

    >>> _number(206.5), _number(1e-7), _number(3.0)
    ('206.5', '0.0000001', '3.0')
    """
    if math.isinf(value):
        raise ParameterError("the tree predicts an infinite value, which DMN cannot write.")
    text = format(Decimal(repr(value)), "f")
    return text if "." in text else f"{text}.0"


def _can_hold(text: str) -> bool:
    return not any("\ud800" <= ch <= "\udfff" for ch in text)


def _text(text: str) -> str:
    r"""Write a text: quotes and question marks, which SpiffWorkflow takes for the input, and controls as escapes.

    >>> print(_text("it's 5\n"))
    "it\u0027s 5\u000a"
    """
    if not _can_hold(text):
        raise ParameterError(f'label "{truncate(text)}" contains half of a surrogate pair, which DMN cannot hold.')
    return '"' + "".join(_character(ch) for ch in text) + '"'


def _character(ch: str) -> str:
    if ch in "\"'?\\" or (not ch.isprintable() and ord(ch) < 0x10000):
        return f"\\u{ord(ch):04x}"
    return ch


def _attribute(text: str) -> str:
    return quoteattr(safe(text))
