"""Compare treewise with other libraries on the same tables and limits, through their public interfaces.

python -m benchmarks                      all workloads, all installed peers (about an hour)
python -m benchmarks --quick              1/50 of the rows (two minutes)
python -m benchmarks --workload W1 --peers scikit-learn,ydf
python -m benchmarks --growth             time by number of rows, from 10,000 to 10,000,000 rows
python -m benchmarks --write docs         also write docs/benchmarks.md and docs/img/benchmarks.svg
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.measure import Turn, measure_in_subprocess
from benchmarks.peers import LEARNERS, THREADS, Learner
from benchmarks.report import OURS, describe_machine, draw_times, format_seconds, growth_table, times_table
from benchmarks.workloads import WORKLOADS, Workload, store_table

QUICK = 50  # times fewer rows
GROWTH = ("W1 depth 8", "W1 min leaf 20")


def main(words: list[str] | None = None) -> None:
    """Run the benchmarks selected on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"1/{QUICK} of the rows")
    parser.add_argument("--rows", type=int, help="number of rows for every workload")
    parser.add_argument("--workload", action="append", help="W1, W2, … or a full name; may be repeated")
    parser.add_argument("--peers", help="comma-separated names; none for treewise alone")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each library (default 2)")
    parser.add_argument("--repeat", type=int, default=2, help="minimum fits in each turn (default 2); the best counts")
    parser.add_argument("--seconds", type=float, default=8, help="repeat fits for this long (default 8)")
    parser.add_argument("--growth", action="store_true", help="measure only the time by number of rows")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write benchmarks.md and img/benchmarks.svg")
    options = parser.parse_args(words)
    rounds = 1 if options.quick else options.rounds
    turn = (options.repeat, 0.0 if options.quick else options.seconds)
    with tempfile.TemporaryDirectory(prefix="treewise-benchmarks-") as folder:
        actual: dict[str, dict[str, dict[str, float]]] = {}
        learners = select_learners(parser, options.peers)
        workloads = [] if options.growth else select_workloads(parser, options.workload)
        for workload in workloads:
            rows = options.rows or (workload.rows // QUICK if options.quick else workload.rows)
            actual[workload.name] = measure_workload(workload, learners, rows, Path(folder), rounds, turn)
        growth = {}
        if options.growth or not options.workload:
            growth = {
                name: measure_growth(name, Path(folder), most=10**4.6 if options.quick else 10**7) for name in GROWTH
            }
    write_report(actual, growth, [learner.name for learner in learners], options.write)


def select_learners(parser: argparse.ArgumentParser, names: str | None) -> list[Learner]:
    """Return treewise and the selected peers that are installed."""
    expected = None if names is None else {name.strip().lower() for name in names.split(",")}
    known = {learner.name.lower() for learner in LEARNERS}
    if expected and not expected <= known | {"none", ""}:
        parser.error(f"--peers {names}: known are {', '.join(learner.name for learner in LEARNERS[1:])}, or none.")
    learners = []
    for learner in LEARNERS:
        if learner.name != OURS and expected is not None and learner.name.lower() not in expected:
            continue
        if learner.installed:
            learners.append(learner)
        else:
            where = "apt-get install r-cran-ranger" if learner.in_r else 'pip install "treewise[bench]"'
            print(f"{learner.name} is not installed, skipping: {where}.")
    return learners


def select_workloads(parser: argparse.ArgumentParser, names: list[str] | None) -> list[Workload]:
    """Return the workloads with these names or tables; all if none are given."""
    if not names:
        return WORKLOADS
    chosen = [w for w in WORKLOADS if w.name in names or w.table in names]
    if not chosen:
        parser.error(f"--workload {' '.join(names)}: known are {', '.join(w.name for w in WORKLOADS)}.")
    return chosen


def measure_workload(
    workload: Workload, learners: list[Learner], rows: int, folder: Path, rounds: int, turn: Turn
) -> dict[str, dict[str, float]]:
    """Measure all libraries on one workload in turn; keep the best result of each."""
    home = store_table(workload, rows, folder)
    print(f"{workload.name}: {workload.what}" + (f" ({rows:,} rows here)" if rows != workload.rows else ""), flush=True)
    best: dict[str, dict[str, float]] = {}
    capable = [learner for learner in learners if learner.supports(workload)]
    for _ in range(rounds):
        for learner in capable:
            m = measure_in_subprocess(workload, learner, rows, home, turn)
            if m:
                kept = best.setdefault(learner.name, m)
                best[learner.name] = {**kept, **{k: min(kept[k], m[k]) for k in m if k not in ("nodes", "quality")}}
    ours = best.get(OURS, {}).get("wall")
    for name, m in best.items():
        ratio = f"{m['wall'] / ours:8.1f}x" if ours else ""
        one_row = f"  one row {m['one_row_us']:8.1f} us" if "one_row_us" in m else f"  held out {m['quality']:.4f}"
        wall, cpu = format_seconds(m["wall"]), format_seconds(m["cpu"])
        print(
            f"  {name:14}{wall:>8} s wall {cpu:>8} s CPU{ratio}  peak {m['peak']:5.0f} MB"
            f"  {int(m['nodes']):8,} nodes{one_row}{sizes(m)}",
            flush=True,
        )
    return best


def sizes(measured: dict[str, float]) -> str:
    """Format the size of a model, if measured."""
    return f"  model {measured['kept']:.0f} MB, file {measured['file']:.0f} MB" if "kept" in measured else ""


def measure_growth(name: str, folder: Path, most: float) -> dict[int, float]:
    """Return the seconds treewise takes for 10,000 rows and more, in steps of half a power of ten."""
    workload = next(w for w in WORKLOADS if w.name == name)
    times = {}
    for exponent in range(8, 15):
        rows = round(10 ** (exponent / 2))
        if rows > most:
            break
        m = measure_in_subprocess(workload, LEARNERS[0], rows, store_table(workload, rows, folder), (2, 1.0))
        if m:
            times[rows] = m["wall"]
            print(f"{name}: {rows:12,} rows {format_seconds(m['wall']):>8} s", flush=True)
    return times


def write_report(
    found: dict[str, dict[str, dict[str, float]]],
    growth: dict[str, dict[int, float]],
    libraries: list[str],
    folder: Path | None,
) -> None:
    """Write the page and the chart if a folder is given."""
    if folder is None:
        return
    what = {w.name: w.what for w in WORKLOADS}
    parts = [
        "# Benchmarks",
        "Generated by `python -m benchmarks --write docs`. Each library runs in a separate process; encoding is"
        " included, and memory is measured in addition to the table. Libraries take turns: in each turn a fit is"
        " repeated for eight seconds (once if it takes longer than ten), and the best time counts.",
        describe_machine(libraries, THREADS),
        "![Times of all libraries, and time by number of rows](img/benchmarks.svg)",
        times_table(found, what) if found else "",
        growth_table(growth) if growth else "",
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.md").write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    try:
        draw_times(found, growth, folder / "img" / "benchmarks.svg")
    except ImportError:
        print('No chart: matplotlib is not installed (pip install "treewise[bench]").')


if __name__ == "__main__":
    main()
