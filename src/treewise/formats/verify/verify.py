"""Verify an export: run it in its engine on fuzzed and given rows, and compare every answer with ``predict``.

    model, export ──stamp──▶ engines ──run──▶ Outputs ──compare──▶ Verification
                    fuzz_rows ──┴──────────▶ expected answers

Answers must be equal: classes, and probabilities and values to the last bit. Rows reach the engine as plain typed cells
in the model's spelling: a category is the text of its level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from treewise._lib.text import plural, safe
from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import INT64_MIN, UNSEEN, Encoding
from treewise.data.table import read
from treewise.errors import DataError, PackageError, ParameterError, did_you_mean
from treewise.formats.export.export import Exported
from treewise.formats.export.program import Program, compile_model
from treewise.formats.export.stamp import read_stamp
from treewise.formats.verify.engines.registry import ENGINES, Export, ExportEngine, NotInstalled, Outputs
from treewise.formats.verify.fuzz import NS_PER_DAY, Cell, Rows, fuzz_rows
from treewise.predict.predict import EncodedRows, encode_rows
from treewise.tree.model import Model

_MAX_SHOWN = 5  # mismatches in a message
DEFAULT_ROWS = 2_000
_FIRST_PART, _GROWTH = 500, 3  # rows that an engine gets first, if progress is shown, and how much more each time


@dataclass(frozen=True)
class Mismatch:
    """A row on which the export answers otherwise."""

    row: dict[str, Cell]
    output: str
    expected: Any
    actual: Any

    def __str__(self) -> str:
        cells = ", ".join(f"{safe(name)}={cell!r}" for name, cell in self.row.items())
        return f"{self.output} is {self.actual!r} instead of {self.expected!r} for {{{cells}}}"


@dataclass(frozen=True)
class EngineRun:
    """The comparison in one engine."""

    engine: str  # name and version
    rows: int
    fuzzed: int  # of these, made up
    mismatches: tuple[Mismatch, ...]  # at most one per row
    outputs: tuple[str, ...]  # what was compared

    def __str__(self) -> str:
        agree = self.rows - len(self.mismatches)
        given = f", {self.rows - self.fuzzed:,} given" if self.rows > self.fuzzed else ""
        lines = [
            f"{self.engine}: {agree:,} of {plural(self.rows, 'row')} agree ({self.fuzzed:,} fuzzed{given};"
            f" {', '.join(self.outputs)})"
        ]
        lines += [f"  {mismatch}" for mismatch in self.mismatches[:_MAX_SHOWN]]
        if len(self.mismatches) > _MAX_SHOWN:
            lines.append(f"  and {plural(len(self.mismatches) - _MAX_SHOWN, 'row')} more")
        return "\n".join(lines)


@dataclass(frozen=True)
class Verification:
    """The result of ``verify_export``: what each engine answered, and which engines did not run.

    >>> import treewise as tw
    >>> tree = tw.grow("penguins", max_depth=2)
    >>> result = tw.verify_export(tree, tree.export("python"), rows=100)
    >>> result.ok, result.runs[0].rows, result.not_run
    (True, 100, {})
    """

    runs: tuple[EngineRun, ...]
    not_run: dict[str, str]  # engine → why not

    @property
    def ok(self) -> bool:
        """Whether some engine ran and every row agreed."""
        return bool(self.runs) and not any(run.mismatches for run in self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values; cells, which may be of any type, as text."""
        runs = [
            {
                "engine": run.engine,
                "rows": run.rows,
                "fuzzed": run.fuzzed,
                "outputs": list(run.outputs),
                "mismatches": [
                    {
                        "row": {name: None if cell is None else str(cell) for name, cell in mismatch.row.items()},
                        "output": mismatch.output,
                        "expected": str(mismatch.expected),
                        "actual": str(mismatch.actual),
                    }
                    for mismatch in run.mismatches
                ],
            }
            for run in self.runs
        ]
        return {"ok": self.ok, "runs": runs, "not_run": self.not_run}

    def __str__(self) -> str:
        left_out = [f"{name}: not run ({reason})" for name, reason in self.not_run.items()]
        return "\n".join([*map(str, self.runs), *left_out])


