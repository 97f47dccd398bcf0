"""Many independent pieces of work in threads, for explanations that repeat something a hundred times.

Stands at the foot of ``explain``: permutations (``importances.py``) and resamples (``stability``) are spread here. The
core releases the interpreter while it works, so threads are enough and nothing is copied. Results are handed back in
the order of the pieces, whichever thread was first, so that sums of them never depend on how many threads there were.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TypeVar

Result = TypeVar("Result")
Progress = Callable[[float], None]
Work = Callable[[int, Progress], Result]  # (number of the piece, what to call now and then) → its result

AHEAD = 2  # pieces a thread may be ahead of who takes the results, so that few results are held at once


class Stopped(Exception):  # noqa: N818 - nothing went wrong
    """Raised inside a piece of work when nobody wants it any more."""


def in_threads(work: Work[Result], count: int, workers: int, progress: Progress | None = None) -> Iterator[Result]:
    """Yield the result of every piece, in order; ``progress`` is told the share that is done.

    A piece calls what it is given now and then: there it ends when the caller has been interrupted.

    >>> list(in_threads(lambda i, _: i * i, 4, workers=2))
    [0, 1, 4, 9]
    """
    stopped = Event()

    def go_on(_: float) -> None:
        if stopped.is_set():
            raise Stopped

    with ThreadPoolExecutor(max(1, min(workers, count)), thread_name_prefix="treewise") as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for taken in range(count):
                while len(waiting) < AHEAD * workers and taken + len(waiting) < count:
                    waiting.append(pool.submit(work, taken + len(waiting), go_on))
                yield waiting.popleft().result()
                if progress is not None:
                    progress((taken + 1) / count)
        finally:  # also when interrupted: what has not begun never does, what runs ends at its next call
            stopped.set()
            for future in waiting:
                future.cancel()
