"""``treewise refit``, and the messages that suggest it."""

import treewise as tw
from tests.support.handmade_trees import OFFICIALS


def test_a_written_tree_gets_its_rows(run, officials):
    result = run(f"refit {officials} admissions -o officials.json")
    assert (result.code, result.err) == (0, "saved officials.json\n")
    tree = tw.load("officials.json")
    assert result.out == f"{tree}\n"
    assert tree == tw.parse(OFFICIALS, target="Class").refit("admissions")
    assert [(n.id, n.prediction, n.rows) for n in tree if n.is_leaf and not n.rows] == [(4, "N", 0), (6, "N", 0)]


def test_a_wrong_leaf_is_put_right(run, tmp_path):
    tmp_path.joinpath("wrong.txt").write_text(OFFICIALS.replace("GPA = 3.5 -> N", "GPA = 3.5 -> P"))
    assert run("refit wrong.txt admissions -o right.json -q").err == ""
    assert tw.load("right.json").evaluate("admissions").errors == 0
    assert run("evaluate wrong.txt admissions --fail-over error=0.3").code == 1


def test_weights_and_other_targets(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,w,y,z\n1,1,a,b\n2,3,b,a\n2,1,a,b\n")
    tmp_path.joinpath("t.txt").write_text("x <= 1 -> a\nx > 1 -> b\n")
    assert run("refit t.txt t.csv --target y --sample-weight w -o y.json").code == 0
    assert tw.load("y.json")[2].counts == {"a": 1, "b": 3}
    assert run("refit t.txt t.csv --target z -o z.json").code == 0
    assert tw.load("z.json").target.name == "z"


def test_others_say_it_in_the_words_of_the_shell(run, officials):
    assert run(f"prune {officials} --max-leaf-nodes 2").err.endswith("treewise refit MODEL DATA first.\n")
    run("grow penguins --max-depth 2 -o m.json")
    few = "\n".join(run("data penguins --rows").lines[:101])
    result = run("prune m.json --method cv --data -", stdin=few.encode())
    assert result.err.endswith("Give the table it was grown on, or use treewise refit MODEL DATA first.\n")


def test_the_model_comes_first(run, model):
    assert "MODEL comes first, then DATA" in run(f"refit penguins {model}").err
    assert run(f"refit {model} penguins -o x.csv").err == (
        "treewise: cannot write x.csv: a tree is saved as a model (.json) or as text to edit (.txt).\n"
    )
