"""The form of an exercise in a real browser: it marks as Python does, keeps score, saves and opens answers."""

import json
import random

import pytest

import treewise as tw
from tests.support.exercises import follow_up, spoiled
from tests.support.hostile_names import NAMES
from treewise.explain.exercise.answers import StudentAnswers
from treewise.explain.exercise.exercise import TITLES
from treewise.explain.exercise.marking import mark_blanks

ODD = ["", " ", "abc", "1/0", "0.5 nats", "1 bit", "0,25", "3/4", "-1", "−0.5", "1e999", ".5", "0", "1", "2"]
ODD += [
    "1 1/2",
    "1 000",
    "\ufeff1",
    "\u20031",
    "\x1c",
    "\u00a01 /\u00a02 ",
    "1.",
    "+2",
    "- 1",
    "٣",
    "½",
    "1_0",
    "0x10",
    "İ",
    "1 \nbit",
]
TREES = [
    "-> yes",
    "nothing",
    "GPA = 4.0 -> P\nGPA = 3.7 -> P\nGPA = 3.5 -> N",
    "x = 1 -> 2",
    "->",
    "\n\n",
    "a\n b",
    "-> ",
]


def write(path, sheet, key=True):
    path.write_text(sheet.render("html", key), encoding="utf-8")
    return path


def marks_by_page(here, written, unit):
    return here.page.evaluate("([written, unit]) => window.markAll(written, unit)", [written, unit])


def random_answers(draw, sheet):
    """Answer right, wrong, by what one has seen elsewhere on the sheet, or oddly."""
    written = {}
    for blank in sheet.blanks:
        numbers = [repr(b.value) for b in sheet.blanks if isinstance(b.value, float)]
        pool = {"tree": [*TREES, *mutated(draw, blank)], "choice": [*blank.options, ""]}.get(blank.kind, ODD + numbers)
        written[blank.id] = draw.choice([blank.text, blank.text, spoiled(blank), draw.choice(pool)])
    return written


def mutated(draw, blank):
    """Yield the typed tree of the key with lines left out, moved, indented otherwise or changed."""
    lines = blank.text.split("\n")
    yield "\n".join(line for line in lines if draw.random() < 0.9)
    yield "\n".join(draw.sample(lines, len(lines)))
    yield "\n".join(" " * draw.choice([0, 0, 0, 1]) + line for line in lines)
    yield "\n".join(
        line.replace(draw.choice(["=", "->", "<="]), draw.choice([">", "→", "in", "≤", ""])) for line in lines
    )
    yield "\r\n".join(f"{line}  # {n}" for n, line in enumerate(lines))


@pytest.mark.parametrize("topic", TITLES)
def test_the_page_marks_as_python_does(topic, tmp_path, open_page):
    draw = random.Random(topic)
    sheets = [tw.exercise(random=seed, topic=topic, level=3) for seed in (1, 2)]
    if topic == "split":
        sheets += [tw.exercise("admissions", level=3, per="total"), tw.exercise("seven_points", level=3, unit="nats")]
        sheets += [tw.exercise("food", level=3, preset="cart", criterion="gini")]
    for number, sheet in enumerate(sheets):
        here = open_page(write(tmp_path / f"{number}.html", sheet))
        mistakes = draw.sample([blank.id for blank in sheet.blanks], min(8, len(sheet.blanks)))
        answered = [(random_answers(draw, sheet), draw.choice(["bits", "nats", ""])) for _ in range(25)]
        for written, unit in answered + [(follow_up(sheet, mistake), "") for mistake in mistakes]:
            expected = mark_blanks(sheet.blanks, StudentAnswers(written, unit))
            found = marks_by_page(here, written, unit)
            for mark, (verdict, points) in zip(expected, found, strict=True):
                where = (sheet, mark.blank.prompt, written[mark.blank.id], mark.note)
                if mark.blank.kind == "tree" and points == mark.points == 0:
                    continue  # which of two mistakes is found first may differ
                assert (verdict, points) == (mark.verdict, mark.points), where


def fill(here, number, text):
    field = here.page.locator(f'[data-blank="{number}"]')
    if field.evaluate("it => it.tagName") == "SELECT":
        field.select_option(label=text)
    else:
        field.fill(text)


def verdict(here, number):
    return here.page.locator(f'[data-blank="{number}"]').get_attribute("data-verdict")


