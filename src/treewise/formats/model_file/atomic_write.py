"""Atomic file writing, and reading with plain errors.

Used by ``model_file.py``; independent of trees. A file is written beside its
target and renamed when all of it is on the disk, so a crash, a full disk or a kill at any moment leaves
the old file or the new one:

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
from pathlib import Path

from treewise._lib.text import safe

# A folder cannot be synced on every file system; where it cannot, replacing is all there is.
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that it is complete when it appears; links are followed and permissions kept.

    Something that is not a plain file (a pipe, ``/dev/stdout``) is written to as it is.
    """
    place = Path(os.fsdecode(path))
    try:
        there = os.stat(place)
    except FileNotFoundError:
        there = None
    except OSError as error:
        raise _unsaved(place, error) from None
    if there is not None and stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(f"{safe(place)} is a folder: give the name of a file in it. Nothing was saved.")
    try:
        if there is not None and not stat.S_ISREG(there.st_mode):
            _write_through(place, data)
        else:
            _replace_file(Path(os.path.realpath(place)), data, there)
    except OSError as error:
        raise _unsaved(place, error) from None


def _replace_file(place: Path, data: bytes, there: os.stat_result | None) -> None:
    """Write beside a file, then put the new one in its place."""
    token = os.urandom(6).hex()
    beside = place.with_name(f".{os.fsdecode(os.fsencode(place.name)[:200])}.{token}.tmp")
    mode = 0o666 if there is None else stat.S_IMODE(there.st_mode)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        try:
            if there is not None:
                _keep_owner_and_mode(handle, there)
            _write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(beside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    _sync_folder(place.parent)


def _keep_owner_and_mode(handle: int, there: os.stat_result) -> None:
    """Copy owner and permissions of the file to be replaced, as far as permitted."""
    if not hasattr(os, "fchmod"):
        return
    mine = os.fstat(handle)
    if (mine.st_uid, mine.st_gid) != (there.st_uid, there.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(handle, there.st_uid, there.st_gid)
    if stat.S_IMODE(mine.st_mode) != stat.S_IMODE(there.st_mode):
        os.fchmod(handle, stat.S_IMODE(there.st_mode))


def _write_all(handle: int, data: bytes) -> None:
    """Write all bytes, in as many calls as needed."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest[: 1 << 20]) :]


def _write_through(place: Path, data: bytes) -> None:
    """Write to something that is not a plain file: nothing can be moved onto it."""
    handle = os.open(place, os.O_WRONLY)
    try:
        _write_all(handle, data)
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


def _unsaved(place: Path, error: OSError) -> OSError:
    """Return an error of the same type and number that explains why a file was not saved."""
    folder = os.path.dirname(os.path.realpath(place))
    if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.isdir(folder):
        said = f'there is no folder "{safe(folder)}"'
    elif isinstance(error, PermissionError) and not os.access(folder, os.W_OK):
        said = f'the folder "{safe(folder)}" may not be written to'
    else:
        said = (error.strerror or str(error)).lower()
    told = type(error)(f"cannot save {safe(place)}: {said}. Nothing was saved.")
    told.errno = error.errno  # and no more: with a strerror, the sentence would not be shown
    return told


def read_whole(path: str | os.PathLike[str], beginning: bytes) -> bytes:
    """Read a file; if it does not start with ``beginning``, only those first bytes."""
    place = Path(os.fsdecode(path))
    try:
        with open(place, "rb") as file:
            head = file.peek(len(beginning))[: len(beginning)]
            return file.read() if head == beginning else bytes(head)
    except FileNotFoundError:
        raise FileNotFoundError(f"no file {safe(place)}. Nothing was loaded.") from None
    except OSError as error:
        said = "is a folder" if isinstance(error, IsADirectoryError) else f"cannot be read: {error.strerror}"
        raise type(error)(f"{safe(place)} {said}. Nothing was loaded.") from None
