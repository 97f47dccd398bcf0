"""Groups worth knowing: nodes of a tree whose rows depart from all others (CS221 notes 6: the C-section story).

Among the outlets. A tree finds groups by the way, at its inner nodes too; here each is compared with the rows outside
it, on a table: exact counts, an interval, a p-value corrected for how many groups were looked at, and whether the same
is found on rows held out.

departure.py   two parts compared: Fisher, Newcombe, Welch; Holm
study.py       every node compared, repeats told apart, tried on other rows
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, overload

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, format_share, plural, safe
from treewise.errors import DataError, Param, ParameterError
from treewise.evaluate.evaluate import compare_rows
from treewise.explain.rules.rules import number_ends, share_ends
from treewise.explain.rules.terminal_nodes import AND, ConditionStatement, class_place, conditions, gaps_of
from treewise.explain.subgroups.node_groups import (
    GroupTally,
    GroupTest,
    NodeGroup,
    corrected,
    findings,
    tested,
    without_repeats,
)
from treewise.explain.subgroups.statistics import GroupDifference, GroupStatistics
from treewise.predict.confidence_intervals import check_confidence
from treewise.train.settings import count_or_share
from treewise.tree.arrays import LEAF, Label
from treewise.tree.regions.region import Region, regions
from treewise.tree.tree import Tree

MOST = 20  # groups that are printed

__all__ = ["GroupDifference", "GroupStatistics", "GroupTest", "HeldOutStatistics", "Subgroup", "Subgroups", "subgroups"]


@dataclass(frozen=True, repr=False)
class Subgroup(ConditionStatement):
    """One group: the rows that reach a node, beside all others.

    >>> import treewise as tw
    >>> group = tw.grow("penguins", max_depth=1).subgroups("penguins", "Gentoo").every[1]
    >>> group
    flipper_length_mm > 206.5 or missing: Gentoo 93.9 % of 131 rows, against 0.5 % of 213 others
    >>> group.rows, group.hits, group.rate > 0.9, group.covers({"flipper_length_mm": 220})
    (131, 123, True, True)
    """

    node: int
    leaf: bool
    region: Region
    conditions: tuple[str, ...]
    cls: Label | None  # the class whose share is compared; None of numbers
    group: GroupStatistics
    rest: GroupStatistics  # all rows outside
    departure: GroupDifference
    p_adjusted: float  # by Holm, for all groups that were looked at
    like: str  # why it says no more than another group; "" where it does
    test: GroupTest | None

    @property
    def rows(self) -> int:
        """How many rows are in the group."""
        return self.group.n

    @property
    def hits(self) -> int | None:
        """How many of them are of the class; None of numbers."""
        return self.group.hits

    @property
    def rate(self) -> float:
        """The share of the class, or the mean."""
        return self.group.mean

    def __str__(self) -> str:
        def said(part: GroupStatistics) -> str:
            return format_rounded(part.mean) if self.cls is None else f"{format_share(part.mean)} %"

        name = "mean" if self.cls is None else safe(self.cls)
        others = f"against {said(self.rest)} of {self.rest.n:,} others"
        return f"{self.words}: {name} {said(self.group)} of {plural(self.rows, 'row')}, {others}"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class HeldOutStatistics:
    """The table on which groups were looked for again."""

    table: str
    rows: int
    seen: bool  # it looks like the rows the tree was grown on, and confirms nothing
    groups: int  # p-values there are corrected for so many


@dataclass(frozen=True, eq=False, repr=False)
class Subgroups(Displayable, Sequence[Subgroup]):
    """The groups worth knowing, those first that depart furthest. ``every`` has all that were looked at."""

    tree: Tree
    table: str
    seen: bool  # the rows look like those the tree was grown on
    whole: GroupStatistics  # all rows; of the class asked for
    cls: Label | None
    looked_at: int
    found: tuple[NodeGroup, ...]
    repeats: tuple[NodeGroup, ...] = ()  # say no more than one of those
    chance: tuple[NodeGroup, ...] = ()  # may be chance
    confidence: float = 0.95
    tried: HeldOutStatistics | None = None

    @property
    def every(self) -> Subgroups:
        """All groups that were looked at, also those that repeat another one or may be chance."""
        ranked = sorted((*self.found, *self.repeats, *self.chance), key=lambda each: each.rank)
        tried = None if self.tried is None else replace(self.tried, groups=len(ranked))
        found = corrected(ranked, self.confidence) if tried else ranked
        return replace(self, found=tuple(found), repeats=(), chance=(), tried=tried)

    def __len__(self) -> int:
        return len(self.found)

    @overload
    def __getitem__(self, place: int) -> Subgroup: ...
    @overload
    def __getitem__(self, place: slice) -> Subgroups: ...
    def __getitem__(self, place: int | slice) -> Subgroup | Subgroups:
        if isinstance(place, slice):
            return replace(self, found=self.found[place])
        return self._made([self.found[place]])[0]

    def __iter__(self) -> Iterator[Subgroup]:
        return iter(self._made(self.found))

    def _made(self, found: Sequence[NodeGroup]) -> list[Subgroup]:
        """Make groups of findings: one way through the tree for their regions."""
        tree, gaps = self.tree, gaps_of(self.tree)
        areas = dict(regions(tree, [each.node for each in found]))
        return [
            Subgroup(
                node=each.node,
                leaf=bool(tree.arrays.kind[each.node] == LEAF),
                region=areas[each.node],
                conditions=conditions(areas[each.node], gaps, False),
                cls=None if each.place is None else tree.classes[each.place],
                group=each.group,
                rest=each.rest,
                departure=each.departure,
                p_adjusted=each.p_adjusted,
                like=each.like,
                test=each.test,
            )
            for each in found
        ]

    # -- shown ------------------------------------------------------------------------------------------------

    def result_table(self) -> ResultTable:
        """Return the table."""
        of = self.tree.target.name
        whose = "its" if len(self) == 1 else "their"
        name = f"mean {safe(of)}" if self.whole.numbers else f"share of {whose} class"
        name = name if self.cls is None else f"share of {safe(of)} = {safe(self.cls)}"
        title = f"{plural(len(self), 'group')}, by how far {whose} {name} departs from the rest"
        rows = [line(group, self.confidence) for group in self]
        return ResultTable(title, self._headings(), rows, tuple(self._above()), tuple(self._below()), "group", MOST)

    def _headings(self) -> tuple[ColumnSpec, ...]:
        numbers, several = self.whole.numbers, self.cls is None
        kind: Any = "number" if numbers else "share"
        data: Any = "data"
        count: Any = data if numbers else None
        class_name = "of class" if several else safe(self.cls)
        rate, rest = ("mean", "rest") if numbers else ("%", "rest %")
        ends = number_ends if numbers else share_ends
        test = (
            ColumnSpec("test_rows", "count", "test rows"),
            ColumnSpec("test_hits", "count", only=data),
            ColumnSpec("test_rate", kind, rate),
            ColumnSpec("test_rest_rate", kind, rest),
            ColumnSpec("test_p", "number", only=data),
            ColumnSpec("test_p_adjusted", "number", "p", write_p),
            ColumnSpec("confirmed", "flag", "again", lambda again: "yes" if again else "no"),
        )
        return (
            ColumnSpec("node", "count", formatter=str),
            ColumnSpec("leaf", "flag", only=data),
            ColumnSpec("class", "label", "class", only=None if several and not numbers else data),
            ColumnSpec("rows", "count"),
            ColumnSpec("hits", "count", class_name, only=count),
            ColumnSpec("rate", kind, rate),
            ColumnSpec("low", kind, only=data),
            ColumnSpec("high", kind, only=data),
            ColumnSpec("interval", title=f"{100 * self.confidence:g} % interval", formatter=ends, only="text"),
            ColumnSpec("rest_rows", "count", only=data),
            ColumnSpec("rest_hits", "count", only=data),
            ColumnSpec("rest_rate", kind, rest),
            ColumnSpec("difference", "number", formatter=signed(numbers), title="apart"),
            ColumnSpec("difference_low", "number", only=data),
            ColumnSpec("difference_high", "number", only=data),
            ColumnSpec("p", "number", only=data),
            ColumnSpec("p_adjusted", "number", "p", write_p),
            ColumnSpec("like", only=data if not any(each.like for each in self.found) else None),
            *(test if self.tried else ()),
            ColumnSpec("group", break_at=AND),
        )

    def _above(self) -> Iterator[str]:
        n, whole = plural(self.whole.n, "row"), self.whole
        if whole.numbers:
            yield f"mean {safe(self.tree.target.name)}: {format_rounded(whole.mean)}, of {n} of {safe(self.table)}"
        elif self.cls is not None:
            share = f"{format_share(whole.mean)} % ({whole.hits:,})"
            yield f"{safe(self.tree.target.name)} = {safe(self.cls)}: {share} of {n} of {safe(self.table)}"
        else:
            yield f"{n} of {safe(self.table)}; of each group the share of the class that the tree predicts there"
        if self.seen:
            yield (
                "These look like the rows the tree was grown on. It chose the groups by them, so that groups seem to"
                " depart further than they do, and p-values are too small."
                + ("" if self.tried else " Confirm them on rows that it has not seen.")
            )

    def _below(self) -> Iterator[str]:
        test = "Welch's t-test" if self.whole.numbers else "Fisher's exact test"
        sure = f"{100 * self.confidence:g} %"
        yield (
            f"Ranked by how far a group departs at least ({sure} interval of the difference). p: {test}, two-sided, by"
            f" Holm for the {plural(self.looked_at, 'group')} looked at."
        )
        if self.repeats:
            many = len(self.repeats)
            yield f"{plural(many, 'more group')} {'overlaps' if many == 1 else 'overlap'} with these"
        if self.chance:
            limit = f"{1 - self.confidence:.2g}"
            yield f"{plural(len(self.chance), 'more group')} may be chance (p of {limit} or more)"
        if self.tried:
            held = "the rows the tree was grown on, which confirm nothing"
            held = held if self.tried.seen else plural(self.tried.rows, "row")
            again = sum(each.test is not None and each.test.confirmed for each in self.found)
            yield (
                f"Found again on {safe(self.tried.table)} ({held}): {again} of {len(self)}; there p is by Holm for the"
                f" {plural(self.tried.groups, 'group')} tried."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        head = {"target": self.tree.target.name, "class": self.cls, "table": self.table, "n": self.whole.n}
        several = self.cls is None and not self.whole.numbers  # each group has its own class: no rate of all rows
        facts = {"seen": self.seen, "rate": None if several else self.whole.mean, "looked_at": self.looked_at}
        more = {"repeats": len(self.repeats), "chance": len(self.chance), "confidence": self.confidence}
        test = None if self.tried is None else asdict(self.tried)
        return {**head, **facts, **more, "test": test, "groups": self.result_table().records()}


def line(group: Subgroup, confidence: float) -> list[Any]:
    """Return the cells of one group."""
    ends, apart, trial = group.group.interval(confidence), group.departure, group.test
    found = [group.node, group.leaf, group.cls, group.rows, group.hits, group.rate, *ends, ends]
    found += [group.rest.n, group.rest.hits, group.rest.mean, apart.difference, apart.low, apart.high]
    found += [apart.p, group.p_adjusted, group.like]
    if trial is not None:
        p = None if trial.departure is None else trial.departure.p
        means = [part.mean if part.n else None for part in (trial.group, trial.rest)]
        found += [trial.group.n, trial.group.hits, *means, p, None if p is None else trial.p_adjusted, trial.confirmed]
    return [*found, group.words]


def write_p(p: float) -> str:
    """Write a p-value.

    >>> write_p(0.0123), write_p(3.2e-9), write_p(0.0), write_p(1.0)
    ('0.012', '3e-09', '<1e-300', '1')
    """
    if p < 1e-300:
        return "<1e-300"
    return f"{p:.0e}" if p < 0.001 else f"{p:.2g}"


def signed(numbers: bool) -> Any:
    """Return how a difference is written: of shares in percentage points."""

    def write(value: float) -> str:
        return f"{'+' if value > 0 else ''}{format_rounded(value)}" if numbers else f"{100 * value:+.1f}"

    return write


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
) -> Subgroups:
    """Find the groups worth knowing."""
    check_confidence(confidence)
    if min_support != 0 or isinstance(min_support, bool):
        count_or_share("min_support", min_support, least=0)
    if isinstance(test, (int, float)):
        raise ParameterError(
            "the tree has seen the rows it was grown on.",
            parameter="test",
            value=test,
            hint="Hold some out before growing, and give that table: " + Param("test", ...) + ".",
        )
    here = compare_rows(tree, data, target, drop_missing_target)
    tree = here.model
    place = (
        None if cls is None and len(tree.classes) != 2 else class_place(tree, tree.classes[1] if cls is None else cls)
    )
    tally = GroupTally(here, place)
    if tally.n < 2:
        raise DataError(f"{here.table.name} has {plural(tally.n, 'row')}: there is nothing to compare a group with.")
    least = min_support * tally.n if isinstance(min_support, float) else min_support
    ranked = findings(tally, least, confidence)
    sure = [each for each in ranked if each.p_adjusted < 1 - confidence]
    kept, repeats = without_repeats(tree, sure, confidence)
    chance = [each for each in ranked if each.p_adjusted >= 1 - confidence]
    tried = None
    if test is not None:
        other = GroupTally(compare_rows(tree, test, target, drop_missing_target), place)
        tried = HeldOutStatistics(other.name, other.n, other.seen, len(kept))
        again = {each.node: each for each in tested([*kept, *repeats, *chance], other, confidence)}
        kept, repeats, chance = ([again[each.node] for each in part] for part in (kept, repeats, chance))
        kept = corrected(kept, confidence)
    return Subgroups(
        tree=tree,
        table=here.table.name,
        seen=tally.seen,
        whole=tally.part(0, place if place is not None or tree.task == "regression" else 0),
        cls=None if place is None else tree.classes[place],
        looked_at=len(ranked),
        found=tuple(kept),
        repeats=tuple(repeats),
        chance=tuple(chance),
        confidence=confidence,
        tried=tried,
    )
