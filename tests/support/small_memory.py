"""Amounts of memory that are too small for a table."""


def small_memory(n_rows: int, n_columns: int) -> int:
    """An amount in which a tree can grow, but that does not hold the columns."""
    return n_rows * (n_columns + 48) + 1
