"""Explaining a tree: why it asks what it asks, and why a row gets its answer.

Stands among the outlets, above the search. ``trace`` shows all the computations behind every node; ``row`` explains one
prediction, ``shap`` what each column adds to it.
"""
