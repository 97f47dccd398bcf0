"""The sentences and labels of a trace that all formats share: rows, results, the outcome and its reason, the legend.

Used by the writers, ``text.py`` for the terminal and ``documents.py`` for Markdown, LaTeX and HTML, which lay them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from treewise._lib.latex import BLANK
from treewise._lib.text import format_count, format_p_value, format_rounded, plural, safe
from treewise.errors import join_few
from treewise.explain.trace.arithmetic import BranchTerm, Formula, NumberFormat
from treewise.explain.trace.nodes import CandidateTrace, ColumnTrace, NodeTrace
from treewise.explain.worked.impurity import WorkedImpurity, worked_impurity
from treewise.train.criteria import RULES
from treewise.train.independence import ColumnTest
from treewise.train.optimal.lookahead import MEASURES
from treewise.train.price import FREE_BITS
from treewise.train.reference import NodeSearch, are_tied
from treewise.tree.splits import Multiway, Presence

MAX_TESTS_WRITTEN, _MAX_FORMULAS = 6, 18  # with more tests per column or in all, a table is printed instead
_MAX_MEMBERS = 60  # rows listed at a node
_MAX_BRANCHES, MAX_CLASSES = 8, 6  # longer formulas are unreadable
_RULES_WITH_FORMULA = ("gain", "ratio", "c45")  # rules that have a formula
ROUNDING_NOTE = "Rounded for display; differences are taken before rounding."
STOP_REASONS = {
    "no_rows": "no training row reached it",
    "pure": "pure in the training table",
    "sufficient_accuracy": "sufficient_accuracy is reached",
    "max_depth": "max_depth is reached",
    "min_samples_split": "fewer rows than min_samples_split",
    "no_candidate": "no column can split these rows",
    "min_samples_leaf": "every split leaves a branch below min_samples_leaf",
    "constraints": "a constraint forbids every split that is left",
    "min_impurity_decrease": "no split reaches min_impurity_decrease",
    "max_leaf_nodes": "max_leaf_nodes is reached",
    "not_significant": "no column has an adjusted p-value of at most alpha",
    "by_hand": "made by hand",
    "imported": "imported as a leaf",
    "not_yet": "not split yet",
}


def writes_formulas(node: NodeTrace) -> bool:
    """Tell whether every candidate is written out as a formula, as in the notes, rather than one line per column.

    The scores of a rule without a formula are printed in the table, beside the gains.
    """
    if node.number_format.training_set.criterion.rule not in _RULES_WITH_FORMULA:
        return False
    if node.view.column is not None:
        return True
    columns = node.columns.values()
    has_few_tests = all(c.tried <= MAX_TESTS_WRITTEN for c in columns) and node.tried <= _MAX_FORMULAS
    is_short = all(len(c.branches) <= _MAX_BRANCHES for c in columns)
    return has_few_tests and is_short and len(node.counts) <= MAX_CLASSES


# -- the node ----------------------------------------------------------------------------------------------


def describe_rows(node: NodeTrace) -> str:
    """Return ``12 rows: 6 N, 6 P``, or for regression ``12 rows, mean 3.5``."""
    whole = node.number_format.whole
    if whole.value is not None:
        return _regression_rows_text(node, whole)
    text = plural(node.rows, "row")
    if whole.weight != node.rows:
        text += f", weight {format_count(whole.weight)}"
    if not node.rows:
        return text
    counts = [c for c in node.counts.items() if c[1] or not node.settled]
    if len(counts) > MAX_CLASSES:
        counts = sorted((c for c in counts if c[1]), key=lambda c: -c[1])
    has_names = all(isinstance(label, str) for label in node.counts)
    listed = [
        f"{format_count(weight)} {safe(label)}" if has_names else f"{label}: {format_count(weight)}"
        for label, weight in counts[:MAX_CLASSES]
    ]
    text += ": " if has_names else f", {safe(node.number_format.training_set.target.name)} "
    more = len(counts) - len(listed)
    return text + ", ".join(listed) + (f", … {more} more classes" if more else "")


def describe_settled(node: NodeTrace) -> str:
    """Return why nothing is computed at a node."""
    return {"pure": "pure", "no_rows": "no rows here"}[node.settled]


def format_impurity(node: NodeTrace, blanks: bool) -> str:
    """Return ``12·H(6/12) = 12.000 bits``."""
    term = node.number_format.whole_term()
    return f"{term.text} = {BLANK if blanks else term.value} {node.number_format.shown_unit}".rstrip()


def describe_members(node: NodeTrace) -> str:
    """Return ``rows 5, 7, 8``; "" unless the reader asked for the rows."""
    if node.view.row_names is None or not node.rows:
        return ""
    return f"rows {join_few([safe(name) for name in node.row_names], limit=_MAX_MEMBERS)}"


_WORKED: dict[str, Literal["entropy", "gini", "error"]] = {"H": "entropy", "G": "gini", "E": "error"}


def worked_terms(node: NodeTrace) -> dict[str, WorkedImpurity]:
    """Return each impurity of the node's formulas written out, by its symbol; empty unless the reader asked for it."""
    number_format = node.number_format
    if not node.view.terms or number_format.letter not in _WORKED or node.settled:
        return {}
    groups = [number_format.whole]
    for column in shown_columns(node):
        tests = column.tests if writes_formulas(node) else column.tests[:0]
        groups += [part for test in tests for part in test.parts if part.rows]
    terms: dict[str, WorkedImpurity] = {}
    for part in groups:
        symbol = f"{number_format.letter}({', '.join(number_format.shares(part))})"
        counts = part.counts[::-1] if len(part.counts) == 2 else part.counts  # the positive class comes first
        if symbol not in terms:
            terms[symbol] = worked_impurity(counts, _WORKED[number_format.letter], number_format.unit)
    return terms


