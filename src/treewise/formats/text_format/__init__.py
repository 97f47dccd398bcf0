"""Trees as people write them: text in, Tree out.

Stands above the tree and below the outlets, which write what is read here.

    notation.py    names, levels and labels in text, so that they read back
    condition.py   one condition: ``age <= 71.5``, ``city in {Bari, Rome} or missing``
    siblings.py    the conditions of siblings → their split
    outline.py     lines → who is below whom
    assemble.py    the facts of nodes → a tree's arrays
    parse.py       ``treewise.parse``
"""
