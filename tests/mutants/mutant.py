"""A mutant: one deliberate fault, read from a list and applied to a copy of the sources.

The lists (``core.txt``, ``learner.txt``, ``loader.txt``) hold one paragraph a fault: what it breaks, a passage of the
source with ⟦ ⟧ around what is replaced, and what stands there instead:

    # core/search/best_split.hpp

    the later of two equals wins
        if (⟦o.merit > best_.merit + slack⟧) return true;
        => o.merit >= best_.merit + slack

The passage must occur exactly once in its file, blanks and line ends apart: one short line is best, it outlives changes
around it. A mutant whose passage is gone is left out of a run and named; ``test_lists.py`` fails until it is written
anew, by whoever changed the file. A line ``equivalent: …`` gives the reason why no test can tell a mutant from the
original.

Faults of the C++ core are all compiled into one build and chosen when it runs: an expression becomes
``(treewise_mutant() == 7 ? (mutated) : (original))``, a statement an if/else. Faults in Python are written into a copy
of the package, one copy a fault.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Included before every source of the mutated build; without the variable, or with 0, every original is in place.
HEADER = """#pragma once
#include <cstdlib>
inline const int treewise_mutant_number = [] {
    const char* number = std::getenv("TREEWISE_MUTANT");
    return number ? std::atoi(number) : 0;
}();
inline int treewise_mutant() { return treewise_mutant_number; }
"""


@dataclass(frozen=True)
class Mutant:
    """One fault."""

    file: str  # below src/
    breaks: str  # what is wrong with it
    passage: str  # ⟦ ⟧ around what is replaced
    mutated: str
    equivalent: str = ""  # why it is no fault at all; such a mutant is expected to survive

    def span(self, text: str) -> tuple[int, int]:
        """Find what is replaced in the text of the file."""
        before, original, after = re.split("[⟦⟧]", self.passage)
        pattern = f"{loosely(before)}({loosely(original)}){loosely(after)}"
        actual = list(re.finditer(pattern, text))
        if len(actual) != 1:
            raise LookupError(f"src/{self.file} holds this passage {len(actual)} times, not once: {self.passage}")
        return actual[0].span(1)

    def fits(self, source: Path) -> bool:
        """Tell whether the passage is still where the list says, below the folder of the sources."""
        path = source / self.file
        try:
            return path.exists() and bool(self.span(path.read_text(encoding="utf-8")))
        except LookupError:
            return False

    def written_into(self, text: str) -> str:
        """Return the text of the file with the fault in it."""
        start, end = self.span(text)
        return text[:start] + self.mutated + text[end:]


def loosely(passage: str) -> str:
    """Make a pattern for a passage that does not mind how it is broken into lines."""
    words = r"\s+".join(map(re.escape, passage.split()))
    return (r"\s*" if passage[:1] == " " else "") + words + (r"\s*" if words and passage[-1:] == " " else "")


def divided(mutants: list[Mutant], source: Path) -> tuple[list[Mutant], list[Mutant]]:
    """Divide mutants into those that fit the sources and those whose passage is gone."""
    fitting = [mutant for mutant in mutants if mutant.fits(source)]
    return fitting, [mutant for mutant in mutants if mutant not in fitting]


def read_list(path: Path) -> list[Mutant]:
    """Read a list of mutants."""
    file, mutants = "", []
    for paragraph in path.read_text(encoding="utf-8").split("\n\n")[1:]:
        if paragraph.startswith("# "):
            file = paragraph[2:].strip()
            continue
        breaks, *lines = paragraph.strip("\n").split("\n")
        lines = [line.removeprefix("    ") for line in lines]
        parts = {"passage": "", "=> ": "", "equivalent: ": ""}
        into = "passage"
        for line in lines:
            into = next((mark for mark in parts if line.startswith(mark)), into)
            parts[into] += ("\n" if parts[into] else "") + line.removeprefix(into)
        mutants.append(Mutant(file, breaks, parts["passage"], parts["=> "], parts["equivalent: "]))
    return mutants


# -- C++: all in one build --------------------------------------------------------------------------------------------


def mutate_core(source: Path, mutants: list[Mutant]) -> None:
    """Write all mutants of the core into the files below ``source``, numbered from 1 in the order of the list."""
    by_file: dict[str, list[tuple[int, Mutant]]] = defaultdict(list)
    for number, mutant in enumerate(mutants, 1):
        by_file[mutant.file].append((number, mutant))
    for file, numbered in by_file.items():
        path = source / file
        path.write_text(with_all(path.read_text(encoding="utf-8"), numbered), encoding="utf-8")


def with_all(text: str, numbered: Iterable[tuple[int, Mutant]]) -> str:
    """Return the text of a C++ file with all its mutants, to be chosen by number."""
    places: dict[tuple[int, int], list[tuple[int, Mutant]]] = defaultdict(list)
    for number, mutant in numbered:
        places[mutant.span(text)].append((number, mutant))
    limit = len(text)
    for (start, end), mutants in sorted(places.items(), reverse=True):
        if end > limit:
            raise LookupError(f"mutants overlap, they should replace the same passage: {text[start:end]}")
        limit = start
        text = text[:start] + choice(text[start:end], mutants) + text[end:]
    return text


def choice(original: str, mutants: list[tuple[int, Mutant]]) -> str:
    """Write what chooses between an original and its mutants."""
    if original.endswith(";"):
        tests = [f"if (treewise_mutant() == {n}) {{ {m.mutated} }} else " for n, m in mutants]
        return "".join(tests) + f"{{ {original} }}"
    tests = [f"treewise_mutant() == {n} ? ({m.mutated}) : " for n, m in mutants]
    return "(" + "".join(tests) + f"({original}))"
