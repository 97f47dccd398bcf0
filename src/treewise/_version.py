"""The version, in one place a build can read."""

__version__ = "0.1.0"
