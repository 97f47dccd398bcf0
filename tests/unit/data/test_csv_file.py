"""CSV dialects: both parsers agree, and errors name the line."""

import csv
import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import treewise as tw
from treewise.data.csv_cells import drop_blank_lines, split_with_polars, split_with_python
from treewise.data.csv_file import CsvFormat, read_csv
from treewise.errors import DataError, ParameterError


def columns(text: str | bytes, markers=(), separator=None):
    data = text.encode() if isinstance(text, str) else text
    return read_csv(data, "t.csv", markers, CsvFormat(separator))[0]


def cells(text: str, markers=()):
    """The form of the column x, and its labels or values with None for missing."""
    made = columns(text, markers)["x"]
    values = [made.labels[v] if made.is_coded else v for v in made.values.tolist()]
    return made.form, [None if gone else v for v, gone in zip(values, made.is_missing(), strict=True)]


@pytest.mark.parametrize(
    ("text", "form", "values"),
    [
        ("x,y\n1,\n,\n+3,\n", "int", [1, None, 3]),
        ("x\n1\n2.5\n-1e3\n", "float", [1.0, 2.5, -1000.0]),
        ("x\n 1\n2 \n", "int", [1, 2]),
        ("x\n.5\n5.\ninf\n", "float", [0.5, 5.0, np.inf]),
        ("x\n02134\n1\n", "text", ["02134", "1"]),
        ("x\n0\n0.5\n-0.5\n", "float", [0.0, 0.5, -0.5]),
        ("x\n1\nNA\n", "text", ["1", "NA"]),
        ("x\n1.5\nNaN\n", "text", ["1.5", "NaN"]),
        ("x\n1_000\n2\n", "text", ["1_000", "2"]),
        ("x\nTrue\nfalse\n", "bool", [1, 0]),
        ("x\n2024-03-31\n2024-04-01\n", "datetime", [19813, 19814]),
        ("x\n2024-03-31\nNA\n", "text", ["2024-03-31", "NA"]),
        ("x\n31/03/2024\n01/04/2024\n", "text", ["31/03/2024", "01/04/2024"]),
        ("x\n12:30:00\n", "text", ["12:30:00"]),
        ("x\n18446744073709551615\n1\n", "text", ["18446744073709551615", "1"]),
        ("x\n9007199254740993\n", "int", [9007199254740993]),
        ('x,y\n"",1\n" ",2\na,3\n', "text", [None, None, "a"]),
        ("x,y\n,1\n,2\n", "float", [None, None]),
        ("x\n a\nb\n", "text", [" a", "b"]),
    ],
)
def test_a_column_is_judged_as_a_whole(text, form, values):
    assert cells(text) == (form, values)


def test_the_form_does_not_depend_on_the_first_rows():
    assert columns("x\n" + "1\n" * 5000 + "1.5\n")["x"].form == "float"
    assert columns("x\n" + "1\n" * 5000 + "a\n")["x"].form == "text"
    assert columns("x\n" + "1\n" * 5000 + "01\n")["x"].form == "text"


def test_markers_come_before_judgement():
    assert cells("x\n1\nn/d\n 2\n", ["n/d"]) == ("int", [1, None, 2])
    assert cells("x\na\n ?\n", ["?"]) == ("text", ["a", None])


def test_floats_are_read_to_the_last_bit():
    values = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(-150, 150).repeat(4)[:1000]
    text = "x\n" + "".join(f"{v!r}\n" for v in values.tolist())
    assert columns(text)["x"].values.tolist() == values.tolist()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_blank_lines(end):
    made = columns(end.join(["", "a,b", "1,x", "2,y", ""]))
    assert made["a"].values.tolist() == [1, 2]
    if end != "\r":
        made = columns(end.join(["", "a,b", "1,x", "", "  ", '2,"y', "", 'z"', "", ""]))
        assert made["a"].values.tolist() == [1, 2]
        assert made["b"].labels[1] == f"y{end}{end}z"


def test_blank_lines_inside_quotes_stay():
    assert drop_blank_lines(b'\n\na\n\n"x\n\ny"\n\nb\n') == b'a\n"x\n\ny"\nb\n'


def test_blank_lines_left_out_are_counted():
    assert read_csv(b"\na,b\n1,x\n\n \n2,y\n\n\n", "t.csv", ())[1] == ("t.csv: 2 blank lines between rows left out",)
    assert read_csv(b'\na,b\n1,"x\n\ny"\n2,y\n\n', "t.csv", ())[1] == ()


