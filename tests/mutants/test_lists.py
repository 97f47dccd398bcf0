"""The lists of mutants match the sources: each quoted passage occurs exactly once.

The mutants themselves run in ``.ci/nightly`` (``python -m tests.mutants.run``).
"""

import ast
import re
from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant, choice, divided, read_list, with_all

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "src"
EVERY = {path.stem: read_list(path) for path in HERE.glob("*.txt")}
LISTS = {name: divided(mutants, SOURCE)[0] for name, mutants in EVERY.items()}


def text_of(mutant):
    return (SOURCE / mutant.file).read_text(encoding="utf-8")


def test_there_are_lists_and_they_are_long_enough():
    real = {name: sum(not m.equivalent for m in mutants) for name, mutants in LISTS.items()}
    assert real["core"] >= 60
    assert real["learner"] >= 25
    assert real["loader"] >= 20


@pytest.mark.parametrize("name", EVERY)
def test_the_passages_are_in_the_sources_once(name):
    gone = [f"src/{m.file}: {m.breaks}: {m.passage}" for m in divided(EVERY[name], SOURCE)[1]]
    assert not gone, "\n".join(["not in the sources just once, write them anew:", *gone])
    assert all(m.mutated and m.breaks for m in EVERY[name])


@pytest.mark.parametrize("name", LISTS)
def test_no_two_mutants_are_the_same_and_none_is_the_original(name):
    written = [(m.file, m.span(text_of(m)), m.mutated) for m in LISTS[name]]
    assert len(set(written)) == len(written)
    assert all(m.written_into(text_of(m)) != text_of(m) for m in LISTS[name])


def test_python_mutants_are_python():
    for mutant in (*LISTS["learner"], *LISTS["loader"]):
        ast.parse(mutant.written_into(text_of(mutant)), mutant.file)


def test_core_mutants_replace_whole_expressions_or_statements():
    """They are chosen between by ``? :`` or ``if``: half an expression would not compile."""
    for mutant in LISTS["core"]:
        for part in (re.split("[⟦⟧]", mutant.passage)[1], mutant.mutated):
            assert all(part.count(a) == part.count(b) for a, b in ("()", "[]", "{}")), mutant.breaks
            assert not re.match(r"[<>=/%|^?:,.)\]}]", part), mutant.breaks


def test_core_mutants_do_not_overlap():
    for file in {m.file for m in LISTS["core"]}:
        numbered = [(i, m) for i, m in enumerate(LISTS["core"], 1) if m.file == file]
        text = with_all((SOURCE / file).read_text(encoding="utf-8"), numbered)
        assert text.count("treewise_mutant() ==") == len(numbered)


def test_how_a_mutant_is_written():
    plain = Mutant("core/search/best_split.hpp", "", "if (⟦a < b⟧) return;", "a <= b")
    assert plain.span("  if (a <\n   b)   return;") == (6, 14)
    assert choice("a < b", [(1, plain)]) == "(treewise_mutant() == 1 ? (a <= b) : (a < b))"
    assert choice("x = 1;", [(2, Mutant("", "", "", ";"))]) == "if (treewise_mutant() == 2) { ; } else { x = 1; }"
    assert not plain.fits(SOURCE)
    with pytest.raises(LookupError, match="2 times, not once"):
        plain.span("if (a < b) return; if (a < b) return;")
