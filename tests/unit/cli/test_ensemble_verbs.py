"""Verbs for single trees with ensembles: ``--tree``, error messages, and verbs that read all trees."""

import json

import pytest

import treewise as tw
from tests.support.ensembles import ensemble_of

VERBS_OF_ONE = [
    "show m.json",
    "rules m.json",
    "draw m.json",
    "report m.json penguins -o r.html",
    "trace m.json penguins",
    "explain m.json penguins --rows 1 --shap",
    "predict m.json penguins",
    "evaluate m.json penguins",
    "importance m.json",
    "subgroups m.json penguins",
    "refit m.json penguins",
    "prune m.json --max-depth 1",
    "export m.json",
    "compare m.json m.json",
]


@pytest.fixture
def three(run, tmp_path):
    """Three trees of penguins in one file, and the trees."""
    trees = [tw.grow("penguins", max_depth=depth) for depth in (1, 2, 3)]
    ensemble_of(trees).save(tmp_path / "f.json")
    return trees


@pytest.mark.parametrize("line", VERBS_OF_ONE)
def test_any_verb_takes_one_of_many(run, three, tmp_path, line):
    three[1].save(tmp_path / "one.json")
    picked, alone = run(line.replace("m.json", "f.json") + " --tree 1"), run(line.replace("m.json", "one.json"))
    assert picked.code == alone.code == 0
    assert picked.out.replace("tree 1 of ", "").replace("f.json", "one.json") == alone.out


@pytest.mark.parametrize("line", VERBS_OF_ONE)
def test_a_tree_that_is_not_there(run, three, line):
    result = run(line.replace("m.json", "f.json") + " --tree 3")
    assert (result.code, result.out, result.err) == (2, "", "treewise: --tree 3: f.json has trees 0 to 2.\n")


@pytest.mark.parametrize(
    "verb", ["rules", "draw", "report", "trace", "subgroups", "refit", "prune", "export", "compare"]
)
def test_a_verb_for_one_tree_reports_what_to_do(run, three, verb):
    line = next(line for line in VERBS_OF_ONE if line.startswith(verb))
    result = run(line.replace("m.json", "f.json"))
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "treewise: f.json holds 3 trees. Choose one with --tree N (0 to 2), or distill them into one:"
        " treewise distill f.json DATA -o tree.json\n"
    )


def test_trees_of_one_file_are_compared(run, three):
    result = run("compare f.json f.json --tree 1 --tree 2")
    assert result.code == 1
    assert "tree 1 of f.json → Chinstrap (node 3); tree 2 of f.json → Adelie (node 6)" in result.out
    three[1].save("one.json")
    assert run("compare f.json one.json --tree 1").code == 0
    assert run("compare one.json f.json --tree 1").code == 0
    assert "--tree is given more than twice" in run("compare f.json f.json --tree 0 --tree 0 --tree 0").err


def test_many_trees_are_shown_in_a_few_lines(run, three):
    result = run("show f.json")
    assert result.lines[0].startswith("f.json  format 3 · treewise ")
    assert result.lines[0].endswith(" · forest of 3 trees · target species: Adelie, Chinstrap, Gentoo")
    assert result.lines[1] == "size    leaves 2 to 7, median 4 · depth 1 to 3, median 2"
    assert run("show f.json --summary").out == result.out
    message = json.loads(run("show f.json --format json").out)
    assert (message["model"], message["format"], message["trees"]) == ("f.json", 3, 3)
    for words in ("--node 1", "--bars", "--max-depth 1"):
        refused = run(f"show f.json {words}")
        assert refused.code == 2
        assert refused.err == (
            f"treewise: {words.split()[0]} is for a single tree, and f.json holds 3 trees."
            " Leave it out, or pick one with --tree N.\n"
        )


@pytest.mark.parametrize("line", VERBS_OF_ONE)
def test_a_single_tree_has_none_to_pick(run, model, line):
    result = run(f"{line} --tree 0")
    assert result.code == 2
    assert result.err == "treewise: --tree 0: m.json holds a single tree. Leave it out.\n"


@pytest.mark.parametrize("verb", ["show", "rules", "draw", "trace", "explain"])
def test_a_tree_that_is_grown_is_one(run, verb):
    result = run(f"{verb} penguins --tree 0")
    assert result.code == 2
    assert "--tree picks a tree of an ensemble; on a table a single tree is grown. Leave it out." in result.err


@pytest.mark.parametrize("method", ["forest", "bagging", "adaboost"])
def test_a_column_that_gives_the_target_away_is_noted(run, tmp_path, method):
    rows = "\n".join(f"{i % 7},{i % 2},{'yes' if i % 2 else 'no'}" for i in range(40))
    tmp_path.joinpath("t.csv").write_text(f"x,y,was it\n{rows}\n")
    message = run(f"grow t.csv --target y --ensemble {method}").err.splitlines()
    noted = [line for line in message if "alone predicts" in line]
    assert len(noted) == 1
    assert noted[0].startswith("note  was it: it alone predicts y perfectly.")
    assert noted[0].endswith('leave it out: --ignore "was it"')
