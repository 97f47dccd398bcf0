"""A stump: the best tree with a single split, and the ranking of all its candidates.

Built on the trace (``explain/trace``), which lists and compares the candidates of a node as the learner does; here they
are ranked, from the split of the tree down to those that violate the limits on leaves. A stump is the weak learner of
boosting, and the quickest look at a table: which single test is most informative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

from treewise._lib.checks import as_integer
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import plural, safe
from treewise.errors import ParameterError
from treewise.explain.trace import CandidateTrace, ColumnTrace, NodeTrace, Trace
from treewise.explain.trace.arithmetic import BranchTerm
from treewise.explain.trace.nodes import TraceView
from treewise.explain.trace.render import branch_data
from treewise.explain.trace.trace import check_view
from treewise.explain.trace.words import (
    MAX_CLASSES,
    STOP_REASONS,
    Legend,
    describe_rows,
    describe_settled,
    format_branches,
    format_column_score,
    format_label,
    is_priced,
)
from treewise.train.grow import PRUNING, grow_training_set, note_leakage, prepare
from treewise.train.reference import Candidate
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import STOPS
from treewise.tree.splits import shorten_for_cell
from treewise.tree.tree import Tree


@dataclass(frozen=True, eq=False, repr=False)
class RankedTest:
    """One candidate of a stump, with its rank.

    >>> import treewise as tw
    >>> tw.stump("four_points", "y")[0]
    <1. x1 <= 0.5 · gain 0.3113>
    """

    rank: int | None  # tied tests share a rank; None for a test that is forbidden or leaves a branch too small
    traced: CandidateTrace
    of: ColumnTrace
    chosen: bool  # whether this is the test of the tree

    @property
    def column(self) -> str:
        """The column it tests."""
        return self.of.name

    @property
    def test(self) -> str:
        """The test as text, by its first branch."""
        return format_label(self.of, self.traced)

    @property
    def kind(self) -> str:
        """The kind of split: ``"threshold"``, ``"ordinal"``, ``"one_value"``, ``"subset"`` or ``"multiway"``."""
        return self.traced.candidate.split.kind

    @property
    def gain(self) -> float:
        """The decrease of impurity."""
        return self.traced.gain

    @property
    def score(self) -> float | None:
        """The score that it is compared by; for C4.5 the gain ratio, for the best test of a column only."""
        if self.of.number_format.training_set.criterion.rule == "c45":
            return self.of.score if self.traced is self.of.best else None
        return self.traced.score

    @property
    def price_bits(self) -> int:
        """Its price: the code length of naming it, in bits (``selection="priced"``)."""
        return self.traced.price_bits

    @property
    def forbidden(self) -> str:
        """The constraint that forbids it, as text; "" if none does."""
        return self.traced.forbidden

    @property
    def branches(self) -> tuple[BranchTerm, ...]:
        """Each branch: rows, weight, counts or mean, impurity."""
        return self.traced.parts

    def __repr__(self) -> str:
        rank = "–" if self.rank is None else f"{self.rank}."
        return f"<{rank} {self.test} · gain {self.gain:.4g}>"


@dataclass(frozen=True, eq=False, repr=False)
class Stump(Displayable, Sequence[RankedTest]):
    """A tree with one split, ``tree``, and every candidate for it, best first: ``stump[0]`` is the split of the tree.

    ``print`` lists them; ``node`` has them by column, with the arithmetic of each (``print(stump.node)``).

    >>> import treewise as tw
    >>> stump = tw.stump("four_points", "y")
    >>> print(stump)
    four_points, column y: 3 candidates for one test, best first
    4 rows, y 0: 3, 1: 1, H = 0.8113 bits. branches: rows of 0, 1
    rank  test         gain  branches
       1  x1 <= 0.5  0.3113  [1 1] [2 0]  ◄ best
       2  x1 <= 1.5  0.1226  [2 1] [1 0]
       2  x2 <= 0.5  0.1226  [2 1] [1 0]
    H(p) in bits, p the share of 1; information gain is H(Y) − H(Y|Z).
    """

    tree: Tree
    training_set: TrainingSet
    view: TraceView

    @cached_property
    def node(self) -> NodeTrace:
        """The computations of the root."""
        return Trace(self.tree, self.training_set, self.view)[0]

    @cached_property
    def _tests(self) -> tuple[RankedTest, ...]:
        return tuple(_ranked_tests(self.node))

    def __len__(self) -> int:
        """Return the number of candidates, counting every placement of missing rows."""
        return len(self._tests)

    @overload
    def __getitem__(self, index: int) -> RankedTest: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RankedTest, ...]: ...
    def __getitem__(self, index: int | slice) -> RankedTest | tuple[RankedTest, ...]:
        return self._tests[index]

    @property
    def best(self) -> RankedTest | None:
        """The test of the tree; None if the tree has no split."""
        return next((test for test in self._tests[:1] if test.chosen), None)

    # -- shown ------------------------------------------------------------------------------------------------

    def result_table(self) -> ResultTable:
        """Return every candidate."""
        node, number_format = self.node, self.node.number_format
        criterion = number_format.training_set.criterion
        has_score, priced = criterion.rule != "gain", is_priced(node)
        has_feature_costs = any(test.traced.candidate.feature_cost for test in self._tests)
        headings = (
            ColumnSpec("rank", "count"),
            ColumnSpec("column", only="data"),
            ColumnSpec("test", only="data"),
            ColumnSpec("briefly", title="test", only="text"),
            ColumnSpec("kind", only=None if number_format.training_set.divides_gain_by_branches else "data"),
            ColumnSpec("gain", "number", formatter=number_format.format),
            ColumnSpec("price_bits", "count", "price, bits", only=None if priced and not has_feature_costs else "data"),
            ColumnSpec("cost", "number", formatter=number_format.format, only=None if has_feature_costs else "data"),
            ColumnSpec(
                "score",
                "number",
                criterion.score_heading
                if has_score
                else "per branch"
                if number_format.training_set.divides_gain_by_branches
                else "net",
                lambda value: format_column_score(node, value),
                None if has_score or priced or number_format.training_set.divides_gain_by_branches else "data",
            ),
            ColumnSpec("counts", title="branches", only="text"),
            ColumnSpec("branches", only="data"),
            ColumnSpec("chosen", "flag", "", lambda chosen: "◄ best" if chosen else ""),
            ColumnSpec("forbidden", only=None if any(test.forbidden for test in self._tests) else "data"),
        )
        n_candidates = f"{plural(len(self), 'candidate')} for one test"
        title = (
            f"{safe(self.training_set.table_name)}, column {safe(self.tree.target.name)}: {n_candidates}, best first"
        )
        return ResultTable(title, headings, _StumpRows(self), (self._about(),), tuple(self._notes()), "candidate")

    def _about(self) -> str:
        node, number_format = self.node, self.node.number_format
        impurity = f"{number_format.letter} = {number_format.format(node.impurity)} {number_format.shown_unit}".rstrip()
        classes = number_format.training_set.target.classes
        if not classes:
            holds = f"rows and {number_format.training_set.criterion.centre}"
        else:
            holds = f"rows of {', '.join(map(safe, classes))}" if len(classes) <= MAX_CLASSES else "rows"
        return f"{describe_rows(node)}, {impurity}. branches: {holds}"

    def _notes(self) -> Iterator[str]:
        node = self.node
        if node.settled:
            yield f"Nothing to split: {describe_settled(node)}."
            return
        if node.split is None:
            stop = STOPS[self.tree.arrays.stop[0]]
            yield f"The tree has no split: {STOP_REASONS.get(stop, stop)}."
        for column in node.columns.values():
            if not column.tests:
                yield f"{safe(column.name)}: {column.note}."
        yield from note_leakage(self.tree)
        if any(test.rank is None and not test.forbidden for test in self._tests):
            yield "Without a rank: a test that leaves a branch too small to be a leaf."
        yield str(Legend(node))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        number_format = self.node.number_format
        about = {"table": self.training_set.table_name, "target": self.tree.target.name, "rows": self.node.rows}
        settings = {
            "criterion": number_format.training_set.criterion.name,
            "unit": number_format.shown_unit,
            "per": number_format.per,
        }
        return {**about, **settings, "impurity": self.node.impurity, "candidates": self.result_table().records()}


class _StumpRows(Sequence[Sequence[Any]]):
    """The rows of the table, each computed on demand: a regression branch needs a pass over its rows."""

    def __init__(self, tests: Sequence[RankedTest]) -> None:
        self.tests = tests

    def __len__(self) -> int:
        return len(self.tests)

    def __getitem__(self, index: Any) -> Any:
        return list(map(_cells_of, self.tests[index])) if isinstance(index, slice) else _cells_of(self.tests[index])


def _cells_of(test: RankedTest) -> list[Any]:
    branches = list(branch_data(test.branches))
    briefly = shorten_for_cell(test.test, test.traced.candidate.split)
    about = [test.rank, test.column, test.test, briefly, test.kind, test.gain, test.price_bits]
    about += [test.traced.cost, test.score]
    return [*about, format_branches(test.traced), branches, test.chosen, test.forbidden]


# -- making it ----------------------------------------------------------------------------------------------------


def stump(data: Any, target: Any = None, *, unit: str = "bits", per: str = "row", **options: Any) -> Stump:
    """Grow the best tree with a single split, and rank all candidates for it (chapter 8's stump).

    ``.tree`` is an ordinary tree of depth 1. The candidates are compared on first access, by the reference search; on a
    large table that takes far longer than growing the tree.

    >>> import treewise as tw
    >>> stump = tw.stump("penguins")
    >>> stump.tree
    <Tree species: Adelie, Chinstrap, Gentoo · 344 rows · 2 leaves · depth 1>
    >>> for test in stump[:2]:
    ...     print(test.rank, test.test, [branch.counts for branch in test.branches])
    1 flipper_length_mm <= 206.5 (missing with >) [(149, 63, 1), (3, 5, 123)]
    2 flipper_length_mm <= 206.5 or missing [(150, 63, 2), (2, 5, 122)]

    Parameters
    ----------
    data, target, options : as for ``treewise.grow``; but a stump has one test, so there is no ``max_depth``,
        nothing to prune and nothing drawn.
    unit : of entropy, ``"bits"`` or ``"nats"``.
    per : gains per ``"row"``, or in ``"total"`` (the notes' m·H).
    """
    for name in PRUNING:
        if name == "honest" and options.pop(name, None) is not None:
            raise ParameterError("the stump shows how the rows choose its test.", parameter=name, hint="Leave it out.")
        if options.pop(name, None) not in (None, 0, 0.0, "none"):
            raise ParameterError(
                "a stump is one test, and there is nothing to prune.", parameter=name, hint="Leave it out."
            )
    for name in ("max_features", "splitter"):
        if options.pop(name, None) not in (None, "best"):
            raise ParameterError(
                "a stump is the best of all tests, and none is drawn.", parameter=name, hint="Leave it out."
            )
    depth, n_jobs = options.pop("max_depth", None), options.pop("n_jobs", None)
    if depth is not None and as_integer(depth) != 1:
        raise ParameterError(
            "a stump has one test.", parameter="max_depth", value=depth, hint="Leave it out, or grow a tree."
        )
    return grow_stump(prepare(data, target, max_depth=1, **options), unit, per, n_jobs)


def grow_stump(training_set: TrainingSet, unit: str = "bits", per: str = "row", n_jobs: int | None = None) -> Stump:
    """Grow a stump on a prepared training set."""
    view = check_view(TraceView(unit, per), [encoding.name for encoding in training_set.encodings])
    return Stump(grow_training_set(training_set, n_jobs=n_jobs), training_set, view)


def _ranked_tests(node: NodeTrace) -> Iterator[RankedTest]:
    """Rank the candidates of a node by score; ties share a rank, the winner first.

    C4.5 compares the best test of each column by its ratio; the others follow by their gain.
    """
    tests = [(test, column) for column in node.columns.values() for test in column.tests]
    eligible = [pair for pair in tests if pair[0].eligible]
    winner = node[node.winner].best if node.winner is not None else None
    groups: list[list[tuple[CandidateTrace, ColumnTrace]]] = []
    if node.number_format.training_set.criterion.rule == "c45":
        finalists = [pair for pair in eligible if pair[0] is pair[1].best and pair[1].score is not None]
        groups = [
            [pair] for pair in sorted(finalists, key=lambda pair: (pair[0] is not winner, -(pair[1].score or 0.0)))
        ]
        ranked_ids = {id(test) for test, _ in finalists}
        eligible = [pair for pair in eligible if id(pair[0]) not in ranked_ids]
    groups += group_ties(eligible)
    rank = 1
    for group in groups:
        for test, column in sorted(group, key=lambda pair: (pair[0] is not winner, pair[0].candidate.order)):
            yield RankedTest(rank, test, column, test is winner and node.split is not None)
        rank += len(group)
    ineligible = [pair for pair in tests if not pair[0].eligible]
    for test, column in sorted(ineligible, key=lambda pair: (-pair[0].candidate.score, pair[0].candidate.order)):
        yield RankedTest(None, test, column, False)


def group_ties(
    tests: Sequence[tuple[CandidateTrace, ColumnTrace]],
) -> list[list[tuple[CandidateTrace, ColumnTrace]]]:
    """Group tied candidates, best first: each group are those that may be the best of the rest (``pick``)."""
    ordered = sorted(tests, key=lambda pair: _upper_bound(pair[0].candidate), reverse=True)
    lower_bounds = [_lower_bound(test.candidate) for test, _ in ordered]
    for i in range(len(lower_bounds) - 2, -1, -1):
        lower_bounds[i] = max(lower_bounds[i], lower_bounds[i + 1])  # the largest of this one and all that follow
    groups: list[list[tuple[CandidateTrace, ColumnTrace]]] = []
    best_lower_bound = None
    for i, pair in enumerate(ordered):
        if best_lower_bound is None or _upper_bound(pair[0].candidate) < best_lower_bound:
            groups.append([])
            best_lower_bound = lower_bounds[i]
        groups[-1].append(pair)
    return groups


def _upper_bound(candidate: Candidate) -> int:
    return candidate.score + candidate.tolerance


def _lower_bound(candidate: Candidate) -> int:
    return candidate.score - candidate.tolerance
