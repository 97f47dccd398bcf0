"""The workbench without a browser: its messages, its session file, and the guard in front of its addresses."""

import asyncio
import json
import socket

import httpx
import numpy as np
import pytest

import treewise as tw
from treewise.workbench.opening import open_session
from treewise.workbench.server import make_app, page

TOKEN = "a-token-of-enough-characters"
ADDRESSES = ("/", "/page.js", "/workbench.js", "/workbench.css", "/model.json", "/tree.txt", "/tree.svg", "/log.csv")
HOSTILE = "</script><img src=x onerror=alert(1)>&\"'"


@pytest.fixture
def opened(tmp_path):
    def open_it(tree=None, target="species", table="penguins", validation=0.3, fresh=False, **options):
        files = tmp_path / "penguins.treewise-session.json", tmp_path / "model.json"
        return open_session(tw.read(table), tree, {"target": target, **options}, validation, *files, fresh=fresh)

    return open_it


def edit(session, verb, **given):
    answer = session.handle({"do": "edit", "verb": verb, "with": given})
    assert "error" not in answer, answer
    return answer["state"]


def test_a_session_edits_saves_and_shows_rows(opened, tmp_path):
    session = opened()
    found = session.handle({"do": "candidates", "node": 0})
    assert found["tests"][0]["column"] == "flipper_length_mm"
    assert len(found["tests"][0]["points"]) > 30
    state = edit(session, "split", node=0, column="flipper_length_mm", at="205", reason="the guide")
    assert state["log"][0]["words"].startswith("split by flipper_length_mm <= 205")
    assert state["losses"]["training"]["rate"] < state["start"]["training"]["rate"]
    assert state["facts"]["test"]["rows"][0] == 103
    assert [point["leaves"] for point in state["curve"]] == [1, 2]
    json.dumps(state, allow_nan=False)
    assert edit(session, "lock", what=1)["locked"] == [1]
    assert "is locked" in session.handle({"do": "edit", "verb": "split", "with": {"node": 1}})["error"]
    edit(session, "unlock", what=1)
    edit(session, "split", node=1, column="island", values=["Dream"], missing="no")
    edit(session, "relabel", node=2, label="Gentoo")
    assert edit(session, "forbid", column="sex")["forbidden"] == ["sex"]
    assert edit(session, "merge", leaves=[2, 3])["ids"] == state["ids"]
    rows = session.handle({"do": "rows", "node": 1})
    assert rows["total"] == state["facts"]["nodes"]["rows"][1]
    assert len(rows["cells"]) == len(rows["columns"])
    session.handle({"do": "save"})
    assert tw.load(tmp_path / "model.json") == session.editor.tree


def test_other_trees_are_listed_looked_at_and_adopted(opened, monkeypatch):
    monkeypatch.setattr("treewise.workbench.session._SEARCH_SECONDS", 60)
    session = opened()
    assert "List them again" in session.handle({"do": "preview", "number": 0})["error"]
    edit(session, "split", node=0)
    listed = session.handle({"do": "alternatives"})["trees"]
    assert [tree["training"]["rate"] for tree in listed] == sorted(tree["training"]["rate"] for tree in listed)
    before = session.editor.tree
    facts = session.handle({"do": "preview", "number": 1})["facts"]
    assert session.editor.tree is before
    assert facts["test"]["rows"][0] == 103
    state = edit(session, "adopt", number=1, reason="fewer columns")
    assert state["losses"]["validation"]["rate"] == listed[1]["validation"]["rate"]
    assert state["log"][-1]["words"] == f"adopt a tree of {', '.join(listed[1]['columns'])}"
    assert opened().editor.tree == session.editor.tree
    json.dumps([listed, facts], allow_nan=False)


def test_a_session_continues_where_it_ended(opened, tmp_path):
    session = opened()
    edit(session, "split", node=0, reason="first")
    edit(session, "split", node=1)
    edit(session, "regrow", node=2, max_depth=1)
    edit(session, "undo")
    again = opened()
    assert again.editor.tree == session.editor.tree
    assert again.editor.log().to_text() == session.editor.log().to_text()
    assert again.editor.can_redo
    assert again.notes == ["continued after 2 edits of the last session; --fresh begins anew"]
    edit(again, "undo")
    assert opened().editor.tree.n_leaves == 2
    assert opened(fresh=True).editor.tree.n_leaves == 1
    assert (tmp_path / "penguins.treewise-session.json.old").exists()
    edit(opened(), "split", node=0)
    other = opened(tree=tw.grow("penguins", max_depth=2), target=None)
    assert other.editor.tree.depth == 2
    assert "another one" in other.notes[0]


