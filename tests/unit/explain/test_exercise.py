"""Exercise sheets: every key gets full marks, changed answers lose points, errors are carried forward."""

import html
import json
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.exercises import TABLES, sheets, spoiled
from tests.support.hostile_names import BATCHES, table
from treewise.data.table import read
from treewise.errors import DataError, ParameterError, TreewiseError
from treewise.explain.exercise.answers import StudentAnswers
from treewise.explain.exercise.exercise import TITLES
from treewise.explain.exercise.formula import evaluate
from treewise.explain.exercise.marking import mark_blanks, read_number
from treewise.explain.exercise.random_table import random_tables


def mark_of(marks, blank):
    return next(mark for mark in marks if mark.blank.id == str(blank))


# -- every key ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [*TABLES, *range(4)])
def test_every_key_gets_full_marks_and_every_blank_counts(source):
    for sheet in sheets(source):
        marks = tw.check_answers(sheet, sheet.key)
        assert marks.points == marks.out_of == sheet.points, sheet
        assert {mark.verdict for mark in marks} == {"right"}
        through_json = tw.check_answers(sheet.render("json"), sheet.key)
        assert through_json.points == sheet.points
        for blank in sheet.blanks:
            others = [each for each in sheet.blanks if each.kind != "tree" or each is blank]  # parsing takes long
            worse = mark_blanks(others, StudentAnswers({**sheet.key, blank.id: spoiled(blank)}))
            assert mark_of(worse, blank.id).points < blank.points, (sheet, blank)


@pytest.mark.parametrize("source", [*TABLES, *range(4)])
def test_every_formula_gives_the_key(source):
    for sheet in sheets(source):
        values = {b.id: b.value[0] if isinstance(b.value, tuple) else b.value for b in sheet.blanks}
        for blank in sheet.blanks:
            if blank.formula is not None:
                found = evaluate(blank.formula, values, 1e-9)
                if blank.kind == "tree":
                    assert sorted(found, key=str) == sorted(blank.tree["nodes"], key=str)
                elif blank.kind == "choice":
                    assert found == blank.value
                else:
                    assert found == pytest.approx(blank.value, abs=1e-9)


def test_numbers_are_those_of_the_trace():
    sheet = tw.exercise("admissions", per="total")
    trace = tw.grow("admissions", preset="id3").trace("admissions", per="total")
    by_prompt = {blank.prompt: blank for blank in sheet.blanks}
    for name, column in trace[0].columns.items():
        assert by_prompt[f"gain of {name} at node 0"].value == column.gain
    assert by_prompt["best split at node 0"].value == (trace[0].winner,)
    assert [blank.text for blank in sheet.blanks] == ["12", "7.1452", "1.1452", "0.2487", "1.1194", "GPA"]


def test_levels_leave_more_and_more_blank():
    for topic in TITLES:
        n_blanks = [len(tw.exercise(random=3, topic=topic, level=level).blanks) for level in (1, 2, 3)]
        assert n_blanks == sorted(set(n_blanks))


def test_given_counts_are_printed_and_blank_ones_are_not():
    page = tw.exercise("admissions").render(key=False)
    assert "| GPA = 3.7 | 2 | 3 |" in page
    assert "| GPA = 3.7 | (7) \\_\\_" in tw.exercise("admissions", level=3).render(key=False)


def test_a_further_node_is_named_by_its_rows_only():
    page = tw.exercise("admissions", nodes=2).render(key=False)
    assert "Node 2: rows 4–8" in page
    assert "node 2: GPA" not in page


def test_labels_are_those_of_the_table():
    assert "| 1 | 4.0 | top10 | yes | good | P |" in tw.exercise("admissions").render()  # not the number 4


# -- random tables --------------------------------------------------------------------------------------------


def test_a_seed_is_a_variant():
    pages = {tw.exercise(random=seed).render() for seed in range(12)}
    assert len(pages) == 12
    assert tw.exercise(random=5, level=2).render("json") == tw.exercise(random=5, level=2).render("json")


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 2**63 - 1))
def test_random_tables_are_friendly(seed):
    data, other = next(random_tables(seed))
    tree = tw.grow(data, preset="id3")
    assert tree.evaluate(data).errors == 0
    assert len(other) == 8
    for node in tree.trace(data):
        assert node.margin is None or node.margin >= 0.05
        assert not node.tie
        for column in node.columns.values():
            for branch in column.branches:
                assert min(branch) == 0 or sum(branch) <= 4
    assert tree[0].impurity == 1.0


