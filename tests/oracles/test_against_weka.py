"""Weka's Id3 and J48 as oracles, if installed: preset ``id3`` against Id3, ``c45`` against J48.

**Id3** divides as we do but for equal gains (it takes what its doubles happen to prefer) and for splits that gain
nothing (it stops, we go on).

**J48** (``-U``: unpruned) is C4.5 release 8, and ``preset="c45"`` is what the book and the 1996 paper say. The rules in
which the two differ are the fields of ``Rules`` below. ``choose`` is C4.5's choice of a split in a few lines, under
either set of rules, and every node is held against it twice: with our rules it must divide as treewise does, with
J48's as J48 does. So each difference between the two programs is one of these rules, or J48's *collapsing* of a
subtree that errs no less than its root would, which is checked where it occurs.

``python -m tests.oracles.test_against_weka`` prints how often each matters.
"""

from __future__ import annotations

import math
import os
import shutil
from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.oracles.peers import (
    JAR,
    Parts,
    PeerTable,
    Rows,
    as_set,
    gain,
    in_codes,
    iris,
    nearly,
    penguins,
    random_peer_table,
    real,
    side_by_side,
    textbook,
    weka,
)

TABLES = 60 if os.environ.get("TREEWISE_LONG") else 8
REAL = ["mushroom", "nursery", "car"]

pytestmark = pytest.mark.skipif(
    shutil.which("java") is None or not JAR.exists(),
    reason="Weka is not installed (Debian: apt install weka default-jre-headless)",
)


# -- Id3 --------------------------------------------------------------------------------------------------------------


def compare_id3(sheet: PeerTable) -> Counter[str]:
    """Count the nodes by how the two agree; a difference that is not explained fails."""
    actual: Counter[str] = Counter()
    for place in side_by_side(sheet, weka("Id3", sheet), lambda rows: sheet.grow(rows, preset="id3")):
        mine, theirs = gain(sheet, "entropy", place.rows, place.ours), gain(sheet, "entropy", place.rows, place.theirs)
        if place.same:
            actual["same split" if place.ours else "same leaf"] += 1
        elif place.theirs and nearly(mine, theirs):
            actual["equal gains"] += 1
        elif not place.theirs and nearly(mine, 0.0):
            actual["zero gain"] += 1
        else:
            pytest.fail(f"{sheet}: {len(place.rows)} rows, we gain {mine}, Id3 {theirs}")
    return actual


@pytest.mark.parametrize("name", ["admissions"])
def test_id3_on_tables_of_the_notes(name: str) -> None:
    assert compare_id3(textbook(name, "Class"))["same split"] > 0


def test_id3_on_random_tables() -> None:
    actual = sum((compare_id3(random_peer_table(seed, numbers=False)) for seed in range(TABLES)), Counter())
    assert actual["same split"] > TABLES


@pytest.mark.parametrize("name", REAL)
def test_id3_on_real_tables(name: str) -> None:
    actual = compare_id3(real(name))
    assert actual["same split"] > 10 * actual["equal gains"]


def test_id3_stops_at_xor_and_we_do_not() -> None:
    sheet = in_codes("xor", [["0", "0", "1", "1"], ["0", "1", "0", "1"]], ["n", "p", "p", "n"])
    assert compare_id3(sheet) == {"zero gain": 1}
    assert sheet.grow(range(4), preset="id3").n_leaves == 4


# -- J48 --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """How a C4.5 chooses. Each field is a rule in which J48 and ``preset="c45"`` differ."""

    wide_cuts: bool  # a cut leaves a tenth of an average class's rows on each side, at most 25, at least the leaf limit
    tries: bool  # the price of a threshold is log2 of the cuts that the limits allow, not of all cuts
    positive: bool  # a threshold that gains no more than its price is no candidate, nor part of the average
    near_average: bool  # a gain may be 0.001 bits below the average
    near_ties: bool  # gains and ratios nearer than 1e-6 are equal
    two_branches: bool  # two branches must meet the leaf limit, not all
    useful: bool  # a split that gains nothing is none


