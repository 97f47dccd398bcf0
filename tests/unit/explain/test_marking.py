"""Marking, as properties: a mistake costs its own points and no others, and nothing that is written crashes it."""

import itertools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.exercises import TABLES, follow_up, sheets, spoiled
from treewise.errors import TreewiseError
from treewise.explain.exercise.answers import StudentAnswers
from treewise.explain.exercise.exercise import TITLES
from treewise.explain.exercise.marking import CARRIED, RIGHT, mark_blanks, read_number

SHEETS = [tw.exercise(random=seed, topic=topic, level=3) for seed, topic in itertools.product((1, 2), TITLES)]
ANSWERS = st.text(max_size=40) | st.text("0123456789.,/-+e nats bi%\t\u00a0−→>=<", max_size=14)


@pytest.mark.parametrize("source", [*TABLES, *range(3)])
def test_a_mistake_costs_its_own_points_and_what_follows_from_it_is_right(source):
    for sheet in sheets(source):
        mistakes = [blank for blank in sheet.blanks if blank.kind != "tree"]
        for blank in mistakes[:: max(1, len(mistakes) // 12)]:
            if blank.kind == "choice" and set(blank.options) <= set(blank.value):
                continue  # nothing to choose wrongly
            answers = follow_up(sheet, blank.id)
            marks = tw.check_answers(sheet, answers)
            lost = [mark for mark in marks if mark.verdict not in (RIGHT, CARRIED)]
            assert [mark.blank.id for mark in lost] == [blank.id], (sheet, blank.prompt, lost)
            assert marks.points == marks.out_of - blank.points


def test_a_tree_follows_from_ones_own_split():
    sheet = tw.exercise("admissions", level=3, nodes=2)
    first, second = (blank for blank in sheet.blanks if blank.kind == "choice")
    for blank, option in ((first, "Published"), (second, "University")):
        answers = {**sheet.key, blank.id: option}
        assert tw.check_answers(sheet, answers).points == sheet.points - 1  # the tree is still that of the key
    typed = "GPA = 4.0 -> P\nGPA = 3.5 -> N\nGPA = 3.7\n  University = top20 -> P\n"
    typed += "".join(f"  University = top{n}\n    Published = yes -> P\n    Published = no -> N\n" for n in (10, 30))
    key = tw.check_answers(sheet, {**sheet.key, sheet.blanks[-1].id: typed})
    own = tw.check_answers(sheet, {**sheet.key, sheet.blanks[-1].id: typed, second.id: "University"})
    assert [marks.marks[-1].points for marks in (key, own)] == [6, 9]
    assert own.marks[-1].verdict == CARRIED
    part = typed[: typed.index("\n    ", typed.index("top30"))] + " -> P"
    some = tw.check_answers(sheet, {**sheet.key, sheet.blanks[-1].id: part, second.id: "University"}).marks[-1]
    assert (some.verdict, some.points, some.note) == ("partly", 6, "8 of 11 nodes follow from your choices")


def test_a_pruned_tree_follows_from_ones_own_decisions():
    sheet = tw.exercise("outlier", validation="outlier_validation", level=3)
    kept = next(blank for blank in sheet.blanks if blank.prompt == "prune at node 2 or keep it")
    typed = "x1 <= 4 -> dot\nx1 > 4\n  x2 <= 3 -> star\n  x2 > 3 -> star"
    marks = tw.check_answers(sheet, {**sheet.key, kept.id: "keep", sheet.blanks[-1].id: typed})
    assert marks.marks[-1].verdict == CARRIED
    assert marks.points == marks.out_of - 1


@pytest.mark.parametrize("tolerance", [0, 0.001, 0.3])
@pytest.mark.parametrize("sheet", ["admissions", 3])
def test_the_key_is_right_within_any_tolerance(sheet, tolerance):
    for topic, per in (("split", "row"), ("split", "total"), ("boosting", "row"), ("leaves", "row")):
        options = {"topic": topic, "level": 3, "per": per, "tolerance": tolerance}
        made = tw.exercise(random=sheet, **options) if isinstance(sheet, int) else tw.exercise(sheet, **options)
        assert tw.check_answers(made, made.key).points == made.points


def test_weights_rounded_to_three_places_are_right():
    rows = {"x": [*range(40)], "y": [*["a"] * 21, "b", "a", *["b"] * 17]}
    sheet = tw.exercise(rows, "y", topic="boosting", level=3)
    written = {b.id: f"{b.value:.3f}" if b.kind == "number" else b.text for b in sheet.blanks}
    assert tw.check_answers(sheet, written).points == sheet.points


def test_what_is_written_in_other_ways_is_the_same():
    for sheet in SHEETS:
        written = {}
        for blank in sheet.blanks:
            text = blank.text
            if blank.kind == "number" and blank.unit:
                text = f" {blank.value * math.log(2):.6f} nats".replace(".", ",")
            elif blank.kind == "count":
                text = f"{2 * blank.value:g} / 2"
            elif blank.kind == "choice":
                text = f"  {text.upper()} "
            written[blank.id] = text
        assert tw.check_answers(sheet, written).points == sheet.points


def test_options_that_differ_in_case_alone_are_told_apart():
    sheet = tw.exercise({"x": list("aAbB"), "y": ["no", "No", "no", "No"]}, "y", topic="leaves", level=3)
    assert tw.check_answers(sheet, sheet.key).points == sheet.points


@pytest.mark.parametrize("text", ["1 1/2", "1 000", "1.5.2", "50 %", "½", "\u20030.5", "\ufeff1", "\x1c1", "1_0"])
def test_numbers_in_doubt_are_not_read(text):
    assert read_number(text) is None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_nothing_that_is_written_crashes_it(data):
    sheet = data.draw(st.sampled_from(SHEETS))
    typed = st.lists(st.sampled_from([*sheet.blanks[-1].text.split("\n"), "", "->", "x = 1 -> 2", "  a"]), max_size=8)
    written = {
        blank.id: data.draw(ANSWERS | typed.map("\n".join) if blank.kind == "tree" else ANSWERS)
        for blank in data.draw(st.lists(st.sampled_from(sheet.blanks), max_size=9, unique_by=lambda blank: blank.id))
    }
    unit = data.draw(st.sampled_from(["", "bits", "nats"]))
    marks = mark_blanks(sheet.blanks, StudentAnswers(written, unit))
    for mark in marks:
        assert 0 <= mark.points <= mark.blank.points
        assert mark.written or mark.points == 0
    str(tw.check_answers(sheet, {"unit": unit, "answers": written}))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.text(max_size=200)
    | ANSWERS.map(lambda text: f"1 = {text}\n  more\n2 = {text}")
    | ANSWERS.map('{{"1": "{}"}}'.format)
)
def test_no_file_of_answers_crashes_it(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "answers.txt"
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    try:
        tw.check_answers(SHEETS[0], path)
    except TreewiseError as error:
        assert str(error).count("\n") <= 1


@pytest.mark.parametrize(
    "content", ['{"a":' * 30_000, "[" * 30_000, '{"1": ' + "9" * 9000 + "}", '{"answers": {"1": {}}}']
)
def test_deep_and_large_json_is_refused(content):
    with pytest.raises(TreewiseError):
        tw.check_answers(SHEETS[0], content)
    with pytest.raises(TreewiseError, match=r"not a sheet with its key|cannot read a sheet"):
        tw.check_answers(content, {"1": "1"})


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000], ids=["NUL", "long"])
def test_a_name_that_no_file_can_have_is_refused(name):
    for sheet, answers in ((SHEETS[0], name), (name, {})):
        with pytest.raises(TreewiseError, match="cannot read") as caught:
            tw.check_answers(sheet, answers)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("sheet", SHEETS[::3], ids=lambda sheet: sheet.topic)
def test_a_sheet_that_was_changed_is_refused(sheet):
    """Its blanks and formulas may be anything, and answers may belong to what it was."""
    data = json.loads(sheet.render("json"))
    assert tw.check_answers(json.dumps(data), sheet.key).points == sheet.points
    assert tw.check_answers(sheet.render("html"), sheet.key).points == sheet.points
    for i, blank in enumerate(data["blanks"]):
        for name in blank:
            for value in (None, 0, "x", [], {}):
                changed = [*data["blanks"][:i], {**blank, name: value}, *data["blanks"][i + 1 :]]
                with pytest.raises(TreewiseError, match=r"changed after it was made|damaged"):
                    tw.check_answers(json.dumps({**data, "blanks": changed}), {})


def test_blanks_get_nothing_and_a_wrong_answer_as_little():
    for sheet in SHEETS:
        assert tw.check_answers(sheet, {}).points == 0
        wrong = tw.check_answers(sheet, {sheet.blanks[0].id: spoiled(sheet.blanks[0])})
        assert wrong.points == 0
        assert json.loads(sheet.render("json"))["blanks"]
