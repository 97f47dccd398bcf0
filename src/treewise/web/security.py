"""The guard in front of every page and service: who may ask, from where, and how much.

An ASGI middleware without dependencies, around an application that knows nothing of it. A request passes, in order:

    Host                        a name this server has: a page elsewhere that resolves to 127.0.0.1 has another (421)
    Origin, Sec-Fetch-Site      none, this server, or one that was allowed (403); pages elsewhere cannot ask or post
    token                       as ``Authorization: Bearer …``, or in the cookie that ``?token=…`` leaves behind (401)
    Content-Length, the body    at most ``max_body`` bytes (413) within ``body_seconds`` (408)

Every answer carries headers that keep browsers from framing, sniffing, storing or running anything but our own files.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from treewise.errors import ParameterError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_COOKIE = "treewise-token"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Access:
    """The access rules that ``guard`` enforces.

    >>> Access(hosts=("localhost",)).is_known_host("localhost:8000"), Access().is_known_host("evil.example")
    (True, False)
    """

    hosts: tuple[str, ...] = LOOPBACK  # names by which the server may be addressed, without ports
    token: str | None = None
    origins: tuple[str, ...] = ()  # other origins whose pages may ask (CORS), such as https://example.org
    open_paths: tuple[str, ...] = ("/health", "/ready")  # answered without a token
    max_body: int = 16 << 20  # bytes
    body_seconds: float = 30.0  # for the whole body
    content_policy: str = CONTENT_POLICY

    def is_known_host(self, host: str) -> bool:
        """Tell whether a Host header names this server, whatever its port."""
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        return name is not None and "@" not in host and name.rstrip(".").lower() in self.hosts


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def access_for(
    host: str,
    token: str | None = None,
    names: Iterable[str] = (),
    origins: Iterable[str] = (),
    **limits: Any,
) -> Access:
    """Return the access of a server bound to an address; one that others can reach needs a token.

    ``names`` are further names by which it is addressed, such as that of the machine.

    >>> access_for("127.0.0.1").token is None, access_for("0.0.0.0", token="x" * 20, names=["ml.example"]).hosts[-1]
    (True, 'ml.example')
    >>> access_for("0.0.0.0")
    Traceback (most recent call last):
    treewise.errors.ParameterError: host="0.0.0.0": other machines can reach this address. Set a token too.
    """
    names = tuple(name.lower().rstrip(".") for name in names)
    if host not in LOOPBACK and not token:
        raise ParameterError(
            "other machines can reach this address.", parameter="host", value=host, hint="Set a token too."
        )
    if token is not None and (len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token):
        raise ParameterError("must have at least 16 characters, without spaces.", parameter="token", value="…")
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or origin != f"{parts.scheme}://{parts.netloc}":
            raise ParameterError("must be like https://example.org.", parameter="cors", value=origin)
    own = (socket.gethostname().lower(),) if host in ("0.0.0.0", "::", "") else (host.lower(),)
    hosts = tuple(dict.fromkeys((*LOOPBACK, *own, *names)))
    return Access(hosts, token, tuple(origins), **limits)


class Refusal(Exception):  # noqa: N818 - an answer, not a fault of the program
    """An answer that ends a request: a status, and a sentence that says why."""

    def __init__(self, status: int, reason: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, tuple(headers)


def guard(app: App, access: Access) -> App:
    """Return the application behind the checks of ``access``."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008})
                return
            await app(scope, receive, send)
            return
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        has_started = is_refused = False
        limited = _limited(receive, access)

        async def receive_or_refuse() -> Message:
            # Refused here, since an application may turn every exception into an answer of its own (starlette: 500).
            nonlocal is_refused
            try:
                return await limited()
            except Refusal as refusal:
                if not has_started:
                    await _respond(refusal, send_with_headers)
                    is_refused = True
                raise

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if is_refused:  # what the application makes of the refusal
                return
            if message["type"] == "http.response.start":
                has_started = True
                given = {name.lower() for name, _ in message.get("headers", ())}
                extra = [*_security_headers(access), *_cors_headers(access, _one(headers, b"origin"))]
                message["headers"] = [*message.get("headers", ()), *(h for h in extra if h[0] not in given)]
            await send(message)

        try:
            answer = _check(scope, headers, access)
            if answer is not None:
                await _respond(answer, send_with_headers)
                return
            await app(scope, receive_or_refuse, send_with_headers)
        except Refusal as refusal:
            if is_refused:
                return
            if has_started:
                raise
            await _respond(refusal, send_with_headers)

    return guarded


