"""The folder in which the columns of a large table are: memory-mapped files, a lock, and a journal of what was written.

Used by ``column_store.py``.

    treewise-<user>/<key>/        the key is a hash of the files that are read: their paths, sizes and times
        lock                      held while the folder is in use
        journal                   one line for each batch: its rows, new labels, and checksums of it and of the rows
        columns-0                 the columns, one after the other
        columns-1, …              columns converted later, such as text whose labels have been sorted

A process that is killed leaves the folder behind. The next one that reads the same files checks the batches of the
journal and continues after the last one that is complete.
"""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
import shutil
import stat
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.errors import DataError

Array = npt.NDArray[Any]

_ALIGNMENT = 64  # bytes
_ATTEMPTS = 100  # to find a folder while other processes remove theirs


class StoreFolder:
    """The folder of a column store; removed when the store is no longer used, or at the end of the process."""

    def __init__(self, key: str, parent: Path | None = None) -> None:
        name = hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()[:16]
        try:
            self.path, self._lock_file = _take_folder(parent or _users_folder(), name)
        except OSError as error:
            raise _no_room("a folder for the columns cannot be made", tempfile.gettempdir(), error) from None
        self._journal_path = self.path / "journal"
        self._n_files = self._n_used = self._size = 0  # files; bytes taken of the last one, and its size
        self._mapped: mmap.mmap | None = None
        self._remove = weakref.finalize(self, _remove_folder, self.path, self._lock_file, os.getpid())

    def remove(self) -> None:
        """Remove the folder."""
        self._remove()

    # -- arrays -------------------------------------------------------------------------------------------------------

    def reserve(self, sizes: Iterable[int]) -> None:
        """Map a file with room for arrays of these sizes; what it already holds stays.

        Many arrays share a file, because a process can map few files. It takes room on the disk as it is used.
        """
        self._n_used, self._size = 0, max(self._size, sum(map(_aligned, sizes)), _ALIGNMENT)
        self._n_files += 1
        with self._opened() as descriptor:
            if os.fstat(descriptor).st_size != self._size:
                os.truncate(descriptor, 0)
            os.truncate(descriptor, self._size)
            self._mapped = mmap.mmap(descriptor, self._size)

    def allocate(self, dtype: np.dtype[Any], n_rows: int) -> Array:
        """Return an array in a file."""
        size = n_rows * dtype.itemsize
        if not size:
            return np.empty(0, dtype)
        if self._mapped is None or self._n_used + size > self._size:
            self.reserve([size])
        begin, self._n_used = self._n_used, self._n_used + _aligned(size)
        with self._opened() as descriptor:
            if hasattr(os, "posix_fallocate"):  # a full disk is an error here, not a signal later
                os.posix_fallocate(descriptor, begin, size)
        return np.ndarray(n_rows, dtype, self._mapped, begin)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the file that is mapped."""
        try:
            descriptor = os.open(self.path / f"columns-{self._n_files - 1}", os.O_CREAT | os.O_RDWR, 0o600)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _no_room(f"the columns need {self._size / 2**20:,.1f} MB", self.path.parent, error) from None

    # -- the journal --------------------------------------------------------------------------------------------------

    def log(self, rows: slice, new_labels: dict[int, list[str]], checksums: list[int]) -> None:
        """Record a batch that has been written."""
        entry = json.dumps([rows.start, rows.stop, new_labels, checksums])
        try:
            with self._journal_path.open("a", encoding="utf-8") as journal:
                journal.write(f"{_checksum(entry)} {entry}\n")
        except OSError as error:
            raise _no_room("the journal of the columns cannot be written", self.path.parent, error) from None

    def read_journal(self) -> list[Any]:
        """Return what a process that was killed has recorded, up to a line that is damaged or not complete."""
        entries = []
        with suppress(OSError, ValueError), self._journal_path.open(encoding="utf-8") as journal:
            for line in journal:
                checksum, _, entry = line.rstrip("\n").partition(" ")
                if checksum != _checksum(entry):
                    break
                entries.append(json.loads(entry))
        return entries

    def truncate_journal(self, n_entries: int) -> None:
        """Drop all entries after these, whose rows are written again."""
        with suppress(FileNotFoundError):
            lines = self._journal_path.read_bytes().splitlines(keepends=True)
            self._journal_path.write_bytes(b"".join(lines[:n_entries]))


def _users_folder() -> Path:
    """Return the folder of this user's stores; a new one if the usual one belongs to, or is open to, someone else."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"treewise-{user}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileNotFoundError):  # another process has just removed it: _take_folder makes it again
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != user or status.st_mode & 0o077:
            return Path(tempfile.mkdtemp(prefix="treewise-"))
    return folder


def _take_folder(parent: Path, name: str) -> tuple[Path, int]:
    """Return a folder that no other process uses, of this name if it is free, and the descriptor of its lock."""
    last = OSError(errno.EAGAIN, "other processes use the folders")
    for _ in range(_ATTEMPTS):
        try:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = parent / name
            path.mkdir(mode=0o700, exist_ok=True)
            lock_file = os.open(path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        except FileNotFoundError:  # removed meanwhile, by the process that used it
            continue
        except FileExistsError as error:  # likewise, after mkdir found it; or it is no folder
            last = error
            continue
        try:
            if not _lock(lock_file):  # another process reads the same files
                name = os.urandom(8).hex()
            elif os.path.samestat(os.fstat(lock_file), (path / "lock").stat()):
                return path, lock_file
        except FileNotFoundError:  # removed between the two calls
            pass
        os.close(lock_file)
    raise last


def _lock(lock_file: int) -> bool:
    try:
        import fcntl
    except ImportError:  # not a Unix
        return True
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _checksum(entry: str) -> str:
    return f"{zlib.crc32(entry.encode()):08x}"


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _no_room(what: str, folder: Path | str, error: OSError) -> DataError:
    return DataError(
        f"{what} in {folder}: {error.strerror}.",
        hint="Make room, or name a folder with more in the environment variable TMPDIR.",
    )


def _remove_folder(path: Path, lock_file: int, process: int) -> None:
    if process != os.getpid():  # a child of a fork ends, and its parent still uses the folder
        return
    shutil.rmtree(path, ignore_errors=True)
    os.close(lock_file)
    try:
        path.parent.rmdir()
    except OSError:
        return  # others are in it
