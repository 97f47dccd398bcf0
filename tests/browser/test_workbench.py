"""The workbench in Chromium, on a real server: St. Nordaf by hand, a worse split, undo, lock, regrow, save, reopen."""

import re
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

import treewise as tw

pytest.importorskip("starlette", reason='no starlette: pip install "treewise[web]"')


@dataclass
class Workbench:
    page: object
    wrong: list = field(default_factory=list)

    def until(self, condition):
        """Wait for a condition in JavaScript; ``wait_for_function`` needs eval, which the page forbids."""
        for _ in range(400):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(condition)

    def nodes(self, n):
        self.until(f"document.querySelectorAll('#tree .node').length === {n}")
        self.until("!!document.querySelector('body:not([aria-busy]) #wb-candidates h3')")

    def select(self, node):
        self.page.locator(f'#tree [data-node="{node}"]').click()
        self.until(f"document.querySelector('#wb-node h3').textContent.startsWith('Node {node}')")
        self.until("!!document.querySelector('body:not([aria-busy]) #wb-candidates h3')")

    def do(self, verb):
        self.page.locator(f'[data-verb="{verb}"]').click()

    def error(self, table):
        return float(self.page.locator(f"#wb-{table}-error strong").inner_text().split()[0])


@pytest.fixture
def explore(chromium, tmp_path):
    """Start ``treewise explore`` and open its page; at the end nothing was logged and the server ends by Ctrl-C."""
    running, opened = [], []

    def start(*arguments, width=1300, height=1000, **options):
        command = [sys.executable, "-m", "treewise", "explore", *arguments, "--no-open"]
        server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        running.append(server)
        address = None
        while address is None:
            line = server.stderr.readline()
            assert line, "the server ended"
            address = re.search(r"http://\S+", line)
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(20_000)
        here = Workbench(context.new_page())
        here.page.on("console", lambda message: here.wrong.append(message.text))
        here.page.on("pageerror", lambda error: here.wrong.append(str(error)))
        here.page.goto(address[0])
        here.page.wait_for_selector("body[data-ready=yes]")
        opened.append((here, context))
        return here

    yield start
    for here, context in opened:
        context.close()
        assert here.wrong == []
    for server in running:
        server.terminate()
        server.communicate(timeout=20)


def test_the_tree_of_st_nordaf_grown_by_hand(explore, tmp_path):
    tw.datasets.admissions().to_pandas().to_csv(tmp_path / "admissions.csv", index=False)
    arguments = ["admissions.csv", "--target", "Class", "--preset", "id3", "--kind", "GPA=nominal", "-o", "hand.json"]
    here = explore(*arguments)
    page = here.page
    assert page.locator("#wb-candidates tbody tr").first.get_attribute("data-column") == "GPA"
    page.fill("#wb-reason", "the best of four")
    here.do("split")
    here.nodes(4)
    assert here.error("training") == 16.7
    here.select(2)
    page.locator('[data-column="University"]').click()  # a worse split, forced
    assert page.locator(".chosen .costs").inner_text() == "+1"
    here.do("force")
    here.nodes(7)
    assert here.error("training") == 16.7
    page.keyboard.press("Control+z")
    here.nodes(4)
    here.select(2)
    page.keyboard.press("s")
    here.nodes(6)
    here.select(3)
    page.keyboard.press("s")
    here.nodes(9)
    assert here.error("training") == 0
    page.locator("#wb-save").click()
    here.until("document.querySelector('#wb-status').textContent.includes('saved hand.json')")
    grown = tw.grow(str(tmp_path / "admissions.csv"), "Class", preset="id3", kinds={"GPA": "nominal"})
    saved = tw.load(tmp_path / "hand.json")
    assert [saved.condition(n) for n in range(9)] == [grown.condition(n) for n in range(9)]
    assert [step.get("reason") for step in saved.history if step.get("edit") == "split"] == ["the best of four", "", ""]
    assert explore(*arguments).page.locator("#tree .node").count() == 9  # the next start continues


def test_a_forced_split_raises_the_validation_error_and_is_taken_back(explore):
    here = explore("penguins", "--target", "species", "--validation", "0.3")
    page = here.page
    here.do("split")
    here.nodes(3)
    good = here.error("validation")
    here.select(0)
    page.locator('[data-column="body_mass_g"]').click()
    box = page.locator("#wb-chart").bounding_box()
    page.mouse.click(box["x"] + 0.1 * box["width"], box["y"] + 40)  # a threshold far from the best
    assert float(page.input_value("#wb-at")) < 3400
    page.fill("#wb-at", "3000")
    here.do("force")
    here.until("document.querySelectorAll('#wb-history tbody tr').length === 2")
    assert here.error("validation") > good
    page.locator("#wb-undo").click()
    here.until("document.querySelectorAll('#wb-history tbody tr').length === 1")
    assert here.error("validation") == good
    here.select(1)
    here.do("lock")
    here.until("document.querySelector('#wb-node h3').textContent.includes('locked')")
    here.do("split")
    here.until("document.querySelector('#wb-error').textContent.includes('locked')")
    here.do("lock")
    here.until("!document.querySelector('#wb-node h3').textContent.includes('locked')")
    here.do("regrow")
    here.until("document.querySelectorAll('#tree .node').length > 5")
    page.locator("#wb-show-rows").click()
    page.wait_for_selector("#wb-rows tbody tr")
    for download in ("model.json", "tree.txt", "tree.svg", "log.csv", "report.html"):
        assert page.request.get(page.url.rstrip("/") + "/" + download).ok


