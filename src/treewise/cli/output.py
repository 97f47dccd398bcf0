"""Write output: results to standard output, remarks and progress to standard error, files atomically.

Text for people is adapted to the terminal: where its encoding lacks ``├─`` or ``→``, the nearest ASCII is written. Data
(CSV, JSON) in files and pipes is always UTF-8 and not altered: a guard against spreadsheet formulas would change values
silently, and is added on request (``--safe-csv``). On a terminal, control characters in data are escaped too.

A standard stream that is closed (``2>&-``) is replaced by the null device: what is printed is lost, files are written.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from treewise._lib.text import safe, shorten
from treewise.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from treewise._lib.atomic_write import WholeFile
    from treewise.ensemble import Ensemble
    from treewise.tree.tree import Tree

# What ASCII terminals get instead; alignment may suffer a little, meaning does not.
_ASCII = str.maketrans(
    {
        "→": "->",
        "◄": "<",
        "…": "...",
        "·": "*",
        "−": "-",
        "–": "-",
        "×": "x",
        "²": "2",
        "≤": "<=",
        "├": "|",
        "│": "|",
        "└": "`",
        "─": "-",
        "“": '"',
        "”": '"',
        "█": "#",
        "▏": "|",
        **dict.fromkeys("▁▂▃", "."),
        **dict.fromkeys("▄▅", "o"),
        **dict.fromkeys("▆▇", "O"),
    }
)

SAFE_CSV = "treewise.safe_csv"  # key of the option in click's context
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass
class _PartialOutput:
    """The output that the command has written so far, for the message after Ctrl-C."""

    files: list[str] = field(default_factory=list)  # finished ones
    printed: bool = False
    stdout_closed: bool = False

    @property
    def is_lost(self) -> bool:
        """Whether there was a result, and nowhere to write it."""
        return self.stdout_closed and self.printed and not self.files

    def forget(self) -> None:
        """Reset at the start of a command."""
        self.files.clear()
        self.printed = False

    def __str__(self) -> str:
        if self.files:
            return f"{', '.join(self.files)} {'was' if len(self.files) == 1 else 'were'} written"
        return (
            "no file was written, and the printed output may be incomplete" if self.printed else "nothing was written"
        )


partial_output = _PartialOutput()


def replace_closed_streams() -> None:
    """Open the null device for standard streams that are closed.

    Otherwise the next file that is opened would get the number of the closed stream, and what is written to the stream.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    partial_output.stdout_closed = sys.stdout is None
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


