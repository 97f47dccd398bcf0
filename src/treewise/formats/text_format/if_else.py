"""Read a tree written as nested if and else: as lecture notes print it, as code, or as ``tree.export("if-else")``.

    If (x1 <= 3)                     if X1 == 1:               if GPA = 3.5:
      then if (x2 <= 3)                  return 1;                 predict N  # 4 of 4 rows
        then predict 0               else:                     else if GPA = 3.7:
        else predict 1                   if X2 == 1:               …
      else predict 0                         return 1;         else:  # GPA = 4.0
                                         else:                     predict P  # 3 of 3 rows
                                             return 0;

An ``else`` belongs to the nearest ``if`` that has none, as in most languages, so lines need not be indented. A chain of
``else if`` on the values of one column is one split with a branch for each; it may end without ``else``, and then its
indentation says where. The outline that results is read like any
other (``outline.py``, ``parse.py``); comments of our own export say where missing values go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from treewise.errors import ParseError
from treewise.formats.text_format.conditions import Condition, parse_condition
from treewise.formats.text_format.notation import QUOTED, cut_comment, read_text, split_list
from treewise.formats.text_format.outline import SUMMARY, Outline, OutlineEntry, read_prediction

_MARGIN = re.compile(r"[\s{};]*")
_WORD = re.compile(r"(else\s*if|elif|elsif|if|then|else|predict|return|continue at node|node)\b", re.IGNORECASE)
_START = re.compile(r"[\s{};]*if\b", re.IGNORECASE)
_ANSWER = re.compile(r"(?:^|[:;)])[\s{]*(?:predict|return)\b|\bthen\b|\belse\s+(?:predict|return)\b", re.IGNORECASE)
_END_OF_CONDITION = re.compile(rf"{QUOTED}|\bthen\b|:\s*(?=\{{|$|(?:if|predict|return)\b)|\s\{{\s*$", re.IGNORECASE)
_AFTER_CONDITION = re.compile(r"\s*(?:$|[:{]|(?:then|if|predict|return)\b)", re.IGNORECASE)
_END_OF_ANSWER = re.compile(rf"{QUOTED}|;|\}}|\s(?=(?:else|elif)\b)", re.IGNORECASE)
_ROWS = re.compile(r"(?:[\d.,]+ of )?([\d.,]+) rows?$")
_NEVER_SEEN = " never seen"


def is_if_else(lines: Sequence[tuple[int, str]]) -> bool:
    """Return whether lines are nested if and else: some begin with ``if``, and some predict or return something.

    >>> is_if_else([(1, "if x <= 1:"), (2, "  predict a")]), is_if_else([(1, "if x <= 1 -> a"), (2, "else -> b")])
    (True, False)
    """
    return any(_START.match(text) for _, text in lines) and any(_ANSWER.search(text) for _, text in lines)


def read_if_else(text: str) -> Outline:
    """Read nested if and else.

    >>> outline = read_if_else("if (x <= 1) then predict a else predict b")
    >>> [(entry.condition, entry.label) for entry in outline.entries[1:]]
    [('x <= 1', 'a'), ('else', 'b')]
    """
    reader = _CodeReader()
    for number, line in enumerate(text.split("\n"), start=1):
        words, comment = cut_comment(line.rstrip("\r"))
        reader.read_line(number, words, comment)
    return reader.finish()


@dataclass
class _Chain:
    """An ``if`` with its ``else if`` and ``else``: the branches of one node."""

    parent: int
    line: int
    indent: int = -1  # of its ``if``, where that begins a line
    conditions: list[Condition] = field(default_factory=list)
    has_else: bool = False

    @property
    def may_end(self) -> bool:
        """Whether it may have no ``else``: two or more values of a column."""
        return len(self.conditions) > 1

    def continues_with(self, condition: Condition) -> bool:
        """Return whether an ``else if`` is a further value of the same column."""
        first = self.conditions[0]
        return condition.column == first.column and all(c.test == "=" for c in (*self.conditions, condition))


class _CodeReader:
    def __init__(self) -> None:
        self.outline = Outline()
        self.chains: list[_Chain] = []  # a stack: an else belongs to the last one
        self.body: int | None = 0  # the entry whose content comes next
        self.own_answer: int | None = None  # a node whose own prediction comes next: of levels that have no branch
        self.continued: dict[str, int] = {}
        self.header = ""
        self.indent = -1

    def read_line(self, number: int, text: str, comment: str) -> None:
        """Read the statements of one line."""
        if not text.strip():
            self.header = self.header or (comment if SUMMARY.match(comment) else "")
            return
        rest, keyword = text, ""
        self.indent = len(text) - len(text.lstrip())
        while rest := rest[_MARGIN.match(rest).end() :]:  # type: ignore[union-attr]  # matches the empty string too
            word = _WORD.match(rest)
            if word is None and keyword in ("then", "else"):
                rest, keyword = self._read_answer(number, rest, comment), ""
                continue
            if word is None:
                raise ParseError(
                    f'line {number}: cannot read "{rest.strip()}" here. Expected if, then, else, predict or return.'
                )
            if keyword:
                self.indent = -1  # not at the beginning of its line
            keyword = re.sub(r"\s+", " ", word[1].lower()).replace("elseif", "else if")
            rest = rest[word.end() :]
            if keyword in ("if", "else if", "elif", "elsif"):
                rest = self._read_test(number, keyword, rest)
            elif keyword == "else":
                rest = rest.lstrip().removeprefix(":")
                self._read_else(number, comment)
            elif keyword in ("predict", "return"):
                rest = self._read_answer(number, rest, comment)
            elif keyword != "then":
                self._read_jump(number, keyword, rest)
                return

    def _read_test(self, number: int, keyword: str, rest: str) -> str:
        words, rest = _cut_condition(rest)
        condition = parse_condition(words, number)
        if keyword != "if":
            self._end_inner_chains()
            if not self._waits_for_else():
                raise ParseError(f'line {number}: "{keyword}" without an if before it.')
            if self.chains[-1].continues_with(condition):
                self._add_branch(self.chains[-1], condition)
                return rest
            self._read_else(number, "")
        if self.body is None:
            raise ParseError(f'line {number}: "if" where an else is expected: line {self._open_line()} has none yet.')
        self.chains.append(_Chain(self.body, number, self.indent))
        self._add_branch(self.chains[-1], condition)
        return rest

    def _add_branch(self, chain: _Chain, condition: Condition) -> None:
        chain.conditions.append(condition)
        self.body = self.outline.add(OutlineEntry(condition.line, condition.text, chain.parent))

    def _waits_for_else(self) -> bool:
        return self.body is None and self.own_answer is None and bool(self.chains)

    def _end_inner_chains(self) -> None:
        """End chains without an else that are indented more than the else of this line."""
        while (
            self._waits_for_else()
            and self.chains[-1].may_end
            and -1 < self.indent < self.chains[-1].indent
            and len(self.chains) > 1
        ):
            self.chains.pop()

    def _read_else(self, number: int, comment: str) -> None:
        self._end_inner_chains()
        if not self._waits_for_else():
            raise ParseError(f'line {number}: "else" without an if before it.')
        chain = self.chains[-1]
        chain.has_else = True
        if comment.endswith(_NEVER_SEEN):
            self.own_answer = chain.parent
            return
        condition = _condition_in(comment, number)
        if condition is None or condition.column != chain.conditions[0].column:
            condition = Condition("else", number, "", "otherwise", is_else=True)
        self._add_branch(chain, condition)

    def _read_answer(self, number: int, rest: str, comment: str) -> str:
        end = next((m for m in _END_OF_ANSWER.finditer(rest) if not m[0].startswith('"')), None)
        answer, rest = (rest, "") if end is None else (rest[: end.start()], rest[end.end() :])
        if not answer.strip():
            raise ParseError(f"line {number}: nothing is predicted. Write a class or a number after predict or return.")
        if self.own_answer is not None:
            self.outline.entries[self.own_answer].own_label = answer.strip()
            self.own_answer = None
        elif self.body is None:
            raise ParseError(f'line {number}: "{answer.strip()}" is predicted where nothing is left to predict.')
        else:
            entry = self.outline.entries[self.body]
            read_prediction(entry, answer.strip())
            if rows := _ROWS.search(comment):
                entry.weight = float(rows[1].replace(",", ""))
            self.body = None
        self._close()
        return rest

    def _close(self) -> None:
        while self.chains and self.chains[-1].has_else:
            self.chains.pop()

    def _read_jump(self, number: int, keyword: str, rest: str) -> None:
        """Read ``continue at node 12, below`` or ``node 12:``, by which an export writes deep trees."""
        node = re.match(r"\s*(\d+)", rest)
        if node is None or (keyword == "node") == (node[1] not in self.continued):
            raise ParseError(f'line {number}: cannot read "{keyword}{rest}".')
        if keyword == "node":
            if self.body is not None or self.chains:
                raise ParseError(f"line {number}: node {node[1]} begins before line {self._open_line()} has its else.")
            self.body = self.continued.pop(node[1])
            return
        if self.body is None:
            raise ParseError(f"line {number}: nothing is left to continue.")
        self.continued[node[1]] = self.body
        self.body = None
        self._close()

    def _open_line(self) -> int:
        return self.chains[-1].line if self.chains else self.outline.entries[self.body or 0].line

    def finish(self) -> Outline:
        """Check that nothing is left open, and add what the header says."""
        while self._waits_for_else() and self.chains[-1].may_end:
            self.chains.pop()
        if self.chains or self.body is not None:
            raise ParseError(f"line {self._open_line()}: this if has no else, or a branch predicts nothing.")
        if self.continued:
            raise ParseError(f"node {next(iter(self.continued))} is continued, but no line begins with it.")
        entries = self.outline.entries
        if summary := SUMMARY.match(self.header):
            self.outline.target = read_text(summary[1])
            listed = split_list(re.split(r" [·;] ", self.header[summary.end(1) + 1 :])[0])
            self.outline.predicts_numbers = listed == ["a number"]
            if {entry.label for entry in entries if entry.label is not None} <= set(listed):
                self.outline.classes = listed
        return self.outline


def _cut_condition(text: str) -> tuple[str, str]:
    """Split the text after an ``if`` into its condition, without parentheses around it, and the rest.

    >>> _cut_condition(" (x1 <= 3) then predict 0"), _cut_condition(" length (mm) <= 3:")
    (('x1 <= 3', ' then predict 0'), ('length (mm) <= 3', ''))
    """
    words = text.strip()
    if words.startswith("(") and (close := _closing_parenthesis(words)) and _AFTER_CONDITION.match(words[close + 1 :]):
        inner, _ = _cut_condition(words[1:close])
        return inner, words[close + 1 :].removeprefix(":")
    end = next((m for m in _END_OF_CONDITION.finditer(text) if not m[0].startswith('"')), None)
    return (words, "") if end is None else (text[: end.start()].strip(), text[end.start() :].removeprefix(":"))


def _closing_parenthesis(text: str) -> int:
    """Return the position of the parenthesis that closes the first one; 0 if there is none."""
    depth = 0
    for match in re.finditer(rf"{QUOTED}|[()]", text):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return 0


def _condition_in(comment: str, line: int) -> Condition | None:
    """Return the condition that a comment repeats; None if it is something else."""
    try:
        return parse_condition(comment, line)
    except ParseError:
        return None
