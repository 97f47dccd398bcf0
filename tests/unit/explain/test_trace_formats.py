"""The trace in all formats: text width, CSV, JSON, Markdown, LaTeX, exercises, and errors."""

import csv
import inspect
import io
import json
import re
import time

import pytest
from click.testing import CliRunner

import treewise as tw
from treewise.cli.app import app
from treewise.cli.verbs.trace import command, remark_when_long
from treewise.errors import ColumnError, ParameterError
from treewise.explain.trace.text import sparkline
from treewise.explain.trace.trace import trace


@pytest.fixture(scope="module")
def admissions():
    return tw.grow("admissions", preset="id3").trace("admissions", per="total")


# -- text --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [70, 80, 100, 120, 160])
@pytest.mark.parametrize("options", [{}, {"preset": "id3"}, {"preset": "c45"}, {"categorical": "any"}])
def test_lines_stay_within_the_width(width, options):
    text = tw.grow("penguins", max_depth=2, **options).trace("penguins").render(width=width)
    assert max(map(len, text.splitlines())) <= width


def test_sparkline_has_the_highest_in_each_place():
    assert sparkline([(0, 0.1), (1, 0.8), (1.1, 0.2), (4, 0.4)], 4) == "▁██▄"
    assert sparkline([(0, 0.0), (1, 0.0)], 3) == "   "
    assert len(sparkline([(-1e308, 0.1), (1e308, 0.2)], 12)) == 12
    assert len(sparkline([(0, 1.0), (1, float("inf"))], 12)) == 12  # a gain in targets of 1e300


# -- data and paper ---------------------------------------------------------------------------------------


def test_csv_has_a_line_for_every_candidate(admissions):
    rows = list(csv.DictReader(io.StringIO(admissions.render("csv"))))
    assert [(r["node"], r["column"]) for r in rows if r["place"] == "best"] == [
        ("0", "GPA"),
        ("2", "Published"),
        ("3", "University"),
    ]
    assert rows[0]["branches"] == "4 0 | 2 3 | 0 3"
    assert float(rows[0]["gain"]) == admissions[0]["GPA"].gain
    penguins = list(csv.DictReader(io.StringIO(tw.candidates("penguins").render("csv"))))
    assert len(penguins) == sum(len(c.tests) for c in tw.candidates("penguins").columns.values())


def test_json_has_every_number_as_it_is(admissions):
    nodes = json.loads(admissions.render("json"))
    assert [n["node"] for n in nodes] == list(range(9))
    assert nodes[0]["columns"][0]["gain"] == admissions[0]["GPA"].gain
    assert nodes[0]["columns"][0]["tests"][0]["branches"][1] == {
        "rows": 5,
        "weight": 5,
        "counts": [2, 3],
        "impurity": tw.entropy([3, 2]),
    }
    assert nodes[1]["settled"] == "pure"
    assert json.loads(admissions[0].render("json")) == nodes[0]
    regression = json.loads(tw.candidates({"x": [1, 2, 3], "y": [0.5, 1.5, 2.5]}, "y").render("json"))
    assert regression["value"] == 1.5


def test_markdown_is_a_table_a_node(admissions):
    text = admissions.render("markdown")
    assert "### node 2: GPA = 3.7\n" in text
    assert r"| Published | no \[4 3\]  yes \[2 3\] | 12 − \[7·H(3/7) + 5·H(3/5)\] = " in text
    assert "| **7.145** ◄ best |" in text
    assert admissions._repr_mimebundle_()["text/markdown"] == text


NASTY = {
    "a|b\n_<c>": ["x$", "y&{", "x$", "y&{", "z"],
    "50% ~^\\#": [1, 2, 3, 4, 5],
    "y": ["<p>", "q_1", "q_1", "<p>", "q_1"],
}


def test_markdown_escapes_names():
    text = tw.grow(NASTY, "y", categorical="multiway").trace(NASTY).render("markdown")
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 6
    assert r"a\|b\\n\_\<c\>" in text
    assert not re.search(r"(?<!\\)[<`]", text)


def latex_text_is_escaped(text):
    without_commands = re.sub(r"\\(?:[a-zA-Z]+\*?|[^a-zA-Z])", "", text)
    body = without_commands.split("{document}")[1]
    return not re.search(r"[#%^~]", body.replace("$^2$", ""))