def verify_export(
    model: Model,
    export: Any,
    data: Any = None,
    *,
    engine: str | None = None,
    rows: int = DEFAULT_ROWS,
    random_state: int = 0,
    estimate: Any = None,
    progress: Callable[[float], None] | None = None,
) -> Verification:
    """Run an export in its real engine and compare every answer with the model's.

    >>> import treewise as tw
    >>> tree = tw.grow("penguins", max_leaf_nodes=4)
    >>> print(tw.verify_export(tree, tree.export("sql", dialect="sqlite"), "penguins", rows=500))  # doctest: +ELLIPSIS
    SQLite 3...: 844 of 844 rows agree (500 fuzzed, 344 given; prediction, probabilities, leaf)

    Parameters
    ----------
    model : the tree or ensemble that was exported.
    export : what ``model.export`` returned, or the path of the file.
    data : a table whose rows are compared as well.
    engine : the engine to use; by default every one that runs this format.
    rows : number of fuzzed rows.
    random_state : seed of the fuzzed rows.
    estimate : as given to ``export``.
    progress : called with the share that is done; the rows then go to the engine in parts.
    """
    content = read_export(export)
    stamp = find_stamp(content)
    program = compile_model(model, estimate)
    runs, not_run, versions = [], {}, {}
    for name, each in _engines_for(stamp, engine).items():
        try:
            versions[each] = each.find()
        except NotInstalled as reason:
            not_run[name] = str(reason)
    given = [] if data is None else [_given_rows(model, program, data)]
    for i, (each, version) in enumerate(versions.items()):
        batches = [fuzz_rows(program, rows, random_state, each.limits), *given]
        report = None if progress is None else (lambda done, i=i: progress((i + done) / len(versions)))
        runs.append(_run(each, version, model, Export(content, stamp, program), batches, estimate, report))
    if not runs:
        listed = "; ".join(f"{name} ({reason})" for name, reason in not_run.items())
        raise PackageError(f"the export was not run: no engine for it is installed here. Missing: {listed}.")
    return Verification(tuple(runs), not_run)


def read_export(export: Any) -> Exported:
    """Return the content of an export; a path is read."""
    if isinstance(export, bytes | dict) or (isinstance(export, str) and "\n" in export):
        return export
    path = Path(export)
    if path.is_dir():
        return {str(p.relative_to(path)): p.read_text("utf-8") for p in sorted(path.rglob("*")) if p.is_file()}
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {safe(export)}: {error.strerror or error}.") from None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def find_stamp(content: Exported) -> dict[str, Any]:
    """Return the stamp of an export, or raise."""
    texts = content.values() if isinstance(content, dict) else [content]
    for text in texts:
        stamp = read_stamp(text if isinstance(text, str) else text.decode("utf-8", "replace"))
        if stamp is not None:
            return stamp
    raise ParameterError(
        'the file has no line "treewise-export {…}", which says in which format it is.',
        hint="Verify a file as treewise export wrote it, in a format that can be run.",
    )


def _engines_for(stamp: dict[str, Any], engine: str | None) -> dict[str, ExportEngine]:
    serving = {name: each for name, each in ENGINES.items() if each.serves(stamp)}
    if engine is not None and engine not in ENGINES:
        hint = did_you_mean(engine, ENGINES)
        raise ParameterError(f"must be one of {', '.join(ENGINES)}.", parameter="engine", value=engine, hint=hint)
    what = stamp["format"] + (f" ({stamp['dialect']})" if "dialect" in stamp else "")
    if not serving:
        raise PackageError(f"the export was not run: no engine runs {what}.")
    if engine is None:
        return serving
    if engine not in serving:
        raise ParameterError(f"does not run {what}; {' and '.join(serving)} can.", parameter="engine", value=engine)
    return {engine: serving[engine]}


def _run(
    engine: ExportEngine,
    version: str,
    model: Model,
    export: Export,
    batches: Sequence[Rows],
    estimate: Any,
    progress: Callable[[float], None] | None,
) -> EngineRun:
    mismatches: list[Mismatch] = []
    outputs: tuple[str, ...] = ()
    total, done = sum(map(len, batches)), 0
    for rows in batches if progress is None else (part for batch in batches for part in _parts(batch)):
        actual, expected = engine.run(export, rows), expected_outputs(model, export.program, rows, estimate)
        outputs = tuple(name for name in ("prediction", "probabilities", "leaf") if getattr(actual, name) is not None)
        mismatches += compare(export.program, rows, expected, actual, outputs)
        done += len(rows)
        if progress is not None:
            progress(done / total)
    return EngineRun(version, total, len(batches[0]), tuple(mismatches), outputs)


