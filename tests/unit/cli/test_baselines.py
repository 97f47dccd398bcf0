"""``treewise evaluate --baselines``: a tree compared with baseline models."""

import json

import treewise as tw


def test_evaluate_with_baselines(run, model):
    result = run(f"evaluate {model} penguins --baselines knn,majority --folds 4")
    assert result.code == 0
    start = result.lines.index("compared with baseline models; every row is predicted by models fitted without it")
    table = result.lines[start + 1 :]
    assert table[0] == "penguins, column species: 344 rows, 4 folds"
    assert table[1].split() == ["error", "%", "95", "%", "interval", "fit", "predict", "size"]
    assert [line.split()[0] for line in table[2:5]] == ["tree", "knn", "majority"]
    assert table[-1].startswith("majority is better than the tree on ")


def test_as_json(run, model):
    parsed = json.loads(run(f"evaluate {model} penguins --baselines majority --folds 3 --format json").out)
    assert [m["model"] for m in parsed["baselines"]] == ["tree", "majority"]


def test_costs_that_came_later_count_too(run, model):
    tw.load(model).with_cost({"Adelie": {"Gentoo": 3}}).save("dear.json")
    result = run("evaluate dear.json penguins --baselines majority --folds 3")
    assert result.err == ""
    assert any(line.split()[:1] == ["cost"] and "interval" in line for line in result.lines)


def test_a_written_tree_is_not_grown_anew(run, officials):
    result = run(f"evaluate {officials} admissions --baselines majority")
    assert (result.code, "stnordaf.txt was written by hand" in result.err) == (2, True)


def test_unknown_models_and_few_rows(run, model):
    assert "for classification: knn, logistic, majority" in run(f"evaluate {model} penguins --baselines trees").err
    run("grow admissions -o a.json")
    result = run("evaluate a.json admissions --baselines majority --folds 20")
    assert (result.code, "too few for 20 folds" in result.err) == (3, True)