# -- its candidates ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TraceEntry:
    """One candidate to be written out, or a column without candidates."""

    label: str
    formula: Formula | None
    branches: str
    result: str
    groups: tuple[str, ...] = ()  # regression: Var₁: 2 rows, mean 1.5
    mark: str = ""  # ◄ best
    note: str = ""
    has_no_candidate: bool = False  # the note takes the place of the arithmetic
    column: str = ""


def list_entries(node: NodeTrace, blanks: bool, include_all: bool = True) -> Iterator[TraceEntry]:
    """Yield the entries in column order: ``every`` candidate, or the best of each column."""
    for column in shown_columns(node):
        if column.best is None:
            yield _entry_without_candidates(node, column)
        elif not include_all:
            yield _entry_of_candidate(node, column, column.best, blanks)
        else:
            tests = column.tests if node.view.column else _best_placements(node, column)
            for test in tests:
                yield _entry_of_candidate(node, column, test, blanks)


def _entry_without_candidates(node: NodeTrace, column: ColumnTrace) -> TraceEntry:
    """Return the entry of a column that cannot split: gain 0 and the reason, never blank."""
    formula = None if column.note.startswith("used above") else column.parsed
    branches = _branch_text(node.number_format.whole)
    return TraceEntry(
        safe(column.name),
        formula,
        branches,
        node.number_format.format(0.0),
        note=column.note,
        has_no_candidate=True,
        column=safe(column.name),
    )


def _entry_of_candidate(node: NodeTrace, column: ColumnTrace, test: CandidateTrace, blanks: bool) -> TraceEntry:
    """Return the entry of a candidate; only a column's best test has C4.5's ratio."""
    best = test is column.best
    mark, note = "", _note_on_best(node, column, blanks) if best else ""
    if best and column.name == node.winner:
        mark = "◄ best"
    elif not node.agrees and node.has_chosen(test):
        mark = "◄ tree"
    if not test.eligible:
        note = f"forbidden: {test.forbidden}" if test.forbidden else "too small a branch"
    formula, result = test.parsed, format_score(node, test.score)
    if best and column.score is not None:
        formula, result = column.parsed, format_column_score(node, column.score)
    if blanks:
        mark, result = "", BLANK
    return TraceEntry(
        format_label(column, test),
        formula,
        format_branches(test),
        result,
        _groups_text(node, test),
        mark,
        note,
        column=safe(column.name),
    )


def _note_on_best(node: NodeTrace, column: ColumnTrace, blanks: bool) -> str:
    """Return the note on a column's best test; for C4.5 the gain that is compared with the average."""
    if column.best is not None and column.best.eligible and column.best.price_bits and not blanks:
        return "; ".join(filter(None, (column.best.price_text, column.note)))
    if node.average is None or column.best is None or not column.best.eligible:
        return column.note
    if blanks:
        return ""
    text = f"gain {node.number_format.format(column.gain)}"
    if column.cuts > 1:
        text += f" − {node.number_format.threshold_penalty(column.cuts)[0]} = {node.number_format.format(column.net)}"
    return text if column.score is not None else f"{text}: below average"


