"""Grow on a Dask cluster: a Dask dataframe, or files that its workers read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from treewise._lib.text import safe
from treewise.data.batches import find_files, name_of
from treewise.data.column import truncate
from treewise.data.frames import is_dask_frame
from treewise.errors import DataError, ParameterError
from treewise.sources.dask_executor import DaskExecutor, open_client
from treewise.sources.fit import OpenSource
from treewise.sources.partitions import PartitionedSource, summarise_partitions
from treewise.train.column_roles import ColumnRoles
from treewise.train.settings import Settings


def dask_source(data: Any, engine: Any = None) -> OpenSource:
    """Return how to open a table on a cluster as a source.

    ``engine`` is a Dask client, the address of a scheduler, or a number of worker processes to start on this machine;
    None is the client that Dask uses by itself, the last one that was made.
    """
    partitions, name = _find_partitions(data)
    return partial(_open, partitions, name, engine)


@contextmanager
def _open(
    partitions: list[Any], name: str, engine: Any, roles: ColumnRoles, settings: Settings
) -> Iterator[PartitionedSource]:
    with open_client(engine) as client:
        yield summarise_partitions(DaskExecutor(client), partitions, roles, settings, name)


def _find_partitions(data: Any) -> tuple[list[Any], str]:
    """Return the partitions of a table and its name in messages."""
    if is_dask_frame(data):
        return data.to_delayed(), "the table"
    files = find_files(data)
    if files is not None:
        if files[0].partition:
            folder = "=".join(files[0].partition[0])
            raise DataError(
                f"folders such as {safe(folder)} are a column, which workers do not read from the path.",
                hint="Read them with dask.dataframe.read_parquet, and give its dataframe.",
            )
        label = truncate(data if isinstance(data, str) else name_of(files))
        return [os.path.abspath(file.path) for file in files], label
    if isinstance(data, str | os.PathLike) and os.path.isfile(os.path.expanduser(data)):
        path = os.path.abspath(os.path.expanduser(data))
        return [path], truncate(os.path.basename(path))
    if isinstance(data, str | os.PathLike):
        raise DataError(
            f'no file "{truncate(data, 200)}" that workers could read.',
            hint="A cluster counts files and Dask dataframes; a database counts its own tables.",
        )
    raise ParameterError(
        "needs a Dask dataframe, or files.",
        parameter="engine",
        hint="Make one of a dataframe in memory: dask.dataframe.from_pandas(frame, npartitions=8).",
    )
