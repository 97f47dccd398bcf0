"""Benchmarks: ``python -m benchmarks`` compares with peers; ``python -m benchmarks.model_files`` times model files.

``workloads.py`` generates the tables, ``peers.py`` wraps the libraries, ``measure.py`` measures one library on one
table in a subprocess, ``report.py`` formats the results, and ``__main__.py`` is the command line. ``same_models.py``
checks that two builds save identical models; ``python -m benchmarks.coverage`` measures by simulation whether intervals
and p-values hold what they promise.
"""