def _best_placements(node: NodeTrace, column: ColumnTrace) -> list[CandidateTrace]:
    """Return each test once, with the best placement of missing rows; the presence test only if it is best."""
    best: dict[tuple[int, ...], CandidateTrace] = {}
    for test in column.tests:
        key = test.candidate.order[1:3]
        better = key not in best or test.candidate.score > best[key].candidate.score
        if test is column.best or (better and best.get(key) is not column.best):
            best[key] = test
    kept = [
        t for t in best.values() if not isinstance(t.candidate.split, Presence) or t is column.best or len(best) == 1
    ]
    chosen = next((t for t in column.tests if node.has_chosen(t)), None)
    return kept if chosen is None or chosen in kept else [*kept, chosen]


def shown_columns(node: NodeTrace) -> list[ColumnTrace]:
    """Return the columns that the reader requested, in the order of the table."""
    if node.view.column is not None:
        return [node[node.view.column]]
    best = {c.name for c in columns_by_score(node)[: node.view.top]}
    return [c for c in node.columns.values() if c.name in best]


def note_columns_left_out(node: NodeTrace) -> list[str]:
    """Return a line on the columns that ``top`` leaves out, if any."""
    more = 0 if node.view.column is not None else len(node.columns) - len(shown_columns(node))
    return [f"… {plural(more, 'more column')}"] if more else []


def columns_by_score(node: NodeTrace) -> list[ColumnTrace]:
    """Return the columns, best first; those that cannot split last. With ``selection="test"``, by p-value."""
    if node.p_value is not None:
        return sorted(node.columns.values(), key=lambda c: (c.name != node.winner, *_p_value_key(c.independence)))
    rank = {node.winner: 0, node.runner_up: 1}
    return sorted(
        node.columns.values(),
        key=lambda c: (c.best is None, c.score is None, rank.get(c.name, 2), -(c.score or 0.0), -c.gain),
    )


def _p_value_key(test: ColumnTest | None) -> tuple[bool, float]:
    return (test is None or not test.df, 0.0 if test is None else test.log_p)


def format_label(column: ColumnTrace, test: CandidateTrace | None = None) -> str:
    """Return the label of a candidate in a list: its first branch, or the column alone if that identifies it."""
    test = test or column.best
    assert test is not None
    return _short_name(column, test) or test.label


def _sentence_name(column: ColumnTrace, test: CandidateTrace | None = None) -> str:
    """Return the name of a candidate in a sentence, as a tree prints it."""
    test = test or column.best
    assert test is not None
    return _short_name(column, test) or test.words


def _short_name(column: ColumnTrace, test: CandidateTrace) -> str:
    """Return the column's name for its only test if that has a branch per level; "" for other tests."""
    if not isinstance(test.candidate.split, Multiway) or column.tried > 1:
        return ""
    bracket = test.label.rfind(" (missing ") if test.candidate.missing_rows else -1
    return safe(column.name) + (test.label[bracket:] if bracket >= 0 else "")


def format_score(node: NodeTrace, score: float) -> str:
    """Format the score that candidates of a column are compared by: a gain, or a ratio."""
    return node.number_format.format(score) if node.number_format.training_set.criterion.by_gain else f"{score:.4f}"


def format_column_score(node: NodeTrace, score: float) -> str:
    """Format the score that columns are compared by: for C4.5 always a ratio."""
    return (
        node.number_format.format(score) if node.number_format.training_set.criterion.rule == "gain" else f"{score:.4f}"
    )


def format_branches(test: CandidateTrace) -> str:
    """Format the counts of each branch: ``3.5 [4 0]  3.7 [2 3]``, ``[1 0] [1 5]``."""
    split, parts = test.candidate.split, [_branch_text(b) for b in test.parts]
    if not isinstance(split, Multiway):
        return " ".join(parts)
    names = [*map(safe, split.levels), *(["other"] if split.other else []), "missing"]
    return "  ".join(f"{name} {part}" for name, part in zip(names, parts, strict=False))


def branches_heading(node: NodeTrace) -> str:
    """Return the heading of a column of branches, which says in which order a branch lists its numbers."""
    target, centre = node.number_format.training_set.target, node.number_format.training_set.criterion.centre
    if not target.classes:
        return f"branches [rows {centre}]"
    if len(target.classes) > MAX_CLASSES:
        return "branches [rows]"
    return f"branches [{' '.join(map(safe, target.classes))}]"


