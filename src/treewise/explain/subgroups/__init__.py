"""Nodes whose target differs from the rest of the table (`tree.subgroups`)."""
