"""Waiting for long native calls, so that Ctrl-C is answered at once.

Stands at the bottom of ``table``. polars sorts ten million strings or cuts a gigabyte of CSV in one call that never
looks whether someone pressed Ctrl-C. Such a call is made in a thread of its own while the main thread waits, and
waiting can be interrupted. The call itself then runs to its end in the background; what it returns is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONG = 200_000  # rows; below, a call is over before anyone could want to stop it


def patiently(work: Callable[[], T], rows: int) -> T:
    """Do native work that lets go of Python's lock; if it is much, so that it can be interrupted.

    >>> patiently(lambda: 6 * 7, rows=10**6)
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

    thread = threading.Thread(target=run, name="treewise-native")
    thread.start()
    while thread.is_alive():
        thread.join(0.05)  # Ctrl-C ends this, and leaves the thread to finish
    if errors:
        raise errors[0]
    return results[0]
