"""P-values for groups that were found on the rows that define them: the whole search is repeated without any effect.

Used by ``subgroups.py``. A tree searches for splits that separate the target, so its nodes differ from the rest even
where there is nothing to find, and no correction for their number accounts for the search. Permuting the target removes
every effect and keeps everything else. On each permuted table the tree is grown and pruned as the original was, and its
most extreme group is noted; the p-value of a group is the share of tables, the original included, in which the best
group is at least as extreme (single-step minP, Westfall and Young 1993). If there is no effect, a p-value below 0.05
appears in at most 5 % of tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewise._lib.checks import check_integer
from treewise._lib.thread_pool import Progress, map_in_threads
from treewise.errors import ParameterError
from treewise.evaluate.baselines.compare_models import Grow, grow_like
from treewise.explain.subgroups.node_groups import GroupTally, NodeGroup, compare_nodes
from treewise.predict.predict import find_leaves
from treewise.train.grow import prepare_like, resolve_n_jobs
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

_MAX_PERMUTATIONS = 1_000_000


@dataclass(frozen=True)
class PermutedSearch:
    """The options of the repeated search."""

    permutations: int
    random_state: int = 0
    n_jobs: int | None = None
    progress: Progress | None = None

    def check(self) -> None:
        """Raise ParameterError for a value out of range."""
        check_integer("permutations", self.permutations, minimum=1, maximum=_MAX_PERMUTATIONS)
        check_integer("random_state", self.random_state, minimum=0, maximum=2**64 - 1)

    def adjust(
        self, tree: Tree, data: Any, groups: Sequence[NodeGroup], class_index: int | None, min_rows: float
    ) -> list[NodeGroup]:
        """Return the groups with the p-values of the whole search, never below that of the group's own test.

        Searches that prune permuted targets to the root find no group at all, however weak a group of this tree is.
        """
        threads = resolve_n_jobs(self.n_jobs)
        grow, training_set = _repeatable_growth(tree), prepare_like(tree, data)

        def work(number: int, _: Progress) -> float:
            permuted = permute_target(training_set, (self.random_state, number))
            return smallest_p(grow(permuted), permuted, class_index, min_rows)

        smallest = np.sort([*map_in_threads(work, self.permutations, threads, self.progress)])
        ps = np.array([group.difference.p for group in groups])
        at_least_as_extreme = np.searchsorted(smallest, ps * (1 + 1e-9), side="right")
        adjusted = np.maximum((1 + at_least_as_extreme) / (1 + self.permutations), ps)
        return [replace(group, p_adjusted=p) for group, p in zip(groups, adjusted.tolist(), strict=True)]


def _repeatable_growth(tree: Tree) -> Grow:
    """Return the function that grows and prunes as the tree was; raise if that cannot be repeated."""
    info = tree.fit_info
    grow, skipped = grow_like(tree, n_jobs=1)
    if info.origin != "grown" or skipped or info.has_weight_array:
        step = "weights given as an array" if not skipped else skipped[0]
        reason = (
            f"{step} cannot be repeated on other tables" if info.origin == "grown" else "it was not grown on a table"
        )
        raise ParameterError(
            f"the search that found the tree cannot be repeated: {reason}.",
            parameter="permutations",
            hint="Leave it out, and test the groups on held-out rows.",
        )
    return grow


def permute_target(training_set: TrainingSet, seed: tuple[int, int]) -> TrainingSet:
    """Return the training set with its targets in random order; class weights and priors go with the targets."""
    order = np.random.default_rng(seed).permutation(len(training_set))
    options = training_set.fit_options
    weight = training_set.weight[order] if options.class_weight or options.priors else training_set.weight
    raw = training_set.raw[order] if len(training_set.raw) else training_set.raw
    return replace(training_set, y=training_set.y[order], raw=raw, weight=weight)


def smallest_p(tree: Tree, training_set: TrainingSet, class_index: int | None, min_rows: float) -> float:
    """Return the p-value of the most extreme group of a tree; 1 if it has none."""
    truth = training_set.raw if tree.task == "regression" else training_set.y.astype(np.int64)
    tally = GroupTally(tree, class_index, find_leaves(tree, training_set.columns, len(training_set)), truth)
    return min((group.difference.p for group in compare_nodes(tally, min_rows, confidence=0.95)), default=1.0)
