"""What a trace says in words, the same in every format: rows, results, who won and why, what letters mean.

Stands between ``tree/arrays.py`` and the printers (``text.py`` for the terminal, ``sheets.py`` for paper), which
lay these out each in their own way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treewise._lib.text import format_count, format_rounded, plural, safe
from treewise.explain.trace.arithmetic import BLANK, BranchTerm, Formula
from treewise.explain.trace.nodes import CandidateTrace, ColumnTrace, NodeTrace
from treewise.train.criteria import RULES
from treewise.train.reference import are_tied
from treewise.tree.splits import Multiway, Presence

MAX_TESTS_WRITTEN, _MAX_FORMULAS = 6, 18  # up to so many tests of a column, and of all, each is written out
_MAX_BRANCHES, MAX_CLASSES = 8, 6  # formulas of more would not be read
_RULES_WITH_FORMULA = ("gain", "ratio", "c45")  # rules that have a formula
ROUNDING_NOTE = "Rounded for display; differences are taken before rounding."
STOP_REASONS = {
    "no_rows": "no rows of the table it was grown on came here",
    "pure": "pure in the table it was grown on",
    "sufficient_accuracy": "sufficient_accuracy is reached",
    "max_depth": "max_depth is reached",
    "min_samples_split": "fewer rows than min_samples_split",
    "no_candidate": "no column can split these rows",
    "min_samples_leaf": "every split leaves a branch below min_samples_leaf",
    "min_impurity_decrease": "no split reaches min_impurity_decrease",
    "max_leaf_nodes": "max_leaf_nodes is reached",
    "by_hand": "made by hand",
    "not_yet": "not split yet",
}


def writes_formulas(node: NodeTrace) -> bool:
    """Tell whether every candidate is written out, as the notes do, rather than one line a column.

    A rule that ``Lens.formula`` cannot write has its numbers in a table, beside the gains.
    """
    if node.number_format.training_set.criterion.rule not in _RULES_WITH_FORMULA:
        return False
    if node.view.column is not None:
        return True
    columns = node.columns.values()
    few = all(c.tried <= MAX_TESTS_WRITTEN for c in columns) and node.tried <= _MAX_FORMULAS
    short = all(len(c.branches) <= _MAX_BRANCHES for c in columns)
    return few and short and len(node.counts) <= MAX_CLASSES


# -- the node ----------------------------------------------------------------------------------------------


def describe_rows(node: NodeTrace) -> str:
    """Say ``12 rows: 6 N, 6 P``, or for numbers ``12 rows, mean 3.5``."""
    whole = node.number_format.whole
    if whole.value is not None:
        return _regression_rows_text(node, whole)
    said = plural(node.rows, "row")
    if whole.weight != node.rows:
        said += f", weight {format_count(whole.weight)}"
    if not node.rows:
        return said
    counts = [c for c in node.counts.items() if c[1] or not node.settled]
    if len(counts) > MAX_CLASSES:
        counts = sorted((c for c in counts if c[1]), key=lambda c: -c[1])
    worded = all(isinstance(label, str) for label in node.counts)
    listed = [
        f"{format_count(weight)} {safe(label)}" if worded else f"{label}: {format_count(weight)}"
        for label, weight in counts[:MAX_CLASSES]
    ]
    said += ": " if worded else f", {safe(node.number_format.training_set.target.name)} "
    more = len(counts) - len(listed)
    return said + ", ".join(listed) + (f", … {more} more classes" if more else "")


def describe_settled(node: NodeTrace) -> str:
    """Say why nothing is computed at a node."""
    return {"pure": "pure", "no_rows": "no rows here"}[node.settled]


def format_impurity(node: NodeTrace, blanks: bool) -> str:
    """Say ``12·H(6/12) = 12.000 bits``."""
    term = node.number_format.whole_term()
    return f"{term.text} = {BLANK if blanks else term.value} {node.number_format.shown_unit}".rstrip()


# -- its candidates ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TraceEntry:
    """One candidate to be written out, or a column that has none."""

    label: str
    formula: Formula | None
    branches: str
    result: str
    groups: tuple[str, ...] = ()  # regression: Var₁: 2 rows, mean 1.5
    mark: str = ""  # ◄ best
    note: str = ""
    dead: bool = False  # no candidate: the note stands where the arithmetic would


def list_entries(node: NodeTrace, blanks: bool, every: bool = True) -> Iterator[TraceEntry]:
    """List what is to be written, in the table's order: ``every`` candidate, or the best of each column."""
    for column in select_columns(node):
        if column.best is None:
            yield _entry_without_candidates(node, column)
        elif not every:
            yield _entry_of_candidate(node, column, column.best, blanks)
        else:
            tests = column.tests if node.view.column else _best_placements(node, column)
            for test in tests:
                yield _entry_of_candidate(node, column, test, blanks)


