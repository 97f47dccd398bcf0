"""The growth of a tree as one HTML page with a slider: tree, regions, candidates, and the log-likelihood rising.

Every step is drawn beforehand as SVG; the script shows one of them at a time. Without scripts all of them are shown,
one below the other. Names and labels are escaped, and a Content-Security-Policy allows the page's own script and style
alone: it makes no request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.html_page import html_page
from treewise._lib.result_table import escape_html
from treewise._lib.text import plural, safe
from treewise.data.table import read
from treewise.show.picture.plane_scene import PlanePicture, plane_picture
from treewise.show.picture.render import to_svg
from treewise.show.picture.scene import (
    BACKGROUND,
    FRAME,
    MUTED_TEXT,
    TEXT,
    BoxShape,
    LineShape,
    Part,
    TextShape,
    VectorScene,
)
from treewise.tree.arrays import LEAF

if TYPE_CHECKING:
    from treewise.explain.trace.nodes import NodeTrace
    from treewise.show.picture.steps import GrowthStep
    from treewise.tree.tree import Tree

_CHART_WIDTH, _CHART_HEIGHT = 420.0, 200.0
_TREE_WIDTH, _TREE_HEIGHT, _LARGEST = 680.0, 440.0, 1.6  # small trees are enlarged
_PLANE_SCALE = 1.25
_MAX_CANDIDATES = 10


def steps_page(
    steps: Sequence[GrowthStep],
    scenes: Sequence[VectorScene],
    data: Any,
    columns: tuple[str | None, str | None],
    unit: str,
    rows: bool | str | Sequence[str] = False,
) -> str:
    """Return the page; without data it shows the trees and the log-likelihood alone."""
    tree = steps[0].tree
    table = None if data is None else read(data, na_values=tree.na_values)
    plane = None if table is None else plane_picture([step.tree for step in steps], table, columns, rows)
    largest = max(scene.width for scene in scenes), max(scene.height for scene in scenes)
    scale = max(1.0, min(_TREE_WIDTH / largest[0], _TREE_HEIGHT / largest[1], _LARGEST))
    measure, values = _likelihoods([step.tree for step in steps], unit)
    pages = []
    for number, (step, scene) in enumerate(zip(steps, scenes, strict=True)):
        node = None if table is None or step.next_node is None else _trace(step, table, unit)
        pages.append(
            _step_html(number, step, replace(scene, scale=scale), node, plane, _chart(values, number, measure))
        )
    what = "growth and pruning" if any(step.is_cut for step in steps) else "growth"
    title = f"{tree.target.name}: {what} in {plural(len(steps) - 1, 'step')}"
    script, style = _read_asset("steps.js"), _read_asset("steps.css")
    body = f"""<header>
