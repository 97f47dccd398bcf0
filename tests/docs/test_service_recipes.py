"""The Dockerfile and the systemd unit in examples/service: their commands start a service that answers."""

import configparser
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import treewise as tw

FOLDER = Path(__file__).parents[2] / "examples" / "service"
TOKEN = "a-token-for-this-test"


def read_unit():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(FOLDER / "treewise.service", encoding="utf-8")
    return unit["Service"]


def commands():
    dockerfile = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    return {
        "systemd": read_unit()["ExecStart"].split(),
        "docker": json.loads(re.search(r"^CMD (\[.*\])$", dockerfile, re.M)[1]),
    }


@pytest.mark.parametrize("name", ["systemd", "docker"])
def test_the_command_starts_a_service(tmp_path, name):
    tw.grow({"x": [1, 2, 3, 4], "y": list("aabb")}, target="y").save(tmp_path / "model.json")
    words = commands()[name]
    assert Path(words[0]).name == "treewise"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [str(tmp_path / "model.json") if word.endswith("model.json") else word for word in words[1:]]
    words[words.index("--port") + 1] = str(port)
    if name == "docker":
        assert words[words.index("--host") + 1] == "0.0.0.0"
    words[words.index("--host") + 1] = "127.0.0.1"  # tests listen on loopback only
    environment = {**os.environ, "TREEWISE_TOKEN": TOKEN}
    process = subprocess.Popen([sys.executable, "-m", "treewise", *words], env=environment, stderr=subprocess.PIPE)
    try:
        for _ in range(400):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=2).close()
                break
            except OSError:
                time.sleep(0.05)
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/predict", b'{"x": 1}', {"content-type": "application/json"}
        )
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(request, timeout=10)
        request.add_header("Authorization", f"Bearer {TOKEN}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert json.load(answer)["prediction"] == "a"
        process.terminate()
        code = process.wait(timeout=15)
        if os.name != "nt":  # Windows ends a process without asking it
            assert str(code) in read_unit()["SuccessExitStatus"].split()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_knows_every_line(tmp_path):
    unit = (FOLDER / "treewise.service").read_text(encoding="utf-8")
    path = tmp_path / "treewise.service"
    path.write_text(unit.replace("/opt/treewise/bin/treewise", sys.executable), encoding="utf-8")
    completed = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Unknown" not in completed.stderr, completed.stderr
    assert "treewise.service" not in completed.stderr, completed.stderr
