"""Parse a tree from text: typed by hand, printed by ``print(tree)``, or exported by ``formats/export/text.py``.

    text ──outline.py──▶ lines with depth and prediction ──conditions.py──▶ splits ──here──▶ Tree

Nodes are renumbered in pre-order, with the branches of each split in the order of that split. A printed tree keeps the
rows, counts and means it shows; it does not show impurities and gains, so these become NaN. Every leaf's stop reason is
``by_hand``. The second half of the file packs nodes given one by one into ``Arrays``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from treewise._lib.text import SHARE_DIGITS, format_rounded, plural
from treewise.data.encoding import Encoding, fit_encoding
from treewise.data.table import Table, read
from treewise.errors import ParameterError, ParseError, did_you_mean, join_few
from treewise.formats.text_format.conditions import (
    Condition,
    check_one_column,
    infer_encodings,
    infer_split,
    parse_condition,
    resolve_siblings,
)
from treewise.formats.text_format.notation import (
    P_VALUE,
    SHARE,
    SHARE_OF_PREDICTED,
    UNKNOWN,
    are_values,
    is_share_heading,
    read_labels,
    sort_labels,
    write_label,
)
from treewise.formats.text_format.outline import OTHERS, Outline, OutlineEntry, read_outline
from treewise.train.target import adopt_target
from treewise.tree.arrays import (
    BY_HAND,
    DTYPES,
    LEAF,
    MULTIWAY,
    ONE_VALUE,
    ORDINAL,
    THRESHOLD,
    UNNAMED,
    Arrays,
    Label,
    Target,
    Task,
    split_entries,
)
from treewise.tree.tree import Tree

_CRITERIA: dict[Task, str] = {"classification": "entropy", "regression": "squared_error"}  # until rows are counted

_UNNAMED_VALUE = "value"  # the target of a regression tree that does not name one

NodeFacts = Mapping[str, Any]  # the entries of ``Arrays`` for one node; what is left out has its default

DEFAULTS: dict[str, Any] = {
    "parent": -1, "kind": 0, "column": -1, "cut": 0.0, "cut_int": 0, "missing": -1, "other": -1, "stop": 0,
    "rows": 0, "missing_rows": 0, "weight": 0.0, "impurity": math.nan, "gain": math.nan,
    "label": -1, "value": math.nan, "spread": math.nan,
}  # fmt: skip
_ONLY_IN = {"label": "classification", "value": "regression", "spread": "regression"}


def parse(
    text_or_path: str | os.PathLike[str], *, target: str | None = None, data: Any = None, task: Task | None = None
) -> Tree:
    """Read a tree from text, or from a text file.

    Three forms are accepted. *Bare*, as typed by hand: indentation, ``->`` or ``→`` (or Weka's ``:``), comments with
    ``#``. *Printed*, as ``print(tree)`` writes it: the splits and classes are restored. *Complete*, as
    ``tree.export("text")`` writes it: an equal tree is restored.

    Columns compared with numbers or dates are numeric or datetime columns; columns compared with true or false are
    boolean; others are categorical with the levels mentioned. Declare an ordered column on a line of its own, such as
    ``order size: small < medium < large``; ``classes: no, yes`` puts the positive class last. With a table as ``data``
    the columns are encoded as in that table, and the tree predicts its target, with its classes in their order. The
    task is inferred as ``grow`` does it: text and a few whole numbers are classes, other numbers are values;
    ``task="regression"``, or a line ``predicts numbers`` or ``classes: 1.5, 2.5``, overrides that.

    ``target`` names what is predicted; the default is "class", or "value" for regression.

    Missing values take the branch that says ``or missing`` (``age > 71.5 or missing``), or a separate one (``age
    missing``). Without either they take the first branch written, or the one with the most rows if the text has rows.

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
    treewise.errors.ParseError: line 1: "GPA = 4.0" has no sibling. A node needs two or more branches.
    """
    if task not in (None, "classification", "regression"):
        raise ParameterError('must be "classification" or "regression".', parameter="task", value=task)
    path = _to_path(text_or_path)
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


def _to_path(given: str | os.PathLike[str]) -> Path | None:
    """Return the path of a file; None if the text itself is given."""
    if not isinstance(given, str):
        return Path(given)
    one_line = given and "\n" not in given and "\0" not in given and len(given) < 4096
    return Path(given) if one_line and (given.endswith(".txt") or os.path.exists(given)) else None


def _parse(text: str, target: str | None, data: Any, task: Task | None) -> Tree:
    from treewise.formats.export import text as complete  # a higher layer: it prints with the text tree

    if complete.is_complete(text):
        tree = complete.read(text)
        if task not in (None, tree.task):
            raise ParseError(f'task="{task}" does not fit: the text is a {tree.task} tree.')
        return tree
    outline = read_outline(text)
    siblings = _read_conditions(outline)
    table = None if data is None else read(data)
    known = {} if table is None else _encodings_of_table(table)
    _check_names(outline, siblings, table)
    encodings = infer_encodings([conditions for conditions in siblings if conditions], outline.orders, known)
    predictions = _LinePredictions(outline, target if outline.target is None else outline.target, task)
    nodes = _nodes(outline, siblings, encodings, [predictions.facts(entry) for entry in outline.entries])
    task = predictions.target.task
    if not outline.headings:  # weights have done their part; a tree without all counts has seen no rows
        nodes = [{name: value for name, value in node.items() if name != "weight"} for node in nodes]
    tree = Tree(encodings, predictions.target, pack(nodes, task), _CRITERIA[task])
    return tree if table is None else _adopt_target(tree, table, named=predictions.target.name, outline=outline)


def _check_names(outline: Outline, siblings: Sequence[Sequence[Condition]], table: Table | None) -> None:
    """Raise for names that are probably slips: a column that the table lacks, or two names that differ only in case."""
    conditions = [condition for group in siblings for condition in group]
    for c in conditions:
        if table is not None and c.column not in table.columns:
            known = list(table.columns)
            near = did_you_mean(c.column, known)
            raise c.error(f"tests a column that {table.name} does not have.{near} Columns: {join_few(known)}.")
    if not outline.is_typed:
        return
    predicted = [(entry.label, entry.line) for entry in outline.entries if entry.label not in (None, OTHERS)]
    for what, named in (("column", [(c.column, c.line) for c in conditions]), ("class", predicted)):
        first: dict[str, tuple[str, int]] = {}
        for name, line in named:
            assert name is not None
            other, at = first.setdefault(name.casefold(), (name, line))
            if other != name and name not in outline.classes:
                hint = "" if what == "column" else f" If they are two classes, declare them: classes: {other}, {name}."
                raise ParseError(f'line {line}: {what} "{name}" differs from "{other}" (line {at}) only in case.{hint}')


def _adopt_target(tree: Tree, table: Table, named: str, outline: Outline) -> Tree:
    """Give a tree the target of its table and the order of its classes, unless the text or the caller gives them."""
    name = named if named in table.columns else table.target
    if name is None:
        return tree
    adopted = tree if outline.classes else adopt_target(tree, table, name)
    is_unnamed = named in (UNNAMED, _UNNAMED_VALUE) and named not in table.columns
    return adopted.with_(target=replace(adopted.target, name=name if is_unnamed else named))


def parse_edited(
    text: str, encodings: Sequence[Encoding], target: Target, previous_nodes: Mapping[int, NodeFacts]
) -> Tree:
    """Parse the conditions of an exported tree after its lines were edited or deleted.

    ``previous_nodes`` holds the exported facts by line number. A node keeps its prediction unless its line says
    otherwise; rows and counts are dropped, because they belong to the tree before the edit.
    """
    outline = read_outline(text)
    outline.classes = [write_label(label) for label in target.classes]
    for entry in outline.entries:
        previous = previous_nodes.get(entry.line, {})
        if entry.label is None and not entry.children:  # its subtree was deleted: it becomes a leaf
            entry.label = _previous_prediction(previous, target)
    siblings = _read_conditions(outline)
    known = {encoding.name: encoding for encoding in encodings}
    inferred = infer_encodings([conditions for conditions in siblings if conditions], {}, known)
    columns = tuple((known | {encoding.name: encoding for encoding in inferred}).values())
    predictions = _LinePredictions(outline, target.name, target.task)
    facts = [predictions.facts(entry) for entry in outline.entries]
    for entry, fact in zip(outline.entries, facts, strict=True):
        previous = previous_nodes.get(entry.line, {})
        fact["weight"] = float(previous.get("weight", 0.0))  # so that missing values stay where they were
        unchanged = entry.label is not None and entry.label == _previous_prediction(previous, target)
        if target.task == "regression" and unchanged:
            fact["value"] = float(previous["value"])
    nodes = _nodes(outline, siblings, columns, facts)
    for node in nodes:
        node.pop("weight", None)
    return Tree(columns, target, pack(nodes, target.task), _CRITERIA[target.task])


def _previous_prediction(previous: NodeFacts, target: Target) -> str | None:
    """Return the exported prediction of a node as it is printed; None if there is none."""
    if target.task == "regression":
        return format_rounded(float(previous["value"])) if "value" in previous else None
    return write_label(target.classes[previous["label"]]) if previous.get("label", -1) >= 0 else None


def _read_conditions(outline: Outline) -> list[list[Condition]]:
    """Return, for each entry, the conditions of its children; raise for lines that lead nowhere."""
    entries = outline.entries
    siblings = [
        resolve_siblings([parse_condition(entries[i].condition, entries[i].line) for i in entry.children])
        for entry in entries
    ]
    for conditions in siblings:
        check_one_column(conditions)
    for entry in entries:
        if entry.label is None and not entry.children:
            raise ParseError(
                f'line {entry.line}: "{entry.condition}" has neither a prediction nor lines below it. '
                'Write "-> class" at its end.'
            )
    return siblings


def _encodings_of_table(table: Table) -> dict[str, Encoding]:
    return {name: fit_encoding(table[name], table.kinds.get(name)).encoding for name in table.columns}


def _nodes(
    outline: Outline,
    siblings: Sequence[Sequence[Condition]],
    encodings: Sequence[Encoding],
    facts: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Number the entries in pre-order, with the branches of each split in its order."""
    columns = {encoding.name: i for i, encoding in enumerate(encodings)}
    codes = [{level: code for code, level in enumerate(encoding.levels)} for encoding in encodings]
    nodes: list[dict[str, Any]] = []
    stack = [(0, -1)]  # a stack of entries still to be numbered, with the numbers of their parents
    while stack:
        at, parent = stack.pop()
        node, children = {**facts[at], "parent": parent}, outline.entries[at].children
        if children:
            column = columns[siblings[at][0].column]
            weights = [facts[child].get("weight", 0.0) for child in children]
            split, branches = infer_split(siblings[at], encodings[column], weights)
            node |= split_entries(split, column, encodings[column], codes[column])
            # "or missing" on the branch they would take by default is printed only if some training rows were missing
            if node.get("rows") and siblings[at][weights.index(max(weights))].or_missing:
                node["missing_rows"] = 1  # their number is not printed
            stack.extend((children[i], len(nodes)) for i in reversed(branches))
        nodes.append(node)
    return nodes


class _LinePredictions:
    """The target with its classes, as inferred from all lines, and the prediction and numbers of each line."""

    def __init__(self, outline: Outline, name: str | None, task: Task | None = None) -> None:
        self.headings = outline.headings
        self.weighted = self.headings[1:2] == ["weight"]
        self.n_beside = 1 + self.weighted + (self.headings[1 + self.weighted : 2 + self.weighted] == [P_VALUE])
        beside_rows = self.headings[self.n_beside :]
        # the classes that have a column
        self.counted_classes = [h for h in beside_rows if h != "sd" and not is_share_heading(h)]
        unnamed = (SHARE, SHARE_OF_PREDICTED)
        shares = [h for h in beside_rows if is_share_heading(h) and h not in unnamed and not h.endswith(("…", "..."))]
        self.positive = self.counted_classes or [share.partition(" ")[2] for share in shares]
        numbers = outline.predicts_numbers or self.headings[-1:] == ["sd"]
        if (numbers or self.headings) and task not in (None, "regression" if numbers else "classification"):
            raise ParseError(f'task="{task}" does not fit: the text predicts {"numbers" if numbers else "classes"}.')
        if numbers or task == "regression":
            self.target = Target(_UNNAMED_VALUE if name is None else name, "regression")
            return
        predicted = [entry.label for entry in outline.entries if entry.label not in (None, UNKNOWN, OTHERS)]
        predicted += [label for entry in outline.entries for label in entry.shares if label != OTHERS]
        predicted += [entry.own_label for entry in outline.entries if entry.own_label is not None]
        texts = [text_ for text_ in (*outline.classes, *self.positive, *predicted) if text_ is not None]
        if not texts:
            raise ParseError("no line of this tree predicts anything.")
        labels = dict(zip(texts, read_labels(texts), strict=True))
        if task is None and not (self.headings or outline.classes) and are_values(tuple(set(labels.values()))):
            self.target = Target(_UNNAMED_VALUE if name is None else name, "regression")
            return
        classes = self._order_classes(labels, outline.classes)
        self.target = Target(UNNAMED if name is None else name, "classification", classes)
        self.class_codes = {text_: classes.index(label) for text_, label in labels.items() if label in classes}

    def _order_classes(self, labels: dict[str, Label], declared: list[str]) -> tuple[Label, ...]:
        """Order the classes: as declared, else as their columns, else by value."""
        if declared:
            return tuple(dict.fromkeys(labels[text_] for text_ in declared))
        counted_classes = [labels[text_] for text_ in self.positive]
        if counted_classes and not is_share_heading(self.headings[-1]):
            return tuple(dict.fromkeys(counted_classes))
        others = sort_labels(set(labels.values()) - set(counted_classes))
        return (*others, *counted_classes)  # with two classes only the positive one has a column, and it comes last

    def facts(self, entry: OutlineEntry) -> dict[str, Any]:
        """Return the entries of ``Arrays`` that a line gives for its node."""
        facts = self._numbers(entry) if entry.cells else {}
        if entry.own_label is not None:  # of an inner node: for levels that have no branch
            facts |= {"label": self.class_codes[entry.own_label]} if self.target.classes else {}
        if entry.weight and not entry.cells:
            facts["weight"] = entry.weight  # decides where missing values go
        if entry.label is None:
            return facts
        if entry.shares and self.target.classes:
            return facts | self._shares(entry)
        facts["stop"] = BY_HAND
        if self.target.task == "regression":
            facts["value"] = math.nan if entry.label == UNKNOWN else _number(entry.label, entry.line)
        elif entry.label == UNKNOWN:
            facts.pop("label", None)
        elif entry.label in self.class_codes:
            facts["label"] = self.class_codes[entry.label]
        else:
            known = ", ".join(str(label) for label in self.target.classes)
            raise ParseError(f"line {entry.line}: {entry.label} is not one of the declared classes: {known}.")
        return facts

    def _shares(self, entry: OutlineEntry) -> dict[str, Any]:
        """Return the class weights and the prediction of a leaf whose text gives probabilities or counts."""
        shares = dict(entry.shares)
        unnamed = shares.pop(OTHERS, 0.0)
        others = [text for text in self.class_codes if self.class_codes[text] not in map(self.class_codes.get, shares)]
        if unnamed and len(others) == 1:
            shares[others[0]] = unnamed
        elif unnamed and not entry.weight:
            raise ParseError(
                f"line {entry.line}: a probability of {next(iter(shares.values())):.6g} leaves {unnamed:.6g} for "
                f"{plural(len(others), 'other class', 'other classes')}. Give all of them: yes 0.75, no 0.25; or "
                "declare two classes: classes: no, yes."
            )
        elif unnamed:
            shares = {}  # counts of more than two classes: which class the errors are of is not known
        label = max(shares, key=lambda text: shares[text]) if shares else entry.label
        assert label is not None
        counts = self._probabilities({self.class_codes[text]: share for text, share in shares.items()})
        return {"stop": BY_HAND, "label": self.class_codes[label], "counts": counts}

    def _probabilities(self, shares: dict[int, float]) -> list[tuple[int, float]]:
        """Return probabilities with the digits that are printed, so that they can be read back; none if certain."""
        total = sum(shares.values())
        if len(shares) < 2:
            return []
        rounded = {code: round(share / total, SHARE_DIGITS) for code, share in shares.items()}
        if len(self.target.classes) == 2:
            top = max(rounded, key=lambda code: rounded[code])
            rounded = {code: rounded[code] if code == top else 1 - rounded[top] for code in rounded}
        return sorted((code, share) for code, share in rounded.items() if share > 0)

    def _numbers(self, entry: OutlineEntry) -> dict[str, Any]:
        """Read the cells under the headings."""
        rows = _number(entry.cells[0], entry.line)
        weight = _number(entry.cells[1], entry.line) if self.weighted else rows
        rest = [_number(cell, entry.line) for cell in entry.cells[self.n_beside :]]  # p-values are not read back
        facts: dict[str, Any] = {"rows": int(rows), "weight": weight}
        if self.target.task == "regression":
            return facts | {"spread": rest[0]}
        if not self.counted_classes:
            return facts
        counts = {self.class_codes[text_]: value for text_, value in zip(self.counted_classes, rest, strict=False)}
        if is_share_heading(self.headings[-1]) and len(self.target.classes) == 2:
            counts[0] = round(weight - counts[1], 9)
        facts["counts"] = sorted((class_code, count) for class_code, count in counts.items() if count > 0)
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
        raise ParseError(f'line {line}: expected a number instead of "{text}".') from None


# -- nodes to arrays --------------------------------------------------------------------------------------------


def pack(nodes: Sequence[NodeFacts], task: Task) -> Arrays:
    """Pack the nodes of a tree, given in pre-order, into arrays.

    >>> pack([{"label": 1, "rows": 3, "counts": [(1, 3.0)]}], "classification").count_weight
    array([3.])
    """
    codes = [node.get("codes", ()) for node in nodes]
    counts = [node.get("counts", ()) for node in nodes]
    entries: dict[str, list[Any]] = {
        "code_start": _starts(codes),
        "codes": [code for items in codes for code in items],
        "count_start": _starts(counts),
        "count_class": [class_code for items in counts for class_code, _ in items],
        "count_weight": [weight for items in counts for _, weight in items],
    }
    for name, default in DEFAULTS.items():
        present = _ONLY_IN.get(name, task) == task
        entries[name] = [node.get(name, default) for node in nodes] if present else []
    if any("p_value" in node for node in nodes):
        entries["p_value"] = [node.get("p_value", math.nan) for node in nodes]
    return Arrays(**{name: np.array(entries.get(name, ()), dtype) for name, dtype in DTYPES.items()})


def _starts(lists: Sequence[Sequence[Any]]) -> list[int]:
    return [0, *accumulate(len(items) for items in lists)]


def check_split(node: NodeFacts, categorical: bool) -> None:
    """Raise ValueError for entries that are not a valid split; the caller adds the line."""
    kind, levels = node["kind"], len(node.get("codes", ()))
    if categorical == (kind == THRESHOLD):
        raise ValueError("this kind of split does not fit this kind of column")
    if (kind == THRESHOLD and levels) or (kind in (ORDINAL, ONE_VALUE) and levels != 1):
        raise ValueError(f"{levels} levels are named")
    if not 0 <= node["missing"] <= _n_present_branches(node):
        raise ValueError(f"missing values cannot take branch {node['missing']}")


def _n_present_branches(node: NodeFacts) -> int:
    if node["kind"] != MULTIWAY:
        return 2
    return len(node.get("codes", ())) + int(node.get("other", -1) >= 0)


def with_parents(nodes: Sequence[NodeFacts]) -> list[dict[str, Any]]:
    """Add the parent of every node: in pre-order it follows from the number of branches of the nodes before.

    >>> inner = {"kind": THRESHOLD, "column": 0, "missing": 0}
    >>> [node["parent"] for node in with_parents([inner, inner, {}, {}, {}])]
    [-1, 0, 1, 1, 0]
    """
    placed: list[dict[str, Any]] = []
    open_nodes: list[list[int]] = []  # a stack of nodes with the number of children still to come
    for i, node in enumerate(nodes):
        if i and not open_nodes:
            raise ValueError(f"node {i} comes after the last leaf")
        placed.append({**node, "parent": open_nodes[-1][0] if open_nodes else -1})
        if open_nodes:
            open_nodes[-1][1] -= 1
        if node.get("kind", LEAF) != LEAF:
            open_nodes.append([i, max(_n_present_branches(node), node["missing"] + 1)])
        while open_nodes and not open_nodes[-1][1]:
            open_nodes.pop()
    if open_nodes or not nodes:
        raise ValueError("some nodes are missing")
    return placed
