"""Atomic file writing, and reading with plain errors.

Used for model files, pictures and reports. A file is written beside its target and renamed when all of it is on the
disk, so a crash, a full disk or a kill at any moment leaves the old file or the new one:

    open a new file beside the old one     with a unique name
    write, fsync                           the bytes are on the disk
    replace                                one step: readers see the old file or the new one
    fsync the folder                       the step itself is on the disk

Whatever fails, the new file is removed and the error says that nothing was saved. Only a kill leaves it behind: a file
``.m.json.….tmp`` that may be deleted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from treewise._lib.text import safe
from treewise.errors import ParameterError, brief

# A folder cannot be synced on every file system; where it cannot, replacing is all there is.
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that it is complete when it appears; links are followed and permissions kept.

    Something that is not a plain file (a pipe, ``/dev/stdout``) is written to as it is.
    """
    with open_whole(path) as file:
        file.write(data)


class WholeFile:
    """A file that is being written: ``open_whole`` puts it in its place when all of it is there."""

    def __init__(self, path: Path, handle: int, beside: Path | None) -> None:
        self._path, self._handle, self.beside = path, handle, beside  # beside: the temporary file, where there is one

    def write(self, data: bytes) -> int:
        """Write all bytes, in as many calls as needed."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest[: 1 << 20]) :]
        except OSError as error:  # explained here, as another file may be open around this one
            raise _unsaved(self._path, error) from None
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""


@contextlib.contextmanager
def open_whole(path: str | os.PathLike[str]) -> Iterator[WholeFile]:
    """Open a file to be written in steps; it appears when the block ends, and does not if the block raises."""
    file = _to_file(path)
    try:
        existing = os.stat(file)
    except FileNotFoundError:
        existing = None
    except OSError as error:
        raise _unsaved(file, error) from None
    if existing is not None and stat.S_ISDIR(existing.st_mode):
        raise IsADirectoryError(f"{safe(file)} is a folder: give the name of a file in it. Nothing was saved.")
    try:
        if existing is not None and not stat.S_ISREG(existing.st_mode):
            with _through(file) as whole:
                yield whole
        else:
            with _replacing(file, existing) as whole:
                yield whole
    except OSError as error:
        raise _unsaved(file, error) from None


def _to_file(path: str | os.PathLike[str]) -> Path:
    """Return a path, or raise for one with a NUL character, which no file system allows."""
    file = Path(os.fsdecode(path))
    if "\0" in str(file):
        raise ParameterError(f"{brief(str(file))} cannot be a path: it contains a NUL character.")
    return file


@contextlib.contextmanager
def _replacing(file: Path, existing: os.stat_result | None) -> Iterator[WholeFile]:
    """Write beside a file, then put the new one in its place."""
    path = Path(os.path.realpath(file))
    token = os.urandom(6).hex()
    temporary = path.with_name(f".{os.fsdecode(os.fsencode(path.name)[:200])}.{token}.tmp")
    mode = 0o666 if existing is None else stat.S_IMODE(existing.st_mode)
    is_ours = False
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        is_ours = True
        try:
            if existing is not None:
                _keep_owner_and_mode(handle, existing)
            yield WholeFile(file, handle, temporary)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, path)
    except BaseException as error:  # also a signal between opening and writing
        if is_ours or not isinstance(error, FileExistsError):  # somebody else's
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _keep_owner_and_mode(handle: int, existing: os.stat_result) -> None:
    """Copy owner and permissions of the file to be replaced, as far as permitted."""
    if not hasattr(os, "fchmod"):
        return
    current = os.fstat(handle)
    if (current.st_uid, current.st_gid) != (existing.st_uid, existing.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(handle, existing.st_uid, existing.st_gid)
    if stat.S_IMODE(current.st_mode) != stat.S_IMODE(existing.st_mode):
        os.fchmod(handle, stat.S_IMODE(existing.st_mode))


@contextlib.contextmanager
def _through(path: Path) -> Iterator[WholeFile]:
    """Write to something that is not a plain file: nothing can be moved onto it."""
    handle = os.open(path, os.O_WRONLY)
    try:
        yield WholeFile(path, handle, None)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a new name in it survives a power failure, where the system supports that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a folder we may write to, but not read
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(handle)


def _unsaved(path: Path, error: OSError) -> OSError:
    """Return an error of the same type and number that explains why a file was not saved."""
    if error.errno is not None and error.strerror is None:  # such a one
        return error
    folder = os.path.dirname(os.path.realpath(path))
    if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.isdir(folder):
        reason = f'there is no folder "{safe(folder)}"'
    elif isinstance(error, PermissionError) and not os.access(folder, os.W_OK):
        reason = f'the folder "{safe(folder)}" may not be written to'
    else:
        reason = (error.strerror or str(error)).lower()
    explained = type(error)(f"cannot save {safe(path)}: {reason}. Nothing was saved.")
    explained.errno = error.errno  # and no more: with a strerror, the sentence would not be shown
    return explained


def read_whole(path: str | os.PathLike[str], beginning: bytes) -> bytes:
    """Read a file; if it does not start with ``beginning``, only those first bytes."""
    file = _to_file(path)
    try:
        with open(file, "rb") as stream:
            head = stream.peek(len(beginning))[: len(beginning)]
            return stream.read() if head == beginning else bytes(head)
    except FileNotFoundError:
        raise FileNotFoundError(f"no file {safe(file)}. Nothing was loaded.") from None
    except OSError as error:
        reason = "is a folder" if isinstance(error, IsADirectoryError) else f"cannot be read: {error.strerror}"
        raise type(error)(f"{safe(file)} {reason}. Nothing was loaded.") from None
