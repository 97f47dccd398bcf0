"""One prediction in words: the answer with its grounds, the reasons merged by column, and what would alter it.

Stands on ``path.py`` and ``change.py``; ``explanation.py`` puts the sentences above its table, and ``treewise predict``
quotes the grounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewise._lib.text import format_count, format_percent, format_rounded, plural, safe
from treewise.data.encoding import Encoding
from treewise.explain.row.counterfactual import CUTS, ONE, CellChange, Counterfactual
from treewise.explain.row.path import MISSING, MOST_NAMED, NEVER_SEEN, RowExplanationPath
from treewise.explain.row.tree_context import TreeContext
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities, nodes_with_counts
from treewise.show.text_tree.condition_text import weighted
from treewise.tree.arrays import Label
from treewise.tree.regions.region import Condition, Levels, anything, say_limits
from treewise.tree.splits import quote
from treewise.tree.tree import Tree


def sentence(survey: TreeContext, way: RowExplanationPath) -> str:
    """Say the answer, its grounds and its reasons in one sentence."""
    tree = survey.tree
    said = answer(tree, way.speaker, way.prediction, survey.estimate, "like this")
    reasons = together([reason(tree, column, condition, way) for column, condition in asked(survey, way).items()])
    return f"{safe(tree.target.name)} = {said}, because {reasons or 'all rows are the same to the tree'}."


def asked(survey: TreeContext, way: RowExplanationPath) -> dict[str, Condition]:
    """Return what the tests on the way leave possible of each column they ask about, in their order."""
    found = {survey.tree.columns[column]: condition for column, condition in survey.on_the_way(way.end).items()}
    for step in way.steps[-1:]:  # where the row stays, the last test leaves its column as it was
        found.setdefault(step.column, anything(survey.tree.encoding_of(step.column)))
    return found


def reason(tree: Tree, column: str, condition: Condition, way: RowExplanationPath) -> str:
    """Say one column's value, and what the tests made of it."""
    name, cell = safe(column), way.cells[column]
    unknown = "never seen in training" if tree.arrays.rows[0] > 0 else "not named in the tree"
    limit = limits(condition, tree.encoding_of(column))
    if cell.odd == MISSING:
        return f"{name} is missing (which goes with {limit})" if limit else f"{name} is missing"
    if cell.odd == NEVER_SEEN:
        stays = any(step.stays and step.column == column for step in way.steps)
        goes = "" if stays or not limit else f", which goes with {limit}"
        return f"{name} is {cell.text} ({unknown}{goes})"
    own = cell.text if not isinstance(cell.value, str) else quote(cell.value)
    alone = isinstance(condition, Levels) and condition.n == 1
    return f"{name} is {own}" if alone or not limit else f"{name} is {own} ({limit})"


def limits(condition: Condition, encoding: Encoding) -> str:
    """Say what is possible of a column without its name, ``> 1.5``, ``in {Bari, Rome}``, and of many levels a few."""
    if isinstance(condition, Levels) and condition.n > MOST_NAMED:
        out = len(encoding.levels) - condition.n
        codes = [c for c in range(len(encoding.levels)) if condition.holds(c) != (out < condition.n)]
        if encoding.kind != "ordered" and codes:
            some = [quote(encoding.levels[code]) for code in codes[:MOST_NAMED]]
            more = [f"+{len(codes) - MOST_NAMED}"] if len(codes) > MOST_NAMED else []
            return f"{'not ' if out < condition.n else ''}in {{{', '.join([*some, *more])}}}"
    return say_limits(condition, encoding)


def other_sentences(tree: Tree, way: RowExplanationPath, given: Sequence[str] | None) -> list[str]:
    """Say who answers for a row that stays at a node, and which columns were not given and are not needed."""
    said = []
    if way.steps and (last := way.steps[-1]).stays:
        who = "the root" if way.speaker != way.end else f"node {way.end}, which asks for it,"
        said.append(f"The tree has no branch for this {safe(last.column)}; {who} answers.")
    if given is not None:
        lacking = [safe(name) for name in tree.columns if name not in given]
        if lacking:
            verb = "was not given and is" if len(lacking) == 1 else "were not given and are"
            said.append(f"{named(lacking, 'column')} {verb} not needed.")
    return said


def change_sentence(tree: Tree, change: Counterfactual, estimate: LeafProbabilities) -> list[str]:
    """Say what would alter the decision."""
    said = answer(tree, change.speaker, change.prediction, estimate, "like that")
    moves = together([move_words(tree, move) for move in change.moves])
    odd = [move for move in change.moves if move.measure in (CUTS, ONE)]
    return [f"Would be {said} if {moves}.", *(measured(tree, move) for move in odd)]


def measured(tree: Tree, move: CellChange) -> str:
    """Say by what a number's move was measured, where that was not its interquartile range."""
    ends = tree.quartiles.get(move.column)
    lacks = "is not known" if ends is None else "is 0" if ends[0] == ends[1] else "is infinite"
    return f"({safe(move.column)} is measured by {move.measure}: its interquartile range {lacks}.)"


def move_words(tree: Tree, move: CellChange) -> str:
    """Say what one column would have to be."""
    encoding = tree.encoding_of(move.column)
    name = safe(move.column)
    if encoding.is_categorical:
        return f"{name} were {quote(move.text)}"
    return f"{name} were {move.text}" + (f" ({move.limits})" if move.limits not in ("", move.text) else "")


def answer(tree: Tree, node: int, prediction: Label, estimate: LeafProbabilities, where: str = "there") -> str:
    """Say what a node predicts, and on what grounds."""
    facts, heavy = tree[node], weighted(tree)
    rows = plural(facts.rows, "row") + (f" of weight {format_count(facts.weight)}" if heavy else "")
    above = int(nodes_with_counts(tree)[node])
    if tree.task == "regression":
        assert isinstance(prediction, float)
        if above != node:
            return f"{format_rounded(prediction)} (no row {where}: node {above} answers)"
        spread = f", sd {format_rounded(facts.spread)}" if facts.rows > 1 else ""
        return format_rounded(prediction) + (f" ({rows} {where}{spread})" if facts.rows else "")
    said, counts = safe(prediction), tree.counts(above)
    if not counts:
        return said
    right, total = counts.get(prediction, 0.0), sum(counts.values())
    share = f"{format_percent(right / total)} %"
    if estimate != LeafProbabilities():
        probability = class_probabilities(tree, np.array([node]), estimate)[0, tree.classes.index(prediction)]
        share = f"{format_percent(probability)} % by {estimate}"
    if above != node:
        return f"{said} ({share}: no row {where}, so node {above} answers)"
    if heavy:
        return f"{said} ({share}: weight {format_count(right)} of {format_count(total)} {where})"
    return f"{said} ({share}: {format_count(right)} of {format_count(total)} {'row' if total == 1 else 'rows'} {where})"


def together(parts: Sequence[str]) -> str:
    """Join parts of a sentence.

    >>> together(["a is 1"]), together(["a is 1", "b is 2", "c is 3"])
    ('a is 1', 'a is 1, b is 2 and c is 3')
    """
    *first, last = parts or [""]
    return f"{', '.join(first)} and {last}" if first else last


def named(names: Sequence[str], what: str) -> str:
    """Name a few things, or count many.

    >>> named(["a", "b"], "column"), named(list("abcdefg"), "column")
    ('a and b', '7 columns')
    """
    return together(names) if len(names) <= MOST_NAMED else plural(len(names), what)
