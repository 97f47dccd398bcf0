"""Find subgroups: nodes of a tree whose target differs from that of all other rows (CS221 notes 6: C-sections).

The inner nodes of a tree describe groups as well as its leaves do. Each is compared with the rows outside it, on a
table: exact counts, an interval, a p-value adjusted for the number of groups, and a test on held-out rows. On the
training rows, whose search made the groups, there is no p-value unless the search is repeated on permuted targets.

    statistics.py        two groups compared: Fisher, Newcombe, Welch; Holm
    node_groups.py       every node compared, redundant groups separated, groups tested on other rows
    permuted_search.py   p-values on the training rows
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, overload

from treewise._lib.checks import check_count_or_share
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_p_value, format_percent, format_rounded, format_share, format_signed, plural, safe
from treewise.errors import DataError, Param, ParameterError
from treewise.evaluate.evaluate import prepare_evaluation
from treewise.explain.rules import (
    AND,
    ConditionStatement,
    class_index,
    columns_with_missing,
    describe_conditions,
    format_interval,
    format_share_interval,
)
from treewise.explain.subgroups.node_groups import (
    GroupTally,
    GroupTest,
    NodeGroup,
    adjust_tests,
    compare_nodes,
    retest,
    separate_redundant,
)
from treewise.explain.subgroups.permuted_search import PermutedSearch
from treewise.explain.subgroups.statistics import GroupDifference, GroupStatistics
from treewise.predict.confidence_intervals import check_confidence, interval_name
from treewise.tree.arrays import LEAF, Label
from treewise.tree.regions.region import Region, regions
from treewise.tree.tree import Tree

__all__ = ["GroupDifference", "GroupStatistics", "GroupTest", "HeldOutTest", "Subgroup", "Subgroups", "subgroups"]

_MAX_SHOWN = 20  # groups that are printed
_TRAINING_ROWS = "These look like the training rows, by which the groups were chosen: differences are overstated."
_NO_P_VALUES = (
    " A p-value would have to account for that search: repeat it on permuted targets (option permutations),"
    " or give held-out rows (option test)."
)


def subgroups(
    tree: Tree,
    data: Any,
    cls: Any = None,
    *,
    test: Any = None,
    target: Any = None,
    min_support: float = 0,
    confidence: float = 0.95,
    drop_missing_target: bool = False,
    search: PermutedSearch | None = None,
) -> Subgroups:
    """Find subgroups (``Tree.subgroups``); ``search`` repeats it on permuted targets."""
    check_confidence(confidence)
    if search is not None:
        search.check()
    if min_support != 0 or isinstance(min_support, bool):
        check_count_or_share("min_support", min_support, minimum=0)
    if isinstance(test, (int, float)):
        raise ParameterError(
            "the tree has seen the rows it was grown on.",
            parameter="test",
            value=test,
            hint="Hold some out before growing, and give that table: " + Param("test", ...) + ".",
        )
    comparison = prepare_evaluation(tree, data, target, drop_missing_target)
    tree = comparison.model
    index = None
    if cls is not None or len(tree.classes) == 2:
        index = class_index(tree, tree.classes[1] if cls is None else cls)
    tally = GroupTally.of(comparison, index)
    if tally.n < 2:
        raise DataError(f"{tally.name} has {plural(tally.n, 'row')}: there is nothing to compare a group with.")
    min_rows = min_support * tally.n if isinstance(min_support, float) else min_support
    ranked = compare_nodes(tally, min_rows, confidence)
    if search is not None:
        if not tally.is_training_data:
            raise ParameterError(
                f"{tally.name} is not the table that the tree was grown on, so its p-values need no permutations.",
                parameter="permutations",
                hint="Leave it out.",
            )
        ranked = search.adjust(tree, data, ranked, index, min_rows)
    significant = [group for group in ranked if group.p_adjusted < 1 - confidence]
    kept, redundant = separate_redundant(tree, significant, confidence)
    insignificant = [group for group in ranked if group.p_adjusted >= 1 - confidence]
    held_out = None
    if test is not None:
        other = GroupTally.of(prepare_evaluation(tree, test, target, drop_missing_target), index)
        held_out = HeldOutTest(other.name, other.n, other.is_training_data, len(kept))
        retested = {group.node: group for group in retest([*kept, *redundant, *insignificant], other, confidence)}
        kept, redundant, insignificant = (
            [retested[group.node] for group in groups] for groups in (kept, redundant, insignificant)
        )
        kept = adjust_tests(kept, confidence)
    return Subgroups(
        tree=tree,
        table=tally.name,
        is_training_data=tally.is_training_data,
        overall=tally.statistics(0, index if index is not None or tree.task == "regression" else 0),
        cls=None if index is None else tree.classes[index],
        n_compared=len(ranked),
        groups=tuple(kept),
        redundant=tuple(redundant),
        insignificant=tuple(insignificant),
        confidence=confidence,
        held_out=held_out,
        permutations=0 if search is None else search.permutations,
    )


@dataclass(frozen=True, repr=False)
class Subgroup(ConditionStatement):
    """One group: the rows that reach a node, compared with all others.

    >>> import treewise as tw
    >>> group = tw.grow("penguins", max_depth=1).subgroups("penguins", "Gentoo").all_groups[1]
    >>> group
    flipper_length_mm > 206.5 or missing: Gentoo 93.9 % of 131 rows, against 0.5 % of 213 others
    >>> group.rows, group.hits, group.rate > 0.9, group.covers({"flipper_length_mm": 220})
    (131, 123, True, True)
    """

    node: int
    is_leaf: bool
    region: Region
    conditions: tuple[str, ...]
    cls: Label | None  # the class whose share is compared; None for numbers
    group: GroupStatistics
    rest: GroupStatistics  # all rows outside
    difference: GroupDifference
    p_adjusted: float | None  # for all groups compared, or for the whole search; None on training rows without that
    redundancy: str  # why it adds nothing to another group; "" if it does
    test: GroupTest | None

    @property
    def rows(self) -> int:
        """The number of rows in the group."""
        return self.group.n

    @property
    def hits(self) -> int | None:
        """The number of rows of the class; None for numbers."""
        return self.group.hits

    @property
    def rate(self) -> float:
        """The share of the class, or the mean."""
        return self.group.mean

    def __str__(self) -> str:
        rate, rest = (
            format_rounded(side.mean) if self.cls is None else f"{format_share(side.mean)} %"
            for side in (self.group, self.rest)
        )
        name = "mean" if self.cls is None else safe(self.cls)
        return f"{self.text}: {name} {rate} of {plural(self.rows, 'row')}, against {rest} of {self.rest.n:,} others"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class HeldOutTest:
    """The table on which the groups were tested."""

    table: str
    rows: int
    is_training_data: bool  # it looks like the training rows, and confirms nothing
    groups: int  # the number of tests that p-values there are adjusted for


@dataclass(frozen=True, eq=False, repr=False)
class Subgroups(Displayable, Sequence[Subgroup]):
    """Subgroups, the largest differences first. ``all_groups`` has every group that was compared."""

    tree: Tree
    table: str
    is_training_data: bool  # the rows look like those the tree was grown on
    overall: GroupStatistics  # of all rows
    cls: Label | None
    n_compared: int
    groups: tuple[NodeGroup, ...]
    redundant: tuple[NodeGroup, ...] = ()  # add nothing to one of those
    insignificant: tuple[NodeGroup, ...] = ()
    confidence: float = 0.95
    held_out: HeldOutTest | None = None
    permutations: int = 0  # of the target, for p-values on the training rows

    @property
    def has_p_values(self) -> bool:
        """Whether p-values are valid here: the rows did not choose the groups, or the search was repeated."""
        return not self.is_training_data or self.permutations > 0

    @property
    def interval_name(self) -> str:
        """The kind of the bounds of shares, means and differences: ``"95 % interval"`` or ``"training range"``."""
        return interval_name(not self.is_training_data, self.confidence)

    @property
    def all_groups(self) -> Subgroups:
        """All groups that were compared, including redundant and insignificant ones."""
        ranked = sorted((*self.groups, *self.redundant, *self.insignificant), key=lambda group: group.rank)
        held_out = None if self.held_out is None else replace(self.held_out, groups=len(ranked))
        groups = adjust_tests(ranked, self.confidence) if held_out else ranked
        return replace(self, groups=tuple(groups), redundant=(), insignificant=(), held_out=held_out)

    @property
    def displayed(self) -> Subgroups:
        """The groups in the words of the tree's display."""
        display = self.tree.display
        if display is None:
            return self
        return replace(self, tree=self.tree.displayed, cls=None if self.cls is None else display.label(self.cls))

    def __len__(self) -> int:
        return len(self.groups)

    @overload
    def __getitem__(self, index: int) -> Subgroup: ...
    @overload
    def __getitem__(self, index: slice) -> Subgroups: ...
    def __getitem__(self, index: int | slice) -> Subgroup | Subgroups:
        if isinstance(index, slice):
            return replace(self, groups=self.groups[index])
        return self._make_subgroups([self.groups[index]])[0]

    def __iter__(self) -> Iterator[Subgroup]:
        return iter(self._make_subgroups(self.groups))

    def _make_subgroups(self, groups: Sequence[NodeGroup]) -> list[Subgroup]:
        """Add regions to groups, in one traversal of the tree."""
        tree, had_missing = self.tree, columns_with_missing(self.tree)
        region_of = dict(regions(tree, [group.node for group in groups]))
        return [
            Subgroup(
                node=group.node,
                is_leaf=bool(tree.arrays.kind[group.node] == LEAF),
                region=region_of[group.node],
                conditions=describe_conditions(region_of[group.node], had_missing, or_unseen=False),
                cls=None if group.class_index is None else tree.classes[group.class_index],
                group=group.group,
                rest=group.rest,
                difference=group.difference,
                p_adjusted=group.p_adjusted if self.has_p_values else None,
                redundancy=group.redundancy,
                test=group.test,
            )
            for group in groups
        ]

    def result_table(self) -> ResultTable:
        """Return the table of groups."""
        target = safe(self.tree.target.name)
        whose = "its" if len(self) == 1 else "their"
        name = f"mean {target}" if self.overall.is_numeric else f"share of {whose} class"
        name = name if self.cls is None else f"share of {target} = {safe(self.cls)}"
        title = f"{plural(len(self), 'group')}, ranked by how much {whose} {name} differs from the rest"
        lines = [_group_line(group, self.confidence) for group in self]
        above, below = tuple(self._above()), tuple(self._below())
        return ResultTable(title, self._columns(), lines, above, below, "group", _MAX_SHOWN)

    def _columns(self) -> tuple[ColumnSpec, ...]:
        is_numeric, several = self.overall.is_numeric, self.cls is None
        kind: Any = "number" if is_numeric else "share"
        data: Any = "data"
        count: Any = data if is_numeric else None
        hits = "of class" if several else safe(self.cls)
        rate, rest = ("mean", "rest") if is_numeric else ("%", "rest %")
        interval = format_interval if is_numeric else format_share_interval
        test = (
            ColumnSpec("test_rows", "count", "test rows"),
            ColumnSpec("test_hits", "count", only=data),
            ColumnSpec("test_rate", kind, rate),
            ColumnSpec("test_rest_rate", kind, rest),
            ColumnSpec("test_p", "number", only=data),
            ColumnSpec("test_p_adjusted", "number", "p", format_p_value),
            ColumnSpec("confirmed", "flag", "holds", lambda confirmed: "yes" if confirmed else "no"),
        )
        return (
            ColumnSpec("node", "count", formatter=str),
            ColumnSpec("leaf", "flag", only=data),
            ColumnSpec("class", "label", "class", only=None if several and not is_numeric else data),
            ColumnSpec("rows", "count"),
            ColumnSpec("hits", "count", hits, only=count),
            ColumnSpec("rate", kind, rate),
            ColumnSpec("low", kind, only=data),
            ColumnSpec("high", kind, only=data),
            ColumnSpec("interval", title=self.interval_name, formatter=interval, only="text"),
            ColumnSpec("rest_rows", "count", only=data),
            ColumnSpec("rest_hits", "count", only=data),
            ColumnSpec("rest_rate", kind, rest),
            ColumnSpec("difference", "number", "diff", format_signed if is_numeric else _format_points),
            ColumnSpec("difference_low", "number", only=data),
            ColumnSpec("difference_high", "number", only=data),
            ColumnSpec("p", "number", only=data),
            ColumnSpec("p_adjusted", "number", "p", format_p_value, only=None if self.has_p_values else data),
            ColumnSpec("redundancy", only=data if not any(group.redundancy for group in self.groups) else None),
            *(test if self.held_out else ()),
            ColumnSpec("group", break_at=AND),
        )

    def _above(self) -> Iterator[str]:
        overall, target, cls = self.overall, safe(self.tree.target.name), self.cls
        rows = f"{plural(overall.n, 'row')} of {safe(self.table)}"
        if overall.is_numeric:
            yield f"mean {target}: {format_rounded(overall.mean)} of {rows}"
        elif cls is not None:
            yield f"{target} = {safe(cls)}: {format_share(overall.mean)} % ({overall.hits:,}) of {rows}"
        else:
            yield f"{rows}; for each group, the share of the class that the tree predicts there"
        if self.is_training_data:
            yield _TRAINING_ROWS + ("" if self.has_p_values or self.held_out else _NO_P_VALUES)

    def _below(self) -> Iterator[str]:
        test = "Welch's t-test" if self.overall.is_numeric else "Fisher's exact test"
        ranked = f"Ranked by the end of the {self.interval_name} of the difference that is nearest to 0."
        groups = plural(self.n_compared, "group")
        if self.permutations:
            yield (
                f"{ranked} p: the share of {plural(self.permutations, 'search', 'searches')} on permuted targets whose"
                f" best group is as extreme, which accounts for the search; at least the p-value of {test}."
            )
        else:
            yield f"{ranked} p: {test}, two-sided, adjusted for {groups} (Holm)." if self.has_p_values else ranked
        if self.redundant:
            n = len(self.redundant)
            yield f"{plural(n, 'more group')} {'overlaps' if n == 1 else 'overlap'} with these"
        if self.insignificant and self.has_p_values:
            n, limit = len(self.insignificant), f"{1 - self.confidence:.2g}"
            yield f"{plural(n, 'more group')} {'is' if n == 1 else 'are'} not significant (p >= {limit})"
        elif self.insignificant:
            n = len(self.insignificant)
            yield f"{plural(n, 'more group')} {'differs' if n == 1 else 'differ'} little from the rest"
        if self.held_out:
            rows = plural(self.held_out.rows, "row")
            rows = "the training rows, which confirm nothing" if self.held_out.is_training_data else rows
            n = sum(group.test is not None and group.test.confirmed for group in self.groups)
            yield (
                f"Confirmed on {safe(self.held_out.table)} ({rows}): {n} of {len(self)}; p there is adjusted for"
                f" {plural(self.held_out.groups, 'group')}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        has_own_classes = self.cls is None and not self.overall.is_numeric  # then there is no overall rate
        return {
            "target": self.tree.target.name,
            "class": self.cls,
            "table": self.table,
            "n": self.overall.n,
            "is_training_data": self.is_training_data,
            "rate": None if has_own_classes else self.overall.mean,
            "n_compared": self.n_compared,
            "redundant": len(self.redundant),
            "insignificant": len(self.insignificant),
            "confidence": self.confidence,
            "interval": self.interval_name,
            "permutations": self.permutations,
            "held_out": None if self.held_out is None else asdict(self.held_out),
            "groups": self.result_table().records(),
        }


def _group_line(group: Subgroup, confidence: float) -> list[Any]:
    interval, difference, test = group.group.interval(confidence), group.difference, group.test
    line = [group.node, group.is_leaf, group.cls, group.rows, group.hits, group.rate, *interval, interval]
    line += [group.rest.n, group.rest.hits, group.rest.mean, difference.value, difference.low, difference.high]
    line += [None if group.p_adjusted is None else difference.p, group.p_adjusted, group.redundancy]
    if test is not None:
        p = None if test.difference is None else test.difference.p
        rates = [side.mean if side.n else None for side in (test.group, test.rest)]
        line += [test.group.n, test.group.hits, *rates, p, None if p is None else test.p_adjusted, test.confirmed]
    return [*line, group.text]


def _format_points(value: float) -> str:
    return format_signed(value, format_percent)
