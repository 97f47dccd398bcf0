"""The service under load on loopback: throughput and latencies beside scikit-learn's tree behind the same server.

Requests of one row, kept-alive connections, a fixed number of requests. Then the same with bad rows and with a model
file that is replaced again and again: every request must be answered, and memory must stay where it is.

python benchmarks/serving.py [requests] [connections] [seconds of reloading]
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import treewise as tw

SKLEARN = """
import json, sys, joblib, numpy as np
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from treewise.web.run import make_server
from treewise.web.security import access_for, guard
tree = joblib.load(sys.argv[1])
async def predict(request):
    row = json.loads(await request.body())
    cells = np.array([[row["x0"], row["x1"], row["x2"], row["x3"]]])
    return JSONResponse({"prediction": tree.predict(cells)[0]})
app = Starlette(routes=[Route("/predict", predict, methods=["POST"]), Route("/health", lambda _: JSONResponse({}))])
make_server(guard(app, access_for("127.0.0.1")), port=int(sys.argv[2])).run()
"""
NAMES = [f"x{i}" for i in range(4)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(command: list[str], port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(400):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return process
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise RuntimeError("the server did not start")


def request_bytes(row: dict[str, object]) -> bytes:
    body = json.dumps(row).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


async def client(port: int, requests: list[bytes], seconds: list[float], statuses: list[int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
        seconds.append(time.perf_counter() - began)
        statuses.append(int(head[9:12]))
    writer.close()


def load(port: int, requests: list[bytes], connections: int) -> tuple[float, list[float], list[int]]:
    seconds: list[float] = []
    statuses: list[int] = []

    async def run() -> None:
        parts = [requests[i::connections] for i in range(connections)]
        await asyncio.gather(*(client(port, part, seconds, statuses) for part in parts))

    began = time.perf_counter()
    asyncio.run(run())
    return time.perf_counter() - began, seconds, statuses


def memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1000


def report(name: str, total: float, seconds: list[float]) -> None:
    p50, p99 = np.quantile(seconds, [0.5, 0.99]) * 1000
    print(f"{name:32} {len(seconds) / total:7,.0f} requests/s   p50 {p50:6.2f} ms   p99 {p99:6.2f} ms")


def main(n: int = 20_000, connections: int = 8, reloading: int = 20) -> None:
    import joblib
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 4))
    y = np.where(x[:, 0] + x[:, 1] * x[:, 2] > 0, "yes", "no")
    rows = [dict(zip(NAMES, row, strict=True)) for row in x[:1000].tolist()]
    good = [request_bytes(rows[i % len(rows)]) for i in range(n)]
    with tempfile.TemporaryDirectory() as folder:
        model, other = Path(folder, "model.json"), Path(folder, "sklearn.joblib")
        trees = [tw.grow({**dict(zip(NAMES, x.T, strict=True)), "y": y}, "y", max_depth=depth) for depth in (8, 7)]
        trees[0].save(model)
        joblib.dump(DecisionTreeClassifier(max_depth=8, random_state=0).fit(x, y), other)
        ports = [free_port(), free_port()]
        serve = [sys.executable, "-m", "treewise", "serve", str(model), "--port", str(ports[0]), "--log", "none"]
        peer = [sys.executable, "-c", SKLEARN, str(other), str(ports[1])]
        processes = [start(serve, ports[0])]
        try:
            processes.append(start(peer, ports[1]))
            for port in ports:
                load(port, good[:500], connections)  # warm
            for name, port in (("treewise serve", ports[0]), ("scikit-learn, the same server", ports[1])):
                total, seconds, statuses = load(port, good, connections)
                assert set(statuses) == {200}
                report(name, total, seconds)
            processes[1].kill()
            bad = [request_bytes({**row, "x0": "far"}) for row in rows[:100]]
            mixed = [bad[i % 100] if i % 5 == 0 else good[i % n] for i in range(2000)]
            answered, lost, first = 0, 0, memory(processes[0].pid)
            end, turn = time.monotonic() + reloading, 0
            figures = []
            while time.monotonic() < end:
                turn += 1
                trees[turn % 2].save(model)
                total, seconds, statuses = load(ports[0], mixed, connections)
                answered += len(statuses)
                lost += len(mixed) - len(statuses)
                wrong = [s for i, s in enumerate(sorted(statuses)) if s != (200 if i < 1600 else 422)]
                assert not wrong, wrong[:5]
                figures.append(memory(processes[0].pid))
            print(f"{turn} versions of the file, a fifth of the rows bad: {answered:,} answered, {lost} lost")
            print(f"memory: {first:.0f} MB before, {figures[0]:.0f} after one turn, {figures[-1]:.0f} after the last")
        finally:
            for process in processes:
                process.kill()
                process.wait()
    assert os.cpu_count()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