# -- errors carried forward -----------------------------------------------------------------------------------


def test_a_wrong_entropy_used_correctly_gets_the_later_points():
    sheet = tw.exercise("admissions", level=3)
    answers = dict(sheet.key) | {"7": "3", "8": "1", "9": "0.811"}  # wrong counts of GPA = 3.7, the right H of these
    marks = tw.check_answers(sheet, answers)
    assert [mark_of(marks, n).verdict for n in (7, 8, 9)] == ["wrong", "wrong", "carried forward"]
    after = 4 / 12 * 0.811
    marks = tw.check_answers(sheet, answers | {"13": f"{after:.3f}", "14": f"{1 - after:.3f}"})
    assert [mark_of(marks, n).verdict for n in (13, 14)] == ["carried forward", "carried forward"]
    assert marks.points == sheet.points - 2


def test_a_choice_follows_from_ones_own_gains():
    sheet = tw.exercise("admissions")
    marks = tw.check_answers(sheet, {"2": "0.1", "3": "0.5", "6": "University"})
    assert mark_of(marks, 6).verdict == "carried forward"
    assert mark_of(tw.check_answers(sheet, {"6": "University"}), 6).verdict == "wrong"


def test_later_rounds_of_boosting_use_ones_own_weights():
    sheet = tw.exercise("admissions", topic="boosting", level=3, nodes=2)
    first = next(blank for blank in sheet.blanks if blank.prompt.startswith("prediction of the learner for row 1 "))
    other = next(option for option in first.options if option not in first.value)
    marks = tw.check_answers(sheet, {first.id: other, "26": "1/4"})  # one more mistake: ε_1 is 3/12
    assert mark_of(marks, 26).blank.prompt == "ε_1"
    assert mark_of(marks, 26).verdict == "carried forward"


def test_pruning_decides_by_ones_own_errors():
    sheet = tw.exercise("outlier", validation="outlier_validation", level=2)
    blanks = {blank.prompt: blank.id for blank in sheet.blanks}
    answers = {blanks["errors of node 5 as a leaf"]: "1", blanks["prune at node 5 or keep it"]: "prune"}
    marks = tw.check_answers(sheet, answers)
    assert mark_of(marks, blanks["prune at node 5 or keep it"]).verdict == "carried forward"


# -- what students write --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [("3/5", 0.6), (" 0,97 ", 0.97), (".5", 0.5), ("−1", -1), ("1e-3", 0.001), ("6.0", 6), ("2 / 4", 0.5), ("5.", 5)],
)
def test_numbers_are_read(text, value):
    assert read_number(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "abc", "1/0", "1.2.3", "1e999", "3/5/7", "0.5 bits", "∞", "٣", "0x10", "--1"])
def test_others_are_not(text):
    assert read_number(text) is None


def test_units():
    assert read_number("1 bit", "nats") == pytest.approx(0.6931, abs=1e-4)
    assert read_number("0.6931 nats", "bits") == pytest.approx(1, abs=1e-4)
    sheet = tw.exercise("admissions")
    assert tw.check_answers(sheet, {"unit": "nats", "answers": {"1": "0.693"}}).points == 1
    wrong = mark_of(tw.check_answers(sheet, {"1": "0.693"}), 1)
    assert (wrong.verdict, wrong.note) == ("wrong", "right in nats: write nats after the number")
    assert tw.check_answers(tw.exercise("admissions", unit="nats"), {"1": "1 bit"}).points == 1


def test_trees_get_a_point_per_node():
    sheet = tw.exercise("admissions", level=3)
    blank = sheet.blanks[-1]

    def points(text):
        return mark_of(tw.check_answers(sheet, {blank.id: text}), blank.id).points

    assert points(sheet.key[blank.id]) == blank.points == 9
    assert points("GPA = 4.0 -> P\nGPA = 3.5 -> N\nGPA = 3.7 -> P") == 3  # the root and two leaves
    assert points("Published = yes -> P\nPublished = no -> N") == 0
    unreadable = mark_of(tw.check_answers(sheet, {blank.id: "GPA = 4.0 -> P"}), blank.id)
    assert (unreadable.verdict, unreadable.points) == ("unreadable", 0)
    assert "has no sibling" in unreadable.note


