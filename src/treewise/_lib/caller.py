"""Warnings that point at the line of the user that called the package."""

from __future__ import annotations

import sys
import warnings


def warn_caller(message: str) -> None:
    """Warn the caller of the package, however deep in it this is."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "treewise":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
