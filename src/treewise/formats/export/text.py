"""Export format "text": a tree that reads like ``print(tree)`` and carries every number, and its reader.

``treewise.parse`` reads it back to an equal tree, bit for bit.

    # treewise tree 1
    # target {"name": "Class", "task": "classification", "classes": ["N", "P"]}
    # column {"name": "GPA", "kind": "nominal", "levels": ["3.5", "3.7"]}
    0  all rows               # {"split": "multiway", "column": "GPA", "levels": ["3.5", "3.7"], "rows": 9, …}
    1  ├─ GPA = 3.5    → N    # {"stop": "pure", "rows": 4, "weight": 4.0, "counts": [["N", 4.0]], …}

The JSON after ``#`` is what is read (floats in the shortest form that gives the same bits), as long as it agrees with
the text to its left. If you edit that text or delete lines, the edited tree is read, without rows and counts, which
belong to the tree before the edit; a note says so. A node whose subtree was deleted becomes a leaf with its prediction.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from treewise._lib.text import pad
from treewise.data.encoding import Encoding
from treewise.errors import ParseError
from treewise.formats.model_file.header import read_quartiles
from treewise.formats.text_format.notation import cut_comment
from treewise.formats.text_format.parse import DEFAULTS, check_split, pack, parse_edited, with_parents
from treewise.show.text_tree.conditions import ConditionText
from treewise.show.text_tree.layout import MAX_LABEL_WIDTH, MAX_LEFT_WIDTH, widest
from treewise.show.text_tree.lines import UNICODE, LinePrinter, TextView, describe_subtrees
from treewise.tree.arrays import KIND_NUMBERS, LEAF, STOPS, Target
from treewise.tree.history import HistoryStep, without_pruned_tests
from treewise.tree.tree import Tree

_MAGIC = "# treewise tree "
_VERSION = 1
_TEXT_ONLY = "Delete everything after # in the whole file to read the text alone."
_KIND_NAMES = {number: name for name, number in KIND_NUMBERS.items()}
_SCALAR_DEFAULTS = {
    **{name: value for name, value in DEFAULTS.items() if name not in ("parent", "kind", "column", "stop", "label")},
    "p_value": math.nan,
}  # name → default


def write(tree: Tree) -> str:
    """Return the complete text form.

    >>> from treewise.formats.text_format.parse import parse
    >>> print(write(parse("x <= 1 -> a; x > 1 -> b".replace("; ", chr(10)))), end="")
    # treewise tree 1
    # target {"name": "class", "task": "classification", "classes": ["a", "b"]}
    # settings {"criterion": "entropy", "empty_branch": "parent"}
    # column {"name": "x", "kind": "number"}
    0  all rows        # {"split": "threshold", "column": "x", "cut": 1.0, "missing": 0}
    1  ├─ x <= 1  → a  # {"stop": "by_hand", "label": "a"}
    2  └─ x > 1   → b  # {"stop": "by_hand", "label": "b"}
    """
    facts = _facts(tree)
    body = [words if node is None else f"{words}  # {_json(facts[node])}" for words, node in _words(tree)]
    return "\n".join([*_preamble(tree), *body, ""])


def _preamble(tree: Tree) -> Iterator[str]:
    yield f"{_MAGIC}{_VERSION}"
    yield f"# target {_json(asdict(tree.target))}"
    yield f"# settings {_json({'criterion': tree.criterion, 'empty_branch': tree.empty_branch})}"
    for encoding in tree.stored_encodings:
        entries = {key: value for key, value in asdict(encoding).items() if value or key == "name"}
        yield f"# column {_json(entries)}"
    if tree.quartiles:
        yield f"# quartiles {_json(dict(tree.quartiles))}"
    for step in tree.history:
        yield f"# history {_json(dict(without_pruned_tests(step)))}"
    for note in tree.notes:
        yield f"# note {_json(note)}"


def _words(tree: Tree) -> Iterator[tuple[str, int | None]]:
    """Yield the text of each line with its node; None where a block repeats the line of a node."""
    page = LinePrinter(tree, TextView(0), describe_subtrees(tree), ConditionText(tree), UNICODE)
    digits, lines = len(str(len(tree) - 1)), list(page.lines())
    left = [f"{str(line.node).rjust(digits)}  {line.prefix}{line.condition}" for line in lines]
    wide = widest(left, MAX_LEFT_WIDTH), widest([line.prediction for line in lines], MAX_LABEL_WIDTH)
    for line, text in zip(lines, left, strict=True):
        words = f"{pad(text, wide[0])}  {pad(line.prediction, wide[1])}"
        yield f"{words}  {line.tail}" if line.tail else words, None if line.is_repeated else line.node


def _facts(tree: Tree) -> list[dict[str, Any]]:
    """Return all entries of each node, with names for columns, levels and classes; defaults are left out."""
    a = tree.arrays
    plain = {
        name: (getattr(a, name).tolist(), default)
        for name, default in _SCALAR_DEFAULTS.items()
        if len(getattr(a, name))
    }
    labels = a.label.tolist() if len(a.label) else [-1] * len(tree)
    facts = []
    for i in range(len(tree)):
        node: dict[str, Any] = {}
        if a.kind[i] != LEAF:
            node["split"] = _KIND_NAMES[int(a.kind[i])]
        if a.column[i] >= 0:
            node["column"] = tree.encodings[a.column[i]].name
        if a.stop[i]:
            node["stop"] = STOPS[a.stop[i]]
        codes = a.codes[a.code_start[i] : a.code_start[i + 1]].tolist()
        if codes:
            node["levels"] = [tree.encodings[a.column[i]].levels[code] for code in codes]
        node |= {name: values[i] for name, (values, default) in plain.items() if not _same(values[i], default)}
        if labels[i] >= 0:
            node["label"] = tree.classes[labels[i]]
        if len(counts := tree.counts(i)):
            node["counts"] = list(counts.items())
        facts.append(node)
    return facts


def _same(value: float, default: float) -> bool:
    return value == default or (value != value and default != default)


def _json(value: Any) -> str:
    """Write JSON on one line; non-ASCII text is escaped only if it is not printable."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if text.isprintable() else json.dumps(value, default=str)


