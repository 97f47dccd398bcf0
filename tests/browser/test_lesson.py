"""Lessons in Chromium: right and wrong answers by mouse, by keyboard and on a telephone; grades as in Python."""

import random

import pytest

import treewise as tw
from tests.support.hostile_names import BATCHES
from tests.support.lessons import grown_at_random, hostile_table, table_of_three


@pytest.fixture(scope="module")
def admissions():
    return tw.lesson("admissions", preset="id3", per="total")


@pytest.fixture(scope="module")
def penguins():
    return tw.lesson("penguins", "species", max_depth=2, budget=60)


@pytest.fixture
def start(open_page, tmp_path):
    def start_it(lesson, **options):
        lesson.save(tmp_path / "lesson.html")
        return open_page(tmp_path / "lesson.html", **options)

    return start_it


def tile(here, name):
    return here.page.locator(f"#lesson-{name} strong").inner_text()


def pick(here, words):
    here.page.get_by_label(words, exact=False).first.check()
    here.page.click("#lesson-split")


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("admissions", {"preset": "id3"}),
        ("admissions", {"criterion": "gini", "per": "total"}),
        ("penguins", {"target": "species", "budget": 40}),
        ("penguins", {"target": "body_mass_g", "drop_missing_target": True, "budget": 20}),
        ("noisy", {"max_depth": 3, "budget": 40, "criterion": "gain_ratio"}),
    ],
)
def test_the_page_grades_as_python_does(start, table, options):
    lesson = tw.lesson(table, **options)
    here, draw = start(lesson), random.Random(7)
    trees = [grown_at_random(lesson, draw, eagerness) for eagerness in (0.4, 0.7, 0.95) for _ in range(150)]
    trees += [list(tree.choices) for tree in lesson.trees]
    for choices, found in zip(trees, here.page.evaluate("trees => window.gradeAll(trees)", trees), strict=True):
        assert found == vars(lesson.grade(choices)), choices


def test_a_wrong_answer_then_the_right_one(start, admissions):
    here = start(admissions)
    page = here.page
    assert page.locator("#lesson-split").is_disabled()
    pick(here, "University")
    assert tile(here, "lost") == "4"
    assert page.locator("#lesson-verdict").inner_text() == ""  # first the arithmetic
    for line in range(3):
        page.click("#lesson-more")
        assert page.locator("#lesson-steps li").count() == 3 + line
    steps = page.locator("#lesson-steps").inner_text()
    traced = tw.candidates("admissions", preset="id3", per="total")["University"]
    assert f"gain = {traced.formula}" in steps
    assert f"= {traced.arithmetic}" in steps
    verdict = page.locator(".verdict").inner_text()
    assert verdict.startswith(
        "✗ Your gain 1.145, the best gain 7.145 bits: GPA = 3.5 | 3.7 | 4.0. Yours costs 6.000 bits"
    )
    assert "2 more rows wrong" in verdict
    page.click("#lesson-take-best")
    page.click("#lesson-all")
    assert page.locator(".verdict").inner_text().startswith("✓ Best")
    assert (tile(here, "lost"), tile(here, "best")) == ("2", "1 of 1")
    page.click("#lesson-undo")
    page.click("#lesson-undo")
    assert (tile(here, "leaves"), here.boxes()) == ("1", 1)


def test_the_tree_of_st_nordaf_is_graded(start, admissions):
    here = start(admissions)
    page = here.page
    for words in ("GPA", "Published", "University"):
        pick(here, words)
        page.click("#lesson-all")
        if words != "University":
            page.locator("#lesson-verdict").get_by_text("Next leaf").click()
    assert page.locator("#lesson-next").is_disabled()
    page.locator("#lesson-verdict").get_by_text("Grade my tree").click()
    assert page.locator("#grade-verdict").inner_text() == "✓ No tree of at most 6 leaves does better: proven."
    assert page.locator("#grade-own").inner_text().split("\t")[1] == "0 of 12"


def test_greedy_and_best_trees_are_shown(start, penguins):
    here = start(penguins)
    page = here.page
    while not page.locator("#lesson-next").is_disabled():
        page.locator("input[name=column]").first.check()
        if page.locator("#lesson-test").is_visible():
            page.select_option("#lesson-test", index=1)
        page.click("#lesson-split")
        page.keyboard.press("n")
    mine = [page.locator("#tree .node").count(), tile(here, "lost")]
    page.click("#lesson-finish")
    choices = [None if choice is None else choice for choice in page.evaluate("studentChoices()")]
    grade = penguins.grade(choices)
    rows = [page.locator(f"#grade-{name}").inner_text().split("\t")[1] for name in ("own", "greedy", "best")]
    assert rows == [f"{lost} of 344" for lost in (grade.lost, grade.greedy_lost, grade.best_lost)]
    page.locator("#grade-best button").click()
    assert tile(here, "lost") == str(grade.best_lost)
    assert page.locator("#lesson-split").count() == 0
    page.click("#lesson-own")
    assert [page.locator("#tree .node").count(), tile(here, "lost")] == mine


