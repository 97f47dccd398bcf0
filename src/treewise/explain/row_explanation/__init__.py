"""Explain a single prediction: `tree.explain(row)`."""
