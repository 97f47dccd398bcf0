"""``treewise rules``: rules of a model or a table, in every format."""

import json

import treewise as tw


def test_rules_of_a_model(run, model):
    answer = run(f"rules {model}")
    assert answer.code == 0
    assert answer.out.rstrip("\n") == str(tw.load(model).rules())
    assert answer.err == ""


def test_rules_of_a_table(run):
    answer = run("rules penguins --target species --max-leaf-nodes 3 --sort node --class Gentoo")
    assert answer.lines[0] == "3 rules for species, in tree order"
    assert "Gentoo %" in answer.lines[1]
    assert "task  classification of species" in answer.err


def test_forms(run, model, tmp_path):
    rules = tw.load(model).rules()
    assert run(f"rules {model} --format csv").out == rules.to_csv()
    assert run(f"rules {model} --format markdown").out == rules.to_markdown()
    assert run(f"rules {model} --format html").out == rules.to_html()
    assert json.loads(run(f"rules {model} --format json").out) == rules.to_dict()
    answer = run(f"rules {model} -o rules.md")
    assert (answer.out, answer.err) == ("", "→ rules.md\n")
    assert (tmp_path / "rules.md").read_text() == rules.to_markdown()


def test_a_few(run, model):
    assert run(f"rules {model} --top 1 --format csv").out.count("\n") == 2
    assert run(f"rules {model} --min-support 0.2 --format csv").out.count("\n") == 3


def test_errors(run, model):
    answer = run(f"rules {model} --class Gento")
    assert answer.code == 2
    assert answer.err.startswith('treewise: --class Gento: "species" has no such class. Did you mean "Gentoo"?')
    assert run(f"rules {model} --max-depth 2").err.startswith("treewise: --max-depth is for growing")
    assert run(f"rules {model} -o rules.xls").code == 2
    assert run("rules nothing.json").code == 4
