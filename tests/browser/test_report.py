"""The report in a real browser: fold, zoom, ask, "don't know", leaf → rule and rows, row → path, counterfactual, test
figures, print, a narrow screen, the keyboard; and names made to break out of a page.
"""

import random
import re

import numpy as np
import pytest

import treewise as tw
from tests.support.hostile_names import NAMES


@pytest.fixture(scope="module")
def penguins(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "penguins.html"
    tree = tw.grow("penguins", max_leaf_nodes=6)
    tree.report(path, "penguins", test=tw.datasets.penguins().head(50), rows="all")
    return tree, path


def test_folding(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    assert here.boxes() == len(tree)
    here.page.click("#collapse-all")
    assert here.boxes() == 1 + len(tree.children(0))
    here.box(tree.children(0)[0]).locator(".handle").click()
    assert here.boxes() > 1 + len(tree.children(0))
    here.page.click("#expand-all")
    assert here.boxes() == len(tree)


def test_boxes_do_not_overlap(penguins, open_page):
    here = open_page(penguins[1])
    frames = [box.bounding_box() for box in here.page.locator("#tree .node .frame").all()]
    for i, a in enumerate(frames):
        for b in frames[:i]:
            apart = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
            assert apart or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]


def test_every_box_is_seen_at_first(tmp_path, open_page):
    path = tmp_path / "page.html"
    tw.grow("noisy", max_leaf_nodes=12).report(path, "noisy")
    chain = {"x": list(range(40)), "y": list(range(40))}  # a tree as deep as it has leaves
    deep = tmp_path / "deep.html"
    tw.grow({**chain, "y": [2.0**i for i in range(40)]}, "y").report(deep, {**chain, "y": [2.0**i for i in range(40)]})
    for page, width in ((path, 1300), (path, 700), (deep, 1300)):
        here = open_page(page, width=width)
        view = here.page.locator("#tree").bounding_box()
        for box in here.page.locator("#tree .node").all():
            assert box.bounding_box()["x"] + box.bounding_box()["width"] <= view["x"] + view["width"]
            assert box.bounding_box()["y"] + box.bounding_box()["height"] <= view["y"] + view["height"]


def test_text_is_readable_at_rest(penguins, open_page):
    """The root is at the top, its children below it, and no text of the tree is smaller than 12 pixels."""
    tree, path = penguins
    here = open_page(path)
    root, child = here.box(0).bounding_box(), here.box(tree.children(0)[0]).bounding_box()
    assert child["y"] > root["y"] + root["height"]
    sizes = here.page.evaluate(
        "[...document.querySelectorAll('#tree text')].map(it =>"
        " parseFloat(getComputedStyle(it).fontSize) * it.getScreenCTM().a)"
    )
    assert min(sizes) >= 11.99
    question = here.box(0).locator(".question").text_content()
    assert question == f"{tree.split_at(0).column}?"
    assert here.box(0).locator(".summary").text_content() == "344 rows"


def test_zoom_and_pan(penguins, open_page):
    here = open_page(penguins[1])
    before = here.box(0).bounding_box()
    here.page.click("#zoom-in")
    assert here.box(0).bounding_box()["width"] > 1.1 * before["width"]
    here.page.click("#fit")
    place = here.page.locator("#tree").bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] - 8
    before = here.box(0).bounding_box()
    here.page.mouse.move(x, y)
    here.page.mouse.down()
    here.page.mouse.move(x + 60, y - 30, steps=4)
    here.page.mouse.up()
    after = here.box(0).bounding_box()
    assert (round(after["x"] - before["x"]), round(after["y"] - before["y"])) == (60, -30)