def test_any_threshold_between_two_values_is_the_same():
    sheet = tw.exercise("seven_points", level=3)
    typed = "x2 > 0.9 -> star\nx2 <= 0.9\n  x1 < 2 -> dot\n  x1 >= 2 -> star"
    assert mark_of(tw.check_answers(sheet, {sheet.blanks[-1].id: typed}), sheet.blanks[-1].id).points == 5


# -- sheets and answers in files ------------------------------------------------------------------------------


def test_answers_as_lines(tmp_path):
    sheet = tw.exercise("admissions", level=3)
    path = tmp_path / "Pat.txt"
    path.write_text("# my answers\n1 = 6\n2=6\n\n43 =\n  GPA = 4.0 -> P\n  GPA = 3.5 -> N\n  GPA = 3.7 -> P\n")
    marks = tw.check_answers(sheet, path)
    assert (marks.name, marks.points) == ("Pat", 5)
    assert "Pat: 5 of 51 points" in str(marks)


def test_a_sheet_is_read_from_json_and_from_the_page(tmp_path):
    sheet = tw.exercise(random=4, level=3)
    for form, name in (("json", "sheet.json"), ("html", "sheet.html")):
        (tmp_path / name).write_text(sheet.render(form), encoding="utf-8")
        assert tw.check_answers(tmp_path / name, sheet.key).points == sheet.points


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"99": "1"}, 'there is no blank "99": the sheet has 1 to 6.'),
        ("1 = 1\n1 = 2", 'line 2 of the answers: there is a line for "1" above already.'),
        ("  1 = 1", "line 1 of the answers is indented"),
        ("one\n", 'line 1 of the answers, "one", is not of the form'),
        ({"sheet": "another", "answers": {}}, "these answers belong to another sheet"),
        ({"unit": "grams", "answers": {}}, 'unit="grams": must be bits or nats'),
        ({"1": [2]}, 'the answer to blank "1" must be a text or a number'),
        ('{"1": ', "the answers are not valid JSON"),
        ("nowhere.txt", "cannot read answers from nowhere.txt"),
        (7, "answers must be a file, a text or the object itself"),
    ],
)
def test_wrong_answer_files(answers, message):
    with pytest.raises(TreewiseError, match=re.escape(message)):
        tw.check_answers(tw.exercise("admissions"), answers)


def test_without_the_key_there_is_nothing_to_mark_by(tmp_path):
    path = tmp_path / "sheet.html"
    path.write_text(tw.exercise("admissions").render("html", key=False), encoding="utf-8")
    assert "0.5954" not in path.read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match=r"not a sheet with its key|damaged"):
        tw.check_answers(path, {})


def test_an_empty_blank_gets_no_points():
    marks = tw.check_answers(tw.exercise("admissions"), {"1": " "})
    assert marks.points == 0
    assert {mark.verdict for mark in marks} == {"empty"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "an exercise needs a table, or a seed"),
        ({"data": "penguins"}, "penguins has 344 rows, and a sheet to be worked by hand holds 40"),
        ({"data": {"x": [1, None, 2], "y": list("aba")}, "target": "y"}, 'column "x" of the table has 1 missing value'),
        ({"data": "admissions", "level": 4}, "level=4: must be a whole number, 1 to 3"),
        ({"data": "admissions", "nodes": 4}, "the tree has 3 nodes with a split to work out"),
        ({"data": "admissions", "topic": "sums"}, 'topic="sums": must be'),
        ({"data": "admissions", "criterion": "gain_ratio"}, "works out entropy, gini, error"),
        ({"data": "admissions", "random": 1}, "makes the table itself"),
        ({"data": "admissions", "topic": "pruning"}, "pruning needs a validation table"),
        ({"data": "admissions", "topic": "boosting", "tree": "GPA"}, "is for leaves and pruning"),
        ({"data": "xor", "topic": "boosting"}, "boosting ends with round 1"),
        ({"data": {"x": [1, 2, 3, 4], "y": [1.5, 2.5, 3.25, 4.125]}, "target": "y"}, "an exercise is about classes"),
        ({"random": -1}, "random=-1: must be a whole number"),
        ({"data": "admissions", "tolerance": 2}, "tolerance=2: must be a number"),
    ],
)
def test_wrong_exercises(arguments, message):
    with pytest.raises(TreewiseError, match=re.escape(message)):
        tw.exercise(**arguments)


# -- formats --------------------------------------------------------------------------------------------------

