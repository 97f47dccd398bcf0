"""Engine "mariadb": like "mysql", on a MariaDB server."""

from __future__ import annotations

from treewise.formats.verify.engines.mysql import LIMITS, run, server_version
from treewise.formats.verify.engines.registry import NotInstalled

__all__ = ["LIMITS", "find", "run"]


def find() -> str:
    """Return the version of a MariaDB server."""
    version = server_version()
    if not version.startswith("MariaDB"):
        raise NotInstalled(f"the server is {version}")
    return version
