"""Shared fixtures, and the hypothesis profile: every run draws the same examples unless ``TREEWISE_LONG=1`` is set."""

from __future__ import annotations

from hypothesis import settings

from tests.support.cli import run  # noqa: F401
from tests.support.random_tables import LONG

settings.register_profile("seeded", derandomize=not LONG)
settings.load_profile("seeded")
