"""``treewise export``."""

import treewise as tw
from treewise.formats.export.export import FORMATS


def test_if_else_is_printed(run, model):
    answer = run(f"export {model}")
    assert answer.code == 0
    assert answer.out == tw.load(model).export("if-else")
    assert "if flipper_length_mm <= 206.5:" in answer.lines


def test_the_complete_text_reads_back(run, model, tmp_path):
    answer = run(f"export {model} --format text -o tree.txt")
    assert (answer.out, answer.err) == ("", "4 leaves → tree.txt\n")
    assert tw.parse((tmp_path / "tree.txt").read_text()) == tw.load(model)
    assert run("show tree.txt").out == run(f"show {model}").out


def test_export_errors(run, model):
    assert run("export penguins").code == 4
    answer = run(f"export {model} --format cobol")
    assert answer.code == 2
    assert all(f"'{form}'" in answer.err for form in FORMATS)
