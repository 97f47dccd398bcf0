"""Every run draws the same examples, so that a change is judged by itself; ``TREEWISE_LONG=1`` draws others."""

from __future__ import annotations

from hypothesis import settings

from tests.support.random_tables import LONG

settings.register_profile("seeded", derandomize=not LONG)
settings.load_profile("seeded")
