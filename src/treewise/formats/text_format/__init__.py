"""Trees as text: typed by hand, printed or exported, and parsed back.

notation.py    quoting of names, levels and classes
outline.py     lines to an outline: depth, condition, prediction
conditions.py  conditions to encodings and splits: ``age <= 71.5``, ``city in {Bari, Rome} or missing``
parse.py       text to a tree: ``treewise.parse``
"""
