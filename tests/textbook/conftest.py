"""Helpers for the lecture-note tests: cells of a column, errors of a tree, its candidate rules."""

import pytest


def cells(table, name):
    """Return the values of a column as plain Python values."""
    column = table[name]
    return [column.labels[code] for code in column.values] if column.labels else column.values.tolist()


@pytest.fixture(name="cells")
def cells_fixture():
    return cells


@pytest.fixture
def mistakes():
    """Count the rows of a built-in table that a tree gets wrong."""

    def count(tree, table):
        message = tree.predict(table).tolist()
        return sum(s != t for s, t in zip(message, cells(table, table.target), strict=True))

    return count


@pytest.fixture
def rules():
    """List the candidate tests of a node, column by column, in words."""

    def words(node):
        return [test.words for column in node.candidates.values() for test in column.tests]

    return words
