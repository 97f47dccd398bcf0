"""Pictures of trees: no overlap, no clipping, well-formed files, names as plain text."""

import math
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support import handmade_trees as handmade
from tests.support import hostile_files as hostile
from tests.support.random_tables import limit_examples
from treewise.errors import ColumnError, ParameterError
from treewise.show.picture import picture as front
from treewise.show.picture import scene as letters
from treewise.show.picture.node_selection import MAX_LEVELS, SelectionLimits, select_nodes
from treewise.show.picture.scene import BoxShape, EdgeShape, ShapeGroup, TextShape, hatch_lines
from treewise.show.text_tree.text_tree import render_tree
from treewise.tree.arrays import LEAF

GOLDEN = Path(__file__).parents[2] / "golden" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "title", "g", "rect", "text", "path"}
ATTRIBUTES = {
    *("width", "height", "viewBox", "role", "font-family", "x", "y", "rx", "fill", "stroke", "stroke-width", "d"),
    *("stroke-dasharray", "stroke-opacity", "font-size", "font-weight", "text-anchor", "data-part"),
}
ATTACKS = [
    "<script>alert(1)</script>", "</text></svg><script>alert(1)</script>", "]]>", "<!-- ", "--><b>", "&amp;", "&#60;",
    '" onload="alert(1)', "' onmouseover='alert(1)", "javascript:alert(1)", "<![CDATA[x]]>", "<?xml?>", "\x00", "\x0b",
    "\ufffe", "\u202eevil", "a\nb", "%s{0}", "$\\frac{1}{2}$", "x" * 5000, "é" * 300, "東京" * 200, "🌲" * 50,
]  # fmt: skip


