"""The built-in tables match the lecture notes, and the sampler knows its true error."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewise import datasets
from treewise.data.table import Table, read
from treewise.errors import ParameterError, TreewiseError

SIZES = {
    "food": (6, "Eat"),
    "admissions": (12, "Class"),
    "six_points": (6, "y"),
    "four_points": (4, "y"),
    "seven_points": (7, "y"),
    "xor": (4, "y"),
    "or": (4, "y"),
    "seven_rows": (7, "Y"),
    "outlier": (20, "y"),
    "outlier_validation": (10, "y"),
    "no_guidance": (8, "y"),
    "specialised": (18, "y"),
    "distractor": (8, "y"),
    "diagonal": (300, "y"),
    "irrelevant": (300, "y"),
    "noisy": (200, "y"),
    "penguins": (344, "species"),
    "customers": (3000, "left"),
    "customers_later": (1500, "left"),
}


def rows(table):
    """Return the rows of a table without missing cells, as tuples of plain values."""
    columns = [[c.labels[code] for code in c.values] if c.labels else c.values.tolist() for c in table.columns.values()]
    return list(zip(*columns, strict=True))


# -- All of them ---------------------------------------------------------------------------------------


def test_the_names_are_those_of_the_command_line():
    assert list(datasets.NAMES) == list(SIZES)


@pytest.mark.parametrize(("name", "size", "target"), [(name, *rest) for name, rest in SIZES.items()])
def test_every_table_knows_its_name_size_target_and_title(name, size, target):
    table = datasets.load(name)
    assert isinstance(table, Table)
    assert (table.name, table.n_rows, table.target) == (name, size, target)
    assert target in table.columns
    assert table.title
    assert "\n" not in table.title
    assert set(table.kinds) <= set(table.columns)
    for key, column in table.columns.items():
        assert (column.name, len(column.values)) == (key, size)


@pytest.mark.parametrize("name", SIZES)
def test_a_table_survives_a_trip_through_pandas(name):
    table = datasets.load(name)
    back = read(table.to_pandas())
    assert list(back.columns) == list(table.columns)
    for key, column in table.columns.items():
        assert back[key].labels == column.labels
        np.testing.assert_array_equal(back[key].values.astype(float), column.values.astype(float))


def test_an_unknown_name_is_an_error_with_a_hint():
    with pytest.raises(ParameterError, match=r'no built-in table "foot"\. Did you mean "food"'):
        datasets.load("foot")
    with pytest.raises(TreewiseError, match=r"There are: food, admissions, .* penguins"):
        datasets.load("zzz")


def test_importing_the_tables_loads_no_dataframe_library():
    heavy = "{'polars', 'pandas', 'narwhals', 'pyarrow'}"
    code = f"import sys, treewise.datasets; print(*{heavy} & set(sys.modules))"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.split() == []


# -- The notes' tables ---------------------------------------------------------------------------------


def test_food():
    table = datasets.food()
    assert list(table.columns) == ["Hunger", "Like", "Healthy", "Price", "Eat"]
    assert rows(table)[0] == ("full", "y", "n", "free", "n")
    assert rows(table)[-1] == ("hungry", "n", "n", "expensive", "n")
    assert table.kinds == {
        "Hunger": {"starving", "hungry", "can-eat", "full"},
        "Price": ("free", "cheap", "expensive"),
    }


def test_admissions():
    table = datasets.admissions()
    assert list(table.columns) == ["GPA", "University", "Published", "Recommendation", "Class"]
    assert rows(table)[2] == ("4.0", "top20", "no", "normal", "P")
    assert [row[-1] for row in rows(table)] == ["P"] * 6 + ["N"] * 6
    assert table["GPA"].labels == ("3.5", "3.7", "4.0")
    assert table.kinds == {"GPA": "nominal"}


def test_points():
    six = [(0, 0, "+"), (0, 1, "+"), (0, 2, "+"), (1, 0, "-"), (1, 1, "-"), (1, 2, "+")]
    assert rows(datasets.six_points()) == six
    assert datasets.six_points()["y"].labels == ("-", "+")  # so that + is the positive class
    assert rows(datasets.four_points()) == [(0, 0, 1), (0, 1, 0), (1, 0, 0), (2, 0, 0)]
    seven = rows(datasets.seven_points())
    assert [row[:2] for row in seven if row[2] == "dot"] == [(0, 0), (1, 0)]
    assert [row[:2] for row in seven if row[2] == "star"] == [(2, 0), (1, 1), (2, 1), (1, 2), (2, 2)]


def test_truth_tables():
    assert rows(datasets.xor()) == [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    assert rows(datasets.or_table()) == [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1)]
    for n in (1, 3, 5):
        table = datasets.or_table(n)
        assert list(table.columns) == [*(f"x{j + 1}" for j in range(n)), "y"]
        assert all(row[-1] == int(any(row[:-1])) for row in rows(table))
        assert len(set(rows(table))) == 2**n


@pytest.mark.parametrize("n", [0, -1, 17])
def test_an_or_table_of_no_or_too_many_inputs_is_refused(n):
    with pytest.raises(ParameterError, match="from 1 to 16"):
        datasets.or_table(n)


def test_seven_rows_contain_a_contradiction():
    table = rows(datasets.seven_rows())
    assert table[1][:-1] == table[5][:-1] == (1, 1, 0)
    assert (table[1][-1], table[5][-1]) == (0, 1)
    assert [sum(column) for column in zip(*table, strict=True)] == [4, 4, 3, 4]


def test_outlier_has_two_clear_regions_and_one_lone_dot():
    *clear, lone = rows(datasets.outlier())
    assert all((x1 <= 4) == (label == "dot") for x1, _, label in clear)
    assert lone == (7, 3, "dot")
    unseen = rows(datasets.outlier_validation())
    assert all((x1 <= 4) == (label == "dot") for x1, _, label in unseen)
    assert not set(unseen) & {*clear, lone}


# -- Penguins ------------------------------------------------------------------------------------------


def test_penguins():
    table = datasets.penguins()
    assert list(table.columns) == [
        *("species", "island", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "sex")
    ]
    species = table["species"]
    assert species.labels == ("Adelie", "Chinstrap", "Gentoo")
    assert np.bincount(species.values).tolist() == [152, 68, 124]
    assert sum(missing(column) for column in table.columns.values()) == 19
    assert missing(table["sex"]) == 11


def missing(column):
    if column.form == "float":
        return int(np.isnan(column.values).sum())
    if column.labels:
        return int((column.values < 0).sum())
    return 0 if column.missing is None else int(column.missing.sum())


def test_penguins_ship_with_their_csv_and_licence():
    assert (Path(datasets.__file__).parent / "penguins.csv").is_file()
    assert "CC0" in datasets.penguins.__doc__
    assert "CC0" in datasets.penguins().title


# -- The sampler ---------------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_rows():
    world = datasets.sampler()
    assert rows(world.sample(50, seed=3)) == rows(world.sample(50, seed=3))
    assert rows(world.sample(50, seed=3)) != rows(world.sample(50, seed=4))
    assert rows(datasets.noisy(50, noise=0.1, seed=3)) == rows(world.sample(50, seed=3))


def test_without_noise_the_labels_are_the_truth():
    world = datasets.sampler(noise=0.0, size=8)
    truth = world.rate
    assert world.least_error == 0
    assert all(y == truth[x1, x2] for x1, x2, y in rows(world.sample(500)))
    assert truth.sum() == 8 * 8 * 3 / 8  # a half of the left half, a quarter of the right one


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.25, 0.5])
def test_the_share_of_flipped_labels_is_the_noise(noise):
    clean, world = datasets.sampler(0.0), datasets.sampler(noise)
    sample = rows(world.sample(20_000, seed=1))
    flipped = np.mean([y != clean.rate[x1, x2] for x1, x2, y in sample])
    assert flipped == pytest.approx(noise, abs=0.015)
    assert world.least_error == pytest.approx(noise)


def test_true_error_is_the_sum_over_the_cells():
    world = datasets.Sampler(np.array([[0.9, 0.2], [0.5, 0.0]]))
    assert rows(world.cells()) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert world.true_error(lambda table: [1, 0, 1, 0]) == pytest.approx((0.1 + 0.2 + 0.5 + 0.0) / 4)
    assert world.true_error(lambda table: [0, 0, 0, 0]) == pytest.approx((0.9 + 0.2 + 0.5 + 0.0) / 4)
    assert world.least_error == pytest.approx(0.2)


grids = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@settings(max_examples=50, deadline=None)
@given(
    grids.flatmap(
        lambda rate: st.tuples(st.just(rate), st.lists(st.booleans(), min_size=len(rate), max_size=len(rate)))
    )
)
def test_no_rule_errs_less_than_the_best_and_opposite_rules_add_to_one(case):
    rate, rule = case
    world = datasets.Sampler(np.array(rate))
    error = world.true_error(lambda table: np.array(rule))
    assert world.least_error - 1e-12 <= error
    assert error + world.true_error(lambda table: ~np.array(rule)) == pytest.approx(1)


def test_columns_are_independent_and_uniform():
    sample = np.array(rows(datasets.Sampler(np.full((2, 3, 4), 0.5)).sample(24_000)))
    assert sample.shape == (24_000, 4)
    seen = np.bincount(np.ravel_multi_index(sample[:, :3].T, (2, 3, 4)))
    assert seen.shape == (24,)
    assert seen.min() > 850
    assert seen.max() < 1150


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.sampler(noise=0.6), "from 0 to 0.5"),
        (lambda: datasets.sampler(noise=float("nan")), "from 0 to 0.5"),
        (lambda: datasets.sampler(size=10), "multiple of 4"),
        (lambda: datasets.noisy(0), "1 or more rows"),
        (lambda: datasets.Sampler(np.array([1.5])), "from 0 to 1"),
        (lambda: datasets.sampler(size=4).true_error(lambda table: [0, 1]), "each of the 16 cells"),
        (lambda: datasets.sampler(size=4).true_error(lambda table: ["a"] * 16), "return 0 or 1"),
    ],
)
def test_what_cannot_be_drawn_or_judged_is_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
