"""Read trees that other programs print: scikit-learn's ``export_text`` and R's ``print(rpart)``.

    |--- petal width (cm) <= 0.80                     1) root 81 17 absent (0.79 0.21)
    |   |--- weights: [50.00, 0.00] class: 0            2) Start>=8.5 62  6 absent (0.90 0.10) *
    |--- petal width (cm) >  0.80                       3) Start< 8.5 19  8 present (0.42 0.58) *
    |   |--- class: 1

Each becomes an outline (``outline.py``), with the class weights of the leaves where every class can be named: such a
text names a class only where it is predicted. Weka's trees are outlines already and are read there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from treewise.data.parse_cells import parse_number
from treewise.errors import ParseError
from treewise.formats.text_format.notation import write_level
from treewise.formats.text_format.outline import Outline, OutlineEntry

Lines = Sequence[tuple[int, str]]

_SKLEARN = re.compile(r"((?:\|   )*)\|--- (.*)$")
_SKLEARN_LEAF = re.compile(r"(?:weights: \[(.*?)\]\s*)?(class|value): (.*)$")
_RPART = re.compile(r"\s*(\d+)\)\s+(.*?)\s*(\*)?$")
_RPART_HEAD = re.compile(r"\s*(n=\s*\d+.*|node\), split, n, .*|\* denotes terminal node)?\s*$")
_RPART_TEST = re.compile(r"(.+?)(>=|<|=)\s*(\S.*)$")
_PROBABILITIES = re.compile(r"\s*\(([^()]*)\)$")


def is_sklearn(lines: Lines) -> bool:
    """Return whether lines are those of scikit-learn's ``export_text``."""
    return all(_SKLEARN.match(text) for _, text in lines)


def read_sklearn(lines: Lines) -> Outline:
    """Read scikit-learn's ``export_text``.

    >>> outline = read_sklearn([(1, "|--- x <= 0.50"), (2, "|   |--- class: a"), (3, "|--- x >  0.50"),
    ...                         (4, "|   |--- class: b")])
    >>> [(entry.condition, entry.label) for entry in outline.entries[1:]]
    [('x <= 0.50', 'a'), ('x > 0.50', 'b')]
    """
    outline, path = Outline(), [0]
    weights: dict[int, list[float]] = {}
    for number, text in lines:
        bars, words = _SKLEARN.match(text).groups()  # type: ignore[union-attr]  # ``is_sklearn`` has matched it
        depth = len(bars) // 4
        if depth >= len(path):
            raise ParseError(f'line {number}: "{words}" is deeper than the line above allows.')
        del path[depth + 1 :]
        leaf = _SKLEARN_LEAF.match(words)
        if leaf is not None:
            outline.entries[path[-1]].label = leaf[3].strip("[]") if leaf[2] == "value" else leaf[3]
            outline.predicts_numbers = outline.predicts_numbers or leaf[2] == "value"
            if leaf[1]:
                weights[path[-1]] = [float(part) for part in leaf[1].split(",")]
                outline.entries[path[-1]].weight = sum(weights[path[-1]])
        elif words.startswith("truncated branch"):
            raise ParseError(f"line {number}: this is an abbreviated view. Export the tree with a larger max_depth.")
        else:
            path.append(outline.add(OutlineEntry(number, re.sub(r"\s+", " ", words), path[-1])))
    _add_weights(outline, weights)
    return outline


def is_rpart(lines: Lines) -> bool:
    """Return whether lines are those of R's ``print(rpart)``."""
    numbered = [text for _, text in lines if not _RPART_HEAD.match(text)]
    return bool(numbered) and all(map(_RPART.match, numbered)) and " root " in numbered[0]


def read_rpart(lines: Lines) -> Outline:
    """Read ``print(fit)`` of R's rpart.

    >>> outline = read_rpart([(1, "1) root 4 2 a (0.5 0.5)"), (2, "  2) x< 14 2 0 a (1 0) *"),
    ...                       (3, "  3) x>=14 2 0 b (0 1) *")])
    >>> [(entry.condition, entry.label, entry.shares) for entry in outline.entries[1:]]
    [('x < 14', 'a', {'a': 2.0}), ('x >= 14', 'b', {'b': 2.0})]
    """
    outline, entry_of = Outline(), {}
    weights: dict[int, list[float]] = {}
    for number, text in lines:
        if _RPART_HEAD.match(text):
            continue
        node, words, is_leaf = _RPART.match(text).groups()  # type: ignore[union-attr]  # ``is_rpart`` has matched it
        test, rows, label, shares = _rpart_cells(words, number)
        if node == "1":
            entry_of[1] = 0
            outline.entries[0].line = number
        elif int(node) // 2 not in entry_of:
            raise ParseError(f"line {number}: node {node} has no parent: node {int(node) // 2} is missing.")
        else:
            entry_of[int(node)] = outline.add(OutlineEntry(number, test, entry_of[int(node) // 2]))
        at = entry_of[int(node)]
        outline.entries[at].weight = rows
        if is_leaf or (node == "1" and len(lines) == 1):
            outline.entries[at].label = label
            outline.predicts_numbers = outline.predicts_numbers or not shares
            if shares:
                weights[at] = [share * rows for share in shares]
    _add_weights(outline, weights)
    return outline


def _rpart_cells(words: str, line: int) -> tuple[str, float, str, list[float]]:
    """Split ``Start< 14.5 33 6 absent (0.8 0.2)`` into test, rows, prediction and class shares."""
    probabilities = _PROBABILITIES.search(words)
    shares = [float(part) for part in probabilities[1].split()] if probabilities else []
    cells = (words[: probabilities.start()] if probabilities else words).split()
    for i in range(1, len(cells) - 2):
        test = "root" if cells[0] == "root" and i == 1 else _rpart_test(" ".join(cells[:i]))
        if test and cells[i].isdigit() and parse_number(cells[i + 1]) is not None:
            return test, float(cells[i]), " ".join(cells[i + 2 :]), shares
    raise ParseError(f'line {line}: cannot read "{words}" as rpart prints a node: test, n, loss, yval (yprob).')


def _rpart_test(words: str) -> str:
    """Write a test of rpart as ours: ``GPA=3.5,3.7`` becomes ``GPA in {3.5, 3.7}``; "" for anything else."""
    match = _RPART_TEST.match(words)
    if match is None:
        return ""
    name, sign, value = match[1].strip(), match[2], match[3]
    if sign != "=":
        return f"{name} {sign} {value}"
    levels = [write_level(level) for level in value.split(",")]
    return f"{name} = {levels[0]}" if len(levels) == 1 else f"{name} in {{{', '.join(levels)}}}"


def _add_weights(outline: Outline, weights: dict[int, list[float]]) -> None:
    """Give leaves their class weights, if every class is predicted somewhere: then the position of each is known."""
    names: dict[int, str] = {}
    for at, values in weights.items():
        label = outline.entries[at].label
        assert label is not None
        names.setdefault(values.index(max(values)), label)
    if not weights or set(names) != set(range(len(next(iter(weights.values()))))):
        return
    if len(set(names.values())) == len(names):
        for at, values in weights.items():
            outline.entries[at].shares = {names[i]: value for i, value in enumerate(values) if value > 0}