<h1>{escape_html(safe(title))}</h1>
<div id="controls" hidden>
<button type="button" id="back" aria-label="previous step">◀</button>
<input type="range" id="slider" min="0" max="{len(steps) - 1}" value="0" aria-label="step" aria-describedby="caption">
<button type="button" id="next" aria-label="next step">▶</button>
<output id="caption" for="slider" aria-live="polite"></output>
</div>
<p id="keys" hidden>Keys: ← and → move by one step, Home and End to the first and the last.</p>
</header>
<main>
{"".join(pages)}
</main>
<script>{script}</script>"""
    return html_page(safe(title), style, script, body)


def _step_html(
    number: int,
    step: GrowthStep,
    scene: VectorScene,
    node: NodeTrace | None,
    plane: PlanePicture | None,
    chart: VectorScene,
) -> str:
    caption = escape_html(safe(step.caption))
    parts = [f'<div class="tree"><h3>tree</h3>{to_svg(scene)}</div>']
    if plane is not None:
        regions = replace(plane.scene(step.tree, node), scale=_PLANE_SCALE)
        parts.append(f'<div class="regions"><h3>regions</h3>{to_svg(regions)}</div>')
    if node is not None:
        parts.append(f'<div class="candidates"><h3>candidates of the next split</h3>{_candidates_html(node)}</div>')
    parts.append(f'<div class="chart"><h3>{escape_html(chart.title)}</h3>{to_svg(chart)}</div>')
    panels = f'<div class="panels">{"".join(parts)}</div>'
    return f'<section data-caption="{caption}"><h2>{number}. {caption}</h2>{panels}</section>\n'


def _trace(step: GrowthStep, table: Any, unit: str) -> NodeTrace:
    assert step.next_node is not None
    return step.tree.trace(table, unit=unit)[step.next_node]


def _candidates_html(node: NodeTrace) -> str:
    """Return the best candidates as a table: test, impurity after it, gain."""
    tests = [test for column in node.columns.values() for test in column.tests]
    tests.sort(key=lambda test: (-test.gain, test.candidate.order))
    letter, form = node.number_format.letter, node.number_format.format
    best = node[node.winner].best if node.winner is not None else None
    rows = []
    for test in tests[:_MAX_CANDIDATES]:
        style = ' class="best"' if best is not None and test.candidate is best.candidate else ""
        cells = f"<td>{escape_html(test.label)}</td><td>{form(test.impurity_after)}</td><td>{form(test.gain)}</td>"
        rows.append(f"<tr{style}>{cells}</tr>")
    head = f"<tr><th>test</th><th>{letter} after</th><th>gain, {node.number_format.shown_unit}</th></tr>"
    more = len(tests) - _MAX_CANDIDATES
    note = f"<p>… {plural(more, 'more candidate')}</p>" if more > 0 else ""
    where = f"<p>node {node.id}: {escape_html(node.words)}; {letter} = {form(node.impurity)}</p>"
    return f"{where}<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>{note}"


def _likelihoods(trees: Sequence[Tree], unit: str) -> tuple[str, list[float]]:
    """Return the log-likelihood of the training rows under each tree, −Σ m·H; for numbers the squared error."""
    if trees[0].task == "regression":
        return "squared error on the training rows", [_leaf_sum(tree, tree.arrays.spread**2) for tree in trees]
    log = np.log2 if unit == "bits" else np.log
    values = []
    for tree in trees:
        a = tree.arrays
        node = np.repeat(np.arange(len(tree)), np.diff(a.count_start))
        total = np.bincount(node, a.count_weight, len(tree))
        at_leaf = (a.kind == LEAF)[node] & (a.count_weight > 0)
        share = a.count_weight[at_leaf] / total[node][at_leaf]
        values.append(float(np.sum(a.count_weight[at_leaf] * log(share))))
    return f"log-likelihood ℓ(T), {unit}", values


def _leaf_sum(tree: Tree, values: Any) -> float:
    leaves = (tree.arrays.kind == LEAF) & (tree.arrays.weight > 0)
    return float(np.sum(values[leaves] * tree.arrays.weight[leaves]))


def _chart(values: Sequence[float], current: int, title: str) -> VectorScene:
    """Return the values over the steps as a line, with the current one marked."""
    left, top, width, height = 64.0, 16.0, _CHART_WIDTH - 84, _CHART_HEIGHT - 52
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    points = [
        (left + width * i / max(1, len(values) - 1), top + height * (1 - (value - low) / span))
        for i, value in enumerate(values)
    ]
    segments = tuple((*start, *end) for start, end in pairwise(points))
    parts: list[Part] = [
        BoxShape(0, 0, _CHART_WIDTH, _CHART_HEIGHT),
        LineShape(((left, top, left, top + height), (left, top + height, left + width, top + height)), FRAME, 1.0),
    ]
    parts += [LineShape(segments, MUTED_TEXT, 1.6)] if segments else []
    parts += [BoxShape(x - 2.5, y - 2.5, 5, 5, MUTED_TEXT, radius=2.5) for x, y in points]
    x, y = points[current]
    parts.append(BoxShape(x - 6, y - 6, 12, 12, TEXT, BACKGROUND, 1.5, radius=6))
    for value in dict.fromkeys((low, high)):
        base = top + height * (1 - (value - low) / span) + 4
        parts.append(TextShape(left - 6, base, _format(value), 11, False, MUTED_TEXT, "end"))
    anchor = "end" if current > len(values) / 2 else "start"
    beside = x - 10 if anchor == "end" else x + 10
    parts.append(TextShape(beside, min(y + 20, top + height - 4), _format(values[current]), 12, True, TEXT, anchor))
    parts.append(TextShape(left + width, top + height + 24, "step", 11, False, MUTED_TEXT, "end"))
    return VectorScene(_CHART_WIDTH, _CHART_HEIGHT, title, tuple(parts))


def _format(value: float) -> str:
    if not value:
        return "0"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def _read_asset(name: str) -> str:
    return (files("treewise.show.picture") / "assets" / name).read_text(encoding="utf-8").strip()
