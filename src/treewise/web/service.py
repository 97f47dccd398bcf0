"""``treewise serve``: a service that predicts, as an ASGI application (starlette) behind the guard of ``security.py``.

    POST /predict    one row or many, JSON or CSV       answers.py
    GET  /model      schema and metadata                openapi.py has the document of all this: /openapi.json
    GET  /models     names and versions                 models.py reads the files, again when they change
    GET  /health     the process runs                   GET /ready   it takes requests
    GET  /metrics    counts for Prometheus              metrics.py
    GET  /           the report of the tree: a row can be typed in, and is answered with its path

Small requests are answered at once; larger ones in a thread, so that they do not hold up the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from treewise._lib.result_table import escape_html
from treewise._lib.text import safe
from treewise._version import __version__
from treewise.show.report.report import report_html
from treewise.tree.tree import Tree
from treewise.web import answers
from treewise.web.answers import AnswerOptions, BadRequest
from treewise.web.metrics import Metrics
from treewise.web.models import ModelStore, ServedModel
from treewise.web.openapi import example_row, openapi
from treewise.web.security import Access, App, guard

_SMALL = 16 << 10, 100  # bytes and rows of a body that is answered at once
_MAX_BUSY = 32  # large requests, at work or waiting
_THREADS = max(2, os.cpu_count() or 1)  # more would only take turns, and hold up the small requests
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class ServiceLimits:
    """Limits of a request."""

    max_rows: int = 100_000
    seconds: float = 30.0
    reload_seconds: float = 1.0  # between two looks at the files; 0: never


Log = Callable[[dict[str, Any]], None]


def log_text(entry: dict[str, Any]) -> None:
    """Write the values of an entry as a line on standard error."""
    shown = [safe(str(value)) for key, value in entry.items() if key not in ("loaded", "sha256")]
    sys.stderr.write("  ".join(shown) + "\n")
    sys.stderr.flush()


def log_json(entry: dict[str, Any]) -> None:
    """Write an entry as a line of JSON on standard error."""
    sys.stderr.write(json.dumps(entry) + "\n")
    sys.stderr.flush()


class Service:
    """The state of the service, and the functions that answer."""

    def __init__(self, store: ModelStore, limits: ServiceLimits, log: Log, has_token: bool) -> None:
        self.store, self.limits, self.log, self.has_token = store, limits, log, has_token
        self.metrics, self.started, self.is_ready = Metrics(), time.time(), False
        self._threads = ThreadPoolExecutor(_THREADS, "predict")
        self._slots = BoundedSemaphore(_MAX_BUSY)
        self._page = functools.lru_cache(maxsize=4)(_page_of)

    # -- answers ------------------------------------------------------------------------------------------------

    async def predict(self, request: Request) -> Response:
        """Answer ``POST /predict``."""
        served, options = self._choose(request), _options_of(request)
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        if kind not in ("application/json", "text/csv"):
            raise BadRequest(415, "The body must be application/json or text/csv.")
        accepted = request.headers.get("accept", "*/*").lower()
        is_csv = "text/csv" in accepted or (kind == "text/csv" and "application/json" not in accepted)
        body = await request.body()
        work = functools.partial(self._answer, served, options, kind == "text/csv", body, is_csv)
        try:
            if _is_small(body, kind == "text/csv"):
                return work()
            return await self._in_thread(work)
        except BadRequest as error:
            if error.rows:
                self.metrics.add("treewise_bad_rows_total", len(error.rows), model=served.name, version=served.version)
            raise

    async def _in_thread(self, work: Callable[[], Response]) -> Response:
        if not self._slots.acquire(blocking=False):
            raise BadRequest(503, "The service is busy. Try again.")
        working = self._threads.submit(work)
        # A thread cannot be stopped: after the time is up it works on, and keeps its slot until it is done. A request
        # that still waits for a thread is dropped.
        working.add_done_callback(lambda _: self._slots.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(working), self.limits.seconds)
        except TimeoutError:
            raise BadRequest(503, f"The rows took more than {self.limits.seconds:g} seconds.") from None

    def _answer(self, served: ServedModel, options: AnswerOptions, is_csv: bool, body: bytes, as_csv: bool) -> Response:
        model, is_single = served.model, False
        if is_csv:
            table, rows = answers.read_csv_rows(model, body, self.limits.max_rows)
        else:
            rows, is_single = answers.parse_json(body, self.limits.max_rows)
            table, rows = answers.read_rows(model, rows)
        results = answers.answer(model, table, rows, options)
        labels = {"model": served.name, "version": served.version}
        self.metrics.add("treewise_rows_total", len(results), **labels)
        if model.task == "classification":
            for result in results:
                self.metrics.add("treewise_predictions_total", 1, **labels, label=str(result["prediction"]))
        if as_csv:
            return Response(answers.to_csv(results), media_type="text/csv")
        return JSONResponse({**labels, **results[0]} if is_single else {**labels, "predictions": results})

    async def model(self, request: Request) -> Response:
        """Answer ``GET /model``."""
        served = self._choose(request)
        model = served.model
        used = set(model.used_columns)
        columns = [
            {"name": e.name, "kind": e.kind, "levels": list(e.levels), "unit": e.unit, "is_tested": i in used}
            for i, e in enumerate(model.stored_encodings)
        ]
        size = {"leaves": model.n_leaves, "depth": model.depth} if isinstance(model, Tree) else {}
        return JSONResponse(
            {
                **_summary(served),
                "task": model.task,
                "target": model.target.name,
                "classes": list(model.classes),
                "trees": len(model.trees),
                **size,
                "columns": columns,
                "na_values": list(model.na_values),
                "example": example_row(model),
                "treewise": __version__,
            }
        )

    async def models(self, _: Request) -> Response:
        """Answer ``GET /models``."""
        return JSONResponse({"models": [_summary(served) for served in self.store.all()]})

    async def health(self, _: Request) -> Response:
        """Answer ``GET /health``."""
        return JSONResponse({"status": "ok", "treewise": __version__})

    async def ready(self, _: Request) -> Response:
        """Answer ``GET /ready``."""
        if not self.is_ready:
            raise BadRequest(503, "The service is being stopped.")
        return JSONResponse({"status": "ready", "models": len(self.store.all())})

    async def metrics_text(self, _: Request) -> Response:
        """Answer ``GET /metrics``."""
        gauges = [("treewise_started_seconds", "When the service started.", dict[str, str](), self.started)]
        for served in self.store.all():
            labels = {"model": served.name, "version": served.version, "sha256": served.sha256[:12]}
            gauges.append(
                ("treewise_model_loaded_seconds", "When the file of a model was read.", labels, served.loaded)
            )
        return PlainTextResponse(
            self.metrics.text(gauges), headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    async def openapi(self, _: Request) -> Response:
        """Answer ``GET /openapi.json``."""
        return JSONResponse(openapi(self.store.all(), self.limits.max_rows, self.has_token))

    async def page(self, request: Request) -> Response:
        """Answer ``GET /``: the report of a tree, whose script answers rows in the browser; the policy is in it."""
        served = self._choose(request)
        html = await run_in_threadpool(self._page, served)
        return HTMLResponse(html, headers={"content-security-policy": "frame-ancestors 'none'; base-uri 'none'"})

    def _choose(self, request: Request) -> ServedModel:
        try:
            return self.store.get(request.query_params.get("model"), request.query_params.get("version"))
        except KeyError as error:
            raise BadRequest(404, error.args[0]) from None

    # -- around the answers ---------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Watch the files while the service runs."""
        watching = asyncio.create_task(self._watch()) if self.limits.reload_seconds > 0 else None
        self.is_ready = True
        try:
            yield
        finally:
            self.is_ready = False
            if watching is not None:
                watching.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.limits.reload_seconds)
            await run_in_threadpool(self.store.reload_changed, self._note_reload)

    def _note_reload(self, served: ServedModel, error: str) -> None:
        outcome = "failed" if error else "ok"
        self.metrics.add("treewise_reloads_total", 1, model=served.name, version=served.version, outcome=outcome)
        self.log({"event": "reload", **_summary(served), "outcome": outcome, **({"reason": error} if error else {})})

    def watched(self, app: App) -> App:
        """Return the application with its requests counted and logged: no cell of a row is."""
        paths = {route.path for route in _routes(self)}

        async def watched_app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            begin, status = time.perf_counter(), 500

            async def send_and_note(message: Any) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, send_and_note)
            finally:
                seconds = time.perf_counter() - begin
                path = scope["path"] if scope["path"] in paths else "other"
                self.metrics.add("treewise_requests_total", 1, path=path, status=str(status))
                self.metrics.observe(path, seconds)
                self.log(
                    {
                        "event": "request",
                        "time": round(time.time(), 3),
                        "method": scope["method"][:10],
                        "path": safe(scope["path"])[:100],
                        "status": status,
                        "ms": round(1000 * seconds, 3),
                    }
                )

        return watched_app