def _groups_text(node: NodeTrace, test: CandidateTrace) -> tuple[str, ...]:
    """Regression: format the rows and the mean of each branch, ``Var₁: 2 rows, mean 1.5``."""
    if node.number_format.training_set.target.classes:
        return ()
    parts = [b for b in test.parts if b.rows]
    return tuple(f"{t.name}: {_regression_rows_text(node, b)}" for t, b in zip(test.parsed.terms, parts, strict=True))


def _regression_rows_text(node: NodeTrace, branch: BranchTerm) -> str:
    """Return ``12 rows, mean 3.5``."""
    centre = node.number_format.training_set.criterion.centre
    weight = f", weight {format_count(branch.weight)}" if branch.weight != branch.rows else ""
    return f"{plural(branch.rows, 'row')}{weight}, {centre} {format_rounded(branch.value or 0.0)}"


def _branch_text(branch: BranchTerm) -> str:
    """Format one branch: its class counts; its weight with many classes; weight and mean for regression."""
    if branch.value is not None:
        return f"[{format_count(branch.weight)} {format_rounded(branch.value)}]"
    if not branch.rows or not 0 < len(branch.counts) <= MAX_CLASSES:
        return f"[{format_count(branch.weight)}]"
    return f"[{' '.join(format_count(c) for c in branch.counts)}]"


# -- the outcome -------------------------------------------------------------------------------------------


def describe_outcome(node: NodeTrace, blanks: bool) -> str:
    """Describe the winner, the runner-up and the split of the tree; for C4.5 also the average gain."""
    outcome = _describe_choice(node, blanks)
    if node.average is None or sum(c.best is not None for c in node.columns.values()) < 2:
        return outcome
    average = BLANK if blanks else node.number_format.format(node.average)
    return f"{outcome}; average gain {average}; columns below it do not compete"


def _describe_choice(node: NodeTrace, blanks: bool) -> str:
    is_leaf = node.context.in_tree and node.split is None
    why = STOP_REASONS.get(node.context.stop, node.context.stop.replace("_", " "))
    if node.search is not None and node.search.tests is not None:
        return _describe_choice_by_test(node, node.search, blanks)
    if node.winner is None:
        reason = STOP_REASONS[node.search.reason if node.search is not None else "no_candidate"]
        return f"→ the tree splits on {safe(node.split.column)}; {reason}" if node.split else f"→ a leaf: {reason}"
    winner = node[node.winner]
    best = f"{_sentence_name(winner)} ({format_column_score(node, winner.score or 0.0)})"
    if is_leaf:
        return f"→ a leaf: {why}; best would be {BLANK if blanks else best}"
    if blanks:
        return f"→ split on {BLANK}" + (f"; next best {BLANK}, {BLANK} behind" if node.runner_up else "")
    if not node.context.in_tree or node.agrees:
        test = _sentence_name(winner, node.chosen)
        same = "" if test == _sentence_name(winner) else f", which is the same as {_sentence_name(winner)}"
        return f"→ split on {test}{same}{_runner_up_text(node)}"
    if node.chosen is None and node.split is not None:
        return f"→ the tree splits on {safe(node.split.column)}, which sends all rows to one branch; best is {best}"
    assert node.chosen is not None
    assert winner.best is not None
    chosen = f"{node.chosen.words} ({format_score(node, node.chosen.score)})"
    if are_tied(node.chosen.candidate, winner.best.candidate):
        return f"→ the tree splits on {chosen}, as good as {_sentence_name(winner)}"
    return f"→ the tree splits on {chosen}; best here is {best}{_look_ahead_text(node)}"


def _look_ahead_text(node: NodeTrace) -> str:
    """Say what looking ahead gained at a node."""
    gain = node.context.look_ahead
    if gain is None:
        return ""
    measure = MEASURES[gain.objective]
    return f", which leads to a {measure} of {format_rounded(gain.greedily)} below; here {format_rounded(gain.in_tree)}"