@pytest.mark.parametrize("stray", ["", 'say "no"'])  # a stray quote is for the slow way
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_of_one_column_is_a_missing_cell(stray, end):
    lines = ["a", "x", "", "  ", stray or "z", '""', "y", ""]
    found, notes = read_csv(end.join(lines).encode(), "t.csv", ())
    assert found["a"].is_missing().tolist() == [False, True, True, False, True, False]
    assert notes == ()


def test_separators():
    found, notes = read_csv(b"a;b\n1;2\n", "t.csv", ())
    assert list(found) == ["a", "b"]
    assert notes == ('t.csv: cells are taken to be separated by ";", since the first line has no comma',)
    assert list(read_csv(b'"a;b",c\n1,2\n', "t.csv", ())[0]) == ["a;b", "c"]
    assert list(columns("a\tb\n1\t\n", separator="\t")) == ["a", "b"]


def test_headers():
    assert list(columns('\ufeff"two\nlines",,b\n1,2,3\n')) == ["two\nlines", "column_2", "b"]
    with pytest.raises(DataError, match=r"t\.csv: more than one column is named a\. Rename them\. If the"):
        columns("a,b,a\n1,2,3\n")
    _, notes = read_csv(b"7,0.27,a\n8,0.3,b\n", "t.csv", ())
    assert "the first line is taken as column names" in notes[0]
    assert notes[0].endswith("if it is data: header=False")
    assert read_csv(b"0,1,2\n8,0.3,b\n", "t.csv", ())[1] == ()


@pytest.mark.parametrize("stray", ["", 'say "no"'])  # a stray quote is for the slow way
def test_without_a_header_the_first_line_is_data(stray):
    found, notes = read_csv(f"7,0.27,a\n\n8,0.3,{stray}\n".encode(), "t.csv", (), CsvFormat(header=False))
    assert list(found) == ["x1", "x2", "x3"]
    assert found["x1"].values.tolist() == [7, 8]
    assert found["x3"].labels == (("a", stray) if stray else ("a",))
    assert notes == ("t.csv: 1 blank line between rows left out",)
    with pytest.raises(DataError, match="line 2 has 1 cell, but the first has 2 cells"):
        read_csv(b"1,2\n3\n", "t.csv", (), CsvFormat(header=False))


@pytest.mark.parametrize("stray", ["", '"no'])
def test_a_decimal_comma(stray):
    text = f'gpa;"price";town\n3,7;1.234,5;"Rome, Italy"\n-,5;12;Bari\n4,;1.234.567;{stray}\n'
    if stray:
        text = text.replace('"no', 'say "no"')
    found, notes = read_csv(text.encode(), "t.csv", (), CsvFormat(decimal=","))
    assert found["gpa"].values.tolist() == [3.7, -0.5, 4.0]
    assert found["price"].values.tolist() == [1234.5, 12.0, 1234567.0]
    assert "Rome, Italy" in found["town"].labels
    assert notes == ('t.csv: cells are taken to be separated by ";", since the first line has ";"',)
    first = read_csv(b"1,5;2,5\n3,5;4\n", "t.csv", (), CsvFormat(decimal=",", header=False))[0]
    assert [first[name].values.tolist() for name in first] == [[1.5, 3.5], [2.5, 4.0]]


@pytest.mark.parametrize("town", ["Rome", 'say "no"'])  # a stray quote is for the slow way
@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1.500", "1.234,5", "3"], [1500, 1234.5, 3]),
        (["1.500", "2.000", "3"], [1500, 2000, 3]),
        (["0.500", "0,5", "3"], [0.5, 0.5, 3]),
        (["1.5", "2,5", ""], [1.5, 2.5, None]),
    ],
)
def test_points_separate_thousands_where_all_cells_agree(cells, values, town):
    text = "a;town\n" + "".join(f"{cell};{town}\n" for cell in cells)
    found, notes = read_csv(text.encode(), "t.csv", (), CsvFormat(decimal=","))
    assert found["a"].values[~found["a"].is_missing()].tolist() == [value for value in values if value is not None]
    assert len(notes) == 1