# -- reading ----------------------------------------------------------------------------------------------------


def is_complete(text: str) -> bool:
    """Return whether a text has this format."""
    return text.lstrip().startswith(_MAGIC)


def read(text: str) -> Tree:
    """Read an exported tree; ``treewise.parse`` comes here."""
    version = text.lstrip().partition("\n")[0].removeprefix(_MAGIC).strip()
    if version != str(_VERSION):
        raise ParseError(
            f"the text has format version {version}; this treewise reads version {_VERSION}. pip install -U treewise."
        )
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), start=1):
        reader.read_line(line.rstrip("\r"), number)
    nodes = reader.facts()
    tree = reader.tree(nodes)
    edited = "some lines were" if tree is None else _edited_line(tree, reader.words)
    if tree is not None and edited is None:
        return tree
    bare = "\n".join(cut_comment(line.rstrip("\r"))[0] for line in text.split("\n"))
    parsed = parse_edited(bare, reader.encodings, reader.target, {node.pop("line"): node for node in nodes})
    note = f"{edited} edited: the text was read without rows and counts; tree.refit(data) counts again"
    history = (*reader.entries["history"], {"did": "edit"})
    return parsed.with_(**reader.entries["settings"][0], history=history, notes=(*reader.entries["note"], note))


class _Reader:
    """Collects the preamble, the JSON of the nodes and the text left of it."""

    def __init__(self) -> None:
        self.entries: dict[str, list[Any]] = {
            key: [] for key in ("target", "settings", "column", "quartiles", "history", "note")
        }
        self.nodes: list[dict[str, Any]] = []
        self.words: list[tuple[int, str]] = []

    def read_line(self, line: str, number: int) -> None:
        """Read one line: a keyword and JSON after ``#``, or a node's text and its JSON."""
        words, comment = cut_comment(line)
        if words:
            self.words.append((number, words))
        head, brace, _ = comment.partition(" ")
        try:
            if words and comment:
                self.nodes.append(json.loads(comment) | {"line": number})
            elif brace and head in self.entries:
                value = json.loads(comment[len(head) :])
                self.entries[head].append(HistoryStep(value) if head == "history" else value)
        except (ValueError, TypeError, RecursionError) as error:
            raise ParseError(f"line {number}: the part after # is damaged ({error}).") from None

    def facts(self) -> list[dict[str, Any]]:
        """Read the preamble, and return the entries of every node as numbers."""
        try:
            target, settings = self.entries["target"][0], self.entries["settings"][0]
            self.target = Target(**{**target, "classes": tuple(target["classes"])})
            columns = [{**column, "levels": tuple(column.get("levels", ()))} for column in self.entries["column"]]
            self.encodings = tuple(Encoding(**column) for column in columns)
            settings["criterion"], settings["empty_branch"]
        except (IndexError, KeyError, TypeError):
            raise ParseError('the lines "# target", "# settings" and "# column" at the top are damaged.') from None
        codes_of = _NameCodes(self.encodings, self.target)
        return [codes_of.facts(node) for node in self.nodes]

    def tree(self, nodes: Sequence[Mapping[str, Any]]) -> Tree | None:
        """Build the tree; None if the nodes are not a complete tree."""
        try:
            placed = with_parents(nodes)
        except ValueError:
            return None
        try:
            arrays = pack(placed, self.target.task)
        except (ValueError, TypeError, OverflowError) as error:
            raise ParseError(f"the numbers after # do not make a tree: {error}. {_TEXT_ONLY}") from None
        tree = Tree(self.encodings, self.target, arrays, **self.entries["settings"][0])
        quartiles = self._quartiles()
        return tree.with_(
            history=tuple(self.entries["history"]), notes=tuple(self.entries["note"]), quartiles=quartiles
        )

    def _quartiles(self) -> dict[str, tuple[float, float]]:
        """Read the quartiles of numeric columns; older exports have none."""
        try:
            return read_quartiles(entries[-1], self.encodings) if (entries := self.entries["quartiles"]) else {}
        except (TypeError, ValueError):
            raise ParseError('the line "# quartiles" at the top is damaged.') from None


