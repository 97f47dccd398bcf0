"""The core grows the same tree as the reference implementation, on random tables with random options."""

import os

import numpy as np
import pytest

from tests.oracles.reference_grower import grow_reference, reference_facts, tree_facts
from tests.support.random_problems import random_options, random_table
from treewise import grow
from treewise.train.grow import grow_training_set, prepare

TABLES = int(os.environ.get("TREEWISE_ORACLE_TABLES", "120"))


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("seed", range(10))
def test_core_equals_search(seed, regression):
    for table in range(TABLES // 10):
        rng = np.random.default_rng([seed, table, regression])
        data, n = random_table(rng, regression)
        options = random_options(rng, data, n, regression)
        training_set = prepare(data, "y", **options)
        expected = reference_facts(training_set, grow_reference(training_set))
        found = tree_facts(grow_training_set(training_set))
        assert found == expected, f"seed {seed}, table {table}: {data} {options}"


def test_one_call_is_the_same_as_its_parts():
    data = {"x": [1.0, 2.0, 3.0, None], "y": ["a", "b", "b", "a"]}
    assert grow(data, "y") == grow_training_set(prepare(data, "y"))
