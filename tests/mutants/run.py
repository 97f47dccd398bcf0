"""Mutation testing: insert one fault after another into a copy of treewise and run the tests against each.

    python -m tests.mutants.run                         all lists
    python -m tests.mutants.run core --sample 10        ten faults of the core
    python -m tests.mutants.run core --minutes 15       what can be done in that time, in a random order
    python -m tests.mutants.run core --only 17 23       these two
    python -m tests.mutants.run --jobs 2 --report mutants.md

Needs what the tests need, and cmake, ninja and nanobind for the core. The sources and tests are copied to a temporary
folder; nothing of the checkout is touched. All runs give way to whatever else the machine has to do. Exit status 1 when
fewer than 90 % of the faults are noticed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import HEADER, Mutant, divided, mutate_core, read_list

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PATIENCE = 4  # times what the tests take without any mutant: then a run counts as hanging
GOAL = 0.9

# The tests that may notice a fault of each list, in rounds, the quickest first: a run ends with the first that fails,
# and most faults never see the second round.
SEARCH = "tests/oracles/test_against_reference.py"
SMALL = "tests/invariants/test_engines.py::test_every_engine_grows_the_plain_tree"
QUICK = ["tests/invariants/test_mutant_killers.py", "tests/invariants/test_engines_wide.py", SMALL, SEARCH]
MANY = [f"tests/unit/ensemble/test_{what}.py" for what in ("bootstrap", "grow", "stumps", "predict")]
PREDICTION = [
    "tests/unit/train/test_core.py",
    "tests/unit/predict/test_predict.py",
    "tests/unit/train/test_edit.py",
    "tests/textbook",
]
LONG = ["tests/oracles/test_against_exact.py", "tests/unit/train/test_grow.py", "tests/invariants/test_properties.py"]
FILES = ["tests/invariants/test_hostile_files.py", "tests/unit/formats/test_model_file.py"]
FILES += ["tests/invariants/test_hostile_ensemble_files.py", "tests/unit/formats/test_ensemble_file.py"]
LENGTHY = ["test_mutants_are_refused_or_are_trees", "test_a_kill_at_any_moment_leaves_a_whole_file"]
LISTS = {
    "core": [QUICK, MANY, PREDICTION, ["tests/invariants/test_engines.py"], LONG],
    "learner": [
        [
            "tests/unit/data/test_encoding.py",
            "tests/unit/predict/test_predict.py",
            "tests/invariants/test_mutant_killers.py",
            SEARCH,
        ],
        [
            "tests/unit/train/test_grow.py",
            "tests/unit/data/test_table.py",
            "tests/unit/data/test_table_files.py",
            "tests/unit/train/test_core.py",
            "tests/unit/train/test_edit.py",
            "tests/textbook",
        ],
        [
            *LONG,
            "tests/unit/explain/test_trace.py",
            "tests/unit/evaluate/test_evaluate.py",
            "tests/invariants/test_edges.py",
            "tests/invariants/test_odd_input.py",
        ],
    ],
    "loader": [["-k", f"not ({' or '.join(LENGTHY)})", *FILES], ["-k", " or ".join(LENGTHY), *FILES]],
}


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant."""

    list: str
    number: int
    mutant: Mutant
    killer: str  # the test that noticed it; "" if none did
    seconds: float

    @property
    def verdict(self) -> str:
        """Killed, survived, or what its list says of it."""
        if self.mutant.equivalent:
            return "WRONGLY CALLED EQUIVALENT" if self.killer else "equivalent"
        return "killed" if self.killer else "SURVIVED"


