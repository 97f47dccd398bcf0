"""The stability of a tree as a reader wants it: one honest paragraph, and a table of the questions.

The last file of ``stability``; ``sheet.py`` makes every form of what is laid out here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treewise._lib.result_table import ColumnSpec, ResultTable
from treewise._lib.text import format_rounded, format_share, plural, safe
from treewise.errors import listing
from treewise.train.criteria import criterion_named

if TYPE_CHECKING:
    from treewise.explain.stability.result import NodeStability, Stability

SAFE, LIKELY = 0.9, 0.5  # shares of the resamples from which on a question is called so
NEAR_TIE = 0.05  # a runner-up not further behind than this share is worth a word
WORTH_A_WORD = 0.05  # share of the resamples in which another column is asked instead
MOST_NAMED = 6  # nodes, and near ties


def paragraph(found: Stability) -> str:
    """Say what to make of a tree's structure."""
    said = [first_question(found), *further_questions(found), *near_ties(found), agreement(found), sizes(found)]
    return " ".join(said)


def times(share: float, count: int) -> str:
    """Say in how many resamples.

    >>> times(1.0, 100), times(0.07, 100), times(0.0, 100)
    ('all 100 resamples', '7 of 100 resamples', 'none of 100 resamples')
    """
    hits = round(share * count)
    if hits == count:
        return f"all {count:,} resamples" if count > 1 else "the one resample"
    return f"{hits:,} of {plural(count, 'resample')}" if hits else f"none of {plural(count, 'resample')}"


def first_question(found: Stability) -> str:
    """Say how sure the root is."""
    count = found.resamples
    if not found.nodes:
        asked = sum(k for column, k in found.first.items() if column is not None) / count
        return f"The tree asks nothing; trees of {times(asked, count)} ask something."
    root = found.nodes[0]
    share = found.first.get(root.column, 0) / count
    others = [(c, k) for c, k in found.first.items() if c != root.column]
    rivals = [f"{f'{safe(c)}' if c is not None else 'nothing'} in {k:,}" for c, k in others]
    but = f" ({listing(rivals, most=3)})" if rivals else ""
    verdict = "is safe" if share >= SAFE else "is likely, not certain" if share > LIKELY else "is open"
    line = f"The first question {verdict}: {safe(root.column)} is asked first in {times(share, count)}{but}"
    if root.cuts and " to " in root.cuts:
        line += f"; half of its cuts lie from {root.cuts}"
    return f"{line}."


def further_questions(found: Stability) -> list[str]:
    """Say which of the questions below the first come back, and from where on the tree is one of many."""
    below = found.nodes[1:]
    if not below:
        return []
    groups = {
        f"at least {100 * SAFE:g} %": [n for n in below if n.again >= SAFE],
        "at least half": [n for n in below if LIKELY <= n.again < SAFE],
        "fewer than half": [n for n in below if n.again < LIKELY],
    }
    if len(below) == 1:
        count = times(below[0].again, found.resamples)
        told = [f"The other question (node {below[0].node}) is asked of about the same rows in {count}."]
    else:
        parts = [f"{len(some):,} in {share} ({nodes_named(some)})" for share, some in groups.items() if some]
        told = [f"Of the {len(below):,} questions below it these come back in the resamples: {', '.join(parts)}."]
    seldom = groups["fewer than half"]
    return [*told, *one_of_many(found, seldom)]


def one_of_many(found: Stability, seldom: Sequence[NodeStability]) -> list[str]:
    """Say from where on the tree is one of many, and where only the order of the questions is open."""
    elsewhere = [n for n in seldom if n.asked >= SAFE]
    open_ones = [n for n in seldom if n.asked < SAFE]
    told = []
    if open_ones:
        told.append(
            f"From {numbered(topmost(found, open_ones))} down this tree is one of many that fit about as well:"
            " do not read a reason into what is asked there."
        )
    if elsewhere:
        column = "the same column is" if len(elsewhere) == 1 else "the same columns are"
        told.append(f"At {nodes_named(elsewhere)} {column} asked all the same, earlier or later on the way.")
    return told


def nodes_named(nodes: Sequence[NodeStability]) -> str:
    """Name some nodes."""
    return numbered([n.node for n in nodes])


def numbered(nodes: Sequence[int]) -> str:
    """Name nodes by their numbers.

    >>> numbered([3]), numbered([1, 2, 5])
    ('node 3', 'nodes 1, 2 and 5')
    """
    if len(nodes) == 1:
        return f"node {nodes[0]}"
    if len(nodes) > MOST_NAMED:
        return f"nodes {listing(nodes, most=MOST_NAMED)}"
    return f"nodes {', '.join(map(str, nodes[:-1]))} and {nodes[-1]}"


def topmost(found: Stability, nodes: Sequence[NodeStability]) -> list[int]:
    """Return of some nodes those that lie below none of the others."""
    ends = found.tree.arrays.ends
    tops: list[int] = []
    for node in nodes:
        if not tops or node.node >= ends[tops[-1]]:
            tops.append(node.node)
    return tops


def near_ties(found: Stability) -> list[str]:
    """Say where another column was almost as good."""
    close = [n for n in found.nodes if n.behind is not None and n.behind <= NEAR_TIE]
    if not close:
        return []
    said = [f"at node {n.node} {safe(n.runner_up)} is {distance(n)} {safe(n.column)}" for n in close]
    return [f"Near ties: {listing(said, most=3)}."]


