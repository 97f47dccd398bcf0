"""Dask as an executor: tasks of one partition each, on the workers of a cluster.

Encoded blocks stay on the workers; Dask makes those of a lost worker again from their partitions. What a task needs is
passed as plain arguments, so nothing else is lost with a worker. Every wait has an end: a cluster without workers, or
one that finishes nothing for an hour, is an error.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from treewise._lib.text import plural, safe
from treewise.errors import DataError, PackageError, Param, ParameterError, TreewiseError
from treewise.sources.partitions import Calls, Capacity

_WAIT = 2.0  # seconds between two looks at the cluster
_MAX_CONNECTING = 20.0
_MAX_WITHOUT_WORKERS = 300.0  # new ones may have to be started, and to import
_MAX_IDLE = 3600.0  # seconds in which no task ends
_FREE_BYTES = 1 << 30  # of memory that a task may use on a worker without a limit


@contextmanager
def open_client(engine: Any) -> Iterator[Any]:
    """Return a client: as given, of an address, of so many worker processes, or None for the one that Dask uses.

    A client made here does not become the default of Dask: other computations of the caller stay where they are.
    """
    distributed = _import_distributed()
    if isinstance(engine, str):
        try:
            client = distributed.Client(engine, timeout=_MAX_CONNECTING, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            message = f"no Dask scheduler answers at {safe(engine)}: {_first_line(error)}"
            raise DataError(message) from None
        with client:
            yield client
    elif isinstance(engine, int) and not isinstance(engine, bool) and engine > 0:
        settings = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "processes": True}
        with (
            distributed.LocalCluster(n_workers=engine, **settings) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield client
    else:
        try:
            client = distributed.get_client() if engine is None else engine
        except ValueError:
            client = None
        if not isinstance(client, distributed.Client):
            raise ParameterError(
                "must be a Dask client, the address of a scheduler, or a number of worker processes.",
                parameter="engine",
                value=None if engine is None else type(engine).__name__,
                hint="Start two on this machine: " + Param("engine", 2) + ".",
            )
        yield client


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise PackageError('Dask is not installed: pip install "treewise[dask]".') from None
    return distributed


class DaskExecutor:
    """Calls functions on the workers of a cluster (``partitions.PartitionExecutor``)."""

    def __init__(self, client: Any) -> None:
        self.client, self.distributed = client, _import_distributed()

    def capacity(self) -> Capacity:
        """Return what the workers can do at once: by the smallest of them."""
        workers = list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        if not workers:
            return Capacity(1, _FREE_BYTES, 1)
        threads = min(worker["nthreads"] for worker in workers)
        limits = [(worker["memory_limit"] or 2 * _FREE_BYTES * worker["nthreads"]) for worker in workers]
        free = min(limit // (2 * worker["nthreads"]) for limit, worker in zip(limits, workers, strict=True))
        return Capacity(sum(worker["nthreads"] for worker in workers), free, threads)

    def keep(self, function: Callable[..., Any], calls: Calls) -> list[Any]:
        """Call a function, and keep the results on the workers."""
        futures = self._submit(function, calls)
        self._wait(futures)
        return futures

    def ask(self, function: Callable[..., Any], calls: Calls) -> list[Any]:
        """Call a function and return the results."""
        futures = self._submit(function, calls)
        self._wait(futures)
        try:
            answers: list[Any] = self.client.gather(futures)
        except Exception as error:
            raise _translate(error) from error
        return answers

    def _submit(self, function: Callable[..., Any], calls: Calls) -> list[Any]:
        """Start a task for each call; the first argument may be a future, or a Dask object that is computed first."""
        from dask.base import is_dask_collection
        from dask.delayed import delayed

        name = f"treewise-{function.__name__}-{uuid.uuid4().hex}"
        tasks: list[Any] = []  # of Dask objects: their graphs are put together once
        submitted: dict[int, Any] = {}
        for i, (item, *args) in enumerate(calls):
            key = f"{name}-{i}"
            if is_dask_collection(item):
                tasks.append(delayed(function, pure=False)(item, *args, dask_key_name=key))
            else:
                submitted[i] = self.client.submit(function, item, *args, key=key, pure=False)
        computed = iter(self.client.compute(tasks) if tasks else ())
        return [submitted[i] if i in submitted else next(computed) for i in range(len(calls))]

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait until all tasks have ended, or one has failed."""
        pending, last_end, last_worker = set(futures), time.monotonic(), time.monotonic()
        while pending:
            try:
                with self.client.as_current():  # it may not be Dask's default
                    done, pending = self.distributed.wait(pending, timeout=_WAIT, return_when="FIRST_COMPLETED")
            except TimeoutError:
                done = set()
            except Exception as error:
                raise _translate(error) from error
            now = time.monotonic()
            if done:
                last_end = last_worker = now
            elif self.client.nthreads():
                last_worker = now
            failed = [future for future in done if future.status in ("error", "cancelled", "lost")]
            for future in failed:
                raise _translate(future.exception(timeout=_MAX_CONNECTING)) from None
            if now - last_worker > _MAX_WITHOUT_WORKERS:
                raise DataError(f"the Dask cluster has had no workers for {_MAX_WITHOUT_WORKERS:.0f} seconds.")
            if now - last_end > _MAX_IDLE:
                left = plural(len(pending), "task")
                raise DataError(f"the Dask cluster has finished none of {left} for {_MAX_IDLE / 60:.0f} minutes.")


def _translate(error: BaseException) -> BaseException:
    """Return an error in our words: those of the functions as they are."""
    if isinstance(error, TreewiseError):
        return error
    if type(error).__name__ == "KilledWorker":
        return DataError(
            "a partition ended several Dask workers, probably because it does not fit into their memory.",
            hint="Make the partitions smaller: " + "frame.repartition(partition_size='100MB').",
        )
    return DataError(f"the Dask cluster failed: {type(error).__name__}: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "no message")
