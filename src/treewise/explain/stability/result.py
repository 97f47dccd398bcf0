"""What was found of a tree's structure: node by node, and in all; ``Tally`` adds up the resamples.

Stands between ``resamples.py`` and ``words.py``, which says it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import Displayable, ResultTable
from treewise.data.encoding import Encoding
from treewise.explain.stability.margins import SplitMargin
from treewise.explain.stability.resamples import ReferenceTree, ResampledTree
from treewise.explain.trace.candidate import say_first
from treewise.train.loss_stats import size_of_numbers
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class NodeStability:
    """One question of the tree: how near another column came, and how often resamples ask it again."""

    node: int
    column: str
    question: str  # the test, by its first branch
    rows: int
    score: float  # what the split competes by: its gain per row of the node, or what else the criterion compares
    runner_up: str | None  # the column with the best other test
    runner_up_score: float | None
    behind: float | None  # how far it stays behind, as a share of the score: 0 is a tie
    place: float  # share of the resamples that ask the same column at the same place
    again: float  # share that ask it of about the same rows, anywhere in the tree
    asked: float  # mean share of its rows that are asked about the column at all
    overlap: float | None  # where it is asked again: the mean share of rows in common
    instead: str | None  # the column that was asked most often of about the same rows, other than this one
    instead_share: float  # in what share of the resamples
    cut_low: float | int | None = None  # thresholds, where it is asked again: the first quartile …
    cut_median: float | int | None = None
    cut_high: float | int | None = None  # … and the third
    cuts: str = ""  # the two in words
    same_test: float | None = None  # where it is asked again: in what share the values present are parted alike


@dataclass(frozen=True)
class AnswerAgreement:
    """How far the answers of the resamples' trees agree with the tree's own."""

    every: float  # share of rows with the same class, over all resamples; numbers: root mean square difference
    unseen: float | None  # the same, of rows that were not drawn; None where all were
    steady: float | None = None  # classes: share of the rows of which at least 95 % of the resamples say the same
    spread: float | None = None  # numbers: standard deviation of the tree's own answers


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Displayable):
    """How sure a tree's structure is. ``print`` it, look at ``nodes`` and ``agreement``, or take ``.to_frame()``."""

    tree: Tree
    table: str
    n: int
    resamples: int
    nodes: tuple[NodeStability, ...]  # the inner nodes, in order
    agreement: AnswerAgreement
    leaves: Ints  # of the tree of each resample
    depths: Ints
    first: Mapping[str | None, int]  # how many resamples ask each column first; None: nothing is asked
    same_answer: Floats  # for each row that counts: share of resamples that say the same; numbers: their spread

    @property
    def paragraph(self) -> str:
        """What to make of it, in words."""
        from treewise.explain.stability.words import paragraph

        return paragraph(self)

    def result_table(self) -> ResultTable:
        """Return every question, as data."""
        from treewise.explain.stability.words import data_sheet

        return data_sheet(self)

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return what readers are shown: the paragraph, how often questions come back, and how near others came."""
        from treewise.explain.stability.words import sheets

        return sheets(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "table": self.table,
            "target": self.tree.target.name,
            "rows": self.n,
            "resamples": self.resamples,
            "paragraph": self.paragraph,
            "agreement": asdict(self.agreement),
            "leaves": {"tree": self.tree.n_leaves, "resamples": self.leaves.tolist()},
            "depth": {"tree": self.tree.depth, "resamples": self.depths.tolist()},
            "first": [{"column": column, "resamples": times} for column, times in self.first.items()],
            "nodes": self.result_table().records(),
        }


class StabilityTally:
    """Adds up resamples as they come, in order."""

    def __init__(self, reference: ReferenceTree) -> None:
        self.reference = reference
        self.found: list[ResampledTree] = []  # without their answers, which are added up
        n = len(reference.training_set)
        self.off, self.off_unseen, self.unseen = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
        self.unit = size_of_numbers(reference.answers) if self.numbers else 1.0
        _ = reference.present, reference.weight  # before there are threads

    @property
    def numbers(self) -> bool:
        """Whether values are predicted, not classes."""
        return self.reference.tree.task == "regression"

    def add(self, found: ResampledTree) -> None:
        """Take one resample."""
        said, own = found.answers, self.reference.answers
        off = (said / self.unit - own / self.unit) ** 2 if self.numbers else (said != own).astype(np.float64)
        self.off += off
        self.off_unseen += off * found.unseen
        self.unseen += found.unseen
        self.found.append(replace(found, answers=found.answers[:0], unseen=found.unseen[:0]))

    def result(self, gaps: Mapping[int, SplitMargin]) -> Stability:
        """Return what all resamples say together."""
        reference, training_set, count = self.reference, self.reference.training_set, len(self.found)
        told = np.stack([f.questions for f in self.found], axis=1)
        columns = [None if f.first < 0 else training_set.encodings[f.first].name for f in self.found]
        return Stability(
            reference.tree,
            training_set.table_name,
            len(training_set),
            count,
            tuple(self._node(node, gaps[node], told[i]) for i, node in enumerate(reference.inner.tolist())),
            self._agreement(),
            np.array([f.leaves for f in self.found]),
            np.array([f.depth for f in self.found]),
            dict(Counter(columns).most_common()),
            np.sqrt(self.off / count) * self.unit if self.numbers else 1 - self.off / count,
        )

    def _agreement(self) -> AnswerAgreement:
        weight = np.asarray(self.reference.training_set.weight, np.float64)
        weight = weight / weight.max()
        every = float(np.sum(weight * self.off)) / (float(weight.sum()) * len(self.found))
        not_drawn = float(np.sum(weight * self.unseen))
        unseen = float(np.sum(weight * self.off_unseen)) / not_drawn if not_drawn else None
        if self.numbers:
            answers = np.asarray(self.reference.answers, np.float64) / self.unit
            mean = float(np.average(answers, weights=weight))
            spread = math.sqrt(float(np.average((answers - mean) ** 2, weights=weight)))
            apart = None if unseen is None else math.sqrt(unseen) * self.unit
            return AnswerAgreement(math.sqrt(every) * self.unit, apart, spread=spread * self.unit)
        steady = float(np.average(self.off <= 0.05 * len(self.found), weights=weight))
        return AnswerAgreement(1 - every, None if unseen is None else 1 - unseen, steady)

    def _node(self, node: int, gap: SplitMargin, told: npt.NDArray[np.void]) -> NodeStability:
        """Put together what is known of one question; ``told`` is what each resample says."""
        tree = self.reference.tree
        column = int(tree.arrays.column[node])
        encoding, split = tree.encodings[column], tree.split_at(node)
        assert split is not None
        again = told[told["again"]]
        others = Counter(told["column"][(told["column"] >= 0) & (told["column"] != column)].tolist())
        instead, times = others.most_common(1)[0] if others else (-1, 0)
        cuts = again["cut" if encoding.kind == "number" else "exact_cut"][~np.isnan(again["cut"])]
        low, middle, high = quartiles(cuts) if len(cuts) else [None] * 3
        return NodeStability(
            node=node,
            column=encoding.name,
            question=say_first(split, encoding, int(tree.arrays.missing_rows[node])),
            rows=int(tree.arrays.rows[node]),
            score=gap.score,
            runner_up=gap.runner_up,
            runner_up_score=gap.second,
            behind=gap.behind,
            place=float(told["place"].mean()),
            again=float(told["again"].mean()),
            asked=float(told["asked"].mean()),
            overlap=float(again["overlap"].mean()) if len(again) else None,
            instead=tree.encodings[instead].name if times else None,
            instead_share=times / len(told),
            cut_low=low,
            cut_median=middle,
            cut_high=high,
            cuts="" if low is None or high is None else quartiles_in_words(encoding, low, high),
            same_test=float(again["same_test"].mean()) if len(again) else None,
        )


def quartiles(values: npt.NDArray[Any]) -> list[float | int]:
    """Return the quartiles, each one of the values and exact.

    >>> quartiles(np.array([2**60 + 5, 2**60 + 1, 2**60 + 3])) == [2**60 + 1, 2**60 + 3, 2**60 + 5]
    True
    """
    places = [math.ceil(share * len(values)) - 1 for share in QUARTILES]
    found: list[float | int] = np.sort(values)[places].tolist()
    return found


def quartiles_in_words(encoding: Encoding, low: float | int, high: float | int) -> str:
    """Say between which cuts the middle half lies; one number where they are the same."""
    first, last = encoding.format(low), encoding.format(high)
    return first if first == last else f"{first} to {last}"
