"""Map a function over indices in threads, with results in order and prompt interruption.

Used by permutation importances and resampling. The core releases the GIL while it works, so threads suffice and nothing
is copied. Results are yielded in index order whichever thread finishes first, so sums of them do not depend on the
number of threads.

Of w threads, thread k computes the tasks k, k + w, k + 2w, … and has at most ``_TASKS_AHEAD`` unread results. If memory
is so short that a thread cannot start or dies, the caller computes its tasks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import Event, Semaphore
from typing import Generic, TypeVar

from treewise._lib.worker_thread import WorkerThread

Result = TypeVar("Result")
Progress = Callable[[float], None]
Work = Callable[[int, Progress], Result]  # (index, check_interrupt) → result

_TASKS_AHEAD = 2  # unread results per thread
_POLL = 0.05  # seconds between two looks whether a thread is alive; a result ends the wait at once


class _Cancelled(Exception):  # noqa: N818 - not an error
    """Raised inside a task once its result is no longer needed."""


class _Worker(Generic[Result]):
    """A thread that computes some of the tasks."""

    def __init__(self, work: Work[Result], indices: range) -> None:
        self._work, self._indices = work, indices
        self._stopped = Event()
        self._unread = Semaphore(_TASKS_AHEAD)
        self._ready = Semaphore(0)
        self._results: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}
        self._thread: WorkerThread | None = None
        with suppress(RuntimeError, MemoryError):  # no thread can be started
            self._thread = WorkerThread(self._run)

    def _run(self) -> None:
        for index in self._indices:
            self._unread.acquire()
            if self._stopped.is_set():
                return
            try:
                self._results[index] = self._work(index, self._check_interrupt)
            except BaseException as error:
                self._errors[index] = error
            self._ready.release()

    def _check_interrupt(self, _: float) -> None:
        if self._stopped.is_set():
            raise _Cancelled

    def result(self, index: int) -> Result:
        """Return the result of a task when it is there, or raise its error."""
        while self._thread is not None and self._thread.is_alive:
            if self._ready.acquire(timeout=_POLL):
                break
        if index in self._errors:
            raise self._errors.pop(index)
        if index not in self._results:
            return self._work(index, self._check_interrupt)
        self._unread.release()
        return self._results.pop(index)

    def stop(self) -> None:
        """End the thread: after the task it computes, or at that task's next check."""
        self._stopped.set()
        self._unread.release()

    def wait(self) -> None:
        """Wait until the thread has ended."""
        if self._thread is not None:
            self._thread.wait()


def map_in_threads(work: Work[Result], count: int, workers: int, progress: Progress | None = None) -> Iterator[Result]:
    """Yield ``work(i, check_interrupt)`` for i from 0 to ``count`` − 1, in order; ``progress`` gets the fraction done.

    A long task calls ``check_interrupt`` now and then; it raises there once the caller has been interrupted.

    >>> list(map_in_threads(lambda i, _: i * i, 4, workers=2))
    [0, 1, 4, 9]
    """
    n_threads = max(1, min(workers, count))
    threads: list[_Worker[Result]] = []
    try:
        threads += (_Worker(work, range(first, count, n_threads)) for first in range(n_threads))
        for index in range(count):
            yield threads[index % n_threads].result(index)
            if progress is not None:
                progress((index + 1) / count)
    finally:  # also when interrupted
        for thread in threads:
            thread.stop()
        for thread in threads:
            thread.wait()


Item = TypeVar("Item")


class _Ahead(Generic[Item, Result]):
    """One item that is worked on in a thread of its own; where none can be started, when its result is asked for."""

    def __init__(self, work: Callable[[Item], Result], item: Item) -> None:
        self.work, self.item = work, item
        self._results: list[Result] = []
        self._errors: list[BaseException] = []
        self._thread: WorkerThread | None = None
        with suppress(RuntimeError, MemoryError):  # no thread can be started
            self._thread = WorkerThread(self._run)

    def _run(self) -> None:
        try:
            self._results.append(self.work(self.item))
        except BaseException as error:
            self._errors.append(error)

    def result(self) -> Result:
        if self._thread is not None:
            self._thread.wait()
        if self._errors:
            raise self._errors[0]
        return self._results[0] if self._results else self.work(self.item)


def map_ahead(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[tuple[Item, Callable[[], Result]]]:
    """Yield each item, in order, with a function that returns ``work(item)`` or raises its error.

    As many items as there are workers are worked on ahead, so that an endless iterable needs no more memory than that.

    >>> [(item, result()) for item, result in map_ahead(lambda n: n * n, iter([1, 2, 3]), workers=2)]
    [(1, 1), (2, 4), (3, 9)]
    """
    waiting: deque[_Ahead[Item, Result]] = deque()
    for item in items:
        waiting.append(_Ahead(work, item))
        if len(waiting) >= workers:
            first = waiting.popleft()
            yield first.item, first.result
    while waiting:
        first = waiting.popleft()
        yield first.item, first.result