class Workshop:
    """A temporary copy of the sources and tests, in which one list's mutants are built and run."""

    def __init__(self, folder: Path, name: str, mutants: list[Mutant], tables: int, rounds: int) -> None:
        self.folder, self.name, self.mutants, self.tables = folder, name, mutants, tables
        self.patience: float | None = None  # seconds
        self.servers = threading.local()  # each thread has a program of its own that forks (forks.py)
        skipped = shutil.ignore_patterns("__pycache__", ".hypothesis")
        for part in ("src", "tests"):
            shutil.rmtree(folder / part, ignore_errors=True)
            shutil.copytree(ROOT / part, folder / part, ignore=skipped)
        for file in ("CMakeLists.txt", "pyproject.toml"):
            shutil.copy(ROOT / file, folder)
        self.rounds = LISTS[name][:rounds]
        if name == "core" or not list((folder / "src" / "treewise").glob("_core*.so")):
            build(folder, mutants if name == "core" else [])

    def run(self, number: int) -> Outcome:
        """Run the tests against one mutant; number 0 is the original."""
        started = time.monotonic()
        mutant = self.mutants[number - 1] if number else Mutant("", "", "", "")
        package = self.folder / "src"
        if number and self.name != "core":
            package = self.folder / f"mutant{number}"
            shutil.copytree(self.folder / "src" / "treewise", package / "treewise", dirs_exist_ok=True)
            path = package / mutant.file
            path.write_text(mutant.written_into(path.read_text(encoding="utf-8")), encoding="utf-8")
        rounds = self.rounds[:1] if mutant.equivalent else self.rounds  # enough to see whether the list is wrong
        killer = next(filter(None, (self.first_failure(package, number, tests) for tests in rounds)), "")
        if package != self.folder / "src":
            shutil.rmtree(package)
        return Outcome(self.name, number, mutant, killer, time.monotonic() - started)

    def first_failure(self, package: Path, number: int, tests: list[str]) -> str:
        """Return the test that fails first, or how the run ended otherwise; "" if all pass."""
        environment = {"TREEWISE_MUTANT": str(number), "TREEWISE_ORACLE_TABLES": str(self.tables)}
        job = {"tests": tests, "path": [str(package), str(self.folder)], "environment": environment}
        if not hasattr(self.servers, "own"):
            command = [sys.executable, "-m", "tests.mutants.forks"]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.servers.own = subprocess.Popen(command, cwd=self.folder, text=True, **pipes)
        server = self.servers.own
        server.stdin.write(json.dumps({**job, "patience": self.patience}) + "\n")
        server.stdin.flush()
        return str(json.loads(server.stdout.readline()))


