"""Optimal trees: the tree of least training objective of a given size, the next best, and the proof.

specification.py   the problem, and its solution by dynamic programming on small tables: read this first
problem.py         the integers of a table: orders of its columns, costs of its leaves
optimal.py         ``treewise.optimal``: solve in the core (src/core/optimal), and the result
lookahead.py       ``grow(search="lookahead")``: optimal near the root, greedy below
alternatives.py    the next best trees
certificate.py     write what proves a result; check_certificate.py checks it without the core
"""
