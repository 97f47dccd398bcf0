"""The guard: hosts, origins, tokens, and the size and time of bodies."""

import asyncio
import json
from dataclasses import replace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from treewise.errors import ParameterError
from treewise.web.security import Access, access_for, guard, new_token

TOKEN = "a-token-of-enough-characters"


async def echo(scope, receive, send):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": body or b"hello"})


def ask(access, method="GET", path="/", app=echo, **options):
    async def run():
        transport = httpx.ASGITransport(guard(app, access))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8000") as client:
            return await client.request(method, path, **options)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *[(host, 200) for host in ("localhost", "localhost:8000", "127.0.0.1:1", "[::1]:80", "LOCALHOST")],
        *[(host, 421) for host in ("evil.example", "localhost.evil.example", "a@localhost", "", "[::1", "127.0.0.1.x")],
    ],
)
def test_hosts(host, status):
    assert ask(Access(), headers={"host": host}).status_code == status


def test_origins():
    for headers, status in (
        ({}, 200),
        ({"origin": "http://localhost:8000"}, 200),
        ({"origin": "http://localhost:9000"}, 403),
        ({"origin": "https://localhost:8000"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
    ):
        assert ask(Access(), "POST", headers=headers, content=b"x").status_code == status, headers
    allowed = Access(origins=("https://app.example",))
    answer = ask(allowed, "POST", headers={"origin": "https://app.example", "sec-fetch-site": "cross-site"})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "https://app.example")
    before = ask(allowed, "OPTIONS", headers={"origin": "https://app.example", "access-control-request-method": "POST"})
    assert (before.status_code, "POST" in before.headers["access-control-allow-methods"]) == (204, True)
    assert "access-control-allow-origin" not in ask(allowed).headers


def test_tokens():
    access = Access(token=TOKEN)
    assert ask(access).status_code == 401
    assert ask(access, path="/health").status_code == 200
    assert ask(access, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    for wrong in (f"Bearer {TOKEN}x", "Bearer ", "Bearer é", f"Basic {TOKEN}", TOKEN):
        assert ask(access, headers={"authorization": wrong.encode()}).status_code == 401, wrong
    entry = ask(access, path=f"/page?a=1&token={TOKEN}")
    assert (entry.status_code, entry.headers["location"]) == (303, "/page?a=1")
    cookie = entry.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ask(access, headers={"cookie": cookie.split(";")[0]}).status_code == 200
    assert ask(access, headers={"cookie": "treewise-token-8000=guess"}).status_code == 401
    assert ask(access, "POST", path=f"/?token={TOKEN}").status_code == 401
    assert (
        ask(access, path=f"http://localhost//evil.example/?token={TOKEN}")
        .headers["location"]
        .startswith("/evil.example/")
    )
    assert len({new_token() for _ in range(100)}) == 100


def test_servers_on_two_ports_keep_their_cookies_apart():
    cookies = {}
    for port in ("8000", "9000"):
        headers = {"host": f"localhost:{port}"}
        entry = ask(Access(token=port * 5), path=f"/?token={port * 5}", headers=headers)
        name, value = entry.headers["set-cookie"].split(";")[0].split("=")
        cookies[name] = value
    both = "; ".join(f"{name}={value}" for name, value in cookies.items())
    for port in ("8000", "9000"):
        headers = {"host": f"localhost:{port}", "cookie": both}
        assert ask(Access(token=port * 5), headers=headers).status_code == 200
    for host in ("localhost", "localhost:port", "localhost:99999"):
        entry = ask(Access(token=TOKEN), path=f"/?token={TOKEN}", headers={"host": host})
        assert entry.headers["set-cookie"].startswith(f"treewise-token={TOKEN};")


def test_bodies_that_are_too_long():
    access = Access(max_body=1000)
    assert ask(access, "POST", content=b"x" * 1000).text == "x" * 1000
    for content in (b"x" * 1001, iter([b"x" * 600, b"x" * 600])):
        pieces = content

        async def stream(pieces=pieces):
            for piece in pieces:
                yield piece

        sent = stream() if not isinstance(content, bytes) else content
        answer = ask(access, "POST", content=sent)
        assert (answer.status_code, "1,000 bytes" in answer.json()["error"]["reason"]) == (413, True)
    assert ask(access, "POST", headers={"content-length": "-5"}, content=b"x").status_code == 400


def test_a_refusal_is_not_a_fault_of_the_application():
    """Starlette answers any exception with 500 and raises it again."""

    async def read(request):
        return PlainTextResponse(await request.body())

    async def stream():
        for _ in range(3):
            yield b"x" * 600

    app = Starlette(routes=[Route("/", read, methods=["POST"])])
    answer = ask(Access(max_body=1000), "POST", app=app, content=stream())
    assert (answer.status_code, "1,000 bytes" in answer.json()["error"]["reason"]) == (413, True)
    assert ask(Access(max_body=2000), "POST", app=app, content=stream()).text == "x" * 1800


def test_bodies_that_take_too_long():
    async def run():
        sent = []

        async def receive():
            await asyncio.sleep(10)

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}
        await guard(echo, replace(Access(), body_seconds=0.05))(scope, receive, send)
        return sent

    start, body = asyncio.run(run())
    assert start["status"] == 408
    assert "0.05 seconds" in json.loads(body["body"])["error"]["reason"]


def test_headers_of_every_answer():
    for answer in (ask(Access()), ask(Access(), headers={"host": "evil.example"})):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_an_exposed_server_needs_a_token():
    with pytest.raises(ParameterError, match="other machines can reach this address"):
        access_for("0.0.0.0")
    with pytest.raises(ParameterError, match="at least 16 characters"):
        access_for("0.0.0.0", token="short")
    with pytest.raises(ParameterError, match="must be like https"):
        access_for("127.0.0.1", origins=["example.org/"])
    access = access_for("10.0.0.5", token=TOKEN, names=["ML.example."])
    assert access.is_known_host("10.0.0.5:8000")
    assert access.is_known_host("ml.example")
