"""Growing on a Dask cluster of worker processes: the tree of memory, also when workers are killed."""

import os
import random
import signal
import threading
import time
from contextlib import contextmanager, nullcontext

import pytest

import treewise as tw
from tests.support.partitions import mixed_table
from treewise.errors import DataError, ParameterError
from treewise.formats.model_file.model_file import dumps
from treewise.sources import dask_executor, partitions
from treewise.sources.partitions import PartitionedSource
from treewise.train.grow import fit

dask = pytest.importorskip("dask")
dask_frames = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # of other packages: sockets and loops that they close late
KILLS = 20 if os.environ.get("TREEWISE_LONG") else 1


@contextmanager
def start_cluster():
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with start_cluster() as client:
        yield client


def kill_a_worker(client):
    """End a worker process at once, as the system does when memory is short; its nanny starts another."""
    pids = list(client.run(os.getpid).values())
    os.kill(random.choice(pids), signal.SIGKILL)


def frame(table, npartitions):
    return dask_frames.from_pandas(table, npartitions=npartitions)


def test_predictions_for_a_dataframe(monkeypatch):
    """Partitions are predicted where they are, when they are needed; an empty one, too. It needs no client."""
    monkeypatch.setitem(dask.config.config, "scheduler", "threads")
    for seed in (2, 3):
        table = mixed_table(seed, 200)
        tree = tw.grow(table, "y", max_depth=2)
        lazy = frame(table, 3)
        lazy = dask_frames.concat([lazy, lazy.query("count > 99")])
        predicted = tree.predict(lazy)
        assert predicted.dtype == predicted.compute().dtype
        assert predicted.compute().tolist() == tree.predict(table).tolist()
        assert tree.apply(lazy).compute().tolist() == tree.apply(table).tolist()
    assert tree.predict_proba(lazy).compute().to_numpy().tolist() == tree.predict_proba(table).tolist()
    assert list(tree.predict_proba(lazy).columns) == ["probability_0", "probability_1"]
    assert str(tree.evaluate(frame(table, 3))) == str(tree.evaluate(table))
    with pytest.warns(UserWarning, match="the rows of a Dask dataframe are fetched into memory"):
        assert dumps(tree.refit(frame(table, 3))) == dumps(tree.refit(table))


def test_the_tree_of_memory(client, tmp_path, monkeypatch):
    """One test, as starting a cluster takes seconds: partitions, the client that Dask uses by itself, and files.

    The first tree is grown on one worker, the second on two below a root that is counted, the third by counts alone.
    """
    options = {"target": "y", "max_depth": 4, "sample_weight": "w"}
    for seed in (2, 3, 3):
        table = mixed_table(seed, 1000)
        expected = dumps(tw.grow(table, **options))
        assert dumps(tw.grow(frame(table, 5), **options, engine=client)) == expected
        if partitions._SMALL_CELLS == 1:
            monkeypatch.setattr(partitions, "_CELL_BYTES", 1 << 60)
        monkeypatch.setattr(partitions, "_SMALL_CELLS", 1)
    monkeypatch.undo()
    assert dumps(tw.grow(frame(table, 1), **options)) == expected
    table.drop(columns="size").iloc[:600].to_parquet(tmp_path / "a.parquet")
    table.drop(columns="size").iloc[600:].to_parquet(tmp_path / "b.parquet")
    files = str(tmp_path / "*.parquet")
    assert dumps(tw.grow(files, **options, engine=client)) == dumps(tw.grow(files, **options))


class KillOnce:
    """The progress of a growth, in which a worker is killed once: between two questions, or after some seconds."""

    def __init__(self, client, seconds=None):
        self.client, self.is_done, self.timer = client, False, None
        if seconds is not None:
            self.timer = threading.Timer(seconds, self.kill)
            self.timer.start()

    def kill(self):
        self.is_done = True
        kill_a_worker(self.client)

    def report(self, share):
        if not self.is_done and self.timer is None:
            self.kill()

    @contextmanager
    def stage(self, name):
        yield self.report


@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_worker_changes_nothing(client, kill, monkeypatch):
    """Each time on a new cluster: Dask does not always start a worker again that was killed soon after its start.

    Between two questions if rows are counted; two of three times subtrees of 500 rows are grown at once, too.
    """
    monkeypatch.setattr(partitions, "_SMALL_CELLS", 1)
    if kill % 3 == 2:
        monkeypatch.setattr(partitions, "_CELL_BYTES", 1 << 60)
    table = mixed_table(3, 1000)
    expected = dumps(tw.grow(table, "y", max_depth=6))
    with start_cluster() if kill else nullcontext(client) as own_client:
        killer = KillOnce(own_client, random.random() if kill % 2 else None)
        options = {"max_depth": 6, "engine": own_client}
        assert dumps(fit(frame(table, 5), "y", options, progress=killer.stage)) == expected
        if killer.timer is not None:
            killer.timer.join()
        assert killer.is_done


