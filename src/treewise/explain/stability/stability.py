"""Measure how stable the structure of a tree is: compare it with trees grown on bootstrap resamples.

The tree is grown once and the margin to the runner-up is measured at each node; then the
rows are resampled with replacement (the bootstrap; Efron 1979), and each time a tree is grown in the same way and
compared with the first.

    margins.py    at each node, how close the best split on another column came
    resample.py   one resample: its tree, and how it matches the splits of the first tree
    result.py     the result, as data and text
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import check_integer
from treewise._lib.thread_pool import Progress, map_in_threads
from treewise.data.table import read
from treewise.errors import ParameterError
from treewise.explain.stability.margins import MarginFinder, SplitMargin
from treewise.explain.stability.resample import ReferenceTree, ResampledTree, draw_bootstrap, grow_resample
from treewise.explain.stability.result import NodeStability, PredictionAgreement, Stability
from treewise.explain.trace.nodes import describe_first_branch
from treewise.prune.grow_and_prune import CV_OPTIONS, PruningPlan, grow_unpruned, is_share, prune_grown
from treewise.train.grow import PRUNING, grow_training_set, prepare, prepare_like, pruning_for, resolve_n_jobs
from treewise.train.resampling import power_of_two_scale, take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

__all__ = ["NodeStability", "Stability", "stability", "stability_of"]

_MAX_RESAMPLES = 1_000_000


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
    """Measure the stability of a tree: margins to the runners-up, and trees grown on bootstrap resamples.

    >>> import treewise as tw
    >>> stability = tw.stability("penguins", max_leaf_nodes=4, resamples=20)
    >>> stability.nodes[0].column, stability.nodes[0].same_position
    ('flipper_length_mm', 0.85)

    ``print`` it for a paragraph and a table; ``nodes`` and ``.to_frame()`` hold the same as data, ``tree`` is the tree.

    Parameters
    ----------
    data, target, options : as for ``treewise.grow``; they also apply to the trees of all resamples, pruning included.
    resamples : the number of bootstrap resamples.
    random_state : the seed of the resamples, of random ties and of rows held out. The result is the same for any
        ``n_jobs``.
    n_jobs : threads; each grows whole resamples.
    progress : a callback that receives the share done.
    """
    check_resamples(resamples)
    pruning_options = {name: options.pop(name) for name in PRUNING if name in options}
    if isinstance(pruning_options.get("validation"), str | Path):  # read once, not for every tree
        pruning_options["validation"] = read(pruning_options["validation"], na_values=options.get("na_values", ()))
    pruning = pruning_for(options.get("preset"), **pruning_options)
    training_set = prepare(data, target, random_state=random_state, **options)
    return stability_of(training_set, pruning, resamples=resamples, n_jobs=n_jobs, progress=progress)


def stability_like(
    tree: Tree,
    data: Any,
    resamples: int = 100,
    *,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Stability:
    """Measure the stability of a grown tree on the table it was grown on, with its settings and its pruning."""
    info = tree.fit_info
    if info.origin != "grown":
        raise ParameterError("the tree was not grown on a table, so growing it cannot be repeated.")
    training_set = prepare_like(tree, data)
    if random_state is not None:
        training_set = replace(training_set, settings=replace(training_set.settings, random_state=random_state))
    plan = None
    for change in info.changes:
        if change.action in ("with_cost", "round_thresholds"):
            continue
        options = dict(change.options)
        is_repeatable = change.action == "prune" and plan is None and change.method not in (None, "reduced_error")
        if not is_repeatable or options.get("raising"):
            raise ParameterError(
                f"{change.method or change.action} cannot be repeated on resamples of the table.",
                hint="Give the table and the options of growing instead of the tree.",
            )
        known = {name: value for name, value in options.items() if change.method != "cv" or name in CV_OPTIONS}
        plan = pruning_for(None, {"method": change.method, **known})
    result = stability_of(training_set, plan, resamples=resamples, n_jobs=n_jobs, progress=progress)
    return result.of_tree(tree)


def stability_of(
    training_set: TrainingSet,
    pruning: PruningPlan | None = None,
    *,
    resamples: int = 100,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Stability:
    """Measure the stability of the tree of a prepared training set, whose settings hold the seed."""
    check_resamples(resamples)
    if pruning is not None and pruning.honest is not None:
        raise ParameterError(
            "stability is about splits, and honest estimation about the numbers below them.",
            parameter="honest",
            hint="Leave it out.",
        )
    threads, seed = resolve_n_jobs(n_jobs), training_set.settings.random_state
    tree, grown_on = _grow_reference(training_set, pruning, threads)
    reference = ReferenceTree(tree, training_set)
    holds_out = pruning is not None and (pruning.method == "cv" or is_share(pruning.validation))

    def resample(number: int, report: Progress) -> ResampledTree:
        counts = draw_bootstrap(len(training_set), seed, number)
        return grow_resample(reference, counts, lambda rows: _grow(rows, pruning, report), as_weights=holds_out)

    tally, margin_finder = _Tally(reference), MarginFinder(tree, grown_on)
    n_steps = resamples + len(margin_finder)
    for done, resampled_tree in enumerate(map_in_threads(resample, resamples, threads), 1):
        tally.add(resampled_tree)
        if progress is not None:
            progress(done / n_steps)
    margins: dict[int, SplitMargin] = {}
    for done, some in enumerate(map_in_threads(margin_finder.piece, len(margin_finder), threads), 1):
        margins |= some
        if progress is not None:
            progress((resamples + done) / n_steps)
    return tally.result(margins)


def check_resamples(resamples: object) -> None:
    """Refuse an invalid number of resamples."""
    check_integer("resamples", resamples, minimum=1, maximum=_MAX_RESAMPLES)


def _grow_reference(training_set: TrainingSet, pruning: PruningPlan | None, threads: int) -> tuple[Tree, TrainingSet]:
    """Grow the reference tree; return it with the rows it was grown on, without those held out for pruning."""
    if pruning is None:
        return grow_training_set(training_set, n_jobs=threads), training_set
    full, held_out = grow_unpruned(training_set, pruning, threads)
    tree = prune_grown(full, training_set, pruning, held_out, threads)
    return tree, training_set if held_out is None else take_rows(training_set, np.flatnonzero(~held_out))


def _grow(rows: TrainingSet, pruning: PruningPlan | None, report: Progress) -> Tree:
    """Grow the tree of a resample, on one thread."""
    if pruning is None:
        return grow_training_set(rows, report, n_jobs=1)
    full, held_out = grow_unpruned(rows, pruning, 1, report)
    report(0.5)
    return prune_grown(full, rows, pruning, held_out, 1, report)


class _Tally:
    """Accumulates resamples as they come, in order."""

    def __init__(self, reference: ReferenceTree) -> None:
        self.reference = reference
        self.is_regression = reference.tree.task == "regression"
        self.resamples: list[ResampledTree] = []  # without their predictions, which are added up
        n = len(reference.training_set)
        self.loss, self.oob_loss, self.oob_count = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
        self.unit = power_of_two_scale(reference.predictions) if self.is_regression else 1.0
        _ = reference.values_present, reference.weight  # computed before there are threads

    def add(self, tree: ResampledTree) -> None:
        """Add one resample."""
        predictions, own = tree.predictions, self.reference.predictions
        if self.is_regression:
            loss = (predictions / self.unit - own / self.unit) ** 2
        else:
            loss = (predictions != own).astype(np.float64)
        self.loss += loss
        self.oob_loss += loss * tree.out_of_bag
        self.oob_count += tree.out_of_bag
        self.resamples.append(replace(tree, predictions=predictions[:0], out_of_bag=tree.out_of_bag[:0]))

    def result(self, margins: Mapping[int, SplitMargin]) -> Stability:
        """Return the statistics of all resamples."""
        reference, training_set, count = self.reference, self.reference.training_set, len(self.resamples)
        matches = np.stack([r.matches for r in self.resamples], axis=1)
        roots = [None if r.root_column < 0 else training_set.encodings[r.root_column].name for r in self.resamples]
        return Stability(
            reference.tree,
            training_set.table_name,
            len(training_set),
            count,
            tuple(self._node(node, margins[node], matches[i]) for i, node in enumerate(reference.inner_nodes.tolist())),
            self._agreement(),
            np.array([r.leaves for r in self.resamples]),
            np.array([r.depth for r in self.resamples]),
            dict(Counter(roots).most_common()),
            np.sqrt(self.loss / count) * self.unit if self.is_regression else 1 - self.loss / count,
        )

    def _agreement(self) -> PredictionAgreement:
        weight = np.asarray(self.reference.training_set.weight, np.float64)
        weight = weight / weight.max()
        loss = float(np.sum(weight * self.loss)) / (float(weight.sum()) * len(self.resamples))
        oob_weight = float(np.sum(weight * self.oob_count))
        oob_loss = float(np.sum(weight * self.oob_loss)) / oob_weight if oob_weight else None
        if self.is_regression:
            predictions = np.asarray(self.reference.predictions, np.float64) / self.unit
            mean = float(np.average(predictions, weights=weight))
            sd = math.sqrt(float(np.average((predictions - mean) ** 2, weights=weight)))
            oob_rms = None if oob_loss is None else math.sqrt(oob_loss) * self.unit
            return PredictionAgreement(math.sqrt(loss) * self.unit, oob_rms, sd=sd * self.unit)
        stable = float(np.average(self.loss <= 0.05 * len(self.resamples), weights=weight))
        return PredictionAgreement(1 - loss, None if oob_loss is None else 1 - oob_loss, stable)

    def _node(self, node: int, margin: SplitMargin, matches: npt.NDArray[np.void]) -> NodeStability:
        """Return the statistics of one split; ``matches`` are those of each resample."""
        tree = self.reference.tree
        column = int(tree.arrays.column[node])
        encoding, split = tree.encodings[column], tree.split_at(node)
        assert split is not None
        matched = matches[matches["rows"]]
        column_counts = Counter(matches["column"][(matches["column"] >= 0) & (matches["column"] != column)].tolist())
        alternative, times = column_counts.most_common(1)[0] if column_counts else (-1, 0)
        cuts = matched["cut" if encoding.kind == "number" else "exact_cut"][~np.isnan(matched["cut"])]
        low, median, high = _quartiles(cuts) if len(cuts) else [None] * 3
        limits = dict.fromkeys(encoding.format(cut) for cut in (low, high) if cut is not None)
        return NodeStability(
            node=node,
            column=encoding.name,
            split=describe_first_branch(split, encoding, int(tree.arrays.missing_rows[node])),
            rows=int(tree.arrays.rows[node]),
            score=margin.score,
            runner_up=margin.runner_up,
            runner_up_score=margin.second,
            margin=margin.behind,
            same_position=float(matches["position"].mean()),
            same_rows=float(matches["rows"].mean()),
            used=float(matches["used"].mean()),
            overlap=float(matched["overlap"].mean()) if len(matched) else None,
            alternative=tree.encodings[alternative].name if times else None,
            alternative_share=times / len(matches),
            threshold_low=low,
            threshold_median=median,
            threshold_high=high,
            threshold_range=" to ".join(limits),
            same_split=float(matched["same_split"].mean()) if len(matched) else None,
        )


def _quartiles(values: npt.NDArray[Any]) -> list[float | int]:
    """Return the quartiles, each one of the values and exact.

    >>> _quartiles(np.array([2**60 + 5, 2**60 + 1, 2**60 + 3])) == [2**60 + 1, 2**60 + 3, 2**60 + 5]
    True
    """
    ranks = [math.ceil(share * len(values)) - 1 for share in (0.25, 0.5, 0.75)]
    quartiles: list[float | int] = np.sort(values)[ranks].tolist()
    return quartiles
