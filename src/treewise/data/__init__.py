"""Input data: files, dataframes and Python objects become a ``Table`` of ``Column``s, and these encoded arrays.

table.py        ``Table`` and ``read``
column.py       ``Column``: one column as read
csv_file.py     delimited text to columns
frames.py       dataframes, arrays, dicts and lists to columns; columns to dataframes
objects.py      Python objects to columns
parse_cells.py  text cells to numbers, booleans, datetimes
encoding.py     ``Encoding``: what a column means to the learner; convert.py does the conversion
diagnostics.py  notes and errors about training columns
"""