def test_no_old_session_is_overwritten(opened, tmp_path):
    contents = []
    for target in ("species", "island", "species", "island"):
        session = opened(target=target)
        edit(session, "split", node=0)
        contents.append((tmp_path / "penguins.treewise-session.json").read_text())
    assert "session.json.old-3" in session.notes[0]
    names = [f"penguins.treewise-session.json.old{ending}" for ending in ("", "-2", "-3")]
    assert [(tmp_path / name).read_text() for name in names] == contents[:3]
    with pytest.raises(tw.TreewiseError, match="missing in 11 rows"):
        opened(target="sex")  # a start that fails moves nothing
    assert (tmp_path / "penguins.treewise-session.json").exists()
    assert "is kept as penguins.treewise-session.json.old-4" in opened(fresh=True).notes[0]


def test_a_busy_port_is_refused_in_a_sentence(run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = run(f"explore penguins --target species --no-open --port {port}")
    assert refused.code == 2
    assert f"127.0.0.1:{port} cannot be listened on" in refused.err
    assert "Choose another --port." in refused.err


def test_the_last_message_names_the_files_that_were_written(run, monkeypatch):
    def use(session, port, announce):
        for message in messages:
            assert "error" not in session.handle(message)
        raise KeyboardInterrupt

    monkeypatch.setattr("treewise.workbench.serve.run", use)
    messages = []
    line = "explore penguins --target species --no-open"
    assert run(line).err.endswith(" s; nothing was written.\n")
    messages = [{"do": "edit", "verb": "split", "with": {"node": 0}}]
    assert run(line).err.endswith(" s; penguins.treewise-session.json was written.\n")
    messages = [{"do": "edit", "verb": "undo"}, {"do": "save"}]
    ended = run(line)
    assert ended.err.endswith(" s; penguins.treewise-session.json, penguins.tree.json were written.\n")
    assert ended.code == 130


def test_tables_with_dots_in_their_names_have_their_own_files(run, monkeypatch, tmp_path):
    monkeypatch.setattr("treewise.workbench.serve.run", lambda session, *_: sessions.append(session))
    sessions = []
    for name in ("credit.2023.csv", "credit.2024.csv"):
        (tmp_path / name).write_text("x,y\n1,a\n2,b\n3,a\n4,b\n")
        run(f"explore {name} --target y --no-open")
    assert [session.autosave.name for session in sessions] == [
        "credit.2023.treewise-session.json",
        "credit.2024.treewise-session.json",
    ]
    assert [session.output.name for session in sessions] == ["credit.2023.tree.json", "credit.2024.tree.json"]


def test_an_edit_that_cannot_be_saved_is_made_and_says_so(opened, tmp_path):
    session = opened()
    edit(session, "split", node=0)
    tmp_path.rename(tmp_path.with_name("elsewhere"))
    state = edit(session, "prune", node=0)
    assert session.editor.tree.n_leaves == 1
    assert state["notes"][0].startswith("this edit is not saved: cannot save")
    assert "there is no folder" in state["notes"][0]
    assert state["autosave"] is None
    assert "there is no folder" in session.handle({"do": "save"})["error"]
    assert opened().all_notes[0].startswith("edits are not saved: the folder")
    tmp_path.with_name("elsewhere").rename(tmp_path)
    state = edit(session, "undo")
    assert (state["notes"], state["autosave"]) == ([], "penguins.treewise-session.json")
    assert opened().editor.tree == session.editor.tree


def test_a_session_continues_only_what_began_alike(opened, tmp_path):
    first, second = (tw.grow("penguins", max_depth=2, criterion=criterion) for criterion in ("gini", "entropy"))
    assert (len(first), first.columns, first.target) == (len(second), second.columns, second.target)
    edit(opened(tree=first), "prune", node=1)
    first.save(tmp_path / "first.json")
    assert "continued after 1 edit" in opened(tree=tw.load(tmp_path / "first.json")).notes[0]
    assert "another one" in opened(tree=second).notes[0]
    edit(opened(max_depth=3), "split", node=0)
    assert "continued after 1 edit" in opened(max_depth=3).notes[0]
    assert "another one" in opened(max_depth=4).notes[0]
    edit(opened(), "split", node=0)
    path = tmp_path / "penguins.treewise-session.json"
    content = json.loads(path.read_text())
    del content["start"]
    path.write_text(json.dumps(content))
    assert "another one" in opened().notes[0]


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"format": "treewise session 1", "base": 3}', "\x00" * 99, "[" * 100_000]
)
def test_a_damaged_session_file_is_kept_and_a_new_session_begins(opened, tmp_path, content):
    path = tmp_path / "penguins.treewise-session.json"
    path.write_text(content)
    assert opened().editor.tree.n_leaves == 1
    assert (tmp_path / "penguins.treewise-session.json.old").read_text() == content


