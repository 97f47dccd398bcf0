"""Benchmarks: one file a question, each prints a ratio to peers measured in the same run."""
