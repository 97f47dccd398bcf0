"""Comparison of a tree with baseline models on the same folds: ``treewise.compare_models``."""
