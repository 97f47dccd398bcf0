"""The bar while a tree grows: on a terminal, and only when growing takes long enough to be waited for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 0.5  # seconds before a bar is worth its flicker


class ProgressBar:
    """A bar that appears after a while; called with the share that is done."""

    def __init__(self, title: str) -> None:
        self.title, self.started = title, time.monotonic()
        self.shown: tuple[Progress, TaskID] | None = None

    def __call__(self, done: float) -> None:
        """Show how far we are."""
        if self.shown is None and time.monotonic() - self.started > PATIENCE:
            self.shown = self._show()
        if self.shown is not None:
            progress, task = self.shown
            progress.update(task, completed=done)

    def _show(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
        )
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        progress.start()
        return progress, progress.add_task(self.title, total=1.0)

    def close(self) -> None:
        """Take the bar away."""
        if self.shown is not None:
            self.shown[0].stop()


@contextmanager
def bar(title: str, wanted: bool = True) -> Iterator[Callable[[float], None] | None]:
    """Show a bar while something long runs; nothing where standard error is not a terminal, or it is not wanted."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    shown = ProgressBar(title)
    try:
        yield shown
    finally:
        shown.close()