def test_latex_escapes_names_and_is_well_formed():
    text = tw.grow(NASTY, "y", categorical="multiway").trace(NASTY).render("latex")
    assert text.startswith("\\documentclass")
    assert text.count(r"\begin{align*}") == text.count(r"\end{align*}") == 3
    unescaped = text.replace(r"\{", "").replace(r"\}", "")
    assert unescaped.count("{") == unescaped.count("}")
    assert text.replace(r"\$", "").count("$") % 2 == 0
    assert latex_text_is_escaped(text)
    assert r"a\textbar{}b\textbackslash{}n\_\textless{}c\textgreater{}" in text
    for block in re.findall(r"\\begin\{align\*\}(.*?)\\end\{align\*\}", text, re.DOTALL):
        assert all(line.replace(r"\&", "").count("&") == 1 for line in block.strip().splitlines())


def test_latex_writes_candidates_as_mathematics(admissions):
    text = tw.candidates("seven_points").render("latex")
    assert r"\operatorname{Gain}(x_1 \le 0.5) & = " in text
    assert r"split on $x_2 \le 0.5$; next best $x_1 \le 0.5$" in text
    assert "textless" not in text
    assert r"\operatorname{Gain}(\text{GPA}) & = 12 - " in admissions[0].render("latex")
    assert r"$\displaystyle 12\,H\bigl(\tfrac{1}{2}\bigr)" in admissions[0].render("latex")  # 6 of 12, in lowest terms


def test_a_trace_is_a_document_or_a_fragment_of_one(admissions):
    document, fragment = admissions.render("latex"), admissions.render("latex", document=False)
    assert fragment.strip() in document
    assert "\\documentclass" not in fragment


def test_the_tree_is_printed_with_the_computations(admissions):
    text = admissions.render(with_tree=True)
    assert text.startswith(str(admissions))
    assert "8  └─ GPA = 4.0" in text
    latex = admissions.render("latex", with_tree=True)
    assert latex.index("usepackage{forest}") < latex.index(r"\subsection*{Node 0") < latex.index(r"\begin{forest}")


def test_latex_of_one_node_is_a_part_of_a_document(admissions):
    part = admissions[0].render("latex")
    assert "documentclass" not in part
    assert part.split("\\medskip")[0].strip() in admissions.render("latex")
    assert r"12 - \bigl[4\,H\bigl(\tfrac{0}{4}\bigr) + 5\,H\bigl(\tfrac{3}{5}\bigr)" in part
    assert r"& = 7.145\quad\text{(best)}" in part


@pytest.mark.parametrize("format", ["text", "markdown", "latex"])
def test_blanks_leave_the_results_open(admissions, format):
    sheet = admissions.render(format, blanks=True)
    for result in ("7.145", "1.145", "0.97095", "4.855", "12.000", "best ", "6.000", "◄"):
        assert result not in sheet.replace("next best", "")
    assert ("hspace" if format == "latex" else "_") in sheet
    assert ("\\tfrac{3}{5}" if format == "latex" else "5·H(3/5)") in sheet
    assert "Rounded" not in sheet


def test_an_exercise_has_one_node(admissions):
    for format in ("text", "markdown", "latex"):
        sheet = admissions.render(format, blanks=True)
        assert "ode 0" in sheet
        assert "Published = no" not in sheet
        assert "ode 2: " not in sheet
        assert "node 2 · " not in sheet
        assert "an exercise" not in sheet  # the hint is for the teacher, not on the student's page
    other = tw.grow("admissions", preset="id3").trace("admissions", node=2).render(blanks=True)
    assert other.startswith("node 2 ")
    assert admissions.exercise_nodes == (0, 2, 3)
    assert [node.id for node in admissions] == [0, 2, 3]


def test_blanks_keep_the_order_of_the_table():
    sheet = tw.candidates("penguins").render(blanks=True)
    listed = re.findall(r"^  (\w+) +(?:[<=]|missing)", sheet, re.MULTILINE)
    assert listed == list(tw.candidates("penguins").columns)


def test_there_are_no_blanks_without_an_answer():
    alone = tw.candidates({"x": [1, 2], "c": ["u", "u"], "y": ["a", "b"]}, "y").render(blanks=True)
    assert "→ split on _____\n" in alone
    assert re.search("all 2 rows are u: no split += 0.0000\n", alone)
    none = tw.candidates({"x": [1, 1], "y": ["a", "b"]}, "y").render(blanks=True)
    assert "→ a leaf: no column can split these rows\n" in none
    leaf = tw.grow("admissions", max_depth=0).trace("admissions").render(blanks=True)
    assert "→ a leaf: max_depth is reached; best would be _____\n" in leaf


