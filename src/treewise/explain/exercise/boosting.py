"""Exercise topic "boosting": rounds of AdaBoost with the error ε, the vote weight α, the normaliser z, new weights.

Level 1 leaves the results blank (ε, α, z), level 2 also the number of misclassified rows, level 3 everything: what the
learner predicts for every row, and its weight after the round. The weights of a later round are then the student's own.
"""

from __future__ import annotations

import math

from treewise.data.table import Table
from treewise.ensemble.model import Ensemble
from treewise.ensemble.rounds import WorkedRound
from treewise.errors import ParameterError
from treewise.explain.exercise.builder import (
    COUNTS,
    EVERYTHING,
    Quantity,
    SheetOptions,
    choice,
    count,
    label_text,
    number,
)
from treewise.explain.exercise.formula import Formula
from treewise.explain.exercise.sheet import Blank, Cell, Grid, Part

TITLE = "Rounds of AdaBoost"
_THREE_PLACES = 0.0005  # how far a number rounded to three places may be off
_WEIGHT_SHARE = 0.02  # of a weight, by which it may differ
_QUESTION = (
    "ε_b is the weight D_b of the rows that the learner of round b misclassifies;"
    " α_b = ½ ln((1 − ε_b)/ε_b); z_b = 2 √(ε_b (1 − ε_b)).",
    "D_b+1 = D_b/(2 (1 − ε_b)) for a row that is classified correctly, and D_b+1 = D_b/(2 ε_b) for the others.",
)


def boosting_parts(boosted: Ensemble, table: Table, options: SheetOptions) -> list[Part]:
    """Return one part per round."""
    if len(boosted.classes) != 2:
        raise ParameterError(
            f"an exercise in boosting has two classes, and this table has {len(boosted.classes)}.",
            hint="Take a table with two classes.",
        )
    parts = [Part("Question", _QUESTION)]
    weights: list[Formula] | None = None
    for b in range(1, options.nodes + 1):
        worked = boosted.worked_round(table, b) if b <= len(boosted) else None
        if worked is None or worked.after is None:
            which = f"boosting ends with round {min(b, len(boosted))}, so there is no round to work out after it"
            raise ParameterError(f"{which}.", hint="Ask for fewer rounds, or take another table.")
        part, weights = _round_part(worked, weights, options)
        parts.append(part)
    return parts


def _round_part(
    worked: WorkedRound, own_weights: list[Formula] | None, options: SheetOptions
) -> tuple[Part, list[Formula] | None]:
    """Return a round, and the student's weights after it, if these are asked for."""
    b, level, classes = worked.number, options.level, [label_text(c) for c in worked.classes]
    truth, predicted = ([classes[i] for i in codes.tolist()] for codes in (worked.truth, worked.predicted))
    at, rows = f"in round {b}", range(len(truth))
    # At the last level the weights of round 1 are the only ones on the sheet.
    before: list[Formula] = own_weights or [float(weight) for weight in worked.weights]
    choices: list[Blank | None] = [
        choice(f"{b}.h{i}", f"prediction of the learner for row {worked.rows[i]} {at}", [predicted[i]], classes)
        if level == EVERYTHING
        else None
        for i in rows
    ]

    def if_wrong(i: int, wrong: Formula, right: Formula) -> Formula:
        """Return one formula or the other, by what the student says the learner predicts."""
        if (blank := choices[i]) is None:
            return wrong if predicted[i] != truth[i] else right
        return ("match", blank.id, truth[i], right, wrong)

    n_wrong = count(
        level >= COUNTS,
        f"{b}.wrong",
        f"number of misclassified rows {at}",
        int(worked.wrong.sum()),
        ("+", *(if_wrong(i, 1, 0) for i in rows)),
    )
    epsilon: Formula = ("+", *(if_wrong(i, before[i], 0) for i in rows))
    near = options.tolerance
    e = number(True, f"{b}.e", f"ε_{b}", worked.error, epsilon, near, text=_text(worked, worked.error))
    odds = ("/", ("-", 1, e.ref), e.ref)
    # A rounded ε moves α by the derivative 1/(2 ε (1 − ε)), which is large for a small ε.
    of_vote = max(near, _THREE_PLACES / (2 * worked.error * (1 - worked.error)))
    a = number(True, f"{b}.a", f"α_{b}", worked.vote, ("*", 0.5, ("log", odds)), of_vote)
    normaliser = ("*", 2, ("sqrt", ("*", e.ref, ("-", 1, e.ref))))
    z = number(True, f"{b}.z", f"z_{b}", 2 * math.sqrt(worked.error * (1 - worked.error)), normaliser, near)
    after = []
    for i in rows:
        right, wrong = ("/", before[i], ("*", 2, ("-", 1, e.ref))), ("/", before[i], ("*", 2, e.ref))
        prompt = f"weight D_{b + 1} of row {worked.rows[i]}"
        value = float(worked.next_weights[i]) if worked.next_weights is not None else 0.0
        text = worked.next_weight_text(i)
        of_weight = max(_THREE_PLACES, _WEIGHT_SHARE * value)
        after.append(
            number(level == EVERYTHING, f"{b}.d{i}", prompt, value, if_wrong(i, wrong, right), of_weight, text=text)
        )
    shows_weights = own_weights is None
    headings = ["row", label_text(worked.target), f"h_{b}", *[f"D_{b}"] * shows_weights]
    headings += [f"D_{b + 1}"] * (level == EVERYTHING)
    lines: list[tuple[Cell, ...]] = []
    for i in rows:
        line: list[Cell] = [str(worked.rows[i]), truth[i], choices[i] or predicted[i]]
        line += [worked.weight_text(i)] * shows_weights + [after[i].cell] * (level == EVERYTHING)
        lines.append(tuple(line))
    lines += _sums([("misclassified rows", n_wrong)] * (level >= COUNTS), len(headings))
    lines += _sums([(f"ε_{b}", e), (f"α_{b}", a), (f"z_{b}", z)], len(headings))
    sentences = [f"The learner h_{b}: {worked.learner}."]
    if not shows_weights:
        sentences.append(f"The weights D_{b} are those you found in round {b - 1}.")
    part = Part(f"Round {b}", tuple(sentences), grid=Grid(tuple(headings), tuple(lines)))
    return part, [d.ref for d in after] if level == EVERYTHING else None


def _text(worked: WorkedRound, value: float) -> str:
    """Write ε as a fraction where the weights are fractions."""
    from treewise.explain.worked.closed_form import as_fraction

    fraction = as_fraction(value) if worked.as_fractions else None
    return str(fraction) if fraction is not None else ""


def _sums(entries: list[tuple[str, Quantity]], width: int) -> list[tuple[Cell, ...]]:
    return [(name, *[""] * (width - 2), quantity.cell) for name, quantity in entries]
