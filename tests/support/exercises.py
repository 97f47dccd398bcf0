"""Exercises of every topic and level, and wrong answers, for tests that mark them."""

import treewise as tw
from treewise.errors import ParameterError
from treewise.explain.exercise.exercise import TITLES

TABLES = ("admissions", "food", "seven_points", "seven_rows", "six_points", "outlier", "or", "no_guidance")
_VARIANTS = ({}, {"per": "total"}, {"unit": "nats"}, {"criterion": "gini"}, {"preset": "cart"}, {"criterion": "error"})


def sheets(source):
    """Yield exercises on a built-in table, or of a seed, in every topic and level."""
    for topic in TITLES:
        for level in (1, 2, 3):
            for variant in _VARIANTS[level - 1 :: 3] if topic == "split" and not isinstance(source, int) else ({},):
                arguments = {"topic": topic, "level": level, **variant}
                if isinstance(source, int):
                    yield tw.exercise(random=source, **arguments)
                    continue
                if topic == "pruning":
                    arguments["validation"] = "outlier_validation" if source == "outlier" else source
                yield tw.exercise(source, **arguments)
    if not isinstance(source, int):
        for arguments in ({"nodes": 2}, {"nodes": 2, "topic": "boosting"}):
            try:
                yield tw.exercise(source, level=3, **arguments)
            except ParameterError:  # a tree with one node, a learner without errors
                continue


def spoiled(blank):
    """Return a wrong answer to a blank."""
    if blank.kind == "tree":
        return blank.text.split("\n")[0].split(" ->")[0] + " -> no such class"
    if blank.kind == "choice":
        others = [option for option in blank.options if option not in blank.value]
        return others[0] if others else "something else"
    return repr(blank.value + 2 * blank.tolerance + 0.3)
