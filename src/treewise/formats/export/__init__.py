"""Exports: one file per format, registered in `export.py`."""
