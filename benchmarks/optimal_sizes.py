"""When an optimal tree helps: sizes chosen by cross-validation, beside pruned greedy trees of any size.

    python -m benchmarks.optimal_sizes FOLDER [--table NAME] [--depth 3] [--folds 10]

FOLDER as in ``benchmarks.optimal``. Each row: the greedy tree of the same depth and the optimal one (``max_depth`` at
most 3, size chosen on held-out rows), and the greedy tree of any size, pruned by the same folds; cross-validated errors
in percent with 95 % intervals.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import treewise as tw
from benchmarks.optimal import load
from treewise.train.folds import make_folds


def greedy_error(table: dict[str, list], depth: int, folds: int, training_set) -> float:
    """Return the cross-validated error of the greedy tree of a depth, on the same folds."""
    truth, wrong = np.array(table["y"]), 0
    for fold in make_folds(training_set, folds).folds:
        rows, held = (
            {name: [cells[row] for row in part.tolist()] for name, cells in table.items()}
            for part in (fold.training, fold.held_out)
        )
        tree = tw.grow(rows, "y", max_depth=depth, selection="gain")
        wrong += int((tree.predict(held) != truth[fold.held_out]).sum())
    return wrong / len(truth)


def main(words: list[str] | None = None) -> None:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--table", action="append", help="only these tables")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--folds", type=int, default=10)
    options = parser.parse_args(words)
    print("| table | greedy, this depth | optimal | leaves | greedy, any size | leaves | CPU s |\n|" + "---|" * 7)
    for path in sorted([*options.folder.glob("continuous/*.csv"), *options.folder.glob("binary/*.csv")]):
        if options.table and path.stem not in options.table:
            continue
        x, y = load(path)
        table = {f"x{i}": x[:, i].tolist() for i in range(x.shape[1])} | {"y": [f"c{c}" for c in y]}
        began = time.process_time()
        result = tw.optimal(table, "y", max_depth=options.depth, pruning={"method": "cv", "folds": options.folds})
        sizes, seconds = result.sizes, time.process_time() - began
        depth = max(1, sizes.candidates[sizes.chosen].max_depth)
        same = greedy_error(table, depth, options.folds, result.problem.training_set)
        own, other = (
            f"{100 * e.value:.1f} ({100 * e.low:.1f}–{100 * e.high:.1f})"
            for e in (sizes.estimate, sizes.greedy_estimate)
        )
        cells = f"{100 * same:.1f} | {own} | {result.tree.n_leaves} | {other} | {sizes.greedy.n_leaves} | {seconds:.0f}"
        print(f"| {path.stem} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
