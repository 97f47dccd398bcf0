"""Explaining a tree: why it asks what it asks.

Stands among the outlets, above the search. ``trace`` shows all the computations behind every node.
"""
