"""Exports: a tree as text in another form, one file per format, registered in ``export.py``."""
