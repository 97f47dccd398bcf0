"""Statistics sources: who counts for a tree whose rows are elsewhere (``train/source.py`` has the protocol)."""
