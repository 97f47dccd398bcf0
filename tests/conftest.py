"""Shared fixtures, and the hypothesis profile: every run draws the same examples unless ``TREEWISE_LONG=1`` is set."""

from __future__ import annotations

import signal

from hypothesis import settings

from tests.support.cli import run  # noqa: F401
from tests.support.random_tables import LONG

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what is in the background like this
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("seeded", derandomize=not LONG)
settings.load_profile("seeded")
