"""Rows on which an export is most likely to be wrong: made from the program's own cuts and levels.

Around every cut: the cut itself and its neighbours. Besides: NaN, infinities, both zeros, denormals, the extremes,
missing values, the empty text, never-seen levels that resemble known ones. Half of the rows combine such values at
random; the others are led to a random answer of a random tree, whose path admits only some of them.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import INT64_MAX, INT64_MIN, UNSEEN, Encoding
from treewise.formats.export.program import Program, Routine, Step, Switch, Test

NS_PER_DAY = 86_400 * 10**9
_YEAR_1, _YEAR_10000 = -719162 * NS_PER_DAY, 2932897 * NS_PER_DAY
_MAX_PATH_STEPS = 300_000  # of all led rows together
_ODD_NUMBERS = [
    math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, sys.float_info.min, -sys.float_info.min,
    sys.float_info.max, -sys.float_info.max, 1.0, -1.0, 2.0**53, 2.0**53 + 2, 1e300, -1e-300, 0.1,
]  # fmt: skip
_ODD_INTEGERS = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, INT64_MAX, INT64_MAX - 1, INT64_MIN + 1, INT64_MIN + 2]
_ODD_TEXTS = [
    "", " ", "  ", "'", "''", '"', "`", "\\", "\\\\", "NULL", "null", "nan", "None", "NA", "true", "0", "-0", "\n",
    "\t", "a\nb", "\x7f", "\u00a0", "\u200b", "é", "e\u0301", "ß", "SS", "🌲", "東京", "%", "_", "{}", "$1",
    "\0", "a\0b",
]  # fmt: skip

Cell = float | int | str | bool | None  # a datetime is a number of nanoseconds since 1970


@dataclass(frozen=True)
class EngineLimits:
    """The values that an engine's cells can hold."""

    nul: bool = True  # NUL in text
    empty: bool = True  # the empty text, other than as missing
    controls: bool = True  # control characters in text
    digits: int | None = None  # significant digits of a finite number; None: every double
    finite: bool = False  # no infinities
    surrogates: bool = False  # halves of surrogate pairs in text
    datetime_step: int = 1  # nanoseconds; columns in coarser units have microseconds


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows for an engine, and the same rows encoded for the model."""

    cells: list[list[Cell]]  # one list per input of the program
    encoded: list[Any]  # one array per input

    def __len__(self) -> int:
        return len(self.cells[0]) if self.cells else 1

    def row(self, i: int, names: Sequence[str]) -> dict[str, Cell]:
        """Return one row by name."""
        return {name: column[i] for name, column in zip(names, self.cells, strict=True)}

    def part(self, rows: slice) -> Rows:
        """Return some of the rows."""
        return Rows([column[rows] for column in self.cells], [values[rows] for values in self.encoded])


def fuzz_rows(program: Program, n: int, seed: int, limits: EngineLimits) -> Rows:
    """Return n rows."""
    rng = random.Random(seed)
    pools = [_Pool(encoding, i, program, limits, rng) for i, encoding in enumerate(program.inputs)]
    rows = [[pool.any_value(rng) for pool in pools] for _ in range(n - n // 2)]
    budget = _MAX_PATH_STEPS
    for _ in range(n // 2):
        if budget <= 0:
            rows.append([pool.any_value(rng) for pool in pools])
            continue
        row, n_steps = _row_to_random_answer(rng.choice(program.routines), pools, rng)
        budget -= n_steps
        rows.append(row)
    rng.shuffle(rows)
    columns = [[row[i] for row in rows] for i in range(len(pools))]
    return Rows(columns, [encode_cells(e, column) for e, column in zip(program.inputs, columns, strict=True)])


def encode_cells(encoding: Encoding, cells: Sequence[Cell]) -> Any:
    """Encode cells as the model's arrays: level by level, exactly as spelled."""
    if encoding.kind == "number":
        return np.array([math.nan if cell is None else cell for cell in cells], np.float64)
    if encoding.kind == "integer":
        return np.array([INT64_MIN if cell is None else cell for cell in cells], np.int64)
    if encoding.kind == "datetime":
        step = NS_PER_DAY // TICKS_PER_DAY[encoding.unit]
        return np.array([INT64_MIN if cell is None else int(cell) // step for cell in cells], np.int64)
    if encoding.kind == "boolean":
        return np.array([-1 if cell is None else int(cell) for cell in cells], np.int32)
    codes = {level: code for code, level in enumerate(encoding.levels)}
    return np.array([-1 if cell is None else codes.get(str(cell), UNSEEN) for cell in cells], np.int32)


class _Pool:
    """The values of one column that are tried."""

    def __init__(
        self, encoding: Encoding, column: int, program: Program, limits: EngineLimits, rng: random.Random
    ) -> None:
        self.encoding = encoding
        self.values: list[Cell]
        if encoding.is_categorical:
            self.values = _boolean_or_levels(encoding, limits, rng)
            return
        cuts = {
            step.cut
            for routine in program.routines
            for step in routine.steps
            if isinstance(step, Test) and step.column == column and step.op != "present"
        }
        some = sorted(cuts) if len(cuts) <= 20_000 else sorted(rng.sample(sorted(cuts), 20_000))
        if encoding.kind == "number":
            numbers = sorted(_numbers(some, limits.digits))
            self.values = [*(v for v in numbers if math.isfinite(v) or not limits.finite), math.nan, None]
        elif encoding.kind == "integer":
            self.values = [*sorted(_integers(some)), None]
        else:
            self.values = [*sorted(_datetimes(some, encoding, limits)), None]

    def any_value(self, rng: random.Random) -> Cell:
        """Return any value; one in ten is missing."""
        return None if rng.random() < 0.1 else rng.choice(self.values)

    def value_among(self, admits: Callable[[Cell], bool], rng: random.Random) -> Cell:
        """Return a value that is admitted; any value if none of those tried is."""
        for _ in range(30):
            value = rng.choice(self.values)
            if admits(value):
                return value
        return next((value for value in self.values if admits(value)), self.values[0])

    def key(self, value: Cell) -> Any:
        """Return what steps compare: a number, a level's code, or None for missing."""
        if value is None or value != value:
            return None
        return encode_cells(self.encoding, [value])[0].item()


def _row_to_random_answer(routine: Routine, pools: list[_Pool], rng: random.Random) -> tuple[list[Cell], int]:
    """Return a row that goes to a random answer, and the number of steps on its way."""
    row: list[Cell] = [pool.any_value(rng) for pool in pools]
    fixed: dict[int, list[tuple[Step, int]]] = {}  # column → tests passed and the step after each
    at, n_steps = 0, 0
    while not isinstance(step := routine.steps[at], tuple) or isinstance(step, Test | Switch):
        assert isinstance(step, Test | Switch)
        passed = fixed.setdefault(step.column, [])
        pool = pools[step.column]
        # A value that takes the same way through all tests of its column so far, and a random way here.
        earlier = passed[-8:]

        def admits(value: Cell, pool: _Pool = pool, earlier: list[tuple[Step, int]] = earlier) -> bool:
            key = pool.key(value)
            return all(next_step(test, key) == after for test, after in earlier)

        if rng.random() < 0.5:
            row[step.column] = pool.value_among(admits, rng)
        at_next = next_step(step, pool.key(row[step.column]))
        passed.append((step, at_next))
        at, n_steps = at_next, n_steps + 1
    return row, n_steps


def next_step(step: Step, key: Any) -> int:
    """Return the step after a test; ``key`` is a number, a level's code, or None for missing: the readable walk."""
    assert isinstance(step, Test | Switch)
    if key is None:
        return step.missing
    if isinstance(step, Test):
        holds = step.op == "present" or (key <= step.cut if step.op == "<=" else key < step.cut)
        return step.below if holds else step.above
    return next((child for codes, child in step.cases if key in codes), step.default)


def _numbers(cuts: list[Any], digits: int | None) -> list[float]:
    if digits is not None:
        return _short_numbers(cuts, digits)
    near = [v for cut in cuts for v in (cut, math.nextafter(cut, math.inf), math.nextafter(cut, -math.inf))]
    between = [(a + b) / 2 for a, b in pairwise(cuts)]
    return [value for value in (*near, *between, *_ODD_NUMBERS) if not math.isnan(value)]


def _short_numbers(cuts: list[Any], digits: int) -> list[float]:
    """Return numbers of some digits around each cut, without infinities and denormals."""
    near = [float(f"{cut:.{digits - 1}e}") for cut in cuts]
    steps = [10.0 ** (math.floor(math.log10(abs(v))) - digits + 1) if v else 1e-9 for v in near]
    around = [value + k * step for value, step in zip(near, steps, strict=True) for k in (-2, -1, 0, 1, 2)]
    numbers = {float(f"{value:.{digits - 1}e}") for value in (*around, *_ODD_NUMBERS) if math.isfinite(value)}
    return [value for value in numbers if value == 0 or 1e-300 < abs(value) < 1e300]


def _integers(cuts: list[Any]) -> list[int]:
    near = [value for cut in cuts for value in (cut - 1, cut, cut + 1)]
    return [value for value in (*near, *_ODD_INTEGERS) if INT64_MIN < value <= INT64_MAX]


def _datetimes(cuts: list[Any], encoding: Encoding, limits: EngineLimits) -> list[int]:
    """Return moments in nanoseconds: the beginning and the end of the ticks around each cut."""
    step = NS_PER_DAY // TICKS_PER_DAY[encoding.unit]
    resolution = limits.datetime_step if encoding.unit == "ns" else max(1000, limits.datetime_step)
    low, high = _YEAR_1, _YEAR_10000
    if encoding.unit == "ns":
        low, high = -(2**63) + 10**9, 2**63 - 10**9
    ticks = [0, 86_399 * 10**9, low + NS_PER_DAY, high - NS_PER_DAY, -resolution]
    for cut in cuts:
        edge = (cut + 1) * step  # the first moment after the cut
        ticks += [edge - step, edge - resolution, edge, edge + resolution]
    return [v // resolution * resolution for v in ticks if low + resolution <= v < high]


def _boolean_or_levels(encoding: Encoding, limits: EngineLimits, rng: random.Random) -> list[Cell]:
    if encoding.kind == "boolean":
        return [True, False, None]
    levels = list(encoding.levels)
    known = levels if len(levels) <= 200 else rng.sample(levels, 200)
    alike = [
        twist for level in known[:40] for twist in (level.upper(), level.lower(), level + " ", " " + level, level[:-1])
    ]
    unseen = [text for text in (*alike, *_ODD_TEXTS, "(never seen)") if text not in levels]

    def fits(text: str) -> bool:
        if (not limits.nul and "\0" in text) or (not limits.empty and not text):
            return False
        if not limits.controls and any(ord(ch) < 32 or ord(ch) == 127 for ch in text):
            return False
        return limits.surrogates or not any("\ud800" <= ch <= "\udfff" for ch in text)

    # known levels as often as all others together
    values: list[Cell] = [text for text in unseen if fits(text)]
    usable = [text for text in known if fits(text)]
    repeat = max(1, len(values) // max(1, len(usable)))
    return [*values, *usable * repeat, None]