def test_the_grade_names_the_depth_of_the_trees_it_compares(start):
    here = start(tw.lesson(table_of_three(), "t", max_depth=2))
    here.page.click("#lesson-finish")
    assert "at most 1 leaf and depth 2" in here.page.locator("#grade-verdict").inner_text()
    for name in ("greedy", "best"):
        assert f"{name}, at most 1 leaf and depth 2" in here.page.locator(f"#grade-{name}").inner_text()


def test_by_keyboard_alone(start, admissions):
    here = start(admissions)
    page = here.page
    page.keyboard.press("n")
    for _ in range(30):
        if page.evaluate("document.activeElement.name === 'column'"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # the second column
    page.keyboard.press("Enter")
    assert tile(here, "leaves") == "3"
    for _ in range(40):
        if page.evaluate("document.activeElement.id === 'lesson-all'"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "lesson-take-best"
    page.keyboard.press("Enter")
    assert (tile(here, "leaves"), tile(here, "best")) == ("3", "1 of 1")
    page.keyboard.press("Control+z")
    assert tile(here, "best") == "0 of 1"
    page.keyboard.press("g")
    assert page.evaluate("document.activeElement.id") == "lesson-grade"
    assert page.locator("#grade-verdict").inner_text().startswith("Not as good as the greedy tree")


def test_on_a_telephone(start, penguins):
    here = start(penguins, width=360, height=740, has_touch=True, is_mobile=True)
    page = here.page
    page.get_by_label("flipper_length_mm").tap()
    page.select_option("#lesson-test", index=1)
    page.locator("#lesson-split").tap()
    page.locator("#lesson-all").tap()
    page.locator("#lesson-finish").tap()
    assert page.locator("#grade-verdict").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    heights = "it => [it.id || it.className, it.getBoundingClientRect().height]"
    sizes = page.evaluate(f"[...document.querySelectorAll('button:not(.small), select, .choice')].map({heights})")
    assert [name for name, height in sizes if 0 < height < 39] == []


def test_the_tree_is_centred_when_the_width_changes(start, admissions):
    page = start(admissions, width=700, height=844).page
    margins = """() => {
      const canvas = document.querySelector('#tree').getBoundingClientRect();
      const node = document.querySelector('#tree .node').getBoundingClientRect();
      return [node.left - canvas.left, canvas.right - node.right];
    }"""
    for width in (390, 800):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_function(f"() => {{ const [a, b] = ({margins})(); return Math.abs(a - b) < 12; }}", timeout=5_000)


def test_what_was_grown_is_there_after_closing_the_page(start, admissions, tmp_path):
    here = start(admissions)
    pick(here, "GPA")
    here.page.reload()
    here.page.wait_for_selector("html[data-ready=yes]")
    here.requests.pop()  # the page once more
    assert tile(here, "leaves") == "3"
    here.page.click("#lesson-restart")
    assert tile(here, "leaves") == "1"


def test_everything_has_a_name_for_a_screen_reader(start, admissions):
    here = start(admissions)
    pick(here, "GPA")
    here.page.click("#lesson-all")
    here.page.click("#lesson-finish")
    unnamed = """[...document.querySelectorAll('button, input, select, summary, [role]')]
      .filter(it => it.checkVisibility() && !(it.textContent.trim() || it.labels?.length || it.ariaLabel
      || it.getAttribute('role') === 'status')).map(it => it.outerHTML)"""
    assert here.page.evaluate(unnamed) == []


@pytest.mark.parametrize("names", BATCHES[::3])
def test_hostile_names_are_text(start, names):
    lesson = tw.lesson(hostile_table(names), "the target", preset="id3", budget=30)
    here = start(lesson)
    here.page.locator("input[name=column]").first.check()
    if here.page.locator("#lesson-test").is_visible():
        here.page.select_option("#lesson-test", index=1)
    here.page.click("#lesson-split")
    here.page.click("#lesson-all")
    here.page.click("#lesson-finish")
    text = here.page.inner_text("body")
    assert lesson.columns[0][:20].strip().split("  ")[0] in text
    assert here.page.locator("img, b:not([id]):not(#lesson-steps b):not(#lesson-banner b)").count() == 0