def build(folder: Path, mutants: list[Mutant]) -> None:
    """Compile the core with all its mutants in it, unless the folder holds just that, and put it with the Python."""
    mutate_core(folder / "src", mutants)
    made, stamp = folder / "build", folder / "built"
    texts = [path.read_bytes() for path in sorted((folder / "src" / "core").glob("*/*"))]
    expected = hashlib.sha256(b"".join(texts)).hexdigest()
    if not stamp.exists() or stamp.read_text() != expected:
        say(f"building the core with {len(mutants)} mutants")
        (folder / "mutant.hpp").write_text(HEADER)
        recipe = folder / "CMakeLists.txt"
        recipe.write_text(recipe.read_text(encoding="utf-8").replace("-O3", "-O1"), encoding="utf-8")  # sooner built
        flags = [f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_CXX_FLAGS=-include {folder / 'mutant.hpp'} -w"]
        quietly(["cmake", "-S", str(folder), "-B", str(made), "-G", "Ninja", *flags])
        quietly(["cmake", "--build", str(made), "--target", "_core"])
        stamp.write_text(expected)
    for old in (folder / "src" / "treewise").glob("_core*.so"):
        old.unlink()
    for library in made.glob("_core*.so"):
        shutil.copy(library, folder / "src" / "treewise")


def quietly(command: list[str]) -> None:
    """Run a command; show what it said only if it fails."""
    completed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if completed.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{completed.stdout[-5000:]}")


def say(text: str) -> None:
    print(text, flush=True)


def chosen(count: int, sample: int | None, only: list[int]) -> list[int]:
    """Return the numbers of the mutants to run."""
    numbers = only or range(1, count + 1)
    return sorted(random.Random(0).sample(numbers, min(sample, count))) if sample else list(numbers)


def run_list(name: str, asked: argparse.Namespace) -> list[Outcome]:
    """Build a list's mutants and run them."""
    mutants, gone = divided(read_list(HERE / f"{name}.txt"), ROOT / "src")
    for mutant in gone:
        say(f"{name}: left out, src/{mutant.file} has changed: {mutant.breaks}")
    with tempfile.TemporaryDirectory(prefix="treewise-mutants-") as passing:
        folder = (asked.folder / name).absolute() if asked.folder else Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        shop = Workshop(folder, name, mutants, asked.tables, asked.rounds)
        original = shop.run(0)
        if original.killer:
            sys.exit(f"the tests fail without any mutant, at {original.killer}")
        shop.patience = 60 + PATIENCE * original.seconds
        say(f"{name}: {len(mutants)} mutants; the tests pass in {original.seconds:.0f} s without any")
        outcomes = []
        numbers = chosen(len(mutants), asked.sample, asked.only)
        if asked.minutes:
            random.Random(0).shuffle(numbers)
        last_start = time.monotonic() + 60 * asked.minutes if asked.minutes else float("inf")
        with ThreadPoolExecutor(asked.jobs) as pool:
            for outcome in pool.map(lambda k: shop.run(k) if time.monotonic() < last_start else None, numbers):
                if outcome is None:
                    continue
                outcomes.append(outcome)
                what = f"{outcome.mutant.file}: {outcome.mutant.breaks}"
                by = f"  by {outcome.killer}" if outcome.killer else ""
                say(f"{name} {outcome.number:3}  {outcome.seconds:5.1f} s  {outcome.verdict:9} {what}{by}")
    return outcomes


def score(outcomes: Iterable[Outcome]) -> tuple[int, int, int]:
    """Return how many were killed, how many could have been, and how many are equivalent."""
    listed = list(outcomes)
    real = [o for o in listed if not o.mutant.equivalent]
    return sum(bool(o.killer) for o in real), len(real), len(listed) - len(real)


def summary(outcomes: list[Outcome]) -> str:
    """Write the score of each file as a table, and the survivors below it."""
    lines = ["| | mutants | killed | equivalent |", "|---|---|---|---|"]
    files = dict.fromkeys(o.mutant.file for o in outcomes)
    for file in files:
        killed, real, equivalent = score(o for o in outcomes if o.mutant.file == file)
        lines.append(f"| `{file}` | {real} | {killed} | {equivalent or ''} |")
    killed, real, equivalent = score(outcomes)
    lines.append(f"| all | {real} | {killed} ({killed / max(1, real):.1%}) | {equivalent} |")
    for verdict in ("SURVIVED", "WRONGLY CALLED EQUIVALENT"):
        lines += [f"\n{verdict}: {o.mutant.file}: {o.mutant.breaks}" for o in outcomes if o.verdict == verdict]
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="*", metavar="LIST", help=f"{', '.join(LISTS)}; all by default")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="only so many of each list, drawn the same way each time"
    )
    parser.add_argument("--only", type=int, nargs="+", metavar="K", default=[], help="only these numbers")
    parser.add_argument("--tables", type=int, default=40, help="random tables of each oracle (default 40)")
    parser.add_argument("--rounds", type=int, default=9, help="only the first so many rounds of tests (default all)")
    parser.add_argument("--minutes", type=float, help="begin no further run of a list after so many")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default 1)")
    parser.add_argument("--folder", type=Path, help="work here, and keep the build for the next run")
    parser.add_argument("--report", type=Path, help="write the table of scores to this file too")
    arguments = parser.parse_args()
    if unknown := set(arguments.lists) - set(LISTS):
        parser.error(f"no list {', '.join(unknown)}; there are {', '.join(LISTS)}")
    os.nice(5)
    outcomes = [outcome for name in arguments.lists or LISTS for outcome in run_list(name, arguments)]
    message = summary(outcomes)
    say("\n" + message)
    if arguments.report:
        arguments.report.write_text(message + "\n", encoding="utf-8")
    killed, real, _ = score(outcomes)
    sys.exit(0 if killed >= GOAL * real else 1)


if __name__ == "__main__":
    main()
