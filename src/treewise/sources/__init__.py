"""Statistics sources: they count rows that are stored elsewhere (``train/source.py`` has the protocol)."""
