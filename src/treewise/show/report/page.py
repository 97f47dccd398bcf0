"""The page itself: the sections, the facts and the script in one HTML file that needs nothing else.

Below ``report``. Names and labels are data: texts are escaped where they stand, and the facts lie in a block of JSON in
which no character can end the block. A Content-Security-Policy allows the page's own script and style by their hashes
and nothing more: no request leaves the file, and nothing that came with the data can run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from treewise._lib.result_table import escape_html
from treewise.show.report.sections import ReportSection, legend
from treewise.tree.tree import Tree

SCRIPTS = ("model.js", "picture.js", "panels.js", "main.js")  # one module, in this order


@dataclass(frozen=True)
class PageHead:
    """What stands above the tree."""

    title: str
    size: str
    error: str
    answer: str
    warnings: Sequence[str] = ()


def page_html(tree: Tree, head: PageHead, facts: dict[str, Any], sections: Sequence[ReportSection]) -> str:
    """Return the whole file."""
    script = "\n".join(asset(name) for name in SCRIPTS)
    style = asset("report.css")
    policy = (
        f"default-src 'none'; script-src '{fingerprint(script)}'; style-src '{fingerprint(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    menu = "".join(f'<a href="#{section.id}">{escape_html(section.title)}</a>' for section in sections)
    below = "".join(f'<section id="{s.id}"><h2>{escape_html(s.title)}</h2>{s.html}</section>' for s in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape_html(head.title)}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{escape_html(head.title)}</h1>
<div class="tools"><button id="theme" type="button" title="Dark or light">◐</button>
<button id="print" type="button">Print</button></div>
<p class="facts">{escape_html(head.size)} · <strong>{escape_html(head.error)}</strong></p>
<p class="answer">{escape_html(head.answer)}</p>
</header>
<main>
{"".join(f'<p class="warn">{escape_html(text)}</p>' for text in head.warnings)}
{WORK.replace("<!--tables-->", TABLES if facts["test"] else "").replace("<!--legend-->", legend(tree))}
<nav aria-label="Sections">{menu}</nav>
{below}
</main>
<script type="application/json" id="facts">{in_script(facts)}</script>
<script type="module">{script}</script>
</body>
</html>
"""


TABLES = """<span role="group" aria-label="Whose rows are counted">
<button type="button" data-table="training" aria-pressed="true">training</button>
<button type="button" data-table="test" aria-pressed="false">test</button></span>"""

WORK = """<div class="work">
<div class="panel" id="picture">
<div class="tools"><!--tables-->
<label>find a column <input id="search" type="search" autocomplete="off"></label><span id="found" class="quiet"
role="status"></span><span class="space"></span>
<button id="fold-all" type="button">fold all</button>
<button id="unfold-all" type="button">unfold all</button>
<button id="smaller" type="button" aria-label="smaller">−</button>
<button id="larger" type="button" aria-label="larger">+</button>
<button id="fit" type="button">fit</button></div>
<svg id="tree" role="tree" aria-label="The tree: arrows move, right unfolds, left folds, Enter chooses"></svg>
<!--legend-->
<p class="quiet">Click a box for its rule and its figures, + to unfold. Drag to move; Ctrl and the wheel, or − and +, to
zoom. Keys: arrows, space, + − 0.</p>
<div id="rows"></div>
<noscript><p class="warn">The tree itself is drawn by a script, which is switched off here; the rules below say the
same.</p></noscript>
</div>
<div class="side">
<div class="panel"><h3>Ask the tree</h3><form id="ask"></form><div id="answer" role="status"></div>
<button id="forget" type="button" class="small">forget all</button></div>
<div class="panel" id="selected"></div>
</div>
</div>
<p id="said" class="hidden" role="status"></p>"""


def asset(name: str) -> str:
    """Return one of the page's own files."""
    return (files("treewise.show.report") / "assets" / name).read_text(encoding="utf-8").strip()


def fingerprint(text: str) -> str:
    """Return the hash by which a policy allows a script or a style.

    >>> fingerprint("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def in_script(facts: Any) -> str:
    """Write facts as JSON that no character of which can end a script block, or a line.

    >>> in_script({"name": "</script><b>&"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e\\\\u0026"}'
    """
    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
