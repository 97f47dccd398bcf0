"""Exact trees and ensembles beside their peers: the same tables and limits, in turn, through public interfaces.

python -m benchmarks                      all workloads, all installed peers (about an hour)
python -m benchmarks --quick              a fiftieth of the rows (two minutes)
python -m benchmarks --workload W1 --peers scikit-learn,ydf
python -m benchmarks --growth             how time grows, from 10,000 to 10,000,000 rows
python -m benchmarks --write docs         also write docs/benchmarks.md and docs/img/benchmarks.svg
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.measure import Turn, run
from benchmarks.peers import LEARNERS, THREADS, Learner
from benchmarks.report import OURS, growth_table, machine, picture, seconds, table
from benchmarks.workloads import WORKLOADS, Workload, stored

QUICK = 50  # times fewer rows
GROWTH = ("W1 depth 8", "W1 min leaf 20")


def main(words: list[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"1/{QUICK} of the rows")
    parser.add_argument("--rows", type=int, help="so many rows for every workload")
    parser.add_argument("--workload", action="append", help="W1, W2, … or a full name; may be repeated")
    parser.add_argument("--peers", help="names, with commas between; none for treewise alone")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each library (default 2)")
    parser.add_argument("--repeat", type=int, default=2, help="least fits in each turn (default 2); the best counts")
    parser.add_argument("--seconds", type=float, default=8, help="and as many more as begin in this time (default 8)")
    parser.add_argument("--growth", action="store_true", help="only how time grows with rows")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write benchmarks.md and img/benchmarks.svg")
    asked = parser.parse_args(words)
    rounds = 1 if asked.quick else asked.rounds
    turn = (asked.repeat, 0.0 if asked.quick else asked.seconds)
    with tempfile.TemporaryDirectory(prefix="treewise-benchmarks-") as folder:
        found: dict[str, dict[str, dict[str, float]]] = {}
        learners = chosen_learners(parser, asked.peers)
        workloads = [] if asked.growth else chosen_workloads(parser, asked.workload)
        for workload in workloads:
            rows = asked.rows or (workload.rows // QUICK if asked.quick else workload.rows)
            found[workload.name] = compare(workload, learners, rows, Path(folder), rounds, turn)
        growth = {}
        if asked.growth or not asked.workload:
            growth = {
                name: grow_with_rows(name, Path(folder), most=10**4.6 if asked.quick else 10**7) for name in GROWTH
            }
    report(found, growth, [one.name for one in learners], asked.write)


def chosen_learners(parser: argparse.ArgumentParser, names: str | None) -> list[Learner]:
    """Return treewise and the peers asked for, as far as they are installed."""
    wanted = None if names is None else {name.strip().lower() for name in names.split(",")}
    known = {one.name.lower() for one in LEARNERS}
    if wanted and not wanted <= known | {"none", ""}:
        parser.error(f"--peers {names}: known are {', '.join(one.name for one in LEARNERS[1:])}, or none.")
    learners = []
    for one in LEARNERS:
        if one.name != OURS and wanted is not None and one.name.lower() not in wanted:
            continue
        if one.installed:
            learners.append(one)
        else:
            where = "apt-get install r-cran-ranger" if one.in_r else 'pip install "treewise[bench]"'
            print(f"{one.name} is not installed and left out: {where}.")
    return learners


def chosen_workloads(parser: argparse.ArgumentParser, names: list[str] | None) -> list[Workload]:
    """Return the workloads whose name, or its first word, was given; all if none was."""
    if not names:
        return WORKLOADS
    chosen = [w for w in WORKLOADS if w.name in names or w.table in names]
    if not chosen:
        parser.error(f"--workload {' '.join(names)}: known are {', '.join(w.name for w in WORKLOADS)}.")
    return chosen


def compare(
    workload: Workload, learners: list[Learner], rows: int, folder: Path, rounds: int, turn: Turn
) -> dict[str, dict[str, float]]:
    """Let libraries take turns on one workload; keep the best of each."""
    home = stored(workload, rows, folder)
    print(f"{workload.name}: {workload.what}" + (f" ({rows:,} rows here)" if rows != workload.rows else ""), flush=True)
    best: dict[str, dict[str, float]] = {}
    able = [one for one in learners if one.can(workload)]
    for _ in range(rounds):
        for one in able:
            m = run(workload, one, rows, home, turn)
            if m:
                kept = best.setdefault(one.name, m)
                best[one.name] = {**kept, **{k: min(kept[k], m[k]) for k in m if k not in ("nodes", "quality")}}
    ours = best.get(OURS, {}).get("wall")
    for name, m in best.items():
        ratio = f"{m['wall'] / ours:8.1f}x" if ours else ""
        one_row = f"  one row {m['one_row_us']:8.1f} us" if "one_row_us" in m else f"  held out {m['quality']:.4f}"
        print(
            f"  {name:14}{seconds(m['wall']):>8} s wall {seconds(m['cpu']):>8} s CPU{ratio}  peak {m['peak']:5.0f} MB"
            f"  {int(m['nodes']):8,} nodes{one_row}{sizes(m)}",
            flush=True,
        )
    return best


def sizes(measured: dict[str, float]) -> str:
    """Say how large a model is, where that was measured."""
    return f"  model {measured['kept']:.0f} MB, file {measured['file']:.0f} MB" if "kept" in measured else ""


def grow_with_rows(name: str, folder: Path, most: float) -> dict[int, float]:
    """Return treewise's seconds for tables of 10,000 rows and, by half a power of ten, more."""
    workload = next(w for w in WORKLOADS if w.name == name)
    times = {}
    for exponent in range(8, 15):
        rows = round(10 ** (exponent / 2))
        if rows > most:
            break
        m = run(workload, LEARNERS[0], rows, stored(workload, rows, folder), (2, 1.0))
        if m:
            times[rows] = m["wall"]
            print(f"{name}: {rows:12,} rows {seconds(m['wall']):>8} s", flush=True)
    return times


def report(
    found: dict[str, dict[str, dict[str, float]]],
    growth: dict[str, dict[int, float]],
    libraries: list[str],
    folder: Path | None,
) -> None:
    """Write the page and the picture, if asked for."""
    if folder is None:
        return
    what = {w.name: w.what for w in WORKLOADS}
    parts = [
        "# Benchmarks",
        "`python -m benchmarks --write docs` measured this page: each library in a process of its own, encoding"
        " included, memory above the table. Libraries take turns; a turn is as many fits as begin within eight seconds,"
        " one if that takes longer than ten, and the best counts.",
        machine(libraries, THREADS),
        "![Times of all libraries, and how time grows with rows](img/benchmarks.svg)",
        table(found, what) if found else "",
        growth_table(growth) if growth else "",
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.md").write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    try:
        picture(found, growth, folder / "img" / "benchmarks.svg")
    except ImportError:
        print('No picture: it needs matplotlib, which pip install "treewise[bench]" brings.')


if __name__ == "__main__":
    main()
