"""Map a function over indices in threads, with results in order and prompt interruption.

Used by permutation importances and resampling. The core releases the GIL while it works, so threads suffice and nothing
is copied. Results are yielded in index order whichever thread finishes first, so sums of them do not depend on the
number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TypeVar

Result = TypeVar("Result")
Progress = Callable[[float], None]
Work = Callable[[int, Progress], Result]  # (index, check_interrupt) → result

_TASKS_AHEAD = 2  # submitted tasks per thread; bounds how many unread results are held


class _Cancelled(Exception):  # noqa: N818 - not an error
    """Raised inside a task once its result is no longer needed."""


def map_in_threads(work: Work[Result], count: int, workers: int, progress: Progress | None = None) -> Iterator[Result]:
    """Yield ``work(i, check_interrupt)`` for i from 0 to ``count`` − 1, in order; ``progress`` gets the fraction done.

    A long task calls ``check_interrupt`` now and then; it raises there once the caller has been interrupted.

    >>> list(map_in_threads(lambda i, _: i * i, 4, workers=2))
    [0, 1, 4, 9]
    """
    stopped = Event()

    def check_interrupt(_: float) -> None:
        if stopped.is_set():
            raise _Cancelled

    with ThreadPoolExecutor(max(1, min(workers, count)), thread_name_prefix="treewise") as pool:
        pending: deque[Future[Result]] = deque()
        try:
            for done in range(count):
                while len(pending) < _TASKS_AHEAD * workers and done + len(pending) < count:
                    pending.append(pool.submit(work, done + len(pending), check_interrupt))
                yield pending.popleft().result()
                if progress is not None:
                    progress((done + 1) / count)
        finally:  # also when interrupted: cancel what has not begun, and stop what runs at its next check
            stopped.set()
            for future in pending:
                future.cancel()
