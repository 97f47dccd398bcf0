"""A real server of one model, as a process."""

import json
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

import treewise as tw


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def post(port, row, path="/predict"):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(row).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("served"), free_port()
    tw.grow({"x": [1, 2, 3, 4], "y": list("aabb")}, target="y").save(folder / "m.json")
    code = (
        "import sys; from treewise.web.run import TimedProtocol; TimedProtocol.head_seconds = 0.5\n"
        "from treewise.cli import main; sys.argv = ['treewise', 'serve', *sys.argv[1:]]; main()"
    )
    command = [sys.executable, "-c", code, str(folder / "m.json"), "--port", str(port), "--log", "none"]
    command += ["--max-body", "2000", "--timeout", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(400):
            try:
                post(port, {"x": 1})
                break
            except OSError:
                time.sleep(0.05)
        yield folder, port, process
    finally:
        process.kill()
        process.communicate()