def _entry_without_candidates(node: NodeTrace, column: ColumnTrace) -> TraceEntry:
    """Write a column that cannot split: its gain is 0, and why. There is nothing to find out, so no blank."""
    formula = None if column.note.startswith("used above") else column.parsed
    branches = _branch_text(node.number_format.whole)
    return TraceEntry(safe(column.name), formula, branches, node.number_format.format(0.0), note=column.note, dead=True)


def _entry_of_candidate(node: NodeTrace, column: ColumnTrace, test: CandidateTrace, blanks: bool) -> TraceEntry:
    """Write a candidate; C4.5's ratio is of the column's best test alone."""
    best = test is column.best
    mark, note = "", _note_on_best(node, column, blanks) if best else ""
    if best and column.name == node.winner:
        mark = "◄ best"
    elif not node.agrees and node.has_chosen(test):
        mark = "◄ tree"
    if not test.eligible:
        note = "too small a branch"
    formula, result = test.parsed, format_score(node, test.score)
    if best and column.score is not None:
        formula, result = column.parsed, format_column_score(node, column.score)
    if blanks:
        mark, result = "", BLANK
    return TraceEntry(
        format_label(column, test), formula, format_branches(test), result, _groups_text(node, test), mark, note
    )


def _note_on_best(node: NodeTrace, column: ColumnTrace, blanks: bool) -> str:
    """Say what is to be said of a column's best test; for C4.5 the gain that is compared with the average."""
    if node.average is None or column.best is None or not column.best.eligible:
        return column.note
    if blanks:
        return ""
    said = f"gain {node.number_format.format(column.gain)}"
    if column.cuts > 1:
        said += f" − {node.number_format.price(column.cuts)[0]} = {node.number_format.format(column.net)}"
    return said if column.score is not None else f"{said}: below average"


def _best_placements(node: NodeTrace, column: ColumnTrace) -> list[CandidateTrace]:
    """Return each test once, missing rows where they gain most; the one on missingness only if it is best."""
    best: dict[tuple[int, ...], CandidateTrace] = {}
    for test in column.tests:
        key = test.candidate.order[1:3]
        better = key not in best or test.candidate.score > best[key].candidate.score
        if test is column.best or (better and best.get(key) is not column.best):
            best[key] = test
    kept = [
        t for t in best.values() if not isinstance(t.candidate.split, Presence) or t is column.best or len(best) == 1
    ]
    own = next((t for t in column.tests if node.has_chosen(t)), None)
    return kept if own is None or own in kept else [*kept, own]


def select_columns(node: NodeTrace) -> list[ColumnTrace]:
    """Return the columns the reader asked for, in the table's order."""
    if node.view.column is not None:
        return [node[node.view.column]]
    best = {c.name for c in rank_columns(node)[: node.view.top]}
    return [c for c in node.columns.values() if c.name in best]


def note_columns_left_out(node: NodeTrace) -> list[str]:
    """Say how many columns ``top`` leaves out."""
    more = 0 if node.view.column is not None else len(node.columns) - len(select_columns(node))
    return [f"… {plural(more, 'more column')}"] if more else []


def rank_columns(node: NodeTrace) -> list[ColumnTrace]:
    """Return the columns from the best down; those that cannot split last."""
    place = {node.winner: 0, node.runner_up: 1}
    return sorted(
        node.columns.values(),
        key=lambda c: (c.best is None, c.score is None, place.get(c.name, 2), -(c.score or 0.0), -c.gain),
    )


def format_label(column: ColumnTrace, test: CandidateTrace | None = None) -> str:
    """Name a candidate in a list, by its first branch; by the column alone where that is all there is to say."""
    test = test or column.best
    assert test is not None
    return _short_name(column, test) or test.label


def _sentence_name(column: ColumnTrace, test: CandidateTrace | None = None) -> str:
    """Name a candidate in a sentence, as the tree says it."""
    test = test or column.best
    assert test is not None
    return _short_name(column, test) or test.words


def _short_name(column: ColumnTrace, test: CandidateTrace) -> str:
    """Name a column's only test when it has a branch for each level; "" for other tests."""
    if not isinstance(test.candidate.split, Multiway) or column.tried > 1:
        return ""
    bracket = test.label.rfind(" (missing ") if test.candidate.missing_rows else -1
    return safe(column.name) + (test.label[bracket:] if bracket >= 0 else "")


def format_score(node: NodeTrace, score: float) -> str:
    """Write what the candidates of a column compete by: a gain in the node's digits, or a ratio."""
    return node.number_format.format(score) if node.number_format.training_set.criterion.by_gain else f"{score:.4f}"


def format_column_score(node: NodeTrace, score: float) -> str:
    """Write what columns compete by: the same, but for C4.5 a ratio."""
    return (
        node.number_format.format(score) if node.number_format.training_set.criterion.rule == "gain" else f"{score:.4f}"
    )


def format_branches(test: CandidateTrace) -> str:
    """Write the counts of each branch: ``3.5 [4 0]  3.7 [2 3]``, ``[1 0] [1 5]``."""
    split, parts = test.candidate.split, [_branch_text(b) for b in test.parts]
    if not isinstance(split, Multiway):
        return " ".join(parts)
    names = [*map(safe, split.levels), *(["other"] if split.other else []), "missing"]
    return "  ".join(f"{name} {part}" for name, part in zip(names, parts, strict=False))


