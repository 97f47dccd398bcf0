"""The complete text form: a tree that reads like ``print(tree)`` and carries every number.

Stands among the outlets; ``treewise.parse`` reads it back to an equal tree, bit for bit.

    # treewise tree 1
    # target {"name": "Class", "task": "classification", "classes": ["N", "P"]}
    # column {"name": "GPA", "kind": "nominal", "levels": ["3.5", "3.7"]}
    0  all rows               # {"split": "multiway", "column": "GPA", "levels": ["3.5", "3.7"], "rows": 9, …}
    1  ├─ GPA = 3.5    → N    # {"stop": "pure", "rows": 4, "weight": 4.0, "counts": [["N", 4.0]], …}

The numbers after ``#`` are what is read (floats in the shortest form that gives the same bits), as long as the words
left of them agree. Who edits the words, or cuts lines out, gets the tree that they say, without the numbers of rows,
which were those of another tree; a note says so. A node whose lines below were cut out predicts what it would have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from treewise._lib.text import pad
from treewise.data.encoding import Encoding
from treewise.errors import ParseError
from treewise.formats.model_file.header import quartiles_from
from treewise.formats.text_format.build_arrays import UNSAID, check_split, pack, with_parents
from treewise.formats.text_format.notation import cut_comment
from treewise.formats.text_format.parse import read_words
from treewise.show.text_tree.condition_text import ConditionText
from treewise.show.text_tree.folding import TextView, shape
from treewise.show.text_tree.layout import ALIGNED_LABEL, ALIGNED_LEFT, widest
from treewise.show.text_tree.lines import UNICODE, LinePrinter
from treewise.tree.arrays import KIND_NUMBERS, LEAF, STOPS, Target
from treewise.tree.history import Step
from treewise.tree.tree import Tree

MAGIC = "# treewise tree "
VERSION = 1
WORDS_ALONE = "Delete everything after # in the whole file to read the words alone."
KIND_NAMES = {number: name for name, number in KIND_NUMBERS.items()}
_PLAIN = [name for name in UNSAID if name not in ("parent", "kind", "column", "stop", "label")]


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
    yield f"{MAGIC}{VERSION}"
    yield f"# target {_json(asdict(tree.target))}"
    yield f"# settings {_json({'criterion': tree.criterion, 'empty_branch': tree.empty_branch})}"
    for encoding in tree.encodings:
        said = {key: value for key, value in asdict(encoding).items() if value or key == "name"}
        yield f"# column {_json(said)}"
    if tree.quartiles:
        yield f"# quartiles {_json(dict(tree.quartiles))}"
    for step in tree.history:
        yield f"# history {_json(dict(step))}"
    for note in tree.notes:
        yield f"# note {_json(note)}"


def _words(tree: Tree) -> Iterator[tuple[str, int | None]]:
    """Yield each line's words, with its node; None where a block repeats a node's line."""
    page = LinePrinter(tree, TextView(0), shape(tree), ConditionText(tree), UNICODE)
    digits, lines = len(str(len(tree) - 1)), list(page.lines())
    left = [f"{str(line.node).rjust(digits)}  {line.lead}{line.said}" for line in lines]
    wide = widest(left, ALIGNED_LEFT), widest([line.prediction for line in lines], ALIGNED_LABEL)
    for line, text in zip(lines, left, strict=True):
        words = f"{pad(text, wide[0])}  {pad(line.prediction, wide[1])}"
        yield f"{words}  {line.tail}" if line.tail else words, None if line.repeated else line.node


def _facts(tree: Tree) -> list[dict[str, Any]]:
    """Return all there is to know of each node, in words where there are words; the usual is left out."""
    a = tree.arrays
    plain = {name: (getattr(a, name).tolist(), UNSAID[name]) for name in _PLAIN if len(getattr(a, name))}
    labels = a.label.tolist() if len(a.label) else [-1] * len(tree)
    facts = []
    for i in range(len(tree)):
        node: dict[str, Any] = {}
        if a.kind[i] != LEAF:
            node["split"] = KIND_NAMES[int(a.kind[i])]
        if a.column[i] >= 0:
            node["column"] = tree.encodings[a.column[i]].name
        if a.stop[i]:
            node["stop"] = STOPS[a.stop[i]]
        codes = a.codes[a.code_start[i] : a.code_start[i + 1]].tolist()
        if codes:
            node["levels"] = [tree.encodings[a.column[i]].levels[code] for code in codes]
        node |= {name: values[i] for name, (values, usual) in plain.items() if not _same(values[i], usual)}
        if labels[i] >= 0:
            node["label"] = tree.classes[labels[i]]
        if len(counts := tree.counts(i)):
            node["counts"] = list(counts.items())
        facts.append(node)
    return facts


def _same(value: float, usual: float) -> bool:
    return value == usual or (value != value and usual != usual)


def _json(value: Any) -> str:
    """Write JSON on one line, readable where that is safe: escapes only where a letter cannot be printed."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if text.isprintable() else json.dumps(value, default=str)


