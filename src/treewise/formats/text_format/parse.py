"""Text → tree: what people write, what ``print(tree)`` prints, and the complete form of ``formats/export/text.py``.

Stands below the outlets, the other way round: ``outline.py`` finds the lines' places, ``condition.py`` reads
what each says, ``siblings.py`` which split siblings stand for; here they become a tree. Nodes are renumbered
in pre-order, with each split's branches in its own order. Of what ``print(tree)`` says about rows, what is
written is kept (rows, counts, means as printed); impurities and gains are not written there, so they are
unknown (NaN). Every leaf's stop reason is ``by_hand``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from treewise._lib.text import format_rounded
from treewise.data.encoding import Encoding
from treewise.errors import ParameterError, ParseError
from treewise.formats.text_format.build_arrays import pack
from treewise.formats.text_format.condition import Condition, encodings_of, read
from treewise.formats.text_format.infer_split import check_one_column, decide, settle
from treewise.formats.text_format.notation import (
    SHARE,
    SHARE_OF_PREDICTED,
    UNKNOWN,
    are_values,
    is_share,
    read_labels,
    sort_labels,
    write_label,
)
from treewise.formats.text_format.outline import Outline, OutlineEntry, read_outline
from treewise.tree.arrays import STOPS, UNNAMED, Label, Target, Task, split_entries
from treewise.tree.tree import Tree

BY_HAND = STOPS.index("by_hand")
CRITERIA: dict[Task, str] = {"classification": "entropy", "regression": "squared_error"}  # until rows are counted


def parse(
    text_or_path: str | os.PathLike[str], *, target: str | None = None, data: Any = None, task: Task | None = None
) -> Tree:
    """Read a tree from text, or from a text file.

    Three forms are understood. *Bare*, as one types it: indentation, ``->`` or ``→`` (or Weka's ``:``),
    comments with ``#``. *Printed*, as ``print(tree)`` writes it: the same splits and classes come back.
    *Complete*, as ``tree.export("text")`` writes it: an equal tree comes back.

    Columns compared with numbers or dates are numbers or dates; those said to be true or false are booleans;
    others are categories with the levels mentioned. An ordered column is declared in a line of its own, such
    as ``order size: small < medium < large``; ``classes: no, yes`` puts the positive class last. With a table
    as ``data`` the columns are what they are there. What is predicted is judged as ``grow`` judges a target: text and
    few whole numbers are classes, other numbers are values; ``task="regression"``, or a line ``predicts numbers`` or
    ``classes: 1.5, 2.5``, decides otherwise.

    ``target`` names what is predicted; without it that is "class", or "value" where numbers are.

    Missing values take the branch that says ``or missing`` (``age > 71.5 or missing``), or one of their own (``age
    missing``). Where no branch says so they take the first one written, or the one with the most rows where the text
    has rows.

    >>> tree = parse('''
    ... GPA = 4.0 -> P
    ... GPA = 3.7                      # ask further
    ...     Published = yes -> P
    ...     Published = no  -> N
    ... GPA = 3.5 -> N''', target="Class")
    >>> tree
    <Tree Class: N, P · 0 rows · 4 leaves · depth 2>
    >>> tree[0].split
    Multiway(column='GPA', missing=0, levels=('4.0', '3.7', '3.5'), other=False)
    >>> parse("GPA = 4.0 -> P")
    Traceback (most recent call last):
    treewise.errors.ParseError: line 1: "GPA = 4.0" stands alone. A node needs two branches or more.
    """
    if task not in (None, "classification", "regression"):
        raise ParameterError('must be "classification" or "regression".', parameter="task", value=task)
    path = _as_path(text_or_path)
    if path is None:
        return _parse(str(text_or_path), target, data, task)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ParseError(f"cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ParseError(f"{path} is not a text file in UTF-8.") from None
    try:
        return _parse(text, target, data, task)
    except ParseError as error:
        colon = "" if str(error).startswith("line ") else ":"
        raise ParseError(f"{path.name}{colon} " + error.message) from None


def _as_path(given: str | os.PathLike[str]) -> Path | None:
    """Return the path of a tree in a file; None when the text itself is given."""
    if not isinstance(given, str):
        return Path(given)
    one_line = given and "\n" not in given and "\0" not in given and len(given) < 4096
    return Path(given) if one_line and (given.endswith(".txt") or os.path.exists(given)) else None


def _parse(text: str, target: str | None, data: Any, task: Task | None) -> Tree:
    from treewise.formats.export import text as complete  # it stands above, among the outlets

    if complete.is_complete(text):
        whole = complete.read(text)
        if task not in (None, whole.task):
            raise ParseError(f'task="{task}" does not fit: the text says {whole.task}.')
        return whole
    outline = read_outline(text)
    families = _families(outline)
    known = {} if data is None else _columns_of(data)
    encodings = encodings_of([family for family in families if family], outline.orders, known)
    predictions = _Predictions(outline, target if outline.target is None else outline.target, task)
    nodes = _nodes(outline, families, encodings, [predictions.facts(entry) for entry in outline.entries])
    task = predictions.target.task
    return Tree(encodings, predictions.target, pack(nodes, task), CRITERIA[task])


def read_words(text: str, encodings: Sequence[Encoding], target: Target, were: Mapping[int, Mapping[str, Any]]) -> Tree:
    """Read a tree's words after somebody has edited them, or has cut lines out; columns and classes are known.

    ``were`` says what was known of the node on each line, by the names of ``Arrays``. Of that a node keeps what it
    predicts, if the words do not say otherwise. Rows and counts are gone: they were those of another tree.
    """
    outline = read_outline(text)
    outline.classes = [write_label(label) for label in target.classes]
    for entry in outline.entries:
        was = were.get(entry.line, {})
        if entry.label is None and not entry.children:  # what was below it was cut out: it answers for itself
            entry.label = _said_before(was, target)
    families = _families(outline)
    known = {encoding.name: encoding for encoding in encodings}
    asked = encodings_of([family for family in families if family], {}, known)
    columns = tuple((known | {encoding.name: encoding for encoding in asked}).values())
    predictions = _Predictions(outline, target.name, target.task)
    facts = [predictions.facts(entry) for entry in outline.entries]
    for entry, fact in zip(outline.entries, facts, strict=True):
        was = were.get(entry.line, {})
        fact["weight"] = float(was.get("weight", 0.0))  # so that missing values stay where they were
        if target.task == "regression" and entry.label is not None and entry.label == _said_before(was, target):
            fact["value"] = float(was["value"])
    nodes = _nodes(outline, families, columns, facts)
    for made in nodes:
        made.pop("weight", None)
    return Tree(columns, target, pack(nodes, target.task), CRITERIA[target.task])


def _said_before(was: Mapping[str, Any], target: Target) -> str | None:
    """Return what a node predicted, as the words say it; None where nothing is known of it."""
    if target.task == "regression":
        return format_rounded(float(was["value"])) if "value" in was else None
    return write_label(target.classes[was["label"]]) if was.get("label", -1) >= 0 else None


def _families(outline: Outline) -> list[list[Condition]]:
    """Read the conditions on each entry's children; refuse lines that lead nowhere."""
    entries = outline.entries
    families = [settle([read(entries[i].said, entries[i].line) for i in entry.children]) for entry in entries]
    for family in families:
        check_one_column(family)
    for entry in entries:
        if entry.label is None and not entry.children:
            raise ParseError(
                f'line {entry.line}: "{entry.said}" has neither a prediction nor lines below it. '
                'Write "-> class" at its end.'
            )
    return families


def _columns_of(data: Any) -> dict[str, Encoding]:
    """Return what the columns of a table are."""
    from treewise.data.encoding import fit_encoding
    from treewise.data.table import read as read_table

    table = read_table(data)
    return {name: fit_encoding(table[name], table.kinds.get(name)).encoding for name in table.columns}


def _nodes(
    outline: Outline,
    families: Sequence[Sequence[Condition]],
    encodings: Sequence[Encoding],
    facts: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Number the entries in pre-order, with each split's branches in their order."""
    columns = {encoding.name: i for i, encoding in enumerate(encodings)}
    places = [{level: code for code, level in enumerate(encoding.levels)} for encoding in encodings]
    nodes: list[dict[str, Any]] = []
    todo = [(0, -1)]  # entries still to be numbered, the next last, with their parents' numbers
    while todo:
        at, parent = todo.pop()
        node, children = {**facts[at], "parent": parent}, outline.entries[at].children
        if children:
            column = columns[families[at][0].column]
            weights = [facts[child].get("weight", 0.0) for child in children]
            split, branches = decide(families[at], encodings[column], weights)
            node |= split_entries(split, column, places[column])
            if node.get("rows") and says_of_the_heavier(families[at], weights):
                node["missing_rows"] = 1  # there were some; how many is not printed
            todo.extend((children[i], len(nodes)) for i in reversed(branches))
        nodes.append(node)
    return nodes


def says_of_the_heavier(siblings: Sequence[Condition], weights: Sequence[float]) -> bool:
    """Tell whether ``or missing`` stands on the branch they would take anyway, as it does where some were missing."""
    return siblings[weights.index(max(weights))].or_missing


class _Predictions:
    """What the lines predict: the target with its classes, and each line's prediction and numbers."""

    def __init__(self, outline: Outline, name: str | None, task: Task | None = None) -> None:
        self.headings = outline.headings
        self.weighted = self.headings[1:2] == ["weight"]
        beside_rows = self.headings[1 + self.weighted :]
        self.counted = [h for h in beside_rows if h != "sd" and not is_share(h)]  # classes that have a column
        unnamed = (SHARE, SHARE_OF_PREDICTED)
        shares = [h for h in beside_rows if is_share(h) and h not in unnamed and not h.endswith(("…", "..."))]
        self.positive = self.counted or [share.partition(" ")[2] for share in shares]
        numbers = outline.numbers or self.headings[-1:] == ["sd"]
        if (numbers or self.headings) and task not in (None, "regression" if numbers else "classification"):
            raise ParseError(f'task="{task}" does not fit: the text says that it predicts otherwise.')
        if numbers or task == "regression":
            self.target = Target("value" if name is None else name, "regression")
            return
        predicted = [entry.label for entry in outline.entries if entry.label not in (None, UNKNOWN)]
        words = [word for word in (*outline.classes, *self.positive, *predicted) if word is not None]
        if not words:
            raise ParseError("no line of this tree predicts anything.")
        labels = dict(zip(words, read_labels(words), strict=True))
        if task is None and not (self.headings or outline.classes) and are_values(tuple(set(labels.values()))):
            self.target = Target("value" if name is None else name, "regression")
            return
        classes = self._in_order(labels, outline.classes)
        self.target = Target(UNNAMED if name is None else name, "classification", classes)
        self.places = {word: classes.index(label) for word, label in labels.items() if label in classes}

    def _in_order(self, labels: dict[str, Label], declared: list[str]) -> tuple[Label, ...]:
        """Put the classes in order: as declared; as their columns stand; else by value."""
        if declared:
            return tuple(dict.fromkeys(labels[word] for word in declared))
        counted = [labels[word] for word in self.positive]
        if counted and not is_share(self.headings[-1]):
            return tuple(dict.fromkeys(counted))
        others = sort_labels(set(labels.values()) - set(counted))
        return (*others, *counted)  # of two classes the positive one has the column, and it comes last

    def facts(self, entry: OutlineEntry) -> dict[str, Any]:
        """Return what a line says about its node, under the names of ``Arrays``."""
        facts = self._numbers(entry) if entry.cells else {}
        if entry.label is None:
            return facts
        facts["stop"] = BY_HAND
        if self.target.task == "regression":
            facts["value"] = math.nan if entry.label == UNKNOWN else _number(entry.label, entry.line)
        elif entry.label == UNKNOWN:
            facts.pop("label", None)
        elif entry.label in self.places:
            facts["label"] = self.places[entry.label]
        else:
            known = ", ".join(str(label) for label in self.target.classes)
            raise ParseError(f"line {entry.line}: {entry.label} is not one of the declared classes: {known}.")
        return facts

    def _numbers(self, entry: OutlineEntry) -> dict[str, Any]:
        """Read the cells under the headings."""
        rows, *rest = (_number(cell, entry.line) for cell in entry.cells)
        weight = rest.pop(0) if self.weighted else rows
        facts: dict[str, Any] = {"rows": int(rows), "weight": weight}
        if self.target.task == "regression":
            return facts | {"spread": rest[0]}
        if not self.counted:
            return facts
        counts = {self.places[word]: value for word, value in zip(self.counted, rest, strict=False)}
        if is_share(self.headings[-1]) and len(self.target.classes) == 2:
            counts[0] = round(weight - counts[1], 9)
        facts["counts"] = sorted((place, count) for place, count in counts.items() if count > 0)
        if facts["counts"]:
            facts["label"] = max(facts["counts"], key=lambda pair: (pair[1], -pair[0]))[0]
        return facts


def _number(text: str, line: int) -> float:
    """Read a number as the text tree prints it: ``32,561``, or a dash where there is none."""
    if text in ("–", "-"):
        return math.nan
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise ParseError(f'line {line}: "{text}" stands where a number should.') from None
