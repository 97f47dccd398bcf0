"""``treewise subgroups``, with and without held-out rows."""

import json

import treewise as tw


def test_groups_and_whether_they_are_found_again(run):
    run("grow outlier --max-leaf-nodes 3 -o m.json")
    result = run("subgroups m.json outlier --test outlier_validation")
    assert result.code == 0
    assert result.out.rstrip("\n") == str(tw.load("m.json").subgroups("outlier", test="outlier_validation"))
    assert result.lines[1].startswith("y = star: 55.0 % (11) of 20 rows of outlier")


def test_forms(run, model):
    subgroups = tw.load(model).subgroups("penguins", "Adelie")
    assert run(f"subgroups {model} penguins --class Adelie --format csv").out == subgroups.to_csv()
    assert run(f"subgroups {model} penguins --class Adelie --all --format csv").out == subgroups.all_groups.to_csv()
    assert json.loads(run(f"subgroups {model} penguins --class Adelie --format json").out) == subgroups.to_dict()
    assert run(f"subgroups {model} penguins --class Adelie --top 1 --format csv").out == subgroups[:1].to_csv()


def test_errors(run, model):
    result = run(f"subgroups {model} penguins --class Gento")
    assert result.code == 2
    assert "--class Gento:" in result.err
    assert run(f"subgroups penguins {model}").err.startswith("treewise: MODEL comes first, then DATA")
    assert run(f"subgroups {model} penguins --test nothing.csv").code == 3


def test_permutations(run):
    run("grow noisy --max-leaf-nodes 6 -o m.json")
    result = run("subgroups m.json noisy --permutations 20")
    assert result.code == 0
    assert "20 searches on permuted targets" in result.out.replace("\n", " ")
    assert "--permutations 0: must be a whole number" in run("subgroups m.json noisy --permutations 0").err
    assert "(option permutations)" in run("subgroups m.json noisy").out
