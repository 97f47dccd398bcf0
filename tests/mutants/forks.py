"""Worker for ``run.py``: loads the libraries once and forks for each run of the tests.

It is started in the copy that ``run.py`` made, reads one job a line (JSON) and answers each with one line. Only other
people's libraries are loaded beforehand: treewise and the tests are imported by the child, from where the job says, so
that a fault in them is there from the first line on.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import select
import signal
import sys
import tempfile
import traceback
from contextlib import suppress

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow", "narwhals.stable.v2", "sklearn.utils.validation", "click", "rich")
TESTING = ("pytest", "_pytest.assertion.rewrite", "hypothesis.strategies", "hypothesis.extra.numpy")
OPTIONS = ["-q", "-x", "--tb=line", "--override-ini=addopts=", "-p", "no:cacheprovider", "-p", "no:xdist"]
LOADED = ["-W", "ignore:Module already imported"]  # pytest would rather load hypothesis itself


def first_failure(tests: list[str], path: list[str], environment: dict[str, str], patience: float | None) -> str:
    """Run the tests in a child; return the one that fails first, or how the run ended otherwise, "" if all pass."""
    with tempfile.TemporaryFile() as message:
        child = os.fork()
        if not child:
            run_tests(tests, path, environment, message.fileno())
        watch = os.pidfd_open(child)
        ended, _, _ = select.select([watch], [], [], patience)
        os.close(watch)
        if not ended:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not ended:
            return "(hangs)"
        if os.WIFSIGNALED(status):
            return f"(signal {os.WTERMSIG(status)})"
        if os.WEXITSTATUS(status) == 0:
            return ""
        message.seek(0)
        text = message.read().decode(errors="replace")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
    return failed[1] if failed else f"(ends with {text[-200:]!r})"


def run_tests(tests: list[str], path: list[str], environment: dict[str, str], output: int) -> None:
    """Be the child: run the tests, write to the file that is given, and end."""
    status = 99
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(environment, PYTHONPATH=os.pathsep.join(path))
        sys.path[:0] = path
        import pytest

        status = int(pytest.main([*OPTIONS, *LOADED, "-p", "tests.mutants.quiet", *tests]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    """Answer jobs until there are no more."""
    for name in (*LIBRARIES, *TESTING):
        importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        answers.write(json.dumps(first_failure(**json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