def test_a_session_file_of_other_values_is_kept(opened, tmp_path):
    path = tmp_path / "penguins.treewise-session.json"
    edit(opened(), "split", node=0)
    content = json.loads(path.read_text())
    for name, value in (("position", 7), ("position", -1), ("position", "1"), ("base", "[" * 100_000), ("steps", [[]])):
        path.write_text(json.dumps({**content, name: value}))
        assert "was another one" in opened().notes[0], (name, value)
        assert not path.exists()


ROWS = {"x": [1, 2, 3, 4, 5, 6], "z": [1, 1, 2, 2, 3, 3], "y": list("aabbab")}
RENAMED = {("w" if name == "x" else name): cells for name, cells in ROWS.items()}


def test_edits_that_do_not_fit_a_changed_table_are_kept(opened, tmp_path):
    path = tmp_path / "penguins.treewise-session.json"
    session = opened(target="y", table=ROWS, validation=None)
    edit(session, "split", node=0, column="x", at=2.5)
    edit(session, "split", node=2, column="x", at=4.5)
    edit(session, "relabel", node=1, label="b")
    before = path.read_bytes()
    for _ in range(2):  # to look is not to edit
        session = opened(target="y", table=RENAMED, validation=None)
        assert session.notes[0].startswith("continued after 0 of 3 edits of the last session")
        assert session.all_notes[-1] == "the next edit keeps the last session in a file of its own"
        assert path.read_bytes() == before
    state = edit(session, "lock", what="z")
    assert state["notes"][-1] == "the last session is kept as penguins.treewise-session.json.old"
    edit(session, "unlock", what="z")
    assert path.with_name(f"{path.name}.old").read_bytes() == before
    assert not path.with_name(f"{path.name}.old-2").exists()
    assert len(json.loads(path.read_text())["steps"]) == 2
    assert opened(target="y", table=RENAMED, validation=None).notes[0].startswith("continued after 2 edits")


def test_an_undone_edit_stays_undone_where_others_do_not_fit(opened):
    session = opened(target="y", table=ROWS, validation=None)
    edit(session, "lock", what="z")
    edit(session, "split", node=0, column="x", at=2.5)
    edit(session, "unlock", what="z")
    edit(session, "forbid", column="z")
    edit(session, "undo")
    again = opened(target="y", table=RENAMED, validation=None)
    assert again.notes[0].startswith("continued after 2 of 3 edits")
    assert (again.editor.locked_columns, again.editor.forbidden) == ((), ())
    assert [step["edit"] for step in again.editor.all_steps] == ["lock", "unlock", "forbid"]
    again.editor.redo()
    assert again.editor.forbidden == ("z",)


def test_a_reason_with_half_a_surrogate_pair_is_refused(opened):
    session = opened()
    for message in (
        {"do": "edit", "verb": "split", "with": {"node": 0, "reason": "\ud800"}},
        {"do": "cut_out", "node": 0, "sides": [["bill_length_mm", None, 40]], "reason": "\ud800"},
    ):
        sent = {"content": json.dumps(message), "headers": {"content-type": "application/json"}}
        answer = ask(make_app(session, TOKEN), "POST", "/ask", **sent)
        assert "in valid Unicode" in answer.json()["error"]
    assert not session.editor.all_steps


def test_an_edit_that_no_file_can_hold_is_made_and_says_so(opened, tmp_path):
    session = opened()
    session.start = "\ud800"
    state = edit(session, "split", node=0)
    assert state["notes"][0].startswith("this edit is not saved: ")
    assert state["autosave"] is None
    assert not list(tmp_path.iterdir())


def test_an_edit_is_made_though_a_listener_fails(opened):
    session = opened()

    def fail():
        raise ValueError("a listener failed")

    session.editor.on_change.append(fail)
    answer = session.handle({"do": "edit", "verb": "split", "with": {"node": 0}})
    assert answer["error"] == "the edit was made, but: ValueError: a listener failed"
    assert len(answer["state"]["ids"]) == 3
    assert opened().editor.tree == session.editor.tree


