"""``treewise rules``: rules of a model or a table, in every format."""

import json

import treewise as tw


def test_rules_of_a_model(run, model):
    result = run(f"rules {model}")
    assert result.code == 0
    assert result.out.rstrip("\n") == str(tw.load(model).rules())
    assert result.err == ""


def test_rules_of_a_table(run):
    result = run("rules penguins --target species --max-leaf-nodes 3 --sort node --class Gentoo")
    assert result.lines[0] == "3 rules for species, in tree order"
    assert "Gentoo %" in result.lines[1]
    assert "task  classification of species" in result.err


def test_forms(run, model, tmp_path):
    rules = tw.load(model).rules()
    assert run(f"rules {model} --format csv").out == rules.to_csv()
    assert run(f"rules {model} --format markdown").out == rules.to_markdown()
    assert run(f"rules {model} --format html").out == rules.to_html()
    assert json.loads(run(f"rules {model} --format json").out) == rules.to_dict()
    result = run(f"rules {model} -o rules.md")
    assert (result.out, result.err) == ("", "→ rules.md\n")
    assert (tmp_path / "rules.md").read_text() == rules.to_markdown()


def test_a_few(run, model):
    assert run(f"rules {model} --top 1 --format csv").out.count("\n") == 2
    assert run(f"rules {model} --min-support 0.2 --format csv").out.count("\n") == 3


def test_errors(run, model):
    result = run(f"rules {model} --class Gento")
    assert result.code == 2
    assert result.err.startswith('treewise: --class Gento: "species" has no such class. Did you mean "Gentoo"?')
    assert run(f"rules {model} --max-depth 2").err.startswith("treewise: --max-depth is for growing")
    assert run(f"rules {model} -o rules.xls").code == 2
    assert run("rules nothing.json").code == 4