def distance(node: NodeStability) -> str:
    """Say how a runner-up stands to the column that was taken."""
    assert node.behind is not None
    if node.behind <= 0:
        return "as good as" if node.behind == 0 else "better than"  # better: only where a subtree was raised
    return f"{format_share(node.behind)} % behind"


def agreement(found: Stability) -> str:
    """Say how far the answers agree."""
    a = found.agreement
    if found.tree.task == "regression":
        unseen = "" if a.unseen is None else f" ({format_rounded(a.unseen)} for rows they have not seen)"
        return (
            f"The predictions of the resamples' trees differ from this tree's by "
            f"{format_rounded(a.every)}{unseen}, root mean"
            f" square; its own have a spread of {format_rounded(a.spread or 0.0)}."
        )
    unseen = "" if a.unseen is None else f" ({format_share(a.unseen)} % of those they have not seen)"
    steady = f"; {format_share(a.steady or 0.0)} % of the rows get the same answer from nearly every tree"
    return f"The resamples' trees answer as this one for {format_share(a.every)} % of the rows{unseen}{steady}."


def sizes(found: Stability) -> str:
    """Say how large the trees are."""
    low, high = int(found.leaves.min()), int(found.leaves.max())
    mine = plural(found.tree.n_leaves, "leaf", "leaves")
    if low == high == found.tree.n_leaves:
        return f"All have {mine}."
    between = f"{low:,} to {high:,} leaves" if low < high else plural(low, "leaf", "leaves")
    return f"They have {between}, this one {found.tree.n_leaves:,}."


# -- the tables -------------------------------------------------------------------------------------------------------

DATA = (
    *(ColumnSpec("node", "count"), ColumnSpec("column"), ColumnSpec("question"), ColumnSpec("rows", "count")),
    *(ColumnSpec("score", "number"), ColumnSpec("runner_up"), ColumnSpec("runner_up_score", "number")),
    *(
        ColumnSpec("behind", "share"),
        ColumnSpec("place", "share"),
        ColumnSpec("again", "share"),
        ColumnSpec("asked", "share"),
    ),
    *(ColumnSpec("overlap", "share"), ColumnSpec("instead"), ColumnSpec("instead_share", "share")),
    *(ColumnSpec("cut_low", "number"), ColumnSpec("cut_median", "number"), ColumnSpec("cut_high", "number")),
    ColumnSpec("same_test", "share"),
)

AGAIN = (
    ColumnSpec("node", "count"),
    ColumnSpec("question"),
    ColumnSpec("rows", "count"),
    *(ColumnSpec("place", "share"), ColumnSpec("again", "share"), ColumnSpec("asked", "share")),
    ColumnSpec("in the resamples"),
)

BESIDE = (
    ColumnSpec("node", "count"),
    ColumnSpec("column"),
    ColumnSpec("score", "number"),
    ColumnSpec("runner_up", title="runner-up"),
    ColumnSpec("runner_up_score", "number", title="its score"),
    ColumnSpec("behind", "share", title="behind %"),
)

HOW_OFTEN = (
    "In % of the resamples: place, the same column is asked there after the same columns above; again, it is asked of"
    " about the same rows (of those at either node at least half are at both), anywhere in the tree. asked: % of these"
    " rows that are asked about the column at all. Where it is asked again, cut is the middle half of the thresholds,"
    " and the same test parts the values present alike."
)


def data_sheet(found: Stability) -> ResultTable:
    """Lay out every question with all that is known of it."""
    rows = [[getattr(node, heading.name) for heading in DATA] for node in found.nodes]
    return ResultTable(title(found), DATA, rows, row_name="question")


def sheets(found: Stability) -> tuple[ResultTable, ...]:
    """Lay out what readers are shown: the paragraph, how often each question comes back, and the runners-up."""
    again = [(n.node, n.question, n.rows, n.place, n.again, n.asked, resamples_say(n)) for n in found.nodes]
    below = (HOW_OFTEN,) if found.nodes else ()
    first = ResultTable(title(found), AGAIN, again, above=(paragraph(found),), below=below, row_name="question")
    if not found.nodes:
        return (first,)
    beside = [(n.node, n.column, n.score, n.runner_up, n.runner_up_score, n.behind) for n in found.nodes]
    measured = scored_by(found)
    return first, ResultTable(f"The best test of another column, by {measured}", BESIDE, beside, row_name="question")


def title(found: Stability) -> str:
    """Say what was questioned."""
    tree = found.tree
    rows = f"{plural(found.n, 'row')} of {safe(found.table)}"
    leaves, drawn = plural(tree.n_leaves, "leaf", "leaves"), plural(found.resamples, "bootstrap resample")
    return f"Stability of the tree for {safe(tree.target.name)}: {leaves}, {rows}, {drawn}"


def scored_by(found: Stability) -> str:
    """Say what splits compete by."""
    criterion = criterion_named(found.tree.criterion)
    if criterion.rule != "gain":
        return "gain ratio"
    return f"gain per row of the node ({criterion.unit})" if criterion.unit else "gain per row of the node"


def resamples_say(node: NodeStability) -> str:
    """Say how the test of a question varies, and what is asked instead."""
    parts = []
    if node.cuts:
        parts.append(f"cut {node.cuts}")
    elif node.same_test is not None:
        parts.append(f"same test in {100 * node.same_test:.0f} %")
    if node.instead is not None and node.instead_share >= WORTH_A_WORD:
        parts.append(f"else {safe(node.instead)} in {100 * node.instead_share:.0f} %")
    return "; ".join(parts)