# The grammar of embedded answers, as Moodle's documentation of "Embedded answers (Cloze)" gives it.
OPTION = r"(?:=|%-?[0-9]+%)?(?:[^~#}\\&]|&#?[a-z0-9]{2,9};)+"
CLOZE = re.compile(
    r"\{[0-9]+:(?:NUMERICAL:=(?P<value>-?[0-9]+(?:\.[0-9]+)?):(?P<near>[0-9]+(?:\.[0-9]+)?)"
    rf"|MULTICHOICE:(?P<options>{OPTION}(?:~{OPTION})*))\}}"
)


@pytest.mark.parametrize("topic", TITLES)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_moodle_questions_are_valid_and_hold_the_key(topic, level):
    sheet = tw.exercise(random=11, topic=topic, level=level)
    check_moodle(sheet)


def check_moodle(sheet):
    quiz = ET.fromstring(sheet.render("moodle"))
    assert [question.get("type") for question in quiz] == ["cloze"] + ["essay"] * (sheet.blanks[-1].kind == "tree")
    text = quiz.find("question/questiontext/text").text
    asked = [blank for blank in sheet.blanks if blank.kind != "tree"]
    found = list(CLOZE.finditer(text))
    assert len(found) == text.count("{") == text.count("}") == len(asked)
    for blank, answer in zip(asked, found, strict=True):
        if blank.kind == "choice":
            options = answer["options"].split("~")
            assert len(options) == len(blank.options)
            assert sum(option.startswith("=") for option in options) == len(blank.value)
        else:
            assert float(answer["value"]) == pytest.approx(blank.value, abs=1e-6)
            assert float(answer["near"]) >= blank.tolerance


@pytest.mark.parametrize("names", BATCHES, ids=range(len(BATCHES)))
def test_hostile_names(names):
    cells, target = table(names)
    data = read(cells, name=target)
    for topic, arguments in (("split", {}), ("leaves", {"max_depth": 2}), ("pruning", {"validation": data})):
        sheet = tw.exercise(data, target, topic=topic, level=3, **arguments)
        check_moodle(sheet)
        marks = tw.check_answers(sheet.render("html"), sheet.key)
        assert marks.points == sheet.points
        page = sheet.render("html")
        assert page.count("<script") == 2
        assert "<img" not in page
        json.loads(sheet.render("json"))


def test_pages_without_key_hold_no_answers():
    sheet = tw.exercise("admissions", per="total", level=3)
    for form in ("markdown", "latex", "html"):
        assert "7.1452" in sheet.render(form)
        assert "7.1452" not in sheet.render(form, key=False)
    with pytest.raises(ParameterError, match="holds the key"):
        sheet.render("moodle", key=False)
    with pytest.raises(ParameterError, match="must be one of"):
        sheet.render("pdf")


@pytest.mark.parametrize("topic", ["leaves", "pruning"])
def test_a_printed_tree_keeps_its_lines(topic):
    sheet = tw.exercise(random=7, topic=topic, level=3)
    (code,) = (part.code for part in sheet.parts if part.code)
    assert len(code.splitlines()) > 3
    cloze = ET.fromstring(sheet.render("moodle")).find("question/questiontext/text").text
    for page in (sheet.render("html"), cloze):
        assert html.unescape(re.search(r"<pre>(.*?)</pre>", page, re.S)[1]) == code
    assert all(line.strip() in sheet.render("markdown") for line in code.splitlines())


def test_indices_of_formulas_are_set_and_names_are_not():
    rows = {"D_1": [1, 2, 3, 4], "y": ["m_b", "m_b", "ε_1", "m_b"]}
    page = tw.exercise(rows, "y", topic="boosting", level=3).render("html", key=False)
    assert "ε<sub>1</sub>" in page
    assert '<th scope="col">D_1</th>' in page  # of the data
    assert "<td>m_b</td>" in page
    tex = tw.exercise("seven_points").render("latex")
    assert r"Gain($x_1 \le 0.5$)" in tex
    assert "$m_{b}$" in tex


def test_a_typed_tree_is_asked_about():
    typed = "GPA = 4.0 -> P\nGPA = 3.7 -> P\nGPA = 3.5 -> N"
    sheet = tw.exercise("admissions", tree=typed, level=3)
    assert sheet.topic == "leaves"
    by_prompt = {blank.prompt: blank.text for blank in sheet.blanks}
    assert by_prompt["number of errors of the tree"] == "2"
    assert by_prompt["log-likelihood ℓ(T)"] == "−4.8548"
    with pytest.raises(DataError, match="worked by hand"):
        tw.exercise("penguins", tree="sex = MALE -> Adelie\nsex otherwise -> Gentoo")