@pytest.mark.parametrize("town", ["Rome", 'say "no"'])
def test_points_beside_decimal_points_are_decimal_points_with_a_note(town):
    text = f"a;town\n1.5;{town}\n1.234;Bari\n2.75;Bari\n12.625;Bari\n"
    found, notes = read_csv(text.encode(), "t.csv", (), CsvFormat(decimal=","))
    assert found["a"].values.tolist() == [1.5, 1.234, 2.75, 12.625]
    assert notes[1:] == ('a: the point of "1.234" is read as a decimal point, like that of "1.5"',)
    found, _ = read_csv(f"{text}1.234.567;Bari\n".encode(), "t.csv", (), CsvFormat(decimal=","))
    assert len(found["town"]) == 5
    with pytest.raises(DataError, match=r'column "a": "1\.234\.567" in row 5 has .* but "1\.5" in row 1 has a decimal'):
        found["a"]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"separator": ";;"}, 'separator=";;": must be one character'),
        ({"separator": ""}, 'separator="": must be one character'),
        ({"separator": "\n"}, "must be one character"),
        ({"separator": 3}, "separator=3: must be one character"),
        ({"decimal": "·"}, 'decimal=.*: must be "." or ","'),
        ({"header": None}, "header=None: must be True or False"),
    ],
)
def test_odd_forms_are_refused(form, message):
    with pytest.raises(ParameterError, match=message):
        tw.read("penguins", **form)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv is empty"),
        ("\n \n", "t.csv is empty"),
        ("a,b\n", r"t.csv has a header \(a, b\) but no rows"),
        ("a,b\n1,2\n3,4,5\n", "t.csv line 3 has 3 cells, but the header names 2 columns"),
        ("a,b\n1,2\n\n3\n4,5\n", "t.csv line 4 has 1 cell, but the header names 2 columns"),
        ('a,b\n1,"x\ny"\n3\n', "t.csv line 4 has 1 cell"),
        ('a,b\n1,x\n2,"y\n3,z\n', r"t.csv line 3 is not proper CSV \(unexpected end of data\)"),
        (b"a,b\n1,\xe9t\xe9\n", "t.csv line 2: byte 0xe9 is not UTF-8"),
        ("a\x00b", "not a text file"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(text, message):
    with pytest.raises(DataError, match=message):
        columns(text)


def test_short_lines_are_found_in_long_files_with_quotes():
    good = 'a,"b"\n' + '1,"x,y"\n2,\n' * 2000
    assert columns(good)["b"].is_missing().sum() == 2000
    with pytest.raises(DataError, match="line 4,002 has 1 cell"):
        columns(good + "3\n")


def test_a_first_line_with_odd_quotes():
    assert list(columns('5" pipe,b\n1,2\n3,4\n')) == ['5" pipe', "b"]
    assert list(columns('"a ""b"", c",d"\n1,2\n')) == ['a "b", c', 'd"']
    assert list(columns('a,"b\nc",d\n1,2,3\n')) == ["a", "b\nc", "d"]
    with pytest.raises(DataError, match=r"t\.csv line 1 is not proper CSV"):
        columns('a,"b\n1,2\n')


def test_stray_quotes_are_borne():
    assert columns("a,b\n1,5'11\"\n2,6'\n")["b"].labels == ("5'11\"", "6'")


texts = st.text(st.sampled_from(list('ab1 ,;"\n\r\t-.é')), max_size=6)


@settings(deadline=None, max_examples=300)
@given(st.integers(2, 3).flatmap(lambda k: st.lists(st.lists(texts, min_size=k, max_size=k), min_size=1)))
@example([["", ""], ["a", ""]])
@example([["\r", "a"], ["a", "\n\n"]])
def test_the_fast_way_and_the_slow_way_agree(rows):
    names = [f"c{j}" for j in range(len(rows[0]))]
    file = io.StringIO(newline="")
    csv.writer(file).writerows([names, *rows])
    data = file.getvalue().encode()
    fast = split_with_polars(data, ",", len(names))
    slow, _ = split_with_python(data, ",", names, "t.csv")
    assert [list(row) for row in zip(*slow, strict=True)] == rows
    if fast is not None:
        assert [["" if cell is None else cell for cell in row] for row in fast.rows()] == rows


@settings(deadline=None, max_examples=300)
@given(st.text(st.sampled_from(list('a1 ,"\n')), max_size=25))
def test_whatever_the_text_there_is_a_table_or_a_clear_error(text):
    try:
        made = columns("x,y\n" + text)
    except DataError:
        return
    assert all(len(made[name]) == made.n_rows for name in made)


def test_names_of_a_file_without_a_header():
    found, notes = read_csv(b"7,0.27\n8,0.3\n", "t.csv", (), CsvFormat(names=("a", "b")))
    assert (found["a"].values.tolist(), found["b"].values.tolist(), notes) == ([7, 8], [0.27, 0.3], ())
    with pytest.raises(tw.ParameterError, match=r"3 names, but t\.csv has 2 columns"):
        read_csv(b"7,0.27\n", "t.csv", (), CsvFormat(names=("a", "b", "c")))
    with pytest.raises(tw.DataError, match="more than one column is named a"):
        read_csv(b"7,0.27\n", "t.csv", (), CsvFormat(names=("a", "a")))