def make_app(store: ModelStore, access: Access, limits: ServiceLimits | None = None, log: Log = log_json) -> App:
    """Return the application, guarded, counted and logged."""
    service = Service(store, limits or ServiceLimits(), log, access.token is not None)
    handlers: dict[Any, Callable[[Request, Any], Awaitable[Response] | Response]] = {
        BadRequest: lambda _, error: JSONResponse(error.to_dict(), error.status),
        HTTPException: _http_error,
        ClientDisconnect: lambda _, __: Response(status_code=499),  # as nginx logs it; nobody reads the answer
        Exception: _unexpected,
    }
    app = Starlette(routes=_routes(service), exception_handlers=handlers, lifespan=service.lifespan)
    return service.watched(guard(app, access))


def _routes(service: Service) -> list[Route]:
    return [
        Route("/predict", service.predict, methods=["POST"]),
        Route("/model", service.model),
        Route("/models", service.models),
        Route("/health", service.health),
        Route("/ready", service.ready),
        Route("/metrics", service.metrics_text),
        Route("/openapi.json", service.openapi),
        Route("/", service.page),
    ]


def _http_error(_: Request, error: Any) -> Response:
    reasons = {404: "There is no such path.", 405: "The path has no such method."}
    reason = reasons.get(error.status_code, str(error.detail))
    return JSONResponse({"error": {"reason": reason}}, error.status_code, headers=error.headers)