# -- and back -----------------------------------------------------------------------------------------------


def is_complete(text: str) -> bool:
    """Tell whether a text is in the complete form."""
    return text.lstrip().startswith(MAGIC)


def read(text: str) -> Tree:
    """Read the complete text form."""
    version = text.lstrip().partition("\n")[0].removeprefix(MAGIC).strip()
    if version != str(VERSION):
        raise ParseError(f"this tree is in format {version}; this treewise reads {VERSION}. pip install -U treewise.")
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), start=1):
        reader.take(line.rstrip("\r"), number)
    nodes = reader.facts()
    tree = reader.tree(nodes)
    edited = "some lines were" if tree is None else _edited_line(tree, reader.words)
    if tree is not None and edited is None:
        return tree
    bare = "\n".join(cut_comment(line.rstrip("\r"))[0] for line in text.split("\n"))
    said = read_words(bare, reader.encodings, reader.target, {node.pop("line"): node for node in nodes})
    note = f"{edited} edited: the words were read, and rows and counts left out; tree.refit(data) counts again"
    history = (*reader.said["history"], {"did": "edit"})
    return said.with_(**reader.said["settings"][0], history=history, notes=(*reader.said["note"], note))


class _Reader:
    """Collects what the lines say."""

    def __init__(self) -> None:
        self.said: dict[str, list[Any]] = {
            key: [] for key in ("target", "settings", "column", "quartiles", "history", "note")
        }
        self.nodes: list[dict[str, Any]] = []
        self.words: list[tuple[int, str]] = []

    def take(self, line: str, number: int) -> None:
        """Read one line: a word and JSON after ``#``, or a node's words and its JSON."""
        words, comment = cut_comment(line)
        if words:
            self.words.append((number, words))
        head, brace, _ = comment.partition(" ")
        try:
            if words and comment:
                self.nodes.append(json.loads(comment) | {"line": number})
            elif brace and head in self.said:
                found = json.loads(comment[len(head) :])
                self.said[head].append(Step(found) if head == "history" else found)
        except (ValueError, TypeError, RecursionError) as error:
            raise ParseError(f"line {number}: the part after # is damaged ({error}).") from None

    def facts(self) -> list[dict[str, Any]]:
        """Read what the preamble says, and turn the words of every node back into numbers."""
        try:
            goal, settings = self.said["target"][0], self.said["settings"][0]
            self.target = Target(**{**goal, "classes": tuple(goal["classes"])})
            columns = [{**column, "levels": tuple(column.get("levels", ()))} for column in self.said["column"]]
            self.encodings = tuple(Encoding(**column) for column in columns)
            settings["criterion"], settings["empty_branch"]
        except (IndexError, KeyError, TypeError):
            raise ParseError('the lines "# target", "# settings" and "# column" at the top are damaged.') from None
        places = _Places(self.encodings, self.target)
        return [places.facts(node) for node in self.nodes]

    def tree(self, nodes: Sequence[Mapping[str, Any]]) -> Tree | None:
        """Put together what was read; None where the nodes are no whole tree."""
        try:
            placed = with_parents(nodes)
        except ValueError:
            return None
        try:
            arrays = pack(placed, self.target.task)
        except (ValueError, TypeError, OverflowError) as error:
            raise ParseError(f"the numbers after # do not make a tree: {error}. {WORDS_ALONE}") from None
        tree = Tree(self.encodings, self.target, arrays, **self.said["settings"][0])
        quartiles = self._quartiles()
        return tree.with_(history=tuple(self.said["history"]), notes=tuple(self.said["note"]), quartiles=quartiles)

    def _quartiles(self) -> dict[str, tuple[float, float]]:
        """Read the quartiles of numeric columns; a text that was written before there were any has none."""
        try:
            return quartiles_from(said[-1], self.encodings) if (said := self.said["quartiles"]) else {}
        except (TypeError, ValueError):
            raise ParseError('the line "# quartiles" at the top is damaged.') from None


class _Places:
    """The numbers of columns, levels and classes, by their names."""

    def __init__(self, encodings: Sequence[Encoding], target: Target) -> None:
        self.encodings = encodings
        self.columns = {encoding.name: i for i, encoding in enumerate(encodings)}
        self.levels = [{level: code for code, level in enumerate(encoding.levels)} for encoding in encodings]
        self.classes = {label: i for i, label in enumerate(target.classes)}

    def facts(self, node: dict[str, Any]) -> dict[str, Any]:
        """Turn what a line says of its node back into numbers; ``line`` stays, to tell where it stood."""
        try:
            column = self.columns[node["column"]] if "column" in node else -1
            raw = {name: node[name] for name in ("line", *_PLAIN) if name in node}
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
    """Name the first line whose words are not those of its numbers; None where all are."""
    again = [text for text, _ in _words(tree)]
    pairs = zip(words, again, strict=False)
    edited = next((number for (number, mine), theirs in pairs if mine.split() != theirs.split()), None)
    if edited is None and len(again) == len(words):
        return None
    return "some lines were" if edited is None else f"line {edited} was"
