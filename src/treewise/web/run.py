"""Run an application: uvicorn, on loopback unless told otherwise, with limits on time and connections.

uvicorn limits how long an idle connection is kept, not how long a client may take over the head of a request: a client
that sends one byte now and then (slow loris) would hold its connection for ever. ``TimedProtocol`` closes it.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from treewise._lib.text import safe
from treewise.errors import ParameterError
from treewise.web.security import App

_HEAD_SECONDS = 10.0
_MAX_CONNECTIONS = 200


class TimedProtocol(H11Protocol):
    """HTTP/1.1 in which the head of a request must arrive within some seconds of its beginning."""

    head_seconds = _HEAD_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time of the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.head_seconds, self._close_if_waiting)

    def data_received(self, data: bytes) -> None:
        """Handle data; while a head is incomplete, its time runs."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None and self.conn.trailing_data[0]:
            self._timer = self.loop.call_later(self.head_seconds, self._close_if_waiting)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time."""
        self._stop_timer()
        super().connection_lost(exc)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_if_waiting(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; an address that is taken or not of this machine is refused.

    With its protocol spelled out: asyncio switches Nagle's algorithm off for such sockets only, and with it each answer
    on a connection that is kept waits 40 ms for the client's acknowledgement.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        raise ParameterError(
            f"{safe(host)}:{port} cannot be listened on: {error.strerror}.", hint="Choose another --port."
        ) from None
    except BaseException:
        listening.close()
        raise
    return listening


def make_server(app: App, host: str = "127.0.0.1", port: int = 8000, **options: Any) -> uvicorn.Server:
    """Return a server for an application that is guarded already; ``options`` are of ``uvicorn.Config``."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=TimedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MAX_CONNECTIONS,
        h11_max_incomplete_event_size=16 << 10,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=10,
        **options,
    )
    return uvicorn.Server(config)
