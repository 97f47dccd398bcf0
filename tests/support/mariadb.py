"""A throwaway MariaDB server on loopback, from Debian's package."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def server():
    """Start a server and yield the variables for it; None if MariaDB is not installed."""
    install, daemon = shutil.which("mariadb-install-db"), shutil.which("mariadbd", path="/usr/sbin:/usr/bin")
    if install is None or daemon is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="treewise-mariadb-"))
    user = ["--user=mysql"] if os.geteuid() == 0 else []
    if user:
        shutil.chown(folder, "mysql")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = [f"--datadir={folder / 'data'}", *user]
    process = None
    try:
        subprocess.run(
            [install, "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", *data],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        process = subprocess.Popen(
            [daemon, "--no-defaults", *data, f"--port={port}", "--bind-address=127.0.0.1", "--max-allowed-packet=1G",
             f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield {"MYSQL_HOST": "127.0.0.1", "MYSQL_TCP_PORT": str(port)}
    finally:
        if process is not None:
            process.terminate()
            process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)