OURS = Rules(*[False] * 7)
J48 = Rules(*[True] * 7)


def choose(sheet: PeerTable, rows: Rows, least: int, rules: Rules) -> Parts:
    """Return how C4.5 divides the rows of a node; nothing for a leaf."""
    y = sheet.codes["y"][rows]
    k, n = int(sheet.codes["y"].max()) + 1, len(rows)
    before = entropy(np.bincount(y, minlength=k))
    same = 1e-6 if rules.near_ties else 1e-10
    if before == 0.0 or n < 2 * least:
        return []
    offers: list[tuple[float, float, Parts]] = []  # gain, information of the division, the division
    for name in sheet.columns:
        made = best_cut if sheet.is_number(name) else all_levels
        offer = made(sheet.codes[name][rows], y, k, least, rules, before, same)
        if offer is not None:
            worth, branch = offer
            parts = [rows[branch == b] for b in np.unique(branch)]
            offers.append((worth, entropy(np.array([len(p) for p in parts])), parts))
    if not offers:
        return []
    average = sum(worth for worth, _, _ in offers) / len(offers)
    enough = [o for o in offers if o[0] >= average - (1e-3 if rules.near_average else 1e-10)]
    best, best_ratio = [], 0.0 if rules.useful else -math.inf
    for worth, information, parts in enough:
        if worth / information > best_ratio + same:
            best, best_ratio = parts, worth / information
    return best


Offer = tuple[float, npt.NDArray[np.int64]] | None


def best_cut(x: Any, y: Any, k: int, least: int, rules: Rules, before: float, same: float) -> Offer:
    """Find the threshold of largest gain; its gain is lessened by the price of saying which it is."""
    n = len(x)
    need = min(25.0, max(float(least), 0.1 * n / k)) if rules.wide_cuts else float(least)
    counts = np.zeros((int(x.max()) + 1, k), np.int64)
    np.add.at(counts, (x, y), 1)
    values = np.flatnonzero(counts.sum(axis=1))
    left = np.cumsum(counts[values], axis=0)[:-1]
    sizes = left.sum(axis=1)
    allowed = np.flatnonzero((sizes >= need) & (n - sizes >= need))
    if not len(allowed):
        return None
    best, best_gain = -1, 0.0 if rules.useful else -math.inf
    for i in allowed.tolist():
        right = counts.sum(axis=0) - left[i]
        actual = before - (sizes[i] * entropy(left[i]) + (n - sizes[i]) * entropy(right)) / n
        if actual > best_gain + same:
            best, best_gain = i, actual
    worth = best_gain - math.log2(len(allowed) if rules.tries else len(values) - 1) / n
    if best < 0 or (rules.positive and worth <= 1e-6):
        return None
    return worth, (x > values[best]).astype(np.int64)


def all_levels(x: Any, y: Any, k: int, least: int, rules: Rules, before: float, same: float) -> Offer:
    """Give each level a branch."""
    counts = np.zeros((int(x.max()) + 1, k), np.int64)
    np.add.at(counts, (x, y), 1)
    sizes = counts.sum(axis=1)
    enough = int((sizes >= least).sum())
    if enough < (2 if rules.two_branches else max(2, int((sizes > 0).sum()))):
        return None
    after = sum(size * entropy(c) for size, c in zip(sizes, counts, strict=True) if size) / len(x)
    return max(0.0, before - after), x


def entropy(counts: npt.NDArray[np.int64]) -> float:
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log2(p)).sum()) + 0.0