def _unexpected(_: Request, error: Any) -> Response:
    return JSONResponse({"error": {"reason": f"A bug in treewise: {type(error).__name__}."}}, 500)


def _is_small(body: bytes, is_csv: bool) -> bool:
    """Return whether a body is answered at once; its rows are counted from above, without reading it."""
    max_bytes, max_rows = _SMALL
    if len(body) > max_bytes:
        return False
    n_rows = max(body.count(b"\n"), body.count(b"\r")) if is_csv else body.count(b"{")
    return n_rows <= max_rows


def _options_of(request: Request) -> AnswerOptions:
    flags = {}
    for name in ("proba", "path", "reasons"):
        value = request.query_params.get(name, "false").lower()
        if value not in _FLAGS:
            raise BadRequest(400, f"{name} must be true or false.")
        flags[name] = _FLAGS[value]
    return AnswerOptions(**flags)


def _summary(served: ServedModel) -> dict[str, Any]:
    return {"model": served.name, "version": served.version, "sha256": served.sha256, "loaded": round(served.loaded, 3)}


def _page_of(served: ServedModel) -> str:
    """Return the page of a model: the report of a tree; of an ensemble, how to ask."""
    if served.tree is not None:
        return report_html(served.tree)
    command = f"curl -X POST /predict?model={served.name} -d '{json.dumps(example_row(served.model))}'"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape_html(served.name)}</title>'
        f"<h1>{escape_html(served.name)}</h1><p>{len(served.model.trees)} trees that predict"
        f" {escape_html(served.model.target.name)}.</p><pre>{escape_html(command)}</pre>"
        '<p><a href="/openapi.json">OpenAPI</a> · <a href="/model">model</a></p></html>'
    )
