"""Run long native calls so that Ctrl-C works; avoid polars after a fork and under a memory limit.

polars sorts ten million strings or parses a gigabyte of CSV in one call that never checks for Ctrl-C.
``run_interruptible`` makes such a call in a worker thread while the main thread waits, and waiting can be interrupted.
The call then finishes in the background, and its result is dropped. (In the main thread polars also handles Ctrl-C
itself, and one key press raises two KeyboardInterrupts.)

``polars_is_safe``: the threads of polars do not survive a fork, so that a child of a process that used it would hang;
and when memory runs out, polars aborts the process. In both cases plain Python reads text and CSV: it is slower, and
raises MemoryError.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from treewise._lib.worker_thread import WorkerThread, in_main_thread

_T = TypeVar("_T")

MIN_ROWS_FOR_THREAD = 20_000  # with fewer, a call returns before anyone could interrupt it
_SORT_RUN = 250_000  # strings sorted in one uninterruptible call
_POLARS_OVERHEAD = 1 << 29  # bytes that the threads of polars may allocate besides the data
_COPIES_WHILE_READING = 32  # upper bound of the copies of the data that reading it needs

polars_before_fork: list[bool] = []  # not empty in a child whose parent had polars loaded


def _note_fork() -> None:
    if "polars" in sys.modules:
        polars_before_fork.append(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def polars_is_safe(size: int) -> bool:
    """Return whether polars may process this many bytes in this process.

    >>> polars_is_safe(1000)
    True
    """
    available = _memory_left()
    required = _POLARS_OVERHEAD + _COPIES_WHILE_READING * size
    return not polars_before_fork and (available is None or available > required)


def _memory_left() -> int | None:
    """Return how many bytes this process may still allocate; None without a limit (``ulimit -v``)."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm", encoding="ascii") as file:
            return limit - int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):  # not a Unix with such limits
        return None


def run_interruptible(work: Callable[[], _T], rows: int) -> _T:
    """Call native code that releases the GIL; with many rows in a thread, so that Ctrl-C interrupts the wait.

    >>> run_interruptible(lambda: 6 * 7, rows=10**6)
    42
    """
    if rows < MIN_ROWS_FOR_THREAD or not in_main_thread():
        return work()
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    with suppress(RuntimeError, MemoryError):  # no thread can be started
        WorkerThread(run).wait()  # Ctrl-C ends the wait and leaves the thread to finish
    if errors:
        raise errors[0]
    return results[0] if results else work()  # without either, the thread has died for lack of memory


def run_in_threads(work: Sequence[Callable[[], object]], rows: int) -> None:
    """Call functions that release the GIL in threads, ahead of time; errors and results are dropped.

    Ctrl-C ends the wait; calls already begun finish in the background.
    """
    n_cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    n_threads = min(len(work), n_cpus)
    if rows < MIN_ROWS_FOR_THREAD or n_threads < 2 or not in_main_thread():
        return
    remaining = iter(work)
    stopped = threading.Event()

    def run() -> None:
        while not stopped.is_set() and (piece := next(remaining, None)) is not None:
            with suppress(BaseException):
                piece()

    threads = []
    try:
        with suppress(RuntimeError, MemoryError):  # fewer threads do more each, and the caller does what is left
            for _ in range(n_threads):
                threads.append(WorkerThread(run))
        for thread in threads:
            thread.wait()
    finally:
        stopped.set()


def sort_interruptible(texts: list[str]) -> list[str]:
    """Sort strings in short steps between which Ctrl-C is handled: sorted runs, then merges of neighbouring runs.

    >>> sort_interruptible(["b", "c", "a"])
    ['a', 'b', 'c']
    """
    runs = [sorted(texts[i : i + _SORT_RUN]) for i in range(0, max(len(texts), 1), _SORT_RUN)]
    while len(runs) > 1:
        # Python's sort recognises two sorted runs and merges them in one pass.
        runs = [sorted(runs[i] + runs[i + 1]) if i + 1 < len(runs) else runs[i] for i in range(0, len(runs), 2)]
    return runs[0]