def _check(scope: Scope, headers: dict[bytes, list[bytes]], access: Access) -> Refusal | None:
    """Raise Refusal for a request that may not pass; return an answer that needs no application, or None."""
    host = _one(headers, b"host")
    if len(headers.get(b"host", [])) != 1 or not access.is_known_host(host):
        raise Refusal(421, "This server is not known by the name in the Host header.")
    origin = _one(headers, b"origin")
    own = f"{scope.get('scheme', 'http')}://{host}".lower()
    is_foreign = bool(origin) and origin.lower() != own
    if is_foreign and origin not in access.origins:
        raise Refusal(403, "Pages of this origin may not ask this server.")
    site = _one(headers, b"sec-fetch-site")
    if not is_foreign and site in ("cross-site", "same-site") and scope["method"] not in _SAFE_METHODS:
        raise Refusal(403, "Pages of other sites may not post to this server.")
    if scope["method"] == "OPTIONS" and is_foreign and b"access-control-request-method" in headers:
        return Refusal(204, "")  # the browser asks whether it may ask
    length = _one(headers, b"content-length")
    if length and (not length.isascii() or not length.isdigit() or len(length) > 18):
        raise Refusal(400, "Content-Length is not a number.")
    if length and int(length) > access.max_body:
        raise Refusal(413, f"The body has more than {access.max_body:,} bytes.", [(b"connection", b"close")])
    if access.token is not None and scope["path"] not in access.open_paths:
        return _check_token(scope, headers, access)
    return None


def _check_token(scope: Scope, headers: dict[bytes, list[bytes]], access: Access) -> Refusal | None:
    """Raise Refusal without the token; with it in the address of a page, return the way to the page and a cookie."""
    scheme, _, given = _one(headers, b"authorization").partition(" ")
    if scheme.lower() == "bearer" and _is_equal(given.strip(), access.token):
        return None
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    if scope["method"] == "GET" and any(key == "token" and _is_equal(value, access.token) for key, value in query):
        rest = urlencode([(key, value) for key, value in query if key != "token"])
        path = "/" + scope["path"].lstrip("/\\")  # //example.org would lead elsewhere
        location = (quote(path) + (f"?{rest}" if rest else "")).encode()
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        cookie = f"{_cookie_name(headers)}={access.token}; Path=/; HttpOnly; SameSite=Strict{secure}"
        return Refusal(303, "", [(b"location", location), (b"set-cookie", cookie.encode())])
    try:
        cookies = SimpleCookie(_one(headers, b"cookie"))
    except CookieError:
        cookies = SimpleCookie()
    name = _cookie_name(headers)
    if name in cookies and _is_equal(cookies[name].value, access.token):
        return None
    raise Refusal(401, "This server needs its token: Authorization: Bearer TOKEN.", [(b"www-authenticate", b"Bearer")])


def _cookie_name(headers: dict[bytes, list[bytes]]) -> str:
    """Return the name of the cookie: with the port, as cookies belong to a host and all of its ports share them."""
    try:
        port = urlsplit(f"//{_one(headers, b'host')}").port
    except ValueError:  # no number
        port = None
    return _COOKIE if port is None else f"{_COOKIE}-{port}"


def _is_equal(given: str, token: str | None) -> bool:
    return token is not None and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _limited(receive: Receive, access: Access) -> Receive:
    """Return ``receive`` that raises for a body that is too long or takes too long."""
    n_bytes, deadline, is_complete = 0, time.monotonic() + access.body_seconds, False

    async def limited() -> Message:
        nonlocal n_bytes, is_complete
        if is_complete:  # what comes now is the end of the connection
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0.001, deadline - time.monotonic()))
        except TimeoutError:
            reason = f"The body did not arrive within {access.body_seconds:g} seconds."
            raise Refusal(408, reason, [(b"connection", b"close")]) from None
        if message["type"] == "http.request":
            n_bytes += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if n_bytes > access.max_body:
                reason = f"The body has more than {access.max_body:,} bytes."
                raise Refusal(413, reason, [(b"connection", b"close")])
        return message

    return limited


def _security_headers(access: Access) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-security-policy", access.content_policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"cross-origin" if access.origins else b"same-origin"),
        (b"cache-control", b"no-store"),
    ]


def _cors_headers(access: Access, origin: str) -> list[tuple[bytes, bytes]]:
    if origin not in access.origins:
        return []
    return [
        (b"access-control-allow-origin", origin.encode()),
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-allow-headers", b"authorization, content-type"),
        (b"vary", b"origin"),
    ]


async def _respond(refusal: Refusal, send: Send) -> None:
    body = json.dumps({"error": {"reason": refusal.reason}}).encode() if refusal.reason else b""
    kind = [(b"content-type", b"application/json")] if body else []
    length = [] if refusal.status == 204 else [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": [*kind, *length, *refusal.headers]})
    await send({"type": "http.response.body", "body": body})


def _one(headers: dict[bytes, list[bytes]], name: bytes) -> str:
    """Return the first header of a name; empty if there is none."""
    return headers.get(name, [b""])[0].decode("latin-1").strip()
