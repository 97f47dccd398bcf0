"""The front end as two texts, whatever hosts it: a module in AFM form, and a style that concerns the workbench alone.

The module is the drawing code of the report followed by the files of ``assets/``, in order; it has no dependencies,
and hosts such as anywidget want it as one text. The style is that of the report and of the workbench, nested in
``.workbench``: a notebook has other things on its page.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_DRAWING = ("model.js", "layout.js", "boxes.js", "picture.js")  # of the report
_OWN = (
    *("connection.js", "charts.js", "node_panel.js", "candidates_panel.js", "history_panels.js"),
    *("regions_panel.js", "alternatives_panel.js", "workbench.js"),
)


@cache
def module_text() -> str:
    """Return the module: ``export default { render({ model, el }) }``."""
    return "\n".join([drawing_code(), *(read_asset("workbench", name) for name in _OWN)])


@cache
def drawing_code() -> str:
    """Return the code of the report that draws the tree: first part of the module, and of the page of a lesson."""
    return "\n".join(read_asset("show.report", name) for name in _DRAWING)


@cache
def style_text() -> str:
    """Return the style, nested in ``.workbench``; its width is what counts, not that of the window.

    >>> style_text().startswith(".workbench {"), ":root" in style_text(), "@media (max-width" in style_text()
    (True, False, False)
    """
    report = read_asset("show.report", "report.css").replace(":root", "&").replace("body {", "& {")
    report = re.sub(r"@page \{[^}]*\}", "", report)  # cannot be nested
    own = read_asset("workbench", "workbench.css")
    return f".workbench {{\n{report}\n{own}\n}}\n".replace("@media (max-width", "@container (max-width")


def page_script() -> str:
    """Return what the served page runs: a model over requests, and the module."""
    return read_asset("workbench", "page.js")


def read_asset(part: str, name: str) -> str:
    """Return a file of the ``assets`` of a part of the package."""
    return (files(f"treewise.{part}") / "assets" / name).read_text(encoding="utf-8").strip()
