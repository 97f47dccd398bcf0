"""``python -m benchmarks.coverage [PART ...] [--tables N]``: run the simulations and print one line per figure."""

from __future__ import annotations

import argparse
import sys

from benchmarks.coverage.measured import HEADINGS
from benchmarks.coverage.parts import PARTS


def main(words: list[str] | None = None) -> int:
    """Run the parts and print their lines; return 1 if a figure does not hold what it promises."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--tables", type=int, default=500, help="simulated tables of each situation (default 500)")
    arguments = parser.parse_args(words)
    print(HEADINGS)
    all_hold = True
    for name in arguments.parts or PARTS:
        for line in PARTS[name](arguments.tables):
            print(line, flush=True)
            all_hold = all_hold and line.holds
    return int(not all_hold)


if __name__ == "__main__":
    sys.exit(main())