def parsed(svg):
    """Parse a picture; look at every element: only shapes and words, nothing that acts or refers."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ALLOWED
        assert set(element.attrib) <= ATTRIBUTES
        assert not any("url(" in value or "href" in value for value in element.attrib.values())
    return root


def overlap(one, other):
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def frames(group):
    """The box of a node and the one of its condition: those with round corners."""
    return [part for part in group.parts if isinstance(part, BoxShape) and part.radius]


def within(words, box):
    """Whether a text stays inside a box, by how wide it may be at most."""
    wide = letters.text_width(words.text, words.size, words.bold)
    left = words.x - {"start": 0, "middle": wide / 2, "end": wide}[words.anchor]
    across = box.x - 0.01 <= left and left + wide <= box.x + box.width + 0.01
    return across and box.y <= words.y - 0.7 * words.size and words.y + 0.25 * words.size <= box.y + box.height


def along(band):
    """Places on the bent part of a band."""
    _, *points, _ = band.points
    for i in range(21):
        t = i / 20
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        yield tuple(sum(w * p[axis] for w, p in zip(weights, points, strict=True)) for axis in (0, 1))


def check(picture):
    """Nothing overlaps, nothing is cut, and the SVG is well-formed."""
    scene = picture.scene
    groups = [part for part in scene.parts if isinstance(part, ShapeGroup)]
    paper = scene.parts[0]
    boxes = [frame for group in groups for frame in frames(group)]
    for i, one in enumerate(boxes):
        assert one.x >= 0
        assert one.y >= 0
        assert one.x + one.width <= scene.width
        assert one.y + one.height <= scene.height
        assert not any(overlap(one, other) for other in boxes[i + 1 :])
    for group in groups:
        for words in (part for part in group.parts if isinstance(part, TextShape)):
            assert any(within(words, frame) for frame in frames(group)), words
    for part in scene.parts:
        if isinstance(part, TextShape):
            assert within(part, paper)
            assert part.y < min(box.y for box in boxes)
        if isinstance(part, EdgeShape):
            for x, y in along(part):
                assert not any(b.x < x < b.x + b.width and b.y < y < b.y + b.height for b in boxes)
    parsed(picture.svg)
    return groups


# -- what is drawn --------------------------------------------------------------------------------


@limit_examples()
@given(handmade.trees(), st.sampled_from(["down", "right"]), st.integers(2, 12), st.sampled_from([None, 0, 1, 3]))
def test_any_tree_is_drawn_whole_and_legible(tree, direction, max_leaves, max_depth):
    check(tree.draw(direction=direction))
    groups = check(tree.draw(direction=direction, max_leaves=max_leaves, max_depth=max_depth))
    ends = {group.name for group in groups}
    assert len(ends) == len(groups)


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("data", ["admissions", "penguins", "food", "outlier", "four_points"])
def test_built_in_tables(data, direction):
    tree = tw.grow(data)
    groups = check(tree.draw(direction=direction))
    assert {group.name for group in groups} == {f"node {i}" for i in range(len(tree))}
    check(tree.draw(direction=direction, data=data))


def test_a_box_reports_what_its_node_asks_and_predicts():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    root, *_, last = check(tree.draw())
    assert [part.text for part in root.parts if isinstance(part, TextShape)] == [
        "flipper_length_mm?", "0", "344 rows · Adelie 44.2 %"
    ]  # fmt: skip
    assert [part.text for part in last.parts if isinstance(part, TextShape)] == [
        "= Biscoe", "Gentoo", "6", "100.0 % of 123 rows"
    ]  # fmt: skip
    assert last.title == "node 6: island = Biscoe\npredicts Gentoo\n123 rows\nGentoo: 123"


def bar_of(group):
    return [part for part in group.parts if isinstance(part, BoxShape) and not part.radius and part.height == 9]


def test_bars_are_as_long_as_the_classes_are_heavy():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    root, *_ = check(tree.draw())
    lengths = [part.width for part in bar_of(root)]
    assert np.allclose(np.array(lengths) / sum(lengths), [152 / 344, 68 / 344, 124 / 344])


def test_bands_are_as_wide_as_the_rows_that_take_them():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    widths = [part.width for part in tree.draw().scene.parts if isinstance(part, EdgeShape)]
    rows = tree.arrays.rows
    assert widths == pytest.approx([max(1.5, 28 * rows[i] / 344) for i in range(1, len(tree))])


def test_missing_values_are_marked_on_their_branch():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    dashed = [group.name for group in check(tree.draw()) if any(frame.dashed for frame in frames(group))]
    assert dashed == ["node 4"]  # "> 206.5 or missing"
    own = tw.parse("x <= 1 -> a\nx > 1 -> b\nx missing -> c")
    assert [group.name for group in check(own.draw()) if frames(group)[0].dashed] == ["node 3"]


def test_long_sets_are_shortened_and_told_in_full():
    levels = [f"level number {i}" for i in range(20)]
    tree = tw.grow({"c": levels * 2, "y": (["a"] * 10 + ["b"] * 10) * 2}, "y", selection="gain", min_level_rows=1)
    groups = check(tree.draw())
    assert any("+" in part.text for group in groups for part in group.parts if isinstance(part, TextShape))
    text = next(group.title for group in groups if "c in {" in group.title)
    assert sum(level in text for level in levels) == 10


def test_the_path_of_a_row_is_lit():
    tree = tw.grow("admissions", preset="id3")
    row = {"GPA": 3.7, "Published": "no", "University": "top20"}
    groups = check(tree.draw(highlight=row))
    lit = [group.name for group in groups if any(frame.stroke_width == 2.5 for frame in frames(group))]
    assert lit == [f"node {i}" for i in tree.path(5)]
    assert tree.draw(highlight=[3.7, "top20", "no", "good"]).svg == tree.draw(highlight=row).svg
    table = tw.datasets.admissions()
    assert tree.draw(highlight=table.take(np.array([5]))).svg != tree.draw().svg
    for number in range(12):
        lit = tree.draw(highlight=number, data=table).svg
        assert lit == tree.draw(highlight=table.take(np.array([number])), data=table).svg


def test_histograms_hold_the_rows_of_their_node():
    table = {"x": list(range(40)), "y": ["a"] * 20 + ["b"] * 20}
    root, *_ = check(tw.grow(table, "y").draw(data=table))
    bars = [p for p in root.parts if isinstance(p, BoxShape) and not p.radius and p.fill in ("#0072B2", "#E69F00")]
    tall = {colour: sum(bar.height for bar in bars if bar.fill == colour) for colour in ("#0072B2", "#E69F00")}
    assert tall["#0072B2"] == pytest.approx(tall["#E69F00"])
    assert max(bar.x for bar in bars if bar.fill == "#0072B2") <= min(bar.x for bar in bars if bar.fill == "#E69F00")


def marks(group):
    return [part.x + part.width / 2 for part in group.parts if isinstance(part, BoxShape) and part.width == 2.4]


def texts_of(group):
    return {part.text: part.x for part in group.parts if isinstance(part, TextShape)}


def test_few_whole_numbers_have_a_bar_each_and_the_mark_parts_them():
    """Also where the threshold is rounded: x <= 2 is drawn as x <= 2.5."""
    table = {"x": [1, 2, 3, 4] * 10, "y": ["a", "a", "b", "b"] * 10}
    for options in ({}, {"round_thresholds": True}):
        root, *_ = check(tw.grow(table, "y", **options).draw(data=table))
        places = texts_of(root)
        (mark,) = marks(root)
        assert places["2"] < mark < places["3"]
        assert mark == pytest.approx((places["2"] + places["3"]) / 2)


def test_levels_stand_beside_those_of_their_branch():
    table = {"c": ["a", "b", "c", "d"] * 10, "y": ["n", "p", "n", "p"] * 10}
    root, *_ = check(tw.grow(table, "y").draw(data=table))
    places, (mark,) = texts_of(root), marks(root)
    assert max(places["a"], places["c"]) < mark < min(places["b"], places["d"])


def test_outliers_do_not_squash_a_histogram():
    values = [i / 10 for i in range(400)] + [1e6]
    table = {"x": values, "y": ["a"] * 200 + ["b"] * 201}
    root, *_ = check(tw.grow(table, "y").draw(data=table))
    places, (mark,) = texts_of(root), marks(root)
    assert "≥ 39.6" in {text[:6] for text in places}
    assert places["19.95"] == pytest.approx(mark, abs=1)
    assert places["0"] + 20 < mark


def test_a_tree_written_by_hand_beside_a_table():
    classes = tw.parse("flipper_length_mm <= 206.5 -> Adelie\nflipper_length_mm > 206.5 -> Gentoo")
    root, *leaves = check(classes.draw(data="penguins"))
    assert len(root.parts) > 20
    assert all(len(leaf.parts) < 10 for leaf in leaves)
    check(classes.draw(data=tw.datasets.penguins().take(np.arange(0))))


def test_missing_categories_have_a_bar_of_their_own():
    table = {"c": ["a"] * 4 + ["b"] * 4 + [None] * 8, "y": ["n"] * 4 + ["p"] * 4 + ["n"] * 8}
    root, *_ = check(tw.grow(table, "y").draw(data=table))
    assert [part.text for part in root.parts if isinstance(part, TextShape)][2:5] == ["a", "missing", "b"]


def test_numbers_of_any_size_are_drawn():
    values = [-1.7e308, 0.0, 5e-324, 1.7e308, 1.0, 2.0]
    for y in (values, [3.0] * 6):
        table = {"x": [-1e308, -1.0, 0.0, 1.0, 5.0, 1e308], "y": y}
        tree = tw.grow(table, "y", task="regression")
        check(tree.draw())
        check(tree.draw(data=table))
    labels = {"x": [-1e308, -1.0, 0.0, math.inf, -math.inf, math.nan], "y": list("ababab")}
    check(tw.grow(labels, "y").draw(data=labels))


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (206.5, "≤ 206.5"),
        (0.537971036064431, "≤ 0.53797…"),
        (-0.000012345678, "≤ -1.2345678e-05"),
        (-0.0012345678, "≤ -0.0012345…"),
        (123.4567891, "≤ 123.456…"),
        (1234567.891234, "≤ 1234567.8…"),
        (1e300, "≤ 1e+300"),
    ],
)
def test_long_thresholds_are_shortened_and_told_in_full(cut, message):
    tree = tw.parse(f"x <= {cut!r} -> a\nx > {cut!r} -> b")
    group = check(tree.draw())[1]
    assert group.parts[1].text == message
    assert group.title.startswith(f"node 1: x <= {cut!r}")


# -- large trees --------------------------------------------------------------------------------


def large():
    rng = np.random.default_rng(0)
    return tw.grow({"x": rng.random(20_000), "y": rng.integers(0, 2, 20_000)}, "y")


def test_a_large_tree_is_drawn_in_part_and_is_reported():
    tree = large()
    assert tree.n_leaves > 5000
    groups = check(tree.draw())
    ends = [group for group in groups if any(frame.dashed for frame in frames(group))]
    assert len(groups) <= 2 * 60 - 1
    assert ends
    folded = sum(box.leaves for box in select_nodes(tree, SelectionLimits()))
    leaves = sum(1 for box in select_nodes(tree, SelectionLimits()) if tree.arrays.kind[box.node] == LEAF)
    assert folded + leaves == tree.n_leaves
    assert f"dashed boxes stand for {folded:,} of {tree.n_leaves:,} leaves" in tree.draw().svg


def test_the_heaviest_nodes_are_opened_first():
    tree = large()
    boxes = select_nodes(tree, SelectionLimits(max_leaves=20))
    opened = {boxes[box.parent].node for box in boxes if box.parent >= 0}
    shut = [box.node for box in boxes if box.is_folded]
    assert min(tree.arrays.weight[sorted(opened)]) >= max(tree.arrays.weight[shut])


@pytest.mark.parametrize("direction", ["down", "right"])
def test_as_deep_as_can_be(direction):
    tree = hostile.chain(100_000)
    groups = check(tree.draw(direction=direction))
    assert len(groups) == 2 * MAX_LEVELS + 1


def test_as_many_branches_as_can_be():
    levels = [f"level {i}" for i in range(3000)]
    tree = tw.grow(
        {"c": levels * 2, "y": ([0, 1] * 1500) * 2}, "y", categorical="multiway", selection="gain", min_level_rows=1
    )
    groups = check(tree.draw(max_leaves=12))
    assert len(groups) == 1 + 12
    assert groups[-1].title == "+ 2,989 more branches, 2,989 leaves"
    row = {"c": "level 2718"}
    assert f"node {tree.apply(row)}" in {group.name for group in check(tree.draw(max_leaves=12, highlight=row))}


def test_many_nodes_of_many_classes_are_drawn_in_the_room_of_those_shown():
    classes = [f"class {i}" for i in range(2000)]
    tree = tw.grow({"x": list(range(4000)), "y": [classes[i * 7 % 2000] for i in range(4000)]}, "y")
    tracemalloc.start()
    try:
        tree.draw(max_leaves=10)
        render_tree(tree, bars=True, max_lines=20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(tree) * len(tree.classes) / 4


def test_bounds_are_as_requested():
    tree = tw.grow("penguins")
    assert len(check(tree.draw(max_depth=0))) == 1
    depth = {group.name: tree.depths[int(group.name.split()[1])] for group in check(tree.draw(max_depth=2))}
    assert max(depth.values()) == 2
    assert [group.name for group in check(tree.draw(node=tree.children(0)[1], max_depth=0))] == [
        f"node {tree.children(0)[1]}"
    ]


# -- hostile names --------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_a_name_is_only_text(attack):
    """As a column, a level, a class and the target, in words and in full."""
    table = {
        attack: [attack, "b", attack, "c"] * 3,
        "n": [1, 2, 3, 4] * 3,
        f"{attack}!": [attack, "x", attack, "z"] * 3,
    }
    tree = tw.grow(table, target=f"{attack}!")
    picture = tree.draw(highlight={attack: attack, "n": 1}, data=table)
    check(picture)
    assert "<script" not in picture.svg
    assert len(picture.svg) < 200_000


@pytest.mark.parametrize("attack", ["$\\frac{1}{2}$", "東京🌲", "\x00", "x" * 5000])
def test_a_name_is_only_text_on_paper(attack):
    tree = tw.grow({attack: [attack, "b", attack, "c"] * 3, "y": [attack, "x", attack, "z"] * 3}, target="y")
    assert tree.draw().to_bytes("png")[:4] == b"\x89PNG"


def test_a_full_name_is_found_in_the_tooltip():
    name = "<b>&'" + "long " * 40 + "end"
    tree = tw.grow({name: [1, 2, 3, 4], "y": list("aabb")}, "y")
    titles = [element.text for element in parsed(tree.draw().svg).iter(f"{SVG}title")]
    assert any(name in title for title in titles)


# -- files --------------------------------------------------------------------------------


def test_files_by_their_ending(tmp_path):
    tree = tw.grow("penguins", max_leaf_nodes=4)
    for form, head in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        picture = tree.draw(tmp_path / f"tree.{form.upper()}")
        content = (tmp_path / f"tree.{form.upper()}").read_bytes()
        assert content[: len(head)] == head
        assert content == picture.to_bytes(form) == tree.draw().to_bytes(form)  # the same, always


def test_a_png_is_as_large_as_the_picture_twice():
    picture = tw.grow("penguins", max_leaf_nodes=4).draw()
    content = picture.to_bytes("png")
    size = [int.from_bytes(content[at : at + 4], "big") for at in (16, 20)]
    assert size == [2 * picture.scene.width, 2 * picture.scene.height]


def test_painting_leaves_no_trace_in_matplotlib():
    code = (
        "import treewise as tw, matplotlib as m, sys\n"
        "found = lambda: {name: m.rcParams[name] for name in m.rcParams if not name.startswith('backend')}\n"
        "before = found()\n"
        "tw.grow('admissions').draw().to_bytes('pdf')\n"
        "assert found() == before and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_svg_needs_no_other_library():
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "import treewise as tw\n"
        "picture = tw.grow('admissions').draw()\n"
        "assert picture.svg\n"
        "try: picture.to_bytes('png')\n"
        "except tw.TreewiseError as error: print(error)"
    )
    completed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert completed.stdout.strip() == (
        'PNG pictures are drawn by matplotlib, which is not installed: pip install "treewise[plot]";'
        " an .svg needs nothing."
    )


def test_letters_are_as_wide_as_the_fonts_say():
    ft2font = pytest.importorskip("matplotlib.ft2font")
    import matplotlib

    fonts = Path(matplotlib.get_data_path()) / "fonts"
    pairs = (("DejaVuSans.ttf", "phvr8a.afm", letters._REGULAR), ("DejaVuSans-Bold.ttf", "phvb8a.afm", letters._BOLD))
    for dejavu, helvetica, table in pairs:
        font = ft2font.FT2Font(str(fonts / "ttf" / dejavu))
        units, raw = font.units_per_EM, ft2font.LoadFlags.NO_SCALE
        one = [100 * font.load_char(code, flags=raw).horiAdvance / units for code in range(32, 127)]
        metrics = dict(re.findall(r"^C (\d+) ; WX (\d+)", (fonts / "afm" / helvetica).read_text("latin-1"), re.M))
        other = [int(metrics[str(code)]) / 10 for code in range(32, 127)]
        assert [math.ceil(max(pair)) for pair in zip(one, other, strict=True)] == list(table)
        for letter in "ÀéñøßŁЖщЯΩя€…·–≤≥→×±":
            advance = font.load_char(ord(letter), flags=raw).horiAdvance
            assert advance / units <= letters.text_width(letter, 1, "Bold" in dejavu), letter


@limit_examples()
@given(st.text(max_size=60), st.floats(20, 300))
def test_a_clipped_text_fits(text, room):
    clipped = letters.clip_to_width(text, room, 12)
    assert letters.text_width(clipped, 12) <= room or clipped == "…" or len(clipped) <= 2
    assert clipped == text or "…" in clipped


@limit_examples()
@given(st.floats(1, 300), st.floats(1, 40), st.sampled_from("/\\|-+x"))
def test_hatching_stays_inside(width, height, hatching):
    for x1, y1, x2, y2 in hatch_lines(5, 7, width, height, hatching):
        assert min(x1, x2) >= 5 - 1e-9
        assert max(x1, x2) <= 5 + width + 1e-9
        assert min(y1, y2) >= 7 - 1e-9
        assert max(y1, y2) <= 7 + height + 1e-9


# -- goldens --------------------------------------------------------------------------------


def pictures():
    admissions, penguins = tw.grow("admissions", preset="id3"), tw.grow("penguins", max_leaf_nodes=4)
    numbers = tw.grow("penguins", target="body_mass_g", max_leaf_nodes=4, drop_missing_target=True)
    return {
        "admissions": admissions.draw(highlight={"GPA": 3.7, "Published": "no", "University": "top20"}),
        "admissions-folded": admissions.draw(max_depth=1, direction="right"),
        "by-hand": tw.parse("x <= 1 -> a\nx > 1\n  city in {Bari, Rome} -> b\n  city otherwise -> a").draw(),
        "penguins": penguins.draw(),
        "penguins-histograms": penguins.draw(direction="right", data="penguins"),
        "regression": numbers.draw(),
    }


def test_goldens():
    """The pictures as they were looked at; TREEWISE_GOLDEN=write writes them anew, to be looked at again."""
    for name, picture in pictures().items():
        place = GOLDEN / f"{name}.svg"
        if os.environ.get("TREEWISE_GOLDEN") == "write":
            GOLDEN.mkdir(exist_ok=True)
            place.write_text(picture.svg, encoding="utf-8")
        check(picture)
        assert picture.svg == place.read_text(encoding="utf-8"), name


# -- errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"path": "tree.gif"}, "cannot draw tree.gif: a picture is saved as .svg, .png, .pdf or .tex."),
        ({"max_depth": -1}, "max_depth=-1: must be a whole number of 0 or more."),
        ({"max_leaves": 1}, "max_leaves=1: must be a whole number of 2 or more."),
        ({"max_leaves": 2.5}, "max_leaves=2.5: must be a whole number of 2 or more."),
        ({"direction": "up"}, 'direction="up": must be one of down, right.'),
        ({"node": 99}, "node=99: the tree has nodes 0 to 8."),
        ({"highlight": 3}, "highlight=3: the number of a row needs its table, data=…; or give the row."),
        ({"highlight": 12, "data": "admissions"}, "highlight=12: admissions has rows 0 to 11."),
        ({"highlight": "admissions"}, "highlight: must be a single row, a dict or a list of cells, not 12 rows."),
    ],
)
def test_drawing_errors(asked, message):
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}$"):
        front.draw(tw.grow("admissions", preset="id3"), **asked)


def test_a_row_must_report_what_its_path_asks_for():
    with pytest.raises(ColumnError, match='the row has no column "University", which node 3 tests'):
        tw.grow("admissions", preset="id3").draw(highlight={"GPA": 3.7, "Published": "no"})


def test_the_gallery_shows_what_is_drawn_today():
    script = Path(__file__).parents[3] / "docs" / "make_gallery.py"
    completed = subprocess.run([sys.executable, script, "--check"], check=False, capture_output=True, text=True)
    assert (completed.returncode, completed.stdout) == (0, ""), completed.stderr


def test_boxes_of_weighted_trees_are_not_cut_in_the_middle():
    tree = tw.forest("penguins", n_estimators=1)[0]
    picture = tree.draw()
    message = [part.text for group in check(picture) for part in group.parts if isinstance(part, TextShape)]
    share = max(tree.counts(0).values()) / 344
    assert f"weight 344 · Adelie {share * 100:.1f} %" in message
    assert not [text for text in message if "…" in text]
    assert f"{tree.arrays.rows[0]} rows\nweight 344" in picture.svg  # whoever points at the box is told both
