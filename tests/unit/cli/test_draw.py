"""``treewise draw``: pictures of saved and newly grown trees."""

from pathlib import Path

import pytest

import treewise as tw


@pytest.fixture
def model(run):
    """A saved tree of admissions."""
    tw.grow("admissions", preset="id3").save("m.json")
    return "m.json"


def test_a_saved_tree(run, model):
    tree = tw.load(model)
    completed = run(f"draw {model} -o t.svg --direction right --max-depth 1")
    assert completed.code == 0, completed
    drawn = tree.draw(direction="right", max_depth=1)
    assert Path("t.svg").read_text(encoding="utf-8") == drawn.svg
    assert f"{drawn.scene.width:.0f} × {drawn.scene.height:.0f} pixels →" in completed.err
    printed = run(f"draw {model} --row 'GPA=3.7, University=top20, Published=no' --node 2")
    assert printed.out == tree.draw(highlight={"GPA": 3.7, "University": "top20", "Published": "no"}, node=2).svg


def test_with_a_table(run, model):
    for form, head in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert run(f"draw {model} admissions -o t.{form}").code == 0
        assert Path(f"t.{form}").read_bytes()[:4] == head
    assert run(f"draw {model} admissions").out == tw.load(model).draw(data="admissions").svg


def test_a_tree_grown_on_the_way(run):
    completed = run("draw penguins --max-leaf-nodes 4 --histograms --max-leaves 3")
    assert completed.out == tw.grow("penguins", max_leaf_nodes=4).draw(data="penguins", max_leaves=3).svg


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("-o t.gif", 2, "treewise: cannot draw t.gif: a picture is saved as .svg, .png, .pdf or .tex."),
        ("--max-leaves 1", 2, "treewise: --max-leaves 1: must be a whole number of 2 or more."),
        ("--max-leaf-nodes 3", 2, "treewise: --max-leaf-nodes is for growing, but"),
        ("--histograms", 2, "treewise: --histograms of a MODEL need a table: treewise draw"),
        ("--row 'GPA=3.7, Published=no'", 3, "An unknown value can be left empty: COLUMN="),
    ],
)
def test_drawing_errors(run, model, words, code, message):
    completed = run(f"draw {model} {words}")
    assert completed.code == code
    assert message in completed.err
    assert not Path("t.gif").exists()


def test_standard_input_is_read_once(run):
    completed = run("draw - --target y --histograms", b"x,y\n1,a\n2,b\n")
    assert (completed.code, completed.err) == (
        2,
        "treewise: --histograms need the table twice, which standard input cannot give; name a file.\n",
    )
