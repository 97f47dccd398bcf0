"""Ctrl-C, fork, memory exhaustion and concurrent threads.

Most of this happens in processes of their own: this file is also the program they run (``python test_faults.py NAME``).
 ``TREEWISE_LONG=1`` runs many more interrupts and memory limits.
"""

import gc
import hashlib
import json
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import treewise as tw
from tests.support.subprocesses import run_function, send_result, start_function
from treewise._lib.worker_thread import wait_for_workers
from treewise.data.table import read_bytes
from treewise.formats.model_file.model_file import dumps, loads

LONG = bool(os.environ.get("TREEWISE_LONG"))
WITHIN = 0.5  # seconds from Ctrl-C to KeyboardInterrupt
PATIENCE = 60  # seconds that a busy machine may let a process wait for its turn
UNIX = pytest.mark.skipif(os.name == "nt", reason="Windows has neither fork nor a signal for one process")


# -- Ctrl-C -----------------------------------------------------------------------------------------------------------

ROWS = 400_000 if LONG else 120_000


def tasks(folder):
    """Return long calls by name; the files they read are in a folder of this process."""
    rng = np.random.default_rng(0)
    numbers, labels = rng.normal(size=(ROWS, 6)), rng.integers(0, 2, ROWS)
    words = [f"k{i}" for i in rng.integers(0, ROWS // 2, ROWS)]
    texts = np.where(labels, "yes", "no").tolist()
    frame = pd.DataFrame({"words": words, "town": rng.choice(["Rome", "Bari"], ROWS), "y": texts})
    tree = tw.grow(numbers[:20_000], labels[:20_000])
    small_trees = tw.forest(numbers[:300], labels[:300], n_estimators=4000, max_depth=3)
    many = np.tile(numbers, (4, 1))
    named = {**{f"x{i + 1}": numbers[:, i] for i in range(6)}, "y": labels}
    csv, model = os.path.join(folder, "t.csv"), os.path.join(folder, "m.json")
    frame.to_csv(csv, index=False)
    tree.save(model)
    return {
        "grow on numbers": lambda: tw.grow(numbers, labels, max_depth=5),
        "grow on text in lists": lambda: tw.grow({"words": words, "y": texts}, "y", max_depth=2),
        "grow on text in pandas": lambda: tw.grow(frame, "y", max_depth=2),
        "grow on a CSV file": lambda: tw.grow(csv, "y", max_depth=2),
        "forest": lambda: tw.forest(numbers[:20_000], labels[:20_000], n_estimators=6, oob_score=True),
        "bagging": lambda: tw.bagging(numbers, labels, n_estimators=2, max_depth=5, n_jobs=2),
        "predict": lambda: tree.predict(many),
        "predict by thousands of trees": lambda: small_trees.predict(numbers[:16_000]),
        "predict_proba": lambda: tree.predict_proba(many),
        "refit": lambda: tree.refit(named),
        "evaluate": lambda: tree.evaluate(named),
        "estimator": lambda: tw.TreeClassifier(max_depth=5).fit(numbers, labels),
        "estimator of a forest": lambda: tw.ForestClassifier(6).fit(numbers[:20_000], labels[:20_000]),
        "report": lambda: tree.report(os.path.join(folder, "r.html"), named),
        "save": lambda: tree.save(model),
        "load": lambda: tw.load(model),
        "print": lambda: str(tree),
    }


def interrupted(folder):
    """Make the calls that are asked for, one a line of input; say when each begins and when it was interrupted."""
    calls = tasks(folder)
    small = {"x": [1.0, 2.0, 3.0], "y": ["a", "b", "a"]}
    expected = dumps(tw.grow(small, "y"))
    durations = {}
    for name, call in calls.items():
        call()
        began = time.monotonic()
        call()
        durations[name] = time.monotonic() - began
    send_result(durations)
    gc.collect()
    for line in sys.stdin:
        actual = {}
        try:
            send_result("begun")
            calls[line.strip()]()
            for _ in range(20_000):  # it was over before the signal came; Python looks for one between two calls only
                time.sleep(0.03)
        except KeyboardInterrupt:
            actual["caught"], actual["cpu"] = time.monotonic(), time.process_time()
        try:
            time.sleep(0.05)
        except KeyboardInterrupt:
            actual["twice"] = True
        wait_for_workers()  # what polars was in the middle of
        actual["threads"] = threading.active_count()
        actual["works"] = dumps(tw.grow(small, "y")) == expected
        send_result(actual)


def cpu_seconds(pid):
    """Return the processor time that a process has had so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reactions(folder, times):
    """Interrupt calls at random moments; yield how long each took to stop, by the clock and in processor time."""
    random.seed(0)
    with start_function(__file__, "interrupted", folder) as process:
        durations = json.loads(process.stdout.readline())
        for i in range(times):
            name = list(durations)[i % len(durations)]
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == "begun"
            time.sleep(random.random() * min(durations[name], 3))  # a busy machine measures long durations
            sent, had = time.monotonic(), cpu_seconds(process.pid)
            process.send_signal(signal.SIGINT)
            parsed = json.loads(process.stdout.readline())
            assert parsed["works"], name
            assert parsed["threads"] == 1, name
            assert "twice" not in parsed, name
            yield parsed["caught"] - sent, parsed["cpu"] - had, name
        process.stdin.close()
    assert process.returncode == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads processor time as Linux tells it")
def test_ctrl_c_stops_every_long_call_within_half_a_second(tmp_path, capsys):
    """Time is processor time: on a busy machine a process waits for its turn, which is not our doing."""
    actual = list(reactions(tmp_path, 220 if LONG else 22))
    clock, cpu, _ = zip(*actual, strict=True)
    slowest = max(actual, key=lambda one: one[1])
    with capsys.disabled():
        print(f"\n{len(actual)} interrupts: processor time median {np.median(cpu) * 1000:.0f} ms, "
              f"99 % {np.quantile(cpu, 0.99) * 1000:.0f} ms, longest {slowest[1] * 1000:.0f} ms ({slowest[2]}); "
              f"by the clock median {np.median(clock) * 1000:.0f} ms, 99 % {np.quantile(clock, 0.99) * 1000:.0f} ms, "
              f"longest {max(clock) * 1000:.0f} ms")  # fmt: skip
    assert np.median(cpu) < WITHIN
    assert slowest[1] < WITHIN * (1 if LONG else 3), slowest
    assert max(clock) < PATIENCE


def fit_for_ever(model, x, y):
    """Fit full trees until something stops it."""
    while True:
        model.set_params(max_depth=None).fit(x, y)


@UNIX
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_a_timer_of_this_process_stops_growth_and_leaves_the_estimator_as_it_was():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60_000, 6)), rng.integers(0, 2, 60_000)
    model = tw.TreeClassifier(max_depth=3).fit(x[:500], y[:500])
    old, new = dumps(model.tree_), dumps(tw.TreeClassifier().fit(x, y).tree_)
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for delay in (0.001, 0.02, 0.1):
            model.set_params(max_depth=3).fit(x[:500], y[:500])
            signal.setitimer(signal.ITIMER_REAL, delay)
            with pytest.raises(KeyboardInterrupt):
                fit_for_ever(model, x, y)
            assert dumps(model.tree_) in (old, new)  # the last fit that was finished
            assert len(model.predict(x)) == len(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@UNIX
def test_a_signal_that_is_already_there_stops_the_call():
    x, y = np.random.default_rng(2).normal(size=(50_000, 8)), np.arange(50_000) % 2
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the signal may be answered by either line
            signal.raise_signal(signal.SIGINT)
            tw.grow(x, y)
    finally:
        signal.signal(signal.SIGINT, handler)


# -- fork -------------------------------------------------------------------------------------------------------------


def small_tables(folder):
    """Return one table in every form, large enough that polars has read it in the parent."""
    rng = np.random.default_rng(3)
    n = 6000
    words, y = rng.choice(["Rome", "Bari", "Oslo"], n).tolist(), rng.choice(["yes", "no"], n).tolist()
    x = rng.normal(size=n).round(3)
    lists = {"x": x.tolist(), "town": words, "y": y}
    path = os.path.join(folder, "table.csv")
    pl.DataFrame(lists).write_csv(path)
    return {
        "lists": lists,
        "pandas": pd.DataFrame(lists),
        "polars": pl.DataFrame(lists),
        "Arrow": pa.table(lists),
        "CSV": path,
    }


def grow_all(tables):
    """Grow and predict on each; the trees are the same, so one checksum will do."""
    actual = set()
    for data in tables.values():
        tree = tw.grow(data, "y", max_depth=4)
        actual.add(hashlib.sha256((dumps(tree) + str(tree.predict(data).tolist())).encode()).hexdigest())
    return actual


def report_in(folder, data):
    tw.grow(data, "y", max_depth=2).report(os.path.join(folder, f"{os.getpid()}.html"), data)


def forks(folder, times):
    """Fork after fits and a report; every child must do the same within a minute."""
    tables = small_tables(folder)
    expected = grow_all(tables)
    report_in(folder, tables["polars"])
    assert len(expected) == 1
    for _ in range(int(times)):
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            good = False
            try:
                report_in(folder, tables["polars"])
                good = grow_all(tables) == expected
            finally:
                os._exit(0 if good else 1)
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"child ended with {status}"
    print("ok")


@UNIX
def test_children_of_a_fork_grow_and_predict(tmp_path):
    run_function(__file__, "forks", tmp_path, 200 if LONG else 4, timeout=900)


@UNIX
def test_a_forked_child_refuses_parquet_instead_of_waiting_for_ever(tmp_path):
    assert "does not survive a fork" in run_function(__file__, "forked_parquet", tmp_path)


def forked_parquet(folder):
    """Read a Parquet file in a fork: polars' threads are not there."""
    path = os.path.join(folder, "t.parquet")
    pl.DataFrame({"x": [1, 2], "y": ["a", "b"]}).write_parquet(path)
    tw.grow(path, "y")
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            tw.grow(path, "y")
        except tw.DataError as error:
            print(error, flush=True)
            os._exit(0)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def pool_task(seed):
    rng = np.random.default_rng(seed)
    data = {"x": rng.normal(size=500), "t": rng.choice(["a", "b"], 500), "y": rng.choice(["p", "q"], 500)}
    return dumps(tw.grow(data, "y"))


def pools(method):
    """Grow in a pool of processes."""
    here = [pool_task(seed) for seed in range(4)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(pool_task, range(4)).get(timeout=100) == here
    print("ok")


@UNIX
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_of_processes(method):
    run_function(__file__, "pools", method)


# -- memory -----------------------------------------------------------------------------------------------------------


def limited(what, megabytes):
    """Allow so much memory beyond what is in use, and see: a result or MemoryError; and then the next call works."""
    import resource

    rng = np.random.default_rng(4)
    n = 200_000
    numbers, labels = rng.normal(size=(n, 4)), rng.integers(0, 2, n)
    words = [f"k{i}" for i in rng.integers(0, n // 2, n)]
    texts = np.where(labels, "yes", "no").tolist()
    small = {"x": [1.0, 2.0, 3.0], "t": ["u", "v", "u"], "y": ["a", "b", "a"]}
    tree = tw.grow(numbers[:2000], labels[:2000])
    expected = dumps(tw.grow(small, "y"))
    tw.grow({"words": words[:6000], "y": texts[:6000]}, "y", max_depth=1)  # polars is loaded, and has its threads
    many = np.tile(numbers, (3, 1))
    csv = ("words,y\n" + "".join(f"{w},{t}\n" for w, t in zip(words, texts, strict=True))).encode()
    calls = {
        "grow": lambda: tw.grow(numbers, labels, max_depth=4),
        "predict": lambda: tree.predict_proba(many),
        "text": lambda: tw.grow({"words": words, "y": texts}, "y", max_depth=2),
        "csv": lambda: tw.grow(read_bytes(csv, "t.csv", ()), "y", max_depth=2),
    }
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (used + int(megabytes) * 2**20, resource.RLIM_INFINITY))
    try:
        calls[what]()
        outcome = "done"
    except MemoryError:
        outcome = "MemoryError"
    assert dumps(tw.grow(small, "y")) == expected
    print(outcome)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space as Linux does")
@pytest.mark.parametrize("what", ["grow", "predict", "text", "csv"])
def test_no_memory_is_an_exception_and_never_a_signal(what, capsys):
    limits = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024] if LONG else [1, 16, 64]
    outcomes = {limit: run_function(__file__, "limited", what, limit).strip() for limit in limits}
    assert set(outcomes.values()) <= {"done", "MemoryError"}
    assert outcomes[1] == "MemoryError"
    if LONG:
        assert outcomes[1024] == "done"
        with capsys.disabled():
            print(f"\n{what}: {outcomes}")


def test_a_lack_of_memory_says_how_much_was_needed(monkeypatch):
    from treewise import _core

    def full(*_):
        raise MemoryError("std::bad_alloc")

    tree = tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y")
    monkeypatch.setattr(_core, "grow", full)
    with pytest.raises(MemoryError, match=r"growing on 2 rows and 1 column needs about \d+ MB besides the table"):
        tw.grow({"x": [1, 2], "y": ["a", "b"]}, "y")
    monkeypatch.setattr(_core, "find_leaves", full)
    with pytest.raises(MemoryError, match=r"not enough memory: 2 rows need \d+ MB"):
        tree.predict({"x": [1, 2]})


# -- threads ----------------------------------------------------------------------------------------------------------


def test_sixteen_threads_predict_with_one_tree_at_once():
    rng = np.random.default_rng(5)
    n = 3000
    data = {
        "x": rng.normal(size=n),
        "t": rng.choice(list("abcdefgh"), n),
        "d": rng.integers(0, 100, n).astype("M8[D]"),
        "y": rng.choice(["p", "q", "r"], n),
    }
    grown = tw.grow(data, "y", max_depth=8)
    expected = (grown.predict(data).tolist(), grown.apply(data).tolist(), grown.predict_proba(data).tobytes())
    for _ in range(20 if LONG else 3):
        tree = loads(dumps(grown))  # nothing is cached yet: all threads come at once
        gate = threading.Barrier(16)

        def ask(number, tree=tree, gate=gate):
            gate.wait()
            if number % 4 == 3:
                return str(tree) and dumps(tree)
            return tree.predict(data).tolist(), tree.apply(data).tolist(), tree.predict_proba(data).tobytes()

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(ask, range(16)))
        assert all(found == (dumps(grown) if i % 4 == 3 else expected) for i, found in enumerate(answers))


def test_threads_grow_at_once():
    def grow(seed):
        return pool_task(seed % 4)

    here = [pool_task(seed) for seed in range(4)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(grow, range(16))) == here * 4


def test_other_threads_run_while_the_core_works(monkeypatch):
    """Another thread counts; if the core kept Python's lock, no count could fall between its beginning and its end."""
    from treewise import _core

    x, y = np.random.default_rng(6).normal(size=(60_000, 6)), np.arange(60_000) % 2
    beats, calls, grow = [], [], _core.grow
    stop = threading.Event()

    def beat():
        while not stop.wait(0.001):
            beats.append(time.monotonic())

    def timed(*words):
        began = time.monotonic()
        try:
            return grow(*words)
        finally:
            calls.append((began, time.monotonic()))

    monkeypatch.setattr(_core, "grow", timed)
    thread = threading.Thread(target=beat)
    thread.start()
    inside = 0
    while inside <= 3 and len(calls) < 200:
        tw.grow(x, y, max_depth=4)
        inside = sum(began < t < ended for began, ended in calls for t in beats)
    stop.set()
    thread.join()
    assert inside > 3


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
