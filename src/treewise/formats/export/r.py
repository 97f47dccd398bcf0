"""Export format "r": an R script without packages that predicts for data frames.

    source("penguins.R")
    predict(model, birds)                          # also type = "probabilities", type = "leaf"

The script defines an object, by default ``model``, and a method of ``predict`` for it. Each tree is a table of steps
that all rows walk together (``runtime.R``), so that large data frames are fast and depth does not matter. R reads
decimals inexactly: thresholds and probabilities are hexadecimal. Integers beyond 2^53 are split into two parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from treewise._lib.text import safe
from treewise.data.column import truncate
from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import Encoding
from treewise.errors import ParameterError
from treewise.formats.export.program import NO_ANSWER, Program
from treewise.formats.export.stamp import stamp
from treewise.formats.export.step_table import StepTable, tabulate

_PART = 10**9  # an integer is high * _PART + low
_RUNTIME = Path(__file__).with_name("runtime.R")


def write(program: Program, *, name: str = "model") -> str:
    """Return the script; ``name`` is what the object is called.

    >>> import treewise as tw
    >>> tree = tw.parse("x <= 1.5 -> a\\nx > 1.5 -> b")
    >>> [line.strip() for line in tree.export("r").splitlines() if "cut = c" in line or "kind = " in line][:2]
    ['list(name = "x", kind = "number")', 'cut = c(0x1.8000000000000p+0, -Inf, -Inf),']
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9._]*", name):
        raise ParameterError("must be a name in R: letters, digits, . and _.", parameter="name", value=name)
    texts = all(isinstance(label, str) for label in program.classes)
    labels = [_label(label, texts) for label in program.classes]
    lines = [f"# {stamp('r', name=name)}", f"# Predicts {_comment(program.target.name)}; exported by treewise.", ""]
    lines += [f"{name} <- local({{", f"  classes <- {_vector(labels) if labels else 'NULL'}"]
    lines += [
        f'  combine <- "{program.combine}"',
        f"  divisor <- {program.divisor}",
        f"  unit <- {_double(program.unit)}",
    ]
    lines += ["  columns <- list(", ",\n".join(f"    list({_column(each)})" for each in program.inputs), "  )"]
    lines += ["  trees <- list(", ",\n".join("\n".join(_tree(program, t)) for t in range(len(program.routines))), "  )"]
    return "\n".join([*lines, _RUNTIME.read_text("utf-8")])


def _column(encoding: Encoding) -> str:
    if not _can_hold(encoding.name):
        raise _refusal("column", encoding.name)
    head = f"name = {_text(encoding.name)}"
    if encoding.kind == "datetime":
        return f'{head}, kind = "datetime", per_day = {TICKS_PER_DAY[encoding.unit]}'
    if encoding.kind in ("nominal", "ordered"):  # a level that no text of R can hold cannot occur
        levels = [_text(level) if _can_hold(level) else "NA" for level in encoding.levels]
        return f'{head}, kind = "level", levels = {_vector(levels)}'
    return f'{head}, kind = "{encoding.kind}"'


def _tree(program: Program, t: int) -> Iterator[str]:
    """Yield a tree as a list of vectors; R counts from 1, and 0 in ``column`` is an answer."""
    table, answers = tabulate(program.routines[t], program.inputs), program.routines[t].answers
    cuts = list(_cuts(table, program))
    yield "    list("
    for name in ("column", "below", "above", "missing", "first", "start", "ways"):
        yield f"      {name} = {_vector(str(number + 1) for number in getattr(table, name))},"
    yield f"      size = {_vector(map(str, table.size))},"
    yield f"      cut = {_vector(_double(high) for high, _ in cuts)},"
    yield f"      low = {_vector(str(low) for _, low in cuts)},"
    yield f"      node = {_vector('NA' if node == NO_ANSWER else str(node) for node in answers.node)},"
    yield f"      label = {_vector('NA' if label == NO_ANSWER else str(label + 1) for label in answers.label)},"
    width = max(1, len(program.classes))
    shares = [_double(share) for share in program.contributions(t).ravel().tolist()]
    yield f"      shares = matrix({_vector(shares)}, ncol = {width}, byrow = TRUE)\n    )"


def _cuts(table: StepTable, program: Program) -> Iterator[tuple[float, int]]:
    """Yield the two parts of each cut; a switch has one that no code is below."""
    for column, cut, size in zip(table.column, table.cut, table.size, strict=True):
        encoding = program.inputs[column] if column >= 0 else None
        if encoding is None or encoding.is_categorical or size:
            yield -math.inf, 0
        elif encoding.kind == "number":
            yield float(cut), 0
        else:
            high, low = divmod(abs(int(cut)), _PART)
            yield (high, low) if cut >= 0 else (-high, -low)


def _vector(texts: Iterable[str]) -> str:
    lines, width = [""], 0
    for text in texts:
        if width + len(text) > 100:
            lines.append("        ")
            width = 0
        lines[-1] += f"{text}, "
        width += len(text) + 2
    return f"c({chr(10).join(line.rstrip() for line in lines).removesuffix(',')})"


def _double(number: float) -> str:
    if math.isnan(number):
        return "NA"
    if math.isinf(number):
        return "Inf" if number > 0 else "-Inf"
    return str(int(number)) if number == int(number) and abs(number) < 2**53 else float(number).hex()


def _label(label: object, texts: bool) -> str:
    """Write a class; numbers that a double cannot hold, and numbers beside texts, are texts."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int | float) and not texts and abs(label) <= 2**53:
        return _double(label)
    if not _can_hold(str(label)):
        raise _refusal("class", str(label))
    return _text(str(label))


def _can_hold(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= ch <= "\udfff" for ch in text)


def _refusal(what: str, text: str) -> ParameterError:
    reason = "the character NUL" if "\0" in text else "half of a surrogate pair"
    return ParameterError(f'{what} "{truncate(text)}" contains {reason}, which R texts cannot.')


def _text(text: str) -> str:
    return '"' + "".join(_character(ch) for ch in text) + '"'


def _character(ch: str) -> str:
    if " " <= ch <= "~":
        return f"\\{ch}" if ch in '"\\' else ch
    return f"\\u{ord(ch):04x}" if ord(ch) < 0x10000 else f"\\U{ord(ch):08x}"


def _comment(text: str) -> str:
    return safe(text).encode("ascii", "backslashreplace").decode()