def test_errors_of_workers_are_ours(client):
    with pytest.raises(DataError, match="negative in row 1"):
        tw.grow(frame(mixed_table(1, 50).assign(w=-1.0), 2), "y", sample_weight="w", engine=client)


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    monkeypatch.setattr(dask_executor, "_WAIT", 0.1)
    monkeypatch.setattr(dask_executor, "_MAX_WITHOUT_WORKERS", 0.5)
    settings = {"n_workers": 0, "dashboard_address": "127.0.0.1:0", "processes": False}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        started = time.monotonic()
        with pytest.raises(DataError, match="no workers"):
            tw.grow(frame(mixed_table(1, 50), 2), "y", engine=client)
        assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("engine", "error", "message"),
    [
        ("tcp://127.0.0.1:1", DataError, "no Dask scheduler answers"),
        (0, ParameterError, "number of worker processes"),
        (object(), ParameterError, "must be a Dask client"),
    ],
    ids=["address", "none", "object"],
)
def test_wrong_engines(engine, error, message, monkeypatch):
    monkeypatch.setattr(dask_executor, "_MAX_CONNECTING", 1)
    with pytest.raises(error, match=message):
        tw.grow(frame(mixed_table(1, 50), 2), "y", engine=engine)


def test_a_table_in_memory_needs_no_cluster(client):
    with pytest.raises(ParameterError, match="needs a Dask dataframe, or files"):
        tw.grow(mixed_table(1, 50), "y", engine=client)


@pytest.mark.parametrize("method", ["forest", "bagging", "extra_trees"])
def test_the_ensemble_of_memory(client, method, monkeypatch):
    """Each task has room for the whole table, then for a sample of it."""
    table = mixed_table(3, 600)
    options = {"target": "y", "n_estimators": 4, "max_samples": 0.3, "oob_score": True, "sample_weight": "w"}
    expected = dumps(getattr(tw, method)(table, **options))
    assert dumps(getattr(tw, method)(frame(table, 4), **options, engine=client)) == expected
    monkeypatch.setattr(PartitionedSource, "rows_per_task", 500)
    assert dumps(getattr(tw, method)(frame(table, 4), **options)) == expected


@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_worker_changes_no_forest(client, kill, monkeypatch):
    """Between two batches of trees, or after some time; of all rows, or of samples."""
    if kill % 2:
        monkeypatch.setattr(PartitionedSource, "rows_per_task", 900)
    table, options = mixed_table(3, 1000), {"n_estimators": 5, "max_samples": 0.5, "oob_score": True}
    expected = dumps(tw.forest(table, "y", **options))
    with start_cluster() as own_client:
        killer = KillOnce(own_client, random.random() if kill % 4 > 1 else None)
        grown = tw.forest(frame(table, 5), "y", **options, engine=own_client, progress=killer.report)
        assert dumps(grown) == expected
        if killer.timer is not None:
            killer.timer.join()
        assert killer.is_done


def test_boosting_is_refused():
    for options in ({}, {"engine": 2}):
        with pytest.raises(DataError, match="adaboost reweights all rows after each tree"):
            tw.adaboost(frame(mixed_table(1, 50), 2), "y", n_estimators=2, **options)


def test_the_command_line_grows_on_a_cluster(client, tmp_path, run):
    table = mixed_table(2, 60).drop(columns="size")
    table.iloc[:40].to_parquet(tmp_path / "0.parquet")
    table.iloc[40:].to_parquet(tmp_path / "1.parquet")
    grow = f"grow {tmp_path}/0.parquet {tmp_path}/1.parquet --target y --max-depth 3"
    grown = run(f"{grow} --dask {client.scheduler.address} -o found.json")
    assert (grown.code, "60 rows · 6 columns" in grown.err) == (0, True), grown
    run(f"{grow} -o expected.json")
    assert (tmp_path / "found.json").read_bytes() == (tmp_path / "expected.json").read_bytes()


def test_the_command_line_grows_a_forest_on_a_cluster(client, tmp_path, run):
    table = mixed_table(3, 90).drop(columns="size")
    table.iloc[:40].to_parquet(tmp_path / "0.parquet")
    table.iloc[40:].to_parquet(tmp_path / "1.parquet")
    grow = f"grow {tmp_path}/0.parquet {tmp_path}/1.parquet --target y --ensemble forest --n-estimators 3 --oob-score"
    grown = run(f"{grow} --dask {client.scheduler.address} -o found.json")
    assert (grown.code, "90 rows · 6 columns" in grown.err) == (0, True), grown
    run(f"{grow} -o expected.json")
    assert (tmp_path / "found.json").read_bytes() == (tmp_path / "expected.json").read_bytes()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--dask tcp://x:1 --workers 2", 2, "--dask names a cluster"),
        ("--workers 2 --ensemble adaboost", 3, "adaboost reweights all rows"),
        ("--workers 2 --separator ';'", 2, "are for files that this process reads"),
        ("--workers 2", 3, 'no file "penguins" that workers could read'),
    ],
    ids=["both", "ensemble", "separator", "table"],
)
def test_the_command_line_refuses_what_clusters_cannot_do(options, code, message, run):
    refused = run(f"grow penguins --target species {options}")
    assert refused.code == code, refused
    assert message in refused.err
