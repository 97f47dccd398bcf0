"""Benchmarks: ``python -m benchmarks`` compares with peers; ``python -m benchmarks.model_files`` times model files.

``workloads.py`` makes the tables, ``peers.py`` knows how each library is asked for the same tree, ``measure.py`` runs
one library on one table in a process of its own, ``report.py`` writes what came out, ``__main__.py`` steers.
"""
