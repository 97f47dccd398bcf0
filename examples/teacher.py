"""The teacher: every number of ID3 on a small table, and an exercise sheet with its key.

A marimo notebook: `marimo edit examples/teacher.py` opens it, `python examples/teacher.py` runs it.
"""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    return (mo,)


@app.cell
def _(mo):
    mo.md(r"""
    # ID3, with every number

    Twelve applicants to St. Nordaf (CS221 section 5): who is admitted?
    """)
    return


@app.cell
def _():
    import treewise as tw

    applicants = tw.datasets.admissions()
    tree = tw.grow(applicants, preset="id3")
    print(tree)
    tree
    return (applicants, tree, tw)


@app.cell
def _(mo):
    mo.md(r"""
    The computation behind each split: the entropy of the node less that of its branches.
    """)
    return


@app.cell
def _(applicants, tree):
    trace = tree.trace(applicants, per="total")
    print(trace)
    return (trace,)


@app.cell
def _(mo):
    mo.md(r"""
    Two of the gains, from the counts alone: m·H(node) less the sum over the branches.
    """)
    return


@app.cell
def _(tw):
    counts = {"GPA": [[0, 4], [3, 2], [3, 0]], "University": [[2, 3], [1, 2], [3, 1]]}
    gains = {column: tw.information_gain([6, 6], branches, per="total") for column, branches in counts.items()}
    assert round(gains["GPA"], 3) == 7.145
    print(gains)
    return (counts, gains)


@app.cell
def _(mo):
    mo.md(r"""
    An exercise sheet for next week, from a seed: another seed is another table with the same question.
    """)
    return


@app.cell
def _(tw):
    sheet = tw.exercise(random=7, topic="split")
    print(sheet.render("markdown"))
    return (sheet,)


@app.cell
def _(mo):
    mo.md(r"""
    The universal learner, and why its training error says nothing: a tree that fits noise.
    """)
    return


@app.cell
def _(tw):
    curve = tw.curve("noisy", max_depth=8)
    curve
    return (curve,)


if __name__ == "__main__":
    app.run()
