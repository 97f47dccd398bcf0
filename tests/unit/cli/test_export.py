"""``treewise export``."""

import treewise as tw
from treewise.formats.export.export import FORMATS


def test_if_else_is_printed(run, model):
    result = run(f"export {model}")
    assert result.code == 0
    assert result.out == tw.load(model).export("if-else")
    assert "if flipper_length_mm <= 206.5:" in result.lines


def test_the_complete_text_reads_back(run, model, tmp_path):
    result = run(f"export {model} --format text -o tree.txt")
    assert (result.out, result.err) == ("", "4 leaves → tree.txt\n")
    assert tw.parse((tmp_path / "tree.txt").read_text()) == tw.load(model)
    assert run("show tree.txt").out == run(f"show {model}").out


def test_export_errors(run, model):
    assert run("export penguins").code == 4
    result = run(f"export {model} --format cobol")
    assert result.code == 2
    assert all(f" {form}" in result.err for form in FORMATS)


def test_the_format_follows_from_the_ending(run, model, tmp_path):
    for name, start in (("a.sql", "-- treewise-export"), ("a.h", "/* treewise-export"), ("a.mmd", "flowchart TD")):
        assert run(f"export {model} -o {name}").code == 0
        assert (tmp_path / name).read_text().startswith(start)


def test_an_ending_that_names_no_format_is_refused(run, model, tmp_path):
    result = run(f"export {model} -o a.xls")
    assert (result.code, (tmp_path / "a.xls").exists()) == (2, False)
    assert result.err.startswith("treewise: --output a.xls: the ending .xls names no format. Name one with --format.")
    assert run(f"export {model} -o a.rules --format if-else").code == 0


def test_messages_about_options_and_engines_use_what_was_typed(run, model):
    result = run(f"export {model} -o a.sql --option dialect=duck")
    assert result.err.startswith("treewise: --option dialect=duck: must be one of sqlite, duckdb, ")
    run(f"export {model} -o a.py")
    result = run(f"verify {model} a.py --engine node")
    assert (result.code, result.err) == (2, "treewise: --engine node: does not run python; python can.\n")
    run(f"export {model} --format dbt --option dialect=duckdb -o package")
    assert "Name its folder, not one of its files." in run(f"verify {model} package/macros/tree.sql").err


def test_options_of_a_format(run, model, tmp_path):
    assert run(f"export {model} -o a.sql --option dialect=mysql --option outputs=leaf,prediction").code == 0
    assert "`flipper_length_mm` <= 206.5e0" in (tmp_path / "a.sql").read_text()
    result = run(f"export {model} -o a.sql --option dialekt=mysql")
    assert (result.code, "has no option dialekt" in result.err) == (2, True)
    assert run(f"export {model} -o a.sql --option dialect").err == ("treewise: --option dialect: write NAME=VALUE.\n")


def test_several_files_need_a_folder(run, model, tmp_path):
    assert "Name a folder with -o." in run(f"export {model} --format dbt").err
    assert run(f"export {model} --format dbt -o package").code == 0
    assert (tmp_path / "package" / "models" / "schema.yml").exists()


def test_verify(run, model, tmp_path):
    run(f"export {model} -o a.py")
    result = run(f"verify {model} a.py penguins --rows 100")
    assert (result.code, result.err) == (0, "")
    assert "444 of 444 rows agree (100 fuzzed, 344 given; prediction, probabilities, leaf)" in result.out
    wrong = (tmp_path / "a.py").read_text().replace("206.5", "206.6")
    (tmp_path / "a.py").write_text(wrong)
    result = run(f"verify {model} a.py")
    assert result.code == 1
    assert "flipper_length_mm=206.50000000000003" in result.out


def test_verify_without_an_engine(run, model, monkeypatch):
    run(f"export {model} -o a.js")
    monkeypatch.setenv("PATH", "")
    result = run(f"verify {model} a.js")
    assert (result.code, result.out) == (2, "")
    missing = "no engine for it is installed here. Missing: node (no node: install Node.js)."
    assert result.err == f"treewise: the export was not run: {missing}\n"
    assert "cannot read nothing.sql" in run(f"verify {model} nothing.sql").err
