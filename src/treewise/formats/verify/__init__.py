"""Verification: run an export in its real engine and compare every answer with ``predict``."""
