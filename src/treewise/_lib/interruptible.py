"""Living with native code that neither waits nor forgives: how polars and long NumPy calls are used.

Stands at the bottom of ``table``.

``patiently``: polars sorts ten million strings or cuts a gigabyte of CSV in one call that never looks whether someone
pressed Ctrl-C. Such a call is made in a thread of its own while the main thread waits, and waiting can be interrupted.
The call then runs to its end in the background; what it returns is dropped. (In the main thread polars also answers
Ctrl-C itself, and one key gives two KeyboardInterrupts.)

``polars_is_safe``: polars' threads do not survive a fork, so a child of a process that used it would wait for ever;
and where memory runs out, polars ends the process. There, plain Python reads text and CSV: slower, and it only raises.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

LONG = 20_000  # rows; below, a call is over before anyone could want to stop it
RUN = 250_000  # words that are sorted in one go
ROOM = 1 << 29  # bytes that polars' threads may ask for beside the data
TIMES = 32  # copies of the data that reading it may need on the way

polars_before_fork: list[bool] = []  # not empty in a child whose parent had polars loaded


def note_fork() -> None:
    """Remember, in a new child, that polars' threads stayed behind."""
    if "polars" in sys.modules:
        polars_before_fork.append(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=note_fork)


def polars_is_safe(size: int) -> bool:
    """Tell whether polars may be given so many bytes of data here.

    >>> polars_is_safe(1000)
    True
    """
    room = memory_left()
    return not polars_before_fork and (room is None or room > ROOM + TIMES * size)


def memory_left() -> int | None:
    """Return how many bytes this process may still ask for; None where there is no limit (``ulimit -v``)."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm", encoding="ascii") as file:
            return limit - int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):  # not a Unix with such limits
        return None


def run_interruptible(work: Callable[[], T], rows: int) -> T:
    """Do native work that lets go of Python's lock; if it is much, so that it can be interrupted.

    >>> run_interruptible(lambda: 6 * 7, rows=10**6)
    42
    """
    if rows < LONG or threading.current_thread() is not threading.main_thread():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    try:
        wait_for([start(run)])  # Ctrl-C ends this, and leaves the thread to finish
    except RuntimeError:  # no room for a thread
        return work()
    if errors:
        raise errors[0]
    return results[0]


def run_in_threads(work: Sequence[Callable[[], object]], rows: int) -> None:
    """Do several pieces of work in threads, as far as they let go of Python's lock; errors and results are dropped.

    Ctrl-C ends the waiting; pieces already begun run to their end in the background.
    """
    threads = min(len(work), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    if rows < LONG or threads < 2 or threading.current_thread() is not threading.main_thread():
        return
    todo = iter(work)
    stopped: list[bool] = []

    def run() -> None:
        while not stopped and (piece := next(todo, None)) is not None:
            with suppress(BaseException):
                piece()

    helpers = []
    try:
        with suppress(RuntimeError):  # no room for a thread: the others do more, or whoever asks next does all
            for _ in range(threads):
                helpers.append(start(run))
        wait_for(helpers)
    finally:
        stopped.append(True)


def start(run: Callable[[], None]) -> tuple[threading.Thread, threading.Event]:
    """Start a thread, and return it with the event that says it is done."""
    done = threading.Event()

    def run_and_say() -> None:
        try:
            run()
        finally:
            done.set()

    thread = threading.Thread(target=run_and_say, name="treewise-native")
    thread.start()
    return thread, done


def wait_for(helpers: Sequence[tuple[threading.Thread, threading.Event]]) -> None:
    """Wait until threads are done. Before Python 3.13, Ctrl-C in ``join`` itself makes a running thread seem ended."""
    for thread, done in helpers:
        while not done.wait(0.05):
            pass
        thread.join()


def sort_interruptible(words: list[str]) -> list[str]:
    """Sort text so that Ctrl-C is answered between short steps: runs first, then neighbouring runs merged.

    >>> sort_interruptible(["b", "c", "a"])
    ['a', 'b', 'c']
    """
    runs = [sorted(words[i : i + RUN]) for i in range(0, max(len(words), 1), RUN)]
    while len(runs) > 1:
        # Python's sort sees two sorted runs and merges them in one pass.
        runs = [sorted(runs[i] + runs[i + 1]) if i + 1 < len(runs) else runs[i] for i in range(0, len(runs), 2)]
    return runs[0]