def _parts(rows: Rows) -> Iterator[Rows]:
    """Yield the rows in growing parts: an engine that starts slowly is started a few times only."""
    first, size = 0, _FIRST_PART
    while first < len(rows):
        part = slice(first, first + size if first + 2 * size < len(rows) else len(rows))
        yield rows if part == slice(0, len(rows)) else rows.part(part)
        first, size = part.stop, size * _GROWTH


# -- what is expected -------------------------------------------------------------------------------------------------


def expected_outputs(model: Model, program: Program, rows: Rows, estimate: Any = None) -> Outputs:
    """Return what the model answers, by the same code as ``predict``; None where ``predict`` would raise."""
    columns: list[Any] = [None] * len(model.encodings)
    for column, values in zip(model.used_columns, rows.encoded, strict=True):
        columns[column] = values
    encoded = EncodedRows(read({"row": np.arange(len(rows))}), columns, is_permuted=True)
    answers, leaves = model.answers(encoded, estimate), model.leaves(encoded).tolist()
    answered = np.ones(len(rows), bool)
    if model.fit_info.refuses_missing:
        for encoding, values in zip(program.inputs, rows.encoded, strict=True):
            answered &= ~_is_missing(encoding, values)
        leaves = [leaf if ok else None for leaf, ok in zip(leaves, answered.tolist(), strict=True)]
    probabilities: list[Any] | None = None
    if program.is_regression:
        values = answers.values()
        answered &= ~np.isnan(values)
        prediction = [v if ok else None for v, ok in zip(values.tolist(), answered.tolist(), strict=True)]
    else:
        numbers = answers.class_numbers()
        answered &= numbers >= 0
        known = answered.tolist()
        prediction = [model.classes[c] if ok else None for c, ok in zip(numbers.tolist(), known, strict=True)]
        shares = answers.probabilities().tolist()
        probabilities = [row if ok else None for row, ok in zip(shares, known, strict=True)]
    return Outputs(prediction, probabilities, leaves)


def _is_missing(encoding: Encoding, values: Any) -> Any:
    if encoding.kind == "number":
        return np.isnan(values)
    return values == (-1 if encoding.is_categorical else INT64_MIN)


def _given_rows(model: Model, program: Program, data: Any) -> Rows:
    """Return the rows of a table as cells: encoded as for ``predict``, and decoded to the model's spelling."""
    rows = encode_rows(model, data)
    encoded = [rows.columns[column] for column in model.used_columns]
    cells = [_decode(e, values) for e, values in zip(program.inputs, encoded, strict=True)]
    return Rows(cells, encoded)


def _decode(encoding: Encoding, values: Any) -> list[Cell]:
    if encoding.kind == "number":
        return [float(value) for value in values]
    present = values.tolist()
    if encoding.kind == "boolean":
        return [None if code < 0 else bool(code) for code in present]
    if encoding.is_categorical:
        unseen = "(never seen)"
        while unseen in encoding.levels:
            unseen += "?"
        return [None if code == -1 else unseen if code == UNSEEN else encoding.levels[code] for code in present]
    step = NS_PER_DAY // TICKS_PER_DAY[encoding.unit] if encoding.kind == "datetime" else 1
    return [None if value == INT64_MIN else value * step for value in present]


# -- comparing --------------------------------------------------------------------------------------------------------


def compare(program: Program, rows: Rows, expected: Outputs, actual: Outputs, outputs: Sequence[str]) -> list[Mismatch]:
    """Return the first difference of each row."""
    names = [encoding.name for encoding in program.inputs]
    mixed = len({type(label) for label in program.classes}) > 1
    differences: dict[int, Mismatch] = {}
    for output in outputs:
        expected_values, actual_values = getattr(expected, output), getattr(actual, output)
        if len(expected_values) != len(actual_values):
            raise DataError(f"the export answered {plural(len(actual_values), 'row')} of {len(expected_values):,}.")
        for i, (a, b) in enumerate(zip(expected_values, actual_values, strict=True)):
            if mixed and output == "prediction" and a is not None:
                a = str(a)
            if not _equal(a, b):
                differences.setdefault(i, Mismatch(rows.row(i, names), output, a, b))
    return [differences[i] for i in sorted(differences)]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if a is None or (isinstance(a, float) and math.isnan(a)):
        return b is None or (isinstance(b, float) and math.isnan(b))
    if isinstance(a, str) != isinstance(b, str):
        return False
    return bool(a == b)
