"""The HTML document of a report: sections, facts, script and style in one file.

Names and labels are data: texts are escaped, and the facts are a block of JSON in which no character can end the
block. A Content-Security-Policy allows only the page's own script and style, by their hashes: the page makes no
request, and nothing that came with the data can run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from treewise._lib.html_page import html_page, script_json
from treewise._lib.result_table import escape_html
from treewise.show.report.sections import ReportSection, colour_legend
from treewise.tree.tree import Tree

_SCRIPTS = (
    *("model.js", "counterfactual.js", "layout.js", "boxes.js", "picture.js"),
    *("outline.js", "map.js", "panels.js", "main.js"),
)  # one module, in this order


@dataclass(frozen=True)
class PageHead:
    """The text above the tree."""

    title: str
    size: str
    finding: str
    tiles: str = ""  # HTML
    warnings: Sequence[str] = ()


def page_html(tree: Tree, head: PageHead, facts: dict[str, Any], sections: Sequence[ReportSection]) -> str:
    """Return the HTML document."""
    script = "\n".join(_read_asset(name) for name in _SCRIPTS)
    style = _read_asset("report.css")
    menu = "".join(f'<a href="#{section.id}">{escape_html(section.title)}</a>' for section in sections)
    below = _sections_html(sections)
    workspace = _WORKSPACE.replace("<!--tables-->", _TABLE_BUTTONS if facts["test"] else "")
    workspace = workspace.replace("<!--legend-->", colour_legend(tree))
    if tree.n_leaves == 1:  # nothing to ask or to unfold
        workspace = workspace.replace('class="workspace"', 'class="workspace single"')
    body = f"""<header>
<h1>{escape_html(head.title)}</h1>
<div class="tools"><button id="theme" type="button" title="Dark or light">◐</button>
<button id="print" type="button">Print</button></div>
<p class="facts">{escape_html(head.size)}</p>
<p class="finding">{escape_html(head.finding)}</p>
{head.tiles}
</header>
<main>
{"".join(f'<p class="warning">{escape_html(text)}</p>' for text in head.warnings)}
{workspace}
<nav aria-label="Sections">{menu}</nav>
{below}
</main>
<script type="application/json" id="facts">{script_json(facts)}</script>
<script type="module">{script}</script>"""
    return html_page(head.title, style, script, body)


def _sections_html(sections: Sequence[ReportSection]) -> str:
    """Return the sections, one below the other; two charts of their own stand side by side."""
    html = {s.id: f'<section id="{s.id}"><h2>{escape_html(s.title)}</h2>{s.html}</section>' for s in sections}
    if html.keys() >= {"importances", "size"}:
        html["importances"] = f'<div class="pair">{html["importances"]}{html.pop("size")}</div>'
    return "".join(html.values())


_TABLE_BUTTONS = """<span role="group" aria-label="Rows counted in the boxes">
<button type="button" data-table="training" aria-pressed="true">training</button>
<button type="button" data-table="test" aria-pressed="false">test</button></span>"""

_WORKSPACE = """<div class="workspace">
<div class="panel" id="picture">
<div class="tools"><button id="predict" type="button">predict a row</button><!--tables-->
<input id="search" type="search" autocomplete="off" placeholder="find a column" aria-label="find a column">
<span id="matches" class="muted" role="status"></span><span class="space"></span>
<span role="group" aria-label="View"><button type="button" data-view="tree" aria-pressed="true">tree</button>
<button type="button" data-view="list" aria-pressed="false">list</button></span>
<button id="collapse-all" type="button">collapse</button>
<button id="expand-all" type="button">expand</button>
<span role="group" aria-label="Zoom"><button id="zoom-out" type="button" aria-label="zoom out">−</button>
<button id="zoom-in" type="button" aria-label="zoom in">+</button>
<button id="fit" type="button">fit</button></span></div>
<figure id="overview" hidden><svg id="map" preserveAspectRatio="none" role="img"
aria-label="Overview of the whole tree"></svg>
<figcaption class="muted">The whole tree: width is the share of rows, colour the prediction. Click to go to a
node.</figcaption></figure>
<svg id="tree" role="tree" aria-label="The tree: arrow keys move, right expands, left collapses, Enter selects"></svg>
<div id="outline" role="tree" aria-label="The tree as a list"></div>
<p id="folded" class="muted"></p>
<!--legend-->
<p class="muted">Click a box for its rule and statistics, its + to expand it. Drag to pan; zoom with Ctrl and the wheel,
or − and +. Keys: arrows, space, + − 0.</p>
<div id="rows"></div>
<noscript><p class="warning">The tree is drawn by a script, and scripts are disabled; the rules below are
equivalent.</p></noscript>
</div>
<div class="side">
<div class="panel" id="ask"><h3>Predict a row</h3><form id="form"></form><div id="prediction" role="status"></div>
<button id="clear" type="button" class="small">clear</button></div>
<div class="panel" id="details"></div>
</div>
</div>
<p id="announcement" class="hidden" role="status"></p>"""


def _read_asset(name: str) -> str:
    return (files("treewise.show.report") / "assets" / name).read_text(encoding="utf-8").strip()
