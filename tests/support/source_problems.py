"""Random options of trees that are grown from statistics alone.

``TREEWISE_SOURCE_TABLES`` is the number of tables of each test.
"""

import os

from tests.support.random_problems import random_options

TABLES = int(os.environ.get("TREEWISE_SOURCE_TABLES", "40"))


def countable_options(rng, data, n, regression):
    """Random options without those that need rows."""
    options = random_options(rng, data, n, regression)
    for name in ("splitter", "max_features", "alpha"):
        options.pop(name, None)
    if options.get("selection") == "test":
        options.pop("selection")
    if regression:
        options["criterion"] = "squared_error"
    return options
