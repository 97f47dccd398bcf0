"""``treewise distill``: the student tree, its fidelity, and saving it."""

import json

import treewise as tw


def test_a_tree_imitates_a_model_and_is_saved(run):
    run("grow penguins -o full.json")
    result = run("distill full.json penguins --max-leaf-nodes 4 -o tree.json")
    distillation = tw.distill(tw.load("full.json"), "penguins", max_leaf_nodes=4)
    assert result.code == 0
    assert result.out == f"{distillation}\n\n{distillation.tree}\n"
    assert result.err == "saved tree.json\n"
    assert tw.load("tree.json") == distillation.tree


def test_a_column_may_be_the_teacher(run):
    result = run("distill island penguins --max-leaf-nodes 3 --folds 0 -q")
    assert result.lines[0] == 'A tree of 3 leaves imitates the column "island"'
    assert [line.split()[0] for line in result.lines[1:3]] == ["rows", "training"]
    assert (result.err, "folds" in result.out) == ("", False)


def test_fidelity_on_another_table_as_data(run, model):
    message = json.loads(run(f"distill {model} penguins --test penguins --max-depth 1 --format json -q").out)
    assert [line["rows"] for line in message["fidelity"]] == ["training", "penguins"]
    assert message["leaves"] == 2


def test_the_model_alone_on_standard_output(run, model):
    result = run(f"distill {model} penguins --max-depth 1 --folds 0 -o -")
    assert json.loads(result.out)["format"] == 2


def test_what_goes_wrong_is_reported_before_any_work(run, model):
    for line, code, message in (
        (f"distill {model} penguins -o tree.dot", 2, "a tree is saved as a model (.json) or as text to edit (.txt)"),
        (f"distill {model} penguins --folds 3 --test penguins", 2, "--test and --folds both hold rows out."),
        ("distill no.json penguins", 4, 'no file "no.json"'),
        ("distill nocolumn penguins", 3, 'no column "nocolumn"'),
        (f"distill {model} penguins -o {model}", 2, "it is also an input"),
    ):
        result = run(line)
        assert (result.code, result.out) == (code, ""), result
        assert message in result.err, result