def encode_for(text: str, stream: TextIO) -> str:
    """Return the text in characters that the stream can encode."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.replace(" · ", " | ").translate(_ASCII)
        return plain.encode(encoding, "backslashreplace").decode(encoding)
    return text


def is_ascii_only(stream: TextIO) -> bool:
    """Tell whether a stream can encode only ASCII."""
    return encode_for("├─→", stream) != "├─→"


def print_text(text: str) -> None:
    """Print a result; control characters in names are escaped."""
    text = "\n".join(map(safe, text.split("\n")))
    write_stdout((encode_for(text, sys.stdout) + "\n").encode(sys.stdout.encoding or "utf-8"))


def write_stdout(data: bytes) -> None:
    """Write bytes to standard output; unbuffered (``python -u``), a write may be partial."""
    try:
        sys.stdout.flush()
        left = memoryview(data)
        while left:
            partial_output.printed = True
            left = left[sys.stdout.buffer.write(left) :]
    except OSError as error:
        raise output_error(error) from None


def output_error(error: OSError) -> Exception:
    """Return the error for a failed write to standard output; a broken pipe is returned as it is."""
    if isinstance(error, BrokenPipeError):
        return error
    discard_output()
    return DataError(f"the output cannot be written: {error.strerror or error}.")


def remark(head: str, text: str) -> None:
    """Print a remark on standard error: ``note  visit_no: 4,812 different values …``."""
    sys.stdout.flush()
    lead = f"{head:<5} " if head else ""
    sys.stderr.write(encode_for(lead + shorten(safe(text)), sys.stderr) + "\n")
    sys.stderr.flush()


def print_error(sentence: str) -> None:
    """Print an error message on standard error; a closed terminal is ignored."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        discard_output()
    try:
        sys.stderr.write(encode_for(f"treewise: {shorten(safe(sentence))}", sys.stderr) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def flush_output() -> None:
    """Flush both streams while an error can still be reported."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise output_error(error) from None
    sys.stderr.flush()


def discard_output() -> None:
    """Discard unwritten output, which Python would otherwise try to write at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # not a real file, as in tests
        pass
    finally:
        os.close(nowhere)


def check_output(output: str | None, *inputs: str | None) -> None:
    """Refuse, before any work is done, an output file that cannot be written or is also an input."""
    if output in (None, "-"):
        return
    path = Path(str(output)).expanduser()
    if not path.parent.is_dir():
        raise ParameterError(f'cannot write {safe(output)}: there is no folder "{safe(path.parent)}".')
    if not path.is_file():  # new, or a pipe or a device, which loses nothing
        return
    for source in inputs:
        if source is not None and _is_same_file(source, path):
            raise ParameterError(f"cannot write {safe(output)}: it is also an input. Give the output another name.")


def _is_same_file(source: str, path: Path) -> bool:
    """Tell whether an input is this file, also by redirection of standard input."""
    if source == "-":
        try:
            return os.path.samestat(os.fstat(sys.stdin.fileno()), path.stat())
        except (OSError, ValueError):  # a stream without a file behind it
            return False
    source_path = Path(source).expanduser()
    return source_path.exists() and os.path.samefile(path, source_path)


def check_csv_ending(output: str | None) -> None:
    """Refuse a file name with another ending than .csv, for what is always written as CSV."""
    if output in (None, "-") or str(output).lower().endswith(".csv"):
        return
    path = Path(str(output)).expanduser()
    if not path.exists() or path.is_file():  # else a pipe or a device
        raise ParameterError(
            f"cannot write {safe(output)}: this list is written as CSV; give it a name that ends in .csv."
        )


def write_output(content: str | bytes, output: str | None) -> None:
    """Write content to standard output, or atomically to a file."""
    data = content.encode() if isinstance(content, str) else content
    if output not in (None, "-"):
        write_file(Path(str(output)).expanduser(), data)
    elif not sys.stdout.isatty():
        write_stdout(data)
    elif isinstance(content, str):
        print_text(content.removesuffix("\n"))
    else:
        raise ParameterError("this format is not text, and is not written to a terminal. Name a file with -o.")


def guard_csv(content: str) -> str:
    """Guard the cells of CSV against spreadsheet formulas, if ``--safe-csv`` is given."""
    from treewise._lib.result_table import guard_formulas

    return guard_formulas(content) if is_csv_guarded() else content


def is_csv_guarded() -> bool:
    """Tell whether ``--safe-csv`` is given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(SAFE_CSV))


def write_file(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old or the new content, whatever happens."""
    from treewise._lib.atomic_write import write_whole

    try:
        write_whole(path, data)
    except OSError as error:
        raise (DataError if error.errno in DISK_FULL else ParameterError)(str(error)) from None
    if path.is_file():
        partial_output.files.append(str(path))


@contextmanager
def open_output(output: str | None) -> Iterator[WholeFile | _Stdout]:
    """Open standard output, or a file that appears when all of it is written."""
    from treewise._lib.atomic_write import open_whole

    if output in (None, "-"):
        yield _Stdout()
        return
    path = Path(str(output)).expanduser()
    try:
        with open_whole(path) as file:
            yield file
    except OSError as error:
        raise (DataError if error.errno in DISK_FULL else ParameterError)(str(error)) from None
    if path.is_file():
        partial_output.files.append(str(path))


class _Stdout:
    """Standard output as a stream of bytes; on a terminal, control characters of data are escaped."""

    beside = None

    def write(self, data: bytes) -> int:
        """Write bytes."""
        if sys.stdout.isatty():
            print_text(data.decode().removesuffix("\n"))
        else:
            write_stdout(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""


# -- model files ----------------------------------------------------------------------------------------


def check_model_ending(output: str | None) -> None:
    """Refuse a file name whose ending does not stand for a form of a tree, before any work is done for it."""
    if output in (None, "-") or str(output).lower().endswith((".json", ".txt")):
        return
    path = Path(str(output)).expanduser()
    if path.exists() and not path.is_file():
        return  # a pipe or a device
    known = "a tree is saved as a model (.json) or as text to edit (.txt)"
    raise ParameterError(f"cannot write {safe(output)}: {known}.")


def check_ensemble_ending(output: str | None) -> None:
    """Refuse a file name with another ending than .json."""
    if output not in (None, "-") and not str(output).lower().endswith(".json"):
        raise ParameterError(f"cannot write {safe(output)}: an ensemble is saved as one model file (.json).")


def dump_tree(tree: Tree, output: str) -> str:
    """Return the content of a model file: JSON, or by its ending the text form that can be edited and read back."""
    from treewise.formats.model_file.model_file import dumps

    return tree.export("text") if output.lower().endswith(".txt") else dumps(tree)


def save_ensemble(ensemble: Ensemble, output: str) -> None:
    """Save an ensemble as one file; a large one is packed."""
    from treewise.formats.model_file.model_file import dumps

    write_output(dumps(ensemble), output)


_DELAY = 0.5  # seconds before the bar appears
_REFRESH = 0.1  # seconds between two updates


class ProgressBar:
    """A progress bar that appears after a delay; called with the share of the work done."""

    def __init__(self, title: str) -> None:
        self.title, self.started, self.refreshed = title, time.monotonic(), 0.0
        self.display: tuple[Progress, TaskID] | None = None

    def __call__(self, done: float) -> None:
        """Update the bar."""
        if self.display is None and time.monotonic() - self.started > _DELAY:
            self.display = self._show()
        if self.display is not None:
            progress, task = self.display
            progress.update(task, completed=done)
            if time.monotonic() - self.refreshed > _REFRESH:
                self.refreshed = time.monotonic()
                progress.refresh()

    def _show(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("·"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        # A refresh thread could hang in its start when memory is short.
        progress = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        progress.start()
        return progress, progress.add_task(self.title, total=1.0)

    def close(self) -> None:
        """Remove the bar."""
        if self.display is not None:
            self.display[0].stop()


@contextmanager
def progress_bar(title: str, enabled: bool = True) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar on a terminal; yield None where standard error is not one, or it is not enabled."""
    if not (enabled and sys.stderr.isatty()):
        yield None
        return
    bar = ProgressBar(title)
    try:
        yield bar
    finally:
        bar.close()
