"""Column names that polars interprets as patterns ("*", "^x.*$") are treated as names."""

from datetime import datetime

import polars as pl
import pytest

from treewise.data.table import read

PATTERNS = ["*", "^x.*$", "^.*$", "^none$", "xy"]
ODD_CELLS = [
    [1, None, 3] * 3,
    [0.5, None, 1.5] * 3,
    ["a", None, "b"] * 3,
    [True, None, False] * 3,
    [datetime(2024, 1, 2), None, datetime(2024, 1, 3)] * 3,
]


@pytest.mark.parametrize("turn", range(len(PATTERNS)))
def test_patterns_are_names_wherever_tables_come_from(turn, tmp_path):
    names = PATTERNS[turn:] + PATTERNS[:turn]
    data = dict(zip(names, ODD_CELLS, strict=True))
    frame = pl.DataFrame(dict(zip("abcde", ODD_CELLS, strict=True)))
    expected = read(frame).to_polars().rows()
    frame.columns = names  # polars cannot make every such column itself
    frame.write_parquet(tmp_path / "t.parquet")
    for source in (data, frame, frame.lazy(), frame.to_pandas(), frame.to_arrow(), tmp_path / "t.parquet"):
        table = read(source)
        assert table.to_polars().columns == names
        assert table.to_polars().rows() == expected, type(source)
        assert list(table.to_pandas().columns) == names


@pytest.mark.parametrize("decimal", [".", ","])
def test_patterns_are_names_in_text_files(decimal, tmp_path):
    cells = ["1{0}5;2;a;true;NA", "2{0}5;;b;;x", "?;4;;false;z"]
    file = tmp_path / "t.csv"
    file.write_text("\n".join([";".join(PATTERNS), *cells]).format(decimal))
    table = read(file, na_values=["?"], separator=";", decimal=decimal)
    assert table.to_polars().columns == PATTERNS
    rows = [(1.5, 2, "a", True, "NA"), (2.5, None, "b", None, "x"), (None, 4, None, False, "z")]
    assert table.to_polars().rows() == rows


def test_many_texts_of_a_column_named_by_a_pattern():
    cells = [None, *(f"word {i % 3000}" for i in range(20_000))]
    for source in ({"^x.*$": cells}, pl.DataFrame({"^x.*$": cells}), pl.DataFrame({"^x.*$": cells}).to_pandas()):
        assert read(source).to_polars()["^x.*$"].to_list() == cells
    as_categories = pl.DataFrame({"^x.*$": pl.Series(cells, dtype=pl.Categorical)})
    assert read(as_categories).to_polars()["^x.*$"].to_list() == cells
