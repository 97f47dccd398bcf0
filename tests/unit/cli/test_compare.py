"""``treewise compare``: verdict, exit code, formats and errors."""

import json

import treewise as tw
from tests.support.handmade_trees import OFFICIALS


def test_the_officials_tree_and_the_learned_one(run, officials):
    run("grow admissions --preset id3 -o learned.json")
    result = run(f"compare {officials} learned.json --data admissions")
    assert result.code == 1
    assert result.lines[:4] == [
        "not equivalent",
        "differ on 4 of the 36 possible cases, on 0 of the 12 rows of admissions",
        "witness: GPA = 4.0, Recommendation = normal, University = top10, Published = no",
        "         stnordaf.txt → N (node 4); learned.json → P (node 8)",
    ]
    names = ("stnordaf.txt", "learned.json")
    comparison = tw.compare(tw.parse(OFFICIALS), tw.load("learned.json"), "admissions", names=names)
    data = json.loads(run(f"compare {officials} learned.json --data admissions --format json").out)
    data["trees"][0]["error"] = None  # what a tree of a text predicts has another name there
    expected = comparison.to_dict()
    expected["trees"][0]["error"] = None
    assert data == json.loads(json.dumps(expected))
    markdown = run(f"compare {officials} learned.json --format markdown").out
    assert markdown.startswith("**not equivalent**")
    assert "| GPA = 4.0 and Recommendation = normal and University in" in markdown


def test_equivalent_trees_exit_with_0(run, model):
    result = run(f"compare {model} {model}")
    assert result.code == 0
    assert result.lines[0] == "equivalent"


def test_complete_rows_only(run, tmp_path):
    tmp_path.joinpath("a.txt").write_text("age <= 5 or missing -> N\nage > 5 -> P\n")
    tmp_path.joinpath("b.txt").write_text("age <= 5 -> N\nage > 5 or missing -> P\n")
    result = run("compare a.txt b.txt")
    assert result.code == 1
    assert result.lines[0] == "not equivalent, but they differ only on rows with missing or unseen values"
    assert "witness: age missing" in result.lines
    assert run("compare a.txt b.txt --complete").code == 0


def test_errors(run, model, tmp_path):
    tmp_path.joinpath("a.txt").write_text("flipper_length_mm = long -> Adelie\nflipper_length_mm otherwise -> Gentoo\n")
    result = run(f"compare {model} a.txt")
    assert result.code == 2
    assert 'column "flipper_length_mm" is a number in m.json and a category in a.txt' in result.err
    assert run("compare - -").code == 2
    assert run(f"compare {model} no.json").code == 4
    assert run(f"compare {model}").code == 2
