"""How sure is the structure? A tree beside the trees that other rows like these would have grown.

An outlet, above growth and pruning. The tree is grown once; at each node the gap to the runner-up is measured; then the
rows are drawn again with replacement, as many as there are (the bootstrap; Efron 1979), a hundred times, and each time
a tree is grown in the same way and compared with the first.

gaps.py        at each node, how near the best test of another column came
resamples.py   one resample: its tree, and where the questions of the first tree come back in it
result.py      what was found, node by node and in all
words.py       the same in a paragraph and a table
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from treewise._lib.thread_pool import Progress, map_in_threads
from treewise.data.table import read
from treewise.explain.stability.margins import MarginFinder, SplitMargin
from treewise.explain.stability.resamples import ReferenceTree, ResampledTree, drawn, one_resample
from treewise.explain.stability.result import NodeStability, Stability, StabilityTally
from treewise.prune.grow_and_prune import PruningPlan, grow_unpruned, is_share, prune_grown
from treewise.train.grow import PRUNING, grow_training_set, prepare, pruning_for, workers
from treewise.train.resampling import part
from treewise.train.settings import whole
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

__all__ = ["NodeStability", "Stability", "stability", "stability_of"]

MOST_RESAMPLES = 1_000_000


def stability(
    data: Any,
    target: Any = None,
    *,
    resamples: int = 100,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Stability:
    """Say how sure the structure of a tree is: how near the runners-up came, and what other rows would have grown.

    >>> import treewise as tw
    >>> found = tw.stability("penguins", max_leaf_nodes=4, resamples=20)
    >>> found.nodes[0].column, found.nodes[0].place
    ('flipper_length_mm', 0.85)

    ``print`` it for a paragraph and a table; ``nodes`` and ``.to_frame()`` are the same as data, ``tree`` is the tree.

    Parameters
    ----------
    data, target, options : as for ``treewise.grow``, which grows (and prunes, if you ask for it) the tree and those of
        all resamples.
    resamples : how often the rows are drawn again.
    random_state : the seed of the draws, of random ties and of rows held back. The result is the same for any
        ``n_jobs``.
    n_jobs : threads, a resample each.
    progress : is told the share that is done.
    """
    check_resamples(resamples)
    asked = {name: options.pop(name) for name in PRUNING if name in options}
    if isinstance(asked.get("validation"), str | Path):  # read once, not for every tree
        asked["validation"] = read(asked["validation"], na_values=options.get("na_values", ()))
    wanted = pruning_for(options.get("preset"), **asked)
    training_set = prepare(data, target, random_state=random_state, **options)
    return stability_of(training_set, wanted, resamples=resamples, n_jobs=n_jobs, progress=progress)


def stability_of(
    training_set: TrainingSet,
    pruning: PruningPlan | None = None,
    *,
    resamples: int = 100,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Stability:
    """Say how sure a tree grown on a prepared training set is; its settings hold the seed."""
    check_resamples(resamples)
    threads, seed = workers(n_jobs), training_set.settings.random_state
    tree, grown_on = reference_tree(training_set, pruning, threads)
    reference = ReferenceTree(tree, training_set)
    hold_back = pruning is not None and (pruning.method == "cv" or is_share(pruning.validation))

    def work(number: int, go_on: Progress) -> ResampledTree:
        times = drawn(len(training_set), seed, number)
        return one_resample(reference, times, lambda rows: made(rows, pruning, go_on), as_weights=hold_back)

    tally, measured = StabilityTally(reference), MarginFinder(tree, grown_on)
    pieces = resamples + len(measured)
    for done, found in enumerate(map_in_threads(work, resamples, threads), 1):
        tally.add(found)
        tell(progress, done / pieces)
    known: dict[int, SplitMargin] = {}
    for done, some in enumerate(map_in_threads(measured.piece, len(measured), threads), 1):
        known |= some
        tell(progress, (resamples + done) / pieces)
    return tally.result(known)


def tell(progress: Progress | None, share: float) -> None:
    """Tell the share that is done, if somebody listens."""
    if progress is not None:
        progress(share)


def check_resamples(resamples: object) -> None:
    """Refuse what is no number of resamples."""
    whole("resamples", resamples, least=1, most=MOST_RESAMPLES)


def reference_tree(training_set: TrainingSet, pruning: PruningPlan | None, threads: int) -> tuple[Tree, TrainingSet]:
    """Grow the tree that is questioned; and say on which rows, where some were held back to prune it."""
    if pruning is None:
        return grow_training_set(training_set, n_jobs=threads), training_set
    full, held = grow_unpruned(training_set, pruning, threads)
    tree = prune_grown(full, training_set, pruning, held, threads)
    return tree, training_set if held is None else part(training_set, np.flatnonzero(~held))


def made(rows: TrainingSet, pruning: PruningPlan | None, go_on: Progress) -> Tree:
    """Grow the tree of a resample, on one thread, as the first was."""
    if pruning is None:
        return grow_training_set(rows, go_on, n_jobs=1)
    full, held = grow_unpruned(rows, pruning, 1, go_on)
    go_on(0.5)
    return prune_grown(full, rows, pruning, held, 1, go_on)
