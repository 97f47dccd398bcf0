r"""Export format "c": a single C99 header without allocation.

    model_row row = {.x0_flipper_length_mm = 190.0, .x1_island = "Dream"};
    int32_t c = model_predict(&row);              // position in model_classes; -1 for no answer
    model_predict_proba(&row, probabilities);
    int32_t node = model_apply(&row);             // number of the node at which the row ends

Numbers are written as hexadecimal floats, which are exact. Missing is NaN for numbers, INT64_MIN for wide integers and
datetimes (ticks since 1970 in the column's unit), NULL for text and -1 for booleans. Texts become level numbers once
per row; never-seen levels and missing ones have numbers of their own, so that a test of levels is one bit of a mask.
Small trees are nested ``if``; the steps of larger ones are tables (``form="table"``), which compile quickly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from treewise._lib.text import safe
from treewise.data.column import truncate
from treewise.data.encoding import INT64_MIN, Encoding
from treewise.errors import ParameterError
from treewise.formats.export.program import NO_ANSWER, Answer, BranchCondition, Program, Step, Switch, Test
from treewise.formats.export.stamp import stamp

_MAX_CODE_STEPS = 20_000, 200_000  # of one tree and of a file, as nested if; gcc -O3 needs about 20 s per 100,000
_FORMS = ("auto", "code", "table")
_TYPES = {"number": "double", "integer": "int64_t", "datetime": "int64_t", "boolean": "int8_t"}

_LEVEL_OF = """
/* The number of a level; n for one that was never seen, n + 1 for a missing one. */
static inline int32_t {name}_level(const {name}_level_text *levels, int32_t high, int32_t n, const char *text) {{
    int32_t low = 0;
    if (text == NULL) return n + 1;
    while (low < high) {{
        const int32_t middle = low + (high - low) / 2;
        const int order = strcmp(levels[middle].text, text);
        if (order == 0) return levels[middle].level;
        if (order < 0) low = middle + 1; else high = middle;
    }}
    return n;
}}
"""
_WALK = """
static inline int32_t {name}_walk(const {name}_step *at, const {name}_cells *c) {{
    for (;;) {{
        const {name}_step *s = at;
        int32_t next;
        switch (s->kind) {{
        case 0: {{ const double x = c->n[s->column], cut = {name}_cuts[s->data];
            next = x <= cut ? s->below : x > cut ? s->above : s->missing; break; }}
        case 1: {{ const int64_t x = c->i[s->column];
            next = x == INT64_MIN ? s->missing : x <= {name}_integer_cuts[s->data] ? s->below : s->above; break; }}
        case 2: next = {name}_targets[s->data + c->k[s->column]]; break;
        case 3: {{ const double x = c->n[s->column], cut = {name}_cuts[s->data];
            next = x < cut ? s->below : x >= cut ? s->above : s->missing; break; }}
        default: return s->data;
        }}
        at += next;
    }}
}}
"""


def write(program: Program, *, name: str = "model", form: str = "auto") -> str:
    """Return the header; all its names begin with ``name``.

    >>> import treewise as tw
    >>> print(tw.grow("penguins", max_depth=1).export("c", name="penguin").partition("tree_0")[2][:88])
    (const penguin_cells *c) {
        if (c->n[0] <= 0x1.9d00000000000p+7) {
            return 0;
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ParameterError("must be a name in C: letters, digits and _.", parameter="name", value=name)
    if form not in _FORMS:
        raise ParameterError(f"must be one of {', '.join(_FORMS)}.", parameter="form", value=form)
    steps = sum(len(routine.steps) for routine in program.routines)
    largest = max(len(routine.steps) for routine in program.routines)
    is_large = largest > _MAX_CODE_STEPS[0] or steps > _MAX_CODE_STEPS[1]
    as_table = form == "table" or (form == "auto" and is_large)
    printer = _Printer(program, name)
    return "\n".join([*printer.head(as_table, steps), *printer.trees(as_table), *printer.functions(), "", "#endif", ""])


class _Printer:
    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name
        self.fields = [f"x{i}{_suffix(encoding.name)}" for i, encoding in enumerate(program.inputs)]
        # The cells of a row, by type: the index of each column.
        counts = {"n": 0, "i": 0, "k": 0}
        self.cells: list[str] = []
        for encoding in program.inputs:
            group = "n" if encoding.kind == "number" else "k" if encoding.is_categorical else "i"
            self.cells.append(f"{group}[{counts[group]}]")
            counts[group] += 1
        self.counts = counts
        self.sets: dict[tuple[int, ...], str] = {}  # words of a mask → its table

    # -- declarations ---------------------------------------------------------------------------------------------

    def head(self, as_table: bool, steps: int) -> Iterator[str]:
        """Yield everything up to the trees."""
        name, program = self.name, self.program
        guard = f"{name.upper()}_H"
        yield f"/* {stamp('c', name=name)} */"
        yield f"/* Predicts {_comment(program.target.name)}; exported by treewise."
        if as_table:
            yield f"   The trees are tables: as nested if, {steps:,} steps would take a compiler very long."
        yield "   Compile without -ffast-math, which ignores NaN. */"
        yield f"#ifndef {guard}\n#define {guard}\n"
        yield "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
        yield "#if defined(__FAST_MATH__)\n#error missing values are NaN, which -ffast-math ignores\n#endif\n"
        if not program.is_regression:
            yield f"#define {name.upper()}_N_CLASSES {len(program.classes)}"
            yield f"static const char *const {name}_classes[] = {{{', '.join(map(_label, program.classes))}}};\n"
        yield "typedef struct {"
        for field, encoding in zip(self.fields, program.inputs, strict=True):
            kind = _TYPES.get(encoding.kind, "const char *")
            yield f"    {kind}{'' if kind.endswith('*') else ' '}{field}; /* {_field_comment(encoding)} */"
        yield from ["    char unused;"] if not self.fields else []
        yield f"}} {name}_row;\n"
        yield "typedef struct {"
        for kind, group in (("double", "n"), ("int64_t", "i"), ("int32_t", "k")):
            yield f"    {kind} {group}[{max(1, self.counts[group])}];"
        yield f"}} {name}_cells;\n"
        yield from self._levels()
        yield from self._reading()

    def _levels(self) -> Iterator[str]:
        """Yield the texts of the levels, sorted as strcmp sorts."""
        name, listed = self.name, False
        for i, encoding in enumerate(self.program.inputs):
            if not encoding.is_categorical or encoding.kind == "boolean":
                continue
            if not listed:
                yield f"typedef struct {{ const char *text; int32_t level; }} {name}_level_text;\n"
                listed = True
            levels = sorted((level.encode(), c) for c, level in enumerate(encoding.levels) if _can_hold(level))
            rows = ", ".join(f"{{{_text(text)}, {code}}}" for text, code in levels) or '{"", 0}'
            yield f"static const {name}_level_text {name}_levels_{i}[] = {{{rows}}};"
        if listed:
            yield _LEVEL_OF.format(name=name)

    def _reading(self) -> Iterator[str]:
        name = self.name
        yield f"static inline {name}_cells {name}_read(const {name}_row *row) {{"
        yield f"    {name}_cells c;"
        for i, (field, encoding) in enumerate(zip(self.fields, self.program.inputs, strict=True)):
            cell = self.cells[i]
            if encoding.kind == "boolean":
                yield f"    c.{cell} = row->{field} < 0 ? 3 : row->{field} != 0;"
            elif encoding.is_categorical:
                known = sum(map(_can_hold, encoding.levels))  # others cannot occur in a C string
                table, n = f"{name}_levels_{i}", len(encoding.levels)
                yield f"    c.{cell} = {name}_level({table}, {known}, {n}, row->{field});"
            else:
                yield f"    c.{cell} = row->{field};"
        yield from ["    (void)row; c.n[0] = 0.0;"] if not self.fields else []
        yield "    return c;\n}\n"

    # -- trees ----------------------------------------------------------------------------------------------------

    def trees(self, as_table: bool) -> list[str]:
        """Return the trees: ``name_tree_0(c)`` and so on, which return the number of an answer."""
        if as_table:
            return list(self._tables())
        lines = []
        for t, routine in enumerate(self.program.routines):
            lines.append(f"static inline int32_t {self.name}_tree_{t}(const {self.name}_cells *c) {{")
            start = len(lines)
            for line in routine.code_lines(range(len(routine.answers))):
                margin = "    " * (line.depth + 1)
                if line.kind == "if":
                    assert line.condition is not None
                    lines.append(f"{margin}if ({self.condition(line.condition)}) {{")
                elif line.kind == "end":
                    lines.append(f"{margin}}}")
                else:
                    lines.append(f"{margin}return {line.answer};")
            if len(lines) == start + 1:  # no test
                lines.insert(start, "    (void)c;")
            lines.append("}\n")
        masks = [
            f"static const uint64_t {table}[] = {{{', '.join(f'UINT64_C({word:#x})' for word in words)}}};"
            for words, table in self.sets.items()
        ]
        return [*masks, *lines]

    def condition(self, condition: BranchCondition) -> str:
        """Write a condition: true for the values it means, missing ones as it says."""
        x, encoding = f"c->{self.cells[condition.column]}", self.program.inputs[condition.column]
        if condition.op is None:
            return self._mask(x, condition, len(encoding.levels))
        if encoding.kind != "number":
            return _integer_condition(x, condition)
        return condition.compare(x, _double(condition.cut))

    def _mask(self, x: str, condition: BranchCondition, n_levels: int) -> str:
        codes = set(condition.levels)
        if condition.negated:
            codes = {*range(n_levels), n_levels} - codes
        codes |= {n_levels + 1} if condition.missing else set()
        others = set(range(n_levels + 2)) - codes
        if len(codes) == 1 or len(others) == 1:
            return f"{x} == {min(codes)}" if len(codes) == 1 else f"{x} != {min(others)}"
        words = tuple(
            sum(1 << (code - first) for code in codes if first <= code < first + 64)
            for first in range(0, n_levels + 2, 64)
        )
        if len(words) == 1:
            return f"UINT64_C({words[0]:#x}) >> {x} & 1"
        table = self.sets.setdefault(words, f"{self.name}_set_{len(self.sets)}")
        return f"{table}[{x} >> 6] >> ({x} & 63) & 1"

    def _tables(self) -> Iterator[str]:
        """Yield the steps as tables, and one loop that walks them; next steps are relative."""
        name, inputs = self.name, self.program.inputs
        cuts: dict[float, int] = {}
        integers: dict[int, int] = {}
        targets: list[int] = []
        rows: list[str] = []
        starts = []
        for routine in self.program.routines:
            starts.append(len(rows))
            for i, step in enumerate(routine.steps):
                slot = 0 if isinstance(step, Answer) else int(self.cells[step.column][2:-1])
                rows.append(_table_row(i, step, slot, inputs, cuts, integers, targets))
        yield f"typedef struct {{ int32_t kind, column, data, below, above, missing; }} {name}_step;\n"
        yield f"static const double {name}_cuts[] = {{{_wrapped(map(_double, cuts)) or '0'}}};"
        yield f"static const int64_t {name}_integer_cuts[] = {{{_wrapped(map(_int64, integers)) or '0'}}};"
        yield f"static const int32_t {name}_targets[] = {{{_wrapped(map(str, targets)) or '0'}}};"
        yield f"static const {name}_step {name}_steps[] = {{{_wrapped(rows)}}};"
        yield _WALK.format(name=name)
        for t, start in enumerate(starts):
            yield (
                f"static inline int32_t {name}_tree_{t}(const {name}_cells *c)"
                f" {{ return {name}_walk({name}_steps + {start}, c); }}"
            )
        yield ""

    # -- answers --------------------------------------------------------------------------------------------------

    def functions(self) -> Iterator[str]:
        """Yield the tables of answers and the functions that users call."""
        program, name = self.program, self.name
        for t, routine in enumerate(program.routines):
            yield f"static const int32_t {name}_nodes_{t}[] = {{{_wrapped(map(str, routine.answers.node))}}};"
        yield from self._one_tree() if program.combine == "tree" else self._many_trees()

    def _one_tree(self) -> Iterator[str]:
        program, name, answers = self.program, self.name, self.program.routines[0].answers
        call = f"const {name}_cells c = {name}_read(row);"
        yield f"\nstatic inline int32_t {name}_apply(const {name}_row *row) {{\n    {call}"
        yield f"    return {name}_nodes_0[{name}_tree_0(&c)];\n}}\n"
        if program.is_regression:
            yield f"static const double {name}_values[] = {{{_wrapped(map(_double, answers.value))}}};"
            yield f"static inline double {name}_predict(const {name}_row *row) {{\n    {call}"
            yield f"    return {name}_values[{name}_tree_0(&c)];\n}}"
            return
        yield f"static const int32_t {name}_labels[] = {{{_wrapped(map(str, answers.label))}}};"
        yield f"static inline int32_t {name}_predict(const {name}_row *row) {{\n    {call}"
        yield f"    return {name}_labels[{name}_tree_0(&c)];\n}}\n"
        shares = answers.probabilities.ravel().tolist()
        yield f"static const double {name}_shares[] = {{{_wrapped(map(_double, shares))}}};"
        k = len(program.classes)
        yield f"/* Writes {k} probabilities and returns the predicted class; -1 for no answer. */"
        yield f"static inline int32_t {name}_predict_proba(const {name}_row *row, double *probabilities) {{\n    {call}"
        yield f"    const int32_t answer = {name}_tree_0(&c);"
        yield f"    memcpy(probabilities, {name}_shares + (size_t)answer * {k}, {k} * sizeof(double));"
        yield f"    return {name}_labels[answer];\n}}"

    def _many_trees(self) -> Iterator[str]:
        """Yield the functions of an ensemble, which adds up its trees in their order."""
        program, name, n = self.program, self.name, len(self.program.routines)
        k = max(1, len(program.classes))
        for t, routine in enumerate(program.routines):
            if not program.is_regression:
                yield f"static const int32_t {name}_labels_{t}[] = {{{_wrapped(map(str, routine.answers.label))}}};"
            if program.combine != "vote":
                shares = program.contributions(t).ravel().tolist()
                yield f"static const double {name}_shares_{t}[] = {{{_wrapped(map(_double, shares))}}};"
        call = f"const {name}_cells c = {name}_read(row);"
        yield f"\n/* Writes {n} node numbers, one per tree; -1 for no answer. */"
        yield f"static inline void {name}_apply(const {name}_row *row, int32_t *nodes) {{\n    {call}"
        yield from (f"    nodes[{t}] = {name}_nodes_{t}[{name}_tree_{t}(&c)];" for t in range(n))
        yield "}\n"
        yield f"/* Adds up the trees; 0 if there is no answer. */\nstatic inline int {name}_sums(const {name}_row *row,"
        yield f"                             double *sums) {{\n    {call}\n    int32_t a, k;"
        yield f"    for (k = 0; k < {k}; ++k) sums[k] = 0.0;"
        for t in range(n):
            yield f"    a = {name}_tree_{t}(&c);"
            if not program.is_regression and NO_ANSWER in program.routines[t].answers.label:
                yield f"    if ({name}_labels_{t}[a] < 0) return 0;"
            if program.combine == "vote":
                yield f"    sums[{name}_labels_{t}[a]] += {_double(program.votes[t])};"
            elif program.is_regression:
                yield f"    sums[0] += {name}_shares_{t}[a];"
            else:
                yield f"    for (k = 0; k < {k}; ++k) sums[k] += {name}_shares_{t}[(size_t)a * {k} + (size_t)k];"
        yield "    return 1;\n}\n"
        yield from self._combined(k)

    def _combined(self, k: int) -> Iterator[str]:
        program, name = self.program, self.name
        if program.is_regression:
            yield f"static inline double {name}_predict(const {name}_row *row) {{\n    double sum;"
            yield f"    {name}_sums(row, &sum);"  # NaN where there is no answer
            yield f"    return sum / {_double(float(program.divisor))} * {_double(program.unit)};\n}}"
            return
        yield f"/* Writes {k} probabilities and returns the predicted class; -1 for no answer. */"
        yield f"static inline int32_t {name}_predict_proba(const {name}_row *row, double *probabilities) {{"
        yield "    int32_t k, best = 0;"
        yield f"    if (!{name}_sums(row, probabilities)) return -1;"
        largest = f"    for (k = 1; k < {k}; ++k) if (probabilities[k] > probabilities[best]) best = k;"
        if program.combine == "vote":
            yield largest
            yield "    {\n        double total = 0.0;"
            yield f"        for (k = 0; k < {k}; ++k) total += probabilities[k];"
            yield f"        for (k = 0; k < {k}; ++k) probabilities[k] /= total > 0.0 ? total : 1.0;\n    }}"
        else:
            yield f"    for (k = 0; k < {k}; ++k) probabilities[k] /= {_double(float(program.divisor))};"
            yield largest
        yield "    return best;\n}\n"
        yield f"static inline int32_t {name}_predict(const {name}_row *row) {{"
        yield f"    double probabilities[{k}];\n    return {name}_predict_proba(row, probabilities);\n}}"


def _table_row(
    i: int, step: Step, slot: int, inputs: tuple[Encoding, ...], cuts: dict[float, int], integers: dict[int, int],
    targets: list[int],
) -> str:  # fmt: skip
    """Return one step as an initialiser; next steps are relative to step i."""
    if isinstance(step, Answer):
        return f"{{4, 0, {step.number}, 0, 0, 0}}"
    if isinstance(step, Test):
        is_number = inputs[step.column].kind == "number"
        if is_number:
            cut = math.inf if step.op == "present" else float(step.cut)
            kind, data = (3 if step.op == "<" else 0), cuts.setdefault(cut, len(cuts))
        else:
            kind, data = 1, integers.setdefault(2**63 - 1 if step.op == "present" else int(step.cut), len(integers))
        return f"{{{kind}, {slot}, {data}, {step.below - i}, {step.above - i}, {step.missing - i}}}"
    assert isinstance(step, Switch)
    n = len(inputs[step.column].levels)
    start = len(targets)
    targets += [step.default - i] * (n + 1) + [step.missing - i]
    for codes, child in step.cases:
        for code in codes:
            targets[start + code] = child - i
    return f"{{2, {slot}, {start}, 0, 0, 0}}"


def _integer_condition(x: str, condition: BranchCondition) -> str:
    """Missing is the smallest integer, which is at most every cut."""
    if condition.below and condition.above:
        return f"{x} != INT64_MIN"
    if not (condition.below or condition.above):
        return f"{x} == INT64_MIN"
    cut = _int64(int(condition.cut))
    if condition.below:
        return f"{x} <= {cut}" if condition.missing else f"{x} <= {cut} && {x} != INT64_MIN"
    return f"{x} > {cut} || {x} == INT64_MIN" if condition.missing else f"{x} > {cut}"


def _int64(number: int) -> str:
    return "INT64_MIN" if number == INT64_MIN else f"INT64_C({number})"


def _double(number: float) -> str:
    """Write a double exactly.

    >>> _double(206.5), _double(float("nan")), _double(float("inf"))
    ('0x1.9d00000000000p+7', 'NAN', 'INFINITY')
    """
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return float(number).hex()


def _text(text: str | bytes) -> str:
    r"""Write a string literal in ASCII: other bytes are octal escapes, which end after three digits.

    >>> print(_text('say "é"?'))
    "say \"\303\251\"\?"
    """
    raw = text.encode() if isinstance(text, str) else text
    return '"' + "".join(_ESCAPES.get(byte, chr(byte)) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in raw) + '"'


_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}


def _label(label: object) -> str:
    text = str(label)
    if not _can_hold(text):
        raise ParameterError(
            f'class "{truncate(text)}" contains the character NUL or half of a surrogate pair, which C text cannot.'
        )
    return _text(text)


def _can_hold(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= ch <= "\udfff" for ch in text)


def _comment(text: str) -> str:
    """Write a name in a comment: on one line, and without the end of the comment."""
    return safe(text).replace("*/", "* /").replace("/*", "/ *").replace("??/", "?? /")


def _field_comment(encoding: Encoding) -> str:
    about = {
        "number": "",
        "integer": "; INT64_MIN: missing",
        "datetime": f"; ticks ({encoding.unit}) since 1970-01-01 UTC; INT64_MIN: missing",
        "boolean": "; -1: missing",
    }
    return _comment(encoding.name) + about.get(encoding.kind, "; NULL: missing")


def _suffix(name: str) -> str:
    """Return what a field's name shows of a column's name.

    >>> _suffix("bill length (mm)"), _suffix("…")
    ('_bill_length_mm', '')
    """
    plain = "_".join(re.findall(r"[A-Za-z0-9]+", name))[:40]
    return f"_{plain}" if plain else ""


def _wrapped(texts: Iterable[str]) -> str:
    """Join items, several to a line."""
    listed = list(texts)
    return ",\n".join(", ".join(listed[i : i + 8]) for i in range(0, len(listed), 8))
