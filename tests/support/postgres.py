"""A throwaway PostgreSQL server on loopback, from Debian's package."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path


def _program(name):
    places = [shutil.which(name), *sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)]
    return next((str(place) for place in places if place), None)


@contextmanager
def server():
    """Start a server and yield libpq's variables for it; None if PostgreSQL is not installed."""
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    if initdb is None or pg_ctl is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="treewise-pg-"))
    as_owner = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        as_owner = ["setpriv", f"--reuid={pwd.getpwnam('postgres').pw_uid}", "--clear-groups"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    data, log = folder / "data", folder / "log"

    def run(*command):
        subprocess.run([*as_owner, *map(str, command)], check=True, cwd=folder, stdout=subprocess.DEVNULL)

    try:
        run(initdb, "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
        run(pg_ctl, "-D", data, "-o", options, "-l", log, "-w", "start")
        try:
            yield {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "postgres", "PGDATABASE": "postgres"}
        finally:
            run(pg_ctl, "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
