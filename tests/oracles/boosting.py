"""AdaBoost in exact rational arithmetic, independent of treewise.

The learner is ``exact.py``'s. Weights are fractions that add up to 1; an error is a fraction, and so is every new
weight: nothing is rounded. CS221 section 5 for two classes, SAMME for more (Zhu, Zou, Rosset and Hastie 2009).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from tests.oracles import exact


@dataclass(frozen=True)
class Round:
    """What one round does: the learner's question, what it says of each row, its error, and the weights it saw."""

    question: exact.Question | None
    said: list[str]
    error: Fraction
    weights: list[Fraction]
    vote: Fraction | float  # α; infinite without mistakes


def adaboost(problem: exact.Problem, settings: exact.Settings, rounds: int) -> list[Round]:
    """Boost; ends after a learner without mistakes, and before one that is no better than chance."""
    total, k = sum(problem.weights), len(problem.classes)
    weights = [Fraction(w, total) for w in problem.weights]
    actual: list[Round] = []
    while len(actual) < rounds:
        common = math.lcm(*(w.denominator for w in weights))
        weighed = replace(problem, weights=[int(w * common) for w in weights])
        nodes = exact.grow(weighed, settings)
        message = list(problem.classes[:1]) * len(weights)
        for node in nodes:
            if not node.children:
                for row in node.rows:
                    message[row] = exact.prediction(weighed, node.rows, settings.criterion)
        wrong = [answer != problem.classes[truth] for answer, truth in zip(message, problem.y, strict=True)]
        error = sum((w for w, is_wrong in zip(weights, wrong, strict=True) if is_wrong), Fraction(0))
        if error and error >= 1 - Fraction(1, k) and actual:
            break
        vote = math.log((1 - error) / error * (k - 1)) / 2 if error and k > 1 and error < 1 else math.inf
        actual.append(Round(nodes[0].question, message, error, weights, vote))
        if not error or error >= 1 - Fraction(1, k):
            break
        weights = [
            w * (k - 1) / (k * error) if is_wrong else w / (k * (1 - error))
            for w, is_wrong in zip(weights, wrong, strict=True)
        ]
    return actual
