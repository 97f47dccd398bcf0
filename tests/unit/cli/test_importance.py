"""``treewise importance``: with and without a table, formats and errors."""

import json

import treewise as tw


def test_from_the_tree_alone(run, model):
    result = run(f"importance {model}")
    assert result.out == f"{tw.load(model).importances()}\n"
    assert result.lines[0] == "Impurity decrease by column, for species"


def test_on_a_table(run, model):
    result = run(f"importance {model} penguins --repeats 3 --random-state 4")
    importances = tw.load(model).importances("penguins", repeats=3, random_state=4)
    assert result.out == f"{importances}\n"
    assert "Permutation importance for species on penguins: 344 rows" in result.out
    assert run(f"importance {model} penguins --repeats 3 --random-state 4 --n-jobs 1").out == result.out


def test_forms(run, model, tmp_path):
    importances = tw.load(model).importances("penguins")
    assert json.loads(run(f"importance {model} penguins --format json").out) == json.loads(
        json.dumps(importances.to_dict())
    )
    run(f"importance {model} penguins -o i.csv")
    assert tmp_path.joinpath("i.csv").read_text() == importances.to_csv()
    assert run(f"importance {model} --format markdown").out == tw.load(model).importances().to_markdown()


def test_errors(run, model):
    result = run(f"importance {model} --repeats 3")
    assert (result.code, "--repeats needs a table" in result.err) == (2, True)
    assert run(f"importance {model} penguins --repeats 0").code == 2
    assert run(f"importance {model} penguins --measure rmse").code == 2
    assert run("importance penguins").code == 4
    assert run(f"importance {model} nowhere.csv").code == 3
    assert run(f"importance {model} -o {model}").code == 2
