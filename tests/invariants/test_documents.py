"""Documents with hostile names, read by other programs: LaTeX compiles, PDFs contain the names as text.

pdflatex (Debian's texlive-latex-extra) and pdftotext (poppler-utils) are used where they are installed;
``.ci/nightly documents`` installs them. Characters that pdflatex has no font for are the only errors it may report.
"""

import re
import shutil
import subprocess

import pytest

import treewise as tw
from tests.support.hostile_names import BATCHES, table
from treewise._lib.text import safe
from treewise.data.table import read

needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
needs_pdftotext = pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
batches = pytest.mark.parametrize("names", BATCHES, ids=range(len(BATCHES)))


def grow_on(names):
    cells, target = table(names)
    data = read(cells, name=target)
    return tw.grow(data, target, max_depth=2, categorical="multiway"), data


def run(command, folder):
    return subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", timeout=300, check=False
    )


@needs_latex
@batches
@pytest.mark.parametrize("blanks", [False, True])
def test_latex_compiles(names, blanks, tmp_path):
    tree, data = grow_on(names)
    compile_latex(tree.trace(data).render("latex", blanks=blanks, with_tree=not blanks), tmp_path)


@needs_latex
@batches
def test_a_tree_in_tikz_compiles(names, tmp_path):
    tree, data = grow_on(names)
    picture = tree.draw(show=["counts", "impurity", "gain"], questions=True, data=data, rows=True)
    compile_latex(picture.to_bytes("tikz").decode(), tmp_path)


@needs_latex
def test_fragments_compile_in_a_document_of_your_own(tmp_path):
    tree = tw.grow("seven_points")
    tree.draw(tmp_path / "tree.tex", fragment=True, direction="right")
    trace = tree.trace("seven_points", unit="nats").render("latex", document=False)
    (tmp_path / "trace_part.tex").write_text(trace, encoding="utf-8")
    head = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{amsmath,textcomp,forest}"
    body = r"\begin{document}\input{tree}\input{trace_part}\end{document}"
    compile_latex(f"{head}\n{body}\n", tmp_path)


def compile_latex(document, tmp_path):
    """Compile a document; nothing but characters without a font may be an error."""
    (tmp_path / "trace.tex").write_text(document, encoding="utf-8")
    run(["pdflatex", "-interaction=nonstopmode", "-no-shell-escape", "-file-line-error", "trace.tex"], tmp_path)
    log = (tmp_path / "trace.log").read_text(encoding="utf-8", errors="replace")
    errors = re.findall(r"^(?:! |\./trace\.tex:\d+: ).*", log, re.MULTILINE)
    assert [error for error in errors if "Unicode character" not in error] == []
    assert "Output written on trace.pdf" in log
    assert "/etc/passwd" not in re.findall(r"\((/[^\s)]+)", log)  # opens no file that a name mentions


@needs_latex
@batches
def test_an_exercise_compiles(names, tmp_path):
    cells, target = table(names)
    sheet = tw.exercise(
        read(cells, name=target).head(12), target, level=3
    )  # after 100 characters without a font it stops
    compile_latex(sheet.render("latex"), tmp_path)


@needs_latex
@pytest.mark.parametrize("topic", ["leaves", "boosting", "pruning"])
def test_every_topic_of_exercises_compiles(topic, tmp_path):
    compile_latex(tw.exercise(random=1, topic=topic, level=3).render("latex"), tmp_path)


@needs_latex
@batches
def test_several_panels_compile(names, tmp_path):
    tree, data = grow_on(names)
    data = data.head(5)  # after 100 characters without a font it stops
    steps = tree.draw_steps(max_steps=3, across=2)
    beside = tree.draw(data=data, beside=["table", "code"])
    for picture in (steps, beside):
        compile_latex(picture.to_bytes("tikz").decode(), tmp_path)


@needs_latex
def test_every_document_of_the_lessons_compiles(tmp_path):
    boosted = tw.adaboost("admissions", n_estimators=4)
    joint = tw.joint([[0, 1 / 2, 1 / 4], [1 / 12, 1 / 12, 1 / 12]], unit="nats")
    tree = tw.grow("admissions", preset="id3")
    traces = [
        tree.trace("admissions", per="total"),
        tw.grow("seven_points").trace("seven_points", unit="nats", terms=True),
        tw.grow("seven_rows", criterion="gini").trace("seven_rows"),
    ]
    for trace in traces:
        compile_latex(trace.render("latex", with_tree=True), tmp_path)
        compile_latex(trace.render("latex", blanks=True), tmp_path)
    compile_latex(boosted.worked_round("admissions", 1).render("latex"), tmp_path)
    compile_latex(boosted.worked_round("admissions", 2).render("latex", blanks=True), tmp_path)
    head = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\usepackage{amsmath,textcomp}"
    compile_latex(f"{head}\\begin{{document}}\n{joint.to_latex()}\\end{{document}}\n", tmp_path)


@needs_pdftotext
@batches
def test_a_pdf_contains_the_names_as_text(names, tmp_path):
    tree, _ = grow_on(names)
    tree.draw().save(tmp_path / "tree.pdf")
    completed = run(["pdftotext", "-raw", "tree.pdf", "-"], tmp_path)
    assert (completed.returncode, completed.stderr) == (0, "")
    actual = re.sub(r"\s", "", completed.stdout)
    for name in tree.classes:
        words = re.findall(r"[!-~]{4,12}", safe(str(name)))  # long names are shortened in a picture
        assert not words or words[0] in actual, (name, completed.stdout)


@batches
def test_a_pdf_has_no_script_and_no_link(names, tmp_path):
    tree, _ = grow_on(names)
    tree.draw().save(tmp_path / "tree.pdf")
    content = (tmp_path / "tree.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    for entry in (b"/JavaScript", b"/JS", b"/URI", b"/OpenAction", b"/Launch", b"/EmbeddedFile"):
        assert entry not in content