def test_what_is_unforeseen_is_an_answer(opened, monkeypatch):
    session = opened()
    monkeypatch.setattr(session.editor, "rows", lambda node: 1 / node)
    answer = ask(make_app(session, TOKEN), "POST", "/ask", json={"do": "rows", "node": 0}).json()
    assert answer["error"] == "ZeroDivisionError: division by zero"
    assert "Traceback" in answer["traceback"][0]


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        "state",
        {"do": "delete"},
        {"do": ["state"]},
        {"do": "candidates"},
        {"do": "candidates", "node": 10**30},
        {"do": "candidates", "node": -1},
        {"do": "candidates", "node": True},
        {"do": "rows", "node": "../../etc/passwd"},
        {"do": "edit", "verb": "save", "with": {"path": "/tmp/x"}},
        {"do": "edit", "verb": "__init__"},
        {"do": "edit", "verb": ["split"]},
        {"do": "edit", "verb": "split", "with": {"node": 0, "at": {}, "column": "island"}},
        {"do": "edit", "verb": "split", "with": {"node": 0, "column": 7}},
        {"do": "edit", "verb": "split", "with": {"node": 0, "values": {"a": 1}, "column": "island"}},
        {"do": "edit", "verb": "split", "with": {"node": None}},
        {"do": "edit", "verb": "split", "with": {"nodes": 0}},
        {"do": "edit", "verb": "merge", "with": {"leaves": 3}},
        {"do": "edit", "verb": "regrow", "with": {"node": 0, "max_depth": "deep"}},
        {"do": "edit", "verb": "relabel", "with": {"node": 0}},
        {"do": "edit", "verb": "lock", "with": {}},
        {"do": "edit", "verb": "undo", "with": 5},
        {"do": "edit", "verb": "adopt", "with": {"number": 0}},
        {"do": "edit", "verb": "adopt", "with": {"tree": "x"}},
        {"do": "preview", "number": -1},
        {"do": "preview", "number": [0]},
    ],
)
def test_hostile_messages_are_answered_with_an_error(opened, message):
    session = opened()
    before = session.editor.tree
    assert set(session.handle(message)) == {"error"}
    assert session.editor.tree is before


@pytest.mark.parametrize(
    "label", ["abc", None, "", [], {"a": 1}, "nan", "inf", 10**400], ids=lambda label: repr(label)[:9]
)
def test_a_leaf_of_numbers_takes_numbers_only(opened, label):
    session = opened(target="y", table={"x": [1, 2, 3, 4], "y": [0.5, 1, 2, 4]}, validation=None)
    answer = session.handle({"do": "edit", "verb": "relabel", "with": {"node": 0, "label": label}})
    assert "must be a number" in answer["error"]
    edit(session, "relabel", node=0, label="4200")
    assert session.editor.tree.prediction(0) == 4200


def ask(app, method, path, token=TOKEN, **options):
    headers = {"authorization": f"Bearer {token}"} if token else {}
    headers |= options.pop("headers", {})

    async def run():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            return await client.request(method, path, headers=headers, **options)

    return asyncio.run(run())


def test_only_this_page_may_ask(opened):
    app = make_app(opened(), TOKEN)
    for path in ADDRESSES:
        answer = ask(app, "GET", path)
        assert answer.status_code == 200, path
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert ask(app, "GET", path, token=None).status_code == 401
        assert ask(app, "GET", path, headers={"host": "evil.example"}).status_code == 421
    post = {"json": {"do": "state"}}
    assert ask(app, "POST", "/ask", **post).json()["state"]["losses"]["validation"]["rows"] == 103
    assert ask(app, "POST", "/ask", token="x" * 30, **post).status_code == 401
    assert ask(app, "POST", "/ask", headers={"origin": "http://evil.example"}, **post).status_code == 403
    assert ask(app, "POST", "/ask", headers={"sec-fetch-site": "cross-site"}, **post).status_code == 403
    assert ask(app, "POST", "/ask", content=b"x" * (1 << 21)).status_code == 413
    assert ask(app, "POST", "/ask", content=b'{"do":"state"}').status_code == 415  # what a form could send
    assert ask(app, "POST", "/ask", content=b"{", headers={"content-type": "application/json"}).status_code == 400
    deep = b"[" * 100_000
    assert ask(app, "POST", "/ask", content=deep, headers={"content-type": "application/json"}).status_code == 400
    for path in ("/../../etc/passwd", "/assets/workbench.js", "/%2e%2e/%2e%2e/etc/passwd", "/model.json/x", "/ask"):
        assert ask(app, "GET", path).status_code in (404, 405), path


def test_hostile_names_stay_data(opened):
    rng = np.random.default_rng(0)
    table = {HOSTILE: rng.normal(size=40), "c": [HOSTILE, "b"] * 20, "y": ["no", HOSTILE] * 20}
    session = opened(target="y", table=table, validation=None)
    edit(session, "split", node=0, column="c", reason=HOSTILE)
    app = make_app(session, TOKEN)
    assert "<img" not in page(HOSTILE)
    assert "<img" not in ask(app, "GET", "/").text
    assert json.loads(ask(app, "POST", "/ask", json={"do": "state"}).text)["state"]["log"][0]["reason"] == HOSTILE


def test_the_report_of_a_session_is_a_file(opened):
    session = opened()
    edit(session, "split", node=0)
    answer = ask(make_app(session, TOKEN), "GET", "/report.html")
    assert answer.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert "flipper_length_mm" in answer.text
