"""Regions: the set of rows that reach a node, as intervals and sets of levels."""
