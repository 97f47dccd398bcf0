"""Exercises of every topic and level, and wrong answers, for tests that mark them."""

import json

import treewise as tw
from treewise.errors import ParameterError
from treewise.explain.exercise.exercise import TITLES
from treewise.explain.exercise.formula import evaluate
from treewise.explain.exercise.marking import read_number
from treewise.tree.splits import quote

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


def follow_up(sheet, mistaken):
    """Return the answers of a student with one mistake, at the blank of this number, who then computes correctly."""
    own = {blank.id: blank.value[0] if blank.kind == "choice" else blank.value for blank in sheet.blanks}
    answers, before = {}, None
    while answers != before:  # a blank may follow from later ones
        before, answers = answers, {}
        for blank in sheet.blanks:
            answers[blank.id] = spoiled(blank) if blank.id == mistaken else _computed(blank, own)
            if blank.kind != "tree":
                is_choice = blank.kind == "choice"
                own[blank.id] = answers[blank.id] if is_choice else read_number(answers[blank.id])
    return answers


def _computed(blank, own):
    """Return what follows from one's own answers; the key where the table gives it, or where nothing follows."""
    value = None if blank.formula is None else evaluate(blank.formula, own, blank.tolerance)
    if value is None:
        return blank.text
    if blank.kind == "tree":
        return outline_of(value, blank.tree)
    return value[0] if blank.kind == "choice" else f"{value:.4f}"


def outline_of(nodes, data):
    """Type a tree, given by its nodes as sets of rows, with the values of the table."""
    content = {json.dumps(rows): content for rows, content in nodes}

    def lines(rows, indent):
        what = content[json.dumps(rows)]
        if isinstance(what, str):
            yield f"{indent}-> {quote(what)}"
            return
        column, parts = what
        cells, kind = data["columns"][column], data["kinds"][column]
        is_number = kind in ("number", "integer")
        rank = float if is_number else kind.index if isinstance(kind, list) else str
        parts = sorted(parts, key=lambda part: rank(cells[part[0] - 1]))
        for i, part in enumerate(parts):
            values = sorted({cells[row - 1] for row in part}, key=rank)
            condition = f"{column} in {{{', '.join(map(quote, values))}}}"
            if is_number or isinstance(kind, list):
                cut = max((cells[row - 1] for row in parts[0]), key=rank)
                condition = f"{column} {'<=' if i == 0 else '>'} {cut if is_number else quote(cut)}"
                if len(parts) > 2:
                    condition = f"{column} = {quote(values[0])}"
            below = list(lines(part, indent + "  "))
            if len(below) == 1 and below[0].lstrip().startswith("->"):
                yield f"{indent}{condition} {below[0].lstrip()}"
            else:
                yield f"{indent}{condition}"
                yield from below

    return "\n".join(lines(nodes[0][0], ""))
