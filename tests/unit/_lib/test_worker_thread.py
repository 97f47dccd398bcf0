"""Threads under memory pressure: calls in threads end, whatever a thread could not do.

Limits are set in processes of their own: this file is also the program they run.
"""

import faulthandler
import os
import sys
import threading
import time

import pytest

from tests.support.subprocesses import run_function
from treewise._lib.interruptible import run_in_threads, run_interruptible
from treewise._lib.thread_pool import map_in_threads
from treewise._lib.worker_thread import WorkerThread, any_worker_alive, in_main_thread, wait_for_workers

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space as Linux does")


def call_in_thread():
    """Return whether a thread made the call."""
    return not run_interruptible(in_main_thread, rows=10**6)


def map_over_threads():
    """Return whether threads computed all results."""
    results = list(map_in_threads(lambda i, _: (i * i, in_main_thread()), 8, workers=2))
    assert [square for square, _ in results] == [i * i for i in range(8)]
    return not any(here for _, here in results)


def call_ahead():
    """Return whether all calls were made."""
    calls = []
    run_in_threads([lambda: calls.append(1)] * 4, rows=10**6)
    return len(calls) == 4


def starved(name):
    """Call with every amount of memory from far too little to enough for the first lines of a thread."""
    import resource

    faulthandler.dump_traceback_later(60, exit=True)
    call, outcomes = globals()[name], {"threads": 0, "caller": 0, "MemoryError": 0}
    call()
    with open("/proc/self/statm", encoding="ascii", buffering=1) as statm:
        for spare in range(-(1 << 20), 1 << 20, 8192):
            statm.seek(0)
            limit = int(statm.read().split()[0]) * resource.getpagesize() + spare
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            try:
                outcomes["threads" if call() else "caller"] += 1
            except MemoryError:
                outcomes["MemoryError"] += 1
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait_for_workers()
    print(outcomes)


@LINUX
@pytest.mark.parametrize("name", ["call_in_thread", "map_over_threads", "call_ahead"])
def test_without_memory_for_a_thread_the_caller_does_the_work(name):
    outcomes = eval(run_function(__file__, "starved", name, timeout=90))
    assert outcomes["caller"] > 0, outcomes
    assert sum(outcomes.values()) == 256


def refuse_threads(monkeypatch, error):
    import _thread

    def refuse(*_):
        raise error

    monkeypatch.setattr(_thread, "start_new_thread", refuse)


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_where_no_thread_can_be_started_the_caller_does_the_work(monkeypatch, error):
    refuse_threads(monkeypatch, error)
    assert run_interruptible(lambda: 42, rows=10**6) == 42
    assert list(map_in_threads(lambda i, _: i, 3, workers=3)) == [0, 1, 2]
    run_in_threads([lambda: 1 / 0] * 2, rows=10**6)
    assert not any_worker_alive()


def test_errors_of_threads_are_raised_in_their_turn():
    def work(i, _):
        if i == 3:
            raise ValueError("task 3")
        return i

    results = map_in_threads(work, 6, workers=2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="task 3"):
        next(results)
    wait_for_workers()
    with pytest.raises(ZeroDivisionError):
        run_interruptible(lambda: 1 / 0, rows=10**6)


def test_a_reader_that_stops_ends_the_threads_at_their_next_check():
    begun = []

    def work(i, check_interrupt):
        begun.append(i)
        while i > 0:
            check_interrupt(0.0)
            time.sleep(0.001)
        return i

    results = map_in_threads(work, 100, workers=3)
    assert next(results) == 0
    results.close()
    assert not any_worker_alive()
    assert len(begun) < 10


def test_threads_stay_a_bounded_number_of_results_ahead():
    begun = []
    results = map_in_threads(lambda i, _: begun.append(i), 100, workers=2)
    next(results)
    time.sleep(0.2)
    assert len(begun) <= 5
    assert len(list(results)) == 99


def left_behind(seconds):
    """Exit while a thread is in the middle of something."""
    WorkerThread(lambda: (time.sleep(float(seconds)), print("finished", flush=True)))


def test_the_process_ends_after_its_threads():
    assert run_function(__file__, "left_behind", 0.3).strip() == "finished"


def forked():
    """Exit from a fork that does not have its parent's thread."""
    gate = threading.Event()
    WorkerThread(gate.wait)
    pid = os.fork()
    if pid == 0:
        sys.exit(0)  # with everything that Python does at exit
    assert os.waitpid(pid, 0)[1] == 0
    gate.set()
    print("ok")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_does_not_wait_for_the_threads_of_its_parent():
    assert run_function(__file__, "forked", timeout=60).strip() == "ok"


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
