"""The service: answers, refusals, models that change, and a real server with clients that dawdle."""

import asyncio
import functools
import json
import re
import signal
import socket
import threading
import time

import httpx
import pytest

import treewise as tw
from tests.support.service import post
from treewise.errors import TreewiseError
from treewise.web import answers, models
from treewise.web.models import ModelStore
from treewise.web.security import Access
from treewise.web.service import ServiceLimits, log_text, make_app

ROW = {"flipper_length_mm": 190, "bill_length_mm": 50}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    tw.grow("penguins", target="species", max_leaf_nodes=4).save(folder / "penguins.json")
    tw.grow("penguins", target="body_mass_g", drop_missing_target=True, max_depth=2).save(folder / "mass.json")
    tw.forest("penguins", target="species", n_estimators=3).save(folder / "forest.json")
    return folder


@pytest.fixture(scope="module")
def ask(folder):
    entries = []
    store = ModelStore([str(folder / name) for name in ("penguins.json", "mass.json", "forest.json")])
    app = make_app(store, Access(max_body=100_000), ServiceLimits(max_rows=50), entries.append)

    def send(method, path, content=None, kind="application/json", **headers):
        async def run():
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                body = json.dumps(content) if content is not None and not isinstance(content, (str, bytes)) else content
                return await client.request(method, path, content=body, headers={"content-type": kind, **headers})

        return asyncio.run(run())

    send.log = entries
    return send


def test_one_row_and_many(ask, folder):
    tree = tw.load(folder / "penguins.json")
    one = ask("POST", "/predict?proba=true&path=1&reasons=true", ROW).json()
    assert (one["prediction"], one["node"], one["model"], one["version"]) == ("Chinstrap", 3, "penguins", "1")
    assert list(one["probabilities"].values()) == tree.predict_proba(ROW).tolist()
    assert [step["condition"] for step in one["path"]] == ["flipper_length_mm <= 206.5", "bill_length_mm > 43.35"]
    assert one["reasons"] == tree.explain(ROW).sentence
    table = tw.datasets.penguins().to_polars()[:50]
    many = ask("POST", "/predict", table.to_dicts()).json()["predictions"]
    assert [answer["prediction"] for answer in many] == tree.predict(table).tolist()
    text = ask("POST", "/predict?proba=true", table.write_csv(), "text/csv")
    assert text.headers["content-type"].startswith("text/csv")
    assert text.text.splitlines()[0] == "prediction,node,p_Adelie,p_Chinstrap,p_Gentoo"
    assert [line.split(",")[0] for line in text.text.splitlines()[1:]] == tree.predict(table).tolist()
    as_json = ask("POST", "/predict", table.write_csv(), "text/csv", accept="application/json").json()
    assert as_json["predictions"] == many
    mass = ask("POST", "/predict?model=mass&reasons=1", {"species": "Gentoo", "sex": None}).json()
    assert mass["prediction"] == tw.load(folder / "mass.json").predict({"species": "Gentoo", "sex": None})
    row = table.to_dicts()[0]
    assert ask("POST", "/predict?model=forest", row).json()["prediction"] == tw.load(folder / "forest.json").predict(
        row
    )


def test_facts_about_models(ask):
    model = ask("GET", "/model").json()
    assert (model["classes"], model["leaves"], model["task"]) == (
        ["Adelie", "Chinstrap", "Gentoo"],
        4,
        "classification",
    )
    assert {c["name"] for c in model["columns"] if c["is_tested"]} == {"island", "bill_length_mm", "flipper_length_mm"}
    assert ask("POST", "/predict", model["example"]).status_code == 200
    assert [m["model"] for m in ask("GET", "/models").json()["models"]] == ["penguins", "mass", "forest"]
    document = ask("GET", "/openapi.json").json()
    row = document["components"]["schemas"]["Row"]
    assert ask("POST", "/predict", row["example"]).status_code == 200
    assert set(row["properties"]) == set(row["example"])
    assert ask("GET", "/health").json()["status"] == "ok"
    for name in ("penguins", "forest"):
        assert "text/html" in ask("GET", f"/?model={name}").headers["content-type"]
    assert "Predict a row" in ask("GET", "/").text
    ask("POST", "/predict", {"flipper_length_mm": "long"})
    text = ask("GET", "/metrics").text
    assert 'treewise_requests_total{path="/predict",status="200"}' in text
    assert 'treewise_bad_rows_total{model="penguins",version="1"} ' in text
    assert all("50" not in str(entry.get("path")) for entry in ask.log)


