"""The workbench as a page on loopback: a handful of fixed addresses behind the guard (``web/security.py``).

    GET /               the page                     POST /ask        one message of the page, answered by the session
    GET /workbench.js   its module, and /page.js     GET /model.json, /tree.txt, /tree.svg, /log.csv, /report.html
    GET /workbench.css  its style

No address has parameters, and no message names a file: what is written is decided when the server starts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from treewise._lib.result_table import escape_html
from treewise._lib.text import safe
from treewise.formats.model_file.model_file import dumps
from treewise.show.report.report import report_html
from treewise.web.security import App, access_for, guard
from treewise.workbench.module import module_text, page_script, style_text
from treewise.workbench.session import Session

_MAX_BODY = 1 << 20  # bytes of a message


def page(title: str) -> str:
    """Return the page, which is empty until its script has drawn it."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape_html(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/workbench.css">
</head>
<body>
<noscript><p>The workbench is drawn by a script, and scripts are disabled.</p></noscript>
<script type="module" src="/page.js"></script>
</body>
</html>
"""


def make_app(session: Session, token: str) -> App:
    """Return the application, behind the guard."""
    title = f"{safe(session.editor.tree.target.name)}: treewise"

    def text(content: Callable[[], str], kind: str, name: str = "") -> Callable[[Request], Awaitable[Response]]:
        async def answer(_: Request) -> Response:
            body = await asyncio.to_thread(content)
            headers = {"content-disposition": f'attachment; filename="{name}"'} if name else None
            return Response(body, media_type=f"{kind}; charset=utf-8", headers=headers)

        return answer

    async def ask(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return JSONResponse({"error": "a message is JSON"}, 415)
        try:
            message: Any = json.loads(await request.body())
        except (ValueError, RecursionError):
            return JSONResponse({"error": "a message is JSON"}, 400)
        return JSONResponse(await asyncio.to_thread(session.handle, message))

    def report() -> str:
        return report_html(session.editor.tree, session.table, session.validation)

    editor = session.editor
    routes = [
        Route("/", text(lambda: page(title), "text/html")),
        Route("/page.js", text(page_script, "text/javascript")),
        Route("/workbench.js", text(module_text, "text/javascript")),
        Route("/workbench.css", text(style_text, "text/css")),
        Route("/ask", ask, methods=["POST"]),
        Route("/model.json", text(lambda: dumps(editor.tree), "application/json", "model.json")),
        Route("/tree.txt", text(lambda: editor.tree.export("text"), "text/plain", "tree.txt")),
        Route("/tree.svg", text(lambda: editor.tree.draw().svg, "image/svg+xml", "tree.svg")),
        Route("/log.csv", text(lambda: editor.log().to_csv(safe_csv=True), "text/csv", "log.csv")),
        Route("/report.html", text(report, "text/html", "report.html")),
    ]
    return guard(Starlette(routes=routes), access_for("127.0.0.1", token, max_body=_MAX_BODY))
