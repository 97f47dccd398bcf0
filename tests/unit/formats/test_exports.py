"""Exports decide as ``predict`` does: random trees of every kind, in the engines that are installed."""

import os

from hypothesis import HealthCheck, given, settings

from tests.support.exports import check, engine, tamed
from tests.support.handmade_trees import trees
from treewise.errors import ParameterError

__all__ = ["engine"]

LONG = bool(os.environ.get("TREEWISE_LONG"))


def quick(n):
    return settings(
        max_examples=n * 20 if LONG else n,
        deadline=None,
        derandomize=not LONG,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@quick(40)
@given(tree=trees())
def test_random_trees(engine, tree):
    try:
        check(tamed(tree), engine, 60)
    except ParameterError as error:  # a class label
        assert any(reason in str(error) for reason in ("NUL", "surrogate", "tests no column")), error