def test_another_tree_is_looked_at_and_adopted(explore):
    here = explore("penguins", "--target", "species", "--validation", "0.3")
    page = here.page
    here.do("split")
    here.nodes(3)
    page.locator("#wb-find-alternatives").click()
    page.locator('[data-alternative="1"]').click()
    here.until("!document.querySelector('.banner').hidden")
    shown = page.locator('[data-alternative="1"] td').all_inner_texts()
    question = page.locator('#tree [data-node="0"] .question').text_content()
    assert question.rstrip("?") in shown[0]
    page.keyboard.press("Escape")
    here.until("document.querySelector('.banner').hidden")
    assert page.locator('#tree [data-node="0"] .question').text_content() == "flipper_length_mm?"
    page.locator('[data-alternative="1"]').focus()
    page.keyboard.press("Enter")
    here.until("!document.querySelector('.banner').hidden")
    page.fill("#wb-reason", "fewer columns")
    here.do("adopt")
    here.until("document.querySelectorAll('#wb-history tbody tr').length === 2")
    assert page.locator('#tree [data-node="0"] .question').text_content() == question
    assert f"{here.error('training')} %" == shown[2]
    assert "fewer columns" in page.locator("#wb-history tbody tr").first.inner_text()
    page.locator("#wb-undo").click()
    here.until("document.querySelectorAll('#wb-history tbody tr').length === 1")


def test_the_tree_is_centred_after_turning_the_phone(explore):
    here = explore("penguins", "--target", "species", width=390, height=800, has_touch=True)
    here.do("split")
    here.nodes(3)

    def off_centre():
        canvas = here.page.locator("#tree").bounding_box()
        root = here.page.locator('#tree [data-node="0"]').bounding_box()
        return abs(canvas["x"] + canvas["width"] / 2 - root["x"] - root["width"] / 2)

    assert off_centre() < 30
    here.page.set_viewport_size({"width": 800, "height": 390})
    here.until("document.querySelector('#tree').getBoundingClientRect().width > 500")
    here.page.wait_for_timeout(100)
    assert off_centre() < 30


def test_a_phone_shows_everything_without_scrolling_sideways(explore):
    here = explore("penguins", "--target", "species", width=390, height=800, has_touch=True)
    here.do("split")
    here.nodes(3)
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 390


def drag(here, start, end):
    plane = here.page.locator("#wb-plane")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    corners = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    here.page.mouse.move(*corners[0])
    here.page.mouse.down()
    here.page.mouse.move(*corners[1], steps=4)
    here.page.mouse.up()
    here.until("!document.querySelector('#wb-proposals').textContent.startsWith('Draw')")


def test_a_region_is_drawn_and_becomes_splits(explore, tmp_path):
    here = explore("penguins", "--target", "species")
    page = here.page
    page.click("#wb-show-regions")
    here.until("document.querySelectorAll('#wb-plane .row').length === 342")
    page.select_option("#wb-y", "flipper_length_mm")
    here.until("document.querySelector('#wb-plane').getAttribute('aria-label').includes('flipper_length_mm')")
    drag(here, (0.02, 0.45), (0.98, 0.455))  # a line
    assert page.locator("#wb-proposals tr").count() == 1
    assert "flipper_length_mm <= " in page.locator("#wb-proposals tr").inner_text()
    page.fill("#wb-reason", "as drawn")
    drag(here, (0.05, 0.55), (0.45, 0.97))  # a rectangle
    here.until("document.querySelector('#wb-proposals p')?.textContent.startsWith('Inside: ')")
    here.do("cut-out")
    here.until("document.querySelectorAll('#wb-history tbody tr').length >= 2")
    n = page.locator("#wb-history tbody tr").count()
    assert page.locator("#wb-history td:last-child").all_inner_texts() == ["as drawn"] * n
    here.until(f"document.querySelectorAll('#wb-plane .area').length >= {n + 1}")
    first = page.locator("#wb-plane .area").first
    page.evaluate("document.querySelector('#wb-plane').scrollIntoView({block: 'center'})")
    box = first.bounding_box()
    page.mouse.click(box["x"] + 4, box["y"] + 4)  # the leaf of an area
    node = first.get_attribute("data-node")
    here.until(f"document.querySelector('#wb-node h3').textContent.startsWith('Node {node}')")
    here.until("!!document.querySelector('body:not([aria-busy]) #wb-candidates h3')")


def test_a_line_is_drawn_by_keyboard(explore):
    here = explore("penguins", "--target", "species", width=390, height=800, has_touch=True)
    here.page.click("#wb-show-regions")
    here.until("!!document.querySelector('#wb-plane')")
    here.page.focus("#wb-plane")
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        here.page.keyboard.press(key)
    here.until("!!document.querySelector('#wb-proposals button')")
    here.do("side")
    here.until("document.querySelectorAll('#tree .node').length === 3")
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 390