def test_latex_thousands_and_paragraphs(admissions):
    big = tw.candidates({"x": [1, 2], "y": [100.0, 250.0]}, "y", task="regression").render("latex")
    assert r"\operatorname{Var}(\text{node}) = 5{,}625.0$" in big
    assert r"& = 5{,}625.0 - " in big
    assert r"H(\text{node}) = 1.5136$ bits" in tw.candidates("penguins").render("latex")
    assert "\n\\par\\noindent GPA: used above (all rows 3.7)." in admissions[2].render("latex")
    only = {"a": [1, 1, 2], "y": ["p", "q", "q"]}
    below = tw.parse("a <= 1.5 -> p\na > 1.5 -> q", target="y").trace(only)[1].render("latex")
    assert "bits.\n\\par\\noindent a: used above" in below


def test_what_a_table_leaves_out_is_to_be_found():
    text = re.sub(r"\s+", " ", str(tw.candidates("penguins")))
    assert 'column="flipper_length_mm" writes out every test of a column; .render("csv") lists those of all' in text


def test_the_command_line_speaks_of_options():
    requested = ["trace", "penguins", "--max-depth", "1"]
    text = re.sub(r"\s+", " ", CliRunner().invoke(app, requested).output)
    assert "--column flipper_length_mm writes out every test of a column; --format csv lists those of all" in text
    assert "here node 0; --node N selects another: 1, 2" in CliRunner().invoke(app, [*requested, "--blanks"]).stderr


def test_a_model_is_traced_with_weights_on_the_command_line(tmp_path):
    data = {"x": [1, 2, 3], "w": [5.0, 1.0, 1.0], "y": ["a", "b", "a"]}
    tw.grow(data, "y", ignore=["w"], sample_weight=data["w"]).save(tmp_path / "m.json")
    table = tmp_path / "t.csv"
    table.write_text("x,w,y\n1,5,a\n2,1,b\n3,1,a\n")
    requested = ["trace", str(tmp_path / "m.json"), str(table)]
    without = CliRunner().invoke(app, requested).output
    assert "the tree was grown with weights; give --sample-weight COLUMN to trace them" in without
    assert "3 rows, weight 7: 6 a, 1 b" in CliRunner().invoke(app, [*requested, "--sample-weight", "w"]).output


def test_silence_is_explained_once(capsys, monkeypatch):
    monkeypatch.setattr("treewise.cli.verbs.trace._SECONDS_BEFORE_REMARK", 0.01)
    report = remark_when_long()
    report(0.0)
    assert capsys.readouterr().err == ""
    time.sleep(0.02)
    report(0.1)
    report(0.2)
    assert capsys.readouterr().err == "trace every candidate of every node is computed; --node N computes one node\n"


def test_help_reports_what_can_be_asked_and_what_is_shown():
    named = inspect.signature(tw.Tree.trace).parameters
    assert list(named)[1:] == list(inspect.signature(trace).parameters)[1:]
    assert 'render("latex", blanks=True)' in tw.Tree.trace.__doc__
    for name in named:
        assert name == "self" or f"{name} : " in tw.Tree.trace.__doc__
    assert "a node with many lists the best of each column" in command.about


def test_ascii_has_no_other_letters():
    for name in ("penguins", "admissions"):
        assert tw.candidates(name).render(ascii=True).isascii()
    assert tw.candidates({"x": [1, 2, 3], "y": [1.5, 2.5, 9.0]}, "y").render(ascii=True).isascii()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.render("pdf"), ParameterError, 'format="pdf": must be one of text'),
        (lambda t: t.render("csv", blanks=True), ParameterError, "has no blanks; an exercise sheet"),
        (lambda t: t.render(width=10), ParameterError, "width=10: must be 40"),
        (lambda t: t[99], IndexError, "nodes 0 to 8"),
        (lambda t: t[0]["Univeristy"], ColumnError, 'Did you mean "University"'),
        (lambda _: tw.candidates("food", unit="bytes"), ParameterError, "bits"),
        (lambda _: tw.candidates("food", per="class"), ParameterError, 'must be "row" or "total"'),
        (lambda _: tw.candidates("food", top=0), ParameterError, "top=0"),
        (lambda _: tw.candidates("food", column="hunger"), ColumnError, 'Did you mean "Hunger"'),
        (lambda _: tw.candidates("food", max_deth=1), ParameterError, "max_depth"),
        (lambda _: tw.grow("food").trace("food", node=77), ParameterError, "no node 77"),
    ],
)
def test_errors(admissions, call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call(admissions)
