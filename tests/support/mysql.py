"""Throwaway MySQL and MariaDB servers on loopback."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

_SECONDS_TO_START = 120


@contextmanager
def server(kind):
    """Start a server and yield the variables for it; None if it is not installed.

    MariaDB is Debian's package. MySQL is only in Debian unstable: TREEWISE_MYSQL_ROOT names a folder with that system.
    """
    root = Path(os.environ.get("TREEWISE_MYSQL_ROOT", "/none") if kind == "mysql" else "/")
    places = ["usr/sbin/mysqld"] if kind == "mysql" else ["usr/sbin/mariadbd", "usr/bin/mariadbd"]
    daemon = next((f"/{place}" for place in places if (root / place).exists()), None)
    if daemon is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="treewise-server-", dir=root / "tmp"))
    inside = Path("/") / folder.relative_to(root)
    user = "root"
    if kind == "mariadb" and os.geteuid() == 0:
        user = "mysql"
        shutil.chown(folder, user)
    own = [f"--datadir={inside / 'data'}", *([f"--user={user}"] if os.geteuid() == 0 else [])]
    command = [*(["chroot", str(root)] if kind == "mysql" else []), daemon, "--no-defaults", *own]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    first = [*command, "--initialize-insecure", f"--log-error={inside / 'log'}"]
    if kind == "mariadb":
        how = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        first = ["mariadb-install-db", "--no-defaults", *how, *own]
    process = None
    try:
        subprocess.run(first, check=True, **quiet)
        other = ["--mysqlx=OFF", "--secure-file-priv=NULL"] if kind == "mysql" else []
        process = subprocess.Popen(
            [*command, f"--port={port}", "--bind-address=127.0.0.1", "--max-allowed-packet=1G", *other,
             f"--socket={inside / 'socket'}", f"--pid-file={inside / 'pid'}"],
            **quiet,
        )  # fmt: skip
        deadline = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, f"{kind} does not start"
            time.sleep(0.2)
        yield {"MYSQL_HOST": "127.0.0.1", "MYSQL_TCP_PORT": str(port)}
    finally:
        if process is not None:
            process.terminate()
            process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)