class _NameCodes:
    """Turns the names of columns, levels and classes into their numbers."""

    def __init__(self, encodings: Sequence[Encoding], target: Target) -> None:
        self.encodings = encodings
        self.columns = {encoding.name: i for i, encoding in enumerate(encodings)}
        self.levels = [{level: code for code, level in enumerate(encoding.levels)} for encoding in encodings]
        self.classes = {label: i for i, label in enumerate(target.classes)}

    def facts(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return the entries of a node as numbers; ``line`` is kept for messages."""
        try:
            column = self.columns[node["column"]] if "column" in node else -1
            raw = {name: node[name] for name in ("line", *_SCALAR_DEFAULTS) if name in node}
            raw |= {"column": column, "kind": KIND_NUMBERS[node["split"]] if "split" in node else LEAF}
            raw["stop"] = STOPS.index(node.get("stop", ""))
            raw["label"] = self.classes[node["label"]] if "label" in node else -1
            raw["codes"] = [self.levels[column][level] for level in node.get("levels", ())]
            raw["counts"] = [(self.classes[label], weight) for label, weight in node.get("counts", ())]
            if raw["kind"] != LEAF:
                check_split(raw, self.encodings[self.columns[node["column"]]].is_categorical)
            return raw
        except (LookupError, ValueError, TypeError) as error:
            raise ParseError(f"line {node['line']}: the part after # is damaged ({error}).") from None


def _edited_line(tree: Tree, words: Sequence[tuple[int, str]]) -> str | None:
    """Name the first line whose text differs from what its JSON prints; None if none does."""
    printed_lines = [text for text, _ in _words(tree)]
    pairs = zip(words, printed_lines, strict=False)
    edited = next((number for (number, line_text), printed in pairs if line_text.split() != printed.split()), None)
    if edited is None and len(printed_lines) == len(words):
        return None
    return "some lines were" if edited is None else f"line {edited} was"
