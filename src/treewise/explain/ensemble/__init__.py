"""Reading an ensemble: what its trees say together, where they quarrel, what they owe to each column.

Stands among the outlets, on ``ensemble``, whose methods are doors to here.

    member_predictions.py  the trees asked one after another about the rows of a table
    agreement.py     how far they agree, row by row              ``ensemble.agreement(data)``
    stages.py        the error after 1, 2, … trees               ``ensemble.stages(data)``
    explanation.py   one answer in words                         ``ensemble.explain(row)``
"""