def test_a_leaf_shows_its_rule_and_its_rows(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    leaf = next(node.id for node in tree if node.is_leaf)
    here.box(leaf).click()
    panel = here.page.locator("#details")
    rule = next(rule for rule in tree.rules() if rule.node == leaf)
    assert f"{rule.text} → {rule.prediction}" in panel.inner_text()
    assert here.page.locator("#rows tbody tr").count() == min(50, tree[leaf].rows)
    assert f"Rows of node {leaf}" in here.page.locator("#rows").inner_text()


def test_an_inner_node_shows_its_computations(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    here.box(0).click()
    panel = here.page.locator("#details").inner_text()
    assert "Candidates" in panel
    root = tree.trace("penguins")[0]
    assert root["bill_length_mm"].words in panel
    assert here.page.locator("#details .computations tr", has_text="◄").count() == 1


def test_a_row_lights_its_path(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    here.page.locator("#rows tbody tr").nth(0).click()
    first = tree.apply(tw.datasets.penguins().head(1))[0]
    lit = {int(box.get_attribute("data-node")) for box in here.page.locator("#tree .node.highlighted").all()}
    assert lit == set(tree.path(int(first)))
    assert f"node {first}" in here.page.locator("#prediction").inner_text()


def ask(here, tree, row):
    """Type a row into the form; what is not in it stays open."""
    for column, value in row.items():
        field = here.page.locator(f"#input-{tree.columns.index(column)}")
        if field.count() == 0:
            continue  # a column the tree never asks about
        if field.evaluate("it => it.tagName") == "SELECT":
            field.select_option(label=str(value))
        else:
            field.fill(str(value))


def test_a_query_with_all_values(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    row = {"flipper_length_mm": 206.5, "bill_length_mm": 43.36, "island": "Dream"}
    ask(here, tree, row)
    message = here.page.locator("#prediction").inner_text()
    assert f"→ {tree.predict(row)}" in message
    assert f"node {tree.apply(row)}," in message


def test_dont_know_keeps_every_possible_branch(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    ask(here, tree, {"island": "Dream"})
    possible = {tree.apply({"island": "Dream", "flipper_length_mm": f, "bill_length_mm": b, "bill_depth_mm": 17,
                            "body_mass_g": 4000, "sex": "MALE"})
                for f in range(170, 235) for b in range(30, 62)}  # fmt: skip
    assert f"{len(possible)} leaves possible" in here.page.locator("#prediction").inner_text()
    here.page.click("#clear")
    assert here.page.locator("#tree .node.highlighted").count() == 0
    here.page.locator(f"#input-{tree.columns.index('flipper_length_mm')}").fill("tall")
    assert "enter a number" in here.page.locator("#form").inner_text()


def test_missing_is_an_answer(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    row = {"flipper_length_mm": None, "island": "Biscoe", "bill_length_mm": 40.0}
    ask(here, tree, {"island": "Biscoe", "bill_length_mm": 40.0})
    at = tree.columns.index("flipper_length_mm")
    here.page.locator(f'.field:has(#input-{at}) button:has-text("missing")').click()
    assert f"node {tree.apply(row)}," in here.page.locator("#prediction").inner_text()


def test_training_and_test_figures(penguins, open_page):
    here = open_page(penguins[1])
    assert "344" in here.box(0).text_content()
    here.page.click("[data-table=test]")
    assert "50" in here.box(0).text_content()
    assert "344" not in here.box(0).text_content()
    assert re.search(r"Test error\s+\d", here.page.locator("header").inner_text())


def test_searching_a_column(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    here.page.fill("#search", "ISLAND")
    here.page.wait_for_selector("#tree .match")
    expected = {node.id for node in tree if node.split is not None and node.split.column == "island"}
    assert {int(box.get_attribute("data-node")) for box in here.page.locator("#tree .match").all()} == expected


def test_the_keyboard_alone(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    here.box(0).focus()
    here.page.keyboard.press("ArrowRight")
    first = tree.children(0)[0]
    assert f"Node {first}" in here.page.locator("#details").inner_text()
    before = here.boxes()
    here.page.keyboard.press("ArrowLeft")  # folds
    assert here.boxes() < before
    here.page.keyboard.press("ArrowLeft")  # goes up
    assert "Node 0" in here.page.locator("#details").inner_text()
    assert here.page.evaluate("document.activeElement.dataset.node") == "0"


def test_a_rule_leads_to_its_leaf(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    here.page.locator("#rules button[data-leaf]").nth(1).click()
    assert f"Node {tree.rules()[1].node}" in here.page.locator("#details").inner_text()


def test_on_paper(penguins, open_page, tmp_path):
    here = open_page(penguins[1])
    here.page.emulate_media(media="print")
    assert not here.page.locator("#form").is_visible()
    here.page.emulate_media(media="screen")
    content = here.page.pdf(path=tmp_path / "page.pdf")
    assert content[:5] == b"%PDF-"
    assert here.page.locator("#tree").get_attribute("viewBox") is None  # back as it was


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(penguins, open_page, scheme):
    here = open_page(penguins[1], width=390, height=800, color_scheme=scheme)
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 390
    ground = here.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    here.page.click("#theme")
    assert here.page.evaluate("getComputedStyle(document.body).backgroundColor") != ground


def test_names_that_would_break_out(tmp_path, open_page):
    path, draw = tmp_path / "hostile.html", random.Random(3)
    names = [name for name in NAMES if name.strip() and len(name) < 300]
    table = {f"{name}{i}": [draw.choice(names) for _ in range(60)] for i, name in enumerate(names[12:20])}
    table["x<b>"] = [draw.random() for _ in range(60)]
    target = "</script><script>alert(1)</script>"
    table[target] = [draw.choice(names[13:16]) for _ in range(60)]
    tw.grow(table, target, max_depth=5).report(
        path, table, test=table, rows="all", title="<img src=x onerror=alert(2)>"
    )
    here = open_page(path)
    here.page.click("#expand-all")
    for box in here.page.locator("#tree .node").all()[:12]:
        box.dispatch_event("click")
    here.page.locator("#rows tbody tr").first.click()
    assert here.page.locator("img, iframe, script:not([type])").count() == 0
    assert here.page.title() == "<img src=x onerror=alert(2)>"


def follow_rows(here, tree, expected):
    """Click the first fifty rows, one after the other, and read where the page says each ends."""
    for row, end in enumerate(expected[:50]):
        here.box(0).dispatch_event("click")
        here.page.locator(f'#rows [data-row="{row}"]').evaluate("it => it.click()")
        assert f"node {end}" in here.page.locator("#prediction").inner_text(), row


@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_value"])
def test_every_row_ends_where_the_tree_says(tmp_path, open_page, categorical):
    """The page walks the tree by a model of its own, in JavaScript: all kinds of splits, ends of intervals, gaps."""
    draw, n = random.Random(1), 160
    table = {
        "x": [draw.choice([None, 0.1, 0.30000000000000004, 2.0, -1e300, float("inf")]) for _ in range(n)],
        "big": [draw.choice([2**60, 2**60 + 1, 2**60 + 2, -5]) for _ in range(n)],
        "day": [f"2024-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}" for _ in range(n)],
        "at": [f"1969-12-31 18:30:00,{draw.randint(0, 9**6):06d} +02:00" for _ in range(n)],
        "town": [draw.choice(["Rome", "Bari", " Turin ", None]) for _ in range(n)],
        "gpa": [draw.choice([3.5, 3.7, 4.0]) for _ in range(n)],
        "size": [draw.choice(["S", "M", "L"]) for _ in range(n)],
        "told": [draw.choice(["TRUE", "False", "true"]) for _ in range(n)],
        "a\nb": [draw.choice(["p\nq", "p\\nq"]) for _ in range(n)],
        "a\\nb": [draw.random() for _ in range(n)],
        "y": [draw.choice("abc") for _ in range(n)],
    }
    kinds = {"day": "datetime", "at": "datetime", "size": ["S", "M", "L"], "gpa": "nominal", "told": "boolean"}
    tree = tw.grow(table, "y", kinds=kinds, categorical=categorical, na_values=["?"])
    path = tmp_path / "page.html"
    tree.report(path, table, rows="all")
    follow_rows(open_page(path), tree, tree.apply({k: v for k, v in table.items() if k != "y"}).tolist())


@pytest.mark.parametrize("cells", [[1.5, 2.0, 3.0], [2**60, 2**60 + 1, 5], ["2024-01-01", "2024-02-01", "2024-03-01"]])
def test_a_presence_test_is_followed(tmp_path, open_page, cells):
    table = {"x": [*cells, None, None, cells[0], None], "y": list("pppnnpn")}
    tree = tw.grow(table, "y", kinds={"x": "datetime"} if isinstance(cells[0], str) else None)
    assert isinstance(tree.split_at(0), tw.Presence)
    path = tmp_path / "page.html"
    tree.report(path, table, rows="all")
    follow_rows(open_page(path), tree, tree.apply({"x": table["x"]}).tolist())


@pytest.mark.parametrize(
    ("kind", "typed", "cell"),
    [
        ("datetime", "2024-03-15 10:00:00.123456 +02:00", "2024-03-15 10:00:00.123456 +02:00"),
        ("datetime", "2024-3-15", None),
        ("datetime", "2024-02-30", None),
        ("datetime", "5", None),
        ("number", "1,234.5", 1234.5),
        ("number", "0,9", None),
        ("number", "1e3", 1000.0),
        ("number", "12 kg", None),
    ],
)
def test_what_is_typed_is_read_as_python_reads_it(tmp_path, open_page, kind, typed, cell):
    numbers = [0.5, 1000.2, 1234.4, 1234.6, 2000.0]
    moments = [f"2024-03-15 08:00:00.{i:06d}" for i in (123454, 123455, 123456, 123457, 123458)]
    table = {"x": numbers if kind == "number" else moments, "y": list("abcde")}
    tree = tw.grow(table, "y", kinds={"x": kind})
    path = tmp_path / "page.html"
    tree.report(path, table)
    here = open_page(path)
    here.page.fill("#input-0", typed)
    if cell is None:
        assert "enter a" in here.page.locator("#form").inner_text()
    else:
        assert f"node {tree.apply({'x': [cell]})[0]}," in here.page.locator("#prediction").inner_text()


def test_what_no_row_had_is_still_possible(tmp_path, open_page):
    table = {"g": list("aabb") * 10, "s": list("pqpq") * 10, "y": (["yes"] * 2 + ["yes", "no"]) * 10}
    tree = tw.grow(table, "y", kinds={"g": {"a", "b", "c"}}, preset="id3", empty_branch="root")
    path = tmp_path / "page.html"
    tree.report(path, table)
    here = open_page(path)
    here.page.locator("#input-1").select_option(label="p")
    lit = {int(box.get_attribute("data-node")) for box in here.page.locator("#tree .node.highlighted").all()}
    empty = next(node.id for node in tree if node.stop == "no_rows")
    assert empty in lit
    here.page.locator("#input-0").select_option(label="c")
    assert f"node {empty}, which predicts as node 0 (40 rows)" in here.page.locator("#prediction").inner_text()


def test_costs_decide_what_is_reported_of_rows_half_known(tmp_path, open_page):
    draw = random.Random(2)
    table = {"x": [draw.random() for _ in range(300)], "z": [draw.random() for _ in range(300)]}
    table["y"] = ["bad" if draw.random() < (0.1 + 0.3 * (x > 0.5)) else "good" for x in table["x"]]
    tree = tw.grow(table, "y", max_leaf_nodes=6, cost={"bad": {"good": 10}})
    path = tmp_path / "page.html"
    tree.report(path, table)
    here = open_page(path)
    used = sorted({node.split.column for node in tree if node.split is not None})
    assert used == ["x", "z"]
    here.page.fill(f"#input-{tree.columns.index('z')}", "0.9")
    answer = here.page.locator("#prediction").inner_text()
    shares = dict(re.findall(r"(good|bad) ([0-9.]+) %", answer.split("\n", 1)[1]))
    least = "bad" if 10 * float(shares["bad"]) > float(shares["good"]) else "good"
    assert answer.startswith(f"→ {least}")


def test_a_large_tree_opens_folded(tmp_path, open_page):
    draw = random.Random(5)
    table = {"x": [draw.random() for _ in range(4000)], "z": [draw.random() for _ in range(4000)]}
    table["y"] = [draw.choice("ab") for _ in range(4000)]
    path = tmp_path / "large.html"
    tree = tw.grow(table, "y")
    tree.report(path, table)
    here = open_page(path)
    assert here.boxes() < 80 < tree.n_leaves
    assert path.stat().st_size < 5_000_000
    assert "memorised" in here.page.locator(".warning").first.inner_text()


def test_the_counterfactual_is_that_of_explain(penguins, open_page):
    tree, path = penguins
    here, rows = open_page(path), tw.datasets.penguins()
    for row in range(0, 50, 4):
        here.box(0).dispatch_event("click")
        here.page.locator(f'#rows [data-row="{row}"]').evaluate("it => it.click()")
        text = here.page.locator("#prediction .counterfactual").inner_text()
        actual = tree.explain(rows.take(np.array([row])))[0].counterfactual
        assert text.startswith(f"Would be {actual.prediction} if ")
        assert f"(node {actual.node}:" in text


def test_the_panels_come_beside_a_wide_tree(tmp_path, open_page):
    """A tree that needs the whole width has its panels below it; a click or the form brings them beside it."""
    path, table = tmp_path / "page.html", tw.datasets.noisy(2000, seed=1)
    tree = tw.grow(table, "y", max_leaf_nodes=24)
    tree.report(path, table)
    here = open_page(path, width=1440)
    below = here.page.locator("#tree").bounding_box()
    assert here.page.locator("#ask").bounding_box()["y"] > below["y"] + below["height"]
    here.box(tree.children(0)[0]).click()
    picture, panel = here.page.locator("#picture").bounding_box(), here.page.locator("#details").bounding_box()
    assert panel["x"] >= picture["x"] + picture["width"]
    assert here.page.locator("#details").inner_text().startswith(f"Node {tree.children(0)[0]}")
    here.page.click("#fit")
    assert here.page.locator("#tree").bounding_box()["width"] == below["width"]
    here.page.click("#predict")
    assert here.page.evaluate("document.activeElement.closest('#form') !== null")
    assert here.page.locator("#ask").bounding_box()["x"] >= picture["x"] + picture["width"]


def test_the_conditions_of_a_counterfactual_are_merged(tmp_path, open_page):
    path, table = tmp_path / "page.html", {"x": [0, 1, 2, 3] * 5, "y": ["a", "b", "a", "a"] * 5}
    tree = tw.grow(table, "y", selection="gain")
    tree.report(path, table)
    here = open_page(path)
    here.page.fill("#input-0", "3")
    assert "Would be b if 0.5 < x <= 1.5" in here.page.locator(".counterfactual").inner_text()


def test_a_value_outside_the_training_range_is_marked(penguins, open_page):
    tree, path = penguins
    here = open_page(path)
    ask(here, tree, {"flipper_length_mm": 300})
    assert "outside the training range, 172 to 231" in here.page.locator("#form").inner_text()
    ask(here, tree, {"flipper_length_mm": 200})
    assert "outside" not in here.page.locator("#form").inner_text()


def test_the_whole_path_stays_in_view(tmp_path, open_page):
    path = tmp_path / "page.html"
    tree = tw.grow("noisy", max_leaf_nodes=40)
    tree.report(path, "noisy", rows="all")
    here = open_page(path, width=900)
    leaves = tree.apply("noisy")
    deepest = max(range(50), key=lambda row: len(tree.path(int(leaves[row]))))
    here.page.locator(f'#rows [data-row="{deepest}"]').evaluate("it => it.click()")
    view = here.page.locator("#tree").bounding_box()
    nodes = tree.path(int(leaves[deepest]))
    for node in nodes:
        box = here.box(node).locator(".frame").bounding_box()
        assert box["x"] >= view["x"] - 1
        assert box["x"] + box["width"] <= view["x"] + view["width"] + 1
        assert box["y"] + box["height"] <= view["y"] + view["height"] + 1
    steps = here.page.locator("#prediction .steps li").all_inner_texts()
    assert [step.split("\n")[0] for step in steps] == [tree.condition(node) for node in nodes[1:]]


def test_a_large_tree_has_an_overview(tmp_path, open_page):
    path = tmp_path / "page.html"
    tree = tw.grow(tw.datasets.noisy(4000, noise=0.3), "y")
    tree.report(path, tw.datasets.noisy(4000, noise=0.3))
    here = open_page(path)
    assert here.page.locator("#overview").is_visible()
    hidden = here.page.locator("#map .folded").last
    node = int(hidden.get_attribute("data-map"))
    hidden.dispatch_event("click")
    assert f"Node {node}" in here.page.locator("#details").inner_text()
    assert here.box(node).count() == 1


def test_print_has_the_whole_tree(tmp_path, open_page):
    """A tree that fits is printed as a picture, a larger one as a list; neither has anything folded away."""
    for leaves, is_legible in ((5, True), (60, False)):
        path, tree = tmp_path / f"{leaves}.html", tw.grow("noisy", max_leaf_nodes=leaves)
        tree.report(path, "noisy")
        here = open_page(path)
        here.page.click("#collapse-all")
        here.page.emulate_media(media="print")
        here.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert here.page.locator("#tree").is_visible() == is_legible
        assert here.page.locator("#outline").is_visible() != is_legible
        shown = "#tree .node" if is_legible else "#outline .line"
        assert here.page.locator(shown).count() == len(tree)
        here.page.evaluate("dispatchEvent(new Event('afterprint'))")
        here.page.emulate_media(media="screen")
        assert here.boxes() == 3


def test_on_a_phone_the_rule_is_readable(penguins, open_page):
    tree, path = penguins
    here = open_page(path, width=390, height=800)
    assert not here.page.locator("#tree").is_visible()
    lines = here.page.locator("#outline .line")
    assert lines.count() == len(tree)
    for line in lines.all():
        condition = line.locator(".condition")
        assert condition.inner_text() == tree.condition(int(line.get_attribute("data-line")))
        box = condition.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    leaf = next(node.id for node in tree if node.is_leaf)
    here.page.locator(f'[data-line="{leaf}"]').click()
    rule = here.page.locator("#details .rule")
    assert rule.bounding_box()["width"] <= 390
    here.page.click("[data-view=tree]")
    assert here.page.locator("#tree").is_visible()
    assert not here.page.locator("#outline").is_visible()


def test_charts_follow_the_colour_scheme(tmp_path, open_page):
    path = tmp_path / "page.html"
    tw.grow("noisy", max_depth=3).report(path, "noisy", test=tw.datasets.noisy(seed=1))
    here = open_page(path, color_scheme="dark")
    assert here.page.locator("#performance .chart").count() == 6
    ground = here.page.locator("#performance .chart svg > rect").first
    assert ground.evaluate("it => getComputedStyle(it).fill") == "rgb(21, 24, 29)"
    sizes = here.page.evaluate(
        "[...document.querySelectorAll('.chart text')].map(it => it.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 12


def test_inline_in_a_notebook(tmp_path, open_page, chromium):
    """Without a path the page is in a frame, where its script runs and reaches nothing outside."""
    report = tw.grow("penguins", max_depth=2).report(data="penguins")
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><html data-ready=yes><body>{report._repr_html_()}</body></html>", encoding="utf-8")
    page = chromium.new_page()
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready=yes]").wait_for(timeout=10_000)
    assert frame.locator("#tree .node").count() == 7
    report.save(tmp_path / "saved.html")
    assert (tmp_path / "saved.html").read_text(encoding="utf-8") == report.html
    page.close()


def test_a_frame_that_grows_shows_the_tree(penguins, open_page):
    """A notebook may lay out its frame narrow at first; the view follows its width until one is chosen."""
    here = open_page(penguins[1], width=390)
    assert here.page.locator("#outline").is_visible()
    here.page.set_viewport_size({"width": 1300, "height": 900})
    here.page.wait_for_selector("#tree", state="visible")
    here.page.click("[data-view=list]")
    here.page.set_viewport_size({"width": 390, "height": 900})
    here.page.set_viewport_size({"width": 1300, "height": 900})
    assert here.page.locator("#outline").is_visible()