def test_a_student_fills_it_in(tmp_path, open_page):
    sheet = tw.exercise("admissions", level=3)
    here = open_page(write(tmp_path / "sheet.html", sheet))
    assert here.page.locator("#score").inner_text() == "0 of 51 points, 43 left to fill in"
    fill(here, 1, "6")
    fill(here, 3, "0.693 nats")
    fill(here, 6, "1")
    assert [verdict(here, n) for n in (1, 3, 6)] == ["right", "right", "wrong"]
    fill(here, 7, "3")
    fill(here, 8, "1")
    fill(here, 9, "0.81")
    assert verdict(here, 9) == "carried forward"
    assert here.page.locator("#note-9").inner_text() == "carried forward"
    fill(here, 42, "GPA")
    fill(here, 43, sheet.key["43"])
    assert [verdict(here, n) for n in (42, 43)] == ["right", "right"]
    here.page.select_option("#unit", label="nats")
    fill(here, 3, "0.693")
    assert verdict(here, 3) == "right"
    fill(here, 3, "1")
    assert here.page.locator("#note-3").inner_text() == "wrong: right in bits: write bits after the number"
    here.page.uncheck("#live")
    assert verdict(here, 1) == ""
    assert here.page.locator("#score").inner_text() == ""


@pytest.mark.parametrize("key", [True, False])
def test_answers_are_saved_marked_and_opened_again(key, tmp_path, open_page):
    expect = pytest.importorskip("playwright.sync_api").expect
    sheet = tw.exercise(random=7, level=3)
    here = open_page(write(tmp_path / "sheet.html", sheet, key))
    assert here.page.locator("#live").is_visible() == key
    here.page.fill("#name", "Ada B.")
    for number, text in sheet.key.items():
        fill(here, number, text)
    with here.page.expect_download() as download:
        here.page.click("#save")
    assert download.value.suggested_filename == "answers-Ada-B-.json"
    download.value.save_as(tmp_path / "answers.json")
    marks = tw.check_answers(sheet, tmp_path / "answers.json")
    assert (marks.name, marks.points) == ("Ada B.", sheet.points)
    again = open_page(tmp_path / "sheet.html")
    again.page.set_input_files("#open", tmp_path / "answers.json")
    expect(again.page.locator("#name")).to_have_value("Ada B.")
    assert again.page.locator('[data-blank="1"]').input_value() == sheet.key["1"]
    data = json.loads((tmp_path / "answers.json").read_text(encoding="utf-8"))
    (tmp_path / "other.json").write_text(json.dumps({**data, "sheet": "another"}), encoding="utf-8")
    again.page.set_input_files("#open", tmp_path / "other.json")
    expect(again.page.locator("#score")).to_contain_text("another sheet")


def test_every_field_has_a_name_and_the_page_fits_a_phone(tmp_path, open_page):
    here = open_page(write(tmp_path / "sheet.html", tw.exercise("admissions", level=3)), width=390)
    for field in here.page.locator("[data-blank]").all():
        assert field.get_attribute("aria-label")
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert here.page.locator("details").get_attribute("open") is None  # the key is folded


def test_a_printed_form_is_not_cut_off(tmp_path, open_page):
    here = open_page(write(tmp_path / "sheet.html", tw.exercise("admissions", level=3, per="total")), width=718)  # A4
    here.page.emulate_media(media="print")
    for table in here.page.locator("table").all():
        assert table.evaluate("it => it.getBoundingClientRect().right <= document.documentElement.clientWidth")
    shown = [each for each in here.page.locator(".tools > *").all() if each.is_visible()]
    assert [each.inner_text().strip() for each in shown] == ["Name"]


def test_names_that_would_break_out(tmp_path, open_page):
    draw = random.Random(5)
    names = [name for name in NAMES if name.strip() and len(name) < 300]
    cells = {f"{name}{i}": [draw.choice(names[12:16]) for _ in range(20)] for i, name in enumerate(names[12:16])}
    target = "</script><script>alert(1)</script>"
    cells[target] = [draw.choice(names[13:15]) for _ in range(20)]
    here = open_page(write(tmp_path / "sheet.html", tw.exercise(cells, target, level=3)))
    assert here.page.locator("img, iframe").count() == 0
    assert here.page.locator("script").count() == 2
    assert here.page.locator("#score").inner_text().startswith("0 of ")
