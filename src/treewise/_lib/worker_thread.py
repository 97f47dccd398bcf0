"""A thread that cannot leave its caller waiting for ever when memory is short.

``threading.Thread.start`` waits until the new thread reports that it runs, and a pool waits for the result of each
task. A thread that dies of ``MemoryError`` before its first line does neither, and both wait for ever. ``WorkerThread``
uses the low-level ``_thread`` instead. The new thread alone holds a reference to a token; whatever ends the thread,
before or after its first line, frees the token, and the waiting thread notices.

Such threads are unknown to ``threading``, so that Python does not wait for them at exit. ``wait_for_workers`` does: a
thread that returns from native code into an interpreter that has shut down may abort the process.
"""

from __future__ import annotations

import _thread
import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable

_POLL = 0.05  # seconds between two looks at a thread; a signal interrupts the wait earlier


class _Token:
    """Lives as long as the thread that holds it."""

    __slots__ = ("__weakref__",)


class WorkerThread:
    """Call a function in a new thread; raises RuntimeError or MemoryError if none can be started.

    >>> results = []
    >>> WorkerThread(lambda: results.append(6 * 7)).wait()
    >>> results
    [42]
    """

    def __init__(self, work: Callable[[], object]) -> None:
        from treewise import _core  # here, so that the help pages load without the core

        token = _Token()
        self._token = weakref.ref(token)
        self._done = _thread.allocate_lock()
        self._done.acquire()
        _workers[:] = [*(worker for worker in _workers if worker.is_alive), self]
        try:
            _thread.start_new_thread(_run, (work, _core.prepare_to_throw, self._done, token))
        except BaseException:
            self._done.release()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether the function may still return; False also if the thread has died before calling it."""
        return self._done.locked() and self._token() is not None

    def wait(self) -> None:
        """Wait until the function has returned or the thread has died; Ctrl-C interrupts the wait, not the thread."""
        while self.is_alive:
            if self._done.acquire(timeout=_POLL):
                self._done.release()


_workers: list[WorkerThread] = []  # all that run, and some that have ended


def _run(work: Callable[[], object], prepare: Callable[[], bool], done: _thread.LockType, _token: _Token) -> None:
    """Run in the new thread, which holds the token until it ends."""
    try:
        if prepare():  # otherwise memory is exhausted, and the thread ends as if it had never started
            work()
    finally:
        done.release()


def in_main_thread() -> bool:
    """Tell whether this is the main thread; unlike ``current_thread``, registers nothing for a worker thread."""
    return threading.get_ident() == threading.main_thread().ident


def any_worker_alive() -> bool:
    """Tell whether a worker thread is running, such as one whose result was dropped after Ctrl-C."""
    return any(worker.is_alive for worker in _workers)


def wait_for_workers() -> None:
    """Wait until no worker thread is running."""
    while any_worker_alive():
        time.sleep(_POLL)


atexit.register(wait_for_workers)
if hasattr(os, "register_at_fork"):  # a child process has none of its parent's threads
    os.register_at_fork(after_in_child=_workers.clear)