def _groups_text(node: NodeTrace, test: CandidateTrace) -> tuple[str, ...]:
    """Write the rows and the mean of each branch of numbers: ``Var₁: 2 rows, mean 1.5``."""
    if node.number_format.training_set.target.classes:
        return ()
    parts = [b for b in test.parts if b.rows]
    return tuple(f"{t.name}: {_regression_rows_text(node, b)}" for t, b in zip(test.parsed.terms, parts, strict=True))


def _regression_rows_text(node: NodeTrace, branch: BranchTerm) -> str:
    """Say ``12 rows, mean 3.5`` of a branch, or of the node itself."""
    centre = node.number_format.training_set.criterion.centre
    weight = f", weight {format_count(branch.weight)}" if branch.weight != branch.rows else ""
    return f"{plural(branch.rows, 'row')}{weight}, {centre} {format_rounded(branch.value or 0.0)}"


def _branch_text(branch: BranchTerm) -> str:
    """Write one branch: its class counts; with many classes or numbers, its weight (and its mean)."""
    if branch.value is not None:
        return f"[{format_count(branch.weight)} {format_rounded(branch.value)}]"
    if not branch.rows or not 0 < len(branch.counts) <= MAX_CLASSES:
        return f"[{format_count(branch.weight)}]"
    return f"[{' '.join(format_count(c) for c in branch.counts)}]"


# -- the outcome -------------------------------------------------------------------------------------------


def describe_outcome(node: NodeTrace, blanks: bool) -> str:
    """Say who won, who came next, and what the tree does here; for C4.5 who took part."""
    outcome = _describe_choice(node, blanks)
    if node.average is None or sum(c.best is not None for c in node.columns.values()) < 2:
        return outcome
    average = BLANK if blanks else node.number_format.format(node.average)
    return f"{outcome}; average gain {average}; columns below it do not compete"


def _describe_choice(node: NodeTrace, blanks: bool) -> str:
    """Say who won, who came next, and what the tree does here."""
    leaf = node.place.in_tree and node.split is None
    why = STOP_REASONS.get(node.place.stop, node.place.stop.replace("_", " "))
    if node.winner is None:
        small = any(c.tests for c in node.columns.values())
        said = STOP_REASONS["min_samples_leaf" if small else "no_candidate"]
        return f"→ the tree asks {safe(node.split.column)}; {said}" if node.split else f"→ a leaf: {said}"
    winner = node[node.winner]
    best = f"{_sentence_name(winner)} ({format_column_score(node, winner.score or 0.0)})"
    if leaf:
        return f"→ a leaf: {why}; best would be {BLANK if blanks else best}"
    if blanks:
        return f"→ split on {BLANK}" + (f"; next best {BLANK}, {BLANK} behind" if node.runner_up else "")
    if not node.place.in_tree or node.agrees:
        asked = _sentence_name(winner, node.chosen)
        same = "" if asked == _sentence_name(winner) else f", which is the same as {_sentence_name(winner)}"
        return f"→ split on {asked}{same}{_runner_up_text(node)}"
    if node.chosen is None and node.split is not None:
        asked = safe(node.split.column)
        return f"→ the tree asks {asked}, which sends all these rows one way; best is {best}"
    assert node.chosen is not None
    assert winner.best is not None
    own = f"{node.chosen.words} ({format_score(node, node.chosen.score)})"
    if are_tied(node.chosen.candidate, winner.best.candidate):
        return f"→ the tree asks {own}, as good as {_sentence_name(winner)}"
    return f"→ the tree asks {own}; best here is {best}"


def _runner_up_text(node: NodeTrace) -> str:
    """Say who came next and how far behind."""
    if node.runner_up is None or node.margin is None:
        return ""
    second = _sentence_name(node[node.runner_up])
    if not node.tie:
        return f"; next best {second}, {format_column_score(node, node.margin)} behind"
    drawn = node.number_format.training_set.settings.ties == "random"
    return f"; {second} is as good: {'one is drawn' if drawn else 'the earlier column is taken'}"


def legend(node: NodeTrace) -> str:
    """Say what the letters stand for."""
    training_set, criterion = node.number_format.training_set, node.number_format.training_set.criterion
    said = criterion.legend
    if criterion.legend_of_two and len(training_set.target.classes) == 2:
        said = f"{criterion.legend_of_two}, p the share of {safe(training_set.target.positive)}"
    said = said.replace("{unit}", node.number_format.shown_unit)
    if criterion.rule != "gain":
        said += f"; {RULES[criterion.rule].legend}"
        if criterion.rule == "c45":
            share = "" if node.number_format.per == "total" else "/rows"
            said += f". The net gain of a threshold is its gain less {node.number_format.log}(thresholds tried){share}"
    elif training_set.by_branches:
        said += "; divided by the number of branches less one"
    return said + "."
