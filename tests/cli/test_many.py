"""Models of many trees: --tree picks one, a verb for one tree says what to do, the others read them all."""

import pytest

VERBS_OF_ONE = [
    "show m.json",
    "rules m.json",
    "draw m.json",
    "report m.json penguins -o r.html",
    "trace m.json penguins",
    "explain m.json --row island=Dream",
    "predict m.json penguins",
    "evaluate m.json penguins",
    "importance m.json",
    "subgroups m.json penguins",
    "refit m.json penguins",
    "prune m.json --max-depth 1",
    "export m.json",
    "compare m.json m.json",
]


@pytest.mark.parametrize("line", VERBS_OF_ONE)
def test_a_single_tree_has_none_to_pick(run, model, line):
    answer = run(f"{line} --tree 0")
    assert answer.code == 2
    assert answer.err == "treewise: --tree 0: m.json holds a single tree. Leave it out.\n"


@pytest.mark.parametrize("verb", ["show", "rules", "draw", "trace", "explain"])
def test_a_tree_that_is_grown_is_one(run, verb):
    answer = run(f"{verb} penguins --tree 0")
    assert answer.code == 2
    assert "--tree is for a MODEL that holds many trees; of a table one is grown. Leave it out." in answer.err
