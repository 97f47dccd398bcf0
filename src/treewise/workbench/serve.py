"""Running the workbench: a server on loopback with a random token, until Ctrl-C."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from treewise.web.run import listen, make_server
from treewise.web.security import new_token
from treewise.workbench.server import make_app
from treewise.workbench.session import Session

HOST = "127.0.0.1"


def run(session: Session, port: int, announce: Callable[[str], None]) -> None:
    """Serve a session; ``announce`` receives the address with its token as soon as the page can be opened."""
    token = new_token()
    with listen(HOST, port) as listening:
        server = make_server(make_app(session, token), HOST, listening.getsockname()[1])
        # what the page asks first is being computed while the browser opens
        threading.Thread(target=session.handle, args=({"do": "candidates", "node": 0},), daemon=True).start()
        announce(f"http://{HOST}:{listening.getsockname()[1]}/?token={token}")
        asyncio.run(server.serve(sockets=[listening]))