@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [
        ({"flipper_length_mm": "long"}, 422, '"long" is not a number'),
        ([ROW, {**ROW, "bill_length_mm": [1]}], 422, "is a list, not a value"),
        ([ROW, 5], 422, "is not an object"),
        ({"flipper_length_mm": 190}, 422, "is absent"),
        ([ROW] * 51, 413, "at most 50"),
        ([], 400, "list of rows"),
        ("null", 400, "list of rows"),
        ("{oops", 400, "not JSON"),
        ('{"flipper_length_mm": NaN}', 400, "NaN is not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        ("[" * 90_000, 400, "nests too deep"),
        ('{"a":' * 19_000, 400, "nests too deep"),
        ('{"flipper_length_mm": "\\ud800"}', 422, "half a character"),
        ("9" * 5000, 400, "not JSON"),
        ("x" * 100_001, 413, "more than 100,000 bytes"),
        (None, 400, "not JSON"),
    ],
)
def test_bad_requests(ask, content, status, reason):
    answer = ask("POST", "/predict", content)
    assert answer.status_code == status
    assert reason in json.dumps(answer.json(), ensure_ascii=False).replace('\\"', '"')
    if status == 422:
        fault = answer.json()["error"]["rows"][0]
        assert fault["row"] == (2 if isinstance(content, list) else 1)


def test_a_log_of_text_has_whole_words(ask, capsys):
    ask("GET", "/health")
    log_text({**ask.log[-1], "path": "/a\n\x1b[31m"})
    assert re.fullmatch(r"request  [\d.]+  GET  /a\\n\\x1b\[31m  200  [\d.]+\n", capsys.readouterr().err)


def test_every_bad_row_is_named_at_once(ask):
    rows = [ROW, {"flipper_length_mm": 190}, {"flipper_length_mm": "long"}, {"bill_length_mm": 50}, ROW]
    rows += [{"bill_length_mm": "?", "flipper_length_mm": 190}]
    error = ask("POST", "/predict", rows).json()["error"]
    assert [(fault["row"], fault["column"], fault["reason"][:16]) for fault in error["rows"]] == [
        (2, "bill_length_mm", "is absent, and t"),
        (3, "flipper_length_mm", '"long" is not a '),
        (4, "flipper_length_mm", "is absent, and t"),
    ]
    assert error["bad_rows"] == 3


def test_other_refusals(ask):
    assert ask("POST", "/predict?model=pengu", ROW).status_code == 404
    assert ask("POST", "/predict?version=2", ROW).status_code == 404
    assert ask("POST", "/predict?proba=maybe", ROW).status_code == 400
    assert (
        ask("POST", "/predict?model=forest&path=1", tw.datasets.penguins().to_polars().to_dicts()[0]).status_code == 400
    )
    assert ask("POST", "/predict", "a=1", "application/x-www-form-urlencoded").status_code == 415
    assert ask("POST", "/predict", "a,b\n1\n", "text/csv").status_code == 400
    absent = ask("POST", "/predict", "a,b\n1,2\n", "text/csv").json()["error"]
    assert {fault["column"] for fault in absent["rows"]} == {"island", "bill_length_mm", "flipper_length_mm"}
    assert ask("GET", "/predict").status_code == 405
    assert ask("GET", "/nowhere").json()["error"]["reason"] == "There is no such path."
    assert ask("POST", "/predict", ROW, host="evil.example").status_code == 421
    assert ask("POST", "/predict", ROW, origin="http://evil.example").status_code == 403


def client_of(folder, limits):
    app = make_app(ModelStore([str(folder / "penguins.json")]), Access(), limits, lambda _: None)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


def test_work_that_took_too_long_keeps_its_place_until_it_is_done(folder, monkeypatch):
    may_end, running = threading.Event(), []

    def answer_late(*given):
        running.append(given)
        may_end.wait(20)
        return [{"prediction": "Adelie"}]

    monkeypatch.setattr("treewise.web.answers.answer", answer_late)
    monkeypatch.setattr("treewise.web.service._THREADS", 3)

    async def run():
        async with client_of(folder, ServiceLimits(seconds=0.3)) as client:
            post = functools.partial(client.post, "/predict", json=[ROW] * 2000)
            sent = await asyncio.gather(*(post() for _ in range(40)))  # 32 are taken, 3 of them begun
            n_running = len(running)
            sent += await asyncio.gather(*(post() for _ in range(30)))  # 29 are taken: those that waited are gone
            may_end.set()
            for _ in range(200):  # the threads end one after the other
                if (last := await post()).status_code == 200:
                    break
                await asyncio.sleep(0.02)
            return [answer.json()["error"]["reason"] for answer in sent], n_running, last.status_code

    reasons, n_running, status = asyncio.run(run())
    assert (n_running, len(running), status) == (3, 4, 200)
    late, busy = "The rows took more than 0.3 seconds.", "The service is busy. Try again."
    assert reasons == [late] * 32 + [busy] * 8 + [late] * 29 + [busy]


@pytest.mark.parametrize("kind", ["text/csv", "application/json"])
def test_many_short_rows_do_not_hold_up_others(folder, monkeypatch, kind):
    threads, answer = [], answers.answer

    def note_thread(*given):
        threads.append(threading.current_thread())
        return answer(*given)

    monkeypatch.setattr("treewise.web.answers.answer", note_thread)
    row = {"flipper_length_mm": 190, "bill_length_mm": 50, "island": "Biscoe"}

    async def run():
        async with client_of(folder, ServiceLimits()) as client:
            for n_rows in (100, 150):
                lines = [",".join(row), *[",".join(map(str, row.values()))] * n_rows]
                body = "\n".join(lines) if kind == "text/csv" else json.dumps([row] * n_rows)
                assert len(body) < 16 << 10
                sent = await client.post("/predict?path=true", content=body, headers={"content-type": kind})
                assert sent.status_code == 200

    asyncio.run(run())
    assert [thread is threading.main_thread() for thread in threads] == [True, False]


def test_names_and_versions(folder):
    path = folder / "penguins.json"
    store = ModelStore([f"a:1={path}", f"a:2={path}", f"b={path}"])
    assert [(m.name, m.version) for m in (store.get(), store.get("a", "1"), store.get("b"))] == [
        ("a", "2"),
        ("a", "1"),
        ("b", "1"),
    ]
    with pytest.raises(TreewiseError, match="two models are called"):
        ModelStore([str(path), str(path)])
    with pytest.raises(TreewiseError, match="is no name of a model"):
        ModelStore([f"a b={path}"])
    with pytest.raises(TreewiseError, match="cannot be read"):
        ModelStore([str(folder / "none.json")])


@pytest.mark.parametrize("fault", [RuntimeError("a fault of the reader"), MemoryError()])
def test_a_file_that_cannot_be_read_for_any_reason_leaves_its_model(folder, tmp_path, monkeypatch, fault):
    paths = [tmp_path / name for name in ("first.json", "second.json")]
    for path in paths:
        path.write_bytes((folder / "penguins.json").read_bytes())
    store = ModelStore(list(map(str, paths)))
    before, load = store.all(), models.load_model
    for path in paths:
        path.write_bytes((folder / "mass.json").read_bytes())

    def load_or_fail(name, version, path):
        if path == paths[0]:
            raise fault
        return load(name, version, path)

    monkeypatch.setattr(models, "load_model", load_or_fail)
    noted = []
    for _ in range(2):  # and the file is not tried again until it changes
        store.reload_changed(lambda served, reason: noted.append((served.name, reason)))
    assert noted == [("first", f"{type(fault).__name__}: {fault}"), ("second", "")]
    assert store.get("first") is before[0]
    assert store.get("second").model.target.name == "body_mass_g"


def test_a_model_that_changes_is_read_again(server):
    folder, port, _ = server
    assert post(port, {"x": 1})["prediction"] == "a"
    (folder / "m.json").write_text("{broken")
    time.sleep(1.2)
    assert post(port, {"x": 1})["prediction"] == "a"
    tw.grow({"x": [1, 2, 3, 4], "y": list("ccdd")}, target="y").save(folder / "m.json")
    answers = []
    end = time.monotonic() + 10
    while time.monotonic() < end and "c" not in answers:  # each request is answered, by the old model or the new one
        answers.append(post(port, {"x": 1})["prediction"])
        time.sleep(0.02)
    assert set(answers) == {"a", "c"}


def test_clients_that_dawdle_are_cut_off(server):
    _, port, _ = server
    slow = socket.create_connection(("127.0.0.1", port), timeout=10)
    slow.sendall(b"GET /health HTTP/1.1\r\nHost: local")
    begin = time.monotonic()
    assert slow.recv(100) == b""
    assert time.monotonic() - begin < 8
    slow.close()
    large = socket.create_connection(("127.0.0.1", port), timeout=10)
    large.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\nx")
    assert large.recv(1000).startswith(b"HTTP/1.1 413")
    large.close()
    assert post(port, {"x": 1})["prediction"] in "ac"


def test_bodies_in_chunks_are_refused_as_they_arrive(server):
    _, port, _ = server
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    for chunk, status, reason in ((b" " * 3000, b"413", b"2,000 bytes"), (b"{", b"408", b"within 2 seconds")):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(head + b"%x\r\n%s\r\n" % (len(chunk), chunk))
            answer = b""
            while piece := client.recv(4000):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 " + status), answer
        assert reason in answer
        assert answer.count(b"HTTP/1.1") == 1


def test_a_client_that_leaves_before_its_body_is_no_fault(folder):
    entries, sent = [], []
    app = make_app(ModelStore([str(folder / "penguins.json")]), Access(), ServiceLimits(), entries.append)
    scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"", "scheme": "http"}
    scope["headers"] = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"99")]

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert entries[-1]["status"] == 499
    assert sent[0]["status"] == 499


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs Unix")
def test_a_request_is_finished_when_the_server_is_stopped(server):
    """The head and half of the body are there when SIGTERM comes; the rest is still taken, and answered."""
    _, port, process = server
    body = json.dumps({"x": 1}).encode()
    client = socket.create_connection(("127.0.0.1", port), timeout=10)
    head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    client.sendall(head.encode() + body[:3])
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    client.sendall(body[3:])
    assert client.recv(2000).startswith(b"HTTP/1.1 200")
    client.close()
    process.wait(timeout=20)