def compare_j48(sheet: PeerTable, least: int) -> Counter[str]:
    """Hold both programs against ``choose``, node by node, and count the rules in which they differ."""
    peer = weka("J48", sheet, "-U", "-M", str(least))
    actual: Counter[str] = Counter()
    for place in side_by_side(
        sheet, peer, lambda rows: sheet.grow(rows, preset="c45", pruning="none", min_samples_leaf=least)
    ):
        expected = {rules: choose(sheet, place.rows, least, rules) for rules in (OURS, J48)}
        assert as_set(place.ours) == as_set(expected[OURS]), f"{sheet}, M {least}: {len(place.rows)} rows, ours"
        if place.same:
            actual["same split" if place.ours else "same leaf"] += 1
        elif as_set(place.theirs) == as_set(expected[J48]):
            actual[reason(sheet, place.rows, least, expected[J48])] += 1
        elif not place.theirs and errors_below(sheet, place.rows, least) == errors(sheet, place.rows):
            actual["collapsed"] += 1
        else:
            pytest.fail(f"{sheet}, M {least}: {len(place.rows)} rows, J48 divides them as its rules do not say")
    return actual


def reason(sheet: PeerTable, rows: Rows, least: int, wanted: Parts) -> str:
    """Name the one rule of J48's that, added to ours, makes its split; else say that it takes several."""
    for rule in fields(Rules):
        if as_set(choose(sheet, rows, least, replace(OURS, **{rule.name: True}))) == as_set(wanted):
            return rule.name
    return "several rules"


def errors(sheet: PeerTable, rows: Rows) -> int:
    return len(rows) - max(Counter(sheet.y[r] for r in rows).values())


def errors_below(sheet: PeerTable, rows: Rows, least: int) -> int:
    """Count the training errors of the leaves J48 would have made below a node."""
    total, stack = 0, [rows]
    while stack:
        here = stack.pop()
        parts = choose(sheet, here, least, J48)
        stack += parts
        total += 0 if parts else errors(sheet, here)
    return total


@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("make", [iris, penguins])
def test_j48_on_iris_and_penguins(make: Any, least: int) -> None:
    assert compare_j48(make(), least)["same split"] > 0


@pytest.mark.parametrize("least", [1, 2])
def test_j48_on_random_tables(least: int) -> None:
    actual = sum((compare_j48(random_peer_table(seed), least) for seed in range(TABLES)), Counter())
    assert actual["same split"] > TABLES


@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("name", REAL)
def test_j48_on_real_tables(name: str, least: int) -> None:
    assert compare_j48(real(name), least)["same split"] > 0


def test_j48_needs_only_two_branches_of_two_rows_and_we_all() -> None:
    """C4.5's -m is about two branches; our min_samples_leaf, like everybody's, about every leaf."""
    sheet = in_codes("branches", [["a", "a", "b", "b", "c"]], ["n", "n", "p", "p", "p"])
    assert compare_j48(sheet, 2)["two_branches"] == 1
    assert sheet.grow(range(5), preset="c45", pruning="none")[0].stop == "min_samples_leaf"
    assert compare_j48(sheet, 1) == {"same split": 1, "same leaf": 3}


def main() -> None:
    """Print the agreement, table by table."""
    kinds = ["same split", "same leaf", "equal gains", "zero gain"]
    print(f"{'Id3':24}", *(f"{kind:>12}" for kind in kinds))
    for sheet in (textbook("admissions", "Class"), *map(real, REAL)):
        actual = compare_id3(sheet)
        print(f"{sheet.name:24}", *(f"{actual[kind]:12,}" for kind in kinds))
    actual = sum((compare_id3(random_peer_table(seed, numbers=False)) for seed in range(TABLES)), Counter())
    print(f"{f'{TABLES} drawn':24}", *(f"{actual[kind]:12,}" for kind in kinds))
    kinds = ["same split", "same leaf", *(rule.name for rule in fields(Rules)), "several rules", "collapsed"]
    print(f"\n{'J48':16}", *(f"{kind:>13}" for kind in kinds))
    for least in (1, 2):
        for sheet in (iris(), penguins(), *map(real, REAL)):
            actual = compare_j48(sheet, least)
            print(f"{f'{sheet.name} -M {least}':16}", *(f"{actual[kind]:13,}" for kind in kinds))
        actual = sum((compare_j48(random_peer_table(seed), least) for seed in range(TABLES)), Counter())
        print(f"{f'{TABLES} drawn -M {least}':16}", *(f"{actual[kind]:13,}" for kind in kinds))


if __name__ == "__main__":
    main()