def _describe_choice_by_test(node: NodeTrace, search: NodeSearch, blanks: bool) -> str:
    """Describe the outcome of ``selection="test"``: the column with the smallest p-value, and if that suffices."""
    tests, encodings = search.tests, node.number_format.training_set.encodings
    if tests is None or not tests.tested:
        return f"→ a leaf: {STOP_REASONS['no_candidate']}"
    first = next(tests.by_p_value())
    p_value, alpha = tests.p_value, node.number_format.training_set.settings.alpha or 0.0
    smallest = f"the smallest adjusted p-value is {BLANK if blanks else format_p_value(p_value)}"
    column = BLANK if blanks else safe(encodings[first.column].name)
    if p_value > alpha:
        outcome = f"a leaf: {smallest} ({column}), above alpha = {alpha:g}"
    elif node.winner is None:
        reason = STOP_REASONS[search.reason].replace("every split", "every test of a significant column")
        outcome = f"a leaf: {smallest} ({column}), but {reason}"
    else:
        test = BLANK if blanks else _sentence_name(node[node.winner])
        outcome = f"split on {test}: {smallest} ({column}), at most alpha = {alpha:g}"
        if encodings[first.column].name != node.winner:
            outcome += f"; no test of {column} leaves branches that are large enough"
    if node.context.in_tree and (node.split is None) != (search.best is None):
        why = STOP_REASONS.get(node.context.stop, node.context.stop.replace("_", " "))
        return (
            f"→ a leaf in the tree: {why}; by itself {outcome}"
            if node.split is None
            else f"→ the tree splits; {outcome}"
        )
    if node.split is not None and not node.agrees and node.chosen is not None:
        return f"→ the tree splits on {node.chosen.words}; by itself {outcome}"
    return f"→ {outcome}"


def _runner_up_text(node: NodeTrace) -> str:
    if node.runner_up is None or node.margin is None:
        return ""
    second = _sentence_name(node[node.runner_up])
    if not node.tie:
        return f"; next best {second}, {format_column_score(node, node.margin)} behind"
    is_random = node.number_format.training_set.settings.ties == "random"
    return f"; {second} is as good: {'one is drawn' if is_random else 'the earlier column is taken'}"


class Legend:
    """Explains the symbols, prices and costs of the nodes that were added to it."""

    def __init__(self, *nodes: NodeTrace) -> None:
        self._node: NodeTrace | None = None
        self._has_feature_costs = False
        self._priced: set[bool] = set()  # whether a multiway split
        for node in nodes:
            self.add(node)

    def add(self, node: NodeTrace) -> None:
        """Add a node of the trace."""
        self._node = node
        best = [] if node.settled else [column.best for column in node.columns.values() if column.best is not None]
        self._has_feature_costs |= any(result.candidate.feature_cost for result in best)
        self._priced |= {isinstance(result.candidate.split, Multiway) for result in best if result.price_bits}

    def __bool__(self) -> bool:
        return self._node is not None

    def __str__(self) -> str:
        if self._node is None:
            return ""
        number_format = self._node.number_format
        training_set, criterion = number_format.training_set, number_format.training_set.criterion
        text = criterion.legend
        if criterion.legend_of_two and len(training_set.target.classes) == 2:
            text = f"{criterion.legend_of_two}, p the share of {safe(training_set.target.positive)}"
        text = text.replace("{unit}", number_format.shown_unit)
        if criterion.name == "entropy" and not training_set.divides_gain_by_branches:
            text += "; information gain is H(Y) − H(Y|Z)"
        if criterion.rule != "gain":
            text += f"; {RULES[criterion.rule].legend}"
            if criterion.rule == "c45":
                share = "" if number_format.per == "total" else "/rows"
                text += f". The net gain of a threshold is its gain less {number_format.log}(thresholds tried){share}"
        elif training_set.divides_gain_by_branches:
            text += "; divided by the number of branches less one"
        if self._has_feature_costs:
            text += ". The first test of a column on a path pays what the column costs"
        return text + self._prices(number_format) + "."

    def _prices(self, number_format: NumberFormat) -> str:
        """Explain the prices; "" where no column's best test pays one."""
        if not self._priced:
            return ""
        share = "K − 2" if len(number_format.training_set.target.classes) <= 2 else "(K − 2)·(classes − 1)"
        pays = ["a set of K levels pays K − 1 bits"] * (False in self._priced)
        pays += [f"a multiway split of K levels pays {share} bits"] * (True in self._priced)
        text = f". A{' and '.join(pays)[1:]} to compete, less {FREE_BITS} that are free"
        if number_format.training_set.criterion.name != "entropy":
            return text + "; price(b bits) is what b bits of likelihood are worth at this node"
        return text + f"; net is gain − {'price' if number_format.per == 'total' else 'price/rows'}"


def is_priced(node: NodeTrace) -> bool:
    """Tell whether a column's best test at a node has a price or a cost."""
    best = [column.best.candidate for column in node.columns.values() if column.best is not None]
    return any(candidate.naming_bits or candidate.feature_cost for candidate in best)
