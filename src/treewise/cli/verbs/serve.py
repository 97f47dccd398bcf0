"""``treewise serve``: models as a service on a port."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from treewise._lib.text import plural, safe
from treewise.cli.output import remark
from treewise.cli.verb import option, verb
from treewise.errors import PackageError


@verb(
    "serve",
    "MODEL… [options]",
    examples=(
        "treewise serve model.json",
        "treewise serve credit:1=old.json credit:2=new.json --port 9000 --log text",
        "TREEWISE_TOKEN=… treewise serve model.json --host 0.0.0.0 --name ml.example.org",
    ),
    about="MODEL is a saved tree or ensemble (.json), NAME=FILE or NAME:VERSION=FILE; the first is the default. POST"
    " /predict takes one row or many, as JSON or CSV; GET / is a page on which a row can be typed in, /openapi.json"
    " describes the rest. A file that changes is read again without losing a request. Needs the extra: pip install"
    ' "treewise[web]".',
)
@click.argument("models", nargs=-1, required=True, metavar="MODEL…")
@option(
    "--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on (default 127.0.0.1, this machine)."
)
@option("--port", type=click.IntRange(0, 65535), default=8000, metavar="N", help="Port (default 8000; 0 for any).")
@option(
    "--token",
    envvar="TREEWISE_TOKEN",
    metavar="TEXT",
    help="Token that requests must carry, needed for any other host; better set as TREEWISE_TOKEN.",
)
@option("--name", "names", multiple=True, metavar="HOST", help="A further name of this server in Host headers.")
@option(
    "--cors", "origins", multiple=True, metavar="ORIGIN", help="An origin whose pages may ask: https://example.org."
)
@option("--max-rows", type=click.IntRange(1), default=100_000, metavar="N", help="Rows of a request (default 100,000).")
@option(
    "--max-body",
    type=click.IntRange(1000),
    default=16 << 20,
    metavar="BYTES",
    help="Bytes of a request (default 16 MB).",
)
@option("--timeout", type=click.FloatRange(0.1), default=30.0, metavar="S", help="Seconds for a request (default 30).")
@option("--reload/--no-reload", default=True, help="Read files again when they change (the default).")
@option(
    "--log",
    type=click.Choice(("json", "text", "none")),
    default="json",
    metavar="json|text|none",
    help="A line for each request on standard error (default json).",
)
def command(
    models: Sequence[str],
    host: str,
    port: int,
    token: str | None,
    names: Sequence[str],
    origins: Sequence[str],
    max_rows: int,
    max_body: int,
    timeout: float,
    reload: bool,
    log: str,
) -> None:
    """Serve predictions until SIGTERM or Ctrl-C."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise PackageError(f'{error.name} is not installed. Install the extra: pip install "treewise[web]".') from None
    from treewise.web.models import ModelStore
    from treewise.web.run import listen, make_server
    from treewise.web.security import access_for
    from treewise.web.service import ServiceLimits, log_json, log_text, make_app

    access = access_for(host, token or None, names, origins, max_body=max_body, body_seconds=timeout)
    store = ModelStore(models)
    limits = ServiceLimits(max_rows, timeout, 1.0 if reload else 0.0)
    writers = {"json": log_json, "text": log_text, "none": lambda _: None}
    app = make_app(store, access, limits, writers[log])
    with listen(host, port) as listening:
        port = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        served = ", ".join(f"{m.name}:{m.version}" for m in store.all())
        remark("serve", f"{plural(len(store.all()), 'model')} ({safe(served)}) at http://{shown}:{port}/")
        server = make_server(app, host, port)
        sys.setswitchinterval(0.001)  # seconds until a thread that computes lets a small request pass
        server.run(sockets=[listening])
