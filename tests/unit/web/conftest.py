"""Fixtures of the tests of the service."""

from tests.support.service import server  # noqa: F401
